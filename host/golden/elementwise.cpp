// Element-wise operators of two or more operands with broadcasting: arithmetic, comparisons, logic, selection.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "host/golden/kernel.h"
#include "host/golden/numbers.h"

namespace tessera::golden {

using model::Op;
using model::Shape;
using model::Tensor;
using model::Type;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The operand as doubles (or 64-bit integers), broadcast to a shape.
template <typename T>
std::vector<T> spread(const std::vector<T>& own, const Shape& from, const Shape& to) {
  if (from == to) return own;
  std::vector<T> result;
  result.reserve(static_cast<std::size_t>(model::element_count(to)));
  for (const std::int64_t i : broadcast_indices(from, to)) result.push_back(own[static_cast<std::size_t>(i)]);
  return result;
}
std::vector<double> spread_reals(const Tensor& x, const Shape& to) { return spread(reals(x), x.shape, to); }
std::vector<std::int64_t> spread_integers(const Tensor& x, const Shape& to) {
  return spread(x.integers(), x.shape, to);
}

using RealFunction = double (*)(double, double);
using IntegerFunction = std::int64_t (*)(std::int64_t, std::int64_t);

/// Exact for operands of 32 bits and, wrapping, of 64.
std::int64_t wrap(std::uint64_t x) { return static_cast<std::int64_t>(x); }

/// Both functions of an operator folded from the left over its operands. Real results are rounded once, at the end.
std::vector<Tensor> fold(const Call& call, RealFunction real, IntegerFunction integer) {
  Tensor result = call.out();
  const auto combine = [&](auto values, auto operand, auto function) {
    for (std::size_t k = 1; k < call.in.size(); ++k) {
      const auto other = operand(call.x(k), call.shape());
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = function(values[i], other[i]);
    }
    return values;
  };
  if (is_real(call.x().type))
    return only(rounded(result.type, result.shape, combine(spread_reals(call.x(), call.shape()), spread_reals, real)));
  const auto values = combine(spread_integers(call.x(), call.shape()), spread_integers, integer);
  for (std::size_t i = 0; i < values.size(); ++i) store_integer(result, static_cast<std::int64_t>(i), values[i]);
  return only(std::move(result));
}

std::vector<Tensor> add(const Call& call) {
  return fold(
      call, [](double a, double b) { return a + b; },
      [](std::int64_t a, std::int64_t b) {
        return wrap(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
      });
}
std::vector<Tensor> sub(const Call& call) {
  return fold(
      call, [](double a, double b) { return a - b; },
      [](std::int64_t a, std::int64_t b) {
        return wrap(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
      });
}
std::vector<Tensor> mul(const Call& call) {
  return fold(
      call, [](double a, double b) { return a * b; },
      [](std::int64_t a, std::int64_t b) {
        return wrap(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
      });
}

std::int64_t divide(std::int64_t a, std::int64_t b) {
  if (b == 0) return -1;
  return b == -1 ? wrap(0 - static_cast<std::uint64_t>(a)) : a / b;
}
std::vector<Tensor> div(const Call& call) {
  return fold(
      call, [](double a, double b) { return a / b; }, divide);
}

/// A NaN among the operands is the result, as numpy and ONNX have it.
std::vector<Tensor> maximum(const Call& call) {
  return fold(
      call, [](double a, double b) { return std::isnan(a) || std::isnan(b) ? kNan : std::max(a, b); },
      [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
}
std::vector<Tensor> minimum(const Call& call) {
  return fold(
      call, [](double a, double b) { return std::isnan(a) || std::isnan(b) ? kNan : std::min(a, b); },
      [](std::int64_t a, std::int64_t b) { return std::min(a, b); });
}

std::vector<Tensor> mean(const Call& call) {
  std::vector<double> sum(static_cast<std::size_t>(model::element_count(call.shape())), 0.0);
  for (const Tensor* x : call.in) {
    const std::vector<double> values = spread_reals(*x, call.shape());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
  }
  for (double& value : sum) value /= static_cast<double>(call.in.size());
  return only(rounded(call.type(), call.shape(), sum));
}

/// The remainder has the sign of the divisor (of the dividend with fmod); by zero it is the dividend, as rem gives it.
std::vector<Tensor> mod(const Call& call) {
  if (call.attributes<model::ModAttributes>().fmod)
    return fold(
        call, [](double a, double b) { return std::fmod(a, b); },
        [](std::int64_t a, std::int64_t b) { return b == 0    ? a
                                                    : b == -1 ? std::int64_t{0}
                                                              : a % b; });
  return fold(
      call,
      [](double a, double b) {
        const double rest = std::fmod(a, b);
        return rest != 0.0 && (rest < 0.0) != (b < 0.0) ? rest + b : rest;
      },
      [](std::int64_t a, std::int64_t b) {
        const std::int64_t rest = b == 0 ? a : b == -1 ? 0 : a % b;
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
      });
}

std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  std::uint64_t result = 1, square = static_cast<std::uint64_t>(base);
  for (auto rest = static_cast<std::uint64_t>(exponent); rest != 0; rest >>= 1) {
    if ((rest & 1U) != 0) result *= square;
    square *= square;
  }
  return wrap(result);
}

/// Base and exponent may have different types; the result has the base's. Integers to a power that is a natural number
/// are exact, wrapping; other powers of integers are real numbers cut to integers.
std::vector<Tensor> power(const Call& call) {
  if (is_real(call.x(0).type) || is_real(call.x(1).type)) {
    std::vector<double> a = spread_reals(call.x(0), call.shape());
    const std::vector<double> b = spread_reals(call.x(1), call.shape());
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::pow(a[i], b[i]);
    return only(rounded(call.type(), call.shape(), a));
  }
  Tensor result = call.out();
  const auto a = spread_integers(call.x(0), call.shape()), b = spread_integers(call.x(1), call.shape());
  for (std::size_t i = 0; i < a.size(); ++i)
    store_integer(result, static_cast<std::int64_t>(i),
                  b[i] >= 0 ? integer_power(a[i], b[i])
                            : to_integer(std::pow(static_cast<double>(a[i]), static_cast<double>(b[i])), result.type));
  return only(std::move(result));
}

template <template <typename> class Relation>
std::vector<Tensor> compare(const Call& call) {
  Tensor result(Type::boolean, call.shape());
  const auto fill = [&](const auto& a, const auto& b, auto relation) {
    for (std::size_t i = 0; i < a.size(); ++i) result.data[i] = relation(a[i], b[i]) ? 1 : 0;
  };
  if (is_real(call.x().type))
    fill(spread_reals(call.x(0), call.shape()), spread_reals(call.x(1), call.shape()), Relation<double>());
  else
    fill(spread_integers(call.x(0), call.shape()), spread_integers(call.x(1), call.shape()), Relation<std::int64_t>());
  return only(std::move(result));
}

template <typename Function>
std::vector<Tensor> logic(const Call& call, Function function) {
  Tensor result(Type::boolean, call.shape());
  const auto a = spread_integers(call.x(0), call.shape()), b = spread_integers(call.x(1), call.shape());
  for (std::size_t i = 0; i < a.size(); ++i) result.data[i] = function(a[i] != 0, b[i] != 0) ? 1 : 0;
  return only(std::move(result));
}
std::vector<Tensor> both(const Call& call) {
  return logic(call, [](bool a, bool b) { return a && b; });
}
std::vector<Tensor> either(const Call& call) {
  return logic(call, [](bool a, bool b) { return a || b; });
}
std::vector<Tensor> exactly_one(const Call& call) {
  return logic(call, [](bool a, bool b) { return a != b; });
}

std::vector<Tensor> where(const Call& call) {
  Tensor result = call.out();
  const auto condition = spread_integers(call.x(0), call.shape());
  const auto from_x = broadcast_indices(call.x(1).shape, call.shape());
  const auto from_y = broadcast_indices(call.x(2).shape, call.shape());
  for (std::size_t i = 0; i < condition.size(); ++i) {
    const bool x = condition[i] != 0;
    copy_element(result, static_cast<std::int64_t>(i), call.x(x ? 1 : 2), x ? from_x[i] : from_y[i]);
  }
  return only(std::move(result));
}

std::vector<Tensor> prelu(const Call& call) {
  return fold(
      call, [](double x, double slope) { return x < 0.0 ? slope * x : x; },
      [](std::int64_t x, std::int64_t slope) {
        return x < 0 ? wrap(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(slope)) : x;
      });
}

}  // namespace

Kernels elementwise_kernels() {
  return {{Op::Add, add},
          {Op::Sum, add},
          {Op::Sub, sub},
          {Op::Mul, mul},
          {Op::Div, div},
          {Op::Max, maximum},
          {Op::Min, minimum},
          {Op::Mean, mean},
          {Op::Mod, mod},
          {Op::Pow, power},
          {Op::PRelu, prelu},
          {Op::Where, where},
          {Op::And, both},
          {Op::Or, either},
          {Op::Xor, exactly_one},
          {Op::Equal, compare<std::equal_to>},
          {Op::Greater, compare<std::greater>},
          {Op::GreaterOrEqual, compare<std::greater_equal>},
          {Op::Less, compare<std::less>},
          {Op::LessOrEqual, compare<std::less_equal>}};
}

}  // namespace tessera::golden
