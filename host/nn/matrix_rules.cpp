// MatMul and Gemm on f32: products in the planner's blocks (matmul.cpp, matmul_plan.h).
#include <algorithm>

#include "host/nn/lowering.h"
#include "hw/error.h"

namespace tessera::nn {

using graph::Tensor;
using model::Model;
using model::Node;
using model::Op;
using model::Value;

namespace {

constexpr double kDataShare = 0.6;  // of a tile's memory: the rest is code, tables, lists, stacks
constexpr double kMostShare = 0.9;  // what one product may at most take

class Products {
 public:
  explicit Products(Lowering& lowering) : lowering_(lowering), builder_(lowering.builder()) {}

  /// Each constant operand may take a tile's memory in proportion to its size, and always its share of one copy.
  [[nodiscard]] MatmulLimits limits(const Node& node) const {
    const double budget = lowering_.options().sram_bytes * kDataShare / 2;
    const auto own = static_cast<double>(weight_bytes(lowering_.model(), node));
    const double share =
        lowering_.all_weight_bytes() == 0 ? 0 : budget * own / static_cast<double>(lowering_.all_weight_bytes());
    const double weights = std::max(share, 1.25 * own / lowering_.options().tiles + 256);
    const double most = std::min(budget + weights, lowering_.options().sram_bytes * kMostShare);
    return {static_cast<std::uint64_t>(most), static_cast<std::uint64_t>(weights), lowering_.options().sram_bytes};
  }

  std::vector<Tensor> products(const Node& node, const std::vector<MatmulOperands>& list) {
    std::string note;
    auto results = lower_matmuls(builder_, list, limits(node), node.name, note);
    lowering_.notes().push_back({node.name, note});
    return results;
  }

  Tensor zeros(const graph::Shape& shape, const std::string& name) {
    const model::Shape extents(shape.begin(), shape.end());
    if (graph::element_count(shape) == 0) return builder_.linear(graph::Type::f32, shape, name);
    return builder_.linear_constant(model::Tensor(model::Type::f32, extents), name);
  }

  Tensor matmul(const Node& node, const graph::Shape& shape) {
    Tensor a = lowering_.materialised(node.inputs[0]);
    if (a.rank() == 1) a = a.reshape({1, a.dim(0)});
    Operand b = lowering_.operand(node.inputs[1]);
    graph::Shape b_shape = shape_of(lowering_.in(node, 1).shape);
    if (b_shape.size() == 1) b_shape.push_back(1);
    const std::uint64_t m = a.dim(a.rank() - 2), k = a.shape().back(), n = b_shape.back();
    if (k == 0 || graph::element_count(shape) == 0) return zeros(shape, node.name);
    if (b_shape.size() == 2) {
      if (b.is_constant())
        b.constant =
            lowering_.keep(reshaped(*b.constant, {static_cast<std::int64_t>(k), static_cast<std::int64_t>(n)}));
      else
        b.view = b.view.reshape({k, n});
      return products(node, {{a.reshape({a.elements() / k, k}), b, {}}})[0].reshape(shape);
    }
    const model::Shape outer = model::broadcast(outer_shape(a.shape()), outer_shape(b_shape));
    const auto planes = static_cast<std::uint64_t>(model::element_count(outer));
    graph::Shape wide_a = shape_of(outer), wide_b = shape_of(outer);
    wide_a.insert(wide_a.end(), {m, k});
    wide_b.insert(wide_b.end(), {k, n});
    const Tensor all_a = a.broadcast_to(wide_a).reshape({planes, m, k});
    const Tensor all_b =
        lowering_.materialised(node.inputs[1]).reshape(b_shape).broadcast_to(wide_b).reshape({planes, k, n});
    std::vector<MatmulOperands> list;
    for (std::uint64_t p = 0; p < planes; ++p) list.push_back({all_a[p], {all_b[p], nullptr}, {}});
    const auto results = products(node, list);
    std::vector<Tensor> stacked;
    for (const Tensor& result : results) stacked.push_back(result.expand(0));
    return Tensor::concat(stacked, 0).reshape(shape);
  }

  static model::Tensor scalar(float value) { return model::Tensor(model::Type::f32, {}, std::vector<float>{value}); }
  static model::Shape outer_shape(const graph::Shape& shape) { return {shape.begin(), shape.end() - 2}; }
  static model::Tensor reshaped(model::Tensor tensor, model::Shape shape) {
    tensor.shape = std::move(shape);
    return tensor;
  }

  /// alpha op(B) of a constant, row-major [k, n].
  static model::Tensor scaled(const model::Tensor& b, bool transposed, float alpha) {
    const std::int64_t k = b.shape[transposed ? 1 : 0], n = b.shape[transposed ? 0 : 1];
    model::Tensor result(model::Type::f32, {k, n});
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        result.set(i * n + j, alpha * b.at<float>(transposed ? j * k + i : i * n + j));
    return result;
  }

  Tensor gemm(const Node& node, const graph::Shape& shape) {
    const auto& g = std::get<model::GemmAttributes>(node.attributes);
    if (graph::element_count(shape) == 0) return builder_.linear(graph::Type::f32, shape, node.name);
    MatmulOperands product;
    product.a = lowering_.materialised(node.inputs[0]);
    if (g.transpose_a) product.a = product.a.transpose();
    product.b = lowering_.operand(node.inputs[1]);
    float alpha = g.alpha;
    if (product.b.is_constant()) {
      product.b.constant = lowering_.keep(scaled(*product.b.constant, g.transpose_b, alpha));
      alpha = 1.0F;
    } else if (g.transpose_b) {
      product.b.view = product.b.view.transpose();
    }
    bool added = !Lowering::has(node, 2) || g.beta == 0.0F;
    if (!added && alpha == 1.0F) {
      product.bias = bias(node, g.beta, shape[1]);
      added = product.bias.has_value() && product.a.dim(1) > 0;
    }
    Tensor result = product.a.dim(1) == 0 ? zeros(shape, node.name) : products(node, {product})[0];
    if (alpha != 1.0F)
      result = lower_binary(builder_, "Mul_f32", {result, nullptr}, {{}, lowering_.keep(scalar(alpha))}, shape,
                            graph::Type::f32, node.name);
    if (!added) result = add_c(node, g.beta, result);
    return result;
  }

  /// C as a row that the product starts from, if it is one.
  std::optional<Operand> bias(const Node& node, float beta, std::uint64_t n) {
    const Value& c = lowering_.in(node, 2);
    const bool row = c.shape.size() < 2 || c.shape[0] == 1;
    if (!row) return std::nullopt;
    const Operand given = lowering_.operand(node.inputs[2]);
    if (!given.is_constant()) {
      if (beta != 1.0F) return std::nullopt;
      return Operand{given.view.broadcast_to({1, n}).reshape({n}), nullptr};
    }
    model::Tensor values(model::Type::f32, {static_cast<std::int64_t>(n)});
    for (std::int64_t i = 0; i < values.elements(); ++i)
      values.set(i, beta * given.constant->at<float>(given.elements() == 1 ? 0 : i));
    return Operand{{}, lowering_.keep(std::move(values))};
  }

  Tensor add_c(const Node& node, float beta, const Tensor& product) {
    Operand c = lowering_.operand(node.inputs[2]);
    if (beta != 1.0F && c.is_constant()) {
      model::Tensor values = *c.constant;
      for (std::int64_t i = 0; i < values.elements(); ++i) values.set(i, beta * values.at<float>(i));
      c.constant = lowering_.keep(std::move(values));
    } else if (beta != 1.0F) {
      c.view = lower_binary(builder_, "Mul_f32", c, {{}, lowering_.keep(scalar(beta))}, c.view.shape(),
                            graph::Type::f32, node.name);
    }
    return lower_binary(builder_, "Add_f32", {product, nullptr}, c, product.shape(), graph::Type::f32, node.name);
  }

  Lowering& lowering_;
  Builder& builder_;
};

std::string only_f32(const Model& model, const Node& node) {
  const model::Type type = model.value(node.outputs.at(0)).type;
  return type == model::Type::f32 ? "" : "no codelet for " + std::string(name_of(type)) + ", use f32";
}

void lower_matmul(Lowering& lowering, const Node& node) {
  lowering.view(node.outputs[0]) = Products(lowering).matmul(node, shape_of(lowering.out(node).shape));
}

void lower_gemm(Lowering& lowering, const Node& node) {
  lowering.view(node.outputs[0]) = Products(lowering).gemm(node, shape_of(lowering.out(node).shape));
}

}  // namespace

std::vector<Rule> matrix_rules() { return {{Op::MatMul, lower_matmul, only_f32}, {Op::Gemm, lower_gemm, only_f32}}; }

}  // namespace tessera::nn
