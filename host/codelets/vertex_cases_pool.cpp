// Pooling over one plane of a field, by walking every tap of every window.
#include <algorithm>
#include <array>

#include "host/codelets/vertex_case_tools.h"

namespace tessera::cases {
namespace {

/// Words of geometry as the codelets have them.
struct Geometry {
  std::array<std::int64_t, 3> input{}, result{}, kernel{}, stride{}, dilation{}, pad{}, padded{};
  bool column_major = false, count_padding = false;

  [[nodiscard]] std::vector<std::int64_t> words() const {
    std::vector<std::int64_t> all;
    for (const auto* part : {&input, &result, &kernel, &stride, &dilation, &pad, &padded})
      all.insert(all.end(), part->begin(), part->end());
    all.push_back(column_major ? 1 : 0);
    all.push_back(count_padding ? 1 : 0);
    return all;
  }
  static Geometry read(const Bindings& b) {
    Geometry g;
    std::size_t i = 0;
    for (auto* part : {&g.input, &g.result, &g.kernel, &g.stride, &g.dilation, &g.pad, &g.padded})
      for (std::int64_t& word : *part) word = at<std::int32_t>(b, "geometry", i++);
    g.column_major = at<std::int32_t>(b, "geometry", i) != 0;
    g.count_padding = at<std::int32_t>(b, "geometry", i + 1) != 0;
    return g;
  }
};

Bindings generate_pool(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  Geometry g;
  for (std::size_t k = 0; k < 3; ++k) {
    const bool flat = k == 0 && below(2, random) == 0;
    g.kernel[k] = flat ? 1 : 1 + below(3, random);
    g.stride[k] = 1 + below(2, random);
    g.dilation[k] = 1 + below(2, random);
    g.pad[k] = flat ? 0 : below(2, random);
    const std::int64_t reach = (g.kernel[k] - 1) * g.dilation[k] + 1;
    g.input[k] = flat ? 1 : std::max<std::int64_t>(reach, k == 2 ? 1 + size / 4 : 1 + below(5, random));
    g.padded[k] = g.input[k] + (flat ? 0 : below(2, random));
    g.result[k] = (g.padded[k] + g.pad[k] - reach) / g.stride[k] + 1;
  }
  g.column_major = below(2, random) != 0;
  g.count_padding = below(2, random) != 0;
  const bool vectors = c.name.find("Vectors") != std::string::npos;
  const std::uint32_t block =
      vectors ? 8 / field_type_bytes(c.field("x")->type) * (1 + below(2, random)) : 1 + below(4, random);
  const auto positions = static_cast<std::uint32_t>(g.result[0] * g.result[1] * g.result[2]);
  const std::uint32_t first = below(std::min(positions, 3U), random), count = positions - first;
  b["first"] = number(first), b["count"] = number(count), b["block"] = number(block);
  b["box_h"] = number(static_cast<std::uint32_t>(g.input[1]));
  b["box_w"] = number(static_cast<std::uint32_t>(g.input[2]));
  if (c.field("channel") != nullptr) b["channel"] = number(below(9, random));
  const auto words = g.words();
  fill_data(c, b, random, starts(c.name, "PoolAverage"), [&](const std::string& f) -> std::uint32_t {
    if (f == "geometry") return static_cast<std::uint32_t>(words.size());
    if (f == "x") return static_cast<std::uint32_t>(g.input[0] * g.input[1] * g.input[2]) * block;
    return count * block;
  });
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto word = static_cast<std::int32_t>(words[i]);
    std::memcpy(&b["geometry"].bytes[i * 4], &word, 4);
  }
  return b;
}

void check_pool(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const Geometry g = Geometry::read(before);
  const bool average = starts(c.name, "PoolAverage");
  const std::int64_t block = value(before, "block");
  const Field &x = *c.field("x"), &y = *c.field("y");
  const double lowest = x.type == FieldType::u8 ? 0 : x.type == FieldType::i8 ? -128 : -HUGE_VAL;
  for (std::size_t i = 0; i < after.at("y").count; ++i) {
    const std::int64_t position = value(before, "first") + static_cast<std::int64_t>(i) / block,
                       channel = static_cast<std::int64_t>(i) % block;
    const std::array<std::int64_t, 3> o = {position / (g.result[1] * g.result[2]), position / g.result[2] % g.result[1],
                                           position % g.result[2]};
    double best = lowest, sum = 0, size = 0;
    std::int64_t inside = 0, padded = 0, where = -1;
    std::array<std::int64_t, 3> t{}, p{};
    for (t[0] = 0; t[0] < g.kernel[0]; ++t[0])
      for (t[1] = 0; t[1] < g.kernel[1]; ++t[1])
        for (t[2] = 0; t[2] < g.kernel[2]; ++t[2]) {
          bool in = true, counts = true;
          for (std::size_t k = 0; k < 3; ++k) {
            p[k] = o[k] * g.stride[k] - g.pad[k] + t[k] * g.dilation[k];
            in = in && p[k] >= 0 && p[k] < g.input[k];
            counts = counts && p[k] < g.padded[k];
          }
          padded += counts ? 1 : 0;
          if (!in) continue;
          ++inside;
          const double v = element(
              before, x, static_cast<std::size_t>(((p[0] * g.input[1] + p[1]) * g.input[2] + p[2]) * block + channel));
          const std::int64_t place = g.column_major ? (p[2] * g.input[1] + p[1]) * g.input[0] + p[0]
                                                    : (p[0] * g.input[1] + p[1]) * g.input[2] + p[2];
          if (where < 0) where = place;
          if (v > best) best = v, where = place;
          sum += v, size += std::fabs(v);
        }
    const double mean = inside == 0 ? 0 : sum / static_cast<double>(g.count_padding ? padded : inside);
    if (average)
      check("y", i, element(after, y, i), rounded(mean, y.type), 1e-6 * size + ulps(mean, y.type));
    else
      check("y", i, element(after, y, i), best);
    if (c.field("indices") != nullptr && inside > 0)
      check("indices", i, at<std::int32_t>(after, "indices", i),
            static_cast<double>((value(before, "channel") + channel) * g.input[0] * g.input[1] * g.input[2] + where));
  }
}

/// Windows anywhere in a field of `height` x `width` positions.
Bindings generate_windows(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t shift = below(3, random), column = 8U << shift, count = 1 + size / 4;
  const std::uint32_t rows = 1 + below(3, random), columns = 1 + below(4, random), dilation = 1 + below(2, random);
  const std::uint32_t height = rows * 2 + 1, width = columns * 2 + below(4, random);
  b["count"] = number(count), b["shift"] = number(shift), b["taps"] = number(rows * columns);
  b["step_w"] = number(dilation * column), b["step_h"] = number(dilation * width * column);
  const std::uint32_t bytes = field_type_bytes(c.field("x")->type);
  fill_data(c, b, random, starts(c.name, "WindowMean"), [&](const std::string& f) {
    return f == "windows" ? 2 * count : f == "x" ? height * width * column / bytes : count * column / bytes;
  });
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t words[2] = {(below(2, random) * width + below(2, random)) * column,
                                    columns | rows << 8 | (rows * columns + below(2, random)) << 16};
    std::memcpy(&b["windows"].bytes[i * 8], words, 8);
  }
  return b;
}

void check_windows(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const bool average = starts(c.name, "WindowMean");
  const Field &x = *c.field("x"), &y = *c.field("y");
  const std::size_t bytes = field_type_bytes(x.type), channels = (8U << value(before, "shift")) / bytes;
  for (std::size_t i = 0; i < value(before, "count") * channels; ++i) {
    const auto from = at<std::uint32_t>(before, "windows", i / channels * 2);
    const auto word = at<std::uint32_t>(before, "windows", i / channels * 2 + 1);
    double best = -HUGE_VAL, sum = 0, size = 0;
    for (std::size_t row = 0; row < (word >> 8 & 0xff); ++row)
      for (std::size_t column = 0; column < (word & 0xff); ++column) {
        const std::size_t place = from + row * value(before, "step_h") + column * value(before, "step_w");
        const double v = element(before, x, place / bytes + i % channels);
        best = std::max(best, v), sum += v, size += std::fabs(v);
      }
    const double mean = sum / (word >> 16);
    if (average)
      check("y", i, element(after, y, i), rounded(mean, y.type), 1e-6 * size + ulps(mean, y.type));
    else
      check("y", i, element(after, y, i), best);
  }
}

}  // namespace

std::vector<Family> pool_cases() {
  return {{{"Pool"}, generate_pool, check_pool}, {{"Window"}, generate_windows, check_windows}};
}

}  // namespace tessera::cases
