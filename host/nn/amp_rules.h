// What the rules of convolutions and matrix products share. Internal to host/nn.
#pragma once

#include <string>

#include "host/nn/amp.h"
#include "host/nn/fuse.h"
#include "host/nn/lowering.h"

namespace tessera::nn {

/// Fills tiles and memory limits of a product's task: every constant operand may take a tile's memory in proportion to
/// its size.
void set_amp_limits(const Lowering& lowering, const model::Node& node, AmpTask& task);
/// Plans, notes the plan, refuses what does not fit, lowers.
[[nodiscard]] HomeLayout planned_amp(Lowering& lowering, const model::Node& node, AmpProduct& product);
/// A value as an addend of a product's result, by a copy unless it lies so.
[[nodiscard]] HomeLayout addend_at_home(Lowering& lowering, model::ValueId id, std::size_t channel_axis,
                                        const std::string& name);
/// True if an addend in home layout lies on the result's tiles as the finishing vertices need it.
[[nodiscard]] bool beside_result(const graph::Graph& graph, const HomeLayout& addend, graph::Type type,
                                 std::uint64_t channels, std::uint64_t positions);

/// Lowers a convolution or matrix product with the nodes that it takes along (nullptr: none) and sets the view of the
/// last one's result.
void lower_conv_with(Lowering& lowering, const model::Node& node, const Fused* fused);
void lower_matmul_with(Lowering& lowering, const model::Node& node, const Fused* fused);
void lower_fused(Lowering& lowering, const Fused& fused);

}  // namespace tessera::nn
