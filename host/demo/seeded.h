// The values that FillSeeded_f32 (firmware/demo) makes on a tile, for the host's side of a comparison.
#pragma once

#include <cstdint>

namespace tessera::demo {

/// A word in which neighbouring indices differ all over: odd multipliers around a shift.
[[nodiscard]] constexpr std::uint32_t mix(std::uint32_t x) {
  x *= 0x9e3779b1U;
  x ^= x >> 15;
  return x * 0x85ebca6bU;
}

/// Element `index` of a vector: a signed 32-bit number x 2^-31, rounded once, so -1 .. 1.
[[nodiscard]] inline float seeded_value(std::uint32_t seed, std::uint32_t index) {
  return static_cast<float>(static_cast<std::int32_t>(mix(seed + index))) * 0x1p-31F;
}

/// Seed of an IPU's vector.
[[nodiscard]] constexpr std::uint32_t seed_of(std::uint64_t seed, std::uint32_t ipu) {
  return mix(mix(static_cast<std::uint32_t>(seed ^ seed >> 32)) + 0x85ebca6bU * (ipu + 1));
}

}  // namespace tessera::demo
