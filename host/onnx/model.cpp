#include "host/onnx/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tessera::model {

namespace {

constexpr std::array<std::string_view, 35> kNames = {
    "Abs",       "Add",       "Cast",       "Concat",          "Div",    "Exp",   "Expand",  "Flatten", "Gemm",
    "Identity",  "Log",       "LogSoftmax", "MatMul",          "Max",    "Min",   "Mul",     "Neg",     "Relu",
    "Reshape",   "Sigmoid",   "Slice",      "Softmax",         "Split",  "Sqrt",  "Squeeze", "Sub",     "Tanh",
    "Transpose", "Unsqueeze", "Constant",   "ConstantOfShape", "Gather", "Range", "Shape",   "Size"};

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

std::string_view name_of(Op op) { return kNames.at(static_cast<std::size_t>(op)); }

std::optional<Op> find_op(std::string_view name) {
  const auto* found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Op>(found - kNames.begin());
}

bool runs_on_machine(Op op) { return op < Op::Constant; }

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
