// Operators with windows over spatial axes [N, C, ...]: convolution, pooling, local response normalisation.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "host/onnx/ops.h"

namespace tessera::model {

namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();

std::size_t spatial_axes(const Reading& r) {
  if (r.rank() < 3) r.fail(fmt::format("{} has no spatial axes", to_string(r.shape())));
  return static_cast<std::size_t>(r.rank() - 2);
}

/// One number from `least` on for each spatial axis.
Extents spatial(const Reading& r, const std::string& name, std::size_t axes, std::int64_t least,
                const Extents& standard) {
  const Extents values = r.integers(name).value_or(standard);
  if (values.size() != axes)
    r.fail(fmt::format("attribute '{}' has {} values instead of {}", name, values.size(), axes));
  for (const std::int64_t value : values)
    if (value < least || value > kLargest) r.fail(fmt::format("attribute '{}' has value {}", name, value));
  return values;
}

std::int64_t window(std::int64_t kernel, std::int64_t dilation) { return sum(product(kernel - 1, dilation), 1); }

enum class AutoPad { explicit_pads, same_upper, same_lower, valid };

AutoPad auto_pad(const Reading& r) {
  const std::string name = r.text("auto_pad", "NOTSET");
  if (name == "SAME_UPPER") return AutoPad::same_upper;
  if (name == "SAME_LOWER") return AutoPad::same_lower;
  if (name == "VALID") return AutoPad::valid;
  if (name != "NOTSET" && !name.empty()) r.fail(fmt::format("auto_pad '{}'", name));
  return AutoPad::explicit_pads;
}

void explicit_pads(const Reading& r, std::size_t axes, Extents& begin, Extents& end) {
  const Extents pads = spatial(r, "pads", 2 * axes, 0, Extents(2 * axes, 0));
  begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes));
  end.assign(pads.begin() + static_cast<std::ptrdiff_t>(axes), pads.end());
}

/// `total` on both sides; the odd one where `mode` says.
void halve(std::int64_t total, AutoPad mode, Extents& begin, Extents& end) {
  const std::int64_t small = total / 2;
  begin.push_back(mode == AutoPad::same_upper ? small : total - small);
  end.push_back(mode == AutoPad::same_upper ? total - small : small);
}

/// Pads of a convolution or pool in numbers.
template <typename Attributes>
void resolve_pads(const Reading& r, Attributes& a) {
  const std::size_t axes = a.kernel.size();
  const AutoPad mode = auto_pad(r);
  if (mode == AutoPad::explicit_pads) return explicit_pads(r, axes, a.pads_begin, a.pads_end);
  for (std::size_t k = 0; k < axes; ++k) {
    const std::int64_t extent = r.shape()[k + 2];
    const std::int64_t count = extent == 0 ? 0 : (extent - 1) / a.strides[k] + 1;
    const std::int64_t reach =
        sum(product(std::max<std::int64_t>(count - 1, 0), a.strides[k]), window(a.kernel[k], a.dilations[k]));
    halve(mode == AutoPad::valid ? 0 : std::max<std::int64_t>(0, reach - extent), mode, a.pads_begin, a.pads_end);
  }
}

/// Everything but pads; the kernel's extents are those of the weights.
ConvAttributes conv_attributes(const Reading& r) {
  const std::size_t axes = spatial_axes(r);
  ConvAttributes conv;
  conv.group = r.integer("group", 1);
  if (conv.group < 1) r.fail(fmt::format("group {}", conv.group));
  if (r.rank(1) != r.rank()) r.fail(fmt::format("weights {} for {}", to_string(r.shape(1)), to_string(r.shape())));
  const Extents of_weights(r.shape(1).begin() + 2, r.shape(1).end());
  conv.kernel = spatial(r, "kernel_shape", axes, 1, of_weights);
  if (conv.kernel != of_weights)
    r.fail(fmt::format("kernel_shape {} with weights {}", to_string(conv.kernel), to_string(r.shape(1))));
  conv.strides = spatial(r, "strides", axes, 1, Extents(axes, 1));
  conv.dilations = spatial(r, "dilations", axes, 1, Extents(axes, 1));
  return conv;
}

void translate_conv(Reading& r) {
  ConvAttributes conv = conv_attributes(r);
  resolve_pads(r, conv);
  r.node.attributes = conv;
}

/// Positions of a window on each spatial axis.
template <typename Attributes>
void append_positions(const Inference& i, const Attributes& a, bool ceil, Shape& shape) {
  for (std::size_t k = 0; k < a.kernel.size(); ++k) {
    const std::int64_t extent = i.shape().at(k + 2);
    const std::int64_t padded = sum(extent, sum(a.pads_begin[k], a.pads_end[k]));
    const std::int64_t way = padded - window(a.kernel[k], a.dilations[k]);
    if (way < 0) misfit(fmt::format("a window of {} on an axis of {}", window(a.kernel[k], a.dilations[k]), padded));
    std::int64_t count = way / a.strides[k] + 1;
    // One more that begins within the data or the padding before them.
    if (ceil && way % a.strides[k] != 0 && count * a.strides[k] < extent + a.pads_begin[k]) ++count;
    shape.push_back(count);
  }
}

Inferred infer_conv(const Inference& i) {
  const auto& conv = i.attributes<ConvAttributes>();
  const Shape &x = i.shape(0), &w = i.shape(1);
  i.same_type(0, 1);
  i.same_type(0, 2);
  if (w.size() != x.size() || x[1] != product(w[1], conv.group) || w[0] % conv.group != 0)
    misfit(fmt::format("weights {} in {} groups for {}", to_string(w), conv.group, to_string(x)));
  i.expect_shape(2, {w[0]});
  Shape shape = {x[0], w[0]};
  append_positions(i, conv, false, shape);
  return {{i.type(), shape}};
}

/// Where the result's extents are given (output_shape, or multiples of the stride by SAME_*), pads follow from them;
/// where the result is longer than the full one, the rest is padding of the output.
void translate_conv_transpose(Reading& r) {
  ConvAttributes conv = conv_attributes(r);
  const std::size_t axes = conv.kernel.size();
  conv.output_padding = spatial(r, "output_padding", axes, 0, Extents(axes, 0));
  const AutoPad mode = auto_pad(r);
  Extents wanted = r.integers("output_shape").value_or(Extents());
  if (wanted.size() == axes + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);  // some write it with N and C
  const bool same = mode == AutoPad::same_upper || mode == AutoPad::same_lower;
  if (wanted.empty() && same)
    for (std::size_t k = 0; k < axes; ++k) wanted.push_back(product(r.shape()[k + 2], conv.strides[k]));
  if (wanted.empty() && mode == AutoPad::valid) {
    conv.pads_begin = conv.pads_end = Extents(axes, 0);
  } else if (wanted.empty()) {
    explicit_pads(r, axes, conv.pads_begin, conv.pads_end);
  } else {
    if (wanted.size() != axes) r.fail("output_shape is not one extent for each spatial axis");
    for (std::size_t k = 0; k < axes; ++k) {
      if (wanted[k] < 0 || wanted[k] > kLargest) r.fail(fmt::format("output_shape has extent {}", wanted[k]));
      const std::int64_t full = sum(product(conv.strides[k], r.shape()[k + 2] - 1),
                                    sum(conv.output_padding[k], window(conv.kernel[k], conv.dilations[k])));
      const std::int64_t total = full - wanted[k];
      if (total < 0) conv.output_padding[k] -= total;
      halve(std::max<std::int64_t>(total, 0), mode, conv.pads_begin, conv.pads_end);
    }
  }
  r.node.attributes = conv;
}

Inferred infer_conv_transpose(const Inference& i) {
  const auto& conv = i.attributes<ConvAttributes>();
  const Shape &x = i.shape(0), &w = i.shape(1);
  i.same_type(0, 1);
  i.same_type(0, 2);
  if (w.size() != x.size() || x[1] != w[0] || x[1] % conv.group != 0)
    misfit(fmt::format("weights {} in {} groups for {}", to_string(w), conv.group, to_string(x)));
  const std::int64_t channels = product(w[1], conv.group);
  i.expect_shape(2, {channels});
  Shape shape = {x[0], channels};
  for (std::size_t k = 0; k < conv.kernel.size(); ++k) {
    if (x[k + 2] == 0) misfit("a transposed convolution of nothing");
    const std::int64_t full = sum(product(conv.strides[k], x[k + 2] - 1),
                                  sum(conv.output_padding[k], window(conv.kernel[k], conv.dilations[k])));
    shape.push_back(full - conv.pads_begin[k] - conv.pads_end[k]);
    if (shape.back() < 0) misfit("pads exceed the result");
  }
  return {{i.type(), shape}};
}

void translate_pool(Reading& r) {
  const std::size_t axes = spatial_axes(r);
  PoolAttributes pool;
  if (!r.given("kernel_shape")) r.fail("a pool without kernel_shape");
  pool.kernel = spatial(r, "kernel_shape", axes, 1, {});
  pool.strides = spatial(r, "strides", axes, 1, Extents(axes, 1));
  pool.dilations = spatial(r, "dilations", axes, 1, Extents(axes, 1));
  pool.ceil_mode = r.flag("ceil_mode");
  pool.count_include_pad = r.flag("count_include_pad");
  pool.column_major = r.flag("storage_order");
  resolve_pads(r, pool);
  for (std::size_t k = 0; k < axes; ++k)
    if (std::max(pool.pads_begin[k], pool.pads_end[k]) >= window(pool.kernel[k], pool.dilations[k]))
      r.fail("pads as wide as the window");
  r.node.attributes = pool;
}

void translate_global_pool(Reading& r) {
  const std::size_t axes = spatial_axes(r);
  PoolAttributes pool;
  pool.kernel = Extents(r.shape().begin() + 2, r.shape().end());
  if (std::count(pool.kernel.begin(), pool.kernel.end(), 0) != 0) r.fail("a pool over nothing");
  pool.strides = pool.dilations = Extents(axes, 1);
  pool.pads_begin = pool.pads_end = Extents(axes, 0);
  r.node.attributes = pool;
}

/// The second result is MaxPool's indices.
Inferred infer_pool(const Inference& i) {
  const auto& pool = i.attributes<PoolAttributes>();
  Shape shape = {i.shape().at(0), i.shape().at(1)};
  append_positions(i, pool, pool.ceil_mode, shape);
  return {{i.type(), shape}, {Type::i64, shape}};
}

void translate_lrn(Reading& r) {
  LrnAttributes lrn{r.real("alpha", 1e-4F), r.real("beta", 0.75F), r.real("bias", 1.0F), r.integer("size", 0)};
  if (lrn.size < 1 || lrn.size > kLargest) r.fail(fmt::format("size {}", lrn.size));
  r.node.attributes = lrn;
}

Inferred infer_lrn(const Inference& i) {
  if (i.rank() < 2) misfit("it takes [N, C, ...]");
  return infer_same(i);
}

}  // namespace

std::vector<Operator> spatial_operators() {
  return {{Op::AveragePool, kReal, translate_pool, infer_pool},
          {Op::Conv, kReal, translate_conv, infer_conv},
          {Op::ConvTranspose, kReal, translate_conv_transpose, infer_conv_transpose},
          {Op::GlobalAveragePool, kReal, translate_global_pool, infer_pool},
          {Op::GlobalMaxPool, kReal, translate_global_pool, infer_pool},
          {Op::LRN, kReal, translate_lrn, infer_lrn},
          {Op::MaxPool, kReal | bit(Type::i8) | bit(Type::u8), translate_pool, infer_pool}};
}

}  // namespace tessera::model
