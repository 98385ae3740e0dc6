// Programs of host/demo on one IPU: code of their own and of the library, exchange, loops, data, names for reports.
#include <gtest/gtest.h>

#include "host/demo/builder.h"
#include "hw/encode.h"
#include "hw/error.h"
#include "verif/demo/demo_machine.h"

namespace tessera::demo {
namespace {

using isa::encode;
using isa::Op;
using testing::DemoMachine;

constexpr unsigned kRa = 1, kTp = 4, kA0 = 10, kA1 = 11, kA2 = 12, kA3 = 13;

/// *state[0] += tp + offset, as a vertex of every worker: word tp of the block.
std::vector<std::uint32_t> add_worker_and_offset() {
  return {encode(Op::lw, {kA2, 0, kA0}), encode(Op::slli, {kA3, kTp, 2}),  encode(Op::add, {kA2, kA2, kA3}),
          encode(Op::lw, {kA3, 0, kA2}), encode(Op::add, {kA3, kA3, kTp}), encode(Op::add, {kA3, kA3, kA1}),
          encode(Op::sw, {kA3, 0, kA2}), encode(Op::jalr, {0, 0, kRa})};
}

TileRef tile(unsigned t) { return {0, static_cast<std::uint16_t>(t)}; }

/// Every tile: six words grow in a loop, go to the next tile, and grow again there.
executable::Executable ring(const Platform& platform) {
  Builder b("ring", platform, 1);
  const unsigned n = b.tiles();
  const Address mine = b.allocate(6), theirs = b.allocate(6);
  const Code grow = b.code("grow", add_worker_and_offset());
  std::vector<Initial> start;
  std::vector<Call> first, second;
  exchange::Messages messages;
  for (unsigned t = 0; t < n; ++t) {
    start.push_back({tile(t), mine, {100 * t, 1, 2, 3, 4, 5}});
    first.push_back({tile(t), kAllWorkers, grow, {mine}});
    second.push_back({tile(t), worker(2), grow, {theirs}, 3});
    messages.add({static_cast<std::uint16_t>(t), 0, (mine - kSramBase) / 4},
                 {static_cast<std::uint16_t>((t + 1) % n), 0, (theirs - kSramBase) / 4}, 6);
  }
  b.initial("start", start);
  b.tensor("mine", graph::Type::u32, mine, 6);
  b.tensor("theirs", graph::Type::u32, theirs, 6);
  b.begin_repeat(4);
  b.compute("grow", first);
  b.add_offset(10);
  b.end_repeat();
  b.exchange("shift", messages);
  b.set_offset(7);
  b.compute("grow again", second);
  return b.build();
}

void expect_ring(const std::vector<std::uint32_t>& mine, const std::vector<std::uint32_t>& theirs, unsigned n) {
  ASSERT_EQ(mine.size(), 6 * n);
  ASSERT_EQ(theirs.size(), 6 * n);
  for (unsigned t = 0; t < n; ++t) {
    for (unsigned w = 0; w < 6; ++w) {
      const unsigned from = (t + n - 1) % n;
      const std::uint32_t grown = 4 * w + 0 + 10 + 20 + 30;
      EXPECT_EQ(mine[6 * t + w], (w == 0 ? 100 * t : w) + grown) << t << ", " << w;
      EXPECT_EQ(theirs[6 * t + w], (w == 0 ? 100 * from : w) + grown + (w == 1 ? 3 * (1 + 7) : 0)) << t << ", " << w;
    }
  }
}

TEST(Builder, LoopsExchangeAndOwnCode) {
  const Platform platform = load_platform("pocket");
  DemoMachine machine(ring(platform), platform);
  const engine::RunResult result = machine.run();
  expect_ring(machine.read<std::uint32_t>("mine"), machine.read<std::uint32_t>("theirs"), platform.tiles);
  EXPECT_EQ(machine.phases().compared(), 1U);
  EXPECT_TRUE(machine.phases().differences().empty());
  EXPECT_EQ(result.counters.words_received, 6U * platform.tiles);
  const executable::Program& program = machine.executable().programs.front();
  EXPECT_EQ(program.phases.front().words_sent, 6U * platform.tiles);
  EXPECT_GE(program.phases.front().cycles, program.phases.front().bound);
}

TEST(Builder, RunsTwiceFromWhatItHolds) {
  const Platform platform = load_platform("pocket");
  DemoMachine machine(ring(platform), platform);
  machine.run();
  const auto before = machine.read<std::uint32_t>("mine");
  machine.engine().run();
  const auto after = machine.read<std::uint32_t>("mine");
  for (unsigned t = 0; t < platform.tiles; ++t)
    for (unsigned w = 0; w < 6; ++w) EXPECT_EQ(after[6 * t + w], before[6 * t + w] + 4 * w + 60);
}

TEST(Builder, SaysWhichVertexTrapped) {
  const Platform platform = load_platform("pocket");
  Builder b("trap", platform, 1);
  const Code bad = b.code("odd_load", {encode(Op::lw, {kA2, 1, 0}), encode(Op::jalr, {0, 0, kRa})});
  b.compute("loads", {{tile(3), worker(5), bad, {0}}});
  DemoMachine machine(b.build(), platform);
  try {
    machine.run();
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::device_exception);
    for (const char* part : {"odd_load", "loads", "tile 3"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Builder, UsesCodeletsOfTheLibrary) {
  const Platform platform = load_platform("pocket");
  Builder b("codelet", platform, 1, 3);
  const Address from = b.allocate(8), to = b.allocate(8);
  const CodeletInfo& info = CodeletLibrary::builtin().at("Copy_u64");
  std::vector<std::uint32_t> state(info.state_bytes / 4);
  state[info.field("x")->offset / 4] = from;
  state[info.field("y")->offset / 4] = to;
  state[info.field("y")->offset / 4 + 1] = 8;
  b.initial("words", {{tile(2), from, {1, 2, 3, 4, 5, 6, 7, 8}}});
  b.compute("copy", {{tile(2), worker(4), b.codelet("Copy_u64"), state}});
  b.tensor("to", graph::Type::u32, to, 8);
  DemoMachine machine(b.build(), platform);
  machine.run();
  const auto words = machine.read<std::uint32_t>("to");
  for (unsigned i = 0; i < 24; ++i) EXPECT_EQ(words[i], i < 16 ? 0 : i - 15) << i;
}

TEST(Builder, SeveralIpusHaveTablesOfTheirOwn) {
  Platform platform = load_platform("pocket");
  platform.ipus_per_card = 2;
  platform.tiles = 5;
  Builder b("pair", platform);
  ASSERT_EQ(b.ipus(), 2U);
  const Address mine = b.allocate(6), theirs = b.allocate(6);
  const Code grow = b.code("grow", add_worker_and_offset());
  std::vector<Call> calls;
  std::vector<Initial> start;
  for (std::uint16_t ipu = 0; ipu < 2; ++ipu)
    for (std::uint16_t t = 0; t < 5; ++t) {
      start.push_back({{ipu, t}, mine, {10U * ipu + t, 0, 0, 0, 0, 0}});
      if (t % 2 == ipu) calls.push_back({{ipu, t}, worker(1), grow, {mine}, 7});
    }
  b.initial("start", start);
  std::vector<exchange::Messages> messages(2);  // IPU 1 moves more than IPU 0
  const std::uint32_t from = (mine - kSramBase) / 4, to = (theirs - kSramBase) / 4;
  messages[0].add({4, 0, from}, {0, 0, to}, 1);
  messages[1].add({1, 0, from}, std::vector<exchange::Place>{{0, 0, to}, {3, 0, to}}, 1);
  messages[1].add({2, 0, from}, {0, 0, to + 1}, 1);
  b.set_offset(1);
  b.compute("grow", calls);
  b.exchange("gather", messages);
  b.sync(Zone::group1);
  b.tensor("theirs", graph::Type::u32, theirs, 2);
  DemoMachine machine(b.build(), platform);
  machine.run();
  EXPECT_EQ(machine.read<std::uint32_t>("theirs"), (std::vector<std::uint32_t>{11, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(machine.read<std::uint32_t>("theirs", 1), (std::vector<std::uint32_t>{18, 12, 0, 0, 0, 0, 18, 0, 0, 0}));
  EXPECT_EQ(machine.phases().compared(), 2U);
  EXPECT_TRUE(machine.phases().differences().empty());
}

TEST(Builder, WhatDoesNotFitSaysHowMuch) {
  const Platform platform = load_platform("pocket");
  Builder b("large", platform, 1);
  EXPECT_THROW((void)b.allocate(65536 + 1), Error);
  Builder c("full", platform, 1);
  c.allocate(65536 - 64);
  c.sync(Zone::internal);
  try {
    (void)c.build();
    FAIL() << "it fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::does_not_fit);
    EXPECT_NE(std::string(error.what()).find("stacks"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tessera::demo
