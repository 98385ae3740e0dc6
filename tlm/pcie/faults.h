// Faults of PCI Express that a user asks for (hw/injection.h, sort "pcie"): what they are and when they strike. Who
// asks strike() acts on the answer: endpoint, switch or root complex. docs/machine/pcie.md lists kinds and keys.
#pragma once

#include <cstdint>
#include <systemc>
#include <vector>

#include "hw/injection.h"

namespace tessera::pcie {

struct Fault {
  enum class Kind : std::uint8_t {
    lose_completion,  ///< of a read of host memory
    lose_answer,      ///< of a host's read or configuration access
    poison_read,      ///< data of a read of host memory
    poison_write,     ///< data of a write to host memory
    poison_answer,    ///< data of a host's read
    refuse,           ///< host memory answers unsupported request
    abort,            ///< host memory answers completer abort
    link_down,        ///< of the endpoint's port
  };
  Kind kind = Kind::lose_completion;
  sc_core::sc_time at;      ///< from then on
  sc_core::sc_time length;  ///< link_down: comes back after that; zero: never
  std::uint64_t count = 1;  ///< strikes left; 0: no end
};

/// The fault that an injection of sort "pcie" asks for. Throws Error(usage) for an unknown kind or key.
[[nodiscard]] Fault fault_of(const Injection& injection, std::uint64_t clock_hz);

class FaultList {
 public:
  void add(const Fault& fault) { faults_.push_back(fault); }
  /// A fault of the kind strikes now; one less is left.
  bool strike(Fault::Kind kind);

 private:
  std::vector<Fault> faults_;
};

}  // namespace tessera::pcie
