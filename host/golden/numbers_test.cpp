// Rounding to f16, the blocked product against the plain one, NaN, and how large tolerances are.
#include "host/golden/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "host/golden/check.h"
#include "host/golden/evaluate.h"
#include "host/golden/gemm.h"
#include "host/golden/tolerance.h"

namespace tessera::golden {
namespace {

using model::Op;
using model::Tensor;
using model::Type;

TEST(Half, EveryValueComesBack) {
  for (unsigned bits = 0; bits < 0x10000U; ++bits) {
    const float value = model::from_half(static_cast<std::uint16_t>(bits));
    const std::uint16_t back = model::to_half(value);
    if (std::isnan(value))
      EXPECT_EQ(back, 0x7E00U);
    else
      EXPECT_EQ(back, bits);
  }
}

TEST(Half, RoundsToNearestTiesToEven) {
  for (unsigned bits = 0; bits < 0x7BFFU; ++bits) {
    const double low = model::from_half(static_cast<std::uint16_t>(bits));
    const double high = model::from_half(static_cast<std::uint16_t>(bits + 1)), middle = (low + high) / 2;
    EXPECT_EQ(model::to_half(middle), (bits & 1U) == 0 ? bits : bits + 1);
    EXPECT_EQ(model::to_half(std::nextafter(middle, 0.0)), bits);
    EXPECT_EQ(model::to_half(-std::nextafter(middle, 1e9)), 0x8000U | (bits + 1));
  }
  EXPECT_EQ(model::to_half(65519.9), 0x7BFFU);
  EXPECT_EQ(model::to_half(65520.0), 0x7C00U);
  EXPECT_EQ(model::to_half(-1e30), 0xFC00U);
}

TEST(Gemm, BlocksGiveTheBitsOfThePlainLoop) {
  for (const auto& [m, n, k] :
       {std::tuple{1, 1, 1}, std::tuple{3, 5, 7}, std::tuple{9, 300, 600}, std::tuple{4, 8, 256},
        std::tuple{17, 257, 513}, std::tuple{0, 4, 4}, std::tuple{4, 4, 0}}) {
    Tensor a(Type::f32, {m, k}), b(Type::f32, {k, n});
    for (std::int64_t i = 0; i < a.elements(); ++i)
      a.set(i, static_cast<float>(std::sin(0.7 * static_cast<double>(i))));
    for (std::int64_t i = 0; i < b.elements(); ++i)
      b.set(i, static_cast<float>(std::cos(0.3 * static_cast<double>(i))));
    std::vector<double> c(static_cast<std::size_t>(m * n), 0.25);
    multiply_add(m, n, k, block_of(a, 0, k, 1), block_of(b, 0, n, 1), c.data());
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0.25;
        for (std::int64_t p = 0; p < k; ++p) sum += a.real(i * k + p) * b.real(p * n + j);
        ASSERT_EQ(c[static_cast<std::size_t>(i * n + j)], sum) << m << " " << n << " " << k;
      }
  }
}

/// A model of one node whose operands are inputs 0 .. n-1 and whose result is value n.
model::Model one_node(Op op, const std::vector<Tensor>& inputs, Type type) {
  model::Model model;
  model::Node node;
  node.op = op;
  node.name = "the node";
  for (std::size_t i = 0; i <= inputs.size(); ++i) {
    model::Value value;
    value.name = "v" + std::to_string(i);
    value.type = i < inputs.size() ? inputs[i].type : type;
    value.shape = inputs[std::min(i, inputs.size() - 1)].shape;
    model.values.push_back(value);
    (i < inputs.size() ? node.inputs : node.outputs).push_back(static_cast<model::ValueId>(i));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) model.inputs.push_back(static_cast<model::ValueId>(i));
  model.outputs = node.outputs;
  model.nodes = {node};
  return model;
}

TEST(Nan, WinsMaximumAndMinimumAndRelu) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor a(Type::f32, {3}, std::vector<float>{nan, 1, nan}), b(Type::f32, {3}, std::vector<float>{1, nan, nan});
  for (const Op op : {Op::Max, Op::Min}) {
    const model::Model model = one_node(op, {a, b}, Type::f32);
    const Tensor y = evaluate(model, model.nodes[0], {&a, &b}).at(0);
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(y.real(i)));
  }
  const model::Model model = one_node(Op::Relu, {a}, Type::f32);
  EXPECT_TRUE(std::isnan(evaluate(model, model.nodes[0], {&a}).at(0).real(0)));
}

TEST(Tolerance, UnitsInTheLastPlace) {
  EXPECT_EQ(ulp_of(Type::f16, 1.0), 0x1p-10);
  EXPECT_EQ(ulp_of(Type::f16, 0.0), 0x1p-24);
  EXPECT_EQ(ulp_of(Type::f16, 1e-6), 0x1p-24);
  EXPECT_EQ(ulp_of(Type::f32, -3.0), 0x1p-22);
  EXPECT_EQ(ulp_of(Type::i32, 3.0), 0.0);
}

/// The device is one step off: an addition allows it, what moves or chooses does not.
TEST(NodeCheck, OneUnitIsAllowedWhereSomethingIsRounded) {
  const Tensor a(Type::f32, {2}, std::vector<float>{1, 2}), b(Type::f32, {2}, std::vector<float>{3, 5});
  for (const auto& [op, steps, good] : {std::tuple{Op::Add, 1, true}, std::tuple{Op::Add, 3, false},
                                        std::tuple{Op::Max, 0, true}, std::tuple{Op::Max, 1, false}}) {
    const model::Model model = one_node(op, {a, b}, Type::f32);
    const int count = steps;
    const NodeReport report = check_nodes(model, {a, b}, [&](model::ValueId) -> std::optional<Tensor> {
      Tensor y = evaluate(model, model.nodes[0], {&a, &b}).at(0);
      for (int i = 0; i < count; ++i) y.set(1, std::nextafter(y.at<float>(1), 100.0F));
      return y;
    });
    EXPECT_EQ(report.passes(), good) << report.text();
    EXPECT_EQ(report.values, 2U);
    ASSERT_EQ(report.results.size(), 1U);
    EXPECT_EQ(report.results[0].max_ulp, static_cast<std::uint64_t>(steps));
    if (good) continue;
    EXPECT_EQ(report.first_wrong()->worst->index, 1);
    EXPECT_NE(report.text().find("the node"), std::string::npos);
  }
}

TEST(NodeCheck, NanAgainstANumberIsWrong) {
  const Tensor a(Type::f16, {1}, std::vector<std::uint16_t>{0x3C00}),
      nan(Type::f16, {1}, std::vector<std::uint16_t>{0x7E00});
  const model::Model model = one_node(Op::Sigmoid, {a}, Type::f16);
  EXPECT_FALSE(check_nodes(model, {a}, [&](model::ValueId) -> std::optional<Tensor> { return nan; }).passes());
  EXPECT_TRUE(check_nodes(one_node(Op::Sigmoid, {nan}, Type::f16), {nan}, [&](model::ValueId) -> std::optional<Tensor> {
                return nan;
              }).passes());
}

/// A convolution of `products` (weights, inputs of one) with a normalisation that changes nothing behind it, the first
/// not readable: whether the second may be off by `off`.
bool may_be_off(const std::vector<float>& products, double off) {
  const auto channels = static_cast<std::int64_t>(products.size());
  const auto halves = [](const model::Shape& shape, const std::vector<double>& x) {
    return rounded(Type::f16, shape, x);
  };
  const std::vector<double> weights(products.begin(), products.end());
  const Tensor x = halves({1, channels, 1, 1}, std::vector<double>(products.size(), 1.0)), one = halves({1}, {1.0}),
               zero = halves({1}, {0.0});
  model::Model model;
  const auto value = [&](const std::string& name, const model::Shape& shape, std::optional<Tensor> constant) {
    model::Value v;
    v.name = name;
    v.type = Type::f16;
    v.shape = shape;
    v.constant = std::move(constant);
    model.values.push_back(v);
    return static_cast<model::ValueId>(model.values.size() - 1);
  };
  const auto input = value("x", x.shape, {});
  const auto w = value("w", x.shape, halves(x.shape, weights));
  const auto scale = value("scale", {1}, one), bias = value("bias", {1}, zero), mean = value("mean", {1}, zero),
             variance = value("variance", {1}, one);
  const auto sum = value("sum", {1, 1, 1, 1}, {}), result = value("result", {1, 1, 1, 1}, {});
  model::Node conv, norm;
  conv.op = Op::Conv;
  conv.name = "conv";
  conv.inputs = {input, w};
  conv.outputs = {sum};
  model::ConvAttributes a;
  a.kernel = a.strides = a.dilations = {1, 1};
  a.pads_begin = a.pads_end = {0, 0};
  conv.attributes = a;
  norm.op = Op::BatchNormalization;
  norm.name = "norm";
  norm.inputs = {sum, scale, bias, mean, variance};
  norm.outputs = {result};
  model::NormAttributes n;
  n.epsilon = 0;
  norm.attributes = n;
  model.inputs = {input};
  model.outputs = {result};
  model.nodes = {conv, norm};
  const double exact = golden::run(model, {x})[result]->real(0);
  return check_nodes(model, {x},
                     [&](model::ValueId id) -> std::optional<Tensor> {
                       if (id != result) return {};
                       return halves({1, 1, 1, 1}, {exact + off});
                     })
      .passes();
}

/// Weights that are rounded once more: errors of many equal products average out, those of two large ones do not.
TEST(NodeCheck, WeightsRoundedOnceMoreMayBeOffByTheSizeOfTheirProducts) {
  std::vector<float> equal(400), few(400, 0.0F);
  for (std::size_t i = 0; i < equal.size(); ++i) equal[i] = i % 2 == 0 ? 0x1p-8F : -0x1p-8F;
  few[0] = 1.0F;
  few[1] = -0.9375F;
  EXPECT_TRUE(may_be_off(few, 0x1p-11));
  EXPECT_FALSE(may_be_off(few, 0x1p-9));
  EXPECT_TRUE(may_be_off(equal, 0x1p-14));
  EXPECT_FALSE(may_be_off(equal, 0x1p-11));
}

}  // namespace
}  // namespace tessera::golden
