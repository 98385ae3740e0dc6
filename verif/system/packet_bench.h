// Programs of packets between IPUs for tests: every tile of every IPU goes through the same rounds of syncs and packet
// tables, with tables of its own; what a packet_done, arrival or release was, by tile.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "verif/system/bench.h"

namespace tessera::testing {

constexpr Address kTables = kSramBase + 0x4000, kSource = kSramBase + 0x6000, kTarget = kSramBase + 0xa000;
constexpr unsigned kTableBytes = 0x400;
/// Host buffer 0 of every IPU.
constexpr std::size_t kHostBytes = 4096;
inline std::uint8_t host_byte(unsigned ipu, std::size_t n) { return static_cast<std::uint8_t>(n * 7 + n / 256 + ipu); }

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

struct Groups {
  bool group1 = false, group2 = false;
  unsigned set1 = 0, set2 = 0;
};

/// One machine, loaded and started; without card controllers, so that times of faults count from power-on alone.
struct PacketRun {
  /// `groups`: by IPU, else all in group 1. `active`: tiles by IPU, else all. `starts`: IPUs that run, else all.
  PacketRun(const PacketProgram& p, SystemConfig config, const std::vector<Groups>& groups = {},
            const std::vector<std::vector<bool>>& active = {}, const std::vector<unsigned>& starts = {})
      : program(p), machine(with_log(bare(config), log)), driver(machine.transport) {
    for (unsigned ipu = 0; ipu < active.size(); ++ipu) driver.set_active(ipu, active[ipu]);
    start(p, groups, starts);
  }
  /// Another program, of IPUs that were reset; the log begins anew.
  void start(const PacketProgram& p, const std::vector<Groups>& groups = {}, const std::vector<unsigned>& starts = {}) {
    program = p;
    log = {};
    std::vector<driver::Driver::Boot> boots;
    for (unsigned ipu = 0; ipu < p.ipus(); ++ipu) {
      if (!starts.empty() && std::find(starts.begin(), starts.end(), ipu) == starts.end()) continue;
      driver.load(ipu, p.image(ipu));
      std::uint8_t* const host = driver.attach_buffer(ipu, 0, kHostBytes, true, true);
      for (std::size_t n = 0; n < kHostBytes; ++n) host[n] = host_byte(ipu, n);
      const Groups g = groups.empty() ? Groups{true} : groups[ipu];
      driver.set_groups(ipu, g.group1, g.group2, g.set1, g.set2);
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
  PacketProgram program;
  Machine machine;
  driver::Driver driver;
};

/// Runs `job` in a child process, for SystemC elaborates once in each; gives what it returns.
inline std::uint64_t in_child(const std::function<std::uint64_t()>& job) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    std::uint64_t result = 0;
    try {
      result = job();
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
    const bool ok = write(ends[1], &result, sizeof result) == sizeof result && !::testing::Test::HasFailure();
    _exit(ok ? 0 : 1);
  }
  close(ends[1]);
  std::uint64_t result = 0;
  const bool ok = read(ends[0], &result, sizeof result) == sizeof result;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(ok && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return result;
}

/// Random packets in a few rounds, every word to a place of its own.
inline PacketProgram random_program(unsigned seed, unsigned ipus, unsigned tiles, unsigned rounds) {
  std::mt19937 random(seed);
  const auto pick = [&random](unsigned n) { return static_cast<unsigned>(random() % n); };
  PacketProgram program(rounds, ipus, tiles);
  for (auto& round : program.tables) {
    std::vector<std::vector<Address>> place(ipus, std::vector<Address>(tiles, kTarget));
    for (unsigned ipu = 0; ipu < ipus; ++ipu)
      for (PacketTable& table : round[ipu])
        for (unsigned n = pick(5); n > 0; --n) {
          Write w;
          w.words = pick(3) == 0 ? 1 + pick(400) : 1 + pick(20);
          w.from = kSource + 4 * pick(1000);
          w.ipu = (ipu + 1 + pick(ipus - 1)) % ipus;
          w.tile = pick(tiles);
          w.to = place[w.ipu][w.tile];
          place[w.ipu][w.tile] += 4 * (w.words + pick(3));
          if (place[w.ipu][w.tile] < kSramBase + 65536) table.writes.push_back(w);
        }
  }
  program.expect_all();
  return program;
}

/// Words of the last round that are where they belong; how many were compared.
inline unsigned check_words(PacketRun& run) {
  unsigned compared = 0;
  const auto& last = run.program.tables.back();
  for (unsigned ipu = 0; ipu < last.size(); ++ipu)
    for (unsigned t = 0; t < last[ipu].size(); ++t)
      for (const Write& w : last[ipu][t].writes) {
        const auto words = run.memory(w.ipu, w.tile, w.to, w.words);
        for (unsigned n = 0; n < w.words; ++n, ++compared)
          EXPECT_EQ(words[n], PacketProgram::content(ipu, t, (w.from - kSource) / 4 + n));
      }
  return compared;
}

/// FNV of all cycles of arrivals and releases of a run.
inline std::uint64_t hash_times(const PacketLog& log) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const auto* times : {&log.arrive, &log.release})  // tiles at pins do not tell when packets are done
    for (const auto& [who, cycles] : *times)
      for (Cycle c : cycles) h = (h ^ (c * 4096 + who.first * 64 + who.second)) * 0x100000001b3u;
  return h;
}

}  // namespace tessera::testing
