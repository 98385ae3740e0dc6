// The accumulating matrix product in the tile: order of phases, swap, partial sums in and out, worker state, and the
// load of the weights with its wait (docs/machine/timing.md, tile.md and docs/lockstep.md). Expected sums are integers,
// worked out in integers.
#include <gtest/gtest.h>

#include <cmath>

#include "tlm/tile/tile_bench.h"

namespace tessera {
namespace {

using namespace tessera::testing;  // NOLINT: the bench

const std::uint32_t kExit = encode(Op::x_exit, {0});
constexpr Address kWeights = kSramBase + 0xa000;

std::uint32_t f32(double v) {
  const auto single = static_cast<float>(v);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &single, sizeof bits);
  return bits;
}
/// f16 of an integer of at most 11 bits.
std::uint16_t f16(int v) {
  if (v == 0) return 0;
  const int magnitude = std::abs(v), exponent = static_cast<int>(std::log2(magnitude));
  return static_cast<std::uint16_t>((v < 0 ? 0x8000 : 0) | (exponent + 15) << 10 |
                                    ((magnitude << 10 >> exponent) & 0x3ff));
}
std::uint32_t two(int low, int high) { return f16(low) | std::uint32_t{f16(high)} << 16; }

int weight(unsigned e, unsigned k) { return static_cast<int>(e + 1) * (k % 2 == 0 ? 1 : -2) + static_cast<int>(k); }

Code f16_weights() {
  Code words;
  for (unsigned e = 0; e < 8; ++e)
    for (unsigned k = 0; k < 16; k += 2) words.push_back(two(weight(e, k), weight(e, k + 1)));
  return words;
}
Code f32_weights() {
  Code words;
  for (unsigned e = 0; e < 8; ++e)
    for (unsigned k = 0; k < 8; ++k) words.push_back(f32(weight(e, k)));
  return words;
}

/// A supervisor that loads the weights at kWeights and starts worker 1 with a0 = kData `times` times.
Code supervisor(unsigned times = 1) {
  Code code = constants({{5, kWeights}, {6, kWorkerCode}, {7, kData}});
  code.push_back(encode(Op::x_amp_ldw, {5, 5}));
  for (unsigned k = 0; k < times; ++k) code.push_back(encode(Op::x_run, {1, 6, 7, 0}));
  code.push_back(encode(Op::x_sync, {0, 0, 0}));
  code.push_back(encode(Op::ecall));
  return code;
}

struct AmpBench : Bench {
  AmpBench(const Code& worker, const Code& weights, const Code& data, unsigned times = 1)
      : Bench(supervisor(times), worker) {
    load(tile, kWeights, weights);
    load(tile, kData, data);
    go();
    for (const RetireRecord& r : seen.records)
      if (r.context == 1) of.push_back(r);
  }
  std::vector<RetireRecord> of;  // records of worker 1
};

TEST(TlmAmp, FourPhasesThenTheSetsSwap) {
  // f0, f1: activations {1, 2, 3, 4}; f2, f3 and so on: partials in, two for each phase.
  Code data = {two(1, 2), two(3, 4)};
  for (unsigned k = 0; k < 8; ++k) data.push_back(f32(100 + k));
  Code worker;
  for (unsigned k = 0; k < 10; k += 2) worker.push_back(encode(Op::x_ld64, {k, 8, 10}));
  worker.push_back(nop());
  for (unsigned round = 0; round < 3; ++round)
    for (unsigned p = 0; p < 4; ++p) worker.push_back(encode(Op::x_amp_f16, {20 + 2 * p, 0, 2 + 2 * p, p}));
  worker.push_back(kExit);
  const AmpBench bench(worker, f16_weights(), data);
  ASSERT_EQ(bench.of.size(), 6 + 12 + 1u);
  // What one round adds to each engine.
  double sum[8];
  for (unsigned e = 0; e < 8; ++e) {
    sum[e] = 0;
    for (unsigned k = 0; k < 16; ++k) sum[e] += static_cast<int>(k % 4 + 1) * weight(e, k);
  }
  double a[8] = {}, b[8] = {};
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned p = 0; p < 4; ++p) {
      const RetireRecord& r = bench.of[6 + 4 * round + p];
      RetireRecord expected;
      expected.cycle = bench.of[6].cycle + 6 * (4 * round + p);
      expected.context = 1;
      expected.pc = kWorkerCode + 4 * (6 + 4 * round + p);
      expected.word = worker[6 + 4 * round + p];
      expected.next_pc = expected.pc + 4;
      expected.fwrite[0] = {2, static_cast<std::uint8_t>(20 + 2 * p),
                            f32(b[2 * p]) | std::uint64_t{f32(b[2 * p + 1])} << 32};
      b[2 * p] = 100 + 2 * p;
      b[2 * p + 1] = 101 + 2 * p;
      if (p == 3) {
        for (unsigned e = 0; e < 8; ++e) {
          const double added = a[e] + sum[e];
          a[e] = b[e];
          b[e] = added;
        }
        expected.amp = 16;
        for (unsigned e = 0; e < 8; ++e) {
          expected.amp_words[e] = f32(a[e]);
          expected.amp_words[8 + e] = f32(b[e]);
        }
      }
      EXPECT_EQ(r, expected) << "round " << round << " phase " << p;
    }
  }
}

TEST(TlmAmp, AnyOrderOfPhasesIsLegalAndOnlyTheLastSwaps) {
  // Partials of phase 3 first: they swap at once; then phases 1, 1, 0 act on the sets as they are.
  const Code data = {f32(5), f32(6)};
  const Code worker = {encode(Op::x_ld64, {2, 8, 10}),
                       encode(Op::x_amp_io, {4, 2, 3}),
                       encode(Op::x_amp_io, {6, 2, 1}),
                       encode(Op::x_amp_io, {8, 2, 1}),
                       encode(Op::x_amp_io, {10, 0, 0}),
                       encode(Op::x_amp_io, {12, 0, 3}),
                       kExit};
  const AmpBench bench(worker, f16_weights(), data);
  const std::uint64_t pair = f32(5) | std::uint64_t{f32(6)} << 32;
  EXPECT_EQ(bench.of[1].amp, 16);
  EXPECT_EQ(bench.of[1].amp_words[6], f32(5)) << "what stood in B is in A now";
  EXPECT_EQ(bench.of[1].amp_words[7], f32(6));
  EXPECT_EQ(bench.of[2].amp, 0);
  EXPECT_EQ(bench.of[2].fwrite[0].bits, 0u);
  EXPECT_EQ(bench.of[3].fwrite[0].bits, pair) << "put in one instruction before";
  EXPECT_EQ(bench.of[4].amp, 0);
  // Phase 3 again: B has {.., 5, 6 at 2, 3}, A has 5, 6 at 6, 7.
  ASSERT_EQ(bench.of[5].amp, 16);
  std::array<std::uint32_t, 64> expected{};
  expected[2] = expected[8 + 6] = f32(5);
  expected[3] = expected[8 + 7] = f32(6);
  EXPECT_EQ(bench.of[5].amp_words, expected);
}

TEST(TlmAmp, SingleTakesOneActivationAndEightPhases) {
  Code data;
  for (unsigned k = 0; k < 8; ++k) data.push_back(f32(k + 1));  // f0..f7: activations, also partials
  Code worker = {encode(Op::x_ld128, {0, 16, 10}), encode(Op::x_ld128, {4, 16, 10})};
  for (unsigned p = 0; p < 8; ++p) worker.push_back(encode(Op::x_amp_f32, {20 + p, p, 7 - p, p}));
  worker.push_back(encode(Op::x_amp_f32, {9, 0, 0, 3}));
  worker.push_back(kExit);
  const AmpBench bench(worker, f32_weights(), data);
  for (unsigned p = 0; p < 8; ++p) {
    EXPECT_EQ(bench.of[2 + p].fwrite[0], (RetireRecord::FWrite{1, static_cast<std::uint8_t>(20 + p), 0}));
    EXPECT_EQ(bench.of[2 + p].amp, p == 7 ? 16 : 0) << p;
  }
  for (unsigned e = 0; e < 8; ++e) {
    double sum = 0;
    for (unsigned p = 0; p < 8; ++p) sum += static_cast<int>(p + 1) * weight(e, p);
    EXPECT_EQ(bench.of[9].amp_words[e], f32(8 - e)) << "partials are in A";
    EXPECT_EQ(bench.of[9].amp_words[8 + e], f32(sum)) << "sums come out next";
  }
  double sum = 0;
  for (unsigned p = 0; p < 8; ++p) sum += static_cast<int>(p + 1) * weight(3, p);
  EXPECT_EQ(bench.of[10].fwrite[0], (RetireRecord::FWrite{1, 9, f32(sum)}));
}

TEST(TlmAmp, GroupedTakesTwoActivationPairs) {
  const Code data = {two(1, 2), two(3, 4), two(5, 6), two(7, 8)};
  Code worker = {encode(Op::x_ld128, {0, 16, 10}), encode(Op::x_amp_g, {20, 0, 2, 8, 1}),
                 encode(Op::x_amp_io, {20, 8, 3}), kExit};
  const AmpBench bench(worker, f16_weights(), data);
  for (unsigned e = 0; e < 8; ++e) {
    int sum = 0;
    for (unsigned k = 0; k < 4; ++k) sum += static_cast<int>(k + (e < 4 ? 1 : 5)) * weight(e, 4 + k);
    EXPECT_EQ(bench.of[2].amp_words[8 + e], f32(sum)) << e;
  }
}

TEST(TlmAmp, RunClearsTheSumsAndKeepsTheWeights) {
  const Code data = {two(1, 0), 0, f32(9), f32(9)};
  const Code worker = {encode(Op::x_ld128, {0, 16, 10}), encode(Op::x_amp_f16, {20, 0, 2, 0}),
                       encode(Op::x_amp_f16, {20, 4, 2, 3}), kExit};
  const AmpBench bench(worker, f16_weights(), data, 2);
  ASSERT_EQ(bench.of.size(), 8u);
  for (unsigned run = 0; run < 2; ++run) {
    EXPECT_EQ(bench.of[4 * run + 1].fwrite[0].bits, 0u);
    for (unsigned e = 0; e < 8; ++e) EXPECT_EQ(bench.of[4 * run + 2].amp_words[8 + e], f32(weight(e, 0))) << run;
  }
}

TEST(TlmAmp, PartialsKeepTheirBitsAndNoAmpIsForTheSupervisor) {
  const Code data = {0x7fa00001, 0xffa00002};
  const Code worker = {encode(Op::x_ld64, {2, 8, 10}), encode(Op::x_amp_io, {4, 2, 0}), encode(Op::x_amp_io, {4, 2, 0}),
                       kExit};
  const AmpBench bench(worker, f16_weights(), data);
  EXPECT_EQ(bench.of[2].fwrite[0].bits, 0xffa000027fa00001u);
  Bench supervisor({encode(Op::x_amp_io, {4, 2, 0})});
  supervisor.go();
  EXPECT_EQ(supervisor.seen.records.at(0).cause, 2u);
}

TEST(TlmAmp, LoadOfWeightsTakesThreeSlotsAndTellsThemAll) {
  for (const unsigned rd : {0u, 5u, 9u}) {
    const std::uint32_t word = encode(Op::x_amp_ldw, {rd, 5});
    Bench bench(join(constants({{5, kWeights}}), {word, nop(), encode(Op::ecall)}));
    load(bench.tile, kWeights, f16_weights());
    bench.go();
    RetireRecord expected;
    expected.cycle = 12;
    expected.pc = kSramBase + 8;
    expected.word = word;
    expected.next_pc = kSramBase + 12;
    expected.xrd = static_cast<std::uint8_t>(rd);
    expected.xval = rd != 0 ? kWeights + 256 : 0;
    expected.amp = 64;
    const Code weights = f16_weights();
    std::copy(weights.begin(), weights.end(), expected.amp_words.begin());
    EXPECT_EQ(bench.seen.records.at(2), expected);
    EXPECT_EQ(bench.seen.records.at(3).cycle, 30u);
    EXPECT_EQ(bench.tile.context(0).x[5], rd == 5 ? kWeights + 256 : kWeights) << "rs1 changes only if it is rd";
  }
}

TEST(TlmAmp, LoadOfWeightsFaults) {
  const Address end = kSramBase + 0x40000;
  const struct {
    Address at;
    std::uint32_t cause;
  } cases[] = {{kWeights + 8, 4}, {kWeights + 1, 4},   {end + 4, 4}, {end - 256, 0},  {end - 240, 5}, {end, 5},
               {kSramBase, 0},    {kSramBase - 16, 5}, {0, 5},       {0xffffff00, 5}, {0xfffffff0, 5}};
  for (const auto& k : cases) {
    const std::uint32_t word = encode(Op::x_amp_ldw, {6, 5});
    Bench bench(join(constants({{5, k.at}, {7, kSramBase + 0x100}}), {encode(Op::csrrw, {0, csr::mtvec, 7}), word}));
    load(bench.tile, kSramBase + 0x100, {nop(), encode(Op::csrrw, {0, csr::mtvec, 0}), encode(Op::ecall)});
    bench.go();
    const RetireRecord& r = bench.seen.records.at(5);
    EXPECT_EQ(r.trap, k.cause != 0) << std::hex << k.at;
    if (k.cause == 0) continue;
    RetireRecord expected;
    expected.cycle = 30;
    expected.pc = kSramBase + 20;
    expected.word = word;
    expected.next_pc = kSramBase + 0x100;
    expected.trap = true;
    expected.cause = k.cause;
    expected.tval = k.at;
    EXPECT_EQ(r, expected);
    EXPECT_EQ(bench.seen.records.at(6).cycle, 36u) << "a trap is one slot";
    EXPECT_EQ(bench.tile.context(0).x[6], 0u);
  }
  WorkerBench worker({}, {encode(Op::x_amp_ldw, {6, 5})});
  worker.go();
  EXPECT_EQ(worker.record(0).cause, 2u);
}

TEST(TlmAmp, LoadOfWeightsWaitsForAllWorkersAndItsAddressIsReadBefore) {
  // Worker 3 runs to an x.exit at E; the load takes effect at the first vacant cycle >= E + 6, three slots.
  const Code worker = {nop(), nop(), nop(), kExit};
  Bench bench(join(constants({{5, kWorkerCode}, {6, kWeights}}),
                   {encode(Op::x_run, {3, 5, 0, 0}), encode(Op::x_amp_ldw, {6, 6}), nop(), encode(Op::ecall)}),
              worker);
  bench.go();  // x.run at 24, worker 3 at 32, 38, 44 and x.exit at 50
  EXPECT_EQ(bench.seen.cycles(3), (std::vector<Cycle>{32, 38, 44, 50}));
  const auto supervisor = bench.seen.cycles(0);
  EXPECT_EQ(supervisor.at(5), 56u);
  EXPECT_EQ(supervisor.at(6), 74u);
  // An excepted worker: it waits for ever, and the tile ends with the exception.
  Bench dead(join(constants({{5, kWorkerCode}, {6, kWeights}}),
                  {encode(Op::x_run, {3, 5, 0, 0}), encode(Op::x_amp_ldw, {6, 6}), nop()}),
             {encode(Op::ecall)});
  EXPECT_EQ(dead.go().kind, TileStop::Kind::exception);
  EXPECT_EQ(dead.seen.cycles(0).size(), 5u);
}

TEST(TlmAmp, NextIssueBehindALoadIsTheFirstVacantCycle) {
  // Workers cannot run during the load, but one started right behind it can: x.run at T+18.
  Bench bench(join(constants({{5, kWorkerCode}, {6, kWeights}}),
                   {encode(Op::x_amp_ldw, {6, 6}), encode(Op::x_run, {1, 5, 0, 0}), nop(), encode(Op::ecall)}),
              {nop(), kExit});
  bench.go(3);
  EXPECT_EQ(bench.seen.cycles(0), (std::vector<Cycle>{3, 9, 15, 21, 27, 45, 51, 57}));
  EXPECT_EQ(bench.seen.cycles(1), (std::vector<Cycle>{54, 60}));
}

}  // namespace
}  // namespace tessera
