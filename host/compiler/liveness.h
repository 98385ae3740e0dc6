// Which variables are live at which superstep, over the whole tree of control (loops, branches, functions), and so
// which may share memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/compiler/ir.h"

namespace tessera::compiler {

/// A point of the program: one superstep, predicate or index read.
struct Point {
  std::string path, name;
};

struct Liveness {
  std::vector<Point> points;
  /// For each variable the points (bits, by number) at which its block holds something or is written.
  std::vector<std::vector<std::uint64_t>> live;
  std::vector<bool> always;  ///< constants, kept variables that hold something from the start, read before written

  [[nodiscard]] bool live_at(std::uint32_t variable, std::size_t point) const {
    return (live[variable][point / 64] >> (point % 64) & 1) != 0;
  }
  [[nodiscard]] bool ever_live(std::uint32_t variable) const;
  [[nodiscard]] bool interfere(std::uint32_t a, std::uint32_t b) const;
};

[[nodiscard]] Liveness analyse_liveness(const Ir& ir);

}  // namespace tessera::compiler
