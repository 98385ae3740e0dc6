// Configuration space of one PCI Express function: 4 KiB of bytes with what software may write, capability lists, base
// address registers with sizing, bridge windows. Plain data and rules; who routes an access here is tlm/pcie's other
// files.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "hw/pcie.h"

namespace tessera::pcie {

/// What a function tells the root of an error.
enum class ErrorMessage : std::uint8_t { none, correctable, non_fatal, fatal };
/// The first four words of a packet, as error reporting logs them.
using TlpHeader = std::array<std::uint32_t, 4>;

class ConfigSpace {
 public:
  ConfigSpace(std::uint16_t device, std::uint32_t class_code, bool bridge);

  /// Accesses of 1, 2 or 4 bytes, naturally aligned; anything else reads all ones and writes nothing.
  [[nodiscard]] std::uint32_t read(unsigned offset, unsigned size) const;
  void write(unsigned offset, unsigned size, std::uint32_t value);

  /// Gives `size` bytes at `offset` their value; software may change the bits of `writable`, and clear those of `w1c`.
  void define(unsigned offset, unsigned size, std::uint32_t value, std::uint32_t writable = 0, std::uint32_t w1c = 0);
  /// Sets bits from inside, whatever software may do.
  void set_bits(unsigned offset, unsigned size, std::uint32_t bits);

  /// Gives the bits of `mask` their value from inside.
  void assign_bits(unsigned offset, unsigned size, std::uint32_t mask, std::uint32_t value);

  /// Appends a capability of `bytes` bytes to the list; returns its offset.
  unsigned add_capability(std::uint8_t id, unsigned bytes);
  unsigned add_extended_capability(std::uint16_t id, unsigned version, unsigned bytes);
  /// A 64-bit memory BAR in registers `index` and `index` + 1; `size` is a power of two >= 16.
  void add_bar64(unsigned index, std::uint64_t size, bool prefetchable);

  // The standard set of every function here.
  void add_power_management();
  void add_express(unsigned port_type, unsigned port, unsigned max_payload, unsigned max_read_request);
  void add_msix(unsigned vectors, unsigned bar, std::uint32_t table, std::uint32_t pending);
  void add_aer(unsigned port_type);
  /// A vendor-specific extended capability of `bytes` bytes, all of them 0 and read only; returns its offset.
  unsigned add_vendor(std::uint16_t id, unsigned bytes);

  /// What is there now is what a reset gives back.
  void power_on() { initial_ = value_; }
  /// Hot reset (of the link above) or function-level reset. Error logs survive both, as the standard's sticky bits do;
  /// a function-level reset also leaves the payload size and the link control.
  enum class Reset : std::uint8_t { hot, function };
  void reset(Reset kind);

  /// Offset of a capability; 0 if absent.
  [[nodiscard]] unsigned capability(std::uint8_t id) const;
  [[nodiscard]] unsigned extended_capability(std::uint16_t id) const;

  /// The function is in D0 and answers memory accesses, or makes them.
  [[nodiscard]] bool memory_enabled() const { return in_d0() && (read(kCommand, 2) & kCommandMemory) != 0; }
  [[nodiscard]] bool bus_master() const { return in_d0() && (read(kCommand, 2) & kCommandBusMaster) != 0; }
  [[nodiscard]] bool in_d0() const;
  /// The BAR that holds [address, address + bytes) and the offset in it.
  struct BarHit {
    unsigned bar = 0;
    std::uint64_t offset = 0;
  };
  [[nodiscard]] std::optional<BarHit> bar_hit(std::uint64_t address, std::uint64_t bytes) const;

  // Bridges.
  [[nodiscard]] bool forwards_bus(unsigned bus) const;
  [[nodiscard]] bool forwards_memory(std::uint64_t address, std::uint64_t bytes) const;

  /// Notes an uncorrectable error (a bit of kAer...) in status, device status and error reporting; `header` is the
  /// first four words of the packet, if it had one. Returns the message that goes to the root.
  ErrorMessage log(std::uint32_t error, const std::optional<TlpHeader>& header = std::nullopt);
  /// Bridges: an error message from below may go on.
  [[nodiscard]] bool forwards_errors() const { return (read(kBridgeControl, 2) & kBridgeSerr) != 0; }
  /// Root ports: notes a message from a function (bus << 8 | device << 3 | function).
  void log_message(ErrorMessage message, std::uint16_t source);

  /// Bus, device and function as of the last configuration access.
  [[nodiscard]] std::uint16_t id() const { return id_; }
  void set_id(std::uint16_t id) { id_ = id; }

 private:
  struct Bar {
    unsigned index = 0;
    std::uint64_t size = 0;
  };

  void define_header(std::uint16_t device, std::uint32_t class_code);
  void define_bridge();
  [[nodiscard]] static bool legal(unsigned offset, unsigned size);

  std::array<std::uint8_t, 4096> value_{}, writable_{}, w1c_{}, initial_{};
  std::vector<Bar> bars_;
  bool bridge_;
  std::uint16_t id_ = 0;
  unsigned last_capability_ = 0, next_capability_ = 0x40;
  unsigned last_extended_ = 0, next_extended_ = kExtendedStart;
};

}  // namespace tessera::pcie
