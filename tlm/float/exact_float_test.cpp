// Every F operation over the full cross product of corner operands, in all five rounding modes, value and flags,
// against MPFR. MPFR forms the result exactly (sums, products, fused sums) or far more precisely than can matter
// (quotients, roots); this file rounds it by IEEE 754's own words with MPFR's rounding of reals to integers. Nothing is
// shared with soft.cpp, and no host floating point is used.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <cstdio>

#include "tlm/float/cases.h"
#include "tlm/float/soft.h"

namespace tessera::fp {
namespace {

using cases::Case;
using cases::Op;

constexpr Round kModes[] = {Round::rne, Round::rtz, Round::rdn, Round::rup, Round::rmm};

/// Sums of f32 products span 2^-298 to 2^257, so 640 bits hold them exactly. A quotient or root of 24-bit numbers is
/// either exact in 640 bits or differs from every number of 26 bits by far more than the bits cut off, so cutting it
/// changes no rounding; whether bits were cut is kept.
class Reference {
 public:
  Reference() {
    for (auto* v : {x_, y_, z_, exact_}) mpfr_init2(v, 640);
    for (auto* v : {scaled_, whole_, unbounded_}) mpfr_init2(v, 700);
  }
  ~Reference() {
    for (auto* v : {x_, y_, z_, exact_, scaled_, whole_, unbounded_}) mpfr_clear(v);
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  Result operator()(const Case& k) {
    switch (k.op) {
      case Op::add:
        return add(k.a, k.b, k.rm);
      case Op::sub:
        return add(k.a, k.b ^ kSignBit, k.rm);
      case Op::mul:
        return multiply(k.a, k.b, k.rm);
      case Op::madd:
        return fused(k.a, k.b, k.c, k.rm);
      case Op::msub:
        return fused(k.a, k.b, k.c ^ kSignBit, k.rm);
      case Op::nmsub:
        return fused(k.a ^ kSignBit, k.b, k.c, k.rm);
      case Op::nmadd:
        return fused(k.a ^ kSignBit, k.b, k.c ^ kSignBit, k.rm);
      case Op::div:
        return divide(k.a, k.b, k.rm);
      case Op::sqrt:
        return root(k.a, k.rm);
      case Op::cvt_s_w:
        mpfr_set_si(exact_, static_cast<std::int32_t>(k.a), MPFR_RNDN);
        return rounded(k.rm, false, false);
      case Op::cvt_s_wu:
        mpfr_set_ui(exact_, k.a, MPFR_RNDN);
        return rounded(k.rm, false, false);
      case Op::cvt_w_s:
        return to_integer(k.a, k.rm, INT32_MIN, INT32_MAX);
      case Op::cvt_wu_s:
        return to_integer(k.a, k.rm, 0, UINT32_MAX);
      default:
        return unrounded(k);
    }
  }

 private:
  static bool nan(std::uint32_t a) { return (a >> 23 & 255) == 255 && (a & 0x7fffff) != 0; }
  static bool signaling(std::uint32_t a) { return nan(a) && (a >> 22 & 1) == 0; }
  static bool infinite(std::uint32_t a) { return (a << 1) == 0xff000000u; }
  static bool zero(std::uint32_t a) { return (a << 1) == 0; }
  static bool negative(std::uint32_t a) { return a >> 31 != 0; }
  static std::uint32_t signed_(bool minus, std::uint32_t magnitude) { return (minus ? 0x80000000u : 0) | magnitude; }

  /// The value of a finite f32.
  static void set(mpfr_t v, std::uint32_t a) {
    const long biased = a >> 23 & 255, fraction = a & 0x7fffff;
    const long significand = biased == 0 ? fraction : fraction + 0x800000;
    mpfr_set_si_2exp(v, negative(a) ? -significand : significand, (biased == 0 ? 1 : biased) - 150, MPFR_RNDN);
  }
  /// whole_ = `v` as an integer in the mode.
  void integer(const mpfr_t v, Round rm) {
    switch (rm) {
      case Round::rne:
        mpfr_rint(whole_, v, MPFR_RNDN);
        break;
      case Round::rtz:
        mpfr_trunc(whole_, v);
        break;
      case Round::rdn:
        mpfr_floor(whole_, v);
        break;
      case Round::rup:
        mpfr_ceil(whole_, v);
        break;
      case Round::rmm:
        mpfr_round(whole_, v);  // halves away from zero
        break;
    }
  }
  /// scaled_ = exact_ in units of 2^place; whole_ = that rounded.
  void round_at(long place, Round rm) {
    mpfr_mul_2si(scaled_, exact_, -place, MPFR_RNDN);
    integer(scaled_, rm);
  }

  /// exact_ to f32 with flags. `minus`: sign of an exact zero. `cut`: exact_ lacks bits below its 640.
  Result rounded(Round rm, bool minus, bool cut) {
    if (mpfr_zero_p(exact_) != 0) return {signed_(minus, 0), 0};
    const bool sign = mpfr_signbit(exact_) != 0;
    // Bits that were cut matter to directed modes of results that look exact; there are none (see above), so it only
    // counts as inexact.
    const long exponent = mpfr_get_exp(exact_) - 1;
    round_at(exponent - 23, rm);
    mpfr_mul_2si(unbounded_, whole_, exponent - 23, MPFR_RNDN);
    const long unbounded = mpfr_get_exp(unbounded_) - 1;  // of the result with unbounded exponent
    if (unbounded > 127) {
      const bool up = rm == Round::rne || rm == Round::rmm || rm == (sign ? Round::rdn : Round::rup);
      return {signed_(sign, up ? 0x7f800000u : 0x7f7fffffu), kOF | kNX};
    }
    const bool tiny = unbounded < -126;
    const long place = exponent < -126 ? -149 : exponent - 23;
    round_at(place, rm);
    const bool inexact = cut || mpfr_equal_p(scaled_, whole_) == 0;
    const auto units = static_cast<std::uint32_t>(std::labs(mpfr_get_si(whole_, MPFR_RNDN)));
    // Units of a normal result count its hidden bit.
    const std::uint32_t bits = exponent < -126 ? units : (static_cast<std::uint32_t>(exponent + 126) << 23) + units;
    return {signed_(sign, bits), static_cast<std::uint8_t>(inexact ? (tiny ? kUF | kNX : kNX) : 0)};
  }

  static Result invalid() { return {0x7fc00000u, kNV}; }
  static Result quiet(std::initializer_list<std::uint32_t> operands) {
    std::uint8_t flags = 0;
    for (const std::uint32_t v : operands) flags |= signaling(v) ? kNV : 0;
    return {0x7fc00000u, flags};
  }

  Result add(std::uint32_t a, std::uint32_t b, Round rm) {
    if (nan(a) || nan(b)) return quiet({a, b});
    if (infinite(a) && infinite(b) && a != b) return invalid();
    if (infinite(a) || infinite(b)) return {infinite(a) ? a : b, 0};
    set(x_, a);
    set(y_, b);
    mpfr_add(exact_, x_, y_, MPFR_RNDN);
    // Two zeros of one sign keep it; any other sum that is zero has the mode's.
    const bool minus = zero(a) && zero(b) && a == b ? negative(a) : rm == Round::rdn;
    return rounded(rm, minus, false);
  }
  Result multiply(std::uint32_t a, std::uint32_t b, Round rm) {
    if (nan(a) || nan(b)) return quiet({a, b});
    const bool minus = negative(a) != negative(b);
    if ((infinite(a) && zero(b)) || (zero(a) && infinite(b))) return invalid();
    if (infinite(a) || infinite(b)) return {signed_(minus, 0x7f800000u), 0};
    set(x_, a);
    set(y_, b);
    mpfr_mul(exact_, x_, y_, MPFR_RNDN);
    return rounded(rm, minus, false);
  }
  Result fused(std::uint32_t a, std::uint32_t b, std::uint32_t c, Round rm) {
    if ((infinite(a) && zero(b)) || (zero(a) && infinite(b))) return invalid();  // RISC-V: also with a quiet NaN c
    if (nan(a) || nan(b) || nan(c)) return quiet({a, b, c});
    const bool minus = negative(a) != negative(b);
    if (infinite(a) || infinite(b)) {
      if (infinite(c) && negative(c) != minus) return invalid();
      return {signed_(minus, 0x7f800000u), 0};
    }
    if (infinite(c)) return {c, 0};
    set(x_, a);
    set(y_, b);
    set(z_, c);
    mpfr_fma(exact_, x_, y_, z_, MPFR_RNDN);
    const bool both_zero = (zero(a) || zero(b)) && zero(c);
    return rounded(rm, both_zero && minus == negative(c) ? minus : rm == Round::rdn, false);
  }
  Result divide(std::uint32_t a, std::uint32_t b, Round rm) {
    if (nan(a) || nan(b)) return quiet({a, b});
    const bool minus = negative(a) != negative(b);
    if ((infinite(a) && infinite(b)) || (zero(a) && zero(b))) return invalid();
    if (infinite(a)) return {signed_(minus, 0x7f800000u), 0};
    if (infinite(b) || zero(a)) return {signed_(minus, 0), 0};
    if (zero(b)) return {signed_(minus, 0x7f800000u), kDZ};
    set(x_, a);
    set(y_, b);
    const int ternary = mpfr_div(exact_, x_, y_, MPFR_RNDZ);
    return rounded(rm, minus, ternary != 0);
  }
  Result root(std::uint32_t a, Round rm) {
    if (nan(a)) return quiet({a});
    if (zero(a)) return {a, 0};
    if (negative(a)) return invalid();
    if (infinite(a)) return {a, 0};
    set(x_, a);
    const int ternary = mpfr_sqrt(exact_, x_, MPFR_RNDZ);
    return rounded(rm, false, ternary != 0);
  }
  Result to_integer(std::uint32_t a, Round rm, std::int64_t low, std::int64_t high) {
    if (nan(a) || infinite(a)) return {static_cast<std::uint32_t>(!nan(a) && negative(a) ? low : high), kNV};
    set(x_, a);
    integer(x_, rm);
    if (mpfr_cmp_si(whole_, low) < 0) return {static_cast<std::uint32_t>(low), kNV};
    if (mpfr_cmp_si(whole_, high) > 0) return {static_cast<std::uint32_t>(high), kNV};
    return {static_cast<std::uint32_t>(mpfr_get_si(whole_, MPFR_RNDN)),
            static_cast<std::uint8_t>(mpfr_equal_p(whole_, x_) != 0 ? 0 : kNX)};
  }

  /// -1, 0, 1; 2 if unordered. Infinities as MPFR has them.
  int order(std::uint32_t a, std::uint32_t b) {
    if (nan(a) || nan(b)) return 2;
    for (const auto& [v, bits] : {std::pair{x_, a}, std::pair{y_, b}}) {
      if (infinite(bits)) {
        mpfr_set_inf(v, negative(bits) ? -1 : 1);
      } else {
        set(v, bits);
      }
    }
    const int r = mpfr_cmp(x_, y_);
    return (r > 0) - (r < 0);
  }
  Result unrounded(const Case& k) {
    const std::uint32_t a = k.a, b = k.b;
    const std::uint8_t any = nan(a) || nan(b) ? kNV : 0, bad = signaling(a) || signaling(b) ? kNV : 0;
    switch (k.op) {
      case Op::sgnj:
        return {signed_(negative(b), a & 0x7fffffffu), 0};
      case Op::sgnjn:
        return {signed_(!negative(b), a & 0x7fffffffu), 0};
      case Op::sgnjx:
        return {signed_(negative(a) != negative(b), a & 0x7fffffffu), 0};
      case Op::eq:
        return {order(a, b) == 0, bad};
      case Op::lt:
        return {order(a, b) == -1, any};
      case Op::le:
        return {order(a, b) == -1 || order(a, b) == 0, any};
      case Op::min:
      case Op::max: {
        if (nan(a) && nan(b)) return {0x7fc00000u, bad};
        if (nan(a) || nan(b)) return {nan(a) ? b : a, bad};
        const bool below = order(a, b) == -1 || (order(a, b) == 0 && negative(a));
        return {below == (k.op == Op::min) ? a : b, 0};
      }
      case Op::classify: {
        const bool subnormal = (a >> 23 & 255) == 0;
        unsigned bit = negative(a) ? 1 : 6;
        if (nan(a)) {
          bit = signaling(a) ? 8 : 9;
        } else if (infinite(a)) {
          bit = negative(a) ? 0 : 7;
        } else if (zero(a)) {
          bit = negative(a) ? 3 : 4;
        } else if (subnormal) {
          bit = negative(a) ? 2 : 5;
        }
        return {1u << bit, 0};
      }
      default:
        return {a, 0};
    }
  }

  mpfr_t x_, y_, z_, exact_, scaled_, whole_, unbounded_;
};

void check(Reference& reference, const Case& k, std::uint64_t& compared, unsigned& wrong) {
  const Result want = reference(k), got = cases::reference(k);
  ++compared;
  if ((want.bits != got.bits || want.flags != got.flags) && ++wrong <= 10) {
    ADD_FAILURE() << cases::name(k.op) << " mode " << static_cast<unsigned>(k.rm) << std::hex << " " << k.a << " "
                  << k.b << " " << k.c << ": " << got.bits << " flags " << int{got.flags} << ", MPFR says " << want.bits
                  << " flags " << int{want.flags};
  }
}

TEST(ExactFloat, CornersInAllRoundingModes) {
  Reference reference;
  const auto v = cases::corners();
  const std::vector<std::uint32_t> none = {0};
  std::uint64_t all = 0;
  for (unsigned n = 0; n < static_cast<unsigned>(Op::count); ++n) {
    const auto op = static_cast<Op>(n);
    const unsigned operands = cases::operands(op);
    std::uint64_t compared = 0;
    unsigned wrong = 0;
    for (const Round rm : kModes) {
      for (const std::uint32_t a : v)
        for (const std::uint32_t b : operands > 1 ? v : none)
          for (const std::uint32_t c : operands > 2 ? v : none) check(reference, {op, rm, a, b, c}, compared, wrong);
    }
    const std::uint64_t size = v.size();
    EXPECT_EQ(compared, 5 * (operands == 1 ? size : operands == 2 ? size * size : size * size * size));
    EXPECT_EQ(wrong, 0u) << cases::name(op);
    all += compared;
  }
  std::printf("%u F operations, all corners, five modes, against MPFR: %llu comparisons\n",
              static_cast<unsigned>(Op::count), static_cast<unsigned long long>(all));
}

TEST(ExactFloat, RandomOperandsInAllRoundingModes) {
  Reference reference;
  cases::Random random(41);
  std::uint64_t compared = 0;
  unsigned wrong = 0;
  for (int round = 0; round < 20'000; ++round) {
    for (unsigned n = 0; n < static_cast<unsigned>(Op::count); ++n) {
      Case k = random.any_case(static_cast<Op>(n));
      if (round % 4 == 0) k.b &= 0xfffff000u, k.a &= 0xfffff000u;  // short operands: exact results and ties
      for (const Round rm : kModes) {
        k.rm = rm;
        check(reference, k, compared, wrong);
      }
    }
  }
  std::printf("random operands, five modes, against MPFR: %llu comparisons\n",
              static_cast<unsigned long long>(compared));
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace tessera::fp
