// The reference against ONNX's own vectors and against oneDNN, and what a comparison counts.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>

#include "host/golden/compare.h"
#include "host/golden/evaluate.h"
#include "host/onnx/test_case.h"
#include "host/onnx/test_models.h"
#include "hw/error.h"

namespace tessera::golden {
namespace {

using model::Tensor;
using model::Type;

Tensor floats(std::vector<float> values) {
  return Tensor(Type::f32, {static_cast<std::int64_t>(values.size())}, values);
}

/// One directory of ONNX's backend tests, by the reference.
Comparison by_reference(const std::string& directory, Backend backend, const Tolerance& tolerance) {
  Comparison all;
  for (const std::string& name : model::data_sets(directory)) {
    const model::DataSet set = model::read_data_set(directory, name);
    model::ImportOptions import;
    import.inputs = set.inputs;
    import.narrow_f64 = false;
    const model::Model model = model::import_model(directory + "/model.onnx", import);
    const auto results = run(model, model::arrange_inputs(model, set.inputs), backend);
    for (std::size_t i = 0; i < model.outputs.size(); ++i) {
      const model::Value& value = model.value(model.outputs[i]);
      all.merge(compare(widened(results[model.outputs[i]].value(), value.declared), set.outputs.at(i), tolerance));
    }
  }
  return all;
}

class OnnxVectors : public ::testing::TestWithParam<std::pair<const char*, unsigned>> {};

void meet_vectors(const char* name, unsigned least, Backend backend, const Tolerance& tolerance) {
  unsigned passed = 0;
  std::uint64_t values = 0;
  const std::string folder = std::string("/usr/share/libonnx-testdata/data/") + name;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string directory = entry.path().string();
    Comparison all;
    try {
      all = by_reference(directory, backend, tolerance);
    } catch (const Error& error) {
      ASSERT_EQ(error.category(), Category::unsupported) << directory << ": " << error.what();
      continue;
    }
    EXPECT_TRUE(all.passes()) << directory << ": " << all.text();
    ++passed;
    values += all.values;
  }
  std::cout << passed << " directories, " << values << " values\n";
  EXPECT_GE(passed, least);
  EXPECT_GT(values, passed);
}

TEST_P(OnnxVectors, AreMet) { meet_vectors(GetParam().first, GetParam().second, Backend::host, {}); }
/// f32 throughout, and functions by approximation.
TEST_P(OnnxVectors, AreMetWithOneDnn) {
  meet_vectors(GetParam().first, GetParam().second, Backend::onednn, {1e-3, 2e-5, 0});
}

INSTANTIATE_TEST_SUITE_P(Data, OnnxVectors,
                         ::testing::Values(std::make_pair("node", 720U), std::make_pair("pytorch-converted", 82U),
                                           std::make_pair("pytorch-operator", 30U), std::make_pair("simple", 7U)));

/// Values of both signs and many sizes, without a random generator.
Tensor wave(const model::Shape& shape, double scale, double step) {
  Tensor result(Type::f32, shape);
  for (std::int64_t i = 0; i < result.elements(); ++i)
    result.set(i, static_cast<float>(scale * std::sin(step * static_cast<double>(i) + 0.3)));
  return result;
}

/// One node on inputs of given shapes, by both backends.
Comparison against_onednn(const std::string& op, const std::vector<Tensor>& inputs,
                          const model::TestNode& attributes = {}) {
  model::TestGraph graph;
  model::TestNode node = attributes;
  node.op = op;
  node.outputs = {"y"};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    std::vector<std::string> extents;
    for (const std::int64_t extent : inputs[i].shape) extents.push_back(std::to_string(extent));
    graph.inputs.push_back({name, Type::f32, extents});
    node.inputs.push_back(name);
  }
  graph.nodes = {node};
  // Symbols stand for the extents that inference finds.
  const std::size_t rank = op == "Gemm" ? 2 : std::max(inputs[0].shape.size(), inputs.back().shape.size());
  graph.outputs = {{"y", Type::f32, {}}};
  for (std::size_t k = 0; k < rank; ++k) graph.outputs[0].extents.push_back("d" + std::to_string(k));
  const model::Model model = model::import_bytes(model::to_bytes(graph), op);
  const auto host = run(model, inputs, Backend::host), onednn = run(model, inputs, Backend::onednn);
  return compare(host[model.outputs[0]].value(), onednn[model.outputs[0]].value(), {2e-5, 1e-5, 0}, op);
}

TEST(Golden, AgreesWithOneDnn) {
  Comparison all;
  const auto check = [&](const Comparison& c) {
    EXPECT_TRUE(c.passes()) << c.text();
    all.merge(c);
  };
  check(against_onednn("MatMul", {wave({7, 33}, 2, 0.7), wave({33, 5}, 1, 0.3)}));
  check(against_onednn("MatMul", {wave({2, 3, 4, 9}, 1, 0.7), wave({3, 9, 6}, 1, 0.3)}));
  check(against_onednn("Gemm", {wave({5, 8}, 1, 0.7), wave({8, 4}, 1, 0.3), wave({4}, 1, 0.2)},
                       {"", {}, {}, {{"alpha", 0.5F}, {"beta", -2.0F}}, "", ""}));
  check(against_onednn("Gemm", {wave({8, 5}, 1, 0.7), wave({4, 8}, 1, 0.3), wave({5, 1}, 1, 0.2)},
                       {"", {}, {}, {{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}}, "", ""}));
  for (std::int64_t axis = 0; axis < 3; ++axis)
    for (const char* op : {"Softmax", "LogSoftmax"})
      check(against_onednn(op, {wave({3, 4, 5}, 20, 0.9)}, {"", {}, {}, {{"axis", axis}}, "", ""}));
  for (const char* op : {"Abs", "Exp", "Relu", "Sigmoid", "Tanh"}) check(against_onednn(op, {wave({6, 50}, 6, 0.37)}));
  EXPECT_GT(all.values, 1800U);
}

TEST(Golden, IntegersFollowTheMachine) {
  model::Model model;
  const auto binary = [&](model::Op op, std::int32_t a, std::int32_t b) {
    model.values.resize(3);
    for (auto& value : model.values) value.type = Type::i32;
    model::Node node;
    node.op = op;
    node.inputs = {0, 1};
    node.outputs = {2};
    const Tensor x(Type::i32, {}, std::vector<std::int32_t>{a}), y(Type::i32, {}, std::vector<std::int32_t>{b});
    return evaluate(model, node, {&x, &y}).at(0).at<std::int32_t>(0);
  };
  constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(binary(model::Op::Div, 7, 0), -1);
  EXPECT_EQ(binary(model::Op::Div, kMin, -1), kMin);
  EXPECT_EQ(binary(model::Op::Div, -7, 2), -3);
  EXPECT_EQ(binary(model::Op::Add, std::numeric_limits<std::int32_t>::max(), 1), kMin);
  EXPECT_EQ(binary(model::Op::Mul, 1 << 20, 1 << 20), 0);
}

// Comparison.

TEST(Compare, CountsValuesAndMeasures) {
  const Comparison c = compare(floats({1, 2, 3}), floats({1, 2.001F, 3}), {});
  EXPECT_TRUE(c.passes());
  EXPECT_EQ(c.values, 3U);
  EXPECT_NEAR(c.max_abs, 1e-3, 1e-6);
  EXPECT_GT(c.max_ulp, 1000U);
}

TEST(Compare, FirstDifferenceHasItsPosition) {
  Tensor a(Type::f32, {2, 2}, std::vector<float>{1, 2, 3, 4}), b = a;
  a.set(2, 5.0F);
  a.set(3, 6.0F);
  const Comparison c = compare(a, b, {}, "y");
  EXPECT_FALSE(c.passes());
  EXPECT_EQ(c.wrong, 2U);
  ASSERT_TRUE(c.first.has_value());
  EXPECT_EQ(c.first->position, (model::Shape{1, 0}));
  EXPECT_EQ(c.first->result, 5.0);
  EXPECT_EQ(c.first->reference, 3.0);
}

TEST(Compare, NothingComparedDoesNotPass) {
  EXPECT_FALSE(Comparison().passes());
  EXPECT_TRUE(compare(Tensor(Type::f32, {0}), Tensor(Type::f32, {0}), {}).passes());
  EXPECT_FALSE(compare(Tensor(Type::f32, {0}), Tensor(Type::f32, {1}), {}).passes());
  EXPECT_FALSE(compare(Tensor(Type::f32, {0, 2}), Tensor(Type::f32, {2, 0}), {}).passes());
  EXPECT_FALSE(compare(Tensor(Type::i32, {1}), Tensor(Type::f32, {1}), {}).passes());
}

TEST(Compare, SpecialValues) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(compare(floats({inf, nan, -0.0F}), floats({inf, nan, 0.0F}), {}).passes());
  EXPECT_FALSE(compare(floats({inf}), floats({1e30F}), {}).passes());
  EXPECT_FALSE(compare(floats({nan}), floats({1}), {}).passes());
  EXPECT_FALSE(compare(floats({1}), floats({nan}), {}).passes());
  EXPECT_FALSE(compare(floats({-inf}), floats({inf}), {}).passes());
}

TEST(Compare, UlpDistance) {
  EXPECT_EQ(ulp_distance(1.0F, std::nextafter(1.0F, 2.0F)), 1U);
  EXPECT_EQ(ulp_distance(0.0F, -0.0F), 0U);
  EXPECT_EQ(ulp_distance(std::nextafter(0.0F, 1.0F), std::nextafter(0.0F, -1.0F)), 2U);
  EXPECT_TRUE(compare(floats({1.0F}), floats({std::nextafter(1.0F, 2.0F)}), {0, 0, 1}).passes());
  EXPECT_FALSE(compare(floats({1.0F}), floats({1.0000003F}), {0, 0, 1}).passes());
}

}  // namespace
}  // namespace tessera::golden
