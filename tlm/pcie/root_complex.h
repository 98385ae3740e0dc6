// The host's side of PCI Express: one root port for each card, configuration and memory accesses going down, bus
// mastering, interrupts and error messages coming up. Host memory is whoever attached. What endpoints write is there,
// and their interrupts are told, when it arrives; reads see what was written before them.
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

struct RootConfig {
  unsigned ports = 1;
  unsigned max_payload = 256, max_read_request = 512;
  sc_core::sc_time completion_timeout;
};

class RootComplex : public sc_core::sc_module {
 public:
  RootComplex(const sc_core::sc_module_name& name, const RootConfig& config);

  std::vector<std::unique_ptr<tlm_utils::simple_initiator_socket<RootComplex>>> down;
  std::vector<std::unique_ptr<tlm_utils::simple_target_socket_tagged<RootComplex>>> up;

  /// Configuration access to bus, device, function; root ports stand on bus 0. From a SystemC thread, which may wait in
  /// it; `delay` grows by what is left of the time it takes.
  std::uint32_t config(unsigned bus, unsigned device, unsigned function, unsigned offset, unsigned size, bool write,
                       std::uint32_t value, sc_core::sc_time& delay);
  /// Memory access by bus address, within one window; reads that fail give all ones. From a SystemC thread, as above.
  Completion memory(std::uint64_t address, bool write, std::uint8_t* bytes, std::size_t count, sc_core::sc_time& delay);
  /// Debug access: never takes time. Bytes moved.
  std::size_t debug(std::uint64_t address, bool write, std::uint8_t* bytes, std::size_t count);

  /// Host memory: (write, address, bytes, count) -> false if not mapped.
  std::function<bool(bool, std::uint64_t, std::uint8_t*, std::size_t)> host_memory;
  /// Messages in order of arrival; `message_arrived` is notified for each.
  std::deque<Message> messages;
  sc_core::sc_event message_arrived;

  [[nodiscard]] const ConfigSpace& port(unsigned index) const { return ports_[index]; }

 private:
  /// A write on its way.
  struct Arriving {
    sc_core::sc_time at;
    std::size_t port = 0;
    std::uint64_t address = 0;
    std::vector<std::uint8_t> bytes;
    TlpHeader header{};
  };

  void from_card(int port, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void take_write(std::size_t port, tlm::tlm_generic_payload& payload, const sc_core::sc_time& at);
  void answer_read(tlm::tlm_generic_payload& payload, const sc_core::sc_time& at);
  void deliver();
  void access_port(std::size_t port, tlm::tlm_generic_payload& payload);
  /// Notes an error message from below or from the port itself.
  void note(std::size_t port, ErrorMessage message, std::uint16_t source);
  /// What the root port makes of the answer to a host's access.
  Completion settle(std::size_t port, Request& request, const sc_core::sc_time& issued, sc_core::sc_time& delay);
  [[nodiscard]] int port_of(std::uint64_t address, std::uint64_t bytes) const;

  RootConfig limits_;
  std::vector<ConfigSpace> ports_;
  std::vector<unsigned> counters_;  // per port: offset of the capability with its error counters
  std::vector<bool> in_reset_;
  std::deque<Arriving> arriving_;  // by time
  sc_core::sc_event deliver_event_;
};

}  // namespace tessera::pcie
