// Time on a serial line, exactly: a byte takes num / den cycles, sums keep the fraction, so rates neither drift nor
// round twice. Whole cycles come out only where something is observed.
#pragma once

#include <cstdint>
#include <numeric>

#include "hw/platform.h"
#include "hw/types.h"

namespace tessera {

/// A point of time: cycle + part / den of the line's rate.
struct LineTime {
  Cycle cycle = 0;
  std::uint64_t part = 0;
  [[nodiscard]] Cycle up() const { return cycle + (part != 0); }  ///< first whole cycle at or behind it
};

class LineRate {
 public:
  LineRate() = default;
  /// Rate of `lanes` of the platform's lanes: bits_per_second x efficiency x lanes / all lanes.
  LineRate(const Platform& platform, unsigned lanes) {
    using Wide = unsigned __int128;
    Wide num = Wide{8000} * platform.clock_hz * platform.link.lanes;
    Wide den = Wide{platform.link.bits_per_second} * platform.link.efficiency_permille * lanes;
    for (Wide a = num, b = den;;) {
      if (b == 0) {
        num /= a, den /= a;
        break;
      }
      a %= b;
      const Wide swap = a;
      a = b, b = swap;
    }
    num_ = static_cast<std::uint64_t>(num);  // at most 8e3 x 1e11 x 64 and 1e14 x 1e3 x 64
    den_ = static_cast<std::uint64_t>(den);
  }

  [[nodiscard]] LineTime after(LineTime start, std::uint64_t bytes) const {
    std::uint64_t product = 0, total = 0;
    if (!__builtin_mul_overflow(bytes, num_, &product) && !__builtin_add_overflow(product, start.part, &total))
      return {start.cycle + total / den_, total % den_};
    const unsigned __int128 wide = static_cast<unsigned __int128>(bytes) * num_ + start.part;
    return {start.cycle + static_cast<Cycle>(wide / den_), static_cast<std::uint64_t>(wide % den_)};
  }
  [[nodiscard]] std::uint64_t num() const { return num_; }  ///< cycles of a byte: num / den
  [[nodiscard]] std::uint64_t den() const { return den_; }

 private:
  std::uint64_t num_ = 1, den_ = 1;
};

}  // namespace tessera
