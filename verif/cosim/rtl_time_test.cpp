// Exact issue cycles of the RTL tile by the rows of docs/machine/timing.md, at every slot offset, and the traps of
// section 4. Expectations come from the rules as written, not from a model.
#include <gtest/gtest.h>

#include <cstring>

#include "tlm/tile/assembler.h"
#include "verif/cosim/failures.h"
#include "verif/cosim/rtl_tile.h"

namespace tessera {
namespace {

using namespace tessera::testing;  // NOLINT: the assembler

constexpr Address kWorkerCode = kSramBase + 0x4000, kHandler = kSramBase + 0x2000;
using Code = std::vector<std::uint32_t>;

struct Recorder : RetireObserver {
  std::vector<RetireRecord> records;
  void retired(const RetireRecord& record) override { records.push_back(record); }
  void exchanged(const ExchangeWord&) override {}
};

struct Bench {
  /// `fault`: empty for the tile as it is, otherwise one of make_faulty_rtl_tile().
  explicit Bench(const Code& supervisor, const Code& worker = {}, TileConfig config = {},
                 const std::string& fault = {}) {
    config.sram_bytes = 65536;
    tile = fault.empty() ? make_rtl_tile(config) : make_faulty_rtl_tile(config, fault);
    tile->observe(&seen);
    load(kSramBase, supervisor);
    load(kWorkerCode, worker);
  }
  void load(Address at, const Code& code) {
    tile->write_memory(at, reinterpret_cast<const std::uint8_t*>(code.data()), 4 * code.size());
  }
  TileStop go(Cycle at) {
    tile->start(kSramBase, at);
    return tile->run(10000, nullptr, nullptr);
  }
  [[nodiscard]] std::vector<Cycle> cycles(ContextId context) const {
    std::vector<Cycle> out;
    for (const RetireRecord& record : seen.records)
      if (record.context == context) out.push_back(record.cycle);
    return out;
  }
  Recorder seen;
  std::unique_ptr<RtlTile> tile;
};

Code prologue() {
  Code code;
  load_constant(code, 5, kWorkerCode);
  return code;
}
Code join(Code a, const Code& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Cycle in_slot(Cycle from, unsigned slot) { return from + (slot + 6 - from % 6) % 6; }
const std::uint32_t kExit = r(Op::x_exit, 0, 0), kEcall = r(Op::ecall, 0);

TEST(RtlTime, SlotsOfSupervisorInstructions) {
  for (Cycle at = 0; at < 12; ++at) {
    Bench bench({nop(), r(Op::div, 1, 2, 3), r(Op::mul, 1, 2, 3), r(Op::remu, 1, 2, 3), kEcall});
    const TileStop stop = bench.go(at);
    EXPECT_EQ(bench.cycles(0), (std::vector<Cycle>{at, at + 6, at + 42, at + 48, at + 84}));
    EXPECT_EQ(stop.kind, TileStop::Kind::exception);
    EXPECT_EQ(stop.cycle, at + 84);
  }
}

TEST(RtlTime, SlotsOfWorkerInstructionsAndPairs) {
  // At 0: lw + fmul pair; at 8: addi alone (its neighbour is MAIN), at 12: fsub alone; at 16: nop + fdiv; then fsqrt,
  // div.
  const Code code{
      i(Op::lw, 10, 8, 0),  r(Op::fmul_s, 1, 2, 3), nop(), r(Op::fsub_s, 4, 1, 1), nop(), r(Op::fdiv_s, 5, 1, 2),
      r(Op::fsqrt_s, 6, 1), r(Op::div, 11, 10, 10), kExit};
  for (unsigned w = 1; w <= 6; ++w)
    for (Cycle at = 0; at < 7; ++at) {
      Bench bench({}, join({r(Op::fence, 0), i(Op::lui, 8, 0, 0x40000)}, code));
      bench.tile->start_context(static_cast<ContextId>(w), kWorkerCode, at);
      bench.tile->run(1000, nullptr, nullptr);
      const Cycle t = in_slot(at, w - 1);
      EXPECT_EQ(bench.cycles(static_cast<ContextId>(w)),
                (std::vector<Cycle>{t, t + 6, t + 12, t + 12, t + 18, t + 18, t + 24, t + 24, t + 54, t + 84, t + 120}))
          << w << " at " << at;
    }
}

TEST(RtlTime, AMainThatWritesWhatTheAuxTouchesDoesNotPair) {
  const auto alone = [](std::uint32_t first, std::uint32_t second) {
    Bench bench({}, {i(Op::lui, 8, 0, 0x40000), nop(), first, second, kExit});
    bench.tile->start_context(1, kWorkerCode, 0);
    bench.tile->run(1000, nullptr, nullptr);
    return !bench.seen.records[2].paired;
  };
  EXPECT_TRUE(alone(i(Op::flw, 3, 8, 0), r(Op::fadd_s, 3, 1, 2)));
  EXPECT_TRUE(alone(i(Op::flw, 3, 8, 0), r(Op::fadd_s, 4, 3, 2)));
  EXPECT_TRUE(alone(i(Op::flw, 3, 8, 0), r(Op::fadd_s, 4, 1, 3)));
  EXPECT_TRUE(alone(i(Op::flw, 3, 8, 0), r(Op::fmadd_s, 4, 1, 2, 3)));
  EXPECT_FALSE(alone(i(Op::flw, 3, 8, 0), r(Op::fmadd_s, 4, 1, 2, 5)));
  EXPECT_FALSE(alone(i(Op::flw, 3, 8, 0), r(Op::fsqrt_s, 4, 1)));  // its rs2 field is no operand
  EXPECT_TRUE(alone(nop(), r(Op::fadd_s, 4, 1, 2) | 5u << 12));    // a reserved rounding field: illegal, never AUX
  EXPECT_TRUE(alone(nop(), r(Op::feq_s, 4, 1, 2)));                // SOLO
}

TEST(RtlTime, DelayIsFromSixUp) {
  for (Cycle at = 0; at < 6; ++at)
    for (unsigned n = 0; n < 20; ++n) {
      Bench bench({i(Op::addi, 6, 0, static_cast<std::int32_t>(n)), r(Op::x_delay, 0, 6), kEcall});
      bench.go(at);
      EXPECT_EQ(bench.cycles(0)[2], at + 6 + std::max(6u, n)) << at << " " << n;
    }
}

/// A worker that is started twice. `lead`: instructions of the supervisor before, which place its others.
void run_exit_run(unsigned lead, const std::string& fault = {}) {
  for (Cycle start = 0; start < 6; ++start)
    for (unsigned w = 1; w <= 6; ++w) {
      // A delay walks the supervisor through the slots; the second x.run waits for the worker.
      Bench bench(join(join(prologue(), Code(lead, nop())),
                       {r(Op::x_run, w, 5), nop(), r(Op::x_run, w, 5), sync(7, 5, 0), kEcall}),
                  {nop(), nop(), kExit}, {}, fault);
      bench.go(start);
      const Cycle at = start + Cycle{6} * lead;
      const Cycle run = at + 12, first = in_slot(run + 6, w - 1), gone = first + 12 + 6;
      const auto vacant = [&](Cycle t) { return t % 6 == w - 1 && t < gone ? t + 1 : t; };
      const Cycle next = vacant(run + 6);
      const Cycle second = std::max(vacant(next + 6), gone);
      const Cycle again = in_slot(second + 6, w - 1);
      const auto sup = bench.cycles(0);
      ASSERT_EQ(sup.size(), lead + 7u);
      EXPECT_EQ(sup[lead + 3], next) << w << " at " << at;
      EXPECT_EQ(sup[lead + 4], second) << w << " at " << at;
      EXPECT_EQ(bench.cycles(static_cast<ContextId>(w)),
                (std::vector<Cycle>{first, first + 6, first + 12, again, again + 6, again + 12}));
      EXPECT_EQ(sup[lead + 6], again + 12 + 6);  // local sync: exactly six after the last exit
    }
}

TEST(RtlTime, RunExitAndTheSlotsBetween) {
  for (unsigned lead = 0; lead < 16; ++lead) run_exit_run(lead);
}

/// Rounds of x.rpt: a body of two MAINs, and one that is a pair.
void loops(const std::string& fault = {}) {
  for (const bool pair : {false, true})
    for (unsigned w = 1; w <= 6; ++w)
      for (unsigned rounds = 1; rounds < 5; ++rounds) {
        const std::uint32_t second = pair ? r(Op::fadd_s, 1, 2, 3) : i(Op::addi, 12, 12, 2);
        Bench bench({}, {nop(), encode(Op::x_rpti, {rounds, 1}), i(Op::addi, 11, 11, 1), second, nop(), nop(), kExit},
                    {}, fault);
        bench.tile->start_context(static_cast<ContextId>(w), kWorkerCode, 0);
        bench.tile->run(1000, nullptr, nullptr);
        std::vector<Cycle> cycles;
        Cycle t = in_slot(0, w - 1);
        const auto issue = [&](unsigned instructions) {
          cycles.insert(cycles.end(), instructions, t);
          t += 6;
        };
        issue(1);
        issue(1);
        for (unsigned n = 0; n < rounds; ++n) {
          issue(pair ? 2 : 1);
          if (!pair) issue(1);
        }
        for (unsigned n = 0; n < 3; ++n) issue(1);
        EXPECT_EQ(bench.cycles(static_cast<ContextId>(w)), cycles) << rounds << " rounds, worker " << w;
        EXPECT_EQ(bench.tile->context(w).x[11], rounds);
        EXPECT_EQ(bench.tile->context(w).x[12], pair ? 0 : 2 * rounds);
      }
}

TEST(RtlTime, LoopsTakeNoCycleOfTheirOwn) { loops(); }

/// The pointers of x.ld2 after steps of 8 bytes and of strides A and B, of both signs.
void streams(const std::string& fault = {}) {
  for (const std::int32_t a : {3, -2})
    for (const std::int32_t b : {5, -7}) {
      const Address s0 = kSramBase + 0x8000, s1 = kSramBase + 0xa000;
      Code code;
      load_constant(code, 5, s0);
      load_constant(code, 6, s1);
      load_constant(code, 7, static_cast<std::uint32_t>(b) << 16 | (static_cast<std::uint32_t>(a) & 0xffff));
      const std::size_t first = code.size() + 2;
      code = join(code, {encode(Op::x_sset, {0, 5, 7}), encode(Op::x_sset, {1, 6, 7}), encode(Op::x_ld2, {4, 6, 1, 2}),
                         encode(Op::x_ld2, {4, 6, 2, 0}), encode(Op::x_ld2, {4, 6, 3, 1}), kExit});
      Bench bench({}, code, {}, fault);
      bench.tile->start_context(3, kWorkerCode, 0);
      bench.tile->run(1000, nullptr, nullptr);
      const auto after = [](Address base, std::int32_t steps) { return base + static_cast<Address>(8 * steps); };
      const Address expected[3][2] = {
          {after(s0, a), after(s1, b)}, {after(s0, a + b), after(s1, b + 1)}, {after(s0, a + b), after(s1, b + 1 + a)}};
      ASSERT_GE(bench.seen.records.size(), first + 3);
      for (std::size_t n = 0; n < 3; ++n) {
        const RetireRecord& record = bench.seen.records[first + n];
        EXPECT_EQ(record.stream_addr[0], expected[n][0]) << "A " << a << ", B " << b << ", load " << n;
        EXPECT_EQ(record.stream_addr[1], expected[n][1]) << "A " << a << ", B " << b << ", load " << n;
      }
    }
}

TEST(RtlTime, StreamsStepByEightAndBySignedStrides) { streams(); }

/// What must hold above, on the model with faults: it does without one, and not with the fault of its unit.
TEST(RtlTime, FaultsInSlotsLoopsAndStreamsAreFound) {
  // The instruction after x.run stands at the end of 64 bytes: there the faulty arbiter steals.
  const auto slots = [](const std::string& fault) { run_exit_run(12, fault); };
  EXPECT_EQ(failures([&] { slots("none"), loops("none"), streams("none"); }), 0);
  EXPECT_GT(failures([&] { slots("slot"); }), 0);
  EXPECT_GT(failures([&] { loops("loop_end"); }), 0);
  EXPECT_GT(failures([&] { streams("stream_stride"); }), 0);
}

TEST(RtlTime, WideSyncRaisesAndReleasesExactly) {
  for (Cycle at = 0; at < 6; ++at)
    for (Cycle wait = 1; wait < 9; ++wait)
      for (const bool worker : {false, true}) {
        Code code = prologue();
        if (worker) code.push_back(r(Op::x_run, 7, 5));
        Bench bench(join(code, {sync(7, 5, 1), kEcall}), {nop(), kExit});
        const TileStop stop = bench.go(at);
        // x.run at + 12: all slots are owned from at + 18, each worker exits with its second instruction. The first
        // slot to become vacant is that of at + 24's x.exit, so x.sync issues at + 30, after the last x.exit (at + 29).
        ASSERT_EQ(stop.kind, TileStop::Kind::sync);
        EXPECT_EQ(stop.cycle, at + (worker ? 36 : 18));
        EXPECT_EQ(stop.value, (kWorkerCode & 0xffffff00u) | (kWorkerCode & 1));
        bench.tile->release(stop.cycle + wait, true);
        bench.tile->run(10000, nullptr, nullptr);
        const auto sup = bench.cycles(0);
        EXPECT_EQ(sup.back(), stop.cycle + wait);
        EXPECT_EQ(bench.tile->context(0).x[7], 1u);
      }
}

TEST(RtlTime, TrapsTakeOneSlotAndTheHandlerIsNext) {
  struct Case {
    std::uint32_t word;
    std::uint32_t cause, tval;
  };
  // x8 = start of the SRAM, x9 = its end, x6 = 2; the word stands at kSramBase + 0x20.
  const Address at = kSramBase + 0x20;
  const Case cases[] = {
      {i(Op::jalr, 1, 8, 2), 0, kSramBase + 2},
      {s(Op::beq, 0, 0, 6), 0, at + 6},
      {0xffffffffu, 2, 0xffffffffu},
      {r(Op::fadd_s, 1, 2, 3), 2, r(Op::fadd_s, 1, 2, 3)},  // the supervisor has no F
      {kExit, 2, kExit},                                    // wrong role
      {i(Op::csrrw, 0, 6, csr::xtile), 2, i(Op::csrrw, 0, 6, csr::xtile)},
      {i(Op::csrrs, 1, 0, 0x180), 2, i(Op::csrrs, 1, 0, 0x180)},  // satp is absent
      {r(Op::ebreak, 0), 3, at},
      {i(Op::lw, 1, 8, 2), 4, kSramBase + 2},
      {i(Op::lh, 1, 9, 0), 5, kSramBase + 65536},
      {i(Op::lb, 1, 8, -1), 5, kSramBase - 1},
      {s(Op::sh, 8, 6, 1), 6, kSramBase + 1},
      {s(Op::sw, 9, 6, 0), 7, kSramBase + 65536},
      {kEcall, 11, 0},
      {r(Op::x_exchange, 0, 8), 25, 0},
      {r(Op::x_packet, 0, 8), 25, 0},
      {sync(1, 0, 2), 25, 0},
      {i(Op::jalr, 0, 6, 0) & ~0x000f'8000u, 1, 0},  // jumps to 0: the fetch there traps
  };
  for (const Case& c : cases) {
    Code code;
    load_constant(code, 5, kHandler);
    code.push_back(i(Op::csrrw, 0, 5, csr::mtvec));
    code.push_back(i(Op::lui, 8, 0, kSramBase));
    code.push_back(i(Op::lui, 9, 0, kSramBase + 65536));
    code.push_back(i(Op::addi, 6, 0, 2));
    while (code.size() < 8) code.push_back(nop());
    code.push_back(c.word);
    Bench bench(code);
    bench.load(kHandler, {i(Op::csrrs, 10, 0, csr::mcause), i(Op::csrrs, 11, 0, csr::mtval),
                          i(Op::csrrs, 12, 0, csr::mepc), i(Op::csrrw, 0, 0, csr::mtvec), kEcall});
    bench.go(1);
    SCOPED_TRACE("word " + std::to_string(c.word));
    const ContextState state = bench.tile->context(0);
    EXPECT_EQ(state.x[10], c.cause);
    EXPECT_EQ(state.x[11], c.tval);
    const Cycle trap = 1 + 48 + (c.cause == 1 ? 6 : 0);
    EXPECT_EQ(state.x[12], c.cause == 1 ? 0 : at);
    const auto sup = bench.cycles(0);
    const std::size_t n = c.cause == 1 ? 9 : 8;
    EXPECT_EQ(sup[n], trap);
    EXPECT_EQ(sup[n + 1], trap + 6);
    EXPECT_TRUE(bench.seen.records[n].trap);
    EXPECT_EQ(bench.seen.records[n].next_pc, kHandler);
  }
}

TEST(RtlTime, AnAuxThatFaultsLeavesItsMainRetired) {
  // frm = 5 is reserved: a dynamic rounding mode faults. Handler: none, so the worker is excepted.
  Bench bench({}, {i(Op::csrrwi, 0, 5, csr::frm), nop(), i(Op::addi, 10, 0, 7), r(Op::fadd_s, 1, 2, 3) | 7u << 12});
  bench.tile->start_context(2, kWorkerCode, 0);
  const TileStop stop = bench.tile->run(1000, nullptr, nullptr);
  EXPECT_EQ(stop.kind, TileStop::Kind::exception);
  ASSERT_EQ(bench.seen.records.size(), 4u);
  EXPECT_EQ(bench.seen.records[2].xval, 7u);
  EXPECT_TRUE(bench.seen.records[3].trap);
  EXPECT_EQ(bench.seen.records[3].cycle, bench.seen.records[2].cycle);
  EXPECT_EQ(bench.tile->exception()->pc, kWorkerCode + 12);
  EXPECT_EQ(bench.tile->retired(), 3u);
}

TEST(RtlTime, CountersAndTheExitCodes) {
  // mcycle reads its issue cycle; an offset written counts on; xexit holds a code six cycles after the x.exit.
  Bench bench(join(prologue(), {i(Op::csrrs, 10, 0, csr::cycle), i(Op::csrrwi, 0, 9, csr::mcycle),
                                i(Op::csrrs, 11, 0, csr::mcycle), i(Op::csrrs, 12, 0, csr::instret), r(Op::x_run, 1, 5),
                                sync(0, 0, 0), i(Op::csrrs, 13, 0, csr::xexit), kEcall}),
              {i(Op::addi, 6, 0, 5), r(Op::x_exit, 0, 6)});
  bench.go(4);
  const ContextState state = bench.tile->context(0);
  EXPECT_EQ(state.x[10], 16u);
  EXPECT_EQ(state.x[11], 15u);
  EXPECT_EQ(state.x[12], 5u);
  EXPECT_EQ(state.x[13], 5u);
}

TEST(RtlTime, QuiescentCyclesAreSkippedAndNothingChanges) {
  Bench bench({sync(7, 0, 1), i(Op::csrrs, 10, 0, csr::cycle), kEcall});
  const TileStop stop = bench.go(1000);
  EXPECT_EQ(stop.cycle, 1006u);
  bench.tile->release(5'000'000'000, true);
  const TileStop end = bench.tile->run(kNever, nullptr, nullptr);
  EXPECT_EQ(end.cycle, 5'000'000'006u);
  EXPECT_EQ(bench.tile->context(0).x[10], static_cast<std::uint32_t>(5'000'000'000));
  EXPECT_LT(bench.tile->clocked(), 100u);
}

TEST(RtlTime, TheStoreToTohostEndsTheRunAtItsCycle) {
  TileConfig config;
  config.tohost = kSramBase + 0x100;
  Bench bench({i(Op::lui, 8, 0, kSramBase), i(Op::addi, 6, 0, 1), s(Op::sh, 8, 6, 0x100), s(Op::sw, 8, 6, 0x104)}, {},
              config);
  const TileStop stop = bench.go(2);
  EXPECT_EQ(stop.kind, TileStop::Kind::tohost);
  EXPECT_EQ(stop.cycle, 14u);
  EXPECT_EQ(stop.value, 1u);
  EXPECT_EQ(bench.seen.records.size(), 3u);
}

}  // namespace
}  // namespace tessera
