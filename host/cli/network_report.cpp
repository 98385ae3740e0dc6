#include "host/cli/network_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/cli/node_figures.h"

namespace tessera::cli {

namespace {

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
  if (print)
    context.print(
        fmt::format("{:>11} {:>13} {:>10} {:>7} {:>7}  {}", "cycles", "MAC", "MAC/cycle", "peak", "AMP", "node"));
  for (const NodeFigures& entry : figures) {
    list.push_back(to_json(entry, tiles));
    if (!print || entry.work == 0) continue;
    const double rate = entry.cycles > 0 ? static_cast<double>(entry.work) / entry.cycles : 0;
    const std::string amp = entry.amp_tile_cycles > 0 ? fmt::format("{:.2f}%", 100 * entry.amp_share()) : "-";
    context.print(fmt::format("{:>11.0f} {:>13} {:>10.1f} {:>6.2f}% {:>7}  {}", entry.cycles, entry.work, rate,
                              100 * entry.peak_share(tiles), amp, entry.node->name));
  }
}

/// Nodes summed by kind; printed are those that the matrix engines compute.
void report_classes(Context& context, const std::vector<NodeFigures>& figures, double tiles, bool print) {
  auto& list = context.result["work_classes"] = nlohmann::ordered_json::array();
  for (const ClassFigures& entry : by_class(figures)) {
    list.push_back(to_json(entry, tiles));
    if (print && entry.amp_tile_cycles > 0)
      context.print(fmt::format(
          "AMP         {:.2f} % useful steps over compute cycles and active tiles: {} ({} nodes, {:.0f} cycles)",
          100 * entry.useful_steps / entry.amp_tile_cycles, entry.name, entry.nodes, entry.cycles));
  }
}

/// Cycles of a step of the loop; and of all nodes, the product of the inputs before the loop included: the input has
/// arrived, the output has not left. The bound is on the latter.
void report_latency(Context& context, const examples::LatencyBound& bound, const std::vector<NodeFigures>& figures,
                    const Machine& machine) {
  double sum = 0, loop = 0;
  for (const NodeFigures& entry : figures) sum += entry.cycles, loop += entry.loop_cycles;
  const auto cycles = static_cast<Cycle>(sum + 0.5);
  const double per_step = loop / static_cast<double>(bound.steps);
  const double microseconds = 1e6 * machine.platform().seconds(cycles);
  const bool met = microseconds <= static_cast<double>(bound.microseconds);
  context.result["latency"] = {{"steps", bound.steps},
                               {"cycles", cycles},
                               {"cycles_per_step", per_step},
                               {"cycles_before_steps", static_cast<Cycle>(sum - loop + 0.5)},
                               {"microseconds", microseconds},
                               {"bound_microseconds", bound.microseconds},
                               {"met", met}};
  context.print(fmt::format(
      "latency     {} steps of {:.1f} cycles, {:.0f} for the inputs before: {:.1f} us at {:.1f} GHz, bound {} us {}",
      bound.steps, per_step, sum - loop, microseconds, static_cast<double>(machine.platform().clock_hz) / 1e9,
      bound.microseconds, met ? "met" : "MISSED"));
}

}  // namespace

std::string report_network(Context& context, const LoadedModel& loaded, const NetworkReportOptions& options,
                           const CompiledModel& compiled, const Machine& machine, const DeviceRun& run) {
  const std::vector<NodeFigures> figures = figures_of(loaded.model, compiled, machine);
  double tiles = 0;
  for (const executable::Instance& instance : compiled.executable.instances)
    tiles += compiled.executable.programs.at(instance.program).tiles;
  std::uint64_t work = 0;
  double engine_cycles = 0;
  double in_nodes_sum = 0;
  for (const NodeFigures& entry : figures) {
    work += entry.work;
    engine_cycles += entry.engine_cycles;
    in_nodes_sum += entry.cycles;
  }
  const auto in_nodes = static_cast<Cycle>(in_nodes_sum + 0.5);
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
  report_classes(context, figures, tiles, print);
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
