// Temperature and power of one IPU: a first-order model in integers, so that every host and every run agrees.
//
// Power is off, idle or busy as the card's lines and the IPU's tiles say. In steps of a millisecond the temperature
// goes the 1 / thermal_ms-th part of the way to air + mean power of the step x thermal_mc_per_w.
#pragma once

#include <cstdint>
#include <optional>

#include "hw/platform.h"

namespace tessera {

class Thermal {
 public:
  explicit Thermal(const Platform::Card& card);

  /// Everything up to `ns` happens at the power that was set before. Times never run back.
  void advance(std::uint64_t ns);
  enum class Level : std::uint8_t { off, idle, busy };
  void set_level(Level level) { level_ = level; }

  [[nodiscard]] std::uint32_t millidegrees() const;
  /// Mean power since the last call, milliwatt; the present one if no time has passed.
  [[nodiscard]] std::uint32_t take_mean_power();

  /// Alarm temperature, millidegrees; 0 is none. It is on from there until two degrees less.
  void set_alarm(std::uint32_t millidegrees) { alarm_ = millidegrees; }
  [[nodiscard]] std::uint32_t alarm() const { return alarm_; }
  [[nodiscard]] bool alarm_on() const { return alarm_on_; }
  /// Looks at the temperature now; true if the alarm went on or off.
  bool update_alarm();
  /// When the alarm will change if the power stays as it is: nanoseconds, a whole millisecond; nothing if never.
  [[nodiscard]] std::optional<std::uint64_t> next_alarm_change() const;

  /// The sensor shows this from now on, whatever the temperature is.
  void stick(std::uint32_t millidegrees) { stuck_ = millidegrees; }

 private:
  void step(std::uint64_t mean_mw);
  [[nodiscard]] std::uint64_t power() const;
  [[nodiscard]] bool alarm_at(std::int64_t microdegrees) const;

  Platform::Card card_;
  std::int64_t microdegrees_;
  std::uint64_t now_ = 0, step_energy_ = 0;      // ns; pJ (mW x ns) of the step that has begun
  std::uint64_t read_at_ = 0, read_energy_ = 0;  // since the power was last read
  Level level_ = Level::off;
  std::uint32_t alarm_;
  bool alarm_on_ = false;
  std::optional<std::uint32_t> stuck_;
};

}  // namespace tessera
