// See faults.h.
#include "tlm/pcie/faults.h"

#include <array>
#include <utility>

#include "hw/error.h"
#include "tlm/pcie/link.h"

namespace tessera::pcie {

namespace {
using Kind = Fault::Kind;
constexpr std::array<std::pair<const char*, Kind>, 8> kKinds{{{"lose_completion", Kind::lose_completion},
                                                              {"lose_answer", Kind::lose_answer},
                                                              {"poison_read", Kind::poison_read},
                                                              {"poison_write", Kind::poison_write},
                                                              {"poison_answer", Kind::poison_answer},
                                                              {"refuse", Kind::refuse},
                                                              {"abort", Kind::abort},
                                                              {"link_down", Kind::link_down}}};
}  // namespace

Fault fault_of(const Injection& injection, std::uint64_t clock_hz) {
  const auto time = [&](const char* key) {
    const auto ps = static_cast<unsigned __int128>(injection.value(key, 0)) * 1'000'000'000'000u / clock_hz;
    return time_of(static_cast<std::uint64_t>(ps));
  };
  std::string known;
  for (const auto& [name, kind] : kKinds) {
    known += (known.empty() ? "" : ", ") + std::string(name);
    if (injection.kind != name) continue;
    if (kind == Kind::link_down)
      check_injection_keys(injection, {}, {"at", "for"});
    else
      check_injection_keys(injection, {}, {"at", "count"});
    return {kind, time("at"), time("for"), injection.value("count", 1)};
  }
  throw Error(Category::usage, "PCI Express has no fault \"" + injection.kind + "\"", injection.text,
              "one of " + known);
}

bool FaultList::strike(Fault::Kind kind) {
  for (auto fault = faults_.begin(); fault != faults_.end(); ++fault) {
    if (fault->kind != kind || fault->at > sc_core::sc_time_stamp()) continue;
    if (fault->count != 0 && --fault->count == 0) faults_.erase(fault);
    return true;
  }
  return false;
}

}  // namespace tessera::pcie
