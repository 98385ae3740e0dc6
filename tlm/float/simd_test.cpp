// Xtile arithmetic against independent formulations: the generator against its algorithm bit by bit, f32 lanes against
// the host, lane order of every instruction, and steps of the matrix product against host floats.
#include "tlm/float/simd.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "tlm/float/amp.h"
#include "tlm/float/fast.h"
#include "tlm/float/half.h"
#include "tlm/float/half_reference.h"

namespace tessera::fp {
namespace {

using cases::Random;
using isa::Op;

std::uint32_t low(std::uint64_t v) { return static_cast<std::uint32_t>(v); }
std::uint32_t high(std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); }
std::uint64_t join(std::uint32_t l, std::uint32_t h) { return std::uint64_t{h} << 32 | l; }
std::uint16_t half(const Operand& v, unsigned k) { return static_cast<std::uint16_t>(v.lo >> 16 * k); }
std::uint32_t canonical(float f) { return std::isnan(f) ? kCanonicalNan : detail::to_bits(f); }
float as_float(std::uint32_t a) { return detail::to_float(a); }

// xoroshiro128aox (Chen and others, "Design and analysis of xoroshiro128aox"): the linear engine xoroshiro128 with
// constants 55, 14, 36 and the output s0 ^ s1 changed where bits below are set in both. Here bit by bit.
struct BitRng {
  std::array<bool, 64> s0{}, s1{};
  explicit BitRng(const Rng& r) {
    for (unsigned i = 0; i < 64; ++i) s0[i] = r.s0 >> i & 1, s1[i] = r.s1 >> i & 1;
  }
  std::uint64_t step() {
    std::uint64_t out = 0;
    std::array<bool, 64> n0{}, n1{};
    for (unsigned i = 0; i < 64; ++i) {
      const auto x = [&](unsigned at) { return s0[at % 64] != s1[at % 64]; };
      const auto both = [&](unsigned at) { return s0[at % 64] && s1[at % 64]; };
      out |= std::uint64_t{x(i) != (both(i + 63) || both(i + 62))} << i;
      n0[i] = s0[(i + 64 - 55) % 64] != (x(i) != (i >= 14 && x(i - 14)));
      n1[i] = x(i + 64 - 36);
    }
    s0 = n0, s1 = n1;
    return out;
  }
};

TEST(RandomNumbers, FollowTheAlgorithm) {
  Random seeds(31);
  std::uint64_t compared = 0;
  for (int k = 0; k < 200; ++k) {
    Rng rng{seeds.next(), seeds.next()};
    if (k < 6) rng = {(std::uint64_t{1} << 32) + static_cast<unsigned>(k), 1};  // as workers have them at power-on
    BitRng bits(rng);
    for (int n = 0; n < 200; ++n, ++compared) ASSERT_EQ(rng.step(), bits.step()) << k << " " << n;
  }
  std::printf("xoroshiro128aox: %llu outputs\n", static_cast<unsigned long long>(compared));
}

// Values computed by a separate program from the same description.
TEST(RandomNumbers, KnownAnswers) {
  struct Row {
    std::uint64_t s0, s1;
    std::array<std::uint64_t, 3> first;
    std::uint64_t thousandth;
  };
  for (const Row& row :
       {Row{0x1u, 0x0u, {0x1u, 0x80001000004001u, 0x18406018000121u}, 0x6fb6519602afa3u},
        Row{0x100000001u, 0x1u, {0x100000006u, 0x80400100800010u, 0x1880410108184060u}, 0x5ccb1d1c37bae682u},
        Row{0x123456789abcdefu,
            0xfedcba9876543210u,
            {0xffffffffffffffffu, 0xf77c0992a3a0e991u, 0x92c55b7bdf804d24u},
            0xf3e0e6676a0eebc3u},
        Row{0xffffffffffffffffu,
            0xffffffffffffffffu,
            {0xffffffffffffffffu, 0xffffffffffffffffu, 0xffffffffffffbffcu},
            0x7b8b5e6025f1f468u},
        Row{0xdeadbeefcafef00du,
            0x8000000000000001u,
            {0x5eadbeefcafef00bu, 0x47e01954ebb05c70u, 0xc0d534b8f587925eu},
            0xa4b785c1b6f4e293u}}) {
    Rng rng{row.s0, row.s1};
    for (const std::uint64_t want : row.first) EXPECT_EQ(rng.step(), want);
    for (int n = 4; n < 1000; ++n) (void)rng.step();
    EXPECT_EQ(rng.step(), row.thousandth);
  }
}

TEST(RandomNumbers, InstructionsThatDraw) {
  unsigned count = 0;
  for (unsigned k = 0; k < isa::kOpCount; ++k) {
    const std::string name = isa::info(static_cast<Op>(k)).name;
    const bool want = name.find(".sr.") != std::string::npos || name.find("urand") != std::string::npos;
    EXPECT_EQ(draws(static_cast<Op>(k)), want) << name;
    count += want;
  }
  EXPECT_EQ(count, 5u);
  EXPECT_EQ(simd(Op::x_urand32, {}, {}, {}, 0x1122334455667788u).lo, 0x55667788u);
  EXPECT_EQ(simd(Op::x_urand64, {}, {}, {}, 0x1122334455667788u).lo, 0x1122334455667788u);
}

/// One f32 lane on the host; volatile keeps the compiler from folding.
std::uint32_t host_lane(Op op, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  volatile float x = as_float(a), y = as_float(b), z = as_float(c);
  switch (op) {
    case Op::x_add_f32v2:
      return canonical(x + y);
    case Op::x_sub_f32v2:
      return canonical(x - y);
    case Op::x_mul_f32v2:
      return canonical(x * y);
    case Op::x_mac_f32v2:
      return canonical(std::fma(x, y, z));
    case Op::x_cmpeq_f32v2:
      return x == y ? ~0u : 0;
    case Op::x_cmplt_f32v2:
      return x < y ? ~0u : 0;
    case Op::x_cmple_f32v2:
      return x <= y ? ~0u : 0;
    case Op::x_min_f32v2:
    case Op::x_max_f32v2: {
      if (std::isnan(x) && std::isnan(y)) return kCanonicalNan;
      if (std::isnan(x) || std::isnan(y)) return std::isnan(x) ? b : a;
      const bool below = x < y || (x == y && std::signbit(x));
      return below == (op == Op::x_min_f32v2) ? a : b;
    }
    case Op::x_abs_f32v2:
      return a & 0x7fffffffu;
    case Op::x_neg_f32v2:
      return a ^ 0x80000000u;
    case Op::x_sel_f32v2:
      return std::signbit(x) ? b : c;
    default:
      throw std::logic_error("no host form");
  }
}

TEST(Simd, SingleLanesMatchTheHost) {
  const auto corners = cases::corners();
  Random random(32);
  std::uint64_t compared = 0;
  for (const Op op :
       {Op::x_add_f32v2, Op::x_sub_f32v2, Op::x_mul_f32v2, Op::x_mac_f32v2, Op::x_cmpeq_f32v2, Op::x_cmplt_f32v2,
        Op::x_cmple_f32v2, Op::x_min_f32v2, Op::x_max_f32v2, Op::x_abs_f32v2, Op::x_neg_f32v2, Op::x_sel_f32v2}) {
    const auto check = [&](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
      const std::uint64_t want = join(host_lane(op, low(a), low(b), low(c)), host_lane(op, high(a), high(b), high(c)));
      const Operand got = simd(op, {a, 0}, {b, 0}, {c, 0}, 0);
      ASSERT_EQ(got.lo, want) << isa::info(op).name << std::hex << " " << a << " " << b << " " << c;
      ASSERT_EQ(got.hi, 0u);
      compared += 2;
    };
    for (const std::uint32_t a : corners)
      for (const std::uint32_t b : corners)
        for (const std::uint32_t c : corners) check(join(a, c), join(b, a), join(c, b));
    for (int n = 0; n < 200'000; ++n) {
      const std::uint32_t a = random.value(), b = random.value();
      check(join(a, random.value()), join(b, random.value()), join(random.addend_near(a, b), random.value()));
    }
  }
  std::printf("f32v2: %llu lanes\n", static_cast<unsigned long long>(compared));
  EXPECT_GT(compared, 6'000'000u);
}

// Lanes of f16 operations do not mix, and come in order: what half.h says of each lane alone.
TEST(Simd, HalfLanesAreIndependent) {
  struct Row {
    Op two, four;
    std::uint16_t (*lane)(std::uint16_t, std::uint16_t, std::uint16_t);
  };
  const Row rows[] = {
      {Op::x_add_f16v2, Op::x_add_f16v4, [](auto a, auto b, auto) { return half_add(a, b); }},
      {Op::x_sub_f16v2, Op::x_sub_f16v4, [](auto a, auto b, auto) { return half_sub(a, b); }},
      {Op::x_mul_f16v2, Op::x_mul_f16v4, [](auto a, auto b, auto) { return half_mul(a, b); }},
      {Op::x_max_f16v2, Op::x_max_f16v4, [](auto a, auto b, auto) { return half_max(a, b); }},
      {Op::x_min_f16v2, Op::x_min_f16v4, [](auto a, auto b, auto) { return half_min(a, b); }},
      {Op::x_cmpeq_f16v2, Op::x_cmpeq_f16v4,
       [](auto a, auto b, auto) { return static_cast<std::uint16_t>(half_eq(a, b) ? 0xffff : 0); }},
      {Op::x_cmplt_f16v2, Op::x_cmplt_f16v4,
       [](auto a, auto b, auto) { return static_cast<std::uint16_t>(half_lt(a, b) ? 0xffff : 0); }},
      {Op::x_cmple_f16v2, Op::x_cmple_f16v4,
       [](auto a, auto b, auto) { return static_cast<std::uint16_t>(half_le(a, b) ? 0xffff : 0); }},
      {Op::x_abs_f16v2, Op::x_abs_f16v4, [](auto a, auto, auto) { return static_cast<std::uint16_t>(a & 0x7fff); }},
      {Op::x_neg_f16v2, Op::x_neg_f16v4, [](auto a, auto, auto) { return static_cast<std::uint16_t>(a ^ 0x8000); }},
      {Op::x_mac_f16v2, Op::x_mac_f16v4, [](auto a, auto b, auto c) { return half_fma(a, b, c); }},
      {Op::x_sel_f16v2, Op::x_sel_f16v4, [](auto a, auto b, auto c) { return (a & 0x8000) != 0 ? b : c; }},
  };
  Random random(33);
  std::uint64_t compared = 0;
  for (const Row& row : rows) {
    for (int n = 0; n < 20'000; ++n) {
      Operand a, b, c;
      for (unsigned k = 0; k < 4; ++k) {
        a.lo |= std::uint64_t{half_reference::any(random)} << 16 * k;
        b.lo |= std::uint64_t{n % 16 == 0 ? half(a, k) : half_reference::any(random)} << 16 * k;
        c.lo |= std::uint64_t{half_reference::any(random)} << 16 * k;
      }
      const Operand two = simd(row.two, a, b, c, 0), four = simd(row.four, a, b, c, 0);
      for (unsigned k = 0; k < 4; ++k, ++compared) {
        ASSERT_EQ(half(four, k), row.lane(half(a, k), half(b, k), half(c, k))) << isa::info(row.four).name;
        ASSERT_EQ(half(two, k), k < 2 ? half(four, k) : 0) << isa::info(row.two).name;
      }
    }
  }
  std::printf("f16 lanes: %llu\n", static_cast<unsigned long long>(compared));
}

TEST(Simd, ScalarAndSumForms) {
  // 1, 2, 3, 4 and 0.5, -1, 10, 2048 as f16; lane 0 lowest.
  const Operand a{0x4400420040003c00u, 0}, b{0x68004900bc003800u, 0}, c{0x3c003c003c003c00u, 0};
  EXPECT_EQ(simd(Op::x_sadd_f16v4, a, b, c, 0).lo, 0x6800498000003e00u);  // b + 1: 1.5, 0, 11, 2048 (a tie)
  EXPECT_EQ(simd(Op::x_sadd_f16v2, Operand{0xffff4000u, 0}, b, c, 0).lo, 0xbc004000u);
  EXPECT_EQ(simd(Op::x_sum_f16v2, a, {}, {}, 0).lo, 0x4200u);
  EXPECT_EQ(simd(Op::x_sum_f16v4, a, {}, {}, 0).lo, 0x4900u);
  // (1 + 2048) + (0.5 + 0.5): 2048 to even, then 2049 to even again; in one sum it would be 2050.
  EXPECT_EQ(simd(Op::x_sum_f16v4, Operand{0x3800380068003c00u, 0}, {}, {}, 0).lo, 0x6800u);
  EXPECT_EQ(simd(Op::x_sum_f32v2, Operand{0x400000003f800000u, 0}, {}, {}, 0).lo, 0x40400000u);
  // f32 scalar 2: 2*3 + 1, 2*4 + 1.
  EXPECT_EQ(simd(Op::x_sadd_f32v2, Operand{0x40000000u, 0}, {0x4080000040400000u, 0}, {0x3f8000003f800000u, 0}, 0).lo,
            0x4110000040e00000u);
  // Dot: 1*0.5 + 2*-1 + 3*10 + 4*2048 + 100.
  EXPECT_EQ(simd(Op::x_dot_f16v4, a, b, Operand{detail::to_bits(100.0f), 0}, 0).lo, detail::to_bits(8320.5f));
  EXPECT_EQ(simd(Op::x_pack_f16, a, b, {}, 0).lo, 0x38003c00u);
  EXPECT_EQ(simd(Op::x_mv64, Operand{0xfff123457f800001u, 0}, {}, {}, 0).lo, 0xfff123457f800001u);
}

TEST(Simd, ConversionsTakeLanesInOrder) {
  const Operand halves{0x7e01c000bc003c00u, 0};  // 1, -1, -2, NaN
  EXPECT_EQ(simd(Op::x_cvt_f32_f16, halves, {}, {}, 0), (Operand{0x3f800000u, 0}));
  EXPECT_EQ(simd(Op::x_cvt_f32v2_f16v2, halves, {}, {}, 0), (Operand{0xbf8000003f800000u, 0}));
  EXPECT_EQ(simd(Op::x_cvt_f32v4_f16v4, halves, {}, {}, 0), (Operand{0xbf8000003f800000u, 0x7fc00000c0000000u}));
  // 1 + 2^-11 + a little: up to nearest; 1, -65520 (to infinity), a signaling NaN.
  const Operand singles{0x3f8000003f801001u, 0x7f800001c77ff000u};
  EXPECT_EQ(simd(Op::x_cvt_f16_f32, singles, {}, {}, 0).lo, 0x3c01u);
  EXPECT_EQ(simd(Op::x_cvt_f16v2_f32v2, singles, {}, {}, 0).lo, 0x3c003c01u);
  EXPECT_EQ(simd(Op::x_cvt_f16v4_f32v4, singles, {}, {}, 0).lo, 0x7e00fc003c003c01u);
  // Stochastic: lane k takes bits 16k+15..16k of the draw. f of lane 0 is 0x8008, of lane 2 0x8000.
  const auto sr = [&](std::uint64_t draw) { return simd(Op::x_cvt_sr_f16v4_f32v4, singles, {}, {}, draw).lo; };
  EXPECT_EQ(sr(0x00007fff00007ff7u), 0x7e00fbff3c003c00u);
  EXPECT_EQ(sr(0xffff8000ffff7ff8u), 0x7e00fc003c003c01u);
  EXPECT_EQ(simd(Op::x_cvt_sr_f16v2_f32v2, singles, {}, {}, 0xffffffffffff7ff8u).lo, 0x3c003c01u);
  EXPECT_EQ(simd(Op::x_cvt_sr_f16_f32, singles, {}, {}, 0xffffffffffff7ff7u).lo, 0x3c00u);
  EXPECT_EQ(simd(Op::x_cvt_i32_f32, Operand{0x40200000u, 0}, {}, {}, 0).lo, 2u);
  EXPECT_EQ(simd(Op::x_cvt_i32_f32, Operand{0xffc00000u, 0}, {}, {}, 0).lo, 0x7fffffffu);
  EXPECT_EQ(simd(Op::x_cvt_u32_f32, Operand{0xbf800000u, 0}, {}, {}, 0).lo, 0u);
  EXPECT_EQ(simd(Op::x_cvt_u32_f32, Operand{0x7fc00000u, 0}, {}, {}, 0).lo, 0xffffffffu);
  EXPECT_EQ(simd(Op::x_cvt_f32_i32, Operand{0xffffffffu, 0}, {}, {}, 0).lo, 0xbf800000u);
  EXPECT_EQ(simd(Op::x_cvt_f32_u32, Operand{0xffffffffu, 0}, {}, {}, 0).lo, 0x4f800000u);
  EXPECT_EQ(simd(Op::x_cvt_i32v2_f32v2, Operand{0xcf800000c0600000u, 0}, {}, {}, 0).lo, 0x80000000fffffffcu);
  EXPECT_EQ(simd(Op::x_cvt_f32v2_i32v2, Operand{0x80000000fffffffcu, 0}, {}, {}, 0).lo, 0xcf000000c0800000u);
}

TEST(Simd, OtherInstructionsAreALogicError) {
  EXPECT_THROW((void)simd(Op::add, {}, {}, {}, 0), std::logic_error);
  EXPECT_THROW((void)simd(Op::x_amp_f16, {}, {}, {}, 0), std::logic_error);
}

// A step of the matrix product in host floats, engine by engine. The product of two f16 has 22 significant bits and an
// exponent between -48 and 31, so the float product is exact; each float sum is one rounding to nearest even, in the
// order of docs/machine/tile.md; fmaf rounds once. NaNs are made canonical at the end of a step: sums and fused
// products of floats give a NaN exactly when some order of the same operations with canonical NaNs does.
struct HostAmp {
  std::array<std::uint32_t, 8> a{}, b{};

  static float f(std::uint16_t h) { return static_cast<float>(half_reference::value(h)); }

  std::uint64_t step(Op op, unsigned p, const std::uint8_t* memory, std::uint64_t rs1, std::uint64_t rs2,
                     std::uint64_t rs3) {
    const bool single = op == Op::x_amp_f32;
    std::uint64_t out = single ? b[p] : join(b[2 * p], b[2 * p + 1]);
    if (single) {
      b[p] = low(rs3);
    } else {
      b[2 * p] = low(rs3), b[2 * p + 1] = high(rs3);
    }
    for (unsigned e = 0; e < 8 && op != Op::x_amp_io; ++e) {
      volatile float sum = as_float(a[e]);
      if (single) {
        std::uint32_t w;
        std::memcpy(&w, memory + 32 * e + 4 * p, 4);
        sum = std::fma(as_float(low(rs1)), as_float(w), sum);
      } else {
        const std::uint64_t x = op == Op::x_amp_g && e >= 4 ? rs2 : rs1;
        volatile float product[4];
        for (unsigned i = 0; i < 4; ++i) {
          std::uint16_t w;
          std::memcpy(&w, memory + 32 * e + 2 * (4 * p + i), 2);
          product[i] = f(static_cast<std::uint16_t>(x >> 16 * i)) * f(w);
        }
        volatile float left = product[0] + product[1], right = product[2] + product[3];
        volatile float all = left + right;
        sum = sum + all;
      }
      a[e] = canonical(sum);
    }
    if (p == (single ? 7u : 3u)) std::swap(a, b);
    return out;
  }
};

/// 256 bytes of weights: f16 or f32 values, plain ones mostly, some corners.
void fill_weights(Random& random, bool single, bool special, std::uint8_t* memory) {
  const auto corners = cases::corners();
  const auto halves = half_reference::corners();
  for (unsigned k = 0; k < 128; ++k) {
    std::uint16_t h = half_reference::any(random);
    if (special && k % 3 == 0) h = halves[random.below(static_cast<std::uint32_t>(halves.size()))];
    if (!special && (h & 0x7c00) == 0x7c00) h ^= 0x4000;
    std::memcpy(memory + 2 * k, &h, 2);
  }
  if (!single) return;
  for (unsigned k = 0; k < 64; ++k) {
    std::uint32_t w = random.value();
    if (special && k % 3 == 0) w = corners[random.below(static_cast<std::uint32_t>(corners.size()))];
    std::memcpy(memory + 4 * k, &w, 4);
  }
}

TEST(Amp, StepsMatchHostFloats) {
  Random random(34);
  std::uint64_t compared = 0, nans = 0;
  for (const Op op : {Op::x_amp_f16, Op::x_amp_f32, Op::x_amp_g, Op::x_amp_io}) {
    for (int round = 0; round < 1500; ++round) {
      const bool special = round % 2 == 1;
      std::array<std::uint8_t, 256> memory{};
      fill_weights(random, op == Op::x_amp_f32, special, memory.data());
      AmpWeights weights;
      std::memcpy(weights.data(), memory.data(), 256);
      AmpSums sums;
      HostAmp host;
      for (unsigned n = 0; n < 40; ++n) {
        // In order mostly, so that partials travel through; sometimes any phase.
        const unsigned p = n % 8 == 7 && round % 5 == 0 ? random.below(last_phase(op) + 1) : n % (last_phase(op) + 1);
        const auto operand = [&](bool halves) {
          if (!halves) return join(random.value(), random.value());
          std::uint64_t v = 0;
          for (unsigned i = 0; i < 4; ++i) {
            std::uint16_t h = half_reference::any(random);
            if (!special && (h & 0x7c00) == 0x7c00) h ^= 0x4000;
            v |= std::uint64_t{h} << 16 * i;
          }
          return v;
        };
        const bool single = op == Op::x_amp_f32;
        const std::uint64_t rs1 = operand(!single), rs2 = operand(!single);
        std::uint64_t rs3 = n % 3 == 0 ? 0 : operand(false);
        if (special && n % 9 == 4) rs3 = 0xffc123457f800001u;  // NaN partials keep their bits until something is added
        const std::uint64_t want = host.step(op, p, memory.data(), rs1, rs2, rs3);
        ASSERT_EQ(amp_step(op, p, weights, sums, rs1, rs2, rs3), want)
            << isa::info(op).name << " " << round << " " << n;
        ASSERT_EQ(sums.a, host.a) << isa::info(op).name << " " << round << " " << n;
        ASSERT_EQ(sums.b, host.b) << isa::info(op).name << " " << round << " " << n;
        for (const std::uint32_t v : sums.a) nans += is_nan(v);
        compared += 17;
      }
    }
  }
  std::printf("matrix product: %llu words, %llu of them NaN sums\n", static_cast<unsigned long long>(compared),
              static_cast<unsigned long long>(nans));
  EXPECT_GT(nans, 10'000u);
}

TEST(Amp, PartialsKeepTheirBits) {
  AmpWeights weights{};
  AmpSums sums;
  const std::uint64_t nan = 0xffc123457f800001u;
  for (unsigned p = 0; p < 4; ++p) EXPECT_EQ(amp_step(Op::x_amp_io, p, weights, sums, 0, 0, nan + p), 0u);
  EXPECT_EQ(sums.a[0], 0x7f800001u);  // in, untouched, signaling as it was
  for (unsigned p = 0; p < 4; ++p) EXPECT_EQ(amp_step(Op::x_amp_io, p, weights, sums, 0, 0, 0), 0u);
  for (unsigned p = 0; p < 4; ++p) EXPECT_EQ(amp_step(Op::x_amp_io, p, weights, sums, 0, 0, 0), nan + p);
  // One step that adds zeros makes them canonical.
  for (unsigned p = 0; p < 4; ++p) (void)amp_step(Op::x_amp_io, p, weights, sums, 0, 0, nan);
  for (unsigned p = 0; p < 4; ++p) (void)amp_step(Op::x_amp_f16, p, weights, sums, 0, 0, 0);
  EXPECT_EQ(sums.b[0], kCanonicalNan);
  EXPECT_EQ(sums.b[1], kCanonicalNan);
  EXPECT_THROW((void)amp_step(Op::x_amp_f16, 4, weights, sums, 0, 0, 0), std::logic_error);
  EXPECT_THROW((void)amp_step(Op::x_add_f16v2, 0, weights, sums, 0, 0, 0), std::logic_error);
}

// Which weight meets which activation: one weight and one activation set at a time.
TEST(Amp, WeightsByEngineAndPhase) {
  for (unsigned e = 0; e < 8; ++e) {
    for (unsigned j = 0; j < 16; ++j) {
      AmpWeights weights{};
      weights[8 * e + j / 2] = 0x4000u << 16 * (j & 1);  // 2
      for (unsigned p = 0; p < 4; ++p) {
        for (unsigned i = 0; i < 4; ++i) {
          AmpSums sums, grouped;
          const std::uint64_t x = std::uint64_t{0x4200} << 16 * i;  // 3
          (void)amp_step(Op::x_amp_f16, p, weights, sums, x, 0, 0);
          (void)amp_step(Op::x_amp_g, p, weights, grouped, e < 4 ? x : 0, e < 4 ? 0 : x, 0);
          const auto& set = p == 3 ? sums.b : sums.a;
          const auto& group = p == 3 ? grouped.b : grouped.a;
          for (unsigned at = 0; at < 8; ++at) {
            const std::uint32_t want = at == e && 4 * p + i == j ? 0x40c00000u : 0;
            ASSERT_EQ(set[at], want) << e << " " << j << " " << p << " " << i;
            ASSERT_EQ(group[at], want) << e << " " << j << " " << p << " " << i;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::fp
