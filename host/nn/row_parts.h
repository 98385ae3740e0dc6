// Rows that are longer than one worker should take: softmax and arg max in parts that all workers of a tile, or several
// tiles, share (Part codelets, firmware/codelets/row_parts.c), where that is estimated to be faster. Internal to
// host/nn.
#pragma once

#include <string>

#include "host/nn/rows.h"

namespace tessera::nn {

/// Softmax of each row of a matrix of f32 or f16, or its logarithm.
[[nodiscard]] graph::Tensor softmax_rows(Builder& builder, const graph::Tensor& matrix, bool log,
                                         const std::string& name);
/// Where the best element of each row stands, the first or the last of equal ones. op: "Max" or "Min"; f32, f16 or i32.
/// [rows], i32.
[[nodiscard]] graph::Tensor arg_rows(Builder& builder, const std::string& op, const graph::Tensor& matrix, bool last,
                                     const std::string& name);

}  // namespace tessera::nn
