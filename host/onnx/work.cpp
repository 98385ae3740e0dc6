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

std::uint64_t multiply_accumulates(const Model& model) {
  std::uint64_t sum = 0;
  for (const Node& node : model.nodes) sum += multiply_accumulates(model, node);
  return sum;
}

}  // namespace tessera::model
