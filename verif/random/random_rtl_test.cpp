// Random programs on the RTL tile in lockstep with the exact TLM: races included, since both follow issue order. Only
// instructions that the table says the RTL has.
#include <gtest/gtest.h>

#include <cstdio>

#include "verif/cosim/rtl_tile.h"
#include "verif/random/lockstep_run.h"

namespace tessera::random {
namespace {

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
  std::printf("%s", sums.summary().c_str());
  for (const std::string& hole : sums.reached.holes(Subset::rtl)) ADD_FAILURE() << hole;
  EXPECT_GT(sums.counts.words, 1000u);
}

TEST(RandomRtl, LockstepOnRaceFreePrograms) {
  run_until(250'000, false, run_seed() * 1'000'000, "LockstepOnRaceFreePrograms");
}

TEST(RandomRtl, LockstepOnProgramsWithRaces) {
  run_until(250'000, true, run_seed() * 1'000'000 + 500'000, "LockstepOnProgramsWithRaces");
}

}  // namespace
}  // namespace tessera::random
