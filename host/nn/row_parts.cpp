// Softmax and arg max of rows that all workers of a tile, or several tiles, share (row_parts.h).
#include "host/nn/row_parts.h"

#include <algorithm>
#include <array>

#include "host/nn/extent.h"
#include "host/nn/operators.h"
#include "host/nn/vertex_batch.h"

namespace tessera::nn {

using graph::Tensor;

namespace {

constexpr std::uint64_t kArgColumns = 16;     // of a part, at least: what one worker looks through
constexpr std::uint64_t kMostVertices = 12;   // of a tile with a vertex for each row
constexpr std::uint64_t kSetSlots = 50;       // of a compute set: list, vertex, state, synchronisation
constexpr std::uint64_t kExchangeSlots = 40;  // between two sets whose results go to other tiles
constexpr std::uint64_t kPartRowSlots = 110;  // of a row in all three steps
constexpr std::uint64_t kWholeRowSlots = 25;  // of a row that one worker takes alone

std::uint32_t narrow(std::uint64_t v) { return static_cast<std::uint32_t>(v); }

/// Columns begin .. end of rows first .. last on a tile.
struct Block {
  unsigned tile = 0;
  std::uint64_t first = 0, last = 0, part = 0, begin = 0, end = 0;
};

struct Softmax {
  Builder& builder;
  const Tensor& matrix;
  bool log;
  const std::string& name;

  [[nodiscard]] bool half() const { return matrix.type() == graph::Type::f16; }
  [[nodiscard]] std::uint64_t width() const { return half() ? 4 : 2; }
  [[nodiscard]] std::uint64_t rows() const { return matrix.dim(0); }
  [[nodiscard]] std::uint64_t columns() const { return matrix.dim(1); }
  /// Slots a worker takes for rows of a tile, whole rows by workers in turn.
  [[nodiscard]] std::uint64_t whole(std::uint64_t rows_of_tile) const {
    const bool fast = half() && !log && columns() % 4 == 0;
    const std::uint64_t element = fast ? 13 : half() ? 52 : 34;  // two of them
    return kSetSlots + ceil_div(rows_of_tile, kWorkers) * (kWholeRowSlots + columns() * element / 2);
  }
  /// The same with rows in parts.
  [[nodiscard]] std::uint64_t parted(std::uint64_t rows_of_tile, std::uint64_t parts) const {
    const std::uint64_t vectors = ceil_div(ceil_div(ceil_div(columns(), width()), parts), kWorkers);
    const std::uint64_t row = kPartRowSlots + vectors * (half() ? 27 : 15);
    return 3 * kSetSlots + rows_of_tile * row + (parts > 1 ? 2 * kExchangeSlots + 12 * parts : 0);
  }
  [[nodiscard]] std::uint64_t best_parts() const {
    const std::uint64_t most = std::min(builder.tiles() / rows(), ceil_div(columns(), width() * kWorkers));
    std::uint64_t best = 1;
    for (std::uint64_t parts = 2; parts <= most; ++parts)
      if (parted(1, parts) < parted(1, best)) best = parts;
    return best;
  }
  [[nodiscard]] std::vector<Block> blocks(const std::vector<RowShare>& shares, std::uint64_t parts) const;
  [[nodiscard]] Tensor lower(const std::vector<Block>& blocks, std::uint64_t parts) const;
};

std::vector<Block> Softmax::blocks(const std::vector<RowShare>& shares, std::uint64_t parts) const {
  std::vector<Block> result;
  if (parts == 1) {
    for (const RowShare& s : shares) {
      const std::uint64_t step = columns() % width() == 0 ? s.end - s.begin : 1;
      for (std::uint64_t r = s.begin; r < s.end; r += step) result.push_back({s.tile, r, r + step, 0, 0, columns()});
    }
    return result;
  }
  const std::uint64_t length = ceil_div(ceil_div(columns(), width()), parts) * width();
  for (std::uint64_t r = 0; r < rows(); ++r)
    for (std::uint64_t p = 0; p < parts; ++p)
      result.push_back(
          {static_cast<unsigned>(result.size()), r, r + 1, p, p * length, std::min(columns(), (p + 1) * length)});
  return result;
}

Tensor Softmax::lower(const std::vector<Block>& blocks, std::uint64_t parts) const {
  graph::Graph& graph = builder.graph();
  const std::string type = type_suffix(matrix.type());
  const Tensor y = graph.add_variable(matrix.type(), matrix.shape(), name);
  const graph::Shape shape = {rows(), parts * kWorkers};
  const Tensor best = graph.add_variable(graph::Type::f32, shape, name + " largest");
  const Tensor sums = graph.add_variable(graph::Type::f32, shape, name + " sums");
  VertexBatch first(builder, "PartMax_" + type, {"x", "y"}, {"rows", "columns"}, name + " largest");
  VertexBatch second(builder, "PartExp_" + type, {"x", "best", "y", "sums"}, {"rows", "columns", "n"}, name + " sums");
  VertexBatch third =
      log ? VertexBatch(builder, "PartShift_" + type, {"x", "best", "sums", "y"}, {"rows", "columns", "n"}, name)
          : VertexBatch(builder, "PartScale_" + type, {"y", "sums"}, {"rows", "columns", "n"}, name);
  for (const Block& b : blocks) {
    const auto own = [&](const Tensor& t, std::uint64_t begin, std::uint64_t end) {
      return t.slice(b.first, b.last).slice(begin, end, 1);
    };
    for (const Tensor& t : {best, sums}) graph.map(own(t, b.part * kWorkers, (b.part + 1) * kWorkers), b.tile);
    graph.map(own(y, b.begin, b.end), b.tile);
    const auto part = [&](const Tensor& t) { return own(t, b.part * kWorkers, (b.part + 1) * kWorkers).flatten(); };
    const auto all = [&](const Tensor& t) { return t.slice(b.first, b.last).flatten(); };
    const Tensor x = own(matrix, b.begin, b.end).flatten(), to = own(y, b.begin, b.end).flatten();
    const std::vector<std::uint32_t> size = {narrow(b.last - b.first), narrow(b.end - b.begin)};
    const std::vector<std::uint32_t> sizes = {size[0], size[1], narrow(parts * kWorkers)};
    first.add(b.tile, {x, part(best)}, size);
    second.add(b.tile, {x, all(best), to, part(sums)}, sizes);
    third.add(b.tile, log ? std::vector<Tensor>{x, all(best), all(sums), to} : std::vector<Tensor>{to, all(sums)},
              sizes);
  }
  first.execute();
  second.execute();
  third.execute();
  return y;
}

/// y[share] = where the best element of a row stands.
Tensor arg_of(Builder& builder, const std::string& op, const Tensor& matrix, bool last, const std::string& name) {
  const auto shares = share_rows(builder, matrix);
  const Tensor y = matrix_on(builder, graph::Type::i32, matrix.dim(0), 1, shares, name);
  VertexBatch batch(builder, "RowArg" + op + "_" + type_suffix(matrix.type()), {"x", "y"}, {"rows", "columns", "last"},
                    name);
  for (const RowShare& s : shares)
    batch.add(s.tile, {matrix.slice(s.begin, s.end).flatten(), y.slice(s.begin, s.end).flatten()},
              {narrow(s.end - s.begin), narrow(matrix.dim(1)), last ? 1U : 0U});
  batch.execute();
  return y.flatten();
}

}  // namespace

Tensor softmax_rows(Builder& builder, const Tensor& matrix, bool log, const std::string& name) {
  const Softmax softmax{builder, matrix, log, name};
  const auto shares = share_rows(builder, matrix);
  std::uint64_t most = 0;
  for (const RowShare& s : shares) most = std::max(most, s.end - s.begin);
  const std::uint64_t parts = softmax.best_parts();
  const bool split = parts > 1 && softmax.parted(1, parts) < softmax.parted(most, 1);
  const bool vertices = softmax.columns() % softmax.width() == 0 || most <= kMostVertices;
  const std::uint64_t slots = split ? softmax.parted(1, parts) : softmax.parted(most, 1);
  if ((split || vertices) && slots < softmax.whole(most)) {
    // Parts are whole vectors; the last ones may be empty then.
    const std::uint64_t vectors = ceil_div(softmax.columns(), softmax.width());
    const std::uint64_t filled = split ? ceil_div(vectors, ceil_div(vectors, parts)) : 1;
    return softmax.lower(softmax.blocks(shares, filled), filled);
  }
  return map_rows(builder, std::string(log ? "RowLogSoftmax_" : "RowSoftmax_") + type_suffix(matrix.type()), matrix, {},
                  {}, name);
}

Tensor arg_rows(Builder& builder, const std::string& op, const Tensor& matrix, bool last, const std::string& name) {
  const std::uint64_t rows = matrix.dim(0), columns = matrix.dim(1);
  const std::uint64_t workers = builder.tiles() * kWorkers;
  const std::uint64_t wanted = std::min(ceil_div(workers, rows), columns / kArgColumns);
  if (wanted < 4) return arg_of(builder, op, matrix, last, name);
  // The best element of each part and its value, then the best part; the columns behind the last whole part are one of
  // their own, with the values beside those of the others.
  const std::uint64_t length = ceil_div(columns, wanted), parts = columns / length, rest = columns - parts * length;
  const Tensor cut = matrix.slice(0, parts * length, 1).reshape({rows * parts, length});
  const Tensor behind = rest > 0 ? matrix.slice(parts * length, columns, 1) : Tensor();
  Tensor where = arg_of(builder, op, cut, last, name + " parts").reshape({rows, parts});
  Tensor best = fold_rows(builder, op, cut, name + " best").reshape({rows, parts});
  if (rest > 0) {
    const Tensor place = arg_of(builder, op, behind, last, name + " rest").reshape({rows, 1});
    where = Tensor::concat({where, place}, 1);
    best = Tensor::concat({best, fold_rows(builder, op, behind, name + " best").reshape({rows, 1})}, 1);
  }
  const Tensor part = arg_rows(builder, op, best, last, name);
  const std::uint64_t width = where.dim(1);
  const auto shares = share_rows(builder, part.reshape({rows, 1}));
  const Tensor y = matrix_on(builder, graph::Type::i32, rows, 1, shares, name);
  VertexBatch pick(builder, "PartPick_i32", {"part", "where", "y"}, {"rows", "parts", "length"}, name);
  for (const RowShare& s : shares)
    pick.add(s.tile,
             {part.slice(s.begin, s.end), where.slice(s.begin, s.end).flatten(), y.slice(s.begin, s.end).flatten()},
             {narrow(s.end - s.begin), narrow(width), narrow(length)});
  pick.execute();
  return y.flatten();
}

}  // namespace tessera::nn
