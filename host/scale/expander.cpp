// The walk over the model: layouts of values, forward in order, the loss, gradients in reverse.
#include "host/scale/expander.h"

#include <fmt/format.h>

#include <algorithm>

#include "hw/error.h"

namespace tessera::scale {

namespace {

using model::Op;

enum class Kind { view, product, recurrent, pool, batch_norm, local_norm, row_norm, reduction, plain };

Kind kind_of(const model::Node& node) {
  switch (node.op) {
    case Op::Reshape:
    case Op::Flatten:
    case Op::Squeeze:
    case Op::Unsqueeze:
    case Op::Identity:
    case Op::Dropout:
      return Kind::view;
    case Op::Conv:
    case Op::Gemm:
    case Op::MatMul:
      return Kind::product;
    case Op::LSTM:
    case Op::GRU:
    case Op::RNN:
      return Kind::recurrent;
    case Op::MaxPool:
    case Op::AveragePool:
      return Kind::pool;
    case Op::BatchNormalization:
      return Kind::batch_norm;
    case Op::LRN:
      return Kind::local_norm;
    case Op::Softmax:
    case Op::LogSoftmax:
    case Op::Hardmax:
    case Op::LayerNormalization:
    case Op::InstanceNormalization:
    case Op::MeanVarianceNormalization:
      return Kind::row_norm;
    case Op::GlobalAveragePool:
    case Op::GlobalMaxPool:
      return Kind::reduction;
    default:
      return model::name_of(node.op).substr(0, 6) == "Reduce" || node.op == Op::ArgMax || node.op == Op::ArgMin
                 ? Kind::reduction
                 : Kind::plain;
  }
}

bool has_channels(const model::Node& node) {
  const Kind kind = kind_of(node);
  return node.op == Op::Conv || node.op == Op::ConvTranspose || kind == Kind::pool || kind == Kind::local_norm ||
         node.op == Op::GlobalAveragePool || node.op == Op::GlobalMaxPool || kind == Kind::batch_norm;
}

bool is_float(model::Type type) { return type == model::Type::f32 || type == model::Type::f16; }

}  // namespace

Expander::Expander(const model::Model& model, const Grain& grain, unsigned tiles)
    : model_(model), grain_(grain), image_(model.values.size(), false), wants_(model.values.size(), false) {
  if (grain.vectors < 1) throw Error(Category::usage, "a grain of no vector", "", "give 1 or more, or full");
  s_.tiles = tiles;
  for (const model::Node& node : model.nodes) {
    for (const model::ValueId out : node.outputs) {
      if (out != model::kAbsent && model::element_count(model.value(out).shape) == 0)
        throw Error(Category::usage, "value '" + model.value(out).name + "' has no elements", "node " + node.name,
                    "give shapes with which every value has elements (--shape)");
    }
  }
  for (std::size_t v = 0; v < model.values.size(); ++v) image_[v] = model.values[v].shape.size() >= 4;
  for (const model::Node& node : model.nodes) {
    if (!has_channels(node)) continue;
    if (model.value(node.inputs[0]).shape.size() >= 3) image_[node.inputs[0]] = true;
    if (model.value(node.outputs[0]).shape.size() >= 3) image_[node.outputs[0]] = true;
  }
  // Element-wise results lie as their operand, so that nothing is moved between.
  for (const model::Node& node : model.nodes) {
    if (kind_of(node) != Kind::plain && kind_of(node) != Kind::row_norm) continue;
    const model::Value& out = model.value(node.outputs[0]);
    for (const model::ValueId in : node.inputs) {
      if (in != model::kAbsent && model.value(in).shape == out.shape && image_[in]) image_[node.outputs[0]] = true;
    }
  }
}

Structure Expander::run() {
  for (const model::ValueId in : model_.inputs) {
    layer_ = static_cast<std::uint32_t>(s_.layers.size());
    s_.layers.push_back(model_.value(in).name);
    (void)place(in, cluster(Role::input));
  }
  const auto first = static_cast<std::uint32_t>(s_.layers.size());
  for (const model::Node& node : model_.nodes) s_.layers.push_back(node.name);
  for (std::size_t n = 0; n < model_.nodes.size(); ++n) {
    layer_ = first + static_cast<std::uint32_t>(n);
    forward(model_.nodes[n]);
  }
  if (!grain_.training) return std::move(s_);
  for (const model::ValueId out : model_.outputs) {
    if (!is_float(model_.value(out).type) || !needs_gradient(out)) continue;
    layer_ = static_cast<std::uint32_t>(s_.layers.size());
    s_.layers.push_back("loss of " + model_.value(out).name);
    const std::uint32_t at = cluster(Role::loss);
    const Placed y = value(out);
    const Placed target = like(y, "target of " + model_.value(out).name, at);
    const Placed dy = like(y, "gradient of " + model_.value(out).name, at);
    elementwise("LossGradient", at, {y, target}, dy);
    give(out, dy);
  }
  for (std::size_t n = model_.nodes.size(); n-- > 0;) {
    layer_ = first + static_cast<std::uint32_t>(n);
    backward(model_.nodes[n]);
  }
  return std::move(s_);
}

void Expander::forward(const model::Node& node) {
  const Kind kind = kind_of(node);
  if (std::all_of(node.inputs.begin(), node.inputs.end(),
                  [&](model::ValueId in) { return in == model::kAbsent || model_.value(in).constant.has_value(); }))
    return;  // known before the run
  for (const model::ValueId in : node.inputs) {
    if (in != model::kAbsent && wants_[in]) wants_[node.outputs[0]] = true;
  }
  if (kind == Kind::product || kind == Kind::recurrent || kind == Kind::batch_norm) {
    for (const model::ValueId out : node.outputs) {
      if (out != model::kAbsent) wants_[out] = true;
    }
  }
  const std::uint32_t at = kind == Kind::view ? 0 : cluster(Role::forward);
  if (kind != Kind::view) {
    for (const model::ValueId out : node.outputs) {
      if (out != model::kAbsent) (void)place(out, at);
    }
  }
  switch (kind) {
    case Kind::view: {
      const Placed x = value(node.inputs[0]);
      const Storage s = storage_of(node.outputs[0]);
      if (s.elements() == x.storage.elements()) {
        values_[node.outputs[0]] = {x.tensor, s};
      } else {  // other padding: moved
        elementwise("Move", cluster(Role::forward), {x}, place(node.outputs[0], cluster(Role::forward)));
      }
      break;
    }
    case Kind::product: {
      if (!is_parameter(node.inputs[1])) return activations_product(node, false);
      const Placed x = value(node.inputs[0]);
      const bool bias = node.inputs.size() > 2 && node.inputs[2] != model::kAbsent;
      product_forward(node, product_of(node), x, value(node.outputs[0]), bias);
      break;
    }
    case Kind::recurrent:
      return recurrent(node, false);
    case Kind::pool:
      return pool(node, false);
    case Kind::batch_norm:
      return batch_norm(node, false);
    case Kind::local_norm:
      return local_norm(node, false);
    case Kind::row_norm:
      return row_norm(node, false);
    case Kind::reduction:
      return reduction(node, false);
    case Kind::plain:
      return plain(node, false);
  }
}

void Expander::backward(const model::Node& node) {
  if (!needs_gradient(node.outputs[0]) || values_.count(node.outputs[0]) == 0) return;
  switch (kind_of(node)) {
    case Kind::view: {
      const std::optional<Placed> dy = taken(node.outputs[0], cluster(Role::gradient));
      if (!dy || !needs_gradient(node.inputs[0])) return;
      const Placed x = value(node.inputs[0]);
      if (x.storage.elements() == dy->storage.elements()) return give(node.inputs[0], {dy->tensor, x.storage});
      const Placed dx = like(x, "gradient of " + s_.tensors[x.tensor].name, cluster(Role::gradient));
      elementwise("Move", cluster(Role::gradient), {*dy}, dx);
      return give(node.inputs[0], dx);
    }
    case Kind::product: {
      if (!is_parameter(node.inputs[1])) return activations_product(node, true);
      const std::optional<Placed> dy = taken(node.outputs[0], cluster(Role::gradient));
      if (dy) product_backward(product_of(node), node.inputs[0], value(node.inputs[0]), *dy, 0);
      return;
    }
    case Kind::recurrent:
      return recurrent(node, true);
    case Kind::pool:
      return pool(node, true);
    case Kind::batch_norm:
      return batch_norm(node, true);
    case Kind::local_norm:
      return local_norm(node, true);
    case Kind::row_norm:
      return row_norm(node, true);
    case Kind::reduction:
      return reduction(node, true);
    case Kind::plain:
      return plain(node, true);
  }
}

Storage Expander::storage_of(model::ValueId id) const {
  const model::Shape& shape = model_.value(id).shape;
  Storage s;
  if (!image_[id]) {
    s.channels = s.block = shape.empty() ? 1 : shape.back();
    s.outer = model::element_count(shape) / std::max<std::int64_t>(1, s.block);
    return s;
  }
  s.outer = shape[0];
  s.channels = shape[1];
  s.block = s.channels % 16 == 0 ? 16 : s.channels % 8 == 0 ? 8 : 4;
  s.blocks = (s.channels + s.block - 1) / s.block;
  s.spatial.assign(shape.begin() + 2, shape.end());
  return s;
}

Placed& Expander::place(model::ValueId id, std::uint32_t at) {
  const Storage s = storage_of(id);
  return values_[id] = {tensor(model_.value(id).name, s.elements(), at), s};
}

/// The place of a value; constants get theirs at first use.
const Placed& Expander::value(model::ValueId id) {
  const auto found = values_.find(id);
  if (found != values_.end()) return found->second;
  return place(id, cluster(grain_.training ? Role::update : Role::parameters));
}

Placed Expander::like(const Placed& other, const std::string& name, std::uint32_t at) {
  return {tensor(name, other.storage.elements(), at), other.storage};
}

bool Expander::is_parameter(model::ValueId id) const {
  return id != model::kAbsent && model_.value(id).constant.has_value() && is_float(model_.value(id).type);
}

bool Expander::needs_gradient(model::ValueId id) const { return id != model::kAbsent && wants_[id]; }

void Expander::give(model::ValueId id, const Placed& gradient) { gradients_[id].push_back(gradient); }

/// The gradient of a value, contributions of several readers added; nothing if none came.
std::optional<Placed> Expander::taken(model::ValueId id, std::uint32_t at) {
  const auto found = gradients_.find(id);
  if (found == gradients_.end()) return std::nullopt;
  std::vector<Placed>& list = found->second;
  if (list.size() > 1) {
    const Placed sum = like(value(id), "gradient of " + model_.value(id).name, at);
    elementwise("AddGradients", at, list, sum);
    list = {sum};
  }
  return list.front();
}

std::uint32_t Expander::cluster(Role role) {
  const auto [at, fresh] = clusters_.try_emplace({layer_, role}, static_cast<std::uint32_t>(s_.clusters.size()));
  if (fresh) s_.clusters.push_back({layer_, role});
  return at->second;
}

TensorId Expander::tensor(const std::string& name, std::int64_t elements, std::uint32_t at) {
  s_.tensors.push_back({name, static_cast<std::uint64_t>(elements), at});
  return static_cast<TensorId>(s_.tensors.size() - 1);
}

Family Expander::family(const std::string& codelet, std::uint32_t at, std::vector<std::int64_t> loops) const {
  Family f;
  f.codelet = codelet;
  f.cluster = at;
  f.loops = std::move(loops);
  double members = 1;
  for (const std::int64_t e : f.loops) members *= static_cast<double>(e);
  if (members > 1099511627776.0)
    throw Error(Category::does_not_fit, fmt::format("{:.3g} vertices of {} in one family", members, codelet),
                s_.layers.at(s_.clusters.at(at).layer), "choose a coarser grain");
  return f;
}

void Expander::add(Family f) { s_.families.push_back(std::move(f)); }

Structure expand(const model::Model& model, const Grain& grain, unsigned tiles) {
  return Expander(model, grain, tiles).run();
}

}  // namespace tessera::scale
