// Elementwise operations on one or two operands, in all forms of broadcasting, and casts.
#include <algorithm>
#include <limits>

#include "host/codelets/vertex_case_tools.h"

namespace tessera::cases {
namespace {

/// Result of an elementwise operation, already rounded to the output type; `close` allows 2 units in the last place.
double apply(const std::string& op, const std::string& type, double a, double b, bool& close) {
  if (const std::optional<double> truth = comparison(op, a, b)) return *truth;
  if (type == "i32") {
    const auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
    if (op == "Add") return wrap(x + y);
    if (op == "Sub") return wrap(x - y);
    if (op == "Mul") return wrap(x * y);
    if (op == "Div") return y == 0 ? -1 : wrap(x / y);
    if (op == "Min") return static_cast<double>(std::min(x, y));
    if (op == "Max") return static_cast<double>(std::max(x, y));
    if (op == "Neg") return wrap(-x);
    if (op == "Abs") return wrap(x < 0 ? -x : x);
  }
  // A double holds sum, product, quotient and root of two f32 well enough that one more rounding gives the f32 result.
  if (op == "Add") return static_cast<float>(a + b);
  if (op == "Sub") return static_cast<float>(a - b);
  if (op == "Mul") return static_cast<float>(a * b);
  if (op == "Div") return static_cast<float>(a / b);
  if (op == "Min") return std::fmin(a, b);
  if (op == "Max") return std::fmax(a, b);
  if (op == "Relu") return std::isnan(a) ? a : a > 0 ? a : 0.0;
  if (op == "Neg") return -a;
  if (op == "Abs") return std::fabs(a);
  if (op == "Sqrt") return static_cast<float>(std::sqrt(a));
  if (op == "Reciprocal") return static_cast<float>(1.0 / a);
  close = true;
  if (op == "Exp") return std::exp(a);
  if (op == "Log") return std::log(a);
  if (op == "Sigmoid") return 1.0 / (1.0 + std::exp(-a));
  if (op == "Tanh") return std::tanh(a);
  throw std::logic_error("no expectation for operation " + op);
}

double cast(double v, FieldType from, FieldType to) {
  if (to == FieldType::boolean) return v != 0;
  if (to == FieldType::f32 || to == FieldType::f16) return rounded(v, to);
  std::int32_t whole = 0;
  if (from == FieldType::f32 && (std::isnan(v) || v >= 2147483647.0))
    whole = std::numeric_limits<std::int32_t>::max();
  else if (v <= -2147483648.0)
    whole = std::numeric_limits<std::int32_t>::min();
  else
    whole = static_cast<std::int32_t>(v);
  const auto bits = static_cast<std::uint32_t>(whole);
  if (to == FieldType::u8) return static_cast<std::uint8_t>(bits);
  if (to == FieldType::i8) return static_cast<std::int8_t>(static_cast<std::uint8_t>(bits));
  return whole;
}

void check_elementwise(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const Name name = split(c.name);
  const Field &y = *c.field("y"), &a = c.field("a") != nullptr ? *c.field("a") : *c.field("x");
  const Field* b = c.field("b");
  const auto one = [&](std::size_t ia, std::size_t ib, std::size_t iy) {
    if (name.op == "Cast") {
      check("y", iy, element(after, y, iy), cast(element(before, a, ia), a.type, y.type));
      return;
    }
    bool close = false;
    const double want = apply(name.op, name.type, element(before, a, ia), b ? element(before, *b, ib) : 0.0, close);
    check("y", iy, element(after, y, iy), close ? static_cast<float>(want) : want, close ? ulps(want, y.type, 2) : 0.0);
  };
  if (name.form == "_rows") {
    for (std::int64_t r = 0; r < signed_value(before, "rows"); ++r)
      for (std::int64_t k = 0; k < signed_value(before, "columns"); ++k)
        one(static_cast<std::size_t>(r * signed_value(before, "a_stride") + k * signed_value(before, "a_step")),
            static_cast<std::size_t>(r * signed_value(before, "b_stride") + k * signed_value(before, "b_step")),
            static_cast<std::size_t>(r * signed_value(before, "y_stride") + k));
    return;
  }
  for (std::size_t i = 0; i < after.at("y").count; ++i)
    one(name.form == "_scalar_left" ? 0 : i, name.form == "_scalar" ? 0 : i, i);
}

Bindings generate_elementwise(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const Name name = split(c.name);
  const std::uint32_t rows = 1 + below(5, random), columns = std::max<std::uint32_t>(1, size);
  if (name.form == "_rows") {
    const std::uint32_t a_step = below(2, random), b_step = below(2, random);
    const std::uint32_t gap = below(3, random);
    b["rows"] = number(rows), b["columns"] = number(columns), b["a_step"] = number(a_step),
    b["b_step"] = number(b_step);
    b["a_stride"] = number(a_step ? columns + gap : below(2, random)),
    b["b_stride"] = number(below(2, random) ? 0 : columns);
    b["y_stride"] = number(columns + gap);
    fill_data(c, b, random, false, [&](const std::string&) { return rows * (columns + gap) + columns; });
    return b;
  }
  const std::string single = name.form == "_scalar" ? "b" : name.form == "_scalar_left" ? "a" : "";
  fill_data(c, b, random, false, [&](const std::string& f) { return f == single ? 1 : columns; });
  return b;
}

}  // namespace

Family elementwise_cases() { return {{""}, generate_elementwise, check_elementwise}; }

}  // namespace tessera::cases
