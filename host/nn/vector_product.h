// Products of few rows with a constant matrix, by dot products: the matrix unit would be loaded with weights for three
// positions of every worker at least. Internal to host/nn.
#pragma once

#include <optional>

#include "host/nn/amp_matmul.h"

namespace tessera::nn {

/// Tiles hold `groups` times four columns of the matrix and one of `parts` of the inner axis.
struct VectorPlan {
  std::uint64_t groups = 1, column_tiles = 1, parts = 1;
  std::uint64_t vectors = 0, share = 0;  ///< of 8 bytes: of a part; of a worker
  std::uint64_t finished = 0;            ///< results that a tile finishes
  std::uint64_t cycles = 0, bytes = 0;   ///< estimates
};

/// The plan of fewest cycles for [m, k] x [k, n] within the limits of the task; none if k is no whole number of pairs
/// of vectors, if m is more than a few or if nothing fits.
[[nodiscard]] std::optional<VectorPlan> plan_vector_product(graph::Type type, std::uint64_t m, std::uint64_t k,
                                                            std::uint64_t n, const AmpTask& limits);

/// given: not batched, constant b, no addend.
[[nodiscard]] graph::Tensor lower_vector_product(Lowering& lowering, const model::Node& node, const AmpMatmul& given,
                                                 const std::vector<float>& bias, const VectorPlan& plan);

}  // namespace tessera::nn
