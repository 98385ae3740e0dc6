// See switch.h.
#include "tlm/pcie/switch.h"

#include <algorithm>
#include <cstring>

#include "tlm/pcie/endpoint.h"

namespace tessera::pcie {

void access_config(ConfigSpace& space, tlm::tlm_generic_payload& payload) {
  const auto offset = static_cast<unsigned>(payload.get_address() & 0xfff);
  const unsigned size = payload.get_data_length();
  space.set_id(static_cast<std::uint16_t>(payload.get_address() >> 12));
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

Switch::Switch(const sc_core::sc_module_name& name, unsigned ports, const LinkTiming& timing, unsigned max_read_request)
    : sc_module(name),
      from_root("from_root"),
      to_root("to_root"),
      timing_(timing),
      max_read_request_(max_read_request),
      upstream_(kDeviceUpstream, kClassBridge, true),
      up_link_(ports, true),
      in_reset_(ports, false),
      up_(timing, ports + 1),
      down_(timing, ports + 1) {
  upstream_.add_power_management();
  upstream_.add_express(kPortUpstream, 0, timing.max_payload, max_read_request);
  upstream_.add_aer(kPortUpstream);
  counters_ = upstream_.add_vendor(kVendorLinkCounters, kVendorBytes);
  upstream_.power_on();
  from_root.register_b_transport(this, &Switch::transport_down);
  from_root.register_transport_dbg(this, &Switch::debug_down);
  for (unsigned p = 0; p < ports; ++p) {
    ports_.emplace_back(kDeviceDownstream, kClassBridge, true);
    ports_[p].add_power_management();
    ports_[p].add_express(kPortDownstream, p + 1, timing.max_payload, max_read_request);
    ports_[p].add_aer(kPortDownstream);
    ports_[p].power_on();
    const std::string index = std::to_string(p);
    to_endpoint.push_back(
        std::make_unique<tlm_utils::simple_initiator_socket<Switch>>(("to_endpoint" + index).c_str()));
    from_endpoint.push_back(
        std::make_unique<tlm_utils::simple_target_socket_tagged<Switch>>(("from_endpoint" + index).c_str()));
    from_endpoint[p]->register_b_transport(this, &Switch::transport_up, static_cast<int>(p));
  }
}

int Switch::port_of(std::uint64_t address, std::uint64_t bytes) const {
  if (!upstream_.forwards_memory(address, bytes)) return -1;
  for (std::size_t p = 0; p < ports_.size(); ++p)
    if (ports_[p].forwards_memory(address, bytes)) return static_cast<int>(p);
  return -1;
}

unsigned Switch::flow_of_bus(unsigned bus) const {
  for (std::size_t p = 0; p < ports_.size(); ++p)
    if (ports_[p].forwards_bus(bus)) return static_cast<unsigned>(p);
  return static_cast<unsigned>(ports_.size());
}

unsigned Switch::flow_of(const tlm::tlm_generic_payload& payload) const {
  if (is_config(payload)) return flow_of_bus(payload.get_address() >> 20 & 0xff);
  const int port = port_of(payload.get_address(), payload.get_data_length());
  return port < 0 ? static_cast<unsigned>(ports_.size()) : static_cast<unsigned>(port);
}

void Switch::report(ErrorMessage message, const ConfigSpace& from, bool from_below) {
  if (message == ErrorMessage::none || (from_below && !upstream_.forwards_errors())) return;
  std::uint8_t nothing = 0;
  Request request(Tlp::Kind::error_message, true, from.id(), &nothing, 1);
  request.tlp().message = message;
  request.tlp().requester = from.id();
  sc_core::sc_time delay;
  to_root->b_transport(request.payload, delay);
}

void Switch::refresh_counters(unsigned offset) {
  const auto refresh = [&](unsigned at, std::uint64_t value) {
    if (offset / 4 * 4 != counters_ + at) return;
    upstream_.assign_bits(counters_ + at, 4, ~0u, static_cast<std::uint32_t>(value));
    upstream_.assign_bits(counters_ + at + 4, 4, ~0u, static_cast<std::uint32_t>(value >> 32));
  };
  refresh(kVendorUpBytes, up_.bytes());
  refresh(kVendorDownBytes, down_.bytes());
  refresh(kVendorUpPackets, up_.packets());
  refresh(kVendorDownPackets, down_.packets());
}

void Switch::reset_endpoint(unsigned port) {
  std::uint8_t nothing = 0;
  Request request(Tlp::Kind::hot_reset, true, 0, &nothing, 1);
  sc_core::sc_time delay;
  (*to_endpoint[port])->b_transport(request.payload, delay);
}

void Switch::reset_all() {
  upstream_.reset(ConfigSpace::Reset::hot);
  for (ConfigSpace& port : ports_) port.reset(ConfigSpace::Reset::hot);
  for (unsigned p = 0; p < ports_.size(); ++p) reset_endpoint(p);
  std::fill(in_reset_.begin(), in_reset_.end(), false);
  all_in_reset_ = false;
}

void Switch::watch_resets() {
  const auto asserted = [](const ConfigSpace& bridge) { return (bridge.read(kBridgeControl, 2) & kBridgeReset) != 0; };
  if (asserted(upstream_) && !all_in_reset_)
    for (unsigned p = 0; p < ports_.size(); ++p) {
      ports_[p].reset(ConfigSpace::Reset::hot);
      reset_endpoint(p);
    }
  all_in_reset_ = asserted(upstream_);
  for (unsigned p = 0; p < ports_.size(); ++p) {
    if (asserted(ports_[p]) && !in_reset_[p]) reset_endpoint(p);
    in_reset_[p] = asserted(ports_[p]);
  }
}

void Switch::set_link(unsigned port, bool up) {
  if (up_link_[port] == up) return;
  up_link_[port] = up;
  ConfigSpace& space = ports_[port];
  space.assign_bits(space.capability(kCapExpress) + kLinkStatus, 2, kLinkStatusActive, up ? kLinkStatusActive : 0);
  if (up) return;
  reset_endpoint(port);
  report(space.log(kAerSurpriseDown), space, true);
}

void Switch::inject(unsigned port, const Fault& fault) {
  sc_core::sc_spawn([this, port, fault] {
    if (fault.at > sc_core::sc_time_stamp()) sc_core::wait(fault.at - sc_core::sc_time_stamp());
    set_link(port, false);
    if (fault.length == sc_core::SC_ZERO_TIME) return;
    sc_core::wait(fault.length);
    set_link(port, true);
  });
}

void Switch::to_port(std::size_t port, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  if (up_link_[port] && !in_reset_[port] && !all_in_reset_) return (*to_endpoint[port])->b_transport(payload, delay);
  tlp_of(payload).down = true;
  if (!is_config(payload)) report(ports_[port].log(kAerUnsupportedRequest, header_of(payload)), ports_[port], true);
  unsupported(payload);
}

void Switch::route_config(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const auto bus = static_cast<unsigned>(payload.get_address() >> 20 & 0xff);
  const auto device = static_cast<unsigned>(payload.get_address() >> 15 & 0x1f);
  const auto function = static_cast<unsigned>(payload.get_address() >> 12 & 7);
  if (tlp_of(payload).type0) {
    if (device != 0 || function != 0) return unsupported(payload);
    if (payload.is_read()) refresh_counters(payload.get_address() & 0xfff);
    access_config(upstream_, payload);
    return watch_resets();
  }
  if (!upstream_.forwards_bus(bus) || all_in_reset_) return unsupported(payload);
  if (bus == upstream_.read(kSecondaryBus, 1)) {
    if (device >= ports_.size() || function != 0) return unsupported(payload);
    access_config(ports_[device], payload);
    return watch_resets();
  }
  for (std::size_t p = 0; p < ports_.size(); ++p)
    if (ports_[p].forwards_bus(bus)) {
      // A link has one device: device numbers above 0 on the secondary bus have nobody behind them.
      if (device != 0 || function != 0 || bus != ports_[p].read(kSecondaryBus, 1)) return unsupported(payload);
      tlp_of(payload).type0 = true;
      return to_port(p, payload, delay);
    }
  unsupported(payload);
}

void Switch::route_memory(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::uint64_t address = payload.get_address(), bytes = payload.get_data_length();
  if (const int port = port_of(address, bytes); port >= 0)
    return to_port(static_cast<std::size_t>(port), payload, delay);
  report(upstream_.log(kAerUnsupportedRequest, header_of(payload)), upstream_, false);
  unsupported(payload);
}

void Switch::transport_down(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  if (tlp_of(payload).kind == Tlp::Kind::hot_reset) {
    reset_all();
    if (hot_reset) hot_reset();
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    return;
  }
  if (delay != sc_core::SC_ZERO_TIME) wait(delay);
  delay = sc_core::SC_ZERO_TIME;
  const bool posted = payload.is_write() && !is_config(payload);
  const std::uint64_t data = data_bytes(payload.get_address(), payload.get_data_length());
  const std::uint64_t latency = picoseconds_of(timing_.latency);
  const std::uint64_t packets = (data + timing_.max_payload - 1) / timing_.max_payload;
  const unsigned flow = flow_of(payload);
  std::uint64_t arrival = 0;
  {
    const Gate::Pass pass(gate_, 0);
    const std::uint64_t now = picoseconds_of(pass.came());
    arrival =
        (payload.is_write() ? down_.send(now, now, flow, data, packets) : down_.send(now, now, flow, 0, 1)) + latency;
  }
  const sc_core::sc_time at = time_of(arrival);
  if (at > sc_core::sc_time_stamp()) wait(at - sc_core::sc_time_stamp());
  if (is_config(payload))
    route_config(payload, delay);
  else
    route_memory(payload, delay);
  if (posted || tlp_of(payload).lost) return;
  const Gate::Pass pass(gate_, 0);
  const std::uint64_t now = picoseconds_of(pass.came());
  const std::uint64_t ready = now + picoseconds_of(delay);
  const std::uint64_t end = payload.is_read() && payload.is_response_ok() ? up_.send(now, ready, flow, data, packets)
                                                                          : up_.send(now, ready, flow, 0, 1);
  delay = time_of(end + latency) - sc_core::sc_time_stamp();
}

void Switch::transport_up(int index, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const auto port = static_cast<unsigned>(index);
  Tlp& tlp = tlp_of(payload);
  if (!up_link_[port] || in_reset_[port] || all_in_reset_) {
    tlp.down = true;
    return unsupported(payload);
  }
  if (tlp.kind == Tlp::Kind::error_message) {
    if (ports_[port].forwards_errors() && upstream_.forwards_errors()) return to_root->b_transport(payload, delay);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    return;
  }
  if (!ports_[port].bus_master() || !upstream_.bus_master()) {
    ConfigSpace& space = ports_[port].bus_master() ? upstream_ : ports_[port];
    report(space.log(kAerUnsupportedRequest, header_of(payload)), space, &space != &upstream_);
    return unsupported(payload);
  }
  const std::uint64_t address = payload.get_address(), count = payload.get_data_length();
  const std::uint64_t data = data_bytes(address, count), latency = picoseconds_of(timing_.latency);
  const Gate::Pass pass(gate_, 1 + port * Endpoint::kOrders + tlp.order);
  const sc_core::sc_time here = sc_core::sc_time_stamp();
  const std::uint64_t now = picoseconds_of(pass.came());
  const std::uint64_t ready = now + picoseconds_of(delay);
  const std::uint64_t sent =
      payload.is_write() ? up_.send(now, ready, port, data, (data + timing_.max_payload - 1) / timing_.max_payload)
                         : up_.send(now, ready, port, 0,
                                    (address % max_read_request_ + count + max_read_request_ - 1) / max_read_request_);
  delay = time_of(sent + latency) - here;
  to_root->b_transport(payload, delay);
  if (payload.is_write() || tlp.lost) return;
  // Completions end at multiples of the largest payload.
  const std::uint64_t packets = (address % timing_.max_payload + count + timing_.max_payload - 1) / timing_.max_payload;
  const std::uint64_t answered = sent + latency;
  const std::uint64_t end =
      payload.is_response_ok() ? down_.send(now, answered, port, data, packets) : down_.send(now, answered, port, 0, 1);
  delay = time_of(end + latency) - here;
}

unsigned Switch::debug_down(tlm::tlm_generic_payload& payload) {
  const int port = is_config(payload) ? -1 : port_of(payload.get_address(), payload.get_data_length());
  if (port < 0 || !up_link_[static_cast<std::size_t>(port)]) {
    unsupported(payload);
    return 0;
  }
  return (*to_endpoint[static_cast<std::size_t>(port)])->transport_dbg(payload);
}

}  // namespace tessera::pcie
