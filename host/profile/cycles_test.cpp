#include "host/profile/cycles.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tessera::profile {
namespace {

using Kind = MachineEvent::Kind;

MachineEvent at(Cycle cycle, Kind kind, std::uint16_t tile = 0, Address pc = 0) {
  MachineEvent e;
  e.cycle = cycle;
  e.kind = kind;
  e.tile = tile;
  e.pc = pc;
  return e;
}

TEST(CycleProfile, ASuperstepWithExchangeAndComputeIsSplitExactly) {
  CycleProfile profile(1, 1);
  profile.event(at(100, Kind::sync_release, 0, 0x40100));
  profile.event(at(120, Kind::exchange_begin));
  profile.event(at(149, Kind::exchange_end));
  profile.event(at(162, Kind::run));
  profile.event(at(222, Kind::exit));
  profile.event(at(240, Kind::sync_arrive));
  profile.event(at(304, Kind::sync_release, 0, 0x40200));
  profile.finish(310);
  const CycleSums& sums = profile.tiles()[0];
  EXPECT_EQ(sums.exchange, 30U);         // 120..149
  EXPECT_EQ(sums.compute, 228U - 150U);  // 150 to 222 + 6
  EXPECT_EQ(sums.sync, 64U);             // 240 to 304
  EXPECT_EQ(sums.total(), 210U);         // 100 to 310
  EXPECT_EQ(profile.steps().at(0x40100).cycles, 204U);
  EXPECT_EQ(profile.steps().at(0x40100).executions, 1U);
  EXPECT_EQ(profile.supersteps(), 2U);
}

TEST(CycleProfile, StepsAreKeptByProgramAndCountedOnItsFirstIpu) {
  CycleProfile profile(4, 1, {0, 1, 1, 0});
  const auto on = [](unsigned ipu, MachineEvent e) {
    e.ipu = static_cast<std::uint16_t>(ipu);
    return e;
  };
  for (unsigned ipu : {1U, 2U}) {
    profile.event(on(ipu, at(100 + ipu, Kind::start, 0, 0x40000)));
    profile.event(on(ipu, at(150, Kind::sync_release, 0, 0x40100)));
  }
  profile.event(on(3, at(102, Kind::start, 0, 0x40000)));
  profile.event(on(3, at(150, Kind::sync_release, 0, 0x40100)));
  profile.finish(200);
  EXPECT_EQ(profile.programs(), 2U);
  EXPECT_EQ(profile.steps(1).at(0x40100).executions, 1U);  // of IPU 1
  EXPECT_EQ(profile.steps(1).at(0x40100).cycles, 50U);
  EXPECT_EQ(profile.steps(1).at(0x40100).tiles.total(), 100U);  // of both
  EXPECT_EQ(profile.steps(0).at(0x40100).tiles.total(), 50U);
  EXPECT_EQ(profile.supersteps(), 2U);
  EXPECT_EQ(profile.start(), 101U);
  EXPECT_EQ(profile.start_of(0), kNever);
  EXPECT_EQ(profile.start_of(2), 102U);
  EXPECT_EQ(profile.tiles()[2].total(), 98U);
}

// Any legal order of events: the four sums are the time from first release to the end, for each tile.
RC_GTEST_PROP(CycleProfile, SumsAreTheTotalForAnyTimes, (const std::vector<std::uint16_t>& gaps)) {
  CycleProfile profile(1, 1);
  Cycle now = 7;
  profile.event(at(now, Kind::sync_release));
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    now += gaps[i] % 100;
    constexpr Kind order[] = {Kind::exchange_begin, Kind::exchange_end, Kind::run,
                              Kind::exit,           Kind::sync_arrive,  Kind::sync_release};
    if (gaps[i] % 7 != 0) profile.event(at(now, order[i % 6]));
  }
  profile.finish(now + 3);
  RC_ASSERT(profile.tiles()[0].total() == now + 3 - 7);
}

}  // namespace
}  // namespace tessera::profile
