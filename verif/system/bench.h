// A machine with its driver for tests: platform, TLM tiles (or others), and small hand-made programs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/driver/driver.h"
#include "hw/generated/machine.h"
#include "hw/generated/registers.h"
#include "tlm/system/system.h"
#include "tlm/system/transport.h"
#include "tlm/tile/assembler.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera::testing {

constexpr Address kCode = kSramBase, kTablePointer = kSramBase + 0x800, kTable = kSramBase + 0x1000;

/// Host memory as plain bytes at one place, for tests without a driver.
struct PlainMemory : HostMemory {
  static constexpr std::uint64_t kBase = 0x1000'0000;
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(1 << 20);
  bool inside(std::uint64_t address, std::size_t count) const {
    return address >= kBase && address - kBase + count <= bytes.size();
  }
  bool dma_read(std::uint64_t address, std::uint8_t* to, std::size_t count) override {
    if (!inside(address, count)) return false;
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(address - kBase), count, to);
    return true;
  }
  bool dma_write(std::uint64_t address, const std::uint8_t* from, std::size_t count) override {
    if (!inside(address, count)) return false;
    std::copy_n(from, count, bytes.begin() + static_cast<std::ptrdiff_t>(address - kBase));
    return true;
  }
};

struct Machine {
  explicit Machine(SystemConfig config) : system("system", config), transport(system) {}
  System system;
  InProcessTransport transport;
};

inline Platform small_platform(unsigned tiles, unsigned ipus_per_card = 1, unsigned cards = 1) {
  Platform p = load_platform("pocket");
  p.tiles = tiles;
  p.tiles_per_column = 2;
  p.ipus_per_card = ipus_per_card;
  p.cards = cards;
  p.sram_bytes = 65536;
  return p;
}

inline SystemConfig tlm_system(const Platform& platform) {
  SystemConfig config;
  config.platform = platform;
  config.factory = [](const TileConfig& tile, TileMode) { return std::make_unique<TlmTile>(tile); };
  return config;
}

/// Without card controllers: IPUs answer from power-on, for hosts that are no driver.
inline SystemConfig bare(SystemConfig config) {
  config.controllers = false;
  return config;
}

/// x.sync zone with vote 1 and a step code, through x5.
inline void sync_step(std::vector<std::uint32_t>& code, Zone zone, std::uint32_t step = 0) {
  load_constant(code, 5, step << 8 | 1);
  code.push_back(sync(6, 5, static_cast<unsigned>(zone)));
}
/// x.exchange or x.packet of the table whose address the tile holds at kTablePointer.
inline void table_step(std::vector<std::uint32_t>& code, Op op) {
  load_constant(code, 7, kTablePointer);
  code.push_back(i(Op::lw, 10, 7, 0));
  code.push_back(r(op, 0, 10));
}
/// A branch to itself: the program's end, if nothing else ends it.
inline void spin(std::vector<std::uint32_t>& code) { code.push_back(i(Op::jal, 0, 0, 0)); }

inline driver::LoadRecord all_tiles(Address address, std::vector<std::uint32_t> words) {
  driver::LoadRecord record;
  record.address = address;
  record.words = std::move(words);
  return record;
}
inline driver::LoadRecord one_tile(unsigned tile, Address address, std::vector<std::uint32_t> words) {
  driver::LoadRecord record = all_tiles(address, std::move(words));
  record.tile = tile;
  return record;
}

inline std::uint64_t linear(Cycle t, unsigned words, Address address, unsigned peer) {
  return (t << 4) | (std::uint64_t{words} << 22) | (std::uint64_t{(address - kSramBase) / 4} << 34) |
         (std::uint64_t{peer} << 52);
}
/// Words of a table, and the pointer to it, for one tile.
inline std::vector<driver::LoadRecord> table(unsigned tile, const std::vector<std::uint64_t>& sends,
                                             const std::vector<std::uint64_t>& receives) {
  std::vector<std::uint64_t> all{sends.size() | receives.size() << 16};
  all.insert(all.end(), sends.begin(), sends.end());
  all.insert(all.end(), receives.begin(), receives.end());
  std::vector<std::uint32_t> words;
  for (std::uint64_t w : all) words.push_back(static_cast<std::uint32_t>(w)), words.push_back(w >> 32);
  return {one_tile(tile, kTable, words), one_tile(tile, kTablePointer, {kTable})};
}

}  // namespace tessera::testing
