#include "host/golden/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "host/golden/evaluate.h"
#include "host/golden/numbers.h"
#include "host/golden/tolerance.h"

namespace tessera::golden {

using model::kAbsent;
using model::Model;
using model::Node;
using model::Tensor;
using model::Type;
using model::ValueId;

namespace {

/// A value while it is needed: the device's own, or the reference's with what it may be off.
struct Known {
  Tensor tensor;
  std::vector<double> off;           ///< by element; empty: exact
  std::vector<std::string> through;  ///< nodes computed since the last readable value
};

std::uint64_t steps_between(Type type, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return ~std::uint64_t{0};
  if (type == Type::f32) return ulp_distance(static_cast<float>(a), static_cast<float>(b));
  if (type != Type::f16) return 0;
  const auto line = [](double x) {
    const std::uint16_t bits = model::to_half(x);
    return (bits & 0x8000U) != 0 ? -static_cast<std::int64_t>(bits & 0x7FFFU) : static_cast<std::int64_t>(bits);
  };
  return static_cast<std::uint64_t>(std::abs(line(a) - line(b)));
}

/// Error as a share of what is allowed: 0 if equal. A result beyond the range of the type stands for every value there.
double share(Type type, double result, double reference, double allowed) {
  if (result == reference || (std::isnan(result) && std::isnan(reference))) return 0.0;
  if (std::isnan(result) || std::isnan(reference)) return HUGE_VAL;
  const double limit = type == Type::f16 ? 65504.0 : 3.4028234663852886e38;
  const auto bounded = [&](double x) { return std::isinf(x) ? std::copysign(limit + ulp_of(type, limit), x) : x; };
  const double error = std::fabs(bounded(result) - bounded(reference));
  return allowed > 0.0 ? error / allowed : HUGE_VAL;
}

class Checker {
 public:
  Checker(const Model& model, const std::vector<Tensor>& inputs, const DeviceValue& device)
      : model_(model),
        device_(device),
        known_(model.values.size()),
        uses_(model.values.size(), 0),
        user_(model.values.size(), nullptr) {
    for (std::size_t i = 0; i < inputs.size(); ++i) known_[model.inputs.at(i)] = Known{inputs[i], {}, {}};
    for (const Node& node : model.nodes)
      for (const ValueId id : node.inputs)
        if (id != kAbsent) ++uses_[id], user_[id] = &node;
  }

  NodeReport run() {
    report_.nodes = model_.nodes.size();
    for (const Node& node : model_.nodes) check(node);
    report_.unread = open_.size();
    return std::move(report_);
  }

 private:
  [[nodiscard]] const Tensor* tensor_of(ValueId id) const {
    if (id == kAbsent) return nullptr;
    if (model_.value(id).constant) return &*model_.value(id).constant;
    return &known_[id].value().tensor;
  }
  [[nodiscard]] const Known* inexact(ValueId id) const {
    if (id == kAbsent || !known_[id] || known_[id]->off.empty()) return nullptr;
    return &*known_[id];
  }

  void check(const Node& node) {
    std::vector<const Tensor*> in;
    std::vector<std::string> through;
    for (const ValueId id : node.inputs) {
      in.push_back(tensor_of(id));
      if (id == kAbsent || !known_[id]) continue;
      for (const std::string& name : known_[id]->through)
        if (std::find(through.begin(), through.end(), name) == through.end()) through.push_back(name);
    }
    std::vector<Tensor> out = evaluate(model_, node, in);
    bool read = false;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      if (id == kAbsent) continue;
      Known next{std::move(out.at(i)), {}, through};
      const Bound bound = bound_of(model_, node, in, next.tensor, i);
      std::optional<Tensor> found = device_(id);
      next.off = allowed(node, in, next.tensor, bound, i);
      if (!found) {
        const std::vector<double> more = scaled_weights(node, in, bound);
        for (std::size_t k = 0; k < more.size(); ++k) next.off[k] += more[k];
      }
      if (found) {
        compare(node, id, next, *found, bound);
        next = Known{std::move(*found), {}, {}};
        read = true;
      } else {
        next.through.push_back(node.name);
      }
      if (uses_[id] > 0) known_[id] = std::move(next);
    }
    if (read)
      for (const std::string& name : through) open_.erase(name);
    else
      open_.insert(node.name);
    for (const ValueId id : node.inputs)
      if (id != kAbsent && --uses_[id] == 0) known_[id].reset();
  }

  /// A convolution that takes the normalisation after it along multiplies its weights by the scale and rounds them once
  /// more, each by at most 2^-11 of its size: what that may change in each element, empty if nothing. Directions are
  /// independent, so that the sum stays within 4 x 2^-11 of the root of the products' squares (nearly seven times the
  /// standard deviation of roundings of equal probability), and always within 2^-11 of the sum of absolute values.
  [[nodiscard]] std::vector<double> scaled_weights(const Node& node, const std::vector<const Tensor*>& in,
                                                   const Bound& bound) const {
    const ValueId id = node.outputs[0];
    const bool product = node.op == model::Op::Conv || node.op == model::Op::ConvTranspose;
    if (!product || model_.value(id).type != Type::f16 || uses_[id] != 1) return {};
    if (user_[id]->op != model::Op::BatchNormalization || in[1] == nullptr || !model_.value(node.inputs[1]).constant)
      return {};
    if (bound.roundings == 0.0) return {};
    const auto squares = [](const Tensor& x) {
      std::vector<double> values = reals(x);
      for (double& value : values) value *= value;
      return rounded(Type::f64, x.shape, values);
    };
    const Tensor operand = squares(*in[0]), weights = squares(*in[1]);
    const std::vector<const Tensor*> operands = {&operand, &weights};
    std::vector<double> off = reals(evaluate_wide(model_, node, operands).at(0));
    for (std::size_t i = 0; i < off.size(); ++i)
      off[i] = std::min(0x1p-11 * bound.magnitudes[i], 4.0 * 0x1p-11 * std::sqrt(off[i]));
    return off;
  }

  /// What every element may be off: the node's own bound and what comes through operands that are not exact.
  std::vector<double> allowed(const Node& node, const std::vector<const Tensor*>& in, const Tensor& reference,
                              const Bound& bound, std::size_t output) const {
    std::vector<double> result = carried(node, in, reference, output);
    if (bound.units == 0.0 && bound.roundings == 0.0) return result;
    result.resize(static_cast<std::size_t>(reference.elements()), 0.0);
    for (std::size_t i = 0; i < result.size(); ++i) {
      const double x = reference.real(static_cast<std::int64_t>(i));
      result[i] += bound.units * ulp_of(reference.type, x);
      if (bound.roundings > 0.0) result[i] += bound.roundings * 0x1p-24 * bound.magnitudes[i];
    }
    return result;
  }

  /// Empty if all operands are exact.
  std::vector<double> carried(const Node& node, const std::vector<const Tensor*>& in, const Tensor& reference,
                              std::size_t output) const {
    std::vector<double> result;
    const auto add = [&](const std::vector<double>& more) {
      result.resize(more.size(), 0.0);
      for (std::size_t i = 0; i < more.size(); ++i) result[i] += std::isfinite(more[i]) ? std::fabs(more[i]) : 0.0;
    };
    if (!is_real(reference.type)) return result;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Known* known = inexact(node.inputs[i]);
      if (known == nullptr) continue;
      const Tensor off = rounded(Type::f64, in[i]->shape, known->off);
      if (is_multilinear(node.op)) {
        std::vector<Tensor> absolute(in.size());
        std::vector<const Tensor*> operands = in;
        for (std::size_t k = 0; k < in.size(); ++k) {
          const bool bias =
              (node.op == model::Op::Conv || node.op == model::Op::ConvTranspose || node.op == model::Op::Gemm) &&
              k == 2;
          const bool addend = node.op == model::Op::Sum || node.op == model::Op::Mean || bias;
          if (k == i || in[k] == nullptr || !is_real(in[k]->type)) continue;
          absolute[k] = addend ? Tensor(in[k]->type, in[k]->shape) : absolute_values(*in[k]);
          operands[k] = &absolute[k];
        }
        operands[i] = &off;
        add(reals(evaluate_wide(model_, node, operands).at(output)));
        continue;
      }
      const std::vector<double> middle = reals(evaluate_wide(model_, node, in).at(output));
      std::vector<double> widest(middle.size(), 0.0);
      for (const double sign : {1.0, -1.0}) {
        std::vector<double> moved = reals(*in[i]);
        for (std::size_t k = 0; k < moved.size(); ++k) moved[k] += sign * known->off[k];
        const Tensor operand = rounded(Type::f64, in[i]->shape, moved);
        std::vector<const Tensor*> operands = in;
        operands[i] = &operand;
        const std::vector<double> there = reals(evaluate_wide(model_, node, operands).at(output));
        for (std::size_t k = 0; k < widest.size(); ++k)
          widest[k] = std::max(widest[k], std::fabs(there[k] - middle[k]));
      }
      add(widest);
    }
    return result;
  }

  void compare(const Node& node, ValueId id, const Known& want, const Tensor& found, const Bound& bound) {
    NodeResult r;
    r.node = node.name;
    r.value = model_.value(id).name;
    r.op = node.op;
    r.id = id;
    r.type = want.tensor.type;
    r.shape = want.tensor.shape;
    r.through = want.through;
    r.tolerance = want.through.empty() ? bound.text : bound.text + ", and what the nodes before it may be off";
    if (found.type != want.tensor.type || found.shape != want.tensor.shape)
      throw std::logic_error("the device's value " + r.value + " has another type or shape");
    const bool real = is_real(r.type);
    for (std::int64_t i = 0; i < found.elements(); ++i) {
      ++r.values;
      const double x = real ? found.real(i) : static_cast<double>(found.integer(i));
      const double y = real ? want.tensor.real(i) : static_cast<double>(want.tensor.integer(i));
      const double allowed = want.off.empty() ? 0.0 : want.off[static_cast<std::size_t>(i)];
      const double used = share(r.type, x, y, allowed);
      if (used == 0.0) continue;
      measure(r, x, y);
      if (used > 1.0) ++r.wrong;
      if (r.worst && used <= r.used) continue;
      r.used = used;
      r.allowed = allowed;
      r.worst = Difference{r.value, i, {}, x, y};
    }
    if (r.worst) {
      std::int64_t rest = r.worst->index;
      for (const std::int64_t stride : model::row_major_strides(r.shape)) {
        r.worst->position.push_back(rest / stride);
        rest %= stride;
      }
    }
    report_.values += r.values;
    report_.wrong += r.wrong;
    report_.results.push_back(std::move(r));
  }

  static void measure(NodeResult& r, double x, double y) {
    const bool finite = std::isfinite(x) && std::isfinite(y);
    const double error = finite ? std::fabs(x - y) : HUGE_VAL;
    r.max_abs = std::max(r.max_abs, error);
    if (y != 0.0) r.max_rel = std::max(r.max_rel, finite ? error / std::fabs(y) : HUGE_VAL);
    r.max_ulp = std::max(r.max_ulp,
                         is_real(r.type) ? steps_between(r.type, x, y) : static_cast<std::uint64_t>(std::fabs(x - y)));
  }

  const Model& model_;
  const DeviceValue& device_;
  std::vector<std::optional<Known>> known_;  ///< by ValueId
  std::vector<std::uint32_t> uses_;          ///< by ValueId: operands still to come
  std::vector<const Node*> user_;            ///< by ValueId: the last that takes it
  std::set<std::string> open_;               ///< nodes not covered by a comparison yet
  NodeReport report_;
};

}  // namespace

const NodeResult* NodeReport::first_wrong() const {
  for (const NodeResult& result : results)
    if (result.wrong > 0) return &result;
  return nullptr;
}

std::string NodeReport::text() const {
  if (values == 0) return "no node has a result that the host can read: nothing was compared";
  std::size_t through = 0;
  std::set<std::string> compared;  // a node may have several results
  for (const NodeResult& result : results) through += result.through.size(), compared.insert(result.node);
  std::string text = fmt::format("{} values compared in {} of {} nodes", values, compared.size(), nodes);
  if (through > 0) text += fmt::format(" ({} more by the nodes that follow them)", through);
  const auto worst = std::max_element(results.begin(), results.end(),
                                      [](const NodeResult& a, const NodeResult& b) { return a.used < b.used; });
  if (wrong == 0 && worst->worst)
    text += fmt::format(", largest error {:.1f} % of what is allowed, in {} ({})", 100.0 * worst->used, worst->node,
                        name_of(worst->op));
  if (wrong == 0 && !worst->worst) text += ", all equal to the reference";
  if (const NodeResult* first = first_wrong())
    text += fmt::format(
        "; first wrong: node {} ({}), {} of {} values, worst {}{}: {:.9g} instead of {:.9g}, allowed {:.3g}",
        first->node, name_of(first->op), first->wrong, first->values, first->value,
        model::to_string(first->worst->position), first->worst->result, first->worst->reference, first->allowed);
  return text;
}

NodeReport check_nodes(const Model& model, const std::vector<Tensor>& inputs, const DeviceValue& device) {
  return Checker(model, inputs, device).run();
}

Tolerance end_to_end(const Model& model, const Tensor& reference, Tolerance given) {
  const bool half = std::any_of(model.nodes.begin(), model.nodes.end(), [&](const Node& node) {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId id) { return id != kAbsent && model.value(id).type == Type::f16; });
  });
  if (!half || !is_real(reference.type)) return given;
  // The longest way through nodes that compute.
  std::vector<double> depth(model.values.size(), 0.0);
  double deepest = 0.0;
  for (const Node& node : model.nodes) {
    double own = 1.0;
    for (const ValueId id : node.inputs)
      if (id != kAbsent) own = std::max(own, depth[id] + 1.0);
    for (const ValueId id : node.outputs)
      if (id != kAbsent) depth[id] = own;
    deepest = std::max(deepest, own);
  }
  double largest = 0.0;
  for (const double value : reals(reference))
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  given.atol = std::max(given.atol, 4.0 * std::sqrt(deepest) * 0x1p-11 * largest);
  return given;
}

}  // namespace tessera::golden
