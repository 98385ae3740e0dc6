// One mailbox between the host and a card's controller: registers of both sides and the rules of their races. Time is
// its owner's (peripherals.h).
//
// Host: writes command and arguments, rings. While busy everything it writes is ignored, and a further doorbell only
// sets `refused`. Controller: reads the command, writes results, answers: busy ends, done is set.
#pragma once

#include <array>
#include <cstdint>

namespace tessera {

class Mailbox {
 public:
  static constexpr unsigned kResults = 8;

  /// Registers of chip.toml, 0x104..0x13F; `mailbox_status` is the owner's.
  [[nodiscard]] std::uint32_t host_read(std::uint32_t offset) const;
  /// True if a command was rung that the controller must be told of. `ready`: the card takes commands.
  bool host_write(std::uint32_t offset, std::uint32_t value, bool ready);

  [[nodiscard]] std::uint32_t command() const { return command_; }
  [[nodiscard]] std::uint32_t argument(unsigned i) const { return arguments_.at(i); }
  void set_result(unsigned i, std::uint32_t value) { results_.at(i) = value; }
  /// Ends the command; nothing if there is none.
  bool answer(std::uint32_t error);
  /// Everything forgotten.
  void reset() { *this = Mailbox(); }

  [[nodiscard]] bool busy() const { return busy_; }
  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] bool refused() const { return refused_; }
  /// The next `count` answers come back with a wrong tag (an injected fault).
  void spoil(unsigned count) { spoiled_ = count; }

 private:
  std::uint32_t command_ = 0, response_ = 0;
  std::array<std::uint32_t, 4> arguments_{};
  std::array<std::uint32_t, kResults> results_{};
  bool busy_ = false, done_ = false, refused_ = false;
  unsigned spoiled_ = 0;
};

}  // namespace tessera
