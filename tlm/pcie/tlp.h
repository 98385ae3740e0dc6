// What a PCI Express transaction is on a TLM-2.0 socket here, and the checker that stands on every link.
//
// Generic payload, blocking, loosely timed: the annotated delay is the time to the completion (reads, configuration) or
// to the arrival at the target (posted writes). Memory accesses carry the bus address; configuration accesses carry
// bus << 20 | device << 15 | function << 12 | offset and the Tlp extension says so. An unsupported request answers
// TLM_ADDRESS_ERROR_RESPONSE, a completer abort TLM_GENERIC_ERROR_RESPONSE.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <cstdint>
#include <systemc>
#include <tlm>

namespace tessera::pcie {

struct Tlp : tlm::tlm_extension<Tlp> {
  enum class Kind : std::uint8_t { memory, config };
  Kind kind = Kind::memory;
  bool type0 = false;  ///< configuration: meant for the device on this link, not to be routed further

  tlm::tlm_extension_base* clone() const override { return new Tlp(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override {
    kind = static_cast<const Tlp&>(other).kind;
    type0 = static_cast<const Tlp&>(other).type0;
  }
};

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
  void set_type0(bool type0) { tlp_.type0 = type0; }
  tlm::tlm_generic_payload payload;

 private:
  Tlp tlp_;
};

/// Size of header, sequence number and CRC of a packet on a link, in bytes.
inline constexpr unsigned kTlpOverhead = 24;

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
