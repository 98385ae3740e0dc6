// f16 arithmetic on more than 10^8 operand pairs and 10^8 triples. Sums, differences and products are checked through
// the host's double: an f16 is an integer times 2^-24 below 2^16, so a sum is one of at most 42 bits and a product,
// times 2^-48, one of at most 22 bits: both exact in a double, which half_reference::nearest rounds once. A fused sum
// has up to 81 bits and goes to MPFR.
#include <gtest/gtest.h>

#include <cstdio>

#include "tlm/float/half.h"
#include "tlm/float/half_reference.h"

namespace tessera::fp {
namespace {

namespace ref = half_reference;

TEST(HalfSlow, HundredMillionPairs) {
  std::vector<double> values(0x10000);
  for (std::uint32_t a = 0; a < 0x10000; ++a) values[a] = ref::value(static_cast<std::uint16_t>(a));
  // Each a with 1,600 b: 800 spread evenly from a start of its own, 800 of nearby exponents.
  cases::Random random(21);
  std::uint64_t pairs = 0, wrong = 0;
  for (std::uint32_t first = 0; first < 0x10000; ++first) {
    const auto a = static_cast<std::uint16_t>(first);
    const std::uint32_t start = random.below(0x10000);
    for (std::uint32_t k = 0; k < 1600; ++k) {
      auto b = static_cast<std::uint16_t>(start + k * 164);
      if (k % 2 == 1) b = static_cast<std::uint16_t>((a + random.below(0x4000) - 0x2000) ^ (k & 2) << 14);
      const double x = values[a], y = values[b];
      const bool nan = std::isnan(x) || std::isnan(y);
      const std::uint16_t low = x < y || (x == y && std::signbit(x)) ? a : b;
      const bool same = half_add(a, b) == ref::nearest(x + y) && half_sub(a, b) == ref::nearest(x - y) &&
                        half_mul(a, b) == ref::nearest(x * y) && half_eq(a, b) == (x == y) &&
                        half_lt(a, b) == (x < y) && half_le(a, b) == (x <= y) &&
                        (nan || (half_min(a, b) == low && half_max(a, b) == (low == a ? b : a)));
      ++pairs;
      if (!same && ++wrong <= 10) ADD_FAILURE() << std::hex << a << " " << b;
    }
  }
  std::printf("f16 add, sub, mul, eq, lt, le, min, max: %llu pairs, %llu different\n",
              static_cast<unsigned long long>(pairs), static_cast<unsigned long long>(wrong));
  EXPECT_GE(pairs, 100'000'000u);
  EXPECT_EQ(wrong, 0u);
}

TEST(HalfSlow, HundredMillionFusedTriples) {
  ref::Mpfr mpfr;
  cases::Random random(22);
  std::uint64_t triples = 0, wrong = 0;
  for (; triples < 100'000'000; ++triples) {
    const std::uint16_t a = ref::any(random), b = ref::any(random);
    std::uint16_t c = ref::any(random);
    if (triples % 2 == 0)
      c = static_cast<std::uint16_t>(half_mul(a, b) ^ (random.below(16) << (triples % 4 == 0 ? 11 : 0)));
    if (half_fma(a, b, c) != mpfr.fma(a, b, c) && ++wrong <= 10) ADD_FAILURE() << std::hex << a << " " << b << " " << c;
  }
  std::printf("f16 fma: %llu triples, %llu different\n", static_cast<unsigned long long>(triples),
              static_cast<unsigned long long>(wrong));
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace tessera::fp
