// The host's side of PCI Express: one root port for each card, configuration and memory accesses going down, bus
// mastering and messages coming up. Host memory is whoever attached; messages are writes to the message range.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "tlm/pcie/config_space.h"
#include "tlm/pcie/endpoint.h"
#include "tlm/pcie/tlp.h"

namespace tessera::pcie {

struct Message {
  std::uint64_t address = 0;
  std::uint32_t data = 0;
};

class RootComplex : public sc_core::sc_module {
 public:
  RootComplex(const sc_core::sc_module_name& name, unsigned ports);

  std::vector<std::unique_ptr<tlm_utils::simple_initiator_socket<RootComplex>>> down;
  std::vector<std::unique_ptr<tlm_utils::simple_target_socket<RootComplex>>> up;

  /// Configuration access to bus, device, function; root ports stand on bus 0. `delay` grows by the time it takes.
  std::uint32_t config(unsigned bus, unsigned device, unsigned function, unsigned offset, unsigned size, bool write,
                       std::uint32_t value, sc_core::sc_time& delay);
  /// Memory access by bus address, within one window; reads that fail give all ones.
  Completion memory(std::uint64_t address, bool write, std::uint8_t* bytes, std::size_t count, sc_core::sc_time& delay);
  /// Debug access: never takes time. Bytes moved.
  std::size_t debug(std::uint64_t address, bool write, std::uint8_t* bytes, std::size_t count);

  /// Host memory: (write, address, bytes, count) -> false if not mapped.
  std::function<bool(bool, std::uint64_t, std::uint8_t*, std::size_t)> host_memory;
  /// Messages in order of arrival; `message_arrived` is notified for each.
  std::deque<Message> messages;
  sc_core::sc_event message_arrived;

 private:
  struct Arriving {
    sc_core::sc_time at;
    Message message;
  };

  void from_card(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void deliver();
  [[nodiscard]] int port_of(std::uint64_t address, std::uint64_t bytes) const;

  std::vector<ConfigSpace> ports_;
  std::vector<Arriving> arriving_;
  sc_core::sc_event deliver_event_;
};

}  // namespace tessera::pcie
