#include "host/nn/rows.h"

#include <algorithm>

#include "host/nn/extent.h"
#include "host/nn/operators.h"
#include "host/nn/vertex_batch.h"

namespace tessera::nn {

using graph::Tensor;

namespace {

constexpr std::uint64_t kLeastPart = 24;  // columns that a worker folds at least before a row is cut

std::uint32_t narrow(std::uint64_t v) { return static_cast<std::uint32_t>(v); }

}  // namespace

Tensor RowsView::back(const Tensor& like) const {
  std::vector<std::size_t> inverse(permutation.size());
  for (std::size_t k = 0; k < permutation.size(); ++k) inverse[permutation[k]] = k;
  return like.reshape(turned).permute(inverse);
}

RowsView as_rows(const Tensor& x, const std::vector<std::size_t>& axes) {
  RowsView view;
  std::uint64_t columns = 1;
  for (std::size_t k = 0; k < x.rank(); ++k)
    if (std::find(axes.begin(), axes.end(), k) == axes.end()) view.permutation.push_back(k);
  for (const std::size_t axis : axes) {
    view.permutation.push_back(axis);
    columns *= x.dim(axis);
  }
  const Tensor turned = x.permute(view.permutation);
  view.turned = turned.shape();
  view.matrix = turned.reshape({columns == 0 ? 0 : x.elements() / columns, columns});
  return view;
}

std::vector<RowShare> share_rows(Builder& builder, const Tensor& matrix) {
  const std::uint64_t rows = matrix.dim(0), columns = matrix.dim(1);
  const std::uint64_t fair = ceil_div(rows, builder.tiles());
  if (matrix.contiguous()) {
    std::vector<RowShare> shares;
    bool good = true;
    for (const graph::TileInterval& i : builder.graph().mapping(matrix.flatten())) {
      good = good && i.begin % columns == 0 && i.end % columns == 0 && (i.end - i.begin) / columns <= 2 * fair + 4;
      shares.push_back({i.tile, i.begin / columns, i.end / columns});
    }
    if (good) return shares;
  }
  std::vector<RowShare> shares;
  for (std::uint64_t begin = 0; begin < rows; begin += fair)
    shares.push_back({static_cast<unsigned>(shares.size()), begin, std::min(rows, begin + fair)});
  return shares;
}

Tensor matrix_on(Builder& builder, graph::Type type, std::uint64_t rows, std::uint64_t columns,
                 const std::vector<RowShare>& shares, const std::string& name) {
  const Tensor matrix = builder.graph().add_variable(type, {rows, columns}, name);
  for (const RowShare& s : shares) builder.graph().map(matrix.slice(s.begin, s.end), s.tile);
  return matrix;
}

Tensor row_operand(Builder& builder, const Tensor& x, const std::string& name) {
  if (x.type() == graph::Type::f32 || x.type() == graph::Type::f16) return x;
  return lower_cast(builder, x, graph::Type::i32, name);
}

Tensor fold_rows(Builder& builder, const std::string& op, const Tensor& matrix, const std::string& name) {
  const auto shares = share_rows(builder, matrix);
  const graph::Type type = matrix.type() == graph::Type::i32 ? graph::Type::i32 : graph::Type::f32;
  const Tensor y = matrix_on(builder, type, matrix.dim(0), 1, shares, name);
  VertexBatch batch(builder, "Row" + op + "_" + type_suffix(matrix.type()), {"x", "y"}, {"rows", "columns"}, name);
  for (const RowShare& s : shares)
    batch.add(s.tile, {matrix.slice(s.begin, s.end).flatten(), y.slice(s.begin, s.end).flatten()},
              {narrow(s.end - s.begin), narrow(matrix.dim(1))});
  batch.execute();
  return y.flatten();
}

Tensor reduce_rows(Builder& builder, const std::string& op, const Tensor& matrix, const std::string& name) {
  const std::uint64_t rows = matrix.dim(0), columns = matrix.dim(1);
  const std::uint64_t workers = builder.tiles() * kWorkers;
  const std::uint64_t wanted = std::min(ceil_div(workers, rows), columns / kLeastPart);
  if (wanted < 2) return fold_rows(builder, op, matrix, name);
  // Parts of equal length, and one with the rest. The sum of squares of partial sums is no sum of squares.
  const std::uint64_t length = ceil_div(columns, wanted), parts = columns / length, rest = columns - parts * length;
  const std::string again = op == "L1" || op == "SumSquare" ? "Sum" : op;
  Tensor partial = fold_rows(builder, op, matrix.slice(0, parts * length, 1).reshape({rows * parts, length}), name)
                       .reshape({rows, parts});
  if (rest > 0) {
    const Tensor last = fold_rows(builder, op, matrix.slice(parts * length, columns, 1), name);
    partial = Tensor::concat({partial, last.reshape({rows, 1})}, 1);
  }
  return reduce_rows(builder, again, partial, name);
}

Tensor map_rows(Builder& builder, const std::string& codelet, const Tensor& matrix,
                const std::vector<std::string>& names, const std::vector<std::uint32_t>& values,
                const std::string& name) {
  const auto shares = share_rows(builder, matrix);
  const Tensor y = matrix_on(builder, matrix.type(), matrix.dim(0), matrix.dim(1), shares, name);
  const bool vectors = codelet == "RowSoftmax_f16" && matrix.dim(1) % 4 == 0;
  std::vector<std::string> all = {"rows", "columns"};
  all.insert(all.end(), names.begin(), names.end());
  VertexBatch batch(builder, vectors ? "RowSoftmaxFast_f16" : codelet, {"x", "y"}, all, name);
  for (const RowShare& s : shares) {
    std::vector<std::uint32_t> numbers = {narrow(s.end - s.begin), narrow(matrix.dim(1))};
    numbers.insert(numbers.end(), values.begin(), values.end());
    batch.add(s.tile, {matrix.slice(s.begin, s.end).flatten(), y.slice(s.begin, s.end).flatten()}, numbers);
  }
  batch.execute();
  return y;
}

}  // namespace tessera::nn
