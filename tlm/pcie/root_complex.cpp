// See root_complex.h.
#include "tlm/pcie/root_complex.h"

#include <algorithm>
#include <cstring>

#include "tlm/pcie/switch.h"

namespace tessera::pcie {

RootComplex::RootComplex(const sc_core::sc_module_name& name, unsigned ports) : sc_module(name) {
  for (unsigned p = 0; p < ports; ++p) {
    ports_.emplace_back(kDeviceRootPort, kClassBridge, true);
    ports_[p].add_power_management();
    ports_[p].add_express(kPortRoot, p);
    ports_[p].add_aer();
    const std::string index = std::to_string(p);
    down.push_back(std::make_unique<tlm_utils::simple_initiator_socket<RootComplex>>(("down" + index).c_str()));
    up.push_back(std::make_unique<tlm_utils::simple_target_socket<RootComplex>>(("up" + index).c_str()));
    up[p]->register_b_transport(this, &RootComplex::from_card);
  }
  SC_HAS_PROCESS(RootComplex);
  SC_METHOD(deliver);
  sensitive << deliver_event_;
  dont_initialize();
}

std::uint32_t RootComplex::config(unsigned bus, unsigned device, unsigned function, unsigned offset, unsigned size,
                                  bool write, std::uint32_t value, sc_core::sc_time& delay) {
  const std::uint32_t all_ones = size == 4 ? 0xffffffffu : (1u << (8 * size)) - 1;
  std::uint32_t data = write ? value : 0;
  Request request(Tlp::Kind::config, write, (bus << 20) | (device << 15) | (function << 12) | offset,
                  reinterpret_cast<std::uint8_t*>(&data), size);
  if (bus == 0) {
    if (device >= ports_.size() || function != 0) return all_ones;
    access_config(ports_[device], request.payload);
    return data;
  }
  for (std::size_t p = 0; p < ports_.size(); ++p) {
    if (!ports_[p].forwards_bus(bus)) continue;
    request.set_type0(bus == ports_[p].read(kSecondaryBus, 1));
    (*down[p])->b_transport(request.payload, delay);
    return request.payload.is_response_ok() ? data : all_ones;
  }
  return all_ones;
}

int RootComplex::port_of(std::uint64_t address, std::uint64_t bytes) const {
  for (std::size_t p = 0; p < ports_.size(); ++p)
    if (ports_[p].forwards_memory(address, bytes)) return static_cast<int>(p);
  return -1;
}

Completion RootComplex::memory(std::uint64_t address, bool write, std::uint8_t* bytes, std::size_t count,
                               sc_core::sc_time& delay) {
  Request request(Tlp::Kind::memory, write, address, bytes, count);
  const int port = port_of(address, count);
  if (port < 0)
    unsupported(request.payload);
  else
    (*down[static_cast<std::size_t>(port)])->b_transport(request.payload, delay);
  switch (request.payload.get_response_status()) {
    case tlm::TLM_OK_RESPONSE:
      return Completion::ok;
    case tlm::TLM_GENERIC_ERROR_RESPONSE:
      return Completion::completer_abort;
    default:
      return Completion::unsupported_request;
  }
}

std::size_t RootComplex::debug(std::uint64_t address, bool write, std::uint8_t* bytes, std::size_t count) {
  Request request(Tlp::Kind::memory, write, address, bytes, count);
  const int port = port_of(address, count);
  return port < 0 ? 0 : (*down[static_cast<std::size_t>(port)])->transport_dbg(request.payload);
}

void RootComplex::from_card(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::uint64_t address = payload.get_address();
  if (payload.is_write() && payload.get_data_length() == 4 && address >= kMessageBase &&
      address < kMessageBase + kMessageSize) {
    Arriving arriving{sc_core::sc_time_stamp() + delay, {address, 0}};
    std::memcpy(&arriving.message.data, payload.get_data_ptr(), 4);
    // Behind all that arrive at the same time or before.
    arriving_.insert(std::upper_bound(arriving_.begin(), arriving_.end(), arriving,
                                      [](const Arriving& a, const Arriving& b) { return a.at < b.at; }),
                     arriving);
    deliver_event_.notify(arriving_.front().at - sc_core::sc_time_stamp());
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    return;
  }
  if (host_memory && host_memory(payload.is_write(), address, payload.get_data_ptr(), payload.get_data_length()))
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  else
    unsupported(payload);
}

void RootComplex::deliver() {
  while (!arriving_.empty() && arriving_.front().at <= sc_core::sc_time_stamp()) {
    messages.push_back(arriving_.front().message);
    arriving_.erase(arriving_.begin());
    message_arrived.notify();
  }
  if (!arriving_.empty()) deliver_event_.notify(arriving_.front().at - sc_core::sc_time_stamp());
}

}  // namespace tessera::pcie
