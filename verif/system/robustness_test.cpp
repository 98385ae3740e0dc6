// What users get wrong from outside: odd models, platform files, option values and paths. Each ends with the exit code
// of docs/interfaces.md and a message, never in a crash, a hang or an internal error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/onnx/test_models.h"
#include "verif/support/run_command.h"

namespace tessera::test {
namespace {

using model::TestGraph;
using model::Type;
using testing::HasSubstr;

TestGraph relu(const std::vector<std::string>& extents) {
  return {17, {{"x", Type::f32, extents}}, {{"y", Type::f32, extents}}, {}, {{"Relu", {"x"}, {"y"}, {}, "act", ""}}};
}

Outcome run(const TestGraph& graph, std::vector<std::string> more = {}) {
  const std::string file = scratch_directory() + "/model.onnx";
  write_file(file, to_bytes(graph));
  std::vector<std::string> arguments = {"run", file, "--synthetic", "--quiet", "--check"};
  if (std::find(more.begin(), more.end(), "--platform") == more.end())
    arguments.insert(arguments.end(), {"--platform", "pocket"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  CommandOptions options;
  options.limit = std::chrono::seconds(60);
  return tessera(arguments, options);
}

void expect(const Outcome& outcome, int code, const std::string& message) {
  EXPECT_EQ(outcome.exit_code, code) << outcome.err;
  EXPECT_FALSE(outcome.signalled || outcome.timed_out);
  EXPECT_THAT(outcome.err, HasSubstr(message));
}

TEST(OddModels, AnOutputThatNothingMakesIsRefused) {
  TestGraph graph = relu({"3"});
  graph.outputs[0].name = "nowhere";
  expect(run(graph), 2, "output 'nowhere' is computed by no node");
  graph.outputs.clear();
  expect(run(graph), 2, "it has no output");
}

TEST(OddModels, NamesAreText) {
  TestGraph graph = relu({"3"});
  graph.inputs[0].name = graph.nodes[0].inputs[0] = "\xff\xfe";
  expect(run(graph), 2, "not UTF-8");
}

TEST(OddModels, ExtentsBeyond32BitsDoNotBecomeEmptyTensors) {
  TestGraph graph = relu({"1099511627776", "2"});
  graph.opset = 13;  // goes through the converter
  expect(run(graph), 4, "1099511627776");
}

TEST(OddModels, EmptyAndScalarTensorsRun) {
  for (const std::vector<std::string>& extents : std::vector<std::vector<std::string>>{{}, {"0", "4"}, {"1"}})
    EXPECT_EQ(run(relu(extents)).exit_code, 0);
}

class OddPlatforms : public testing::Test {
 protected:
  static Outcome run_with(const std::string& group, const std::string& key, std::uint64_t value) {
    auto platform = nlohmann::json::parse(read_file(source_path("hw/platforms/pocket.json")));
    platform[group][key] = value;
    const std::string file = built_path("robustness_platform_" + key + ".json");
    write_file(file, platform.dump());
    return run(relu({"5", "4"}), {"--platform", file});
  }
};

TEST_F(OddPlatforms, LanesWithoutLatencyAreRefusedInsteadOfHanging) {
  expect(run_with("packet", "lane_latency", 0), 2, "/packet/lane_latency must be an integer, 1..");
}

TEST_F(OddPlatforms, APacketUnderWayForLongerThanAQuantumIsNoDeadlock) {
  EXPECT_EQ(run_with("pcie", "latency_ns", 1000000).exit_code, 0);
}

TEST(OptionValues, EmptyNegativeAndHugeOnesAreRefused) {
  const std::vector<std::vector<std::string>> wrong = {
      {"--rtl", ""},         {"--seed", ""},        {"--json", ""},           {"--seed", "-1"},
      {"--ipus", "0"},       {"--rtol", "nan"},     {"--atol", "-1"},         {"--max-cycles", "-1"},
      {"--wave-from", "10"}, {"--rtl", "0,,1"},     {"--threads", "0"},       {"--max-cycles", "99999999999999999999"},
      {"--chunk", "-1"},     {"--wave", "no.text"}, {"--wave-scope", "tile0"}};
  for (const auto& arguments : wrong) {
    SCOPED_TRACE(arguments[0] + " " + arguments[1]);
    expect(run(relu({"3"}), arguments), 2, "tessera: ");
  }
}

TEST(OptionValues, TheLargestCycleLimitIsNoLimit) {
  EXPECT_EQ(run(relu({"3"}), {"--max-cycles", "18446744073709551615"}).exit_code, 0);
}

TEST(OptionValues, AWaveWindowThatEndsBeforeItBeginsIsRefused) {
  expect(run(relu({"3"}), {"--wave", "w.fst", "--wave-from", "10", "--wave-to", "5"}), 2, "is behind");
  expect(run(relu({"3"}), {"--wave", "w.fst", "--wave-from", "1e30"}), 2, "end of time");
}

TEST(Paths, DirectoriesAndFilesInEachOthersPlaceAreUsageErrors) {
  const std::string file = source_path("README.md");
  for (const std::string option : {"--out", "--report", "--dump-passes"}) {
    SCOPED_TRACE(option);
    expect(run(relu({"3"}), {option, file}), 2, file);
  }
  const std::string directory = built_path("robustness_directory.fst");
  std::filesystem::create_directories(directory);
  expect(run(relu({"3"}), {"--wave", directory}), 2, directory);
  expect(tessera({"exec", directory}), 2, directory);
  expect(tessera({"compile", "--explain", directory}), 2, directory);
  expect(tessera({"run", "/dev/zero", "--synthetic"}), 2, "/dev/zero");
}

TEST(Paths, AWaveformThatWasAskedForAndIsNotThereIsNoSuccess) {
  expect(run(relu({"3"}), {"--wave", "none.fst", "--wave-scope", "nomatch"}), 2, "no signal");
}

}  // namespace
}  // namespace tessera::test
