// Lowering of operators that compute. Views of operands come in, the view of the result goes out; steps and vertices
// are appended to the builder. Internal to host/nn.
#pragma once

#include <string>
#include <vector>

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

/// "f32", "bool", ... as codelets are named.
[[nodiscard]] std::string type_suffix(graph::Type type);

/// A Map codelet (firmware/codelets/map.h) and what it is given.
struct MapCall {
  std::string codelet;
  std::vector<std::string> operands;  ///< fields
  std::vector<std::uint32_t> values;  ///< alpha, beta, gamma of a codelet of one operand, or none
  [[nodiscard]] std::vector<std::string> values_names() const;
};
/// y[i] = f(operands[i] ...), each broadcast to `shape`. The result has the layout of the first operand of that shape.
[[nodiscard]] graph::Tensor lower_map(Builder& builder, const MapCall& call, const std::vector<Operand>& operands,
                                      const graph::Shape& shape, graph::Type type, const std::string& name);
/// y[i] = f(x[i]).
[[nodiscard]] graph::Tensor lower_unary(Builder& builder, const std::string& codelet, const graph::Tensor& x,
                                        graph::Type type, const std::string& name);
[[nodiscard]] graph::Tensor lower_unary_with(Builder& builder, const std::string& codelet, const graph::Tensor& x,
                                             graph::Type type, float alpha, float beta, float gamma,
                                             const std::string& name);
/// y[i] = f(a[i], b[i]).
[[nodiscard]] graph::Tensor lower_binary(Builder& builder, const std::string& codelet, const Operand& a,
                                         const Operand& b, const graph::Shape& shape, graph::Type type,
                                         const std::string& name);
[[nodiscard]] graph::Tensor lower_cast(Builder& builder, const graph::Tensor& x, graph::Type to,
                                       const std::string& name);

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
