#include "host/cli/network_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "host/onnx/work.h"

namespace tessera::cli {

namespace {

/// Multiply-accumulates of the matrix engine of a tile in a cycle (docs/machine/timing.md): the peak of its operand's
/// type.
double peak_rate(model::Type type) { return type == model::Type::f16 ? 32.0 : 8.0; }

struct NodeFigures {
  const model::Node* node = nullptr;
  std::uint64_t work = 0;
  double engine_cycles = 0;  ///< that one tile would take at its peak
  Cycle cycles = 0;          ///< of the node's supersteps, over all executions
};

/// Where a name begins last in a step's path, which goes from the outermost inwards: "main/batch/fc1/fc1 a"; npos if it
/// does not stand there. Names of nodes may hold '/' themselves.
std::size_t place_in(const std::string& path, const std::string& name) {
  for (std::size_t at = path.rfind(name); at != std::string::npos;
       at = at == 0 ? std::string::npos : path.rfind(name, at - 1)) {
    const bool begins = at == 0 || path[at - 1] == '/';
    const std::size_t end = at + name.size();
    if (begins && (end == path.size() || path[end] == '/' || path[end] == ' ')) return at;
  }
  return std::string::npos;
}

/// Cycles by step path, of all programs.
std::map<std::string, Cycle> cycles_by_path(const executable::Executable& executable, const Machine& machine) {
  std::map<std::string, Cycle> sums;
  const profile::CycleProfile& profile = machine.profile();
  for (unsigned program = 0; program < std::min<std::size_t>(profile.programs(), executable.programs.size()); ++program)
    for (const auto& [pc, sum] : profile.steps(program)) {
      const executable::Step* step = executable::find_step(executable.programs[program], pc);
      if (step != nullptr) sums[step->path] += sum.cycles;
    }
  return sums;
}

std::vector<NodeFigures> figures_of(const model::Model& model, const executable::Executable& executable,
                                    const Machine& machine) {
  std::vector<NodeFigures> figures;
  const std::map<std::string, Cycle> paths = cycles_by_path(executable, machine);
  for (const model::Node& node : model.nodes) {
    NodeFigures entry;
    entry.node = &node;
    entry.work = model::multiply_accumulates(model, node);
    if (entry.work != 0)
      entry.engine_cycles = static_cast<double>(entry.work) / peak_rate(model.value(node.inputs.at(0)).type);
    figures.push_back(entry);
  }
  // A path goes to the innermost node in it: the call of a function that several layers share carries a node's name
  // too.
  for (const auto& [path, cycles] : paths) {
    NodeFigures* innermost = nullptr;
    std::size_t deepest = 0;
    for (NodeFigures& entry : figures) {
      const std::size_t at = place_in(path, entry.node->name);
      if (at == std::string::npos || (innermost != nullptr && at < deepest)) continue;
      if (innermost != nullptr && at == deepest && entry.node->name.size() < innermost->node->name.size()) continue;
      innermost = &entry, deepest = at;
    }
    if (innermost != nullptr) innermost->cycles += cycles;
  }
  return figures;
}

std::uint64_t most(const nlohmann::ordered_json& tiles, const char* key) {
  std::uint64_t value = 0;
  for (const auto& tile : tiles) value = std::max(value, tile.at(key).get<std::uint64_t>());
  return value;
}

}  // namespace

/// From the compiler's report.
void report_memory(Context& context, const CompiledModel& compiled, bool print) {
  if (!compiled.report.contains("memory")) return;
  const auto& memory = compiled.report.at("memory");
  const auto& categories = memory.at("categories");
  nlohmann::ordered_json json;
  std::uint64_t sum = 0;
  std::string text;
  const auto add = [&](const std::string& name, std::uint64_t bytes) {
    json[name] = bytes;
    sum += bytes;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, bytes);
  };
  add("data", memory.at("largest_tile").at("peak").get<std::uint64_t>());
  add("code", categories.at("code").get<std::uint64_t>());
  add("control", categories.at("start").get<std::uint64_t>() + categories.at("control").get<std::uint64_t>() +
                     categories.at("steps").get<std::uint64_t>());
  add("lists", most(memory.at("tiles"), "lists"));
  add("exchange", most(memory.at("tiles"), "exchange"));
  add("stacks", categories.at("stacks").get<std::uint64_t>());
  json["sum"] = sum;
  json["sram_bytes"] = memory.at("sram_bytes");
  context.result["memory"] = json;
  if (print)
    context.print(fmt::format("memory      at most {} of {} bytes of a tile: {}", sum,
                              memory.at("sram_bytes").get<std::uint64_t>(), text));
}

namespace {

void report_nodes(Context& context, const std::vector<NodeFigures>& figures, double tiles, bool print) {
  auto& list = context.result["node_work"] = nlohmann::ordered_json::array();
  if (print) context.print(fmt::format("{:>11} {:>13} {:>10} {:>7}  {}", "cycles", "MAC", "MAC/cycle", "peak", "node"));
  for (const NodeFigures& entry : figures) {
    const double cycles = static_cast<double>(entry.cycles);
    const double rate = entry.cycles == 0 ? 0 : static_cast<double>(entry.work) / cycles;
    const double share = entry.cycles == 0 ? 0 : entry.engine_cycles / (cycles * tiles);
    list.push_back({{"node", entry.node->name},
                    {"operator", std::string(model::name_of(entry.node->op))},
                    {"cycles", entry.cycles},
                    {"multiply_accumulates", entry.work},
                    {"multiply_accumulates_per_cycle", rate},
                    {"utilisation", share}});
    if (print && entry.work != 0)
      context.print(fmt::format("{:>11} {:>13} {:>10.1f} {:>6.2f}%  {}", entry.cycles, entry.work, rate, 100 * share,
                                entry.node->name));
  }
}

/// Cycles of the recurrence alone: the input has arrived, the output has not left.
void report_latency(Context& context, const examples::LatencyBound& bound, const std::vector<NodeFigures>& figures,
                    const Machine& machine) {
  Cycle cycles = 0;
  for (const NodeFigures& entry : figures) cycles += entry.cycles;
  const double per_step = static_cast<double>(cycles) / static_cast<double>(bound.steps);
  const double microseconds = 1e6 * machine.platform().seconds(cycles);
  const bool met = microseconds <= static_cast<double>(bound.microseconds);
  context.result["latency"] = {{"steps", bound.steps},
                               {"cycles", cycles},
                               {"cycles_per_step", per_step},
                               {"microseconds", microseconds},
                               {"bound_microseconds", bound.microseconds},
                               {"met", met}};
  context.print(
      fmt::format("latency     {} steps of {:.1f} cycles, {:.2f} us each: {:.1f} us at {:.1f} GHz, bound {} us {}",
                  bound.steps, per_step, microseconds / static_cast<double>(bound.steps), microseconds,
                  static_cast<double>(machine.platform().clock_hz) / 1e9, bound.microseconds, met ? "met" : "MISSED"));
}

}  // namespace

std::string report_network(Context& context, const LoadedModel& loaded, const NetworkReportOptions& options,
                           const CompiledModel& compiled, const Machine& machine, const DeviceRun& run) {
  const std::vector<NodeFigures> figures = figures_of(loaded.model, compiled.executable, machine);
  double tiles = 0;
  for (const executable::Instance& instance : compiled.executable.instances)
    tiles += compiled.executable.programs.at(instance.program).tiles;
  std::uint64_t work = 0;
  double engine_cycles = 0;
  Cycle in_nodes = 0;
  for (const NodeFigures& entry : figures) {
    work += entry.work;
    engine_cycles += entry.engine_cycles;
    in_nodes += entry.cycles;
  }
  const double cycles = static_cast<double>(run.cycles);
  const double utilisation = run.cycles == 0 ? 0 : engine_cycles / (cycles * tiles);
  const double in_node_utilisation = in_nodes == 0 ? 0 : engine_cycles / (static_cast<double>(in_nodes) * tiles);
  context.result["work"] = {
      {"multiply_accumulates", work},
      {"multiply_accumulates_per_cycle", run.cycles == 0 ? 0.0 : static_cast<double>(work) / cycles},
      {"utilisation", utilisation},
      {"cycles_in_nodes", in_nodes},
      {"utilisation_in_nodes", in_node_utilisation}};
  const bool example = loaded.example.has_value();
  const bool print = example || options.nodes;
  report_nodes(context, figures, tiles, options.nodes || (example && loaded.example->per_node));
  if (print && work != 0) {
    context.print(
        fmt::format("work        {} multiply-accumulates, {:.1f} a cycle: {:.2f} % of the matrix engines' peak", work,
                    static_cast<double>(work) / cycles, 100 * utilisation));
    context.print(fmt::format("nodes       {} cycles without streams from and to the host: {:.2f} % of the peak",
                              in_nodes, 100 * in_node_utilisation));
  }
  report_memory(context, compiled, print);
  if (example && loaded.example->latency) report_latency(context, *loaded.example->latency, figures, machine);
  if (!example || loaded.example->least_accuracy <= 0) return {};
  const double accuracy = context.result["accuracy"]["share"].get<double>();
  if (accuracy >= loaded.example->least_accuracy) return {};
  return fmt::format("accuracy {:.2f} %, but at least {:.2f} % were expected", 100 * accuracy,
                     100 * loaded.example->least_accuracy);
}

}  // namespace tessera::cli
