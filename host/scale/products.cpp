// Products: convolutions, matrix products and recurrent layers, with the gradients of their operands and weights.
#include <algorithm>
#include <numeric>

#include "host/scale/expander.h"

namespace tessera::scale {

namespace {

std::int64_t parts_of(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }
std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

std::int64_t power_of_two_within(std::int64_t limit) {
  std::int64_t p = 1;
  while (2 * p <= limit) p *= 2;
  return p;
}

/// Results a vertex makes: channels of one position first, then neighbours along the last axis.
struct Share {
  std::int64_t channels = 1, positions = 1;
};
Share share_of(std::int64_t grain, std::int64_t channels, const Storage& s) {
  Share result;
  result.channels = std::min(grain, channels);
  if (!s.spatial.empty()) {
    result.channels = power_of_two_within(std::min(result.channels, s.block));
    result.positions = std::min(std::max<std::int64_t>(1, grain / result.channels), s.spatial.back());
  }
  return result;
}

}  // namespace

Product Expander::product_of(const model::Node& node) {
  Product p;
  if (const auto* conv = std::get_if<model::ConvAttributes>(&node.attributes)) {
    p.group = conv->group;
    p.kernel = conv->kernel;
    p.strides = conv->strides;
    p.dilations = conv->dilations;
    p.pads = conv->pads_begin;
  }
  return p;
}

/// Weights in order of use: [groups of outputs][parts of 16 channels][taps][outputs x channels].
Expander::Weights Expander::weights(const Product& p, const Storage& x, const Storage& y, const std::string& name) {
  Weights w;
  const std::int64_t outputs = y.channels / p.group, inputs = std::max<std::int64_t>(1, x.channels / p.group);
  w.outputs = share_of(grain_.vectors, outputs, y).channels;
  w.groups_of_outputs = parts_of(outputs, w.outputs);
  w.depth = std::min(kVector, p.group == 1 && x.channels < 4 ? x.block : inputs);
  w.parts = parts_of(inputs, w.depth);
  w.placed.storage.outer = p.group * w.groups_of_outputs * w.parts;
  w.placed.storage.block = w.placed.storage.channels = p.taps() * w.outputs * w.depth;
  w.placed.tensor =
      tensor(name, w.placed.storage.elements(), cluster(grain_.training ? Role::update : Role::parameters));
  return w;
}

/// y from x: loops {outer, group, group of outputs, spatial .., part}. Transposed: x and y have changed their parts in
/// a convolution of y's shape (the gradient of its operand), so windows are those outputs that an input reaches.
void Expander::slide(const std::string& codelet, std::uint32_t cluster, const Product& p, const Placed& x,
                     const Weights& w, const Placed& y, const std::optional<Placed>& bias, bool transposed) {
  const Storage& in = x.storage;
  const Storage& out = y.storage;
  const std::size_t spatial = out.spatial.size();
  const std::int64_t outputs = out.channels / p.group;
  const std::int64_t inputs = std::max<std::int64_t>(1, in.channels / p.group);
  const Share share = share_of(grain_.vectors, outputs, out);
  std::vector<std::int64_t> loops = {out.outer, p.group, w.groups_of_outputs};
  for (std::size_t d = 0; d < spatial; ++d)
    loops.push_back(d + 1 == spatial ? parts_of(out.spatial[d], share.positions) : out.spatial[d]);
  loops.push_back(w.parts);
  Family f = family(codelet, cluster, loops);
  const auto part_loop = static_cast<std::uint8_t>(3 + spatial);
  const auto results = [&](std::size_t d, std::int64_t i) {  // positions that index i of loop 3 + d makes
    const std::int64_t n = d + 1 == spatial ? share.positions : 1;
    return range(i * n, n, out.spatial[d]);
  };
  const Window window = [&](std::size_t d, std::int64_t i) {
    const Span made = results(d, i);
    const std::int64_t k = p.kernel[d], s = p.strides[d], dilation = p.dilations[d], last = made.first + made.count - 1;
    if (!transposed) {
      const std::int64_t first = made.first * s - p.pads[d];
      if (made.count == 1) return range(first, k, in.spatial[d], dilation);
      if (k == 1) return range(first, made.count, in.spatial[d], s);
      return range(first, (last - made.first) * s + (k - 1) * dilation + 1, in.spatial[d]);
    }
    const std::int64_t low = -floor_div(-(made.first + p.pads[d] - (k - 1) * dilation), s);
    const std::int64_t high = floor_div(last + p.pads[d], s);
    if (made.count > 1) return range(low, high - low + 1, in.spatial[d]);
    const std::int64_t step = dilation / std::gcd(s, dilation);
    std::int64_t first = low;
    while (first <= high && (made.first + p.pads[d] - first * s) % dilation != 0) ++first;
    return range(first, first > high ? 0 : (high - first) / step + 1, in.spatial[d], step);
  };
  Field field_x{"x", x.tensor, false, {}};
  channel_axes(
      f, field_x, in, {1, part_loop},
      [&](const std::int64_t* i) {
        const std::int64_t first = i[0] * inputs + i[1] * w.depth;
        const std::int64_t last = std::min(first + w.depth, (i[0] + 1) * std::max(inputs, w.depth));
        return std::make_pair(first, last);
      },
      3, window, 0);
  finish_field(field_x, static_cast<std::uint64_t>(in.elements()));
  Field field_w{"weights", w.placed.tensor, false, {}};
  const std::int64_t set = w.placed.storage.block;
  add_axis(f, field_w, p.group, {1}, [&](const std::int64_t* i) { return range(i[0], 1, p.group); });
  add_axis(f, field_w, w.groups_of_outputs, {2},
           [&](const std::int64_t* i) { return range(i[0], 1, w.groups_of_outputs); });
  add_axis(f, field_w, w.parts, {part_loop}, [&](const std::int64_t* i) { return range(i[0], 1, w.parts); });
  add_axis(f, field_w, set, {}, [&](const std::int64_t*) { return range(0, set, set); });
  finish_field(field_w, static_cast<std::uint64_t>(w.placed.storage.elements()));
  TensorId partials = y.tensor;
  if (w.parts > 1) partials = tensor("partial sums of " + s_.tensors[y.tensor].name, w.parts * out.elements(), cluster);
  Field field_y{w.parts > 1 ? "partial" : "y", partials, true, {}};
  if (w.parts > 1)
    add_axis(f, field_y, w.parts, {part_loop}, [&](const std::int64_t* i) { return range(i[0], 1, w.parts); });
  channel_axes(
      f, field_y, out, {1, 2},
      [&](const std::int64_t* i) {
        const std::int64_t first = i[0] * outputs + i[1] * w.outputs;
        return std::make_pair(first, std::min(first + w.outputs, (i[0] + 1) * outputs));
      },
      3, results, 0);
  finish_field(field_y, static_cast<std::uint64_t>(w.parts * out.elements()));
  f.fields = {std::move(field_x), std::move(field_w), std::move(field_y)};
  if (bias && w.parts == 1) {
    Field field_b{"bias", bias->tensor, false, {}};
    add_axis(f, field_b, bias->storage.elements(), {1, 2}, [&](const std::int64_t* i) {
      return range(i[0] * outputs + i[1] * w.outputs, w.outputs, bias->storage.elements());
    });
    finish_field(field_b, static_cast<std::uint64_t>(bias->storage.elements()));
    f.fields.push_back(std::move(field_b));
  }
  add(std::move(f));
  add_up(cluster, partials, w.parts, y, grain_.vectors, bias);
}

/// One tap and 16 channels over one row of positions (without spatial axes: up to 16 rows of the batch).
void Expander::weight_gradient(std::uint32_t cluster, const Product& p, const Placed& x, const Placed& dy,
                               const Weights& w) {
  const Storage& in = x.storage;
  const Storage& out = dy.storage;
  const std::size_t spatial = out.spatial.size();
  const std::int64_t outputs = out.channels / p.group;
  const std::int64_t inputs = std::max<std::int64_t>(1, in.channels / p.group);
  const std::int64_t wide = 64;  // positions of a row that one vertex takes
  const std::int64_t more = std::max<std::int64_t>(1, grain_.vectors / w.outputs);
  // Loops: group, group of outputs, part, tap of each axis, outer, position of each axis.
  std::vector<std::int64_t> loops = {p.group, w.groups_of_outputs, w.parts, p.taps()};
  std::vector<std::int64_t> step(spatial, 1);
  const std::int64_t batch = spatial == 0 ? std::min(out.outer, kVector) : 1;
  loops.push_back(parts_of(out.outer, batch));
  for (std::size_t d = 0; d < spatial; ++d) {
    if (d + 1 == spatial) step[d] = std::min(wide, out.spatial[d]);
    if (d + 2 == spatial) step[d] = std::min(more, out.spatial[d]);
    loops.push_back(parts_of(out.spatial[d], step[d]));
  }
  std::int64_t sums = 1;
  for (std::size_t l = 4; l < loops.size(); ++l) sums *= loops[l];
  Family f = family("WeightGradient", cluster, loops);
  std::vector<std::int64_t> tap_stride(spatial, 1);
  for (std::size_t d = spatial; d > 1; --d) tap_stride[d - 2] = tap_stride[d - 1] * p.kernel[d - 1];
  const auto block_axes = [&](Field& field, const Storage& s, std::vector<std::uint8_t> by, const Channels& channels,
                              bool inner) {
    const std::int64_t extent = inner ? s.block : s.blocks;
    add_axis(f, field, extent, std::move(by), [&](const std::int64_t* i) {
      const auto [first, last] = channels(i);
      if (!inner) return range(first / s.block, (last - 1) / s.block - first / s.block + 1, s.blocks);
      if ((last - 1) / s.block != first / s.block) return range(0, s.block, s.block);
      return range(first % s.block, last - first, s.block);
    });
  };
  const auto rows = [&](const std::int64_t* i) { return range(i[0] * batch, batch, out.outer); };
  Field field_x{"x", x.tensor, false, {}};
  const Channels x_channels = [&](const std::int64_t* i) {
    const std::int64_t first = i[0] * inputs + i[1] * w.depth;
    return std::make_pair(first, std::min(first + w.depth, (i[0] + 1) * std::max(inputs, w.depth)));
  };
  add_axis(f, field_x, in.outer, {4}, rows);
  block_axes(field_x, in, {0, 2}, x_channels, false);
  for (std::size_t d = 0; d < spatial; ++d) {
    add_axis(f, field_x, in.spatial[d], {3, static_cast<std::uint8_t>(5 + d)}, [&](const std::int64_t* i) {
      const std::int64_t tap = i[0] / tap_stride[d] % p.kernel[d];
      const Span taken = range(i[1] * step[d], step[d], out.spatial[d]);
      return range(taken.first * p.strides[d] - p.pads[d] + tap * p.dilations[d], taken.count, in.spatial[d],
                   p.strides[d]);
    });
  }
  block_axes(field_x, in, {0, 2}, x_channels, true);
  finish_field(field_x, static_cast<std::uint64_t>(in.elements()));
  Field field_dy{"dy", dy.tensor, false, {}};
  const Channels y_channels = [&](const std::int64_t* i) {
    const std::int64_t first = i[0] * outputs + i[1] * w.outputs;
    return std::make_pair(first, std::min(first + w.outputs, (i[0] + 1) * outputs));
  };
  add_axis(f, field_dy, out.outer, {4}, rows);
  block_axes(field_dy, out, {0, 1}, y_channels, false);
  for (std::size_t d = 0; d < spatial; ++d) {
    add_axis(f, field_dy, out.spatial[d], {static_cast<std::uint8_t>(5 + d)},
             [&](const std::int64_t* i) { return range(i[0] * step[d], step[d], out.spatial[d]); });
  }
  block_axes(field_dy, out, {0, 1}, y_channels, true);
  finish_field(field_dy, static_cast<std::uint64_t>(out.elements()));
  const Placed gradient = like(w.placed, "gradient of " + s_.tensors[w.placed.tensor].name, cluster);
  TensorId partials = gradient.tensor;
  if (sums > 1)
    partials =
        tensor("partial sums of " + s_.tensors[gradient.tensor].name, sums * w.placed.storage.elements(), cluster);
  Field field_w{"partial", partials, true, {}};
  for (std::size_t l = 4; l < loops.size(); ++l) {
    add_axis(f, field_w, loops[l], {static_cast<std::uint8_t>(l)},
             [&](const std::int64_t* i) { return range(i[0], 1, loops[l]); });
  }
  // Groups, groups of outputs and parts are one axis, so that a field has at most eight.
  const std::int64_t sets = w.placed.storage.outer;
  add_axis(f, field_w, sets, {0, 1, 2},
           [&](const std::int64_t* i) { return range((i[0] * w.groups_of_outputs + i[1]) * w.parts + i[2], 1, sets); });
  add_axis(f, field_w, p.taps(), {3}, [&](const std::int64_t* i) { return range(i[0], 1, p.taps()); });
  const std::int64_t set = w.outputs * w.depth;
  add_axis(f, field_w, set, {}, [&](const std::int64_t*) { return range(0, set, set); });
  finish_field(field_w, static_cast<std::uint64_t>(sums * w.placed.storage.elements()));
  f.fields = {std::move(field_x), std::move(field_dy), std::move(field_w)};
  add(std::move(f));
  add_up(cluster, partials, sums, gradient, kVector * grain_.vectors, std::nullopt);
  update(w.placed, gradient);
}

/// Sums of dy over positions (g at a time) and rows of the batch; of a single row it is dy itself.
Placed Expander::bias_gradient(std::uint32_t cluster, const Placed& bias, const Placed& dy) {
  const Storage& s = dy.storage;
  const std::int64_t positions = s.positions();
  if (positions * s.outer == 1) return dy;
  const std::int64_t rows = positions == 1 ? std::min(s.outer, kVector) : 1;
  const std::int64_t taken = std::min(positions, kVector * grain_.vectors);
  const std::int64_t columns = positions == 1 ? std::min(s.block, kVector * grain_.vectors) : s.block;
  const std::int64_t outer_parts = parts_of(s.outer, rows), position_parts = parts_of(positions, taken);
  Family f = family("BiasGradient", cluster, {s.blocks, parts_of(s.block, columns), outer_parts, position_parts});
  Field in{"dy", dy.tensor, false, {}};
  add_axis(f, in, s.outer, {2}, [&](const std::int64_t* i) { return range(i[0] * rows, rows, s.outer); });
  add_axis(f, in, s.blocks, {0}, [&](const std::int64_t* i) { return range(i[0], 1, s.blocks); });
  add_axis(f, in, positions, {3}, [&](const std::int64_t* i) { return range(i[0] * taken, taken, positions); });
  add_axis(f, in, s.block, {1}, [&](const std::int64_t* i) { return range(i[0] * columns, columns, s.block); });
  finish_field(in, static_cast<std::uint64_t>(s.elements()));
  const Placed gradient = like(bias, "gradient of " + s_.tensors[bias.tensor].name, cluster);
  const std::int64_t parts = outer_parts * position_parts;
  TensorId sums = gradient.tensor;
  if (parts > 1)
    sums = tensor("partial sums of " + s_.tensors[gradient.tensor].name, parts * bias.storage.elements(), cluster);
  Field out{"sum", sums, true, {}};
  add_axis(f, out, outer_parts, {2}, [&](const std::int64_t* i) { return range(i[0], 1, outer_parts); });
  add_axis(f, out, position_parts, {3}, [&](const std::int64_t* i) { return range(i[0], 1, position_parts); });
  add_axis(f, out, s.blocks, {0}, [&](const std::int64_t* i) { return range(i[0], 1, s.blocks); });
  add_axis(f, out, s.block, {1}, [&](const std::int64_t* i) { return range(i[0] * columns, columns, s.block); });
  finish_field(out, static_cast<std::uint64_t>(parts * bias.storage.elements()));
  f.fields = {std::move(in), std::move(out)};
  add(std::move(f));
  add_up(cluster, sums, parts, gradient, columns, std::nullopt);
  return gradient;
}

void Expander::product_forward(const model::Node& node, const Product& p, const Placed& x, const Placed& y, bool bias) {
  const std::uint32_t at = cluster(Role::forward);
  const std::size_t slot = weights_.count({layer_, 0});
  const Weights w = weights(p, x.storage, y.storage, node.name + " weights");
  weights_[{layer_, slot}] = w;
  std::optional<Placed> b;
  if (bias) {
    Storage s;
    s.channels = y.storage.channels;
    s.blocks = y.storage.blocks;
    s.block = y.storage.block;
    b = Placed{tensor(node.name + " bias", s.elements(), s_.tensors[w.placed.tensor].cluster), s};
    weights_[{layer_, slot + 100}].placed = *b;
  }
  slide("Product", at, p, x, w, y, b, false);
}

/// Gradients of the operand (if something needs it), the weights and the bias of slot `slot`.
void Expander::product_backward(const Product& p, model::ValueId x_id, const Placed& x, const Placed& dy,
                                std::size_t slot) {
  const Weights w = weights_.at({layer_, slot});
  if (needs_gradient(x_id)) {
    const std::uint32_t at = cluster(Role::gradient);
    const Placed dx = like(x, "gradient of " + s_.tensors[x.tensor].name, at);
    // The weights again, in the order in which this product uses them: moved by exchange, no vertices.
    const Weights turned = weights(p, dy.storage, x.storage, s_.tensors[w.placed.tensor].name + " (transposed)");
    slide("GradientProduct", at, p, dy, turned, dx, std::nullopt, true);
    give(x_id, dx);
  }
  const std::uint32_t at = cluster(Role::weight_gradient);
  weight_gradient(at, p, x, dy, w);
  const auto bias = weights_.find({layer_, slot + 100});
  if (bias == weights_.end()) return;
  const Placed& b = bias->second.placed;
  update(b, bias_gradient(at, b, dy));
}

/// y[batch] = a[batch] x b[batch] of activations; a is [m][k] or transposed [k][m], b [k][n] or transposed [n][k].
void Expander::matrices(const std::string& codelet, std::uint32_t cluster, const Placed& a, bool a_transposed,
                        const Placed& b, bool b_transposed, const Placed& y, std::int64_t batch, std::int64_t m,
                        std::int64_t k, std::int64_t n) {
  const std::int64_t parts = parts_of(k, kVector), q = std::min(grain_.vectors, n);
  Family f = family(codelet, cluster, {batch, m, parts_of(n, q), parts});
  const auto operand = [&](const char* name, const Placed& p, bool turned, std::int64_t rows, std::int64_t columns,
                           std::uint8_t row_loop, std::int64_t row_step, std::uint8_t column_loop,
                           std::int64_t column_step) {
    const std::int64_t batches = p.storage.elements() / (rows * columns);
    Field field{name, p.tensor, false, {}};
    add_axis(f, field, batches, {0}, [&](const std::int64_t* i) { return range(i[0] % batches, 1, batches); });
    const auto row = [&] {
      add_axis(f, field, rows, {row_loop},
               [&](const std::int64_t* i) { return range(i[0] * row_step, row_step, rows); });
    };
    if (!turned) row();
    add_axis(f, field, columns, {column_loop},
             [&](const std::int64_t* i) { return range(i[0] * column_step, column_step, columns); });
    if (turned) row();
    finish_field(field, static_cast<std::uint64_t>(p.storage.elements()));
    f.fields.push_back(std::move(field));
  };
  operand("a", a, a_transposed, m, k, 1, 1, 3, kVector);
  operand("b", b, b_transposed, k, n, 3, kVector, 2, q);
  TensorId partials = y.tensor;
  if (parts > 1) partials = tensor("partial sums of " + s_.tensors[y.tensor].name, parts * batch * m * n, cluster);
  Field out{"partial", partials, true, {}};
  add_axis(f, out, parts, {3}, [&](const std::int64_t* i) { return range(i[0], 1, parts); });
  add_axis(f, out, batch, {0}, [&](const std::int64_t* i) { return range(i[0], 1, batch); });
  add_axis(f, out, m, {1}, [&](const std::int64_t* i) { return range(i[0], 1, m); });
  add_axis(f, out, n, {2}, [&](const std::int64_t* i) { return range(i[0] * q, q, n); });
  finish_field(out, static_cast<std::uint64_t>(parts * batch * m * n));
  f.fields.push_back(std::move(out));
  add(std::move(f));
  Placed flat = y;
  flat.storage = {};
  flat.storage.outer = batch * m;
  flat.storage.block = flat.storage.channels = n;
  add_up(cluster, partials, parts, flat, q, std::nullopt);
}

void Expander::activations_product(const model::Node& node, bool gradient) {
  const model::Shape& sa = model_.value(node.inputs[0]).shape;
  const model::Shape& sb = model_.value(node.inputs[1]).shape;
  const Placed a = value(node.inputs[0]), b = value(node.inputs[1]), y = value(node.outputs[0]);
  const std::int64_t k = sa.back(), m = sa.size() > 1 ? sa[sa.size() - 2] : 1, n = sb.size() > 1 ? sb.back() : 1;
  const std::int64_t batch = y.storage.elements() / (m * n);
  if (!gradient) return matrices("Product", cluster(Role::forward), a, false, b, false, y, batch, m, k, n);
  const std::uint32_t at = cluster(Role::gradient);
  const std::optional<Placed> dy = taken(node.outputs[0], at);
  if (!dy) return;
  const auto name = [&](const Placed& p) { return "gradient of " + s_.tensors[p.tensor].name; };
  if (needs_gradient(node.inputs[0]) && a.storage.elements() == batch * m * k) {
    const Placed da = like(a, name(a), at);
    matrices("GradientProduct", at, *dy, false, b, true, da, batch, m, n, k);
    give(node.inputs[0], da);
  }
  if (needs_gradient(node.inputs[1]) && b.storage.elements() == batch * k * n) {
    const Placed db = like(b, name(b), at);
    matrices("GradientProduct", at, a, true, *dy, false, db, batch, k, m, n);
    give(node.inputs[1], db);
  }
}

/// LSTM, GRU, RNN over all steps: products of input and state with their weights, then the gates element by element.
void Expander::recurrent(const model::Node& node, bool gradient) {
  const model::Shape& shape = model_.value(node.inputs[0]).shape;   // [steps, batch, inputs] or batch first
  const model::Shape& weight = model_.value(node.inputs[1]).shape;  // [directions, gates x hidden, inputs]
  const std::int64_t steps = shape.at(0) * shape.at(1), directions = weight.at(0), width = weight.at(1);
  const std::int64_t hidden = std::get<model::RecurrentAttributes>(node.attributes).hidden;
  const auto rows = [&](const std::string& name, std::int64_t channels, std::uint32_t at) {
    Storage s;
    s.outer = steps;
    s.block = s.channels = channels;
    return Placed{tensor(name, s.elements(), at), s};
  };
  const Product p;
  const Placed x = value(node.inputs[0]);
  if (!gradient) {
    const std::uint32_t at = cluster(Role::forward);
    const Placed state = rows(node.name + " states", directions * hidden, at);
    const Placed gates_x = rows(node.name + " gates of inputs", directions * width, at);
    const Placed gates_h = rows(node.name + " gates of states", directions * width, at);
    product_forward(node, p, x, gates_x, true);
    product_forward(node, p, state, gates_h, false);
    elementwise("Gates", at, {gates_x, gates_h}, state);
    for (const model::ValueId out : node.outputs) {
      if (out != model::kAbsent) elementwise("Move", at, {state}, place(out, at));
    }
    weights_[{layer_, 50}].placed = state;
    return;
  }
  const std::uint32_t at = cluster(Role::gradient);
  std::optional<Placed> dy;
  for (const model::ValueId out : node.outputs) {
    if (out != model::kAbsent && !dy) dy = taken(out, at);
  }
  if (!dy) return;
  const Placed gates = rows(node.name + " gradient of gates", directions * width, at);
  elementwise("GatesGradient", at, {*dy}, gates);
  product_backward(p, node.inputs[0], x, gates, 0);
  product_backward(p, model::kAbsent, weights_.at({layer_, 50}).placed, gates, 1);
}

}  // namespace tessera::scale
