// What products on the AMP unit may take of a tile's memory. Internal to host/nn.
//
// Weights stay resident, on every tile that uses them: a plan with smaller blocks of the field holds more copies and
// moves less. So weights have a price, in cycles a byte, the same for all products of a model: the least at which what
// they hold on a tile together stays within a budget. Memory then goes to the products that gain most by it.
//
// Work (operands, sums) has a fixed share of a tile. Where a product has no plan within it (large batches), or weights
// no price that keeps them within theirs, the limit of work is the one with which weights of all products and the work
// of the largest together take least: work is there once, weights add up.
#pragma once

#include <cstdint>
#include <vector>

#include "host/nn/amp_plan.h"
#include "host/nn/lowering.h"

namespace tessera::nn {

/// The convolution that a node stands for, without limits. Narrow groups are put together: `together` of them.
struct ConvTask {
  AmpTask task;
  std::int64_t together = 1;
  std::int64_t side = 1;                ///< columns of the input side by side as channels
  std::vector<std::int64_t> positions;  ///< of the input, if the task takes only some: one for each; empty: all
};
[[nodiscard]] ConvTask conv_task(const model::Model& model, const model::Node& node);
/// A matrix product [m, k] x [k, n], `planes` of them.
[[nodiscard]] AmpTask matmul_task(bool half, std::int64_t planes, std::int64_t m, std::int64_t k, std::int64_t n);

/// Fills tiles, memory limits and the price of weights.
void set_amp_limits(const Lowering& lowering, AmpTask& task);

/// The price of weights for a model, what it leaves for patches of operands that keep their zeros, and what each
/// product may take of a tile while it is computed.
struct WeightPrice {
  double cycles = 0;             ///< a byte
  std::uint64_t kept_bytes = 0;  ///< of a tile
  std::uint64_t work_bytes = 0;  ///< operands, sums and terms; with weights sent before each use these too
  bool least = false;            ///< no other plans take less memory
};
[[nodiscard]] WeightPrice price_weights(const model::Model& model, const Options& options);

}  // namespace tessera::nn
