// See tlp.h.
#include "tlm/pcie/tlp.h"

#include <stdexcept>
#include <string>

namespace tessera::pcie {

Request::Request(Tlp::Kind kind, bool write, std::uint64_t address, std::uint8_t* bytes, std::size_t count) {
  tlp_.kind = kind;
  payload.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  payload.set_address(address);
  payload.set_data_ptr(bytes);
  payload.set_data_length(static_cast<unsigned>(count));
  payload.set_streaming_width(static_cast<unsigned>(count));
  payload.set_byte_enable_ptr(nullptr);
  payload.set_dmi_allowed(false);
  payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  payload.set_extension(&tlp_);
}

Completion Request::completion() const {
  if (tlp_.lost) return Completion::timeout;
  if (tlp_.down) return Completion::link_down;
  switch (payload.get_response_status()) {
    case tlm::TLM_OK_RESPONSE:
      return tlp_.poisoned ? Completion::poisoned : Completion::ok;
    case tlm::TLM_GENERIC_ERROR_RESPONSE:
      return Completion::completer_abort;
    default:
      return Completion::unsupported_request;
  }
}

TlpHeader header_of(const tlm::tlm_generic_payload& payload) {
  const Tlp& tlp = tlp_of(payload);
  const std::uint64_t address = payload.get_address();
  const unsigned first = address % 4, count = payload.get_data_length();
  const auto words = static_cast<std::uint32_t>(data_bytes(address, count) / 4);
  const unsigned end = (first + count - 1) % 4;
  std::uint32_t first_enables = 0xfu << first & 0xf, last_enables = 0xfu >> (3 - end);
  if (words == 1) first_enables &= last_enables, last_enables = 0;
  const std::uint32_t middle = (std::uint32_t{tlp.requester} << 16) | (last_enables << 4) | first_enables;
  const std::uint32_t data = payload.is_write() ? 0x4000'0000 : 0;
  if (tlp.kind == Tlp::Kind::config) {
    const auto function = static_cast<std::uint32_t>(address >> 12 & 0xffff);
    return {data | (tlp.type0 ? 0x0400'0000u : 0x0500'0000u) | 1, middle,
            (function << 16) | static_cast<std::uint32_t>(address & 0xffc), 0};
  }
  const auto low = static_cast<std::uint32_t>(address & ~std::uint64_t{3}),
             high = static_cast<std::uint32_t>(address >> 32);
  if (high == 0) return {data | (words & 0x3ff), middle, low, 0};
  return {data | 0x2000'0000 | (words & 0x3ff), middle, high, low};
}

ProtocolChecker::ProtocolChecker(const sc_core::sc_module_name& name) : sc_module(name), in("in"), out("out") {
  in.register_b_transport(this, &ProtocolChecker::b_transport);
  in.register_transport_dbg(this, &ProtocolChecker::transport_dbg);
}

void ProtocolChecker::breach(const char* what) const {
  throw std::logic_error(std::string("TLM base protocol broken at ") + this->name() + ": " + what);
}

void ProtocolChecker::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  ++transactions_;
  if (payload.get_response_status() != tlm::TLM_INCOMPLETE_RESPONSE) breach("response set before the call");
  if (payload.get_data_ptr() == nullptr || payload.get_data_length() == 0) breach("no data");
  if (payload.get_streaming_width() < payload.get_data_length()) breach("streaming width below the length");
  if (payload.get_byte_enable_ptr() != nullptr) breach("byte enables are not used on these links");
  if (payload.get_extension<Tlp>() == nullptr) breach("a packet without its kind");
  if (is_config(payload) && payload.get_data_length() > 4) breach("configuration access of more than 4 bytes");
  const auto address = payload.get_address();
  const auto command = payload.get_command();
  const auto length = payload.get_data_length();
  const auto* data = payload.get_data_ptr();
  const Tlp::Kind kind = tlp_of(payload).kind;
  const sc_core::sc_time entry = sc_core::sc_time_stamp() + delay;
  out->b_transport(payload, delay);
  if (payload.get_response_status() == tlm::TLM_INCOMPLETE_RESPONSE) breach("target set no response");
  if (payload.get_address() != address || payload.get_command() != command || payload.get_data_length() != length ||
      payload.get_data_ptr() != data || tlp_of(payload).kind != kind)
    breach("target changed the request");
  if (sc_core::sc_time_stamp() + delay < entry) breach("local time ran back");
}

unsigned ProtocolChecker::transport_dbg(tlm::tlm_generic_payload& payload) {
  const sc_core::sc_time entry = sc_core::sc_time_stamp();
  const unsigned count = out->transport_dbg(payload);
  if (sc_core::sc_time_stamp() != entry) breach("a debug access took time");
  if (count > payload.get_data_length()) breach("a debug access moved more than was asked");
  return count;
}

}  // namespace tessera::pcie
