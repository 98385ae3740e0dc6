// f32 arithmetic against the host's hardware (four rounding modes, all flags), against glibc's fused multiply-add, and
// the fast paths against the integer path. RMM, which no x86 has, is compared with exact sums and products here and
// with qemu in verif/conformance.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstdio>

#include "tlm/float/cases.h"
#include "tlm/float/fast.h"
#include "tlm/float/soft.h"

namespace tessera::fp {
namespace {

using cases::Case;
using cases::Op;
using cases::Random;

std::string text(const Case& k) {
  char buffer[96];
  std::snprintf(buffer, sizeof buffer, "%s rm %u %08x %08x %08x", cases::name(k.op), static_cast<unsigned>(k.rm), k.a,
                k.b, k.c);
  return buffer;
}

float as_float(std::uint32_t a) { return detail::to_float(a); }

int fenv_mode(Round rm) {
  switch (rm) {
    case Round::rtz:
      return FE_TOWARDZERO;
    case Round::rdn:
      return FE_DOWNWARD;
    case Round::rup:
      return FE_UPWARD;
    default:
      return FE_TONEAREST;
  }
}

/// The operation on the host through fenv, in the mode of the case; NaN results canonical, since payloads differ.
/// volatile keeps the compiler from folding or moving the arithmetic.
Result on_host(const Case& k) {
  volatile float a = as_float(k.a), b = as_float(k.b), c = as_float(k.c), r = 0;
  std::fesetround(fenv_mode(k.rm));
  std::feclearexcept(FE_ALL_EXCEPT);
  switch (k.op) {
    case Op::add:
      r = a + b;
      break;
    case Op::sub:
      r = a - b;
      break;
    case Op::mul:
      r = a * b;
      break;
    case Op::div:
      r = a / b;
      break;
    case Op::sqrt:
      r = std::sqrt(a);
      break;
    case Op::madd:
      r = __builtin_fmaf(a, b, c);
      break;
    case Op::msub:
      r = __builtin_fmaf(a, b, -c);
      break;
    case Op::nmsub:
      r = __builtin_fmaf(-a, b, c);
      break;
    case Op::nmadd:
      r = __builtin_fmaf(-a, b, -c);
      break;
    case Op::cvt_s_w:
      r = static_cast<float>(static_cast<std::int32_t>(k.a));
      break;
    case Op::cvt_s_wu:
      r = static_cast<float>(static_cast<std::int64_t>(k.a));
      break;
    default:
      ADD_FAILURE() << "no host form";
  }
  const int e = std::fetestexcept(FE_ALL_EXCEPT);
  std::fesetround(FE_TONEAREST);
  std::uint32_t bits = detail::to_bits(r);
  if (is_nan(bits)) bits = kCanonicalNan;
  return {bits, static_cast<std::uint8_t>((e & FE_INEXACT ? kNX : 0) | (e & FE_UNDERFLOW ? kUF : 0) |
                                          (e & FE_OVERFLOW ? kOF : 0) | (e & FE_DIVBYZERO ? kDZ : 0) |
                                          (e & FE_INVALID ? kNV : 0))};
}

/// fflags of inf*0 + quiet NaN are left open by IEEE 754; hosts differ, RISC-V says NV.
bool open_in_ieee(const Case& k) {
  return cases::operands(k.op) == 3 && is_nan(k.c) &&
         ((is_infinite(k.a) && is_zero(k.b)) || (is_zero(k.a) && is_infinite(k.b)));
}

class Tally {
 public:
  void compare(const Case& k, Result expected, Result actual) {
    ++count_;
    if (expected.bits == actual.bits && expected.flags == actual.flags) return;
    if (++wrong_ <= 10) {
      ADD_FAILURE() << text(k) << std::hex << ": expected " << expected.bits << " flags " << int{expected.flags}
                    << ", got " << actual.bits << " flags " << int{actual.flags};
    }
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

constexpr Op kHostOps[] = {Op::add,  Op::sub,   Op::mul,   Op::div,     Op::sqrt,    Op::madd,
                           Op::msub, Op::nmsub, Op::nmadd, Op::cvt_s_w, Op::cvt_s_wu};
constexpr Round kHostModes[] = {Round::rne, Round::rtz, Round::rdn, Round::rup};

/// glibc's fmaf without hardware FMA is exact in value but may set underflow by other rules; hardware is what we want.
bool host_fma_is_hardware() {
#if TESSERA_FLOAT_SSE
  return __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

TEST(Soft, CornersMatchTheHost) {
  const auto v = cases::corners();
  Tally tally;
  for (const Op op : kHostOps) {
    if (cases::operands(op) == 3 && !host_fma_is_hardware()) continue;
    for (const Round rm : kHostModes) {
      for (std::size_t i = 0; i < v.size(); ++i) {
        for (std::size_t j = 0; j < (cases::operands(op) > 1 ? v.size() : 1); ++j) {
          for (std::size_t k = 0; k < (cases::operands(op) > 2 ? v.size() : 1); ++k) {
            const Case c{op, rm, v[i], v[j], v[k]};
            if (!open_in_ieee(c)) tally.compare(c, on_host(c), cases::reference(c));
          }
        }
      }
    }
  }
  tally.report("corners, integer path against the host", 50'000);
}

TEST(Soft, RandomMatchesTheHost) {
  Random random(1);
  Tally tally;
  for (int n = 0; n < 200'000; ++n) {
    for (const Op op : kHostOps) {
      if (cases::operands(op) == 3 && !host_fma_is_hardware()) continue;
      Case c = random.any_case(op);
      if (c.rm == Round::rmm) c.rm = Round::rne;
      if (!open_in_ieee(c)) tally.compare(c, on_host(c), cases::reference(c));
    }
  }
  tally.report("random, integer path against the host", 1'000'000);
}

/// Nearest with ties away from zero, by another way: RDN and RUP bracket the exact value, and 128-bit integers tell
/// which is nearer. Addition and multiplication only: their exact results are integers times a power of two.
Result rmm_by_bracketing(Op op, std::uint32_t a, std::uint32_t b) {
  const Case down{op, Round::rdn, a, b, 0}, up{op, Round::rup, a, b, 0};
  const Result low = cases::reference(down), high = cases::reference(up);
  if (low.bits == high.bits) return low;
  const double x = as_float(a), y = as_float(b);
  const long double exact = op == Op::mul ? static_cast<long double>(x) * y : static_cast<long double>(x) + y;
  const long double below = exact - as_float(low.bits), above = as_float(high.bits) - exact;
  if (below != above) return below < above ? low : high;
  return exact < 0 ? low : high;
}

TEST(Soft, TiesAwayPicksTheNearer) {
  Random random(2);
  std::uint64_t compared = 0, ties = 0;
  for (int n = 0; n < 400'000; ++n) {
    // Close exponents around one, so that a long double (64 bits) holds sums and products exactly, and short fractions,
    // so that ties happen.
    const std::uint32_t mask = 0x007fffffu << random.below(13);
    const std::uint32_t a = (static_cast<std::uint32_t>(random.next()) & kSignBit) | ((120 + random.below(14)) << 23) |
                            (random.below(0x800000) & mask & 0x007fffffu);
    const std::uint32_t b = (static_cast<std::uint32_t>(random.next()) & kSignBit) | ((120 + random.below(14)) << 23) |
                            random.below(0x800000) >> 11 << 11;
    for (const Op op : {Op::add, Op::mul}) {
      const Result want = rmm_by_bracketing(op, a, b);
      const Result got = cases::reference({op, Round::rmm, a, b, 0});
      ASSERT_EQ(want.bits, got.bits) << text({op, Round::rmm, a, b, 0});
      ++compared;
      if (got.bits != cases::reference({op, Round::rne, a, b, 0}).bits) ++ties;
    }
  }
  std::printf("ties away: %llu comparisons, %llu where ties to even differs\n",
              static_cast<unsigned long long>(compared), static_cast<unsigned long long>(ties));
  EXPECT_GT(ties, 1000u);
}

std::int64_t rint_to(double v, Round rm) {
  if (rm == Round::rmm) return std::llround(v);
  std::fesetround(fenv_mode(rm));
  const std::int64_t r = std::llrint(v);
  std::fesetround(FE_TONEAREST);
  return r;
}

TEST(Soft, ConversionsToIntegersSaturate) {
  auto values = cases::corners();
  Random random(3);
  for (int n = 0; n < 200'000; ++n) values.push_back(random.value());
  for (int n = 0; n < 100'000; ++n) {  // around halves of small integers
    values.push_back(detail::to_bits(static_cast<float>(static_cast<int>(random.below(4096)) - 2048) / 4.0f));
  }
  Tally tally;
  for (const std::uint32_t a : values) {
    for (unsigned m = 0; m < 5; ++m) {
      const auto rm = static_cast<Round>(m);
      for (const Op op : {Op::cvt_w_s, Op::cvt_wu_s}) {
        const std::int64_t low = op == Op::cvt_w_s ? INT32_MIN : 0, high = op == Op::cvt_w_s ? INT32_MAX : UINT32_MAX;
        Result want{static_cast<std::uint32_t>(high), kNV};
        const double v = as_float(a);
        if (v < -1e12) {
          want.bits = static_cast<std::uint32_t>(low);
        } else if (v < 1e12) {
          const std::int64_t r = rint_to(v, rm);
          if (r < low) want.bits = static_cast<std::uint32_t>(low);
          if (r >= low && r <= high) {
            want = {static_cast<std::uint32_t>(r), static_cast<std::uint8_t>(static_cast<double>(r) != v ? kNX : 0)};
          }
        }
        const Case k{op, rm, a, 0, 0};
        tally.compare(k, want, cases::reference(k));
      }
    }
  }
  tally.report("f32 to integers against llrint", 1'000'000);
}

TEST(Soft, OrderMatchesTheHost) {
  auto values = cases::corners();
  std::uint64_t compared = 0;
  for (const std::uint32_t a : values) {
    for (const std::uint32_t b : values) {
      const float x = as_float(a), y = as_float(b);
      EXPECT_EQ(feq(a, b).bits, static_cast<std::uint32_t>(x == y));
      EXPECT_EQ(flt(a, b).bits, static_cast<std::uint32_t>(std::isless(x, y)));
      EXPECT_EQ(fle(a, b).bits, static_cast<std::uint32_t>(std::islessequal(x, y)));
      const bool any_nan = std::isnan(x) || std::isnan(y);
      EXPECT_EQ(flt(a, b).flags, any_nan ? kNV : 0);
      if (!any_nan && x != y) {
        EXPECT_EQ(min(a, b).bits, x < y ? a : b);
        EXPECT_EQ(max(a, b).bits, x < y ? b : a);
      }
      compared += 4;
    }
    const int kind = std::fpclassify(as_float(a));
    const bool negative = (a & kSignBit) != 0;
    const unsigned want = kind == FP_NAN         ? ((a & 0x00400000u) != 0 ? 9 : 8)
                          : kind == FP_INFINITE  ? (negative ? 0 : 7)
                          : kind == FP_ZERO      ? (negative ? 3 : 4)
                          : kind == FP_SUBNORMAL ? (negative ? 2 : 5)
                                                 : (negative ? 1 : 6);
    EXPECT_EQ(classify(a), 1u << want);
  }
  std::printf("order: %llu comparisons\n", static_cast<unsigned long long>(compared));
}

// Underflow at the border of the normal numbers: tininess after rounding, in every mode (product just below 2^-126).
TEST(Soft, UnderflowAtTheNormalBorder) {
  const std::uint32_t tiny = 0x00800000u, below_one = 0x3f7fffffu;
  const Result up = mul(tiny, below_one, Round::rup), near = mul(tiny, below_one, Round::rne);
  // 2^-126 * (1 - 2^-24) = 2^-126 - 2^-150 fits in 24 bits with unbounded exponent: tiny in every mode.
  EXPECT_EQ(up.bits, 0x00800000u);
  EXPECT_EQ(up.flags, kUF | kNX);
  EXPECT_EQ(near.bits, 0x00800000u);
  EXPECT_EQ(near.flags, kUF | kNX);
  for (const Round rm : {Round::rtz, Round::rdn}) {
    EXPECT_EQ(mul(tiny, below_one, rm).bits, 0x007fffffu);
    EXPECT_EQ(mul(tiny, below_one, rm).flags, kUF | kNX);
  }
  EXPECT_EQ(mul(tiny, below_one, Round::rmm).bits, 0x00800000u);
  EXPECT_EQ(mul(tiny, below_one, Round::rmm).flags, kUF | kNX);
  // (1 + 2^-23) times the second largest subnormal: between two subnormals, far nearer to the lower.
  for (unsigned m = 0; m < 5; ++m) {
    const auto rm = static_cast<Round>(m);
    const Result r = mul(0x3f800001u, 0x007ffffeu, rm);
    EXPECT_EQ(r.bits, rm == Round::rtz || rm == Round::rdn ? 0x007ffffeu : 0x007fffffu) << m;
    EXPECT_EQ(r.flags, kUF | kNX) << m;
  }
  const Result exact = div(0x00000001u, 0x3f800000u, Round::rne);
  EXPECT_EQ(exact.bits, 1u);
  EXPECT_EQ(exact.flags, 0);  // an exact subnormal raises nothing
  // fma reaches exactly the case that is not tiny: 2^-126 - 2^-151, which 24 bits round to 2^-126.
  const Result border = fma(0x80800000u, 0x33000000u, 0x00800000u, Round::rne);
  EXPECT_EQ(border.bits, 0x00800000u);
  EXPECT_EQ(border.flags, kNX);
  EXPECT_EQ(fma(0x80800000u, 0x33000000u, 0x00800000u, Round::rtz).flags, kUF | kNX);
}

TEST(Soft, MinimumAndMaximumPreferNumbers) {
  struct Row {
    std::uint32_t a, b, minimum, maximum;
    std::uint8_t flags;
  };
  const std::uint32_t one = 0x3f800000u;
  for (const Row& r :
       {Row{0x7f800001u, one, one, one, kNV}, Row{one, 0xff800001u, one, one, kNV}, Row{0x7fc00001u, one, one, one, 0},
        Row{one, 0x7fc00001u, one, one, 0}, Row{0x7fc00001u, 0xffc00001u, kCanonicalNan, kCanonicalNan, 0},
        Row{0x7f800001u, 0x7fc00001u, kCanonicalNan, kCanonicalNan, kNV}, Row{0x80000000u, 0, 0x80000000u, 0, 0},
        Row{0, 0x80000000u, 0x80000000u, 0, 0}}) {
    EXPECT_EQ(min(r.a, r.b).bits, r.minimum);
    EXPECT_EQ(min(r.a, r.b).flags, r.flags);
    EXPECT_EQ(max(r.a, r.b).bits, r.maximum);
    EXPECT_EQ(max(r.a, r.b).flags, r.flags);
    FlagScope scope;
    EXPECT_EQ(fast::min(r.a, r.b), r.minimum);
    EXPECT_EQ(scope.take(), r.flags);
    EXPECT_EQ(fast::max(r.a, r.b), r.maximum);
    EXPECT_EQ(scope.take(), r.flags);
  }
}

std::uint32_t run_fast(const Case& k) {
  switch (k.op) {
    case Op::add:
      return fast::add(k.a, k.b);
    case Op::sub:
      return fast::sub(k.a, k.b);
    case Op::mul:
      return fast::mul(k.a, k.b);
    case Op::div:
      return fast::div(k.a, k.b);
    case Op::sqrt:
      return fast::sqrt(k.a);
    case Op::madd:
      return fast::fma(k.a, k.b, k.c);
    case Op::msub:
      return fast::fmsub(k.a, k.b, k.c);
    case Op::nmsub:
      return fast::fnmsub(k.a, k.b, k.c);
    case Op::nmadd:
      return fast::fnmadd(k.a, k.b, k.c);
    case Op::min:
      return fast::min(k.a, k.b);
    case Op::max:
      return fast::max(k.a, k.b);
    case Op::eq:
      return fast::feq(k.a, k.b);
    case Op::lt:
      return fast::flt(k.a, k.b);
    case Op::le:
      return fast::fle(k.a, k.b);
    case Op::cvt_w_s:
      return k.rm == Round::rtz ? fast::to_i32_rtz(k.a) : fast::to_i32(k.a);
    case Op::cvt_wu_s:
      return fast::to_u32_rtz(k.a);
    case Op::cvt_s_w:
      return fast::from_i32(k.a);
    case Op::cvt_s_wu:
      return fast::from_u32(k.a);
    default:
      return cases::reference(k).bits;
  }
}

Round fast_mode(Op op, Round rm) {
  if (op == Op::cvt_wu_s) return Round::rtz;
  return op == Op::cvt_w_s && rm == Round::rtz ? Round::rtz : Round::rne;
}

TEST(Fast, MatchesTheIntegerPath) {
  const auto v = cases::corners();
  Random random(4);
  Tally tally;
  for (unsigned n = 0; n < static_cast<unsigned>(Op::count); ++n) {
    const auto op = static_cast<Op>(n);
    const auto check = [&](Case k) {
      k.rm = fast_mode(op, k.rm);
      FlagScope scope;
      const std::uint32_t bits = run_fast(k);
      tally.compare(k, cases::reference(k), {bits, scope.take()});
    };
    for (const std::uint32_t a : v) {
      for (const std::uint32_t b : v) {
        if (cases::operands(op) < 3) check({op, random.below(2) != 0 ? Round::rtz : Round::rne, a, b, 0});
        for (std::size_t k = 0; cases::operands(op) == 3 && k < v.size(); ++k) check({op, Round::rne, a, b, v[k]});
      }
    }
    for (int i = 0; i < 100'000; ++i) check(random.any_case(op));
  }
  tally.report("fast paths against the integer path", 2'000'000);
}

#if TESSERA_FLOAT_SSE
TEST(Fast, FusedWithoutHostFmaMatches) {
  const auto v = cases::corners();
  Random random(5);
  Tally tally;
  const auto check = [&](const Case& k) {
    FlagScope scope;
    const std::uint32_t bits = fast::x86::fma_portable(k.a, k.b, k.c);
    tally.compare(k, cases::reference(k), {bits, scope.take()});
  };
  for (const std::uint32_t a : v) {
    for (const std::uint32_t b : v) {
      for (const std::uint32_t c : v) check({Op::madd, Round::rne, a, b, c});
    }
  }
  for (int i = 0; i < 1'000'000; ++i) {
    Case k = random.any_case(Op::madd);
    k.rm = Round::rne;
    check(k);
  }
  tally.report("fused multiply-add by binary64", 1'100'000);
}
#endif

TEST(Fast, FlagsAccrueUntilTakenAndTheHostKeepsItsOwn) {
  std::feclearexcept(FE_ALL_EXCEPT);
  std::fesetround(FE_UPWARD);
  {
    FlagScope scope;
    EXPECT_EQ(fast::div(0x3f800000u, 0x40400000u), 0x3eaaaaabu);  // 1/3, to nearest whatever the host's mode was
    EXPECT_EQ(fast::div(0x3f800000u, 0), kInfinity);
    EXPECT_EQ(scope.peek(), kNX | kDZ);
    EXPECT_EQ(scope.take(), kNX | kDZ);
    EXPECT_EQ(scope.take(), 0);
    EXPECT_EQ(fast::add(0x7f7fffffu, 0x7f7fffffu), kInfinity);
  }
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);
  std::fesetround(FE_TONEAREST);
}

// Whatever operation makes a NaN, it is 0x7fc00000: no payload or sign of operand or host.
TEST(Soft, EveryNanIsCanonical) {
  const auto v = cases::corners();
  std::uint64_t nans = 0;
  for (unsigned n = 0; n < static_cast<unsigned>(Op::count); ++n) {
    const auto op = static_cast<Op>(n);
    if (op >= Op::sgnj && op <= Op::sgnjx) continue;
    if (op == Op::move || op == Op::cvt_w_s || op == Op::cvt_wu_s) continue;
    for (const std::uint32_t a : v) {
      for (const std::uint32_t b : v) {
        for (const std::uint32_t c : {0x3f800000u, 0xffc12345u, 0x7f800001u, 0xff800000u}) {
          const Case k{op, Round::rne, a, b, c};
          FlagScope scope;
          for (const std::uint32_t r : {cases::reference(k).bits, run_fast(k)}) {
            if (!is_nan(r)) continue;
            ++nans;
            ASSERT_EQ(r, kCanonicalNan) << text(k);
          }
        }
      }
    }
  }
  std::printf("canonical: %llu NaN results\n", static_cast<unsigned long long>(nans));
  EXPECT_GT(nans, 10'000u);
}

}  // namespace
}  // namespace tessera::fp
