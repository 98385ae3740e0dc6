// The switch of a card: one upstream port, one downstream port for each endpoint; and the card's link to the root.
//
// Configuration accesses are routed by bus number, memory accesses by the ports' windows, what endpoints send goes up.
// The upstream link is shared by all both ways (link.h); latency is added once each way. The links behind the switch
// take no time of their own.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tlm/pcie/config_space.h"
#include "tlm/pcie/faults.h"
#include "tlm/pcie/link.h"
#include "tlm/pcie/tlp.h"

namespace tessera::pcie {

class Switch : public sc_core::sc_module {
 public:
  Switch(const sc_core::sc_module_name& name, unsigned ports, const LinkTiming& timing, unsigned max_read_request);

  tlm_utils::simple_target_socket<Switch> from_root;
  tlm_utils::simple_initiator_socket<Switch> to_root;
  std::vector<std::unique_ptr<tlm_utils::simple_initiator_socket<Switch>>> to_endpoint;
  std::vector<std::unique_ptr<tlm_utils::simple_target_socket_tagged<Switch>>> from_endpoint;

  [[nodiscard]] const ConfigSpace& upstream() const { return upstream_; }
  [[nodiscard]] const ConfigSpace& downstream(unsigned port) const { return ports_[port]; }
  [[nodiscard]] const LinkDirection& up() const { return up_; }
  [[nodiscard]] const LinkDirection& down() const { return down_; }

  /// Called when the link above is hot-reset, beside what that does to the functions below.
  std::function<void()> hot_reset;

  /// A fault of kind link_down, of the link behind a port.
  void inject(unsigned port, const Fault& fault);

 private:
  void transport_down(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void transport_up(int port, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned debug_down(tlm::tlm_generic_payload& payload);
  void route_config(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void route_memory(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void to_port(std::size_t port, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  /// Index of the downstream port whose window holds the access; -1 if none does.
  [[nodiscard]] int port_of(std::uint64_t address, std::uint64_t bytes) const;
  /// Flow of what goes down to an access's endpoint, for the order on the link.
  [[nodiscard]] unsigned flow_of(const tlm::tlm_generic_payload& payload) const;
  [[nodiscard]] unsigned flow_of_bus(unsigned bus) const;

  void refresh_counters(unsigned offset);
  void set_link(unsigned port, bool up);
  void reset_endpoint(unsigned port);
  void reset_all();
  /// Acts on the reset bits of the bridges after software may have changed them.
  void watch_resets();
  void report(ErrorMessage message, const ConfigSpace& from, bool from_below);

  LinkTiming timing_;
  unsigned max_read_request_;
  ConfigSpace upstream_;
  unsigned counters_ = 0;  // offset of the capability
  std::vector<ConfigSpace> ports_;
  std::vector<bool> up_link_, in_reset_;  // per port
  bool all_in_reset_ = false;
  Gate gate_;
  LinkDirection up_, down_;
};

/// Answers a configuration access from a space; sets the response.
void access_config(ConfigSpace& space, tlm::tlm_generic_payload& payload);
/// All ones and UR.
void unsupported(tlm::tlm_generic_payload& payload);

}  // namespace tessera::pcie
