// The host's side of a card's controller: waits until it is ready, sends mailbox commands, waits for their answers in
// simulated time, and says what is wrong with one that does not answer. Protocol and commands: docs/machine/card.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hw/error.h"
#include "hw/generated/registers.h"

namespace tessera::driver {

/// How a controller is reached: chip registers of one IPU of its card, and simulated time.
struct CardAccess {
  std::function<std::uint32_t(std::uint32_t offset)> read;
  std::function<void(std::uint32_t offset, std::uint32_t value)> write;
  std::function<void(std::uint64_t ns)> elapse;
  std::function<std::uint64_t()> now_ns;
  std::string name;  ///< "card 0 (02:00.0)"
};

/// Simulated time that a controller is given.
struct CardLimits {
  std::uint64_t ready_us = 100000;   ///< from the first look at it
  std::uint64_t command_us = 20000;  ///< longer than its watchdog takes
};

struct CardInfo {
  std::uint32_t serial = 0, number = 0, ipus = 0;
  std::uint32_t firmware = 0;  ///< version, 16.16
  std::uint32_t links_up = 0, links_down = 0;
  std::uint32_t controller_hz = 0;
  std::uint32_t ready_us = 0;     ///< when it became ready, since power-on
  std::uint32_t reset_cause = 0;  ///< 0 power-on, 1 watchdog, 2 host
  std::uint32_t restarts = 0;     ///< by the watchdog
};

struct CardSensors {
  std::uint32_t temperature_mc = 0, power_mw = 0, alarm_mc = 0;
  bool alarm = false;
};

struct CardLink {
  reg::card::Link state = reg::card::Link::absent;
  std::uint32_t trainings = 0, crc_errors = 0;
};

struct CardLogEntry {
  std::uint32_t time_us = 0;
  reg::card::Log kind = reg::card::Log::none;
  std::uint32_t a = 0, b = 0;
};

/// All calls but call() throw Error(device_exception) if the controller answers with an error; all throw it if it does
/// not answer, has crashed or failed. `ipu` counts on the card.
class CardController {
 public:
  explicit CardController(CardAccess access, CardLimits limits = {});

  /// False if there is no controller: it is off and holds nothing, so that there is nothing to boot.
  bool present();
  /// Returns when it says ready.
  void wait_ready();
  [[nodiscard]] reg::card::State state();
  /// Why it will not answer any more; empty if it may.
  [[nodiscard]] std::string trouble();

  struct Answer {
    reg::card::Error error = reg::card::Error::ok;
    std::array<std::uint32_t, 8> result{};
  };
  /// One command. A controller that was restarted while it worked on it, or whose answer is that of another command, is
  /// asked once more.
  Answer call(reg::card::Command command, const std::array<std::uint32_t, 4>& arguments = {});

  /// True if the answer is what was asked.
  bool ping(std::uint32_t value);
  CardInfo info();
  bool power(unsigned ipu);
  void set_power(unsigned ipu, bool on);
  /// Megahertz.
  std::uint32_t clock(unsigned ipu);
  void set_clock(unsigned ipu, std::uint32_t mhz);
  void reset_ipu(unsigned ipu);
  void train_link(unsigned ipu, unsigned port);
  void disable_link(unsigned ipu, unsigned port);
  CardLink link(unsigned ipu, unsigned port);
  CardSensors sensors(unsigned ipu);
  void set_alarm(unsigned ipu, std::uint32_t millidegrees);
  std::vector<CardLogEntry> log();
  /// Bits of what is bad: 1 image, 2 memory, 4 clocks, 8 sensors; 0 is good.
  std::uint32_t self_test();

  [[nodiscard]] const std::string& name() const { return access_.name; }

 private:
  /// Looks at mailbox_status in growing steps of time until `wanted` or the deadline; interrupts are not needed, so
  /// that a card can be booted before anybody has claimed its IPUs. Throws if the controller will not go on.
  std::uint32_t poll(std::uint64_t deadline_ns, const std::string& doing,
                     const std::function<bool(std::uint32_t)>& wanted);
  /// An error if the status is that of a controller that will not answer; check() throws it.
  std::optional<Error> failure(std::uint32_t status, const std::string& doing);
  void check(std::uint32_t status, const std::string& doing);
  /// One try; false if it is worth another.
  bool attempt(reg::card::Command command, const std::array<std::uint32_t, 4>& arguments, Answer& answer,
               std::string& why);
  Answer must(reg::card::Command command, const std::array<std::uint32_t, 4>& arguments = {});
  [[nodiscard]] std::string standing(std::uint32_t status) const;

  CardAccess access_;
  CardLimits limits_;
  std::uint8_t tag_ = 0;
};

}  // namespace tessera::driver
