// Random programs on the TLM tile, fast against exact (race-free ones); and that the generator reaches everything. The
// RTL tile in lockstep is in random_rtl_test.cpp.
#include <gtest/gtest.h>

#include <cstdio>

#include "verif/random/runs.h"

namespace tessera::random {
namespace {

TEST(Random, FastEqualsExactAndEverythingIsReached) {
  const std::uint64_t first = only_program().value_or(run_seed() * 1'000'000);
  Coverage reached;
  const auto totals = coverage::Totals::from_environment();
  std::uint64_t programs = 0;
  for (; programs < (only_program() ? 1 : 1500); ++programs) {
    ProgramOptions options;
    options.seed = first + programs;
    const auto failure = check(
        options, [&](const Program& program) { return compare_fast_exact(program, options.seed, &reached, totals); },
        "build/tests/random_test --gtest_filter=Random.Fast*", false);
    ASSERT_FALSE(failure) << *failure;
  }
  std::printf("seed %llu: %llu programs, %s\n", static_cast<unsigned long long>(run_seed()),
              static_cast<unsigned long long>(programs), reached.summary().c_str());
  if (only_program()) return;
  for (const std::string& hole : reached.holes(Subset::all)) ADD_FAILURE() << hole;
  EXPECT_GT(reached.instructions, 500'000u);
}

TEST(Random, ASeedMakesTheSameProgram) {
  ProgramOptions options;
  options.seed = 77;
  const Program a = generate(options), b = generate(options);
  ASSERT_EQ(a.blocks.size(), b.blocks.size());
  for (std::size_t k = 0; k < a.blocks.size(); ++k) EXPECT_EQ(a.blocks[k].words, b.blocks[k].words);
  options.seed = 78;
  EXPECT_NE(generate(options).blocks[0].words, a.blocks[0].words);
}

}  // namespace
}  // namespace tessera::random
