// Random programs on the TLM tile, fast against exact (race-free ones); and that the generator reaches everything. The
// RTL tile in lockstep is in random_rtl_test.cpp.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "tlm/tile/tlm_tile.h"
#include "verif/random/played_tile.h"

namespace tessera::random {
namespace {

/// Seed of a run: TESSERA_SEED in the environment, else fixed.
std::uint64_t run_seed() {
  const char* text = std::getenv("TESSERA_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 0) : 1;
}

void expect_same_state(const TlmTile& a, const TlmTile& b, std::uint64_t seed) {
  for (ContextId c = 0; c < 7; ++c) {
    const ContextState x = a.context(c), y = b.context(c);
    ASSERT_EQ(x.run, y.run) << "seed " << seed << " context " << int{c};
    ASSERT_EQ(x.pc, y.pc) << "seed " << seed << " context " << int{c};
    ASSERT_EQ(x.x, y.x) << "seed " << seed << " context " << int{c};
    ASSERT_EQ(x.f, y.f) << "seed " << seed << " context " << int{c};
    ASSERT_EQ(x.fcsr, y.fcsr) << "seed " << seed << " context " << int{c};
    ASSERT_EQ(x.mcause, y.mcause) << "seed " << seed << " context " << int{c};
    ASSERT_EQ(x.mepc, y.mepc) << "seed " << seed << " context " << int{c};
    ASSERT_EQ(x.mtval, y.mtval) << "seed " << seed << " context " << int{c};
  }
  std::vector<std::uint8_t> m(Program::kSramBytes), n(Program::kSramBytes);
  a.read_memory(0x40000, m.data(), m.size());
  b.read_memory(0x40000, n.data(), n.size());
  ASSERT_EQ(m, n) << "seed " << seed;
  ASSERT_EQ(a.retired(), b.retired()) << "seed " << seed;
}

TEST(Random, FastEqualsExactAndEverythingIsReached) {
  const std::uint64_t first = run_seed() * 1'000'000;
  Coverage coverage;
  std::uint64_t programs = 0;
  for (; programs < 1500; ++programs) {
    const std::uint64_t seed = first + programs;
    ProgramOptions options;
    options.seed = seed;
    const Program program = generate(options);
    const TileConfig config = config_of(seed);
    TlmTile fast(config), exact(config);
    load(fast, program);
    load(exact, program);
    exact.observe(&coverage);
    const Played x = play(exact, config, program), y = play(fast, config, program);
    ASSERT_TRUE(x.ended) << "seed " << seed << " does not end";
    ASSERT_EQ(x.stops.size(), y.stops.size()) << "seed " << seed;
    for (std::size_t k = 0; k < x.stops.size(); ++k) {
      ASSERT_EQ(x.stops[k].kind, y.stops[k].kind) << "seed " << seed << " stop " << k;
      ASSERT_EQ(x.stops[k].cycle, y.stops[k].cycle) << "seed " << seed << " stop " << k;
      ASSERT_EQ(x.stops[k].value, y.stops[k].value) << "seed " << seed << " stop " << k;
    }
    ASSERT_NO_FATAL_FAILURE(expect_same_state(exact, fast, seed));
  }
  std::printf("seed %llu: %llu programs, %s\n", static_cast<unsigned long long>(run_seed()),
              static_cast<unsigned long long>(programs), coverage.summary().c_str());
  for (const std::string& hole : coverage.holes()) ADD_FAILURE() << hole;
  EXPECT_GT(coverage.instructions, 500'000u);
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
