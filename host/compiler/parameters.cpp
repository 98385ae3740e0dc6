// Which parameters vertices read in place in their own function alone; the variants of each function, one for each
// distinct list of such arguments; the steps of every variant.
#include "host/compiler/parameters.h"

#include <algorithm>
#include <map>
#include <set>

#include "host/compiler/copy_plan.h"

namespace tessera::compiler {

namespace {

/// Changing lists costs some hundred cycles a call, lists of its own some bytes a vertex: from so many lists of
/// arguments on, they are memory that grows with a model's depth.
constexpr std::size_t kWindowFrom = 8;

class Resolver {
 public:
  Resolver(Ir& ir, const CodeletLibrary& library) : ir_(ir), library_(library) {}

  void run() {
    const auto& functions = ir_.graph.functions();
    ir_.variants.assign(functions.size(), 1);
    ir_.windows.resize(functions.size());
    for (std::uint32_t f = 0; f < functions.size(); ++f) {
      for (const graph::VariableId id : functions[f].parameters) owner_[id.index] = f;
    }
    if (owner_.empty()) return;
    arguments_.resize(functions.size());
    for (std::uint32_t f = 0; f < functions.size(); ++f) look_at(ir_.functions[f], f);
    for (const Node& entry : ir_.entries) look_at(entry, kNone);
    for (Node& function : ir_.functions) resolve_calls(function);
    for (Node& entry : ir_.entries) resolve_calls(entry);
    for (std::uint32_t f = 0; f < functions.size(); ++f) {
      if (make_window(f)) continue;
      ir_.variants[f] = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(arguments_[f].size()));
      for (const std::uint32_t step : steps_[f]) add_variants(step, f);
    }
  }

 private:
  using Arguments = std::vector<std::uint32_t>;  ///< a constant for each parameter; kNone for one given by value

  /// Notes what reads parameters: steps of vertices in their function, or anything else.
  void look_at(const Node& node, std::uint32_t function) {
    switch (node.kind) {
      case Node::Kind::exchange:
        by_value(ir_.exchanges[node.index].touch.reads);
        break;
      case Node::Kind::host:
        by_value(ir_.hosts[node.index].touch.reads);
        break;
      case Node::Kind::repeat_while:
      case Node::Kind::branch:
        by_value({node.predicate.place.variable});
        break;
      case Node::Kind::tap:
        for (const graph::Box& box : ir_.taps[node.index].tensor.boxes()) by_value({box.variable.index});
        break;
      case Node::Kind::compute:
        look_at_compute(node.index, function);
        break;
      default:
        break;
    }
    for (const Node& child : node.children) look_at(child, function);
  }

  void look_at_compute(std::uint32_t step, std::uint32_t function) {
    for (const std::uint32_t v : ir_.computes[step].touch.reads) {
      const auto owner = owner_.find(v);
      if (owner == owner_.end()) continue;
      if (owner->second == function) {
        steps_[function].insert(step);
      } else {
        by_value({v});
      }
    }
  }

  void by_value(const std::vector<std::uint32_t>& variables) {
    for (const std::uint32_t v : variables) {
      if (owner_.count(v) != 0) by_value_.insert(v);
    }
  }

  /// A call gets its variant, and in front of it the copies of what is given by value.
  void resolve_calls(Node& node) {
    for (Node& child : node.children) resolve_calls(child);
    if (node.kind != Node::Kind::call) return;
    const auto& parameters = ir_.graph.functions()[node.index].parameters;
    if (parameters.empty()) return;
    Arguments arguments(parameters.size(), kNone);
    CopyList copies;
    std::vector<std::uint32_t> kills;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (by_value_.count(parameters[i].index) == 0) {
        arguments[i] = node.arguments[i];
      } else {
        copies.emplace_back(ir_.graph.whole({node.arguments[i]}), ir_.graph.whole(parameters[i]));
        kills.push_back(parameters[i].index);
      }
    }
    std::vector<Arguments>& known = arguments_[node.index];
    const auto at = std::find(known.begin(), known.end(), arguments);
    node.variant = static_cast<std::uint32_t>(at - known.begin());
    if (at == known.end()) known.push_back(std::move(arguments));
    node.arguments.clear();
    if (copies.empty()) return;
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(copies.size(), 3); ++i) {
      names += (i == 0 ? "" : ", ") + ir_.graph.names(copies[i].first) + " -> " + ir_.graph.names(copies[i].second);
    }
    if (copies.size() > 3) names += ", ..";
    sort_unique(kills);
    Node sequence;
    sequence.path = node.path;
    sequence.children.push_back(lower_copies(ir_, library_, copies, kills, node.path + "/parameters", names));
    sequence.children.push_back(std::move(node));
    node = std::move(sequence);
  }

  /// Gives function `f` one set of lists for all its calls, if these are many and each reads constants that none of the
  /// others does: such constants can stand at equal distances.
  bool make_window(std::uint32_t f) {
    const std::vector<Arguments>& calls = arguments_[f];
    if (calls.size() < kWindowFrom) return false;
    Window window;
    window.blocks.resize(calls.size());
    std::set<std::uint32_t> fresh;
    std::map<std::uint32_t, std::uint32_t> constant_for;
    const auto& parameters = ir_.graph.functions()[f].parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (calls[0][i] == kNone) continue;
      constant_for[parameters[i].index] = calls[0][i];
      const auto same = [&](const Arguments& call) { return call[i] == calls[0][i]; };
      if (std::all_of(calls.begin(), calls.end(), same)) continue;
      for (std::size_t k = 0; k < calls.size(); ++k) {
        if (in_windows_.count(calls[k][i]) != 0 || !fresh.insert(calls[k][i]).second) return false;
        window.blocks[k].push_back(calls[k][i]);
        auto& alignment = ir_.alignment[calls[k][i]];
        alignment = std::max(alignment, ir_.alignment[parameters[i].index]);
      }
    }
    for (const std::uint32_t index : steps_[f]) {
      ComputeStep& step = ir_.computes[index];
      std::vector<std::uint32_t> reads;
      for (const std::uint32_t v : step.touch.reads) {
        const auto at = std::find_if(parameters.begin(), parameters.end(), [&](auto p) { return p.index == v; });
        if (at == parameters.end() || by_value_.count(v) != 0) {
          reads.push_back(v);
          continue;
        }
        for (const Arguments& call : calls) reads.push_back(call[static_cast<std::size_t>(at - parameters.begin())]);
      }
      replace(step, constant_for, reads);
      sort_unique(reads);
      step.touch.reads = std::move(reads);
      step.window = f;
    }
    in_windows_.insert(fresh.begin(), fresh.end());
    ir_.windows[f] = std::move(window);
    return true;
  }

  /// A step with the constants of each variant in place of the parameters.
  void add_variants(std::uint32_t index, std::uint32_t function) {
    const auto& parameters = ir_.graph.functions()[function].parameters;
    const ComputeStep original = ir_.computes[index];
    std::vector<std::uint32_t> by_variant;
    std::vector<std::uint32_t> reads;
    for (const std::uint32_t v : original.touch.reads) {
      if (owner_.count(v) == 0 || by_value_.count(v) != 0) reads.push_back(v);
    }
    if (reads.size() == original.touch.reads.size()) return;
    for (std::size_t k = 0; k < arguments_[function].size(); ++k) {
      std::map<std::uint32_t, std::uint32_t> constant_for;
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (arguments_[function][k][i] != kNone) constant_for[parameters[i].index] = arguments_[function][k][i];
      }
      ComputeStep step = original;
      replace(step, constant_for, reads);
      if (k == 0) {
        by_variant.push_back(index);
        ir_.computes[index] = std::move(step);
      } else {
        by_variant.push_back(static_cast<std::uint32_t>(ir_.computes.size()));
        ir_.computes.push_back(std::move(step));
      }
    }
    if (by_variant.empty()) return;  // never called
    // What the node touches: the constants of all variants.
    sort_unique(reads);
    ir_.computes[index].touch.reads = reads;
    ir_.computes[index].by_variant = std::move(by_variant);
  }

  void replace(ComputeStep& step, const std::map<std::uint32_t, std::uint32_t>& constant_for,
               std::vector<std::uint32_t>& reads) {
    for (const auto& [parameter, constant] : constant_for) {
      if (!std::binary_search(step.touch.reads.begin(), step.touch.reads.end(), parameter)) continue;
      reads.push_back(constant);
      ir_.alignment[constant] = std::max(ir_.alignment[constant], ir_.alignment[parameter]);
    }
    for (Calls& calls : step.calls) {
      for (StateWord& word : calls.states) {
        const auto at = constant_for.find(word.variable);
        if (at != constant_for.end()) word.variable = at->second;
      }
    }
  }

  Ir& ir_;
  const CodeletLibrary& library_;
  std::map<std::uint32_t, std::uint32_t> owner_;  ///< function of a parameter
  std::set<std::uint32_t> by_value_;
  std::map<std::uint32_t, std::set<std::uint32_t>> steps_;  ///< by function: compute steps that read its parameters
  std::vector<std::vector<Arguments>> arguments_;           ///< by function, variant
  std::set<std::uint32_t> in_windows_;
};

}  // namespace

void resolve_parameters(Ir& ir, const CodeletLibrary& library) { Resolver(ir, library).run(); }

}  // namespace tessera::compiler
