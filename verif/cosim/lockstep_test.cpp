// What lockstep finds and how it tells it, with a TLM tile behind pins in the place of RTL and faults planted there.
// Programs on the RTL itself are in verif/random and verif/system.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tlm/tile/assembler.h"
#include "tlm/tile/tlm_tile.h"
#include "verif/cosim/lockstep_tile.h"
#include "verif/cosim/pin_level_fake.h"

namespace tessera {
namespace {

using namespace tessera::testing;  // NOLINT: the assembler
using Code = std::vector<std::uint32_t>;

constexpr Address kWorkerCode = kSramBase + 0x1000, kTable = kSramBase + 0x2000, kData = kSramBase + 0x3000;

/// A supervisor that starts all workers, syncs, and exchanges with table kTable; workers compute with x and f
/// registers.
struct Bench {
  Bench() {
    config.tile = 3;
    config.tiles = 4;
    auto tlm_tile = std::make_unique<TlmTile>(config);
    auto rtl_tile = std::make_unique<PinLevelFake>(config);
    rtl = rtl_tile.get();
    LockstepOptions options;
    options.symbolizer = [](TileRef, Address pc) { return pc >= kWorkerCode ? "worker_code at test.S:7" : ""; };
    options.stretch = 64;
    tile = std::make_unique<LockstepTile>(config, std::move(tlm_tile), std::move(rtl_tile), options);
    Code supervisor;
    load_constant(supervisor, 5, kWorkerCode);
    load_constant(supervisor, 6, kTable);
    load_constant(supervisor, 7, kData);
    supervisor.insert(supervisor.end(), {r(Op::x_run, 7, 5, 7, 0), sync(8, 0, 1), r(Op::x_exchange, 0, 6),
                                         i(Op::lw, 9, 7, 64), s(Op::sw, 7, 9, 128), r(Op::ecall, 0)});
    Code worker{i(Op::addi, 12, 0, 5), i(Op::fcvt_s_w, 1, 12, 0)};
    for (int n = 0; n < 40; ++n) worker.insert(worker.end(), {i(Op::addi, 12, 12, 3), r(Op::fadd_s, 2, 2, 1)});
    worker.push_back(r(Op::x_exit, 0, 0));
    write(kSramBase, supervisor);
    write(kWorkerCode, worker);
    // Sends 4 words from kData at t = 200; receives 4 from tile 1 at t = 240 to kData + 64.
    const std::uint32_t from = (kData - kSramBase) / 4, to = from + 16;
    const auto descriptor = [](std::uint64_t t, std::uint64_t words, std::uint64_t address, std::uint64_t peer) {
      return t << 4 | words << 22 | address << 34 | peer << 52;
    };
    const std::uint64_t table[] = {1 | 1u << 16, descriptor(200, 4, from, 0), descriptor(240, 4, to, 1)};
    tile->write_memory(kTable, reinterpret_cast<const std::uint8_t*>(table), sizeof table);
    write(kData, {11, 22, 33, 44});
  }
  void write(Address at, const Code& words) {
    tile->write_memory(at, reinterpret_cast<const std::uint8_t*>(words.data()), 4 * words.size());
  }
  /// Runs to the end, playing chip and fabric.
  TileStop go() {
    tile->start(kSramBase, 0);
    for (;;) {
      const TileStop stop = tile->run(1'000'000, nullptr, nullptr);
      if (stop.kind == TileStop::Kind::sync) {
        tile->release(stop.cycle + 30, true);
      } else if (stop.kind == TileStop::Kind::exchange) {
        const std::uint32_t words[] = {0xa1, 0xa2, 0xa3, 0xa4};
        std::memcpy(tile->sram() + (kData + 64 - kSramBase), words, sizeof words);
        tile->memory_written(kData + 64, sizeof words);
        ExchangeResult result{release + 243, std::nullopt};
        tile->finish_exchange(result);
      } else {
        return stop;
      }
      if (stop.kind == TileStop::Kind::sync) release = stop.cycle + 30;
    }
  }
  /// Runs, expects a mismatch, returns its text.
  std::string mismatch() {
    try {
      go();
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::lockstep_mismatch);
      EXPECT_TRUE(error.cycle().has_value());
      return error.what();
    }
    ADD_FAILURE() << "no mismatch";
    return {};
  }

  TileConfig config;
  std::unique_ptr<LockstepTile> tile;
  PinLevelFake* rtl = nullptr;
  Cycle release = 0;
};

using ::testing::HasSubstr;

TEST(Lockstep, EqualSidesRunToTheEndAndAreCounted) {
  Bench bench;
  const TileStop stop = bench.go();
  EXPECT_EQ(stop.kind, TileStop::Kind::exception);
  const auto& n = bench.tile->compared();
  EXPECT_EQ(n.instructions, bench.tile->retired());
  EXPECT_GT(n.instructions, 400u);
  EXPECT_EQ(n.traps, 1u);
  EXPECT_EQ(n.words, 8u);
  EXPECT_GE(n.memory_bytes, bench.config.sram_bytes);
}

TEST(Lockstep, TellsTheFirstDifferenceWithBothSidesAndTheWayThere) {
  Bench bench;
  bench.rtl->spoil_record = [](RetireRecord& r) {
    if (r.context == 2 && r.xrd == 12 && r.xval == 5 + 3 * 20) r.xval ^= 0x80;
  };
  const std::string text = bench.mismatch();
  EXPECT_THAT(text, HasSubstr("x register value: TLM 0x41, RTL 0xc1"));
  EXPECT_THAT(text, HasSubstr("addi a2,a2,3"));
  EXPECT_THAT(text, HasSubstr("last 16 instructions"));
  EXPECT_THAT(text, HasSubstr("*   a2 00000041 | 000000c1"));
  EXPECT_THAT(text, HasSubstr("   ft1 40a00000 "));  // registers as they stood there, not where TLM is by now
  EXPECT_THAT(text, HasSubstr("worker_code at test.S:7"));
  EXPECT_THAT(text, HasSubstr("ipu 0 tile 3 context 2"));
}

TEST(Lockstep, AnInstructionOneSlotLateIsFound) {
  Bench bench;
  bench.rtl->spoil_record = [](RetireRecord& r) {
    if (r.context == 5 && r.pc == kWorkerCode + 0x20) r.cycle += 6;
  };
  EXPECT_THAT(bench.mismatch(), HasSubstr("cycle: TLM"));
}

TEST(Lockstep, AMissingInstructionIsFoundAtTheLatestAtTheStop) {
  Bench bench;
  bench.rtl->swallow = [](const RetireRecord& r) { return r.context == 1 && isa::decode(r.word) == Op::x_exit; };
  EXPECT_THAT(bench.mismatch(), HasSubstr("RTL does not retire an instruction"));
}

TEST(Lockstep, AWrongExchangeWordIsFoundWithItsCycle) {
  Bench bench;
  bench.rtl->spoil_word = [](ExchangeWord& w) { w.word += w.word == 33; };
  EXPECT_THAT(bench.mismatch(), HasSubstr("exchange word 2 sent: TLM 0x00000021"));
}

TEST(Lockstep, AWordOneCycleLateIsFound) {
  Bench bench;
  bench.rtl->spoil_word = [](ExchangeWord& w) { ++w.cycle; };
  EXPECT_THAT(bench.mismatch(), HasSubstr("exchange word 0 sent"));
}

TEST(Lockstep, AWriteThatNoRecordTellsIsFoundInMemory) {
  Bench bench;
  bench.rtl->spoil_record = [&bench](RetireRecord& r) {
    if (r.mem_write) {
      const std::uint8_t byte = 0x77;
      bench.rtl->inner().write_memory(kData + 512, &byte, 1);
    }
  };
  EXPECT_THAT(bench.mismatch(), HasSubstr("memory at 0x43200"));
}

TEST(Lockstep, EveryFieldOfARecordIsCompared) {
  std::vector<std::function<void(RetireRecord&)>> changes = {[](RetireRecord& r) { r.cycle += 6; },
                                                             [](RetireRecord& r) { r.context ^= 1; },
                                                             [](RetireRecord& r) { r.pc ^= 4; },
                                                             [](RetireRecord& r) { r.word ^= 1; },
                                                             [](RetireRecord& r) { r.paired = !r.paired; },
                                                             [](RetireRecord& r) { r.trap = true; },
                                                             [](RetireRecord& r) { r.cause = 2; },
                                                             [](RetireRecord& r) { r.tval = 1; },
                                                             [](RetireRecord& r) { r.next_pc ^= 4; },
                                                             [](RetireRecord& r) { r.xrd ^= 1; },
                                                             [](RetireRecord& r) { r.xval ^= 1; },
                                                             [](RetireRecord& r) { r.fwrite[0].valid ^= 1; },
                                                             [](RetireRecord& r) { r.fwrite[1].reg ^= 1; },
                                                             [](RetireRecord& r) { r.fwrite[2].bits ^= 1; },
                                                             [](RetireRecord& r) { r.fflags ^= 1; },
                                                             [](RetireRecord& r) { r.mem_read = !r.mem_read; },
                                                             [](RetireRecord& r) { r.mem_write = true; },
                                                             [](RetireRecord& r) { r.read_addr[1] ^= 4; },
                                                             [](RetireRecord& r) { r.write_addr ^= 4; },
                                                             [](RetireRecord& r) { r.write_mask ^= 1; },
                                                             [](RetireRecord& r) { r.write_data ^= 1; },
                                                             [](RetireRecord& r) { r.csr ^= 1; },
                                                             [](RetireRecord& r) { r.csr_value ^= 1; },
                                                             [](RetireRecord& r) { r.run[6] ^= 1; }};
  for (std::size_t n = 0; n < changes.size(); ++n) {
    RetireRecord a, b;
    EXPECT_FALSE(first_difference(a, b));
    changes[n](b);
    EXPECT_FALSE(a == b) << n;
    EXPECT_TRUE(first_difference(a, b)) << n;
  }
}

}  // namespace
}  // namespace tessera
