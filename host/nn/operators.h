// Lowering of operators that compute. Views of operands come in, the view of the result goes out; steps and vertices
// are appended to the builder. Internal to host/nn.
#pragma once

#include "host/nn/builder.h"
#include "host/nn/matmul_plan.h"

namespace tessera::nn {

/// An operand: a view, or a constant of the model that has no place yet.
struct Operand {
  graph::Tensor view;  ///< valid unless constant
  const model::Tensor* constant = nullptr;
  [[nodiscard]] bool is_constant() const { return constant != nullptr; }
  [[nodiscard]] std::uint64_t elements() const {
    return is_constant() ? static_cast<std::uint64_t>(constant->elements()) : view.elements();
  }
};

/// Codelet of a unary operator; empty if there is none.
[[nodiscard]] std::string unary_codelet(model::Op op, model::Type type);
[[nodiscard]] std::string cast_codelet(model::Type from, model::Type to);
/// Stem of the codelets of a binary operator ("Add_f32"); empty if there is none.
[[nodiscard]] std::string binary_codelet(model::Op op, model::Type type);

/// y[i] = f(x[i]).
[[nodiscard]] graph::Tensor lower_unary(Builder& builder, const std::string& codelet, const graph::Tensor& x,
                                        graph::Type type, const std::string& name);
/// y[i] = f(a[i], b[i]), operands broadcast to `shape`; not both constant.
[[nodiscard]] graph::Tensor lower_binary(Builder& builder, const std::string& codelet, const Operand& a,
                                         const Operand& b, const graph::Shape& shape, graph::Type type,
                                         const std::string& name);
/// Softmax_f32 or LogSoftmax_f32 over an axis.
[[nodiscard]] graph::Tensor lower_softmax(Builder& builder, const std::string& codelet, const graph::Tensor& x,
                                          std::size_t axis, const std::string& name);

struct MatmulOperands {
  graph::Tensor a;              ///< [m, k]
  Operand b;                    ///< [k, n]
  std::optional<Operand> bias;  ///< [n]
};
struct MatmulLimits {
  std::uint64_t tile_bytes = 0, weight_bytes = 0;  ///< as MatmulTask: what the plan aims at
  std::uint64_t sram_bytes = 0;                    ///< what is there: beyond it the product is refused
};
/// a x b + bias for every element of a list of products of one shape, each on its own share of the tiles. Returns the
/// results in order; note gets the plan's text.
[[nodiscard]] std::vector<graph::Tensor> lower_matmuls(Builder& builder, const std::vector<MatmulOperands>& products,
                                                       const MatmulLimits& limits, const std::string& name,
                                                       std::string& note);

}  // namespace tessera::nn
