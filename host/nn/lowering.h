// What the lowering of one operator sees: the model, the builder of the machine's graph, views of values that were
// lowered before; and the table of rules, one for each operator. Internal to host/nn.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/nn/builder.h"
#include "host/nn/lower.h"
#include "host/nn/operators.h"

namespace tessera::nn {

class Fusion;

/// State of lowering one model. Rules read operands by operand() or materialised() and set view() of every output.
class Lowering {
 public:
  /// model: with the shapes of one round of the batch loop.
  Lowering(const model::Model& model, const Options& options, graph::Graph& graph);

  /// Steps of the nodes; the model's inputs must have their views.
  void run();

  [[nodiscard]] const model::Model& model() const { return model_; }
  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] Builder& builder() { return builder_; }
  /// View of a value; not valid: a constant without a place, or not lowered yet.
  [[nodiscard]] graph::Tensor& view(model::ValueId id) { return views_.at(id); }
  [[nodiscard]] std::vector<PlanNote>& notes() { return notes_; }
  /// Where each node was lowered to; complete behind run().
  [[nodiscard]] const std::vector<NodePlace>& places() const { return places_; }
  /// Values that were tapped, in order.
  [[nodiscard]] const std::vector<model::ValueId>& tapped() const { return tapped_; }

  /// Operand i of a node as the model knows it.
  [[nodiscard]] const model::Value& in(const model::Node& node, std::size_t i) const {
    return model_.value(node.inputs.at(i));
  }
  [[nodiscard]] const model::Value& out(const model::Node& node, std::size_t i = 0) const {
    return model_.value(node.outputs.at(i));
  }
  [[nodiscard]] static bool has(const model::Node& node, std::size_t i) {
    return i < node.inputs.size() && node.inputs[i] != model::kAbsent;
  }
  [[nodiscard]] static bool wants(const model::Node& node, std::size_t i) {
    return i < node.outputs.size() && node.outputs[i] != model::kAbsent;
  }
  /// The value as a view; a constant gets a place of its own, row-major over the tiles.
  [[nodiscard]] graph::Tensor materialised(model::ValueId id);
  /// The value as a view, or as a constant that the rule places itself.
  [[nodiscard]] Operand operand(model::ValueId id);
  /// True if no node from `node` on reads what the view's variables hold, as far as values with views of them go, and
  /// it is no output of the model.
  [[nodiscard]] bool dead_from(const graph::Tensor& view, std::size_t node) const;
  /// Lowers one node by its rule, its steps in a sequence of its name.
  void lower_one(std::size_t node);
  /// Takes over which nodes go with which products, the price of weights, and which patches are kept: for a part of the
  /// model that is lowered by itself.
  void plan_as(const Lowering& other);
  /// Taps the results of a node if that is wanted; passes(i): what output i stands for at each pass.
  void tap(std::size_t node, const std::function<std::vector<model::ValueId>(std::size_t)>& passes);
  /// Keeps a constant that a rule made for as long as the lowering.
  [[nodiscard]] const model::Tensor* keep(model::Tensor tensor);
  /// Bytes of all constant operands that are weights (second operands of products, kernels), for sharing memory.
  [[nodiscard]] std::uint64_t all_weight_bytes() const { return all_weight_bytes_; }
  /// Price of weights on a tile, cycles a byte (amp_limits.h).
  [[nodiscard]] double weight_price() const { return weight_price_; }
  /// What a product on the AMP unit may take of a tile besides resident weights.
  [[nodiscard]] std::uint64_t amp_work_bytes() const { return amp_work_bytes_; }
  /// Products are planned for least memory.
  [[nodiscard]] bool least_memory() const { return least_memory_; }
  /// Bytes of a tile beyond which the plan of one product is refused.
  [[nodiscard]] std::uint64_t refused_bytes() const {
    return options_.oversized ? ~std::uint64_t{0} : options_.sram_bytes;
  }

 private:
  void check() const;
  /// Says where the nodes from `first` on stand: `count` instances of `length` nodes, of which the first is lowered.
  void place_nodes(std::size_t first, std::size_t length, std::size_t count);

  const model::Model& model_;
  const Options& options_;
  graph::Graph& graph_;
  Builder builder_;
  std::vector<graph::Tensor> views_;  ///< by ValueId
  std::deque<model::Tensor> made_;    ///< constants made by rules; addresses stay
  std::vector<PlanNote> notes_;
  std::vector<NodePlace> places_;
  std::vector<model::ValueId> tapped_;
  std::uint64_t all_weight_bytes_ = 0;
  double weight_price_ = 0;
  std::uint64_t amp_work_bytes_ = 0;
  bool least_memory_ = false;
  std::shared_ptr<const Fusion> fusion_;  ///< null: none
};

/// How an operator is lowered. Its gradient will stand beside `lower`.
struct Rule {
  model::Op op;
  /// Appends steps and sets the views of the node's outputs. Throws Error (unsupported, does_not_fit) naming the node.
  void (*lower)(Lowering& lowering, const model::Node& node);
  /// Why this node (its types, attributes) cannot be lowered; empty if it can. May be null: always can.
  std::string (*refuse)(const model::Model& model, const model::Node& node) = nullptr;
};

/// Rules by family, one function a file under host/nn; rules.cpp joins them.
[[nodiscard]] std::vector<Rule> view_rules();
[[nodiscard]] std::vector<Rule> basic_rules();
[[nodiscard]] std::vector<Rule> matrix_rules();
[[nodiscard]] std::vector<Rule> pad_rules();
[[nodiscard]] std::vector<Rule> index_rules();
[[nodiscard]] std::vector<Rule> einsum_rules();
[[nodiscard]] std::vector<Rule> sort_rules();
[[nodiscard]] std::vector<Rule> pool_rules();
[[nodiscard]] std::vector<Rule> recurrent_rules();
[[nodiscard]] std::vector<Rule> reduce_rules();
[[nodiscard]] std::vector<Rule> conv_rules();

/// The rule of an operator, nullptr if there is none.
[[nodiscard]] const Rule* find_rule(model::Op op);

/// Bytes of a node's constant weight operand; 0 if it has none.
[[nodiscard]] std::uint64_t weight_bytes(const model::Model& model, const model::Node& node);

}  // namespace tessera::nn
