// See thermal.h.
#include "tlm/card/thermal.h"

#include <algorithm>

namespace tessera {

namespace {
constexpr std::uint64_t kStep = 1000000;       // ns
constexpr std::int64_t kHysteresis = 2000000;  // microdegrees
}  // namespace

Thermal::Thermal(const Platform::Card& card)
    : card_(card), microdegrees_(std::int64_t{card.ambient_mc} * 1000), alarm_(card.alarm_mc) {}

std::uint64_t Thermal::power() const {
  return level_ == Level::off ? 0 : level_ == Level::idle ? card_.idle_mw : card_.busy_mw;
}

void Thermal::step(std::uint64_t mean_mw) {
  // Milliwatt x millidegrees per watt are microdegrees.
  const auto goal =
      static_cast<std::int64_t>(std::uint64_t{card_.ambient_mc} * 1000 + mean_mw * card_.thermal_mc_per_w);
  microdegrees_ += (goal - microdegrees_) / std::int64_t{card_.thermal_ms};
}

void Thermal::advance(std::uint64_t ns) {
  while (now_ < ns) {
    const std::uint64_t end = std::min(ns, (now_ / kStep + 1) * kStep);
    const std::uint64_t energy = power() * (end - now_);
    step_energy_ += energy;
    read_energy_ += energy;
    now_ = end;
    if (end % kStep != 0) continue;
    const std::int64_t before = microdegrees_;
    const bool whole = step_energy_ == power() * kStep;
    step(step_energy_ / kStep);
    step_energy_ = 0;
    if (!whole || microdegrees_ != before) continue;
    // Nothing will change any more: the whole steps that are left at once.
    const std::uint64_t rest = (ns - now_) / kStep * kStep;
    read_energy_ += power() * rest;
    now_ += rest;
  }
}

std::uint32_t Thermal::millidegrees() const {
  return stuck_ ? *stuck_ : static_cast<std::uint32_t>(microdegrees_ / 1000);
}

std::uint32_t Thermal::take_mean_power() {
  const std::uint64_t mean = now_ == read_at_ ? power() : read_energy_ / (now_ - read_at_);
  read_at_ = now_;
  read_energy_ = 0;
  return static_cast<std::uint32_t>(mean);
}

bool Thermal::alarm_at(std::int64_t microdegrees) const {
  if (alarm_ == 0) return false;
  const std::int64_t limit = std::int64_t{alarm_} * 1000;
  return microdegrees >= (alarm_on_ ? limit - kHysteresis : limit);
}

bool Thermal::update_alarm() {
  const bool on = alarm_at(stuck_ ? std::int64_t{*stuck_} * 1000 : microdegrees_);
  const bool changed = on != alarm_on_;
  alarm_on_ = on;
  return changed;
}

std::optional<std::uint64_t> Thermal::next_alarm_change() const {
  if (stuck_ || alarm_ == 0) return std::nullopt;
  Thermal future = *this;
  const auto goal =
      static_cast<std::int64_t>(std::uint64_t{card_.ambient_mc} * 1000 + power() * card_.thermal_mc_per_w);
  // The temperature stays between where it is and where it goes, but for the step that has begun with another power.
  future.advance((now_ / kStep + 1) * kStep);
  if (alarm_at(future.microdegrees_) == alarm_on_ && alarm_at(goal) == alarm_on_) return std::nullopt;
  while (alarm_at(future.microdegrees_) == alarm_on_) {
    const std::int64_t before = future.microdegrees_;
    future.advance(future.now_ + kStep);
    if (future.microdegrees_ == before) return std::nullopt;  // ends just below
  }
  return future.now_;
}

}  // namespace tessera
