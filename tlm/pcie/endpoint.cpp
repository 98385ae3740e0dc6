// See endpoint.h.
#include "tlm/pcie/endpoint.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "tlm/pcie/link.h"
#include "tlm/pcie/switch.h"

namespace tessera::pcie {

namespace {
constexpr unsigned kMessageOrder = Endpoint::kOrders - 1;
}  // namespace

Endpoint::Endpoint(const sc_core::sc_module_name& name, const EndpointConfig& config)
    : sc_module(name),
      from_link("from_link"),
      to_link("to_link"),
      limits_(config),
      config_(kDeviceIpu, kClassAccelerator, false),
      msix_(
          kVectors,
          [this] {
            const auto control = config_.read(config_.capability(kCapMsix) + kMsixControl, 2);
            return (control & kMsixEnable) != 0 && (control & kMsixFunctionMask) == 0 && config_.bus_master();
          },
          [this](std::uint64_t address, std::uint32_t data) {
            messages_.push_back({sc_core::sc_time_stamp() + message_delay_, address, data});
            message_queued_.notify(sc_core::SC_ZERO_TIME);
          }) {
  config_.add_bar64(kBarRegisters, config.register_bytes, false);
  config_.add_bar64(kBarTiles, config.tile_bytes, true);
  config_.add_bar64(kBarMsix, kMsixBarSize, false);
  config_.add_power_management();
  config_.add_express(kPortEndpoint, 0, config.max_payload, config.max_read_request);
  config_.add_msix(kVectors, kBarMsix, kMsixTableOffset, kMsixPendingOffset);
  config_.add_aer(kPortEndpoint);
  config_.power_on();
  from_link.register_b_transport(this, &Endpoint::b_transport);
  from_link.register_transport_dbg(this, &Endpoint::transport_dbg);
  SC_HAS_PROCESS(Endpoint);
  SC_THREAD(send_messages);
}

void Endpoint::send_messages() {
  for (;;) {
    if (messages_.empty()) {
      wait(message_queued_);
    } else if (messages_.front().at > sc_core::sc_time_stamp()) {
      wait(messages_.front().at - sc_core::sc_time_stamp(), message_queued_);  // a reset may take it away
    } else {
      Queued message = messages_.front();
      messages_.pop_front();
      Request request(Tlp::Kind::memory, true, message.address, reinterpret_cast<std::uint8_t*>(&message.data), 4);
      request.tlp().requester = config_.id();
      request.tlp().order = kMessageOrder;
      sc_core::sc_time delay = behind_writes(sc_core::SC_ZERO_TIME);
      to_link->b_transport(request.payload, delay);
    }
  }
}

void Endpoint::report(ErrorMessage message) {
  if (message == ErrorMessage::none) return;
  std::uint8_t nothing = 0;
  Request request(Tlp::Kind::error_message, true, config_.id(), &nothing, 1);
  request.tlp().message = message;
  request.tlp().requester = config_.id();
  sc_core::sc_time delay;
  to_link->b_transport(request.payload, delay);
}

void Endpoint::raise(unsigned vector, const sc_core::sc_time& delay) {
  message_delay_ = delay;
  msix_.raise(vector);
}

unsigned Endpoint::units(bool write, std::size_t count) const {
  const std::size_t size = write ? limits_.max_payload : limits_.max_read_request;
  return static_cast<unsigned>((count + size - 1) / size);
}

std::uint64_t Endpoint::wait_for_units(std::multiset<std::uint64_t>& ends, unsigned units) const {
  const std::uint64_t now = picoseconds_of(sc_core::sc_time_stamp());
  ends.erase(ends.begin(), ends.upper_bound(now));
  const std::size_t stay = units >= limits_.outstanding ? 0 : limits_.outstanding - units;
  if (ends.size() <= stay) return 0;
  return *std::next(ends.begin(), static_cast<std::ptrdiff_t>(ends.size() - stay - 1)) - now;
}

sc_core::sc_time Endpoint::room(bool write, std::size_t count) {
  return time_of(wait_for_units(write ? writes_ : reads_, units(write, count)));
}

sc_core::sc_time Endpoint::behind_writes(const sc_core::sc_time& delay) const {
  const std::uint64_t now = picoseconds_of(sc_core::sc_time_stamp());
  return last_write_ > now ? std::max(delay, time_of(last_write_ - now)) : delay;
}

Completion Endpoint::dma(bool write, std::uint64_t address, std::uint8_t* bytes, std::size_t count,
                         sc_core::sc_time& delay, unsigned order) {
  if (count == 0 || count > 4096 - address % 4096) throw std::logic_error("pcie: a request is empty or crosses 4 KiB");
  if (!config_.bus_master()) return Completion::not_master;
  std::multiset<std::uint64_t>& ends = write ? writes_ : reads_;
  delay = behind_writes(std::max(delay, room(write, count)));
  const std::uint64_t issue = picoseconds_of(sc_core::sc_time_stamp() + delay);
  if (write) last_write_ = issue;
  const unsigned resets = resets_;
  Request request(Tlp::Kind::memory, write, address, bytes, count);
  Tlp& tlp = request.tlp();
  tlp.requester = config_.id();
  tlp.order = order;
  tlp.poisoned = write && faults_.strike(Fault::Kind::poison_write);
  if (!write && faults_.strike(Fault::Kind::lose_completion)) tlp.injected = Tlp::Injected::lose;
  if (!write && faults_.strike(Fault::Kind::poison_read)) tlp.injected = Tlp::Injected::poison;
  if (faults_.strike(Fault::Kind::refuse)) tlp.injected = Tlp::Injected::refuse;
  if (faults_.strike(Fault::Kind::abort)) tlp.injected = Tlp::Injected::abort;
  to_link->b_transport(request.payload, delay);
  if (resets != resets_) return Completion::link_down;
  Completion completion = write && tlp.poisoned ? Completion::ok : request.completion();
  const std::uint64_t now = picoseconds_of(sc_core::sc_time_stamp());
  if (completion == Completion::timeout) {
    const std::uint64_t end = issue + picoseconds_of(limits_.completion_timeout);
    delay = time_of(end - now);
  }
  for (unsigned i = units(write, count); i > 0; --i) ends.insert(now + picoseconds_of(delay));
  switch (completion) {
    case Completion::timeout:
      report(config_.log(kAerCompletionTimeout));
      break;
    case Completion::poisoned:
      report(config_.log(kAerPoisoned, header_of(request.payload)));
      break;
    case Completion::unsupported_request:
      if (!write) config_.set_bits(kStatus, 2, kStatusMasterAbortGot);
      break;
    case Completion::completer_abort:
      if (!write) config_.set_bits(kStatus, 2, kStatusTargetAbortGot);
      break;
    default:
      break;
  }
  return completion;
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

void Endpoint::reset(ConfigSpace::Reset kind) {
  ++resets_;
  config_.reset(kind);
  msix_.reset();
  messages_.clear();
  reads_.clear();
  writes_.clear();
  last_write_ = 0;
  if (function_ != nullptr) function_->function_reset();
}

void Endpoint::access_registers(tlm::tlm_generic_payload& payload, const sc_core::sc_time& delay) {
  const unsigned express = config_.capability(kCapExpress);
  const bool busy = reads_.upper_bound(picoseconds_of(sc_core::sc_time_stamp())) != reads_.end();
  config_.assign_bits(express + kDeviceStatus, 2, kDeviceStatusPending, busy ? kDeviceStatusPending : 0);
  access_config(config_, payload);
  if (!payload.is_write()) return;
  // The high byte of device control holds the bit that starts a function-level reset.
  const auto offset = static_cast<unsigned>(payload.get_address() & 0xfff), high = express + kDeviceControl + 1;
  if (offset <= high && high < offset + payload.get_data_length() &&
      (payload.get_data_ptr()[high - offset] & kDeviceControlFlr >> 8) != 0)
    reset(ConfigSpace::Reset::function);
  message_delay_ = delay;
  msix_.update();  // bus master, MSI-X enable, function mask or power state may have let a message go
}

void Endpoint::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  Tlp& tlp = tlp_of(payload);
  if (tlp.kind == Tlp::Kind::hot_reset) {
    reset(ConfigSpace::Reset::hot);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    return;
  }
  const bool answered = is_config(payload) || payload.is_read();
  if (is_config(payload)) {
    access_registers(payload, delay);
  } else {
    switch (memory(payload, delay)) {
      case Completion::ok:
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
        break;
      case Completion::completer_abort:
        report(config_.log(kAerCompleterAbort, header_of(payload)));
        if (payload.is_read()) std::memset(payload.get_data_ptr(), 0xff, payload.get_data_length());
        payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
        break;
      default:
        report(config_.log(kAerUnsupportedRequest, header_of(payload)));
        unsupported(payload);
    }
  }
  if (!answered) return;
  delay = behind_writes(delay);
  tlp.lost = faults_.strike(Fault::Kind::lose_answer);
  tlp.poisoned = payload.is_read() && !tlp.lost && faults_.strike(Fault::Kind::poison_answer);
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
