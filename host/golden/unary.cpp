// Functions of one element, with the attributes and scalar operands some of them have; casts.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "host/golden/kernel.h"
#include "host/golden/numbers.h"

namespace tessera::golden {

using model::ActivationAttributes;
using model::Op;
using model::Tensor;
using model::Type;

namespace {

/// A function of real numbers; results for integer types are cut to them.
template <typename Function>
std::vector<Tensor> map(const Call& call, Function function) {
  std::vector<double> values = reals(call.x());
  for (double& value : values) value = function(value);
  return only(rounded(call.x().type, call.x().shape, values));
}

template <typename Real, typename Integer>
std::vector<Tensor> map(const Call& call, Real real, Integer integer) {
  if (is_real(call.x().type)) return map(call, real);
  Tensor result(call.x().type, call.x().shape);
  for (std::int64_t i = 0; i < result.elements(); ++i) store_integer(result, i, integer(call.x().integer(i)));
  return only(std::move(result));
}

template <typename Function>
std::vector<Tensor> test(const Call& call, Function function) {
  Tensor result(Type::boolean, call.x().shape);
  for (std::int64_t i = 0; i < result.elements(); ++i) result.data[static_cast<std::size_t>(i)] = function(i) ? 1 : 0;
  return only(std::move(result));
}

/// Functions that need nothing but the element.
template <double (*function)(double)>
std::vector<Tensor> plain(const Call& call) {
  return map(call, function);
}

double reciprocal(double x) { return 1.0 / x; }
double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
/// log(1 + e^x) without overflow.
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double softsign(double x) { return x / (1.0 + std::fabs(x)); }
double hard_swish(double x) { return x * std::max(0.0, std::min(1.0, x / 6.0 + 0.5)); }
/// Ties to even, whatever the rounding mode of the process.
double round_even(double x) {
  const double down = std::floor(x), rest = x - down;
  if (std::isnan(x) || std::isinf(x)) return x;
  const double result = rest < 0.5 ? down : rest > 0.5 ? down + 1.0 : std::fmod(down, 2.0) == 0.0 ? down : down + 1.0;
  return std::copysign(result, x);
}

std::int64_t negated(std::int64_t x) { return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x)); }

std::vector<Tensor> absolute(const Call& call) {
  return map(
      call, [](double x) { return std::fabs(x); }, [](std::int64_t x) { return x < 0 ? negated(x) : x; });
}
std::vector<Tensor> negative(const Call& call) {
  return map(
      call, [](double x) { return -x; }, negated);
}
std::vector<Tensor> relu(const Call& call) {
  return map(
      call, [](double x) { return std::isnan(x) ? x : std::max(x, 0.0); },
      [](std::int64_t x) { return std::max<std::int64_t>(x, 0); });
}
std::vector<Tensor> sign(const Call& call) {
  return map(
      call, [](double x) { return x > 0.0   ? 1.0
                                  : x < 0.0 ? -1.0
                                            : x; },
      [](std::int64_t x) { return std::int64_t{x > 0} - std::int64_t{x < 0}; });
}

/// elu and its relatives: x above zero, an exponential below.
std::vector<Tensor> elu(const Call& call) {
  const double alpha = call.attributes<ActivationAttributes>().alpha;
  return map(call, [=](double x) { return x < 0.0 ? alpha * std::expm1(x) : x; });
}
std::vector<Tensor> celu(const Call& call) {
  const double alpha = call.attributes<ActivationAttributes>().alpha;
  return map(call, [=](double x) { return x < 0.0 ? alpha * std::expm1(x / alpha) : x; });
}
std::vector<Tensor> selu(const Call& call) {
  const auto& a = call.attributes<ActivationAttributes>();
  const double alpha = a.alpha, gamma = a.gamma;
  return map(call, [=](double x) { return gamma * (x <= 0.0 ? alpha * std::expm1(x) : x); });
}
std::vector<Tensor> leaky_relu(const Call& call) {
  const double alpha = call.attributes<ActivationAttributes>().alpha;
  return map(call, [=](double x) { return x < 0.0 ? alpha * x : x; });
}
std::vector<Tensor> thresholded_relu(const Call& call) {
  const double alpha = call.attributes<ActivationAttributes>().alpha;
  return map(call, [=](double x) { return std::isnan(x) || x > alpha ? x : 0.0; });
}
std::vector<Tensor> hard_sigmoid(const Call& call) {
  const auto& a = call.attributes<ActivationAttributes>();
  const double alpha = a.alpha, beta = a.beta;
  return map(call, [=](double x) {
    const double line = alpha * x + beta;
    return std::isnan(line) ? line : std::max(0.0, std::min(1.0, line));
  });
}
std::vector<Tensor> shrink(const Call& call) {
  const auto& a = call.attributes<ActivationAttributes>();
  const double lambda = a.alpha, bias = a.beta;
  return map(call, [=](double x) { return x < -lambda ? x + bias : x > lambda ? x - bias : std::isnan(x) ? x : 0.0; });
}

/// max(min) first, then min(max): where the bounds cross, the upper one holds. NaN stays.
std::vector<Tensor> clip(const Call& call) {
  const auto bounded = [](auto x, auto low, auto high) {
    if (low && x < *low) x = *low;
    if (high && x > *high) x = *high;
    return x;
  };
  std::optional<double> low, high;
  std::optional<std::int64_t> integer_low, integer_high;
  const bool real = is_real(call.x().type);
  const auto bound = [&](std::size_t i, std::optional<double>& r, std::optional<std::int64_t>& n) {
    if (!call.has(i) || call.x(i).elements() == 0) return;
    if (real)
      r = call.x(i).real(0);
    else
      n = call.x(i).integer(0);
  };
  bound(1, low, integer_low);
  bound(2, high, integer_high);
  return map(
      call, [&](double x) { return bounded(x, low, high); },
      [&](std::int64_t x) { return bounded(x, integer_low, integer_high); });
}

std::vector<Tensor> logical_not(const Call& call) {
  return test(call, [&](std::int64_t i) { return call.x().integer(i) == 0; });
}
std::vector<Tensor> is_nan(const Call& call) {
  return test(call, [&](std::int64_t i) { return std::isnan(call.x().real(i)); });
}
std::vector<Tensor> is_inf(const Call& call) {
  const auto& wanted = call.attributes<model::IsInfAttributes>();
  return test(call, [&](std::int64_t i) {
    const double x = call.x().real(i);
    return std::isinf(x) && (x > 0 ? wanted.positive : wanted.negative);
  });
}

std::vector<Tensor> identity(const Call& call) {
  Tensor result = call.x();
  if (model::element_count(call.shape()) != result.elements())
    throw std::logic_error("reference: another number of elements under a new shape");
  result.shape = call.shape();
  result.name.clear();
  return only(std::move(result));
}

/// Inference: the data as they are, and a mask that keeps all.
std::vector<Tensor> dropout(const Call& call) {
  std::vector<Tensor> result = only(call.x());
  result[0].name.clear();
  result.emplace_back(Type::boolean, call.x().shape);
  std::fill(result[1].data.begin(), result[1].data.end(), std::uint8_t{1});
  return result;
}

Tensor converted(const Tensor& x, Type to) {
  Tensor result(to, x.shape);
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    if (is_real(to))
      store_real(result, i, x.real(i));
    else
      store_integer(result, i, is_real(x.type) ? to_integer(x.real(i), to) : x.integer(i));
  }
  return result;
}

std::vector<Tensor> cast(const Call& call) {
  return only(converted(call.x(), call.attributes<model::CastAttributes>().to));
}
std::vector<Tensor> cast_like(const Call& call) { return only(converted(call.x(), call.type())); }

}  // namespace

Kernels unary_kernels() {
  return {{Op::Abs, absolute},
          {Op::Acos, plain<std::acos>},
          {Op::Acosh, plain<std::acosh>},
          {Op::Asin, plain<std::asin>},
          {Op::Asinh, plain<std::asinh>},
          {Op::Atan, plain<std::atan>},
          {Op::Atanh, plain<std::atanh>},
          {Op::Cast, cast},
          {Op::CastLike, cast_like},
          {Op::Ceil, plain<std::ceil>},
          {Op::Celu, celu},
          {Op::Clip, clip},
          {Op::Cos, plain<std::cos>},
          {Op::Cosh, plain<std::cosh>},
          {Op::Dropout, dropout},
          {Op::Elu, elu},
          {Op::Erf, plain<std::erf>},
          {Op::Exp, plain<std::exp>},
          {Op::Floor, plain<std::floor>},
          {Op::Flatten, identity},
          {Op::HardSigmoid, hard_sigmoid},
          {Op::HardSwish, plain<hard_swish>},
          {Op::Identity, identity},
          {Op::IsInf, is_inf},
          {Op::IsNaN, is_nan},
          {Op::LeakyRelu, leaky_relu},
          {Op::Log, plain<std::log>},
          {Op::Neg, negative},
          {Op::Not, logical_not},
          {Op::Reciprocal, plain<reciprocal>},
          {Op::Relu, relu},
          {Op::Reshape, identity},
          {Op::Round, plain<round_even>},
          {Op::Selu, selu},
          {Op::Shrink, shrink},
          {Op::Sigmoid, plain<sigmoid>},
          {Op::Sign, sign},
          {Op::Sin, plain<std::sin>},
          {Op::Sinh, plain<std::sinh>},
          {Op::Softplus, plain<softplus>},
          {Op::Softsign, plain<softsign>},
          {Op::Sqrt, plain<std::sqrt>},
          {Op::Squeeze, identity},
          {Op::Tan, plain<std::tan>},
          {Op::Tanh, plain<std::tanh>},
          {Op::ThresholdedRelu, thresholded_relu},
          {Op::Unsqueeze, identity}};
}

}  // namespace tessera::golden
