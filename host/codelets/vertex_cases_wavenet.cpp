// Steps of WaveNet between its products, by their formulas in doubles.
#include <algorithm>

#include "host/codelets/vertex_case_tools.h"

namespace tessera::cases {
namespace {

constexpr std::size_t kWorkers = 6;

double row_sum(const Bindings& b, std::size_t row) {
  double sum = at<float>(b, "bias", row);
  for (std::size_t w = 0; w < kWorkers; ++w) sum += at<float>(b, "partials", row * kWorkers + w);
  return sum;
}
/// Rounding of the sum of seven terms.
double row_tolerance(const Bindings& b, std::size_t row) {
  double size = std::fabs(at<float>(b, "bias", row));
  for (std::size_t w = 0; w < kWorkers; ++w) size += std::fabs(at<float>(b, "partials", row * kWorkers + w));
  return size * 1e-6 + 1e-30;
}
double half_tolerance(double want) { return std::fabs(want) * 0x1p-10 + 0x1p-24; }

Bindings generate(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t units = std::max<std::uint32_t>(1, size), skips = units + below(4, random);
  const std::uint32_t depth = 1U << below(4, random), tiles = 1 + below(4, random), block = 1 + below(4, random);
  const std::uint32_t classes = 1 + below(8, random), rows = units;
  for (const auto& [name, number_of] : std::vector<std::pair<std::string, std::uint32_t>>{{"units", units},
                                                                                          {"skips", skips},
                                                                                          {"depth", depth},
                                                                                          {"tiles", tiles},
                                                                                          {"block", block},
                                                                                          {"rows", rows},
                                                                                          {"first", below(2, random)},
                                                                                          {"greedy", below(2, random)}})
    if (c.field(name) != nullptr) b[name] = number(number_of);
  const std::uint32_t gates = c.name == "WaveGate" ? 2 * units : c.name == "WaveResidual" ? units + skips : rows;
  fill_data(c, b, random, true, [&](const std::string& f) {
    if (f == "partials") return gates * 6;
    if (f == "bias") return gates;
    if (f == "ring") return depth * units;
    if (f == "table") return classes * units;
    if (f == "skip") return skips;
    if (f == "maxima" || f == "sums") return tiles;
    if (f == "samples" || f == "chances") return block;
    if (f == "e") return c.name == "WaveChoose" ? rows * tiles : rows;
    if (f == "h" || f == "tap" || f == "z") return units;
    return f == "y" || f == "x" || f == "logits" ? rows : 1U;
  });
  const auto put = [&](const std::string& field, std::uint32_t value) {
    if (c.field(field) != nullptr && c.field(field)->type == FieldType::u32)
      std::memcpy(b[field].bytes.data(), &value, 4);
  };
  put("sample", below(classes, random)), put("time", below(1000, random)), put("place", below(block, random));
  if (c.name != "WaveChoose") return b;
  for (std::uint32_t i = 0; i < rows * tiles; ++i) {  // as exp gives them, and their sums
    const float e = std::exp(-std::fabs(at<float>(b, "e", i)));
    std::memcpy(&b["e"].bytes[i * 4], &e, 4);
  }
  for (std::uint32_t tile = 0; tile < tiles; ++tile) {
    float sum = 0;
    for (std::uint32_t i = 0; i < rows; ++i) sum += at<float>(b, "e", tile * rows + i);
    std::memcpy(&b["sums"].bytes[tile * 4], &sum, 4);
  }
  return b;
}

/// What went into the ring, and what came out of it `depth` samples later.
void check_ring(const Bindings& before, const Bindings& after, Check& check, std::size_t units) {
  const std::size_t depth = value(before, "depth");
  const std::size_t place = at<std::uint32_t>(before, "time", 0) % depth;
  for (std::size_t i = 0; i < depth * units; ++i) {
    const bool here = i / units == place;
    const double h = half_value(at<std::uint16_t>(after, "h", i % units));
    check("ring", i, half_value(at<std::uint16_t>(after, "ring", i)),
          here ? h : half_value(at<std::uint16_t>(before, "ring", i)));
    if (here)
      check("tap", i % units, half_value(at<std::uint16_t>(after, "tap", i % units)),
            half_value(at<std::uint16_t>(before, "ring", i)));
  }
}

void check_embed(const CodeletInfo& /*c*/, const Bindings& before, const Bindings& after, Check& check) {
  const std::size_t units = value(before, "units"), row = at<std::uint32_t>(before, "sample", 0);
  for (std::size_t i = 0; i < units; ++i)
    check("h", i, half_value(at<std::uint16_t>(after, "h", i)),
          half_value(at<std::uint16_t>(before, "table", row * units + i)));
  check_ring(before, after, check, units);
  check("time", 0, at<std::uint32_t>(after, "time", 0), at<std::uint32_t>(before, "time", 0) + 1.0);
}

void check_gate(const CodeletInfo& /*c*/, const Bindings& before, const Bindings& after, Check& check) {
  for (std::size_t u = 0; u < value(before, "units"); ++u) {
    const double want = std::tanh(row_sum(before, 2 * u)) / (1 + std::exp(-row_sum(before, 2 * u + 1)));
    check("z", u, half_value(at<std::uint16_t>(after, "z", u)), want,
          half_tolerance(want) + row_tolerance(before, 2 * u) + row_tolerance(before, 2 * u + 1) + 1e-5);
  }
}

void check_residual(const CodeletInfo& /*c*/, const Bindings& before, const Bindings& after, Check& check) {
  const std::size_t units = value(before, "units");
  for (std::size_t i = 0; i < units; ++i) {
    const double want = half_value(at<std::uint16_t>(before, "h", i)) + row_sum(before, i);
    check("h", i, half_value(at<std::uint16_t>(after, "h", i)), want, half_tolerance(want) + row_tolerance(before, i));
  }
  for (std::size_t i = 0; i < value(before, "skips"); ++i) {
    const double old = value(before, "first") != 0 ? 0 : at<float>(before, "skip", i);
    const double want = old + row_sum(before, units + i);
    check("skip", i, at<float>(after, "skip", i), want,
          row_tolerance(before, units + i) + 1e-6 * (std::fabs(old) + std::fabs(want)));
  }
  check_ring(before, after, check, units);
}

void check_relu(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const bool sums = c.name == "WaveHidden";
  for (std::size_t row = 0; row < value(before, "rows"); ++row) {
    const double want = std::max(0.0, sums ? row_sum(before, row) : at<float>(before, "x", row));
    check("y", row, half_value(at<std::uint16_t>(after, "y", row)), want,
          half_tolerance(want) + (sums ? row_tolerance(before, row) : 0));
  }
}

void check_logits(const CodeletInfo& /*c*/, const Bindings& before, const Bindings& after, Check& check) {
  double largest = -HUGE_VAL;
  for (std::size_t row = 0; row < value(before, "rows"); ++row) {
    check("logits", row, at<float>(after, "logits", row), row_sum(before, row), row_tolerance(before, row));
    largest = std::max<double>(largest, at<float>(after, "logits", row));
  }
  check("largest", 0, at<float>(after, "largest", 0), largest);
}

void check_exp(const CodeletInfo& /*c*/, const Bindings& before, const Bindings& after, Check& check) {
  double largest = -HUGE_VAL, sum = 0;
  for (std::size_t i = 0; i < value(before, "tiles"); ++i)
    largest = std::max<double>(largest, at<float>(before, "maxima", i));
  for (std::size_t row = 0; row < value(before, "rows"); ++row) {
    const double d = at<float>(before, "logits", row) - largest, exact = std::exp(d);
    const double want = exact > std::numeric_limits<float>::max() ? HUGE_VAL : exact;
    check("e", row, at<float>(after, "e", row), want, want * (1e-5 + 2.4e-7 * std::fabs(d)) + 1e-37);
    sum += at<float>(after, "e", row);
  }
  check("sum", 0, at<float>(after, "sum", 0), sum, 1e-5 * sum + 1e-37);
}

void check_choose(const CodeletInfo& /*c*/, const Bindings& before, const Bindings& after, Check& check) {
  const std::size_t count = static_cast<std::size_t>(value(before, "rows")) * value(before, "tiles");
  const std::uint32_t seed = at<std::uint32_t>(before, "seed", 0) * 1664525U + 1013904223U;
  const std::size_t chosen = at<std::uint32_t>(after, "sample", 0), place = at<std::uint32_t>(before, "place", 0);
  double total = 0, below_it = 0, largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    total += at<float>(before, "e", i);
    largest = std::max<double>(largest, at<float>(before, "e", i));
    if (i < chosen) below_it += at<float>(before, "e", i);
  }
  check("seed", 0, at<std::uint32_t>(after, "seed", 0), seed);
  check("sample", 0, chosen < count ? 1 : 0, 1);
  const double e = at<float>(before, "e", std::min(chosen, count - 1));
  if (value(before, "greedy") != 0) {
    check("sample's e", 0, e, largest);
  } else {
    const double aim = (seed >> 8) * 0x1p-24 * total;  // inside the chosen class's share
    check("aim", 0, aim, std::min(std::max(aim, below_it), below_it + e), 1e-5 * total);
  }
  for (std::size_t i = 0; i < value(before, "block"); ++i) {
    check("samples", i, at<std::uint32_t>(after, "samples", i),
          i == place ? chosen : at<std::uint32_t>(before, "samples", i));
    check("chances", i, at<float>(after, "chances", i), i == place ? e / total : at<float>(before, "chances", i),
          i == place ? 1e-5 : 0);
  }
  check("place", 0, at<std::uint32_t>(after, "place", 0), static_cast<double>((place + 1) % value(before, "block")));
}

}  // namespace

std::vector<Family> wavenet_cases() {
  return {{{"WaveEmbed"}, generate, check_embed},       {{"WaveGate"}, generate, check_gate},
          {{"WaveResidual"}, generate, check_residual}, {{"WaveRelu", "WaveHidden"}, generate, check_relu},
          {{"WaveLogits"}, generate, check_logits},     {{"WaveExp"}, generate, check_exp},
          {{"WaveChoose"}, generate, check_choose}};
}

}  // namespace tessera::cases
