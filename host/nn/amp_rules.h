// What the rules of convolutions and matrix products share. Internal to host/nn.
#pragma once

#include <string>

#include "host/nn/amp.h"
#include "host/nn/fuse.h"
#include "host/nn/lowering.h"

namespace tessera::nn {

/// Plans, notes the plan, refuses what does not fit, lowers.
[[nodiscard]] HomeLayout planned_amp(Lowering& lowering, const model::Node& node, AmpProduct& product);

/// What a product with the nodes that it takes along adds, which there must be.
[[nodiscard]] AmpProduct::Addend fused_addend(Lowering& lowering, const Fused& fused, std::size_t channel_axis);

/// Lowers a convolution or matrix product with the nodes that it takes along (nullptr: none) and sets the view of the
/// last one's result.
void lower_conv_with(Lowering& lowering, const model::Node& node, const Fused* fused);
void lower_matmul_with(Lowering& lowering, const model::Node& node, const Fused* fused);
void lower_fused(Lowering& lowering, const Fused& fused);

}  // namespace tessera::nn
