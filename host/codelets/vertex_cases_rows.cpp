// Operations on whole rows: reductions, softmax, normalisations, running sums, losses, against double arithmetic.
#include <algorithm>
#include <vector>

#include "host/codelets/vertex_case_tools.h"

namespace tessera::cases {
namespace {

using Row = std::vector<double>;

/// Moments of the rows of x, all in the first of the six parts.
void set_moments(Bindings& b, std::uint32_t rows, std::uint32_t columns) {
  std::fill(b["moments"].bytes.begin(), b["moments"].bytes.end(), std::uint8_t{0});
  for (std::uint32_t r = 0; r < rows; ++r) {
    double sum = 0, squares = 0;
    for (std::uint32_t k = 0; k < columns; ++k) {
      const double v = half_value(at<std::uint16_t>(b, "x", r * columns + k));
      sum += v, squares += v * v;
    }
    const float parts[2] = {static_cast<float>(sum), static_cast<float>(squares)};
    std::memcpy(&b["moments"].bytes[std::size_t{r} * 48], parts, 8);
  }
}

Bindings generate_rows(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const bool vectors = starts(c.name, "RowMoments") || starts(c.name, "RowApply") || starts(c.name, "RowSoftmaxFast");
  const std::uint32_t rows = 1 + below(9, random), columns = std::max<std::uint32_t>(1, size) * (vectors ? 4 : 1);
  const std::uint32_t step = below(2, random);
  for (const auto& f : c.fields)
    if (f.is_value()) b[f.name] = number(below(2, random));
  b["rows"] = number(rows), b["columns"] = number(columns);
  const auto set = [&](const char* name, float v) {
    if (c.field(name) != nullptr) std::memcpy(&b[name].value, &v, 4);
  };
  set("epsilon", 0.5F), set("alpha", 0.25F), set("beta", 0.75F), set("bias", 1.0F);
  const std::uint32_t row = step != 0 ? 0 : below(2, random);
  if (c.field("s_row") != nullptr) b["s_row"] = number(row), b["s_step"] = number(step);
  const bool wild = starts(c.name, "RowMax") || starts(c.name, "RowMin");
  fill_data(c, b, random, !wild, [&](const std::string& f) {
    if (f == "moments") return rows * 12;
    if (starts(c.name, "RowApply"))
      return f == "scale" || f == "bias" ? columns : f == "x" || f == "y" ? rows * columns : rows;
    if (f == "scale" || (f == "bias" && c.field("s_row") != nullptr))
      return (rows - 1) * row + (columns - 1) * step + 1;
    if (f == "weight") return columns;
    const bool matrix =
        f == "x" || (f == "y" && (starts(c.name, "RowNorm") || starts(c.name, "RowLrn") || starts(c.name, "RowCum") ||
                                  c.name.find("max_f") != std::string::npos || vectors));
    return matrix && !(f == "y" && starts(c.name, "RowMax")) ? rows * columns : rows;
  });
  if (starts(c.name, "RowApply")) set_moments(b, rows, columns);
  if (c.field("target") != nullptr)
    for (std::uint32_t r = 0; r < rows; ++r) {
      const std::int32_t t = static_cast<std::int32_t>(below(columns + 1, random));
      std::memcpy(&b["target"].bytes[r * 4], &t, 4);
    }
  return b;
}

struct Rows {
  const CodeletInfo& c;
  const Bindings &before, &after;
  Check& check;
  std::string op;
  FieldType type;

  [[nodiscard]] Row row(std::size_t r) const {
    Row result;
    const std::size_t columns = value(before, "columns");
    for (std::size_t k = 0; k < columns; ++k) result.push_back(element(before, *c.field("x"), r * columns + k));
    return result;
  }
  void expect(const char* field, std::size_t i, double want, double tolerance) const {
    const Field& f = *c.field(field);
    check(field, i, element(after, f, i), want, tolerance + ulps(want, f.type, f.type == FieldType::f16 ? 2 : 4));
  }
  void reduction(std::size_t r, const Row& x) const;
  void normalisation(std::size_t r, const Row& x) const;
  void softmax(std::size_t r, const Row& x) const;
  void loss(std::size_t r, const Row& x) const;
};

void Rows::reduction(std::size_t r, const Row& x) const {
  double sum = 0, product = 1, size = 0, squares = 0;
  std::uint32_t wrapped_product = 1;
  bool nan = false;
  for (const double v : x) {
    sum += v, product *= v, size += std::fabs(v), squares += v * v;
    wrapped_product *= static_cast<std::uint32_t>(static_cast<std::int64_t>(v));
    nan = nan || std::isnan(v);
  }
  const double n = static_cast<double>(x.size());
  if (c.field("y")->type == FieldType::i32 && op != "RowMax" && op != "RowMin") {
    std::uint32_t whole = 0;
    for (const double v : x) {
      const auto i = static_cast<std::uint32_t>(static_cast<std::int64_t>(v));
      whole += op == "RowSum" ? i : op == "RowL1" ? (v < 0 ? 0 - i : i) : i * i;
    }
    check("y", r, at<std::int32_t>(after, "y", r),
          static_cast<std::int32_t>(op == "RowProd" ? wrapped_product : whole));
    return;
  }
  if (op == "RowSum") expect("y", r, sum, size * n * 1e-7);
  if (op == "RowProd") expect("y", r, product, std::fabs(product) * n * 1e-7 + n * 2e-45);
  if (op == "RowMax") expect("y", r, nan ? NAN : *std::max_element(x.begin(), x.end()), 0);
  if (op == "RowMin") expect("y", r, nan ? NAN : *std::min_element(x.begin(), x.end()), 0);
  if (op == "RowL1") expect("y", r, size, size * n * 1e-7);
  if (op == "RowSumSquare") expect("y", r, squares, squares * n * 1e-7);
  if (op == "RowLogSumExp") {
    double exponentials = 0;
    const double largest = *std::max_element(x.begin(), x.end());
    for (const double v : x) exponentials += std::exp(v - largest);
    expect("y", r, largest + std::log(exponentials), 1e-6 * (1 + std::fabs(largest)));
  }
}

void Rows::softmax(std::size_t r, const Row& x) const {
  const double largest = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const double v : x) sum += std::exp(v - largest);
  const std::size_t best = static_cast<std::size_t>(std::max_element(x.begin(), x.end()) - x.begin());
  const double half = type == FieldType::f16 ? 1e-3 : 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double d = x[k] - largest;
    const std::size_t i = r * x.size() + k;
    if (op == "RowSoftmax" || op == "RowSoftmaxFast")
      expect("y", i, std::exp(d) / sum,
             std::exp(d) / sum * (3e-6 + 1.2e-7 * std::fabs(d) + half) + (half > 0 ? 6e-8 : 0));
    if (op == "RowLogSoftmax") expect("y", i, d - std::log(sum), 1e-6 * (1 + std::fabs(d)));
    if (op == "RowHardmax") check("y", i, element(after, *c.field("y"), i), k == best ? 1.0 : 0.0);
  }
}

void Rows::normalisation(std::size_t r, const Row& x) const {
  double sum = 0, squares = 0, size = 0;
  for (const double v : x) sum += v, size = std::max(size, std::fabs(v));
  const double n = static_cast<double>(x.size()), mean = sum / n;
  for (const double v : x) squares += (v - mean) * (v - mean);
  const double inverse = 1 / std::sqrt(squares / n + real_value(before, "epsilon"));
  expect("mean", r, mean, size * n * 1e-7);
  const double lost = op == "RowApply" ? inverse * inverse * squares / n + 1 : 0;  // the difference of two sums
  expect("deviation", r, inverse, inverse * (n + lost * 100) * 1e-6);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const bool apply = c.field("s_row") == nullptr;
    const std::size_t s = apply ? k : r * value(before, "s_row") + k * value(before, "s_step");
    const double scale = at<float>(before, "scale", s), bias = at<float>(before, "bias", s);
    expect("y", r * x.size() + k, (x[k] - mean) * inverse * scale + bias,
           (std::fabs(scale) * (1 + size * inverse) + std::fabs(bias)) * n * 1e-6);
  }
}

void Rows::loss(std::size_t r, const Row& x) const {
  const std::int32_t t = at<std::int32_t>(before, "target", r);
  const bool ignored = value(before, "ignores") != 0 && t == signed_value(before, "ignored");
  const bool counts = static_cast<std::size_t>(t) < x.size() && !ignored;
  const double weight = counts ? at<float>(before, "weight", static_cast<std::size_t>(t)) : 0.0;
  check("weights", r, at<float>(after, "weights", r), weight);
  check("y", r, at<float>(after, "y", r), counts ? static_cast<float>(-weight * x[static_cast<std::size_t>(t)]) : 0.0);
}

void check_rows(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const Rows rows{c, before, after, check, split(c.name).op, c.field("x")->type};
  const std::size_t columns = value(before, "columns");
  for (std::size_t r = 0; r < value(before, "rows"); ++r) {
    const Row x = rows.row(r);
    const bool largest = rows.op == "RowArgMax";
    if (largest || rows.op == "RowArgMin") {
      std::size_t best = 0;
      for (std::size_t k = 1; k < columns; ++k)
        if ((largest ? x[k] > x[best] : x[k] < x[best]) || (value(before, "last") != 0 && x[k] == x[best])) best = k;
      check("y", r, at<std::int32_t>(after, "y", r), static_cast<double>(best));
    } else if (rows.op == "RowMoments") {
      double sums[2] = {0, 0}, want[3] = {0, 0, 0};
      for (std::size_t w = 0; w < 6; ++w)
        for (std::size_t i = 0; i < 2; ++i) sums[i] += at<float>(after, "moments", r * 12 + 2 * w + i);
      for (const double v : x) want[0] += v, want[1] += v * v, want[2] += std::fabs(v);
      check("moments", r * 12, sums[0], want[0], want[2] * 1e-5);
      check("moments", r * 12 + 1, sums[1], want[1], want[1] * 1e-5);
    } else if (rows.op == "RowNorm" || rows.op == "RowApply") {
      rows.normalisation(r, x);
    } else if (rows.op == "RowSoftmax" || rows.op == "RowSoftmaxFast" || rows.op == "RowLogSoftmax" ||
               rows.op == "RowHardmax") {
      rows.softmax(r, x);
    } else if (rows.op == "RowNll") {
      rows.loss(r, x);
    } else if (rows.op == "RowLrn") {
      for (std::size_t k = 0; k < columns; ++k) {
        double sum = 0;
        for (std::size_t i = k - std::min<std::size_t>(k, value(before, "before"));
             i <= std::min<std::size_t>(columns - 1, k + value(before, "behind")); ++i)
          sum += x[i] * x[i];
        const double want =
            x[k] / std::pow(real_value(before, "bias") + real_value(before, "alpha") * sum, real_value(before, "beta"));
        rows.expect("y", r * columns + k, want, std::fabs(want) * 2e-6);
      }
    } else if (rows.op == "RowCumSum") {
      double sum = 0, size = 0;
      for (std::size_t i = 0; i < columns; ++i) {
        const std::size_t k = value(before, "reverse") != 0 ? columns - 1 - i : i;
        const double next = sum + x[k];
        size += std::fabs(x[k]);
        const double want = value(before, "exclusive") != 0 ? sum : next;
        if (rows.type == FieldType::i32)
          check("y", r * columns + k, at<std::int32_t>(after, "y", r * columns + k),
                wrap(static_cast<std::int64_t>(want)));
        else
          rows.expect("y", r * columns + k, want, size * static_cast<double>(columns) * 1e-7);
        sum = next;
      }
    } else {
      rows.reduction(r, x);
    }
  }
}

}  // namespace

std::vector<Family> rows_cases() { return {{{"Row"}, generate_rows, check_rows}}; }

}  // namespace tessera::cases
