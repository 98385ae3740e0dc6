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
