// f16 of IEEE 754 (1 sign, 5 exponent, 10 fraction bits) as f32: exact.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace tessera {

/// NaNs keep their fraction.
[[nodiscard]] inline float from_half(std::uint16_t bits) {
  const std::uint32_t exponent = (bits >> 10) & 31U, fraction = bits & 1023U, sign = (bits & 0x8000U) << 16;
  std::uint32_t word = sign | ((exponent + 112) << 23) | (fraction << 13);
  if (exponent == 31) word = sign | 0x7F800000U | (fraction << 13);
  float value;
  std::memcpy(&value, &word, sizeof value);
  if (exponent == 0) value = std::copysign(static_cast<float>(fraction) * 0x1p-24F, sign != 0 ? -1.0F : 1.0F);
  return value;
}

}  // namespace tessera
