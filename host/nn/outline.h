// Lowering of repeated clusters as one function: its constants are variables that each call fills from the instance's
// own constants (copies within each tile), so tables and code of a network do not grow with its layers. Internal to
// host/nn.
#pragma once

#include "host/nn/clusters.h"
#include "host/nn/lowering.h"

namespace tessera::nn {

/// Appends the function, the copies and the calls to the builder, and sets the views of what the cluster gives.
/// Returns false, with nothing changed, if the instances turn out to be lowered differently.
[[nodiscard]] bool lower_cluster(Lowering& lowering, const Cluster& cluster);

}  // namespace tessera::nn
