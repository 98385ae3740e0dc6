// Comparison of results with a reference: how many values, how far off, where first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "host/onnx/tensor.h"

namespace tessera::golden {

/// A value passes if |result - reference| <= atol + rtol * |reference|, or if it is at most `ulp` units in the last
/// place (f32) away. Integers and bool must be equal. NaN equals NaN; infinities only themselves.
struct Tolerance {
  double rtol = 1e-3, atol = 1e-7;
  std::uint64_t ulp = 0;
};

struct Difference {
  std::string tensor;
  std::int64_t index = 0;  ///< flat
  model::Shape position;
  double result = 0.0, reference = 0.0;
};

struct Comparison {
  std::uint64_t tensors = 0;        ///< whose type and shape were compared
  std::uint64_t empty_tensors = 0;  ///< among them: without elements, where type and shape are all there is
  std::uint64_t values = 0;         ///< compared one by one
  std::uint64_t wrong = 0;
  double max_abs = 0.0, max_rel = 0.0;
  std::uint64_t max_ulp = 0;        ///< f32 values only
  std::optional<Difference> first;  ///< first value out of tolerance
  std::string mismatch;             ///< type or shape that differs; empty if none

  /// Nothing wrong, and something compared: a comparison of no values passes only if every reference is an empty tensor
  /// whose type and shape were met.
  [[nodiscard]] bool passes() const;
  /// "24 values, largest error 2e-7 absolute, 1e-7 relative, 1 ulp" and the first difference, if any.
  [[nodiscard]] std::string text() const;
  void merge(const Comparison& other);
};

[[nodiscard]] Comparison compare(const model::Tensor& result, const model::Tensor& reference,
                                 const Tolerance& tolerance, const std::string& name = {});

/// Steps between two f32 values on the number line; all ones if one is NaN.
[[nodiscard]] std::uint64_t ulp_distance(float a, float b);

}  // namespace tessera::golden
