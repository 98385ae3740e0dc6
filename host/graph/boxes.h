// What views do to boxes, for tensor.cpp alone: merging neighbours, boxes of a run, reshapes of a single box.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "host/graph/tensor.h"

namespace tessera::graph::detail {

/// Strides of axes with one element mean nothing: 0, so that equal boxes compare equal.
void normalise(Box& box);

/// Adds a box behind others, merged with the last ones as far as they fit.
void append(std::vector<Box>& boxes, Box box);

/// Elements of a row-major tensor from one index of each axis to the next.
[[nodiscard]] std::vector<std::uint64_t> inner_sizes(const Shape& shape);

/// Adds a run as boxes of `shape`: the fewest that are each full below one axis. `inner`: inner_sizes(shape).
void append_run(std::vector<Box>& boxes, const Shape& shape, const std::vector<std::uint64_t>& inner, Run run);

/// Reshape of one box that covers the whole tensor, if strides allow it without splitting (groups of axes that make one
/// affine axis are regrouped).
[[nodiscard]] std::optional<Box> reshape_whole(const Box& box, const Shape& to);

}  // namespace tessera::graph::detail
