// Convolutions, pooling and normalisations as oneDNN computes them. Internal to host/golden.
#include <algorithm>

#include "host/golden/numbers.h"
#include "host/golden/onednn_memory.h"

namespace tessera::golden::onednn {

using model::Op;
using model::Shape;
using model::Tensor;
using Inputs = std::vector<const Tensor*>;

namespace {

constexpr auto kInference = dnnl::prop_kind::forward_inference;

bool has(const Inputs& in, std::size_t i) { return i < in.size() && in[i] != nullptr; }

/// [groups, outputs, inputs, taps...] over ONNX's weights, which have the axes of `order` (0: outputs, 1: inputs).
Operand grouped_weights(const dnnl::engine& engine, const Tensor& w, std::int64_t groups, bool transposed) {
  const std::int64_t taps = product_of(w.shape, 2, w.shape.size());
  const std::int64_t first = w.shape[0] / groups, second = w.shape[1];
  Dims dims = {groups, transposed ? second : first, transposed ? first : second};
  Dims strides = {first * second * taps, transposed ? taps : second * taps, transposed ? second * taps : taps};
  const Dims tap_dims(w.shape.begin() + 2, w.shape.end()), tap_strides = dense(tap_dims);
  dims.insert(dims.end(), tap_dims.begin(), tap_dims.end());
  strides.insert(strides.end(), tap_strides.begin(), tap_strides.end());
  return Operand(engine, w, dims, strides);
}

template <typename Forward>
Tensor convolution(const model::ConvAttributes& attributes, const Inputs& in, const Shape& shape,
                   dnnl::algorithm algorithm, bool transposed) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  Dims gaps = attributes.dilations;
  for (auto& gap : gaps) --gap;
  Tensor result(model::Type::f32, shape);
  Tensor zero(model::Type::f32, {shape[1]});
  const Tensor& b = has(in, 2) ? *in[2] : zero;
  // What the padding behind has to be for this result: the model's, unless a stride leaves a rest.
  Dims behind = attributes.pads_end;
  for (std::size_t k = 0; k < behind.size(); ++k) {
    const std::int64_t wide = transposed ? shape[k + 2] : in[0]->shape[k + 2];
    const std::int64_t narrow = transposed ? in[0]->shape[k + 2] : shape[k + 2];
    const std::int64_t reach = (attributes.kernel[k] - 1) * attributes.dilations[k] + 1;
    behind[k] = (narrow - 1) * attributes.strides[k] + reach - wide - attributes.pads_begin[k];
  }
  const Operand x(engine, *in[0], in[0]->shape, dense(in[0]->shape)), bias(engine, b, b.shape, {1}),
      w = grouped_weights(engine, *in[1], attributes.group, transposed), y(engine, result, shape, dense(shape));
  const typename Forward::desc desc(kInference, algorithm, x.desc, w.desc, bias.desc, y.desc, attributes.strides, gaps,
                                    attributes.pads_begin, behind);
  execute(
      engine, Forward({desc, engine}),
      {{DNNL_ARG_SRC, x.memory}, {DNNL_ARG_WEIGHTS, w.memory}, {DNNL_ARG_BIAS, bias.memory}, {DNNL_ARG_DST, y.memory}});
  return result;
}

/// Windows without dilation that end inside the padded field.
std::optional<Tensor> pooling(Op op, const model::PoolAttributes& attributes, const Tensor& x, const Shape& shape) {
  const bool dilated =
      std::any_of(attributes.dilations.begin(), attributes.dilations.end(), [](std::int64_t d) { return d != 1; });
  if (dilated || attributes.ceil_mode) return std::nullopt;
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  Tensor result(model::Type::f32, shape);
  Dims behind = attributes.pads_end;
  for (std::size_t k = 0; k < behind.size(); ++k)
    behind[k] =
        (shape[k + 2] - 1) * attributes.strides[k] + attributes.kernel[k] - x.shape[k + 2] - attributes.pads_begin[k];
  const auto algorithm = op == Op::MaxPool              ? dnnl::algorithm::pooling_max
                         : attributes.count_include_pad ? dnnl::algorithm::pooling_avg_include_padding
                                                        : dnnl::algorithm::pooling_avg_exclude_padding;
  const Operand in(engine, x, x.shape, dense(x.shape)), out(engine, result, shape, dense(shape));
  const dnnl::pooling_forward::desc desc(kInference, algorithm, in.desc, out.desc, attributes.strides,
                                         attributes.kernel, attributes.pads_begin, behind);
  execute(engine, dnnl::pooling_forward({desc, engine}), {{DNNL_ARG_SRC, in.memory}, {DNNL_ARG_DST, out.memory}});
  return result;
}

Tensor batch_norm(const model::NormAttributes& attributes, const Inputs& in) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const Tensor& x = *in[0];
  Tensor result(model::Type::f32, x.shape);
  const auto vector = [&](std::size_t i) { return Operand(engine, *in[i], in[i]->shape, {1}); };
  const Operand src(engine, x, x.shape, dense(x.shape)), dst(engine, result, x.shape, dense(x.shape)),
      scale = vector(1), shift = vector(2), mean = vector(3), variance = vector(4);
  using Flags = dnnl::normalization_flags;
  const dnnl::batch_normalization_forward::desc desc(kInference, src.desc, attributes.epsilon,
                                                     Flags::use_global_stats | Flags::use_scale | Flags::use_shift);
  execute(engine, dnnl::batch_normalization_forward({desc, engine}),
          {{DNNL_ARG_SRC, src.memory},
           {DNNL_ARG_MEAN, mean.memory},
           {DNNL_ARG_VARIANCE, variance.memory},
           {DNNL_ARG_SCALE, scale.memory},
           {DNNL_ARG_SHIFT, shift.memory},
           {DNNL_ARG_DST, dst.memory}});
  return result;
}

/// Over the last axis, with scale and bias.
Tensor layer_norm(const model::NormAttributes& attributes, const Inputs& in) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const Tensor& x = *in[0];
  const Dims dims = {x.elements() / x.shape.back(), x.shape.back()};
  Tensor result(model::Type::f32, x.shape);
  const auto vector = [&](std::size_t i) { return Operand(engine, *in[i], {x.shape.back()}, {1}); };
  const Operand src(engine, x, dims, dense(dims)), dst(engine, result, dims, dense(dims)), scale = vector(1),
                                                                                           shift = vector(2);
  using Flags = dnnl::normalization_flags;
  const dnnl::layer_normalization_forward::desc desc(kInference, src.desc, attributes.epsilon,
                                                     Flags::use_scale | Flags::use_shift);
  execute(engine, dnnl::layer_normalization_forward({desc, engine}),
          {{DNNL_ARG_SRC, src.memory},
           {DNNL_ARG_SCALE, scale.memory},
           {DNNL_ARG_SHIFT, shift.memory},
           {DNNL_ARG_DST, dst.memory}});
  return result;
}

}  // namespace

std::optional<Tensor> network_operator(const model::Node& node, const Inputs& in, const Shape& shape) {
  const auto few_axes = [&] { return in[0]->shape.size() >= 3 && in[0]->shape.size() <= 5; };
  const auto only_first = [&] {
    return std::count_if(node.outputs.begin(), node.outputs.end(),
                         [](model::ValueId id) { return id != model::kAbsent; }) == 1;
  };
  switch (node.op) {
    case Op::Conv:
      if (!few_axes()) return std::nullopt;
      return convolution<dnnl::convolution_forward>(std::get<model::ConvAttributes>(node.attributes), in, shape,
                                                    dnnl::algorithm::convolution_direct, false);
    case Op::ConvTranspose:
      if (!few_axes()) return std::nullopt;
      return convolution<dnnl::deconvolution_forward>(std::get<model::ConvAttributes>(node.attributes), in, shape,
                                                      dnnl::algorithm::deconvolution_direct, true);
    case Op::MaxPool:
    case Op::AveragePool:
      if (!few_axes() || !only_first()) return std::nullopt;
      return pooling(node.op, std::get<model::PoolAttributes>(node.attributes), *in[0], shape);
    case Op::BatchNormalization:
      if (in[0]->shape.size() < 2 || in[0]->shape.size() > 5) return std::nullopt;
      return batch_norm(std::get<model::NormAttributes>(node.attributes), in);
    case Op::LayerNormalization: {
      const auto& attributes = std::get<model::NormAttributes>(node.attributes);
      const bool last = attributes.axis + 1 == static_cast<std::int64_t>(in[0]->shape.size());
      const bool whole = has(in, 1) && has(in, 2) && in[1]->elements() == in[0]->shape.back() &&
                         in[2]->elements() == in[0]->shape.back();
      if (!last || !whole || !only_first()) return std::nullopt;
      return layer_norm(attributes, in);
    }
    default:
      return std::nullopt;
  }
}

}  // namespace tessera::golden::onednn
