// Reductions, arg max, rows of softmax, predicates.
#include <algorithm>

#include "host/codelets/vertex_case_tools.h"

namespace tessera::cases {
namespace {

Bindings generate_reduce(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t rows = 1 + below(5, random), columns = std::max<std::uint32_t>(1, size);
  const std::uint32_t inner = below(2, random) ? 1 : 1 + below(5, random);
  b["outer"] = number(rows), b["axis"] = number(columns), b["inner"] = number(inner);
  fill_data(c, b, random, false,
            [&](const std::string& f) { return f == "x" ? rows * columns * inner : rows * inner; });
  return b;
}

void check_reduce(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const std::string op = split(c.name).op;
  const Field &x = *c.field("x"), &y = *c.field("y");
  const std::size_t axis = value(before, "axis"), inner = value(before, "inner");
  const auto round = [&](double v) {
    return x.type == FieldType::i32 ? wrap(static_cast<std::int64_t>(v)) : static_cast<double>(static_cast<float>(v));
  };
  for (std::size_t o = 0; o < value(before, "outer"); ++o)
    for (std::size_t i = 0; i < inner; ++i) {
      double result = element(before, x, o * axis * inner + i);
      for (std::size_t k = 1; k < axis; ++k) {
        const double v = element(before, x, (o * axis + k) * inner + i);
        if (op == "ReduceAdd") result = round(result + v);
        if (op == "ReduceMul") result = round(result * v);
        if (op == "ReduceMax") result = std::isnan(result) || std::isnan(v) ? NAN : std::max(result, v);
        if (op == "ReduceMin") result = std::isnan(result) || std::isnan(v) ? NAN : std::min(result, v);
      }
      check("y", o * inner + i, element(after, y, o * inner + i), result);
    }
}

Bindings generate_rows(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t rows = 1 + below(5, random), columns = std::max<std::uint32_t>(1, size);
  const std::uint32_t gap = c.field("x_stride") != nullptr ? below(3, random) : 0;
  b["rows"] = number(rows), b["columns"] = number(columns);
  if (c.field("x_stride") != nullptr) b["x_stride"] = number(columns + gap), b["y_stride"] = number(columns);
  fill_data(c, b, random, true,
            [&](const std::string& f) { return f == "largest" || f == "sum" ? rows : rows * (columns + gap); });
  if (c.field("largest") != nullptr) {  // as a row maximum over more tiles: not below any element
    for (std::uint32_t r = 0; r < rows; ++r) {
      float most = at<float>(b, "largest", r);
      for (std::uint32_t k = 0; k < columns; ++k) most = std::max(most, at<float>(b, "x", r * columns + k));
      std::memcpy(&b["largest"].bytes[r * 4], &most, 4);
    }
  }
  return b;
}

void check_softmax(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const std::size_t columns = value(before, "columns");
  const bool shifted = c.name == "ExpShifted_f32", log = c.name == "LogSoftmax_f32";
  const std::size_t xs = shifted ? columns : value(before, "x_stride"),
                    ys = shifted ? columns : value(before, "y_stride");
  for (std::size_t r = 0; r < value(before, "rows"); ++r) {
    double largest = -HUGE_VAL, sum = 0;
    for (std::size_t k = 0; k < columns; ++k) largest = std::max<double>(largest, at<float>(before, "x", r * xs + k));
    if (shifted) largest = at<float>(before, "largest", r);
    for (std::size_t k = 0; k < columns; ++k) sum += std::exp(at<float>(before, "x", r * xs + k) - largest);
    for (std::size_t k = 0; k < columns; ++k) {
      const double d = at<float>(before, "x", r * xs + k) - largest;
      const double want = log ? d - std::log(sum) : shifted ? std::exp(d) : std::exp(d) / sum;
      check("y", r * ys + k, at<float>(after, "y", r * ys + k), want,
            log ? 1e-6 * (1 + std::fabs(d)) : want * (3e-6 + 1.2e-7 * std::fabs(d)) + 3e-45);
    }
    if (shifted) check("sum", r, at<float>(after, "sum", r), sum, 3e-5 * sum + 1e-44);
  }
}

void check_arg_max(const CodeletInfo& /*c*/, const Bindings& before, const Bindings& after, Check& check) {
  const std::size_t columns = value(before, "columns");
  for (std::size_t r = 0; r < value(before, "rows"); ++r) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < columns; ++k)
      if (at<float>(before, "x", r * columns + k) > at<float>(before, "x", r * columns + best)) best = k;
    check("y", r, at<std::int32_t>(after, "y", r), static_cast<double>(best));
  }
}

Bindings generate_predicate(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  fill_data(c, b, random, false, [&](const std::string& f) { return f == "y" ? 1 : std::max<std::uint32_t>(1, size); });
  return b;
}

void check_predicate(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  std::uint32_t all = 1, any = 0;
  for (const std::uint8_t v : before.at("x").bytes) all &= v, any |= v;
  check("y", 0, at<std::uint32_t>(after, "y", 0), c.name == "All_bool" ? all : any);
}

}  // namespace

std::vector<Family> reduce_cases() {
  return {{{"Reduce"}, generate_reduce, check_reduce},
          {{"Softmax", "LogSoftmax", "ExpShifted"}, generate_rows, check_softmax},
          {{"ArgMax"}, generate_rows, check_arg_max},
          {{"All_bool", "Any_bool"}, generate_predicate, check_predicate}};
}

}  // namespace tessera::cases
