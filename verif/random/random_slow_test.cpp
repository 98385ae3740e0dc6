// Twenty million retired instructions in lockstep, in parts that several cores run at once; seeds of their own.
#include <gtest/gtest.h>

#include <cstdio>

#include "verif/cosim/rtl_tile.h"
#include "verif/random/lockstep_run.h"

namespace tessera::random {
namespace {

void run_part(unsigned part, bool races) {
  Sums sums;
  const std::uint64_t first = run_seed() * 1'000'000'000 + part * 10'000'000;
  for (std::uint64_t seed = only_program().value_or(first); sums.counts.instructions < 5'000'000; ++seed) {
    ProgramOptions options;
    options.seed = seed;
    options.races = races;
    options.subset = Subset::rtl;
    const Compare compare = [&](const Program& program) {
      return compare_lockstep(
          program, seed, [](const TileConfig& c) { return make_rtl_tile(c); }, &sums);
    };
    const auto failure =
        check(options, compare, "build/tests/random_slow_test --gtest_filter=*Part" + std::to_string(part), true);
    ASSERT_FALSE(failure) << *failure;
    if (only_program()) return;
  }
  std::printf("%s", sums.summary().c_str());
  for (const std::string& hole : sums.reached.holes(Subset::rtl)) ADD_FAILURE() << hole;
}

TEST(RandomSlow, Part1) { run_part(1, false); }
TEST(RandomSlow, Part2) { run_part(2, true); }
TEST(RandomSlow, Part3) { run_part(3, false); }
TEST(RandomSlow, Part4) { run_part(4, true); }

}  // namespace
}  // namespace tessera::random
