// Tiles of one IPU between releases: times of syncs, exchange, every way a superstep can end, threads.
#include "tlm/system/ipu.h"

#include <gtest/gtest.h>

#include "tlm/exchange/fake_tile.h"

namespace tessera {
namespace {

using testing::FakeTile;
using Kind = TileStop::Kind;

FabricTiming flat(unsigned tiles) { return {20, std::vector<Cycle>(tiles, 2), std::vector<Cycle>(tiles, 4)}; }

/// An IPU of fake tiles; `fake[t]` are its tiles.
struct Bench {
  explicit Bench(unsigned tiles, unsigned threads = 1) : pool(threads) {
    IpuConfig config;
    config.ipu = 3;
    config.tiles = tiles;
    config.sram_bytes = 65536;
    config.fabric = flat(tiles);
    ipu = std::make_unique<Ipu>(
        config,
        [this](const TileConfig& c, TileMode) {
          auto tile = std::make_unique<FakeTile>(c);
          fake.push_back(tile.get());
          return tile;
        },
        pool);
  }
  void put(unsigned t, Address at, std::uint64_t bits) {
    fake[t]->write_memory(at, reinterpret_cast<const std::uint8_t*>(&bits), 8);
  }
  TilePool pool;
  std::vector<FakeTile*> fake;
  std::unique_ptr<Ipu> ipu;
};

constexpr Address kTable = 0x40100;

std::uint64_t linear(Cycle t, unsigned words, Address address, unsigned peer) {
  return (t << 4) | (std::uint64_t{words} << 22) | (std::uint64_t{(address - 0x40000) / 4} << 34) |
         (std::uint64_t{peer} << 52);
}

TEST(Ipu, TwoTilesExchangeBetweenReleases) {
  Bench b(2);
  // Tile 0 sends three words at t = 12, tile 1 takes them at 12 + 26; both sync before and after.
  b.put(0, kTable, 1);
  b.put(0, kTable + 8, linear(12, 3, 0x40000, 0));
  b.put(0, 0x40000, 0x0000000b0000000aull);
  b.put(1, kTable, 1 << 16);
  b.put(1, kTable + 8, linear(38, 3, 0x40800, 0));
  b.fake[0]->steps = {{Kind::sync, 60}, {Kind::exchange, 0, Zone::local, kTable}, {Kind::sync, 6}};
  b.fake[1]->steps = {{Kind::sync, 30, Zone::internal, 0}, {Kind::exchange, 0, Zone::local, kTable}, {Kind::sync, 6}};
  b.ipu->boot(0x40000, 0);
  ASSERT_EQ(b.ipu->advance(100000), Ipu::Outcome::arrived);
  EXPECT_EQ(b.ipu->arrival()->latest, 60u);
  EXPECT_FALSE(b.ipu->arrival()->vote);
  b.ipu->release(124, false);
  ASSERT_EQ(b.ipu->advance(100000), Ipu::Outcome::arrived);
  EXPECT_EQ(b.fake[0]->results[0].last_word, 124u + 14);
  EXPECT_EQ(b.fake[1]->results[0].last_word, 124u + 40);
  EXPECT_EQ(b.fake[1]->word(0x40800), 10u);
  EXPECT_EQ(b.fake[1]->word(0x40804), 11u);
  EXPECT_EQ(b.ipu->arrival()->latest, 124u + 40 + 4 + 6);  // resumes at L + 4, arrives 6 later
}

TEST(Ipu, LateDescriptorEndsWithTheExceptionOfTheListener) {
  Bench b(2);
  b.put(0, kTable, 1);
  b.put(0, kTable + 8, linear(12, 3, 0x40000, 0));
  b.put(1, kTable, 1 << 16);
  b.put(1, kTable + 8, linear(39, 3, 0x40800, 0));
  for (auto* fake : b.fake) fake->steps = {{Kind::sync, 6}, {Kind::exchange, 0, Zone::local, kTable}, {Kind::sync, 6}};
  b.ipu->boot(0x40000, 0);
  ASSERT_EQ(b.ipu->advance(100000), Ipu::Outcome::arrived);
  b.ipu->release(70, true);
  ASSERT_EQ(b.ipu->advance(100000), Ipu::Outcome::exception);
  EXPECT_EQ(b.ipu->exception()->tile, 1u);
  EXPECT_EQ(b.ipu->exception()->exception.cause, 27u);
  EXPECT_EQ(b.fake[1]->results[0].fault->cycle, 70u + 41);
  EXPECT_EQ(b.ipu->exception()->exception.tval, kTable + 8);
}

TEST(Ipu, FirstExceptionIsTheSmallestByCycleThenTile) {
  Bench b(3);
  b.fake[0]->steps = {{Kind::exception, 500}};
  b.fake[1]->steps = {{Kind::exception, 300}};
  b.fake[2]->steps = {{Kind::exception, 300}};
  b.ipu->boot(0x40000, 0);
  ASSERT_EQ(b.ipu->advance(kNever - 1), Ipu::Outcome::exception);
  EXPECT_EQ(b.ipu->exception()->tile, 1u);
  EXPECT_EQ(b.ipu->exception()->exception.cycle, 300u);
}

TEST(Ipu, ExceptionEndsTheRunThoughAnotherTileLoops) {
  Bench b(2);
  b.fake[0]->endless = true;
  b.fake[1]->steps = {{Kind::exception, 300}};
  b.ipu->boot(0x40000, 0);
  EXPECT_EQ(b.ipu->advance(100), Ipu::Outcome::running);
  EXPECT_EQ(b.ipu->advance(1000), Ipu::Outcome::exception);
}

TEST(Ipu, TilesInDifferentZonesAreAConflictThatNamesBothSets) {
  Bench b(4);
  for (unsigned t = 0; t < 4; ++t) b.fake[t]->steps = {{Kind::sync, 10 + t, t < 2 ? Zone::internal : Zone::host}};
  b.fake[3]->steps.clear();
  b.fake[3]->endless = true;  // found at once, not when all have arrived
  b.ipu->boot(0x40000, 0);
  ASSERT_EQ(b.ipu->advance(1000), Ipu::Outcome::conflict);
  EXPECT_EQ(b.ipu->conflict()->cycle, 12u);
  EXPECT_EQ(b.ipu->conflict()->sets[0].tiles, (std::vector<unsigned>{0, 1}));
  EXPECT_EQ(b.ipu->conflict()->sets[1].tiles, (std::vector<unsigned>{2}));
}

TEST(Ipu, TileThatNeverArrivesIsADeadlockThatNamesWhoWaitsForWhat) {
  Bench b(3);
  b.fake[0]->steps = {{Kind::sync, 10}};
  b.fake[2]->steps = {{Kind::sync, 12}};
  b.ipu->boot(0x40000, 0);
  ASSERT_EQ(b.ipu->advance(1000), Ipu::Outcome::stuck);
  const std::string report = b.ipu->describe([](TileRef ref, Address) { return "code" + std::to_string(ref.tile); });
  EXPECT_EQ(report,
            "IPU 3 tile 0: waits in x.sync internal, supervisor pc 0x00040004 (code0)\n"
            "IPU 3 tile 1: idle, no context can run: it will never arrive, supervisor pc 0x00040000 (code1)\n"
            "IPU 3 tile 2: waits in x.sync internal, supervisor pc 0x00040004 (code2)");
}

TEST(Ipu, InactiveTilesCountAsArrived) {
  Bench b(3);
  b.ipu->set_active(1, false);
  b.fake[0]->steps = {{Kind::sync, 10}};
  b.fake[2]->steps = {{Kind::sync, 12}};
  b.ipu->boot(0x40000, 0);
  EXPECT_EQ(b.ipu->advance(1000), Ipu::Outcome::arrived);
  EXPECT_FALSE(b.fake[1]->started);
}

TEST(Ipu, NothingLeftAndNobodyWaitingIsStopped) {
  Bench b(2);
  b.ipu->boot(0x40000, 0);
  EXPECT_EQ(b.ipu->advance(1000), Ipu::Outcome::stopped);
}

class Log : public EventObserver {
 public:
  void event(const MachineEvent& e) override { events.push_back(e); }
  std::vector<MachineEvent> events;
};

TEST(Ipu, EventsAndResultsDoNotDependOnThreads) {
  std::vector<std::vector<MachineEvent>> logs;
  for (unsigned threads : {1u, 3u}) {
    Bench b(9, threads);
    Log log;
    b.ipu->hooks.events = &log;
    for (unsigned t = 0; t < 9; ++t)
      for (unsigned i = 0; i < 20; ++i) b.fake[t]->steps.push_back({Kind::sync, 6 * (1 + (t * 7 + i * 5) % 11)});
    b.ipu->boot(0x40000, 0);
    for (unsigned i = 0; i < 20; ++i) {
      ASSERT_EQ(b.ipu->advance(100000), Ipu::Outcome::arrived);
      b.ipu->release(b.ipu->arrival()->latest + 64, true);
    }
    EXPECT_EQ(b.ipu->advance(100000), Ipu::Outcome::stopped);
    logs.push_back(log.events);
  }
  ASSERT_EQ(logs[0].size(), 9u * 41);  // a start, 20 arrivals, 20 releases a tile
  ASSERT_EQ(logs[0].size(), logs[1].size());
  for (std::size_t i = 0; i < logs[0].size(); ++i) {
    EXPECT_EQ(logs[0][i].cycle, logs[1][i].cycle);
    EXPECT_EQ(logs[0][i].tile, logs[1][i].tile);
  }
}

TEST(TilePool, ThrowsTheErrorOfTheSmallestTask) {
  for (unsigned threads : {1u, 4u}) {
    TilePool pool(threads);
    std::vector<int> ran(50);
    try {
      pool.run(50, [&](std::size_t i) {
        ran[i] = 1;
        if (i % 7 == 6) throw std::runtime_error(std::to_string(i));
      });
      FAIL() << "no error came out";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "6");
    }
    EXPECT_EQ(std::count(ran.begin(), ran.end(), 1), 50);
  }
}

}  // namespace
}  // namespace tessera
