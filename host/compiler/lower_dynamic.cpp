// Slices at an index known on the device: the index is multicast as one word, every supervisor
// sets xbase1 = SRAM start + index x stride, and one timed table serves every index. That needs, on each tile, that
// every word of the window moves by one constant distance from index to index, in whole words. Where a tensor does not
// lie so, its rows are first brought to a buffer that does.
#include <algorithm>
#include <map>
#include <optional>

#include "host/compiler/copy_plan.h"
#include "host/compiler/lower.h"

namespace tessera::compiler {

namespace {

using graph::Tensor;

struct Dynamic {
  Ir& ir;
  const CodeletLibrary& library;
  const Tensor& index;
  std::uint64_t limit;  // largest index
  bool update;
  const std::string& path;
  const std::string& name;
};

std::vector<Piece> window_pieces(const Ir& ir, const Tensor& whole, const Tensor& part, std::uint64_t at, bool update) {
  const Tensor window = whole.slice(at, at + part.dim(0));
  std::vector<Piece> pieces;
  const auto add = [&](const Piece& p) { pieces.push_back(p); };
  if (update) {
    for_each_piece(ir.layout, part, window, add);
  } else {
    for_each_piece(ir.layout, window, part, add);
  }
  return pieces;
}

bool whole_words(const Piece& p) {
  if (p.src.offset % 4 != 0 || p.dst.offset % 4 != 0) return false;
  if (p.bytes == 4) return true;
  const bool dense = p.count == 1 || (p.src_step == p.bytes && p.dst_step == p.bytes);
  return dense && (p.count * p.bytes % 4 == 0 || p.dst_ends);
}

/// Bytes from index to index by tile of the whole's side; nothing if some word does not move evenly.
std::optional<std::map<std::uint32_t, std::uint32_t>> strides(const Dynamic& d, const Tensor& whole,
                                                              const Tensor& part) {
  const std::vector<Piece> first = window_pieces(d.ir, whole, part, 0, d.update);
  std::map<std::uint32_t, std::uint32_t> result;
  const auto place = [&](const Piece& p) -> const Place& { return d.update ? p.dst : p.src; };
  for (const Piece& p : first) {
    if (!whole_words(p)) return std::nullopt;
  }
  for (std::uint64_t i = 1; i <= d.limit; ++i) {
    const std::vector<Piece> now = window_pieces(d.ir, whole, part, i, d.update);
    if (now.size() != first.size()) return std::nullopt;
    for (std::size_t k = 0; k < now.size(); ++k) {
      const Piece& a = first[k];
      const Piece& b = now[k];
      if (a.count != b.count || a.src_step != b.src_step || a.dst_step != b.dst_step || a.dst_ends != b.dst_ends ||
          place(a).tile != place(b).tile || place(a).variable != place(b).variable ||
          place(b).offset < place(a).offset) {
        return std::nullopt;
      }
      const std::uint32_t distance = place(b).offset - place(a).offset;
      if (i == 1) {
        const auto [at, fresh] = result.try_emplace(place(a).tile, distance);
        if (at->second != distance || distance % 4 != 0) return std::nullopt;
      } else if (distance != result.at(place(a).tile) * i) {
        return std::nullopt;
      }
    }
  }
  return result;
}

/// The two supersteps of a dynamic copy whose words move evenly.
Node even_dynamic(const Dynamic& d, const Tensor& whole, const Tensor& part,
                  const std::map<std::uint32_t, std::uint32_t>& stride) {
  Ir& ir = d.ir;
  std::vector<graph::TileInterval> mapping;
  for (const auto& [tile, bytes] : stride) mapping.push_back({mapping.size(), mapping.size() + 1, tile});
  const Tensor word = ir.add_variable(graph::Type::u32, mapping.size(), d.name + " (index)", mapping);
  const std::uint32_t index_variable = word.boxes().front().variable.index;
  const Tensor source = d.index.reshape({1}).reinterpret(graph::Type::u32).broadcast(mapping.size(), 0);
  Node node;
  node.path = d.path;
  node.children.push_back(lower_copies(ir, d.library, {{source, word}}, {index_variable}, d.path, d.name + " (index)"));
  // The window at index 0 gives the moves; only words, as checked.
  const Tensor window = whole.slice(0, part.dim(0));
  const CopyList copies = {d.update ? std::make_pair(part, window) : std::make_pair(window, part)};
  const std::vector<std::uint32_t> kills = d.update ? std::vector<std::uint32_t>{} : fully_written(ir.graph, {part});
  Node move = lower_copies(ir, d.library, copies, kills, d.path, d.name);
  if (!move.children.empty()) {
    ExchangeStep& step = ir.exchanges[move.children.front().index];
    (d.update ? step.dst_base : step.src_base) = 1;
    step.index_variable = index_variable;
    step.signed_index = d.index.type() == graph::Type::i32;
    step.index_limit = static_cast<std::uint32_t>(d.limit);
    step.index_stride.assign(ir.graph.tiles(), 0);
    for (const auto& [tile, bytes] : stride) step.index_stride[tile] = bytes;
    step.touch.reads.push_back(index_variable);
    sort_unique(step.touch.reads);
  }
  node.children.push_back(std::move(move));
  return node;
}

/// One row at a time through a buffer: [segment][row][padded columns] beside the part's tiles.
Node buffered_dynamic(const Dynamic& d, const Tensor& rows, const Tensor& part) {
  Ir& ir = d.ir;
  const graph::Type type = part.type();
  const std::uint64_t grain = kIntervalAlign / graph::size_of(type);
  const std::vector<graph::TileInterval> segments = ir.graph.mapping(part);
  std::map<std::uint32_t, std::uint64_t> width;  // of a row of the buffer, by tile: one stride a tile
  for (const graph::TileInterval& s : segments) {
    width[s.tile] = std::max(width[s.tile], (s.end - s.begin + grain - 1) / grain * grain);
  }
  const std::uint64_t n = rows.dim(0);
  std::vector<graph::TileInterval> all;
  std::vector<graph::TileInterval> one;
  for (const graph::TileInterval& s : segments) {
    const std::uint64_t w = width.at(s.tile);
    const std::uint64_t at = all.empty() ? 0 : all.back().end;
    const std::uint64_t row = one.empty() ? 0 : one.back().end;
    all.push_back({at, at + n * w, s.tile});
    one.push_back({row, row + w, s.tile});
  }
  const Tensor buffer = ir.add_variable(type, all.back().end, d.name + " (rows)", all);
  const Tensor slot = ir.add_variable(type, one.back().end, d.name + " (row)", one);
  ir.staging_bytes += (buffer.elements() + slot.elements()) * graph::size_of(type);
  CopyList fill;
  CopyList take;
  std::vector<Tensor> buffer_rows;
  std::map<std::uint32_t, std::uint32_t> stride;
  for (std::size_t k = 0; k < segments.size(); ++k) {
    const std::uint64_t length = segments[k].end - segments[k].begin;
    const std::uint64_t w = width.at(segments[k].tile);
    const Tensor padded = buffer.slice(all[k].begin, all[k].end).reshape({n, w});
    fill.emplace_back(rows.slice(segments[k].begin, segments[k].end, 1), padded.slice(0, length, 1));
    take.emplace_back(slot.slice(one[k].begin, one[k].begin + length), part.slice(segments[k].begin, segments[k].end));
    buffer_rows.push_back(padded);
    stride[segments[k].tile] = static_cast<std::uint32_t>(w * graph::size_of(type));
  }
  const auto reversed = [](const CopyList& list) {
    CopyList result;
    for (const auto& [a, b] : list) result.emplace_back(b, a);
    return result;
  };
  const auto id = [](const Tensor& t) { return t.boxes().front().variable.index; };
  const Tensor table = Tensor::concat(buffer_rows, 1);
  Node node;
  node.path = d.path;
  node.children.push_back(lower_copies(ir, d.library, fill, {id(buffer)}, d.path, d.name + " (rows)"));
  if (d.update) {
    node.children.push_back(lower_copies(ir, d.library, reversed(take), {id(slot)}, d.path, d.name + " (row)"));
  }
  node.children.push_back(even_dynamic(d, table, slot.reshape({1, slot.elements()}), stride));
  if (d.update) {
    std::vector<Tensor> written;
    for (const auto& [whole, copy] : fill) written.push_back(whole);
    node.children.push_back(
        lower_copies(ir, d.library, reversed(fill), fully_written(ir.graph, written), d.path, d.name + " (rows)"));
  } else {
    node.children.push_back(
        lower_copies(ir, d.library, take, fully_written(ir.graph, {part}), d.path, d.name + " (row)"));
  }
  return node;
}

}  // namespace

Node lower_dynamic(Ir& ir, const CodeletLibrary& library, const Tensor& whole, const Tensor& index, const Tensor& part,
                   bool update, const std::string& path, const std::string& name) {
  const std::uint64_t rows = part.dim(0);
  const std::uint64_t limit = whole.dim(0) - rows;
  const Dynamic d{ir, library, index, limit, update, path, name};
  Node node;
  node.path = path;
  if (part.elements() == 0) return node;
  if (limit == 0) {
    const CopyList copies = {update ? std::make_pair(part, whole) : std::make_pair(whole, part)};
    return lower_copies(ir, library, copies, fully_written(ir.graph, {copies[0].second}), path, name);
  }
  if (const auto stride = strides(d, whole, part)) return even_dynamic(d, whole, part, *stride);
  const Tensor table = whole.reshape({whole.dim(0), part.elements() / rows});
  const Tensor lines = part.reshape({rows, part.elements() / rows});
  // Row r of the part is row index + r of the whole: the rows from r on, at the same index.
  for (std::uint64_t r = 0; r < rows; ++r) {
    node.children.push_back(buffered_dynamic(d, table.slice(r, r + limit + 1), lines[r]));
  }
  return node;
}

}  // namespace tessera::compiler
