#include "host/onnx/work.h"

#include <map>

namespace tessera::model {

namespace {

std::uint64_t product(const Shape& shape) { return static_cast<std::uint64_t>(element_count(shape)); }

/// Extents of all letters of the equation multiplied: each combination is one product.
std::uint64_t einsum_work(const Model& model, const Node& node) {
  const std::string& equation = std::get<EinsumAttributes>(node.attributes).equation;
  std::map<char, std::uint64_t> extents;
  std::size_t operand = 0, axis = 0;
  if (equation.find('.') != std::string::npos || node.inputs.size() != 2) return 0;
  for (const char c : equation) {
    if (c == '-') break;
    if (c == ',') {
      ++operand;
      axis = 0;
    } else if (c != ' ' && operand < node.inputs.size()) {
      const Shape& shape = model.value(node.inputs[operand]).shape;
      if (axis < shape.size()) extents[c] = static_cast<std::uint64_t>(shape[axis++]);
    }
  }
  std::uint64_t work = 1;
  for (const auto& [letter, extent] : extents) work *= extent;
  return work;
}

/// x [steps, batch, inputs] (or [batch, steps, inputs]), W [ways, gates * hidden, inputs], R [ways, gates * hidden,
/// hidden]: both matrices once for each step and row.
std::uint64_t recurrent_work(const Model& model, const Node& node) {
  const Shape& x = model.value(node.inputs.at(0)).shape;
  return static_cast<std::uint64_t>(x.at(0) * x.at(1)) *
         (product(model.value(node.inputs.at(1)).shape) + product(model.value(node.inputs.at(2)).shape));
}

}  // namespace

std::uint64_t multiply_accumulates(const Model& model, const Node& node) {
  const auto shape = [&](std::size_t i) -> const Shape& { return model.value(node.inputs.at(i)).shape; };
  const std::uint64_t results = product(model.value(node.outputs.at(0)).shape);
  switch (node.op) {
    case Op::Conv:  // weights [M, C / group, kernel...]
      return shape(1).at(0) == 0 ? 0 : results * (product(shape(1)) / static_cast<std::uint64_t>(shape(1)[0]));
    case Op::ConvTranspose:  // weights [C, M / group, kernel...]
      return shape(1).at(0) == 0 ? 0
                                 : product(shape(0)) * (product(shape(1)) / static_cast<std::uint64_t>(shape(1)[0]));
    case Op::MatMul:
    case Op::MatMulInteger:
      return results * static_cast<std::uint64_t>(shape(0).back());
    case Op::Gemm: {
      const bool transposed = std::get<GemmAttributes>(node.attributes).transpose_a;
      return results * static_cast<std::uint64_t>(shape(0).at(transposed ? 0 : 1));
    }
    case Op::Einsum:
      return einsum_work(model, node);
    case Op::LSTM:
    case Op::GRU:
    case Op::RNN:
      return recurrent_work(model, node);
    default:
      return 0;
  }
}

std::uint64_t engine_work(const Model& model, const Node& node) {
  if (node.op != Op::LSTM && node.op != Op::GRU && node.op != Op::RNN) return multiply_accumulates(model, node);
  const Shape &x = model.value(node.inputs.at(0)).shape, &w = model.value(node.inputs.at(1)).shape;
  return product(x) * static_cast<std::uint64_t>(w.at(0) * w.at(1));
}

std::uint64_t multiply_accumulates(const Model& model) {
  std::uint64_t sum = 0;
  for (const Node& node : model.nodes) sum += multiply_accumulates(model, node);
  return sum;
}

std::uint64_t floating_operations(const Model& model, const Node& node) {
  if (const std::uint64_t work = multiply_accumulates(model, node); work != 0) return 2 * work;
  if (node.outputs.empty() || node.outputs[0] == kAbsent) return 0;
  const Value& result = model.value(node.outputs[0]);
  if (result.type != Type::f16 && result.type != Type::f32) return 0;
  const std::uint64_t elements = product(result.shape);
  switch (node.op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::Relu:
    case Op::LeakyRelu:
    case Op::Clip:
    case Op::Max:
    case Op::Min:
    case Op::Neg:
    case Op::Abs:
    case Op::Sqrt:
    case Op::Exp:
    case Op::Erf:
    case Op::Tanh:
    case Op::Sigmoid:
      return elements;
    case Op::BatchNormalization:
      return 2 * elements;
    case Op::MaxPool:
    case Op::AveragePool:
      return elements * product(std::get<PoolAttributes>(node.attributes).kernel);
    case Op::GlobalAveragePool:
    case Op::GlobalMaxPool:
    case Op::ReduceSum:
    case Op::ReduceMean:
    case Op::ReduceMax:
      return product(model.value(node.inputs.at(0)).shape);
    default:
      return 0;
  }
}

std::string work_class(const Model& model, const Node& node) {
  switch (node.op) {
    case Op::Conv:
    case Op::ConvTranspose: {
      const auto& attributes = std::get<ConvAttributes>(node.attributes);
      std::string text;
      for (const auto extent : attributes.kernel) text += (text.empty() ? "" : "x") + std::to_string(extent);
      text += node.op == Op::Conv ? " convolution" : " transposed convolution";
      if (attributes.group > 1) {
        const bool depthwise = model.value(node.inputs.at(0)).shape.at(1) == attributes.group;
        text += depthwise ? ", depthwise" : ", " + std::to_string(attributes.group) + " groups";
      }
      return text;
    }
    case Op::MatMul:
    case Op::MatMulInteger:
    case Op::Gemm:
    case Op::Einsum:
      return "matrix product";
    case Op::LSTM:
    case Op::GRU:
    case Op::RNN:
      return "recurrence";
    default:
      return std::string(name_of(node.op));
  }
}

}  // namespace tessera::model
