// Arithmetic of operators: multiply-accumulates that a node needs by its definition, whatever computes them. What is
// padded, recomputed or laid out anew does not count.
#pragma once

#include <cstdint>
#include <string>

#include "host/onnx/model.h"

namespace tessera::model {

/// Of Conv, ConvTranspose (taps on padding included, as usual), MatMul, Gemm, Einsum of two operands, LSTM, GRU and RNN
/// (both products of every step); 0 for the others.
[[nodiscard]] std::uint64_t multiply_accumulates(const Model& model, const Node& node);
[[nodiscard]] std::uint64_t multiply_accumulates(const Model& model);

/// Those of them that matrix engines do: of recurrences the products of the inputs, which do not wait for each other.
[[nodiscard]] std::uint64_t engine_work(const Model& model, const Node& node);

/// Floating-point operations: two for each multiply-accumulate; of poolings and element-wise operators one for each
/// tap or element (BatchNormalization two); 0 for what only moves or is not counted (normalisations over rows,
/// softmax, integers).
[[nodiscard]] std::uint64_t floating_operations(const Model& model, const Node& node);

/// What a node counts as when nodes are summed by kind: "1x1 convolution", "3x3 convolution, 32 groups", "matrix
/// product", "recurrence", else the operator's name.
[[nodiscard]] std::string work_class(const Model& model, const Node& node);

}  // namespace tessera::model
