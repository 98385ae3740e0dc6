// Division of f16 by a number that stays, as MapDiv_f16 does it by vectors: a product with an inverse in two parts. All
// pairs of significands, and results that are normal, subnormal and too large, against division in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "firmware/codelets/functions.h"

namespace {

TEST(Inverse, HasTwoPartsOfOneSign) {
  for (unsigned m = 1024; m < 2048; ++m) {
    const float b = static_cast<float>(m);
    float high = 0, low = 0;
    fn_inverse(b, &high, &low);
    EXPECT_GT(high, 0) << m;
    EXPECT_GT(low, 0) << m;
    EXPECT_EQ(static_cast<float>(static_cast<double>(high) * m), high * b) << "not exact: " << m;
    EXPECT_LE(std::fabs((static_cast<double>(high) + low) * m - 1), std::ldexp(1.0, -36)) << m;
    fn_inverse(-b, &high, &low);
    EXPECT_LT(high, 0) << m;
    EXPECT_LT(low, 0) << m;
  }
}

TEST(Inverse, ProductsRoundAsQuotientsDo) {
  long compared = 0, different = 0;
  for (const int exponent : {-30, -24, -20, -16, -14, 0, 6, 15})
    for (unsigned n = 1024; n < 2048; ++n) {
      const auto b = static_cast<float>(n) / 1024;
      float high = 0, low = 0;
      fn_inverse(b, &high, &low);
      for (unsigned m = 1024; m < 2048; ++m) {
        const float a = std::ldexp(static_cast<float>(m) / 1024, exponent);
        const f16 got = tessera_f32_to_f16(tessera_fma(a, high, a * low));
        // Rounded once more, to a multiple of what the last of 11 bits is worth, at least 2^-24.
        const double quotient = static_cast<double>(a) / b;
        const double unit = std::ldexp(1.0, std::max(std::ilogb(quotient), -14) - 10);
        const double want = std::nearbyint(quotient / unit) * unit;
        different += tessera_f16_to_f32(got) != (want < 65520 ? want : HUGE_VAL);
        ++compared;
      }
    }
  EXPECT_EQ(different, 0) << "of " << compared;
  EXPECT_EQ(compared, 8L * 1024 * 1024);
}

TEST(Inverse, InfiniteElementsStayInfinite) {
  for (const float b : {1.0F, -2.0F, 3.0F, 0.0009765625F}) {
    float high = 0, low = 0;
    fn_inverse(b, &high, &low);
    EXPECT_EQ(tessera_fma(INFINITY, high, INFINITY * low), INFINITY / b);
    EXPECT_EQ(std::signbit(tessera_fma(-0.0F, high, -0.0F * low)), !std::signbit(b));
  }
}

}  // namespace
