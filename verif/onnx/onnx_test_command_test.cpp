// tessera onnx-test as users call it: all of ONNX's node tests, broken directories, wrong results, exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "verif/support/run_command.h"

namespace tessera::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kVectors = "/usr/share/libonnx-testdata/data/node";

class Devices : public ::testing::TestWithParam<std::pair<std::string, unsigned>> {};

/// A folder is taken with all below it. `second`: cases that pass on that device at least.
TEST_P(Devices, NodeTestsPassOrAreUnsupportedAndNoneFails) {
  const std::string json = scratch_directory() + "/result.json";
  CommandOptions options;
  options.limit = std::chrono::seconds(600);
  const Outcome outcome =
      tessera({"onnx-test", "--device", GetParam().first, "--json", json, "--threads", "2", kVectors}, options);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto result = nlohmann::json::parse(read_file(json));
  EXPECT_EQ(result["fail"], 0);
  EXPECT_GE(result["pass"], GetParam().second);
  EXPECT_EQ(result["cases"].size(), std::distance(fs::directory_iterator(kVectors), fs::directory_iterator()));
  EXPECT_GT(result["values"], 6000);
  for (const auto& entry : result["cases"]) {
    EXPECT_NE(entry["reason"], "") << entry["name"];
    if (entry["outcome"] == "fail") ADD_FAILURE() << entry["name"] << ": " << entry["reason"];
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Devices, ::testing::Values(std::make_pair("golden", 700U), std::make_pair("tlm", 148U)),
                         [](const auto& info) { return info.param.first; });

TEST(OnnxTest, TilesInRtlComputeTheSame) {
  std::vector<std::string> arguments = {"onnx-test", "--device", "rtl"};
  for (const char* name : {"test_gemm_all_attributes", "test_softmax_axis_1", "test_add_bcast",
                           "test_transpose_default", "test_max_int64", "test_reshape_allowzero_reordered"})
    arguments.push_back(kVectors + "/" + name);
  const Outcome outcome = tessera(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("6 directories on rtl: 6 pass, 0 fail, 0 unsupported"));
}

TEST(OnnxTest, OneBrokenDirectoryEndsNothingElse) {
  const std::string scratch = scratch_directory();
  fs::create_directories(scratch + "/cut/test_data_set_0");
  write_file(scratch + "/cut/model.onnx", read_file(kVectors + "/test_gemm_alpha/model.onnx").substr(0, 100));
  fs::create_directories(scratch + "/empty");
  const Outcome outcome = tessera(
      {"onnx-test", kVectors + "/test_relu", scratch + "/cut", scratch + "/empty", kVectors + "/test_tanh"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("pass        test_relu: 60 values"));
  EXPECT_THAT(outcome.out, HasSubstr("fail        cut: not a valid ONNX model"));
  EXPECT_THAT(outcome.out, HasSubstr("fail        empty: there is no model.onnx"));
  EXPECT_THAT(outcome.out, HasSubstr("pass        test_tanh"));
  EXPECT_THAT(outcome.out, HasSubstr("4 directories on golden: 2 pass, 2 fail, 0 unsupported"));
}

TEST(OnnxTest, ADirectoryThatIsNotThereIsAUsageError) {
  const std::string scratch = scratch_directory();
  for (const std::string& wrong : {scratch + "/absent", kVectors + "/test_relu/model.onnx"}) {
    const Outcome outcome = tessera({"onnx-test", kVectors + "/test_relu", wrong});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr(wrong));
    EXPECT_EQ(outcome.out, "") << "it is told before anything runs";
  }
}

TEST(OnnxTest, ASignalEndsAllOfIt) {
  CommandOptions options;
  options.signal = SIGTERM;
  options.limit = std::chrono::seconds(60);
  const std::string json = scratch_directory() + "/result.json";
  const Outcome outcome = tessera({"onnx-test", kVectors, "--device", "tlm", "--threads", "4", "--json", json}, options);
  EXPECT_EQ(outcome.exit_code, 128 + SIGTERM) << outcome.err;
  EXPECT_FALSE(outcome.signalled) << "it ends by itself, in order";
  EXPECT_THAT(read_file(json), HasSubstr("\"exit_code\": 143"));
}

TEST(OnnxTest, FoldersAreSearchedAndNamedFromWhereTheSearchBegan) {
  const std::string scratch = scratch_directory();
  fs::create_directories(scratch + "/all/inner");
  fs::copy(kVectors + "/test_relu", scratch + "/all/inner/relu", fs::copy_options::recursive);
  fs::copy(kVectors + "/test_abs", scratch + "/all/abs", fs::copy_options::recursive);
  const Outcome outcome = tessera({"onnx-test", scratch + "/all"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("pass        abs: 60 values"));
  EXPECT_THAT(outcome.out, HasSubstr("pass        inner/relu: 60 values"));
  EXPECT_THAT(outcome.out, HasSubstr("2 directories on golden: 2 pass"));
}

TEST(OnnxTest, WrongExpectedValueFailsAndSaysWhere) {
  const std::string scratch = scratch_directory();
  fs::copy(kVectors + "/test_relu", scratch + "/wrong", fs::copy_options::recursive);
  std::string output = read_file(scratch + "/wrong/test_data_set_0/output_0.pb");
  output[output.size() - 1] = static_cast<char>(output[output.size() - 1] ^ 0x40);  // an exponent bit of the last value
  write_file(scratch + "/wrong/test_data_set_0/output_0.pb", output);
  const Outcome outcome = tessera({"onnx-test", scratch + "/wrong"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("1 wrong, first y[2, 3, 4]"));
}

TEST(OnnxTest, OnlyUnsupportedIsNoSuccess) {
  const Outcome outcome = tessera({"onnx-test", kVectors + "/test_det_2d"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.out, HasSubstr("Det, opset"));
}

}  // namespace
}  // namespace tessera::test
