#include "host/cli/node_check.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::cli {

namespace {

using golden::NodeResult;

/// Tile and address of an element, as far as it is mapped.
const executable::TensorRun* run_of(const executable::TensorMap& map, std::int64_t element) {
  const auto index = static_cast<std::uint64_t>(element);
  for (const executable::TensorRun& run : map.runs)
    if (index >= run.element && index - run.element < run.count) return &run;
  return nullptr;
}

/// Compute sets whose program path goes through the node, in order, each once.
std::vector<std::string> compute_sets(const executable::Program& program, const std::string& node) {
  std::vector<std::string> result;
  for (const executable::Step& step : program.steps) {
    if (step.kind != executable::Step::Kind::compute) continue;
    if (("/" + step.path + "/").find("/" + node + "/") == std::string::npos) continue;
    if (std::find(result.begin(), result.end(), step.name) == result.end()) result.push_back(step.name);
  }
  return result;
}

struct Place {
  unsigned ipu = 0;
  const executable::TensorRun* run = nullptr;
  Address address = 0;
  std::vector<std::string> sets;

  [[nodiscard]] std::string text() const {
    std::string text;
    if (run != nullptr) text = fmt::format("on tile {} of IPU {} at 0x{:05x}", run->tile, ipu, address);
    if (!sets.empty()) {
      text += fmt::format(
          "{}compute set{} {}", text.empty() ? "" : ", ", sets.size() == 1 ? "" : "s",
          fmt::join(sets.begin(), sets.begin() + std::min<std::ptrdiff_t>(4, static_cast<std::ptrdiff_t>(sets.size())),
                    ", "));
      if (sets.size() > 4) text += fmt::format(" and {} more", sets.size() - 4);
    }
    return text;
  }
};

/// Where the worst element stood when it was read: of a batch, in its round on its IPU.
Place place_of(const CompiledModel& compiled, const NodeResult& result) {
  const executable::Program& program = compiled.executable.programs.front();
  Place place;
  place.sets = compute_sets(program, result.node);
  for (const executable::Tap& tap : program.taps) {
    if (std::find(tap.names.begin(), tap.names.end(), result.value) == tap.names.end()) continue;
    const executable::TensorMap& map = *executable::find_tensor(program, tap.tensor);
    const auto elements = static_cast<std::int64_t>(graph::element_count(map.shape));
    const auto& instances = compiled.executable.instances;
    place.ipu = instances[static_cast<std::size_t>(result.worst->index / elements) % instances.size()].ipu;
    const std::int64_t element = result.worst->index % elements;
    place.run = run_of(map, element);
    if (place.run != nullptr)
      place.address = static_cast<Address>(place.run->address +
                                           (element - static_cast<std::int64_t>(place.run->element)) * place.run->step);
  }
  return place;
}

/// Numbers that say nothing (no bound, no comparison) are null.
nlohmann::ordered_json finite(double x) { return std::isfinite(x) ? nlohmann::ordered_json(x) : nullptr; }

nlohmann::ordered_json row(const NodeResult& r) {
  nlohmann::ordered_json row = nlohmann::ordered_json::array();
  row.push_back(r.node);
  row.push_back(name_of(r.op));
  row.push_back(r.value);
  row.push_back(name_of(r.type));
  row.push_back(r.values);
  row.push_back(r.wrong);
  row.push_back(r.max_ulp);
  row.push_back(finite(r.max_abs));
  row.push_back(finite(r.max_rel));
  row.push_back(finite(r.used));
  row.push_back(r.tolerance);
  row.push_back(r.through);
  return row;
}

}  // namespace

golden::NodeReport check_nodes(const model::Model& model, const std::vector<model::Tensor>& inputs,
                               const std::map<std::string, model::Tensor>& nodes) {
  return golden::check_nodes(model, inputs, [&](model::ValueId id) -> std::optional<model::Tensor> {
    const auto found = nodes.find(model.value(id).name);
    if (found == nodes.end()) return std::nullopt;
    return found->second;
  });
}

void add_nodes(nlohmann::ordered_json& result, const CompiledModel& compiled, const golden::NodeReport& report) {
  auto& json = result["nodes"];
  json["passes"] = report.passes();
  json["nodes"] = report.nodes;
  json["compared"] = report.results.size();
  json["unread"] = report.unread;
  json["values"] = report.values;
  json["wrong"] = report.wrong;
  if (const NodeResult* first = report.first_wrong()) {
    const Place place = place_of(compiled, *first);
    auto& entry = json["first_wrong"];
    entry["node"] = first->node;
    entry["op"] = name_of(first->op);
    entry["value"] = first->value;
    entry["index"] = first->worst->index;
    entry["position"] = first->worst->position;
    entry["result"] = finite(first->worst->result);
    entry["reference"] = finite(first->worst->reference);
    entry["allowed"] = first->allowed;
    entry["ipu"] = place.ipu;
    if (place.run != nullptr) {
      entry["tile"] = place.run->tile;
      entry["address"] = place.address;
    }
    entry["compute_sets"] = place.sets;
  }
  json["columns"] = {"node",    "op",      "value",   "type", "values",    "wrong",
                     "max_ulp", "max_abs", "max_rel", "used", "tolerance", "through"};
  auto& rows = json["rows"] = nlohmann::ordered_json::array();
  for (const NodeResult& r : report.results) rows.push_back(row(r));
}

std::vector<std::string> node_lines(const CompiledModel& compiled, const golden::NodeReport& report) {
  constexpr std::size_t kMostRows = 8;
  std::vector<const NodeResult*> nearest;
  for (const NodeResult& result : report.results)
    if (result.worst) nearest.push_back(&result);
  std::stable_sort(nearest.begin(), nearest.end(),
                   [](const NodeResult* a, const NodeResult* b) { return a->used > b->used; });
  std::vector<std::string> lines = {
      "nodes       " + report.text() +
      (report.unread > 0 ? fmt::format("; {} nodes without a result to read", report.unread) : "")};
  if (nearest.empty()) return lines;
  lines.push_back(fmt::format("{:>12} {:>9} {:>8} {:>10} {:>10} {:>8}  node", "values", "wrong", "ulp", "absolute",
                              "relative", "allowed"));
  for (std::size_t i = 0; i < std::min(kMostRows, nearest.size()); ++i) {
    const NodeResult& r = *nearest[i];
    lines.push_back(fmt::format("{:>12} {:>9} {:>8} {:>10.2g} {:>10.2g} {:>7.1f}%  {} ({}, {})", r.values, r.wrong,
                                r.max_ulp, r.max_abs, r.max_rel, 100.0 * r.used, r.node, name_of(r.op),
                                name_of(r.type)));
  }
  if (nearest.size() > kMostRows)
    lines.push_back(
        fmt::format("             and {} more nodes, all nearer to the reference", nearest.size() - kMostRows));
  if (const NodeResult* first = report.first_wrong())
    lines.push_back("            " + place_of(compiled, *first).text());
  return lines;
}

std::string node_failure(const CompiledModel& compiled, const golden::NodeReport& report) {
  if (report.passes()) return {};
  const NodeResult* first = report.first_wrong();
  // Only views, or tensors without elements: the outputs alone are compared.
  if (first == nullptr && compiled.taps.empty()) return {};
  if (first == nullptr) return "no node has a result that could be read: nothing was compared";
  const std::string place = place_of(compiled, *first).text();
  return report.text() + (place.empty() ? "" : "; " + place) + "; tolerance: " + first->tolerance;
}

}  // namespace tessera::cli
