// f32 arithmetic of RISC-V F in integers alone: every operation, rounding mode and flag, the same on every host and at
// every optimisation level. This is the reference; fast.h has the paths that use the host's floating point.
//
// Values travel as their 32 bits. A NaN result is always kCanonicalNan, tininess is detected after rounding, and no
// operation looks at state outside its arguments: flags are returned, not accrued.
#pragma once

#include <cstdint>

namespace tessera::fp {

/// Rounding modes, with the values of frm. 5 to 7 are reserved: the tile traps, callers never pass them.
enum class Round : std::uint8_t { rne = 0, rtz = 1, rdn = 2, rup = 3, rmm = 4 };

/// Bits of fflags.
enum Flag : std::uint8_t { kNX = 1, kUF = 2, kOF = 4, kDZ = 8, kNV = 16 };

inline constexpr std::uint32_t kCanonicalNan = 0x7fc00000u;
inline constexpr std::uint32_t kSignBit = 0x80000000u;
inline constexpr std::uint32_t kInfinity = 0x7f800000u;

/// Result of an operation: its bits (an f32, or an integer where the operation makes one) and the flags it raises.
struct Result {
  std::uint32_t bits = 0;
  std::uint8_t flags = 0;
};

[[nodiscard]] constexpr bool is_nan(std::uint32_t a) { return (a & ~kSignBit) > kInfinity; }
[[nodiscard]] constexpr bool is_signaling(std::uint32_t a) { return is_nan(a) && (a & 0x00400000u) == 0; }
[[nodiscard]] constexpr bool is_infinite(std::uint32_t a) { return (a & ~kSignBit) == kInfinity; }
[[nodiscard]] constexpr bool is_zero(std::uint32_t a) { return (a & ~kSignBit) == 0; }

[[nodiscard]] Result add(std::uint32_t a, std::uint32_t b, Round rm);
[[nodiscard]] Result sub(std::uint32_t a, std::uint32_t b, Round rm);
[[nodiscard]] Result mul(std::uint32_t a, std::uint32_t b, Round rm);
[[nodiscard]] Result div(std::uint32_t a, std::uint32_t b, Round rm);
[[nodiscard]] Result sqrt(std::uint32_t a, Round rm);

/// a*b + c with one rounding (fmadd.s). The other three negate operands, which changes no NaN result.
[[nodiscard]] Result fma(std::uint32_t a, std::uint32_t b, std::uint32_t c, Round rm);
[[nodiscard]] inline Result fmsub(std::uint32_t a, std::uint32_t b, std::uint32_t c, Round rm) {
  return fma(a, b, c ^ kSignBit, rm);
}
[[nodiscard]] inline Result fnmsub(std::uint32_t a, std::uint32_t b, std::uint32_t c, Round rm) {
  return fma(a ^ kSignBit, b, c, rm);
}
[[nodiscard]] inline Result fnmadd(std::uint32_t a, std::uint32_t b, std::uint32_t c, Round rm) {
  return fma(a ^ kSignBit, b, c ^ kSignBit, rm);
}

/// f32 to integer, saturating; NaN gives the largest value. Only NV is raised when the value does not fit.
[[nodiscard]] Result to_i32(std::uint32_t a, Round rm);
[[nodiscard]] Result to_u32(std::uint32_t a, Round rm);
[[nodiscard]] Result from_i32(std::uint32_t a, Round rm);
[[nodiscard]] Result from_u32(std::uint32_t a, Round rm);

[[nodiscard]] constexpr std::uint32_t sgnj(std::uint32_t a, std::uint32_t b) {
  return (a & ~kSignBit) | (b & kSignBit);
}
[[nodiscard]] constexpr std::uint32_t sgnjn(std::uint32_t a, std::uint32_t b) { return sgnj(a, ~b); }
[[nodiscard]] constexpr std::uint32_t sgnjx(std::uint32_t a, std::uint32_t b) { return a ^ (b & kSignBit); }

/// Order of two numbers; false if one is NaN. -0 equals +0.
[[nodiscard]] constexpr bool less(std::uint32_t a, std::uint32_t b) {
  if (is_nan(a) || is_nan(b)) return false;
  if (((a | b) & ~kSignBit) == 0) return false;
  const bool negative_a = (a & kSignBit) != 0, negative_b = (b & kSignBit) != 0;
  if (negative_a != negative_b) return negative_a;
  return negative_a ? b < a : a < b;
}
[[nodiscard]] constexpr bool equal(std::uint32_t a, std::uint32_t b) {
  return !is_nan(a) && !is_nan(b) && (a == b || ((a | b) & ~kSignBit) == 0);
}

/// feq is quiet: only a signaling NaN raises NV. flt and fle raise it for every NaN.
[[nodiscard]] constexpr Result feq(std::uint32_t a, std::uint32_t b) {
  return {equal(a, b), static_cast<std::uint8_t>(is_signaling(a) || is_signaling(b) ? kNV : 0)};
}
[[nodiscard]] constexpr Result flt(std::uint32_t a, std::uint32_t b) {
  return {less(a, b), static_cast<std::uint8_t>(is_nan(a) || is_nan(b) ? kNV : 0)};
}
[[nodiscard]] constexpr Result fle(std::uint32_t a, std::uint32_t b) {
  return {less(a, b) || equal(a, b), static_cast<std::uint8_t>(is_nan(a) || is_nan(b) ? kNV : 0)};
}

/// IEEE 754-2019 minimumNumber and maximumNumber: a number beats a NaN, -0 is below +0, NV for a signaling NaN.
[[nodiscard]] constexpr Result min(std::uint32_t a, std::uint32_t b) {
  const std::uint8_t flags = is_signaling(a) || is_signaling(b) ? kNV : 0;
  if (is_nan(a)) return {is_nan(b) ? kCanonicalNan : b, flags};
  if (is_nan(b)) return {a, flags};
  const bool take_a = less(a, b) || (equal(a, b) && (a & kSignBit) != 0);
  return {take_a ? a : b, flags};
}
[[nodiscard]] constexpr Result max(std::uint32_t a, std::uint32_t b) {
  const std::uint8_t flags = is_signaling(a) || is_signaling(b) ? kNV : 0;
  if (is_nan(a)) return {is_nan(b) ? kCanonicalNan : b, flags};
  if (is_nan(b)) return {a, flags};
  const bool take_a = less(b, a) || (equal(a, b) && (a & kSignBit) == 0);
  return {take_a ? a : b, flags};
}

/// The class mask of fclass.s: bit 0 -inf, 1 -normal, 2 -subnormal, 3 -0, 4 +0, 5 +subnormal, 6 +normal, 7 +inf,
/// 8 signaling NaN, 9 quiet NaN.
[[nodiscard]] constexpr std::uint32_t classify(std::uint32_t a) {
  if (is_nan(a)) return is_signaling(a) ? 1u << 8 : 1u << 9;
  const bool negative = (a & kSignBit) != 0;
  const std::uint32_t exponent = a >> 23 & 0xff, fraction = a & 0x007fffffu;
  const unsigned positive_bit = exponent == 0xff ? 7 : exponent != 0 ? 6 : fraction != 0 ? 5 : 4;
  return 1u << (negative ? 7 - positive_bit : positive_bit);
}

}  // namespace tessera::fp
