// Exact times of the TLM tile: each row of docs/machine/timing.md, in both interleaves, and pairs.
#include <gtest/gtest.h>

#include <cstring>

#include "tlm/tile/tile_bench.h"

namespace tessera {
namespace {

using namespace tessera::testing;  // NOLINT: the assembler

/// x5 = worker code address, in two instructions.
Code prologue() {
  Code code;
  load_constant(code, 5, kWorkerCode);
  return code;
}

TEST(TlmTime, OneSlotInstructionsOfTheSupervisorAreSixCyclesApart) {
  Bench bench({nop(), nop(), nop(), r(Op::ecall, 0)});
  const TileStop stop = bench.go(3);
  EXPECT_EQ(stop.kind, TileStop::Kind::exception);
  EXPECT_EQ(bench.seen.cycles(0), (std::vector<Cycle>{3, 9, 15, 21}));
}

TEST(TlmTime, MultiSlotInstructionsTakeTheirSlots) {
  Bench bench({r(Op::div, 1, 2, 3), r(Op::remu, 1, 2, 3), r(Op::mul, 1, 2, 3), r(Op::ecall, 0)});
  bench.go(0);
  EXPECT_EQ(bench.seen.cycles(0), (std::vector<Cycle>{0, 36, 72, 78}));
}

TEST(TlmTime, FloatDivideAndRootTakeFiveSlotsInWorkers) {
  Bench bench({}, {r(Op::fdiv_s, 1, 2, 3), nop(), r(Op::fsqrt_s, 1, 2), r(Op::x_exit, 0, 0)});
  bench.tile.start_context(3, kWorkerCode, 0);
  bench.tile.run(1000, nullptr, nullptr);
  // Slot 2; fdiv at an aligned pc is AUX alone; nop pairs with fsqrt? No: fsqrt stands at 8, aligned, so it is alone.
  EXPECT_EQ(bench.seen.cycles(3), (std::vector<Cycle>{2, 32, 38, 68}));
}

TEST(TlmTime, RunStartsAWorkerInItsSlotAtLeastSixCyclesLater) {
  for (unsigned w = 1; w <= 6; ++w) {
    Bench bench(join(prologue(), {r(Op::x_run, w, 5), nop(), r(Op::ecall, 0)}), {nop(), r(Op::x_exit, 0, 0)});
    bench.go(0);  // x.run issues at 12
    const auto worker = bench.seen.cycles(static_cast<ContextId>(w));
    const Cycle first = 18 + (w - 1 + 6 - 18 % 6) % 6;
    EXPECT_EQ(worker, (std::vector<Cycle>{first, first + 6})) << w;
    // The supervisor stood in slot 0: it moves on only if that slot is the worker's.
    EXPECT_EQ(bench.seen.cycles(0)[3], w == 1 ? 19u : 18u) << w;
  }
}

TEST(TlmTime, SupervisorWaitsForASlotWhenAllWorkersRun) {
  // Six workers of 1, 2, .. instructions: tp picks how long.
  const Code worker = {s(Op::beq, 4, 0, 12), i(Op::addi, 4, 4, -1), i(Op::jal, 0, 0, -8), r(Op::x_exit, 0, 0)};
  Bench bench(join(prologue(), {r(Op::x_run, 7, 5), nop(), r(Op::ecall, 0)}), worker);
  bench.go(0);  // x.run at 12; worker 1 issues beq at 18, x.exit at 24: its slot is free from 30
  EXPECT_EQ(bench.seen.cycles(1), (std::vector<Cycle>{18, 24}));
  EXPECT_EQ(bench.seen.cycles(0)[3], 30u);
}

TEST(TlmTime, RunOfARunningWorkerWaitsForIt) {
  const Code worker = {nop(), nop(), nop(), r(Op::x_exit, 0, 0)};
  Bench bench(join(prologue(), {r(Op::x_run, 3, 5), r(Op::x_run, 3, 5), r(Op::ecall, 0)}), worker);
  bench.go(0);  // first x.run 12; worker 20, 26, 32, exit 38; the second takes effect at the first vacant cycle >= 44
  const auto supervisor = bench.seen.cycles(0);
  EXPECT_EQ(supervisor[2], 12u);
  EXPECT_EQ(supervisor[3], 44u);
  EXPECT_EQ(bench.seen.cycles(3)[4], 50u);
}

TEST(TlmTime, LocalSyncGoesOnSixCyclesAfterTheLastExit) {
  const Code worker = {nop(), nop(), nop(), r(Op::x_exit, 0, 0)};
  Bench bench(join(prologue(), {r(Op::x_run, 3, 5), sync(6, 5, 0), nop(), r(Op::ecall, 0)}), worker);
  bench.go(0);
  const auto supervisor = bench.seen.cycles(0);
  EXPECT_EQ(supervisor[3], 18u) << "x.sync keeps its own cycle";
  EXPECT_EQ(supervisor[4], 44u) << "exit at 38";
}

TEST(TlmTime, LocalSyncWithoutWorkersTakesOneSlot) {
  Bench bench({sync(0, 0, 0), nop(), r(Op::ecall, 0)});
  bench.go(6);
  EXPECT_EQ(bench.seen.cycles(0), (std::vector<Cycle>{6, 12, 18}));
}

TEST(TlmTime, WideSyncRaisesItsLineSixCyclesAfterTheLastExitAndResumesAtZ) {
  const Code worker = {nop(), r(Op::x_exit, 0, 0)};
  Bench bench(join(prologue(), {i(Op::addi, 7, 0, 0x301), r(Op::x_run, 2, 5), sync(6, 7, 1), nop(), r(Op::ecall, 0)}),
              worker);
  const TileStop stop = bench.go(0);
  ASSERT_EQ(stop.kind, TileStop::Kind::sync);
  EXPECT_EQ(stop.zone, Zone::internal);
  EXPECT_EQ(stop.value, 0x301u);
  EXPECT_EQ(stop.cycle, 37u) << "x.run at 18, worker 25 and 31";
  EXPECT_EQ(bench.tile.run(100000, nullptr, nullptr).kind, TileStop::Kind::sync) << "until it is answered";
  EXPECT_EQ(bench.tile.run(37, nullptr, nullptr).kind, TileStop::Kind::limit);
  bench.tile.release(101, true);
  bench.tile.run(100000, nullptr, nullptr);
  EXPECT_EQ(bench.seen.cycles(0).at(5), 101u);
  EXPECT_EQ(bench.tile.context(0).x[6], 1u);
}

TEST(TlmTime, DelayMovesToTheFirstVacantCycle) {
  for (const std::uint32_t n : {0u, 5u, 6u, 7u, 20u}) {
    Bench bench({i(Op::addi, 5, 0, static_cast<std::int32_t>(n)), r(Op::x_delay, 0, 5), nop(), r(Op::ecall, 0)});
    bench.go(0);
    EXPECT_EQ(bench.seen.cycles(0)[2], 6 + std::max<Cycle>(6, n)) << n;
  }
}

TEST(TlmTime, ExchangeGoesOnAfterItsLastWord) {
  for (const Cycle last : {Cycle{0}, Cycle{500}}) {
    Code code;
    load_constant(code, 5, kData);
    code = join(code, {sync(0, 0, 1), r(Op::x_exchange, 0, 5), nop(), r(Op::x_exchange, 0, 5), r(Op::ecall, 0)});
    Bench bench(code);
    ASSERT_EQ(bench.go(0).kind, TileStop::Kind::sync);
    bench.tile.release(100, true);
    const TileStop stop = bench.tile.run(100000, nullptr, nullptr);
    ASSERT_EQ(stop.kind, TileStop::Kind::exchange);
    EXPECT_EQ(stop.cycle, 100u);
    EXPECT_EQ(stop.value, kData);
    bench.tile.finish_exchange({last == 0 ? stop.cycle : last, std::nullopt});
    const TileStop end = bench.tile.run(100000, nullptr, nullptr);
    EXPECT_EQ(bench.seen.cycles(0)[4], last == 0 ? 112u : 504u);
    EXPECT_EQ(end.kind, TileStop::Kind::exception) << "a second x.exchange for one release";
    EXPECT_EQ(bench.tile.exception()->cause, 25u);
  }
}

TEST(TlmTime, TableZeroTakesOneSlotAndUsesNothingUp) {
  Bench bench({r(Op::x_exchange, 0, 0), r(Op::x_packet, 0, 0), nop(), r(Op::ecall, 0)});
  bench.go(0);
  EXPECT_EQ(bench.seen.cycles(0), (std::vector<Cycle>{0, 6, 12, 18}));
  EXPECT_EQ(bench.tile.exception()->cause, 11u);
}

TEST(TlmTime, PacketGoesOnSixCyclesAfterItsWindow) {
  Code code;
  load_constant(code, 5, kData);
  code = join(code, {sync(0, 0, 4), r(Op::x_packet, 0, 5), nop(), r(Op::ecall, 0)});
  Bench bench(code);
  ASSERT_EQ(bench.go(0).kind, TileStop::Kind::sync);
  bench.tile.release(100, true);
  const TileStop stop = bench.tile.run(100000, nullptr, nullptr);
  ASSERT_EQ(stop.kind, TileStop::Kind::packet);
  bench.tile.finish_packets(431, 7);
  bench.tile.run(100000, nullptr, nullptr);
  EXPECT_EQ(bench.seen.cycles(0)[4], 437u);
  EXPECT_EQ(bench.tile.supervisor_csr(csr::xpktcnt), 7u);
}

TEST(TlmTime, ATrapTakesOneSlot) {
  Code code = {i(Op::addi, 5, 0, 0)};
  load_constant(code, 5, kSramBase + 0x100);
  code.push_back(i(Op::csrrw, 0, 5, csr::mtvec));
  code.push_back(r(Op::ecall, 0));
  Bench bench(code);
  load(bench.tile, kSramBase + 0x100, {nop(), i(Op::csrrw, 0, 0, csr::mtvec), r(Op::ecall, 0)});
  bench.go(0);
  EXPECT_EQ(bench.seen.cycles(0), (std::vector<Cycle>{0, 6, 12, 18, 24, 30, 36, 42}));
  EXPECT_TRUE(bench.seen.records[4].trap);
  EXPECT_EQ(bench.seen.records[4].next_pc, kSramBase + 0x100);
}

TEST(TlmTime, PairsIssueTogetherAndCostWhatTheAuxCosts) {
  const Code worker = {
      i(Op::addi, 10, 10, 1), r(Op::fadd_s, 1, 2, 3),  // a pair
      i(Op::addi, 10, 10, 1), r(Op::fdiv_s, 1, 2, 3),  // a pair of five slots
      i(Op::flw, 5, 2, 0),    r(Op::fadd_s, 1, 5, 3),  // no pair: reads what is loaded
      i(Op::flw, 5, 2, 0),    r(Op::fadd_s, 5, 1, 3),  // no pair: writes what is loaded
      r(Op::fadd_s, 1, 2, 3), r(Op::fadd_s, 1, 2, 3),  // AUX before AUX
      r(Op::div, 1, 2, 3),    r(Op::fadd_s, 1, 2, 3),  // SOLO before AUX
      r(Op::x_exit, 0, 0),
  };
  Bench bench({}, worker);
  // Two instructions in front give the loads an address.
  Code start;
  load_constant(start, 2, kData);
  load(bench.tile, kWorkerCode - 8, start);
  bench.tile.start_context(1, kWorkerCode - 8, 0);
  bench.tile.run(10000, nullptr, nullptr);
  EXPECT_EQ(bench.seen.cycles(1), (std::vector<Cycle>{0, 6, 12, 12, 18, 18, 48, 54, 60, 66, 72, 78, 84, 120, 126}));
  EXPECT_TRUE(bench.seen.records[2].paired);
  EXPECT_FALSE(bench.seen.records[6].paired);
}

TEST(TlmTime, ASecondWordIssuesAloneWhenItIsJumpedTo) {
  const Code worker = {i(Op::jal, 0, 0, 12), nop(), nop(), r(Op::fadd_s, 1, 2, 3), nop(), r(Op::fadd_s, 1, 2, 3),
                       r(Op::x_exit, 0, 0)};
  Bench bench({}, worker);
  bench.tile.start_context(1, kWorkerCode, 0);
  bench.tile.run(10000, nullptr, nullptr);
  EXPECT_EQ(bench.seen.cycles(1), (std::vector<Cycle>{0, 6, 12, 12, 18}));
}

}  // namespace
}  // namespace tessera
