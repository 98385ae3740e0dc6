// Element-wise operators, casts and softmax by codelets that exist as Name_type (operators.h).
#include "host/nn/lowering.h"
#include "hw/error.h"

namespace tessera::nn {

using graph::Tensor;
using model::Model;
using model::Node;
using model::Op;

namespace {

std::string refuse_elementwise(const Model& model, const Node& node) {
  const model::Type type = model.value(node.outputs.at(0)).type;
  if (node.inputs.size() == 1 && !unary_codelet(node.op, type).empty()) return {};
  if (node.op == Op::Relu && type == model::Type::i32) return {};
  if (node.inputs.size() == 2 && !binary_codelet(node.op, type).empty()) return {};
  return "no codelet for " + std::string(name_of(type)) + ", use f32";
}

void lower_elementwise(Lowering& lowering, const Node& node) {
  Builder& builder = lowering.builder();
  const model::Value& result = lowering.out(node);
  const graph::Shape shape = shape_of(result.shape);
  const graph::Type type = type_of(result.type);
  Tensor& view = lowering.view(node.outputs[0]);
  if (const std::string codelet = unary_codelet(node.op, result.type); !codelet.empty() && node.inputs.size() == 1) {
    view = lower_unary(builder, codelet, lowering.materialised(node.inputs[0]), type, node.name);
  } else if (node.op == Op::Relu) {
    const auto* zero = lowering.keep(model::Tensor(model::Type::i32, {}));
    view = lower_binary(builder, "Max_i32", lowering.operand(node.inputs[0]), {{}, zero}, shape, type, node.name);
  } else {
    view = lower_binary(builder, binary_codelet(node.op, result.type), lowering.operand(node.inputs[0]),
                        lowering.operand(node.inputs[1]), shape, type, node.name);
  }
}

void lower_cast(Lowering& lowering, const Node& node) {
  const model::Type from = lowering.in(node, 0).type, to = lowering.out(node).type;
  const Tensor x = lowering.materialised(node.inputs[0]);
  lowering.view(node.outputs[0]) =
      from == to ? x : lower_unary(lowering.builder(), cast_codelet(from, to), x, type_of(to), node.name);
}

std::string refuse_softmax(const Model& model, const Node& node) {
  return model.value(node.outputs.at(0)).type == model::Type::f32 ? "" : "no codelet for this type, use f32";
}

void lower_softmax_node(Lowering& lowering, const Node& node) {
  const auto axis = static_cast<std::size_t>(std::get<model::AxisAttributes>(node.attributes).axis);
  lowering.view(node.outputs[0]) = lower_softmax(lowering.builder(), std::string(name_of(node.op)) + "_f32",
                                                 lowering.materialised(node.inputs[0]), axis, node.name);
}

}  // namespace

std::vector<Rule> basic_rules() {
  std::vector<Rule> rules = {{Op::Cast, lower_cast},
                             {Op::Softmax, lower_softmax_node, refuse_softmax},
                             {Op::LogSoftmax, lower_softmax_node, refuse_softmax}};
  for (const Op op : {Op::Abs, Op::Add, Op::Div, Op::Exp, Op::Log, Op::Max, Op::Min, Op::Mul, Op::Neg, Op::Relu,
                      Op::Sigmoid, Op::Sqrt, Op::Sub, Op::Tanh})
    rules.push_back({op, lower_elementwise, refuse_elementwise});
  return rules;
}

}  // namespace tessera::nn
