// What tests of the debug port share: a small tile with every record kept, and a worker's program with all that takes
// its time. The tile is RTL, or TLM where TESSERA_DEBUG_TLM is defined: the same tests hold for both.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tlm/tile/assembler.h"
#ifdef TESSERA_DEBUG_TLM
#include "tlm/tile/tlm_tile.h"
#else
#include "verif/cosim/rtl_tile.h"
#endif

namespace tessera::debug_bench {

using namespace tessera::testing;  // NOLINT: the assembler
using Code = std::vector<std::uint32_t>;
using Kind = TileStop::Kind;
using Run = ContextState::Run;
using Space = DebugSpace;

inline constexpr Address kWorkerCode = kSramBase + 0x4000, kData = kSramBase + 0x8000, kHandler = kSramBase + 0x2000;
inline constexpr unsigned kXdcsr = csr::xdcsr, kStep = 1u << 2, kEbreakm = 1u << 15;
inline const std::uint32_t kExit = r(Op::x_exit, 0, 0), kEbreak = r(Op::ebreak, 0);

inline unsigned cause(std::uint32_t xdcsr) { return xdcsr >> 6 & 7; }
inline Cycle in_slot(Cycle from, unsigned slot) { return from + (slot + 6 - from % 6) % 6; }

struct Recorder : RetireObserver {
  std::vector<RetireRecord> records;
  void retired(const RetireRecord& record) override { records.push_back(record); }
  void exchanged(const ExchangeWord&) override {}
};

/// A worker's program with all that takes its time: loads and stores, pairs, a pair that divides, integer division, a
/// loop of two doublewords, a trap with its handler, then x.exit. x8 points to data, mtvec is set.
inline Code worker_program() {
  Code code;
  load_constant(code, 8, kData);
  load_constant(code, 9, kHandler);
  for (const std::uint32_t word :
       {i(Op::csrrw, 0, 9, csr::mtvec), i(Op::addi, 10, 0, 37), i(Op::addi, 11, 0, 5),
        i(Op::addi, 12, 0, 3) /* aligned again */, s(Op::sw, 8, 10, 0), r(Op::fcvt_s_w, 1, 10), i(Op::flw, 2, 8, 0),
        r(Op::fadd_s, 3, 1, 1), s(Op::sw, 8, 11, 4), r(Op::fdiv_s, 4, 1, 3), r(Op::div, 13, 10, 11), nop(), nop(),
        encode(Op::x_rpti, {4, 2}),
        // The body: a pair, an addition, a store.
        i(Op::addi, 14, 14, 1), r(Op::fadd_s, 5, 5, 1), i(Op::addi, 15, 15, 2), s(Op::sw, 8, 14, 8), r(Op::ecall, 0),
        r(Op::rem, 16, 10, 11), i(Op::csrrs, 17, 0, csr::minstret), nop(), kExit})
    code.push_back(word);
  return code;
}
/// Skips the instruction that trapped.
inline Code handler() {
  return {i(Op::csrrs, 20, 0, csr::mepc), i(Op::addi, 20, 20, 4), i(Op::csrrw, 0, 20, csr::mepc), r(Op::mret, 0)};
}

struct Bench {
  Bench() {
    TileConfig config;
    config.sram_bytes = 65536;
#ifdef TESSERA_DEBUG_TLM
    tile = std::make_unique<TlmTile>(config);
#else
    tile = make_rtl_tile(config);
#endif
    tile->observe(&seen);
    tile->debug_attach(true);
    load(kHandler, handler());
  }
  void load(Address at, const Code& code) {
    tile->write_memory(at, reinterpret_cast<const std::uint8_t*>(code.data()), 4 * code.size());
  }
  TileStop run(Cycle limit = 1'000'000) {
    for (;;) {
      const TileStop stop = tile->run(limit, nullptr, nullptr);
      if (stop.kind != Kind::exchange) return stop;
      finish_exchange(stop);
    }
  }
  /// The fabric of an interval-based tile, as far as these tests go: nothing to do, or one receive from a silent tile.
  void finish_exchange(const TileStop& stop) {
    std::uint64_t header = 0, receive = 0;
    tile->read_memory(stop.value, reinterpret_cast<std::uint8_t*>(&header), sizeof header);
    tile->read_memory(stop.value + 8, reinterpret_cast<std::uint8_t*>(&receive), sizeof receive);
    ExchangeResult result{stop.cycle, {}};
    if (ExchangeHeader::unpack(header).receives != 0) {
      const Cycle silent = tile->supervisor_csr(csr::xsyncz) + ExchangeDescriptor::unpack(receive).start;
      result = {silent, ExchangeResult::Fault{trap::exchange_underrun, silent, stop.value + 8}};
    }
    tile->finish_exchange(result);
  }
  void step_mode(ContextId c, bool on) { tile->debug_write(c, Space::csr, kXdcsr, on ? kStep : 0); }
  std::uint32_t x(ContextId c, unsigned number) { return tile->debug_read(c, Space::x, number); }
  [[nodiscard]] std::vector<Cycle> cycles(ContextId c) const {
    std::vector<Cycle> out;
    for (const auto& record : seen.records)
      if (record.context == c) out.push_back(record.cycle);
    return out;
  }
  Recorder seen;
  std::unique_ptr<TileModel> tile;
};

}  // namespace tessera::debug_bench
