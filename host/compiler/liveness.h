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

/// A compute step in which variables hold something for the last time, and others for the first.
struct Turnover {
  std::size_t point = 0;
  std::uint32_t compute = 0;               ///< index into Ir::computes
  std::vector<std::uint32_t> dying, born;  ///< read and not needed behind; wholly written and not needed before
};

struct Liveness {
  std::vector<Point> points;
  std::vector<Turnover> turnovers;  ///< in order of points
  /// For each variable the points (bits, by number) at which its block holds something or is written.
  std::vector<std::vector<std::uint64_t>> live;
  std::vector<bool> always;  ///< constants, kept variables that hold something from the start, read before written

  [[nodiscard]] bool live_at(std::uint32_t variable, std::size_t point) const {
    return (live[variable][point / 64] >> (point % 64) & 1) != 0;
  }
  [[nodiscard]] bool ever_live(std::uint32_t variable) const;
  [[nodiscard]] bool interfere(std::uint32_t a, std::uint32_t b) const;
  /// True if the two interfere at this point and at no other.
  [[nodiscard]] bool meet_only_at(std::uint32_t a, std::uint32_t b, std::size_t point) const;
};

[[nodiscard]] Liveness analyse_liveness(const Ir& ir);

}  // namespace tessera::compiler
