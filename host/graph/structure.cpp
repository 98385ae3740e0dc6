#include "host/graph/structure.h"

#include <type_traits>

namespace tessera::graph {

namespace {

/// Appends values in a fixed layout, every list with its length, so that no two structures give the same bytes.
class Writer {
 public:
  std::string bytes;

  void number(std::uint64_t value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(const std::string& value) {
    number(value.size());
    bytes += value;
  }
  template <typename List>
  void numbers(const List& list) {
    number(list.size());
    for (const auto value : list) number(static_cast<std::uint64_t>(value));
  }

  void tensor(const Tensor& tensor) {
    number(tensor.valid() ? 1 : 0);
    if (!tensor.valid()) return;
    number(static_cast<std::uint64_t>(tensor.type()));
    numbers(tensor.shape());
    number(tensor.boxes().size());
    for (const Box& box : tensor.boxes()) {
      numbers(box.origin);
      numbers(box.extent);
      number(box.variable.index);
      number(static_cast<std::uint64_t>(box.offset));
      numbers(box.stride);
    }
  }

  void variable(const Variable& variable) {
    number(static_cast<std::uint64_t>(variable.type));
    numbers(variable.shape);
    number((variable.constant() ? 1U : 0U) | (variable.keep ? 2U : 0U) | (variable.parameter ? 4U : 0U) |
           (variable.initial ? 8U : 0U));
    number(variable.mapping.size());
    for (const TileInterval& i : variable.mapping) {
      number(i.begin);
      number(i.end);
      number(i.tile);
    }
  }

  void family(const VertexFamily& family) {
    text(family.codelet);
    number(family.compute_set);
    number(family.family ? 1 : 0);
    number(family.cycles ? *family.cycles + 1 : 0);
    number(family.tiles.size());
    for (const TileMembers& members : family.tiles) {
      number(members.tile);
      number(members.count);
    }
    number(family.fields.size());
    for (const Field& field : family.fields) {
      text(field.name);
      number(field.value.index());
      std::visit([this](const auto& value) { this->field(value); }, field.value);
    }
  }

  void variables(const std::vector<VariableId>& list) {
    number(list.size());
    for (const VariableId id : list) number(id.index);
  }

  void program(const Program& program) {
    number(program.node().index());
    std::visit([this](const auto& node) { this->node(node); }, program.node());
  }

 private:
  void field(const Tensor& value) { tensor(value); }
  void field(const Field::Spans& spans) {
    number(spans.size());
    for (const Tensor& span : spans) tensor(span);
  }
  void field(const Field::Affine& affine) {
    number(affine.base);
    number(affine.stride);
  }
  void field(const Field::Values& values) { numbers(values); }

  void programs(const std::vector<Program>& list) {
    number(list.size());
    for (const Program& p : list) program(p);
  }

  template <typename Node>
  void node(const Node& n) {
    if constexpr (std::is_same_v<Node, Program::Sequence>) {
      programs(n.steps);
    } else if constexpr (std::is_same_v<Node, Program::Execute>) {
      number(n.compute_set.index);
    } else if constexpr (std::is_same_v<Node, Program::Copy>) {
      tensor(n.src), tensor(n.dst);
    } else if constexpr (std::is_same_v<Node, Program::Repeat>) {
      number(n.count);
      program(*n.body);
    } else if constexpr (std::is_same_v<Node, Program::RepeatWhile>) {
      tensor(n.predicate);
      program(*n.condition), program(*n.body);
    } else if constexpr (std::is_same_v<Node, Program::If>) {
      tensor(n.predicate);
      program(*n.then_branch), program(*n.else_branch);
    } else if constexpr (std::is_same_v<Node, Program::Switch>) {
      tensor(n.selector);
      programs(n.cases);
      program(*n.fallback);
    } else if constexpr (std::is_same_v<Node, Program::Call>) {
      number(n.function.index);
      variables(n.arguments);
    } else if constexpr (std::is_same_v<Node, Program::Sync>) {
      number(static_cast<std::uint64_t>(n.zone));
    } else if constexpr (std::is_same_v<Node, Program::StreamIn>) {
      number(n.stream.index);
      tensor(n.dst);
    } else if constexpr (std::is_same_v<Node, Program::StreamOut>) {
      number(n.stream.index);
      tensor(n.src);
    } else if constexpr (std::is_same_v<Node, Program::DynamicSlice> || std::is_same_v<Node, Program::DynamicUpdate>) {
      tensor(n.src), tensor(n.index), tensor(n.dst);
    } else if constexpr (std::is_same_v<Node, Program::WriteUndef> || std::is_same_v<Node, Program::Tap>) {
      tensor(n.tensor);
    } else if constexpr (std::is_same_v<Node, Program::Print>) {
      tensor(n.tensor);
      text(n.label);
    } else if constexpr (std::is_same_v<Node, Program::Abort>) {
      text(n.message);
    } else {
      static_assert(sizeof(Node) == 0, "a kind of program that structure_of does not know");
    }
  }
};

}  // namespace

std::string structure_of(const Graph& graph, const Program& program) {
  Writer writer;
  writer.number(graph.tiles());
  writer.number(graph.variables().size());
  for (const Variable& variable : graph.variables()) writer.variable(variable);
  writer.number(graph.compute_sets().size());
  for (const ComputeSet& set : graph.compute_sets()) writer.numbers(set.vertices);
  writer.number(graph.vertices().size());
  for (const VertexFamily& family : graph.vertices()) writer.family(family);
  writer.number(graph.functions().size());
  for (const Function& function : graph.functions()) {
    writer.program(function.body);
    writer.variables(function.parameters);
  }
  writer.program(program);
  return std::move(writer.bytes);
}

}  // namespace tessera::graph
