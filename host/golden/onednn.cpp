#include "host/golden/onednn.h"

#include <algorithm>

#include "host/golden/numbers.h"
#include "host/golden/onednn_memory.h"

namespace tessera::golden::onednn {

using model::Op;
using model::Shape;
using model::Tensor;

namespace {

/// Both operands to one rank, missing axes 1; strides as given, 0 never needed since oneDNN broadcasts extent 1.
Tensor product(const Tensor& a, const Tensor& b, Dims da, Dims sa, Dims db, Dims sb, const Shape& shape, Dims dr) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  Tensor result(model::Type::f32, shape);
  const Operand left(engine, a, da, sa), right(engine, b, db, sb), out(engine, result, dr, dense(dr));
  const dnnl::matmul::primitive_desc primitive(dnnl::matmul::desc(left.desc, right.desc, out.desc), engine);
  execute(engine, dnnl::matmul(primitive),
          {{DNNL_ARG_SRC, left.memory}, {DNNL_ARG_WEIGHTS, right.memory}, {DNNL_ARG_DST, out.memory}});
  return result;
}

Tensor matmul(const Tensor& a, const Tensor& b, const Shape& shape) {
  Dims da = a.shape, db = b.shape, dr = shape;
  if (db.size() == 1) {
    db.push_back(1);
    dr.push_back(1);
  }
  if (da.size() == 1) {
    da.insert(da.begin(), 1);
    dr.insert(dr.end() - 1, 1);
  }
  while (da.size() < dr.size()) da.insert(da.begin(), 1);
  while (db.size() < dr.size()) db.insert(db.begin(), 1);
  return product(a, b, da, dense(da), db, dense(db), shape, dr);
}

/// The product by oneDNN; scaling and C by its binary primitive would add nothing: done in f32 here.
Tensor gemm(const model::GemmAttributes& g, const Tensor& a, const Tensor& b, const Tensor* c, const Shape& shape) {
  const std::int64_t k = a.shape[g.transpose_a ? 0 : 1];
  Tensor result = product(a, b, {shape[0], k}, g.transpose_a ? Dims{1, shape[0]} : Dims{k, 1}, {k, shape[1]},
                          g.transpose_b ? Dims{1, k} : Dims{shape[1], 1}, shape, shape);
  const auto from =
      c == nullptr ? std::vector<std::int64_t>() : gather_indices(shape, broadcast_strides(c->shape, shape));
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    const float added = c == nullptr ? 0.0F : g.beta * c->at<float>(from[static_cast<std::size_t>(i)]);
    result.set(i, g.alpha * result.at<float>(i) + added);
  }
  return result;
}

Tensor softmax(bool log, const Tensor& x, std::int64_t axis) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  Tensor result(model::Type::f32, x.shape);
  const Operand in(engine, x, x.shape, dense(x.shape)), out(engine, result, x.shape, dense(x.shape));
  const std::unordered_map<int, dnnl::memory> arguments = {{DNNL_ARG_SRC, in.memory}, {DNNL_ARG_DST, out.memory}};
  const auto kind = dnnl::prop_kind::forward_inference;
  if (log) {
    const dnnl::logsoftmax_forward::desc desc(kind, in.desc, static_cast<int>(axis));
    execute(engine, dnnl::logsoftmax_forward({desc, engine}), arguments);
  } else {
    const dnnl::softmax_forward::desc desc(kind, in.desc, static_cast<int>(axis));
    execute(engine, dnnl::softmax_forward({desc, engine}), arguments);
  }
  return result;
}

Tensor elementwise(dnnl::algorithm algorithm, const Tensor& x) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  Tensor result(model::Type::f32, x.shape);
  const Dims dims = {x.elements()};
  const Operand in(engine, x, dims, {1}), out(engine, result, dims, {1});
  const dnnl::eltwise_forward::desc desc(dnnl::prop_kind::forward_inference, algorithm, in.desc, 0.0F, 0.0F);
  execute(engine, dnnl::eltwise_forward({desc, engine}), {{DNNL_ARG_SRC, in.memory}, {DNNL_ARG_DST, out.memory}});
  return result;
}

std::optional<dnnl::algorithm> algorithm_of(Op op) {
  switch (op) {
    case Op::Abs:
      return dnnl::algorithm::eltwise_abs;
    case Op::Exp:
      return dnnl::algorithm::eltwise_exp;
    case Op::Log:
      return dnnl::algorithm::eltwise_log;
    case Op::Relu:
      return dnnl::algorithm::eltwise_relu;
    case Op::Sigmoid:
      return dnnl::algorithm::eltwise_logistic;
    case Op::Sqrt:
      return dnnl::algorithm::eltwise_sqrt;
    case Op::Tanh:
      return dnnl::algorithm::eltwise_tanh;
    default:
      return std::nullopt;
  }
}

std::optional<Tensor> evaluate_f32(const model::Node& node, const std::vector<const Tensor*>& inputs,
                                   const Shape& shape) {
  const Tensor& x = *inputs[0];
  if (const auto algorithm = algorithm_of(node.op)) return elementwise(*algorithm, x);
  if (node.op == Op::MatMul && !shape.empty()) return matmul(x, *inputs[1], shape);
  if (node.op == Op::Gemm)
    return gemm(std::get<model::GemmAttributes>(node.attributes), x, *inputs[1],
                inputs.size() > 2 ? inputs[2] : nullptr, shape);
  if (node.op == Op::Softmax || node.op == Op::LogSoftmax)
    return softmax(node.op == Op::LogSoftmax, x, std::get<model::AxisAttributes>(node.attributes).axis);
  return network_operator(node, inputs, shape);
}

}  // namespace

std::optional<Tensor> evaluate(const model::Node& node, const std::vector<const Tensor*>& inputs, const Shape& shape) {
  if (model::element_count(shape) == 0 || shape.size() > 6 || inputs.empty() || inputs[0] == nullptr)
    return std::nullopt;
  const model::Type type = inputs[0]->type;
  for (const Tensor* input : inputs)
    if (input != nullptr && (input->type != type || input->elements() == 0)) return std::nullopt;
  if (type == model::Type::f32) return evaluate_f32(node, inputs, shape);
  if (type != model::Type::f16) return std::nullopt;
  std::vector<Tensor> wide(inputs.size());
  std::vector<const Tensor*> operands = inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    wide[i] = rounded(model::Type::f32, inputs[i]->shape, reals(*inputs[i]));
    operands[i] = &wide[i];
  }
  const std::optional<Tensor> result = evaluate_f32(node, operands, shape);
  if (!result) return std::nullopt;
  return rounded(type, shape, reals(*result));
}

}  // namespace tessera::golden::onednn
