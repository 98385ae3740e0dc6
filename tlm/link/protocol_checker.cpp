// See protocol_checker.h.
#include "tlm/link/protocol_checker.h"

#include <algorithm>
#include <stdexcept>

namespace tessera {

using sc_core::sc_time;
using sc_core::sc_time_stamp;

void NonBlockingChecker::breach(const char* what) const {
  throw std::logic_error("TLM base protocol broken at " + name_ + ": " + what);
}

NonBlockingChecker::Open& NonBlockingChecker::find(const Payload& payload) {
  const auto found =
      std::find_if(open_.begin(), open_.end(), [&](const Open& open) { return open.payload == &payload; });
  if (found == open_.end()) breach("a phase of a transaction that is not open");
  return *found;
}

void NonBlockingChecker::check_response(const Open& open) const {
  if (open.payload->get_response_status() == tlm::TLM_INCOMPLETE_RESPONSE) breach("the target set no response");
  if (open.payload->get_address() != open.address || open.payload->get_data_ptr() != open.data ||
      open.payload->get_data_length() != open.length || open.payload->get_command() != open.command)
    breach("the target changed the request");
  if (open.payload->get_ref_count() < 1) breach("no reference to an open transaction");
}

void NonBlockingChecker::enter(Open& open, const tlm::tlm_phase& phase, const sc_time& time) {
  if (phase == tlm::END_REQ) {
    if (open.state != State::request) breach("END_REQ without BEGIN_REQ");
    open.state = State::requested;
    requesting_ = false;
    request_end_ = time;
  } else if (phase == tlm::BEGIN_RESP) {
    if (open.state == State::response) breach("a second BEGIN_RESP");
    if (responding_ || time < response_end_) breach("BEGIN_RESP before the END_RESP of the last response");
    if (open.state == State::request) {  // implies END_REQ
      requesting_ = false;
      request_end_ = time;
    }
    open.state = State::response;
    responding_ = true;
    check_response(open);
  } else if (phase == tlm::END_RESP) {
    if (open.state != State::response) breach("END_RESP without BEGIN_RESP");
    responding_ = false;
    response_end_ = time;
  } else {
    breach("a phase that the base protocol does not know");
  }
}

void NonBlockingChecker::complete(const Payload& payload) {
  const auto found =
      std::find_if(open_.begin(), open_.end(), [&](const Open& open) { return open.payload == &payload; });
  open_.erase(found);
  ++transactions_;
}

void NonBlockingChecker::forward(const Payload& payload, const tlm::tlm_phase& phase, const sc_time& delay) {
  entry_phase_ = phase;
  entry_delay_ = delay;
  if (phase == tlm::END_RESP) return enter(find(payload), phase, sc_time_stamp() + delay);
  if (phase != tlm::BEGIN_REQ) breach("forward call with a phase that is the target's");
  if (requesting_ || sc_time_stamp() + delay < request_end_) breach("BEGIN_REQ before the END_REQ of the last request");
  for (const Open& open : open_)
    if (open.payload == &payload) breach("BEGIN_REQ of a transaction that is open");
  if (payload.get_response_status() != tlm::TLM_INCOMPLETE_RESPONSE) breach("response set before BEGIN_REQ");
  if (payload.get_data_ptr() == nullptr || payload.get_data_length() == 0) breach("no data");
  if (payload.get_streaming_width() == 0) breach("streaming width 0");
  if (payload.get_byte_enable_ptr() != nullptr) breach("byte enables are not used on links");
  if (!payload.has_mm() || payload.get_ref_count() < 1) breach("no memory manager or no reference");
  open_.push_back({&payload, State::request, payload.get_address(), payload.get_data_ptr(), payload.get_data_length(),
                   payload.get_command()});
  requesting_ = true;
}

void NonBlockingChecker::forward_done(const Payload& payload, const tlm::tlm_phase& phase, const sc_time& delay,
                                      tlm::tlm_sync_enum status) {
  if (delay < entry_delay_) breach("the target made the delay smaller");
  switch (status) {
    case tlm::TLM_ACCEPTED:
      if (phase != entry_phase_ || delay != entry_delay_) breach("TLM_ACCEPTED with another phase or delay");
      if (entry_phase_ == tlm::END_RESP) complete(payload);
      return;
    case tlm::TLM_UPDATED:
      if (entry_phase_ != tlm::BEGIN_REQ || (phase != tlm::END_REQ && phase != tlm::BEGIN_RESP))
        breach("TLM_UPDATED with a phase that is not next");
      return enter(find(payload), phase, sc_time_stamp() + delay);
    case tlm::TLM_COMPLETED:
      if (entry_phase_ == tlm::BEGIN_REQ) {
        requesting_ = false;
        request_end_ = sc_time_stamp() + delay;
        check_response(find(payload));
      }
      return complete(payload);
  }
  breach("a status that does not exist");
}

void NonBlockingChecker::backward(const Payload& payload, const tlm::tlm_phase& phase, const sc_time& delay) {
  entry_phase_ = phase;
  entry_delay_ = delay;
  if (phase != tlm::END_REQ && phase != tlm::BEGIN_RESP) breach("backward call with a phase that is the initiator's");
  enter(find(payload), phase, sc_time_stamp() + delay);
}

void NonBlockingChecker::backward_done(const Payload& payload, const tlm::tlm_phase& phase, const sc_time& delay,
                                       tlm::tlm_sync_enum status) {
  if (delay < entry_delay_) breach("the initiator made the delay smaller");
  switch (status) {
    case tlm::TLM_ACCEPTED:
      if (phase != entry_phase_ || delay != entry_delay_) breach("TLM_ACCEPTED with another phase or delay");
      return;
    case tlm::TLM_UPDATED:
      if (entry_phase_ != tlm::BEGIN_RESP || phase != tlm::END_RESP)
        breach("TLM_UPDATED with a phase that is not next");
      enter(find(payload), phase, sc_time_stamp() + delay);
      return complete(payload);
    case tlm::TLM_COMPLETED:
      if (entry_phase_ != tlm::BEGIN_RESP) breach("the initiator completed a request");
      responding_ = false;
      response_end_ = sc_time_stamp() + delay;
      return complete(payload);
  }
  breach("a status that does not exist");
}

}  // namespace tessera
