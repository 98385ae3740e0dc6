// Softmax of rows in parts, and where the best of parts stands, against double arithmetic.
#include <algorithm>
#include <vector>

#include "host/codelets/vertex_case_tools.h"

namespace tessera::cases {
namespace {

constexpr std::size_t kWorkers = 6;

/// The elements of a row that a worker of a part has: equal shares of whole vectors of 8 bytes.
std::pair<std::size_t, std::size_t> share_of(std::size_t columns, FieldType type, std::size_t worker) {
  const std::size_t grain = type == FieldType::f16 ? 4 : 2;
  const std::size_t share = (columns + kWorkers * grain - 1) / (kWorkers * grain) * grain;
  return {std::min(columns, worker * share), std::min(columns, (worker + 1) * share)};
}

Bindings generate_parts(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  if (c.name == "PartPick_i32") {
    const std::uint32_t rows = std::max<std::uint32_t>(1, size), parts = 2 + below(5, random);
    b["rows"] = number(rows), b["parts"] = number(parts), b["length"] = number(1 + below(50, random));
    fill_data(c, b, random, true, [&](const std::string& f) { return f == "where" ? rows * parts : rows; });
    for (std::uint32_t r = 0; r < rows; ++r) {
      const std::uint32_t part = below(parts, random);
      std::memcpy(&b["part"].bytes[r * std::size_t{4}], &part, 4);
    }
    return b;
  }
  const std::uint32_t columns = std::max<std::uint32_t>(1, size), width = c.name.back() == '6' ? 4 : 2;
  const std::uint32_t rows = columns % width == 0 ? 1 + below(4, random) : 1, n = 6 * (1 + below(3, random));
  b["rows"] = number(rows), b["columns"] = number(columns);
  if (c.field("n") != nullptr) b["n"] = number(n);
  fill_data(c, b, random, true, [&](const std::string& f) {
    const bool partial = (f == "y" && starts(c.name, "PartMax")) || (f == "sums" && starts(c.name, "PartExp"));
    return partial ? rows * 6 : f == "best" || f == "sums" ? rows * n : rows * columns;
  });
  // Sums are those of exponentials: not below one; what is largest is not below the elements.
  const auto change = [&](const char* field, float add) {
    if (c.field(field) == nullptr || (field[0] == 's' && starts(c.name, "PartExp"))) return;
    for (std::size_t i = 0; i < b[field].bytes.size() / 4; ++i) {
      const float v = std::fabs(at<float>(b, field, i)) + add;
      std::memcpy(&b[field].bytes[i * 4], &v, 4);
    }
  };
  change("sums", 1.0F), change("best", 0.0F);
  if (c.field("best") != nullptr)
    for (std::uint32_t r = 0; r < rows; ++r) {
      double best = at<float>(b, "best", std::size_t{r} * n);
      for (std::uint32_t k = 0; k < columns; ++k) best = std::max(best, element(b, *c.field("x"), r * columns + k));
      const auto v = static_cast<float>(best);
      std::memcpy(&b["best"].bytes[std::size_t{r} * n * 4], &v, 4);
    }
  return b;
}

struct Part {
  const CodeletInfo& c;
  const Bindings &before, &after;
  Check& check;
  FieldType type;
  std::size_t columns, n;

  [[nodiscard]] double of(const char* field, std::size_t i) const { return element(before, *c.field(field), i); }
  void expect(std::size_t i, double want, double tolerance) const {
    check("y", i, element(after, *c.field("y"), i), want,
          tolerance + ulps(want, type, type == FieldType::f16 ? 2 : 4) + (type == FieldType::f16 ? 6e-8 : 0));
  }
  [[nodiscard]] double largest(std::size_t row) const {
    double best = of("best", row * n);
    for (std::size_t i = 1; i < n; ++i) best = std::max(best, of("best", row * n + i));
    return best;
  }
  [[nodiscard]] double sum(std::size_t row) const {
    double total = 0;
    for (std::size_t i = 0; i < n; ++i) total += of("sums", row * n + i);
    return total;
  }
  void largest_of_shares(std::size_t row) const;
  void exponentials(std::size_t row) const;
};

void Part::largest_of_shares(std::size_t row) const {
  for (std::size_t w = 0; w < kWorkers; ++w) {
    const auto [begin, end] = share_of(columns, type, w);
    double best = -HUGE_VAL;
    for (std::size_t k = begin; k < end; ++k) best = std::max(best, of("x", row * columns + k));
    check("y", row * kWorkers + w, at<float>(after, "y", row * kWorkers + w), best);
  }
}

void Part::exponentials(std::size_t row) const {
  const double best = largest(row);
  for (std::size_t w = 0; w < kWorkers; ++w) {
    const auto [begin, end] = share_of(columns, type, w);
    double total = 0;
    for (std::size_t k = begin; k < end; ++k) {
      const double d = of("x", row * columns + k) - best, e = std::exp(d);
      expect(row * columns + k, e, e * (3e-6 + 1.2e-7 * std::fabs(d)));
      total += e;
    }
    check("sums", row * kWorkers + w, at<float>(after, "sums", row * kWorkers + w), total,
          total * (1e-5 + 1e-7 * static_cast<double>(columns)) + 2e-45 * static_cast<double>(columns + 1));
  }
}

void check_parts(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  if (c.name == "PartPick_i32") {
    for (std::size_t r = 0; r < value(before, "rows"); ++r) {
      const auto part = at<std::uint32_t>(before, "part", r);
      check("y", r, at<std::int32_t>(after, "y", r),
            wrap(std::int64_t{part} * value(before, "length") +
                 at<std::int32_t>(before, "where", r * value(before, "parts") + part)));
    }
    return;
  }
  const std::string op = split(c.name).op;
  const Part part{c,
                  before,
                  after,
                  check,
                  c.name.back() == '6' ? FieldType::f16 : FieldType::f32,
                  value(before, "columns"),
                  op == "PartMax" ? 6 : value(before, "n")};
  for (std::size_t r = 0; r < value(before, "rows"); ++r) {
    if (op == "PartMax") part.largest_of_shares(r);
    if (op == "PartExp") part.exponentials(r);
    for (std::size_t k = 0; k < part.columns; ++k) {
      const std::size_t i = r * part.columns + k;
      if (op == "PartScale") {
        const double want = part.of("y", i) / part.sum(r);
        part.expect(i, want, std::fabs(want) * 2e-6);
      }
      if (op == "PartShift") {
        const double d = part.of("x", i) - part.largest(r), shift = std::log(part.sum(r));
        part.expect(i, d - shift, 1e-6 * (1 + std::fabs(d) + shift));
      }
    }
  }
}

}  // namespace

std::vector<Family> part_cases() { return {{{"Part"}, generate_parts, check_parts}}; }

}  // namespace tessera::cases
