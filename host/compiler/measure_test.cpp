// Memory with and without sharing, on a chain of element-wise steps whose sizes are known; also of what does not fit.
#include "host/compiler/measure.h"

#include <gtest/gtest.h>

namespace tessera::compiler {
namespace {

using graph::Graph;
using graph::Program;
using graph::Tensor;
using graph::Type;

/// kept -> a -> b -> c -> out, `elements` of f32 each, all on tile 1 of 2.
MemoryMeasure measure_chain(std::uint64_t elements) {
  Graph g(2);
  std::vector<Tensor> chain;
  for (const char* name : {"in", "a", "b", "c", "out"}) {
    chain.push_back(g.add_variable(Type::f32, {elements}, name));
    g.map(chain.back(), 1);
  }
  g.expose("in", chain.front());
  g.expose("out", chain.back());
  std::vector<Program> steps;
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
    const auto cs = g.add_compute_set("relu" + std::to_string(i));
    const auto v = g.add_vertex(cs, "Relu_f32", 1, "relu");
    g.connect(v, "x", chain[i]);
    g.connect(v, "y", chain[i + 1]);
    steps.push_back(Program::execute(cs));
  }
  g.add_entry("main", Program::sequence(std::move(steps)));
  return measure_memory(g, load_platform("pocket"), CodeletLibrary::builtin());
}

TEST(Measure, EachWayOfSharingTakesOfAChainWhatItMust) {
  const MemoryMeasure m = measure_chain(1000);
  EXPECT_EQ(m.tiles, 2U);
  EXPECT_EQ(m.sram_bytes, 262144U);
  EXPECT_EQ(m.constants, 0U);
  EXPECT_EQ(m.kept + m.variables, 5U * 4000);
  // in lives always, out from its first write to the end. By reuse c takes a's memory and out takes b's; in place a
  // becomes b, c and out, but not in, which the next run needs.
  EXPECT_EQ(m.none.all_tiles, 5U * 4000);
  EXPECT_EQ(m.reused.all_tiles, 3U * 4000);
  EXPECT_EQ(m.in_place_alone.all_tiles, 2U * 4000);
  EXPECT_EQ(m.in_place.all_tiles, 2U * 4000);
  EXPECT_EQ(m.turnovers, 3U);
  EXPECT_EQ(m.live, 3U * 4000) << "both ends of a step at once, in place or not";
  EXPECT_EQ(m.live_fullest, m.live) << "all on one tile";
  EXPECT_EQ(m.in_place.tile, 1U);
  EXPECT_EQ(m.missing(), 0U);
  EXPECT_NE(m.peak.find("relu"), std::string::npos) << m.peak;
}

TEST(Measure, WhatDoesNotFitIsMeasuredToo) {
  const MemoryMeasure m = measure_chain(1000000);
  EXPECT_EQ(m.kept + m.variables, 5U * 4000000);
  EXPECT_GE(m.in_place.fullest, 4000000U);
  EXPECT_EQ(m.missing(), m.in_place.fullest + m.program_bytes - m.sram_bytes);
}

}  // namespace
}  // namespace tessera::compiler
