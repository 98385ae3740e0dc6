// Planning of copies: which words the exchange moves, which bytes vertices move.
#include "host/compiler/copy_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>

#include "host/codelets/cost.h"
#include "hw/generated/machine.h"

namespace tessera::compiler {

namespace {

/// Elements that a copy vertex moves on a tile; src is in the source variable or, if staged, in the staging buffer.
struct ByteCopy {
  Place src, dst;
  bool staged = false;
  std::int64_t src_step = 0, dst_step = 0;  ///< bytes
  std::uint64_t count = 0;
  unsigned bytes = 1;
  // A second dimension, made by merging: outer copies at these distances.
  std::int64_t src_outer = 0, dst_outer = 0;
  std::uint64_t outer = 1;
};

class Planner {
 public:
  explicit Planner(Ir& ir) : ir_(ir) {}

  void add(const Piece& p) {
    const bool dense = p.count == 1 || (p.src_step == p.bytes && p.dst_step == p.bytes);
    const std::uint64_t bytes = p.count * p.bytes;
    if (dense && p.src.offset % 4 == 0 && p.dst.offset % 4 == 0 && (bytes % 4 == 0 || p.dst_ends)) {
      keep({p.src, p.dst, static_cast<std::uint32_t>((bytes + 3) / 4)});
    } else if (p.bytes == 4) {
      keep({p.src, p.dst, 1, static_cast<std::uint32_t>(p.count), p.src_step, p.dst_step});
    } else {
      add_bytes(p);
    }
  }

  std::vector<WordMove> moves;            ///< only if the program keeps them
  std::set<std::uint32_t> reads, writes;  ///< variables that moves read and write; kNone: the staging buffer
  std::vector<ByteCopy> copies;
  std::map<std::uint32_t, std::uint32_t> staged_words;  ///< by tile

 private:
  /// `words` words of the staging buffer of a tile; returns the offset in bytes.
  std::uint32_t stage(std::uint32_t tile, std::uint32_t words) {
    std::uint32_t& used = staged_words[tile];
    const std::uint32_t offset = 4 * used;
    used += words;
    return offset;
  }

  void add_bytes(const Piece& p) {
    ir_.relayout_bytes += p.count * p.bytes;
    ByteCopy copy;
    copy.src = p.src;
    copy.dst = p.dst;
    copy.src_step = p.src_step;
    copy.dst_step = p.dst_step;
    copy.count = p.count;
    copy.bytes = p.bytes;
    if (p.src.tile == p.dst.tile) {
      copies.push_back(copy);
      return;
    }
    copy.staged = true;
    const std::int64_t last = p.src.offset + p.src_step * static_cast<std::int64_t>(p.count - 1);
    const auto low = static_cast<std::uint32_t>(std::min<std::int64_t>(p.src.offset, last)) / 4 * 4;
    const auto high = static_cast<std::uint32_t>(std::max<std::int64_t>(p.src.offset, last)) + p.bytes;
    const std::uint32_t words = (high - low + 3) / 4;
    if (words <= 2 * p.count) {
      // The whole span, every word once.
      const std::uint32_t offset = stage(p.dst.tile, words);
      move(p, low, offset, words);
      copy.src.offset = offset + p.src.offset - low;
      copies.push_back(copy);
      return;
    }
    for (std::uint64_t i = 0; i < p.count; ++i) {
      const auto at = static_cast<std::uint32_t>(p.src.offset + p.src_step * static_cast<std::int64_t>(i));
      const std::uint32_t offset = stage(p.dst.tile, 1);
      move(p, at / 4 * 4, offset, 1);
      ByteCopy one = copy;
      one.count = 1;
      one.src.offset = offset + at % 4;
      one.dst.offset = static_cast<std::uint32_t>(p.dst.offset + p.dst_step * static_cast<std::int64_t>(i));
      copies.push_back(one);
    }
  }

  void move(const Piece& p, std::uint32_t src_offset, std::uint32_t staging_offset, std::uint32_t words) {
    Place src = p.src;
    src.offset = src_offset;
    keep({src, {kNone, p.dst.tile, staging_offset}, words});
  }

  void keep(const WordMove& m) {
    if (reads.empty() || m.src.variable != last_read_) reads.insert(last_read_ = m.src.variable);
    if (writes.empty() || m.dst.variable != last_written_) writes.insert(last_written_ = m.dst.variable);
    if (ir_.keeps_moves) moves.push_back(m);
    if (++kept_ % kPollEvery == 0) ir_.check_poll();
  }

  Ir& ir_;
  std::uint32_t last_read_ = 0, last_written_ = 0;
  std::uint64_t kept_ = 0;
  static constexpr std::uint64_t kPollEvery = 1U << 16;
};

/// Axes of a part of both views by the distance of the destination's elements, if both then have neighbours in the last
/// axis and had not before; nothing if their order is right as it is.
std::optional<std::vector<std::size_t>> storage_order(const graph::Tensor& src, const graph::Tensor& dst) {
  if (src.boxes().size() != 1 || dst.boxes().size() != 1) return std::nullopt;
  const graph::Box& from = src.boxes().front();
  const graph::Box& to = dst.boxes().front();
  std::vector<std::size_t> order(to.extent.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if ((to.extent[a] == 1) != (to.extent[b] == 1)) return to.extent[a] == 1;
    return std::abs(to.stride[a]) > std::abs(to.stride[b]);
  });
  if (order.empty() || std::is_sorted(order.begin(), order.end())) return std::nullopt;
  const std::size_t last = order.back();
  if (to.stride[last] != 1 || from.stride[last] != 1) return std::nullopt;
  return order;
}

/// Copies of views whose elements stand in the same order in memory, but not in the views' row-major order (activations
/// by blocks of channels), as copies in the order of memory: their pieces are long.
CopyList in_storage_order(const CopyList& copies) {
  constexpr std::size_t kMostBoxes = 512;  // parts of a view are looked for one by one
  CopyList result;
  for (const auto& [src, dst] : copies) {
    CopyList parts;
    bool turned = false;
    for (const graph::Box& box : dst.boxes()) {
      if (dst.boxes().size() > kMostBoxes || dst.rank() < 2) break;
      graph::Shape end = box.origin;
      for (std::size_t k = 0; k < end.size(); ++k) end[k] += box.extent[k];
      const graph::Tensor from = src.slice(box.origin, end);
      const graph::Tensor to = dst.slice(box.origin, end);
      const auto order = storage_order(from, to);
      turned = turned || order.has_value();
      parts.emplace_back(order ? from.permute(*order) : from, order ? to.permute(*order) : to);
    }
    if (turned) {
      result.insert(result.end(), parts.begin(), parts.end());
    } else {
      result.emplace_back(src, dst);
    }
  }
  return result;
}

std::string copy_codelet(const ByteCopy& c) {
  const bool dense = c.outer == 1 && (c.count == 1 || (c.src_step == c.bytes && c.dst_step == c.bytes));
  if (dense) return "CopyBytes";
  return c.bytes == 1 ? "CopyStrided_u8" : c.bytes == 2 ? "CopyStrided_u16" : "CopyStrided_u32";
}

void set_state(const CodeletInfo& info, std::vector<StateWord>& state, std::string_view field, StateWord value,
               std::uint32_t word = 0) {
  const tessera::Field* f = info.field(field);
  if (f == nullptr) throw std::logic_error("codelet " + info.name + " has no field " + std::string(field));
  state.at(f->offset / 4 + word) = value;
}

/// The state of a copy vertex.
std::vector<StateWord> copy_state(const CodeletInfo& info, const ByteCopy& c, std::uint32_t staging) {
  std::vector<StateWord> state(info.state_bytes / 4);
  set_state(info, state, "x", {c.src.offset, c.staged ? staging : c.src.variable});
  set_state(info, state, "y", {c.dst.offset, c.dst.variable});
  if (info.name == "CopyBytes") {
    set_state(info, state, "y", {static_cast<std::uint32_t>(c.count * c.bytes)}, 1);
    return state;
  }
  const auto steps = [&](std::int64_t bytes) { return static_cast<std::uint32_t>(bytes / c.bytes); };
  const std::uint32_t counts[] = {1, 1, static_cast<std::uint32_t>(c.outer), static_cast<std::uint32_t>(c.count)};
  const std::uint32_t from[] = {0, 0, steps(c.src_outer), steps(c.src_step)};
  const std::uint32_t to[] = {0, 0, steps(c.dst_outer), steps(c.dst_step)};
  for (unsigned d = 0; d < 4; ++d) {
    set_state(info, state, fmt::format("n{}", d), {counts[d]});
    set_state(info, state, fmt::format("xs{}", d), {from[d]});
    set_state(info, state, fmt::format("ys{}", d), {to[d]});
  }
  return state;
}

/// Adds b as one more row of a if it has the same shape at a constant distance.
bool join_copy(ByteCopy& a, const ByteCopy& b) {
  if (a.dst.tile != b.dst.tile || a.src.variable != b.src.variable || a.dst.variable != b.dst.variable ||
      a.staged != b.staged || a.bytes != b.bytes || a.count != b.count || b.outer != 1) {
    return false;
  }
  if (a.count > 1 && (a.src_step != b.src_step || a.dst_step != b.dst_step)) return false;
  const auto rows = static_cast<std::int64_t>(a.outer);
  const std::int64_t from = static_cast<std::int64_t>(b.src.offset) - a.src.offset;
  const std::int64_t to = static_cast<std::int64_t>(b.dst.offset) - a.dst.offset;
  if (from % rows != 0 || to % rows != 0) return false;
  const std::int64_t src_outer = from / rows;
  const std::int64_t dst_outer = to / rows;
  if (src_outer % a.bytes != 0 || dst_outer % a.bytes != 0) return false;
  if (rows > 1 && (src_outer != a.src_outer || dst_outer != a.dst_outer)) return false;
  a.src_outer = src_outer;
  a.dst_outer = dst_outer;
  ++a.outer;
  return true;
}

std::vector<ByteCopy> merge_copies(std::vector<ByteCopy> copies) {
  std::stable_sort(copies.begin(), copies.end(),
                   [](const ByteCopy& a, const ByteCopy& b) { return a.dst.tile < b.dst.tile; });
  std::vector<ByteCopy> result;
  for (const ByteCopy& c : copies) {
    if (result.empty() || !join_copy(result.back(), c)) result.push_back(c);
  }
  return result;
}

std::uint32_t add_copy_calls(Ir& ir, const CodeletLibrary& library, const std::vector<ByteCopy>& copies,
                             std::uint32_t staging, const std::string& path, const std::string& name) {
  ComputeStep step;
  step.path = path;
  step.name = name + " (re-layout)";
  std::map<std::string, std::uint32_t> names;
  for (const ByteCopy& c : copies) {
    const CodeletInfo& info = library.at(copy_codelet(c));
    if (names.count(info.name) == 0) {
      names[info.name] = static_cast<std::uint32_t>(ir.vertex_names.size());
      ir.vertex_names.push_back({name, info.name, step.name});
    }
    const std::vector<StateWord> state = copy_state(info, c, staging);
    const std::uint64_t cycles = vertex_cycles(info, state.data());
    const bool fits = !step.calls.empty() && step.calls.back().tile == c.dst.tile &&
                      step.calls.back().codelet == &info && step.calls.back().cycles == cycles;
    if (!fits) step.calls.push_back({c.dst.tile, &info, names[info.name], 0, 0, cycles, {}});
    ++step.calls.back().count;
    step.calls.back().states.insert(step.calls.back().states.end(), state.begin(), state.end());
    step.touch.reads.push_back(c.staged ? staging : c.src.variable);
    step.touch.writes.push_back(c.dst.variable);
    ++ir.vertex_count;
  }
  sort_unique(step.touch.reads);
  sort_unique(step.touch.writes);
  ir.computes.push_back(std::move(step));
  return static_cast<std::uint32_t>(ir.computes.size() - 1);
}

}  // namespace

std::uint64_t vertex_cycles(const CodeletInfo& info, const StateWord* state) {
  std::vector<std::uint8_t> bytes(info.state_bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(state[i / 4].value >> (8 * (i % 4)));
  }
  return kSlots * estimate_slots(info, bytes.data());
}

void sort_unique(std::vector<std::uint32_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

std::vector<std::uint32_t> fully_written(const graph::Graph& graph, const std::vector<graph::Tensor>& destinations) {
  std::map<std::uint32_t, std::uint64_t> written;
  for (const graph::Tensor& t : destinations) {
    for (const graph::Box& box : t.boxes()) written[box.variable.index] += graph::element_count(box.extent);
  }
  std::vector<std::uint32_t> result;
  for (const auto& [variable, count] : written) {
    if (count == graph.variables()[variable].elements()) result.push_back(variable);
  }
  return result;
}

Node lower_copies(Ir& ir, const CodeletLibrary& library, const CopyList& copies,
                  const std::vector<std::uint32_t>& kills, const std::string& path, const std::string& name) {
  Planner planner(ir);
  for (const auto& [src, dst] : in_storage_order(copies)) {
    if (src.same_view(dst)) continue;
    for_each_piece(ir.layout, src, dst, [&](const Piece& p) { planner.add(p); });
  }
  std::uint32_t staging = kNone;
  if (!planner.staged_words.empty()) {
    std::vector<graph::TileInterval> mapping;
    std::uint64_t at = 0;
    for (const auto& [tile, words] : planner.staged_words) {
      mapping.push_back({at, at + words, tile});
      at += words;
    }
    staging = ir.add_variable(graph::Type::u32, at, name + " (re-layout)", mapping).boxes().front().variable.index;
    ir.staging_bytes += 4 * at;
    for (WordMove& m : planner.moves) {
      if (m.dst.variable == kNone) m.dst.variable = staging;
    }
  }
  Node node;
  node.path = path;
  if (!planner.reads.empty()) {
    ExchangeStep step;
    step.path = path;
    step.name = name;
    if (planner.writes.erase(kNone) != 0) planner.writes.insert(staging);
    step.touch.reads.assign(planner.reads.begin(), planner.reads.end());
    step.touch.writes.assign(planner.writes.begin(), planner.writes.end());
    step.touch.kills = kills;
    if (staging != kNone) step.touch.kills.push_back(staging);
    step.moves = std::move(planner.moves);
    ir.exchanges.push_back(std::move(step));
    node.children.push_back({Node::Kind::exchange, path, static_cast<std::uint32_t>(ir.exchanges.size() - 1), {}, {}});
  }
  if (!planner.copies.empty()) {
    const std::uint32_t step =
        add_copy_calls(ir, library, merge_copies(std::move(planner.copies)), staging, path, name);
    if (node.children.empty()) ir.computes[step].touch.kills = kills;
    node.children.push_back({Node::Kind::compute, path, step, {}, {}});
  }
  return node;
}

}  // namespace tessera::compiler
