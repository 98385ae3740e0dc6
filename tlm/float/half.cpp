// Lane arithmetic of half.h. Method: every finite f16 is an integer times 2^-24 and every product of two an integer
// times 2^-48, below 2^32; so sums, products and fused sums are exact in 128-bit fixed point, and one function rounds
// them. Nothing here is fast; simd_fast.h is.
#include "tlm/float/half.h"

#include "tlm/float/soft.h"

namespace tessera::fp {
namespace {

__extension__ using Wide = __int128;
__extension__ using Magnitude = unsigned __int128;

constexpr std::uint16_t kSign = 0x8000, kInf = 0x7c00;

constexpr bool half_is_nan(std::uint16_t a) { return (a & 0x7fff) > kInf; }
constexpr bool half_is_infinite(std::uint16_t a) { return (a & 0x7fff) == kInf; }
constexpr bool half_is_zero(std::uint16_t a) { return (a & 0x7fff) == 0; }

/// A finite f16 in units of 2^-24.
Wide fixed(std::uint16_t a) {
  const int biased = a >> 10 & 0x1f;
  const int fraction = a & 0x3ff;
  const Wide magnitude = biased == 0 ? Wide{fraction} : Wide{fraction | 0x400} << (biased - 1);
  return (a & kSign) != 0 ? -magnitude : magnitude;
}

/// Bits of a non-zero number.
int width(Magnitude v) {
  const auto high = static_cast<std::uint64_t>(v >> 64);
  return high != 0 ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll(static_cast<std::uint64_t>(v));
}

/// The f16 whose magnitude is `units` last places of 2^(place - 24), units <= 2^11, place 0..; hidden bit set unless
/// place is 0. Adding the units carries into the exponent, so a rounding up to the next binade needs no case of its
/// own.
std::uint16_t assemble(std::uint16_t sign, int place, std::uint32_t units) {
  const std::uint32_t bits = (static_cast<std::uint32_t>(place) << 10) + units;
  return static_cast<std::uint16_t>(sign | (bits > kInf ? kInf : bits));
}

/// Nearest even of a non-zero v in units of 2^-(24 + below).
std::uint16_t round_fixed(Wide v, int below) {
  const std::uint16_t sign = v < 0 ? kSign : 0;
  const Magnitude magnitude = v < 0 ? -static_cast<Magnitude>(v) : static_cast<Magnitude>(v);
  const int leading = width(magnitude) - 1 - below;  // of the leading one, over 2^-24
  const int place = leading > 10 ? leading - 10 : 0;
  if (place > 30) return sign | kInf;
  const int drop = place + below;
  auto units = static_cast<std::uint32_t>(magnitude >> drop);
  if (drop > 0) {
    const Magnitude rest = magnitude & ((Magnitude{1} << drop) - 1), half = Magnitude{1} << (drop - 1);
    units += rest > half || (rest == half && (units & 1) != 0);
  }
  return assemble(sign, place, units);
}

/// Sign and magnitude in one order: -inf .. -0 < +0 .. +inf. Not for NaNs.
constexpr int key(std::uint16_t a) { return (a & kSign) != 0 ? -1 - (a & 0x7fff) : a; }

/// A finite non-zero f32 cut to the last place of its f16: units and place for assemble(), and the dropped bits.
struct Cut {
  int place;
  std::uint32_t units;
  int drop;               ///< how many bits are dropped, at least 13
  std::uint32_t dropped;  ///< their value
};

Cut cut(std::uint32_t a) {
  const int biased = static_cast<int>(a >> 23 & 0xff);
  const std::uint32_t fraction = a & 0x007fffffu;
  const std::uint32_t significand = biased == 0 ? fraction : fraction | 0x00800000u;
  const int unit = (biased == 0 ? 1 : biased) - 150;  // value = significand * 2^unit
  // A normal f16 keeps 11 of the 24 bits; below 2^-14 the last place stays 2^-24. f32 subnormals are below anyway.
  const int last = biased >= 127 - 14 ? unit + 13 : -24;
  const int drop = last - unit;
  if (drop >= 32) return {0, 0, drop, significand};
  return {last + 24, significand >> drop, drop, significand & ((std::uint32_t{1} << drop) - 1)};
}

}  // namespace

std::uint16_t half_add(std::uint16_t a, std::uint16_t b) {
  if (half_is_nan(a) || half_is_nan(b)) return kCanonicalHalfNan;
  if (half_is_infinite(a)) return half_is_infinite(b) && a != b ? kCanonicalHalfNan : a;
  if (half_is_infinite(b)) return b;
  const Wide sum = fixed(a) + fixed(b);
  // An exact zero is +0, but the sum of two -0 is -0.
  return sum == 0 ? static_cast<std::uint16_t>(a & b & kSign) : round_fixed(sum, 0);
}

std::uint16_t half_sub(std::uint16_t a, std::uint16_t b) { return half_add(a, b ^ kSign); }

std::uint16_t half_mul(std::uint16_t a, std::uint16_t b) {
  if (half_is_nan(a) || half_is_nan(b)) return kCanonicalHalfNan;
  const std::uint16_t sign = (a ^ b) & kSign;
  if (half_is_infinite(a) || half_is_infinite(b)) {
    return half_is_zero(a) || half_is_zero(b) ? kCanonicalHalfNan : static_cast<std::uint16_t>(sign | kInf);
  }
  const Wide product = fixed(a) * fixed(b);
  return product == 0 ? sign : round_fixed(product, 24);
}

std::uint16_t half_fma(std::uint16_t a, std::uint16_t b, std::uint16_t c) {
  if (half_is_nan(a) || half_is_nan(b) || half_is_nan(c)) return kCanonicalHalfNan;
  const std::uint16_t sign = (a ^ b) & kSign;
  if (half_is_infinite(a) || half_is_infinite(b)) {
    if (half_is_zero(a) || half_is_zero(b)) return kCanonicalHalfNan;
    return half_is_infinite(c) && (c & kSign) != sign ? kCanonicalHalfNan : static_cast<std::uint16_t>(sign | kInf);
  }
  if (half_is_infinite(c)) return c;
  const Wide product = fixed(a) * fixed(b);
  const Wide sum = product + fixed(c) * (Wide{1} << 24);
  if (sum != 0) return round_fixed(sum, 24);
  // A zero product has a sign too; a product that cancels against c gives +0.
  return product == 0 ? static_cast<std::uint16_t>(sign & c) : std::uint16_t{0};
}

std::uint16_t half_min(std::uint16_t a, std::uint16_t b) {
  if (half_is_nan(a)) return half_is_nan(b) ? kCanonicalHalfNan : b;
  if (half_is_nan(b)) return a;
  return key(a) < key(b) ? a : b;
}

std::uint16_t half_max(std::uint16_t a, std::uint16_t b) {
  if (half_is_nan(a)) return half_is_nan(b) ? kCanonicalHalfNan : b;
  if (half_is_nan(b)) return a;
  return key(a) > key(b) ? a : b;
}

bool half_eq(std::uint16_t a, std::uint16_t b) {
  return !half_is_nan(a) && !half_is_nan(b) && (a == b || (half_is_zero(a) && half_is_zero(b)));
}

bool half_lt(std::uint16_t a, std::uint16_t b) {
  return !half_is_nan(a) && !half_is_nan(b) && !half_eq(a, b) && key(a) < key(b);
}

bool half_le(std::uint16_t a, std::uint16_t b) { return half_lt(a, b) || half_eq(a, b); }

std::uint32_t half_to_f32(std::uint16_t a) {
  if (half_is_nan(a)) return kCanonicalNan;
  const std::uint32_t sign = static_cast<std::uint32_t>(a & kSign) << 16;
  if (half_is_infinite(a)) return sign | kInfinity;
  if (half_is_zero(a)) return sign;
  // An integer below 2^24 in units of 2^-24 when subnormal, else fraction bits move up by 13 and the bias grows by 112.
  if ((a & kInf) != 0) return sign | ((static_cast<std::uint32_t>(a & 0x7fff) << 13) + (112u << 23));
  const std::uint32_t fraction = a & 0x3ffu;
  const int leading = 31 - __builtin_clz(fraction);
  return sign | (static_cast<std::uint32_t>(leading - 24 + 127) << 23) | ((fraction << (23 - leading)) & 0x007fffffu);
}

std::uint16_t half_from_f32(std::uint32_t a) {
  if (is_nan(a)) return kCanonicalHalfNan;
  const auto sign = static_cast<std::uint16_t>(a >> 16 & kSign);
  if (is_zero(a)) return sign;
  if (is_infinite(a)) return sign | kInf;
  const Cut c = cut(a);
  if (c.place > 30) return sign | kInf;
  if (c.drop > 25) return sign;  // the significand is below half a last place
  const std::uint32_t half = std::uint32_t{1} << (c.drop - 1);
  const bool up = c.dropped > half || (c.dropped == half && (c.units & 1) != 0);
  return assemble(sign, c.place, c.units + up);
}

std::uint16_t half_from_f32_stochastic(std::uint32_t a, std::uint16_t r) {
  if (is_nan(a)) return kCanonicalHalfNan;
  const auto sign = static_cast<std::uint16_t>(a >> 16 & kSign);
  if (is_zero(a)) return sign;
  if (is_infinite(a)) return sign | kInf;
  const Cut c = cut(a);
  if (c.place > 30) return sign | kInf;
  std::uint32_t top = 0;  // the top 16 of the dropped bits
  if (c.drop < 16) {
    top = c.dropped << (16 - c.drop);
  } else if (c.drop - 16 < 24) {
    top = c.dropped >> (c.drop - 16);
  }
  return assemble(sign, c.place, c.units + (top + r >= 0x10000u));
}

}  // namespace tessera::fp
