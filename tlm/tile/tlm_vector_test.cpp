// AUX instructions of Xtile in the tile: operands and records, random numbers, slots, flags and rounding, and the pair
// rule. What the operations compute is tested in tlm/float; a few values here are written down by hand.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string_view>

#include "tlm/float/simd.h"
#include "tlm/tile/tile_bench.h"

namespace tessera {
namespace {

using namespace tessera::testing;  // NOLINT: the bench

const std::uint32_t kExit = encode(Op::x_exit, {0});
using Registers = std::array<std::uint32_t, 32>;

/// f0..f31 = `values`, from memory at kData: 2 + 16 words.
Code float_registers() {
  Code code = constants({{5, kData}});
  for (unsigned k = 0; k < 32; k += 4) code.push_back(encode(Op::x_ld128, {k, 16, 5}));
  return code;
}
constexpr Cycle kFloatsReady = 10 * 6;

void poke_registers(WorkerBench& bench, const Registers& values) {
  bench.poke(kData, Code(values.begin(), values.end()));
}

TEST(TlmVector, ValuesByHand) {
  struct Case {
    std::uint32_t word;
    std::vector<std::pair<unsigned, std::uint32_t>> in;
    std::vector<RetireRecord::FWrite> out;
  };
  const Case cases[] = {
      // {1, 2} + {0.5, -2} = {1.5, +0}
      {encode(Op::x_add_f16v2, {3, 1, 2}), {{1, 0x40003c00}, {2, 0xc0003800}}, {{1, 3, 0x00003e00}}},
      // a pair of f16v2: lanes 2, 3 in the odd register; 3 * 3 = 9, 65504 * 2 = inf
      {encode(Op::x_mul_f16v4, {6, 2, 4}),
       {{2, 0x00003c00}, {3, 0x7bff4200}, {4, 0x00004000}, {5, 0x40004200}},
       {{2, 6, 0x7c00488000004000u}}},
      {encode(Op::x_sub_f32v2, {30, 30, 28}),
       {{30, 0x40400000}, {31, 0x3f800000}, {28, 0x3f800000}, {29, 0x3f800000}},
       {{2, 30, 0x0000000040000000u}}},
      // accumulating: rd is rs3 as well; lane 0 of an odd scalar: 2 * {1, 3} + {1, 1}
      {encode(Op::x_sadd_f16v2, {7, 9, 4, 7}),
       {{9, 0xffff4000}, {4, 0x42003c00}, {7, 0x3c003c00}},
       {{1, 7, 0x47004200}}},
      {encode(Op::x_cvt_f32v4_f16v4, {8, 2}),
       {{2, 0x40003c00}, {3, 0x44004200}},
       {{2, 8, 0x400000003f800000u}, {2, 10, 0x4080000040400000u}}},
      {encode(Op::x_cvt_f16v4_f32v4, {2, 8}),
       {{8, 0x3f800000}, {9, 0x40000000}, {10, 0x40400000}, {11, 0x40800000}},
       {{2, 2, 0x4400420040003c00u}}},
      // dot: 10 + (1*1 + 2*1) + (3*1 + 4*1) = 20
      {encode(Op::x_dot_f16v4, {1, 2, 4, 1}),
       {{2, 0x40003c00}, {3, 0x44004200}, {4, 0x3c003c00}, {5, 0x3c003c00}, {1, 0x41200000}},
       {{1, 1, 0x41a00000}}},
      {encode(Op::x_sum_f16v4, {1, 2}), {{2, 0x40003c00}, {3, 0x44004200}}, {{1, 1, 0x00004900}}},
      {encode(Op::x_mv64, {4, 4}), {{4, 0x7fa00001}, {5, 0xffa00002}}, {{2, 4, 0xffa000027fa00001u}}},
      {encode(Op::x_pack_f16, {1, 2, 3}), {{2, 0x11112222}, {3, 0x33334444}}, {{1, 1, 0x44442222}}},
      {encode(Op::x_sel_f32v2, {2, 4, 6, 8}),
       {{4, 0x80000000}, {5, 0x7fffffff}, {6, 1}, {7, 2}, {8, 3}, {9, 4}},
       {{2, 2, 0x0000000400000001u}}},
      {encode(Op::x_cmplt_f16v2, {1, 2, 3}), {{2, 0x7e003c00}, {3, 0x40004000}}, {{1, 1, 0x0000ffff}}},
      {encode(Op::x_cvt_i32_f32, {1, 2}), {{2, 0x40200000}}, {{1, 1, 2}}},  // 2.5 to even
      {encode(Op::x_exp_f32, {1, 2}), {{2, 0}}, {{1, 1, 0x3f800000}}},
      {encode(Op::x_tanh_f16v2, {1, 2}), {{2, 0xfc007c00}}, {{1, 1, 0xbc003c00}}}};
  for (const Case& k : cases) {
    Registers values{};
    for (const auto& [number, bits] : k.in) values[number] = bits;
    WorkerBench bench(float_registers(), {k.word, kExit});
    poke_registers(bench, values);
    bench.go();
    RetireRecord expected = bench.plain(0, k.word, kFloatsReady);
    for (std::size_t n = 0; n < k.out.size(); ++n) expected.fwrite[n] = k.out[n];
    EXPECT_EQ(bench.record(0), expected) << isa::info(isa::decode(k.word)).name;
  }
}

/// The registers of an operand as the syntax text names it ("frs1.2"), nothing if it has none of that name.
fp::Operand operand(std::string_view syntax, std::string_view name, unsigned number, const Registers& f) {
  const auto at = syntax.find(std::string("f") + std::string(name));
  fp::Operand out;
  if (at == syntax.npos) return out;
  const auto rest = syntax.substr(at + 1 + name.size());
  const unsigned count = rest.size() > 1 && rest[0] == '.' ? static_cast<unsigned>(rest[1] - '0') : 1;
  out.lo = f[number] | (count > 1 ? std::uint64_t{f[number + 1]} << 32 : 0);
  if (count == 4) out.hi = f[number + 2] | std::uint64_t{f[number + 3]} << 32;
  return out;
}

TEST(TlmVector, EveryInstructionTakesItsOperandsAndWritesOnlyItsResult) {
  std::mt19937 random(7);
  unsigned compared = 0;
  std::set<unsigned> seen;
  for (unsigned n = 1; n < isa::kOpCount; ++n) {
    const Op op = static_cast<Op>(n);
    const isa::Info& info = isa::info(op);
    const std::string_view name = info.name, syntax = info.syntax;
    if (info.klass != isa::Class::aux || info.fp != isa::FpOp::none || name.substr(0, 6) == "x.amp.") continue;
    for (unsigned round = 0; round < 4; ++round) {
      std::uint32_t word = 0;
      do word = (static_cast<std::uint32_t>(random()) & ~info.mask) | info.match;
      while (isa::decode(word) != op);
      Registers f{};
      for (unsigned k = 0; k < 32; ++k)  // numbers of moderate size in both formats, all different
        f[k] = 0x3c003c00u + (static_cast<std::uint32_t>(random()) & 0x07ff83ffu) + (random() % 2 << 31);
      WorkerBench bench(float_registers(), {word, kExit});
      poke_registers(bench, f);
      bench.go();
      fp::Rng rng{(std::uint64_t{1} << 32) + 1, 1};
      const std::uint64_t draw = fp::draws(op) ? rng.step() : 0;
      const fp::Operand result =
          fp::simd(op, operand(syntax, "rs1", isa::rs1(word), f), operand(syntax, "rs2", isa::rs2(word), f),
                   operand(syntax, "rs3", isa::rs3(word), f), draw);
      const unsigned rd = isa::rd(word), width = syntax.substr(0, 5) == "frd.4"   ? 4
                                                 : syntax.substr(0, 5) == "frd.2" ? 2
                                                                                  : 1;
      RetireRecord expected = bench.plain(0, word, kFloatsReady);
      if (width == 1) {
        expected.fwrite[0] = {1, static_cast<std::uint8_t>(rd), result.lo};
      } else {
        expected.fwrite[0] = {2, static_cast<std::uint8_t>(rd), result.lo};
        if (width == 4) expected.fwrite[1] = {2, static_cast<std::uint8_t>(rd + 2), result.hi};
      }
      if (fp::draws(op)) {
        expected.drew = true;
        expected.rng = {static_cast<std::uint32_t>(rng.s0), static_cast<std::uint32_t>(rng.s0 >> 32),
                        static_cast<std::uint32_t>(rng.s1), static_cast<std::uint32_t>(rng.s1 >> 32)};
      }
      ASSERT_EQ(bench.record(0), expected) << name;
      Registers after = f;
      for (unsigned k = 0; k < width; ++k)
        after[rd + k] = static_cast<std::uint32_t>((k < 2 ? result.lo : result.hi) >> 32 * (k % 2));
      ASSERT_EQ(bench.tile.context(1).f, after) << name;
      ASSERT_EQ(bench.record(1).cycle, kFloatsReady + 6 * info.slots) << name;
      ++compared;
      seen.insert(n);
    }
  }
  EXPECT_EQ(compared, 4 * seen.size());
  EXPECT_GE(seen.size(), 70u);
}

TEST(TlmVector, SlotsOfTranscendentals) {
  const struct {
    Op op;
    unsigned slots;
  } cases[] = {{Op::x_exp_f32, 3},     {Op::x_log_f32, 6},    {Op::x_tanh_f32, 5},
               {Op::x_sigmoid_f32, 5}, {Op::x_rsqrt_f32, 3},  {Op::x_exp_f16v2, 2},
               {Op::x_log_f16v2, 2},   {Op::x_tanh_f16v2, 1}, {Op::x_sigmoid_f16v2, 2}};
  for (const auto& k : cases) {
    const std::uint32_t word = encode(k.op, {2, 4});
    // Alone in the second word, then paired: the pair takes the slots of its AUX.
    WorkerBench bench({}, {encode(Op::csrrs, {11, csr::xworker, 0}), word, nop(), word, kExit});
    bench.go();
    EXPECT_EQ(bench.record(1).cycle, 6u);
    EXPECT_EQ(bench.record(2).cycle, 6 + 6 * k.slots) << isa::info(k.op).name;
    EXPECT_TRUE(bench.record(3).paired);
    EXPECT_EQ(bench.record(4).cycle, 6 + 12 * k.slots) << isa::info(k.op).name;
  }
}

TEST(TlmVector, FlagsAndRoundingModeAreLeftAlone) {
  // frm reserved: F traps, Xtile does not look. 1/0-like work raises nothing.
  Code setup = join(float_registers(), {encode(Op::csrrwi, {0, csr::fcsr, 0}), encode(Op::csrrwi, {0, csr::frm, 5})});
  const std::uint32_t add = encode(Op::x_add_f32v2, {2, 4, 6}), f_add = encode(Op::fadd_s, {2, 4, 6});
  WorkerBench bench(setup, {add, encode(Op::csrrs, {11, csr::fcsr, 0}), f_add});
  Registers values{};
  values[4] = 0x7f800000;  // inf - inf, and an inexact sum
  values[6] = 0xff800000;
  values[5] = 0x3f800000;
  values[7] = 0x33000001;
  poke_registers(bench, values);
  bench.go();
  RetireRecord expected = bench.plain(0, add, kFloatsReady + 12);
  expected.fwrite[0] = {2, 2, 0x3f8000007fc00000u};
  EXPECT_EQ(bench.record(0), expected) << "nearest even: 1 + 2^-25 * 1.0000001 stays 1";
  EXPECT_EQ(bench.record(1).xval, 5u << 5);
  EXPECT_EQ(bench.record(2), bench.trapped(2, f_add, kFloatsReady + 24, 2, f_add));
}

TEST(TlmVector, WithoutFloatStateAnAuxFaultsBehindItsMain) {
  const std::uint32_t off = encode(Op::csrrc, {0, csr::mstatus, 6}), main = encode(Op::addi, {11, 0, 9});
  for (const std::uint32_t aux : {encode(Op::x_urand64, {2}), encode(Op::x_amp_io, {2, 4, 0}),
                                  encode(Op::x_add_f16v2, {1, 2, 3}), encode(Op::x_exp_f32, {1, 2})}) {
    WorkerBench bench(join(constants({{6, 0x6000}, {7, 0}}), {nop(), off}), {main, aux});
    bench.go();
    RetireRecord first = bench.plain(0, main, 36), second = bench.trapped(1, aux, 36, 2, aux);
    first.paired = second.paired = true;
    first.xrd = 11;
    first.xval = 9;
    EXPECT_EQ(bench.record(0), first);
    EXPECT_EQ(bench.record(1), second);
    EXPECT_EQ(bench.tile.context(1).mepc, bench.pc(1));
    // A MAIN that faults takes its AUX with it: neither has happened.
    const std::uint32_t load = encode(Op::x_ld64, {8, 8, 7});
    WorkerBench neither(constants({{7, 3}}), {load, encode(Op::x_urand64, {2})});
    neither.go();
    RetireRecord trap = neither.trapped(0, load, 12, 4, 3);
    trap.paired = true;
    EXPECT_EQ(neither.record(0), trap);
    EXPECT_EQ(neither.count(), 1u);
  }
}

/// xoroshiro128aox written down from docs/machine/tile.md, apart from tlm/float.
struct Reference {
  std::uint64_t s0, s1;
  std::uint64_t next() {
    const auto rotl = [](std::uint64_t v, int n) { return v << n | v >> (64 - n); };
    const std::uint64_t sx = s0 ^ s1, sa = s0 & s1, out = sx ^ (rotl(sa, 1) | rotl(sa, 2));
    s0 = rotl(s0, 55) ^ sx ^ (sx << 14);
    s1 = rotl(sx, 36);
    return out;
  }
  [[nodiscard]] std::array<std::uint32_t, 4> words() const {
    return {static_cast<std::uint32_t>(s0), static_cast<std::uint32_t>(s0 >> 32), static_cast<std::uint32_t>(s1),
            static_cast<std::uint32_t>(s1 >> 32)};
  }
};

TEST(TlmVector, RunClearsFcsrAndKeepsTheFloatState) {
  const std::uint32_t off = encode(Op::csrrc, {0, csr::mstatus, 6}), look = encode(Op::csrrs, {11, csr::fcsr, 0});
  const Code worker = {look,
                       encode(Op::csrrwi, {0, csr::fcsr, 31}),
                       encode(Op::csrrwi, {0, csr::frm, 3}),
                       look,
                       encode(Op::beq, {10, 0, 12}),
                       encode(Op::addi, {6, 10, 0}),
                       off,
                       kExit};
  // a0 = 0, then 0x6000: the second run switches FS off, so the third traps at its first look.
  Bench bench(join(constants({{5, kWorkerCode}, {7, 0x6000}}),
                   {encode(Op::x_run, {2, 5, 0, 0}), encode(Op::x_run, {2, 5, 7, 0}), encode(Op::x_run, {2, 5, 0, 0}),
                    encode(Op::x_sync, {0, 0, 0})}),
              worker);
  EXPECT_EQ(bench.go().kind, TileStop::Kind::exception);
  std::vector<std::uint32_t> seen;
  std::vector<RetireRecord> traps;
  for (const RetireRecord& r : bench.seen.records) {
    if (r.context == 2 && r.trap) traps.push_back(r);
    if (r.context == 2 && r.word == look && !r.trap) seen.push_back(r.xval);
  }
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{0, 0x7f, 0, 0x7f}));
  ASSERT_EQ(traps.size(), 1u);
  EXPECT_EQ(traps[0].cause, 2u);
  EXPECT_EQ(traps[0].word, look);
  EXPECT_EQ(traps[0].pc, kWorkerCode);
}

TEST(TlmRandom, PowerOnStateAndOneStepForEachInstructionThatDraws) {
  for (ContextId id = 1; id < 7; ++id) {
    TileConfig config;
    config.hart_base = 70;
    const std::uint32_t words[] = {encode(Op::x_urand32, {9}), encode(Op::x_urand64, {10}),
                                   encode(Op::x_cvt_sr_f16_f32, {1, 2}), encode(Op::x_cvt_sr_f16v2_f32v2, {1, 2}),
                                   encode(Op::x_cvt_sr_f16v4_f32v4, {2, 4})};
    Code code;
    for (const std::uint32_t word : words) {
      code.push_back(encode(Op::csrrs, {11, csr::xrng0, 0}));  // SOLO: what draws stands alone, once in each place
      code.push_back(word);
    }
    code.push_back(nop());
    code.push_back(words[0]);  // and once as AUX of a pair
    for (unsigned k = 0; k < 4; ++k) code.push_back(encode(Op::csrrs, {12 + k, csr::xrng0 + k, 0}));
    code.push_back(kExit);
    WorkerBench bench({}, code, config, id);
    bench.go();
    Reference rng{(std::uint64_t{1} << 32) + 70 + id, 1};
    std::size_t at = 0;
    for (const std::uint32_t word : words) {
      EXPECT_EQ(bench.record(at).xval, static_cast<std::uint32_t>(rng.s0));
      const std::uint64_t out = rng.next();
      const RetireRecord& r = bench.record(at + 1);
      EXPECT_TRUE(r.drew);
      EXPECT_EQ(r.rng, rng.words());
      if (word == words[0] || word == words[1]) {
        EXPECT_EQ(r.fwrite[0].bits, word == words[0] ? out & 0xffffffffu : out);
      }
      at += 2;
    }
    rng.next();
    EXPECT_TRUE(bench.record(at + 1).drew && bench.record(at + 1).paired);
    for (unsigned k = 0; k < 4; ++k) EXPECT_EQ(bench.record(at + 2 + k).xval, rng.words()[k]);
    for (std::size_t k = 0; k < bench.count(); ++k) {
      if (bench.record(k).drew) continue;
      EXPECT_EQ(bench.record(k).rng, (std::array<std::uint32_t, 4>{}));
    }
  }
}

TEST(TlmRandom, StateIsWrittenByCsrsAndKeptByRun) {
  const Code worker = {encode(Op::csrrw, {11, csr::xrng0, 10}), encode(Op::csrrw, {12, csr::xrng3, 10}), nop(),
                       encode(Op::x_urand64, {4}), kExit};
  Bench bench(join(constants({{5, kWorkerCode}, {6, 0x89abcdef}}),
                   {encode(Op::x_run, {2, 5, 6, 0}), encode(Op::x_run, {2, 5, 0, 0}), encode(Op::x_sync, {0, 0, 0}),
                    encode(Op::ecall)}),
              worker);
  bench.go();
  Reference rng{(std::uint64_t{1} << 32) + 2, 1};
  std::vector<RetireRecord> of;
  for (const auto& r : bench.seen.records)
    if (r.context == 2) of.push_back(r);
  ASSERT_EQ(of.size(), 10u);
  EXPECT_EQ(of[0].xval, 2u);
  EXPECT_EQ(of[0].csr_value, 0x89abcdefu);
  rng.s0 = (std::uint64_t{1} << 32) | 0x89abcdef;
  rng.s1 = 1 | std::uint64_t{0x89abcdef} << 32;
  EXPECT_EQ(of[3].fwrite[0].bits, rng.next());
  EXPECT_EQ(of[5].xval, rng.words()[0]) << "the second run goes on";
  EXPECT_EQ(of[6].xval, rng.words()[3]);
}

TEST(TlmPairs, OverlapOfAnyWrittenRegisterForbidsThePair) {
  struct Half {
    std::uint32_t word;
    std::set<unsigned> registers;  // MAIN: written; AUX: read or written
  };
  const auto from = [](unsigned first, unsigned count) {
    std::set<unsigned> out;
    for (unsigned k = 0; k < count; ++k) out.insert(first + k);
    return out;
  };
  const auto all = [](std::initializer_list<std::set<unsigned>> sets) {
    std::set<unsigned> out;
    for (const auto& s : sets) out.insert(s.begin(), s.end());
    return out;
  };
  // x5 points to data; S0, S1, S2 are set.
  const Half mains[] = {{encode(Op::flw, {9, 0, 5}), {9}},
                        {encode(Op::x_ld64, {8, 0, 5}), from(8, 2)},
                        {encode(Op::x_ld64_r, {10, 5, 0}), from(10, 2)},
                        {encode(Op::x_ld128, {8, 0, 5}), from(8, 4)},
                        {encode(Op::x_ld128_r, {12, 5, 0}), from(12, 4)},
                        {encode(Op::x_ld2, {8, 14, 3, 3}), all({from(8, 2), from(14, 2)})},
                        {encode(Op::x_ldst, {8, 14, 3, 3}), from(8, 2)},
                        {encode(Op::x_ld2st, {14, 8, 10, 3, 3, 3}), all({from(8, 2), from(14, 2)})},
                        {encode(Op::x_st64, {8, 0, 5}), {}},
                        {encode(Op::x_st64_r, {8, 5, 0}), {}},
                        {encode(Op::fsw, {9, 0, 5}), {}},
                        {encode(Op::addi, {9, 9, 1}), {}},
                        {encode(Op::x_brev, {9, 8}), {}},
                        {encode(Op::x_sset, {1, 5, 0}), {}},
                        {encode(Op::x_rpti, {1, 1}), {}}};
  unsigned compared = 0, paired = 0;
  for (unsigned base = 4; base <= 16; base += 2) {
    const unsigned quad = base & ~3u;
    const Half auxes[] = {{encode(Op::fadd_s, {base + 1, 20, 21}), {base + 1, 20, 21}},
                          {encode(Op::fmadd_s, {20, 21, 22, base + 1}), {20, 21, 22, base + 1}},
                          {encode(Op::x_add_f16v2, {20, base + 1, 21}), {20, base + 1, 21}},
                          {encode(Op::x_add_f16v4, {base, 20, 22}), all({from(base, 2), from(20, 4)})},
                          {encode(Op::x_mul_f32v2, {20, 22, base}), all({from(base, 2), from(20, 4)})},
                          {encode(Op::x_mac_f16v4, {20, 22, 24, base}), all({from(base, 2), from(20, 6)})},
                          {encode(Op::x_mac_f16v2, {base, 22, 24, base}), {base, 22, 24}},
                          {encode(Op::x_sadd_f32v2, {20, base + 1, 22, 24}), all({{base + 1}, from(20, 6)})},
                          {encode(Op::x_cvt_f32v4_f16v4, {quad, 20}), all({from(quad, 4), from(20, 2)})},
                          {encode(Op::x_cvt_f16v4_f32v4, {20, quad}), all({from(quad, 4), from(20, 2)})},
                          {encode(Op::x_cvt_f32v2_f16v2, {base, 21}), all({from(base, 2), {21}})},
                          {encode(Op::x_dot_f16v4, {20, 22, base, 21}), all({from(base, 2), from(20, 4)})},
                          {encode(Op::x_urand64, {base}), from(base, 2)},
                          {encode(Op::x_urand32, {base + 1}), {base + 1}},
                          {encode(Op::x_exp_f32, {20, base}), {20, base}},
                          {encode(Op::x_amp_f16, {20, base, 22, 1}), all({from(base, 2), from(20, 4)})},
                          {encode(Op::x_amp_f16, {20, 22, base, 1}), all({from(base, 2), from(20, 4)})},
                          {encode(Op::x_amp_f32, {base + 1, 22, 24, 6}), {base + 1, 22, 24}},
                          {encode(Op::x_amp_g, {20, 22, base, 24, 2}), all({from(base, 2), from(20, 6)})},
                          {encode(Op::x_amp_io, {base, 22, 0}), all({from(base, 2), from(22, 2)})}};
    for (const Half& main : mains) {
      for (const Half& aux : auxes) {
        bool disjoint = true;
        for (const unsigned r : main.registers) disjoint = disjoint && aux.registers.count(r) == 0;
        WorkerBench bench(join(constants({{5, kData}}), {encode(Op::x_sset, {0, 5, 0}), encode(Op::x_sset, {1, 5, 0}),
                                                         encode(Op::x_sset, {2, 5, 0}), nop()}),
                          {main.word, aux.word, nop(), nop(), kExit});
        bench.go();
        const bool repeat_alone = isa::decode(main.word) == Op::x_rpti && !disjoint;
        ASSERT_FALSE(repeat_alone);
        ASSERT_EQ(bench.record(0).paired, disjoint)
            << isa::info(isa::decode(main.word)).name << " " << isa::info(isa::decode(aux.word)).name << " " << base;
        ASSERT_FALSE(bench.record(0).trap);
        ASSERT_EQ(bench.record(1).word, aux.word);
        ASSERT_EQ(bench.record(1).paired, disjoint);
        ASSERT_EQ(bench.record(1).cycle, bench.record(0).cycle + (disjoint ? 0 : 6));
        ++compared;
        paired += disjoint;
      }
    }
  }
  EXPECT_EQ(compared, 7u * 15 * 20);
  EXPECT_GT(paired, 500u);
  EXPECT_GT(compared - paired, 200u);
}

TEST(TlmPairs, PairsNeedPositionAndLegalWordsAndWorkers) {
  const std::uint32_t aux = encode(Op::x_add_f16v4, {2, 4, 6});
  // At 4 mod 8 nothing pairs; an illegal word is never AUX; two AUX do not pair; SOLO does not.
  WorkerBench bench({}, {nop(), nop(), aux, aux, nop(), encode(Op::mul, {1, 2, 3}), aux, nop(), nop(), aux | 1u << 7});
  bench.go();
  for (std::size_t k = 0; k < bench.count(); ++k) EXPECT_FALSE(bench.record(k).paired) << k;
  EXPECT_EQ(bench.count(), 10u);
  EXPECT_EQ(bench.record(9), bench.trapped(9, aux | 1u << 7, 54, 2, aux | 1u << 7));
  Bench supervisor({nop(), aux});
  supervisor.go();
  EXPECT_FALSE(supervisor.seen.records.at(0).paired);
  EXPECT_EQ(supervisor.seen.records.at(1).cause, 2u);
}

TEST(TlmPairs, TheAuxReadsWhatItsMainReadsBeforeTheStore) {
  // MAIN reads f registers that the AUX writes: both see the old value, as in order.
  const std::uint32_t store = encode(Op::x_st64, {2, 8, 5}), move = encode(Op::x_mv64, {2, 4});
  WorkerBench bench(float_registers(), {store, move, kExit});
  Registers values{};
  values[2] = 11, values[3] = 12, values[4] = 21, values[5] = 22;
  poke_registers(bench, values);
  bench.go();
  EXPECT_TRUE(bench.record(0).paired);
  EXPECT_EQ(bench.record(0).write_data, 11 | std::uint64_t{12} << 32);
  EXPECT_EQ(bench.record(1).fwrite[0].bits, 21 | std::uint64_t{22} << 32);
}

}  // namespace
}  // namespace tessera
