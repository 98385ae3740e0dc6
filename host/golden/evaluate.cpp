#include "host/golden/evaluate.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "host/golden/kernel.h"
#include "host/golden/numbers.h"
#include "host/golden/onednn.h"

namespace tessera::golden {

using model::kAbsent;
using model::Model;
using model::Node;
using model::Tensor;
using model::Value;
using model::ValueId;

namespace {

constexpr std::size_t kOperators = static_cast<std::size_t>(model::Op::Xor) + 1;
using Table = std::array<Kernel, kOperators>;

/// One function an operator; null for those that import folds and that have no operands to compute from.
const Table& table() {
  static const Table kTable = [] {
    Table made{};
    for (const Kernels& family :
         {elementwise_kernels(), unary_kernels(), move_kernels(), index_kernels(), matrix_kernels(), conv_kernels(),
          pool_kernels(), norm_kernels(), loss_kernels(), reduce_kernels(), recurrent_kernels()})
      for (const KernelEntry& entry : family) {
        Kernel& place = made[static_cast<std::size_t>(entry.op)];
        if (place != nullptr) throw std::logic_error("reference: an operator stands in two families");
        place = entry.kernel;
      }
    return made;
  }();
  return kTable;
}

}  // namespace

bool evaluates(model::Op op) { return table()[static_cast<std::size_t>(op)] != nullptr; }

std::vector<Tensor> evaluate(const Model& model, const Node& node, const std::vector<const Tensor*>& inputs,
                             Backend backend) {
  const Kernel kernel = table()[static_cast<std::size_t>(node.op)];
  if (kernel == nullptr)
    throw std::logic_error(fmt::format("{}: the reference has no {}", model.file, name_of(node.op)));
  const Call call = {model, node, inputs, infer(model, node)};
  if (backend == Backend::onednn)
    if (auto result = onednn::evaluate(node, inputs, call.shape())) return only(std::move(*result));
  return kernel(call);
}

std::vector<Tensor> evaluate_wide(const Model& model, const Node& node, const std::vector<const Tensor*>& inputs) {
  const Kernel kernel = table()[static_cast<std::size_t>(node.op)];
  if (kernel == nullptr)
    throw std::logic_error(fmt::format("{}: the reference has no {}", model.file, name_of(node.op)));
  std::vector<Tensor> wide(inputs.size());
  std::vector<const Tensor*> operands = inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr || !is_real(inputs[i]->type) || inputs[i]->type == model::Type::f64) continue;
    wide[i] = rounded(model::Type::f64, inputs[i]->shape, reals(*inputs[i]));
    operands[i] = &wide[i];
  }
  Call call = {model, node, operands, infer(model, node)};
  for (auto& output : call.inferred)
    if (is_real(output.first)) output.first = model::Type::f64;
  return kernel(call);
}

std::vector<std::optional<Tensor>> run(const Model& model, const std::vector<Tensor>& inputs, Backend backend) {
  std::vector<std::optional<Tensor>> values(model.values.size());
  for (std::size_t id = 0; id < values.size(); ++id) values[id] = model.values[id].constant;
  if (inputs.size() != model.inputs.size()) throw std::logic_error("reference: wrong number of inputs");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = model.value(model.inputs[i]);
    if (inputs[i].type != value.type || inputs[i].shape != value.shape)
      throw std::logic_error("reference: input " + value.name + " has another type or shape");
    values[model.inputs[i]] = inputs[i];
  }
  for (const Node& node : model.nodes) {
    std::vector<const Tensor*> in;
    for (const ValueId id : node.inputs) in.push_back(id == kAbsent ? nullptr : &values.at(id).value());
    auto out = evaluate(model, node, in, backend);
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kAbsent) values[node.outputs[i]] = std::move(out.at(i));
  }
  return values;
}

}  // namespace tessera::golden
