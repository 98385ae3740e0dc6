// The reference against independent expected values, and in f16 against itself in f32 on inputs rounded to f16.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <iostream>

#include "host/golden/check.h"
#include "host/golden/evaluate.h"
#include "host/onnx/test_case.h"
#include "hw/error.h"
#include "verif/nn/cases.h"
#include "verif/nn/twins.h"

namespace tessera::verif_nn {
namespace {

using model::Tensor;
using model::Type;

std::vector<Tensor> outputs_of(const model::Model& model, const std::vector<Tensor>& inputs,
                               golden::Backend backend = golden::Backend::host) {
  const auto values = golden::run(model, inputs, backend);
  std::vector<Tensor> results;
  for (const model::ValueId id : model.outputs) results.push_back(values[id].value());
  return results;
}

TEST(GoldenCases, AgreeWithIndependentValues) {
  std::uint64_t values = 0;
  std::size_t cases = 0;
  for (const Case& c : all_cases()) {
    for (const auto backend : {golden::Backend::host, golden::Backend::onednn}) {
      const std::string difference = compare(c, outputs_of(model_of(c), c.inputs, backend), values);
      EXPECT_TRUE(difference.empty()) << c.name << ": " << difference;
    }
    ++cases;
  }
  std::cout << cases << " cases, " << values << " values\n";
  EXPECT_EQ(cases, 66U);
  EXPECT_GT(values, 50'000U);
}

/// A wrong weight in the model under test must be seen: the comparison is not too generous.
TEST(GoldenCases, AWrongWeightIsSeen) {
  std::size_t seen = 0, cases = 0;
  for (const Case& c : all_cases()) {
    model::Model model = model_of(c);
    const auto weight = std::find_if(model.values.begin(), model.values.end(), [](const model::Value& value) {
      return value.constant && value.constant->elements() > 8 && value.type != Type::i32;
    });
    if (weight == model.values.end()) continue;
    ++cases;
    Tensor& tensor = *weight->constant;
    if (tensor.type == Type::f16)
      tensor.set(0, model::to_half(tensor.real(0) + 0.5));
    else
      tensor.set(0, static_cast<float>(tensor.real(0) + 0.5));
    std::uint64_t values = 0;
    if (!compare(c, outputs_of(model, c.inputs), values).empty()) ++seen;
  }
  EXPECT_GT(cases, 60U);
  EXPECT_EQ(seen, cases);
}

/// Results of the twin in f16 against the f32 model on the same (rounded) numbers: one rounding apart for one node.
TEST(GoldenCases, TwinsOfOnnxVectorsInHalfPrecision) {
  unsigned twins = 0;
  std::uint64_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/share/libonnx-testdata/data/node")) {
    const std::string directory = entry.path().string();
    model::Model model;
    std::vector<Tensor> inputs, halves;
    try {
      const model::DataSet set = model::read_data_set(directory, model::data_sets(directory).front());
      model::ImportOptions import;
      import.inputs = set.inputs;
      import.narrow_f64 = false;
      model = model::import_model(directory + "/model.onnx", import);
      for (const Tensor& input : model::arrange_inputs(model, set.inputs)) {
        inputs.push_back(half_values(input));
        halves.push_back(half(input));
      }
    } catch (const Error&) {
      continue;  // what import refuses is counted by its own test
    }
    if (model.nodes.size() != 1 || !has_twin(model)) continue;
    ++twins;
    const auto wide = outputs_of(half_constants(model), inputs), narrow = outputs_of(half(model), halves);
    for (std::size_t k = 0; k < wide.size(); ++k) {
      const Tensor want = narrow[k].type == Type::f16 ? half(wide[k]) : wide[k];
      ASSERT_EQ(narrow[k].type, want.type) << directory;
      ASSERT_EQ(narrow[k].shape, want.shape) << directory;
      for (std::int64_t i = 0; i < want.elements(); ++i) {
        const double x = narrow[k].real(i), y = want.real(i);
        ++compared;
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        // Through f32 the result is rounded twice.
        EXPECT_LE(std::fabs(x - y), 0x1p-10 * std::fabs(y) + 0x1p-24) << directory << " at " << i;
      }
    }
  }
  std::cout << twins << " twins, " << compared << " values\n";
  EXPECT_GT(twins, 350U);
  EXPECT_GT(compared, 100'000U);
}

/// A run whose device has another weight in one node: that node is named, and no other.
TEST(NodeCheck, NamesTheNodeWithAPlantedFault) {
  unsigned planted = 0;
  for (const Case& c : all_cases()) {
    if (c.name.find("encoder_layer") == std::string::npos) continue;
    const model::Model model = model_of(c);
    for (const model::Node& node : model.nodes) {
      if (node.op != model::Op::MatMul && node.op != model::Op::LayerNormalization) continue;
      if (!model.value(node.inputs[1]).constant) continue;
      model::Model faulty = model;
      Tensor& weight = *faulty.values[node.inputs[1]].constant;
      const double wrong = weight.real(weight.elements() / 2) + 0.05;
      if (weight.type == Type::f16)
        weight.set(weight.elements() / 2, model::to_half(wrong));
      else
        weight.set(weight.elements() / 2, static_cast<float>(wrong));
      const auto device = golden::run(faulty, c.inputs);
      const golden::NodeReport report =
          golden::check_nodes(model, c.inputs, [&](model::ValueId id) { return device[id]; });
      EXPECT_FALSE(report.passes()) << c.name << " " << node.name;
      for (const golden::NodeResult& result : report.results)
        EXPECT_EQ(result.wrong > 0, result.node == node.name)
            << c.name << ": " << result.node << ", planted in " << node.name;
      ASSERT_NE(report.first_wrong(), nullptr);
      EXPECT_NE(report.text().find("node " + node.name), std::string::npos) << report.text();
      ++planted;
    }
  }
  EXPECT_EQ(planted, 16U);
}

/// Fused nodes: only some results can be read, and the fault is found at the next that can.
TEST(NodeCheck, FindsAFaultBehindUnreadableResults) {
  for (const Case& c : all_cases()) {
    if (c.name.find("encoder_layer") == std::string::npos) continue;
    const model::Model model = model_of(c);
    const auto readable = [&](model::ValueId id) {
      const std::string& name = model.value(id).name;
      return name != "residual" && name != "up" && name != "up_scaled" && name != "up_erf" && name != "o_product";
    };
    model::Model faulty = model;
    for (model::Value& value : faulty.values)
      if (value.name == "b1") value.constant = Tensor(value.type, value.shape);  // zeros
    for (const bool fault : {false, true}) {
      const auto device = golden::run(fault ? faulty : model, c.inputs);
      const golden::NodeReport report = golden::check_nodes(
          model, c.inputs, [&](model::ValueId id) { return readable(id) ? device[id] : std::optional<Tensor>(); });
      EXPECT_EQ(report.passes(), !fault) << report.text();
      EXPECT_EQ(report.unread, 0U);
      EXPECT_EQ(report.results.size() + 5, model.nodes.size());
      if (!fault) continue;
      ASSERT_NE(report.first_wrong(), nullptr);
      EXPECT_EQ(report.first_wrong()->value, "up_sum");
      EXPECT_EQ(report.first_wrong()->through.size(), 1U);
    }
  }
}

TEST(NodeCheck, NothingReadableDoesNotPass) {
  const Case c = all_cases().front();
  const golden::NodeReport report =
      golden::check_nodes(model_of(c), c.inputs, [](model::ValueId) { return std::optional<Tensor>(); });
  EXPECT_FALSE(report.passes());
  EXPECT_EQ(report.unread, 1U);
  EXPECT_EQ(report.values, 0U);
}

}  // namespace
}  // namespace tessera::verif_nn
