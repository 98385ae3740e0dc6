// Test support: random vertices of every built-in codelet, and what they must compute by plain host arithmetic.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "host/codelets/reference.h"

namespace tessera {

/// A vertex of `codelet` with about `size` elements (1 and up; odd sizes too) of random data: mostly small numbers,
/// some zeros, infinities, NaNs and subnormals. Outputs hold junk. Throws std::logic_error if the codelet's fields have
/// no generator: a new codelet needs one.
[[nodiscard]] Bindings random_vertex(const CodeletInfo& codelet, std::uint32_t size, std::mt19937& random);

/// Compares the outputs in `after` with plain arithmetic over `before`; returns how many elements were compared. On a
/// difference fills `difference`. Throws std::logic_error if the operation has no expectation.
int check_vertex(const CodeletInfo& codelet, const Bindings& before, const Bindings& after, std::string& difference);

}  // namespace tessera
