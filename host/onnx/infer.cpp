// Types and shapes of nodes by the table of operators, and models with another batch.
#include <fmt/format.h>

#include "host/onnx/ops.h"
#include "hw/error.h"

namespace tessera::model {

std::vector<std::pair<Type, Shape>> infer(const Model& model, const Node& node) {
  try {
    Inferred result = operator_of(node.op).infer(Inference(model, node));
    if (result.size() < node.outputs.size())
      misfit(fmt::format("{} outputs, where there are {}", node.outputs.size(), result.size()));
    if (model.narrow)
      for (auto& output : result) output.first = narrowed(output.first);
    return result;
  } catch (const Error& error) {
    throw Error(error.category(), error.message(),
                fmt::format("{}: node '{}' ({})", model.file, node.name, name_of(node.op)),
                "check the shapes that the model and the inputs give");
  }
}

Model with_batch(const Model& model, std::int64_t extent) {
  Model result = model;
  for (const SymbolicAxis& symbolic : model.symbolic)
    if (symbolic.axis == 0) result.values[result.inputs[symbolic.input]].shape[0] = extent;
  for (const Node& node : result.nodes) {
    const auto inferred = infer(result, node);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kAbsent) continue;
      result.values[node.outputs[i]].shape = inferred.at(i).second;
    }
  }
  return result;
}

}  // namespace tessera::model
