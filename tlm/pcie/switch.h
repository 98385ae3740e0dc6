// The switch of a card: one upstream port, one downstream port for each endpoint; and the rate of the card's link.
//
// Configuration accesses are routed by bus number, memory accesses by the ports' windows, what endpoints send goes up.
// The upstream link carries one packet at a time each way at its rate; latency is added once each way.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "tlm/pcie/config_space.h"
#include "tlm/pcie/tlp.h"

namespace tessera::pcie {

struct LinkTiming {
  sc_core::sc_time per_byte;  ///< each way
  sc_core::sc_time latency;   ///< root port to endpoint, one way
};

class Switch : public sc_core::sc_module {
 public:
  Switch(const sc_core::sc_module_name& name, unsigned ports, const LinkTiming& timing);

  tlm_utils::simple_target_socket<Switch> from_root;
  tlm_utils::simple_initiator_socket<Switch> to_root;
  std::vector<std::unique_ptr<tlm_utils::simple_initiator_socket<Switch>>> to_endpoint;
  std::vector<std::unique_ptr<tlm_utils::simple_target_socket_tagged<Switch>>> from_endpoint;

  [[nodiscard]] const ConfigSpace& upstream() const { return upstream_; }
  [[nodiscard]] const ConfigSpace& downstream(unsigned port) const { return ports_[port]; }

 private:
  enum Direction { down = 0, up = 1 };

  void transport_down(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void transport_up(int port, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned debug_down(tlm::tlm_generic_payload& payload);
  void config(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  /// Index of the downstream port whose window holds the access; -1 if none does.
  [[nodiscard]] int port_of(std::uint64_t address, std::uint64_t bytes) const;
  /// Takes the link for `bytes` from the local time on; `delay` becomes the end of the packet.
  void serialise(Direction direction, std::uint64_t bytes, sc_core::sc_time& delay);

  LinkTiming timing_;
  ConfigSpace upstream_;
  std::vector<ConfigSpace> ports_;
  std::array<sc_core::sc_time, 2> busy_{};
};

/// Answers a configuration access from a space; sets the response.
void access_config(ConfigSpace& space, tlm::tlm_generic_payload& payload);
/// All ones and UR.
void unsupported(tlm::tlm_generic_payload& payload);

}  // namespace tessera::pcie
