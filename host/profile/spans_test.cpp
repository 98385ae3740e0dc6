#include "host/profile/spans.h"

#include <gtest/gtest.h>

namespace tessera::profile {
namespace {

using Kind = MachineEvent::Kind;

MachineEvent at(Cycle cycle, unsigned ipu, unsigned tile, Kind kind, Address pc = 0) {
  MachineEvent e;
  e.cycle = cycle;
  e.ipu = static_cast<std::uint16_t>(ipu);
  e.tile = static_cast<std::uint16_t>(tile);
  e.kind = kind;
  e.pc = pc;
  return e;
}

TEST(SuperstepSpans, PartsOfTheSlowestTile) {
  SuperstepSpans spans(2);
  for (unsigned tile : {0U, 1U}) spans.event(at(10, 0, tile, Kind::start, 0x40040));
  spans.event(at(30, 0, 1, Kind::exit));
  spans.event(at(24, 0, 0, Kind::exit));
  for (const Cycle release : {100, 300}) {
    for (unsigned tile : {0U, 1U}) spans.event(at(release, 0, tile, Kind::sync_release, 0x40100));
    spans.event(at(release + 20, 0, 0, Kind::exchange_end));
    spans.event(at(release + 49, 0, 1, Kind::exchange_end));
    spans.event(at(release + (release == 300 ? 80 : 60), 0, 1, Kind::packet_done));
    spans.event(at(release + 94, 0, 0, Kind::exit));
  }
  spans.event(at(500, 1, 0, Kind::start, 0x40040));
  spans.finish(600);
  const auto& first = spans.of(0);
  ASSERT_EQ(first.size(), 2U);
  const Span start = first.at(0x40040), loop = first.at(0x40100);
  EXPECT_EQ(start.executions, 1U);
  EXPECT_EQ(start.moving, 0U);
  EXPECT_EQ(start.computing, 26U);
  EXPECT_EQ(start.waiting, 64U);
  EXPECT_EQ(loop.executions, 2U);
  EXPECT_EQ(loop.moving, 140U);
  EXPECT_EQ(loop.longest_moving, 80U);
  EXPECT_EQ(loop.computing, 40U + 20U);
  EXPECT_EQ(loop.waiting, 100U + 200U);
  EXPECT_EQ(spans.of(1).at(0x40040).waiting, 100U);
}

}  // namespace
}  // namespace tessera::profile
