// Nodes that one product takes with it: what follows a convolution or matrix product on the same positions. Internal to
// host/nn.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "host/nn/amp.h"
#include "host/onnx/model.h"

namespace tessera::nn {

/// A product (the head) and the nodes behind it whose results nobody else uses. The last one's result is the product's.
struct Fused {
  std::size_t head = 0, last = 0;          ///< positions in the model's node list
  std::vector<std::size_t> nodes;          ///< all of them in order, the head first
  std::vector<const model::Node*> scales;  ///< BatchNormalization with constant operands, in order
  std::vector<model::ValueId> biases;      ///< constants added a channel
  std::optional<model::ValueId> addend;    ///< a value of the result's shape, added before the limits
  AmpLimits limits;
};

/// Whether a matrix product takes nodes with it: those that the AMP unit computes with a constant second operand.
[[nodiscard]] bool fused_matmul(const model::Model& model, const model::Node& node);

/// Which products take which nodes. A node belongs to at most one.
class Fusion {
 public:
  Fusion() = default;
  /// cuts: sorted positions before which no product reaches over (bounds of outlined clusters).
  Fusion(const model::Model& model, const std::vector<std::size_t>& cuts);
  /// The fusion whose last node is at this position; nullptr if there is none.
  [[nodiscard]] const Fused* ending_at(std::size_t node) const;
  /// True if a node is lowered with a later one.
  [[nodiscard]] bool inside(std::size_t node) const { return node < inside_.size() && inside_[node]; }
  /// True for nodes that a product takes along: all of a fusion but its head.
  [[nodiscard]] bool taken_along(std::size_t node) const { return node < taken_.size() && taken_[node]; }
  /// The product that computes a node: the node itself if none takes it along.
  [[nodiscard]] std::size_t head_of(std::size_t node) const;

 private:
  std::map<std::size_t, Fused> by_last_;
  std::map<std::size_t, std::size_t> heads_;  ///< of every node that is part of a fusion
  std::vector<bool> inside_, taken_;
};

}  // namespace tessera::nn
