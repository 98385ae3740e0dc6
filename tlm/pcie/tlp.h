// What a PCI Express transaction is on a TLM-2.0 socket here, and the checker that stands on every link.
//
// Generic payload, blocking, loosely timed: the annotated delay is the time to the completion (reads, configuration) or
// to the arrival at the target (posted writes). Memory accesses carry the bus address; configuration accesses carry
// bus << 20 | device << 15 | function << 12 | offset and the Tlp extension says so; error messages carry who sends
// them in the address, hot resets nothing. An unsupported request answers TLM_ADDRESS_ERROR_RESPONSE, a completer abort
// TLM_GENERIC_ERROR_RESPONSE; what else can become of a request stands in the extension.
//
// Calls come from SystemC threads and may let time pass: one picosecond where the order of packets offered at the same
// time is settled (link.h), and for host accesses the way to the endpoint.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <cstdint>
#include <systemc>
#include <tlm>

#include "tlm/pcie/config_space.h"

namespace tessera::pcie {

/// What became of a request.
enum class Completion : std::uint8_t {
  ok,
  unsupported_request,
  completer_abort,
  timeout,     ///< no completion came
  poisoned,    ///< the completion's data are marked as bad
  not_master,  ///< never sent: bus mastering is off, or the function not in D0
  link_down,   ///< never sent: the link is down
};

struct Tlp : tlm::tlm_extension<Tlp> {
  enum class Kind : std::uint8_t { memory, config, error_message, hot_reset };
  Kind kind = Kind::memory;
  bool type0 = false;           ///< configuration: meant for the device on this link, not to be routed further
  std::uint16_t requester = 0;  ///< bus << 8 | device << 3 | function
  unsigned order = 0;           ///< of an endpoint's requests at the same time: smaller first
  ErrorMessage message = ErrorMessage::none;
  enum class Injected : std::uint8_t { none, lose, refuse, abort, poison } injected = Injected::none;  ///< by the root
  bool poisoned = false;  ///< request or completion with bad data
  bool lost = false;      ///< answer: the completion will not come
  bool down = false;      ///< answer: the link is down

  tlm::tlm_extension_base* clone() const override { return new Tlp(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Tlp&>(other); }
};

[[nodiscard]] inline Tlp& tlp_of(const tlm::tlm_generic_payload& payload) { return *payload.get_extension<Tlp>(); }
[[nodiscard]] inline bool is_config(const tlm::tlm_generic_payload& payload) {
  const Tlp* tlp = payload.get_extension<Tlp>();
  return tlp != nullptr && tlp->kind == Tlp::Kind::config;
}

/// A payload with its extension on the stack of the initiator.
class Request {
 public:
  Request(Tlp::Kind kind, bool write, std::uint64_t address, std::uint8_t* bytes, std::size_t count);
  ~Request() { payload.clear_extension(&tlp_); }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  [[nodiscard]] Tlp& tlp() { return tlp_; }
  /// What the response and the extension say.
  [[nodiscard]] Completion completion() const;
  tlm::tlm_generic_payload payload;

 private:
  Tlp tlp_;
};

/// The header of the packet that a memory or configuration request is, as error reporting logs it.
[[nodiscard]] TlpHeader header_of(const tlm::tlm_generic_payload& payload);
/// Bytes of data on a link for `count` bytes at `address`: whole words, the first and the last with byte enables.
[[nodiscard]] inline std::uint64_t data_bytes(std::uint64_t address, std::uint64_t count) {
  return (address % 4 + count + 3) / 4 * 4;
}

/// Stands between an initiator and a target and holds both to the base protocol while the model runs: a status that is
/// not INCOMPLETE at entry or still is at exit, a changed command, address, length or pointer, local time that runs
/// back, a byte count that no access can have, a debug access that takes time. A breach is a std::logic_error.
class ProtocolChecker : public sc_core::sc_module {
 public:
  explicit ProtocolChecker(const sc_core::sc_module_name& name);
  tlm_utils::simple_target_socket<ProtocolChecker> in;
  tlm_utils::simple_initiator_socket<ProtocolChecker> out;
  [[nodiscard]] std::uint64_t transactions() const { return transactions_; }

 private:
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned transport_dbg(tlm::tlm_generic_payload& payload);
  [[noreturn]] void breach(const char* what) const;
  std::uint64_t transactions_ = 0;
};

}  // namespace tessera::pcie
