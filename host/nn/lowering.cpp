#include "host/nn/lowering.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/nn/amp_limits.h"
#include "host/nn/amp_rules.h"
#include "host/nn/fuse.h"
#include "host/nn/outline.h"
#include "hw/error.h"

namespace tessera::nn {

namespace {

constexpr std::size_t kLeastOutlined = 8;  // nodes saved: fewer do not pay for the copies of a call

}  // namespace

using graph::Program;
using graph::Tensor;
using model::Model;
using model::Node;
using model::Op;
using model::Value;
using model::ValueId;

Lowering::Lowering(const Model& model, const Options& options, graph::Graph& graph)
    : model_(model), options_(options), graph_(graph), builder_(graph, options.tiles), views_(model.values.size()) {
  for (const Node& node : model.nodes) all_weight_bytes_ += weight_bytes(model, node);
}

void Lowering::check() const {
  std::vector<std::string> refused;
  for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
    if (fusion_ && fusion_->taken_along(i)) continue;
    const Node& node = model_.nodes[i];
    const Rule* rule = find_rule(node.op);
    const std::string why = rule == nullptr ? "no lowering" : rule->refuse == nullptr ? "" : rule->refuse(model_, node);
    if (!why.empty()) refused.push_back(fmt::format("node '{}' ({}): {}", node.name, name_of(node.op), why));
  }
  if (!refused.empty())
    throw Error(Category::unsupported, fmt::format("the machine does not run:\n  {}", fmt::join(refused, "\n  ")),
                model_.file, "docs/onnx.md lists operators and types");
}

void Lowering::run() {
  const std::vector<Cluster> clusters =
      options_.outline ? find_clusters(model_, kLeastOutlined) : std::vector<Cluster>();
  std::vector<std::size_t> cuts;
  for (const Cluster& each : clusters)
    for (std::size_t k = 0; k <= each.count; ++k) cuts.push_back(each.first + k * each.length);
  std::sort(cuts.begin(), cuts.end());
  fusion_ = std::make_shared<const Fusion>(model_, cuts);
  check();
  const WeightPrice price = price_weights(model_, options_);
  weight_price_ = price.cycles;
  amp_work_bytes_ = price.work_bytes;
  least_memory_ = price.least;
  builder_.kept_patches().left = price.kept_bytes;
  auto cluster = clusters.begin();
  for (std::size_t i = 0; i < model_.nodes.size();) {
    if (cluster != clusters.end() && cluster->first == i) {
      const Cluster& here = *cluster++;
      if (lower_cluster(*this, here)) {
        place_nodes(here.first, here.length, here.count);
        i += here.length * here.count;
        continue;
      }
    }
    lower_one(i);
    tap(i, [&](std::size_t output) { return std::vector<ValueId>{model_.nodes[i].outputs[output]}; });
    place_nodes(i, 1, 1);
    ++i;
  }
}

void Lowering::plan_as(const Lowering& other) {
  fusion_ = other.fusion_;
  weight_price_ = other.weight_price_;
  amp_work_bytes_ = other.amp_work_bytes_;
  builder_.kept_patches() = other.builder_.kept_patches();
  for (auto& [key, patch] : builder_.kept_patches().patches) patch.reset();  // of another graph
}

void Lowering::place_nodes(std::size_t first, std::size_t length, std::size_t count) {
  for (std::size_t i = 0; i < length * count; ++i) {
    const std::size_t lowered = first + i % length;
    const std::size_t head = fusion_ ? fusion_->head_of(lowered) : lowered;
    places_.push_back({model_.nodes[first + i].name, model_.nodes[head].name, static_cast<std::uint32_t>(count),
                       fusion_ && fusion_->taken_along(lowered)});
  }
}

void Lowering::lower_one(std::size_t index) {
  if (options_.poll) options_.poll();
  if (fusion_ && fusion_->inside(index)) return;
  const Fused* fused = fusion_ ? fusion_->ending_at(index) : nullptr;
  const Node& node = model_.nodes[fused != nullptr ? fused->head : index];
  std::vector<Program> before;
  before.swap(builder_.steps());
  if (fused != nullptr)
    lower_fused(*this, *fused);
  else
    find_rule(node.op)->lower(*this, node);
  before.swap(builder_.steps());
  if (!before.empty()) builder_.steps().push_back(Program::sequence(std::move(before), node.name));
}

void Lowering::tap(std::size_t index, const std::function<std::vector<ValueId>(std::size_t)>& passes) {
  if (!options_.tap_nodes) return;
  const Node& node = model_.nodes[index];
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId id = node.outputs[i];
    if (id == model::kAbsent || !views_[id].valid() || views_[id].elements() == 0) continue;
    // What a view shows is known from what it views.
    const bool only_view = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input != model::kAbsent && views_[input].valid() &&
             Builder::variables(views_[input]) == Builder::variables(views_[id]);
    });
    if (only_view) continue;
    std::vector<std::string> names;
    for (const ValueId pass : passes(i)) {
      names.push_back(model_.value(pass).name);
      tapped_.push_back(pass);
    }
    builder_.steps().push_back(Program::tap(views_[id], std::move(names)));
  }
}

Tensor Lowering::materialised(ValueId id) {
  const Value& value = model_.value(id);
  if (!views_[id].valid()) views_[id] = builder_.linear_constant(*value.constant, value.name);
  return views_[id];
}

bool Lowering::dead_from(const Tensor& view, std::size_t node) const {
  const std::vector<graph::VariableId> own = Builder::variables(view);
  std::vector<bool> shares(views_.size(), false);
  for (ValueId id = 0; id < views_.size(); ++id) {
    if (!views_[id].valid()) continue;
    for (const graph::VariableId variable : Builder::variables(views_[id]))
      shares[id] = shares[id] || std::find(own.begin(), own.end(), variable) != own.end();
  }
  for (const ValueId id : model_.outputs)
    if (shares[id]) return false;
  for (std::size_t i = node; i < model_.nodes.size(); ++i)
    for (const ValueId id : model_.nodes[i].inputs)
      if (id != model::kAbsent && shares[id]) return false;
  return true;
}

Operand Lowering::operand(ValueId id) {
  const Value& value = model_.value(id);
  if (value.constant && !views_[id].valid()) return {{}, &*value.constant};
  return {views_[id], nullptr};
}

const model::Tensor* Lowering::keep(model::Tensor tensor) {
  made_.push_back(std::move(tensor));
  return &made_.back();
}

std::uint64_t weight_bytes(const Model& model, const Node& node) {
  const bool weighted = node.op == Op::MatMul || node.op == Op::Gemm || node.op == Op::Conv ||
                        node.op == Op::ConvTranspose || node.op == Op::MatMulInteger;
  if (!weighted || !model.value(node.inputs.at(1)).constant) return 0;
  const std::uint64_t wider = node.op == Op::MatMulInteger ? 4 : 1;  // bytes are multiplied as words
  return model.value(node.inputs.at(1)).constant->data.size() * wider;
}

const Rule* find_rule(Op op) {
  static const std::vector<const Rule*> kTable = [] {
    static std::vector<std::vector<Rule>> families = {view_rules(),   basic_rules(),  matrix_rules(), pad_rules(),
                                                      index_rules(),  sort_rules(),   pool_rules(),   recurrent_rules(),
                                                      reduce_rules(), einsum_rules(), conv_rules()};
    std::vector<const Rule*> table;
    for (const auto& family : families)
      for (const Rule& rule : family) {
        const auto index = static_cast<std::size_t>(rule.op);
        if (table.size() <= index) table.resize(index + 1, nullptr);
        table[index] = &rule;
      }
    return table;
  }();
  const auto index = static_cast<std::size_t>(op);
  return index < kTable.size() ? kTable[index] : nullptr;
}

}  // namespace tessera::nn
