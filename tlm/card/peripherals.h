// The peripherals of a card's controller (hw/registers/card.toml) behind one TLM-2.0 socket: timer and events,
// watchdog, PLLs and lines of the IPUs, link control, sensors, mailboxes. What runs on the processor is
// firmware/card's.
//
// Blocking transport, loosely timed: the annotated delay is how far the processor is ahead. Constants, the time and the
// watchdog answer at once; everything that somebody else may see or change waits for its time first.
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <array>
#include <memory>
#include <optional>
#include <systemc>
#include <tlm>
#include <vector>

#include "hw/generated/registers.h"
#include "hw/platform.h"
#include "tlm/card/card_target.h"
#include "tlm/card/mailbox.h"
#include "tlm/card/thermal.h"

namespace tessera {

enum class ResetCause : std::uint8_t { power_on = 0, watchdog = 1, host = 2 };

class Peripherals : public sc_core::sc_module, public CardPort {
 public:
  Peripherals(const sc_core::sc_module_name& name, const Platform& platform, unsigned card,
              std::vector<CardTarget*> targets);

  tlm_utils::simple_target_socket<Peripherals> bus;

  // The host's side.
  [[nodiscard]] std::uint32_t mailbox_read(unsigned ipu, std::uint32_t offset) const override;
  void mailbox_write(unsigned ipu, std::uint32_t offset, std::uint32_t value, const sc_core::sc_time& delay) override;
  void activity(unsigned ipu, bool busy) override;

  // The processor's (controller.h).
  /// Everything but what outlives the watchdog as after power-on. Commands that were being worked on are answered
  /// `restarted`.
  void reset(ResetCause cause);
  /// The processor will not go on: the host sees it in mailbox_status.
  void processor_stopped(reg::card::Failure why);
  /// A wait for an event ends with an error response, and no other begins.
  void abort(bool on);
  /// A wait for an event ends without one: for faults of a firmware that sleeps.
  void wake();
  /// When the watchdog acts unless it is kicked; nothing if it is off. It sleeps with the processor.
  [[nodiscard]] const std::optional<sc_core::sc_time>& watchdog() const { return watchdog_; }
  [[nodiscard]] unsigned restarts() const { return restarts_; }
  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] reg::card::State state() const { return state_; }

  // Injected faults.
  void spoil_answers(unsigned count);
  /// The PLL of an IPU does not lock at the next `count` starts, or does not stay locked now.
  void break_pll(unsigned ipu, unsigned count);
  void stick_sensor(unsigned ipu, std::uint32_t millidegrees);
  /// Every access to a peripheral takes that much longer.
  void slow_down(const sc_core::sc_time& by) { access_time_ += by; }

 private:
  struct Ipu {
    CardTarget* target;
    Mailbox mailbox;
    std::unique_ptr<sc_core::sc_event> doorbell;
    bool rung = false;
    CardTarget::Lines lines;
    std::uint32_t pll_mhz = 0;
    bool pll_enabled = false;
    std::optional<sc_core::sc_time> locks_at;
    unsigned bad_starts = 0;
    Thermal thermal;
    bool busy = false;
    explicit Ipu(CardTarget* t, const Platform::Card& card)
        : target(t), doorbell(std::make_unique<sc_core::sc_event>()), thermal(card) {}
  };

  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  [[nodiscard]] bool immediate(std::uint32_t offset) const;
  bool read(std::uint32_t offset, std::uint32_t& value, const sc_core::sc_time& at);
  bool write(std::uint32_t offset, std::uint32_t value, const sc_core::sc_time& at);
  bool read_ipu(std::uint32_t offset, std::uint32_t& value);
  bool write_ipu(std::uint32_t offset, std::uint32_t value);
  bool wait_for_event(std::uint32_t& value);
  void raise_events(std::uint32_t bits);
  void on_timer();
  void on_doorbell();
  void on_thermal();
  void set_card_state(std::uint32_t value);
  void notify_hosts();
  void set_lines(unsigned ipu, std::uint32_t value);
  void start_pll(Ipu& ipu, std::uint32_t control);
  [[nodiscard]] bool locked(const Ipu& ipu) const;
  void update_level(Ipu& ipu);
  /// Brings the temperatures to now, tells the alarm that changed and sets the time of the next.
  void update_thermal();
  void link_control(std::uint32_t value);
  [[nodiscard]] std::uint32_t link_value(std::uint32_t offset) const;
  /// The IPU of a register in a window; nothing if it is no register of an IPU that is there.
  std::optional<unsigned> window(std::uint32_t offset, std::uint32_t first, std::uint32_t stride) const;

  const Platform platform_;
  unsigned card_;
  std::vector<Ipu> ipus_;
  sc_core::sc_time access_time_;
  std::array<std::uint32_t, 4> scratch_{};
  ResetCause cause_ = ResetCause::power_on;
  unsigned restarts_ = 0;
  bool stopped_ = false, aborted_ = false, woken_ = false;
  std::uint32_t events_ = 0, mask_ = 0, timer_us_ = 0;
  std::uint32_t watchdog_us_ = 0;
  std::optional<sc_core::sc_time> watchdog_;
  std::uint32_t card_state_ = 0, progress_ = 0, link_select_ = 0;
  reg::card::State state_ = reg::card::State::off;
  sc_core::sc_event changed_, timer_, thermal_;
};

}  // namespace tessera
