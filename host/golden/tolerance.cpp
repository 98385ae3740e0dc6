#include "host/golden/tolerance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/golden/evaluate.h"
#include "host/golden/numbers.h"

namespace tessera::golden {

using model::Model;
using model::Node;
using model::Op;
using model::Tensor;
using model::Type;

namespace {

enum class Kind {
  exact,       ///< moves, chooses or compares
  arithmetic,  ///< one operation, rounded once
  function,    ///< relative error
  bounded,     ///< error relative to 1 + |result|: cancels near zero
  sum,         ///< of products or terms
  batch,       ///< batch normalisation: like a sum of two terms
  normalised,  ///< moments of a lane first
  softmax,
  log_softmax,
  recurrent,
};

Kind kind_of(Op op) {
  switch (op) {
    case Op::Add:
    case Op::Cast:
    case Op::CastLike:
    case Op::Div:
    case Op::LeakyRelu:
    case Op::Mul:
    case Op::PRelu:
    case Op::Reciprocal:
    case Op::Sqrt:
    case Op::Sub:
      return Kind::arithmetic;
    case Op::Acosh:
    case Op::Exp:
    case Op::Mod:
    case Op::Pow:
    case Op::ReduceL2:
    case Op::ReduceProd:
      return Kind::function;
    case Op::Acos:
    case Op::Asin:
    case Op::Asinh:
    case Op::Atan:
    case Op::Atanh:
    case Op::Celu:
    case Op::Cos:
    case Op::Cosh:
    case Op::Elu:
    case Op::Erf:
    case Op::HardSigmoid:
    case Op::HardSwish:
    case Op::Log:
    case Op::ReduceLogSum:
    case Op::Selu:
    case Op::Shrink:
    case Op::Sigmoid:
    case Op::Sin:
    case Op::Sinh:
    case Op::Softplus:
    case Op::Softsign:
    case Op::Tan:
    case Op::Tanh:
      return Kind::bounded;
    case Op::AveragePool:
    case Op::Conv:
    case Op::ConvTranspose:
    case Op::CumSum:
    case Op::Einsum:
    case Op::Gemm:
    case Op::GlobalAveragePool:
    case Op::MatMul:
    case Op::Mean:
    case Op::ReduceL1:
    case Op::ReduceMean:
    case Op::ReduceSum:
    case Op::ReduceSumSquare:
    case Op::ScatterElements:
    case Op::ScatterND:
    case Op::Sum:
      return Kind::sum;
    case Op::BatchNormalization:
      return Kind::batch;
    case Op::InstanceNormalization:
    case Op::LRN:
    case Op::LayerNormalization:
    case Op::MeanVarianceNormalization:
      return Kind::normalised;
    case Op::Softmax:
      return Kind::softmax;
    case Op::LogSoftmax:
    case Op::NegativeLogLikelihoodLoss:
    case Op::ReduceLogSumExp:
    case Op::SoftmaxCrossEntropyLoss:
      return Kind::log_softmax;
    case Op::GRU:
    case Op::LSTM:
    case Op::RNN:
      return Kind::recurrent;
    default:
      return Kind::exact;
  }
}

double largest(const Tensor& x) {
  double result = 0.0;
  for (const double value : reals(x))
    if (std::isfinite(value)) result = std::max(result, std::fabs(value));
  return result;
}

/// Terms of one element of the result.
double terms_of(const Node& node, const std::vector<const Tensor*>& in, const Tensor& result) {
  const double out = std::max<double>(1.0, static_cast<double>(result.elements()));
  switch (node.op) {
    case Op::Conv:
      return static_cast<double>(product_of(in[1]->shape, 1, in[1]->shape.size()));
    case Op::ConvTranspose:
      return static_cast<double>(in[1]->elements()) / static_cast<double>(in[1]->shape.at(1));
    case Op::MatMul:
      return static_cast<double>(in[0]->shape.back());
    case Op::Gemm:
      return static_cast<double>(in[0]->shape.at(std::get<model::GemmAttributes>(node.attributes).transpose_a ? 0 : 1));
    case Op::AveragePool:
      return static_cast<double>(model::element_count(std::get<model::PoolAttributes>(node.attributes).kernel));
    case Op::CumSum:
      return static_cast<double>(
          in[0]->shape.at(static_cast<std::size_t>(std::get<model::CumSumAttributes>(node.attributes).axis)));
    case Op::Mean:
    case Op::Sum:
      return static_cast<double>(in.size());
    case Op::ScatterElements:
    case Op::ScatterND:
      return static_cast<double>(std::max<std::int64_t>(1, in[2]->elements()));
    case Op::Softmax:
    case Op::LogSoftmax:
      return static_cast<double>(
          in[0]->shape.at(static_cast<std::size_t>(std::get<model::AxisAttributes>(node.attributes).axis)));
    case Op::LRN:
      return static_cast<double>(std::get<model::LrnAttributes>(node.attributes).size);
    case Op::LayerNormalization:
      return static_cast<double>(
          product_of(in[0]->shape, static_cast<std::size_t>(std::get<model::NormAttributes>(node.attributes).axis),
                     in[0]->shape.size()));
    case Op::InstanceNormalization:
      return static_cast<double>(product_of(in[0]->shape, 2, in[0]->shape.size()));
    case Op::GRU:
    case Op::LSTM:
    case Op::RNN:
      return static_cast<double>(in[1]->shape.at(2) + in[2]->shape.at(2));
    default:
      return std::max(1.0, static_cast<double>(in[0]->elements()) / out);
  }
}

/// The node on absolute values: what the terms of every sum add up to without cancelling.
std::vector<double> absolute_result(const Model& model, const Node& node, const std::vector<const Tensor*>& in,
                                    std::size_t output) {
  std::vector<Tensor> absolute(in.size());
  std::vector<const Tensor*> operands = in;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const bool variance = node.op == Op::BatchNormalization && i == 4;
    if (in[i] == nullptr || !is_real(in[i]->type) || variance) continue;
    absolute[i] = absolute_values(*in[i]);
    if (node.op == Op::BatchNormalization && i == 3)  // x - mean
      for (std::int64_t k = 0; k < absolute[i].elements(); ++k) store_real(absolute[i], k, -absolute[i].real(k));
    operands[i] = &absolute[i];
  }
  return reals(evaluate_wide(model, node, operands).at(output));
}

/// How much larger operands are than what is left of them when their mean is taken away.
double cancelled(const Tensor& x) {
  const std::vector<double> values = reals(x);
  if (values.empty()) return 1.0;
  double mean = 0.0, variance = 0.0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) variance += (value - mean) * (value - mean) / static_cast<double>(values.size());
  const double ratio = std::fabs(mean) / std::sqrt(std::max(variance, 1e-30));
  return 1.0 + std::min(ratio, 1e4);
}

std::vector<double> magnitudes(const Tensor& reference, double factor, double constant) {
  std::vector<double> result = reals(reference);
  for (double& value : result) value = std::fabs(value) * factor + constant;
  return result;
}

}  // namespace

double ulp_of(Type type, double x) {
  if (!is_real(type) || !std::isfinite(x)) return 0.0;
  const int least = type == Type::f16 ? -24 : type == Type::f32 ? -149 : -1074;
  const int fraction = type == Type::f16 ? 10 : type == Type::f32 ? 23 : 52;
  if (x == 0.0) return std::ldexp(1.0, least);
  return std::ldexp(1.0, std::max(least, std::ilogb(x) - fraction));
}

Tensor absolute_values(const Tensor& x) {
  Tensor result = x;
  if (!is_real(x.type)) return result;
  const std::size_t size = size_of(x.type);
  for (std::size_t i = size - 1; i < result.data.size(); i += size) result.data[i] &= 0x7FU;  // the sign bit
  return result;
}

bool is_multilinear(Op op) {
  switch (op) {
    case Op::AveragePool:
    case Op::Conv:
    case Op::ConvTranspose:
    case Op::CumSum:
    case Op::Einsum:
    case Op::Gemm:
    case Op::GlobalAveragePool:
    case Op::MatMul:
    case Op::Mean:
    case Op::ReduceMean:
    case Op::ReduceSum:
    case Op::Sum:
      return true;
    default:
      return false;
  }
}

Bound bound_of(const Model& model, const Node& node, const std::vector<const Tensor*>& in, const Tensor& reference,
               std::size_t output) {
  const Kind kind = kind_of(node.op);
  Bound bound;
  if (!is_real(reference.type) || kind == Kind::exact) {
    bound.text = "exact";
    return bound;
  }
  const std::string unit = fmt::format("1 ulp of {}", name_of(reference.type));
  bound.units = 1.0;
  const double terms = terms_of(node, in, reference), sums = 4.0 * std::sqrt(terms);
  switch (kind) {
    case Kind::arithmetic:
      bound.text = unit;
      return bound;
    case Kind::function:
      bound.roundings = 64.0;
      bound.magnitudes = magnitudes(reference, 1.0, 0.0);
      bound.text = unit + " + 64 f32 roundings of the result";
      return bound;
    case Kind::bounded:
      bound.roundings = 16.0;
      bound.magnitudes = magnitudes(reference, 1.0, 1.0);
      bound.text = unit + " + 16 f32 roundings of 1 + |result|";
      return bound;
    case Kind::sum:
    case Kind::batch:
      bound.roundings = kind == Kind::batch ? 8.0 : std::min(terms, sums) + 4.0;
      bound.magnitudes = absolute_result(model, node, in, output);
      bound.text = kind == Kind::batch ? unit + " + 8 f32 roundings of the absolute terms"
                                       : fmt::format(
                                             "{} + {:.0f} f32 roundings (4 sqrt(K) + 4, K = {:.0f}) of the sum of "
                                             "absolute terms",
                                             unit, bound.roundings, terms);
      return bound;
    case Kind::normalised:
      bound.roundings = sums + 32.0;
      bound.magnitudes = magnitudes(reference, 0.0, largest(reference) * cancelled(*in[0]));
      bound.text = fmt::format("{} + {:.0f} f32 roundings of the largest result, times |mean| / deviation", unit,
                               bound.roundings);
      return bound;
    case Kind::softmax:
      bound.roundings = std::min(terms, sums) + 16.0;
      bound.magnitudes = magnitudes(reference, 1.0 + largest(*in[0]), 0.0);
      bound.text = fmt::format("{} + {:.0f} f32 roundings of result (1 + largest operand)", unit, bound.roundings);
      return bound;
    case Kind::log_softmax:
      bound.roundings = std::min(terms, sums) + 16.0;
      bound.magnitudes = magnitudes(reference, 1.0, 1.0 + largest(*in[0]));
      bound.text = fmt::format("{} + {:.0f} f32 roundings of 1 + |result| + largest operand", unit, bound.roundings);
      return bound;
    default: {  // states go from step to step: each is rounded to the type of the tensor, in f16 also inside
      const bool half = reference.type == Type::f16;
      const auto& attributes = std::get<model::RecurrentAttributes>(node.attributes);
      const double steps = static_cast<double>(in[0]->shape.at(attributes.batch_first ? 1 : 0));
      bound.roundings = (sums + 32.0) * std::min(steps, 16.0) + (half ? 0x1p13 * 4.0 * std::sqrt(steps) : 0.0);
      bound.magnitudes = magnitudes(reference, 0.0, std::max(1.0, largest(reference)));
      bound.text = fmt::format("{} + {:.0f} f32 roundings of the largest state over {:.0f} steps{}", unit,
                               bound.roundings, steps, half ? ", states rounded to f16 among them" : "");
      return bound;
    }
  }
}

}  // namespace tessera::golden
