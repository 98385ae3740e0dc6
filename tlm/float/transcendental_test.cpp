// Transcendental functions: f16 for all inputs and f32 for a stride and corners against MPFR, special values, symmetry
// and order. All 2^32 inputs of f32: transcendental_sweep_test.cpp.
#include "tlm/float/transcendental.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tlm/float/half.h"
#include "tlm/float/simd.h"
#include "tlm/float/transcendental_cases.h"
#include "tlm/float/transcendental_reference.h"

namespace tessera::fp {
namespace {

using HalfFunction = std::uint16_t (*)(std::uint16_t);
using SingleFunction = std::uint32_t (*)(std::uint32_t);
constexpr HalfFunction kHalves[] = {exp_f16, log_f16, tanh_f16, sigmoid_f16};
constexpr SingleFunction kSingles[] = {exp_f32, log_f32, tanh_f32, sigmoid_f32, rsqrt_f32};

double single(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

double half(std::uint16_t bits) { return single(half_to_f32(bits)); }

/// |got - exact| in units of the last place that the exact value has in f32; infinity counts as 2^128.
double error_in_ulp(std::uint32_t got, mpfr_srcptr exact) {
  mpfr_t difference;
  mpfr_init2(difference, 200);
  const double value = std::isinf(single(got)) ? std::copysign(0x1p128, single(got)) : single(got);
  mpfr_d_sub(difference, value, exact, MPFR_RNDN);
  const long binade = std::clamp<long>(mpfr_zero_p(exact) ? -126 : mpfr_get_exp(exact) - 1, -126, 127);
  const double error = std::ldexp(std::fabs(mpfr_get_d(difference, MPFR_RNDN)), static_cast<int>(23 - binade));
  mpfr_clear(difference);
  return error;
}

TEST(Transcendental, HalfIsCorrectlyRoundedForAllInputs) {
  Reference reference;
  int compared = 0;
  for (int f = 0; f < 4; ++f) {
    int wrong = 0;
    for (std::uint32_t a = 0; a < 0x10000; ++a, ++compared) {
      const auto in = static_cast<std::uint16_t>(a);
      const std::uint32_t expected = reference.rounded(static_cast<Function>(f), half(in), kHalf);
      if (kHalves[f](in) != expected && ++wrong <= 5) {
        ADD_FAILURE() << kFunctionNames[f] << std::hex << " " << a << " got " << kHalves[f](in) << " not " << expected;
      }
    }
    EXPECT_EQ(wrong, 0) << kFunctionNames[f];
  }
  std::printf("f16: %d results compared with MPFR\n", compared);
  EXPECT_EQ(compared, 4 * 65536);
}

void expect_close(const std::vector<std::uint32_t>& inputs, const char* what) {
  Reference reference;
  for (int f = 0; f < 5; ++f) {
    double worst = 0;
    std::uint32_t where = 0;
    int inexact = 0;
    for (const std::uint32_t a : inputs) {
      const std::uint32_t got = kSingles[f](a);
      const std::uint32_t nearest = reference.rounded(static_cast<Function>(f), single(a), kSingle);
      if (got == nearest) continue;
      ++inexact;
      const mpfr_srcptr exact = reference.value(static_cast<Function>(f), single(a));
      ASSERT_FALSE(mpfr_nan_p(exact) || mpfr_inf_p(exact) || std::isnan(single(got)))
          << kFunctionNames[f] << std::hex << " " << a << " got " << got << " not " << nearest;
      const double error = error_in_ulp(got, exact);
      if (error > worst) worst = error, where = a;
    }
    std::printf(
        "%s f32, %s: %zu results compared with MPFR, %d not the nearest, greatest error of those %.3f ulp at %08x\n",
        kFunctionNames[f], what, inputs.size(), inexact, worst, where);
    EXPECT_LE(worst, 2.0) << kFunctionNames[f] << std::hex << " " << where;
  }
}

TEST(Transcendental, SingleAtCornersIsWithinTwoUlp) { expect_close(transcendental_corners(), "corners"); }

TEST(Transcendental, SingleOnAStrideIsWithinTwoUlp) {
  std::vector<std::uint32_t> inputs;
  for (std::uint64_t a = 0; a < std::uint64_t{1} << 32; a += 24593) inputs.push_back(static_cast<std::uint32_t>(a));
  expect_close(inputs, "stride");
}

TEST(Transcendental, SpecialValues) {
  constexpr std::uint32_t inf = 0x7f800000, nan = 0x7fc00000, one = 0x3f800000, minus = 0x80000000;
  for (const SingleFunction f : kSingles) {
    for (const std::uint32_t a : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0xffc00000u}) EXPECT_EQ(f(a), nan);
  }
  for (const HalfFunction f : kHalves) {
    for (const std::uint16_t a : {0x7c01, 0x7fff, 0xfc01, 0xfe00}) EXPECT_EQ(f(a), kCanonicalHalfNan);
  }
  EXPECT_EQ(exp_f32(inf), inf);
  EXPECT_EQ(exp_f32(minus | inf), 0u);
  EXPECT_EQ(exp_f32(0), one);
  EXPECT_EQ(exp_f32(minus), one);
  EXPECT_EQ(exp_f32(0x42b17217), 0x7f7fff84u);  // 88.72283: the last finite one
  EXPECT_EQ(exp_f32(0x42b17218), inf);
  EXPECT_EQ(exp_f32(minus | 0x42cff1b4), 1u);  // -103.97208: the last one that is not 0
  EXPECT_EQ(exp_f32(minus | 0x42cff1b5), 0u);
  EXPECT_EQ(log_f32(0), minus | inf);
  EXPECT_EQ(log_f32(minus), minus | inf);
  EXPECT_EQ(log_f32(one), 0u);
  EXPECT_EQ(log_f32(inf), inf);
  EXPECT_EQ(log_f32(minus | 1), nan);
  EXPECT_EQ(log_f32(minus | inf), nan);
  EXPECT_EQ(tanh_f32(0), 0u);
  EXPECT_EQ(tanh_f32(minus), minus);
  EXPECT_EQ(tanh_f32(inf), one);
  EXPECT_EQ(tanh_f32(minus | inf), minus | one);
  for (const std::uint32_t a : {1u, 0x400000u, 0x7fffffu}) EXPECT_EQ(tanh_f32(minus | a), minus | a);
  EXPECT_EQ(sigmoid_f32(0), 0x3f000000u);
  EXPECT_EQ(sigmoid_f32(minus), 0x3f000000u);
  EXPECT_EQ(sigmoid_f32(inf), one);
  EXPECT_EQ(sigmoid_f32(minus | inf), 0u);
  EXPECT_EQ(rsqrt_f32(0), inf);
  EXPECT_EQ(rsqrt_f32(minus), minus | inf);
  EXPECT_EQ(rsqrt_f32(inf), 0u);
  EXPECT_EQ(rsqrt_f32(minus | 1), nan);
  EXPECT_EQ(rsqrt_f32(minus | inf), nan);
  for (std::uint32_t k = 1; k < 127; ++k)
    EXPECT_EQ(rsqrt_f32((127 + 2 * k - 126) << 23), (127 + 63 - k) << 23);  // 4^(k-63)
}

TEST(Transcendental, TanhIsOdd) {
  for (std::uint32_t a = 0; a < 0x7f800000; a += 1009)
    ASSERT_EQ(tanh_f32(a | 0x80000000), tanh_f32(a) | 0x80000000) << a;
  for (std::uint32_t a = 0; a <= 0x7c00; ++a) {
    ASSERT_EQ(tanh_f16(static_cast<std::uint16_t>(a | 0x8000)), tanh_f16(static_cast<std::uint16_t>(a)) | 0x8000) << a;
  }
}

TEST(Transcendental, AuxInstructionsApplyThemToLanes) {
  const Operand halves{0x4000'b800, 0}, single_operand{0x3f000000, 0};  // -0.5, 2; 0.5
  const isa::Op half_ops[] = {isa::Op::x_exp_f16v2, isa::Op::x_log_f16v2, isa::Op::x_tanh_f16v2,
                              isa::Op::x_sigmoid_f16v2};
  const isa::Op single_ops[] = {isa::Op::x_exp_f32, isa::Op::x_log_f32, isa::Op::x_tanh_f32, isa::Op::x_sigmoid_f32,
                                isa::Op::x_rsqrt_f32};
  for (int f = 0; f < 4; ++f) {
    const std::uint32_t expected = std::uint32_t{kHalves[f](0x4000)} << 16 | kHalves[f](0xb800);
    EXPECT_EQ(simd(half_ops[f], halves, {}, {}, 0), (Operand{expected, 0})) << kFunctionNames[f];
  }
  for (int f = 0; f < 5; ++f) {
    EXPECT_EQ(simd(single_ops[f], single_operand, {}, {}, 0), (Operand{kSingles[f](0x3f000000), 0}))
        << kFunctionNames[f];
  }
}

}  // namespace
}  // namespace tessera::fp
