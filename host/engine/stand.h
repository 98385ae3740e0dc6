// Which vertex a context of a tile is in, by what its registers hold: the exact one where that can be known.
//
// A worker runs records of a run list one after the other (firmware/boot/dispatch.S), the supervisor those of AMP
// vertices (firmware/boot/amp.S); both keep where they are in registers. A codelet may use a worker's registers for
// itself: what they say counts only if it fits what the executable says.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/executable/executable.h"
#include "hw/types.h"

namespace tessera::engine {

/// What a context holds.
struct Registers {
  Address pc = 0;
  std::array<std::uint32_t, 32> x{};
  bool running = false;
};
/// Registers of (ipu, tile, context); nothing if they cannot be seen. May be empty.
using Look = std::function<std::optional<Registers>(unsigned ipu, unsigned tile, unsigned context)>;

/// The records a context may be at, and the step they are of.
struct Stand {
  std::vector<const executable::VertexRecord*> records;
  const executable::Step* step = nullptr;  ///< null: not known
  std::optional<std::uint64_t> member;     ///< of the family of the one record, if it is known
};

/// `records`, those a worker at `pc` may be at by its codelet alone (the supervisor: by the weights it loads), narrowed
/// by registers.
[[nodiscard]] Stand narrowed(const executable::Program& program, unsigned context, std::vector<const executable::VertexRecord*> records,
                             const Registers& self, const Registers& supervisor);

/// Records of this tile and worker whose codelet holds the pc.
[[nodiscard]] std::vector<const executable::VertexRecord*> records_at(const executable::Program& program, unsigned tile,
                                                                      unsigned context, Address pc);

/// Symbol, source line and step of an address in an IPU's program, empty if it is in none.
[[nodiscard]] std::string place_text(const executable::Executable& executable, unsigned ipu, Address pc);

/// The same of a supervisor, with the step that called a routine of the firmware, and what its workers are in.
[[nodiscard]] std::string stand_text(const executable::Executable& executable, unsigned ipu, unsigned tile, Address pc,
                                     const Look& look);

/// "; workers 1-3 in vertex v (Codelet) of compute set s" for the workers of a tile that run; empty if none does.
[[nodiscard]] std::string workers_text(const executable::Executable& executable, unsigned ipu, unsigned tile,
                                       const Look& look);

}  // namespace tessera::engine
