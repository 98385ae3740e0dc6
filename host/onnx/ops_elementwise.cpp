// Operators that compute each element of the result from one element of every operand: arithmetic, functions,
// comparisons, logic, casts, choice. Broadcasting of opset 6 and before is made explicit.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "host/onnx/ops.h"

namespace tessera::model {

namespace {

/// Opset 6 and before: shapes are equal unless `broadcast` is set, and `axis` places operand 1's axes at operand 0's.
void place_operand(Reading& r) {
  if (r.opset >= 7) return;
  const bool broadcast = r.flag("broadcast");
  if (!broadcast && r.shape(0) != r.shape(1))
    r.fail(fmt::format("operands have shapes {} and {} and are not to be broadcast", to_string(r.shape(0)),
                       to_string(r.shape(1))));
  const std::int64_t axis = r.integer("axis", -1);
  if (!broadcast || axis < 0) return;
  const std::int64_t behind = r.rank(0) - r.rank(1) - axis;
  if (axis > r.rank(0) || behind < 0) r.fail(fmt::format("operand 1 cannot be placed at axis {}", axis));
  if (behind == 0) return;
  AxesAttributes added{Extents()};
  for (std::int64_t k = 0; k < behind; ++k) added.axes->push_back(r.rank(1) + k);
  r.node.inputs[1] = r.before(Op::Unsqueeze, {r.node.inputs[1]}, added, "placed");
}

/// Max and Min of any number of operands are chains of two; of one operand, any of these is that operand.
void translate_chain(Reading& r) {
  if (r.node.inputs.empty()) r.fail("it has no operand");
  for (std::size_t i = 0; i < r.node.inputs.size(); ++i) (void)r.in(i);
  if (r.node.inputs.size() == 1) {
    r.node.op = Op::Identity;
    return;
  }
  if (r.node.op != Op::Max && r.node.op != Op::Min) return;
  while (r.node.inputs.size() > 2) {
    const ValueId two = r.before(r.node.op, {r.node.inputs[0], r.node.inputs[1]}, NoAttributes{}, "of_two");
    r.node.inputs.erase(r.node.inputs.begin());
    r.node.inputs[0] = two;
  }
}

void translate_mod(Reading& r) {
  const bool fmod = r.flag("fmod");
  if (!fmod && (bit(r.type()) & kReal) != 0) r.fail("Mod of floating-point numbers needs fmod = 1");
  r.node.attributes = ModAttributes{fmod};
}

/// Alpha and beta under the names that the operator has for them.
void translate_activation(Reading& r) {
  ActivationAttributes a;
  switch (r.node.op) {
    case Op::Elu:
    case Op::Celu:
    case Op::ThresholdedRelu:
      a.alpha = r.real("alpha", 1.0F);
      break;
    case Op::LeakyRelu:
      a.alpha = r.real("alpha", 0.01F);
      break;
    case Op::HardSigmoid:
      a.alpha = r.real("alpha", 0.2F);
      a.beta = r.real("beta", 0.5F);
      break;
    case Op::Selu:
      a.alpha = r.real("alpha", r.opset < 6 ? 1.6732F : 1.67326319217681884765625F);
      a.gamma = r.real("gamma", r.opset < 6 ? 1.0507F : 1.05070102214813232421875F);
      break;
    default:  // Shrink
      a.alpha = r.real("lambd", 0.5F);
      a.beta = r.real("bias", 0.0F);
  }
  r.node.attributes = a;
}

/// A slope for each channel stands at axis 1 in opset 6 and before.
void translate_prelu(Reading& r) {
  if (r.opset >= 7 || r.rank(1) != 1 || r.shape(1)[0] == 1 || r.rank(0) < 3) return;
  AxesAttributes added{Extents()};
  for (std::int64_t k = 1; k + 1 < r.rank(0); ++k) added.axes->push_back(k);
  r.node.inputs[1] = r.before(Op::Unsqueeze, {r.node.inputs[1]}, added, "placed");
}

/// Bounds are attributes before opset 11 and become operands.
void translate_clip(Reading& r) {
  if (r.opset >= 11) return;
  const auto bound = [&](const char* name) {
    if (!r.given(name)) return kAbsent;
    const Tensor value(Type::f32, {}, std::vector<float>{r.real(name, 0)});
    const ValueId id = r.constant(value, name);
    return r.type() == Type::f32 ? id : r.before(Op::Cast, {id}, CastAttributes{r.type()}, name);
  };
  r.keep_inputs(1);
  const ValueId low = bound("min"), high = bound("max");
  r.node.inputs.insert(r.node.inputs.end(), {low, high});
}

Inferred infer_clip(const Inference& i) {
  for (std::size_t k = 1; k < 3; ++k) {
    i.same_type(0, k);
    if (i.has(k) && element_count(i.shape(k)) != 1) misfit("a bound is no scalar");
  }
  return infer_same(i);
}

/// In inference the identity, with a mask of ones.
void translate_dropout(Reading& r) {
  if (r.opset < 7 && !r.flag("is_test")) r.refuse("training mode (is_test = 0) draws random numbers");
  if (r.opset >= 12 && r.has(2)) {
    const Extents training = r.operand(2).value();
    if (training.size() != 1) r.fail("training_mode is no scalar");
    if (training[0] != 0) {
      if (r.has(1) && !r.in(1).constant) r.refuse("training mode draws random numbers");
      if (!r.has(1) || r.in(1).constant->elements() != 1 || (bit(r.type(1)) & kReal) == 0 ||
          r.in(1).constant->real(0) != 0.0)
        r.refuse("training mode draws random numbers");
    }
  }
  if (r.opset < 10) r.drop_outputs_from(1);  // a mask of the operand's type, not filled in inference
  r.keep_inputs(1);
}

Inferred infer_dropout(const Inference& i) { return {{i.type(), i.shape()}, {Type::boolean, i.shape()}}; }

void translate_cast(Reading& r) {
  static const std::pair<const char*, Type> kNames[] = {
      {"BOOL", Type::boolean}, {"INT8", Type::i8},   {"UINT8", Type::u8},   {"INT16", Type::i16},
      {"UINT16", Type::u16},   {"INT32", Type::i32}, {"UINT32", Type::u32}, {"INT64", Type::i64},
      {"FLOAT16", Type::f16},  {"FLOAT", Type::f32}, {"DOUBLE", Type::f64}};
  // ONNX's numbers of element types.
  static const std::pair<std::int64_t, Type> kNumbers[] = {
      {1, Type::f32}, {2, Type::u8},      {3, Type::i8},   {4, Type::u16},  {5, Type::i16}, {6, Type::i32},
      {7, Type::i64}, {9, Type::boolean}, {10, Type::f16}, {11, Type::f64}, {12, Type::u32}};
  const auto set = [&](const auto& table, const auto& key) {
    for (const auto& [name, type] : table)
      if (name == key) {
        r.node.attributes = CastAttributes{type};
        return;
      }
    r.refuse(fmt::format("a cast to type {} of ONNX", key));
  };
  if (!r.given("to")) r.fail("Cast without a type");
  if (r.opset < 6)
    set(kNames, r.text("to", ""));
  else
    set(kNumbers, r.integer("to", 0));
}

void translate_cast_like(Reading& r) {
  r.node.op = Op::Cast;
  r.node.attributes = CastAttributes{r.type(1)};
  r.keep_inputs(1);
}

Inferred infer_cast(const Inference& i) { return {{i.attributes<CastAttributes>().to, i.shape()}}; }

void translate_is_inf(Reading& r) {
  r.node.attributes = IsInfAttributes{r.flag("detect_negative", true), r.flag("detect_positive", true)};
}

Inferred infer_broadcast(const Inference& i) { return {{i.type(), i.broadcast_all()}}; }

Inferred infer_binary(const Inference& i) {
  (void)i.in(1);
  return infer_broadcast(i);
}

Inferred infer_comparison(const Inference& i) {
  (void)i.in(1);
  return {{Type::boolean, i.broadcast_all()}};
}

Inferred infer_test(const Inference& i) { return {{Type::boolean, i.shape()}}; }

Inferred infer_pow(const Inference& i) {
  i.expect_type(1, kNumber);
  return {{i.type(), broadcast(i.shape(0), i.shape(1))}};
}

Inferred infer_prelu(const Inference& i) {
  i.same_type(0, 1);
  if (broadcast(i.shape(0), i.shape(1)) != i.shape(0))
    misfit(fmt::format("slope {} does not broadcast to {}", to_string(i.shape(1)), to_string(i.shape(0))));
  return infer_same(i);
}

Inferred infer_where(const Inference& i) {
  (void)i.in(2);
  i.same_type(1, 2);
  i.expect_type(1, kAny);
  return {{i.type(1), broadcast(broadcast(i.shape(0), i.shape(1)), i.shape(2))}};
}

}  // namespace

std::vector<Operator> elementwise_operators() {
  std::vector<Operator> result;
  for (const Op op :
       {Op::Acos,    Op::Acosh, Op::Asin, Op::Asinh,    Op::Atan,      Op::Atanh, Op::Ceil,       Op::Cos,
        Op::Cosh,    Op::Erf,   Op::Exp,  Op::Floor,    Op::HardSwish, Op::Log,   Op::Reciprocal, Op::Round,
        Op::Sigmoid, Op::Sin,   Op::Sinh, Op::Softplus, Op::Softsign,  Op::Sqrt,  Op::Tan,        Op::Tanh})
    result.push_back({op, kReal, translate_nothing, infer_same});
  for (const Op op : {Op::Abs, Op::Neg, Op::Relu, Op::Sign})
    result.push_back({op, kNumber, translate_nothing, infer_same});
  for (const Op op : {Op::Elu, Op::Celu, Op::ThresholdedRelu, Op::LeakyRelu, Op::HardSigmoid, Op::Selu})
    result.push_back({op, kReal, translate_activation, infer_same});
  for (const Op op : {Op::Add, Op::Sub, Op::Mul, Op::Div}) result.push_back({op, kNumber, place_operand, infer_binary});
  for (const Op op : {Op::Max, Op::Min}) result.push_back({op, kNumber, translate_chain, infer_broadcast});
  for (const Op op : {Op::Mean, Op::Sum}) result.push_back({op, kReal, translate_chain, infer_broadcast});
  for (const Op op : {Op::Greater, Op::GreaterOrEqual, Op::Less, Op::LessOrEqual})
    result.push_back({op, kNumber, place_operand, infer_comparison});
  for (const Op op : {Op::And, Op::Or, Op::Xor}) result.push_back({op, kBool, place_operand, infer_comparison});
  const std::vector<Operator> single = {{Op::Cast, kAny, translate_cast, infer_cast},
                                        {Op::CastLike, kAny, translate_cast_like, infer_cast},
                                        {Op::Clip, kNumber, translate_clip, infer_clip},
                                        {Op::Dropout, kReal, translate_dropout, infer_dropout, 1U << 1 | 1U << 2},
                                        {Op::Equal, kAny, place_operand, infer_comparison},
                                        {Op::Identity, kAny, translate_nothing, infer_same},
                                        {Op::IsInf, kReal, translate_is_inf, infer_test},
                                        {Op::IsNaN, kReal, translate_nothing, infer_test},
                                        {Op::Mod, kNumber, translate_mod, infer_binary},
                                        {Op::Not, kBool, translate_nothing, infer_same},
                                        {Op::PRelu, kNumber, translate_prelu, infer_prelu},
                                        {Op::Pow, kNumber, place_operand, infer_pow},
                                        {Op::Shrink, kNumber, translate_activation, infer_same},
                                        {Op::Where, kBool, translate_nothing, infer_where}};
  result.insert(result.end(), single.begin(), single.end());
  return result;
}

}  // namespace tessera::model
