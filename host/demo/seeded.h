// The values that FillSeeded_f32 (firmware/demo) makes on a tile, for the host's side of a comparison.
#pragma once

#include <cstdint>

namespace tessera::demo {

/// Murmur3's finaliser.
[[nodiscard]] constexpr std::uint32_t mix(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x85ebca6bU;
  x ^= x >> 13;
  x *= 0xc2b2ae35U;
  return x ^ x >> 16;
}

/// Element `index` of a vector: a signed 32-bit number x 2^-31, rounded once, so -1 .. 1.
[[nodiscard]] inline float seeded_value(std::uint32_t seed, std::uint32_t index) {
  return static_cast<float>(static_cast<std::int32_t>(mix(seed ^ mix(index)))) * 0x1p-31F;
}

/// Seed of an IPU's vector.
[[nodiscard]] constexpr std::uint32_t seed_of(std::uint64_t seed, std::uint32_t ipu) {
  return mix(static_cast<std::uint32_t>(seed ^ seed >> 32) + 0x9e3779b9U * (ipu + 1));
}

}  // namespace tessera::demo
