// See peripherals.h: access, events, mailboxes. Clocks, links and sensors are in peripherals_ipu.cpp.
#include "tlm/card/peripherals.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tessera {

using namespace reg::card;

namespace {

constexpr unsigned kMostIpus = 4;
constexpr sc_core::sc_time_unit kUs = sc_core::SC_US;

sc_core::sc_time us(std::uint64_t count) { return sc_core::sc_time(static_cast<double>(count), kUs); }
std::uint32_t us_of(const sc_core::sc_time& time) { return static_cast<std::uint32_t>(time / us(1)); }

}  // namespace

Peripherals::Peripherals(const sc_core::sc_module_name& name, const Platform& platform, unsigned card,
                         std::vector<CardTarget*> targets)
    : sc_module(name), bus("bus"), platform_(platform), card_(card) {
  if (targets.size() > kMostIpus) throw std::logic_error("card: more IPUs than its registers have room for");
  for (CardTarget* target : targets) ipus_.emplace_back(target, platform.card);
  access_time_ = sc_core::sc_time(1e12 * platform.card.bus_cycles / static_cast<double>(platform.card.controller_hz),
                                  sc_core::SC_PS);
  bus.register_b_transport(this, &Peripherals::b_transport);
  SC_HAS_PROCESS(Peripherals);
  SC_METHOD(on_timer);
  sensitive << timer_;
  dont_initialize();
  SC_METHOD(on_thermal);
  sensitive << thermal_;
  dont_initialize();
  SC_METHOD(on_doorbell);
  for (const Ipu& ipu : ipus_) sensitive << *ipu.doorbell;
  dont_initialize();
}

bool Peripherals::immediate(std::uint32_t offset) const {
  return offset < kTimerUs || (offset >= kWatchdogUs && offset <= kWatchdogKick);
}

void Peripherals::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::uint64_t offset = payload.get_address();
  if (payload.get_data_length() != 4 || offset % 4 != 0) {
    payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
    return;
  }
  delay += access_time_;
  const auto at = static_cast<std::uint32_t>(offset);
  if (!immediate(at)) {
    sc_core::wait(delay);
    delay = sc_core::SC_ZERO_TIME;
  }
  const sc_core::sc_time now = sc_core::sc_time_stamp() + delay;
  std::uint32_t value = 0;
  bool ok = false;
  if (payload.is_write()) {
    std::memcpy(&value, payload.get_data_ptr(), 4);
    ok = write(at, value, now);
  } else {
    ok = at == kEventWait ? wait_for_event(value) : read(at, value, now);
    std::memcpy(payload.get_data_ptr(), &value, 4);
  }
  payload.set_response_status(ok ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

std::optional<unsigned> Peripherals::window(std::uint32_t offset, std::uint32_t first, std::uint32_t stride) const {
  if (offset < first || (offset - first) % stride != 0 || (offset - first) / stride >= ipus_.size())
    return std::nullopt;
  return (offset - first) / stride;
}

bool Peripherals::wait_for_event(std::uint32_t& value) {
  woken_ = false;
  while ((events_ & mask_) == 0 && !aborted_ && !woken_) sc_core::wait(changed_);
  value = events_;
  // It has slept with the processor.
  if (watchdog_us_ != 0) watchdog_ = sc_core::sc_time_stamp() + us(watchdog_us_);
  return !aborted_;
}

void Peripherals::raise_events(std::uint32_t bits) {
  events_ |= bits;
  if ((events_ & mask_) != 0) changed_.notify(sc_core::SC_ZERO_TIME);
}

void Peripherals::abort(bool on) {
  aborted_ = on;
  if (on) changed_.notify(sc_core::SC_ZERO_TIME);
}

void Peripherals::wake() {
  woken_ = true;
  changed_.notify(sc_core::SC_ZERO_TIME);
}

void Peripherals::on_timer() { raise_events(static_cast<std::uint32_t>(kEventStatusTimer.mask())); }

void Peripherals::on_doorbell() {
  std::uint32_t bits = 0;
  for (unsigned i = 0; i < ipus_.size(); ++i)
    if (ipus_[i].rung && ipus_[i].doorbell->triggered()) {
      ipus_[i].rung = false;
      bits |= 1u << (kEventStatusDoorbell.lsb + i);
    }
  raise_events(bits);
}

bool Peripherals::read(std::uint32_t offset, std::uint32_t& value, const sc_core::sc_time& at) {
  value = 0;
  if (const auto i = window(offset, kMailboxCommand, kMailboxCommandStride)) {
    value = ipus_[*i].mailbox.command();
    return true;
  }
  for (unsigned n = 0; n < 4; ++n)
    if (const auto i = window(offset, kMailboxArgument0 + 4 * n, kMailboxCommandStride)) {
      value = ipus_[*i].mailbox.argument(n);
      return true;
    }
  if (offset >= kScratch && offset < kScratch + 4 * scratch_.size()) {
    value = scratch_[(offset - kScratch) / 4];
    return true;
  }
  switch (offset) {
    case kId:
      value = 0x43415244;
      return true;
    case kVersion:
      value = 0x100;
      return true;
    case kNumber:
      value = card_;
      return true;
    case kSerial:
      value = 0x54430000 + card_;
      return true;
    case kIpus:
      value = static_cast<std::uint32_t>(ipus_.size());
      return true;
    case kControllerHz:
      value = static_cast<std::uint32_t>(platform_.card.controller_hz);
      return true;
    case kRamBytes:
      value = platform_.card.ram_bytes;
      return true;
    case kResetCause:
      value = static_cast<std::uint32_t>(
          kResetCauseRestarts.set(kResetCauseCause.set(0, static_cast<std::uint32_t>(cause_)), restarts_));
      return true;
    case kBootPllUs:
      value = platform_.card.pll_timeout_us;
      return true;
    case kBootLinkUs:
      value = platform_.card.link_timeout_us;
      return true;
    case kBootRetries:
      value = platform_.card.retries;
      return true;
    case kBootWatchdogUs:
      value = platform_.card.watchdog_us;
      return true;
    case kPllNominalMhz:
      value = static_cast<std::uint32_t>(platform_.clock_hz / 1000000);
      return true;
    case kTimeUs:
      value = us_of(at);
      return true;
    case kTimerUs:
      value = timer_us_;
      return true;
    case kEventStatus:
      value = events_;
      return true;
    case kEventMask:
      value = mask_;
      return true;
    case kWatchdogUs:
      value = watchdog_us_;
      return true;
    case kCardState:
      value = card_state_;
      return true;
    case kProgress:
      value = progress_;
      return true;
    default:
      return read_ipu(offset, value);
  }
}

bool Peripherals::write(std::uint32_t offset, std::uint32_t value, const sc_core::sc_time& at) {
  if (const auto i = window(offset, kMailboxAnswer, kMailboxAnswerStride)) {
    if (ipus_[*i].mailbox.answer(static_cast<std::uint32_t>(kMailboxAnswerError.get(value))))
      ipus_[*i].target->mailbox_interrupt();
    return true;
  }
  for (unsigned n = 0; n < Mailbox::kResults; ++n)
    if (const auto i = window(offset, kMailboxResult + 4 * n, kMailboxResultStride)) {
      ipus_[*i].mailbox.set_result(n, value);
      return true;
    }
  if (offset >= kScratch && offset < kScratch + 4 * scratch_.size()) {
    scratch_[(offset - kScratch) / 4] = value;
    return true;
  }
  switch (offset) {
    case kTimerUs: {
      timer_us_ = value;
      const auto ahead = static_cast<std::int32_t>(value - us_of(at));
      timer_.cancel();
      timer_.notify(ahead <= 0 ? sc_core::SC_ZERO_TIME : us(us_of(at) + std::uint64_t(ahead)) - at);
      return true;
    }
    case kEventStatus:
      events_ &= ~value;
      return true;
    case kEventMask:
      mask_ = value;
      return true;
    case kWatchdogUs:
      watchdog_us_ = value;
      [[fallthrough]];
    case kWatchdogKick:
      watchdog_.reset();
      if (watchdog_us_ != 0) watchdog_ = at + us(watchdog_us_);
      return true;
    case kCardState:
      set_card_state(value);
      return true;
    case kProgress:
      progress_ = value & 0xff;
      return true;
    default:
      return write_ipu(offset, value);
  }
}

void Peripherals::notify_hosts() {
  for (const Ipu& ipu : ipus_) ipu.target->mailbox_interrupt();
}

void Peripherals::set_card_state(std::uint32_t value) {
  const bool changed = value != card_state_;
  card_state_ = value;
  state_ = static_cast<State>(kCardStateState.get(value));
  // On the way to ready the host is waiting for the end only.
  if (changed && state_ >= State::ready) notify_hosts();
  if (changed && (state_ == State::failed || state_ == State::crashed))
    for (const Ipu& ipu : ipus_) ipu.target->controller_died(card_state_);
}

void Peripherals::processor_stopped(Failure why) {
  stopped_ = true;
  watchdog_.reset();
  for (Ipu& ipu : ipus_) ipu.mailbox.answer(static_cast<std::uint32_t>(reg::card::Error::failed));
  const auto state = kCardStateState.set(card_state_, static_cast<std::uint32_t>(State::failed));
  set_card_state(static_cast<std::uint32_t>(kCardStateFailure.set(state, static_cast<std::uint32_t>(why))));
}

void Peripherals::reset(ResetCause cause) {
  cause_ = cause;
  stopped_ = aborted_ = false;
  events_ = mask_ = timer_us_ = watchdog_us_ = link_select_ = 0;
  watchdog_.reset();
  timer_.cancel();
  if (cause == ResetCause::watchdog) {
    // The IPUs go on: only the firmware begins anew.
    ++restarts_;
    for (Ipu& ipu : ipus_) {
      ipu.rung = false;
      if (ipu.mailbox.answer(static_cast<std::uint32_t>(reg::card::Error::restarted))) ipu.target->mailbox_interrupt();
    }
    return;
  }
  restarts_ = 0;
  card_state_ = progress_ = 0;
  state_ = State::off;
  scratch_ = {};
  for (Ipu& ipu : ipus_) {
    ipu.doorbell->cancel();
    ipu.rung = false;
    ipu.mailbox.reset();
    ipu.pll_enabled = false;
    ipu.locks_at.reset();
    ipu.lines = {};
    ipu.target->set_lines(ipu.lines);
    ipu.thermal.set_alarm(platform_.card.alarm_mc);
    update_level(ipu);
  }
}

std::uint32_t Peripherals::mailbox_read(unsigned ipu, std::uint32_t offset) const {
  using namespace reg::chip;
  const Mailbox& mailbox = ipus_.at(ipu).mailbox;
  if (offset != kMailboxStatus) return mailbox.host_read(offset);
  std::uint64_t status = kMailboxStatusState.set(0, static_cast<std::uint32_t>(state_));
  status = kMailboxStatusFailure.set(status, kCardStateFailure.get(card_state_));
  status = kMailboxStatusRestarts.set(status, std::min(restarts_, 15u));
  status = kMailboxStatusAlarm.set(status, kCardStateAlarm.get(card_state_));
  status = kMailboxStatusDegraded.set(status, kCardStateDegraded.get(card_state_));
  status = kMailboxStatusStopped.set(status, stopped_);
  status = kMailboxStatusBusy.set(status, mailbox.busy());
  status = kMailboxStatusDone.set(status, mailbox.done());
  status = kMailboxStatusRefused.set(status, mailbox.refused());
  status = kMailboxStatusHeld.set(status, ipus_.at(ipu).lines.held());
  return static_cast<std::uint32_t>(kMailboxStatusProgress.set(status, progress_));
}

void Peripherals::mailbox_write(unsigned ipu, std::uint32_t offset, std::uint32_t value,
                                const sc_core::sc_time& delay) {
  Ipu& to = ipus_.at(ipu);
  if (!to.mailbox.host_write(offset, value, state_ == State::ready && !stopped_)) return;
  to.rung = true;
  to.doorbell->notify(delay);
}

}  // namespace tessera
