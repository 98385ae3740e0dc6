// All-reduce on small machines of several IPUs: every word on every IPU has the bits of the host's sum.
#include <gtest/gtest.h>

#include "host/demo/allreduce.h"
#include "hw/error.h"
#include "verif/demo/demo_machine.h"

namespace tessera::demo {
namespace {

using testing::DemoMachine;
using Way = AllReduceOptions::Way;

Platform cards(unsigned cards, unsigned tiles = 16) {
  Platform p = load_platform("pocket");
  p.cards = cards;
  p.ipus_per_card = 2;
  p.tiles = tiles;
  p.link = load_platform("dss8440").link;
  return p;
}

Platform joined(unsigned ipus, std::vector<Platform::Topology::Bundle> bundles) {
  Platform p = load_platform("pocket");
  p.cards = ipus;
  p.topology.ladder = false;
  p.topology.bundles = std::move(bundles);
  return p;
}

void expect_right(const Platform& platform, const AllReduceOptions& options) {
  AllReduce plan(platform, options);
  DemoMachine machine(plan.build(), platform);
  machine.run();
  const Comparison c = plan.check(machine.reader());
  EXPECT_EQ(c.compared, options.bytes / 4 * platform.ipus());
  EXPECT_EQ(c.wrong, 0U) << c.first;
}

TEST(AllReduceSystem, TwoIpusDirect) { expect_right(cards(1), {1024, 1, Way::direct}); }

TEST(AllReduceSystem, TwoIpusRing) { expect_right(cards(1), {40'000, 2, Way::ring}); }

TEST(AllReduceSystem, OneWord) { expect_right(cards(1), {4, 3}); }

TEST(AllReduceSystem, FourIpusRingWithChunksOfSeveralPackets) { expect_right(cards(2), {200'000, 4, Way::ring}); }

TEST(AllReduceSystem, FourIpusDirectOverTheRungFirst) { expect_right(cards(2), {10'000, 5, Way::direct}); }

TEST(AllReduceSystem, SixIpusWithOddSize) { expect_right(cards(3, 5), {12'340, 6, Way::ring}); }

TEST(AllReduceSystem, SixteenIpus) { expect_right(cards(8), {64'000, 7, Way::ring}); }

TEST(AllReduceSystem, LineOfThreeComesBackOverItself) {
  expect_right(joined(3, {{0, 1, 2}, {1, 2, 2}}), {30'000, 8, Way::ring});
}

}  // namespace
}  // namespace tessera::demo
