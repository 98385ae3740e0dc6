// First fit by size: what lives always first, then the largest; each block at the highest place that is free of all
// blocks that live at the same time.
#include "host/compiler/allocate.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "hw/error.h"
#include "hw/generated/machine.h"

namespace tessera::compiler {

namespace {

using Bits = std::vector<std::uint64_t>;

/// Variables that stand at one address of a tile: one, or several of which each takes the place of another.
struct Block {
  std::vector<std::uint32_t> variables;
  std::vector<std::uint32_t> offsets;  ///< of a window: where each variable stands in it; otherwise all at its start
  std::uint32_t bytes = 0;
  std::uint32_t align = kIntervalAlign;
  bool always = false;
  std::int64_t address = 0;
  Bits live;  ///< by point
  [[nodiscard]] std::int64_t end() const { return address + bytes; }
};

bool meet(const Bits& a, const Bits& b) {
  for (std::size_t w = 0; w < a.size(); ++w) {
    if ((a[w] & b[w]) != 0) return true;
  }
  return false;
}

std::int64_t align_down(std::int64_t address, std::uint32_t align) {
  const auto a = static_cast<std::int64_t>(align);
  return (address >= 0 ? address / a : (address - a + 1) / a) * a;
}

/// Highest place below `top` for a block that is clear of `taken` (sorted by end, highest first).
std::int64_t highest(std::int64_t top, const Block& block, const std::vector<const Block*>& taken) {
  std::int64_t at = align_down(top - block.bytes, block.align);
  for (const Block* t : taken) {
    if (t->address >= top) continue;
    if (t->end() <= at) break;
    top = std::min(top, t->address);
    at = align_down(top - block.bytes, block.align);
  }
  return at;
}

class TileAllocator {
 public:
  TileAllocator(const Liveness& liveness, std::int64_t sram_end, const std::vector<AddressRange>& holes, bool reuse)
      : liveness_(liveness), sram_end_(sram_end), holes_(holes), reuse_(reuse) {}

  /// Places the blocks of a tile, those of variables that may share one joined before. `pairs`: (dying, born).
  void run(std::vector<Block>& blocks, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs,
           TileMemory& memory) {
    measure(blocks, memory);
    join(blocks, pairs, memory);
    std::stable_sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
      return a.always != b.always ? a.always : a.bytes > b.bytes;
    });
    memory.lowest = sram_end_;
    in_use_.assign(holes_.size(), 0);
    const auto lower = [](const Block* a, const Block* b) {
      return a->end() != b->end() ? a->end() > b->end() : a->variables.front() < b->variables.front();
    };
    std::vector<const Block*> taken, placed;  // both from the highest end down
    placed.reserve(blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      Block& block = blocks[i];
      // Blocks that live always are placed first and one below the other, if there are no holes: nothing to look for.
      const bool stacked = block.always && holes_.empty();
      if (stacked) {
        block.address = align_down(memory.lowest - block.bytes, block.align);
        memory.lowest = block.address;
        placed.push_back(&block);
        continue;
      }
      taken.clear();
      for (const Block* other : placed) {
        if (!reuse_ || meet(block.live, other->live)) taken.push_back(other);
      }
      if (!in_hole(block, taken)) {
        block.address = highest(sram_end_, block, taken);
        memory.lowest = std::min(memory.lowest, block.address);
      }
      placed.insert(std::upper_bound(placed.begin(), placed.end(), &block, lower), &block);
    }
    for (const std::uint64_t bytes : in_use_) memory.in_holes += bytes;
  }

 private:
  /// Puts the blocks of a pair together if nothing else in them is live at the same time.
  void join(std::vector<Block>& blocks, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs,
            TileMemory& memory) const {
    if (pairs.empty()) return;
    std::map<std::uint32_t, std::size_t> block_of;
    for (std::size_t i = 0; i < blocks.size(); ++i) block_of[blocks[i].variables.front()] = i;
    for (const auto& [dying, born] : pairs) {
      const auto a = block_of.find(dying);
      const auto b = block_of.find(born);
      if (a == block_of.end() || b == block_of.end() || a->second == b->second) continue;
      const std::size_t into = a->second;
      const std::size_t from = b->second;
      if (!compatible(blocks[into], blocks[from], dying, born)) continue;
      Block& whole = blocks[into];
      Block& part = blocks[from];
      memory.in_place += std::min(whole.bytes, part.bytes);
      whole.bytes = std::max(whole.bytes, part.bytes);
      whole.align = std::max(whole.align, part.align);
      for (std::size_t w = 0; w < whole.live.size(); ++w) whole.live[w] |= part.live[w];
      for (const std::uint32_t v : part.variables) {
        whole.variables.push_back(v);
        block_of[v] = into;
      }
      part.variables.clear();
    }
    blocks.erase(std::remove_if(blocks.begin(), blocks.end(), [](const Block& b) { return b.variables.empty(); }),
                 blocks.end());
  }

  bool compatible(const Block& a, const Block& b, std::uint32_t dying, std::uint32_t born) const {
    for (const std::uint32_t u : a.variables) {
      for (const std::uint32_t v : b.variables) {
        if (u == dying && v == born) continue;
        if (liveness_.interfere(u, v)) return false;
      }
    }
    return true;
  }

  bool in_hole(Block& block, const std::vector<const Block*>& taken) {
    for (std::size_t h = 0; h < holes_.size(); ++h) {
      const AddressRange& hole = holes_[h];
      if (hole.end - hole.begin < block.bytes) continue;
      const std::int64_t at = highest(hole.end, block, taken);
      if (at < static_cast<std::int64_t>(hole.begin)) continue;
      block.address = at;
      in_use_[h] = std::max(in_use_[h], static_cast<std::uint64_t>(static_cast<std::int64_t>(hole.end) - at));
      return true;
    }
    return false;
  }

  void measure(const std::vector<Block>& blocks, TileMemory& memory) const {
    std::vector<std::uint64_t> live(liveness_.points.size(), 0);
    for (const Block& b : blocks) {
      memory.sum += b.bytes;
      if (b.always) {
        memory.always += b.bytes;
        continue;
      }
      for (std::size_t w = 0; w < b.live.size(); ++w) {
        for (std::uint64_t bits = b.live[w]; bits != 0; bits &= bits - 1) {
          live[64 * w + static_cast<unsigned>(__builtin_ctzll(bits))] += b.bytes;
        }
      }
    }
    memory.live_at.reserve(live.size());
    for (std::size_t p = 0; p < live.size(); ++p) {
      memory.live_at.push_back(static_cast<std::uint32_t>(live[p] + memory.always));
      if (live[p] + memory.always > memory.bound) {
        memory.bound = live[p] + memory.always;
        memory.peak_point = p;
      }
    }
  }

  const Liveness& liveness_;
  std::int64_t sram_end_;
  const std::vector<AddressRange>& holes_;
  bool reuse_;
  std::vector<std::uint64_t> in_use_;  ///< bytes of each hole, from its end
};

/// The window of a function on each tile: its variables at equal places of blocks of equal length.
void add_window(const Ir& ir, const Liveness& liveness, const Window& window, std::vector<std::vector<Block>>& blocks) {
  if (window.blocks.empty()) return;
  std::map<std::uint32_t, Block> by_tile;
  for (const std::uint32_t v : window.blocks[0]) {
    for (const auto& [tile, bytes] : ir.layout.blocks(v)) {
      Block& block = by_tile[tile];
      block.align = std::max(block.align, ir.alignment[v]);
      block.bytes = (block.bytes + ir.alignment[v] - 1) / ir.alignment[v] * ir.alignment[v];
      block.offsets.push_back(block.bytes);
      block.bytes += bytes;
    }
  }
  for (auto& [tile, first] : by_tile) {
    const std::uint32_t stride = (first.bytes + first.align - 1) / first.align * first.align;
    Block whole{{}, {}, 0, first.align, true, 0, {}};
    for (const auto& variables : window.blocks) {
      std::size_t next = 0;
      for (const std::uint32_t v : variables) {
        if (ir.layout.blocks(v).count(tile) == 0) continue;
        whole.variables.push_back(v);
        whole.offsets.push_back(whole.bytes + first.offsets.at(next++));
        whole.live = liveness.live[v];
      }
      whole.bytes += stride;
    }
    blocks[tile].push_back(std::move(whole));
  }
}

}  // namespace

void Allocation::place(std::uint32_t variable, std::uint32_t tile, std::int64_t address) {
  if (blocks_.size() <= variable) blocks_.resize(variable + 1);
  blocks_[variable].emplace_back(tile, address);
}

bool Allocation::has(std::uint32_t variable, std::uint32_t tile) const {
  if (variable >= blocks_.size()) return false;
  const auto& all = blocks_[variable];
  const auto at =
      std::lower_bound(all.begin(), all.end(), tile, [](const auto& b, std::uint32_t t) { return b.first < t; });
  return at != all.end() && at->first == tile;
}

Address Allocation::base(std::uint32_t variable, std::uint32_t tile) const {
  if (variable < blocks_.size()) {
    const auto& all = blocks_[variable];
    const auto at =
        std::lower_bound(all.begin(), all.end(), tile, [](const auto& b, std::uint32_t t) { return b.first < t; });
    if (at != all.end() && at->first == tile) return static_cast<Address>(at->second);
  }
  throw std::logic_error("variable without a block on a tile");
}

Allocation allocate(const Ir& ir, const Liveness& liveness, const Platform& platform,
                    const std::vector<std::vector<AddressRange>>& holes, const AllocateOptions& options) {
  const std::uint32_t tiles = ir.graph.tiles();
  std::vector<std::vector<Block>> blocks(tiles);
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> pairs(tiles);
  for (const InPlace& p : options.in_place) {
    for (const std::uint32_t t : p.tiles) pairs[t].emplace_back(p.dying, p.born);
  }
  std::vector<bool> in_window(ir.graph.variables().size());
  for (const Window& w : ir.windows) {
    add_window(ir, liveness, w, blocks);
    for (const auto& variables : w.blocks)
      for (const std::uint32_t v : variables) in_window[v] = true;
  }
  for (std::uint32_t v = 0; v < ir.graph.variables().size(); ++v) {
    if (!liveness.ever_live(v) || in_window[v]) continue;
    for (const auto& [tile, bytes] : ir.layout.blocks(v)) {
      blocks[tile].push_back({{v}, {}, bytes, ir.alignment[v], liveness.always[v], 0, liveness.live[v]});
    }
  }
  Allocation result;
  result.tiles_.resize(tiles);
  tbb::parallel_for(std::uint32_t{0}, tiles, [&](std::uint32_t tile) {
    ir.check_poll();
    TileMemory& memory = result.tiles_[tile];
    for (const Block& b : blocks[tile]) {
      if (!b.always) continue;
      (ir.graph.variables()[b.variables.front()].constant() ? memory.constants : memory.kept) += b.bytes;
    }
    TileAllocator(liveness, platform.sram_end(), holes[tile], options.reuse).run(blocks[tile], pairs[tile], memory);
  });
  for (std::uint32_t tile = 0; tile < tiles; ++tile) {
    for (const Block& b : blocks[tile]) {
      for (std::size_t i = 0; i < b.variables.size(); ++i)
        result.place(b.variables[i], tile, b.address + (b.offsets.empty() ? 0 : b.offsets[i]));
    }
  }
  return result;
}

void check_fits(const Ir& ir, const Liveness& liveness, const Allocation& allocation, const Platform& platform,
                Address floor, const std::vector<std::pair<std::string, std::uint64_t>>& categories) {
  std::uint32_t worst = 0;
  for (std::uint32_t t = 1; t < allocation.tiles().size(); ++t) {
    if (allocation.tiles()[t].lowest < allocation.tiles()[worst].lowest) worst = t;
  }
  const TileMemory& memory = allocation.tiles()[worst];
  if (memory.lowest >= static_cast<std::int64_t>(floor)) return;
  const std::int64_t data = static_cast<std::int64_t>(platform.sram_end()) - memory.lowest;
  const std::int64_t need = data + (static_cast<std::int64_t>(floor) - static_cast<std::int64_t>(kSramBase));
  std::string text;
  for (const auto& [name, bytes] : categories) text += fmt::format("{} {}, ", name, bytes);
  text += fmt::format("data {} (constants {}, kept {}, transient {})", data, memory.constants, memory.kept,
                      std::max<std::int64_t>(0, data - static_cast<std::int64_t>(memory.constants + memory.kept)));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> largest;  // bytes, variable; of what is live at the peak
  for (std::uint32_t v = 0; v < ir.graph.variables().size(); ++v) {
    const auto& tiles = ir.layout.blocks(v);
    const auto at = tiles.find(worst);
    if (at != tiles.end() && liveness.live_at(v, memory.peak_point)) largest.emplace_back(at->second, v);
  }
  std::stable_sort(largest.begin(), largest.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(largest.size(), 5); ++i) {
    names += fmt::format("{}{} {}", i == 0 ? "" : ", ", ir.graph.variables()[largest[i].second].name, largest[i].first);
  }
  const Point& point = liveness.points[memory.peak_point];
  throw Error(
      Category::does_not_fit,
      fmt::format("out of memory: tile {} needs {} bytes, it has {} ({} too many)", worst, need, platform.sram_bytes,
                  need - static_cast<std::int64_t>(platform.sram_bytes)),
      fmt::format("tile {}; bytes by category: {}; largest variables: {}; most is live in {} ({})", worst, text, names,
                  point.path, point.name.empty() ? "-" : point.name),
      2 * memory.constants > static_cast<std::uint64_t>(data)
          ? "constants take most: hold fewer copies, spread them over more tiles, use f16 in place of f32, or use "
            "a platform with more tiles or SRAM"
          : "spread the largest variables over more tiles, or use a platform with more tiles or SRAM");
}

}  // namespace tessera::compiler
