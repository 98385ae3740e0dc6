// Global average pooling as one window (pool.cpp). Internal to host/nn.
#pragma once

#include "host/nn/lowering.h"

namespace tessera::nn {

/// Two axes of few elements, channels in blocks: better as a window than as rows to fold.
[[nodiscard]] bool global_pool_is_window(const Lowering& lowering, const model::Node& node);
void lower_window_pool(Lowering& lowering, const model::Node& node);

}  // namespace tessera::nn
