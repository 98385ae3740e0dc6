// Operators on whole rows: some axes of a tensor become columns, the others rows; a row is brought to one tile, rows
// are spread over all tiles and their workers (Row codelets, firmware/codelets/rows.c). Internal to host/nn.
#pragma once

#include <string>
#include <vector>

#include "host/nn/builder.h"

namespace tessera::nn {

/// A tensor as a matrix.
struct RowsView {
  graph::Tensor matrix;                  ///< [rows, columns]
  std::vector<std::size_t> permutation;  ///< that brought the columns' axes to the end
  graph::Shape turned;                   ///< shape after it
  [[nodiscard]] std::uint64_t rows() const { return matrix.dim(0); }
  [[nodiscard]] std::uint64_t columns() const { return matrix.dim(1); }
  /// A matrix of the same shape seen as the tensor was.
  [[nodiscard]] graph::Tensor back(const graph::Tensor& like) const;
};
/// axes: of the columns, in order.
[[nodiscard]] RowsView as_rows(const graph::Tensor& x, const std::vector<std::size_t>& axes);

/// Rows begin .. end on a tile.
struct RowShare {
  unsigned tile = 0;
  std::uint64_t begin = 0, end = 0;
};
/// Which rows a tile gets: those that lie there already if that is even enough, else equal shares.
[[nodiscard]] std::vector<RowShare> share_rows(Builder& builder, const graph::Tensor& matrix);
/// A new matrix with rows (of any length) on the tiles of the shares.
[[nodiscard]] graph::Tensor matrix_on(Builder& builder, graph::Type type, std::uint64_t rows, std::uint64_t columns,
                                      const std::vector<RowShare>& shares, const std::string& name);
/// A value as the codelets of rows take it: f32 and f16 as they are, all else as i32.
[[nodiscard]] graph::Tensor row_operand(Builder& builder, const graph::Tensor& x, const std::string& name);

/// Folds each row to one number by Row<op>_<type>, whole rows by workers. f16 gives f32. [rows].
[[nodiscard]] graph::Tensor fold_rows(Builder& builder, const std::string& op, const graph::Tensor& matrix,
                                      const std::string& name);
/// Folds each row to one number by Row<op>_<type>; long rows are folded in parts first. f16 gives f32. [rows].
[[nodiscard]] graph::Tensor reduce_rows(Builder& builder, const std::string& op, const graph::Tensor& matrix,
                                        const std::string& name);
/// A codelet of rows with fields x, y of one shape and values behind rows and columns.
[[nodiscard]] graph::Tensor map_rows(Builder& builder, const std::string& codelet, const graph::Tensor& matrix,
                                     const std::vector<std::string>& names, const std::vector<std::uint32_t>& values,
                                     const std::string& name);

}  // namespace tessera::nn
