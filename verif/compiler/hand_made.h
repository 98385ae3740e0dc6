// Shared by the tests of hand-made graphs that run end to end.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "verif/compiler/graph_machine.h"

namespace tessera::testing {

/// n values, each one more than the one before.
template <typename T>
std::vector<T> counting(std::size_t n, T first = T(1)) {
  std::vector<T> v(n);
  std::iota(v.begin(), v.end(), first);
  return v;
}

/// Each exchange phase has taken the cycles that the compiler predicted.
inline void expect_predicted_phases(GraphMachine& m) {
  std::vector<Cycle> predicted;
  for (const auto& phase : m.executable().programs[0].phases) predicted.push_back(phase.cycles);
  EXPECT_EQ(m.clock().phases(), predicted);
}

/// A variable of one element on a tile.
inline graph::Tensor scalar(graph::Graph& g, graph::Type type, const std::string& name, unsigned tile) {
  const graph::Tensor t = g.add_variable(type, {1}, name);
  g.map(t, tile);
  return t;
}

}  // namespace tessera::testing
