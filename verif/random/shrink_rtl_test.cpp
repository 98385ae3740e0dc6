// A fault planted in the RTL is found by random programs, and what is printed of it is small enough to be read.
#include <gtest/gtest.h>

#include <cstdio>

#include "verif/cosim/rtl_tile.h"
#include "verif/random/lockstep_run.h"

namespace tessera::random {
namespace {

/// An adder with a wrong bit is found, and what is printed is small enough to be read.
TEST(ShrinkRtl, AFaultIsShrunkToASmallProgram) {
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
