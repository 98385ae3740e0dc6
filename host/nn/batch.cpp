// Whether a model treats the rows of its batch independently: follows the batch axis through every operator. Also moves
// rows between whole tensors and steps of streams.
#include <algorithm>
#include <map>

#include "host/nn/lower.h"

namespace tessera::nn {

using namespace model;  // NOLINT: this file is about nothing else

namespace {

/// No batch axis: the value is the same for every row.
constexpr std::int64_t kNone = -1;

class BatchAxes {
 public:
  explicit BatchAxes(const Model& model) : model_(model), axis_(model.values.size(), kNone) {}

  bool run() {
    bool any = false;
    for (const SymbolicAxis& symbolic : model_.symbolic) {
      if (symbolic.axis != 0) continue;
      axis_[model_.inputs[symbolic.input]] = 0;
      any = true;
    }
    if (!any) return false;
    for (const Node& node : model_.nodes)
      if (!visit(node)) return false;
    return std::all_of(model_.outputs.begin(), model_.outputs.end(), [&](ValueId id) { return axis_[id] == 0; });
  }

 private:
  const Shape& shape(ValueId id) const { return model_.value(id).shape; }
  std::int64_t rank(ValueId id) const { return static_cast<std::int64_t>(shape(id).size()); }

  /// Operands aligned from the right: those without the axis must repeat along it.
  std::optional<std::int64_t> aligned(const Node& node, std::size_t operands) const {
    const std::int64_t result_rank = rank(node.outputs[0]);
    std::int64_t result = kNone;
    for (std::size_t i = 0; i < operands; ++i) {
      const ValueId id = node.inputs[i];
      if (id == kAbsent || axis_[id] == kNone) continue;
      const std::int64_t here = axis_[id] + result_rank - rank(id);
      if (result != kNone && result != here) return std::nullopt;
      result = here;
    }
    for (std::size_t i = 0; result != kNone && i < operands; ++i) {
      const ValueId id = node.inputs[i];
      if (id == kAbsent || axis_[id] != kNone) continue;
      const std::int64_t own = result - result_rank + rank(id);
      if (own >= 0 && shape(id)[static_cast<std::size_t>(own)] != 1) return std::nullopt;
    }
    return result;
  }

  std::optional<std::int64_t> product(const Node& node) const {
    const ValueId a = node.inputs[0], b = node.inputs[1];
    if (node.op == Op::Gemm) {
      const bool transposed = std::get<GemmAttributes>(node.attributes).transpose_a;
      if (axis_[b] != kNone || axis_[a] != (transposed ? 1 : 0)) return std::nullopt;
      if (node.inputs.size() < 3 || node.inputs[2] == kAbsent) return 0;
      const ValueId c = node.inputs[2];
      if (axis_[c] == kNone && rank(c) == 2 && shape(c)[0] != 1) return std::nullopt;
      return axis_[c] == kNone || (rank(c) == 2 && axis_[c] == 0) ? std::optional<std::int64_t>(0) : std::nullopt;
    }
    if (axis_[a] == kNone || axis_[a] >= rank(a) - 1 || rank(b) < 2) return std::nullopt;
    const std::int64_t place = axis_[a] + rank(node.outputs[0]) - rank(a);
    const std::int64_t in_b = place - rank(node.outputs[0]) + rank(b);
    if (axis_[b] == kNone) {
      const bool outer = in_b >= 0 && in_b < rank(b) - 2;
      return outer && shape(b)[static_cast<std::size_t>(in_b)] != 1 ? std::nullopt : std::optional<std::int64_t>(place);
    }
    return axis_[b] == in_b && in_b < rank(b) - 2 ? std::optional<std::int64_t>(place) : std::nullopt;
  }

  /// Axis of the input after operators that only rename elements.
  std::optional<std::int64_t> renamed(const Node& node, std::int64_t axis) const {
    const auto at = static_cast<std::size_t>(axis);
    switch (node.op) {
      case Op::Transpose: {
        const auto& permutation = std::get<TransposeAttributes>(node.attributes).permutation;
        return std::find(permutation.begin(), permutation.end(), axis) - permutation.begin();
      }
      case Op::Squeeze: {
        const auto& axes = std::get<AxesAttributes>(node.attributes).axes;
        std::int64_t before = 0;
        for (std::int64_t k = 0; k < axis; ++k)
          before += axes ? std::count(axes->begin(), axes->end(), k)
                         : shape(node.inputs[0])[static_cast<std::size_t>(k)] == 1;
        if (!axes || std::count(axes->begin(), axes->end(), axis) != 0) return std::nullopt;
        return axis - before;
      }
      case Op::Unsqueeze: {
        std::int64_t result = axis;
        for (const std::int64_t added : *std::get<AxesAttributes>(node.attributes).axes)
          result += added <= result ? 1 : 0;
        return result;
      }
      case Op::Flatten:
        return axis == 0 && std::get<AxisAttributes>(node.attributes).axis == 1 ? std::optional<std::int64_t>(0)
                                                                                : std::nullopt;
      case Op::Reshape: {
        const Shape& to = shape(node.outputs[0]);
        return axis == 0 && !to.empty() && to[0] == shape(node.inputs[0])[0] ? std::optional<std::int64_t>(0)
                                                                             : std::nullopt;
      }
      case Op::Slice: {
        const SliceRange range = resolve(std::get<SliceAttributes>(node.attributes), shape(node.inputs[0]))[at];
        return range.begin == 0 && range.step == 1 && range.count == shape(node.inputs[0])[at]
                   ? std::optional<std::int64_t>(axis)
                   : std::nullopt;
      }
      default:
        return axis;
    }
  }

  bool visit(const Node& node) {
    std::optional<std::int64_t> result = kNone;
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [&](ValueId id) { return id != kAbsent && axis_[id] != kNone; });
    if (any) result = follow(node);
    if (!result) return false;
    for (const ValueId id : node.outputs)
      if (id != kAbsent) axis_[id] = *result;
    return true;
  }

  std::optional<std::int64_t> follow(const Node& node) const {
    switch (node.op) {
      case Op::MatMul:
      case Op::Gemm:
        return product(node);
      case Op::Softmax:
      case Op::LogSoftmax:
        if (std::get<AxisAttributes>(node.attributes).axis == axis_[node.inputs[0]]) return std::nullopt;
        return axis_[node.inputs[0]];
      case Op::Split:
        if (std::get<SplitAttributes>(node.attributes).axis == axis_[node.inputs[0]]) return std::nullopt;
        return axis_[node.inputs[0]];
      case Op::Concat: {
        const bool all = std::all_of(node.inputs.begin(), node.inputs.end(),
                                     [&](ValueId id) { return axis_[id] == axis_[node.inputs[0]]; });
        if (!all || std::get<AxisAttributes>(node.attributes).axis == axis_[node.inputs[0]]) return std::nullopt;
        return axis_[node.inputs[0]];
      }
      case Op::Transpose:
      case Op::Squeeze:
      case Op::Unsqueeze:
      case Op::Flatten:
      case Op::Reshape:
      case Op::Slice:
        return renamed(node, axis_[node.inputs[0]]);
      default:
        return is_elementwise(node.op) ? aligned(node, node.inputs.size()) : follow_first(node);
    }
  }

  /// Operators that compute each element of the result from one of every operand.
  static bool is_elementwise(Op op) {
    // clang-format off
    switch (op) {
      case Op::Abs: case Op::Acos: case Op::Acosh: case Op::Add: case Op::And: case Op::Asin: case Op::Asinh:
      case Op::Atan: case Op::Atanh: case Op::Cast: case Op::Ceil: case Op::Celu: case Op::Clip: case Op::Cos:
      case Op::Cosh: case Op::Div: case Op::Dropout: case Op::Elu: case Op::Equal: case Op::Erf: case Op::Exp:
      case Op::Floor: case Op::Greater: case Op::GreaterOrEqual: case Op::HardSigmoid: case Op::HardSwish:
      case Op::Identity: case Op::IsInf: case Op::IsNaN: case Op::LeakyRelu: case Op::Less: case Op::LessOrEqual:
      case Op::Log: case Op::Max: case Op::Mean: case Op::Min: case Op::Mod: case Op::Mul: case Op::Neg: case Op::Not:
      case Op::Or: case Op::PRelu: case Op::Pow: case Op::Reciprocal: case Op::Relu: case Op::Round: case Op::Selu:
      case Op::Shrink: case Op::Sigmoid: case Op::Sign: case Op::Sin: case Op::Sinh: case Op::Softplus:
      case Op::Softsign: case Op::Sqrt: case Op::Sub: case Op::Sum: case Op::Tan: case Op::Tanh:
      case Op::ThresholdedRelu: case Op::Where: case Op::Xor:
        return true;
      default:
        return false;
    }
    // clang-format on
  }

  /// Operators whose first operand has the axis and no other operand does.
  std::optional<std::int64_t> follow_first(const Node& node) const {
    if (node.op == Op::Gather) return gathered(node);
    for (std::size_t i = 1; i < node.inputs.size(); ++i)
      if (node.inputs[i] != kAbsent && axis_[node.inputs[i]] != kNone) return std::nullopt;
    const std::int64_t axis = axis_[node.inputs[0]];
    const auto unless = [&](bool touched) { return touched ? std::nullopt : std::optional<std::int64_t>(axis); };
    switch (node.op) {
      case Op::AveragePool:
      case Op::BatchNormalization:
      case Op::Conv:
      case Op::ConvTranspose:
      case Op::DepthToSpace:
      case Op::GlobalAveragePool:
      case Op::GlobalMaxPool:
      case Op::InstanceNormalization:
      case Op::LRN:
      case Op::MaxPool:
      case Op::SpaceToDepth:
        // Indices of MaxPool count from the first row of the batch.
        return unless(axis != 0 || (node.op == Op::MaxPool && node.outputs.size() > 1 && node.outputs[1] != kAbsent));
      case Op::Hardmax:
        return unless(std::get<AxisAttributes>(node.attributes).axis == axis);
      case Op::CumSum:
        return unless(std::get<CumSumAttributes>(node.attributes).axis == axis);
      case Op::TopK:
        return unless(std::get<TopKAttributes>(node.attributes).axis == axis);
      case Op::LayerNormalization:
        return unless(axis >= std::get<NormAttributes>(node.attributes).axis);
      case Op::Tile:
        return unless(std::get<ShapeAttributes>(node.attributes).shape[static_cast<std::size_t>(axis)] != 1);
      case Op::Pad: {
        const auto& pad = std::get<PadAttributes>(node.attributes);
        const auto at = static_cast<std::size_t>(axis);
        return unless(pad.begin[at] != 0 || pad.end[at] != 0);
      }
      case Op::Expand: {
        // The axis keeps its extent if the shape says 1 there or nothing.
        const Shape& to = std::get<ShapeAttributes>(node.attributes).shape;
        const std::int64_t place = axis + rank(node.outputs[0]) - rank(node.inputs[0]);
        const std::int64_t in_to = place - rank(node.outputs[0]) + static_cast<std::int64_t>(to.size());
        if (in_to >= 0 && to[static_cast<std::size_t>(in_to)] != 1) return std::nullopt;
        return place;
      }
      default:
        return reduced(node, axis);
    }
  }

  /// Axis of the operand after a reduction over others; nothing for operators that are none.
  static std::optional<std::int64_t> reduced(const Node& node, std::int64_t axis) {
    Shape axes;
    bool keep = true;
    if (const auto* reduce = std::get_if<ReduceAttributes>(&node.attributes)) {
      axes = reduce->axes;
      keep = reduce->keep_dims;
    } else if (const auto* arg = std::get_if<ArgAttributes>(&node.attributes)) {
      axes = {arg->axis};
      keep = arg->keep_dims;
    } else {
      return std::nullopt;
    }
    if (std::count(axes.begin(), axes.end(), axis) != 0) return std::nullopt;
    if (keep) return axis;
    return axis - std::count_if(axes.begin(), axes.end(), [&](std::int64_t a) { return a < axis; });
  }

  /// The axis may come by the data or by the indices.
  std::optional<std::int64_t> gathered(const Node& node) const {
    const std::int64_t along = std::get<AxisAttributes>(node.attributes).axis;
    const std::int64_t of_data = axis_[node.inputs[0]], of_indices = axis_[node.inputs[1]];
    if (of_data == kNone) return along + of_indices;
    if (of_indices != kNone || of_data == along) return std::nullopt;
    return of_data < along ? of_data : of_data - 1 + rank(node.inputs[1]);
  }

  const Model& model_;
  std::vector<std::int64_t> axis_;  ///< by ValueId
};

}  // namespace

bool rows_are_independent(const Model& model) {
  for (const SymbolicAxis& symbolic : model.symbolic)
    if (symbolic.axis == 0 && model.value(model.inputs[symbolic.input]).shape[0] < 1) return false;
  return BatchAxes(model).run();
}

std::int64_t Binding::step_elements() const {
  if (rows == 0) return element_count(shape);
  return rows * element_count(Shape(shape.begin() + 1, shape.end()));
}

namespace {

/// Bytes of the whole tensor that step `step` carries: where they begin and how many.
std::pair<std::size_t, std::size_t> step_range(const Binding& binding, std::uint64_t step) {
  const std::size_t size = size_of(binding.type);
  const std::size_t whole = static_cast<std::size_t>(element_count(binding.shape)) * size;
  const std::size_t part = static_cast<std::size_t>(binding.step_elements()) * size;
  const std::size_t begin = std::min(whole, static_cast<std::size_t>(step) * part);
  return {begin, std::min(part, whole - begin)};
}

}  // namespace

void fill_step(const Binding& input, const Tensor& whole, std::uint64_t step, std::uint8_t* bytes) {
  if (whole.type != input.type || whole.shape != input.shape) throw std::logic_error("stream of another tensor");
  const auto [begin, count] = step_range(input, step);
  std::copy_n(whole.data.data() + begin, count, bytes);
  std::fill(bytes + count, bytes + static_cast<std::size_t>(input.step_elements()) * size_of(input.type),
            std::uint8_t{0});
}

void drain_step(const Binding& output, Tensor& whole, std::uint64_t step, const std::uint8_t* bytes) {
  if (whole.type != output.type || whole.shape != output.shape) throw std::logic_error("stream of another tensor");
  const auto [begin, count] = step_range(output, step);
  std::copy_n(bytes, count, whole.data.data() + begin);
}

}  // namespace tessera::nn
