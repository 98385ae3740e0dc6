// Element-wise operators of the reference. Internal to host/golden.
#pragma once

#include <cstdint>
#include <functional>

#include "host/onnx/model.h"

namespace tessera::golden {

/// Flat source index for every element of `shape` in row-major order; strides in source elements, 0 repeats.
[[nodiscard]] std::vector<std::int64_t> gather_indices(const model::Shape& shape,
                                                       const std::vector<std::int64_t>& strides, std::int64_t base = 0);
/// Strides of a tensor of shape `from` that is broadcast to `to`.
[[nodiscard]] std::vector<std::int64_t> broadcast_strides(const model::Shape& from, const model::Shape& to);
/// The elements of `source` at `indices`.
[[nodiscard]] model::Tensor gather(const model::Tensor& source, const model::Shape& shape,
                                   const std::vector<std::int64_t>& indices);

[[nodiscard]] model::Tensor binary(model::Op op, const model::Tensor& a, const model::Tensor& b,
                                   const model::Shape& shape);
[[nodiscard]] model::Tensor unary(model::Op op, const model::Tensor& x);
[[nodiscard]] model::Tensor cast(const model::Tensor& x, model::Type to);

/// Stores a double rounded to the tensor's floating-point type; an integer wrapped to its integer type.
void store_real(model::Tensor& tensor, std::int64_t i, double value);
void store_integer(model::Tensor& tensor, std::int64_t i, std::int64_t value);
[[nodiscard]] bool is_real(model::Type type);

}  // namespace tessera::golden
