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

  /// Appends a capability of `bytes` bytes to the list; returns its offset.
  unsigned add_capability(std::uint8_t id, unsigned bytes);
  unsigned add_extended_capability(std::uint16_t id, unsigned version, unsigned bytes);
  /// A 64-bit memory BAR in registers `index` and `index` + 1; `size` is a power of two >= 16.
  void add_bar64(unsigned index, std::uint64_t size, bool prefetchable);

  // The standard set of every function here.
  void add_power_management();
  void add_express(unsigned port_type, unsigned port);
  void add_msix(unsigned vectors, unsigned bar, std::uint32_t table, std::uint32_t pending);
  void add_aer();

  /// Offset of a capability; 0 if absent.
  [[nodiscard]] unsigned capability(std::uint8_t id) const;
  [[nodiscard]] unsigned extended_capability(std::uint16_t id) const;

  [[nodiscard]] bool memory_enabled() const { return (read(kCommand, 2) & kCommandMemory) != 0; }
  [[nodiscard]] bool bus_master() const { return (read(kCommand, 2) & kCommandBusMaster) != 0; }
  /// The BAR that holds [address, address + bytes) and the offset in it.
  struct BarHit {
    unsigned bar = 0;
    std::uint64_t offset = 0;
  };
  [[nodiscard]] std::optional<BarHit> bar_hit(std::uint64_t address, std::uint64_t bytes) const;

  // Bridges.
  [[nodiscard]] bool forwards_bus(unsigned bus) const;
  [[nodiscard]] bool forwards_memory(std::uint64_t address, std::uint64_t bytes) const;

  /// Notes an error in status and error-reporting registers.
  void log_unsupported_request();
  void log_completer_abort();

 private:
  struct Bar {
    unsigned index = 0;
    std::uint64_t size = 0;
  };

  void define_header(std::uint16_t device, std::uint32_t class_code);
  void define_bridge();
  [[nodiscard]] static bool legal(unsigned offset, unsigned size);

  std::array<std::uint8_t, 4096> value_{}, writable_{}, w1c_{};
  std::vector<Bar> bars_;
  bool bridge_;
  unsigned last_capability_ = 0, next_capability_ = 0x40;
  unsigned last_extended_ = 0, next_extended_ = kExtendedStart;
};

}  // namespace tessera::pcie
