// The control program: machine code that every supervisor of the IPU runs. What differs by
// tile stands in the step table, one word a slot.
#pragma once

#include <string>
#include <vector>

#include "host/compiler/ir.h"
#include "host/executable/executable.h"

namespace tessera::compiler {

/// gp stands this many bytes behind the start of the step table, so that 1024 slots are one load away.
inline constexpr std::int32_t kStepTableBias = 2048;

/// What a word of the step table holds.
struct Slot {
  enum class Kind : std::uint8_t {
    exchange,      ///< table of Ir::exchanges[index], 0 if the tile has none
    list,          ///< run list of Ir::computes[index], 0 if the tile has none
    amp,           ///< list of AMP records of Ir::computes[index], 0 if the tile has none
    packets,       ///< packet table of Ir::hosts[index], 0 if the tile has none
    predicate,     ///< address of `place` on its tile, on others of a word that is not 0
    index,         ///< address of the tile's index word of Ir::exchanges[index]
    index_stride,  ///< bytes from index to index of Ir::exchanges[index]
    variable,      ///< address of variable `index` on the tile, which every tile holds
    value,         ///< Tables::values[index]
    window,        ///< table of function `index` that turns its lists to other arguments, 0 if the tile needs none
    table,         ///< address of slot `index`: where the words of a function's variant begin
  };
  Kind kind = Kind::exchange;
  std::uint32_t index = 0;
  Place place;
  std::uint32_t phase = 0;  ///< of an exchange step that is cut into several
};

struct Control {
  Address base = 0;
  std::vector<std::uint32_t> words;
  std::vector<Slot> slots;
  std::vector<std::pair<Address, std::uint32_t>> taps;  ///< x.sync at whose release a tap's tensor is read
  std::vector<executable::Step> steps;                  ///< phases are numbered in order of exchange steps
  std::vector<executable::EntryPoint> entries;
  Address dispatch_entry = 0;  ///< where boot goes: the choice between entry points
  Address end() const { return base + 4 * static_cast<Address>(words.size()); }
};

/// Routines of the firmware that supervisors go to. Only jumps depend on their addresses, no sizes.
struct FirmwareEntries {
  Address boot = 0;
  Address amp = 0;  ///< not used if no compute step has AMP vertices
};

/// base: address of the program.
/// phases: how many each exchange step is cut into. Throws Error (unsupported) if loops and calls nest deeper than the
/// supervisor's stack.
[[nodiscard]] Control generate_control(const Ir& ir, Address base, const FirmwareEntries& firmware,
                                       const std::vector<std::uint32_t>& phases);

}  // namespace tessera::compiler
