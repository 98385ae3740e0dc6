// The PCI Express endpoint of one IPU: configuration space, BARs, MSI-X, bus mastering, resets, error reporting. What
// stands behind the BARs is the chip's (tlm/system), through EndpointFunction.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <set>

#include "tlm/pcie/config_space.h"
#include "tlm/pcie/faults.h"
#include "tlm/pcie/msix.h"
#include "tlm/pcie/tlp.h"

namespace tessera::pcie {

/// What a chip puts behind its BARs. Whole aligned 32-bit words only reach it.
class EndpointFunction {
 public:
  virtual ~EndpointFunction() = default;
  /// `delay` is the local time of the access as an offset from now; the function may add to it.
  virtual Completion bar_read(unsigned bar, std::uint64_t offset, std::uint8_t* bytes, std::size_t count,
                              sc_core::sc_time& delay) = 0;
  virtual Completion bar_write(unsigned bar, std::uint64_t offset, const std::uint8_t* bytes, std::size_t count,
                               sc_core::sc_time& delay) = 0;
  /// Debug access to memory; never takes time, never refused for what the chip is doing. Bytes moved.
  virtual std::size_t debug(unsigned bar, bool write, std::uint64_t offset, std::uint8_t* bytes, std::size_t count) = 0;
  /// The function is reset (function-level or by the link): all state as after power-on.
  virtual void function_reset() = 0;
};

struct EndpointConfig {
  std::uint64_t register_bytes = 0, tile_bytes = 0;  ///< BARs, powers of two
  unsigned max_payload = 256, max_read_request = 512;
  unsigned outstanding = 128;
  sc_core::sc_time completion_timeout;
};

class Endpoint : public sc_core::sc_module {
 public:
  Endpoint(const sc_core::sc_module_name& name, const EndpointConfig& config);

  tlm_utils::simple_target_socket<Endpoint> from_link;
  tlm_utils::simple_initiator_socket<Endpoint> to_link;

  void attach(EndpointFunction& function) { function_ = &function; }

  /// Bus mastering: moves `count` bytes at a bus address, any byte; not across 4 KiB. From a SystemC thread; a
  /// picosecond passes. `delay` in: when the request is ready; out: the local time of the completion (read) or of the
  /// arrival in host memory (write). Unless the answer is ok, a read has moved nothing. Requests of a smaller `order`
  /// go first at the same time.
  Completion dma(bool write, std::uint64_t address, std::uint8_t* bytes, std::size_t count, sc_core::sc_time& delay,
                 unsigned order = 0);
  /// Time until a request of `count` bytes finds the tags or credits that it takes.
  [[nodiscard]] sc_core::sc_time room(bool write, std::size_t count);
  /// Bytes that one request may have and still keep to the tags or credits there are.
  [[nodiscard]] std::size_t largest_request(bool write) const {
    return std::min<std::size_t>(
        4096, std::size_t{limits_.outstanding} * (write ? limits_.max_payload : limits_.max_read_request));
  }
  /// Raises an MSI-X vector `delay` from now; it cannot pass writes made before.
  void raise(unsigned vector, const sc_core::sc_time& delay);

  [[nodiscard]] const ConfigSpace& config() const { return config_; }
  /// Grows with every reset: what was on its way before is not for the function any more.
  [[nodiscard]] unsigned resets() const { return resets_; }
  void inject(const Fault& fault) { faults_.add(fault); }

  static constexpr unsigned kOrders = 16;  ///< orders are below

 private:
  struct Queued {
    sc_core::sc_time at;
    std::uint64_t address = 0;
    std::uint32_t data = 0;
  };

  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned transport_dbg(tlm::tlm_generic_payload& payload);
  void access_registers(tlm::tlm_generic_payload& payload, const sc_core::sc_time& delay);
  Completion memory(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void reset(ConfigSpace::Reset kind);
  void send_messages();
  void report(ErrorMessage message);
  /// Picoseconds from now until fewer than `outstanding` less `units` of those on the way are left.
  [[nodiscard]] std::uint64_t wait_for_units(std::multiset<std::uint64_t>& ends, unsigned units) const;
  /// `delay`, or longer: until the writes that wait for room have been sent.
  [[nodiscard]] sc_core::sc_time behind_writes(const sc_core::sc_time& delay) const;
  [[nodiscard]] unsigned units(bool write, std::size_t count) const;

  EndpointConfig limits_;
  ConfigSpace config_;
  Msix msix_;
  EndpointFunction* function_ = nullptr;
  FaultList faults_;
  unsigned resets_ = 0;
  std::multiset<std::uint64_t> reads_, writes_;  // ends of what is on the way, picoseconds since power-on
  std::uint64_t last_write_ = 0;                 // when the last write is sent: all that comes later goes behind it
  sc_core::sc_time message_delay_;               // local time of what raises or unmasks
  std::deque<Queued> messages_;
  sc_core::sc_event message_queued_;
};

}  // namespace tessera::pcie
