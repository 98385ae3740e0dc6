// Random data and comparisons for vertex cases (vertex_case_tools.h).
#include "host/codelets/vertex_case_tools.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::cases {
namespace {

std::uint32_t random_i32(std::mt19937& random) {
  static constexpr std::uint32_t kSpecial[] = {0, 1, 0xffffffff, 0x80000000, 0x7fffffff};
  if (below(6, random) == 0) return kSpecial[below(std::size(kSpecial), random)];
  return below(2, random) == 0 ? below(201, random) - 100u : static_cast<std::uint32_t>(random());
}

std::uint32_t random_f16(std::mt19937& random, bool finite) {
  static constexpr std::uint16_t kSpecial[] = {0,      0x8000, 0x7c00, 0xfc00, 0x7e00, 0xfd23,
                                               0x0001, 0x83ff, 0x7bff, 0x3c00, 0x4980, 0xcc80};
  if (!finite && below(8, random) == 0) return kSpecial[below(std::size(kSpecial), random)];
  const std::uint32_t exponent = 6 + below(14, random);  // 2^-9 to 32
  return below(2, random) << 15 | exponent << 10 | below(1024, random);
}

bool same(double got, double want, double tolerance) {
  if (std::isnan(want)) return std::isnan(got);
  if (got == want) return true;
  return std::fabs(got - want) <= tolerance;
}

}  // namespace

void Check::operator()(const std::string& what, std::size_t i, double got, double want, double tolerance) {
  ++count_;
  if (!same(got, want, tolerance) && difference_.empty())
    difference_ = fmt::format("{}[{}] is {:.9g}, expected {:.9g}", what, i, got, want);
}

std::uint32_t below(std::uint32_t n, std::mt19937& random) { return static_cast<std::uint32_t>(random() % n); }

float random_f32(std::mt19937& random, bool finite) {
  static constexpr std::uint32_t kSpecial[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345,
                                               0x00000001, 0x807fffff, 0x7f7fffff, 0x3f800000, 0x42b00000, 0xc2d00000};
  if (!finite && below(8, random) == 0) {
    float value;
    std::memcpy(&value, &kSpecial[below(std::size(kSpecial), random)], 4);
    return value;
  }
  return (static_cast<float>(below(20001, random)) - 10000.0f) * (below(4, random) == 0 ? 0.01f : 0.0005f);
}

Binding data(FieldType type, std::uint32_t count, std::mt19937& random, bool finite) {
  Binding b;
  b.count = count;
  b.bytes.resize(std::size_t{count} * field_type_bytes(type));
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t bits = random_i32(random);
    if (type == FieldType::f32) {
      const float value = random_f32(random, finite);
      std::memcpy(&bits, &value, 4);
    }
    if (type == FieldType::f16) bits = random_f16(random, finite);
    if (type == FieldType::boolean) bits = below(2, random);
    std::memcpy(&b.bytes[std::size_t{i} * field_type_bytes(type)], &bits, field_type_bytes(type));
  }
  return b;
}

void fill_data(const CodeletInfo& codelet, Bindings& bindings, std::mt19937& random, bool finite,
               const std::function<std::uint32_t(const std::string&)>& count) {
  for (const auto& f : codelet.fields)
    if (!f.is_value()) bindings[f.name] = data(f.type, count(f.name), random, finite);
}

Bindings zero_values(const CodeletInfo& codelet) {
  Bindings b;
  for (const auto& f : codelet.fields)
    if (f.is_value()) b[f.name] = number(0);
  return b;
}

float real_value(const Bindings& b, const std::string& field) {
  float result;
  std::memcpy(&result, &b.at(field).value, 4);
  return result;
}

double element(const Bindings& b, const Field& f, std::size_t i) {
  switch (f.type) {
    case FieldType::f32:
      return at<float>(b, f.name, i);
    case FieldType::i32:
      return at<std::int32_t>(b, f.name, i);
    case FieldType::u32:
      return at<std::uint32_t>(b, f.name, i);
    case FieldType::i16:
      return at<std::int16_t>(b, f.name, i);
    case FieldType::i8:
      return at<std::int8_t>(b, f.name, i);
    case FieldType::f16:
      return half_value(at<std::uint16_t>(b, f.name, i));
    case FieldType::u16:
      return at<std::uint16_t>(b, f.name, i);
    default:
      return at<std::uint8_t>(b, f.name, i);
  }
}

std::int32_t wrap(std::int64_t v) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(v)); }

double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double v = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) v = fraction != 0 ? NAN : HUGE_VAL;
  return (bits & 0x8000) != 0 ? -v : v;
}

double to_half(double v) {
  if (!std::isfinite(v) || v == 0) return v;
  const int exponent = std::max(std::ilogb(v), -14) - 10;
  const double result = std::ldexp(std::nearbyint(std::ldexp(v, -exponent)), exponent);
  return std::fabs(result) > 65504 ? std::copysign(HUGE_VAL, v) : result;
}

double rounded(double v, FieldType type) {
  return type == FieldType::f16 ? to_half(v) : static_cast<double>(static_cast<float>(v));
}

double ulps(double want, FieldType type, double n) {
  if (!std::isfinite(want)) return 0;
  const bool half = type == FieldType::f16;
  const double magnitude = std::max(std::fabs(want), std::ldexp(1.0, half ? -14 : -126));
  return n * std::ldexp(1.0, std::ilogb(magnitude) - (half ? 10 : 23));
}

Name split(const std::string& name) {
  const auto first = name.find('_'), second = name.find('_', first + 1);
  return {name.substr(0, first), first == std::string::npos ? "" : name.substr(first + 1, second - first - 1),
          second == std::string::npos ? "" : name.substr(second)};
}

}  // namespace tessera::cases
