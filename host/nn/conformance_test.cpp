// Every ONNX node test of the operators that the machine runs, lowered to a graph and executed with the host build of
// the codelets: the lowering computes what ONNX says, and on any number of tiles the same.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "host/golden/compare.h"
#include "host/nn/graph_interpreter.h"
#include "host/nn/lower.h"
#include "host/onnx/test_case.h"
#include "hw/error.h"

namespace tessera::nn {
namespace {

namespace fs = std::filesystem;

const char* const kVectors = "/usr/share/libonnx-testdata/data/node";

/// Operators of the first release; every case of these in f32, int32, int64 or bool must be computed.
const std::set<std::string> kListed = {"add",        "concat",  "constant", "div",  "flatten",   "gemm",     "identity",
                                       "logsoftmax", "matmul",  "mul",      "relu", "reshape",   "sigmoid",  "slice",
                                       "softmax",    "squeeze", "sub",      "tanh", "transpose", "unsqueeze"};

golden::Comparison run_case(const std::string& directory, unsigned tiles) {
  golden::Comparison all;
  for (const std::string& name : model::data_sets(directory)) {
    const model::DataSet set = model::read_data_set(directory, name);
    model::ImportOptions import;
    import.inputs = set.inputs;
    import.narrow_f64 = false;
    const model::Model model = model::import_model(directory + "/model.onnx", import);
    const auto inputs = model::arrange_inputs(model, set.inputs);
    Options options;
    options.tiles = tiles;
    const Lowered lowered = lower(model, options);
    graph::validate(lowered.graph);
    GraphInterpreter interpreter(lowered.graph);
    std::vector<model::Tensor> results;
    for (const Binding& output : lowered.outputs) results.emplace_back(output.type, output.shape);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (lowered.inputs[i].streamed())
        interpreter.connect_input(lowered.inputs[i].stream, [&, i](std::uint64_t step, std::uint8_t* bytes) {
          fill_step(lowered.inputs[i], inputs[i], step, bytes);
        });
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!lowered.outputs[i].streamed()) results[i] = lowered.outputs[i].known;
      interpreter.connect_output(lowered.outputs[i].stream, [&, i](std::uint64_t step, const std::uint8_t* bytes) {
        drain_step(lowered.outputs[i], results[i], step, bytes);
      });
    }
    interpreter.run();
    for (std::size_t i = 0; i < results.size(); ++i)
      all.merge(golden::compare(model::widened(results[i], lowered.outputs[i].declared), set.outputs.at(i), {},
                                lowered.outputs[i].name));
  }
  return all;
}

/// The part of "test_softmax_axis_0" that names the operator.
std::string operator_of(const std::string& name) {
  const std::size_t end = name.find('_', 5);
  return name.substr(5, end == std::string::npos ? std::string::npos : end - 5);
}

class NodeVectors : public ::testing::TestWithParam<unsigned> {};

TEST_P(NodeVectors, LoweredGraphComputesWhatOnnxSays) {
  unsigned passed = 0, listed = 0;
  for (const auto& entry : fs::directory_iterator(kVectors)) {
    const std::string name = entry.path().filename().string();
    golden::Comparison result;
    try {
      result = run_case(entry.path().string(), GetParam());
    } catch (const Error& error) {
      ASSERT_EQ(error.category(), Category::unsupported) << name << ": " << error.what();
      continue;
    } catch (const std::exception& error) {
      ADD_FAILURE() << name << ": " << error.what();
      continue;
    }
    EXPECT_TRUE(result.passes()) << name << ": " << result.text();
    ++passed;
    if (kListed.count(operator_of(name)) != 0) ++listed;
  }
  EXPECT_GE(listed, 102U);
  std::printf("%u cases pass on %u tiles\n", passed, GetParam());
  EXPECT_GE(passed, 720U);
}

INSTANTIATE_TEST_SUITE_P(Tiles, NodeVectors, ::testing::Values(1U, 16U, 1216U));

}  // namespace
}  // namespace tessera::nn
