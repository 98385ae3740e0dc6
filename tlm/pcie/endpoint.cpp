// See endpoint.h.
#include "tlm/pcie/endpoint.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "tlm/pcie/switch.h"

namespace tessera::pcie {

Endpoint::Endpoint(const sc_core::sc_module_name& name, std::uint64_t register_bytes, std::uint64_t tile_bytes)
    : sc_module(name),
      from_link("from_link"),
      to_link("to_link"),
      config_(kDeviceIpu, kClassAccelerator, false),
      msix_(
          kVectors,
          [this] {
            const auto control = config_.read(config_.capability(kCapMsix) + kMsixControl, 2);
            return (control & kMsixEnable) != 0 && (control & kMsixFunctionMask) == 0 && config_.bus_master();
          },
          [this](std::uint64_t address, std::uint32_t data) { send_message(address, data); }) {
  config_.add_bar64(kBarRegisters, register_bytes, false);
  config_.add_bar64(kBarTiles, tile_bytes, true);
  config_.add_bar64(kBarMsix, kMsixBarSize, false);
  config_.add_power_management();
  config_.add_express(kPortEndpoint, 0);
  config_.add_msix(kVectors, kBarMsix, kMsixTableOffset, kMsixPendingOffset);
  config_.add_aer();
  from_link.register_b_transport(this, &Endpoint::b_transport);
  from_link.register_transport_dbg(this, &Endpoint::transport_dbg);
}

void Endpoint::send_message(std::uint64_t address, std::uint32_t data) {
  sc_core::sc_time delay = message_delay_;
  Request request(Tlp::Kind::memory, true, address, reinterpret_cast<std::uint8_t*>(&data), 4);
  to_link->b_transport(request.payload, delay);
  if (!request.payload.is_response_ok()) config_.log_unsupported_request();
}

void Endpoint::raise(unsigned vector, const sc_core::sc_time& delay) {
  message_delay_ = delay;
  msix_.raise(vector);
}

bool Endpoint::dma(bool write, std::uint64_t address, std::uint8_t* bytes, std::size_t count, sc_core::sc_time& delay) {
  if (count > 4096 - address % 4096) throw std::logic_error("pcie: a request crosses 4 KiB");
  if (!config_.bus_master()) return false;
  Request request(Tlp::Kind::memory, write, address, bytes, count);
  to_link->b_transport(request.payload, delay);
  return request.payload.is_response_ok();
}

Completion Endpoint::memory(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::size_t count = payload.get_data_length();
  const auto hit = config_.bar_hit(payload.get_address(), count);
  if (!hit) return Completion::unsupported_request;
  if (hit->bar == kBarMsix) {
    message_delay_ = delay;
    const bool ok = payload.is_write() ? msix_.write(hit->offset, payload.get_data_ptr(), count)
                                       : msix_.read(hit->offset, payload.get_data_ptr(), count);
    return ok ? Completion::ok : Completion::completer_abort;
  }
  if (function_ == nullptr) return Completion::unsupported_request;
  if (count % 4 != 0 || hit->offset % 4 != 0) return Completion::completer_abort;
  return payload.is_write() ? function_->bar_write(hit->bar, hit->offset, payload.get_data_ptr(), count, delay)
                            : function_->bar_read(hit->bar, hit->offset, payload.get_data_ptr(), count, delay);
}

void Endpoint::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  if (is_config(payload)) {
    access_config(config_, payload);
    if (payload.is_write()) {  // bus master, MSI-X enable or function mask may have let a message go
      message_delay_ = delay;
      msix_.update();
    }
    return;
  }
  switch (memory(payload, delay)) {
    case Completion::ok:
      payload.set_response_status(tlm::TLM_OK_RESPONSE);
      return;
    case Completion::unsupported_request:
      config_.log_unsupported_request();
      return unsupported(payload);
    case Completion::completer_abort:
      config_.log_completer_abort();
      if (payload.is_read()) std::memset(payload.get_data_ptr(), 0xff, payload.get_data_length());
      payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
  }
}

unsigned Endpoint::transport_dbg(tlm::tlm_generic_payload& payload) {
  const auto hit = config_.bar_hit(payload.get_address(), payload.get_data_length());
  if (!hit || hit->bar == kBarMsix || function_ == nullptr) {
    unsupported(payload);
    return 0;
  }
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  return static_cast<unsigned>(
      function_->debug(hit->bar, payload.is_write(), hit->offset, payload.get_data_ptr(), payload.get_data_length()));
}

}  // namespace tessera::pcie
