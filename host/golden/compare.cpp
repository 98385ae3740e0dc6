#include "host/golden/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/golden/numbers.h"

namespace tessera::golden {

using model::Tensor;
using model::Type;

std::uint64_t ulp_distance(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return ~std::uint64_t{0};
  const auto line = [](float x) {
    std::int32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? -static_cast<std::int64_t>(bits & 0x7FFFFFFF) : static_cast<std::int64_t>(bits);
  };
  return static_cast<std::uint64_t>(std::abs(line(a) - line(b)));
}

bool Comparison::passes() const {
  return mismatch.empty() && wrong == 0 && tensors > 0 && (values > 0 || empty_tensors == tensors);
}

std::string Comparison::text() const {
  if (!mismatch.empty()) return mismatch;
  if (tensors == 0) return "nothing was compared";
  std::string text = fmt::format("{} value{}, largest error {:.3g} absolute, {:.3g} relative, {} ulp", values,
                                 values == 1 ? "" : "s", max_abs, max_rel, max_ulp);
  if (values == 0) text = fmt::format("{} empty tensor{}, type and shape equal", tensors, tensors == 1 ? "" : "s");
  if (first)
    text += fmt::format("; {} wrong, first {}{}: {} instead of {}", wrong, first->tensor,
                        model::to_string(first->position), first->result, first->reference);
  return text;
}

void Comparison::merge(const Comparison& other) {
  tensors += other.tensors;
  empty_tensors += other.empty_tensors;
  values += other.values;
  wrong += other.wrong;
  max_abs = std::max(max_abs, other.max_abs);
  max_rel = std::max(max_rel, other.max_rel);
  max_ulp = std::max(max_ulp, other.max_ulp);
  if (!first) first = other.first;
  if (mismatch.empty()) mismatch = other.mismatch;
}

namespace {

/// Adds one pair of real values to the figures; false if it is out of tolerance.
bool compare_real(Comparison& c, const Tensor& result, const Tensor& reference, std::int64_t i, const Tolerance& t) {
  const double x = result.real(i), want = reference.real(i);
  if (x == want || (std::isnan(x) && std::isnan(want))) return true;
  const double error = std::fabs(x - want);
  const bool comparable = std::isfinite(x) && std::isfinite(want);
  c.max_abs = std::max(c.max_abs, comparable ? error : HUGE_VAL);
  if (want != 0.0) c.max_rel = std::max(c.max_rel, comparable ? error / std::fabs(want) : HUGE_VAL);
  std::uint64_t ulps = ~std::uint64_t{0};
  if (result.type == Type::f32) {
    ulps = ulp_distance(result.at<float>(i), reference.at<float>(i));
    c.max_ulp = std::max(c.max_ulp, ulps);
  }
  if (!comparable) return false;
  return error <= t.atol + t.rtol * std::fabs(want) || ulps <= t.ulp;
}

bool compare_integer(Comparison& c, const Tensor& result, const Tensor& reference, std::int64_t i) {
  if (result.integer(i) == reference.integer(i)) return true;
  const double error = std::fabs(result.real(i) - reference.real(i));
  c.max_abs = std::max(c.max_abs, error);
  if (reference.integer(i) != 0) c.max_rel = std::max(c.max_rel, error / std::fabs(reference.real(i)));
  return false;
}

}  // namespace

Comparison compare(const Tensor& result, const Tensor& reference, const Tolerance& tolerance, const std::string& name) {
  Comparison c;
  c.tensors = 1;
  if (result.type != reference.type || result.shape != reference.shape) {
    c.mismatch = fmt::format("{} is {}{} instead of {}{}", name, name_of(result.type), model::to_string(result.shape),
                             name_of(reference.type), model::to_string(reference.shape));
    return c;
  }
  c.empty_tensors = reference.elements() == 0 ? 1 : 0;
  for (std::int64_t i = 0; i < reference.elements(); ++i) {
    ++c.values;
    const bool good = is_real(result.type) ? compare_real(c, result, reference, i, tolerance)
                                           : compare_integer(c, result, reference, i);
    if (good) continue;
    ++c.wrong;
    if (c.first) continue;
    c.first = Difference{name, i, {}, result.real(i), reference.real(i)};
    std::int64_t rest = i;
    for (const std::int64_t stride : model::row_major_strides(reference.shape)) {
      c.first->position.push_back(rest / stride);
      rest %= stride;
    }
  }
  return c;
}

}  // namespace tessera::golden
