// f16 operands for tests of the Xtile units: corner values and biased random ones. No expected values.
#pragma once

#include <cstdint>
#include <vector>

#include "tlm/float/cases.h"

namespace tessera::fp::cases {

/// 38 values at which something changes: zeros, both ends of the subnormals, smallest and largest normals, one and its
/// neighbours, values whose sums and products are ties, infinities, quiet and signaling NaNs of both signs.
[[nodiscard]] inline std::vector<std::uint16_t> half_corners() {
  std::vector<std::uint16_t> all;
  for (const std::uint16_t magnitude : {0x0000, 0x0001, 0x0002, 0x0200, 0x03ff, 0x0400, 0x0401, 0x1000, 0x13ff, 0x2c01,
                                        0x3800, 0x3bff, 0x3c00, 0x3c01, 0x3e00, 0x6800, 0x7bff, 0x7c00}) {
    all.push_back(magnitude);
    all.push_back(static_cast<std::uint16_t>(magnitude | 0x8000));
  }
  for (const std::uint16_t nan : {0x7e00, 0xfe12, 0x7c01, 0xfdff}) all.push_back(nan);
  return all;
}

/// Any 16 bits; a fraction with runs; or an exponent near that of one, so that sums cancel and align.
[[nodiscard]] inline std::uint16_t half_value(Random& random) {
  const std::uint64_t r = random.next();
  const auto bits = static_cast<std::uint16_t>(r >> 48);
  switch (r & 7) {
    case 0:
      return bits;
    case 1:
      return static_cast<std::uint16_t>((bits & 0xfc00) | (0x3ff >> (r >> 3 & 15) % 11));
    case 2:
      return static_cast<std::uint16_t>((bits & 0xfc00) | (0x3ff & ~(0x3ff >> (r >> 3 & 15) % 11)));
    case 3:
      return static_cast<std::uint16_t>(bits & 0x87ff);  // subnormals and the smallest normals
    case 4:
      return static_cast<std::uint16_t>((bits & 0x83ff) | (0x7000 + (r >> 3 & 3) * 0x400));  // near overflow
    default:
      return static_cast<std::uint16_t>((bits & 0x83ff) | (0x3400 + (r >> 3 & 3) * 0x400));
  }
}

/// Four of them, lane 0 in the low bits.
[[nodiscard]] inline std::uint64_t half_values(Random& random) {
  std::uint64_t all = 0;
  for (int k = 0; k < 4; ++k) all = all << 16 | half_value(random);
  return all;
}

/// c with an exponent near that of a*b, so that a fused sum cancels or straddles; otherwise any value.
[[nodiscard]] inline std::uint16_t half_addend_near(Random& random, std::uint16_t a, std::uint16_t b) {
  const int exponent = (a >> 10 & 0x1f) + (b >> 10 & 0x1f) - 15 + static_cast<int>(random.below(29)) - 14;
  if (exponent < 0 || exponent > 30) return half_value(random);
  return static_cast<std::uint16_t>(exponent << 10 | (half_value(random) & 0x83ff));
}

}  // namespace tessera::fp::cases
