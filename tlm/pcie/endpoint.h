// The PCI Express endpoint of one IPU: configuration space, BARs, MSI-X, bus mastering. What stands behind the BARs is
// the chip's (tlm/system), through EndpointFunction.
#pragma once

#include <cstdint>

#include "tlm/pcie/config_space.h"
#include "tlm/pcie/msix.h"
#include "tlm/pcie/tlp.h"

namespace tessera::pcie {

enum class Completion : std::uint8_t { ok, unsupported_request, completer_abort };

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
};

class Endpoint : public sc_core::sc_module {
 public:
  Endpoint(const sc_core::sc_module_name& name, std::uint64_t register_bytes, std::uint64_t tile_bytes);

  tlm_utils::simple_target_socket<Endpoint> from_link;
  tlm_utils::simple_initiator_socket<Endpoint> to_link;

  void attach(EndpointFunction& function) { function_ = &function; }

  /// Bus mastering: moves `count` bytes at a bus address; false if bus mastering is off or nobody answers. Accesses do
  /// not cross 4 KiB. `delay` becomes the local time of the completion (read) or of the arrival at the host (write).
  bool dma(bool write, std::uint64_t address, std::uint8_t* bytes, std::size_t count, sc_core::sc_time& delay);
  /// Raises an MSI-X vector `delay` from now; it cannot pass writes made before.
  void raise(unsigned vector, const sc_core::sc_time& delay);

  [[nodiscard]] const ConfigSpace& config() const { return config_; }

 private:
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned transport_dbg(tlm::tlm_generic_payload& payload);
  Completion memory(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void send_message(std::uint64_t address, std::uint32_t data);

  ConfigSpace config_;
  Msix msix_;
  EndpointFunction* function_ = nullptr;
  sc_core::sc_time message_delay_;  // local time of what raises or unmasks
};

}  // namespace tessera::pcie
