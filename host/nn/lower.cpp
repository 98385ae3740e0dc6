#include "host/nn/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "host/nn/chunk.h"
#include "host/nn/operators.h"
#include "host/nn/views.h"
#include "hw/error.h"

namespace tessera::nn {

using graph::Program;
using graph::Tensor;
using model::Model;
using model::Node;
using model::Op;
using model::Value;
using model::ValueId;

namespace {

constexpr double kDataShare = 0.6;  // of a tile's memory: the rest is code, tables, lists, stacks
constexpr double kMostShare = 0.9;  // what one product may at most take

class Lowering {
 public:
  /// model: with the shapes of one round of the batch loop.
  Lowering(const Model& model, const Options& options, graph::Graph& graph)
      : model_(model), options_(options), graph_(graph), builder_(graph, options.tiles), views_(model.values.size()) {
    for (const Node& node : model.nodes) all_weight_bytes_ += weight_bytes(node);
  }

  /// Steps of the nodes; operands must have their views.
  void run() {
    for (const Node& node : model_.nodes) {
      std::vector<Program> before;
      before.swap(builder_.steps());
      lower_node(node);
      before.swap(builder_.steps());
      if (!before.empty()) builder_.steps().push_back(Program::sequence(std::move(before), node.name));
      if (!options_.expose_nodes) continue;
      for (const ValueId id : node.outputs)
        if (id != model::kAbsent && views_[id].elements() > 0)
          graph_.expose(model_.value(id).name, views_[id], node.name);
    }
  }

  Builder& builder() { return builder_; }
  Tensor& view(ValueId id) { return views_.at(id); }
  std::vector<PlanNote>& notes() { return notes_; }

  /// The value as a view; a constant gets a place of its own.
  Tensor materialised(ValueId id) {
    const Value& value = model_.value(id);
    if (!views_[id].valid()) views_[id] = builder_.linear_constant(*value.constant, value.name);
    return views_[id];
  }

 private:
  [[nodiscard]] const Value& in(const Node& node, std::size_t i) const { return model_.value(node.inputs.at(i)); }
  [[nodiscard]] bool has(const Node& node, std::size_t i) const {
    return i < node.inputs.size() && node.inputs[i] != model::kAbsent;
  }
  Operand operand(ValueId id) {
    const Value& value = model_.value(id);
    if (value.constant && !views_[id].valid()) return {{}, &*value.constant};
    return {views_[id], nullptr};
  }
  const model::Tensor* keep(model::Tensor tensor) {
    made_.push_back(std::move(tensor));
    return &made_.back();
  }
  static model::Tensor scalar(float value) { return model::Tensor(model::Type::f32, {}, std::vector<float>{value}); }

  void lower_node(const Node& node) {
    const Value& result = model_.value(node.outputs.at(0));
    const graph::Shape shape = shape_of(result.shape);
    if (is_view(node.op)) {
      std::vector<Tensor> operands;
      for (const ValueId id : node.inputs) operands.push_back(materialised(id));
      const auto views = lower_view(model_, node, operands);
      for (std::size_t i = 0; i < node.outputs.size(); ++i)
        if (node.outputs[i] != model::kAbsent) views_[node.outputs[i]] = views.at(i);
      return;
    }
    views_[node.outputs[0]] = compute(node, shape, result.type);
  }

  Tensor compute(const Node& node, const graph::Shape& shape, model::Type type) {
    switch (node.op) {
      case Op::MatMul:
        return matmul(node, shape);
      case Op::Gemm:
        return gemm(node, shape);
      case Op::Softmax:
      case Op::LogSoftmax:
        return lower_softmax(builder_, std::string(name_of(node.op)) + "_f32", materialised(node.inputs[0]),
                             static_cast<std::size_t>(std::get<model::AxisAttributes>(node.attributes).axis),
                             node.name);
      case Op::Cast:
        if (in(node, 0).type == type) return materialised(node.inputs[0]);
        return lower_unary(builder_, cast_codelet(in(node, 0).type, type), materialised(node.inputs[0]), type_of(type),
                           node.name);
      default:
        break;
    }
    if (const std::string codelet = unary_codelet(node.op, type); !codelet.empty() && node.inputs.size() == 1)
      return lower_unary(builder_, codelet, materialised(node.inputs[0]), type_of(type), node.name);
    if (node.op == Op::Relu && type == model::Type::i32) {
      const auto* zero = keep(model::Tensor(model::Type::i32, {}));
      return lower_binary(builder_, "Max_i32", operand(node.inputs[0]), {{}, zero}, shape, type_of(type), node.name);
    }
    const std::string codelet = binary_codelet(node.op, type);
    if (codelet.empty() || node.inputs.size() != 2)
      throw Error(Category::unsupported,
                  fmt::format("node '{}' ({}) on {} has no codelet", node.name, name_of(node.op), name_of(type)),
                  model_.file, "use f32");
    return lower_binary(builder_, codelet, operand(node.inputs[0]), operand(node.inputs[1]), shape, type_of(type),
                        node.name);
  }

  // Matrix products.

  [[nodiscard]] std::uint64_t weight_bytes(const Node& node) const {
    if ((node.op != Op::MatMul && node.op != Op::Gemm) || !in(node, 1).constant) return 0;
    return in(node, 1).constant->data.size();
  }

  /// Each constant operand may take a tile's memory in proportion to its size, and always its share of one copy.
  [[nodiscard]] MatmulLimits limits(const Node& node) const {
    const double budget = options_.sram_bytes * kDataShare / 2;
    const auto own = static_cast<double>(weight_bytes(node));
    const double share = all_weight_bytes_ == 0 ? 0 : budget * own / static_cast<double>(all_weight_bytes_);
    const double weights = std::max(share, 1.25 * own / options_.tiles + 256);
    const double most = std::min(budget + weights, options_.sram_bytes * kMostShare);
    return {static_cast<std::uint64_t>(most), static_cast<std::uint64_t>(weights), options_.sram_bytes};
  }

  std::vector<Tensor> products(const Node& node, const std::vector<MatmulOperands>& list) {
    std::string note;
    auto results = lower_matmuls(builder_, list, limits(node), node.name, note);
    notes_.push_back({node.name, note});
    return results;
  }

  Tensor zeros(const graph::Shape& shape, const std::string& name) {
    const model::Shape extents(shape.begin(), shape.end());
    if (graph::element_count(shape) == 0) return builder_.linear(graph::Type::f32, shape, name);
    return builder_.linear_constant(model::Tensor(model::Type::f32, extents), name);
  }

  Tensor matmul(const Node& node, const graph::Shape& shape) {
    Tensor a = materialised(node.inputs[0]);
    if (a.rank() == 1) a = a.reshape({1, a.dim(0)});
    Operand b = operand(node.inputs[1]);
    graph::Shape b_shape = shape_of(in(node, 1).shape);
    if (b_shape.size() == 1) b_shape.push_back(1);
    const std::uint64_t m = a.dim(a.rank() - 2), k = a.shape().back(), n = b_shape.back();
    if (k == 0 || graph::element_count(shape) == 0) return zeros(shape, node.name);
    if (b_shape.size() == 2) {
      if (b.is_constant())
        b.constant = keep(reshaped(*b.constant, {static_cast<std::int64_t>(k), static_cast<std::int64_t>(n)}));
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
    const Tensor all_b = materialised(node.inputs[1]).reshape(b_shape).broadcast_to(wide_b).reshape({planes, k, n});
    std::vector<MatmulOperands> list;
    for (std::uint64_t p = 0; p < planes; ++p) list.push_back({all_a[p], {all_b[p], nullptr}, {}});
    const auto results = products(node, list);
    std::vector<Tensor> stacked;
    for (const Tensor& result : results) stacked.push_back(result.expand(0));
    return Tensor::concat(stacked, 0).reshape(shape);
  }

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
    product.a = materialised(node.inputs[0]);
    if (g.transpose_a) product.a = product.a.transpose();
    product.b = operand(node.inputs[1]);
    float alpha = g.alpha;
    if (product.b.is_constant()) {
      product.b.constant = keep(scaled(*product.b.constant, g.transpose_b, alpha));
      alpha = 1.0F;
    } else if (g.transpose_b) {
      product.b.view = product.b.view.transpose();
    }
    bool added = !has(node, 2) || g.beta == 0.0F;
    if (!added && alpha == 1.0F) {
      product.bias = bias(node, g.beta, shape[1]);
      added = product.bias.has_value() && product.a.dim(1) > 0;
    }
    Tensor result = product.a.dim(1) == 0 ? zeros(shape, node.name) : products(node, {product})[0];
    if (alpha != 1.0F)
      result = lower_binary(builder_, "Mul_f32", {result, nullptr}, {{}, keep(scalar(alpha))}, shape, graph::Type::f32,
                            node.name);
    if (!added) result = add_c(node, g.beta, result);
    return result;
  }

  /// C as a row that the product starts from, if it is one.
  std::optional<Operand> bias(const Node& node, float beta, std::uint64_t n) {
    const Value& c = in(node, 2);
    const bool row = c.shape.size() < 2 || c.shape[0] == 1;
    if (!row) return std::nullopt;
    const Operand given = operand(node.inputs[2]);
    if (!given.is_constant()) {
      if (beta != 1.0F) return std::nullopt;
      return Operand{given.view.broadcast_to({1, n}).reshape({n}), nullptr};
    }
    model::Tensor values(model::Type::f32, {static_cast<std::int64_t>(n)});
    for (std::int64_t i = 0; i < values.elements(); ++i)
      values.set(i, beta * given.constant->at<float>(given.elements() == 1 ? 0 : i));
    return Operand{{}, keep(std::move(values))};
  }

  Tensor add_c(const Node& node, float beta, const Tensor& product) {
    Operand c = operand(node.inputs[2]);
    if (beta != 1.0F && c.is_constant()) {
      model::Tensor values = *c.constant;
      for (std::int64_t i = 0; i < values.elements(); ++i) values.set(i, beta * values.at<float>(i));
      c.constant = keep(std::move(values));
    } else if (beta != 1.0F) {
      c.view =
          lower_binary(builder_, "Mul_f32", c, {{}, keep(scalar(beta))}, c.view.shape(), graph::Type::f32, node.name);
    }
    return lower_binary(builder_, "Add_f32", {product, nullptr}, c, product.shape(), graph::Type::f32, node.name);
  }

  const Model& model_;
  const Options& options_;
  graph::Graph& graph_;
  Builder builder_;
  std::vector<Tensor> views_;       ///< by ValueId
  std::deque<model::Tensor> made_;  ///< constants made here; addresses stay
  std::vector<PlanNote> notes_;
  std::uint64_t all_weight_bytes_ = 0;
};

Binding binding(const Value& whole, const Value& step, bool batched) {
  Binding result;
  result.name = whole.name;
  result.type = whole.type;
  result.declared = whole.declared;
  result.shape = whole.shape;
  if (batched) result.rows = step.shape[0];
  return result;
}

/// The program around the nodes: streams in, the loop, streams out.
class Assembly {
 public:
  Assembly(const Model& whole, const Model& step, const Options& options, Lowered& lowered)
      : whole_(whole), step_(step), lowered_(lowered), lowering_(step, options, lowered.graph) {}

  void run() {
    inputs();
    lowering_.run();
    outputs();
    std::vector<Program> round = std::move(round_in_);
    for (Program& step : lowering_.builder().steps()) round.push_back(std::move(step));
    for (Program& step : round_out_) round.push_back(std::move(step));
    Program body = Program::sequence(std::move(round));
    if (lowered_.batch > 0) body = Program::repeat(lowered_.steps, std::move(body), "batch");
    before_.push_back(std::move(body));
    lowered_.graph.add_entry("main", Program::sequence(std::move(before_)));
    lowered_.notes = std::move(lowering_.notes());
  }

 private:
  [[nodiscard]] bool batched(std::uint32_t input) const {
    return lowered_.batch > 0 && std::any_of(whole_.symbolic.begin(), whole_.symbolic.end(), [&](const auto& symbolic) {
             return symbolic.input == input && symbolic.axis == 0;
           });
  }
  [[nodiscard]] bool used(ValueId id) const {
    return std::any_of(step_.nodes.begin(), step_.nodes.end(),
                       [&](const Node& node) { return std::count(node.inputs.begin(), node.inputs.end(), id) != 0; }) ||
           std::count(step_.outputs.begin(), step_.outputs.end(), id) != 0;
  }

  void inputs() {
    for (std::uint32_t i = 0; i < whole_.inputs.size(); ++i) {
      const ValueId id = whole_.inputs[i];
      const Value& value = step_.value(id);
      Binding input = binding(whole_.value(id), value, batched(i));
      const Tensor tensor = lowering_.builder().linear(type_of(value.type), shape_of(value.shape), value.name);
      lowering_.view(id) = tensor;
      if (tensor.elements() > 0 && used(id)) {
        input.stream = "in/" + value.name;
        const auto stream = lowered_.graph.add_input_stream(input.stream, tensor.type(), tensor.elements());
        (batched(i) ? round_in_ : before_).push_back(Program::stream_in(stream, tensor.flatten()));
      }
      lowered_.inputs.push_back(std::move(input));
    }
  }

  void outputs() {
    for (std::size_t i = 0; i < whole_.outputs.size(); ++i) {
      const ValueId id = whole_.outputs[i];
      const Value& value = step_.value(id);
      Binding output = binding(whole_.value(id), value, lowered_.batch > 0);
      if (value.constant)
        output.known = *value.constant;
      else if (model::element_count(value.shape) == 0)
        output.known = model::Tensor(whole_.value(id).type, whole_.value(id).shape);
      else
        stream_out(output, value, lowering_.view(id), i);
      lowered_.outputs.push_back(std::move(output));
    }
  }

  /// Results leave from a variable of their own in row-major order, unless they stand in one already.
  void stream_out(Binding& output, const Value& value, const Tensor& view, std::size_t position) {
    Builder& builder = lowering_.builder();
    output.stream = "out/" + value.name;
    for (const Binding& other : lowered_.outputs)  // the same value named twice as output
      if (other.stream == output.stream) output.stream += fmt::format("/{}", position);
    Tensor source = view;
    if (!builder.whole(view) || !view.contiguous()) {
      source = builder.linear(view.type(), view.shape(), value.name + " result");
      builder.copy(view, source, value.name + " result");
    }
    const auto stream = lowered_.graph.add_output_stream(output.stream, view.type(), view.elements());
    round_out_.push_back(Program::stream_out(source.flatten(), stream));
  }

  const Model& whole_;
  const Model& step_;
  Lowered& lowered_;
  Lowering lowering_;
  std::vector<Program> before_, round_in_, round_out_;
};

}  // namespace

Lowered lower(const Model& model, const Options& options) {
  Lowered lowered{graph::Graph(options.tiles), 1, 0, 0, 1, {}, {}, {}};
  const std::optional<Chunking> chunking = choose_chunk(model, options);
  if (chunking) {
    lowered.batch = chunking->batch;
    lowered.chunk = chunking->chunk;
    lowered.replicas = chunking->replicas;
    lowered.steps = static_cast<std::uint32_t>(chunking->rounds());
    lowered.notes.push_back({"batch", chunking->text});
  }
  if (!chunking && options.replicas > 1)
    throw Error(Category::unsupported, "the rows of this model cannot be shared between replicas",
                "model " + model.name, "its batch is fixed, or rows depend on each other: run it on one IPU");
  const Model step = chunking ? with_batch(model, chunking->chunk) : model;
  const std::vector<PlanNote> batch_note = lowered.notes;
  Assembly(model, step, options, lowered).run();
  lowered.notes.insert(lowered.notes.begin(), batch_note.begin(), batch_note.end());
  return lowered;
}

}  // namespace tessera::nn
