// Holds both ends of a non-blocking TLM-2.0 connection to the base protocol while the model runs: order of phases,
// request and response exclusion, timing annotation, response status, attributes that a target must not change, memory
// manager and reference counts. A breach is a std::logic_error. It stands at the initiator, around its calls and those
// it gets.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <systemc>
#include <tlm>

namespace tessera {

class NonBlockingChecker {
 public:
  explicit NonBlockingChecker(std::string name) : name_(std::move(name)) {}

  using Payload = tlm::tlm_generic_payload;
  // Around nb_transport_fw.
  void forward(const Payload& payload, const tlm::tlm_phase& phase, const sc_core::sc_time& delay);
  void forward_done(const Payload& payload, const tlm::tlm_phase& phase, const sc_core::sc_time& delay,
                    tlm::tlm_sync_enum status);
  // Around nb_transport_bw.
  void backward(const Payload& payload, const tlm::tlm_phase& phase, const sc_core::sc_time& delay);
  void backward_done(const Payload& payload, const tlm::tlm_phase& phase, const sc_core::sc_time& delay,
                     tlm::tlm_sync_enum status);

  [[nodiscard]] std::uint64_t transactions() const { return transactions_; }
  [[nodiscard]] std::size_t open() const { return open_.size(); }

 private:
  enum class State : std::uint8_t { request, requested, response };
  struct Open {
    const Payload* payload = nullptr;
    State state = State::request;
    std::uint64_t address = 0;
    const std::uint8_t* data = nullptr;
    unsigned length = 0;
    tlm::tlm_command command = tlm::TLM_IGNORE_COMMAND;
  };
  Open& find(const Payload& payload);
  /// Takes the transaction as far as `phase`, at `time`.
  void enter(Open& open, const tlm::tlm_phase& phase, const sc_core::sc_time& time);
  void complete(const Payload& payload);
  void check_response(const Open& open) const;
  [[noreturn]] void breach(const char* what) const;

  std::string name_;
  std::deque<Open> open_;                        // in order of BEGIN_REQ
  sc_core::sc_time request_end_, response_end_;  // no request, no response before
  bool requesting_ = false, responding_ = false;
  tlm::tlm_phase entry_phase_;
  sc_core::sc_time entry_delay_;
  std::uint64_t transactions_ = 0;
};

}  // namespace tessera
