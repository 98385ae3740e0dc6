// Pooling lowered and run on the host against the reference: random windows, strides and dilations with and without a
// common factor, with and without the places of the largest elements.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "host/golden/compare.h"
#include "host/golden/evaluate.h"
#include "host/nn/lower.h"
#include "host/nn/run_lowered.h"
#include "host/onnx/import.h"
#include "host/onnx/test_models.h"

namespace tessera::nn {
namespace {

using model::Shape;
using model::Tensor;
using model::Type;

TEST(Pooling, WindowsOfAnyStrideAndDilation) {
  EXPECT_TRUE(rc::check([] {
    const int axes = *rc::gen::inRange(1, 4);
    Shape x = {*rc::gen::inRange(1, 3), *rc::gen::element<std::int64_t>(1, 3, 8, 16)};
    std::vector<std::int64_t> kernel, strides, dilations, begin, end;
    for (int k = 0; k < axes; ++k) {
      const std::int64_t factor = *rc::gen::element<std::int64_t>(1, 2, 3, 5);
      kernel.push_back(*rc::gen::inRange(1, 4));
      strides.push_back(factor * *rc::gen::inRange(1, 3));
      dilations.push_back(factor * *rc::gen::inRange(1, 3));
      const std::int64_t reach = (kernel.back() - 1) * dilations.back() + 1;
      x.push_back(reach + *rc::gen::inRange(0, 12));
      begin.push_back(*rc::gen::inRange<std::int64_t>(0, kernel.back()));
      end.push_back(*rc::gen::inRange<std::int64_t>(0, kernel.back()));
    }
    begin.insert(begin.end(), end.begin(), end.end());
    const bool indices = *rc::gen::inRange(0, 3) == 0;
    const Type type = *rc::gen::element(Type::f32, Type::f16);
    Tensor values(type, x);
    for (std::int64_t i = 0; i < values.elements(); ++i) {
      const float value = static_cast<float>(*rc::gen::inRange(-1000, 1000)) / 64.0F;
      if (type == Type::f16)
        values.set(i, model::to_half(value));
      else
        values.set(i, value);
    }
    model::TestGraph graph;
    std::vector<std::string> given, open;
    for (const std::int64_t extent : x) {
      given.push_back(std::to_string(extent));
      open.push_back("d" + std::to_string(open.size()));
    }
    graph.inputs = {{"x", type, given}};
    graph.outputs = {{"y", type, open}};
    std::vector<std::string> results = {"y"};
    if (indices) {
      graph.outputs.push_back({"i", Type::i64, open});
      results.emplace_back("i");
    }
    graph.nodes = {{"MaxPool",
                    {"x"},
                    results,
                    {{"kernel_shape", kernel}, {"strides", strides}, {"dilations", dilations}, {"pads", begin}},
                    "pool",
                    ""}};
    const model::Model model = model::import_bytes(model::to_bytes(graph), "m");
    Options options;
    options.tiles = *rc::gen::element(1U, 5U, 16U);
    const auto reference = golden::run(model, {values});
    const auto lowered = execute(lower(model, options), {values});
    std::uint64_t compared = 0;
    for (std::size_t i = 0; i < lowered.size(); ++i) {
      const auto c = golden::compare(lowered[i], reference[model.outputs[i]].value(), {0, 0, 0}, "y");
      RC_LOG() << c.text();
      RC_ASSERT(c.passes());
      compared += c.values;
    }
    RC_ASSERT(compared > 0);
  }));
}

}  // namespace
}  // namespace tessera::nn
