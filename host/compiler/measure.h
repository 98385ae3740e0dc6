// Memory of a graph's data as the compiler would place it, with and without reuse and places taken over in place, also
// of what does not fit. The passes up to allocation; no lists, no exchange tables, no executable.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host/codelets/codelet.h"
#include "host/graph/graph.h"
#include "hw/platform.h"

namespace tessera::compiler {

/// Bytes of data under one way of allocation.
struct DataMemory {
  bool reuse = false, in_place = false;
  std::uint64_t all_tiles = 0;
  std::uint64_t fullest = 0;  ///< on the tile that holds most
  std::uint32_t tile = 0;     ///< that one
};

struct MemoryMeasure {
  std::uint32_t tiles = 0;
  std::uint64_t sram_bytes = 0;           ///< of a tile
  std::uint64_t program_bytes = 0;        ///< of a tile: start, control, code, steps, stacks
  std::uint64_t constants_once = 0;       ///< every constant of the graph held once
  std::uint64_t constants = 0, kept = 0;  ///< on all tiles: constants with all copies; others that live always
  std::uint64_t variables = 0;            ///< on all tiles: what is neither
  std::uint64_t live = 0;                 ///< on all tiles at the point where it is most, what lives always included
  std::uint64_t live_fullest = 0;         ///< on one tile at its own worst point: no allocation can do with less
  std::string peak;                       ///< step in which `live` is
  /// No sharing; places taken over in place, no other reuse; reuse alone; both.
  DataMemory none, in_place_alone, reused, in_place;
  std::size_t turnovers = 0;  ///< pairs of variables of which one takes the other's place on some tiles

  /// Bytes of a tile that are missing in the best way; 0 if it fits as far as it was measured.
  [[nodiscard]] std::uint64_t missing() const {
    const std::uint64_t need = in_place.fullest + program_bytes;
    return need > sram_bytes ? need - sram_bytes : 0;
  }
};

/// progress: called with the name of each pass before it. poll: called often, also from several threads at once; what
/// it throws ends the measurement. Throws Error: usage (the graph is wrong), unsupported. Never does_not_fit.
[[nodiscard]] MemoryMeasure measure_memory(const graph::Graph& graph, const Platform& platform,
                                           const CodeletLibrary& library,
                                           const std::function<void(const std::string&)>& progress = {},
                                           const std::function<void()>& poll = {});

}  // namespace tessera::compiler
