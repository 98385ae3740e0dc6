// Checks of a whole graph that need no codelet signature: programs, streams, mapping, who may write what. Every message
// names both sides by the names the user gave.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "host/graph/graph.h"
#include "hw/error.h"

namespace tessera::graph {

namespace {

class Validator {
 public:
  explicit Validator(const Graph& graph) : graph_(graph), state_(graph.functions().size(), 0) {
    for (std::uint32_t f = 0; f < graph.functions().size(); ++f) {
      for (const VariableId id : graph.functions()[f].parameters) owner_[id] = f;
    }
  }

  void run() {
    for (const Variable& v : graph_.variables()) check_mapping(v);
    if (graph_.entries().empty()) fail("the graph has no entry point", "graph", "add_entry(name, program)");
    for (const Entry& e : graph_.entries()) check(e.program, "entry " + e.name);
    for (std::size_t f = 0; f < graph_.functions().size(); ++f) check_function(static_cast<std::uint32_t>(f));
    for (const Exposed& e : graph_.exposed()) check_parameters(e.tensor, "exposed tensor " + e.name);
  }

 private:
  [[noreturn]] static void fail(const std::string& what, const std::string& where, const std::string& advice = {}) {
    throw Error(Category::usage, what, where, advice);
  }

  std::string describe(const Tensor& t) const {
    return fmt::format("{} ({}{})", graph_.names(t), name_of(t.type()), to_string(t.shape()));
  }

  void check_mapping(const Variable& v) const {
    std::uint64_t at = 0;
    for (const TileInterval& i : v.mapping) {
      if (i.begin != at) break;
      at = i.end;
    }
    if (at < v.elements()) {
      fail(fmt::format("element {} of {} is on no tile", at, v.elements()), "variable " + v.name,
           "map every element of the variable to a tile");
    }
  }

  void check_tensor(const Tensor& t, const std::string& path) const {
    if (!t.valid()) fail("a tensor that was never made", path);
    for (const Box& box : t.boxes()) {
      if (box.variable.index >= graph_.variables().size()) fail("a tensor of another graph", path);
    }
    check_parameters(t, path);
  }

  /// A parameter stands for something within its own function only.
  void check_parameters(const Tensor& t, const std::string& path) const {
    if (owner_.empty()) return;
    for (const Box& box : t.boxes()) {
      const auto owner = owner_.find(box.variable);
      if (owner == owner_.end() || owner->second == inside_) continue;
      fail(fmt::format("{} is used outside of function {}, whose parameter it is", graph_.variable(box.variable).name,
                       graph_.functions()[owner->second].name),
           path, "use the constant that a call gives");
    }
  }

  void check_written(const Tensor& t, const std::string& path) const {
    check_tensor(t, path);
    for (const Box& box : t.boxes()) {
      const Variable& v = graph_.variable(box.variable);
      if (v.constant() && !v.initial) fail(fmt::format("constant {} is written", v.name), path, "use a variable");
      if (v.parameter) fail(fmt::format("parameter {} is written", v.name), path, "use a variable");
    }
    if (t.aliases_itself()) fail(fmt::format("{} is written, but holds one element twice", describe(t)), path);
  }

  void check_pair(const Tensor& src, const Tensor& dst, const std::string& path) const {
    check_tensor(src, path);
    check_written(dst, path);
    if (src.type() != dst.type() || src.shape() != dst.shape()) {
      fail(fmt::format("{} is copied to {}: type and shape must be equal", describe(src), describe(dst)), path,
           "reshape the view, or convert with a codelet");
    }
    if (!src.same_view(dst)) check_disjoint(src, dst, path);
  }

  void check_disjoint(const Tensor& a, const Tensor& b, const std::string& path) const {
    std::map<VariableId, std::vector<std::pair<std::uint64_t, std::uint64_t>>> ranges;
    const auto each = [](const Run& run, auto&& f) {
      const bool dense = run.count == 1 || run.stride == 1;
      const std::uint64_t steps = dense ? 1 : run.count;
      for (std::uint64_t i = 0; i < steps; ++i) {
        const auto first = static_cast<std::uint64_t>(run.first + static_cast<std::int64_t>(i) * run.stride);
        f(first, first + (dense ? run.count : 1));
      }
    };
    std::set<VariableId> of_a;
    for (const Box& box : a.boxes()) of_a.insert(box.variable);
    const bool shared =
        std::any_of(b.boxes().begin(), b.boxes().end(), [&](const Box& box) { return of_a.count(box.variable) != 0; });
    if (!shared) return;
    a.for_each_run([&](const Run& run) {
      each(run, [&](std::uint64_t from, std::uint64_t to) { ranges[run.variable].emplace_back(from, to); });
    });
    for (auto& [variable, list] : ranges) {
      std::sort(list.begin(), list.end());
      for (std::size_t i = 1; i < list.size(); ++i) list[i].second = std::max(list[i].second, list[i - 1].second);
    }
    b.for_each_run([&](const Run& run) {
      const auto found = ranges.find(run.variable);
      if (found == ranges.end()) return;
      each(run, [&](std::uint64_t from, std::uint64_t to) {
        const auto& list = found->second;
        auto at = std::upper_bound(list.begin(), list.end(), std::make_pair(to, std::uint64_t{0}));
        // Second members are running maxima, so only the last range that starts before `to` matters.
        if (at != list.begin() && std::prev(at)->second > from) {
          fail(fmt::format("{} and {} overlap", describe(a), describe(b)), path, "copy through another variable");
        }
      });
    });
  }

  void check_scalar(const Tensor& t, const std::string& what, const std::string& path) const {
    check_tensor(t, path);
    if (t.elements() != 1) fail(fmt::format("{} {} must have one element", what, describe(t)), path);
    if (t.type() == Type::f32 || t.type() == Type::f16) {
      fail(fmt::format("{} {} must be bool or integer", what, describe(t)), path);
    }
  }

  void check_stream(StreamId id, const Tensor& t, bool input, const std::string& path) const {
    if (id.index >= graph_.streams().size()) fail("a stream that is not there", path);
    const Stream& s = graph_.streams()[id.index];
    check_tensor(t, path);
    if (s.input != input) {
      fail(fmt::format("stream {} is {}, used with {} as {}", s.name, s.input ? "an input" : "an output", describe(t),
                       input ? "an input" : "an output"),
           path);
    }
    if (s.type != t.type() || s.elements != t.elements()) {
      fail(fmt::format("stream {} moves {} elements of {}, {} does not fit", s.name, s.elements, name_of(s.type),
                       describe(t)),
           path);
    }
    if (input) check_written(t, path);
  }

  void check_dynamic(const Tensor& whole, const Tensor& index, const Tensor& part, const std::string& path) const {
    check_tensor(whole, path);
    check_tensor(part, path);
    check_scalar(index, "index", path);
    if (index.type() != Type::i32 && index.type() != Type::u32) {
      fail(fmt::format("index {} must be i32 or u32", describe(index)), path);
    }
    Shape shape = whole.shape();
    if (!shape.empty() && part.rank() == whole.rank()) shape[0] = part.dim(0);
    if (shape.empty() || shape != part.shape() || whole.type() != part.type() || part.dim(0) > whole.dim(0)) {
      fail(fmt::format("{} is no part of {} along axis 0", describe(part), describe(whole)), path);
    }
    check_disjoint(whole, part, path);
  }

  void check_function(std::uint32_t f) {
    if (state_[f] == 2) return;
    const Function& function = graph_.functions()[f];
    if (state_[f] == 1) fail("a function calls itself", "function " + function.name, "use a loop");
    state_[f] = 1;
    const std::uint32_t outside = std::exchange(inside_, f);
    check(function.body, "function " + function.name);
    inside_ = outside;
    state_[f] = 2;
  }

  void check(const Program& program, const std::string& parent) {
    const std::string path = program.name().empty() ? parent : parent + "/" + program.name();
    std::visit([&](const auto& p) { check_node(p, path); }, program.node());
  }

  void check_node(const Program::Sequence& p, const std::string& path) {
    for (const Program& step : p.steps) check(step, path);
  }
  void check_node(const Program::Execute& p, const std::string& path) {
    if (p.compute_set.index >= graph_.compute_sets().size()) fail("a compute set that is not there", path);
    if (owner_.empty()) return;
    for (const std::uint32_t v : graph_.compute_sets()[p.compute_set.index].vertices) {
      for (const Field& field : graph_.vertices()[v].fields) {
        if (const auto* tensor = std::get_if<Tensor>(&field.value)) check_parameters(*tensor, path);
      }
    }
  }
  void check_node(const Program::Copy& p, const std::string& path) { check_pair(p.src, p.dst, path); }
  void check_node(const Program::Repeat& p, const std::string& path) { check(*p.body, path); }
  void check_node(const Program::RepeatWhile& p, const std::string& path) {
    check(*p.condition, path);
    check_scalar(p.predicate, "predicate", path);
    check(*p.body, path);
  }
  void check_node(const Program::If& p, const std::string& path) {
    check_scalar(p.predicate, "predicate", path);
    check(*p.then_branch, path);
    check(*p.else_branch, path);
  }
  void check_node(const Program::Switch& p, const std::string& path) {
    check_scalar(p.selector, "selector", path);
    if (p.selector.type() != Type::i32 && p.selector.type() != Type::u32) {
      fail(fmt::format("selector {} must be i32 or u32", describe(p.selector)), path, "widen it with a codelet");
    }
    for (const Program& c : p.cases) check(c, path);
    check(*p.fallback, path);
  }
  void check_node(const Program::Call& p, const std::string& path) {
    if (p.function.index >= graph_.functions().size()) fail("a function that is not there", path);
    check_function(p.function.index);
    check_arguments(p, graph_.functions()[p.function.index], path);
  }

  void check_arguments(const Program::Call& p, const Function& function, const std::string& path) const {
    if (p.arguments.size() != function.parameters.size()) {
      fail(fmt::format("{} arguments for function {}, which has {} parameters", p.arguments.size(), function.name,
                       function.parameters.size()),
           path);
    }
    for (std::size_t i = 0; i < p.arguments.size(); ++i) {
      if (p.arguments[i].index >= graph_.variables().size()) fail("an argument of another graph", path);
      const Variable& argument = graph_.variable(p.arguments[i]);
      const Variable& parameter = graph_.variable(function.parameters[i]);
      const auto pair = [&] { return fmt::format("{} for parameter {}", argument.name, parameter.name); };
      if (!argument.constant()) fail(pair() + " is no constant", path, "give a constant, or copy to a variable");
      if (argument.type != parameter.type || argument.shape != parameter.shape) {
        fail(fmt::format("{}: {}{} is not {}{}", pair(), name_of(argument.type), to_string(argument.shape),
                         name_of(parameter.type), to_string(parameter.shape)),
             path);
      }
      if (!(argument.mapping == parameter.mapping)) fail(pair() + " lies on other tiles", path, "map it like that");
    }
  }
  void check_node(const Program::Sync& p, const std::string& path) {
    if (p.zone != Zone::internal) fail("only internal syncs stand alone in a program", path);
  }
  void check_node(const Program::StreamIn& p, const std::string& path) { check_stream(p.stream, p.dst, true, path); }
  void check_node(const Program::StreamOut& p, const std::string& path) { check_stream(p.stream, p.src, false, path); }
  void check_node(const Program::DynamicSlice& p, const std::string& path) {
    check_written(p.dst, path);
    check_dynamic(p.src, p.index, p.dst, path);
  }
  void check_node(const Program::DynamicUpdate& p, const std::string& path) {
    check_written(p.dst, path);
    check_dynamic(p.dst, p.index, p.src, path);
  }
  void check_node(const Program::WriteUndef& p, const std::string& path) { check_tensor(p.tensor, path); }
  void check_node(const Program::Print& p, const std::string& path) { check_tensor(p.tensor, path); }
  void check_node(const Program::Tap& p, const std::string& path) {
    check_tensor(p.tensor, path);
    if (p.names.empty()) fail(fmt::format("a tap of {} without a name", describe(p.tensor)), path);
  }
  void check_node(const Program::Abort& p, const std::string& path) {
    if (p.message.empty()) fail("an abort without a message", path, "say what went wrong");
  }

  const Graph& graph_;
  std::vector<int> state_;                     // of functions: 0 new, 1 being checked, 2 checked
  std::map<VariableId, std::uint32_t> owner_;  // function of each parameter
  std::uint32_t inside_ = 0xFFFFFFFF;          // function being checked
};

}  // namespace

void validate(const Graph& graph) { Validator(graph).run(); }

}  // namespace tessera::graph
