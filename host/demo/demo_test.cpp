// Plans of the demonstrations: rings, loads of links, the sums that all-reduce promises, grids of a stencil.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "host/demo/allreduce.h"
#include "host/demo/link_load.h"
#include "host/demo/seeded.h"
#include "host/demo/stencil.h"
#include "hw/error.h"

namespace tessera::demo {
namespace {

Platform joined(unsigned ipus, std::vector<Platform::Topology::Bundle> bundles) {
  Platform p = load_platform("pocket");
  p.cards = ipus;
  p.topology.ladder = false;
  p.topology.bundles = std::move(bundles);
  return p;
}

void expect_ring(const Topology& topology, const Ring& ring) {
  ASSERT_TRUE(ring.neighbours);
  EXPECT_EQ(std::set<unsigned>(ring.order.begin(), ring.order.end()).size(), topology.ipus());
  for (std::size_t p = 0; p < ring.order.size(); ++p)
    EXPECT_EQ(topology.hops(ring.order[p], ring.order[(p + 1) % ring.order.size()]), 1U) << p;
}

TEST(Ring, LadderGoesUpOneRailAndDownTheOther) {
  const Topology topology(load_platform("dss8440"));
  const Ring ring = find_ring(topology);
  ASSERT_EQ(ring.order.size(), 16U);
  expect_ring(topology, ring);
}

TEST(Ring, LineComesBackOverItself) {
  const Topology topology(joined(3, {{0, 2, 2}, {2, 1, 2}}));
  const Ring ring = find_ring(topology);
  EXPECT_FALSE(ring.neighbours);
  EXPECT_EQ(ring.order, (std::vector<unsigned>{0, 2, 1}));
}

TEST(Ring, IpusThatNothingJoinsAreNamed) {
  const Topology topology(joined(4, {{0, 1, 2}, {2, 3, 2}}));
  EXPECT_THROW((void)find_ring(topology), Error);
}

TEST(LinkLoad, CountsEveryGroupOnTheWay) {
  const Platform platform = load_platform("dss8440");
  const Topology topology(platform);
  LinkLoad load(topology);
  load.add(0, 3, 1000);  // over the crossed links of the rung to 1, then up the rail
  load.add(1, 3, 500);
  const LinkLoad::Busiest worst = load.busiest(platform);
  EXPECT_EQ(worst.from, 1U);
  EXPECT_EQ(worst.to, 3U);
  EXPECT_EQ(worst.links, 2U);
  EXPECT_EQ(worst.bytes, 1500U);
  EXPECT_NEAR(worst.cycles, 1500 / (2 * 9.1268), 0.01);
}

TEST(AllReduce, LongVectorsTakeTheRingAndShortOnesTheDirectWay) {
  const Platform platform = load_platform("dss8440");
  const AllReduce large(platform, {51'000'000, 1}), small(platform, {1024, 1});
  EXPECT_TRUE(large.ring());
  EXPECT_FALSE(small.ring());
  EXPECT_GE(large.tiles_used(), 1000U);
  // 15/16 of the vector twice over a rail of two links, half of it each way.
  const double least = 2.0 * 51e6 * 15 / 16 / 2 / (2 * link_bytes_per_cycle(platform));
  EXPECT_GE(large.bound().cycles, least);
  EXPECT_LE(large.bound().cycles, 1.01 * least);
}

/// Sum of an element by plain additions in some order: near what the plan says, whatever the order.
void expect_sums(const Platform& platform, const AllReduceOptions& options) {
  const AllReduce plan(platform, options);
  for (std::uint64_t g = 0; g < options.bytes / 4; g += 97) {
    double sum = 0;
    for (unsigned i = 0; i < platform.ipus(); ++i)
      sum += seeded_value(seed_of(options.seed, i), static_cast<std::uint32_t>(g));
    EXPECT_NEAR(plan.expected(g), sum, 1e-5) << g;
  }
}

TEST(AllReduce, EveryElementIsASumOverAllIpus) {
  expect_sums(load_platform("dss8440"), {40'000, 3, AllReduceOptions::Way::ring});
  expect_sums(load_platform("dss8440"), {40'000, 3, AllReduceOptions::Way::direct});
  expect_sums(load_platform("c2"), {4'000, 4, AllReduceOptions::Way::ring});
}

TEST(AllReduce, RefusesWhatCannotBe) {
  EXPECT_THROW(AllReduce(load_platform("pocket"), {1024, 1}), Error);
  EXPECT_THROW(AllReduce(load_platform("c2"), {1022, 1}), Error);
  EXPECT_THROW(AllReduce(load_platform("c2"), {0, 1}), Error);
}

TEST(Stencil, GridUsesTheTiles) {
  const Stencil s(load_platform("c2"), {4096, 4096, 1, 1});
  EXPECT_GE(s.tiles_used(), 1100U);
  EXPECT_LE(s.tiles_used(), 1216U);
  EXPECT_GE(std::uint64_t{2} * s.tiles_used() * s.block_rows() * s.block_columns(), s.points());
}

TEST(Stencil, ReferenceOfAConstantFieldIsTheSumOfWeights) {
  // One point: all nine neighbours are itself.
  const Stencil s(load_platform("pocket"), {1, 1, 1, 5});
  float sum = 0;
  for (const float w : Stencil::kWeights) sum = std::fma(w, seeded_value(seed_of(5, 0), 0), sum);
  EXPECT_EQ(s.reference(), std::vector<float>{sum});
}

TEST(Stencil, RefusesWhatCannotBe) {
  EXPECT_THROW(Stencil(load_platform("dss8440"), {15, 100, 1, 1}), Error);
  EXPECT_THROW(Stencil(load_platform("pocket"), {0, 100, 1, 1}), Error);
}

}  // namespace
}  // namespace tessera::demo
