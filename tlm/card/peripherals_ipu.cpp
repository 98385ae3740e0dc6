// What the controller's peripherals do to the IPUs of the card: PLLs, lines, links, sensors. See peripherals.h.
#include <algorithm>

#include "tlm/card/peripherals.h"

namespace tessera {

using namespace reg::card;

namespace {
std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(sc_core::sc_time_stamp() / sc_core::sc_time(1, sc_core::SC_NS));
}
}  // namespace

bool Peripherals::read_ipu(std::uint32_t offset, std::uint32_t& value) {
  if (const auto i = window(offset, kPllMhz, kPllMhzStride)) return value = ipus_[*i].pll_mhz, true;
  if (const auto i = window(offset, kPllControl, kPllControlStride)) return value = ipus_[*i].pll_enabled, true;
  if (const auto i = window(offset, kPllStatus, kPllStatusStride)) return value = locked(ipus_[*i]), true;
  if (const auto i = window(offset, kIpuControl, kIpuControlStride)) {
    const CardTarget::Lines& lines = ipus_[*i].lines;
    value = static_cast<std::uint32_t>(kIpuControlReset.set(0, lines.reset) | kIpuControlClock.set(0, lines.clock) |
                                       kIpuControlHost.set(0, lines.host));
    return true;
  }
  if (const auto i = window(offset, kIpuPorts, kIpuPortsStride)) return value = ipus_[*i].target->ports(), true;
  if (offset == kLinkSelect) return value = link_select_, true;
  if (offset >= kLinkState && offset <= kLinkErrors) return value = link_value(offset), true;
  update_thermal();
  if (const auto i = window(offset, kTemperature, kTemperatureStride))
    return value = ipus_[*i].thermal.millidegrees(), true;
  if (const auto i = window(offset, kPowerMw, kPowerMwStride)) return value = ipus_[*i].thermal.take_mean_power(), true;
  if (const auto i = window(offset, kAlarmAt, kAlarmAtStride)) return value = ipus_[*i].thermal.alarm(), true;
  if (const auto i = window(offset, kAlarmOn, kAlarmOnStride)) return value = ipus_[*i].thermal.alarm_on(), true;
  return false;
}

bool Peripherals::write_ipu(std::uint32_t offset, std::uint32_t value) {
  if (const auto i = window(offset, kPllMhz, kPllMhzStride)) return ipus_[*i].pll_mhz = value, true;
  if (const auto i = window(offset, kPllControl, kPllControlStride)) return start_pll(ipus_[*i], value), true;
  if (const auto i = window(offset, kIpuControl, kIpuControlStride)) return set_lines(*i, value), true;
  if (const auto i = window(offset, kAlarmAt, kAlarmAtStride)) {
    update_thermal();
    ipus_[*i].thermal.set_alarm(value);
    return update_thermal(), true;
  }
  if (offset == kLinkSelect) return link_select_ = value & 0xffff, true;
  if (offset == kLinkControl) return link_control(value), true;
  return false;
}

bool Peripherals::locked(const Ipu& ipu) const {
  return ipu.pll_enabled && ipu.locks_at && *ipu.locks_at <= sc_core::sc_time_stamp();
}

void Peripherals::start_pll(Ipu& ipu, std::uint32_t control) {
  ipu.pll_enabled = kPllControlEnable.get(control) != 0;
  ipu.locks_at.reset();
  if (ipu.pll_enabled && ipu.bad_starts != 0)
    --ipu.bad_starts;
  else if (ipu.pll_enabled && ipu.pll_mhz == platform_.clock_hz / 1000000)
    ipu.locks_at = sc_core::sc_time_stamp() + sc_core::sc_time(platform_.card.pll_lock_us, sc_core::SC_US);
  // No clock without a locked PLL.
  if (!ipu.lines.clock) return;
  ipu.lines.clock = false;
  ipu.target->set_lines(ipu.lines);
  update_level(ipu);
}

void Peripherals::set_lines(unsigned i, std::uint32_t value) {
  Ipu& ipu = ipus_[i];
  ipu.lines.reset = kIpuControlReset.get(value) != 0;
  ipu.lines.clock = kIpuControlClock.get(value) != 0 && locked(ipu);
  ipu.lines.host = kIpuControlHost.get(value) != 0;
  ipu.target->set_lines(ipu.lines);
  update_level(ipu);
}

void Peripherals::activity(unsigned ipu, bool busy) {
  ipus_.at(ipu).busy = busy;
  update_level(ipus_[ipu]);
}

void Peripherals::update_level(Ipu& ipu) {
  ipu.thermal.advance(now_ns());
  ipu.thermal.set_level(!ipu.lines.clock ? Thermal::Level::off
                        : ipu.busy       ? Thermal::Level::busy
                                         : Thermal::Level::idle);
  update_thermal();
}

void Peripherals::update_thermal() {
  std::optional<std::uint64_t> next;
  bool changed = false;
  for (Ipu& ipu : ipus_) {
    ipu.thermal.advance(now_ns());
    changed = ipu.thermal.update_alarm() || changed;
    const auto change = ipu.thermal.next_alarm_change();
    if (change && (!next || *change < *next)) next = change;
  }
  thermal_.cancel();
  if (next) thermal_.notify(sc_core::sc_time(static_cast<double>(*next), sc_core::SC_NS) - sc_core::sc_time_stamp());
  if (changed) raise_events(static_cast<std::uint32_t>(kEventStatusAlarm.mask()));
}

void Peripherals::on_thermal() { update_thermal(); }

void Peripherals::link_control(std::uint32_t value) {
  const unsigned ipu = link_select_ >> 8, port = link_select_ & 0xff;
  if (ipu >= ipus_.size() || port >= ipus_[ipu].target->ports()) return;
  if (kLinkControlDisable.get(value) != 0) ipus_[ipu].target->disable_link(port);
  if (kLinkControlTrain.get(value) != 0) ipus_[ipu].target->train_link(port);
}

std::uint32_t Peripherals::link_value(std::uint32_t offset) const {
  const unsigned ipu = link_select_ >> 8, port = link_select_ & 0xff;
  if (ipu >= ipus_.size() || port >= ipus_[ipu].target->ports()) return 0;
  const CardTarget& target = *ipus_[ipu].target;
  if (offset == kLinkState) return static_cast<std::uint32_t>(target.link_state(port));
  const LinkCounters counters = target.link_counters(port);
  return static_cast<std::uint32_t>(offset == kLinkTrainings ? counters.trainings : counters.crc_errors);
}

void Peripherals::spoil_answers(unsigned count) {
  for (Ipu& ipu : ipus_) ipu.mailbox.spoil(count);
}

void Peripherals::break_pll(unsigned ipu, unsigned count) { ipus_.at(ipu).bad_starts = count; }

void Peripherals::stick_sensor(unsigned ipu, std::uint32_t millidegrees) {
  ipus_.at(ipu).thermal.stick(millidegrees);
  update_thermal();
}

}  // namespace tessera
