// Sums of products in double precision, blocked for the caches of the host. Every element is summed in the order of the
// inner index, whatever the blocks, the vector unit or the number of rows: results are the same on every host. Internal
// to host/golden.
#pragma once

#include <cstdint>
#include <functional>

#include "host/onnx/tensor.h"

namespace tessera::golden {

/// Writes rows [row, row + rows) and columns [column, column + columns) of an operand, row-major without gaps.
using Block =
    std::function<void(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns, double* to)>;

/// c[m, n] (row-major) += a[m, k] b[k, n].
void multiply_add(std::int64_t m, std::int64_t n, std::int64_t k, const Block& a, const Block& b, double* c);

/// An operand that lies in a tensor by strides, in elements.
[[nodiscard]] Block block_of(const model::Tensor& tensor, std::int64_t begin, std::int64_t row_stride,
                             std::int64_t column_stride);

}  // namespace tessera::golden
