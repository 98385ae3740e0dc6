// From the sums of a product on the AMP unit to its result: which tile finishes what, what is brought there, and the
// vertices that add, limit and round. Internal to host/nn.
//
// Where a tile holds whole groups of a channel block, the result stays on the tiles of the product: those that share
// the input channels of a block of the result finish an equal part of it each, from their own sums in place and what
// the others have of them. Otherwise (AmpPlan::local) the sums go to the equal shares of a home layout.
#pragma once

#include <string>

#include "host/nn/amp.h"

namespace tessera::nn {

/// Appends the steps from sums [tiles of the plan][groups x sets x positions x 8] on; returns the result.
[[nodiscard]] HomeLayout lower_amp_result(Builder& builder, const AmpProduct& product, const AmpPlan& plan,
                                          const graph::Tensor& sums, const std::string& name);

}  // namespace tessera::nn
