// Elementwise multi-vertices: every operation against double arithmetic and the C++ library.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "host/codelets/vertex_case_tools.h"

namespace tessera::cases {
namespace {

bool is_float(FieldType type) { return type == FieldType::f32 || type == FieldType::f16; }

/// Low bits of an integer as the type holds them.
double as_integer(std::int64_t v, FieldType type) {
  switch (type) {
    case FieldType::i8:
      return static_cast<std::int8_t>(v);
    case FieldType::i16:
      return static_cast<std::int16_t>(v);
    case FieldType::i32:
      return static_cast<std::int32_t>(v);
    case FieldType::u8:
      return static_cast<std::uint8_t>(v);
    case FieldType::u16:
      return static_cast<std::uint16_t>(v);
    default:
      return static_cast<std::uint32_t>(v);
  }
}

bool is_signed(FieldType type) { return type == FieldType::i8 || type == FieldType::i16 || type == FieldType::i32; }

std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 != 0 ? -1 : 1) : 0;
  std::uint64_t result = 1, b = static_cast<std::uint64_t>(base);
  for (auto e = static_cast<std::uint64_t>(exponent); e != 0; e >>= 1, b *= b)
    if ((e & 1) != 0) result *= b;
  return static_cast<std::int64_t>(result);
}

double integer_result(const std::string& op, std::int64_t a, std::int64_t b, FieldType type) {
  const auto wide = [&](std::int64_t v) { return as_integer(v, type); };
  if (op == "Add") return wide(a + b);
  if (op == "Sub") return wide(a - b);
  if (op == "Mul")
    return wide(static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)));
  if (op == "Div") return wide(b == 0 ? -1 : a / b);
  if (op == "Max") return wide(std::max(a, b));
  if (op == "Min") return wide(std::min(a, b));
  if (op == "Fmod") return wide(b == 0 ? a : a % b);
  if (op == "Mod") return wide(b == 0 ? a : (a % b + b) % b);
  if (op == "Pow") return wide(integer_power(a, b));
  if (op == "PRelu") return wide(is_signed(type) && a < 0 ? a * b : a);
  if (op == "Neg") return wide(-a);
  if (op == "Abs") return wide(a < 0 ? -a : a);
  if (op == "Sign") return wide(a > 0 ? 1 : a < 0 ? -1 : 0);
  if (op == "Relu") return wide(std::max<std::int64_t>(a, 0));
  throw std::logic_error("no expectation for integer operation " + op);
}

double clamp01(double v) { return std::isnan(v) ? v : std::clamp(v, 0.0, 1.0); }

struct Real {
  double value = 0;
  double ulp = 0;  ///< of f32 that the function may be off, before rounding to f16
};

Real real_result(const std::string& op, double a, double b, double alpha, double beta, double gamma) {
  if (op == "Add") return {a + b};
  if (op == "Sub") return {a - b};
  if (op == "Mul") return {a * b};
  if (op == "Div") return {a / b};
  if (op == "Max") return {std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b)};
  if (op == "Min") return {std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b)};
  if (op == "PRelu") return {a < 0 ? a * b : a};
  if (op == "Fmod") return {std::fmod(a, b)};
  if (op == "Pow") return {std::pow(a, b), 3};
  if (op == "Relu") return {a < 0 ? 0.0 : a};
  if (op == "Neg") return {-a};
  if (op == "Abs") return {std::fabs(a)};
  if (op == "Sign") return {std::isnan(a) ? a : a > 0 ? 1.0 : a < 0 ? -1.0 : 0.0};
  if (op == "Floor") return {std::floor(a)};
  if (op == "Ceil") return {std::ceil(a)};
  if (op == "Round") return {std::nearbyint(a)};
  if (op == "Sqrt") return {std::sqrt(a)};
  if (op == "Reciprocal") return {1 / a};
  if (op == "Exp") return {std::exp(a), 2};
  if (op == "Log") return {std::log(a), 2};
  if (op == "Tanh") return {std::tanh(a), 2};
  if (op == "Sigmoid") return {1 / (1 + std::exp(-a)), 2};
  if (op == "Softsign") return {std::isinf(a) ? NAN : a / (1 + std::fabs(a)), 2};
  if (op == "Softplus") return {a > 50 ? a : std::log1p(std::exp(a)), 5};
  if (op == "Erf") return {std::erf(a), 4};
  if (op == "Sin") return {std::sin(a), 4};
  if (op == "Cos") return {std::cos(a), 4};
  if (op == "Tan") return {std::tan(a), 6};
  if (op == "Asin") return {std::asin(a), 5};
  if (op == "Acos") return {std::acos(a), 5};
  if (op == "Atan") return {std::atan(a), 4};
  if (op == "Sinh") return {std::sinh(a), 6};
  if (op == "Cosh") return {std::cosh(a), 6};
  if (op == "Asinh") return {std::asinh(a), 6};
  if (op == "Acosh") return {std::acosh(a), 6};
  if (op == "Atanh") return {std::atanh(a), 6};
  if (op == "Elu") return {a < 0 ? alpha * std::expm1(a) : a, 6};
  if (op == "Selu") return {gamma * (a <= 0 ? alpha * std::expm1(a) : a), 6};
  if (op == "Celu") return {a < 0 ? alpha * std::expm1(static_cast<float>(a / alpha)) : a, 6};
  if (op == "LeakyRelu") return {a < 0 ? alpha * a : a};
  if (op == "ThresholdedRelu") return {a > alpha || std::isnan(a) ? a : 0.0};
  if (op == "HardSigmoid") return {clamp01(static_cast<float>(static_cast<float>(alpha * a) + beta))};
  if (op == "HardSwish") return {a * clamp01(static_cast<float>(static_cast<float>(alpha * a) + beta))};
  if (op == "Shrink") return {a < -alpha ? a + beta : a > alpha ? a - beta : std::isnan(a) ? a : 0.0};
  if (op == "Clip") return {std::isnan(a) ? a : std::min(std::max(a, alpha), beta)};
  if (op == "Scale") return {static_cast<float>(alpha * a) + beta};
  throw std::logic_error("no expectation for operation " + op);
}

double cast(double v, FieldType from, FieldType to) {
  if (to == FieldType::boolean) return v != 0;
  if (is_float(to)) return to == FieldType::f16 ? to_half(static_cast<float>(v)) : rounded(v, to);
  if (!is_float(from)) return as_integer(static_cast<std::int64_t>(v), to);
  const double least = to == FieldType::u32 ? 0 : -2147483648.0,
               most = to == FieldType::u32 ? 4294967295.0 : 2147483647.0;
  return as_integer(static_cast<std::int64_t>(std::isnan(v) ? most : std::clamp(v, least, most)), to);
}

/// "MapAdd_f32" -> "Add".
std::string operation(const CodeletInfo& c) { return split(c.name).op.substr(3); }

struct Parameters {
  double alpha = 0, beta = 0, gamma = 0;
};

void check_one(const CodeletInfo& c, const Field& from, const Field& y, double a, double b, const Parameters& p,
               double got, std::size_t i, Check& check) {
  const std::string op = operation(c);
  if (op == "Cast") return check("y", i, got, cast(a, from.type, y.type));
  if (op == "IsNaN") return check("y", i, got, std::isnan(a));
  if (op == "IsInf") return check("y", i, got, std::isinf(a) && (a > 0 ? p.beta != 0 : p.alpha != 0));
  if (const auto truth = comparison(op, a, b)) return check("y", i, got, *truth);
  if (!is_float(from.type))
    return check("y", i, got,
                 integer_result(op, static_cast<std::int64_t>(a), static_cast<std::int64_t>(b), from.type));
  const Real want = real_result(op, a, b, p.alpha, p.beta, p.gamma);
  const double single = rounded(want.value, FieldType::f32);
  if (y.type == FieldType::f32) return check("y", i, got, single, ulps(want.value, y.type, want.ulp));
  // A function that is off by ulps of f32 may round to the other neighbour in f16.
  const double off = ulps(want.value, FieldType::f32, want.ulp);
  const double half = to_half(single);
  if (got != half && (got == to_half(single - off) || got == to_half(single + off))) return check("y", i, got, got);
  check("y", i, got, half);
}

std::uint32_t steps(const Bindings& b, const std::string& operand, const char* what) {
  const auto it = b.find(operand + what);
  return it == b.end() ? (std::string_view(what) == "_step" ? 1 : 0) : it->second.value;
}

void check_map(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const Field& y = *c.field("y");
  const bool unary = c.field("x") != nullptr;
  const std::size_t rows = unary ? 1 : value(before, "rows"),
                    columns = unary ? after.at("y").count : value(before, "columns");
  Parameters p;
  if (c.field("alpha") != nullptr)
    p = {real_value(before, "alpha"), real_value(before, "beta"), real_value(before, "gamma")};
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t k = 0; k < columns; ++k) {
      const std::size_t i = r * columns + k;
      const auto operand = [&](const char* name) {
        return element(before, *c.field(name), r * steps(before, name, "_row") + k * steps(before, name, "_step"));
      };
      if (unary) {
        check_one(c, *c.field("x"), y, element(before, *c.field("x"), i), 0, p, element(after, y, i), i, check);
      } else if (c.field("c") == nullptr) {
        check_one(c, *c.field("a"), y, operand("a"), operand("b"), p, element(after, y, i), i, check);
      } else if (operation(c) == "Where") {
        check("y", i, element(after, y, i), operand("c") != 0 ? operand("a") : operand("b"));
      } else {
        const double sum = static_cast<float>(static_cast<float>(operand("c") * operand("a")) + operand("b"));
        check("y", i, element(after, y, i), rounded(sum, y.type));
      }
    }
}

Bindings generate_map(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t n = std::max<std::uint32_t>(1, size);
  if (c.field("x") != nullptr) {
    fill_data(c, b, random, false, [&](const std::string&) { return n; });
    static constexpr float kNumbers[] = {0.0F, 0.5F, 1.0F, 1.5F, 3.0F};
    for (const char* name : {"alpha", "beta", "gamma"})
      if (c.field(name) != nullptr) std::memcpy(&b[name].value, &kNumbers[below(5, random)], 4);
    if (operation(c) == "Celu" && b["alpha"].value == 0) std::memcpy(&b["alpha"].value, &kNumbers[3], 4);
    return b;
  }
  // Rows as broadcasting makes them: an operand is full, repeated by row, or one element a row; or few elements.
  const std::uint32_t rows = below(3, random) == 0 ? 1 : 1 + below(30, random), columns = rows == 1 ? n * 3 : 1 + n / 2;
  b["rows"] = number(rows), b["columns"] = number(columns);
  std::map<std::string, std::uint32_t> counts = {{"y", rows * columns}};
  for (const char* name : {"a", "b", "c"}) {
    if (c.field(name) == nullptr) continue;
    const std::uint32_t form = below(4, random), step = form < 2 ? 1 : 0;
    const std::uint32_t row = form == 0 ? columns : form == 2 ? 1 : 0;
    b[std::string(name) + "_row"] = number(row), b[std::string(name) + "_step"] = number(step);
    counts[name] = (rows - 1) * row + (columns - 1) * step + 1;
  }
  fill_data(c, b, random, false, [&](const std::string& f) { return counts.at(f); });
  return b;
}

}  // namespace

std::vector<Family> map_cases() { return {{{"Map"}, generate_map, check_map}}; }

}  // namespace tessera::cases
