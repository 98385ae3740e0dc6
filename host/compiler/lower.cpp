// The walk over program trees: each leaf becomes supersteps; neighbours that do not depend on each other share one.
#include "host/compiler/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "host/compiler/bind.h"
#include "host/compiler/copy_plan.h"
#include "host/compiler/parameters.h"
#include "hw/error.h"

namespace tessera::compiler {

namespace {

using graph::Program;
using graph::Tensor;

/// Copies that may share one exchange: none reads or writes what another writes.
class CopyGroup {
 public:
  explicit CopyGroup(const graph::Graph& graph) : graph_(graph) {}

  [[nodiscard]] bool accepts(const Program::Copy& copy) const {
    for (const graph::Box& box : copy.src.boxes()) {
      if (written_.count(box.variable.index) != 0) return false;
    }
    for (const graph::Box& box : copy.dst.boxes()) {
      if (read_.count(box.variable.index) != 0) return false;
      if (written_.count(box.variable.index) == 0) continue;
      // Parts of one variable: only if no element is written twice.
      std::vector<Tensor> parts;
      for (const auto& [src, dst] : copies_) {
        if (dst.type() == copy.dst.type()) parts.push_back(dst.flatten());
      }
      parts.push_back(copy.dst.flatten());
      if (Tensor::concat(parts).aliases_itself()) return false;
    }
    return true;
  }
  void add(const Program::Copy& copy, const std::string& name) {
    for (const graph::Box& box : copy.src.boxes()) read_.insert(box.variable.index);
    for (const graph::Box& box : copy.dst.boxes()) written_.insert(box.variable.index);
    copies_.emplace_back(copy.src, copy.dst);
    if (copies_.size() <= 3) {
      names_ += (names_.empty() ? "" : ", ") + name;
    } else if (copies_.size() == 4) {
      names_ += ", ..";
    }
  }
  [[nodiscard]] const CopyList& copies() const { return copies_; }
  [[nodiscard]] const std::string& names() const { return names_; }
  [[nodiscard]] std::vector<std::uint32_t> kills() const {
    std::vector<Tensor> written;
    for (const auto& [src, dst] : copies_) written.push_back(dst);
    std::vector<std::uint32_t> result;
    for (const std::uint32_t v : fully_written(graph_, written)) {
      if (read_.count(v) == 0) result.push_back(v);
    }
    return result;
  }

 private:
  const graph::Graph& graph_;
  std::set<std::uint32_t> read_, written_;
  CopyList copies_;
  std::string names_;
};

class Lowering {
 public:
  Lowering(Ir& ir, const CodeletLibrary& library) : ir_(ir), library_(library), streams_(ir, library) {}

  void run() {
    const graph::Graph source = ir_.graph;  // programs stay; ir_.graph grows
    for (const graph::Function& f : source.functions()) ir_.functions.push_back(lower(f.body, f.name));
    for (const graph::Entry& e : source.entries()) ir_.entries.push_back(lower(e.program, e.name));
  }

 private:
  Node lower(const Program& program, const std::string& parent) {
    ir_.check_poll();
    const std::string path = program.name().empty() ? parent : parent + "/" + program.name();
    return std::visit([&](const auto& p) { return lower_node(p, path); }, program.node());
  }

  Node lower_node(const Program::Sequence& p, const std::string& path) {
    Node node;
    node.path = path;
    for (std::size_t i = 0; i < p.steps.size();) {
      if (std::holds_alternative<Program::Copy>(p.steps[i].node())) {
        i = lower_copy_group(p.steps, i, path, node);
      } else if (is_stream(p.steps[i])) {
        i = lower_stream_group(p.steps, i, path, node);
      } else {
        node.children.push_back(lower(p.steps[i], path));
        ++i;
      }
    }
    return node;
  }

  std::size_t lower_copy_group(const std::vector<Program>& steps, std::size_t i, const std::string& path, Node& node) {
    CopyGroup group(ir_.graph);
    std::string where = path;
    for (; i < steps.size(); ++i) {
      const auto* copy = std::get_if<Program::Copy>(&steps[i].node());
      ir_.check_poll();
      if (copy == nullptr || !group.accepts(*copy)) break;
      if (group.copies().empty() && !steps[i].name().empty()) where += "/" + steps[i].name();
      group.add(*copy, fmt::format("{} -> {}", ir_.graph.names(copy->src), ir_.graph.names(copy->dst)));
    }
    node.children.push_back(lower_copies(ir_, library_, group.copies(), group.kills(), where, group.names()));
    return i;
  }

  static bool is_stream(const Program& p) {
    return std::holds_alternative<Program::StreamIn>(p.node()) || std::holds_alternative<Program::StreamOut>(p.node());
  }

  std::size_t lower_stream_group(const std::vector<Program>& steps, std::size_t i, const std::string& path,
                                 Node& node) {
    std::vector<StreamUse> uses;
    std::set<std::uint32_t> variables;
    std::set<std::uint32_t> streams;
    for (; i < steps.size() && is_stream(steps[i]); ++i) {
      const StreamUse use = stream_use(steps[i]);
      bool clash = !streams.insert(use.stream).second;
      for (const graph::Box& box : use.tensor.boxes()) clash = clash || variables.count(box.variable.index) != 0;
      if (clash) break;
      for (const graph::Box& box : use.tensor.boxes()) variables.insert(box.variable.index);
      uses.push_back(use);
    }
    node.children.push_back(streams_.lower(uses, path));
    return i;
  }

  static StreamUse stream_use(const Program& p) {
    if (const auto* in = std::get_if<Program::StreamIn>(&p.node())) return {in->stream.index, in->dst, true};
    const auto& out = std::get<Program::StreamOut>(p.node());
    return {out.stream.index, out.src, false};
  }

  Node lower_node(const Program::Copy& p, const std::string& path) {
    CopyGroup group(ir_.graph);
    group.add(p, fmt::format("{} -> {}", ir_.graph.names(p.src), ir_.graph.names(p.dst)));
    return lower_copies(ir_, library_, group.copies(), group.kills(), path, group.names());
  }

  Node lower_node(const Program::Execute& p, const std::string& parent) {
    const std::string& name = ir_.graph.compute_sets()[p.compute_set.index].name;
    const std::string path = parent + "/" + name;
    Node node;
    node.path = path;
    if (ir_.graph.compute_sets()[p.compute_set.index].vertices.empty()) return node;
    BoundSet bound = bind_compute_set(ir_, library_, p.compute_set.index, path);
    if (!bound.before.empty()) {
      node.children.push_back(lower_copies(ir_, library_, bound.before, bound.staging, path, name + " (gather)"));
    }
    node.children.push_back({Node::Kind::compute, path, bound.compute, {}, {}});
    if (!bound.after.empty()) {
      node.children.push_back(lower_copies(ir_, library_, bound.after, bound.after_kills, path, name + " (scatter)"));
    }
    return node;
  }

  Node lower_node(const Program::Repeat& p, const std::string& path) {
    Node node{Node::Kind::repeat, path, p.count, {}, {}};
    if (p.count == 0) return {Node::Kind::sequence, path, 0, {}, {}};
    node.children.push_back(lower(*p.body, path));
    return node;
  }

  Predicate predicate(const Tensor& t) const {
    const auto [variable, element] = t.at(0);
    return {ir_.layout.place(variable.index, element), graph::size_of(t.type())};
  }

  Node lower_node(const Program::RepeatWhile& p, const std::string& path) {
    Node node{Node::Kind::repeat_while, path, 0, predicate(p.predicate), {}};
    node.children.push_back(lower(*p.condition, path));
    node.children.push_back(lower(*p.body, path));
    return node;
  }

  Node lower_node(const Program::If& p, const std::string& path) {
    Node node{Node::Kind::branch, path, 0, predicate(p.predicate), {}};
    node.children.push_back(lower(*p.then_branch, path));
    node.children.push_back(lower(*p.else_branch, path));
    return node;
  }

  /// The selector goes to every tile as one word; each supervisor jumps by its own copy.
  Node lower_node(const Program::Switch& p, const std::string& path) {
    const std::uint64_t tiles = ir_.graph.tiles();
    std::vector<graph::TileInterval> mapping;
    for (std::uint32_t t = 0; t < tiles; ++t) mapping.push_back({t, t + 1, t});
    const std::string name = ir_.graph.names(p.selector) + " (selector)";
    const Tensor word = ir_.add_variable(graph::Type::u32, tiles, name, mapping);
    const std::uint32_t variable = word.boxes().front().variable.index;
    const Tensor source = p.selector.reshape({1}).reinterpret(graph::Type::u32).broadcast(tiles, 0);
    Node node;
    node.path = path;
    node.children.push_back(lower_copies(ir_, library_, {{source, word}}, {variable}, path, name));
    Node choice{Node::Kind::choice, path, variable, {}, {}};
    for (const Program& c : p.cases) choice.children.push_back(lower(c, path));
    choice.children.push_back(lower(*p.fallback, path));
    node.children.push_back(std::move(choice));
    return node;
  }

  Node lower_node(const Program::Call& p, const std::string& path) {
    Node node{Node::Kind::call, path, p.function.index, {}, {}};
    for (const graph::VariableId id : p.arguments) node.arguments.push_back(id.index);
    return node;
  }

  Node lower_node(const Program::Sync&, const std::string& path) { return {Node::Kind::sync, path, 0, {}, {}}; }

  Node lower_node(const Program::StreamIn& p, const std::string& path) {
    return streams_.lower({{p.stream.index, p.dst, true}}, path);
  }
  Node lower_node(const Program::StreamOut& p, const std::string& path) {
    return streams_.lower({{p.stream.index, p.src, false}}, path);
  }

  Node lower_node(const Program::DynamicSlice& p, const std::string& path) {
    return lower_dynamic(ir_, library_, p.src, p.index, p.dst, false, path,
                         fmt::format("{}[..] -> {}", ir_.graph.names(p.src), ir_.graph.names(p.dst)));
  }
  Node lower_node(const Program::DynamicUpdate& p, const std::string& path) {
    return lower_dynamic(ir_, library_, p.dst, p.index, p.src, true, path,
                         fmt::format("{} -> {}[..]", ir_.graph.names(p.src), ir_.graph.names(p.dst)));
  }

  Node lower_node(const Program::WriteUndef& p, const std::string& path) {
    // For liveness; nothing is to be done on the device.
    ir_.undefined.push_back(fully_written(ir_.graph, {p.tensor}));
    return {Node::Kind::undef, path, static_cast<std::uint32_t>(ir_.undefined.size() - 1), {}, {}};
  }

  Node host_node(HostStep step) {
    const std::string path = step.path;
    ir_.hosts.push_back(std::move(step));
    return {Node::Kind::host, path, static_cast<std::uint32_t>(ir_.hosts.size() - 1), {}, {}};
  }

  Node lower_node(const Program::Print& p, const std::string& path) {
    HostStep step;
    step.path = path;
    step.kind = executable::HostStep::Kind::print;
    step.text = p.label.empty() ? ir_.graph.names(p.tensor) : p.label;
    step.name = "print " + step.text;
    step.shown = p.tensor;
    for (const graph::Box& box : p.tensor.boxes()) step.touch.reads.push_back(box.variable.index);
    sort_unique(step.touch.reads);
    return host_node(std::move(step));
  }

  Node lower_node(const Program::Tap& p, const std::string& path) {
    if (p.tensor.elements() == 0) return {Node::Kind::sequence, path, 0, {}, {}};
    ir_.taps.push_back({path, p.names, p.tensor});
    return {Node::Kind::tap, path, static_cast<std::uint32_t>(ir_.taps.size() - 1), {}, {}};
  }

  Node lower_node(const Program::Abort& p, const std::string& path) {
    HostStep step;
    step.path = path;
    step.kind = executable::HostStep::Kind::abort;
    step.text = p.message;
    step.name = "abort";
    return host_node(std::move(step));
  }

  Ir& ir_;
  const CodeletLibrary& library_;
  StreamLowering streams_;
};

}  // namespace

void lower(Ir& ir, const CodeletLibrary& library) {
  ir.update_layout();
  Lowering(ir, library).run();
  resolve_parameters(ir, library);
  find_unattended(ir);
}

}  // namespace tessera::compiler
