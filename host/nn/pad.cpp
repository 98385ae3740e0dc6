// Operators that only move elements and need no codelet: Pad, Tile, Trilu, DepthToSpace, SpaceToDepth; and selection of
// indices known when the model is compiled. Results are views where few boxes tell them, else one copy.
#include <algorithm>

#include "host/nn/index.h"
#include "host/nn/lowering.h"

namespace tessera::nn {

using graph::Tensor;
using model::Node;
using model::Op;

namespace {

using Index = std::uint64_t;

constexpr std::size_t kMostBoxes = 256;  // of a view; beyond, one copy is cheaper for all who read it

Tensor scalar_zero(Lowering& lowering, model::Type type, const std::string& name) {
  return lowering.builder().linear_constant(model::Tensor(type, {1}), name);
}

}  // namespace

Tensor taken(const Tensor& x, std::size_t axis, const std::vector<std::int64_t>& indices, const Tensor& fill) {
  std::vector<Tensor> parts;
  graph::Shape shape = x.shape();
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t n = 1;
    const std::int64_t first = indices[i];
    const std::int64_t step = i + 1 < indices.size() ? indices[i + 1] - first : 0;
    const bool run = step >= -1 && step <= 1;
    if (first < 0) {
      while (i + n < indices.size() && indices[i + n] < 0) ++n;
      shape[axis] = n;
      parts.push_back(fill.broadcast_to(shape));
    } else {
      while (run && i + n < indices.size() && indices[i + n] >= 0 &&
             indices[i + n] == first + step * static_cast<std::int64_t>(n))
        ++n;
      const std::int64_t last = first + (n > 1 ? step : 0) * (static_cast<std::int64_t>(n) - 1);
      const auto low = static_cast<Index>(std::min(first, last)), high = static_cast<Index>(std::max(first, last));
      Tensor part = x.slice(low, high + 1, axis);
      if (last < first) part = part.reverse(axis);
      if (n > 1 && step == 0) part = part.broadcast(n, axis);
      parts.push_back(part);
    }
    i += n;
  }
  if (parts.empty()) return x.slice(0, 0, axis);
  return parts.size() == 1 ? parts[0] : Tensor::concat(parts, axis);
}

Tensor settled(Builder& builder, const Tensor& view, const std::string& name) {
  if (view.boxes().size() <= kMostBoxes) return view;
  const Tensor result = builder.linear(view.type(), view.shape(), name);
  builder.copy(view, result, name);
  return result;
}

namespace {

/// For every index of the padded axis the one it comes from, -1: the value.
std::vector<std::int64_t> padded_indices(const model::PadAttributes& pad, std::size_t axis, std::int64_t extent) {
  using Mode = model::PadAttributes::Mode;
  std::vector<std::int64_t> indices;
  for (std::int64_t i = -pad.begin[axis]; i < extent + pad.end[axis]; ++i) {
    std::int64_t from = i;
    if (pad.mode == Mode::constant && (i < 0 || i >= extent)) from = -1;
    if (pad.mode == Mode::edge) from = std::clamp<std::int64_t>(i, 0, extent - 1);
    if (pad.mode == Mode::reflect) {
      const std::int64_t period = std::max<std::int64_t>(1, 2 * (extent - 1));
      from = ((i % period) + period) % period;
      if (from >= extent) from = period - from;
    }
    indices.push_back(from);
  }
  return indices;
}

void lower_pad(Lowering& lowering, const Node& node) {
  const auto& pad = std::get<model::PadAttributes>(node.attributes);
  Tensor x = lowering.materialised(node.inputs[0]);
  Tensor value;
  std::size_t value_input = 0;
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    if (Lowering::has(node, i)) value_input = i;
  if (pad.mode == model::PadAttributes::Mode::constant)
    value = value_input != 0 ? lowering.materialised(node.inputs[value_input]).reshape({1})
                             : scalar_zero(lowering, lowering.in(node, 0).type, node.name + " value");
  for (std::size_t axis = 0; axis < x.rank(); ++axis)
    if (pad.begin[axis] != 0 || pad.end[axis] != 0)
      x = taken(x, axis, padded_indices(pad, axis, static_cast<std::int64_t>(x.dim(axis))), value);
  lowering.view(node.outputs[0]) = settled(lowering.builder(), x, node.name);
}

void lower_tile(Lowering& lowering, const Node& node) {
  const auto& repeats = std::get<model::ShapeAttributes>(node.attributes).shape;
  Tensor x = lowering.materialised(node.inputs[0]);
  const graph::Shape shape = shape_of(lowering.out(node).shape);
  Tensor& view = lowering.view(node.outputs[0]);
  if (graph::element_count(shape) == 0) {
    view = lowering.builder().linear(x.type(), shape, node.name);
    return;
  }
  Index boxes = x.boxes().size();
  for (std::size_t k = 0; k < repeats.size(); ++k)
    if (x.dim(k) != 1) boxes *= static_cast<Index>(repeats[k]);
  if (boxes <= kMostBoxes) {
    for (std::size_t k = 0; k < repeats.size(); ++k) {
      const auto n = static_cast<Index>(repeats[k]);
      if (x.dim(k) == 1)
        x = x.broadcast(n, k);
      else if (n != 1)
        x = Tensor::concat(std::vector<Tensor>(n, x), k);
    }
    view = x;
    return;
  }
  // [repeat, extent, repeat, extent, ...] of both sides.
  view = lowering.builder().linear(x.type(), shape, node.name);
  graph::Shape split;
  for (std::size_t k = 0; k < repeats.size(); ++k) {
    split.push_back(static_cast<Index>(repeats[k]));
    split.push_back(x.dim(2 * k));
    x = x.expand(2 * k).broadcast(split[2 * k], 2 * k);
  }
  lowering.builder().copy(x, view.reshape(split), node.name);
}

void lower_trilu(Lowering& lowering, const Node& node) {
  const auto& attributes = std::get<model::TriluAttributes>(node.attributes);
  const Tensor x = lowering.materialised(node.inputs[0]);
  const std::size_t row_axis = x.rank() - 2, column_axis = x.rank() - 1;
  const auto columns = static_cast<std::int64_t>(x.dim(column_axis));
  Tensor& view = lowering.view(node.outputs[0]);
  if (x.elements() == 0) {
    view = x;
    return;
  }
  const Tensor zero = scalar_zero(lowering, lowering.in(node, 0).type, node.name + " zero");
  std::vector<Tensor> rows;
  for (Index r = 0; r < x.dim(row_axis); ++r) {
    const Tensor row = x.slice(r, r + 1, row_axis);
    // The diagonal k meets row r at column r + k.
    const std::int64_t at = static_cast<std::int64_t>(r) + attributes.k;
    const auto cut = static_cast<Index>(std::clamp<std::int64_t>(attributes.upper ? at : at + 1, 0, columns));
    graph::Shape shape = row.shape();
    std::vector<Tensor> parts;
    const auto add = [&](Index begin, Index end, bool kept) {
      if (begin == end) return;
      shape[column_axis] = end - begin;
      parts.push_back(kept ? row.slice(begin, end, column_axis) : zero.broadcast_to(shape));
    };
    add(0, cut, !attributes.upper);
    add(cut, static_cast<Index>(columns), attributes.upper);
    rows.push_back(Tensor::concat(parts, column_axis));
  }
  view = settled(lowering.builder(), Tensor::concat(rows, row_axis), node.name);
}

/// Blocks of channels to blocks of the field and back: a copy, since what reads the result would see single elements.
void lower_depth_space(Lowering& lowering, const Node& node) {
  const auto& attributes = std::get<model::DepthSpaceAttributes>(node.attributes);
  const Tensor x = lowering.materialised(node.inputs[0]);
  const graph::Shape shape = shape_of(lowering.out(node).shape);
  const auto b = static_cast<Index>(attributes.block);
  const Tensor y = lowering.builder().linear(x.type(), shape, node.name);
  lowering.view(node.outputs[0]) = y;
  if (y.elements() == 0) return;
  const Index n = x.dim(0), c = x.dim(1), h = x.dim(2), w = x.dim(3);
  Tensor from, to;
  if (node.op == Op::SpaceToDepth) {
    from = x.reshape({n, c, h / b, b, w / b, b}).permute({0, 3, 5, 1, 2, 4});
    to = y.reshape({n, b, b, c, h / b, w / b});
  } else if (attributes.column_row_depth) {
    from = x.reshape({n, c / b / b, b, b, h, w}).permute({0, 1, 4, 2, 5, 3});
    to = y.reshape({n, c / b / b, h, b, w, b});
  } else {
    from = x.reshape({n, b, b, c / b / b, h, w}).permute({0, 3, 4, 1, 5, 2});
    to = y.reshape({n, c / b / b, h, b, w, b});
  }
  lowering.builder().copy(from, to, node.name);
}

}  // namespace

std::vector<Rule> pad_rules() {
  return {{Op::Pad, lower_pad},
          {Op::Tile, lower_tile},
          {Op::Trilu, lower_trilu},
          {Op::DepthToSpace, lower_depth_space},
          {Op::SpaceToDepth, lower_depth_space}};
}

}  // namespace tessera::nn
