// The rounding operations of soft.h. Method: operands are unpacked to a 24-bit significand with its leading bit set
// (subnormals too), the exact result is formed in a 64-bit significand whose lowest bit is sticky ("jammed": or of
// everything below it), and one function rounds it. 24 result bits, a round bit and a sticky bit decide every mode, so
// a jammed significand rounds as the exact value does as long as its leading one stands at least 26 bits above bit 0.
#include "tlm/float/soft.h"

namespace tessera::fp {
namespace {

/// A finite non-zero number: value = (-1)^sign * significand * 2^(exponent - 23), significand in [2^23, 2^24).
struct Unpacked {
  bool sign;
  int exponent;
  std::uint64_t significand;
};

Unpacked unpack(std::uint32_t a) {
  const int biased = static_cast<int>(a >> 23 & 0xff);
  const std::uint32_t fraction = a & 0x007fffffu;
  const bool sign = (a & kSignBit) != 0;
  if (biased != 0) return {sign, biased - 127, fraction | 0x00800000u};
  const int shift = __builtin_clz(fraction) - 8;
  return {sign, -126 - shift, std::uint64_t{fraction} << shift};
}

/// Shift right by any amount >= 0; bits that leave are or-ed into bit 0.
std::uint64_t shift_right_jam(std::uint64_t v, int amount) {
  if (amount == 0) return v;
  if (amount > 63) return v != 0;
  return v >> amount | ((v << (64 - amount)) != 0);
}

/// Whether a magnitude grows by one last place, given its last bit and the round and sticky bits below it.
bool rounds_up(Round rm, bool sign, bool last, bool round, bool sticky) {
  switch (rm) {
    case Round::rne:
      return round && (sticky || last);
    case Round::rtz:
      return false;
    case Round::rdn:
      return sign && (round || sticky);
    case Round::rup:
      return !sign && (round || sticky);
    case Round::rmm:
      return round;
  }
  return false;
}

/// Rounds a 64-bit significand to `v >> drop`, 1 <= drop <= 63; sets `inexact`.
std::uint64_t round_off(std::uint64_t v, int drop, bool sign, Round rm, bool& inexact) {
  const bool round = v >> (drop - 1) & 1;
  const bool sticky = (v & ((std::uint64_t{1} << (drop - 1)) - 1)) != 0;
  inexact = round || sticky;
  return (v >> drop) + rounds_up(rm, sign, v >> drop & 1, round, sticky);
}

/// Rounds (-1)^sign * significand * 2^(exponent - 63) to an f32; significand is not 0 and may have its leading one
/// anywhere.
Result round_pack(bool sign, int exponent, std::uint64_t significand, Round rm) {
  const int leading = __builtin_clzll(significand);
  significand <<= leading;
  exponent -= leading;
  const std::uint32_t sign_bits = sign ? kSignBit : 0;
  bool inexact = false;
  std::uint64_t rounded = round_off(significand, 40, sign, rm, inexact);
  int rounded_exponent = exponent;
  if (rounded >> 24) {
    rounded >>= 1;
    ++rounded_exponent;
  }
  if (rounded_exponent > 127) {
    const bool to_infinity = rm == Round::rne || rm == Round::rmm || rm == (sign ? Round::rdn : Round::rup);
    return {sign_bits | (to_infinity ? kInfinity : kInfinity - 1), kOF | kNX};
  }
  if (exponent >= -126) {
    // The hidden bit adds one to the biased exponent.
    return {
        sign_bits | ((static_cast<std::uint32_t>(rounded_exponent + 126) << 23) + static_cast<std::uint32_t>(rounded)),
        static_cast<std::uint8_t>(inexact ? kNX : 0)};
  }
  // Below the normal range: round at the fixed last place 2^-149. Tiny (after rounding) unless the rounding above, with
  // unbounded exponent, reached 2^-126.
  const bool tiny = rounded_exponent < -126;
  const std::uint64_t shifted = shift_right_jam(significand, -126 - exponent);
  const std::uint64_t subnormal = round_off(shifted, 40, sign, rm, inexact);
  const std::uint8_t flags = inexact ? (tiny ? kUF | kNX : kNX) : 0;
  return {sign_bits | static_cast<std::uint32_t>(subnormal), flags};
}

Result quiet_nan(bool invalid) { return {kCanonicalNan, static_cast<std::uint8_t>(invalid ? kNV : 0)}; }

/// Sum of two finite non-zero terms (-1)^sign * significand * 2^(exponent - 62), leading ones at bit 62 or 61. Terms
/// have at most 48 significant bits, so 14 bits below are free: if a shift loses bits, exponents differ so much that
/// at most one leading bit cancels.
Result sum(bool sign_x, int exponent_x, std::uint64_t x, bool sign_y, int exponent_y, std::uint64_t y, Round rm) {
  if (exponent_x < exponent_y || (exponent_x == exponent_y && x < y)) {
    const bool sign = sign_x;
    const int exponent = exponent_x;
    const std::uint64_t significand = x;
    sign_x = sign_y, exponent_x = exponent_y, x = y;
    sign_y = sign, exponent_y = exponent, y = significand;
  }
  y = shift_right_jam(y, exponent_x - exponent_y);
  if (sign_x == sign_y) return round_pack(sign_x, exponent_x + 1, x + y, rm);
  if (x == y) return {rm == Round::rdn ? kSignBit : 0, 0};
  // y may exceed x by less than a factor of two when x's leading one is at bit 61.
  if (x < y) return round_pack(sign_y, exponent_x + 1, y - x, rm);
  return round_pack(sign_x, exponent_x + 1, x - y, rm);
}

/// Integer square root, rounded down, and whether it is exact.
std::uint64_t integer_root(std::uint64_t v, bool& exact) {
  std::uint64_t root = 0, rest = v;
  for (std::uint64_t bit = std::uint64_t{1} << 62; bit != 0; bit >>= 2) {
    const bool take = rest >= root + bit;
    if (take) rest -= root + bit;
    root = (root >> 1) + (take ? bit : 0);
  }
  exact = rest == 0;
  return root;
}

/// f32 to integer in 64 bits: truncated magnitude rounded by `rm`; saturates far above every 32-bit range.
std::int64_t round_to_integer(std::uint32_t a, Round rm, bool& inexact) {
  inexact = false;
  if (is_zero(a)) return 0;
  const Unpacked u = unpack(a);
  std::uint64_t magnitude = 0;
  if (u.exponent > 40) {
    magnitude = std::uint64_t{1} << 40;
  } else {
    // 22 bits of fraction below the integer part; smaller parts are sticky.
    const int shift = u.exponent - 23 + 22;
    const std::uint64_t fixed = shift >= 0 ? u.significand << shift : shift_right_jam(u.significand, -shift);
    magnitude = round_off(fixed, 22, u.sign, rm, inexact);
  }
  const auto value = static_cast<std::int64_t>(magnitude);
  return u.sign ? -value : value;
}

Result saturate(std::uint32_t a, Round rm, std::int64_t low, std::int64_t high) {
  if (is_nan(a)) return {static_cast<std::uint32_t>(high), kNV};
  bool inexact = false;
  const std::int64_t value = round_to_integer(a, rm, inexact);
  if (value < low) return {static_cast<std::uint32_t>(low), kNV};
  if (value > high) return {static_cast<std::uint32_t>(high), kNV};
  return {static_cast<std::uint32_t>(value), static_cast<std::uint8_t>(inexact ? kNX : 0)};
}

}  // namespace

Result add(std::uint32_t a, std::uint32_t b, Round rm) {
  if (is_nan(a) || is_nan(b)) return quiet_nan(is_signaling(a) || is_signaling(b));
  if (is_infinite(a)) return is_infinite(b) && a != b ? quiet_nan(true) : Result{a, 0};
  if (is_infinite(b)) return {b, 0};
  if (is_zero(a) && is_zero(b)) {
    if (a == b) return {a, 0};
    return {rm == Round::rdn ? kSignBit : 0, 0};
  }
  if (is_zero(a)) return {b, 0};
  if (is_zero(b)) return {a, 0};
  const Unpacked x = unpack(a), y = unpack(b);
  return sum(x.sign, x.exponent, x.significand << 39, y.sign, y.exponent, y.significand << 39, rm);
}

Result sub(std::uint32_t a, std::uint32_t b, Round rm) { return add(a, b ^ kSignBit, rm); }

Result mul(std::uint32_t a, std::uint32_t b, Round rm) {
  if (is_nan(a) || is_nan(b)) return quiet_nan(is_signaling(a) || is_signaling(b));
  const std::uint32_t sign = (a ^ b) & kSignBit;
  if (is_infinite(a) || is_infinite(b)) {
    return is_zero(a) || is_zero(b) ? quiet_nan(true) : Result{sign | kInfinity, 0};
  }
  if (is_zero(a) || is_zero(b)) return {sign, 0};
  const Unpacked x = unpack(a), y = unpack(b);
  // The product of two 24-bit significands has 47 or 48 bits; bit 46 is the unit.
  return round_pack(sign != 0, x.exponent + y.exponent + 63 - 46, x.significand * y.significand, rm);
}

Result fma(std::uint32_t a, std::uint32_t b, std::uint32_t c, Round rm) {
  const bool product_invalid = (is_infinite(a) && is_zero(b)) || (is_zero(a) && is_infinite(b));
  if (is_nan(a) || is_nan(b) || is_nan(c) || product_invalid) {
    // An invalid product raises NV even if c is a quiet NaN.
    return quiet_nan(product_invalid || is_signaling(a) || is_signaling(b) || is_signaling(c));
  }
  const std::uint32_t sign = (a ^ b) & kSignBit;
  if (is_infinite(a) || is_infinite(b)) {
    return is_infinite(c) && (c & kSignBit) != sign ? quiet_nan(true) : Result{sign | kInfinity, 0};
  }
  if (is_infinite(c)) return {c, 0};
  if (is_zero(a) || is_zero(b)) return add(sign, c, rm);
  if (is_zero(c)) return mul(a, b, rm);
  const Unpacked x = unpack(a), y = unpack(b), z = unpack(c);
  // The product's unit moves from bit 46 to 61, so its exponent counts one more in sum()'s frame (unit at bit 62).
  return sum(sign != 0, x.exponent + y.exponent + 1, (x.significand * y.significand) << 15, z.sign, z.exponent,
             z.significand << 39, rm);
}

Result div(std::uint32_t a, std::uint32_t b, Round rm) {
  if (is_nan(a) || is_nan(b)) return quiet_nan(is_signaling(a) || is_signaling(b));
  const std::uint32_t sign = (a ^ b) & kSignBit;
  if (is_infinite(a)) return is_infinite(b) ? quiet_nan(true) : Result{sign | kInfinity, 0};
  if (is_infinite(b)) return {sign, 0};
  if (is_zero(b)) return is_zero(a) ? quiet_nan(true) : Result{sign | kInfinity, kDZ};
  if (is_zero(a)) return {sign, 0};
  const Unpacked x = unpack(a), y = unpack(b);
  // Quotient of 39 or 40 bits, unit at bit 39.
  const std::uint64_t dividend = x.significand << 39;
  const std::uint64_t quotient = dividend / y.significand;
  const bool sticky = dividend % y.significand != 0;
  return round_pack(sign != 0, x.exponent - y.exponent + 63 - 39, quotient | sticky, rm);
}

Result sqrt(std::uint32_t a, Round rm) {
  if (is_nan(a)) return quiet_nan(is_signaling(a));
  if (is_zero(a)) return {a, 0};
  if ((a & kSignBit) != 0) return quiet_nan(true);
  if (is_infinite(a)) return {a, 0};
  const Unpacked x = unpack(a);
  const int odd = x.exponent & 1;
  // v = significand * 2^odd * 2^37 = value * 2^60 / 2^(exponent - odd), so the root's unit is at bit 30.
  bool exact = false;
  const std::uint64_t root = integer_root(x.significand << (37 + odd), exact);
  return round_pack(false, (x.exponent - odd) / 2 + 63 - 31, root << 1 | !exact, rm);
}

Result to_i32(std::uint32_t a, Round rm) { return saturate(a, rm, INT32_MIN, INT32_MAX); }
Result to_u32(std::uint32_t a, Round rm) { return saturate(a, rm, 0, UINT32_MAX); }

Result from_i32(std::uint32_t a, Round rm) {
  if (a == 0) return {0, 0};
  const bool sign = (a & kSignBit) != 0;
  return round_pack(sign, 63, sign ? 0u - a : a, rm);
}

Result from_u32(std::uint32_t a, Round rm) {
  if (a == 0) return {0, 0};
  return round_pack(false, 63, a, rm);
}

}  // namespace tessera::fp
