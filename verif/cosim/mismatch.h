// Text of a lockstep mismatch: what differs first, both records, the instructions before, both register files.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tlm/tile/retire.h"

namespace tessera {

/// Registers of one context as the records so far say.
struct ShadowRegisters {
  std::array<std::uint32_t, 32> x{}, f{};
  std::uint8_t fflags = 0;
  void apply(const RetireRecord& record);
};

/// Name and both values of the first field in which the records differ, in the order of the fields; nothing if equal.
struct FieldDifference {
  std::string field, tlm, rtl;
};
[[nodiscard]] std::optional<FieldDifference> first_difference(const RetireRecord& tlm, const RetireRecord& rtl);

/// One line: cycle, context, pc, word, disassembly, and what the instruction did.
[[nodiscard]] std::string describe(const RetireRecord& record);

/// The whole report; `tlm` or `rtl` may be missing (one side retired nothing). `before` is oldest first. `before_state`
/// holds the common registers before the records.
[[nodiscard]] std::string mismatch_report(const RetireRecord* tlm, const RetireRecord* rtl,
                                          const std::vector<RetireRecord>& before, const ShadowRegisters& before_state,
                                          const std::function<std::string(Address)>& symbol);

}  // namespace tessera
