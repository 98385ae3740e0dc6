#include "host/nn/outline.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "host/graph/structure.h"

namespace tessera::nn {

using graph::Graph;
using graph::Program;
using graph::Tensor;
using graph::VariableId;
using model::kAbsent;
using model::ValueId;

namespace {

using Contents = std::vector<std::uint8_t>;

/// Constants of a graph from variable `first` on, in order.
std::vector<VariableId> constants_from(const Graph& graph, std::uint32_t first) {
  std::vector<VariableId> result;
  for (std::uint32_t i = first; i < graph.variables().size(); ++i)
    if (graph.variables()[i].constant()) result.push_back({i});
  return result;
}

class Outline {
 public:
  Outline(Lowering& lowering, const Cluster& cluster)
      : lowering_(lowering), builder_(lowering.builder()), cluster_(cluster) {}

  bool run() {
    if (!instances_agree()) return false;
    const Program body = lower_body();
    parametrise();
    std::vector<VariableId> parameters;
    for (const Parameter& parameter : parameters_) parameters.push_back(parameter.variable);
    const graph::FunctionId function = builder_.graph().add_function(body, node_name(0), std::move(parameters));
    for (std::size_t k = 0; k < cluster_.count; ++k) call(function, k);
    finish();
    return true;
  }

 private:
  [[nodiscard]] std::string node_name(std::size_t instance) const {
    return lowering_.model().nodes[cluster_.first + instance * cluster_.length].name;
  }
  /// The same value from outside in every instance: read where it stands.
  [[nodiscard]] bool shared(std::size_t input) const {
    return std::all_of(cluster_.inputs.begin(), cluster_.inputs.end(),
                       [&](const auto& list) { return list[input] == cluster_.inputs[0][input]; });
  }

  /// The first instance's operand is read by that instance alone: the function has it where it stands, and the operands
  /// of the others go there.
  [[nodiscard]] bool adopted(std::size_t input) const {
    const ValueId id = cluster_.inputs[0][input];
    const Tensor& view = lowering_.view(id);
    return Builder::variables(view).size() == 1 && builder_.whole(view) &&
           !builder_.graph().variable(Builder::variables(view)[0]).constant() &&
           std::count(cluster_.inputs[0].begin(), cluster_.inputs[0].end(), id) == 1 &&
           lowering_.dead_from(view, cluster_.first + cluster_.length);
  }
  static bool same_place(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && std::equal(a.boxes().begin(), a.boxes().end(), b.boxes().begin(), b.boxes().end(),
                                                [](const graph::Box& x, const graph::Box& y) {
                                                  return x.variable == y.variable && x.origin == y.origin &&
                                                         x.extent == y.extent && x.offset == y.offset &&
                                                         x.stride == y.stride;
                                                });
  }

  /// A place for an operand on another graph: as the view lies, or row-major if it covers no variables wholly.
  static Tensor place_like(Builder& to, const Builder& from, const Tensor& view, const std::string& name) {
    if (!from.whole(view)) return to.linear(view.type(), view.shape(), name);
    std::map<VariableId, VariableId> made;
    for (const VariableId id : Builder::variables(view)) {
      const graph::Variable original = from.graph().variable(id);  // a copy: the graphs may be the same
      const Tensor clone = to.graph().add_variable(original.type, original.shape, name);
      for (const graph::TileInterval& i : original.mapping)
        to.graph().map(clone.flatten().slice(i.begin, i.end), i.tile);
      made[id] = clone.boxes().at(0).variable;
    }
    return view.rebased(view.type(), [&](VariableId id) { return made.at(id); });
  }

  /// Lowers every instance by itself, with operands that lie as those of the first, and compares what comes out.
  bool instances_agree() {
    std::string first;
    for (std::size_t k = 0; k < cluster_.count; ++k) {
      Graph graph(lowering_.options().tiles);
      Lowering alone(lowering_.model(), lowering_.options(), graph);
      alone.plan_as(lowering_);
      for (std::size_t i = 0; i < cluster_.inputs[k].size(); ++i)
        alone.view(cluster_.inputs[k][i]) =
            place_like(alone.builder(), builder_, lowering_.view(cluster_.inputs[0][i]), "operand");
      for (std::size_t i = 0; i < cluster_.length; ++i) alone.lower_one(cluster_.first + k * cluster_.length + i);
      const Program body = Program::sequence(std::move(alone.builder().steps()));
      std::string structure = graph::structure_of(graph, body);
      if (k == 0)
        first = std::move(structure);
      else if (structure != first)
        return false;
      contents_.emplace_back();
      for (const VariableId id : constants_from(graph, 0)) contents_.back().push_back(*graph.variable(id).data);
    }
    return true;
  }

  Program lower_body() {
    for (std::size_t i = 0; i < cluster_.inputs[0].size(); ++i) {
      const ValueId id = cluster_.inputs[0][i];
      saved_.push_back(lowering_.view(id));
      inputs_.push_back(shared(i) || adopted(i)
                            ? saved_.back()
                            : place_like(builder_, builder_, saved_.back(), lowering_.model().value(id).name));
      lowering_.view(id) = inputs_.back();
    }
    // Constants get places of their own inside, also those that stand somewhere already.
    std::vector<Tensor> placed;
    for (const ValueId id : cluster_.constants[0]) {
      placed.push_back(lowering_.view(id));
      lowering_.view(id) = Tensor();
    }
    first_variable_ = static_cast<std::uint32_t>(builder_.graph().variables().size());
    std::vector<Program> outside;
    outside.swap(builder_.steps());
    for (std::size_t i = 0; i < cluster_.length; ++i) {
      lowering_.lower_one(cluster_.first + i);
      lowering_.tap(cluster_.first + i, [&](std::size_t output) {
        std::vector<ValueId> ids;
        for (std::size_t k = 0; k < cluster_.count; ++k)
          ids.push_back(lowering_.model().nodes[cluster_.first + k * cluster_.length + i].outputs[output]);
        return ids;
      });
    }
    outside.swap(builder_.steps());
    for (std::size_t i = 0; i < placed.size(); ++i) lowering_.view(cluster_.constants[0][i]) = placed[i];
    for (const ValueId id : cluster_.results[0]) results_.push_back(id == kAbsent ? Tensor() : lowering_.view(id));
    return Program::sequence(std::move(outside));
  }

  /// Constants that differ between instances become parameters of the function.
  void parametrise() {
    const std::vector<VariableId> constants = constants_from(builder_.graph(), first_variable_);
    for (std::size_t j = 0; j < constants.size(); ++j) {
      const bool same = std::all_of(contents_.begin(), contents_.end(),
                                    [&](const auto& of_instance) { return of_instance.at(j) == contents_[0][j]; });
      if (same) continue;
      parameters_.push_back({constants[j], j});
      builder_.graph().make_variable(constants[j]);
    }
  }

  void call(graph::FunctionId function, std::size_t k) {
    std::vector<Program> outside;
    outside.swap(builder_.steps());
    Graph& graph = builder_.graph();
    std::vector<VariableId> arguments;
    for (const Parameter& parameter : parameters_) {
      const Tensor own = graph.add_like(parameter.variable, std::move(contents_[k][parameter.index]),
                                        fmt::format("{} of {}", graph.variable(parameter.variable).name, node_name(k)));
      arguments.push_back(own.boxes().at(0).variable);
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (shared(i)) continue;
      const Tensor operand = k == 0 ? saved_[i] : lowering_.view(cluster_.inputs[k][i]);
      if (!same_place(operand, inputs_[i])) builder_.copy(operand, inputs_[i], "operand");
    }
    builder_.steps().push_back(Program::call(function, std::move(arguments)));
    for (const std::size_t r : cluster_.outputs) take_result(k, r);
    outside.swap(builder_.steps());
    builder_.steps().push_back(Program::sequence(std::move(outside), node_name(k)));
  }

  /// A result is read where the function leaves it if nothing but the operand copies of the next call reads it.
  void take_result(std::size_t k, std::size_t r) {
    const ValueId id = cluster_.results[k][r];
    if (id == kAbsent || !results_[r].valid()) return;
    const bool last = k + 1 == cluster_.count;
    const bool passed_on = !last && used_by_next_only(k, id);
    if ((last || passed_on) && (!reads_operand(results_[r]) || in_operands_place(k, r))) {
      lowering_.view(id) = results_[r];
      return;
    }
    const std::string& name = lowering_.model().value(id).name;
    const Tensor own = place_like(builder_, builder_, results_[r], name);
    builder_.copy(results_[r], own, name);
    lowering_.view(id) = own;
  }

  /// A result that stands where an operand stood, which is the next call's operand there, or stays.
  [[nodiscard]] bool in_operands_place(std::size_t k, std::size_t r) const {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (!shared(i) && same_place(results_[r], inputs_[i]))
        return k + 1 == cluster_.count || cluster_.inputs[k + 1][i] == cluster_.results[k][r];
    return false;
  }

  [[nodiscard]] bool reads_operand(const Tensor& view) const {
    const std::vector<VariableId> own = Builder::variables(view);
    for (const Tensor& input : inputs_)
      for (const VariableId id : Builder::variables(input))
        if (std::find(own.begin(), own.end(), id) != own.end()) return true;
    return false;
  }

  [[nodiscard]] bool used_by_next_only(std::size_t k, ValueId id) const {
    const model::Model& model = lowering_.model();
    if (std::count(model.outputs.begin(), model.outputs.end(), id) != 0) return false;
    const std::size_t behind = cluster_.first + (k + 2) * cluster_.length;
    for (std::size_t i = behind; i < model.nodes.size(); ++i)
      if (std::count(model.nodes[i].inputs.begin(), model.nodes[i].inputs.end(), id) != 0) return false;
    return true;
  }

  /// Outside again: the first instance's operands stand where they stood.
  void finish() {
    for (std::size_t i = 0; i < saved_.size(); ++i) lowering_.view(cluster_.inputs[0][i]) = saved_[i];
    lowering_.notes().push_back(
        {node_name(0), fmt::format("{} times {} nodes from here on are one function with {} parameters", cluster_.count,
                                   cluster_.length, parameters_.size())});
  }

  struct Parameter {
    VariableId variable;
    std::size_t index;  ///< among the constants of an instance
  };

  Lowering& lowering_;
  Builder& builder_;
  const Cluster& cluster_;
  std::vector<std::vector<Contents>> contents_;  ///< by instance: its constants as they are laid out
  std::vector<Tensor> saved_, inputs_;           ///< operands of the first instance outside and inside the function
  std::vector<Tensor> results_;                  ///< inside
  std::uint32_t first_variable_ = 0;
  std::vector<Parameter> parameters_;
};

}  // namespace

bool lower_cluster(Lowering& lowering, const Cluster& cluster) { return Outline(lowering, cluster).run(); }

}  // namespace tessera::nn
