// Element-wise operators, comparisons, logic, casts and selection, by Map codelets (operators.h). f16 sums of more than
// two operands are f32 sums with one rounding.
#include <cmath>

#include "host/nn/lowering.h"
#include "host/nn/vertex_batch.h"
#include "hw/error.h"

namespace tessera::nn {

using graph::Tensor;
using model::ActivationAttributes;
using model::Model;
using model::Node;
using model::Op;
using model::Type;

namespace {

bool is_float(Type type) { return type == Type::f32 || type == Type::f16; }

std::string codelet_of(Op op, graph::Type type) { return "Map" + std::string(name_of(op)) + "_" + type_suffix(type); }

void lower_simple_unary(Lowering& lowering, const Node& node) {
  const Tensor x = lowering.materialised(node.inputs[0]);
  lowering.view(node.outputs[0]) =
      lower_unary(lowering.builder(), codelet_of(node.op, x.type()), x, type_of(lowering.out(node).type), node.name);
}

std::string refuse_float(const Model& model, const Node& node) {
  return is_float(model.value(node.inputs.at(0)).type) ? "" : "no codelet for integers, use f32 or f16";
}

void lower_activation(Lowering& lowering, const Node& node) {
  const auto& a = std::get<ActivationAttributes>(node.attributes);
  const Tensor x = lowering.materialised(node.inputs[0]);
  lowering.view(node.outputs[0]) = lower_unary_with(lowering.builder(), codelet_of(node.op, x.type()), x, x.type(),
                                                    a.alpha, a.beta, a.gamma, node.name);
}

/// alpha = 1/6, beta = 1/2.
void lower_hard_swish(Lowering& lowering, const Node& node) {
  const Tensor x = lowering.materialised(node.inputs[0]);
  lowering.view(node.outputs[0]) = lower_unary_with(lowering.builder(), codelet_of(node.op, x.type()), x, x.type(),
                                                    1.0F / 6.0F, 0.5F, 0.0F, node.name);
}

void lower_is_inf(Lowering& lowering, const Node& node) {
  const auto& a = std::get<model::IsInfAttributes>(node.attributes);
  const Tensor x = lowering.materialised(node.inputs[0]);
  lowering.view(node.outputs[0]) =
      lower_unary_with(lowering.builder(), codelet_of(node.op, x.type()), x, graph::Type::boolean,
                       a.negative ? 1.0F : 0.0F, a.positive ? 1.0F : 0.0F, 0.0F, node.name);
}

Tensor binary(Lowering& lowering, const std::string& op, const Operand& a, const Operand& b, const model::Shape& shape,
              graph::Type from, graph::Type to, const std::string& name) {
  return lower_binary(lowering.builder(), "Map" + op + "_" + type_suffix(from), a, b, shape_of(shape), to, name);
}

void lower_two(Lowering& lowering, const Node& node, const std::string& op) {
  const model::Value& result = lowering.out(node);
  lowering.view(node.outputs[0]) =
      binary(lowering, op, lowering.operand(node.inputs[0]), lowering.operand(node.inputs[1]), result.shape,
             type_of(lowering.in(node, 0).type), type_of(result.type), node.name);
}

void lower_binary_node(Lowering& lowering, const Node& node) {
  lower_two(lowering, node, std::string(name_of(node.op)));
}

void lower_mod(Lowering& lowering, const Node& node) {
  const bool fmod = std::get<model::ModAttributes>(node.attributes).fmod || is_float(lowering.in(node, 0).type);
  lower_two(lowering, node, fmod ? "Fmod" : "Mod");
}

/// The exponent may have a type of its own: both become f32 then, unless both are integers.
void lower_pow(Lowering& lowering, const Node& node) {
  const Type base = lowering.in(node, 0).type, exponent = lowering.in(node, 1).type;
  if (base == exponent) return lower_two(lowering, node, "Pow");
  Builder& builder = lowering.builder();
  const graph::Type type = is_float(base) || is_float(exponent) ? graph::Type::f32 : graph::Type::i32;
  const Tensor a = lower_cast(builder, lowering.materialised(node.inputs[0]), type, node.name);
  const Tensor b = lower_cast(builder, lowering.materialised(node.inputs[1]), type, node.name);
  const Tensor y = binary(lowering, "Pow", {a, nullptr}, {b, nullptr}, lowering.out(node).shape, type, type, node.name);
  lowering.view(node.outputs[0]) = lower_cast(builder, y, type_of(lowering.out(node).type), node.name);
}

/// Sum, Mean, Max, Min of any number of operands.
void lower_variadic(Lowering& lowering, const Node& node) {
  Builder& builder = lowering.builder();
  const model::Value& result = lowering.out(node);
  const bool sum = node.op == Op::Sum || node.op == Op::Mean;
  const std::string op = sum ? "Add" : std::string(name_of(node.op));
  const std::size_t n = node.inputs.size();
  const bool wide = sum && result.type == Type::f16 && (n > 2 || node.op == Op::Mean);
  const graph::Type type = wide ? graph::Type::f32 : type_of(result.type);
  const auto operand = [&](std::size_t i) -> Operand {
    if (!wide) return lowering.operand(node.inputs[i]);
    return {lower_cast(builder, lowering.materialised(node.inputs[i]), type, node.name), nullptr};
  };
  Tensor y = n == 1 ? lowering.materialised(node.inputs[0]) : Tensor();
  model::Shape shape = lowering.in(node, 0).shape;
  for (std::size_t i = 1; i < n; ++i) {
    shape = model::broadcast(shape, lowering.in(node, i).shape);
    y = binary(lowering, op, i == 1 ? operand(0) : Operand{y, nullptr}, operand(i), shape, type, type, node.name);
  }
  if (node.op == Op::Mean && n > 1)
    y = lower_unary_with(builder, "MapScale_" + type_suffix(type), y, type, 1.0F / static_cast<float>(n), 0.0F, 0.0F,
                         node.name);
  lowering.view(node.outputs[0]) = lower_cast(builder, y, type_of(result.type), node.name);
}

void lower_cast_node(Lowering& lowering, const Node& node) {
  lowering.view(node.outputs[0]) = lower_cast(lowering.builder(), lowering.materialised(node.inputs[0]),
                                              type_of(lowering.out(node).type), node.name);
}

/// Limits that are constants are numbers of the codelet; others are operands.
void lower_clip(Lowering& lowering, const Node& node) {
  Builder& builder = lowering.builder();
  Tensor y = lowering.materialised(node.inputs[0]);
  const model::Value& result = lowering.out(node);
  const graph::Type type = type_of(result.type);
  const bool low = Lowering::has(node, 1), high = Lowering::has(node, 2);
  const auto fixed = [&](std::size_t i) { return lowering.operand(node.inputs[i]).is_constant(); };
  if (is_float(result.type) && (!low || fixed(1)) && (!high || fixed(2))) {
    const float least = low ? static_cast<float>(lowering.in(node, 1).constant->real(0)) : -HUGE_VALF;
    const float most = high ? static_cast<float>(lowering.in(node, 2).constant->real(0)) : HUGE_VALF;
    if (low || high)
      y = lower_unary_with(builder, "MapClip_" + type_suffix(type), y, type, least, most, 0.0F, node.name);
  } else {
    if (low)
      y = binary(lowering, "Max", {y, nullptr}, lowering.operand(node.inputs[1]), result.shape, type, type, node.name);
    if (high)
      y = binary(lowering, "Min", {y, nullptr}, lowering.operand(node.inputs[2]), result.shape, type, type, node.name);
  }
  lowering.view(node.outputs[0]) = y;
}

graph::Type bits_type(graph::Type type) {
  const unsigned size = graph::size_of(type);
  return size == 1 ? graph::Type::u8 : size == 2 ? graph::Type::u16 : graph::Type::u32;
}

void lower_where(Lowering& lowering, const Node& node) {
  const model::Value& result = lowering.out(node);
  const graph::Type type = type_of(result.type), bits = bits_type(type);
  const auto as_bits = [&](std::size_t i) -> Operand {
    Operand x = lowering.operand(node.inputs[i]);
    if (!x.is_constant()) return {x.view.reinterpret(bits), nullptr};
    model::Tensor copy = *x.constant;
    copy.type = bits == graph::Type::u8 ? Type::u8 : bits == graph::Type::u16 ? Type::u16 : Type::u32;
    return {{}, lowering.keep(std::move(copy))};
  };
  // Small constants of two types are not kept side by side.
  const Operand condition = {lowering.materialised(node.inputs[0]), nullptr};
  const MapCall call{"MapWhere_" + type_suffix(bits), {"c", "a", "b"}, {}};
  const Tensor y =
      lower_map(lowering.builder(), call, {condition, as_bits(1), as_bits(2)}, shape_of(result.shape), bits, node.name);
  lowering.view(node.outputs[0]) = y.reinterpret(type);
}

std::string refuse_two(const Model& model, const Node& node) {
  const Type a = model.value(node.inputs.at(0)).type;
  if (node.op == Op::PRelu && !is_float(a) && a != Type::i32 && a != Type::u32)
    return "no codelet for this type, use f32";
  if (node.op != Op::Equal && node.op != Op::And && node.op != Op::Or && node.op != Op::Xor && a == Type::boolean)
    return "no codelet for bool";
  return {};
}

}  // namespace

std::vector<Rule> basic_rules() {
  std::vector<Rule> rules = {{Op::Cast, lower_cast_node},
                             {Op::CastLike, lower_cast_node},
                             {Op::HardSwish, lower_hard_swish, refuse_float},
                             {Op::IsInf, lower_is_inf, refuse_float},
                             {Op::Mod, lower_mod, refuse_two},
                             {Op::Pow, lower_pow, refuse_two},
                             {Op::Clip, lower_clip},
                             {Op::Where, lower_where},
                             {Op::Not, lower_simple_unary}};
  for (const Op op : {Op::Abs, Op::Neg, Op::Sign, Op::Relu}) rules.push_back({op, lower_simple_unary});
  for (const Op op :
       {Op::Acos, Op::Acosh,   Op::Asin,     Op::Asinh, Op::Atan,  Op::Atanh,    Op::Ceil,  Op::Cos,
        Op::Cosh, Op::Erf,     Op::Exp,      Op::Floor, Op::IsNaN, Op::Log,      Op::Round, Op::Sin,
        Op::Sinh, Op::Sigmoid, Op::Softplus, Op::Sqrt,  Op::Tan,   Op::Softsign, Op::Tanh,  Op::Reciprocal})
    rules.push_back({op, lower_simple_unary, refuse_float});
  for (const Op op : {Op::Elu, Op::Selu, Op::Celu, Op::LeakyRelu, Op::ThresholdedRelu, Op::HardSigmoid, Op::Shrink})
    rules.push_back({op, lower_activation, refuse_float});
  for (const Op op : {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::PRelu, Op::Equal, Op::Less, Op::LessOrEqual, Op::Greater,
                      Op::GreaterOrEqual, Op::And, Op::Or, Op::Xor})
    rules.push_back({op, lower_binary_node, refuse_two});
  for (const Op op : {Op::Max, Op::Min, Op::Sum, Op::Mean}) rules.push_back({op, lower_variadic, refuse_two});
  return rules;
}

}  // namespace tessera::nn
