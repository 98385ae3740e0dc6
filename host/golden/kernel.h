// What a function of the reference sees of its node, and the tables of these functions, one a family of operators.
// Internal to host/golden.
#pragma once

#include <utility>
#include <vector>

#include "host/onnx/model.h"

namespace tessera::golden {

/// A node with its operands.
struct Call {
  const model::Model& model;
  const model::Node& node;
  const std::vector<const model::Tensor*>& in;                 ///< null where absent
  std::vector<std::pair<model::Type, model::Shape>> inferred;  ///< of the outputs

  [[nodiscard]] bool has(std::size_t i) const { return i < in.size() && in[i] != nullptr; }
  [[nodiscard]] const model::Tensor& x(std::size_t i = 0) const { return *in.at(i); }
  /// The operand, or null.
  [[nodiscard]] const model::Tensor* find(std::size_t i) const { return has(i) ? in[i] : nullptr; }
  template <typename T>
  [[nodiscard]] const T& attributes() const {
    return std::get<T>(node.attributes);
  }
  [[nodiscard]] model::Type type(std::size_t i = 0) const { return inferred.at(i).first; }
  [[nodiscard]] const model::Shape& shape(std::size_t i = 0) const { return inferred.at(i).second; }
  /// Zeros of the type and shape of output i.
  [[nodiscard]] model::Tensor out(std::size_t i = 0) const { return model::Tensor(type(i), shape(i)); }
};

/// All outputs of the node, also those that it does not name where the operator has them.
using Kernel = std::vector<model::Tensor> (*)(const Call& call);
struct KernelEntry {
  model::Op op;
  Kernel kernel;
};
using Kernels = std::vector<KernelEntry>;

[[nodiscard]] Kernels elementwise_kernels();
[[nodiscard]] Kernels unary_kernels();
[[nodiscard]] Kernels move_kernels();
[[nodiscard]] Kernels index_kernels();
[[nodiscard]] Kernels matrix_kernels();
[[nodiscard]] Kernels conv_kernels();
[[nodiscard]] Kernels pool_kernels();
[[nodiscard]] Kernels norm_kernels();
[[nodiscard]] Kernels loss_kernels();
[[nodiscard]] Kernels reduce_kernels();
[[nodiscard]] Kernels recurrent_kernels();

/// The result of an operator with one output.
[[nodiscard]] inline std::vector<model::Tensor> only(model::Tensor tensor) {
  std::vector<model::Tensor> result;
  result.push_back(std::move(tensor));
  return result;
}

}  // namespace tessera::golden
