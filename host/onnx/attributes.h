// Attributes of operators at opset 17, canonical: defaults filled in, axes normalised to 0 .. rank-1, automatic padding
// resolved to numbers, operands that decide shapes moved here from inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host/onnx/tensor.h"

namespace tessera::model {

using Extents = std::vector<std::int64_t>;

struct NoAttributes {};
struct GemmAttributes {
  float alpha = 1.0F, beta = 1.0F;
  bool transpose_a = false, transpose_b = false;
};
/// Softmax, LogSoftmax, Hardmax, Concat, Flatten (0 .. rank inclusive), Gather, GatherElements.
struct AxisAttributes {
  std::int64_t axis = 0;
};
/// Squeeze, Unsqueeze: sorted, normalised. Squeeze without axes drops every axis of extent 1.
struct AxesAttributes {
  std::optional<Extents> axes;
};
struct TransposeAttributes {
  Extents permutation;  ///< axis k of the result is axis permutation[k]
};
/// Reshape: 0 copies the extent (unless allow_zero), -1 takes the rest. Expand: shape to broadcast with. Tile: repeats.
struct ShapeAttributes {
  Extents shape;
  bool allow_zero = false;
};
/// As in the model: starts and ends may be negative or far out of range; axes normalised, steps given.
struct SliceAttributes {
  Extents starts, ends, axes, steps;
};
struct SplitAttributes {
  std::int64_t axis = 0;
  Extents sizes;
};
struct CastAttributes {
  Type to = Type::f32;
};
struct ShapeOfAttributes {
  std::int64_t start = 0, end = 0;  ///< Shape: slice of the extents, normalised
};
/// Conv and ConvTranspose; one entry for each spatial axis. Operands: x [N, C, ...], weights [M, C / group, ...]
/// (transposed: [C, M / group, ...]), bias [M] or absent.
struct ConvAttributes {
  std::int64_t group = 1;
  Extents kernel, strides, dilations, pads_begin, pads_end;
  Extents output_padding;  ///< ConvTranspose only, else empty
};
/// MaxPool, AveragePool (GlobalMaxPool, GlobalAveragePool: kernel = the spatial extents).
struct PoolAttributes {
  Extents kernel, strides, dilations, pads_begin, pads_end;
  bool ceil_mode = false, count_include_pad = false;
  bool column_major = false;  ///< MaxPool's storage_order, for its indices
};
/// BatchNormalization (epsilon; training mode is refused), InstanceNormalization (epsilon), LayerNormalization (axis,
/// epsilon), MeanVarianceNormalization (axes).
struct NormAttributes {
  float epsilon = 1e-5F;
  std::int64_t axis = -1;
  Extents axes;
};
struct LrnAttributes {
  float alpha = 1e-4F, beta = 0.75F, bias = 1.0F;
  std::int64_t size = 1;
};
/// Reduce*: axes sorted and all given (an operator that reduces nothing has none and is the identity).
struct ReduceAttributes {
  Extents axes;
  bool keep_dims = true;
};
/// ArgMax, ArgMin.
struct ArgAttributes {
  std::int64_t axis = 0;
  bool keep_dims = true, select_last = false;
};
/// Elu, Celu, Selu (alpha, gamma), LeakyRelu, ThresholdedRelu (alpha), HardSigmoid (alpha, beta), Shrink (alpha =
/// lambd, beta = bias).
struct ActivationAttributes {
  float alpha = 0, beta = 0, gamma = 0;
};
struct PadAttributes {
  enum class Mode : std::uint8_t { constant, reflect, edge } mode = Mode::constant;
  Extents begin, end;  ///< one entry for each axis; negative cuts. The value stays operand 1 (absent: 0)
};
/// LSTM, GRU, RNN. Operands as ONNX gives them: x, W, R, B, sequence_lens, initial_h (LSTM: initial_c, P).
struct RecurrentAttributes {
  enum class Direction : std::uint8_t { forward, reverse, bidirectional } direction = Direction::forward;
  std::int64_t hidden = 0;
  /// Names of all directions in order (LSTM: f, g, h of each), defaults filled in; alpha, beta beside them.
  std::vector<std::string> activations;
  std::vector<float> alpha, beta;
  std::optional<float> clip;
  bool linear_before_reset = false, input_forget = false;
  bool batch_first = false;  ///< layout = 1
};
struct ScatterAttributes {
  std::int64_t axis = 0;
  enum class Reduction : std::uint8_t { none, add, mul } reduction = Reduction::none;
};
struct GatherNdAttributes {
  std::int64_t batch_dims = 0;
};
struct TopKAttributes {
  std::int64_t axis = -1, k = 1;
  bool largest = true, sorted = true;
};
struct OneHotAttributes {
  std::int64_t axis = -1, depth = 0;  ///< depth from operand 1, which is absent; the values stay operand 2
};
struct CumSumAttributes {
  std::int64_t axis = 0;
  bool exclusive = false, reverse = false;
};
struct TriluAttributes {
  bool upper = true;
  std::int64_t k = 0;
};
struct DepthSpaceAttributes {
  std::int64_t block = 1;
  bool column_row_depth = false;  ///< DepthToSpace's mode CRD
};
struct ModAttributes {
  bool fmod = false;
};
struct IsInfAttributes {
  bool negative = true, positive = true;
};
/// Canonical: no blanks, ellipses spelled out in letters, always with "->". An axis of extent 1 stretches to its
/// letter's.
struct EinsumAttributes {
  std::string equation;
};
struct LossAttributes {
  enum class Reduction : std::uint8_t { none, sum, mean } reduction = Reduction::mean;
  std::optional<std::int64_t> ignore_index;
};

using Attributes =
    std::variant<NoAttributes, GemmAttributes, AxisAttributes, AxesAttributes, TransposeAttributes, ShapeAttributes,
                 SliceAttributes, SplitAttributes, CastAttributes, ShapeOfAttributes, ConvAttributes, PoolAttributes,
                 NormAttributes, LrnAttributes, ReduceAttributes, ArgAttributes, ActivationAttributes, PadAttributes,
                 RecurrentAttributes, ScatterAttributes, GatherNdAttributes, TopKAttributes, OneHotAttributes,
                 CumSumAttributes, TriluAttributes, DepthSpaceAttributes, ModAttributes, IsInfAttributes,
                 EinsumAttributes, LossAttributes>;

}  // namespace tessera::model
