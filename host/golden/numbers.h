// Numbers of tensors: reading them as doubles, rounding results once to the type of a tensor, integers that wrap, and
// walks through the elements of views. Internal to host/golden.
#pragma once

#include <cstdint>
#include <vector>

#include "host/onnx/tensor.h"

namespace tessera::golden {

[[nodiscard]] bool is_real(model::Type type);

/// All elements as doubles, in row-major order.
[[nodiscard]] std::vector<double> reals(const model::Tensor& tensor);
/// `count` elements from `begin`, `stride` elements apart, as doubles.
void read_reals(const model::Tensor& tensor, std::int64_t begin, std::int64_t stride, std::int64_t count, double* to);
/// A tensor of these values: floating-point types rounded once to nearest even, integers as to_integer().
[[nodiscard]] model::Tensor rounded(model::Type type, const model::Shape& shape, const std::vector<double>& values);
/// The value rounded once to the floating-point type.
[[nodiscard]] double rounded(model::Type type, double value);

/// Stores a double rounded to the tensor's floating-point type; an integer wrapped to its integer type.
void store_real(model::Tensor& tensor, std::int64_t i, double value);
void store_integer(model::Tensor& tensor, std::int64_t i, std::int64_t value);
/// Toward zero, saturating at the bounds of the type; NaN to the largest value, as fcvt.w.s.
[[nodiscard]] std::int64_t to_integer(double x, model::Type to);

/// Flat source index for every element of `shape` in row-major order; strides in source elements, 0 repeats.
[[nodiscard]] std::vector<std::int64_t> gather_indices(const model::Shape& shape,
                                                       const std::vector<std::int64_t>& strides, std::int64_t base = 0);
/// Strides of a tensor of shape `from` that is broadcast to `to`.
[[nodiscard]] std::vector<std::int64_t> broadcast_strides(const model::Shape& from, const model::Shape& to);
/// For every element of `to`, the element of a tensor of shape `from` that is broadcast to it.
[[nodiscard]] std::vector<std::int64_t> broadcast_indices(const model::Shape& from, const model::Shape& to);
/// The elements of `source` at `indices`; -1 takes zero.
[[nodiscard]] model::Tensor gather(const model::Tensor& source, const model::Shape& shape,
                                   const std::vector<std::int64_t>& indices);
/// Copies element `from` of `source` to element `to` of `target`; types of one size.
void copy_element(model::Tensor& target, std::int64_t to, const model::Tensor& source, std::int64_t from);

/// The lanes of a tensor along one axis: lane l begins at begin(l) and has `extent` elements, `inner` apart.
struct Lanes {
  Lanes(const model::Shape& shape, std::int64_t axis);
  std::int64_t extent = 1, inner = 1, count = 0;
  [[nodiscard]] std::int64_t begin(std::int64_t lane) const { return lane / inner * inner * extent + lane % inner; }
};

/// Extents of the last axes multiplied: of [first, last).
[[nodiscard]] std::int64_t product_of(const model::Shape& shape, std::size_t first, std::size_t last);

}  // namespace tessera::golden
