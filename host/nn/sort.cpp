// TopK and OneHot: rows on tiles, whole.
#include <algorithm>

#include "host/nn/lowering.h"

namespace tessera::nn {

using graph::Tensor;
using model::Node;
using model::Op;

namespace {

using Index = std::uint64_t;

std::uint32_t word(Index v) { return static_cast<std::uint32_t>(v); }

/// The axis last; and back.
std::pair<std::vector<std::size_t>, std::vector<std::size_t>> to_back(std::size_t rank, std::size_t axis) {
  std::vector<std::size_t> there, back(rank);
  for (std::size_t k = 0; k < rank; ++k)
    if (k != axis) there.push_back(k);
  there.push_back(axis);
  for (std::size_t k = 0; k < rank; ++k) back[there[k]] = k;
  return {there, back};
}

/// [rows, width] in equal shares of whole rows.
Tensor by_rows(Builder& builder, graph::Type type, Index rows, Index width, const std::string& name) {
  const Tensor tensor = builder.graph().add_variable(type, {rows, width}, name);
  const Index share = (rows + builder.tiles() - 1) / builder.tiles();
  for (Index r = 0; r < rows; r += share)
    builder.graph().map(tensor.slice(r, std::min(rows, r + share)), static_cast<unsigned>(r / share));
  return tensor;
}

void lower_top_k(Lowering& lowering, const Node& node) {
  Builder& builder = lowering.builder();
  graph::Graph& graph = builder.graph();
  const auto& attributes = std::get<model::TopKAttributes>(node.attributes);
  const Tensor x = lowering.materialised(node.inputs[0]);
  const auto axis = static_cast<std::size_t>(attributes.axis);
  const auto k = static_cast<Index>(attributes.k);
  const auto [there, back] = to_back(x.rank(), axis);
  const Tensor turned = x.permute(there);
  const Index width = turned.shape().back(), rows = width == 0 ? 0 : x.elements() / width;
  graph::Shape shape = turned.shape();
  shape.back() = k;
  Tensor values, indices;
  if (rows == 0 || k == 0) {
    values = builder.linear(x.type(), shape, node.name);
    indices = builder.linear(graph::Type::i32, shape, node.name);
  } else {
    const Tensor held = by_rows(builder, x.type(), rows, width, node.name + " rows");
    builder.copy(turned, held.reshape(turned.shape()), node.name + " rows");
    const Tensor y = by_rows(builder, x.type(), rows, k, node.name);
    const Tensor where = by_rows(builder, graph::Type::i32, rows, k, node.name + " indices");
    const auto set = graph.add_compute_set(node.name);
    const Index share = (rows + builder.tiles() - 1) / builder.tiles();
    for (Index r = 0; r < rows; r += share) {
      const Index end = std::min(rows, r + share);
      const auto vertex = graph.add_vertex(set, "TopK_" + std::string(graph::name_of(x.type())),
                                           static_cast<unsigned>(r / share), node.name);
      graph.connect(vertex, "x", held.slice(r, end).flatten());
      graph.connect(vertex, "y", y.slice(r, end).flatten());
      graph.connect(vertex, "indices", where.slice(r, end).flatten());
      graph.set_value(vertex, "rows", word(end - r));
      graph.set_value(vertex, "width", word(width));
      graph.set_value(vertex, "k", word(k));
      graph.set_value(vertex, "smallest", word(attributes.largest ? 0 : 1));
    }
    builder.execute(set);
    values = y.reshape(shape);
    indices = where.reshape(shape);
  }
  if (Lowering::wants(node, 0)) lowering.view(node.outputs[0]) = values.permute(back);
  if (Lowering::wants(node, 1)) lowering.view(node.outputs[1]) = indices.permute(back);
}

std::string refuse_top_k(const model::Model& model, const Node& node) {
  return model.value(node.inputs.at(0)).type == model::Type::boolean ? "no order of bool" : "";
}

void lower_one_hot(Lowering& lowering, const Node& node) {
  Builder& builder = lowering.builder();
  graph::Graph& graph = builder.graph();
  const auto& attributes = std::get<model::OneHotAttributes>(node.attributes);
  const auto depth = static_cast<Index>(attributes.depth);
  Tensor x = lowering.materialised(node.inputs[0]);
  const model::Type given = lowering.in(node, 0).type;
  graph::Shape shape = x.shape();
  shape.push_back(depth);
  const graph::Type type = type_of(lowering.out(node).type);
  const Index rows = x.elements();
  const auto [there, back] = to_back(shape.size(), static_cast<std::size_t>(attributes.axis));
  Tensor y;
  if (rows == 0 || depth == 0) {
    y = builder.linear(type, shape, node.name);
  } else {
    if (given != model::Type::i32) x = lower_cast(builder, x, graph::Type::i32, node.name + " indices");
    const Tensor indices = by_rows(builder, graph::Type::i32, rows, 1, node.name + " indices");
    builder.copy(x.reshape({rows, 1}), indices, node.name + " indices");
    const Tensor hot = by_rows(builder, type, rows, depth, node.name);
    const Tensor values = graph.add_variable(type, {builder.tiles(), 2}, node.name + " values");
    for (unsigned t = 0; t < builder.tiles(); ++t) graph.map(values[t], t);
    builder.copy(lowering.materialised(node.inputs[2]).reshape({1, 2}).broadcast(builder.tiles(), 0), values,
                 node.name + " values");
    const auto set = graph.add_compute_set(node.name);
    const Index share = (rows + builder.tiles() - 1) / builder.tiles();
    const unsigned size = graph::size_of(type);
    const graph::Type bits = size == 1 ? graph::Type::u8 : size == 2 ? graph::Type::u16 : graph::Type::u32;
    for (Index r = 0; r < rows; r += share) {
      const Index end = std::min(rows, r + share);
      const auto tile = static_cast<unsigned>(r / share);
      const auto vertex = graph.add_vertex(set, "OneHot_" + std::string(graph::name_of(bits)), tile, node.name);
      graph.connect(vertex, "indices", indices.slice(r, end).flatten());
      graph.connect(vertex, "values", values[tile].reinterpret(bits));
      graph.connect(vertex, "y", hot.slice(r, end).flatten().reinterpret(bits));
      graph.set_value(vertex, "depth", word(depth));
    }
    builder.execute(set);
    y = hot.reshape(shape);
  }
  lowering.view(node.outputs[0]) = y.permute(back);
}

}  // namespace

std::vector<Rule> sort_rules() { return {{Op::TopK, lower_top_k, refuse_top_k}, {Op::OneHot, lower_one_hot}}; }

}  // namespace tessera::nn
