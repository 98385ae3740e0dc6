// What a card's controller and the IPUs on the card see of each other. The chip of an IPU (tlm/system) is a CardTarget;
// the controller's mailboxes are the CardPort behind the chip's registers. No behaviour here.
#pragma once

#include <cstdint>
#include <systemc>

#include "tlm/link/link_port.h"

namespace tessera {

/// One IPU as its card's controller reaches it. Called at the current SystemC time.
class CardTarget {
 public:
  virtual ~CardTarget() = default;
  /// Lines of the controller. In reset: tiles held, SRAM zero. Without clock nothing runs, and its links are down.
  /// Without host the IPU answers but its identity, status and mailbox with a completer abort.
  struct Lines {
    bool reset = true, clock = false, host = false;
    [[nodiscard]] bool held() const { return reset || !clock || !host; }
  };
  virtual void set_lines(const Lines& lines) = 0;
  /// Raises the interrupt `mailbox`.
  virtual void mailbox_interrupt() = 0;
  /// The controller will not go on; `status`: its register card_state. A running program ends with chip fault 5.
  virtual void controller_died(std::uint32_t status) { (void)status; }

  // Its links; an IPU without has no ports.
  [[nodiscard]] virtual unsigned ports() const { return 0; }
  [[nodiscard]] virtual LinkState link_state(unsigned port) const { return (void)port, LinkState::absent; }
  virtual void train_link(unsigned port) { (void)port; }
  virtual void disable_link(unsigned port) { (void)port; }
  [[nodiscard]] virtual LinkCounters link_counters(unsigned port) const { return (void)port, LinkCounters{}; }
};

/// The controller as an IPU of its card reaches it. `ipu` counts on the card.
class CardPort {
 public:
  virtual ~CardPort() = default;
  /// Mailbox registers of chip.toml, 0x100..0x13F.
  [[nodiscard]] virtual std::uint32_t mailbox_read(unsigned ipu, std::uint32_t offset) const = 0;
  /// `delay`: when the write arrives, from now.
  virtual void mailbox_write(unsigned ipu, std::uint32_t offset, std::uint32_t value,
                             const sc_core::sc_time& delay) = 0;
  /// The IPU's tiles begin or cease to run, at the current time.
  virtual void activity(unsigned ipu, bool busy) = 0;
};

}  // namespace tessera
