// Gather, GatherElements, GatherND, ScatterElements, ScatterND, OneHot, TopK with indices of the run.
//
// The data are a table [rows, columns] in blocks: columns over tiles, so that an index needs no exchange but its own
// multicast, and rows over tiles too where whole columns are too long for a tile; a tile gives zeros for what it does
// not hold and the blocks are joined by OR. Small tables are held several times, each copy for a share of the indices.
#include "host/nn/index.h"

#include <algorithm>

#include "host/nn/extent.h"
#include "hw/error.h"

namespace tessera::nn {

using graph::Tensor;
using graph::VertexId;
using model::Node;
using model::Op;

namespace {

using Index = std::uint64_t;

constexpr Index kLeastIndices = 32;  // of a copy of the table

graph::Type bits_of(graph::Type type) {
  const unsigned size = graph::size_of(type);
  return size == 1 ? graph::Type::u8 : size == 2 ? graph::Type::u16 : graph::Type::u32;
}
std::string bits_name(graph::Type type) { return std::string(graph::name_of(bits_of(type))); }
std::uint32_t word(Index v) { return static_cast<std::uint32_t>(v); }

/// A table [rows, columns] in blocks of rows and columns, `copies` times.
struct Blocks {
  Index rows = 0, columns = 0;  ///< of the table
  Index row_blocks = 1, column_blocks = 1, copies = 1;
  Index block_rows = 0, block_columns = 0;
  [[nodiscard]] Index tiles() const { return copies * row_blocks * column_blocks; }
  [[nodiscard]] Index rows_at(Index r) const { return std::min(block_rows, rows - r * block_rows); }
  [[nodiscard]] Index columns_at(Index c) const { return std::min(block_columns, columns - c * block_columns); }
  [[nodiscard]] unsigned tile(Index q, Index r, Index c) const {
    return static_cast<unsigned>((q * row_blocks + r) * column_blocks + c);
  }
};

Blocks plan(const Builder& builder, Index rows, Index columns, graph::Type type, Index indices, Index budget,
            bool copies) {
  Blocks b;
  b.rows = rows;
  b.columns = columns;
  const Index size = graph::size_of(type), grain = std::max<Index>(1, 4 / size), tiles = builder.tiles();
  b.block_columns = ceil_div(ceil_div(columns, std::min(tiles, ceil_div(columns, grain))), grain) * grain;
  b.column_blocks = ceil_div(columns, b.block_columns);
  const Index most = std::max<Index>(1, tiles / b.column_blocks);
  const Index bytes = rows * b.block_columns * size;
  b.row_blocks = std::clamp<Index>(ceil_div(bytes, budget), 1, std::min(most, rows));
  b.block_rows = ceil_div(rows, b.row_blocks);
  b.row_blocks = ceil_div(rows, b.block_rows);
  if (copies) b.copies = std::clamp<Index>(indices / kLeastIndices, 1, tiles / (b.row_blocks * b.column_blocks));
  return b;
}

/// Selections on a table in blocks.
class Table {
 public:
  Table(Lowering& lowering, const std::string& name, graph::Type type, const Blocks& blocks)
      : lowering_(lowering), builder_(lowering.builder()), name_(name), type_(type), b_(blocks) {}

  /// The blocks as a variable [copy][row block][column block][rows][columns], filled from a view [rows, columns].
  Tensor placed(const Tensor& data) {
    const Tensor table = per_tile({b_.block_rows, b_.block_columns}, type_, name_ + " table");
    for (Index r = 0; r < b_.row_blocks; ++r)
      for (Index c = 0; c < b_.column_blocks; ++c) {
        const Tensor from = data.slice({r * b_.block_rows, c * b_.block_columns},
                                       {r * b_.block_rows + b_.rows_at(r), c * b_.block_columns + b_.columns_at(c)});
        for (Index q = 0; q < b_.copies; ++q)
          builder_.copy(from, block(table, q, r, c).slice({0, 0}, {b_.rows_at(r), b_.columns_at(c)}), name_ + " table");
      }
    return table;
  }

  /// The same of a constant whose element (row, column) is element at(row, column) of `value`.
  template <typename At>
  Tensor constant(const model::Tensor& value, At at) {
    const Index size = graph::size_of(type_), each = b_.block_rows * b_.block_columns;
    std::vector<std::uint8_t> data(b_.tiles() * each * size);
    for (Index r = 0; r < b_.row_blocks; ++r)
      for (Index c = 0; c < b_.column_blocks; ++c)
        for (Index i = 0; i < b_.rows_at(r); ++i)
          for (Index k = 0; k < b_.columns_at(c); ++k) {
            const Index from = at(r * b_.block_rows + i, c * b_.block_columns + k);
            for (Index q = 0; q < b_.copies; ++q)
              std::copy_n(value.data.data() + from * size, size,
                          data.data() + (b_.tile(q, r, c) * each + i * b_.block_columns + k) * size);
          }
    const Tensor table = builder_.graph().add_constant(
        type_, {b_.copies, b_.row_blocks, b_.column_blocks, b_.block_rows, b_.block_columns}, std::move(data),
        name_ + " table");
    map(table);
    return table;
  }

  /// Rows of the table by indices [n], or elements of columns by indices [n, columns]: [n, columns], row-major.
  Tensor gather(const Tensor& table, const Tensor& indices) {
    const bool by_element = indices.rank() == 2;
    const Index n = indices.dim(0), each = ceil_div(n, b_.copies);
    const Tensor place = place_indices(indices, each);
    const Tensor parts = per_tile({each, b_.block_columns}, type_, name_ + " parts");
    run(by_element ? "GatherColumns_" + bits_name(type_) : "GatherRows_" + bits_name(type_), table, place, n, each,
        [&](VertexId vertex, Index q, Index r, Index c, Index count) {
          builder_.graph().connect(vertex, "y", bits(block(parts, q, r, c).slice(0, count)).flatten());
        });
    return joined(parts, n, each);
  }

  /// table[indices] op= updates [n, columns]; the table afterwards, [rows, columns] row-major.
  Tensor scatter(const Tensor& table, const Tensor& indices, const Tensor& updates, const std::string& operation) {
    const bool by_element = indices.rank() == 2;
    const Index n = indices.dim(0);
    const Tensor place = place_indices(indices, n);
    const Tensor values = per_tile({n, b_.block_columns}, type_, name_ + " updates");
    for (Index r = 0; r < b_.row_blocks; ++r)
      for (Index c = 0; c < b_.column_blocks; ++c)
        builder_.copy(updates.slice(c * b_.block_columns, c * b_.block_columns + b_.columns_at(c), 1),
                      block(values, 0, r, c).slice(0, b_.columns_at(c), 1), name_ + " updates");
    const bool moves = operation.empty();
    const std::string type = moves ? bits_name(type_) : std::string(graph::name_of(type_));
    run((by_element ? "ScatterColumns" : "ScatterRows") + operation + "_" + type, table, place, n, n,
        [&](VertexId vertex, Index q, Index r, Index c, Index count) {
          const Tensor part = block(values, q, r, c).slice(0, count);
          builder_.graph().connect(vertex, "updates", (moves ? bits(part) : part).flatten());
        },
        moves);
    const Tensor result = builder_.linear(type_, {b_.rows, b_.columns}, name_);
    for (Index r = 0; r < b_.row_blocks; ++r)
      for (Index c = 0; c < b_.column_blocks; ++c)
        builder_.copy(block(table, 0, r, c).slice({0, 0}, {b_.rows_at(r), b_.columns_at(c)}),
                      result.slice({r * b_.block_rows, c * b_.block_columns},
                                   {r * b_.block_rows + b_.rows_at(r), c * b_.block_columns + b_.columns_at(c)}),
                      name_);
    return result;
  }

 private:
  Tensor bits(const Tensor& x) const { return x.reinterpret(bits_of(x.type())); }
  static Tensor block(const Tensor& table, Index q, Index r, Index c) { return table[q][r][c]; }

  void map(const Tensor& tensor) {
    for (Index q = 0; q < b_.copies; ++q)
      for (Index r = 0; r < b_.row_blocks; ++r)
        for (Index c = 0; c < b_.column_blocks; ++c) builder_.graph().map(block(tensor, q, r, c), b_.tile(q, r, c));
  }
  Tensor per_tile(const graph::Shape& extents, graph::Type type, const std::string& name) {
    graph::Shape shape = {b_.copies, b_.row_blocks, b_.column_blocks};
    shape.insert(shape.end(), extents.begin(), extents.end());
    const Tensor tensor = builder_.graph().add_variable(type, shape, name);
    map(tensor);
    return tensor;
  }

  /// Every tile's indices: those of its copy, and of its columns if there is one for each element.
  Tensor place_indices(const Tensor& indices, Index each) {
    const Index n = indices.dim(0);
    const bool by_element = indices.rank() == 2;
    const Tensor place = per_tile(by_element ? graph::Shape{each, b_.block_columns} : graph::Shape{each},
                                  graph::Type::i32, name_ + " indices");
    for (Index q = 0; q * each < n; ++q) {
      const Index begin = q * each, end = std::min(n, begin + each);
      const Tensor share = indices.slice(begin, end);
      if (!by_element) {
        const Tensor wide = share.expand(0).broadcast(b_.column_blocks, 0).expand(0).broadcast(b_.row_blocks, 0);
        builder_.copy(wide, place[q].slice(0, end - begin, 2), name_ + " indices");
        continue;
      }
      for (Index r = 0; r < b_.row_blocks; ++r)
        for (Index c = 0; c < b_.column_blocks; ++c)
          builder_.copy(share.slice(c * b_.block_columns, c * b_.block_columns + b_.columns_at(c), 1),
                        block(place, q, r, c).slice({0, 0}, {end - begin, b_.columns_at(c)}), name_ + " indices");
    }
    return place;
  }

  /// One vertex a block.
  template <typename Connect>
  void run(const std::string& codelet, const Tensor& table, const Tensor& place, Index n, Index each, Connect connect,
           bool as_bits = true) {
    graph::Graph& graph = builder_.graph();
    const auto set = graph.add_compute_set(name_);
    for (Index q = 0; q * each < n; ++q)
      for (Index r = 0; r < b_.row_blocks; ++r)
        for (Index c = 0; c < b_.column_blocks; ++c) {
          const Index count = std::min(each, n - q * each);
          const VertexId vertex = graph.add_vertex(set, codelet, b_.tile(q, r, c), name_);
          const Tensor part = block(table, q, r, c);
          graph.connect(vertex, "table", (as_bits ? bits(part) : part).flatten());
          graph.connect(vertex, "indices", block(place, q, r, c).slice(0, count).flatten());
          connect(vertex, q, r, c, count);
          graph.set_value(vertex, "columns", word(b_.block_columns));
          graph.set_value(vertex, "first", word(r * b_.block_rows));
          graph.set_value(vertex, "rows", word(b_.rows_at(r)));
          graph.set_value(vertex, "extent", word(b_.rows));
        }
    builder_.execute(set);
  }

  /// The blocks of rows joined, as [n, columns] over all tiles.
  Tensor joined(const Tensor& parts, Index n, Index each) {
    const Tensor result = builder_.linear(type_, {n, b_.columns}, name_);
    const Index slices = b_.row_blocks, rows = ceil_div(each, slices);  // each tile of a column joins some rows
    Tensor terms, sums;
    graph::ComputeSetId set;
    if (slices > 1) {
      terms = per_tile({slices, rows, b_.block_columns}, type_, name_ + " terms");
      sums = per_tile({rows, b_.block_columns}, type_, name_ + " sums");
    }
    std::vector<std::pair<Tensor, Tensor>> out;
    if (slices > 1) set = builder_.graph().add_compute_set(name_ + " join");
    for (Index q = 0; q * each < n; ++q)
      for (Index c = 0; c < b_.column_blocks; ++c)
        for (Index r = 0; r < (slices > 1 ? slices : 1); ++r) {
          const Index count = std::min(each, n - q * each);
          const Index begin = slices > 1 ? r * rows : 0, end = slices > 1 ? std::min(count, begin + rows) : count;
          if (begin >= end) continue;
          Tensor from = block(parts, q, r, c).slice(begin, end);
          if (slices > 1) {
            const Tensor held = block(terms, q, r, c).flatten().slice(0, slices * (end - begin) * b_.block_columns);
            for (Index s = 0; s < slices; ++s)
              builder_.copy(
                  block(parts, q, s, c).slice(begin, end).flatten(),
                  held.slice(s * (end - begin) * b_.block_columns, (s + 1) * (end - begin) * b_.block_columns),
                  name_ + " terms");
            from = block(sums, q, r, c).slice(0, end - begin);
            const VertexId vertex =
                builder_.graph().add_vertex(set, "JoinBlocks_" + bits_name(type_), b_.tile(q, r, c), name_);
            builder_.graph().connect(vertex, "x", bits(held));
            builder_.graph().connect(vertex, "y", bits(from).flatten());
            builder_.graph().set_value(vertex, "blocks", word(slices));
          }
          out.emplace_back(from.slice(0, b_.columns_at(c), 1),
                           result.slice({q * each + begin, c * b_.block_columns},
                                        {q * each + end, c * b_.block_columns + b_.columns_at(c)}));
        }
    if (slices > 1) builder_.execute(set);
    for (const auto& [from, to] : out) builder_.copy(from, to, name_);
    return result;
  }

  Lowering& lowering_;
  Builder& builder_;
  std::string name_;
  graph::Type type_;
  Blocks b_;
};

/// The axis in front, the others in order.
std::vector<std::size_t> to_front(std::size_t rank, std::size_t axis) {
  std::vector<std::size_t> permutation = {axis};
  for (std::size_t k = 0; k < rank; ++k)
    if (k != axis) permutation.push_back(k);
  return permutation;
}
std::vector<std::size_t> inverse(const std::vector<std::size_t>& permutation) {
  std::vector<std::size_t> result(permutation.size());
  for (std::size_t k = 0; k < permutation.size(); ++k) result[permutation[k]] = k;
  return result;
}

/// A view [rows, ...] as a matrix; copied first if that takes more than views of few boxes.
Tensor as_matrix(Builder& builder, const Tensor& x, const std::string& name) {
  Tensor whole = x;
  if (!x.contiguous()) {
    whole = builder.linear(x.type(), x.shape(), name);
    builder.copy(x, whole, name);
  }
  return whole.reshape({x.dim(0), x.elements() / x.dim(0)});
}

Index budget(const Lowering& lowering) { return lowering.options().sram_bytes / 5; }

void lower_gather(Lowering& lowering, const Node& node) {
  Builder& builder = lowering.builder();
  const auto axis = static_cast<std::size_t>(std::get<model::AxisAttributes>(node.attributes).axis);
  const model::Value& data = lowering.in(node, 0);
  const graph::Shape shape = shape_of(lowering.out(node).shape);
  Tensor& view = lowering.view(node.outputs[0]);
  if (graph::element_count(shape) == 0) {
    view = builder.linear(type_of(data.type), shape, node.name);
    return;
  }
  const Operand indices = lowering.operand(node.inputs[1]);
  if (indices.is_constant()) {
    std::vector<std::int64_t> list = indices.constant->integers();
    for (std::int64_t& index : list) {
      if (index < 0) index += data.shape[axis];
      if (index < 0 || index >= data.shape[axis])
        throw Error(Category::usage, "index out of range in a constant operand", "node " + node.name,
                    "check the indices");
    }
    view = settled(builder, taken(lowering.materialised(node.inputs[0]), axis, list), node.name).reshape(shape);
    return;
  }
  const Index rows = static_cast<Index>(data.shape[axis]), n = indices.elements();
  Index outer = 1, inner = 1;
  for (std::size_t k = 0; k < data.shape.size(); ++k) {
    if (k < axis) outer *= static_cast<Index>(data.shape[k]);
    if (k > axis) inner *= static_cast<Index>(data.shape[k]);
  }
  const graph::Type type = type_of(data.type);
  Table table(lowering, node.name, type, plan(builder, rows, outer * inner, type, n, budget(lowering), true));
  const Operand source = lowering.operand(node.inputs[0]);
  const Tensor placed =
      source.is_constant()
          ? table.constant(*source.constant,
                           [&](Index row, Index k) { return (k / inner * rows + row) * inner + k % inner; })
          : table.placed(
                as_matrix(builder, source.view.permute(to_front(data.shape.size(), axis)), node.name + " data"));
  const Tensor y = table.gather(placed, indices.view.flatten());
  view = y.reshape({n, outer, inner}).permute({1, 0, 2}).reshape(shape);
}

/// [extent, the other axes of the indices] of data, indices or updates.
Tensor beside(Builder& builder, const Tensor& x, const graph::Shape& indices, std::size_t axis,
              const std::string& name) {
  graph::Shape end = indices;
  end[axis] = x.dim(axis);
  return as_matrix(builder, x.slice(graph::Shape(end.size(), 0), end).permute(to_front(end.size(), axis)), name);
}

/// A matrix [extent, ...] back to the axes of the indices.
Tensor unfolded(const Tensor& matrix, graph::Shape shape, std::size_t axis) {
  shape[axis] = matrix.dim(0);
  graph::Shape front;
  const auto permutation = to_front(shape.size(), axis);
  for (const std::size_t k : permutation) front.push_back(shape[k]);
  return matrix.reshape(front).permute(inverse(permutation));
}

void lower_gather_elements(Lowering& lowering, const Node& node) {
  Builder& builder = lowering.builder();
  const auto axis = static_cast<std::size_t>(std::get<model::AxisAttributes>(node.attributes).axis);
  const Tensor data = lowering.materialised(node.inputs[0]), indices = lowering.materialised(node.inputs[1]);
  Tensor& view = lowering.view(node.outputs[0]);
  if (indices.elements() == 0) {
    view = builder.linear(data.type(), indices.shape(), node.name);
    return;
  }
  const Tensor matrix = beside(builder, data, indices.shape(), axis, node.name + " data");
  const Tensor places = beside(builder, indices, indices.shape(), axis, node.name + " indices");
  Table table(lowering, node.name, data.type(),
              plan(builder, matrix.dim(0), matrix.dim(1), data.type(), places.dim(0), budget(lowering), true));
  view = unfolded(table.gather(table.placed(matrix), places), indices.shape(), axis);
}

std::string reduction_name(model::ScatterAttributes::Reduction reduction) {
  using Reduction = model::ScatterAttributes::Reduction;
  return reduction == Reduction::add ? "Add" : reduction == Reduction::mul ? "Mul" : "";
}

void lower_scatter_elements(Lowering& lowering, const Node& node) {
  Builder& builder = lowering.builder();
  const auto& attributes = std::get<model::ScatterAttributes>(node.attributes);
  const auto axis = static_cast<std::size_t>(attributes.axis);
  const Tensor data = lowering.materialised(node.inputs[0]), indices = lowering.materialised(node.inputs[1]);
  Tensor& view = lowering.view(node.outputs[0]);
  if (indices.elements() == 0) {
    view = data;
    return;
  }
  const Tensor matrix = beside(builder, data, indices.shape(), axis, node.name + " data");
  const Tensor places = beside(builder, indices, indices.shape(), axis, node.name + " indices");
  const Tensor updates =
      beside(builder, lowering.materialised(node.inputs[2]), indices.shape(), axis, node.name + " updates");
  Table table(lowering, node.name, data.type(),
              plan(builder, matrix.dim(0), matrix.dim(1), data.type(), places.dim(0), budget(lowering), false));
  const Tensor y = unfolded(table.scatter(table.placed(matrix), places, updates, reduction_name(attributes.reduction)),
                            indices.shape(), axis);
  if (y.shape() == data.shape()) {
    view = y;
    return;
  }
  // The indices reach a part of the data only.
  view = builder.linear(data.type(), data.shape(), node.name);
  builder.copy(data, view, node.name);
  builder.copy(y, view.slice(graph::Shape(y.rank(), 0), y.shape()), node.name);
}

/// Rows of `depth` indices as one index each into the axes `extents`, the axes in front of them shared with the data.
Tensor flattened(Builder& builder, const Tensor& rows, const std::vector<std::uint32_t>& extents, Index per_batch,
                 const std::string& name) {
  const Index n = rows.dim(0), depth = rows.dim(1);
  const Tensor x = as_matrix(builder, rows, name + " indices");
  const Tensor y = builder.linear(graph::Type::i32, {n}, name + " places");
  std::vector<std::uint8_t> data(builder.tiles() * depth * 4);
  for (Index t = 0; t < builder.tiles(); ++t) std::memcpy(data.data() + t * depth * 4, extents.data(), depth * 4);
  const Tensor shapes =
      builder.graph().add_constant(graph::Type::u32, {builder.tiles(), depth}, std::move(data), name + " extents");
  const auto mapping = builder.graph().mapping(y);
  const Tensor held = builder.graph().add_variable(graph::Type::i32, {n, depth}, name + " indices beside");
  const auto set = builder.graph().add_compute_set(name + " places");
  for (unsigned t = 0; t < builder.tiles(); ++t) builder.graph().map(shapes[t], t);
  for (const graph::TileInterval& i : mapping) {
    builder.graph().map(held.slice(i.begin, i.end), i.tile);
    const VertexId vertex = builder.graph().add_vertex(set, "FlattenIndices", i.tile, name);
    builder.graph().connect(vertex, "x", held.slice(i.begin, i.end).flatten());
    builder.graph().connect(vertex, "y", y.slice(i.begin, i.end));
    builder.graph().connect(vertex, "extents", shapes[i.tile]);
    builder.graph().set_value(vertex, "depth", word(depth));
    builder.graph().set_value(vertex, "first", word(i.begin));
    builder.graph().set_value(vertex, "per_batch", word(per_batch));
  }
  builder.copy(x, held, name + " indices");
  builder.execute(set);
  return y;
}

/// GatherND and ScatterND: data as [named axes together, the rest], indices as one number a row.
struct NamedRows {
  Tensor matrix, places;
};
NamedRows named_rows(Lowering& lowering, const Node& node, std::size_t batch) {
  Builder& builder = lowering.builder();
  const Tensor data = lowering.materialised(node.inputs[0]), indices = lowering.materialised(node.inputs[1]);
  const Index depth = indices.shape().back();
  std::vector<std::uint32_t> extents;
  Index rows = 1, per_batch = 1;
  for (std::size_t k = 0; k < batch + depth; ++k) rows *= data.dim(k);
  for (std::size_t k = batch; k < batch + depth; ++k) extents.push_back(word(data.dim(k)));
  for (std::size_t k = batch; k + 1 < indices.rank(); ++k) per_batch *= indices.dim(k);
  const Tensor flat = as_matrix(builder, data, node.name + " data");
  return {flat.reshape({rows, data.elements() / rows}),
          flattened(builder, indices.reshape({indices.elements() / depth, depth}), extents,
                    std::max<Index>(1, per_batch), node.name)};
}

void lower_gather_nd(Lowering& lowering, const Node& node) {
  Builder& builder = lowering.builder();
  const graph::Shape shape = shape_of(lowering.out(node).shape);
  const graph::Type type = type_of(lowering.in(node, 0).type);
  Tensor& view = lowering.view(node.outputs[0]);
  if (graph::element_count(shape) == 0) {
    view = builder.linear(type, shape, node.name);
    return;
  }
  const auto [matrix, places] = named_rows(
      lowering, node, static_cast<std::size_t>(std::get<model::GatherNdAttributes>(node.attributes).batch_dims));
  Table table(lowering, node.name, type,
              plan(builder, matrix.dim(0), matrix.dim(1), type, places.dim(0), budget(lowering), true));
  view = table.gather(table.placed(matrix), places).reshape(shape);
}

void lower_scatter_nd(Lowering& lowering, const Node& node) {
  Builder& builder = lowering.builder();
  const Tensor data = lowering.materialised(node.inputs[0]);
  Tensor& view = lowering.view(node.outputs[0]);
  if (data.elements() == 0 || lowering.in(node, 1).shape.empty() ||
      model::element_count(lowering.in(node, 1).shape) == 0) {
    view = data;
    return;
  }
  const auto [matrix, places] = named_rows(lowering, node, 0);
  const Tensor updates = as_matrix(
      builder, lowering.materialised(node.inputs[2]).reshape({places.dim(0), matrix.dim(1)}), node.name + " updates");
  Table table(lowering, node.name, data.type(),
              plan(builder, matrix.dim(0), matrix.dim(1), data.type(), places.dim(0), budget(lowering), false));
  view = table
             .scatter(table.placed(matrix), places, updates,
                      reduction_name(std::get<model::ScatterAttributes>(node.attributes).reduction))
             .reshape(data.shape());
}

std::string refuse_scatter(const model::Model& model, const Node& node) {
  const model::Type type = model.value(node.inputs.at(0)).type;
  const bool reduces =
      std::get<model::ScatterAttributes>(node.attributes).reduction != model::ScatterAttributes::Reduction::none;
  if (!reduces || type == model::Type::f32 || type == model::Type::f16 || type == model::Type::i32) return {};
  return "no codelet that adds or multiplies " + std::string(name_of(type));
}

}  // namespace

std::vector<Rule> index_rules() {
  return {{Op::Gather, lower_gather},
          {Op::GatherElements, lower_gather_elements},
          {Op::GatherND, lower_gather_nd},
          {Op::ScatterElements, lower_scatter_elements, refuse_scatter},
          {Op::ScatterND, lower_scatter_nd, refuse_scatter}};
}

}  // namespace tessera::nn
