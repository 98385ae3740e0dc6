// IEEE 754 binary16 in integers alone: the arithmetic of one f16 lane (docs/machine/tile.md). Round to nearest even,
// subnormals honoured, a NaN result is kCanonicalHalfNan, no flags. The reference; simd_fast.h has the quick paths.
#pragma once

#include <cstdint>

namespace tessera::fp {

inline constexpr std::uint16_t kCanonicalHalfNan = 0x7e00;

[[nodiscard]] std::uint16_t half_add(std::uint16_t a, std::uint16_t b);
[[nodiscard]] std::uint16_t half_sub(std::uint16_t a, std::uint16_t b);
[[nodiscard]] std::uint16_t half_mul(std::uint16_t a, std::uint16_t b);
/// a*b + c with one rounding.
[[nodiscard]] std::uint16_t half_fma(std::uint16_t a, std::uint16_t b, std::uint16_t c);
/// As fmin and fmax of F: a NaN loses to a number, two NaNs give the canonical one, -0 is below +0.
[[nodiscard]] std::uint16_t half_min(std::uint16_t a, std::uint16_t b);
[[nodiscard]] std::uint16_t half_max(std::uint16_t a, std::uint16_t b);
/// Quiet compares: false if one is a NaN; -0 equals +0.
[[nodiscard]] bool half_eq(std::uint16_t a, std::uint16_t b);
[[nodiscard]] bool half_lt(std::uint16_t a, std::uint16_t b);
[[nodiscard]] bool half_le(std::uint16_t a, std::uint16_t b);

/// Exact; NaN gives the canonical f32 NaN.
[[nodiscard]] std::uint32_t half_to_f32(std::uint16_t a);
/// Nearest even.
[[nodiscard]] std::uint16_t half_from_f32(std::uint32_t a);
/// Stochastic with the 16 random bits r: the rule of docs/machine/tile.md.
[[nodiscard]] std::uint16_t half_from_f32_stochastic(std::uint32_t a, std::uint16_t r);

}  // namespace tessera::fp
