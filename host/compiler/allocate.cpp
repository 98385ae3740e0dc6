// First fit by size: what lives always first, then the largest; each block at the highest place that is free of all
// blocks that live at the same time.
#include "host/compiler/allocate.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "hw/error.h"
#include "hw/generated/machine.h"

namespace tessera::compiler {

namespace {

struct Block {
  std::uint32_t variable = 0;
  std::uint32_t bytes = 0;
  std::uint32_t align = kIntervalAlign;
  bool always = false;
  std::int64_t address = 0;
  [[nodiscard]] std::int64_t end() const { return address + bytes; }
};

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
  TileAllocator(const Liveness& liveness, std::int64_t sram_end, const std::vector<AddressRange>& holes)
      : liveness_(liveness), sram_end_(sram_end), holes_(holes) {}

  void run(std::vector<Block>& blocks, TileMemory& memory) {
    std::stable_sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
      return a.always != b.always ? a.always : a.bytes > b.bytes;
    });
    memory.lowest = sram_end_;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      Block& block = blocks[i];
      std::vector<const Block*> taken;
      for (std::size_t k = 0; k < i; ++k) {
        if (liveness_.interfere(block.variable, blocks[k].variable)) taken.push_back(&blocks[k]);
      }
      std::sort(taken.begin(), taken.end(), [](const Block* a, const Block* b) {
        return a->end() != b->end() ? a->end() > b->end() : a->variable < b->variable;
      });
      if (in_hole(block, taken)) {
        memory.in_holes += block.bytes;
        continue;
      }
      block.address = highest(sram_end_, block, taken);
      memory.lowest = std::min(memory.lowest, block.address);
    }
    measure(blocks, memory);
  }

 private:
  bool in_hole(Block& block, const std::vector<const Block*>& taken) const {
    for (const AddressRange& hole : holes_) {
      if (hole.end - hole.begin < block.bytes) continue;
      const std::int64_t at = highest(hole.end, block, taken);
      if (at < static_cast<std::int64_t>(hole.begin)) continue;
      block.address = at;
      return true;
    }
    return false;
  }

  void measure(const std::vector<Block>& blocks, TileMemory& memory) const {
    for (const Block& b : blocks) {
      memory.sum += b.bytes;
      if (b.always) memory.always += b.bytes;
    }
    for (std::size_t p = 0; p < liveness_.points.size(); ++p) {
      std::uint64_t live = 0;
      for (const Block& b : blocks) {
        if (liveness_.live_at(b.variable, p)) live += b.bytes;
      }
      if (live > memory.bound) {
        memory.bound = live;
        memory.peak_point = p;
      }
    }
  }

  const Liveness& liveness_;
  std::int64_t sram_end_;
  const std::vector<AddressRange>& holes_;
};

}  // namespace

void Allocation::place(std::uint32_t variable, std::uint32_t tile, std::int64_t address) {
  if (blocks_.size() <= variable) blocks_.resize(variable + 1);
  blocks_[variable][tile] = address;
}

bool Allocation::has(std::uint32_t variable, std::uint32_t tile) const {
  return variable < blocks_.size() && blocks_[variable].count(tile) != 0;
}

Address Allocation::base(std::uint32_t variable, std::uint32_t tile) const {
  if (!has(variable, tile)) throw std::logic_error("variable without a block on a tile");
  return static_cast<Address>(blocks_[variable].at(tile));
}

Allocation allocate(const Ir& ir, const Liveness& liveness, const Platform& platform,
                    const std::vector<std::vector<AddressRange>>& holes) {
  std::vector<std::vector<Block>> blocks(ir.graph.tiles());
  for (std::uint32_t v = 0; v < ir.graph.variables().size(); ++v) {
    if (!liveness.ever_live(v)) continue;
    for (const auto& [tile, bytes] : ir.layout.blocks(v)) {
      blocks[tile].push_back({v, bytes, ir.alignment[v], liveness.always[v], 0});
    }
  }
  Allocation result;
  result.tiles_.resize(ir.graph.tiles());
  for (std::uint32_t tile = 0; tile < ir.graph.tiles(); ++tile) {
    TileAllocator(liveness, platform.sram_end(), holes[tile]).run(blocks[tile], result.tiles_[tile]);
    for (const Block& b : blocks[tile]) result.place(b.variable, tile, b.address);
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
  text += fmt::format("data {} ({} always live)", data, memory.always);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> largest;  // bytes, variable
  for (std::uint32_t v = 0; v < ir.graph.variables().size(); ++v) {
    const auto& tiles = ir.layout.blocks(v);
    const auto at = tiles.find(worst);
    if (at != tiles.end() && liveness.ever_live(v)) largest.emplace_back(at->second, v);
  }
  std::stable_sort(largest.begin(), largest.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(largest.size(), 5); ++i) {
    names += fmt::format("{}{} {}", i == 0 ? "" : ", ", ir.graph.variables()[largest[i].second].name, largest[i].first);
  }
  const Point& point = liveness.points[memory.peak_point];
  throw Error(Category::does_not_fit,
              fmt::format("out of memory: tile {} needs {} bytes, it has {} ({} too many)", worst, need,
                          platform.sram_bytes, need - static_cast<std::int64_t>(platform.sram_bytes)),
              fmt::format("tile {}; bytes by category: {}; largest variables: {}; most is live in {} ({})", worst, text,
                          names, point.path, point.name.empty() ? "-" : point.name),
              "spread the largest variables over more tiles, or use a platform with more tiles or SRAM");
}

}  // namespace tessera::compiler
