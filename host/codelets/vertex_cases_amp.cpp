// Products on the AMP unit, what finishes their sums, and zeros of operands.
#include <algorithm>
#include <array>

#include "host/codelets/vertex_case_tools.h"

namespace tessera::cases {
namespace {

bool half(const CodeletInfo& c) { return c.name.find("f16") != std::string::npos; }

/// Random numbers of moderate size.
void fill_small(const CodeletInfo& c, Bindings& b, std::mt19937& random,
                const std::function<std::uint32_t(const std::string&)>& count) {
  fill_data(c, b, random, true, count);
}

Bindings generate_product(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t bytes = half(c) ? 2 : 4, load = half(c) ? 16 : 8;
  const std::uint32_t positions = 3 + size / 6, out = 1 + below(2, random), in = 1 + below(2, random);
  const std::uint32_t step = below(2, random) ? 32 : 16 + 32 * below(2, random);  // bytes from position to position
  const std::uint32_t gap = 8 * below(5, random);  // bytes between the halves of a position
  const std::uint32_t block = 6 * positions * step + 32 + gap;
  b["positions"] = number(positions);
  b["x_share"] = number(positions * step), b["c_share"] = number(positions * 32);
  b["x_stride"] = number((((step - 24 - gap) / 8) & 0xffff) | (gap / 8 + 1) << 16);
  fill_small(c, b, random, [&](const std::string& f) {
    return f == "weights"   ? out * in * 64
           : f == "offsets" ? out * in
           : f == "x"       ? in * block / bytes
                            : out * positions * 48;
  });
  b["weights"] = data(half(c) ? FieldType::f16 : FieldType::f32, out * in * 8 * load, random, true);
  for (std::uint32_t o = 0; o < out; ++o)
    for (std::uint32_t i = 0; i < in; ++i) {
      const std::uint32_t word = i == 0 ? 0x80000000U | o * 6 * positions | (o == 0 ? 0x8000 : 0) : i * block;
      std::memcpy(&b["offsets"].bytes[(o * in + i) * 4], &word, 4);
    }
  return b;
}

double weight(const CodeletInfo& c, const Bindings& b, std::size_t i) {
  return half(c) ? half_value(at<std::uint16_t>(b, "weights", i)) : at<float>(b, "weights", i);
}

void check_product(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const std::size_t load = half(c) ? 16 : 8, bytes = half(c) ? 2 : 4, positions = 6 * value(before, "positions");
  const std::size_t gap = ((value(before, "x_stride") >> 16) * 8 - 8) / bytes;
  const auto stride = static_cast<std::int16_t>(value(before, "x_stride") & 0xffff);
  const std::size_t step = static_cast<std::size_t>(24 + 8 * stride + static_cast<int>(gap * bytes)) / bytes;
  const std::size_t sets = before.at("offsets").count;
  std::vector<double> sum(after.at("c").bytes.size() / 4), largest(sum.size());
  std::size_t place = 0;  // where the sums of the set's output channels begin
  for (std::size_t s = 0; s < sets; ++s) {
    const auto word = at<std::uint32_t>(before, "offsets", s);
    if (word >> 31 != 0) place = word & 0x1fff;
    for (std::size_t i = 0; i < positions; ++i)
      for (std::size_t e = 0; e < 8; ++e)
        for (std::size_t k = 0; k < load; ++k) {
          const std::size_t place_x = word >> 31 != 0 ? (word >> 16 & 0x7fff) * 8 : word;
          const double x = element(before, *c.field("x"), place_x / bytes + i * step + k + (k < load / 2 ? 0 : gap));
          const std::size_t to = (place + i) * 8 + e;
          sum[to] += x * weight(c, before, (s * 8 + e) * load + k);
          largest[to] += std::fabs(x * weight(c, before, (s * 8 + e) * load + k));
        }
  }
  for (std::size_t i = 0; i < sum.size(); ++i)
    check("c", i, at<float>(after, "c", i), sum[i], 1e-6 * largest[i] + 1e-30);
}

/// Segments of up to five groups in random places of own, with rows of their own, spread over the slots; some slots may
/// stay empty.
Bindings generate_result(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t halves = 1 + below(2, random), slots = 6 / halves, parts = below(4, random), groups = size;
  const std::uint32_t each = (groups + slots - 1) / slots;
  std::vector<std::uint32_t> words(slots + 1);
  std::uint32_t place = below(3, random), rows = 0;
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    std::uint32_t g = std::min(slot * each, groups);
    const std::uint32_t end = std::min(g + each, groups);
    words[slot] = g << 16 | static_cast<std::uint32_t>(words.size());
    while (g < end) {
      const std::uint32_t count = std::min(1 + below(5, random), end - g);
      words.push_back(place << 16 | count);
      words.push_back(16 + rows++ * halves * 32);
      g += count, place += count + below(3, random);
    }
  }
  words[slots] = static_cast<std::uint32_t>(words.size());
  b["groups"] = number(groups), b["parts"] = number(parts), b["halves"] = number(halves);
  b["half_bytes"] = number(place * 32), b["mode"] = number(below(3, random));
  fill_small(c, b, random, [&](const std::string& f) {
    return f == "own"        ? place * halves * 8
           : f == "terms"    ? std::max(parts, 1U) * halves * groups * 8
           : f == "bias"     ? 4 + rows * halves * 8
           : f == "segments" ? static_cast<std::uint32_t>(words.size())
                             : halves * groups * 8;
  });
  const float limits[4] = {-0.5F, -0.5F, 0.75F, 0.75F};
  std::memcpy(b["bias"].bytes.data(), limits, sizeof limits);
  std::memcpy(b["segments"].bytes.data(), words.data(), 4 * words.size());
  return b;
}

void check_result(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const Field& y = *c.field("y");
  const std::size_t halves = value(before, "halves"), parts = value(before, "parts"), groups = value(before, "groups");
  const std::uint32_t mode = value(before, "mode");
  const auto word = [&](std::size_t i) { return at<std::uint32_t>(before, "segments", i); };
  const auto one = [&](std::size_t g, std::size_t h, std::size_t e, std::size_t place, std::size_t row) {
    float sum = at<float>(before, "own", h * value(before, "half_bytes") / 4 + place * 8 + e);
    sum += at<float>(before, "bias", row / 4 + h * 8 + e);
    for (std::size_t p = 0; p < parts; ++p) sum += at<float>(before, "terms", ((p * halves + h) * groups + g) * 8 + e);
    const std::size_t to = (g * halves + h) * 8 + e;
    if (c.field("addend") != nullptr) sum += static_cast<float>(element(before, *c.field("addend"), to));
    if (mode == 1 && sum < 0) sum = 0;
    if (mode == 2) sum = std::min(std::max(sum, -0.5F), 0.75F);
    check("y", to, element(after, y, to), rounded(sum, y.type));
  };
  for (std::size_t slot = 0; slot < 6 / halves; ++slot) {
    std::size_t g = word(slot) >> 16;
    for (std::size_t s = word(slot) & 0xffff; s != (word(slot + 1) & 0xffff); s += 2)
      for (std::size_t i = 0; i < (word(s) & 0xffff); ++i, ++g)
        for (std::size_t k = 0; k < halves * 8; ++k) one(g, k / 8, k % 8, (word(s) >> 16) + i, word(s + 1));
  }
}

Bindings generate_zero(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t blocks = 1 + below(4, random), block = 5 * size + 4;  // in 8 bytes
  b["blocks"] = number(blocks), b["block_bytes"] = number(block * 8);
  fill_data(c, b, random, false,
            [&](const std::string& f) { return f == "runs" ? size : blocks * block * (half(c) ? 4 : 2); });
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::uint32_t word = 5 * i << 16 | (below(2, random) ? 4 : below(6, random));
    std::memcpy(&b["runs"].bytes[i * 4], &word, 4);
  }
  return b;
}

void check_zero(const CodeletInfo&, const Bindings& before, const Bindings& after, Check& check) {
  std::vector<std::uint8_t> want = before.at("y").bytes;
  for (std::size_t block = 0; block < value(before, "blocks"); ++block)
    for (std::size_t i = 0; i < before.at("runs").count; ++i) {
      const auto word = at<std::uint32_t>(before, "runs", i);
      const auto begin =
          want.begin() + static_cast<std::ptrdiff_t>(block * value(before, "block_bytes") + (word >> 16) * 8);
      std::fill_n(begin, (word & 0xffff) * 8, std::uint8_t{0});
    }
  for (std::size_t i = 0; i < want.size(); ++i) check("y", i, after.at("y").bytes[i], want[i]);
}

}  // namespace

std::vector<Family> amp_cases() {
  return {{{"AmpProduct"}, generate_product, check_product},
          {{"AmpResult"}, generate_result, check_result},
          {{"AmpZero"}, generate_zero, check_zero}};
}

}  // namespace tessera::cases
