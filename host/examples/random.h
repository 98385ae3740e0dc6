// Numbers drawn from a seed, the same on every host: integer arithmetic and exact scaling only, no distribution of the
// standard library.
#pragma once

#include <cstdint>
#include <string_view>

namespace tessera::examples {

/// A sequence of its own for each (seed, name): what one tensor holds does not depend on the others.
class Random {
 public:
  Random(std::uint64_t seed, std::string_view name);

  std::uint64_t next();
  /// In [-1, 1), a multiple of 2^-23.
  float signed_unit() { return static_cast<float>(static_cast<std::int32_t>(next() >> 40) - (1 << 23)) * 0x1p-23F; }
  /// In [low, high); the scaling rounds once or twice.
  float between(float low, float high) { return low + (high - low) * (0.5F * (signed_unit() + 1.0F)); }
  /// In [0, count).
  std::uint64_t below(std::uint64_t count) { return (next() >> 32) * count >> 32; }

 private:
  std::uint64_t state_;
};

}  // namespace tessera::examples
