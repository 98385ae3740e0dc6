// The debug port of the TLM tile, rule by rule of docs/machine/debug.md, to the cycle.
#include <gtest/gtest.h>

#include <stdexcept>

#include "tlm/tile/tile_bench.h"

namespace tessera {
namespace {

using namespace tessera::testing;  // NOLINT: the bench

using Kind = TileStop::Kind;
using Run = ContextState::Run;
using Cycles = std::vector<Cycle>;

const std::uint32_t kExit = encode(Op::x_exit, {0});
constexpr std::uint32_t kStepBit = 4, kBreakBit = 1u << 15;

std::uint8_t only(unsigned context) { return static_cast<std::uint8_t>(1u << context); }

/// A worker's program, started at cycle 0 under a debugger.
struct DebugBench : Bench {
  explicit DebugBench(const Code& worker, ContextId id = 1) : Bench({}, worker), id(id) {
    tile.debug_attach(true);
    tile.start_context(id, kWorkerCode, 0);
  }
  TileStop run(Cycle limit = 100000) { return tile.run(limit, nullptr, nullptr); }
  [[nodiscard]] std::uint32_t read(DebugSpace space, unsigned number = 0) const {
    return tile.debug_read(id, space, number);
  }
  void write(DebugSpace space, unsigned number, std::uint32_t value) { tile.debug_write(id, space, number, value); }
  [[nodiscard]] unsigned cause() const { return read(DebugSpace::csr, csr::xdcsr) >> 6 & 7; }
  /// Halts before the first issue, sets xdcsr and goes on in cycle 0 of the slot.
  void with_xdcsr(std::uint32_t bits) {
    tile.debug_halt(only(id), 0);
    EXPECT_EQ(run(id + 1).kind, Kind::halted);
    write(DebugSpace::csr, csr::xdcsr, bits);
  }
  ContextId id;
};

/// A supervisor's program from cycle 0 under a debugger.
struct SupervisorBench : Bench {
  explicit SupervisorBench(const Code& supervisor, const Code& worker = {}) : Bench(supervisor, worker) {
    tile.debug_attach(true);
    tile.start(kSramBase, 0);
  }
  TileStop run(Cycle limit = 100000) { return tile.run(limit, nullptr, nullptr); }
};

Code nops(unsigned n) { return Code(n, nop()); }

TEST(TlmDebug, AHaltActsBeforeTheFirstIssueNotBeforeItsCycle) {
  for (Cycle at = 1; at < 30; ++at) {
    DebugBench bench(join(nops(8), {kExit}), 2);  // slot 1: 1, 7, 13, ..
    bench.tile.debug_halt(only(2), at);
    const TileStop stop = bench.run();
    Cycles expected;
    for (Cycle c = 1; c < at; c += 6) expected.push_back(c);
    EXPECT_EQ(stop.kind, Kind::halted);
    EXPECT_EQ(bench.seen.cycles(2), expected) << at;
    EXPECT_EQ(stop.cycle, expected.empty() ? 0 : expected.back()) << "of the last issue";
    EXPECT_EQ(bench.tile.context(2).run, Run::halted);
    EXPECT_EQ(bench.read(DebugSpace::pc), kWorkerCode + 4 * expected.size());
    EXPECT_EQ(bench.cause(), 3u);
  }
}

TEST(TlmDebug, ResumeIssuesInTheFirstCycleOfTheSlotNotBeforeEither) {
  for (Cycle at = 14; at < 40; ++at) {  // halted from N = 13
    DebugBench bench(join(nops(8), {kExit}), 2);
    bench.tile.debug_halt(only(2), 10);
    bench.run(20);
    bench.tile.debug_resume(only(2), at);
    EXPECT_EQ(bench.run().kind, Kind::idle);
    Cycle next = at;
    while (next % 6 != 1) ++next;
    Cycles expected = {1, 7};
    for (unsigned k = 0; k < 7; ++k) expected.push_back(next + 6 * k);
    EXPECT_EQ(bench.seen.cycles(2), expected) << at;
    EXPECT_EQ(bench.cause(), 0u);
  }
}

TEST(TlmDebug, AFlagThatComesAndGoesBeforeTheNextIssueChangesNothing) {
  DebugBench bench({encode(Op::div, {1, 2, 3}), nop(), kExit});  // 0, 36, 42
  bench.tile.debug_halt(only(1), 5);
  bench.tile.debug_resume(only(1), 36);
  EXPECT_EQ(bench.run().kind, Kind::idle);
  EXPECT_EQ(bench.seen.cycles(1), (Cycles{0, 36, 42}));
  // In one cycle the order of the commands counts, also of those given ahead for later cycles.
  for (const bool halt_last : {false, true}) {
    DebugBench both(join(nops(4), {kExit}));
    both.tile.debug_halt(only(1), 100);
    if (!halt_last) both.tile.debug_halt(only(1), 12);
    both.tile.debug_resume(only(1), 12);
    if (halt_last) both.tile.debug_halt(only(1), 12);
    EXPECT_EQ(both.run(99).kind, halt_last ? Kind::limit : Kind::limit);
    EXPECT_EQ(both.seen.cycles(1).size(), halt_last ? 2u : 5u);
    EXPECT_EQ(both.tile.context(1).run, halt_last ? Run::halted : Run::idle);
  }
}

TEST(TlmDebug, CommandsForThePastAreRefused) {
  DebugBench bench(join(nops(8), {kExit}));
  bench.run(20);  // issued 0, 6, 12, 18
  EXPECT_THROW(bench.tile.debug_halt(only(1), 18), std::logic_error);
  EXPECT_THROW(bench.tile.debug_resume(only(1), 3), std::logic_error);
  bench.tile.debug_halt(only(1), 24);
  EXPECT_EQ(bench.run(25).kind, Kind::halted);
  EXPECT_THROW(bench.tile.debug_resume(only(1), 24), std::logic_error) << "it was halted in 24";
  bench.tile.debug_resume(only(1), 25);
  bench.run();
  EXPECT_EQ(bench.seen.cycles(1), (Cycles{0, 6, 12, 18, 30, 36, 42, 48, 54}));
}

TEST(TlmDebug, AttachingChangesNoTiming) {
  const Code worker = {encode(Op::addi, {4, 4, 1}), encode(Op::x_rpt, {4, 1}), encode(Op::addi, {11, 11, 1}),
                       encode(Op::fdiv_s, {1, 2, 3}), kExit};
  const Code supervisor = join(constants({{5, kWorkerCode}}),
                               {encode(Op::x_run, {7, 5, 0, 0}), encode(Op::x_sync, {0, 0, 0}), encode(Op::ecall)});
  Bench plain(supervisor, worker);
  plain.go();
  SupervisorBench debugged(supervisor, worker);
  EXPECT_EQ(debugged.run().kind, Kind::exception);
  EXPECT_EQ(debugged.seen.records, plain.seen.records);
}

TEST(TlmDebug, AHaltedWorkerKeepsItsSlotAndIsNotIdle) {
  // Six workers of which all but 4 exit at once; the supervisor looks at xwstat when it has a slot.
  const Code worker = {nop(), kExit};
  SupervisorBench bench(
      join(constants({{5, kWorkerCode}}), {encode(Op::x_run, {7, 5, 0, 0}), encode(Op::csrrs, {11, csr::xwstat, 0}),
                                           encode(Op::x_run, {4, 5, 0, 0}), nop(), encode(Op::ecall)}),
      worker);  // x.run at 12; workers 18..23; the supervisor issues at 30
  bench.tile.debug_halt(only(4), 22);
  EXPECT_EQ(bench.run().kind, Kind::halted);
  EXPECT_EQ(bench.seen.cycles(4), (Cycles{21}));
  EXPECT_EQ(bench.seen.cycles(0).back(), 30u);
  EXPECT_EQ(bench.tile.context(0).x[11], 0x3eu) << "30: worker 1 is idle, the others' exits are not yet seen";
  EXPECT_EQ(bench.tile.context(0).run, Run::waiting);
  bench.tile.debug_resume(only(4), 60);
  EXPECT_EQ(bench.run().kind, Kind::exception);
  // x.exit at 63; x.run takes effect at 69 and starts it at 75.
  EXPECT_EQ(bench.seen.cycles(4), (Cycles{21, 63, 75, 81}));
  EXPECT_EQ(bench.seen.cycles(0).at(4), 69u);
}

TEST(TlmDebug, TheSupervisorGetsNoHaltedSlot) {
  const Code worker = {nop(), nop(), kExit};
  SupervisorBench bench(
      join(constants({{5, kWorkerCode}}), {encode(Op::x_run, {7, 5, 0, 0}), nop(), encode(Op::ecall)}), worker);
  bench.tile.debug_halt(0x7e, 18);
  EXPECT_EQ(bench.run().kind, Kind::halted) << "no slot is vacant";
  EXPECT_EQ(bench.seen.cycles(0), (Cycles{0, 6, 12}));
  bench.tile.debug_resume(only(5), 40);  // slot 4: 40, 46, exit 52; vacant from 58
  EXPECT_EQ(bench.run().kind, Kind::halted);
  EXPECT_EQ(bench.seen.cycles(0), (Cycles{0, 6, 12, 58, 64}));
  EXPECT_EQ(bench.seen.cycles(5), (Cycles{40, 46, 52}));
}

TEST(TlmDebug, ARequestOfAnIdleContextStands) {
  SupervisorBench bench(
      join(constants({{5, kWorkerCode}}), {encode(Op::x_run, {2, 5, 0, 0}), nop(), encode(Op::ecall)}), {nop(), kExit});
  bench.tile.debug_halt(only(2), 0);
  EXPECT_EQ(bench.run().kind, Kind::halted) << "also if another is excepted";
  EXPECT_EQ(bench.seen.cycles(2), Cycles{});
  EXPECT_EQ(bench.seen.cycles(0), (Cycles{0, 6, 12, 18, 24}));
  EXPECT_EQ(bench.tile.context(2).run, Run::halted);
  bench.tile.debug_resume(only(2), 50);
  EXPECT_EQ(bench.run().kind, Kind::exception);
  EXPECT_EQ(bench.seen.cycles(2), (Cycles{55, 61}));
  // An idle one is not started by a resume.
  bench.tile.debug_resume(only(3), 70);
  EXPECT_EQ(bench.run().kind, Kind::exception);
  EXPECT_EQ(bench.tile.context(3).run, Run::idle);
}

TEST(TlmDebug, AWideSyncEndsInItsCycleAndTheSupervisorHaltsBehindIt) {
  const Code code = {encode(Op::x_sync, {6, 0, 1}), nop(), nop(), encode(Op::ecall)};
  for (const Cycle at : {Cycle{30}, Cycle{100}, Cycle{101}}) {
    SupervisorBench bench(code);
    bench.tile.debug_halt(only(0), at);
    const TileStop stop = bench.run();
    ASSERT_EQ(stop.kind, Kind::sync);
    EXPECT_EQ(stop.cycle, 6u);
    EXPECT_EQ(bench.tile.context(0).run, Run::waiting);
    EXPECT_EQ(bench.tile.debug_read(0, DebugSpace::pc, 0), kSramBase) << "the instruction that waits";
    EXPECT_THROW(bench.tile.debug_write(0, DebugSpace::x, 5, 1), std::logic_error);
    bench.tile.release(100, true);
    EXPECT_EQ(bench.run().kind, Kind::halted);
    // Z < C: it issues in Z once more.
    EXPECT_EQ(bench.seen.cycles(0), (at <= 100 ? Cycles{0} : Cycles{0, 100})) << at;
    EXPECT_EQ(bench.tile.context(0).x[6], 1u);
    EXPECT_EQ(bench.tile.supervisor_csr(csr::xsyncz), 100u);
    bench.tile.debug_resume(only(0), 110);
    bench.run();
    EXPECT_EQ(bench.seen.cycles(0).at(at <= 100 ? 1 : 2), 110u);
  }
}

TEST(TlmDebug, WaitsOfAnIssuedInstructionAreCompleted) {
  // x.run of a running worker: issued at 18, takes effect when the worker has left, whatever flag is up.
  const Code worker = {nop(), nop(), nop(), kExit};
  SupervisorBench bench(join(constants({{5, kWorkerCode}}),
                             {encode(Op::x_run, {3, 5, 0, 0}), encode(Op::x_run, {3, 5, 0, 0}), encode(Op::ecall)}),
                        worker);
  bench.tile.debug_halt(only(0), 19);
  EXPECT_EQ(bench.run().kind, Kind::halted);
  EXPECT_EQ(bench.seen.cycles(0), (Cycles{0, 6, 12, 44}));
  EXPECT_EQ(bench.seen.cycles(3), (Cycles{20, 26, 32, 38, 50, 56, 62, 68}));
  EXPECT_EQ(bench.tile.context(0).run, Run::halted);
  // Local sync and delay likewise.
  SupervisorBench delay({encode(Op::addi, {5, 0, 50}), encode(Op::x_delay, {5}), nop(), encode(Op::ecall)});
  delay.tile.debug_halt(only(0), 10);
  delay.tile.debug_resume(only(0), 20);
  delay.run();
  EXPECT_EQ(delay.seen.cycles(0), (Cycles{0, 6, 56, 62}));
}

TEST(TlmDebug, StepsAreIssuesAndKeepTheirDistances) {
  // Pair, loop of two rounds, division.
  DebugBench bench({encode(Op::x_rpti, {2, 1}), encode(Op::fsqrt_s, {1, 2}), encode(Op::addi, {11, 11, 1}),
                    encode(Op::fadd_s, {1, 2, 3}), encode(Op::div, {1, 2, 3}), nop(), kExit});
  bench.with_xdcsr(kStepBit);
  const Address pcs[] = {8, 8, 16, 20, 24};
  const Cycle waits[] = {30, 6, 6, 36, 6};  // to N
  Cycle now = 12;
  for (unsigned k = 0; k < 5; ++k) {
    bench.tile.debug_resume(only(1), now);
    EXPECT_EQ(bench.run(now + waits[k] + 1).kind, Kind::halted) << k;
    EXPECT_EQ(bench.read(DebugSpace::pc), kWorkerCode + pcs[k]) << k;
    EXPECT_EQ(bench.cause(), 4u);
    EXPECT_EQ(bench.seen.records.back().cycle, now) << k;
    now += waits[k] + 6;
  }
  EXPECT_EQ(bench.tile.context(1).x[11], 2u);
  // The resume may come before the end of a long operation: nothing is cut or delayed.
  DebugBench early({encode(Op::div, {1, 2, 3}), nop(), nop(), kExit});
  early.with_xdcsr(kStepBit);
  early.tile.debug_resume(only(1), 6);
  early.tile.debug_resume(only(1), 8);
  early.run();
  EXPECT_EQ(early.seen.cycles(1), (Cycles{6, 42}));
  EXPECT_EQ(early.tile.context(1).run, Run::halted);
}

TEST(TlmDebug, ATrapIsOneStep) {
  const std::uint32_t bad = encode(Op::lw, {1, 1, 0});
  DebugBench bench({bad, nop()});
  bench.with_xdcsr(kStepBit);
  bench.write(DebugSpace::csr, csr::mtvec, kWorkerCode + 0x40);
  bench.tile.debug_resume(only(1), 6);
  EXPECT_EQ(bench.run(13).kind, Kind::halted);
  EXPECT_EQ(bench.read(DebugSpace::pc), kWorkerCode + 0x40);
  EXPECT_EQ(bench.read(DebugSpace::csr, csr::mepc), kWorkerCode);
  EXPECT_EQ(bench.read(DebugSpace::csr, csr::mcause), 4u);
  EXPECT_EQ(bench.read(DebugSpace::csr, csr::mtval), 1u);
  // Without a handler it is excepted.
  DebugBench none({bad, nop()});
  none.with_xdcsr(kStepBit);
  none.tile.debug_resume(only(1), 6);
  EXPECT_EQ(none.run().kind, Kind::exception);
}

TEST(TlmDebug, AWorkerSteppedOverItsExitHaltsAtItsNextStart) {
  SupervisorBench bench(
      join(constants({{5, kWorkerCode}}),
           {encode(Op::x_run, {1, 5, 0, 0}), encode(Op::x_run, {1, 5, 0, 0}), nop(), encode(Op::ecall)}),
      {kExit});
  bench.tile.debug_halt(only(1), 0);
  EXPECT_EQ(bench.run().kind, Kind::halted);
  bench.tile.debug_write(1, DebugSpace::csr, csr::xdcsr, kStepBit);
  bench.tile.debug_resume(only(1), 30);
  EXPECT_EQ(bench.run().kind, Kind::halted);
  EXPECT_EQ(bench.seen.cycles(1), (Cycles{30}));
  EXPECT_EQ(bench.tile.context(1).run, Run::halted);
  EXPECT_EQ(bench.tile.context(1).pc, kWorkerCode);
}

TEST(TlmDebug, BreakpointsHaltWithoutATrap) {
  const std::uint32_t stop = encode(Op::ebreak);
  DebugBench bench({nop(), stop, nop(), kExit});
  bench.with_xdcsr(kBreakBit);
  bench.tile.debug_resume(only(1), 6);
  EXPECT_EQ(bench.run(12 + 7).kind, Kind::halted);  // nop 6, ebreak 12: halted from 18
  EXPECT_EQ(bench.seen.cycles(1), (Cycles{6})) << "no record";
  EXPECT_EQ(bench.read(DebugSpace::pc), kWorkerCode + 4);
  EXPECT_EQ(bench.cause(), 1u);
  EXPECT_EQ(bench.read(DebugSpace::csr, csr::minstret), 1u);
  EXPECT_EQ(bench.read(DebugSpace::csr, csr::mcause), 0u);
  EXPECT_EQ(bench.read(DebugSpace::csr, csr::mepc), 0u);
  // Resumed, it issues again and halts again; with the word restored it goes on.
  bench.tile.debug_resume(only(1), 20);
  EXPECT_EQ(bench.run(24 + 7).kind, Kind::halted);
  EXPECT_EQ(bench.cause(), 1u);
  load(bench.tile, kWorkerCode + 4, {nop()});
  bench.tile.debug_resume(only(1), 31);
  EXPECT_EQ(bench.run().kind, Kind::idle);
  EXPECT_EQ(bench.seen.cycles(1), (Cycles{6, 36, 42, 48}));
  // Without ebreakm it traps as ever.
  DebugBench trap({stop});
  EXPECT_EQ(trap.run().kind, Kind::exception);
  EXPECT_EQ(trap.tile.exception()->cause, 3u);
}

TEST(TlmDebug, ABreakpointInALoopLeavesItAsItIs) {
  DebugBench bench({nop(), encode(Op::x_rpti, {3, 1}), encode(Op::addi, {11, 11, 1}), encode(Op::ebreak), kExit});
  bench.with_xdcsr(kBreakBit);
  bench.tile.debug_resume(only(1), 6);
  EXPECT_EQ(bench.run().kind, Kind::halted);
  EXPECT_EQ(bench.cause(), 1u);
  EXPECT_EQ(bench.read(DebugSpace::csr, csr::xrpt), 3u);
  load(bench.tile, kWorkerCode + 12, {encode(Op::addi, {12, 12, 1})});
  bench.tile.debug_resume(only(1), 100);
  EXPECT_EQ(bench.run().kind, Kind::idle);
  EXPECT_EQ(bench.tile.context(1).x[11], 3u);
  EXPECT_EQ(bench.tile.context(1).x[12], 3u);
  // A write of the pc ends the loop, and the count stays readable; a halt alone does not.
  DebugBench ended({nop(), encode(Op::x_rpti, {3, 1}), encode(Op::addi, {11, 11, 1}), nop(),
                    encode(Op::csrrs, {13, csr::xrpt, 0}), kExit});
  ended.tile.debug_halt(only(1), 18);
  ended.run(20);
  ended.write(DebugSpace::pc, 0, kWorkerCode + 8);
  ended.tile.debug_resume(only(1), 20);
  EXPECT_EQ(ended.run().kind, Kind::idle);
  EXPECT_EQ(ended.tile.context(1).x[11], 2u) << "once before, once behind the halt";
  EXPECT_EQ(ended.tile.context(1).x[13], 3u);
}

TEST(TlmDebug, ABreakpointInTheSecondWordSeparatesAPair) {
  DebugBench bench({encode(Op::addi, {11, 0, 5}), encode(Op::ebreak), kExit});
  bench.with_xdcsr(kBreakBit);
  bench.tile.debug_resume(only(1), 6);
  bench.run();
  EXPECT_EQ(bench.seen.records.size(), 1u);
  EXPECT_FALSE(bench.seen.records[0].paired);
  EXPECT_EQ(bench.read(DebugSpace::pc), kWorkerCode + 4);
}

TEST(TlmDebug, TheSupervisorBreaksAndSteps) {
  SupervisorBench bench({nop(), encode(Op::ebreak), nop(), encode(Op::ecall)});
  bench.tile.debug_halt(only(0), 0);
  EXPECT_EQ(bench.run().kind, Kind::halted);
  bench.tile.debug_write(0, DebugSpace::csr, csr::xdcsr, kBreakBit | kStepBit);
  bench.tile.debug_resume(only(0), 4);
  EXPECT_EQ(bench.run().kind, Kind::halted);
  EXPECT_EQ(bench.seen.cycles(0), (Cycles{4}));
  EXPECT_EQ(bench.tile.debug_read(0, DebugSpace::csr, csr::xdcsr), kBreakBit | kStepBit | 4u << 6);
  bench.tile.debug_resume(only(0), 17);
  EXPECT_EQ(bench.run().kind, Kind::halted);
  EXPECT_EQ(bench.tile.debug_read(0, DebugSpace::csr, csr::xdcsr), kBreakBit | kStepBit | 1u << 6)
      << "broken before stepped";
  EXPECT_EQ(bench.tile.context(0).pc, kSramBase + 4);
}

TEST(TlmDebug, AnExceptedContextRunsAgain) {
  const std::uint32_t bad = encode(Op::lw, {11, 0, 5});
  DebugBench bench({nop(), bad, encode(Op::addi, {12, 0, 3}), kExit}, 3);
  EXPECT_EQ(bench.run().kind, Kind::exception);  // slot 2: nop 2, trap 8
  EXPECT_EQ(bench.tile.context(3).run, Run::excepted);
  bench.tile.debug_resume(only(3), 13);  // it is excepted from 14 on
  EXPECT_EQ(bench.run().kind, Kind::exception);
  EXPECT_EQ(bench.tile.context(3).run, Run::excepted);
  bench.write(DebugSpace::x, 5, kData);
  bench.tile.debug_resume(only(3), 15);
  EXPECT_EQ(bench.run().kind, Kind::idle);
  EXPECT_FALSE(bench.tile.exception().has_value());
  EXPECT_EQ(bench.seen.cycles(3), (Cycles{2, 8, 20, 26, 32}));
  EXPECT_EQ(bench.tile.context(3).x[12], 3u);
  // Resume and halt in one cycle make it halted.
  DebugBench held({bad}, 3);
  held.run();
  held.tile.debug_resume(only(3), 30);
  held.tile.debug_halt(only(3), 30);
  EXPECT_EQ(held.run().kind, Kind::halted);
  EXPECT_EQ(held.tile.context(3).run, Run::halted);
  EXPECT_FALSE(held.tile.exception().has_value());
}

TEST(TlmDebug, ReadsAndWritesOfAllSpaces) {
  DebugBench bench({nop(), encode(Op::csrrs, {11, csr::minstret, 0}), encode(Op::csrrs, {12, csr::fcsr, 0}), kExit}, 2);
  EXPECT_THROW(bench.write(DebugSpace::x, 5, 1), std::logic_error) << "it runs";
  bench.tile.debug_halt(only(2), 7);
  ASSERT_EQ(bench.run(20).kind, Kind::halted);
  for (unsigned k = 0; k < 32; ++k) {
    bench.write(DebugSpace::x, k, 100 + k);
    bench.write(DebugSpace::f, k, 200 + k);
    EXPECT_EQ(bench.read(DebugSpace::x, k), k == 0 ? 0 : 100 + k);
    EXPECT_EQ(bench.read(DebugSpace::f, k), 200 + k);
    bench.tile.debug_write(0, DebugSpace::f, k, 1);
    EXPECT_EQ(bench.tile.debug_read(0, DebugSpace::f, k), 0u);
  }
  for (unsigned k = 0; k < 6; ++k) {
    bench.write(DebugSpace::stream, k, 300 + k);
    EXPECT_EQ(bench.read(DebugSpace::stream, k), 300 + k);
    EXPECT_EQ(bench.read(DebugSpace::csr, (k < 3 ? csr::xs0 : csr::xst0 - 3) + k), 300 + k);
  }
  for (unsigned k = 0; k < 16; ++k) EXPECT_EQ(bench.read(DebugSpace::amp, k), 0u);
  EXPECT_EQ(bench.tile.debug_read(0, DebugSpace::amp, 63), 0u);
  EXPECT_THROW(bench.write(DebugSpace::amp, 0, 1), std::logic_error);
  EXPECT_THROW((void)bench.read(DebugSpace::amp, 16), std::logic_error);
  EXPECT_THROW((void)bench.read(DebugSpace::x, 32), std::logic_error);
  // CSRs: WARL, read-only, absent, no rule of FS, counters.
  bench.write(DebugSpace::csr, csr::mepc, 0x1003);
  EXPECT_EQ(bench.read(DebugSpace::csr, csr::mepc), 0x1000u);
  bench.write(DebugSpace::csr, csr::mstatus, 0);
  EXPECT_EQ(bench.read(DebugSpace::csr, csr::mstatus), 0x1800u);
  bench.write(DebugSpace::csr, csr::fcsr, 0x3ff);
  EXPECT_EQ(bench.read(DebugSpace::csr, csr::fcsr), 0xffu);
  bench.write(DebugSpace::csr, csr::mstatus, 0x2000);
  EXPECT_EQ(bench.read(DebugSpace::csr, csr::mstatus), 0x80007800u);
  bench.write(DebugSpace::csr, csr::misa, 0);
  EXPECT_EQ(bench.read(DebugSpace::csr, csr::misa), 0x40801120u);
  bench.write(DebugSpace::csr, csr::xworker, 7);
  EXPECT_EQ(bench.read(DebugSpace::csr, csr::xworker), 1u);
  bench.write(DebugSpace::csr, csr::xwstack, 7);
  EXPECT_EQ(bench.read(DebugSpace::csr, csr::xwstack), 0u) << "the supervisor's";
  EXPECT_EQ(bench.tile.debug_read(0, DebugSpace::csr, csr::xwstack), 0u);
  bench.tile.debug_write(0, DebugSpace::csr, csr::xwstack, 7);
  EXPECT_EQ(bench.tile.debug_read(0, DebugSpace::csr, csr::xwstack), 7u);
  bench.write(DebugSpace::csr, csr::mcycle, 7);
  bench.write(DebugSpace::csr, csr::xdcsr, 0xffffffff & ~kStepBit);
  EXPECT_EQ(bench.read(DebugSpace::csr, csr::xdcsr), kBreakBit | 3u << 6);
  bench.write(DebugSpace::csr, csr::minstret, 1000);
  EXPECT_EQ(bench.read(DebugSpace::csr, csr::minstret), 1000u);
  bench.tile.debug_resume(only(2), 20);
  EXPECT_EQ(bench.run().kind, Kind::idle);
  EXPECT_EQ(bench.tile.context(2).x[11], 1000u);
  EXPECT_EQ(bench.tile.context(2).x[12], 0xffu);
  EXPECT_EQ(bench.seen.cycles(2), (Cycles{1, 25, 31, 37}));
  // Counters stand where the model stands: at the limit of a run.
  DebugBench counting(nops(100));
  counting.run(77);
  EXPECT_EQ(counting.read(DebugSpace::csr, csr::mcycle), 77u);
}

TEST(TlmDebug, InstructionsHaveNoXdcsr) {
  const std::uint32_t word = encode(Op::csrrs, {11, csr::xdcsr, 0});
  DebugBench bench({word});
  EXPECT_EQ(bench.run().kind, Kind::exception);
  EXPECT_EQ(bench.tile.exception()->cause, 2u);
}

TEST(TlmDebug, FlagsOutliveTheDebuggerAndFastModeComesBackWhenTheyAreGone) {
  Bench bench({}, join(nops(50), {kExit}));
  bench.tile.observe(nullptr);
  bench.tile.start_context(1, kWorkerCode, 0);
  bench.tile.debug_attach(true);
  bench.tile.debug_halt(only(1), 20);
  EXPECT_EQ(bench.tile.run(1000, nullptr, nullptr).kind, Kind::halted);
  bench.tile.debug_attach(false);
  EXPECT_EQ(bench.tile.run(1000, nullptr, nullptr).kind, Kind::halted);
  bench.tile.debug_resume(only(1), 60);
  const TileStop stop = bench.tile.run(1000, nullptr, nullptr);
  EXPECT_EQ(stop.kind, Kind::idle);
  EXPECT_EQ(stop.cycle, 60u + 6 * (51 - 4) - 6);
}

TEST(TlmDebug, SteppingThroughAProgramLeavesTheSameState) {
  const Code worker = join(constants({{5, kData}, {6, 0x10001}, {7, 3}}),
                           {encode(Op::x_sset, {0, 5, 6}), encode(Op::x_sset, {1, 5, 6}), encode(Op::x_sset, {2, 5, 6}),
                            encode(Op::x_rpt, {7, 2}), encode(Op::x_ld2st, {2, 4, 6, 1, 0, 2}),
                            encode(Op::x_urand64, {8}), encode(Op::addi, {12, 12, 1}), encode(Op::x_exp_f32, {10, 8}),
                            encode(Op::x_amp_io, {20, 8, 3}), encode(Op::div, {13, 5, 7}), kExit});
  Bench plain({}, worker);
  plain.tile.start_context(1, kWorkerCode, 0);
  plain.tile.run(100000, nullptr, nullptr);
  DebugBench bench(worker);
  bench.with_xdcsr(kStepBit);
  Cycle now = 10;
  unsigned steps = 0;
  for (; steps < 1000 && bench.tile.context(1).run != Run::idle; ++steps) {
    bench.tile.debug_resume(only(1), now);
    bench.run(now + 60);
    now += 61 + steps % 6;
  }
  ASSERT_EQ(bench.seen.records.size(), plain.seen.records.size());
  for (std::size_t k = 0; k < plain.seen.records.size(); ++k) {
    RetireRecord expected = plain.seen.records[k];
    expected.cycle = bench.seen.records[k].cycle;
    EXPECT_EQ(bench.seen.records[k], expected) << k;
  }
  unsigned issues = 0;
  for (const RetireRecord& r : plain.seen.records) issues += r.paired && r.pc % 8 == 0 ? 0 : 1;
  EXPECT_EQ(steps, issues) << "a pair is one";
}

}  // namespace
}  // namespace tessera
