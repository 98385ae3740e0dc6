// Pooling over windows and over whole fields. The maximum of a window passes over NaN, as the machine's instructions
// do, and is -infinity where there is no number; that of a field is a reduction, where a NaN is the result. ONNX says
// nothing.
#include <algorithm>
#include <cmath>
#include <limits>

#include "host/golden/kernel.h"
#include "host/golden/numbers.h"

namespace tessera::golden {

using model::Op;
using model::PoolAttributes;
using model::Shape;
using model::Tensor;

namespace {

/// The window of one output position: for every axis the input indices it meets, and how many it would with padding.
struct Window {
  std::vector<std::vector<std::int64_t>> indices;  ///< one list an axis, inside the input
  std::int64_t padded = 1;                         ///< elements inside the padded field
};

Window window_at(const PoolAttributes& pool, const Shape& field, const Shape& position) {
  Window result;
  for (std::size_t k = 0; k < field.size(); ++k) {
    const std::int64_t dilation = pool.dilations.empty() ? 1 : pool.dilations.at(k);
    const std::int64_t begin = position[k] * pool.strides.at(k) - pool.pads_begin.at(k);
    std::int64_t padded = 0;
    result.indices.emplace_back();
    for (std::int64_t tap = 0; tap < pool.kernel.at(k); ++tap) {
      const std::int64_t at = begin + tap * dilation;
      if (at < field[k] + pool.pads_end.at(k)) ++padded;
      if (at >= 0 && at < field[k]) result.indices.back().push_back(at);
    }
    result.padded *= padded;
  }
  return result;
}

/// Offsets of the window's elements in a field, row-major order.
std::vector<std::int64_t> offsets(const Window& window, const std::vector<std::int64_t>& strides) {
  std::vector<std::int64_t> result = {0};
  for (std::size_t k = 0; k < strides.size(); ++k) {
    std::vector<std::int64_t> next;
    for (const std::int64_t base : result)
      for (const std::int64_t index : window.indices[k]) next.push_back(base + index * strides[k]);
    result = std::move(next);
  }
  return result;
}

/// Calls f(output position, window) for every position of the result's field.
template <typename Function>
void for_each_window(const Call& call, Function f) {
  const Shape field(call.x().shape.begin() + 2, call.x().shape.end());
  const Shape result(call.shape().begin() + 2, call.shape().end());
  const std::int64_t count = model::element_count(result);
  const auto strides = model::row_major_strides(result);
  for (std::int64_t flat = 0; flat < count; ++flat) {
    Shape position;
    std::int64_t rest = flat;
    for (const std::int64_t stride : strides) {
      position.push_back(rest / stride);
      rest %= stride;
    }
    f(flat, window_at(call.attributes<PoolAttributes>(), field, position));
  }
}

/// Strides of a field whose first axis is the fastest.
std::vector<std::int64_t> column_major_strides(const Shape& field) {
  std::vector<std::int64_t> result(field.size(), 1);
  for (std::size_t k = 1; k < field.size(); ++k) result[k] = result[k - 1] * field[k - 1];
  return result;
}

std::vector<Tensor> max_pool(const Call& call) {
  const Tensor& x = call.x();
  const Shape field(x.shape.begin() + 2, x.shape.end());
  const std::int64_t planes = x.shape.at(0) * x.shape.at(1), size = model::element_count(field);
  const std::int64_t positions = planes == 0 ? 0 : model::element_count(call.shape()) / planes;
  const std::vector<double> values = reals(x);
  const bool wants_indices = call.inferred.size() > 1;
  std::vector<double> result(static_cast<std::size_t>(planes * positions));
  Tensor indices = wants_indices ? call.out(1) : Tensor();
  const auto own = model::row_major_strides(field);
  const auto named = call.attributes<PoolAttributes>().column_major ? column_major_strides(field) : own;
  for_each_window(call, [&](std::int64_t position, const Window& window) {
    const auto from = offsets(window, own), names = offsets(window, named);
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      double best = -std::numeric_limits<double>::infinity();
      std::int64_t chosen = names.empty() ? 0 : names[0];
      for (std::size_t i = 0; i < from.size(); ++i) {
        const double value = values[static_cast<std::size_t>(plane * size + from[i])];
        if (!(value > best)) continue;
        best = value;
        chosen = names[i];
      }
      result[static_cast<std::size_t>(plane * positions + position)] = best;
      if (wants_indices) store_integer(indices, plane * positions + position, plane * size + chosen);
    }
  });
  std::vector<Tensor> outputs = only(rounded(x.type, call.shape(), result));
  if (wants_indices) outputs.push_back(std::move(indices));
  return outputs;
}

std::vector<Tensor> average_pool(const Call& call) {
  const Tensor& x = call.x();
  const std::int64_t planes = x.shape.at(0) * x.shape.at(1);
  const Shape field(x.shape.begin() + 2, x.shape.end());
  const std::int64_t size = model::element_count(field);
  const std::int64_t positions = planes == 0 ? 0 : model::element_count(call.shape()) / planes;
  const std::vector<double> values = reals(x);
  std::vector<double> result(static_cast<std::size_t>(planes * positions));
  for_each_window(call, [&](std::int64_t position, const Window& window) {
    const auto from = offsets(window, model::row_major_strides(field));
    const double count = call.attributes<PoolAttributes>().count_include_pad ? static_cast<double>(window.padded)
                                                                             : static_cast<double>(from.size());
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      double sum = 0.0;
      for (const std::int64_t i : from) sum += values[static_cast<std::size_t>(plane * size + i)];
      result[static_cast<std::size_t>(plane * positions + position)] = from.empty() ? 0.0 : sum / count;
    }
  });
  return only(rounded(x.type, call.shape(), result));
}

/// One number a plane.
template <typename Function>
std::vector<Tensor> whole_field(const Call& call, Function function) {
  const Tensor& x = call.x();
  const std::int64_t planes = x.shape.at(0) * x.shape.at(1), size = planes == 0 ? 0 : x.elements() / planes;
  const std::vector<double> values = reals(x);
  std::vector<double> result;
  for (std::int64_t plane = 0; plane < planes; ++plane)
    result.push_back(function(values.data() + plane * size, values.data() + (plane + 1) * size));
  return only(rounded(x.type, call.shape(), result));
}

std::vector<Tensor> global_average(const Call& call) {
  return whole_field(call, [](const double* begin, const double* end) {
    double sum = 0.0;
    for (const double* at = begin; at != end; ++at) sum += *at;
    return sum / static_cast<double>(end - begin);
  });
}

std::vector<Tensor> global_maximum(const Call& call) {
  return whole_field(call, [](const double* begin, const double* end) {
    double best = -std::numeric_limits<double>::infinity();
    for (const double* at = begin; at != end; ++at)
      if (*at > best || std::isnan(*at)) best = *at;
    return best;
  });
}

}  // namespace

Kernels pool_kernels() {
  return {{Op::AveragePool, average_pool},
          {Op::GlobalAveragePool, global_average},
          {Op::GlobalMaxPool, global_maximum},
          {Op::MaxPool, max_pool}};
}

}  // namespace tessera::golden
