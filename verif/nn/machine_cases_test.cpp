// The independent cases on the modelled machine (TLM, pocket): every one has a lowering and passes. SystemC elaborates
// once a process, so each case has one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "host/golden/check.h"
#include "host/golden/evaluate.h"
#include "hw/error.h"
#include "verif/nn/cases.h"
#include "verif/nn/device_run.h"

namespace tessera::verif_nn {
namespace {

Verdict judge(const Case& c) {
  try {
    std::uint64_t values = 0;
    const std::string difference = compare(c, DeviceRun(model_of(c), c.inputs, false).results, values);
    if (difference.empty() && values > 0) return passed;
    std::fprintf(stderr, "%s: %s\n", c.name.c_str(), difference.c_str());
    return wrong;
  } catch (const Error& error) {
    if (error.category() == Category::unsupported) return unsupported;
    std::fprintf(stderr, "%s: %s\n", c.name.c_str(), error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", c.name.c_str(), error.what());
  }
  return broken;
}

TEST(MachineCases, RunOnTheMachine) {
  unsigned good = 0;
  for (const Case& c : all_cases()) {
    const int verdict = in_a_process([&] { return judge(c); });
    EXPECT_EQ(verdict, passed) << c.name;
    if (verdict == passed) ++good;
  }
  std::cout << good << " passed\n";
  EXPECT_GE(good, 66U);
}

/// One node of an operator whose operands hold a NaN, in either place where there are two.
Case with_nan(const std::string& op, model::Type type) {
  Case c;
  c.name = op + (type == model::Type::f16 ? "_f16" : "_f32");
  c.type = type;
  const auto tensor = [&](const std::vector<double>& values, const std::vector<std::int64_t>& shape) {
    model::Tensor result(type, shape);
    for (std::int64_t i = 0; i < result.elements(); ++i) {
      const double value = values[static_cast<std::size_t>(i)];
      if (type == model::Type::f16)
        result.set(i, model::to_half(value));
      else
        result.set(i, static_cast<float>(value));
    }
    return result;
  };
  const double nan = std::nan("");
  const bool pool = op == "MaxPool" || op == "GlobalMaxPool", reduce = op == "ReduceMax" || op == "ReduceMin";
  std::vector<std::int64_t> shape = {8};
  if (pool) shape = {1, 1, 8};
  if (reduce) shape = {2, 4};
  c.inputs = {tensor({nan, nan, 1, -2, 3, nan, 5, -7}, shape)};
  if (op == "Max" || op == "Min") c.inputs.push_back(tensor({1, nan, 2, -3, 4, 0, nan, 7}, shape));
  model::TestNode node;
  node.op = op;
  node.outputs = {"y"};
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    std::vector<std::string> extents;
    for (const std::int64_t extent : shape) extents.push_back(std::to_string(extent));
    c.graph.inputs.push_back({name, type, extents});
    node.inputs.push_back(name);
  }
  if (op == "Clip") {
    c.graph.initializers = {{"low", tensor({-1}, {})}, {"high", tensor({2}, {})}};
    node.inputs.insert(node.inputs.end(), {"low", "high"});
  }
  if (op == "MaxPool") node.attributes = {{"kernel_shape", std::vector<std::int64_t>{2}}};
  if (reduce) node.attributes = {{"axes", std::vector<std::int64_t>{1}}};
  c.graph.outputs = {{"y", type, std::vector<std::string>(shape.size(), "")}};
  for (std::size_t k = 0; k < shape.size(); ++k)
    c.graph.outputs[0].extents[k] = std::string(1, static_cast<char>('k' + k));
  c.graph.nodes = {node};
  return c;
}

/// The machine does with NaN what the reference does.
TEST(MachineCases, NanIsTheResult) {
  unsigned good = 0;
  for (const char* op : {"Max", "Min", "Relu", "Clip", "ReduceMax", "ReduceMin", "MaxPool", "GlobalMaxPool"})
    for (const model::Type type : {model::Type::f32, model::Type::f16}) {
      const Case c = with_nan(op, type);
      const int verdict = in_a_process([&]() -> int {
        try {
          const model::Model model = model_of(c);
          const auto values = golden::run(model, c.inputs);
          const model::Tensor found = DeviceRun(model, c.inputs, false).results.at(0);
          const golden::Comparison comparison = golden::compare(found, values[model.outputs[0]].value(), {0, 0, 0});
          if (!comparison.passes()) std::fprintf(stderr, "%s: %s\n", c.name.c_str(), comparison.text().c_str());
          return comparison.passes() ? passed : wrong;
        } catch (const Error& error) {
          return error.category() == Category::unsupported ? unsupported : broken;
        }
      });
      EXPECT_TRUE(verdict == passed || verdict == unsupported) << c.name << ": verdict " << verdict;
      if (verdict == passed) ++good;
    }
  std::cout << good << " passed\n";
  EXPECT_GT(good, 6U);
}

/// The check of a real run, node by node: it passes, and with another weight in the reference it names that node.
TEST(MachineCases, ANodesFaultIsNamed) {
  const auto cases = all_cases();
  const auto found =
      std::find_if(cases.begin(), cases.end(), [](const Case& c) { return c.name == "attention_heads_f32"; });
  ASSERT_NE(found, cases.end());
  const model::Model model = model_of(*found);
  DeviceRun run(model, found->inputs, true);
  const auto device = [&](model::ValueId id) { return run.value(model.value(id)); };
  const golden::NodeReport good = golden::check_nodes(model, found->inputs, device);
  EXPECT_TRUE(good.passes()) << good.text();
  EXPECT_EQ(good.unread, 0U);
  EXPECT_GT(good.values, 2000U);
  for (const char* name : {"w_q", "w_v", "w_o"}) {
    model::Model other = model;
    std::string node;
    for (std::size_t id = 0; id < other.values.size(); ++id) {
      if (other.values[id].name != name) continue;
      other.values[id].constant->set(5, other.values[id].constant->at<float>(5) + 0.01F);
      for (const model::Node& user : other.nodes)
        if (user.inputs.size() > 1 && user.inputs[1] == id) node = user.name;
    }
    ASSERT_FALSE(node.empty());
    const golden::NodeReport report = golden::check_nodes(other, found->inputs, device);
    ASSERT_NE(report.first_wrong(), nullptr) << name;
    EXPECT_EQ(report.first_wrong()->node, node);
    for (const golden::NodeResult& result : report.results) EXPECT_EQ(result.wrong > 0, result.node == node);
  }
}

}  // namespace
}  // namespace tessera::verif_nn
