// Import under fuzzing: briefly under `unit`, for minutes under `slow`. TESSERA_SEED chooses another run.
#include "verif/onnx/fuzz.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

namespace tessera::model {
namespace {

void expect_clean(const FuzzReport& report) {
  for (const std::string& failure : report.failures) ADD_FAILURE() << failure;
  std::printf("%llu models: %llu accepted (%llu computed), %llu refused\n",
              static_cast<unsigned long long>(report.iterations), static_cast<unsigned long long>(report.accepted),
              static_cast<unsigned long long>(report.computed), static_cast<unsigned long long>(report.refused));
  EXPECT_GT(report.accepted, report.iterations / 20);  // damage of every degree: some must still be models
  EXPECT_GT(report.refused, report.iterations / 4);
  EXPECT_GT(report.computed, 0U);
}

TEST(Fuzz, TheSameSeedGivesTheSameModels) {
  EXPECT_EQ(fuzzed_model(3, 14), fuzzed_model(3, 14));
  EXPECT_NE(fuzzed_model(3, 14), fuzzed_model(3, 15));
  EXPECT_NE(fuzzed_model(3, 14), fuzzed_model(4, 14));
}

#ifdef TESSERA_SLOW_FUZZ
TEST(Fuzz, ForMinutesNothingButModelsAndTypedErrors) {
  const char* seed = std::getenv("TESSERA_SEED");
  FuzzOptions options;
  options.seed = seed != nullptr ? std::strtoull(seed, nullptr, 10) : 2;
  options.iterations = std::numeric_limits<std::uint64_t>::max();
  options.seconds = 180;
  expect_clean(fuzz_import(options));
}
#else
TEST(Fuzz, NothingButModelsAndTypedErrors) {
  FuzzOptions options;
  options.iterations = 4000;
  expect_clean(fuzz_import(options));
}
#endif

}  // namespace
}  // namespace tessera::model
