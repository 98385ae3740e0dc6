// The reference: what a model computes, on the host, in arithmetic of its own. Shares no code with the codelets.
//
// Floating point: each node in double precision from its f16 or f32 inputs, rounded once to its type (so the reference
// is deterministic on every host and closer to the exact value than any f32 kernel). Integers: exact, wrapping at the
// width of the type; division truncates, by zero gives -1, and float to integer saturates, as the machine does. With
// Backend::onednn the operators oneDNN has (MatMul, Gemm, Softmax, LogSoftmax, element-wise functions; f32) are
// computed by it instead.
#pragma once

#include <optional>
#include <vector>

#include "host/onnx/model.h"

namespace tessera::golden {

enum class Backend { host, onednn };

/// Whether the reference has the operator: all but those that import folds (Constant, Shape, ...).
[[nodiscard]] bool evaluates(model::Op op);

/// Outputs of one node. inputs: one a node input, null where absent.
[[nodiscard]] std::vector<model::Tensor> evaluate(const model::Model& model, const model::Node& node,
                                                  const std::vector<const model::Tensor*>& inputs,
                                                  Backend backend = Backend::host);

/// The same without the rounding: floating-point operands become f64, and so do the results that are no integers.
[[nodiscard]] std::vector<model::Tensor> evaluate_wide(const model::Model& model, const model::Node& node,
                                                       const std::vector<const model::Tensor*>& inputs);

/// Every value of the model by ValueId (empty where nothing needs it); inputs in the order of model.inputs.
[[nodiscard]] std::vector<std::optional<model::Tensor>> run(const model::Model& model,
                                                            const std::vector<model::Tensor>& inputs,
                                                            Backend backend = Backend::host);

}  // namespace tessera::golden
