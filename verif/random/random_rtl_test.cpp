// Random programs on the RTL tile in lockstep with the exact TLM: races included, since both follow issue order. Only
// instructions that the table says the RTL has.
#include <gtest/gtest.h>

#include <cstdio>

#include "tlm/tile/tlm_tile.h"
#include "verif/cosim/lockstep_tile.h"
#include "verif/cosim/rtl_tile.h"
#include "verif/coverage/covered_tile.h"
#include "verif/random/runs.h"

namespace tessera::random {
namespace {

struct Sums {
  std::uint64_t programs = 0, cycles = 0;
  LockstepTile::Counts counts;
  Coverage reached;
  std::shared_ptr<coverage::Totals> coverage = coverage::Totals::from_environment();
};

using MakeRtl = std::function<std::unique_ptr<TileModel>(const TileConfig&)>;

/// Runs a program in lockstep with what `make` makes; what the mismatch says, if there is one.
std::optional<std::string> compare_lockstep(const Program& program, std::uint64_t seed, const MakeRtl& make,
                                            Sums* sums) {
  const TileConfig config = config_of(seed);
  auto owned = std::make_unique<LockstepTile>(config, std::make_unique<TlmTile>(config), make(config));
  const LockstepTile& tile = *owned;
  const auto shown = coverage::covered(config, std::move(owned), sums != nullptr ? sums->coverage : nullptr);
  if (sums != nullptr) shown->observe(&sums->reached);
  load(*shown, program);
  try {
    const Played played = play(*shown, config, program);
    if (!played.ended) return "does not end";
    if (sums == nullptr) return std::nullopt;
    sums->cycles += played.stops.back().cycle;
  } catch (const std::exception& error) {
    return error.what();
  }
  const LockstepTile::Counts& n = tile.compared();
  if (n.instructions != tile.retired()) return "not all retired instructions were compared";
  sums->counts.instructions += n.instructions;
  sums->counts.traps += n.traps;
  sums->counts.words += n.words;
  sums->counts.registers += n.registers;
  sums->counts.memory_bytes += n.memory_bytes;
  ++sums->programs;
  return std::nullopt;
}

void run_until(std::uint64_t instructions, bool races, std::uint64_t first, const char* test) {
  Sums sums;
  // Goes on for a while if something rare has not come yet: each new instruction of the RTL shifts what is drawn.
  const auto enough = [&] {
    const std::uint64_t n = sums.counts.instructions;
    return n >= 3 * instructions || (n >= instructions && sums.reached.holes(Subset::rtl).empty());
  };
  for (std::uint64_t seed = only_program().value_or(first); !enough(); ++seed) {
    ProgramOptions options;
    options.seed = seed;
    options.races = races;
    options.subset = Subset::rtl;
    const auto failure = check(
        options,
        [&](const Program& program) {
          return compare_lockstep(
              program, seed, [](const TileConfig& c) { return make_rtl_tile(c); }, &sums);
        },
        std::string("build/tests/random_rtl_test --gtest_filter=RandomRtl.") + test, true);
    ASSERT_FALSE(failure) << *failure;
    if (only_program()) return;
  }
  const auto u = [](std::uint64_t v) { return static_cast<unsigned long long>(v); };
  std::printf(
      "seed %llu: %llu programs, %llu cycles, compared in lockstep: %llu instructions, %llu traps, %llu exchange "
      "words, %llu registers, %llu bytes\n%s\n",
      u(run_seed()), u(sums.programs), u(sums.cycles), u(sums.counts.instructions), u(sums.counts.traps),
      u(sums.counts.words), u(sums.counts.registers), u(sums.counts.memory_bytes), sums.reached.summary().c_str());
  for (const std::string& hole : sums.reached.holes(Subset::rtl)) ADD_FAILURE() << hole;
  EXPECT_GT(sums.counts.words, 1000u);
}

TEST(RandomRtl, LockstepOnRaceFreePrograms) {
  run_until(250'000, false, run_seed() * 1'000'000, "LockstepOnRaceFreePrograms");
}

TEST(RandomRtl, LockstepOnProgramsWithRaces) {
  run_until(250'000, true, run_seed() * 1'000'000 + 500'000, "LockstepOnProgramsWithRaces");
}

/// An adder with a wrong bit is found, and what is printed is small enough to be read.
TEST(RandomRtl, AFaultIsShrunkToASmallProgram) {
  for (std::uint64_t seed = 1; seed < 200; ++seed) {
    ProgramOptions options;
    options.seed = seed;
    options.subset = Subset::rtl;
    const Compare compare = [&](const Program& program) {
      return compare_lockstep(
          program, seed, [](const TileConfig& c) { return make_faulty_rtl_tile(c); }, nullptr);
    };
    const Recipe whole = recipe(options);
    const auto found = compare(build(whole));
    if (!found || *found == "does not end") continue;
    const ShrinkResult small = shrink(whole, [&](const Program& p) {
      const auto again = compare(p);
      return again && *again != "does not end";
    });
    const Program program = build(small.recipe);
    const auto still = compare(program);
    ASSERT_TRUE(still);
    std::printf("%s", failure_report(small, *still, "").c_str());
    EXPECT_LT(program.code_words(), 20u);
    EXPECT_GT(build(whole).code_words(), 200u);
    return;
  }
  FAIL() << "no program found the fault";
}

}  // namespace
}  // namespace tessera::random
