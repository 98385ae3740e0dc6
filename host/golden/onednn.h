// A second opinion: operators of the reference as oneDNN computes them in f32; f16 operands are widened and the result
// is rounded. Internal to host/golden.
#pragma once

#include <optional>
#include <vector>

#include "host/onnx/model.h"

namespace tessera::golden::onednn {

/// Empty if oneDNN is not asked for this operator, type or (empty) shape.
[[nodiscard]] std::optional<model::Tensor> evaluate(const model::Node& node,
                                                    const std::vector<const model::Tensor*>& inputs,
                                                    const model::Shape& shape);

}  // namespace tessera::golden::onednn
