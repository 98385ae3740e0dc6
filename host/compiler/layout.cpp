// Offsets of tile intervals, and copies cut where intervals end.
#include "host/compiler/layout.h"

#include <algorithm>
#include <stdexcept>

namespace tessera::compiler {

namespace {

/// Elements from `element` on, in steps of `stride` elements, that stay within [begin, end); at most count.
std::uint64_t within(std::uint64_t element, std::int64_t stride, std::uint64_t begin, std::uint64_t end,
                     std::uint64_t count) {
  if (stride > 0) {
    const auto s = static_cast<std::uint64_t>(stride);
    return std::min(count, (end - element + s - 1) / s);
  }
  if (stride < 0) return std::min(count, (element - begin) / static_cast<std::uint64_t>(-stride) + 1);
  return count;
}

}  // namespace

void Layout::add(const graph::Variable& variable) {
  Entry entry;
  entry.bytes = graph::size_of(variable.type);
  for (const graph::TileInterval& i : variable.mapping) {
    std::uint32_t& size = entry.blocks[i.tile];
    entry.intervals.push_back({i.begin, i.end, i.tile, size});
    const std::uint64_t bytes = (i.end - i.begin) * entry.bytes;
    const std::uint64_t padded = (bytes + kIntervalAlign - 1) / kIntervalAlign * kIntervalAlign;
    // A block beyond any SRAM is reported by the allocator; it only must not wrap around here.
    size = static_cast<std::uint32_t>(std::min<std::uint64_t>(size + padded, 0x7FFFFFF8));
  }
  variables_.push_back(std::move(entry));
}

const Layout::Interval& Layout::at(std::uint32_t variable, std::uint64_t element) const {
  const std::vector<Interval>& all = variables_[variable].intervals;
  const auto at =
      std::upper_bound(all.begin(), all.end(), element, [](std::uint64_t e, const Interval& i) { return e < i.end; });
  if (at == all.end() || element < at->begin) throw std::logic_error("element without a tile");
  return *at;
}

Place Layout::place(std::uint32_t variable, std::uint64_t element) const {
  const Interval& i = at(variable, element);
  return {variable, i.tile, i.offset + static_cast<std::uint32_t>((element - i.begin) * element_bytes(variable))};
}

void for_each_piece(const Layout& layout, const graph::Tensor& tensor,
                    const std::function<void(const TensorPiece&)>& f) {
  tensor.for_each_run([&](const graph::Run& run) {
    const std::uint32_t variable = run.variable.index;
    const std::int64_t bytes = layout.element_bytes(variable);
    std::uint64_t done = 0;
    while (done < run.count) {
      const auto element = static_cast<std::uint64_t>(run.first + static_cast<std::int64_t>(done) * run.stride);
      const Layout::Interval& i = layout.at(variable, element);
      TensorPiece piece;
      piece.count = within(element, run.stride, i.begin, i.end, run.count - done);
      piece.begin = run.begin + done;
      piece.place = {variable, i.tile, i.offset + static_cast<std::uint32_t>((element - i.begin) * bytes)};
      piece.step = run.stride * bytes;
      piece.ends = (piece.count == 1 || run.stride == 1) && element + piece.count == i.end;
      f(piece);
      done += piece.count;
    }
  });
}

void for_each_piece(const Layout& layout, const graph::Tensor& src, const graph::Tensor& dst,
                    const std::function<void(const Piece&)>& f) {
  std::vector<TensorPiece> to;
  for_each_piece(layout, dst, [&](const TensorPiece& p) { to.push_back(p); });
  std::size_t j = 0;
  for_each_piece(layout, src, [&](TensorPiece a) {
    while (a.count > 0 && j < to.size()) {
      TensorPiece& b = to[j];
      Piece piece;
      piece.count = std::min(a.count, b.count);
      piece.src = a.place;
      piece.dst = b.place;
      piece.src_step = a.step;
      piece.dst_step = b.step;
      piece.bytes = layout.element_bytes(b.place.variable);
      piece.dst_ends = b.ends && piece.count == b.count;
      f(piece);
      const auto advance = [&](TensorPiece& p) {
        p.count -= piece.count;
        p.begin += piece.count;
        p.place.offset = static_cast<std::uint32_t>(p.place.offset + p.step * static_cast<std::int64_t>(piece.count));
      };
      advance(a);
      advance(b);
      if (b.count == 0) ++j;
    }
  });
}

}  // namespace tessera::compiler
