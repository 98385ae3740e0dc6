#include "verif/nn/twins.h"

#include <algorithm>

namespace tessera::verif_nn {

using model::Tensor;
using model::Type;

Tensor half(const Tensor& x) {
  if (x.type != Type::f32) return x;
  Tensor result(Type::f16, x.shape);
  result.name = x.name;
  for (std::int64_t i = 0; i < x.elements(); ++i) result.set(i, model::to_half(x.at<float>(i)));
  return result;
}

Tensor half_values(const Tensor& x) {
  if (x.type != Type::f32) return x;
  Tensor result = x;
  for (std::int64_t i = 0; i < x.elements(); ++i) result.set(i, model::from_half(model::to_half(x.at<float>(i))));
  return result;
}

model::Model half(const model::Model& model) {
  model::Model twin = model;
  twin.name += " in f16";
  for (model::Value& value : twin.values) {
    if (value.type == Type::f32) value.type = value.declared = Type::f16;
    if (value.constant) value.constant = half(*value.constant);
  }
  for (model::Node& node : twin.nodes) {
    if (auto* cast = std::get_if<model::CastAttributes>(&node.attributes); cast != nullptr && cast->to == Type::f32)
      cast->to = Type::f16;
    // Some results are f32 whatever the operands are.
    const auto inferred = infer(twin, node);
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != model::kAbsent)
        twin.values[node.outputs[i]].type = twin.values[node.outputs[i]].declared = inferred.at(i).first;
  }
  return twin;
}

model::Model half_constants(const model::Model& model) {
  model::Model result = model;
  for (model::Value& value : result.values)
    if (value.constant) value.constant = half_values(*value.constant);
  return result;
}

bool has_twin(const model::Model& model) {
  return std::any_of(model.values.begin(), model.values.end(),
                     [](const model::Value& value) { return value.type == Type::f32; });
}

}  // namespace tessera::verif_nn
