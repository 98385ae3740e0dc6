// x.rpt: position, turns, ends, what may stand in a body, and what ends it (docs/machine/timing.md and tile.md). Each
// program also runs in fast mode and must end the same.
#include <gtest/gtest.h>

#include <ostream>

#include "tlm/tile/tile_bench.h"

namespace tessera {
namespace {

using namespace tessera::testing;  // NOLINT: the bench

const std::uint32_t kExit = encode(Op::x_exit, {0});
constexpr Cycle kSlot = 6;

std::uint32_t repeat(unsigned count, unsigned n) { return encode(Op::x_rpti, {count, n}); }
std::uint32_t plus(unsigned rd, int by) { return encode(Op::addi, {rd, rd, by}); }

/// One issue as the order of things tells it: word behind the setup, cycle behind the setup, where the context goes on.
struct Turn {
  std::size_t word;
  Cycle cycle;
  std::size_t next;
  bool paired = false;
  friend bool operator==(const Turn& a, const Turn& b) {
    return a.word == b.word && a.cycle == b.cycle && a.next == b.next && a.paired == b.paired;
  }
};
void PrintTo(const Turn& t, std::ostream* out) {
  *out << "word " << t.word << " at " << t.cycle << " next " << t.next << (t.paired ? " paired" : "");
}

std::vector<Turn> turns(const WorkerBench& bench, Cycle from = 0) {
  std::vector<Turn> out;
  for (std::size_t k = 0; k < bench.count(); ++k) {
    const RetireRecord& r = bench.record(k);
    out.push_back({(r.pc - bench.pc(0)) / 4, r.cycle - from, (r.next_pc - bench.pc(0)) / 4, r.paired});
  }
  return out;
}

TEST(TlmLoop, BodyOfOneDoublewordTurnsCountTimes) {
  for (const bool immediate : {true, false}) {
    const std::uint32_t word = immediate ? repeat(3, 1) : encode(Op::x_rpt, {5, 1});
    WorkerBench bench(constants({{5, 3}}), {nop(), word, plus(11, 1), plus(12, 2), kExit});
    bench.go();
    const std::vector<Turn> expected = {{0, 0, 1},  {1, 6, 2},  {2, 12, 3}, {3, 18, 2}, {2, 24, 3},
                                        {3, 30, 2}, {2, 36, 3}, {3, 42, 4}, {4, 48, 5}};
    EXPECT_EQ(turns(bench, 12), expected);
    EXPECT_EQ(bench.tile.context(1).x[11], 3u);
    EXPECT_EQ(bench.tile.context(1).x[12], 6u);
    EXPECT_EQ(bench.record(1), bench.plain(1, word, 18)) << "x.rpt writes nothing";
  }
}

TEST(TlmLoop, AsMainOfAPairItsAuxActsOnceAndTheBodyFollows) {
  const std::uint32_t root = encode(Op::fsqrt_s, {4, 5}), add = encode(Op::fadd_s, {6, 7, 8});
  WorkerBench bench({}, {repeat(2, 2), root, plus(11, 1), add, plus(12, 1), nop(), kExit});
  bench.go();
  // The pair takes the five slots of the root.
  const std::vector<Turn> expected = {{0, 0, 1, true}, {1, 0, 2, true}, {2, 30, 3, true}, {3, 30, 4, true},
                                      {4, 36, 5},      {5, 42, 2},      {2, 48, 3, true}, {3, 48, 4, true},
                                      {4, 54, 5},      {5, 60, 6},      {6, 66, 7}};
  EXPECT_EQ(turns(bench), expected);
}

TEST(TlmLoop, LastInstructionMayBeAMultiSlotAuxOrADivision) {
  WorkerBench pair({},
                   {repeat(2, 1), encode(Op::fadd_s, {6, 7, 8}), plus(11, 1), encode(Op::fdiv_s, {1, 2, 3}), kExit});
  pair.go();
  EXPECT_EQ(turns(pair), (std::vector<Turn>{{0, 0, 1, true},
                                            {1, 0, 2, true},
                                            {2, 6, 3, true},
                                            {3, 6, 2, true},
                                            {2, 36, 3, true},
                                            {3, 36, 4, true},
                                            {4, 66, 5}}));
  WorkerBench alone({}, {nop(), repeat(2, 1), encode(Op::fsqrt_s, {1, 2}), encode(Op::fdiv_s, {1, 2, 3}), kExit});
  alone.go();
  EXPECT_EQ(turns(alone),
            (std::vector<Turn>{{0, 0, 1}, {1, 6, 2}, {2, 12, 3}, {3, 42, 2}, {2, 72, 3}, {3, 102, 4}, {4, 132, 5}}));
  WorkerBench divide({}, {nop(), repeat(2, 1), nop(), encode(Op::div, {1, 2, 3}), kExit});
  divide.go();
  EXPECT_EQ(turns(divide),
            (std::vector<Turn>{{0, 0, 1}, {1, 6, 2}, {2, 12, 3}, {3, 18, 2}, {2, 54, 3}, {3, 60, 4}, {4, 96, 5}}));
}

TEST(TlmLoop, CountZeroGoesStraightToTheEnd) {
  for (const unsigned n : {1u, 3u, 64u}) {
    for (const std::uint32_t word : {repeat(0, n), encode(Op::x_rpt, {0, n})}) {
      Code code(2 + 2 * n, encode(Op::ecall));
      code[0] = nop();
      code[1] = word;
      code.push_back(encode(Op::csrrs, {11, csr::xrpt, 0}));
      code.push_back(kExit);
      WorkerBench bench({}, code);
      bench.go();
      EXPECT_EQ(
          turns(bench),
          (std::vector<Turn>{{0, 0, 1}, {1, 6, 2 + 2 * n}, {2 + 2 * n, 12, 3 + 2 * n}, {3 + 2 * n, 18, 4 + 2 * n}}));
      EXPECT_EQ(bench.record(2).xval, 0u);
      // Paired: the AUX acts on the way.
      code[0] = word;
      code[1] = encode(Op::x_urand32, {5});
      WorkerBench pair({}, code);
      pair.go();
      EXPECT_EQ(turns(pair),
                (std::vector<Turn>{
                    {0, 0, 1, true}, {1, 0, 2 + 2 * n, true}, {2 + 2 * n, 6, 3 + 2 * n}, {3 + 2 * n, 12, 4 + 2 * n}}));
      EXPECT_TRUE(pair.record(1).drew);
    }
  }
}

TEST(TlmLoop, PositionAloneAtAnAlignedPcIsIllegal) {
  for (const std::uint32_t second : {nop(), kExit, 0u, encode(Op::csrrs, {11, csr::xrpt, 0})}) {
    const std::uint32_t word = repeat(2, 1);
    WorkerBench bench(constants({{5, 3}}), {word, second, nop(), nop(), kExit});
    bench.go();
    EXPECT_EQ(bench.record(0), bench.trapped(0, word, 12, 2, word));
  }
  // Also in a body, where position comes before the rule of loops; at 4 mod 8 it is the loop that forbids it.
  const std::uint32_t inner = repeat(2, 1);
  WorkerBench aligned({}, {nop(), repeat(2, 2), inner, nop(), nop(), nop(), kExit});
  aligned.go();
  EXPECT_EQ(aligned.record(2), aligned.trapped(2, inner, 12, 2, inner));
  WorkerBench nested({}, {nop(), repeat(2, 2), nop(), inner, nop(), nop(), kExit});
  nested.go();
  EXPECT_EQ(nested.record(3), nested.trapped(3, inner, 18, 26, inner));
  // As MAIN of a pair it traps before its AUX: neither has happened.
  WorkerBench pair({}, {nop(), repeat(2, 2), inner, encode(Op::x_urand32, {5}), nop(), nop(), kExit});
  pair.go();
  RetireRecord expected = pair.trapped(2, inner, 12, 26, inner);
  expected.paired = true;
  EXPECT_EQ(pair.record(2), expected);
  EXPECT_EQ(pair.count(), 3u);
}

TEST(TlmLoop, ReservedFieldsAreIllegal) {
  const std::uint32_t legal = repeat(2, 1), by_register = encode(Op::x_rpt, {5, 1});
  for (const std::uint32_t word : {legal & 0x000fffffu, (legal & 0x000fffffu) | 65u << 20, legal | 1u << 31,
                                   by_register | 1u << 7, (by_register & 0x000fffffu) | 65u << 20}) {
    WorkerBench bench({}, {nop(), word, nop(), nop(), kExit});
    bench.go();
    EXPECT_EQ(bench.record(1), bench.trapped(1, word, 6, 2, word)) << std::hex << word;
  }
  Bench supervisor({nop(), legal});
  supervisor.go();
  EXPECT_EQ(supervisor.seen.records.at(1).cause, 2u);
}

TEST(TlmLoop, ControlTransfersTrapWhetherTakenOrNot) {
  const std::uint32_t words[] = {encode(Op::beq, {0, 0, 8}),
                                 encode(Op::bne, {0, 0, 8}),
                                 encode(Op::blt, {0, 0, 8}),
                                 encode(Op::bge, {0, 0, 8}),
                                 encode(Op::bltu, {0, 0, 8}),
                                 encode(Op::bgeu, {0, 0, 8}),
                                 encode(Op::beq, {0, 0, 6}),
                                 encode(Op::jal, {1, 8}),
                                 encode(Op::jalr, {0, 2, 5}),
                                 encode(Op::x_rpt, {5, 1}),
                                 repeat(1, 1),
                                 kExit,
                                 encode(Op::mret),
                                 encode(Op::ecall),
                                 encode(Op::ebreak)};
  for (const std::uint32_t word : words) {
    WorkerBench bench(constants({{5, 4}}), {nop(), repeat(1023, 1), nop(), word, kExit});
    bench.go();
    EXPECT_EQ(bench.record(3), bench.trapped(3, word, 30, 26, word)) << isa::info(isa::decode(word)).name;
    EXPECT_EQ(bench.tile.context(1).mepc, bench.pc(3));
  }
}

TEST(TlmLoop, FenceCsrAndWfiMayStandInABodyAndXrptCountsTheCurrentRound) {
  const std::uint32_t read = encode(Op::csrrs, {11, csr::xrpt, 0});
  WorkerBench bench(constants({{13, 0}}),
                    {read, repeat(3, 3), encode(Op::fence, {15, 15}), encode(Op::fence_i, {}), encode(Op::wfi),
                     encode(Op::csrrw, {12, csr::mscratch, 13}), plus(13, 1), read, read, kExit});
  bench.go();
  std::vector<std::uint32_t> seen;
  for (std::size_t k = 0; k < bench.count(); ++k)
    if (bench.record(k).word == read) seen.push_back(bench.record(k).xval);
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{0, 3, 2, 1, 0}));
  EXPECT_EQ(bench.count(), 2 + 3 * 6 + 2u);
  EXPECT_EQ(bench.tile.context(1).x[13], 3u);
}

TEST(TlmLoop, SixtyFourDoublewordsAcrossAPage) {
  // The body begins 256 bytes before the end of a page of decoded code.
  const Address at = kSramBase + 0x5000 - 256 - 8;
  Code code = {nop(), repeat(3, 64)};
  for (unsigned k = 0; k < 128; ++k) code.push_back(k % 2 == 0 ? plus(11, 1) : encode(Op::x_add_f32v2, {2, 2, 4}));
  code.push_back(kExit);
  WorkerBench bench(constants({{5, at}}), {encode(Op::jalr, {0, 0, 5})});
  bench.poke(at, code);
  bench.go();
  EXPECT_EQ(bench.count(), 1 + 2 + 3 * 128 + 1u);
  EXPECT_EQ(bench.tile.context(1).x[11], 3 * 64u);
  EXPECT_EQ(bench.tile.last_issue(), 12u + 6 * (3 + 3 * 64));
  EXPECT_EQ(bench.record(2 + 128).next_pc, at + 8);
  EXPECT_EQ(bench.record(2 + 3 * 128).next_pc, at + 8 + 64 * 8);
}

TEST(TlmLoop, ATrapEndsItAndXrptIsKeptOverHandlerReturnAndRun) {
  // Handler: reads xrpt, branches, skips the faulting instruction and returns. The rest of the body runs once.
  Code setup = constants({{5, kWorkerCode + 0x100}, {6, 1}});
  setup.push_back(encode(Op::csrrw, {0, csr::mtvec, 5}));
  setup.push_back(nop());
  const std::uint32_t bad = encode(Op::lw, {12, 0, 6});
  WorkerBench bench(
      setup, {nop(), repeat(5, 2), plus(13, 1), bad, plus(14, 1), nop(), encode(Op::csrrs, {15, csr::xrpt, 0}), kExit});
  bench.poke(kWorkerCode + 0x100,
             {encode(Op::csrrs, {11, csr::xrpt, 0}), encode(Op::beq, {0, 0, 4}), encode(Op::csrrs, {7, csr::mepc, 0}),
              plus(7, 4), encode(Op::csrrw, {0, csr::mepc, 7}), encode(Op::mret)});
  bench.go();
  const ContextState after = bench.tile.context(1);
  EXPECT_EQ(after.run, ContextState::Run::idle) << "it went on to the end";
  EXPECT_EQ(after.x[11], 5u);
  EXPECT_EQ(after.x[15], 5u) << "kept, since nothing ended normally";
  EXPECT_EQ(after.x[13], 1u);
  EXPECT_EQ(after.x[14], 1u);
  RetireRecord trap = bench.trapped(3, bad, 54, 4, 1);
  trap.next_pc = kWorkerCode + 0x100;
  EXPECT_EQ(bench.record(3), trap);

  // Over x.run too: the first program leaves its loop by a trap to a handler that exits, the second one looks.
  Bench tile(join(constants({{5, kWorkerCode}, {6, kWorkerCode + 0x80}}),
                  {encode(Op::x_run, {1, 6, 0, 0}), encode(Op::x_run, {1, 5, 0, 0}), encode(Op::x_sync, {0, 0, 0}),
                   encode(Op::ecall)}),
             {encode(Op::csrrs, {11, csr::xrpt, 0}), nop(), nop(), kExit});
  load(tile.tile, kWorkerCode + 0x80, join(setup, {nop(), repeat(7, 1), nop(), bad}));
  load(tile.tile, kWorkerCode + 0x100, {kExit});
  tile.go();
  std::vector<std::uint32_t> seen;
  for (const RetireRecord& r : tile.seen.records)
    if (r.context == 1 && r.pc == kWorkerCode) seen.push_back(r.xval);
  EXPECT_EQ(seen, std::vector<std::uint32_t>{7});
  EXPECT_EQ(tile.seen.cycles(1).size(), 6 + 4 + 1 + 4u) << "both ran to their ends";
}

TEST(TlmLoop, AuxThatFaultsBehindAPairedRepeatEndsTheLoop) {
  const std::uint32_t off = encode(Op::csrrc, {0, csr::mstatus, 6}), draw = encode(Op::x_urand32, {5});
  for (const unsigned count : {0u, 9u}) {
    const std::uint32_t word = repeat(count, 1);
    Code setup = join(constants({{5, kWorkerCode + 0x100}, {6, 0x6000}}), {encode(Op::csrrw, {0, csr::mtvec, 5}), off});
    WorkerBench bench(setup, {word, draw, nop(), nop(), kExit});
    bench.poke(kWorkerCode + 0x100, {encode(Op::csrrs, {11, csr::xrpt, 0}), encode(Op::jal, {0, 4}), kExit});
    bench.go();
    RetireRecord main = bench.plain(0, word, 36), aux = bench.trapped(1, draw, 36, 2, draw);
    main.paired = aux.paired = true;
    aux.next_pc = kWorkerCode + 0x100;
    EXPECT_EQ(bench.record(0), main);
    EXPECT_EQ(bench.record(1), aux);
    EXPECT_EQ(bench.record(2).xval, count);
    EXPECT_EQ(bench.tile.context(1).mepc, bench.pc(1));
  }
}

TEST(TlmLoop, RegisterCountsAre32BitsAndTheBodyMayLieOutsideSram) {
  const std::uint32_t read = encode(Op::csrrs, {11, csr::xrpt, 0});
  WorkerBench bench(constants({{5, 0xffffffff}}), {nop(), encode(Op::x_rpt, {5, 1}), read, encode(Op::ecall)});
  bench.go();
  EXPECT_EQ(bench.record(2).xval, 0xffffffffu);
  // x.rpt in the last word of SRAM: the fetch of the body faults and ends the loop.
  const Address end = kSramBase + 0x40000;
  WorkerBench edge(constants({{5, end - 4}}), {encode(Op::jalr, {0, 0, 5})});
  edge.poke(end - 4, {repeat(3, 1)});
  edge.go();
  EXPECT_EQ(edge.record(2).trap, true);
  EXPECT_EQ(edge.record(2).cause, 1u);
  EXPECT_EQ(edge.record(2).pc, end);
  EXPECT_EQ(edge.record(2).tval, end);
}

TEST(TlmLoop, LoopsOfSixWorkersRunSideBySide) {
  // Each worker repeats tp + 1 times; all in slots of their own, none disturbs another.
  const Code worker = {plus(4, 1), encode(Op::x_rpt, {4, 1}), plus(11, 1), encode(Op::fadd_s, {1, 2, 3}), kExit};
  Bench bench(join(constants({{5, kWorkerCode}}),
                   {encode(Op::x_run, {7, 5, 0, 0}), encode(Op::x_sync, {0, 0, 0}), encode(Op::ecall)}),
              worker);
  bench.go();
  for (unsigned w = 1; w < 7; ++w) {
    EXPECT_EQ(bench.tile.context(static_cast<ContextId>(w)).x[11], w);
    EXPECT_EQ(
        bench.seen.cycles(static_cast<ContextId>(w)).back() - bench.seen.cycles(static_cast<ContextId>(w)).front(),
        kSlot * (2 + w));
  }
}

}  // namespace
}  // namespace tessera
