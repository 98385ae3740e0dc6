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
  if (is_config(payload) && payload.get_data_length() > 4) breach("configuration access of more than 4 bytes");
  const auto address = payload.get_address();
  const auto command = payload.get_command();
  const auto length = payload.get_data_length();
  const auto* data = payload.get_data_ptr();
  const sc_core::sc_time entry = sc_core::sc_time_stamp() + delay;
  out->b_transport(payload, delay);
  if (payload.get_response_status() == tlm::TLM_INCOMPLETE_RESPONSE) breach("target set no response");
  if (payload.get_address() != address || payload.get_command() != command || payload.get_data_length() != length ||
      payload.get_data_ptr() != data)
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
