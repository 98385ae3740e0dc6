// How long a vertex takes, for spreading vertices over workers: estimates fitted to measured slots.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/codelets/codelet.h"

namespace tessera {

/// What the slots of a vertex are reckoned from.
struct CostFeatures {
  double rounds = 0;  ///< times that an inner loop is started: rows, outer elements, register blocks of a product
  double items = 0;   ///< times that its body runs, in elements; for products in instructions of the inner loops
};
/// Reads values and span counts out of a vertex state of info.state_bytes bytes; pointers are not looked at.
[[nodiscard]] CostFeatures cost_features(const CodeletInfo& info, const std::uint8_t* state);

/// Slots = fixed + per_round x rounds + per_item x items.
struct CodeletCost {
  std::string name;
  double fixed = 0, per_round = 0, per_item = 0;
};
/// The measured table (host/codelets/costs.inc; `codelet_costs` of verif/codelets makes it), sorted by name.
[[nodiscard]] const std::vector<CodeletCost>& codelet_costs();

/// Sets of weights of an AMP vertex; 1 for all others.
[[nodiscard]] std::uint32_t amp_sets(const CodeletInfo& info, const std::uint8_t* state);

/// Worker slots of one vertex, its return included, dispatch not; one slot is 6 cycles. Codelets without a measurement
/// count 20 and 8 an element. At least 1. Of an AMP vertex the cost is that of one set, what the supervisor does
/// between two included, and the estimate that of all: six times it are cycles of the tile.
[[nodiscard]] std::uint64_t estimate_slots(const CodeletInfo& info, const std::uint8_t* state);

}  // namespace tessera
