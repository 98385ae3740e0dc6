// The narrow door between driver and card: all that a driver may use of a machine, simulated or real.
//
// One Transport is one PCIe hierarchy: a root port with the card's switch and its endpoints below. Time passes in the
// machine only inside these calls (most in wait_interrupt): the same calls give the same run, whatever the host does
// between them. Faults of the device (traps, exchange faults, link errors) show in registers and interrupts, not as
// C++ exceptions; tessera::Error is thrown only for what a driver must not do or when the machine can make no progress.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tessera {

/// Bus, device, function of a configuration access.
struct PciAddress {
  std::uint8_t bus = 0;
  std::uint8_t device = 0;
  std::uint8_t function = 0;
};

/// Answer of a memory access on PCIe. Reads that fail return all ones, as a root complex does.
enum class PciStatus : std::uint8_t { ok, unsupported_request, completer_abort, timeout, poisoned };

/// A message-signalled interrupt as the host sees it: the write to the address that the driver gave for the vector.
struct Interrupt {
  std::uint64_t address = 0;
  std::uint32_t data = 0;
};

/// Host memory that endpoints reach by bus mastering. Addresses are bus addresses that the driver handed out.
class HostMemory {
 public:
  virtual ~HostMemory() = default;
  /// Both return false if any byte is outside what the driver mapped; nothing is moved then.
  virtual bool dma_read(std::uint64_t address, std::uint8_t* bytes, std::size_t count) = 0;
  virtual bool dma_write(std::uint64_t address, const std::uint8_t* bytes, std::size_t count) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;

  /// Configuration space; size 1, 2 or 4, naturally aligned. Absent functions read all ones; writes to them are lost.
  virtual std::uint32_t config_read(PciAddress function, unsigned offset, unsigned size) = 0;
  virtual void config_write(PciAddress function, unsigned offset, unsigned size, std::uint32_t value) = 0;

  /// Memory space (BARs), by bus address; whole 32-bit words, address a multiple of 4.
  virtual PciStatus memory_read(std::uint64_t address, std::uint8_t* bytes, std::size_t count) = 0;
  virtual PciStatus memory_write(std::uint64_t address, const std::uint8_t* bytes, std::size_t count) = 0;

  /// What bus mastering reaches, beside what was attached before (their addresses lie apart); until detach().
  virtual void attach(HostMemory& memory) = 0;
  virtual void detach(HostMemory& /*memory*/) {}

  /// Lets the machine run until an interrupt arrives, or `limit_ns` of simulated time have passed (then nothing).
  virtual std::optional<Interrupt> wait_interrupt(std::uint64_t limit_ns) = 0;
  /// Gives back an interrupt that is meant for somebody else: it is the next that wait_interrupt() returns. A transport
  /// that has one user only may drop it.
  virtual void hand_back(const Interrupt& /*interrupt*/) {}
  /// Lets exactly `ns` of simulated time pass (host service time is simulated time, never wall time).
  virtual void elapse(std::uint64_t ns) = 0;
  /// Simulated time in nanoseconds since power-on.
  [[nodiscard]] virtual std::uint64_t now_ns() const = 0;
};

}  // namespace tessera
