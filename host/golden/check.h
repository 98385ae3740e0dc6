// Checks a run node by node: the reference of each node is computed from the operands that the device itself had, so an
// error shows at the node that made it and nowhere else. Nodes whose results cannot be read (fused ones) are computed
// in sequence up to the next result that can; their tolerances add up.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/golden/compare.h"
#include "host/onnx/model.h"

namespace tessera::golden {

/// One result of a node, compared element by element.
struct NodeResult {
  std::string node, value;
  model::Op op = model::Op::Identity;
  model::ValueId id = 0;
  model::Type type = model::Type::f32;
  model::Shape shape;
  std::uint64_t values = 0, wrong = 0;
  std::uint64_t max_ulp = 0;  ///< of the result's type; integers: largest difference
  double max_abs = 0.0, max_rel = 0.0;
  double used = 0.0;                 ///< largest error as a share of what is allowed; above 1: wrong
  std::optional<Difference> worst;   ///< where that is; absent if all values are equal
  double allowed = 0.0;              ///< absolute, at the worst element
  std::string tolerance;             ///< where it comes from
  std::vector<std::string> through;  ///< nodes before this one whose results were not readable, first to last
};

struct NodeReport {
  std::vector<NodeResult> results;  ///< in the order of the model
  std::uint64_t values = 0, wrong = 0;
  std::size_t nodes = 0;   ///< of the model
  std::size_t unread = 0;  ///< nodes without a readable result that no later result covers
  [[nodiscard]] const NodeResult* first_wrong() const;
  /// Something was compared, all of it within tolerance.
  [[nodiscard]] bool passes() const { return values > 0 && wrong == 0; }
  /// "11,234 values in 53 nodes, ..." and the first node that differs.
  [[nodiscard]] std::string text() const;
};

/// A value as the device holds it, empty if it cannot be read.
using DeviceValue = std::function<std::optional<model::Tensor>(model::ValueId)>;

/// inputs: of the model, in its order. Values are read once, in the order of the nodes, and kept while they are needed.
[[nodiscard]] NodeReport check_nodes(const model::Model& model, const std::vector<model::Tensor>& inputs,
                                     const DeviceValue& device);

/// Tolerance of the whole model's results for the number of nodes in sequence: what `given` says for f32; where f16 is
/// computed in between, also 4 sqrt(depth) roundings of f16 of the largest result.
[[nodiscard]] Tolerance end_to_end(const model::Model& model, const model::Tensor& reference, Tolerance given);

}  // namespace tessera::golden
