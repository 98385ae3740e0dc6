// MatMul, Gemm and MatMulInteger: on the AMP unit (amp_matmul.h), or, where that is faster for f32 and for integers, as
// chains of multiply-adds in the planner's blocks (matmul.cpp, matmul_plan.h).
#include <algorithm>

#include "host/nn/amp_matmul.h"
#include "host/nn/amp_rules.h"
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
  Products(Lowering& lowering, const Node& node, const Fused* fused)
      : lowering_(lowering), builder_(lowering.builder()), fused_(fused), type_(type_of(lowering.out(node).type)) {}

  /// Each constant operand may take a tile's memory in proportion to its size, and always its share of one copy.
  [[nodiscard]] MatmulLimits limits(const Node& node) const {
    const double budget = lowering_.options().sram_bytes * kDataShare / 2;
    const auto own = static_cast<double>(weight_bytes(lowering_.model(), node));
    const double share =
        lowering_.all_weight_bytes() == 0 ? 0 : budget * own / static_cast<double>(lowering_.all_weight_bytes());
    const double weights = std::max(share, 1.25 * own / lowering_.options().tiles + 256);
    const double most = std::min(budget + weights, lowering_.options().sram_bytes * kMostShare);
    return {static_cast<std::uint64_t>(most), static_cast<std::uint64_t>(weights), lowering_.refused_bytes()};
  }

  std::vector<Tensor> products(const Node& node, const std::vector<MatmulOperands>& list) {
    std::string note;
    std::vector<MatmulOperands> given = list;
    if (type_ == graph::Type::u32)  // the same bits
      for (MatmulOperands& one : given) {
        one.a = one.a.reinterpret(graph::Type::i32);
        if (!one.b.is_constant()) one.b.view = one.b.view.reinterpret(graph::Type::i32);
      }
    auto results = lower_matmuls(builder_, given, limits(node), node.name, note);
    for (Tensor& result : results)
      if (type_ == graph::Type::u32) result = result.reinterpret(graph::Type::u32);
    lowering_.notes().push_back({node.name, note});
    return results;
  }

  /// One product [.., m, k] x [k, n] by the faster way.
  Tensor product(const Node& node, const MatmulOperands& operands, const graph::Shape& shape) {
    if (on_amp(node, operands, 1)) {
      AmpMatmul given;
      given.a = operands.a;
      given.b = operands.b;
      given.shape = operands.a.shape();
      given.shape.back() = operands.b.is_constant() ? static_cast<std::uint64_t>(operands.b.constant->shape.back())
                                                    : operands.b.view.dim(1);
      given.fused = fused_;
      if (operands.bias) {
        const model::Tensor& bias = *operands.bias->constant;
        for (std::int64_t i = 0; i < bias.elements(); ++i) given.bias.push_back(static_cast<float>(bias.real(i)));
      }
      const Tensor result = lower_amp_matmul(lowering_, node, given);
      return result.shape() == shape ? result : result.reshape(shape);
    }
    MatmulOperands flat = operands;
    flat.a = flat.a.reshape({flat.a.elements() / flat.a.shape().back(), flat.a.shape().back()});
    return products(node, {flat})[0].reshape(shape);
  }

  [[nodiscard]] bool whole_numbers() const { return type_ == graph::Type::i32 || type_ == graph::Type::u32; }

  /// f16 always; f32 if its plan takes fewer cycles. A computed bias is the other way's.
  bool on_amp(const Node& node, const MatmulOperands& operands, std::uint64_t planes) {
    if (type_ == graph::Type::f16) return true;
    if (whole_numbers()) return false;
    if (operands.bias && !operands.bias->is_constant()) return false;
    const auto k = static_cast<std::int64_t>(operands.a.shape().back());
    const auto m = static_cast<std::int64_t>(operands.a.elements()) / k / static_cast<std::int64_t>(planes);
    const Operand& b = operands.b;
    const auto n = b.is_constant() ? b.constant->shape.back() : static_cast<std::int64_t>(b.view.shape().back());
    const AmpPlan amp =
        plan_amp(amp_matmul_task(lowering_, type_, static_cast<std::int64_t>(planes), m, k, n, b.is_constant()));
    MatmulTask task;
    task.m = m, task.k = k, task.n = n;
    task.tiles = std::max(1U, builder_.tiles() / static_cast<unsigned>(planes));
    const MatmulLimits most = limits(node);
    task.tile_bytes = most.tile_bytes, task.weight_bytes = most.weight_bytes;
    task.constant_b = b.is_constant();
    task.rows_in_place = planes == 1;
    task.integers = type_ == graph::Type::i32;
    return amp.fits && amp.cycles() < plan_matmul(task).cycles();
  }

  Tensor zeros(const graph::Shape& shape, const std::string& name) {
    const model::Shape extents(shape.begin(), shape.end());
    if (graph::element_count(shape) == 0) return builder_.linear(type_, shape, name);
    return builder_.linear_constant(model::Tensor(model_type(), extents), name);
  }

  Tensor matmul(const Node& node, const graph::Shape& shape) {
    return matmul(node, lowering_.materialised(node.inputs[0]), lowering_.operand(node.inputs[1]), shape);
  }

  /// Bytes become words minus their zero points, then it is a product of i32.
  Tensor matmul_integer(const Node& node, const graph::Shape& shape) {
    Tensor a = lower_cast(builder_, lowering_.materialised(node.inputs[0]), graph::Type::i32, node.name + " a");
    if (Lowering::has(node, 2)) {
      Tensor zero =
          lower_cast(builder_, lowering_.materialised(node.inputs[2]), graph::Type::i32, node.name + " a zero");
      if (zero.rank() == 1 && zero.dim(0) != 1) zero = zero.expand(1);
      a = lower_binary(builder_, "MapSub_i32", {a, nullptr}, {zero, nullptr}, a.shape(), graph::Type::i32, node.name);
    }
    const Operand given = lowering_.operand(node.inputs[1]);
    const bool zero_known = !Lowering::has(node, 3) || lowering_.in(node, 3).constant.has_value();
    if (given.is_constant() && zero_known) {
      model::Tensor wide(model::Type::i32, given.constant->shape);
      const std::int64_t columns = std::max<std::int64_t>(1, wide.shape.back()), rows = inner_rows(wide.shape);
      for (std::int64_t i = 0; i < wide.elements(); ++i) {
        std::int64_t zero = 0;
        if (Lowering::has(node, 3)) {
          const model::Tensor& zeros = *lowering_.in(node, 3).constant;
          // One, one a column, or one a column of every plane.
          const std::int64_t at = zeros.elements() == 1 ? 0 : i / (rows * columns) * columns + i % columns;
          zero = zeros.integer(zeros.elements() == 1 ? 0 : at % zeros.elements());
        }
        wide.set(i, static_cast<std::int32_t>(given.constant->integer(i) - zero));
      }
      return matmul(node, a, {{}, lowering_.keep(std::move(wide))}, shape);
    }
    Tensor b = lower_cast(builder_, lowering_.materialised(node.inputs[1]), graph::Type::i32, node.name + " b");
    if (Lowering::has(node, 3)) {
      const Tensor zero =
          lower_cast(builder_, lowering_.materialised(node.inputs[3]), graph::Type::i32, node.name + " b zero");
      b = lower_binary(builder_, "MapSub_i32", {b, nullptr}, {zero, nullptr}, b.shape(), graph::Type::i32, node.name);
    }
    return matmul(node, a, {b, nullptr}, shape);
  }
  static std::int64_t inner_rows(const model::Shape& shape) {
    return shape.size() < 2 ? 1 : std::max<std::int64_t>(1, shape[shape.size() - 2]);
  }

  Tensor matmul(const Node& node, Tensor a, Operand b, const graph::Shape& shape) {
    if (a.rank() == 1) a = a.reshape({1, a.dim(0)});
    graph::Shape b_shape = shape_of(lowering_.in(node, 1).shape);  // that of b
    if (b_shape.size() == 1) b_shape.push_back(1);
    const std::uint64_t m = a.dim(a.rank() - 2), k = a.shape().back(), n = b_shape.back();
    if (k == 0 || graph::element_count(shape) == 0) return zeros(shape, node.name);
    if (b_shape.size() == 2) {
      if (b.is_constant())
        b.constant =
            lowering_.keep(reshaped(*b.constant, {static_cast<std::int64_t>(k), static_cast<std::int64_t>(n)}));
      else
        b.view = b.view.reshape({k, n});
      return product(node, {a, b, {}}, shape);
    }
    const model::Shape outer = model::broadcast(outer_shape(a.shape()), outer_shape(b_shape));
    const auto planes = static_cast<std::uint64_t>(model::element_count(outer));
    graph::Shape wide_a = shape_of(outer), wide_b = shape_of(outer);
    wide_a.insert(wide_a.end(), {m, k});
    wide_b.insert(wide_b.end(), {k, n});
    const Tensor all_a = a.broadcast_to(wide_a).reshape({planes, m, k});
    const Tensor all_b = placed(b, node.name).reshape(b_shape).broadcast_to(wide_b).reshape({planes, k, n});
    if (on_amp(node, {all_a, {all_b, nullptr}, {}}, planes)) {
      AmpMatmul given;
      given.a = all_a;
      given.b = {all_b, nullptr};
      given.batched = true;
      given.shape = shape_of(outer);
      given.shape.insert(given.shape.end(), {m, n});
      const Tensor result = lower_amp_matmul(lowering_, node, given);
      return result.shape() == shape ? result : result.reshape(shape);
    }
    std::vector<MatmulOperands> list;
    for (std::uint64_t p = 0; p < planes; ++p) list.push_back({all_a[p], {all_b[p], nullptr}, {}});
    const auto results = products(node, list);
    std::vector<Tensor> stacked;
    for (const Tensor& result : results) stacked.push_back(result.expand(0));
    return Tensor::concat(stacked, 0).reshape(shape);
  }

  Tensor placed(const Operand& operand, const std::string& name) {
    return operand.is_constant() ? builder_.linear_constant(*operand.constant, name + " b") : operand.view;
  }

  [[nodiscard]] model::Tensor scalar(float value) const {
    model::Tensor result(model_type(), {});
    store(result, 0, value);
    return result;
  }
  [[nodiscard]] model::Type model_type() const {
    switch (type_) {
      case graph::Type::f16:
        return model::Type::f16;
      case graph::Type::i32:
        return model::Type::i32;
      case graph::Type::u32:
        return model::Type::u32;
      default:
        return model::Type::f32;
    }
  }
  static void store(model::Tensor& tensor, std::int64_t i, float value) {
    if (tensor.type == model::Type::f16)
      tensor.set(i, model::to_half(value));
    else
      tensor.set(i, value);
  }
  static model::Shape outer_shape(const graph::Shape& shape) { return {shape.begin(), shape.end() - 2}; }
  static model::Tensor reshaped(model::Tensor tensor, model::Shape shape) {
    tensor.shape = std::move(shape);
    return tensor;
  }

  /// alpha op(B) of a constant, row-major [k, n].
  model::Tensor scaled(const model::Tensor& b, bool transposed, float alpha) {
    const std::int64_t k = b.shape[transposed ? 1 : 0], n = b.shape[transposed ? 0 : 1];
    if (whole_numbers()) {  // alpha is 1
      model::Tensor result(model_type(), {k, n});
      for (std::int64_t i = 0; i < k * n; ++i)
        result.set(i, static_cast<std::int32_t>(b.integer(transposed ? i % n * k + i / n : i)));
      return result;
    }
    model::Tensor result(model::Type::f32, {k, n});  // f32 of f16 too: rounded once, where it is placed
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        result.set(i * n + j, alpha * static_cast<float>(b.real(transposed ? j * k + i : i * n + j)));
    return result;
  }

  Tensor gemm(const Node& node, const graph::Shape& shape) {
    const auto& g = std::get<model::GemmAttributes>(node.attributes);
    if (graph::element_count(shape) == 0) return builder_.linear(type_, shape, node.name);
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
    if (!added && alpha == 1.0F && !whole_numbers()) {
      product.bias = bias(node, g.beta, shape[1]);
      added = product.bias.has_value() && product.a.dim(1) > 0;
    }
    Tensor result = product.a.dim(1) == 0 ? zeros(shape, node.name) : this->product(node, product, shape);
    if (alpha != 1.0F)
      result = lower_binary(builder_, "MapMul_" + type_suffix(type_), {result, nullptr},
                            {{}, lowering_.keep(scalar(alpha))}, shape, type_, node.name);
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
      if (beta != 1.0F || type_ == graph::Type::f16) return std::nullopt;
      return Operand{given.view.broadcast_to({1, n}).reshape({n}), nullptr};
    }
    model::Tensor values(model::Type::f32, {static_cast<std::int64_t>(n)});
    for (std::int64_t i = 0; i < values.elements(); ++i)
      values.set(i, beta * static_cast<float>(given.constant->real(given.elements() == 1 ? 0 : i)));
    return Operand{{}, lowering_.keep(std::move(values))};
  }

  Tensor add_c(const Node& node, float beta, const Tensor& product) {
    Operand c = lowering_.operand(node.inputs[2]);
    if (beta != 1.0F && c.is_constant()) {
      model::Tensor values = *c.constant;
      for (std::int64_t i = 0; i < values.elements(); ++i) store(values, i, beta * static_cast<float>(values.real(i)));
      c.constant = lowering_.keep(std::move(values));
    } else if (beta != 1.0F) {
      c.view = lower_binary(builder_, "MapMul_" + type_suffix(type_), c, {{}, lowering_.keep(scalar(beta))},
                            c.view.shape(), type_, node.name);
    }
    return lower_binary(builder_, "MapAdd_" + type_suffix(type_), {product, nullptr}, c, product.shape(), type_,
                        node.name);
  }

  Lowering& lowering_;
  Builder& builder_;
  const Fused* fused_;
  graph::Type type_;
};

std::string only_float(const Model& model, const Node& node) {
  const model::Type type = model.value(node.outputs.at(0)).type;
  return type == model::Type::f32 || type == model::Type::f16
             ? ""
             : "no codelet for " + std::string(name_of(type)) + ", use f32";
}

std::string refuse_matmul(const Model& model, const Node& node) {
  const model::Type type = model.value(node.outputs.at(0)).type;
  return type == model::Type::i32 || type == model::Type::u32 ? "" : only_float(model, node);
}

std::string refuse_gemm(const Model& model, const Node& node) {
  const std::string reason = refuse_matmul(model, node);
  const auto& g = std::get<model::GemmAttributes>(node.attributes);
  if (!reason.empty() || only_float(model, node).empty()) return reason;
  return g.alpha == 1.0F && (g.beta == 1.0F || g.beta == 0.0F || !Lowering::has(node, 2))
             ? ""
             : "integers are not scaled, use an alpha and beta of 1";
}

void lower_matmul(Lowering& lowering, const Node& node) { lower_matmul_with(lowering, node, nullptr); }

void lower_gemm(Lowering& lowering, const Node& node) {
  lowering.view(node.outputs[0]) = Products(lowering, node, nullptr).gemm(node, shape_of(lowering.out(node).shape));
}

void lower_matmul_integer(Lowering& lowering, const Node& node) {
  lowering.view(node.outputs[0]) =
      Products(lowering, node, nullptr).matmul_integer(node, shape_of(lowering.out(node).shape));
}

}  // namespace

void lower_matmul_with(Lowering& lowering, const Node& node, const Fused* fused) {
  const model::ValueId result = fused != nullptr ? lowering.model().nodes[fused->last].outputs[0] : node.outputs[0];
  lowering.view(result) = Products(lowering, node, fused).matmul(node, shape_of(lowering.out(node).shape));
}

std::vector<Rule> matrix_rules() {
  return {{Op::MatMul, lower_matmul, refuse_matmul},
          {Op::Gemm, lower_gemm, refuse_gemm},
          {Op::MatMulInteger, lower_matmul_integer}};
}

}  // namespace tessera::nn
