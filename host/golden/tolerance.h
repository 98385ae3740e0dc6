// How far a result of the machine may be from the reference: bounds from what an operator does, not from what was seen.
//
// A result in f16 or f32 is rounded once by the machine and once by the reference: one unit in the last place of the
// result's type. Where the machine sums K products or terms in f32, each sum adds a rounding error of at most 2^-24 of
// the partial sum; their directions are independent, so the bound takes 4 sqrt(K) of them, on the sum of absolute
// values. Functions (exp, tanh, ...) get a number of f32 roundings of their own. What only moves or chooses elements is
// exact, and so are integers.
#pragma once

#include <string>
#include <vector>

#include "host/onnx/model.h"

namespace tessera::golden {

/// |result - reference| <= units * ulp(reference) + roundings * 2^-24 * magnitude.
struct Bound {
  double units = 0.0;
  double roundings = 0.0;
  std::string text;                ///< where it comes from
  std::vector<double> magnitudes;  ///< one an element, if roundings > 0
};

/// The bound of output `output` of a node, given its operands (null where absent) and the reference of that output.
[[nodiscard]] Bound bound_of(const model::Model& model, const model::Node& node,
                             const std::vector<const model::Tensor*>& inputs, const model::Tensor& reference,
                             std::size_t output);

/// True for operators whose result is linear in each of its real operands alone.
[[nodiscard]] bool is_multilinear(model::Op op);

/// The distance of neighbouring values of the type at x; of integers 0.
[[nodiscard]] double ulp_of(model::Type type, double x);

/// x with |x| for every element; integers unchanged.
[[nodiscard]] model::Tensor absolute_values(const model::Tensor& x);

}  // namespace tessera::golden
