// What tests of the TLM tile share: a tile that runs small programs in exact mode with every record kept, and a twin
// that runs them in fast mode.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <ostream>
#include <utility>
#include <vector>

#include "tlm/tile/assembler.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera {

/// For messages of tests.
inline void PrintTo(const RetireRecord& r, std::ostream* out) {
  *out << "cycle " << r.cycle << " context " << int{r.context} << std::hex << " pc " << r.pc << " word " << r.word
       << " next " << r.next_pc << " paired " << r.paired << " trap " << r.trap << " cause " << r.cause << " tval "
       << r.tval << " x" << std::dec << int{r.xrd} << "=" << std::hex << r.xval << " flags " << int{r.fflags};
  for (const auto& f : r.fwrite)
    *out << " f" << std::dec << int{f.reg} << "/" << int{f.valid} << "=" << std::hex << f.bits;
  *out << " read " << r.mem_read << " " << r.read_addr[0] << " " << r.read_addr[1] << " write " << r.mem_write << " "
       << r.write_addr << " " << int{r.write_mask} << " " << r.write_data << " streams " << int{r.streams};
  for (const Address a : r.stream_addr) *out << " " << a;
  *out << " csr " << r.csr << "=" << r.csr_value << " drew " << r.drew;
  for (const std::uint32_t w : r.rng) *out << " " << w;
  *out << " amp " << std::dec << int{r.amp} << std::hex;
  for (unsigned k = 0; k < r.amp; ++k) *out << " " << r.amp_words[k];
  *out << std::dec;
}

}  // namespace tessera

namespace tessera::testing {

inline constexpr Address kWorkerCode = kSramBase + 0x4000, kData = kSramBase + 0x8000;

struct Recorder : RetireObserver {
  std::vector<RetireRecord> records;
  void retired(const RetireRecord& record) override { records.push_back(record); }
  void exchanged(const ExchangeWord&) override {}
  /// Issue cycles of one context, in order.
  [[nodiscard]] std::vector<Cycle> cycles(ContextId context) const {
    std::vector<Cycle> out;
    for (const auto& record : records)
      if (record.context == context) out.push_back(record.cycle);
    return out;
  }
};

using Code = std::vector<std::uint32_t>;

inline void load(TlmTile& tile, Address at, const Code& code) {
  tile.write_memory(at, reinterpret_cast<const std::uint8_t*>(code.data()), 4 * code.size());
}

/// A tile with a supervisor program and a worker program, run in exact mode with every record kept.
struct Bench {
  explicit Bench(const Code& supervisor, const Code& worker = {}, TileConfig config = {}) : tile(config) {
    load(tile, kSramBase, supervisor);
    load(tile, kWorkerCode, worker);
    tile.observe(&seen);
  }
  TileStop go(Cycle at = 0, Cycle limit = 100000) {
    tile.start(kSramBase, at);
    return tile.run(limit, nullptr, nullptr);
  }
  Recorder seen;
  TlmTile tile;
};

inline Code join(Code a, const Code& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Two instructions a register: an even number of words, so that what follows keeps its alignment.
inline Code constants(std::initializer_list<std::pair<unsigned, std::uint32_t>> values) {
  Code code;
  for (const auto& [reg, value] : values) load_constant(code, reg, value);
  return code;
}

/// Compares what can be seen of two tiles that ran the same.
inline void expect_same_state(const TlmTile& a, const TlmTile& b) {
  for (ContextId id = 0; id < 7; ++id) {
    const ContextState x = a.context(id), y = b.context(id);
    EXPECT_EQ(x.run, y.run) << int{id};
    EXPECT_EQ(x.pc, y.pc) << int{id};
    EXPECT_EQ(x.x, y.x) << int{id};
    EXPECT_EQ(x.f, y.f) << int{id};
    EXPECT_EQ(x.fcsr, y.fcsr) << int{id};
    EXPECT_EQ(x.mcause, y.mcause) << int{id};
    EXPECT_EQ(x.mepc, y.mepc) << int{id};
    EXPECT_EQ(x.mtval, y.mtval) << int{id};
  }
  const std::size_t bytes = a.config().sram_bytes;
  std::vector<std::uint8_t> m(bytes), n(bytes);
  a.read_memory(kSramBase, m.data(), bytes);
  b.read_memory(kSramBase, n.data(), bytes);
  EXPECT_EQ(std::memcmp(m.data(), n.data(), bytes), 0);
  EXPECT_EQ(a.retired(), b.retired());
  EXPECT_EQ(a.last_issue(), b.last_issue());
}

/// One worker alone: `setup`, then `code`, from cycle 0. `record(k)` is the k-th record behind the setup. The same runs
/// in fast mode, which must end the same.
struct WorkerBench {
  explicit WorkerBench(const Code& setup, const Code& code, TileConfig config = {}, ContextId id = 1)
      : tile(config), fast(config), worker(id), skip(setup.size()) {
    poke(kWorkerCode, join(setup, code));
    tile.observe(&seen);
  }
  void poke(Address at, const Code& words) {
    load(tile, at, words);
    load(fast, at, words);
  }
  [[nodiscard]] std::uint32_t peek(Address at) const {
    std::uint32_t word = 0;
    tile.read_memory(at, reinterpret_cast<std::uint8_t*>(&word), sizeof word);
    return word;
  }
  TileStop go(Cycle limit = 100000) {
    tile.start_context(worker, kWorkerCode, 0);
    fast.start_context(worker, kWorkerCode, 0);
    const TileStop stop = tile.run(limit, nullptr, nullptr), twin = fast.run(limit, nullptr, nullptr);
    EXPECT_EQ(stop.kind, twin.kind);
    EXPECT_EQ(stop.cycle, twin.cycle);
    expect_same_state(tile, fast);
    return stop;
  }
  [[nodiscard]] const RetireRecord& record(std::size_t k) const { return seen.records.at(skip + k); }
  [[nodiscard]] std::size_t count() const { return seen.records.size() - skip; }
  /// Address of the k-th word behind the setup.
  [[nodiscard]] Address pc(std::size_t k) const { return kWorkerCode + 4 * static_cast<Address>(skip + k); }
  /// The record of an instruction in word k that issues at `cycle` and does nothing else.
  [[nodiscard]] RetireRecord plain(std::size_t k, std::uint32_t word, Cycle cycle) const {
    RetireRecord r;
    r.cycle = cycle;
    r.context = worker;
    r.pc = pc(k);
    r.word = word;
    r.next_pc = pc(k) + 4;
    return r;
  }
  /// The record of a trap there, without a handler.
  [[nodiscard]] RetireRecord trapped(std::size_t k, std::uint32_t word, Cycle cycle, std::uint32_t cause,
                                     std::uint32_t tval) const {
    RetireRecord r = plain(k, word, cycle);
    r.trap = true;
    r.next_pc = r.pc;
    r.cause = cause;
    r.tval = tval;
    return r;
  }
  Recorder seen;
  TlmTile tile, fast;
  ContextId worker;
  std::size_t skip;
};

}  // namespace tessera::testing
