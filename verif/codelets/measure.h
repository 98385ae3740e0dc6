// Slots of vertices measured on a TLM tile.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "host/codelets/cost.h"
#include "host/codelets/reference.h"

namespace tessera::testing {

struct MeasuredVertex {
  std::vector<std::uint8_t> state;  ///< as in the tile's memory
  std::uint64_t slots = 0;  ///< of the worker that ran it, return included, dispatch not; AMP: a sixth of the cycles
};

/// One random vertex of about `size` elements.
[[nodiscard]] MeasuredVertex measure(const CodeletInfo& codelet, std::uint32_t size, std::mt19937& random);

/// Least-squares fit of CodeletCost over vertices of many sizes; errors count relative to the slots.
[[nodiscard]] CodeletCost fit_cost(const CodeletInfo& codelet, const std::vector<MeasuredVertex>& vertices);

}  // namespace tessera::testing
