// Vertices that move bits: fill, copies, slices at an index.
#include <algorithm>

#include "host/codelets/vertex_case_tools.h"

namespace tessera::cases {
namespace {

Bindings generate_strided(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t columns = std::max<std::uint32_t>(1, size);
  // y is x with two axes exchanged and one reversed.
  const std::uint32_t n[4] = {1 + below(3, random), 1 + below(3, random), 1 + below(4, random), columns};
  std::uint32_t total = 1;
  for (int d = 3; d >= 0; --d) {
    b["n" + std::to_string(d)] = number(n[d]);
    b["xs" + std::to_string(d)] = number(total);
    total *= n[d];
  }
  b["ys2"] = number(1), b["ys3"] = number(n[2]), b["ys1"] = number(n[2] * n[3]), b["ys0"] = number(n[1] * n[2] * n[3]);
  fill_data(c, b, random, false, [&](const std::string&) { return total; });
  return b;
}

void check_strided(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  Bindings want = before;
  const std::size_t bytes = field_type_bytes(c.field("x")->type);
  const auto v = [&](const char* name, int d) { return signed_value(before, name + std::to_string(d)); };
  for (std::int64_t i0 = 0; i0 < v("n", 0); ++i0)
    for (std::int64_t i1 = 0; i1 < v("n", 1); ++i1)
      for (std::int64_t i2 = 0; i2 < v("n", 2); ++i2)
        for (std::int64_t i3 = 0; i3 < v("n", 3); ++i3) {
          const auto from = i0 * v("xs", 0) + i1 * v("xs", 1) + i2 * v("xs", 2) + i3 * v("xs", 3);
          const auto to = i0 * v("ys", 0) + i1 * v("ys", 1) + i2 * v("ys", 2) + i3 * v("ys", 3);
          std::memcpy(&want.at("y").bytes.at(static_cast<std::size_t>(to) * bytes),
                      &before.at("x").bytes.at(static_cast<std::size_t>(from) * bytes), bytes);
        }
  for (std::size_t i = 0; i < after.at("y").bytes.size(); ++i)
    check("y", i, after.at("y").bytes[i], want.at("y").bytes[i]);
}

Bindings generate_dynamic(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t columns = std::max<std::uint32_t>(1, size);
  const std::uint32_t limit = below(6, random), stride = 1 + below(5, random);
  b["limit"] = number(limit), b["stride"] = number(stride);
  fill_data(c, b, random, false, [&](const std::string& f) {
    const bool whole = f == (starts(c.name, "DynamicSlice") ? "x" : "y");
    return f == "index" ? 1 : whole ? limit * stride + columns : columns;
  });
  const std::int32_t index = static_cast<std::int32_t>(below(limit + 5, random)) - 2;
  std::memcpy(b["index"].bytes.data(), &index, 4);
  return b;
}

void check_dynamic(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const Field &x = *c.field("x"), &y = *c.field("y");
  const bool update = starts(c.name, "DynamicUpdate");
  const std::int64_t index = std::clamp<std::int64_t>(at<std::int32_t>(before, "index", 0), 0, value(before, "limit"));
  const auto start = static_cast<std::size_t>(index * value(before, "stride"));
  const std::size_t n = update ? before.at("x").count : after.at("y").count;
  for (std::size_t i = 0; i < n; ++i)
    check("y", i, element(after, y, update ? start + i : i), element(before, x, update ? i : start + i));
}

Bindings generate_copy(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t step = c.name == "Copy_u64" ? 2 : 1;
  fill_data(c, b, random, false, [&](const std::string&) { return std::max<std::uint32_t>(1, size) * step; });
  if (c.field("value") != nullptr) b["value"] = number(static_cast<std::uint32_t>(random()));
  return b;
}

void check_copy(const CodeletInfo& /*c*/, const Bindings& before, const Bindings& after, Check& check) {
  for (std::size_t i = 0; i < after.at("y").bytes.size(); ++i)
    check("y", i, after.at("y").bytes[i], before.at("x").bytes[i]);
}

void check_fill(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const std::uint32_t bytes = field_type_bytes(c.field("y")->type);
  for (std::size_t i = 0; i < after.at("y").bytes.size(); ++i)
    check("y", i, after.at("y").bytes[i], value(before, "value") >> (i % bytes * 8) & 255);
}

Bindings generate_interleave(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t channels = 1 + below(4, random), plane = size + below(4, random);
  b["positions"] = number(size), b["channels"] = number(channels), b["plane"] = number(plane);
  fill_data(c, b, random, false, [&](const std::string& f) { return f == "x" ? channels * plane : 4 * size; });
  return b;
}

void check_interleave(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const std::size_t bytes = field_type_bytes(c.field("x")->type), plane = value(before, "plane");
  for (std::size_t i = 0; i < 4 * value(before, "positions"); ++i)
    for (std::size_t k = 0; k < bytes; ++k) {
      const bool there = i % 4 < value(before, "channels");
      const double want = there ? before.at("x").bytes.at((i % 4 * plane + i / 4) * bytes + k) : 0;
      check("y", i * bytes + k, after.at("y").bytes.at(i * bytes + k), want);
    }
}

}  // namespace

std::vector<Family> copy_cases() {
  return {{{"Copy"}, generate_copy, check_copy},
          {{"CopyStrided"}, generate_strided, check_strided},
          {{"Dynamic"}, generate_dynamic, check_dynamic},
          {{"Fill"}, generate_copy, check_fill},
          {{"Interleave"}, generate_interleave, check_interleave}};
}

}  // namespace tessera::cases
