// What families of vertex cases share: random data, reading bindings, comparing (vertex_cases.h). Expectations use
// doubles and standard functions only, so that they share nothing with codelets.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "host/codelets/reference.h"

namespace tessera::cases {

/// Collects comparisons: the number of them and the first difference.
class Check {
 public:
  explicit Check(std::string& difference) : difference_(difference) {}
  void operator()(const std::string& what, std::size_t i, double got, double want, double tolerance = 0);
  [[nodiscard]] int count() const { return count_; }

 private:
  std::string& difference_;
  int count_ = 0;
};

/// Cases of all codelets whose names begin with one of the prefixes; the longest prefix of all families decides.
struct Family {
  std::vector<std::string_view> prefixes;
  /// A vertex with about `size` elements: a binding for every field.
  Bindings (*generate)(const CodeletInfo& codelet, std::uint32_t size, std::mt19937& random);
  /// Compares what the vertex wrote with what it should; at least one comparison.
  void (*check)(const CodeletInfo& codelet, const Bindings& before, const Bindings& after, Check& check);
};

/// One function a file; vertex_cases.cpp joins them. The elementwise family takes what no other claims.
[[nodiscard]] Family elementwise_cases();
[[nodiscard]] std::vector<Family> amp_cases();
[[nodiscard]] std::vector<Family> copy_cases();
[[nodiscard]] std::vector<Family> reduce_cases();
[[nodiscard]] std::vector<Family> map_cases();
[[nodiscard]] std::vector<Family> matmul_cases();
[[nodiscard]] std::vector<Family> rows_cases();
[[nodiscard]] std::vector<Family> part_cases();
[[nodiscard]] std::vector<Family> index_cases();
[[nodiscard]] std::vector<Family> pool_cases();
[[nodiscard]] std::vector<Family> recurrent_cases();
[[nodiscard]] std::vector<Family> vector_cases();
[[nodiscard]] std::vector<Family> wavenet_cases();

/// 0 .. n - 1.
std::uint32_t below(std::uint32_t n, std::mt19937& random);
/// Small numbers; unless finite, also zeros, infinities, NaNs and subnormals.
float random_f32(std::mt19937& random, bool finite);
/// `count` random elements.
Binding data(FieldType type, std::uint32_t count, std::mt19937& random, bool finite = false);
/// A value field.
inline Binding number(std::uint32_t value) { return {{}, 0, value}; }
/// Sets the data of every pointer field to `count(field name)` random elements and leaves values alone.
void fill_data(const CodeletInfo& codelet, Bindings& bindings, std::mt19937& random, bool finite,
               const std::function<std::uint32_t(const std::string&)>& count);
/// Bindings with every value field 0.
[[nodiscard]] Bindings zero_values(const CodeletInfo& codelet);

inline bool starts(const std::string& text, std::string_view with) { return text.rfind(with, 0) == 0; }

template <class T>
T at(const Bindings& b, const std::string& field, std::size_t i) {
  T value;
  const auto& bytes = b.at(field).bytes;
  if ((i + 1) * sizeof(T) > bytes.size()) throw std::logic_error("expectation reads outside " + field);
  std::memcpy(&value, &bytes[i * sizeof(T)], sizeof(T));
  return value;
}
inline std::uint32_t value(const Bindings& b, const std::string& field) { return b.at(field).value; }
inline std::int64_t signed_value(const Bindings& b, const std::string& field) {
  return static_cast<std::int32_t>(b.at(field).value);
}
/// A value field of type f32.
float real_value(const Bindings& b, const std::string& field);
/// One element by its type as a double (exact for all types).
double element(const Bindings& b, const Field& f, std::size_t i);

std::int32_t wrap(std::int64_t v);
/// A number rounded to the nearest f16, ties to even; beyond the largest, infinity.
double to_half(double v);
double half_value(std::uint16_t bits);
/// v as an element of this floating type holds it.
double rounded(double v, FieldType type);
/// `n` units in the last place of an f32 or f16 near `want`; 0 if it is infinite or a NaN.
double ulps(double want, FieldType type, double n = 1);

/// "Add_f32_scalar" -> operation "Add", type "f32", form "_scalar".
struct Name {
  std::string op, type, form;
};
Name split(const std::string& name);

/// Truth of a comparison or logic operation; empty if `op` is none.
inline std::optional<double> comparison(const std::string& op, double a, double b) {
  if (op == "Equal") return a == b;
  if (op == "Less") return a < b;
  if (op == "LessOrEqual") return a <= b;
  if (op == "Greater") return a > b;
  if (op == "GreaterOrEqual") return a >= b;
  if (op == "And") return a != 0 && b != 0;
  if (op == "Or") return a != 0 || b != 0;
  if (op == "Xor") return (a != 0) != (b != 0);
  if (op == "Not") return a == 0;
  return std::nullopt;
}

}  // namespace tessera::cases
