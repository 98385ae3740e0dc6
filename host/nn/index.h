// Selection of rows and elements by index: what Gather, Scatter and their like share. Internal to host/nn.
#pragma once

#include <string>
#include <vector>

#include "host/nn/lowering.h"

namespace tessera::nn {

/// x at these indices of an axis, as a view of runs; -1 is `fill` (one element; may be invalid if there is none).
[[nodiscard]] graph::Tensor taken(const graph::Tensor& x, std::size_t axis, const std::vector<std::int64_t>& indices,
                                  const graph::Tensor& fill = {});

/// The view itself if few boxes tell it, else a row-major copy.
[[nodiscard]] graph::Tensor settled(Builder& builder, const graph::Tensor& view, const std::string& name);

}  // namespace tessera::nn
