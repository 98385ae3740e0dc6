#include "host/cli/node_figures.h"

#include <algorithm>
#include <map>

#include "host/onnx/work.h"

namespace tessera::cli {

namespace {

/// Multiply-accumulates of the matrix engine of a tile in a cycle (docs/machine/timing.md): the peak of its operand's
/// type.
double peak_rate(model::Type type) { return type == model::Type::f16 ? 32.0 : 8.0; }

/// End of the last place where a name stands in a path as whole segments: "main/batch/fc1/fc1 a". Names of nodes may
/// hold '/' themselves. 0 if it does not stand there.
std::size_t last_end(const std::string& path, const std::string& name) {
  if (name.empty()) return 0;
  for (std::size_t at = path.rfind(name); at != std::string::npos; at = at == 0 ? at : path.rfind(name, at - 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || path[at - 1] == '/') && (end == path.size() || path[end] == '/' || path[end] == ' ')) return end;
    if (at == 0) break;
  }
  return 0;
}

/// Whose steps stand at a path: the node named last in it, of several the longest name; and whether in a function.
struct Owner {
  std::size_t node = ~std::size_t{0};
  bool in_function = false;
  friend bool operator<(const Owner& a, const Owner& b) {
    return a.node != b.node ? a.node < b.node : a.in_function < b.in_function;
  }
};

class Owners {
 public:
  Owners(const model::Model& model, const executable::Executable& executable) : model_(model) {
    for (const executable::Program& program : executable.programs)
      for (const executable::EntryPoint& entry : program.entries) entries_.push_back(entry.name);
  }
  Owner of(const std::string& path) {
    const auto [at, is_new] = known_.try_emplace(path);
    if (is_new) at->second = find(path);
    return at->second;
  }

 private:
  [[nodiscard]] Owner find(const std::string& path) const {
    Owner owner;
    std::size_t best = 0;
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      const std::string& name = model_.nodes[i].name;
      const std::size_t end = last_end(path, name);
      if (end == 0 || end < best) continue;
      if (end == best && name.size() <= model_.nodes[owner.node].name.size()) continue;
      best = end;
      owner.node = i;
    }
    owner.in_function = std::none_of(entries_.begin(), entries_.end(), [&](const std::string& entry) {
      return path.compare(0, entry.size(), entry) == 0 && (path.size() == entry.size() || path[entry.size()] == '/');
    });
    return owner;
  }

  const model::Model& model_;
  std::vector<std::string> entries_;
  std::map<std::string, Owner> known_;
};

struct Sums {
  double cycles = 0, loop_cycles = 0, amp_cycles = 0, amp_tile_cycles = 0;
};

std::map<Owner, Sums> sums_by_owner(const model::Model& model, const executable::Executable& executable,
                                    const Machine& machine) {
  std::map<Owner, Sums> sums;
  Owners owners(model, executable);
  const profile::CycleProfile& profile = machine.profile();
  const std::map<std::string, profile::AmpSpan> spans = machine.amp_spans().spans();
  for (unsigned number = 0; number < std::min<std::size_t>(profile.programs(), executable.programs.size()); ++number) {
    const executable::Program& program = executable.programs[number];
    for (const auto& [pc, step] : profile.steps(number))
      if (const executable::Step* at = executable::find_step(program, pc)) {
        const Owner owner = owners.of(at->path);
        Sums& sum = sums[owner];
        sum.cycles += static_cast<double>(step.cycles);
        if (owner.node < model.nodes.size() && last_end(at->path, model.nodes[owner.node].name + " steps") != 0)
          sum.loop_cycles += static_cast<double>(step.cycles);
      }
  }
  std::map<std::string, Owner> of_set;  // the first step of that name
  for (const executable::Program& program : executable.programs)
    for (const executable::Step& step : program.steps)
      if (step.kind == executable::Step::Kind::compute) of_set.try_emplace(step.name, owners.of(step.path));
  for (const auto& [name, span] : spans) {
    const auto at = of_set.find(name);
    if (at == of_set.end()) continue;
    sums[at->second].amp_cycles += static_cast<double>(span.cycles);
    sums[at->second].amp_tile_cycles += static_cast<double>(span.tile_cycles);
  }
  return sums;
}

void add(NodeFigures& entry, const Sums& sums, double share) {
  entry.cycles += sums.cycles * share;
  entry.loop_cycles += sums.loop_cycles * share;
  entry.amp_cycles += sums.amp_cycles * share;
  entry.amp_tile_cycles += sums.amp_tile_cycles * share;
}

}  // namespace

std::vector<NodeFigures> figures_of(const model::Model& model, const CompiledModel& compiled, const Machine& machine) {
  const std::map<Owner, Sums> sums = sums_by_owner(model, compiled.executable, machine);
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < model.nodes.size(); ++i) index.emplace(model.nodes[i].name, i);
  std::map<std::string, const nn::NodePlace*> places;
  for (const nn::NodePlace& place : compiled.places) places.emplace(place.node, &place);
  const auto sum_at = [&](std::size_t node, bool in_function) {
    const auto at = sums.find({node, in_function});
    return at == sums.end() ? Sums() : at->second;
  };
  std::vector<NodeFigures> figures;
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    const model::Node& node = model.nodes[i];
    NodeFigures entry;
    entry.node = &node;
    entry.kind = model::work_class(model, node);
    entry.work = model::multiply_accumulates(model, node);
    entry.flop = model::floating_operations(model, node);
    if (entry.work != 0) {
      const double rate = peak_rate(model.value(node.inputs.at(0)).type);
      entry.engine_cycles = static_cast<double>(entry.work) / rate;
      entry.useful_steps = static_cast<double>(model::engine_work(model, node)) / rate;
    }
    add(entry, sum_at(i, false), 1);
    const auto place = places.find(node.name);
    if (place == places.end()) {
      add(entry, sum_at(i, true), 1);
    } else {
      entry.calls = place->second->calls;
      if (place->second->taken_along)
        entry.taken_along = place->second->steps;
      else
        add(entry, sum_at(index.at(place->second->steps), true), 1.0 / entry.calls);
    }
    figures.push_back(entry);
  }
  return figures;
}

std::vector<ClassFigures> by_class(const std::vector<NodeFigures>& figures) {
  std::map<std::string, ClassFigures> classes;
  for (const NodeFigures& entry : figures) {
    ClassFigures& sum = classes[entry.kind];
    sum.name = entry.kind;
    ++sum.nodes;
    sum.work += entry.work;
    sum.flop += entry.flop;
    sum.engine_cycles += entry.engine_cycles;
    sum.cycles += entry.cycles;
    if (entry.amp_tile_cycles <= 0) continue;
    sum.useful_steps += entry.useful_steps;
    sum.amp_tile_cycles += entry.amp_tile_cycles;
  }
  std::vector<ClassFigures> result;
  for (auto& [name, sum] : classes) result.push_back(std::move(sum));
  std::stable_sort(result.begin(), result.end(),
                   [](const ClassFigures& a, const ClassFigures& b) { return a.cycles > b.cycles; });
  return result;
}

nlohmann::ordered_json to_json(const NodeFigures& figures, double tiles) {
  nlohmann::ordered_json json = {
      {"node", figures.node->name},
      {"operator", std::string(model::name_of(figures.node->op))},
      {"class", figures.kind},
      {"cycles", static_cast<Cycle>(figures.cycles + 0.5)},
      {"multiply_accumulates", figures.work},
      {"flop", figures.flop},
      {"multiply_accumulates_per_cycle", figures.cycles > 0 ? static_cast<double>(figures.work) / figures.cycles : 0},
      {"utilisation", figures.peak_share(tiles)}};
  if (figures.calls > 1) json["calls"] = figures.calls;
  if (!figures.taken_along.empty()) json["computed_with"] = figures.taken_along;
  if (figures.amp_tile_cycles > 0)
    json["amp"] = {{"cycles", figures.amp_cycles},
                   {"active_tiles", figures.amp_tile_cycles / figures.amp_cycles},
                   {"useful_steps", figures.useful_steps},
                   {"utilisation", figures.amp_share()}};
  return json;
}

nlohmann::ordered_json to_json(const ClassFigures& figures, double tiles) {
  nlohmann::ordered_json json = {
      {"class", figures.name},
      {"nodes", figures.nodes},
      {"cycles", static_cast<Cycle>(figures.cycles + 0.5)},
      {"multiply_accumulates", figures.work},
      {"flop", figures.flop},
      {"utilisation", figures.cycles > 0 ? figures.engine_cycles / (figures.cycles * tiles) : 0}};
  if (figures.amp_tile_cycles > 0) json["amp_utilisation"] = figures.useful_steps / figures.amp_tile_cycles;
  return json;
}

}  // namespace tessera::cli
