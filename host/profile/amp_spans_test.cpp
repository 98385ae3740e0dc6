// Cycles of AMP compute sets from events made by hand.
#include "host/profile/amp_spans.h"

#include <gtest/gtest.h>

namespace tessera::profile {
namespace {

using Kind = MachineEvent::Kind;

/// Two tiles; on each an AMP vertex of "first" (state 0x100) and one of "second" (0x200).
executable::Executable two_sets() {
  executable::Executable e;
  e.programs.emplace_back();
  executable::Program& program = e.programs.front();
  program.tiles = 2;
  program.vertex_names = {{"v", "Conv", "first"}, {"w", "Conv", "second"}, {"x", "Relu", "plain"}};
  for (std::uint32_t tile = 0; tile < 2; ++tile) {
    program.vertices.push_back({tile, 0x3F, 0x40, 0x100, 0, 1, 0, 0});
    program.vertices.push_back({tile, 0x3F, 0x50, 0x200, 0, 1, 1, 0});
    program.vertices.push_back({tile, 0x01, 0x60, 0x300, 0, 1, 2, 0});
  }
  e.instances.push_back({0, 0, 0});
  return e;
}

class Played {
 public:
  Played() : executable_(two_sets()), spans_(1, 2, executable_) {}
  void event(Cycle cycle, unsigned tile, Kind kind, unsigned context = 0, std::uint32_t a0 = 0) {
    MachineEvent event;
    event.cycle = cycle;
    event.tile = static_cast<std::uint16_t>(tile);
    event.context = static_cast<ContextId>(context);
    event.kind = kind;
    event.a0 = a0;
    spans_.event(event);
  }
  void release(Cycle cycle) {
    for (unsigned tile = 0; tile < 2; ++tile) event(cycle, tile, Kind::sync_release);
  }
  std::map<std::string, AmpSpan> end() {
    spans_.finish();
    return spans_.spans();
  }

 private:
  executable::Executable executable_;
  AmpSpans spans_;
};

TEST(AmpSpans, LastFromTheExchangeToTheLastExitOfTheSlowestTile) {
  Played played;
  played.release(100);
  played.event(129, 0, Kind::exchange_end);
  played.event(139, 1, Kind::exchange_end);
  for (unsigned tile = 0; tile < 2; ++tile) played.event(150, tile, Kind::run, 1, 0x100);
  played.event(194, 0, Kind::exit, 1);  // 130 .. 200
  played.event(214, 1, Kind::exit, 1);  // 140 .. 220
  const auto spans = played.end();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans.at("first").executions, 1U);
  EXPECT_EQ(spans.at("first").cycles, 80U);
  EXPECT_EQ(spans.at("first").tiles, 2U);
  EXPECT_EQ(spans.at("first").tile_cycles, 160U);
}

TEST(AmpSpans, WhatPlainWorkersDoBeforeIsNotTheirs) {
  Played played;
  played.release(0);
  played.event(10, 0, Kind::run, 1, 0x300);
  played.event(54, 0, Kind::exit, 1);  // plain, to 60
  played.event(70, 0, Kind::run, 1, 0x100);
  played.event(70, 0, Kind::run, 2, 0x100);
  played.event(80, 0, Kind::exit, 1);
  played.event(94, 0, Kind::exit, 2);  // 60 .. 100
  played.event(110, 0, Kind::run, 1, 0x200);
  played.event(124, 0, Kind::exit, 1);  // 100 .. 130
  played.event(140, 0, Kind::run, 3, 0x300);
  played.event(200, 0, Kind::exit, 3);
  const auto spans = played.end();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans.at("first").cycles, 40U);
  EXPECT_EQ(spans.at("second").cycles, 30U);
  EXPECT_EQ(spans.at("second").tile_cycles, 30U) << "tile 1 did nothing";
}

TEST(AmpSpans, ExecutionsAreSummed) {
  Played played;
  for (const Cycle release : {0, 1000, 2000}) {
    played.release(release);
    played.event(release + 10, 1, Kind::run, 6, 0x200);
    played.event(release + 44, 1, Kind::exit, 6);
  }
  const auto spans = played.end();
  EXPECT_EQ(spans.at("second").executions, 3U);
  EXPECT_EQ(spans.at("second").cycles, 150U);
  EXPECT_EQ(spans.count("first"), 0U);
}

}  // namespace
}  // namespace tessera::profile
