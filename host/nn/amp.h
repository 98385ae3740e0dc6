// Products on the AMP unit: convolutions and matrix products by plan (amp_plan.h). Internal to host/nn.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/nn/amp_plan.h"
#include "host/nn/builder.h"
#include "host/nn/home.h"

namespace tessera::nn {

/// Limits of the results: Relu keeps NaNs, Clip does not.
struct AmpLimits {
  enum class Mode : std::uint8_t { none, relu, clip } mode = Mode::none;
  float lowest = 0, highest = 0;
};

/// A product with its operands. Positions of a group are images x rows x columns in row-major order.
struct AmpProduct {
  AmpTask task;
  graph::Type type = graph::Type::f16;
  HomeLayout x;
  std::vector<std::int64_t> x_positions;  ///< position in x of each of the task's input; empty: the same
  /// Where group g stands in x, y and computed weights: channels behind each other (convolution), or positions (a batch
  /// of matrix products).
  bool groups_are_channels = true;
  /// Constant weights as f32: output channel and input channel within the group, element of the kernel (depth, row,
  /// column).
  std::function<float(std::int64_t group, std::int64_t out, std::int64_t in, const std::array<std::int64_t, 3>& tap)>
      constant_weights;
  /// Computed weights in home layout over input channels, and where a weight stands. Input channels of one block follow
  /// each other; those outside `in_begin` .. `in_end` have zero weights.
  struct WeightPlace {
    std::int64_t channel = 0, position = 0;  ///< of in_begin
    std::int64_t in_begin = 0, in_end = 0;
  };
  std::optional<HomeLayout> weights;
  std::function<WeightPlace(std::int64_t group, std::int64_t out, const std::array<std::int64_t, 3>& tap)> weight_place;
  std::vector<float> bias;  ///< of all output channels of all groups (of one group if they are positions); empty: 0
  struct Addend {
    graph::Tensor view;  ///< of the result's shape, wherever it lies
    std::size_t channel_axis = 1;
    bool dies = false;  ///< nothing reads it afterwards: the result may take its place
  };
  std::optional<Addend> addend;  ///< added before the limits
  AmpLimits limits;
  std::optional<graph::Type> result;  ///< f32: sums of f16 products are not rounded; none: the operands' type
  [[nodiscard]] graph::Type result_type() const { return result.value_or(type); }
};

/// Channels of a block of a result with so many: those of a home layout, 8 where that has 4 or none (the last block's
/// rest is padding).
[[nodiscard]] std::uint64_t result_block(graph::Type type, std::uint64_t channels);
/// The view in home layout, by a copy if it is not; the last block's rest is not written.
[[nodiscard]] HomeLayout at_home(Builder& builder, const graph::Tensor& view, std::size_t channel_axis,
                                 const std::string& name, std::uint64_t block = 0);

/// Appends the steps; returns the result in home layout.
[[nodiscard]] HomeLayout lower_amp(Builder& builder, const AmpProduct& product, const AmpPlan& plan,
                                   const std::string& name);

}  // namespace tessera::nn
