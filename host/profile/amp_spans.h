// How long the AMP vertices of each compute set take, and on how many tiles: what the matrix engines' work is measured
// against.
//
// On a tile an AMP compute set lasts from the end of what came before it in the superstep (the release, the last word
// of the exchange, the last worker's exit of an earlier compute set) to 6 cycles behind the last x.exit of its AMP
// workers. Its cycles are those of the tile that takes longest; a tile is active if it ran AMP workers. What plain
// vertices of the same compute set do behind them is left out. Fed by machine events, costs the machine nothing.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/executable/executable.h"
#include "hw/event.h"

namespace tessera::profile {

/// Sums over the executions of a compute set, on all IPUs.
struct AmpSpan {
  std::uint64_t executions = 0;
  std::uint64_t cycles = 0;       ///< of the slowest tile of each execution
  std::uint64_t tile_cycles = 0;  ///< the same, times the tiles that were active
  std::uint64_t tiles = 0;        ///< most that were active in one execution
};

class AmpSpans : public EventObserver {
 public:
  AmpSpans(unsigned ipus, unsigned tiles, const executable::Executable& executable);

  void event(const MachineEvent& event) override;
  /// Closes what is open. Call once, at the end of the run.
  void finish();

  /// By name of the compute set.
  [[nodiscard]] std::map<std::string, AmpSpan> spans() const;

 private:
  static constexpr std::uint32_t kNone = ~0U;
  struct TileState {
    Cycle behind = 0;           // end of what came before
    Cycle begin = 0;            // of the compute set that the tile is in
    std::uint32_t set = kNone;  // it
    std::array<bool, 7> amp{};  // by context: whether its last start was an AMP vertex
  };
  struct Open {  // a compute set of the current superstep
    Cycle longest = 0;
    std::uint64_t tiles = 0;
  };
  struct Ipu {
    bool any = false;
    Cycle release = 0;
    std::map<std::uint32_t, Open> open;  // by set
  };
  void close(Ipu& ipu);
  [[nodiscard]] std::uint32_t set_of(std::size_t program, unsigned tile, Address state) const;

  unsigned tiles_;
  std::vector<std::size_t> programs_;  // by IPU
  // By program and tile: (state address, set), sorted.
  std::vector<std::vector<std::vector<std::pair<Address, std::uint32_t>>>> states_;
  std::vector<std::string> names_;  // of sets
  std::vector<AmpSpan> spans_;      // by set
  std::vector<TileState> tile_;     // ipu * tiles_ + tile
  std::vector<Ipu> ipus_;
};

}  // namespace tessera::profile
