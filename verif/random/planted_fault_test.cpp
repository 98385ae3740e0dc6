// Faults planted in the RTL tile, one for each unit, and lockstep on random programs: each must be found, in what it
// changes first, within a few programs; a model without one agrees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "tlm/tile/tlm_tile.h"
#include "verif/cosim/lockstep_tile.h"
#include "verif/cosim/rtl_tile.h"
#include "verif/random/runs.h"

namespace tessera::random {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

/// What lockstep says of a program on RTL with the fault; nothing if both agree or it does not end.
std::optional<std::string> difference(const Program& program, std::uint64_t seed, const std::string& fault,
                                      std::uint64_t& compared) {
  const TileConfig config = config_of(seed);
  LockstepTile tile(config, std::make_unique<TlmTile>(config), make_faulty_rtl_tile(config, fault));
  load(tile, program);
  std::optional<std::string> found;
  try {
    (void)play(tile, config, program);
  } catch (const Error& error) {
    if (error.category() != Category::lockstep_mismatch) throw;
    found = error.what();
  }
  compared += tile.compared().instructions;
  return found;
}

struct Found {
  unsigned programs = 0;
  std::string message;  ///< first line
};

/// Runs random programs until the fault shows, at most `limit`.
Found find(const std::string& fault, unsigned limit) {
  Found out;
  std::uint64_t compared = 0;
  for (std::uint64_t seed = run_seed() * 1'000'000 + 700'000; out.programs < limit && out.message.empty(); ++seed) {
    ProgramOptions options;
    options.seed = seed;
    options.subset = Subset::rtl;
    const auto d = difference(build(recipe(options)), seed, fault, compared);
    ++out.programs;
    if (d) out.message = d->substr(0, d->find('\n'));
  }
  std::printf("%s: %s after %u programs, %llu instructions: %s\n", fault.c_str(),
              out.message.empty() ? "nothing" : "found", out.programs, static_cast<unsigned long long>(compared),
              out.message.c_str());
  return out;
}

constexpr unsigned kPrograms = 60;

TEST(PlantedFault, NoneAgrees) { EXPECT_EQ(find("none", 8).message, ""); }

TEST(PlantedFault, AdderShowsInAValueOrAddress) {
  EXPECT_THAT(find("adder", kPrograms).message,
              AnyOf(HasSubstr("register value"), HasSubstr("address"), HasSubstr("trap"), HasSubstr("next pc")));
}

// After a last round the loop is still on: xrpt is not 0, and a jump traps.
TEST(PlantedFault, LoopEndShowsInTheNextPcOrTheRoundsLeft) {
  EXPECT_THAT(find("loop_end", kPrograms).message,
              AnyOf(HasSubstr("differ: next pc"), HasSubstr("differ: x register value"), HasSubstr("differ: trap")));
}

TEST(PlantedFault, SlotShowsInACycle) { EXPECT_THAT(find("slot", kPrograms).message, HasSubstr("differ: cycle")); }

TEST(PlantedFault, ExchangeTimeShowsInAWordSent) {
  EXPECT_THAT(find("exchange_time", kPrograms).message, HasSubstr("exchange word"));
}

TEST(PlantedFault, StreamStrideShowsInAPointer) {
  EXPECT_THAT(find("stream_stride", kPrograms).message, HasSubstr("differ: stream S"));
}

// Only ties to an even neighbour differ, of which there is one in some hundred thousand instructions.
TEST(PlantedFault, FpuRoundingShowsInAnFRegister) {
  EXPECT_THAT(find("fpu_round", 2000).message, HasSubstr("differ: f write"));
}

TEST(PlantedFault, SimdRoundingShowsInAnFRegister) {
  EXPECT_THAT(find("simd_round", kPrograms).message, HasSubstr("differ: f write"));
}

TEST(PlantedFault, AmpOrderShowsInASumOrItsOutput) {
  EXPECT_THAT(find("amp_order", kPrograms).message, AnyOf(HasSubstr("AMP sum"), HasSubstr("differ: f write")));
}

}  // namespace
}  // namespace tessera::random
