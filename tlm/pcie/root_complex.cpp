// See root_complex.h.
#include "tlm/pcie/root_complex.h"

#include <algorithm>
#include <cstring>

#include "tlm/pcie/switch.h"

namespace tessera::pcie {

namespace {
std::uint32_t ones(unsigned size) { return size == 4 ? 0xffffffffu : (1u << (8 * size)) - 1; }
bool is_message(std::uint64_t address, std::size_t count) {
  return count == 4 && address >= kMessageBase && address < kMessageBase + kMessageSize;
}
}  // namespace

RootComplex::RootComplex(const sc_core::sc_module_name& name, const RootConfig& config)
    : sc_module(name), limits_(config), in_reset_(config.ports) {
  for (unsigned p = 0; p < config.ports; ++p) {
    ports_.emplace_back(kDeviceRootPort, kClassBridge, true);
    ports_[p].set_id(static_cast<std::uint16_t>(p << 3));
    ports_[p].add_power_management();
    ports_[p].add_express(kPortRoot, p, config.max_payload, config.max_read_request);
    ports_[p].add_aer(kPortRoot);
    counters_.push_back(ports_[p].add_vendor(kVendorErrorCounters, kVendorErrorBytes));
    ports_[p].power_on();
    const std::string index = std::to_string(p);
    down.push_back(std::make_unique<tlm_utils::simple_initiator_socket<RootComplex>>(("down" + index).c_str()));
    up.push_back(std::make_unique<tlm_utils::simple_target_socket_tagged<RootComplex>>(("up" + index).c_str()));
    up[p]->register_b_transport(this, &RootComplex::from_card, static_cast<int>(p));
  }
  SC_HAS_PROCESS(RootComplex);
  SC_METHOD(deliver);
  sensitive << deliver_event_;
  dont_initialize();
}

void RootComplex::note(std::size_t port, ErrorMessage message, std::uint16_t source) {
  if (message == ErrorMessage::none) return;
  ports_[port].log_message(message, source);
  const unsigned at = counters_[port] + (message == ErrorMessage::correctable ? kVendorCorrectable
                                         : message == ErrorMessage::non_fatal ? kVendorNonFatal
                                                                              : kVendorFatal);
  ports_[port].assign_bits(at, 4, ~0u, ports_[port].read(at, 4) + 1);
}

void RootComplex::access_port(std::size_t port, tlm::tlm_generic_payload& payload) {
  access_config(ports_[port], payload);
  const bool reset = (ports_[port].read(kBridgeControl, 2) & kBridgeReset) != 0;
  if (reset && !in_reset_[port]) {
    std::uint8_t nothing = 0;
    Request request(Tlp::Kind::hot_reset, true, 0, &nothing, 1);
    sc_core::sc_time delay;
    (*down[port])->b_transport(request.payload, delay);
  }
  in_reset_[port] = reset;
}

Completion RootComplex::settle(std::size_t port, Request& request, const sc_core::sc_time& issued,
                               sc_core::sc_time& delay) {
  ConfigSpace& space = ports_[port];
  const Completion completion = request.tlp().down ? Completion::unsupported_request : request.completion();
  tlm::tlm_generic_payload& payload = request.payload;
  const bool read = payload.is_read();
  switch (completion) {
    case Completion::timeout:
      delay = issued + limits_.completion_timeout - sc_core::sc_time_stamp();
      note(port, space.log(kAerCompletionTimeout), space.id());
      break;
    case Completion::poisoned:
      note(port, space.log(kAerPoisoned, header_of(payload)), space.id());
      break;
    case Completion::unsupported_request:
      if (read) space.set_bits(kSecondaryStatus, 2, kStatusMasterAbortGot);
      break;
    case Completion::completer_abort:
      if (read) space.set_bits(kSecondaryStatus, 2, kStatusTargetAbortGot);
      break;
    default:
      return completion;
  }
  if (read) std::memset(payload.get_data_ptr(), 0xff, payload.get_data_length());
  return completion;
}

std::uint32_t RootComplex::config(unsigned bus, unsigned device, unsigned function, unsigned offset, unsigned size,
                                  bool write, std::uint32_t value, sc_core::sc_time& delay) {
  std::uint32_t data = write ? value : 0;
  Request request(Tlp::Kind::config, write, (bus << 20) | (device << 15) | (function << 12) | offset,
                  reinterpret_cast<std::uint8_t*>(&data), size);
  if (bus == 0) {
    if (device >= ports_.size() || function != 0) return ones(size);
    access_port(device, request.payload);
    return data;
  }
  for (std::size_t p = 0; p < ports_.size(); ++p) {
    if (!ports_[p].forwards_bus(bus)) continue;
    if (in_reset_[p]) return ones(size);
    request.tlp().type0 = bus == ports_[p].read(kSecondaryBus, 1);
    const sc_core::sc_time issued = sc_core::sc_time_stamp() + delay;
    (*down[p])->b_transport(request.payload, delay);
    return settle(p, request, issued, delay) == Completion::ok ? data : ones(size);
  }
  return ones(size);
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
  if (port < 0 || in_reset_[static_cast<std::size_t>(port)]) {
    unsupported(request.payload);
    return Completion::unsupported_request;
  }
  const auto p = static_cast<std::size_t>(port);
  request.tlp().requester = ports_[p].id();
  const sc_core::sc_time issued = sc_core::sc_time_stamp() + delay;
  (*down[p])->b_transport(request.payload, delay);
  return settle(p, request, issued, delay);
}

std::size_t RootComplex::debug(std::uint64_t address, bool write, std::uint8_t* bytes, std::size_t count) {
  Request request(Tlp::Kind::memory, write, address, bytes, count);
  const int port = port_of(address, count);
  return port < 0 ? 0 : (*down[static_cast<std::size_t>(port)])->transport_dbg(request.payload);
}

void RootComplex::take_write(std::size_t port, tlm::tlm_generic_payload& payload, const sc_core::sc_time& at) {
  const std::uint64_t address = payload.get_address();
  const std::size_t count = payload.get_data_length();
  const std::uint8_t* bytes = payload.get_data_ptr();
  if (!is_message(address, count)) {
    // The sender is told of a hole at once, as no posted write on real hardware is.
    std::vector<std::uint8_t> probe(count);
    if (!host_memory || !host_memory(false, address, probe.data(), count)) {
      note(port, ports_[port].log(kAerUnsupportedRequest, header_of(payload)), ports_[port].id());
      return unsupported(payload);
    }
  }
  Arriving arriving{at, port, address, {bytes, bytes + count}, header_of(payload)};
  // Behind all that arrive at the same time or before.
  arriving_.insert(std::upper_bound(arriving_.begin(), arriving_.end(), at,
                                    [](const sc_core::sc_time& t, const Arriving& a) { return t < a.at; }),
                   std::move(arriving));
  deliver_event_.notify(arriving_.front().at - sc_core::sc_time_stamp());
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

void RootComplex::answer_read(tlm::tlm_generic_payload& payload, const sc_core::sc_time& at) {
  const std::uint64_t address = payload.get_address();
  const std::size_t count = payload.get_data_length();
  std::uint8_t* bytes = payload.get_data_ptr();
  if (!host_memory || !host_memory(false, address, bytes, count)) return unsupported(payload);
  for (const Arriving& earlier : arriving_) {
    if (earlier.at > at) break;
    const std::uint64_t from = std::max(address, earlier.address);
    const std::uint64_t to = std::min(address + count, earlier.address + earlier.bytes.size());
    for (std::uint64_t b = from; b < to; ++b) bytes[b - address] = earlier.bytes[b - earlier.address];
  }
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

void RootComplex::from_card(int index, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const auto port = static_cast<std::size_t>(index);
  Tlp& tlp = tlp_of(payload);
  if (tlp.kind == Tlp::Kind::error_message) {
    if (ports_[port].forwards_errors()) note(port, tlp.message, tlp.requester);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    return;
  }
  if (!ports_[port].bus_master()) {
    note(port, ports_[port].log(kAerUnsupportedRequest, header_of(payload)), ports_[port].id());
    return unsupported(payload);
  }
  if (tlp.injected == Tlp::Injected::refuse) return unsupported(payload);
  if (tlp.injected == Tlp::Injected::abort) {
    note(port, ports_[port].log(kAerCompleterAbort, header_of(payload)), ports_[port].id());
    payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
    return;
  }
  const sc_core::sc_time at = sc_core::sc_time_stamp() + delay;
  if (payload.is_write()) {
    if (!tlp.poisoned) return take_write(port, payload, at);
    note(port, ports_[port].log(kAerPoisoned, header_of(payload)), ports_[port].id());  // and nothing is written
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    return;
  }
  answer_read(payload, at);
  tlp.lost = tlp.injected == Tlp::Injected::lose;
  tlp.poisoned = tlp.injected == Tlp::Injected::poison;
}

void RootComplex::deliver() {
  while (!arriving_.empty() && arriving_.front().at <= sc_core::sc_time_stamp()) {
    Arriving write = std::move(arriving_.front());
    arriving_.pop_front();
    if (is_message(write.address, write.bytes.size())) {
      Message message{write.address, 0};
      std::memcpy(&message.data, write.bytes.data(), 4);
      messages.push_back(message);
      message_arrived.notify();
    } else if (!host_memory || !host_memory(true, write.address, write.bytes.data(), write.bytes.size())) {
      note(write.port, ports_[write.port].log(kAerUnsupportedRequest, write.header), ports_[write.port].id());
    }
  }
  if (!arriving_.empty()) deliver_event_.notify(arriving_.front().at - sc_core::sc_time_stamp());
}

}  // namespace tessera::pcie
