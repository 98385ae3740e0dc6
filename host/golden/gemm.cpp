#include "host/golden/gemm.h"

#include <algorithm>
#include <vector>

#include "host/golden/numbers.h"

namespace tessera::golden {

namespace {

constexpr std::int64_t kRows = 4, kColumns = 8;                // of a register block
constexpr std::int64_t kInnerBlock = 256, kColumnBlock = 256;  // b's block: 512 KiB

using Vector = double __attribute__((vector_size(32)));

/// c (4 x 8, rows `stride` apart) += a ([k][4]) b ([k][8]); products and sums are rounded one by one.
__attribute__((always_inline)) inline void register_block(std::int64_t k, const double* a, const double* b, double* c,
                                                          std::int64_t stride) {
  Vector sum[kRows][2];
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < 2; ++j) __builtin_memcpy(&sum[i][j], c + i * stride + 4 * j, sizeof(Vector));
  for (std::int64_t p = 0; p < k; ++p) {
    Vector low, high;
    __builtin_memcpy(&low, b + p * kColumns, sizeof(Vector));
    __builtin_memcpy(&high, b + p * kColumns + 4, sizeof(Vector));
    for (int i = 0; i < kRows; ++i) {
      const double x = a[p * kRows + i];
      sum[i][0] += x * low;
      sum[i][1] += x * high;
    }
  }
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < 2; ++j) __builtin_memcpy(c + i * stride + 4 * j, &sum[i][j], sizeof(Vector));
}

using RegisterBlock = void (*)(std::int64_t, const double*, const double*, double*, std::int64_t);

void plain_block(std::int64_t k, const double* a, const double* b, double* c, std::int64_t stride) {
  register_block(k, a, b, c, stride);
}

#if defined(__x86_64__)
/// The same operations in wider registers: no fused products, so the same bits.
__attribute__((target("avx2"))) void wide_block(std::int64_t k, const double* a, const double* b, double* c,
                                                std::int64_t stride) {
  register_block(k, a, b, c, stride);
}
RegisterBlock best_block() { return __builtin_cpu_supports("avx2") ? wide_block : plain_block; }
#else
RegisterBlock best_block() { return plain_block; }
#endif

/// Row-major [rows, columns] to panels of `width` columns: [columns / width][rows][width], the last filled with zeros.
void to_panels(const std::vector<double>& from, std::int64_t rows, std::int64_t columns, std::int64_t width,
               std::vector<double>& to) {
  const std::int64_t panels = (columns + width - 1) / width;
  to.assign(static_cast<std::size_t>(panels * rows * width), 0.0);
  for (std::int64_t p = 0; p < panels; ++p) {
    const std::int64_t used = std::min(width, columns - p * width);
    for (std::int64_t r = 0; r < rows; ++r)
      std::copy_n(from.data() + r * columns + p * width, used, to.data() + (p * rows + r) * width);
  }
}

/// Row-major [rows, columns] to panels of kRows rows: [rows / kRows][columns][kRows].
void to_row_panels(const std::vector<double>& from, std::int64_t rows, std::int64_t columns, std::vector<double>& to) {
  const std::int64_t panels = (rows + kRows - 1) / kRows;
  to.assign(static_cast<std::size_t>(panels * columns * kRows), 0.0);
  for (std::int64_t r = 0; r < rows; ++r) {
    double* panel = to.data() + r / kRows * columns * kRows + r % kRows;
    for (std::int64_t k = 0; k < columns; ++k) panel[k * kRows] = from[static_cast<std::size_t>(r * columns + k)];
  }
}

/// One register block of c at its edge or inside; edges go through a copy.
void add_block(RegisterBlock block, std::int64_t k, const double* a, const double* b, double* c, std::int64_t n,
               std::int64_t rows, std::int64_t columns) {
  if (rows == kRows && columns == kColumns) return block(k, a, b, c, n);
  double edge[kRows * kColumns] = {};
  for (std::int64_t i = 0; i < rows; ++i) std::copy_n(c + i * n, columns, edge + i * kColumns);
  block(k, a, b, edge, kColumns);
  for (std::int64_t i = 0; i < rows; ++i) std::copy_n(edge + i * kColumns, columns, c + i * n);
}

}  // namespace

void multiply_add(std::int64_t m, std::int64_t n, std::int64_t k, const Block& a, const Block& b, double* c) {
  const RegisterBlock block = best_block();
  std::vector<double> loaded, rows, columns;
  for (std::int64_t k0 = 0; k0 < k; k0 += kInnerBlock) {
    const std::int64_t kn = std::min(kInnerBlock, k - k0);
    loaded.resize(static_cast<std::size_t>(m * kn));
    a(0, m, k0, kn, loaded.data());
    to_row_panels(loaded, m, kn, rows);
    for (std::int64_t j0 = 0; j0 < n; j0 += kColumnBlock) {
      const std::int64_t jn = std::min(kColumnBlock, n - j0);
      loaded.resize(static_cast<std::size_t>(kn * jn));
      b(k0, kn, j0, jn, loaded.data());
      to_panels(loaded, kn, jn, kColumns, columns);
      for (std::int64_t i = 0; i < m; i += kRows)
        for (std::int64_t j = 0; j < jn; j += kColumns)
          add_block(block, kn, rows.data() + i * kn, columns.data() + j * kn, c + i * n + j0 + j, n,
                    std::min(kRows, m - i), std::min(kColumns, jn - j));
    }
  }
}

Block block_of(const model::Tensor& tensor, std::int64_t begin, std::int64_t row_stride, std::int64_t column_stride) {
  return [&tensor, begin, row_stride, column_stride](std::int64_t row, std::int64_t rows, std::int64_t column,
                                                     std::int64_t columns, double* to) {
    for (std::int64_t r = 0; r < rows; ++r)
      read_reals(tensor, begin + (row + r) * row_stride + column * column_stride, column_stride, columns,
                 to + r * columns);
  };
}

}  // namespace tessera::golden
