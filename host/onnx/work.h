// Arithmetic of operators: multiply-accumulates that a node needs by its definition, whatever computes them. What is
// padded, recomputed or laid out anew does not count.
#pragma once

#include <cstdint>

#include "host/onnx/model.h"

namespace tessera::model {

/// Of Conv, ConvTranspose (taps on padding included, as usual), MatMul, Gemm, Einsum of two operands, LSTM, GRU and RNN
/// (both products of every step); 0 for the others.
[[nodiscard]] std::uint64_t multiply_accumulates(const Model& model, const Node& node);
[[nodiscard]] std::uint64_t multiply_accumulates(const Model& model);

}  // namespace tessera::model
