// See stencil.h. The plan and the program; the host's computation is in stencil_reference.cpp.
#include "host/demo/stencil.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "host/demo/link_load.h"
#include "host/demo/seeded.h"
#include "hw/error.h"
#include "hw/generated/machine.h"
#include "hw/topology.h"

namespace tessera::demo {

namespace {

/// Before a row stand a word of padding and the halo, behind it the halo and padding (Stencil3x3_f32).
constexpr std::uint32_t kBefore = 2, kBehind = 2;

std::uint32_t bits(float value) {
  std::uint32_t word = 0;
  std::memcpy(&word, &value, 4);
  return word;
}

std::uint32_t up(std::uint64_t n, std::uint64_t d) { return static_cast<std::uint32_t>((n + d - 1) / d); }

/// Part `i` of `n` nearly equal ones of `whole`.
std::uint32_t part(std::uint32_t whole, std::uint32_t n, std::uint32_t i) {
  return static_cast<std::uint32_t>(std::uint64_t{whole} * i / n);
}

}  // namespace

Stencil::Stencil(const Platform& platform, const StencilOptions& options) : platform_(platform), options_(options) {
  if (options.height == 0 || options.width == 0 || options.steps == 0)
    throw Error(Category::usage, "a stencil needs points and steps", "--size, --steps", "give numbers from 1 on");
  if (points() > 0x7fffffff)
    throw Error(Category::usage, fmt::format("{} points are more than 2^31 - 1", points()), "--size", "give fewer");
  if (options.height < platform.ipus()) {
    throw Error(Category::usage, fmt::format("{} rows cannot be divided over {} IPUs", options.height, platform.ipus()),
                "--size", "give a row for each IPU, or use fewer IPUs with --ipus");
  }
  order_ = platform.ipus() == 1 ? std::vector<unsigned>{0} : find_ring(Topology(platform)).order;
  choose_grid();
}

/// The grid of tiles with the fewest cycles a step, reckoned: rounds of six rows, and words of the halos.
void Stencil::choose_grid() {
  const std::uint32_t height = up(options_.height, platform_.ipus());  // of the highest band
  const std::uint32_t least = options_.height / platform_.ipus();
  const std::uint32_t quads = up(options_.width, 4);
  std::uint64_t best = 0;
  for (unsigned rows = 1; rows <= std::min<std::uint32_t>(platform_.tiles, least); ++rows) {
    const unsigned columns = std::min<std::uint32_t>(platform_.tiles / rows, quads);
    const std::uint64_t high = up(height, rows), wide = up(quads, columns);
    const std::uint64_t cycles = up(high, 6) * (20 * wide + 40) * 6 + 2 * (high + 4 * wide);
    if (best != 0 && cycles >= best) continue;
    best = cycles;
    rows_of_tiles_ = rows;
    columns_of_tiles_ = columns;
  }
  block_quads_ = up(quads, columns_of_tiles_);
  for (unsigned p = 0; p < platform_.ipus(); ++p)
    for (unsigned r = 0; r < rows_of_tiles_; ++r) block_rows_ = std::max(block_rows_, rows(p, r).size());
  pitch_ = kBefore + 4 * block_quads_ + kBehind;
}

Stencil::Span Stencil::band(unsigned position) const {
  return {part(options_.height, platform_.ipus(), position), part(options_.height, platform_.ipus(), position + 1)};
}

Stencil::Span Stencil::rows(unsigned position, unsigned tile_row) const {
  const Span b = band(position);
  return {b.begin + part(b.size(), rows_of_tiles_, tile_row), b.begin + part(b.size(), rows_of_tiles_, tile_row + 1)};
}

Stencil::Span Stencil::columns(unsigned tile_column) const {
  const std::uint32_t quads = up(options_.width, 4);
  return {4 * part(quads, columns_of_tiles_, tile_column),
          std::min(4 * part(quads, columns_of_tiles_, tile_column + 1), options_.width)};
}

TileRef Stencil::tile(unsigned position, unsigned tile_row, unsigned tile_column) const {
  return {static_cast<std::uint16_t>(order_[position]),
          static_cast<std::uint16_t>(tile_column * rows_of_tiles_ + tile_row)};
}

Address Stencil::at(unsigned buffer, std::int32_t row, std::int32_t column) const {
  return buffers_[buffer] + 4 * static_cast<Address>((row + 1) * static_cast<std::int32_t>(pitch_) +
                                                     static_cast<std::int32_t>(kBefore) + column);
}

/// Halos of a band but for the rows of other bands, which packets have brought. Left and right edges are taken from the
/// neighbour with its halo's corners where those came by packet, or are the neighbour's own edge.
exchange::Messages Stencil::halos(unsigned position, unsigned buffer) const {
  exchange::Messages m;
  const auto place = [&](unsigned tile_row, unsigned tile_column, std::int32_t row, std::int32_t column) {
    return exchange::Place{tile(position, tile_row, tile_column).tile, 0, (at(buffer, row, column) - kSramBase) / 4};
  };
  const unsigned last_row = rows_of_tiles_ - 1, last_column = columns_of_tiles_ - 1;
  const bool top = position == 0, bottom = position + 1 == order_.size();
  for (unsigned y = 0; y < rows_of_tiles_; ++y) {
    const auto high = static_cast<std::int32_t>(rows(position, y).size());
    for (unsigned x = 0; x < columns_of_tiles_; ++x) {
      const auto wide = static_cast<std::int32_t>(columns(x).size());
      // A row of the halo and its corners: from the tile that has the row inside, at row `r` of it.
      const auto row = [&](unsigned from, std::int32_t r, std::int32_t to) {
        m.add(place(from, x, r, 0), place(y, x, to, 0), columns(x).size());
        const auto left = x == 0 ? 0 : static_cast<std::int32_t>(columns(x - 1).size()) - 1;
        m.add(place(from, x == 0 ? 0 : x - 1, r, left), place(y, x, to, -1), 1);
        m.add(place(from, x == last_column ? x : x + 1, r, x == last_column ? wide - 1 : 0), place(y, x, to, wide), 1);
      };
      const bool row_above = y > 0 || top, row_below = y < last_row || bottom;
      if (y > 0) row(y - 1, static_cast<std::int32_t>(rows(position, y - 1).size()) - 1, -1);
      if (y == 0 && top) row(0, 0, -1);
      if (y < last_row) row(y + 1, 0, high);
      if (y == last_row && bottom) row(y, high - 1, high);
      for (std::int32_t r = row_above ? 0 : -1; r < (row_below ? high : high + 1); ++r) {
        const auto left = x == 0 ? 0 : static_cast<std::int32_t>(columns(x - 1).size()) - 1;
        m.add(place(y, x == 0 ? 0 : x - 1, r, left), place(y, x, r, -1), 1);
        m.add(place(y, x == last_column ? x : x + 1, r, x == last_column ? wide - 1 : 0), place(y, x, r, wide), 1);
      }
    }
  }
  return m;
}

/// One step from buffer `from` into the other one.
void Stencil::step(Builder& builder, unsigned from) {
  const auto ipus = static_cast<unsigned>(order_.size());
  std::vector<PacketMove> moves;
  for (unsigned p = 0; p + 1 < ipus; ++p)
    for (unsigned x = 0; x < columns_of_tiles_; ++x) {
      const TileRef above = tile(p, rows_of_tiles_ - 1, x), below = tile(p + 1, 0, x);
      const auto high = static_cast<std::int32_t>(rows(p, rows_of_tiles_ - 1).size());
      moves.push_back({above, at(from, high - 1, 0), below, at(from, -1, 0), columns(x).size()});
      moves.push_back({below, at(from, 0, 0), above, at(from, high, 0), columns(x).size()});
    }
  if (!moves.empty()) builder.packets("halo packets", moves);

  std::vector<exchange::Messages> messages(ipus);
  for (unsigned p = 0; p < ipus; ++p) messages[order_[p]] = halos(p, from);
  builder.exchange("halo", messages);

  const Code code = builder.codelet("Stencil3x3_f32");
  std::vector<Call> calls;
  for (unsigned p = 0; p < ipus; ++p)
    for (unsigned y = 0; y < rows_of_tiles_; ++y)
      for (unsigned x = 0; x < columns_of_tiles_; ++x) {
        std::vector<std::uint32_t> state = {at(from, 0, 0), at(1 - from, 0, 0), rows(p, y).size(),
                                            up(columns(x).size(), 4), 4 * pitch_};
        for (const float w : kWeights) state.push_back(bits(w));
        calls.push_back({tile(p, y, x), kAllWorkers, code, std::move(state)});
      }
  builder.compute("stencil", std::move(calls));
}

executable::Executable Stencil::build() {
  Builder builder("stencil", platform_);
  // Behind the last row is room for what the loop reads ahead.
  for (Address& buffer : buffers_) buffer = builder.allocate((block_rows_ + 2) * pitch_ + 4);
  // What the last step has written, by tile: whole rows with their padding.
  const std::uint64_t words = std::uint64_t{pitch_} * block_rows_;
  std::vector<executable::TensorRun> runs;
  for (unsigned t = 0; t < tiles_used(); ++t) runs.push_back({t, at(options_.steps % 2, 0, 0), 4, t * words, words});
  builder.tensor("field", executable::Type::f32, {tiles_used(), words}, std::move(runs));
  const Code fill = builder.codelet("FillSeeded_f32");
  std::vector<Call> calls;
  for (unsigned p = 0; p < order_.size(); ++p)
    for (unsigned y = 0; y < rows_of_tiles_; ++y)
      for (unsigned x = 0; x < columns_of_tiles_; ++x) {
        const Span r = rows(p, y), c = columns(x);
        calls.push_back({tile(p, y, x),
                         kAllWorkers,
                         fill,
                         {at(0, 0, 0), seed_of(options_.seed, 0), r.begin * options_.width + c.begin,
                          static_cast<std::uint32_t>(points()), r.size(), c.size(), pitch_, options_.width}});
      }
  builder.compute("fill", std::move(calls));
  if (options_.steps >= 2) {
    builder.begin_repeat(options_.steps / 2);
    step(builder, 0);
    step(builder, 1);
    builder.end_repeat();
  }
  if (options_.steps % 2 == 1) step(builder, 0);
  return builder.build();
}

Comparison Stencil::check(const Reader& read) const {
  const std::vector<float> wanted = reference();
  Comparison result;
  const std::size_t words = std::size_t{pitch_} * block_rows_;
  for (unsigned p = 0; p < order_.size(); ++p) {
    const std::vector<std::uint32_t> field = read("field", order_[p]);
    for (unsigned y = 0; y < rows_of_tiles_; ++y)
      for (unsigned x = 0; x < columns_of_tiles_; ++x) {
        const Span r = rows(p, y), c = columns(x);
        const std::uint32_t* const block = &field.at(words * tile(p, y, x).tile);
        for (std::uint32_t i = 0; i < r.size(); ++i)
          for (std::uint32_t j = 0; j < c.size(); ++j) {
            const std::uint32_t got = block[std::size_t{i} * pitch_ + j];
            const std::uint32_t want = bits(wanted[std::size_t{r.begin + i} * options_.width + c.begin + j]);
            ++result.compared;
            if (got == want || result.wrong++ != 0) continue;
            const TileRef t = tile(p, y, x);
            result.first = fmt::format("point {}, {} on IPU {}, tile {}: 0x{:08x}, the host has 0x{:08x}", r.begin + i,
                                       c.begin + j, t.ipu, t.tile, got, want);
          }
      }
  }
  return result;
}

}  // namespace tessera::demo
