// Normalisations and softmax. Means and variances in two passes, in double precision.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "host/golden/kernel.h"
#include "host/golden/numbers.h"

namespace tessera::golden {

using model::NormAttributes;
using model::Op;
using model::Shape;
using model::Tensor;
using model::Type;

namespace {

struct Moments {
  double mean = 0.0, variance = 0.0;
};

/// Of `count` values that begin(i) names.
template <typename Index>
Moments moments(const std::vector<double>& values, std::int64_t count, Index index) {
  Moments result;
  for (std::int64_t i = 0; i < count; ++i) result.mean += values[static_cast<std::size_t>(index(i))];
  result.mean /= static_cast<double>(count);
  for (std::int64_t i = 0; i < count; ++i) {
    const double off = values[static_cast<std::size_t>(index(i))] - result.mean;
    result.variance += off * off;
  }
  result.variance /= static_cast<double>(count);
  return result;
}

/// Operands x, scale, bias, mean, variance.
std::vector<Tensor> batch_norm(const Call& call) {
  const double epsilon = call.attributes<NormAttributes>().epsilon;
  const Shape& shape = call.x().shape;
  const auto channels = static_cast<std::size_t>(shape.size() > 1 ? shape[1] : 1);
  const auto run = static_cast<std::size_t>(shape.size() > 1 ? product_of(shape, 2, shape.size()) : 1);
  std::vector<double> values = reals(call.x());
  const auto scale = reals(call.x(1)), bias = reals(call.x(2)), mean = reals(call.x(3)), variance = reals(call.x(4));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t c = i / run % channels;
    values[i] = (values[i] - mean.at(c)) / std::sqrt(variance.at(c) + epsilon) * scale.at(c) + bias.at(c);
  }
  return only(rounded(call.x().type, shape, values));
}

/// Operands x, scale, bias; moments of every channel of every image.
std::vector<Tensor> instance_norm(const Call& call) {
  const double epsilon = call.attributes<NormAttributes>().epsilon;
  const Shape& shape = call.x().shape;
  const std::int64_t planes = shape.at(0) * shape.at(1), size = product_of(shape, 2, shape.size());
  std::vector<double> values = reals(call.x());
  const auto scale = reals(call.x(1)), bias = reals(call.x(2));
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    const Moments m = moments(values, size, [&](std::int64_t i) { return plane * size + i; });
    const auto c = static_cast<std::size_t>(plane % shape[1]);
    for (std::int64_t i = plane * size; i < (plane + 1) * size; ++i) {
      double& value = values[static_cast<std::size_t>(i)];
      value = (value - m.mean) / std::sqrt(m.variance + epsilon) * scale.at(c) + bias.at(c);
    }
  }
  return only(rounded(call.x().type, shape, values));
}

/// Operands x, scale, bias (may be absent), the latter two over the normalised axes; results y, mean, 1 / deviation.
std::vector<Tensor> layer_norm(const Call& call) {
  const auto& attributes = call.attributes<NormAttributes>();
  const Tensor& x = call.x();
  const auto axis = static_cast<std::size_t>(attributes.axis);
  const std::int64_t rows = product_of(x.shape, 0, axis), size = product_of(x.shape, axis, x.shape.size());
  Shape inner(x.shape.begin() + static_cast<std::ptrdiff_t>(axis), x.shape.end()), outer = x.shape;
  std::fill(outer.begin() + static_cast<std::ptrdiff_t>(axis), outer.end(), 1);
  const auto spread = [&](const Tensor& operand) {
    std::vector<double> result;
    const std::vector<double> own = reals(operand);
    for (const std::int64_t i : broadcast_indices(operand.shape, inner))
      result.push_back(own[static_cast<std::size_t>(i)]);
    return result;
  };
  const std::vector<double> scale = spread(call.x(1));
  const std::vector<double> bias = call.has(2) ? spread(call.x(2)) : std::vector<double>(scale.size(), 0.0);
  std::vector<double> values = reals(x), means, inverses;
  for (std::int64_t row = 0; row < rows; ++row) {
    const Moments m = moments(values, size, [&](std::int64_t i) { return row * size + i; });
    means.push_back(m.mean);
    inverses.push_back(1.0 / std::sqrt(m.variance + attributes.epsilon));
    for (std::int64_t i = 0; i < size; ++i) {
      double& value = values[static_cast<std::size_t>(row * size + i)];
      value =
          (value - m.mean) * inverses.back() * scale[static_cast<std::size_t>(i)] + bias[static_cast<std::size_t>(i)];
    }
  }
  std::vector<Tensor> result = only(rounded(x.type, x.shape, values));
  result.push_back(rounded(call.inferred.size() > 1 ? call.type(1) : Type::f32, outer, means));
  result.push_back(rounded(call.inferred.size() > 2 ? call.type(2) : Type::f32, outer, inverses));
  return result;
}

/// (x - mean) / (deviation + 1e-9) over the given axes, as ONNX defines it by its function body.
std::vector<Tensor> mean_variance_norm(const Call& call) {
  const Shape& shape = call.x().shape;
  const auto own = model::row_major_strides(shape);
  Shape kept, reduced;
  std::vector<std::int64_t> kept_strides, reduced_strides;
  const auto& axes = call.attributes<NormAttributes>().axes;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const bool is_reduced = std::count(axes.begin(), axes.end(), static_cast<std::int64_t>(k)) != 0;
    (is_reduced ? reduced : kept).push_back(shape[k]);
    (is_reduced ? reduced_strides : kept_strides).push_back(own[k]);
  }
  std::vector<double> values = reals(call.x());
  const auto inside = gather_indices(reduced, reduced_strides);
  for (const std::int64_t base : gather_indices(kept, kept_strides)) {
    const Moments m = moments(values, static_cast<std::int64_t>(inside.size()),
                              [&](std::int64_t i) { return base + inside[static_cast<std::size_t>(i)]; });
    for (const std::int64_t i : inside) {
      double& value = values[static_cast<std::size_t>(base + i)];
      value = (value - m.mean) / (std::sqrt(m.variance) + 1e-9);
    }
  }
  return only(rounded(call.x().type, shape, values));
}

/// Across channels: x / (bias + alpha / size * sum of squares)^beta.
std::vector<Tensor> local_response_norm(const Call& call) {
  const auto& a = call.attributes<model::LrnAttributes>();
  const Shape& shape = call.x().shape;
  const std::int64_t channels = shape.at(1), run = product_of(shape, 2, shape.size());
  const std::vector<double> values = reals(call.x());
  std::vector<double> result(values.size());
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(values.size()); ++i) {
    const std::int64_t c = i / run % channels;
    const std::int64_t first = std::max<std::int64_t>(0, c - (a.size - 1) / 2);
    const std::int64_t last = std::min(channels - 1, c + a.size / 2);
    double sum = 0.0;
    for (std::int64_t k = first; k <= last; ++k) {
      const double value = values[static_cast<std::size_t>(i + (k - c) * run)];
      sum += value * value;
    }
    result[static_cast<std::size_t>(i)] =
        values[static_cast<std::size_t>(i)] / std::pow(a.bias + a.alpha / static_cast<double>(a.size) * sum, a.beta);
  }
  return only(rounded(call.x().type, shape, result));
}

template <bool log>
std::vector<Tensor> softmax(const Call& call) {
  std::vector<double> values = reals(call.x());
  const Lanes lanes(call.x().shape, call.attributes<model::AxisAttributes>().axis);
  for (std::int64_t lane = 0; lane < lanes.count; ++lane) {
    const auto value = [&](std::int64_t i) -> double& {
      return values[static_cast<std::size_t>(lanes.begin(lane) + i * lanes.inner)];
    };
    double top = -HUGE_VAL, sum = 0.0;
    for (std::int64_t i = 0; i < lanes.extent; ++i) top = std::max(top, value(i));
    for (std::int64_t i = 0; i < lanes.extent; ++i) {
      value(i) -= top;
      const double power = std::exp(value(i));
      sum += power;
      if (!log) value(i) = power;
    }
    for (std::int64_t i = 0; i < lanes.extent; ++i) value(i) = log ? value(i) - std::log(sum) : value(i) / sum;
  }
  return only(rounded(call.x().type, call.x().shape, values));
}

}  // namespace

Kernels norm_kernels() {
  return {{Op::BatchNormalization, batch_norm}, {Op::InstanceNormalization, instance_norm},
          {Op::LRN, local_response_norm},       {Op::LayerNormalization, layer_norm},
          {Op::LogSoftmax, softmax<true>},      {Op::MeanVarianceNormalization, mean_variance_norm},
          {Op::Softmax, softmax<false>}};
}

}  // namespace tessera::golden
