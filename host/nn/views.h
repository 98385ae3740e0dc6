// Operators that only say which element stands where: lowered to views of the graph, nothing moves. Internal to
// host/nn.
#pragma once

#include <vector>

#include "host/graph/tensor.h"
#include "host/onnx/model.h"

namespace tessera::nn {

[[nodiscard]] bool is_view(model::Op op);
/// One view for each output of the node.
[[nodiscard]] std::vector<graph::Tensor> lower_view(const model::Model& model, const model::Node& node,
                                                    const std::vector<graph::Tensor>& operands);

}  // namespace tessera::nn
