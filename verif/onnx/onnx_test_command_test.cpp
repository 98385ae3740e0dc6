// tessera onnx-test as users call it: all of ONNX's node tests, broken directories, wrong results, exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "verif/support/run_command.h"

namespace tessera::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kVectors = "/usr/share/libonnx-testdata/data/node";

/// Operators that the first release lists, as the names of their tests begin.
const std::set<std::string> kListed = {"add",        "concat",  "constant", "div",  "flatten",   "gemm",     "identity",
                                       "logsoftmax", "matmul",  "mul",      "relu", "reshape",   "sigmoid",  "slice",
                                       "softmax",    "squeeze", "sub",      "tanh", "transpose", "unsqueeze"};
/// Tests with such names that use other types, or other operators.
bool other(const std::string& name) {
  for (const char* part : {"uint8", "expanded", "_opt", "sequence", "constant_pad", "constantofshape"})
    if (name.find(part) != std::string::npos) return true;
  return false;
}

std::vector<std::string> all_cases() {
  std::vector<std::string> result;
  for (const auto& entry : fs::directory_iterator(kVectors)) result.push_back(entry.path().string());
  std::sort(result.begin(), result.end());
  return result;
}

class Devices : public ::testing::TestWithParam<std::string> {};

TEST_P(Devices, NodeTestsPassOrAreUnsupportedAndNoneFails) {
  const std::string json = scratch_directory() + "/result.json";
  std::vector<std::string> arguments = {"onnx-test", "--device", GetParam(), "--json", json, "--threads", "2"};
  for (const std::string& directory : all_cases()) arguments.push_back(directory);
  CommandOptions options;
  options.limit = std::chrono::seconds(600);
  const Outcome outcome = tessera(arguments, options);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto result = nlohmann::json::parse(read_file(json));
  EXPECT_EQ(result["fail"], 0);
  EXPECT_GE(result["pass"], 148);
  EXPECT_EQ(result["cases"].size(), all_cases().size());
  EXPECT_GT(result["values"], 6000);
  unsigned listed = 0;
  for (const auto& entry : result["cases"]) {
    const std::string name = entry["name"];
    const std::string op =
        name.substr(5, name.find('_', 5) == std::string::npos ? std::string::npos : name.find('_', 5) - 5);
    EXPECT_NE(entry["reason"], "") << name;
    if (kListed.count(op) == 0 || other(name)) continue;
    EXPECT_EQ(entry["outcome"], "pass") << name << ": " << entry["reason"];
    ++listed;
  }
  EXPECT_EQ(listed, 102U);
}

INSTANTIATE_TEST_SUITE_P(Each, Devices, ::testing::Values("golden", "tlm"),
                         [](const auto& info) { return info.param; });

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
  const Outcome outcome = tessera({"onnx-test", kVectors + "/test_relu", scratch + "/cut", scratch + "/empty",
                                   scratch + "/absent", kVectors + "/test_tanh"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("pass        test_relu: 60 values"));
  EXPECT_THAT(outcome.out, HasSubstr("fail        cut: not a valid ONNX model"));
  EXPECT_THAT(outcome.out, HasSubstr("fail        empty: there is no model.onnx"));
  EXPECT_THAT(outcome.out, HasSubstr("fail        absent: there is no model.onnx"));
  EXPECT_THAT(outcome.out, HasSubstr("pass        test_tanh"));
  EXPECT_THAT(outcome.out, HasSubstr("5 directories on golden: 2 pass, 3 fail, 0 unsupported"));
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
  const Outcome outcome = tessera({"onnx-test", kVectors + "/test_lstm_defaults"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.out, HasSubstr("LSTM, opset"));
}

}  // namespace
}  // namespace tessera::test
