// Random programs on the RTL tile in lockstep with the exact TLM: races included, since both follow issue order.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "tlm/tile/tlm_tile.h"
#include "verif/cosim/lockstep_tile.h"
#include "verif/cosim/rtl_tile.h"
#include "verif/random/played_tile.h"

namespace tessera::random {
namespace {

/// Seed of a run: TESSERA_SEED in the environment, else fixed.
std::uint64_t run_seed() {
  const char* text = std::getenv("TESSERA_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 0) : 1;
}

struct Totals {
  std::uint64_t programs = 0, cycles = 0, stops = 0;
  LockstepTile::Counts counts;
};

/// One program; the message of a mismatch names the seed.
void run_program(const ProgramOptions& options, Totals& totals, Coverage& coverage) {
  const Program program = generate(options);
  const TileConfig config = config_of(options.seed);
  LockstepTile tile(config, std::make_unique<TlmTile>(config), make_rtl_tile(config));
  tile.observe(&coverage);
  load(tile, program);
  try {
    const Played played = play(tile, config, program);
    ASSERT_TRUE(played.ended) << "seed " << options.seed << " does not end";
    totals.cycles += played.stops.back().cycle;
    totals.stops += played.stops.size();
  } catch (const std::exception& error) {
    FAIL() << "seed " << options.seed << ": " << error.what();
  }
  const LockstepTile::Counts& n = tile.compared();
  ASSERT_EQ(n.instructions, tile.retired()) << "seed " << options.seed;
  totals.counts.instructions += n.instructions;
  totals.counts.traps += n.traps;
  totals.counts.words += n.words;
  totals.counts.registers += n.registers;
  totals.counts.memory_bytes += n.memory_bytes;
  ++totals.programs;
}

void run_until(std::uint64_t instructions, bool races, std::uint64_t first) {
  Totals totals;
  Coverage coverage;
  for (std::uint64_t seed = first; totals.counts.instructions < instructions; ++seed) {
    ProgramOptions options;
    options.seed = seed;
    options.races = races;
    ASSERT_NO_FATAL_FAILURE(run_program(options, totals, coverage));
  }
  const auto u = [](std::uint64_t v) { return static_cast<unsigned long long>(v); };
  std::printf(
      "seed %llu: %llu programs, %llu cycles, compared in lockstep: %llu instructions, %llu traps, %llu exchange "
      "words, %llu registers, %llu bytes\n%s\n",
      u(run_seed()), u(totals.programs), u(totals.cycles), u(totals.counts.instructions), u(totals.counts.traps),
      u(totals.counts.words), u(totals.counts.registers), u(totals.counts.memory_bytes), coverage.summary().c_str());
  for (const std::string& hole : coverage.holes()) ADD_FAILURE() << hole;
  EXPECT_GT(totals.counts.words, 1000u);
}

TEST(RandomRtl, LockstepOnRaceFreePrograms) { run_until(250'000, false, run_seed() * 1'000'000); }

TEST(RandomRtl, LockstepOnProgramsWithRaces) { run_until(250'000, true, run_seed() * 1'000'000 + 500'000); }

}  // namespace
}  // namespace tessera::random
