// Memory of networks as users meet it: weights in one copy, what does not fit as planned first, what does not fit at
// all and is told so, an interrupted measurement.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "verif/support/run_command.h"

namespace tessera::test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const char* const kSmall = "example:resnet50?size=32,width=16,stages=2,classes=10";
const char* const kWide = "example:resnet50?size=32,width=64,stages=2,classes=10";

class Memory : public testing::Test {
 protected:
  /// Runs a model with --check; the outputs go to `name`.
  Json run(const std::string& model, const std::string& name, const std::vector<std::string>& options) {
    const std::string json = scratch_ + "/" + name + ".json";
    std::vector<std::string> arguments = {"run",    model, "--check", "--quiet", "--out", scratch_ + "/" + name,
                                          "--json", json};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Outcome outcome = tessera(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    if (outcome.exit_code != 0) return {};
    Json result = Json::parse(read_file(json));
    EXPECT_GT(result.at("check").at("values").get<std::uint64_t>(), 0U);
    EXPECT_EQ(result.at("check").at("wrong").get<std::uint64_t>(), 0U);
    return result;
  }
  /// The small pocket machine, with this much SRAM.
  std::string pocket_with(std::uint32_t bytes) const {
    Json platform = Json::parse(read_file(source_path("hw/platforms/pocket.json")));
    platform["sram_bytes"] = bytes;
    const std::string file = scratch_ + "/pocket" + std::to_string(bytes) + ".json";
    write_file(file, platform.dump());
    return file;
  }

  const std::string scratch_ = scratch_directory();
};

TEST_F(Memory, WeightsOnceGivesTheSameForLessMemoryAndMoreCycles) {
  const Json resident = run(kSmall, "resident", {"--platform", "pocket"});
  const Json once =
      run(kSmall, "once", {"--platform", "pocket", "--weights", "once", "--expected", scratch_ + "/resident"});
  ASSERT_FALSE(resident.is_null() || once.is_null());
  EXPECT_EQ(resident.at("check").at("values"), once.at("check").at("values"));
  EXPECT_GT(once.at("cycles").get<std::uint64_t>(), resident.at("cycles").get<std::uint64_t>());
  EXPECT_LT(once.at("memory").at("sum").get<std::uint64_t>(), resident.at("memory").at("sum").get<std::uint64_t>());
}

TEST_F(Memory, WeightsOnceIsCompiledAndExecuted) {
  ASSERT_FALSE(run(kSmall, "resident", {"--platform", "pocket"}).is_null());
  const std::string inputs = scratch_ + "/inputs", file = scratch_ + "/once.tsx";
  Outcome outcome =
      tessera({"examples", std::string(kSmall).substr(8), "--save", scratch_ + "/model.onnx", "--inputs", inputs});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  outcome = tessera({"compile", kSmall, "--platform", "pocket", "--weights", "once", "-o", file});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  outcome = tessera({"exec", file, "--inputs", inputs, "--expected", scratch_ + "/resident"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

TEST_F(Memory, WhatDoesNotFitAsPlannedFirstIsPlannedForLeastMemory) {
  const std::string model = std::string(kWide) + ",batch=2";
  const Outcome compiled = tessera({"compile", model, "--platform", "pocket", "-o", scratch_ + "/frugal.tsx"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  EXPECT_THAT(compiled.out, HasSubstr("planned for least memory"));
  EXPECT_FALSE(run(model, "frugal", {"--platform", "pocket"}).is_null());
  const Outcome one = tessera({"compile", kWide, "--platform", "pocket", "-o", scratch_ + "/one.tsx"});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.out, Not(HasSubstr("planned for least memory")));
}

TEST_F(Memory, OutOfMemoryNamesWeightsOnceWhereItHelps) {
  const std::string model = std::string(kSmall) + ",batch=4", platform = pocket_with(65536),
                    report = scratch_ + "/failed";
  const Outcome failed =
      tessera({"compile", model, "--platform", platform, "-o", scratch_ + "/failed.tsx", "--report", report});
  EXPECT_EQ(failed.exit_code, 4) << failed.out;
  EXPECT_THAT(failed.err, HasSubstr("out of memory"));
  EXPECT_THAT(failed.err, HasSubstr("--weights once"));
  EXPECT_FALSE(std::filesystem::exists(scratch_ + "/failed.tsx"));
  EXPECT_FALSE(run(model, "helped", {"--platform", platform, "--weights", "once"}).is_null());
  const Outcome profile = tessera({"profile", report});
  EXPECT_EQ(profile.exit_code, 0) << profile.err;
  for (const char* says : {"out of memory", "too many", "steps that hold most"})
    EXPECT_THAT(profile.out, HasSubstr(says));
}

TEST_F(Memory, ProductThatNoPlanFitsIsReportedToo) {
  const std::string report = scratch_ + "/failed";
  const Outcome failed = tessera({"compile", std::string(kWide) + ",batch=64", "--platform", "pocket", "-o",
                                  scratch_ + "/failed.tsx", "--report", report});
  EXPECT_EQ(failed.exit_code, 4) << failed.out;
  EXPECT_THAT(failed.err, HasSubstr("no partition of this product fits"));
  EXPECT_THAT(failed.err, Not(HasSubstr("--weights once"))) << "sums alone are too many";
  const Outcome profile = tessera({"profile", report});
  EXPECT_EQ(profile.exit_code, 0) << profile.err;
  EXPECT_THAT(profile.out, HasSubstr("no partition of this product fits"));
  EXPECT_THAT(profile.out, HasSubstr("a smaller batch"));
}

TEST_F(Memory, InterruptedMeasurementEndsAndLeavesNothingHalf) {
  CommandOptions options;
  options.signal = SIGINT;
  const std::string json = scratch_ + "/interrupted.json";
  const Outcome outcome = tessera({"profile", "--memory", "example:resnet50", "--json", json}, options);
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_FALSE(outcome.timed_out);
  EXPECT_EQ(outcome.out, "");
  const Json told = Json::parse(read_file(json));
  EXPECT_EQ(told.at("exit_code"), 130);
  for (const Json& story : told.at("memory_story")) EXPECT_TRUE(story.contains("weights_once")) << "half measured";
}

TEST_F(Memory, ChoicesThatAModelDoesNotHaveAreUsageErrors) {
  const Outcome saved = tessera({"examples", "digits", "--save", scratch_ + "/digits.onnx"});
  ASSERT_EQ(saved.exit_code, 0) << saved.err;
  const struct {
    std::vector<std::string> arguments;
    std::string says;
  } cases[] = {{{"example:digits", "--batch", "4"}, "no parameter 'batch'"},
               {{"example:digits", "--dtype", "f16"}, "no parameter 'dtype'"},
               {{std::string(kSmall) + ",batch=2", "--batch", "4"}, "sets batch already"},
               {{scratch_ + "/digits.onnx", "--batch", "4"}, "--shape"},
               {{scratch_ + "/digits.onnx", "--dtype", "f16"}, "a file says what types"}};
  for (const auto& c : cases) {
    std::vector<std::string> arguments = {"profile", "--memory", "--platform", "pocket"};
    arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
    const Outcome outcome = tessera(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(c.says));
    EXPECT_EQ(outcome.out, "");
  }
}

}  // namespace
}  // namespace tessera::test
