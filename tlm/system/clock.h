// Cycles of the tile clock and SystemC time, converted exactly: cycle c stands at c / clock, rounded down to a
// picosecond.
#pragma once

#include <cstdint>
#include <systemc>

#include "hw/types.h"

namespace tessera {

class TileClock {
 public:
  explicit TileClock(std::uint64_t hz) : hz_(hz) {}

  [[nodiscard]] sc_core::sc_time time_of(Cycle cycle) const {
    const auto ps = static_cast<unsigned __int128>(cycle) * kPsPerSecond / hz_;
    return sc_core::sc_time::from_value(static_cast<std::uint64_t>(ps) * unit());
  }
  /// First cycle that begins at `time` or later.
  [[nodiscard]] Cycle cycle_at(const sc_core::sc_time& time) const {
    const auto ps = static_cast<unsigned __int128>(time.value() / unit());
    return static_cast<Cycle>((ps * hz_ + kPsPerSecond - 1) / kPsPerSecond);
  }
  [[nodiscard]] std::uint64_t hz() const { return hz_; }

 private:
  static constexpr std::uint64_t kPsPerSecond = 1'000'000'000'000;
  [[nodiscard]] static std::uint64_t unit() { return sc_core::sc_time(1, sc_core::SC_PS).value(); }
  std::uint64_t hz_;
};

}  // namespace tessera
