// Structure of operators that are no products: pooling, normalisations, reductions, everything element by element.
#include <algorithm>
#include <numeric>

#include "host/scale/expander.h"

namespace tessera::scale {

namespace {

std::int64_t parts_of(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }
std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

}  // namespace

/// One vertex a position and block of channels; grain takes neighbours along the last axis. A gradient reads the
/// windows that hold its position: of dy, and of y and x too where the largest element decides.
void Expander::pool(const model::Node& node, bool gradient) {
  const auto& p = std::get<model::PoolAttributes>(node.attributes);
  const bool largest = node.op == model::Op::MaxPool;
  const Placed x = value(node.inputs[0]);
  const std::uint32_t at = cluster(gradient ? Role::gradient : Role::forward);
  std::optional<Placed> dy;
  if (gradient) {
    dy = taken(node.outputs[0], at);
    if (!dy || !needs_gradient(node.inputs[0])) return;
  }
  const Placed y = value(node.outputs[0]);
  const Placed made = gradient ? like(x, "gradient of " + s_.tensors[x.tensor].name, at) : y;
  const Storage& out = made.storage;
  const Storage& in = gradient ? y.storage : x.storage;
  const std::size_t spatial = out.spatial.size();
  const std::int64_t along = std::min(grain_.vectors, out.spatial.back());
  std::vector<std::int64_t> loops = {out.outer, out.blocks};
  for (std::size_t d = 0; d < spatial; ++d)
    loops.push_back(d + 1 == spatial ? parts_of(out.spatial[d], along) : out.spatial[d]);
  Family f = family(gradient ? "PoolGradient" : "Pool", at, loops);
  const Window results = [&](std::size_t d, std::int64_t i) {
    const std::int64_t n = d + 1 == spatial ? along : 1;
    return range(i * n, n, out.spatial[d]);
  };
  const Window window = [&](std::size_t d, std::int64_t i) {
    const Span m = results(d, i);
    const std::int64_t k = (p.kernel[d] - 1) * p.dilations[d] + 1, s = p.strides[d], pad = p.pads_begin[d];
    const std::int64_t last = m.first + m.count - 1;
    if (!gradient) return range(m.first * s - pad, (last - m.first) * s + k, in.spatial[d]);
    const std::int64_t low = -floor_div(-(m.first + pad - k + 1), s);
    return range(low, floor_div(last + pad, s) - low + 1, in.spatial[d]);
  };
  const auto field = [&](const char* name, const Placed& t, const Window& positions, bool writes) {
    Field result{name, t.tensor, writes, {}};
    const std::int64_t block = t.storage.block;
    channel_axes(
        f, result, t.storage, {1},
        [&](const std::int64_t* i) { return std::make_pair(i[0] * block, (i[0] + 1) * block); }, 2, positions, 0);
    finish_field(result, static_cast<std::uint64_t>(t.storage.elements()));
    f.fields.push_back(std::move(result));
  };
  if (gradient) {
    field("dy", *dy, window, false);
    if (largest) field("y", y, window, false);
    if (largest) field("x", x, results, false);
    field("dx", made, results, true);
  } else {
    field("x", x, window, false);
    field("y", made, results, true);
  }
  add(std::move(f));
  if (gradient) give(node.inputs[0], made);
}

void Expander::batch_norm(const model::Node& node, bool gradient) {
  const Placed x = value(node.inputs[0]), y = value(node.outputs[0]);
  if (!gradient) {
    const std::uint32_t home = cluster(grain_.training ? Role::update : Role::parameters);
    Storage s;
    s.channels = y.storage.channels;
    s.blocks = y.storage.blocks;
    s.block = y.storage.block;
    const Placed scale{tensor(node.name + " scale", s.elements(), home), s};
    const Placed shift{tensor(node.name + " shift", s.elements(), home), s};
    weights_[{layer_, 0}].placed = scale;
    weights_[{layer_, 1}].placed = shift;
    return elementwise("BatchNormalization", cluster(Role::forward), {x, scale, shift}, y);
  }
  const std::uint32_t at = cluster(Role::gradient);
  const std::optional<Placed> dy = taken(node.outputs[0], at);
  if (!dy) return;
  const Placed scale = weights_.at({layer_, 0}).placed, shift = weights_.at({layer_, 1}).placed;
  const std::uint32_t sums = cluster(Role::weight_gradient);
  const Placed d_shift = bias_gradient(sums, shift, *dy);
  const Placed product = like(*dy, "dy times x of " + node.name, sums);
  elementwise("Product2", sums, {*dy, x}, product);
  const Placed d_scale = bias_gradient(sums, scale, product);
  update(scale, d_scale);
  update(shift, d_shift);
  if (!needs_gradient(node.inputs[0])) return;
  const Placed dx = like(x, "gradient of " + s_.tensors[x.tensor].name, at);
  elementwise("BatchNormalizationGradient", at, {*dy, x, scale, d_scale, d_shift}, dx);
  give(node.inputs[0], dx);
}

/// LRN: a chunk of positions of a block of channels needs the neighbouring blocks that its windows reach.
void Expander::local_norm(const model::Node& node, bool gradient) {
  const Placed x = value(node.inputs[0]), y = value(node.outputs[0]);
  const std::uint32_t at = cluster(gradient ? Role::gradient : Role::forward);
  std::optional<Placed> dy;
  if (gradient) {
    dy = taken(node.outputs[0], at);
    if (!dy || !needs_gradient(node.inputs[0])) return;
  }
  const Storage& s = x.storage;
  const std::int64_t size = std::get<model::LrnAttributes>(node.attributes).size;
  const std::int64_t reach = parts_of(size / 2, s.block);
  const std::int64_t chunk = std::min(s.row(), kVector * grain_.vectors);
  Family f = family(gradient ? "LrnGradient" : "Lrn", at, {s.outer, s.blocks, parts_of(s.row(), chunk)});
  const auto field = [&](const char* name, const Placed& t, std::int64_t blocks, bool writes) {
    Field result{name, t.tensor, writes, {}};
    add_axis(f, result, s.outer, {0}, [&](const std::int64_t* i) { return range(i[0], 1, s.outer); });
    add_axis(f, result, s.blocks, {1},
             [&](const std::int64_t* i) { return range(i[0] - blocks, 2 * blocks + 1, s.blocks); });
    add_axis(f, result, s.row(), {2}, [&](const std::int64_t* i) { return range(i[0] * chunk, chunk, s.row()); });
    finish_field(result, static_cast<std::uint64_t>(s.elements()));
    f.fields.push_back(std::move(result));
  };
  const Placed made = gradient ? like(x, "gradient of " + s_.tensors[x.tensor].name, at) : y;
  field("x", x, reach, false);
  if (gradient) field("dy", *dy, reach, false);
  if (gradient) field("y", y, reach, false);
  field(gradient ? "dx" : "y", made, 0, true);
  add(std::move(f));
  if (gradient) give(node.inputs[0], made);
}

/// Softmax, LayerNormalization and their like: sums over each row, then element by element with the row's sums.
void Expander::row_norm(const model::Node& node, bool gradient) {
  const Placed x = value(node.inputs[0]), y = value(node.outputs[0]);
  const std::uint32_t at = cluster(gradient ? Role::gradient : Role::forward);
  std::vector<Placed> inputs = {gradient ? y : x};
  if (gradient) {
    const std::optional<Placed> dy = taken(node.outputs[0], at);
    if (!dy || !needs_gradient(node.inputs[0])) return;
    inputs.push_back(*dy);
  }
  Storage s;
  s.outer = x.storage.rows();
  const Placed sums{tensor(node.name + (gradient ? " gradient sums" : " sums"), s.elements(), at), s};
  row_sums("RowSums", at, inputs, sums, 1);
  inputs.push_back(sums);
  const Placed made = gradient ? like(x, "gradient of " + s_.tensors[x.tensor].name, at) : y;
  elementwise(gradient ? "RowNormGradient" : "RowNorm", at, inputs, made);
  if (gradient) give(node.inputs[0], made);
}

void Expander::reduction(const model::Node& node, bool gradient) {
  const Placed x = value(node.inputs[0]), y = value(node.outputs[0]);
  if (!gradient) {
    const bool blocks = x.storage.rows() == y.storage.rows() && x.storage.block == y.storage.block;
    return row_sums("Reduce", cluster(Role::forward), {x}, y, blocks ? y.storage.block : 1);
  }
  const std::uint32_t at = cluster(Role::gradient);
  const std::optional<Placed> dy = taken(node.outputs[0], at);
  if (!dy || !needs_gradient(node.inputs[0])) return;
  const Placed dx = like(x, "gradient of " + s_.tensors[x.tensor].name, at);
  elementwise("ReduceGradient", at, {*dy}, dx);
  give(node.inputs[0], dx);
}

/// Element by element, and all that has no structure of its own.
void Expander::plain(const model::Node& node, bool gradient) {
  const std::string name(model::name_of(node.op));
  std::vector<Placed> inputs;
  for (const model::ValueId in : node.inputs) {
    if (in != model::kAbsent && model::element_count(model_.value(in).shape) > 0) inputs.push_back(value(in));
  }
  if (!gradient) {
    for (const model::ValueId out : node.outputs) {
      if (out != model::kAbsent) elementwise(name, cluster(Role::forward), inputs, value(out));
    }
    return;
  }
  const std::uint32_t at = cluster(Role::gradient);
  const std::optional<Placed> dy = taken(node.outputs[0], at);
  if (!dy) return;
  const bool sum = node.op == model::Op::Add || node.op == model::Op::Sum || node.op == model::Op::Sub;
  for (const model::ValueId in : node.inputs) {
    if (in == model::kAbsent || !needs_gradient(in)) continue;
    const Placed x = value(in);
    if (sum && x.storage.elements() == dy->storage.elements()) {  // the gradient passes
      give(in, {dy->tensor, x.storage});
      continue;
    }
    const Placed dx = like(x, "gradient of " + s_.tensors[x.tensor].name, at);
    std::vector<Placed> operands = {*dy};
    operands.insert(operands.end(), inputs.begin(), inputs.end());
    elementwise(name + "Gradient", at, operands, dx);
    give(in, dx);
  }
}

}  // namespace tessera::scale
