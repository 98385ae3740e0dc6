// Matrix products on the AMP unit. Internal to host/nn.
#pragma once

#include <vector>

#include "host/nn/amp_plan.h"
#include "host/nn/fuse.h"
#include "host/nn/lowering.h"

namespace tessera::nn {

struct AmpMatmul {
  graph::Tensor a;  ///< [..., m, k]; batched: [planes, m, k]
  Operand b;        ///< [k, n], row-major if constant; batched: a view [planes, k, n]
  bool batched = false;
  std::vector<float> bias;  ///< of the n columns; empty: 0
  graph::Shape shape;       ///< of the result; its last extent is n
  const Fused* fused = nullptr;
  std::optional<graph::Type> result;  ///< as AmpProduct's
};

[[nodiscard]] AmpTask amp_matmul_task(const Lowering& lowering, graph::Type type, std::int64_t planes, std::int64_t m,
                                      std::int64_t k, std::int64_t n, bool constant);
[[nodiscard]] graph::Tensor lower_amp_matmul(Lowering& lowering, const model::Node& node, const AmpMatmul& given);

}  // namespace tessera::nn
