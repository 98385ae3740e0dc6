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

/// A model whose batch is fixed.
Outcome run_fixed_batch(const std::vector<std::string>& more) { return run(relu({"3"}), more); }

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

TEST(Paths, WhatIsNoFileIsToldInOneWay) {
  const std::string directory = scratch_directory(), digits = source_path("host/examples/digits");
  const std::string model = digits + "/digits.onnx";
  for (const char* name : {"d.onnx", "d.pb", "d.npy", "d.json", "d"})
    std::filesystem::create_directories(directory + "/" + name);
  const std::vector<std::pair<std::vector<std::string>, std::string>> commands = {
      {{"run", directory + "/d.onnx"}, "file"},
      {{"run", model, "--input", "images=" + directory + "/d.pb"}, "file"},
      {{"run", model, "--input", "images=" + directory + "/d.npy"}, "file"},
      {{"run", model, "--inputs", digits, "--labels", directory + "/d.pb"}, "labels"},
      {{"run", model, "--platform", directory + "/d.json"}, "platform"},
      {{"run", model, "--platform", directory + "/d"}, "platform"},
      {{"platforms", directory + "/d"}, "platform"},
      {{"compile", directory + "/d.onnx", "-o", directory + "/x.tsx"}, "file"},
      {{"compile", "--explain", directory + "/d"}, "executable"},
      {{"exec", directory + "/d"}, "executable"},
      {{"elf", directory + "/d"}, "program"},
      {{"graph", directory + "/d.onnx"}, "file"}};
  for (const auto& [arguments, what] : commands) {
    SCOPED_TRACE(arguments[0] + " " + arguments.back());
    expect(tessera(arguments), 2, "cannot read the " + what + ": it is a directory");
    std::vector<std::string> absent = arguments;
    for (std::string& argument : absent)
      if (const std::size_t at = argument.find(directory + "/d"); at != std::string::npos)
        argument.replace(at, directory.size(), directory + "/none");
    if (absent.back().find(".tsx") == std::string::npos)
      expect(tessera(absent), 2, "cannot read the " + what + ": No such file or directory");
  }
  expect(tessera({"run", model, "--inputs", model}), 2, "cannot read the directory of --inputs: it is a file");
  expect(tessera({"run", model, "--inputs", digits, "--expected", directory + "/none"}), 2,
         "cannot read the directory of --expected: No such file");
}

// ---- options that would do nothing ----------------------------------------------------------------------------------

TEST(IdleOptions, AreMistakes) {
  const std::string digits = source_path("host/examples/digits"), model = digits + "/digits.onnx";
  const std::string input = "images=" + digits + "/input_0.pb";
  const std::vector<std::string> run = {"run", model, "--platform", "pocket"};
  const std::vector<std::pair<std::vector<std::string>, std::string>> idle = {
      {{"--input", input, "--synthetic"}, "--synthetic has no effect"},
      {{"--inputs", digits, "--synthetic"}, "--synthetic has no effect"},
      {{"--input", input, "--input", input}, "--input is given twice for input 'images'"},
      {{"--inputs", digits, "--shape", "images=2,64", "--shape", "images=2,64"}, "--shape is given twice"},
      {{"--inputs", digits, "--rtol", "0.1"}, "--rtol has no effect without --check"},
      {{"--inputs", digits, "--atol", "0.1"}, "--atol has no effect without --check"},
      {{"--inputs", digits, "--no-race-check"}, "--no-race-check has no effect without --check"},
      {{"--inputs", digits, "--check", "--check-outputs"}, "--check"},
      {{"--inputs", digits, "--platform", "c2"}, "--platform"}};
  for (const auto& [more, says] : idle) {
    std::vector<std::string> arguments = run;
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect(tessera(arguments), 2, says);
  }
  const std::string program = built_path("verif/conformance/programs/c_float.elf");
  const std::vector<std::pair<std::vector<std::string>, std::string>> commands = {
      {{"compile", "--explain", model, "--platform", "pocket"}, "--platform has no effect with --explain"},
      {{"compile", model, "--explain", model}, "MODEL has no effect with --explain"},
      {{"exec", model, "--shape", "images=1,64"}, "--shape"},
      {{"exec", model, "--rtol", "1"}, "--rtol has no effect without --expected"},
      {{"graph", model, "--size", "80x80"}, "--size requires --picture"},
      {{"graph", model, "--grain", "full", "--count-only"}, "--grain excludes --count-only"},
      {{"profile", "--memory", "example:digits", "--top", "3"}, "--top has no effect with --memory"},
      {{"profile", "report", "--batch", "1"}, "--batch has no effect without --memory"},
      {{"elf", program, "--wave-to", "30"}, "--wave-to requires --wave"},
      {{"elf", program, "--wave-scope", "tile0"}, "--wave-scope requires --wave"},
      {{"run", "example:wavenet", "--chunk", "2"}, "--chunk has no effect with example:wavenet"},
      {{"run", "example:wavenet", "--synthetic"}, "--synthetic has no effect with example:wavenet"},
      {{"run", "example:lstm", "--synthetic"}, "--synthetic has no effect"},
      {{"examples", "lstm?steps=2,steps=3"}, "parameter steps is given twice"},
      {{"examples", "lstm?steps=2&steps=3"}, "'2&steps=3' is no value of parameter steps"},
      {{"examples", "lstm?stepz=3"}, "no parameter 'stepz'"}};
  for (const auto& [arguments, says] : commands) expect(tessera(arguments), 2, says);
  expect(run_fixed_batch({"--chunk", "2"}), 2, "--chunk has no effect");
}

/// What has no file is drawn, beside what has one.
TEST(IdleOptions, SyntheticDrawsTheRest) {
  const std::string directory = scratch_directory(), file = directory + "/two.onnx";
  const TestGraph graph{17,
                        {{"a", Type::f32, {"2", "3"}}, {"b", Type::f32, {"2", "3"}}},
                        {{"y", Type::f32, {"2", "3"}}},
                        {},
                        {{"Add", {"a", "b"}, {"y"}, {}, "sum", ""}}};
  write_file(file, to_bytes(graph));
  ASSERT_EQ(tessera({"run", file, "--platform", "pocket", "--synthetic", "--out", directory}).exit_code, 0);
  EXPECT_EQ(tessera({"run", file, "--platform", "pocket", "--check", "--synthetic", "--input",
                     "a=" + directory + "/output_0.pb"})
                .exit_code,
            0);
}

TEST(Paths, AWaveformThatWasAskedForAndIsNotThereIsNoSuccess) {
  expect(run(relu({"3"}), {"--wave", "none.fst", "--wave-scope", "nomatch"}), 2, "no tile has a signal");
}

}  // namespace
}  // namespace tessera::test
