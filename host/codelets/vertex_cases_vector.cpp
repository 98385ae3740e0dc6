// Products of few rows by dot products, and the sums of their parts.
#include <algorithm>

#include "host/codelets/vertex_case_tools.h"

namespace tessera::cases {
namespace {

constexpr std::size_t kWorkers = 6;

Bindings generate_product(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t lanes = c.field("x")->type == FieldType::f16 ? 4 : 2;
  const std::uint32_t vectors = (size + 1) / 2 * 2, share = (vectors / 2 + 5) / 6 * 2;
  const std::uint32_t groups = 1 + below(2, random), batch = 1 + below(2, random), stride = vectors * lanes + 8;
  b["groups"] = number(groups), b["vectors"] = number(vectors), b["share"] = number(share);
  b["batch"] = number(batch), b["stride"] = number(stride);
  fill_data(c, b, random, true, [&](const std::string& f) {
    return f == "weights" ? groups * 6 * share * 4 * lanes : f == "x" ? batch * stride : batch * groups * 4 * 6;
  });
  return b;
}

void check_product(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const Field &w = *c.field("weights"), &x = *c.field("x");
  const std::size_t lanes = x.type == FieldType::f16 ? 4 : 2, share = value(before, "share");
  const std::size_t rows = value(before, "groups") * 4, vectors = value(before, "vectors");
  const auto one = [&](std::size_t b, std::size_t row, std::size_t worker) {
    double sum = 0, size = 0;
    for (std::size_t v = worker * share; v < std::min(vectors, (worker + 1) * share); ++v)
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::size_t group = row / 4 * kWorkers + worker;
        const std::size_t place = ((group * share + v - worker * share) * 4 + row % 4) * lanes + lane;
        const double term =
            element(before, w, place) * element(before, x, b * value(before, "stride") + v * lanes + lane);
        sum += term, size += std::fabs(term);
      }
    const std::size_t i = (b * rows + row) * kWorkers + worker;
    check("partials", i, at<float>(after, "partials", i), sum, size * 2e-6 + 1e-30);
  };
  for (std::size_t b = 0; b < value(before, "batch"); ++b)
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t worker = 0; worker < kWorkers; ++worker) one(b, row, worker);
}

Bindings generate_sums(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t parts = 1 + below(4, random), pitch = size + below(3, random);
  b["rows"] = number(size), b["part_rows"] = number(pitch), b["parts"] = number(parts),
  b["mode"] = number(below(3, random));
  const float lowest = -0.5F, highest = 0.75F;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &lowest, 4), b["lowest"] = number(bits);
  std::memcpy(&bits, &highest, 4), b["highest"] = number(bits);
  fill_data(c, b, random, true, [&](const std::string& f) { return f == "terms" ? parts * pitch * 6 : size; });
  return b;
}

void check_sums(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const Field& y = *c.field("y");
  const std::size_t rows = value(before, "rows"), parts = value(before, "parts");
  for (std::size_t row = 0; row < rows; ++row) {
    float sum = at<float>(before, "bias", row);
    for (std::size_t i = 0; i < parts * kWorkers; ++i)
      sum += at<float>(before, "terms", (i / kWorkers * value(before, "part_rows") + row) * kWorkers + i % kWorkers);
    if (value(before, "mode") == 1) sum = std::max(sum, 0.0F);
    if (value(before, "mode") == 2) sum = std::min(std::max(sum, -0.5F), 0.75F);
    check("y", row, element(after, y, row), rounded(sum, y.type));
  }
}

}  // namespace

std::vector<Family> vector_cases() {
  return {{{"VectorProduct"}, generate_product, check_product}, {{"VectorSums"}, generate_sums, check_sums}};
}

}  // namespace tessera::cases
