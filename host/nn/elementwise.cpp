// Element-wise operators and softmax. They work in the order of storage: each vertex takes a contiguous piece of a
// variable, whatever view it is seen through, and the result has the operand's layout.
#include <algorithm>
#include <set>

#include "host/nn/operators.h"

namespace tessera::nn {

using graph::Tensor;
using graph::VariableId;
using model::Op;

namespace {

/// Where a vertex finds an operand: beside each variable of the base, or one element a tile.
struct Source {
  std::map<VariableId, VariableId> beside;
  Tensor scalar;  ///< [tiles] if valid
};

std::map<VariableId, VariableId> pairs(const Tensor& base, const Tensor& clone) {
  std::map<VariableId, VariableId> result;
  for (std::size_t i = 0; i < base.boxes().size(); ++i) result[base.boxes()[i].variable] = clone.boxes()[i].variable;
  return result;
}

Source source_of(Builder& builder, const Operand& operand, const Tensor& base, const std::string& name) {
  const bool scalar = operand.elements() == 1 && base.elements() > 1;
  if (operand.is_constant() && scalar) return {{}, builder.constant_on_every_tile(*operand.constant, name)};
  if (operand.is_constant()) return {pairs(base, builder.constant_like(base, *operand.constant, name)), {}};
  if (scalar) return {{}, builder.on_every_tile(operand.view, name)};
  const Tensor wide = operand.view.broadcast_to(base.shape());
  if (auto found = builder.beside(base, wide); found && builder.whole(wide)) return {std::move(*found), {}};
  const Tensor staged = builder.clone_layout(base, operand.view.type(), name);
  builder.copy(wide, staged, name);
  return {pairs(base, staged), {}};
}

Tensor element_of(const Builder& builder, const Source& source, VariableId base, const Piece& piece) {
  if (source.scalar.valid()) return source.scalar.slice(piece.tile, piece.tile + 1);
  return builder.flat(source.beside.at(base)).slice(piece.begin, piece.end);
}

const char* suffix(graph::Type type) {
  return type == graph::Type::f32 ? "f32" : type == graph::Type::i32 ? "i32" : "bool";
}

}  // namespace

std::string unary_codelet(Op op, model::Type type) {
  static const std::set<Op> kReal = {Op::Abs, Op::Exp, Op::Log, Op::Neg, Op::Relu, Op::Sigmoid, Op::Sqrt, Op::Tanh};
  static const std::set<Op> kInteger = {Op::Abs, Op::Neg};
  if (type == model::Type::f32 && kReal.count(op) != 0) return std::string(name_of(op)) + "_f32";
  if (type == model::Type::i32 && kInteger.count(op) != 0) return std::string(name_of(op)) + "_i32";
  return {};
}

std::string cast_codelet(model::Type from, model::Type to) {
  return std::string("Cast_") + suffix(type_of(from)) + "_" + suffix(type_of(to));
}

std::string binary_codelet(Op op, model::Type type) {
  static const std::set<Op> kOps = {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Max, Op::Min};
  if (kOps.count(op) == 0 || (type != model::Type::f32 && type != model::Type::i32)) return {};
  return std::string(name_of(op)) + "_" + suffix(type_of(type));
}

Tensor lower_unary(Builder& builder, const std::string& codelet, const Tensor& x, graph::Type type,
                   const std::string& name) {
  if (x.elements() == 0) return builder.linear(type, x.shape(), name);
  const Tensor base = builder.made_whole(x, name + " operand");
  const Tensor y = builder.clone_layout(base, type, name);
  const auto to = pairs(base, y);
  const auto set = builder.graph().add_compute_set(name);
  for (const VariableId variable : Builder::variables(base))
    for (const Piece& piece : builder.pieces(variable)) {
      const auto vertex = builder.graph().add_vertex(set, codelet, piece.tile, name);
      builder.graph().connect(vertex, "x", builder.flat(variable).slice(piece.begin, piece.end));
      builder.graph().connect(vertex, "y", builder.flat(to.at(variable)).slice(piece.begin, piece.end));
    }
  builder.execute(set);
  return y;
}

Tensor lower_binary(Builder& builder, const std::string& codelet, const Operand& a, const Operand& b,
                    const graph::Shape& shape, graph::Type type, const std::string& name) {
  if (graph::element_count(shape) == 0) return builder.linear(type, shape, name);
  const auto may_lead = [&](const Operand& x) {
    return !x.is_constant() && x.view.shape() == shape && builder.whole(x.view);
  };
  const bool led = may_lead(a) || may_lead(b);
  Tensor y, base;
  if (led) {
    base = may_lead(a) ? a.view : b.view;
    y = builder.clone_layout(base, type, name);
  } else {
    y = base = builder.linear(type, shape, name);
  }
  const Source from_a = source_of(builder, a, base, name + " operand a");
  const Source from_b = source_of(builder, b, base, name + " operand b");
  const std::string form = from_b.scalar.valid() ? "_scalar" : from_a.scalar.valid() ? "_scalar_left" : "";
  const auto to = pairs(base, y);
  const auto set = builder.graph().add_compute_set(name);
  for (const VariableId variable : Builder::variables(base))
    for (const Piece& piece : builder.pieces(variable)) {
      const auto vertex = builder.graph().add_vertex(set, codelet + form, piece.tile, name);
      builder.graph().connect(vertex, "a", element_of(builder, from_a, variable, piece));
      builder.graph().connect(vertex, "b", element_of(builder, from_b, variable, piece));
      builder.graph().connect(vertex, "y", builder.flat(to.at(variable)).slice(piece.begin, piece.end));
    }
  builder.execute(set);
  return y;
}

Tensor lower_softmax(Builder& builder, const std::string& codelet, const Tensor& x, std::size_t axis,
                     const std::string& name) {
  std::vector<std::size_t> permutation;
  for (std::size_t k = 0; k < x.rank(); ++k)
    if (k != axis) permutation.push_back(k);
  permutation.push_back(axis);
  std::vector<std::size_t> back(x.rank());
  for (std::size_t k = 0; k < x.rank(); ++k) back[permutation[k]] = k;
  const Tensor turned = x.permute(permutation);
  if (x.elements() == 0) return builder.linear(x.type(), turned.shape(), name).permute(back);

  const std::uint64_t columns = x.dim(axis), rows = x.elements() / columns;
  const Tensor matrix = turned.reshape({rows, columns});
  const Tensor y = builder.graph().add_variable(x.type(), {rows, columns}, name);
  const auto shares = builder.graph().map_linear(y.flatten(), columns, columns);
  struct Rows {
    unsigned tile;
    std::uint64_t begin, end;
    PlacedRows x;
  };
  std::vector<Rows> work;
  std::vector<Tensor> from, to;
  Tensor staged;
  for (const graph::TileInterval& share : shares) {
    const std::uint64_t first = share.begin / columns, last = share.end / columns;
    const std::uint64_t step = (last - first + kWorkers - 1) / kWorkers;
    for (std::uint64_t row = first; row < last; row += step) {
      const std::uint64_t end = std::min(last, row + step);
      auto placed = builder.placed_rows(matrix.slice(row, end), share.tile);
      if (!placed) {
        if (!staged.valid()) staged = builder.clone_layout(y, x.type(), name + " operand");
        from.push_back(matrix.slice(row, end));
        to.push_back(staged.slice(row, end));
        placed = PlacedRows{to.back().flatten(), columns};
      }
      work.push_back({share.tile, row, end, *placed});
    }
  }
  if (!from.empty()) builder.copy(Tensor::concat(from), Tensor::concat(to), name + " operand");
  const auto set = builder.graph().add_compute_set(name);
  for (const Rows& part : work) {
    const auto vertex = builder.graph().add_vertex(set, codelet, part.tile, name);
    builder.graph().connect(vertex, "x", part.x.data);
    builder.graph().connect(vertex, "y", y.slice(part.begin, part.end).flatten());
    builder.graph().set_value(vertex, "rows", static_cast<std::uint32_t>(part.end - part.begin));
    builder.graph().set_value(vertex, "columns", static_cast<std::uint32_t>(columns));
    builder.graph().set_value(vertex, "x_stride", static_cast<std::uint32_t>(part.x.stride));
    builder.graph().set_value(vertex, "y_stride", static_cast<std::uint32_t>(columns));
  }
  builder.execute(set);
  return y.reshape(turned.shape()).permute(back);
}

}  // namespace tessera::nn
