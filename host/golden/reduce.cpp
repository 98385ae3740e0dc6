// Reductions over axes. Real numbers in double precision, rounded once; sums, products and extremes of integers exact,
// wrapping; a mean of integers is cut.
#include <algorithm>
#include <cmath>
#include <limits>

#include "host/golden/kernel.h"
#include "host/golden/numbers.h"

namespace tessera::golden {

using model::Op;
using model::Shape;
using model::Tensor;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Calls f(lane) with the values that give each element of the result, in row-major order.
template <typename Value, typename Function>
auto lanes_of(const Call& call, const std::vector<Value>& values, Function function) {
  const Shape& shape = call.x().shape;
  const auto own = model::row_major_strides(shape);
  const auto& axes = call.attributes<model::ReduceAttributes>().axes;
  Shape kept, reduced;
  std::vector<std::int64_t> kept_strides, reduced_strides;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const bool is_reduced = std::count(axes.begin(), axes.end(), static_cast<std::int64_t>(k)) != 0;
    (is_reduced ? reduced : kept).push_back(shape[k]);
    (is_reduced ? reduced_strides : kept_strides).push_back(own[k]);
  }
  const auto inside = gather_indices(reduced, reduced_strides);
  std::vector<Value> lane(inside.size()), result;
  for (const std::int64_t base : gather_indices(kept, kept_strides)) {
    for (std::size_t i = 0; i < inside.size(); ++i) lane[i] = values[static_cast<std::size_t>(base + inside[i])];
    result.push_back(function(lane));
  }
  return result;
}

double sum(const std::vector<double>& lane) {
  double result = 0.0;
  for (const double x : lane) result += x;
  return result;
}
double mean(const std::vector<double>& lane) { return sum(lane) / static_cast<double>(lane.size()); }
double product(const std::vector<double>& lane) {
  double result = 1.0;
  for (const double x : lane) result *= x;
  return result;
}
double sum_of_squares(const std::vector<double>& lane) {
  double result = 0.0;
  for (const double x : lane) result += x * x;
  return result;
}
double norm_1(const std::vector<double>& lane) {
  double result = 0.0;
  for (const double x : lane) result += std::fabs(x);
  return result;
}
double norm_2(const std::vector<double>& lane) { return std::sqrt(sum_of_squares(lane)); }
double log_sum(const std::vector<double>& lane) { return std::log(sum(lane)); }
/// A NaN is the result.
double maximum(const std::vector<double>& lane) {
  double result = -kInfinity;
  for (const double x : lane)
    if (x > result || std::isnan(x)) result = x;
  return result;
}
double minimum(const std::vector<double>& lane) {
  double result = kInfinity;
  for (const double x : lane)
    if (x < result || std::isnan(x)) result = x;
  return result;
}
double log_sum_exp(const std::vector<double>& lane) {
  const double top = maximum(lane);
  if (!std::isfinite(top)) return top;
  double result = 0.0;
  for (const double x : lane) result += std::exp(x - top);
  return top + std::log(result);
}

std::uint64_t bits(std::int64_t x) { return static_cast<std::uint64_t>(x); }

using RealLane = double (*)(const std::vector<double>&);
using IntegerLane = std::int64_t (*)(const std::vector<std::int64_t>&);

/// The function of integers; where there is none, that of real numbers, cut.
template <RealLane real>
std::vector<Tensor> reduce(const Call& call, IntegerLane integer) {
  if (is_real(call.x().type) || integer == nullptr)
    return only(rounded(call.type(), call.shape(), lanes_of(call, reals(call.x()), real)));
  const auto values = lanes_of(call, call.x().integers(), integer);
  Tensor result = call.out();
  for (std::size_t i = 0; i < values.size(); ++i) store_integer(result, static_cast<std::int64_t>(i), values[i]);
  return only(std::move(result));
}

template <RealLane real>
std::vector<Tensor> reals_only(const Call& call) {
  return reduce<real>(call, nullptr);
}

using Lane = std::vector<std::int64_t>;

std::int64_t integer_sum(const Lane& lane) {
  std::uint64_t result = 0;
  for (const std::int64_t x : lane) result += bits(x);
  return static_cast<std::int64_t>(result);
}
std::vector<Tensor> reduce_sum(const Call& call) { return reduce<sum>(call, integer_sum); }
std::vector<Tensor> reduce_mean(const Call& call) {
  return reduce<mean>(call, [](const Lane& lane) {
    return lane.empty() ? 0 : integer_sum(lane) / static_cast<std::int64_t>(lane.size());
  });
}
std::vector<Tensor> reduce_product(const Call& call) {
  return reduce<product>(call, [](const Lane& lane) {
    std::uint64_t result = 1;
    for (const std::int64_t x : lane) result *= bits(x);
    return static_cast<std::int64_t>(result);
  });
}
std::vector<Tensor> reduce_squares(const Call& call) {
  return reduce<sum_of_squares>(call, [](const Lane& lane) {
    std::uint64_t result = 0;
    for (const std::int64_t x : lane) result += bits(x) * bits(x);
    return static_cast<std::int64_t>(result);
  });
}
std::vector<Tensor> reduce_norm_1(const Call& call) {
  return reduce<norm_1>(call, [](const Lane& lane) {
    std::uint64_t result = 0;
    for (const std::int64_t x : lane) result += x < 0 ? 0 - bits(x) : bits(x);
    return static_cast<std::int64_t>(result);
  });
}
std::vector<Tensor> reduce_maximum(const Call& call) {
  return reduce<maximum>(call, [](const Lane& lane) {
    return lane.empty() ? std::numeric_limits<std::int64_t>::min() : *std::max_element(lane.begin(), lane.end());
  });
}
std::vector<Tensor> reduce_minimum(const Call& call) {
  return reduce<minimum>(call, [](const Lane& lane) {
    return lane.empty() ? std::numeric_limits<std::int64_t>::max() : *std::min_element(lane.begin(), lane.end());
  });
}

}  // namespace

Kernels reduce_kernels() {
  return {{Op::ReduceL1, reduce_norm_1},
          {Op::ReduceL2, reals_only<norm_2>},
          {Op::ReduceLogSum, reals_only<log_sum>},
          {Op::ReduceLogSumExp, reals_only<log_sum_exp>},
          {Op::ReduceMax, reduce_maximum},
          {Op::ReduceMean, reduce_mean},
          {Op::ReduceMin, reduce_minimum},
          {Op::ReduceProd, reduce_product},
          {Op::ReduceSum, reduce_sum},
          {Op::ReduceSumSquare, reduce_squares}};
}

}  // namespace tessera::golden
