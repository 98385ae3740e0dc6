// f16 arithmetic against MPFR and the host's double: conversions over all inputs, unary operations over all inputs,
// binary and fused ones over the cross product of corners and random operands. half_slow_test.cpp has a hundred times
// more of the last.
#include "tlm/float/half.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "tlm/float/fast.h"
#include "tlm/float/half_reference.h"
#include "tlm/float/simd.h"

namespace tessera::fp {
namespace {

namespace ref = half_reference;
using cases::Random;

/// Counts comparisons and tells the first differences.
class Tally {
 public:
  void compare(std::uint32_t want, std::uint32_t got, const char* what, std::uint32_t a, std::uint32_t b = 0,
               std::uint32_t c = 0) {
    ++count_;
    if (want == got) return;
    if (++wrong_ <= 10)
      ADD_FAILURE() << what << std::hex << " " << a << " " << b << " " << c << ": " << got << ", not " << want;
  }
  void report(const char* what, std::uint64_t at_least) const {
    std::printf("%s: %llu comparisons, %llu different\n", what, static_cast<unsigned long long>(count_),
                static_cast<unsigned long long>(wrong_));
    EXPECT_GE(count_, at_least);
    EXPECT_EQ(wrong_, 0u);
  }

 private:
  std::uint64_t count_ = 0, wrong_ = 0;
};

/// The cross product of the corners, then random pairs.
template <typename F>
void for_pairs(int random_pairs, F f) {
  for (const std::uint16_t a : ref::corners())
    for (const std::uint16_t b : ref::corners()) f(a, b);
  Random random(11);
  for (int n = 0; n < random_pairs; ++n) {
    const std::uint16_t a = ref::any(random);
    f(a, ref::any(random));
  }
}

TEST(Half, ToF32IsExactForAllInputs) {
  Tally tally;
  for (unsigned a = 0; a < 0x10000; ++a) {
    const double v = ref::value(static_cast<std::uint16_t>(a));
    const std::uint32_t want = std::isnan(v) ? kCanonicalNan : detail::to_bits(static_cast<float>(v));
    tally.compare(want, half_to_f32(static_cast<std::uint16_t>(a)), "f16 to f32", a);
  }
  tally.report("f16 to f32, all", 0x10000);
}

TEST(Half, FromF32RoundsToNearestEven) {
  Tally tally;
  const auto check = [&](std::uint32_t a) {
    tally.compare(ref::nearest(detail::to_float(a)), half_from_f32(a), "f32 to f16", a);
  };
  for (const std::uint32_t a : cases::corners()) check(a);
  // Every f16 and every midpoint of two, and their f32 neighbours on both sides.
  for (unsigned h = 0; h < 0x7c00; ++h) {
    const double low = ref::value(static_cast<std::uint16_t>(h));
    const double high = h == 0x7bff ? 65536.0 : ref::value(static_cast<std::uint16_t>(h + 1));
    for (const double at : {low, (low + high) / 2}) {
      const std::uint32_t bits = detail::to_bits(static_cast<float>(at));
      for (int by = -2; by <= 2; ++by) {
        if (by < 0 && bits < 2) continue;
        check(bits + static_cast<std::uint32_t>(by));
        check((bits + static_cast<std::uint32_t>(by)) | kSignBit);
      }
    }
  }
  Random random(12);
  for (int n = 0; n < 2'000'000; ++n) {
    const std::uint32_t bits = random.value();
    check(bits);
    check((bits & 0x807fffffu) | (98 + random.below(48)) << 23);  // exponents 2^-29 to 2^18
  }
  tally.report("f32 to f16 nearest", 4'500'000);
}

/// The rule of docs/machine/tile.md by another way: the place in units of a last place as a double (24 bits, exact),
/// its integer and fractional part, and the fraction's first 16 bits.
std::uint16_t stochastic(std::uint32_t a, std::uint32_t r) {
  const double v = detail::to_float(a);
  if (std::isnan(v)) return ref::kNan;
  const std::uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  const double m = std::fabs(v);
  if (m >= 65536.0) return sign | 0x7c00;
  const int exponent = m >= 0x1p-14 ? std::ilogb(m) : -14;
  const double units = std::ldexp(m, 10 - exponent), whole = std::floor(units);
  const double top = std::floor(std::ldexp(units - whole, 16));
  const int result = static_cast<int>(whole) + (top + r >= 65536.0 ? 1 : 0);
  return static_cast<std::uint16_t>(sign | (((exponent + 14) << 10) + result));
}

/// f32 values of interest for stochastic rounding: corners, and around each binade of f16 and of its subnormals values
/// with every kind of tail.
std::vector<std::uint32_t> stochastic_corners() {
  auto all = cases::corners();
  for (std::uint32_t exponent = 127 - 42; exponent <= 127 + 17; ++exponent) {
    for (const std::uint32_t fraction : {0x000000u, 0x000001u, 0x001000u, 0x001fffu, 0x002000u, 0x3ff000u, 0x7fe000u,
                                         0x7fefffu, 0x7ff000u, 0x7fffffu, 0x2aaaaau, 0x555555u}) {
      all.push_back(exponent << 23 | fraction);
      all.push_back(exponent << 23 | fraction | kSignBit);
    }
  }
  return all;
}

TEST(Half, FromF32StochasticFollowsTheRule) {
  Tally tally;
  const auto corners = stochastic_corners();
  for (const std::uint32_t a : corners) {
    // Every r at which something may change: multiples of 64 and their neighbours; the change point itself below.
    for (std::uint32_t r = 0; r < 0x10000; r += 64) {
      for (const std::uint32_t at : {r, r + 1, r + 63})
        tally.compare(stochastic(a, at), half_from_f32_stochastic(a, static_cast<std::uint16_t>(at)), "stochastic", a,
                      at);
    }
  }
  Random random(13);
  for (int n = 0; n < 2'000'000; ++n) {
    const std::uint32_t a = (random.value() & 0x807fffffu) | (84 + random.below(62)) << 23;
    const std::uint32_t r = random.below(0x10000);
    tally.compare(stochastic(a, r), half_from_f32_stochastic(a, static_cast<std::uint16_t>(r)), "stochastic", a, r);
  }
  tally.report("f32 to f16 stochastic", 6'000'000);
}

// Over all 2^16 random words the magnitude is rounded up exactly as often as the first 16 dropped bits say, so the mean
// is the value, but for bits that do not count (d > 16).
TEST(Half, StochasticRoundingIsUnbiased) {
  std::uint64_t compared = 0;
  for (const std::uint32_t a : {0x3f801234u, 0x3f800001u, 0x3f801fffu, 0xbf9a5a5au, 0x477fe123u, 0x477fffffu,
                                0x38800abcu, 0x33800000u, 0x33000000u, 0x35123456u, 0x36fedcbau}) {
    const double v = detail::to_float(a);
    double sum = 0;
    std::uint32_t ups = 0;
    const std::uint16_t down = half_from_f32_stochastic(a, 0);
    std::uint16_t before = down;
    for (std::uint32_t r = 0; r < 0x10000; ++r) {
      const std::uint16_t h = half_from_f32_stochastic(a, static_cast<std::uint16_t>(r));
      ASSERT_TRUE(h == down || h == down + 1) << std::hex << a << " " << r;
      ASSERT_GE(h, before) << "a larger r never rounds lower";
      before = h;
      ups += h != down;
      // The last place above 65504 is 32 wide like those below it, whatever infinity's value.
      const double magnitude = (h & 0x7fff) == 0x7c00 ? 65536.0 : std::fabs(ref::value(h));
      sum += v < 0 ? -magnitude : magnitude;
      ++compared;
    }
    const double place = std::ldexp(1.0, std::max(-24, std::ilogb(v) - 10));
    EXPECT_LE(std::fabs(sum / 65536 - v), place / 65536) << std::hex << a << " up " << ups;
  }
  std::printf("stochastic means: %llu roundings\n", static_cast<unsigned long long>(compared));
  // The same with draws of the generator: 2^20 of them, four standard deviations.
  Rng rng{1, 2};
  const std::uint32_t third = 0x3eaaaaab;  // 1/3: 0.333251953125 + 0.33.. of a last place of 2^-12
  const double v = detail::to_float(third), place = 0x1p-12;
  const double fraction = v / place - std::floor(v / place);
  std::uint32_t ups = 0;
  constexpr int kDraws = 1 << 18;
  for (int n = 0; n < kDraws; ++n) {
    const std::uint64_t out = rng.step();
    for (unsigned k = 0; k < 4; ++k)
      ups += half_from_f32_stochastic(third, static_cast<std::uint16_t>(out >> 16 * k)) !=
             half_from_f32_stochastic(third, 0);
  }
  const double n = 4.0 * kDraws;
  EXPECT_NEAR(ups / n, fraction, 4 * std::sqrt(fraction * (1 - fraction) / n));
}

TEST(Half, SumsDifferencesAndProductsMatchMpfr) {
  Tally tally;
  ref::Mpfr mpfr;
  for_pairs(1'000'000, [&](std::uint16_t a, std::uint16_t b) {
    tally.compare(mpfr.add(a, b), half_add(a, b), "add", a, b);
    tally.compare(mpfr.sub(a, b), half_sub(a, b), "sub", a, b);
    tally.compare(mpfr.mul(a, b), half_mul(a, b), "mul", a, b);
  });
  tally.report("f16 add, sub, mul against MPFR", 3'000'000);
}

TEST(Half, FusedMatchesMpfr) {
  Tally tally;
  ref::Mpfr mpfr;
  const auto check = [&](std::uint16_t a, std::uint16_t b, std::uint16_t c) {
    tally.compare(mpfr.fma(a, b, c), half_fma(a, b, c), "fma", a, b, c);
  };
  const auto corners = ref::corners();
  for (const std::uint16_t a : corners)
    for (const std::uint16_t b : corners)
      for (const std::uint16_t c : corners) check(a, b, c);
  Random random(14);
  for (int n = 0; n < 1'000'000; ++n) {
    const std::uint16_t a = ref::any(random), b = ref::any(random);
    // One in two: an addend near the product, or near half a last place of it, where double rounding goes wrong.
    std::uint16_t c = ref::any(random);
    if (n % 2 == 0) c = static_cast<std::uint16_t>(half_mul(a, b) ^ (random.below(16) << (n % 4 == 0 ? 11 : 0)));
    check(a, b, c);
    check(c, 0x3c00, a);
  }
  tally.report("f16 fma against MPFR", 2'200'000);
}

TEST(Half, OrderMatchesTheHost) {
  Tally tally;
  for_pairs(1'000'000, [&](std::uint16_t a, std::uint16_t b) {
    const double x = ref::value(a), y = ref::value(b);
    tally.compare(x == y, half_eq(a, b), "eq", a, b);
    tally.compare(x < y, half_lt(a, b), "lt", a, b);
    tally.compare(x <= y, half_le(a, b), "le", a, b);
    std::uint16_t low = x < y || (x == y && std::signbit(x)) ? a : b, high = low == a ? b : a;
    if (std::isnan(x) || std::isnan(y)) low = high = std::isnan(x) ? (std::isnan(y) ? ref::kNan : b) : a;
    tally.compare(low, half_min(a, b), "min", a, b);
    tally.compare(high, half_max(a, b), "max", a, b);
  });
  tally.report("f16 order", 5'000'000);
}

TEST(Half, UnaryInstructionsOverAllInputs) {
  Tally tally;
  for (std::uint32_t a = 0; a < 0x10000; ++a) {
    const std::uint32_t other = a * 0x9e37u & 0xffffu;
    const Operand in{a | other << 16, 0};
    const auto run = [&](isa::Op op) { return static_cast<std::uint32_t>(simd(op, in, {}, {}, 0).lo); };
    tally.compare((a & 0x7fff) | (other & 0x7fff) << 16, run(isa::Op::x_abs_f16v2), "abs", a);
    tally.compare((a ^ 0x8000) | (other ^ 0x8000) << 16, run(isa::Op::x_neg_f16v2), "neg", a);
    tally.compare(a | a << 16, run(isa::Op::x_dup_f16), "dup", a);
    tally.compare(other | a << 16, run(isa::Op::x_swap_f16v2), "swap", a);
    tally.compare(other, run(isa::Op::x_high_f16), "high", a);
    const double sum = ref::value(static_cast<std::uint16_t>(a)) + ref::value(static_cast<std::uint16_t>(other));
    tally.compare(ref::nearest(sum), run(isa::Op::x_sum_f16v2), "sum", a, other);
  }
  tally.report("f16 unary instructions", 6 * 0x10000);
}

}  // namespace
}  // namespace tessera::fp
