// Fast mode against exact interleave: thousands of random race-free programs of a supervisor and six workers; stops,
// cycles, all state and all memory must be the same. Programs compute, branch, loop, call, load and store in regions of
// their own, run F in pairs and alone in every rounding mode, write their own code, trap, and read counters and status.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tlm/tile/random_programs.h"
#include "tlm/tile/tile_bench.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera {
namespace {

using namespace tessera::testing;  // NOLINT: programs

struct NullObserver : RetireObserver {
  std::uint64_t records = 0, traps = 0, pairs = 0;
  void retired(const RetireRecord& r) override {
    ++records;
    traps += r.trap;
    pairs += r.paired;
  }
  void exchanged(const ExchangeWord&) override {}
};

/// Runs to the end, releasing wide syncs; the stops as they came. `limits`: also stops at random limits between.
std::vector<TileStop> run(TlmTile& tile, std::mt19937* limits) {
  std::vector<TileStop> stops;
  tile.start(kSramBase, 5);
  Cycle limit = limits != nullptr ? (*limits)() % 3000 : 200000;
  for (;;) {
    const TileStop stop = tile.run(limit, nullptr, nullptr);
    if (stop.kind == TileStop::Kind::limit && limit < 200000) {
      limit = std::min<Cycle>(200000, limit + (*limits)() % 3000);
      continue;
    }
    stops.push_back(stop);
    if (stop.kind != TileStop::Kind::sync) return stops;
    tile.release(stop.cycle + 64, (stop.value & 1) != 0);
  }
}

/// All state, and where the tile first trapped for good.
void expect_same(const TlmTile& a, const TlmTile& b, unsigned seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  expect_same_state(a, b);
  ASSERT_EQ(a.exception().has_value(), b.exception().has_value());
  if (a.exception()) {
    ASSERT_EQ(a.exception()->cycle, b.exception()->cycle);
    ASSERT_EQ(a.exception()->context, b.exception()->context);
  }
  ASSERT_FALSE(::testing::Test::HasFailure());
}

void expect_same(const std::vector<TileStop>& a, const std::vector<TileStop>& b, unsigned seed) {
  ASSERT_EQ(a.size(), b.size()) << "seed " << seed;
  for (std::size_t k = 0; k < a.size(); ++k) {
    ASSERT_EQ(a[k].kind, b[k].kind) << "seed " << seed << " stop " << k;
    ASSERT_EQ(a[k].cycle, b[k].cycle) << "seed " << seed << " stop " << k;
    ASSERT_EQ(a[k].value, b[k].value) << "seed " << seed << " stop " << k;
  }
}

/// Seeds first..first+count: fast, fast with random limits, exact, exact in search of races, of which there are none.
/// `all` adds up what the exact runs retired.
void compare(unsigned first, unsigned count, NullObserver& all) {
  TileConfig config;
  config.sram_bytes = kRandomBytes;
  auto cache = std::make_shared<CodeCache>();
  for (unsigned seed = first; seed < first + count; ++seed) {
    TlmTile fast(config, cache), chopped(config, cache), exact(config, cache), watched(config, cache);
    for (TlmTile* tile : {&fast, &chopped, &exact, &watched})
      ASSERT_NO_FATAL_FAILURE(load_random_programs(*tile, seed));
    exact.observe(&all);
    bool race = false;
    watched.watch_races([&race](const TileRace&) { race = true; });
    std::mt19937 limits(seed);
    const auto reference = run(exact, nullptr);
    ASSERT_NO_FATAL_FAILURE(expect_same(run(fast, nullptr), reference, seed));
    ASSERT_NO_FATAL_FAILURE(expect_same(run(chopped, &limits), reference, seed));
    ASSERT_NO_FATAL_FAILURE(expect_same(run(watched, nullptr), reference, seed));
    ASSERT_FALSE(race) << "seed " << seed;
    ASSERT_NO_FATAL_FAILURE(expect_same(fast, exact, seed));
    ASSERT_NO_FATAL_FAILURE(expect_same(chopped, exact, seed));
    ASSERT_NO_FATAL_FAILURE(expect_same(watched, exact, seed));
  }
}

TEST(TlmCross, FastEqualsExactOnRandomPrograms) {
  NullObserver all;
  ASSERT_NO_FATAL_FAILURE(compare(0, 3000, all));
  // The programs must do something: many instructions, many pairs, some traps.
  EXPECT_GT(all.records, 1'000'000u);
  EXPECT_GT(all.pairs, 10'000u);
  EXPECT_GT(all.traps, 3000u);
  RecordProperty("instructions", std::to_string(all.records));
}

}  // namespace
}  // namespace tessera
