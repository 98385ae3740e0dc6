// Families that several operators are made of: element-wise, reductions in trees of 16, sums over rows, updates.
#include <algorithm>

#include "host/scale/expander.h"

namespace tessera::scale {

namespace {

std::int64_t parts_of(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

}  // namespace

/// Axes of a value: outer by its loop, channels by `channels`, spatial axis d by loop first_spatial + d.
void Expander::channel_axes(const Family& f, Field& field, const Storage& s, std::vector<std::uint8_t> loops,
                            const Channels& channels, std::size_t first_spatial, const Window& window,
                            std::uint8_t outer_loop) {
  add_axis(f, field, s.outer, {outer_loop}, [&](const std::int64_t* i) { return range(i[0], 1, s.outer); });
  add_axis(f, field, s.blocks, loops, [&](const std::int64_t* i) {
    const auto [first, last] = channels(i);
    return range(first / s.block, (last - 1) / s.block - first / s.block + 1, s.blocks);
  });
  for (std::size_t d = 0; d < s.spatial.size(); ++d) {
    add_axis(f, field, s.spatial[d], {static_cast<std::uint8_t>(first_spatial + d)},
             [&](const std::int64_t* i) { return window(d, i[0]); });
  }
  add_axis(f, field, s.block, loops, [&](const std::int64_t* i) {
    const auto [first, last] = channels(i);
    if ((last - 1) / s.block != first / s.block) return range(0, s.block, s.block);
    return range(first % s.block, last - first, s.block);
  });
}

/// Loops 0 (row) and 1 (chunk) over a tensor of rows x row elements; others are read where they correspond.
void Expander::flat_field(Family& f, const std::string& name, const Placed& p, std::int64_t rows, std::int64_t row,
                          std::int64_t chunk, bool writes) {
  Field field{name, p.tensor, writes, {}};
  const std::int64_t elements = p.storage.elements();
  if (elements == rows * row) {
    add_axis(f, field, rows, {0}, [&](const std::int64_t* i) { return range(i[0], 1, rows); });
    add_axis(f, field, row, {1}, [&](const std::int64_t* i) { return range(i[0] * chunk, chunk, row); });
  } else if (elements == row) {  // a row for all rows
    add_axis(f, field, row, {1}, [&](const std::int64_t* i) { return range(i[0] * chunk, chunk, row); });
  } else if (p.storage.outer == 1 && p.storage.spatial.empty() && rows % p.storage.blocks == 0 &&
             row % p.storage.block == 0) {  // one element a channel: the block of the row
    const std::int64_t blocks = p.storage.blocks, block = p.storage.block;
    add_axis(f, field, blocks, {0}, [&](const std::int64_t* i) { return range(i[0] % blocks, 1, blocks); });
    add_axis(f, field, block, {}, [&](const std::int64_t*) { return range(0, block, block); });
  } else {  // the same share of the operand
    add_axis(f, field, elements, {0, 1}, [&](const std::int64_t* i) {
      const auto at = static_cast<std::int64_t>(static_cast<double>(i[0] * row + i[1] * chunk) /
                                                static_cast<double>(rows * row) * static_cast<double>(elements));
      const std::int64_t first = std::min(at, elements - 1);
      return range(first, std::min(chunk, elements), elements);
    });
  }
  finish_field(field, static_cast<std::uint64_t>(elements));
  f.fields.push_back(std::move(field));
}

void Expander::elementwise(const std::string& codelet, std::uint32_t cluster, const std::vector<Placed>& inputs,
                           const Placed& output, bool in_place) {
  const std::int64_t rows = output.storage.rows(), row = output.storage.row();
  const std::int64_t chunk = std::min(row, kVector * grain_.vectors);
  Family f = family(codelet, cluster, {rows, parts_of(row, chunk)});
  for (std::size_t i = 0; i < inputs.size(); ++i)
    flat_field(f, "in" + std::to_string(i), inputs[i], rows, row, chunk, false);
  flat_field(f, in_place ? "inout" : "out", output, rows, row, chunk, true);
  add(std::move(f));
}

/// Partial sums [parts][elements of the result] in a tree: each vertex adds up to 16 of them for `chunk` results.
void Expander::add_up(std::uint32_t cluster, TensorId partials, std::int64_t parts, const Placed& result,
                      std::int64_t chunk, const std::optional<Placed>& bias) {
  const std::int64_t rows = result.storage.rows(), row = result.storage.row();
  chunk = std::min(chunk, row);
  while (parts > 1) {
    const std::int64_t next = parts_of(parts, kVector);
    Family f = family("AddPartials", cluster, {rows, parts_of(row, chunk), next});
    Field in{"partials", partials, false, {}};
    add_axis(f, in, parts, {2}, [&](const std::int64_t* i) { return range(i[0] * kVector, kVector, parts); });
    add_axis(f, in, rows, {0}, [&](const std::int64_t* i) { return range(i[0], 1, rows); });
    add_axis(f, in, row, {1}, [&](const std::int64_t* i) { return range(i[0] * chunk, chunk, row); });
    finish_field(in, static_cast<std::uint64_t>(parts * rows * row));
    f.fields.push_back(std::move(in));
    TensorId sums = result.tensor;
    if (next > 1) sums = tensor("sums of " + s_.tensors[partials].name, next * rows * row, cluster);
    Field out{"sum", sums, true, {}};
    if (next > 1) add_axis(f, out, next, {2}, [&](const std::int64_t* i) { return range(i[0], 1, next); });
    add_axis(f, out, rows, {0}, [&](const std::int64_t* i) { return range(i[0], 1, rows); });
    add_axis(f, out, row, {1}, [&](const std::int64_t* i) { return range(i[0] * chunk, chunk, row); });
    finish_field(out, static_cast<std::uint64_t>(next * rows * row));
    f.fields.push_back(std::move(out));
    if (next == 1 && bias) flat_field(f, "bias", *bias, rows, row, chunk, false);
    add(std::move(f));
    partials = sums;
    parts = next;
  }
}

/// From every row of the inputs `result_row` sums: partial sums of g vectors, then the tree.
void Expander::row_sums(const std::string& codelet, std::uint32_t cluster, const std::vector<Placed>& inputs,
                        const Placed& result, std::int64_t result_row) {
  const std::int64_t rows = result.storage.elements() / result_row;
  const std::int64_t row = inputs.front().storage.elements() / rows;
  const std::int64_t chunk = std::min(row, kVector * grain_.vectors);
  const std::int64_t parts = parts_of(row, chunk);
  Family f = family(codelet, cluster, {rows, parts});
  for (std::size_t i = 0; i < inputs.size(); ++i)
    flat_field(f, "in" + std::to_string(i), inputs[i], rows, row, chunk, false);
  TensorId sums = result.tensor;
  if (parts > 1) sums = tensor("partial sums of " + s_.tensors[result.tensor].name, parts * rows * result_row, cluster);
  Field out{"sum", sums, true, {}};
  add_axis(f, out, parts, {1}, [&](const std::int64_t* i) { return range(i[0], 1, parts); });
  add_axis(f, out, rows, {0}, [&](const std::int64_t* i) { return range(i[0], 1, rows); });
  add_axis(f, out, result_row, {}, [&](const std::int64_t*) { return range(0, result_row, result_row); });
  finish_field(out, static_cast<std::uint64_t>(parts * rows * result_row));
  f.fields.push_back(std::move(out));
  add(std::move(f));
  Placed flat = result;
  flat.storage = {};
  flat.storage.outer = rows;
  flat.storage.channels = flat.storage.block = result_row;
  add_up(cluster, sums, parts, flat, grain_.vectors * kVector, std::nullopt);
}

/// Gradient descent with momentum, in place.
void Expander::update(const Placed& weights, const Placed& gradient) {
  const std::uint32_t at = cluster(Role::update);
  const Placed momentum = like(weights, "momentum of " + s_.tensors[weights.tensor].name, at);
  const std::int64_t rows = weights.storage.rows(), row = weights.storage.row();
  const std::int64_t chunk = std::min(row, kVector * grain_.vectors);
  Family f = family("Update", at, {rows, parts_of(row, chunk)});
  flat_field(f, "gradient", gradient, rows, row, chunk, false);
  flat_field(f, "momentum", momentum, rows, row, chunk, true);
  flat_field(f, "weights", weights, rows, row, chunk, true);
  add(std::move(f));
}

}  // namespace tessera::scale
