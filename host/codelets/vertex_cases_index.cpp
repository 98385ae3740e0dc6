// Gather, scatter, one-hot, flattened indices, top-k.
#include <algorithm>
#include <numeric>

#include "host/codelets/vertex_case_tools.h"

namespace tessera::cases {
namespace {

void put(Binding& binding, std::size_t i, std::int32_t value) { std::memcpy(&binding.bytes[i * 4], &value, 4); }

/// The row that an index means, -1 if none.
std::int64_t row_of(std::int64_t index, std::int64_t extent) {
  if (index < 0) index += extent;
  return index < 0 || index >= extent ? -1 : index;
}

Bindings generate_table(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const bool by_element = c.name.find("Columns") != std::string::npos;
  const std::uint32_t grain = 4 / field_type_bytes(c.field("table")->type);
  const std::uint32_t columns = grain * (1 + below(3, random)), rows = 1 + below(9, random);
  const std::uint32_t extent = rows + below(5, random), first = below(extent - rows + 1, random);
  b["columns"] = number(columns), b["rows"] = number(rows), b["first"] = number(first), b["extent"] = number(extent);
  fill_data(c, b, random, c.name.find("Mul") != std::string::npos || c.name.find("Add") != std::string::npos,
            [&](const std::string& f) {
              if (f == "table") return rows * columns;
              return f == "indices" && !by_element ? size : size * columns;
            });
  Binding& indices = b["indices"];
  for (std::size_t i = 0; i < indices.count; ++i)
    put(indices, i, static_cast<std::int32_t>(below(2 * extent + 4, random)) - static_cast<std::int32_t>(extent) - 2);
  return b;
}

void check_gather(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const bool by_element = c.name.find("Columns") != std::string::npos;
  const std::int64_t columns = value(before, "columns"), rows = value(before, "rows"), first = value(before, "first");
  for (std::size_t i = 0; i < after.at("y").count; ++i) {
    const auto k = static_cast<std::int64_t>(i) % columns;
    const std::size_t from = by_element ? i : i / static_cast<std::size_t>(columns);
    const std::int64_t row = row_of(at<std::int32_t>(before, "indices", from), value(before, "extent"));
    const bool here = row >= first && row < first + rows;
    const auto place = static_cast<std::size_t>((row - first) * columns + k);
    check("y", i, element(after, *c.field("y"), i), here ? element(before, *c.field("table"), place) : 0);
  }
}

void check_scatter(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const bool by_element = c.name.find("Columns") != std::string::npos, add = c.name.find("Add") != std::string::npos;
  const bool mul = c.name.find("Mul") != std::string::npos;
  const Field &table = *c.field("table"), &updates = *c.field("updates");
  const std::int64_t columns = value(before, "columns"), rows = value(before, "rows"), first = value(before, "first");
  std::vector<double> want;
  for (std::size_t i = 0; i < before.at("table").count; ++i) want.push_back(element(before, table, i));
  for (std::size_t i = 0; i < before.at("updates").count; ++i) {
    const auto k = static_cast<std::int64_t>(i) % columns;
    const std::size_t from = by_element ? i : i / static_cast<std::size_t>(columns);
    const std::int64_t row = row_of(at<std::int32_t>(before, "indices", from), value(before, "extent"));
    if (row < first || row >= first + rows) continue;
    double& y = want[static_cast<std::size_t>((row - first) * columns + k)];
    const double x = element(before, updates, i);
    const bool whole = table.type == FieldType::i32;
    if (whole && (add || mul)) {
      const auto a = static_cast<std::uint64_t>(static_cast<std::int64_t>(y)),
                 b = static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
      y = wrap(static_cast<std::int64_t>(add ? a + b : a * b));
    } else {
      y = add ? rounded(y + x, table.type) : mul ? rounded(y * x, table.type) : x;
    }
  }
  for (std::size_t i = 0; i < want.size(); ++i) check("table", i, element(after, table, i), want[i]);
}

Bindings generate_join(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t blocks = 1 + below(4, random), count = size * (4 / field_type_bytes(c.field("y")->type));
  b["blocks"] = number(blocks);
  fill_data(c, b, random, true, [&](const std::string& f) { return f == "x" ? blocks * count : count; });
  return b;
}

void check_join(const CodeletInfo& /*c*/, const Bindings& before, const Bindings& after, Check& check) {
  const auto& x = before.at("x").bytes;
  const auto& y = after.at("y").bytes;
  for (std::size_t i = 0; i < y.size(); ++i) {
    std::uint8_t bits = 0;
    for (std::size_t from = i; from < x.size(); from += y.size()) bits |= x[from];
    check("y", i, y[i], bits);
  }
}

Bindings generate_flatten(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t depth = 1 + below(4, random);
  b["depth"] = number(depth), b["first"] = number(below(20, random)), b["per_batch"] = number(1 + below(9, random));
  fill_data(c, b, random, true, [&](const std::string& f) {
    return f == "extents" ? depth : f == "x" ? size * depth : size;
  });
  for (std::uint32_t k = 0; k < depth; ++k) {
    const auto extent = static_cast<std::int32_t>(1 + below(9, random));
    put(b["extents"], k, extent);
    for (std::uint32_t i = 0; i < size; ++i)
      put(b["x"], i * depth + k,
          static_cast<std::int32_t>(below(static_cast<std::uint32_t>(2 * extent), random)) - extent +
              (below(20, random) == 0 ? 12 : 0));
  }
  return b;
}

void check_flatten(const CodeletInfo& /*c*/, const Bindings& before, const Bindings& after, Check& check) {
  const std::size_t depth = value(before, "depth");
  for (std::size_t i = 0; i < after.at("y").count; ++i) {
    std::int64_t position = (value(before, "first") + static_cast<std::int64_t>(i)) / value(before, "per_batch");
    bool outside = false;
    for (std::size_t k = 0; k < depth; ++k) {
      const std::int64_t extent = at<std::int32_t>(before, "extents", k);
      const std::int64_t row = row_of(at<std::int32_t>(before, "x", i * depth + k), extent);
      outside = outside || row < 0;
      position = position * extent + row;
    }
    check("y", i, at<std::int32_t>(after, "y", i), outside ? -2147483648.0 : static_cast<double>(position));
  }
}

Bindings generate_one_hot(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t depth = 1 + below(9, random);
  b["depth"] = number(depth);
  fill_data(c, b, random, true, [&](const std::string& f) {
    return f == "values" ? 2 : f == "indices" ? size : size * depth;
  });
  for (std::uint32_t i = 0; i < size; ++i)
    put(b["indices"], i,
        static_cast<std::int32_t>(below(2 * depth + 4, random)) - static_cast<std::int32_t>(depth) - 2);
  return b;
}

void check_one_hot(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const std::int64_t depth = value(before, "depth");
  for (std::size_t i = 0; i < after.at("y").count; ++i) {
    const std::int64_t row = static_cast<std::int64_t>(i) / depth, k = static_cast<std::int64_t>(i) % depth;
    const bool hot = row_of(at<std::int32_t>(before, "indices", static_cast<std::size_t>(row)), depth) == k;
    check("y", i, element(after, *c.field("y"), i), element(before, *c.field("values"), hot ? 1 : 0));
  }
}

Bindings generate_top_k(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t rows = 1 + below(3, random), k = std::min<std::uint32_t>(size, 1 + below(4, random));
  b["rows"] = number(rows), b["width"] = number(size), b["k"] = number(k), b["smallest"] = number(below(2, random));
  fill_data(c, b, random, false, [&](const std::string& f) { return f == "x" ? rows * size : rows * k; });
  return b;
}

void check_top_k(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const std::size_t width = value(before, "width"), k = value(before, "k");
  const bool smallest = value(before, "smallest") != 0;
  const Field &x = *c.field("x"), &y = *c.field("y");
  std::vector<std::size_t> order(width);
  for (std::size_t r = 0; r < value(before, "rows"); ++r) {
    std::iota(order.begin(), order.end(), r * width);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const double u = element(before, x, smallest ? b : a), v = element(before, x, smallest ? a : b);
      return std::isnan(u) ? !std::isnan(v) : u > v;
    });
    for (std::size_t i = 0; i < k; ++i) {
      check("y", r * k + i, element(after, y, r * k + i), element(before, x, order[i]));
      check("indices", r * k + i, at<std::int32_t>(after, "indices", r * k + i),
            static_cast<double>(order[i] - r * width));
    }
  }
}

}  // namespace

std::vector<Family> index_cases() {
  return {{{"GatherRows", "GatherColumns"}, generate_table, check_gather},
          {{"ScatterRows", "ScatterColumns"}, generate_table, check_scatter},
          {{"JoinBlocks"}, generate_join, check_join},
          {{"FlattenIndices"}, generate_flatten, check_flatten},
          {{"OneHot"}, generate_one_hot, check_one_hot},
          {{"TopK"}, generate_top_k, check_top_k}};
}

}  // namespace tessera::cases
