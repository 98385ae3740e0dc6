// Repeated clusters of a model: consecutive runs of nodes that do the same on other constants, one after the other, as
// the blocks of a residual network or the layers of a transformer. What outlining turns into one function and several
// calls. Pure structure: knows shapes, types and attributes, no layout and no device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/onnx/model.h"

namespace tessera::nn {

/// Instance k of a cluster is the nodes first + k * length .. first + (k + 1) * length - 1.
struct Cluster {
  std::size_t first = 0;   ///< index into Model::nodes
  std::size_t length = 0;  ///< nodes of one instance
  std::size_t count = 0;   ///< instances, at least 2
  /// For each instance the values it reads that are computed before it (or are model inputs), in order of first use:
  /// entry i has the same type and shape in every instance.
  std::vector<std::vector<model::ValueId>> inputs;
  /// For each instance its constant operands in order of first use; equal types and shapes, other contents.
  std::vector<std::vector<model::ValueId>> constants;
  /// For each instance the values of all its nodes in order (kAbsent kept): entry i stands for the same result.
  std::vector<std::vector<model::ValueId>> results;
  /// Entries of `results` that something behind their instance reads or that are model outputs, in any instance.
  std::vector<std::size_t> outputs;
};

/// Disjoint clusters in order, those that save most nodes first: adjacent instances only. `least` is the least number
/// of nodes saved, (count - 1) * length, for a cluster to be taken. Quadratic in the number of nodes.
[[nodiscard]] std::vector<Cluster> find_clusters(const model::Model& model, std::size_t least);

}  // namespace tessera::nn
