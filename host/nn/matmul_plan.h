// Partition of a matrix product over tiles and workers, by a cost model in tile cycles. Pure arithmetic: knows no
// graph.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::nn {

struct MatmulTask {
  std::int64_t m = 1, k = 1, n = 1;  ///< [m, k] x [k, n]
  unsigned tiles = 1;
  std::uint64_t tile_bytes = 0;    ///< memory of a tile that this product may take
  std::uint64_t weight_bytes = 0;  ///< of it, for the constant operand's part
  bool constant_b = true;          ///< B lies where it is used; else it comes by exchange
  bool rows_in_place = false;      ///< A lies in equal blocks of rows from tile 0 on
  bool integers = false;           ///< of i32, else of f32
};

/// Tile (i, j, l) multiplies block i of rows, block j of columns, block l of the inner axis.
struct MatmulPlan {
  std::int64_t row_blocks = 1, column_blocks = 1, inner_blocks = 1;
  std::int64_t rows = 1, columns = 1, inner = 1;     ///< extents of a tile's block (the last may be smaller)
  std::int64_t worker_rows = 1, worker_columns = 1;  ///< extents of one vertex
  std::uint64_t compute_cycles = 0, exchange_cycles = 0;
  std::uint64_t bytes = 0;  ///< on the fullest tile
  bool fits = false;
  [[nodiscard]] std::uint64_t cycles() const { return compute_cycles + exchange_cycles; }
  /// "4 x 2 x 1 tiles, blocks 24 x 16 x 64, vertices 4 x 16: 20736 cycles compute, 96 exchange".
  [[nodiscard]] std::string text() const;
};

/// The cheapest plan that fits; if none does, the one that needs least memory, with fits = false.
[[nodiscard]] MatmulPlan plan_matmul(const MatmulTask& task);

/// Elements of a result that a tile gets where a cut inner axis is summed.
[[nodiscard]] std::uint64_t matmul_share(std::uint64_t elements, unsigned tiles);

/// Worker slots of one vertex of the matrix-product codelets (firmware/codelets/matmul.c), counted from its inner
/// loops.
[[nodiscard]] std::uint64_t matmul_slots(std::int64_t rows, std::int64_t columns, std::int64_t inner, bool integers);

}  // namespace tessera::nn
