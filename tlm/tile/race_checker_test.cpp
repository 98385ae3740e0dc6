// Races of a tile: what is one and what is not (docs/machine/tile.md), with both places.
#include <gtest/gtest.h>

#include "tlm/tile/tile_bench.h"

namespace tessera {
namespace {

using namespace tessera::testing;  // NOLINT: the bench

const std::uint32_t kExit = encode(Op::x_exit, {0});
constexpr Address kFirst = kSramBase + 0x4000, kSecond = kSramBase + 0x5000;

std::uint32_t run(unsigned worker, unsigned pc, unsigned a0) { return encode(Op::x_run, {worker, pc, a0, 0}); }
const std::uint32_t kSync = encode(Op::x_sync, {0, 0, 0});

/// x20, x21: the two worker programs; x22: data. Worker programs find the data in a0.
struct RaceBench {
  RaceBench(const Code& supervisor, const Code& first, const Code& second) : tile(TileConfig{}) {
    load(tile, kSramBase,
         join(constants({{20, kFirst}, {21, kSecond}, {22, kData}}), join(supervisor, {encode(Op::ecall)})));
    load(tile, kFirst, join(first, {kExit}));
    load(tile, kSecond, join(second, {kExit}));
    tile.watch_races([this](const TileRace& found) {
      ++told;
      race = found;
    });
    tile.start(kSramBase, 0);
    while (tile.run(100000, nullptr, nullptr).kind == TileStop::Kind::sync) tile.release(50000, true);
  }
  TlmTile tile;
  std::optional<TileRace> race;
  unsigned told = 0;
};

TEST(Races, TwoWorkersOnOneByte) {
  // Worker 1 stores a word, worker 2 loads the byte at its end.
  const Code both = {run(1, 20, 22), run(2, 21, 22), kSync};
  const RaceBench bench(both, {nop(), encode(Op::sw, {11, 4, 10})}, {nop(), nop(), encode(Op::lb, {12, 7, 10})});
  ASSERT_TRUE(bench.race);
  EXPECT_EQ(bench.told, 1u);
  EXPECT_EQ(bench.race->address, kData + 7);
  EXPECT_EQ(bench.race->first.context, 1);
  EXPECT_EQ(bench.race->first.pc, kFirst + 4);
  EXPECT_TRUE(bench.race->first.write);
  EXPECT_EQ(bench.race->second.context, 2);
  EXPECT_EQ(bench.race->second.pc, kSecond + 8);
  EXPECT_FALSE(bench.race->second.write);
  EXPECT_EQ(bench.race->cycle, 61u) << "x.run at 36 and 42, worker 2 at 49";
}

TEST(Races, NeighboursAndReadersAreNone) {
  const Code both = {run(1, 20, 22), run(2, 21, 22), kSync};
  EXPECT_FALSE(
      RaceBench(both, {encode(Op::sb, {11, 4, 10})}, {encode(Op::sb, {11, 5, 10}), encode(Op::lb, {12, 3, 10})}).race);
  EXPECT_FALSE(RaceBench(both, {encode(Op::lw, {11, 4, 10})}, {encode(Op::lw, {11, 4, 10})}).race);
  // The same program in both: all fetch the same code.
  EXPECT_FALSE(RaceBench({run(7, 20, 22), kSync}, {encode(Op::lw, {11, 4, 10})}, {}).race);
}

TEST(Races, SyncAndImplicitWaitsOrder) {
  const Code store = {encode(Op::sw, {11, 0, 10})}, load = {encode(Op::lw, {11, 0, 10})};
  const std::uint32_t look = encode(Op::lw, {11, 0, 22}), write = encode(Op::sw, {11, 0, 22});
  EXPECT_FALSE(RaceBench({run(1, 20, 22), kSync, run(2, 21, 22), kSync, look}, store, load).race);
  EXPECT_FALSE(RaceBench({run(1, 20, 22), encode(Op::x_sync, {0, 0, 1}), look}, store, load).race);
  EXPECT_FALSE(RaceBench({write, run(1, 20, 22), kSync, write, run(1, 20, 22), kSync}, store, load).race)
      << "x.run orders the past";
  EXPECT_FALSE(RaceBench({run(1, 20, 22), run(1, 20, 22), look, kSync}, {}, load).race);
  // x.run of the same worker waits for it: its first run is ordered, the second is not.
  const RaceBench again({run(1, 20, 22), run(1, 21, 22), look, kSync}, store, {nop()});
  EXPECT_FALSE(again.race);
  const RaceBench other({run(1, 20, 22), run(2, 21, 22), kSync}, store, load);
  EXPECT_TRUE(other.race);
  // .. and worker 2, started behind that wait, is ordered behind worker 1's first run through the supervisor.
  EXPECT_FALSE(RaceBench({run(1, 20, 22), run(1, 21, 0), run(2, 20, 22), kSync}, store, {nop()}).race);
  // x.amp.ldw waits for all workers.
  EXPECT_FALSE(RaceBench({run(1, 20, 22), encode(Op::x_amp_ldw, {0, 22}), look, kSync}, store, load).race);
  // x.exchange with table 0 does not.
  EXPECT_TRUE(RaceBench({run(1, 20, 22), encode(Op::x_exchange, {0}), nop(), look, kSync}, store, load).race);
}

TEST(Races, TheSupervisorRacesWithARunningWorker) {
  const RaceBench bench({run(1, 20, 22), nop(), encode(Op::sw, {11, 0, 22}), kSync}, {encode(Op::lw, {11, 0, 10})}, {});
  ASSERT_TRUE(bench.race);
  EXPECT_EQ(bench.race->first.context, 1);
  EXPECT_EQ(bench.race->second.context, 0);
  EXPECT_EQ(bench.race->second.pc, kSramBase + 24 + 8);
}

TEST(Races, WideAccessesStreamsAndCodeCount) {
  const Code both = {run(1, 20, 22), run(2, 21, 22), kSync};
  // The second half of a 128-bit load.
  EXPECT_TRUE(RaceBench(both, {encode(Op::x_ld128, {0, 0, 10})}, {nop(), encode(Op::sb, {11, 15, 10})}).race);
  EXPECT_FALSE(RaceBench(both, {encode(Op::x_ld128, {0, 0, 10})}, {nop(), encode(Op::sb, {11, 16, 10})}).race);
  // S1 of x.ld2.
  const Code streams = {encode(Op::addi, {12, 10, 64}), encode(Op::x_sset, {0, 10, 0}), encode(Op::x_sset, {1, 12, 0}),
                        encode(Op::x_ld2, {0, 2, 0, 0})};
  EXPECT_TRUE(RaceBench(both, streams, join(Code(8, nop()), {encode(Op::sh, {11, 70, 10})})).race);
  // A store over code that another context has run.
  const RaceBench code({run(1, 20, 22), run(2, 21, 20), kSync}, {nop()}, {nop(), nop(), encode(Op::sw, {0, 4, 10})});
  ASSERT_TRUE(code.race);
  EXPECT_TRUE(code.race->first.fetch);
  EXPECT_EQ(code.race->address, kFirst + 4);
}

TEST(Races, CheckingChangesNeitherTimeNorState) {
  const Code supervisor = join(constants({{20, kFirst}, {22, kData}}), {run(7, 20, 22), kSync, encode(Op::ecall)});
  const Code worker = {encode(Op::slli, {12, 4, 3}), encode(Op::add, {10, 10, 12}), encode(Op::sw, {4, 0, 10}),
                       encode(Op::div, {1, 2, 3}), kExit};
  TlmTile plain{TileConfig{}}, checked{TileConfig{}};
  bool found = false;
  checked.watch_races([&found](const TileRace&) { found = true; });
  for (TlmTile* tile : {&plain, &checked}) {
    load(*tile, kSramBase, supervisor);
    load(*tile, kFirst, worker);
    tile->start(kSramBase, 3);
  }
  const TileStop a = plain.run(100000, nullptr, nullptr), b = checked.run(100000, nullptr, nullptr);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.cycle, b.cycle);
  expect_same_state(plain, checked);
  EXPECT_FALSE(found);
}

}  // namespace
}  // namespace tessera
