#include "host/onnx/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace tessera::model {

namespace {

constexpr std::string_view kNames[] = {
#define TESSERA_OPERATOR(name) #name,
    TESSERA_OPERATORS(TESSERA_OPERATOR)
#undef TESSERA_OPERATOR
};

struct AttributeText {
  std::string operator()(const NoAttributes&) const { return ""; }
  std::string operator()(const GemmAttributes& a) const {
    return fmt::format(" alpha={} beta={} transA={} transB={}", a.alpha, a.beta, a.transpose_a, a.transpose_b);
  }
  std::string operator()(const AxisAttributes& a) const { return fmt::format(" axis={}", a.axis); }
  std::string operator()(const AxesAttributes& a) const { return a.axes ? " axes=" + to_string(*a.axes) : ""; }
  std::string operator()(const TransposeAttributes& a) const { return " perm=" + to_string(a.permutation); }
  std::string operator()(const ShapeAttributes& a) const {
    return fmt::format(" shape={}{}", to_string(a.shape), a.allow_zero ? " allowzero" : "");
  }
  std::string operator()(const SliceAttributes& a) const {
    return fmt::format(" starts={} ends={} axes={} steps={}", to_string(a.starts), to_string(a.ends), to_string(a.axes),
                       to_string(a.steps));
  }
  std::string operator()(const SplitAttributes& a) const {
    return fmt::format(" axis={} sizes={}", a.axis, to_string(a.sizes));
  }
  std::string operator()(const CastAttributes& a) const { return fmt::format(" to={}", name_of(a.to)); }
  std::string operator()(const ShapeOfAttributes& a) const { return fmt::format(" start={} end={}", a.start, a.end); }
  std::string operator()(const ConvAttributes& a) const {
    return fmt::format(" group={} kernel={} strides={} dilations={} pads={}{} output_padding={}", a.group,
                       to_string(a.kernel), to_string(a.strides), to_string(a.dilations), to_string(a.pads_begin),
                       to_string(a.pads_end), to_string(a.output_padding));
  }
  std::string operator()(const PoolAttributes& a) const {
    return fmt::format(" kernel={} strides={} dilations={} pads={}{} ceil={} count_pad={} column_major={}",
                       to_string(a.kernel), to_string(a.strides), to_string(a.dilations), to_string(a.pads_begin),
                       to_string(a.pads_end), a.ceil_mode, a.count_include_pad, a.column_major);
  }
  std::string operator()(const NormAttributes& a) const {
    return fmt::format(" epsilon={} axis={} axes={}", a.epsilon, a.axis, to_string(a.axes));
  }
  std::string operator()(const LrnAttributes& a) const {
    return fmt::format(" alpha={} beta={} bias={} size={}", a.alpha, a.beta, a.bias, a.size);
  }
  std::string operator()(const ReduceAttributes& a) const {
    return fmt::format(" axes={} keep={}", to_string(a.axes), a.keep_dims);
  }
  std::string operator()(const ArgAttributes& a) const {
    return fmt::format(" axis={} keep={} last={}", a.axis, a.keep_dims, a.select_last);
  }
  std::string operator()(const ActivationAttributes& a) const {
    return fmt::format(" alpha={} beta={} gamma={}", a.alpha, a.beta, a.gamma);
  }
  std::string operator()(const PadAttributes& a) const {
    return fmt::format(" mode={} begin={} end={}", static_cast<int>(a.mode), to_string(a.begin), to_string(a.end));
  }
  std::string operator()(const RecurrentAttributes& a) const {
    return fmt::format(" direction={} hidden={} activations={} alpha={} beta={} clip={} lbr={} if={} batch_first={}",
                       static_cast<int>(a.direction), a.hidden, fmt::join(a.activations, ","), fmt::join(a.alpha, ","),
                       fmt::join(a.beta, ","), a.clip ? fmt::format("{}", *a.clip) : "-", a.linear_before_reset,
                       a.input_forget, a.batch_first);
  }
  std::string operator()(const ScatterAttributes& a) const {
    return fmt::format(" axis={} reduction={}", a.axis, static_cast<int>(a.reduction));
  }
  std::string operator()(const GatherNdAttributes& a) const { return fmt::format(" batch_dims={}", a.batch_dims); }
  std::string operator()(const TopKAttributes& a) const {
    return fmt::format(" axis={} k={} largest={} sorted={}", a.axis, a.k, a.largest, a.sorted);
  }
  std::string operator()(const OneHotAttributes& a) const { return fmt::format(" axis={} depth={}", a.axis, a.depth); }
  std::string operator()(const CumSumAttributes& a) const {
    return fmt::format(" axis={} exclusive={} reverse={}", a.axis, a.exclusive, a.reverse);
  }
  std::string operator()(const TriluAttributes& a) const { return fmt::format(" upper={} k={}", a.upper, a.k); }
  std::string operator()(const DepthSpaceAttributes& a) const {
    return fmt::format(" block={} crd={}", a.block, a.column_row_depth);
  }
  std::string operator()(const ModAttributes& a) const { return fmt::format(" fmod={}", a.fmod); }
  std::string operator()(const IsInfAttributes& a) const {
    return fmt::format(" negative={} positive={}", a.negative, a.positive);
  }
  std::string operator()(const EinsumAttributes& a) const { return " equation=" + a.equation; }
  std::string operator()(const LossAttributes& a) const {
    return fmt::format(" reduction={} ignore={}", static_cast<int>(a.reduction),
                       a.ignore_index ? fmt::format("{}", *a.ignore_index) : "-");
  }
};

std::string value_text(const Model& model, ValueId id) {
  if (id == kAbsent) return "-";
  const Value& value = model.value(id);
  std::string text = fmt::format("{}{}", name_of(value.type), to_string(value.shape));
  if (!value.constant) return value.name + ":" + text;
  const Tensor& tensor = *value.constant;
  text += "{";
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    text += tensor.type == Type::f32 || tensor.type == Type::f64 ? fmt::format("{} ", tensor.real(i))
                                                                 : fmt::format("{} ", tensor.integer(i));
  return text + "}";
}

}  // namespace

std::string_view name_of(Op op) { return kNames[static_cast<std::size_t>(op)]; }

std::optional<Op> find_op(std::string_view name) {
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<Op>(found - std::begin(kNames));
}

bool runs_on_machine(Op op) {
  switch (op) {
    case Op::Constant:
    case Op::ConstantOfShape:
    case Op::Range:
    case Op::Shape:
    case Op::Size:
      return false;
    default:
      return true;
  }
}

std::string attributes_text(const Attributes& attributes) { return std::visit(AttributeText{}, attributes); }

std::string to_text(const Model& model) {
  std::string text;
  for (const ValueId id : model.inputs) text += "input " + value_text(model, id) + "\n";
  for (const Node& node : model.nodes) {
    std::vector<std::string> in, out;
    for (const ValueId id : node.inputs) in.push_back(value_text(model, id));
    for (const ValueId id : node.outputs) out.push_back(value_text(model, id));
    text += fmt::format("{} = {}({}){}\n", fmt::join(out, ", "), name_of(node.op), fmt::join(in, ", "),
                        std::visit(AttributeText{}, node.attributes));
  }
  for (const ValueId id : model.outputs) text += "output " + value_text(model, id) + "\n";
  return text;
}

}  // namespace tessera::model
