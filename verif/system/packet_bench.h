// Programs of packets between IPUs for tests: every tile of every IPU goes through the same rounds of syncs and packet
// tables, with tables of its own; what a packet_done, arrival or release was, by tile.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verif/cosim/lockstep_tile.h"
#include "verif/cosim/rtl_tile.h"
#include "verif/system/bench.h"

namespace tessera::testing {

constexpr Address kTables = kSramBase + 0x4000, kSource = kSramBase + 0x6000, kTarget = kSramBase + 0xa000;
constexpr unsigned kTableBytes = 0x400;

/// Cards of two IPUs with links as the file of c2 says.
inline Platform linked_platform(unsigned tiles, unsigned cards = 1) {
  Platform p = small_platform(tiles, 2, cards);
  p.link = load_platform("c2").link;
  p.link.training = 100;
  return p;
}

struct Write {
  unsigned words = 1;
  Address from = kSource;
  unsigned ipu = 0, tile = 0;
  Address to = kTarget;
};
/// What a tile does in one round.
struct PacketTable {
  std::vector<Write> writes;
  unsigned expected = 0;
  bool skip = false;                       ///< no table: x.packet with 0
  std::vector<std::uint64_t> descriptors;  ///< more, raw
};

/// [round][IPU][tile]; each round is a sync of its zone, x.packet, and `after` syncs of zone internal.
struct PacketProgram {
  PacketProgram(unsigned rounds, unsigned ipus, unsigned tiles)
      : tables(rounds, std::vector<std::vector<PacketTable>>(ipus, std::vector<PacketTable>(tiles))),
        zones(rounds, Zone::group1) {}
  std::vector<std::vector<std::vector<PacketTable>>> tables;
  std::vector<Zone> zones;
  [[nodiscard]] unsigned ipus() const { return static_cast<unsigned>(tables[0].size()); }
  [[nodiscard]] unsigned tiles() const { return static_cast<unsigned>(tables[0][0].size()); }
  /// Sets expected words of all tables from the writes.
  void expect_all() {
    for (auto& round : tables) {
      for (auto& ipu : round)
        for (PacketTable& table : ipu) table.expected = 0;
      for (const auto& ipu : round)
        for (const PacketTable& table : ipu)
          for (const Write& w : table.writes) round[w.ipu][w.tile].expected += w.words;
    }
  }
  [[nodiscard]] std::vector<std::uint32_t> code() const {
    std::vector<std::uint32_t> code;
    load_constant(code, 10, kTables);
    load_constant(code, 11, kTableBytes);
    for (unsigned k = 0; k < tables.size(); ++k) {
      code.push_back(i(Op::lw, 12, 10, static_cast<std::int32_t>(kTableBytes) - 4));
      sync_step(code, zones[k]);
      code.push_back(r(Op::x_packet, 0, 12));
      code.push_back(r(Op::add, 10, 10, 11));
    }
    sync_step(code, Zone::host, 99);
    spin(code);
    return code;
  }
  [[nodiscard]] std::vector<driver::LoadRecord> image(unsigned ipu) const {
    std::vector<driver::LoadRecord> records{all_tiles(kCode, code())};
    for (unsigned t = 0; t < tiles(); ++t) {
      std::vector<std::uint32_t> source(0x800);
      for (unsigned n = 0; n < source.size(); ++n) source[n] = content(ipu, t, n);
      records.push_back(one_tile(t, kSource, source));
      for (unsigned k = 0; k < tables.size(); ++k) {
        const PacketTable& table = tables[k][ipu][t];
        std::vector<std::uint64_t> all{
            PacketHeader{table.writes.size() + table.descriptors.size() / 2, table.expected}.pack()};
        for (const Write& w : table.writes) {
          all.push_back(PacketDescriptor{kPacketWrite, 0, 0, w.words, (w.from - kSramBase) / 4}.pack());
          all.push_back(PacketRemote{w.to - kSramBase, w.tile, w.ipu, kRemoteTile}.pack());
        }
        all.insert(all.end(), table.descriptors.begin(), table.descriptors.end());
        std::vector<std::uint32_t> words;
        for (std::uint64_t w : all) words.push_back(static_cast<std::uint32_t>(w)), words.push_back(w >> 32);
        const Address at = kTables + k * kTableBytes;
        if (words.size() * 4 > kTableBytes - 8) throw std::logic_error("table does not fit");
        records.push_back(one_tile(t, at, words));
        records.push_back(one_tile(t, at + kTableBytes - 4, {table.skip ? 0 : at}));
      }
    }
    return records;
  }
  static std::uint32_t content(unsigned ipu, unsigned tile, unsigned word) { return ipu << 24 | tile << 12 | word; }
};

struct PacketLog : EventObserver {
  void event(const MachineEvent& e) override {
    const std::pair<unsigned, unsigned> who{e.ipu, e.tile};
    if (e.kind == MachineEvent::Kind::packet_done) done[who].push_back(e.cycle);
    if (e.kind == MachineEvent::Kind::sync_arrive) arrive[who].push_back(e.cycle);
    if (e.kind == MachineEvent::Kind::sync_release) release[who].push_back(e.cycle);
  }
  std::map<std::pair<unsigned, unsigned>, std::vector<Cycle>> done, arrive, release;
};

inline SystemConfig any_mode_system(const Platform& platform) {
  SystemConfig config = tlm_system(platform);
  config.factory = [](const TileConfig& tile, TileMode mode) -> std::unique_ptr<TileModel> {
    if (mode == TileMode::rtl) return make_rtl_tile(tile);
    auto tlm = std::make_unique<TlmTile>(tile);
    if (mode == TileMode::tlm) return tlm;
    return std::make_unique<LockstepTile>(tile, std::move(tlm), make_rtl_tile(tile));
  };
  return config;
}

/// One machine, loaded and started.
struct PacketRun {
  PacketRun(const PacketProgram& p, SystemConfig config, const std::vector<std::pair<bool, bool>>& groups = {})
      : program(p), machine(with_log(config, log)), driver(machine.transport) {
    std::vector<driver::Driver::Boot> boots;
    for (unsigned ipu = 0; ipu < p.ipus(); ++ipu) {
      driver.load(ipu, p.image(ipu));
      driver.set_groups(ipu, groups.empty() || groups[ipu].first, !groups.empty() && groups[ipu].second);
      boots.push_back({ipu, kCode});
    }
    driver.start(boots);
  }
  static SystemConfig with_log(SystemConfig config, PacketLog& log) {
    config.events = &log;
    return config;
  }
  /// To the last host sync, at the root of group 1.
  void finish() {
    const driver::Event event = driver.wait();
    ASSERT_EQ(event.kind, driver::Event::Kind::host_sync)
        << event.exception.detail << " cause " << event.exception.cause << " IPU " << event.ipu << " tile "
        << event.exception.tile << " value " << std::hex << event.exception.value;
    ASSERT_EQ(event.code, 99u);
  }
  std::vector<std::uint32_t> memory(unsigned ipu, unsigned tile, Address at, unsigned words) {
    std::vector<std::uint32_t> data(words);
    for (unsigned n = 0; n < words; ++n) {
      std::uint32_t word = 0;
      machine.system.chip(ipu).ipu().tile(tile).read_memory(at + 4 * n, reinterpret_cast<std::uint8_t*>(&word), 4);
      data[n] = word;
    }
    return data;
  }
  PacketLog log;
  const PacketProgram& program;
  Machine machine;
  driver::Driver driver;
};

}  // namespace tessera::testing
