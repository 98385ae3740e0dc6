// See switch.h.
#include "tlm/pcie/switch.h"

#include <algorithm>
#include <cstring>

namespace tessera::pcie {

void access_config(ConfigSpace& space, tlm::tlm_generic_payload& payload) {
  const auto offset = static_cast<unsigned>(payload.get_address() & 0xfff);
  const unsigned size = payload.get_data_length();
  std::uint32_t value = 0;
  if (payload.is_write()) {
    std::memcpy(&value, payload.get_data_ptr(), size);
    space.write(offset, size, value);
  } else {
    value = space.read(offset, size);
    std::memcpy(payload.get_data_ptr(), &value, size);
  }
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

void unsupported(tlm::tlm_generic_payload& payload) {
  if (payload.is_read()) std::memset(payload.get_data_ptr(), 0xff, payload.get_data_length());
  payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

Switch::Switch(const sc_core::sc_module_name& name, unsigned ports, const LinkTiming& timing)
    : sc_module(name),
      from_root("from_root"),
      to_root("to_root"),
      timing_(timing),
      upstream_(kDeviceUpstream, kClassBridge, true) {
  upstream_.add_power_management();
  upstream_.add_express(kPortUpstream, 0);
  upstream_.add_aer();
  from_root.register_b_transport(this, &Switch::transport_down);
  from_root.register_transport_dbg(this, &Switch::debug_down);
  for (unsigned p = 0; p < ports; ++p) {
    ports_.emplace_back(kDeviceDownstream, kClassBridge, true);
    ports_[p].add_power_management();
    ports_[p].add_express(kPortDownstream, p + 1);
    ports_[p].add_aer();
    const std::string index = std::to_string(p);
    to_endpoint.push_back(
        std::make_unique<tlm_utils::simple_initiator_socket<Switch>>(("to_endpoint" + index).c_str()));
    from_endpoint.push_back(
        std::make_unique<tlm_utils::simple_target_socket_tagged<Switch>>(("from_endpoint" + index).c_str()));
    from_endpoint[p]->register_b_transport(this, &Switch::transport_up, static_cast<int>(p));
  }
}

void Switch::serialise(Direction direction, std::uint64_t bytes, sc_core::sc_time& delay) {
  const sc_core::sc_time now = sc_core::sc_time_stamp();
  const sc_core::sc_time start = std::max(now + delay, busy_[direction]);
  busy_[direction] = start + timing_.per_byte * static_cast<double>(bytes);
  delay = busy_[direction] - now;
}

int Switch::port_of(std::uint64_t address, std::uint64_t bytes) const {
  if (!upstream_.forwards_memory(address, bytes)) return -1;
  for (std::size_t p = 0; p < ports_.size(); ++p)
    if (ports_[p].forwards_memory(address, bytes)) return static_cast<int>(p);
  return -1;
}

void Switch::config(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const auto bus = static_cast<unsigned>(payload.get_address() >> 20 & 0xff);
  const auto device = static_cast<unsigned>(payload.get_address() >> 15 & 0x1f);
  const auto function = static_cast<unsigned>(payload.get_address() >> 12 & 7);
  if (payload.get_extension<Tlp>()->type0)
    return device == 0 && function == 0 ? access_config(upstream_, payload) : unsupported(payload);
  if (!upstream_.forwards_bus(bus)) return unsupported(payload);
  if (bus == upstream_.read(kSecondaryBus, 1)) {
    if (device < ports_.size() && function == 0) return access_config(ports_[device], payload);
    return unsupported(payload);
  }
  for (std::size_t p = 0; p < ports_.size(); ++p)
    if (ports_[p].forwards_bus(bus)) {
      // A link has one device: device numbers above 0 on the secondary bus have nobody behind them.
      if (device != 0 || function != 0 || bus != ports_[p].read(kSecondaryBus, 1)) return unsupported(payload);
      return (*to_endpoint[p])->b_transport(payload, delay);
    }
  unsupported(payload);
}

void Switch::transport_down(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const bool posted = payload.is_write() && !is_config(payload);
  const std::uint64_t payload_bytes = payload.get_data_length();
  serialise(down, kTlpOverhead + (payload.is_write() ? payload_bytes : 0), delay);
  delay += timing_.latency;
  if (is_config(payload)) {
    config(payload, delay);
  } else if (const int port = port_of(payload.get_address(), payload_bytes); port >= 0) {
    (*to_endpoint[static_cast<std::size_t>(port)])->b_transport(payload, delay);
  } else {
    upstream_.log_unsupported_request();
    unsupported(payload);
  }
  if (posted) return;
  serialise(up, kTlpOverhead + (payload.is_read() ? payload_bytes : 0), delay);
  delay += timing_.latency;
}

void Switch::transport_up(int port, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::uint64_t payload_bytes = payload.get_data_length();
  if (!ports_[static_cast<std::size_t>(port)].bus_master() || !upstream_.bus_master()) {
    ports_[static_cast<std::size_t>(port)].log_unsupported_request();
    return unsupported(payload);
  }
  serialise(up, kTlpOverhead + (payload.is_write() ? payload_bytes : 0), delay);
  delay += timing_.latency;
  to_root->b_transport(payload, delay);
  if (payload.is_write()) return;
  serialise(down, kTlpOverhead + payload_bytes, delay);
  delay += timing_.latency;
}

unsigned Switch::debug_down(tlm::tlm_generic_payload& payload) {
  const int port = is_config(payload) ? -1 : port_of(payload.get_address(), payload.get_data_length());
  if (port < 0) {
    unsupported(payload);
    return 0;
  }
  return (*to_endpoint[static_cast<std::size_t>(port)])->transport_dbg(payload);
}

}  // namespace tessera::pcie
