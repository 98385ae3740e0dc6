// Nodes that products take with them (fuse.h).
#include "host/nn/fuse.h"

#include <algorithm>
#include <cmath>

namespace tessera::nn {

using model::Model;
using model::Node;
using model::Op;
using model::Shape;
using model::Value;
using model::ValueId;

namespace {

constexpr std::size_t kNobody = ~std::size_t{0};

class Finder {
 public:
  Finder(const Model& model, const std::vector<std::size_t>& cuts)
      : model_(model),
        cuts_(cuts),
        user_(model.values.size(), kNobody),
        uses_(model.values.size(), 0),
        taken_(model.nodes.size(), false) {
    for (std::size_t i = 0; i < model.nodes.size(); ++i)
      for (const ValueId id : model.nodes[i].inputs)
        if (id != model::kAbsent) user_[id] = i, ++uses_[id];
    for (const ValueId id : model.outputs) uses_[id] += 2;
  }

  std::vector<Fused> run() {
    std::vector<Fused> found;
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      if (!may_lead(model_.nodes[i])) continue;
      Fused fused;
      fused.head = fused.last = i;
      fused.nodes = {i};
      while (take_next(fused)) {
      }
      if (fused.nodes.size() == 1) continue;
      for (const std::size_t node : fused.nodes) taken_[node] = true;
      found.push_back(std::move(fused));
    }
    return found;
  }

 private:
  [[nodiscard]] bool constant(const Node& node, std::size_t i) const {
    return i >= node.inputs.size() || node.inputs[i] == model::kAbsent || model_.value(node.inputs[i]).constant;
  }
  [[nodiscard]] bool may_lead(const Node& node) const {
    const bool product = node.op == Op::Conv || node.op == Op::ConvTranspose || node.op == Op::MatMul;
    if (!product || !constant(node, 1) || !constant(node, 2)) return false;
    return node.op != Op::MatMul || fused_matmul(model_, node);
  }
  /// Axis of channels of a product's result.
  [[nodiscard]] std::size_t channel_axis(const Fused& fused) const {
    const Node& head = model_.nodes[fused.head];
    return head.op == Op::MatMul ? model_.value(head.outputs[0]).shape.size() - 1 : 1;
  }
  [[nodiscard]] bool same_section(std::size_t a, std::size_t b) const {
    return std::upper_bound(cuts_.begin(), cuts_.end(), a) == std::upper_bound(cuts_.begin(), cuts_.end(), b);
  }

  /// A constant that is one number, or one for each channel, of a result of this shape.
  [[nodiscard]] bool for_channels(const Value& value, const Shape& shape, std::size_t axis) const {
    if (!value.constant) return false;
    const Shape& own = value.shape;
    if (own.size() > shape.size()) return false;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::size_t at = shape.size() - own.size() + i;
      if (own[i] != 1 && (at != axis || own[i] != shape[axis])) return false;
    }
    return true;
  }

  bool take_next(Fused& fused) {
    const ValueId result = model_.nodes[fused.last].outputs[0];
    if (uses_[result] != 1 || fused.limits.mode != AmpLimits::Mode::none) return false;
    const std::size_t next = user_[result];
    const Node& node = model_.nodes[next];
    if (taken_[next] || !same_section(fused.head, next)) return false;
    if (!take(fused, node, result)) return false;
    fused.last = next;
    fused.nodes.push_back(next);
    return true;
  }

  bool take(Fused& fused, const Node& node, ValueId result) const {
    const Value& value = model_.value(result);
    if (node.outputs.empty() || model_.value(node.outputs[0]).shape != value.shape) return false;
    switch (node.op) {
      case Op::BatchNormalization:
        if (fused.addend || node.inputs[0] != result || channel_axis(fused) != 1 || node.outputs.size() != 1)
          return false;
        for (std::size_t i = 1; i < 5; ++i)
          if (!constant(node, i)) return false;
        // A bias before it is scaled too, so it must have been counted already: biases come after the last scale.
        if (!fused.biases.empty()) return false;
        fused.scales.push_back(&node);
        return true;
      case Op::Add: {
        const ValueId other = node.inputs[node.inputs[0] == result ? 1 : 0];
        const Value& with = model_.value(other);
        if (fused.addend) return false;
        if (for_channels(with, value.shape, channel_axis(fused))) {
          fused.biases.push_back(other);
          return true;
        }
        if (with.shape != value.shape || with.constant) return false;
        fused.addend = other;
        return true;
      }
      case Op::Relu:
        fused.limits.mode = AmpLimits::Mode::relu;
        return true;
      case Op::Clip: {
        if (!constant(node, 1) || !constant(node, 2)) return false;
        const auto limit = [&](std::size_t i, float none) {
          const bool given = i < node.inputs.size() && node.inputs[i] != model::kAbsent;
          return given ? static_cast<float>(model_.value(node.inputs[i]).constant->real(0)) : none;
        };
        fused.limits = {AmpLimits::Mode::clip, limit(1, -HUGE_VALF), limit(2, HUGE_VALF)};
        return true;
      }
      default:
        return false;
    }
  }

  const Model& model_;
  const std::vector<std::size_t>& cuts_;
  std::vector<std::size_t> user_;
  std::vector<unsigned> uses_;
  std::vector<bool> taken_;
};

}  // namespace

Fusion::Fusion(const Model& model, const std::vector<std::size_t>& cuts)
    : inside_(model.nodes.size(), false), taken_(model.nodes.size(), false) {
  for (Fused& fused : Finder(model, cuts).run()) {
    for (const std::size_t node : fused.nodes) inside_[node] = node != fused.last, taken_[node] = node != fused.head;
    for (const std::size_t node : fused.nodes) heads_.emplace(node, fused.head);
    const std::size_t last = fused.last;
    by_last_.emplace(last, std::move(fused));
  }
}

std::size_t Fusion::head_of(std::size_t node) const {
  const auto found = heads_.find(node);
  return found == heads_.end() ? node : found->second;
}

const Fused* Fusion::ending_at(std::size_t node) const {
  const auto found = by_last_.find(node);
  return found == by_last_.end() ? nullptr : &found->second;
}

}  // namespace tessera::nn
