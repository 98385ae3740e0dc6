#include "host/cli/node_check.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::cli {

namespace {

using golden::NodeResult;

const executable::Program& program_of(const CompiledModel& compiled, std::size_t instance) {
  return compiled.executable.programs.at(compiled.executable.instances.at(instance).program);
}

/// The step of the batch's streams that an instance served last.
std::uint64_t last_step(const CompiledModel& compiled, std::size_t instance) {
  if (compiled.chunk == 0) return 0;
  const auto replicas = static_cast<std::int64_t>(compiled.executable.instances.size());
  const std::int64_t share = (compiled.batch + replicas - 1) / replicas;
  const std::int64_t rounds = (share + compiled.chunk - 1) / compiled.chunk;
  return static_cast<std::uint64_t>((rounds - 1) * replicas) + instance;
}

/// What the streams brought in that step: rows behind the batch are zero.
std::vector<model::Tensor> inputs_of_step(const model::Model& model, const CompiledModel& compiled,
                                          const std::vector<model::Tensor>& inputs, std::uint64_t step) {
  std::vector<model::Tensor> result;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const nn::Binding& binding = compiled.inputs[i];
    if (binding.rows == 0 || !binding.streamed()) {
      result.push_back(inputs[i]);
      continue;
    }
    const model::Value& value = model.value(model.inputs[i]);
    result.emplace_back(value.type, value.shape);
    nn::fill_step(binding, inputs[i], step, result.back().data.data());
  }
  return result;
}

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

Place place_of(const CompiledModel& compiled, std::size_t instance, const NodeResult& result) {
  const executable::Program& program = program_of(compiled, instance);
  Place place;
  place.ipu = compiled.executable.instances[instance].ipu;
  place.sets = compute_sets(program, result.node);
  if (const executable::TensorMap* map = executable::find_tensor(program, result.value)) {
    place.run = run_of(*map, result.worst->index);
    if (place.run != nullptr)
      place.address = static_cast<Address>(
          place.run->address + (result.worst->index - static_cast<std::int64_t>(place.run->element)) * place.run->step);
  }
  return place;
}

/// The first wrong result of the first instance that has one.
std::pair<std::size_t, const NodeResult*> first_wrong(const std::vector<InstanceCheck>& checks) {
  for (std::size_t i = 0; i < checks.size(); ++i)
    if (const NodeResult* result = checks[i].report.first_wrong()) return {i, result};
  return {0, nullptr};
}

struct Sums {
  std::uint64_t values = 0, wrong = 0;
};
Sums sums_of(const std::vector<InstanceCheck>& checks) {
  Sums sums;
  for (const InstanceCheck& check : checks) {
    sums.values += check.report.values;
    sums.wrong += check.report.wrong;
  }
  return sums;
}

bool passes(const std::vector<InstanceCheck>& checks) {
  return !checks.empty() &&
         std::all_of(checks.begin(), checks.end(), [](const InstanceCheck& check) { return check.report.passes(); });
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

std::vector<InstanceCheck> check_nodes(const model::Model& model, const CompiledModel& compiled,
                                       const std::vector<model::Tensor>& inputs, const engine::Engine& engine) {
  const model::Model step_model = compiled.batch > 0 ? model::with_batch(model, compiled.chunk) : model;
  std::vector<InstanceCheck> checks;
  for (std::size_t instance = 0; instance < compiled.executable.instances.size(); ++instance) {
    const executable::Program& program = program_of(compiled, instance);
    const auto device = [&](model::ValueId id) -> std::optional<model::Tensor> {
      const model::Value& value = step_model.value(id);
      if (executable::find_tensor(program, value.name) == nullptr) return std::nullopt;
      model::Tensor tensor(value.type, value.shape);
      std::vector<std::uint8_t> bytes = engine.read_tensor(value.name, instance);
      if (bytes.size() != tensor.data.size()) throw std::logic_error("value " + value.name + " has another size");
      tensor.data = std::move(bytes);
      return tensor;
    };
    InstanceCheck check;
    check.ipu = compiled.executable.instances[instance].ipu;
    check.step = last_step(compiled, instance);
    check.report = golden::check_nodes(step_model, inputs_of_step(step_model, compiled, inputs, check.step), device);
    checks.push_back(std::move(check));
  }
  return checks;
}

void add_nodes(nlohmann::ordered_json& result, const CompiledModel& compiled,
               const std::vector<InstanceCheck>& checks) {
  const Sums sums = sums_of(checks);
  auto& json = result["nodes"];
  json["passes"] = passes(checks);
  json["values"] = sums.values;
  json["wrong"] = sums.wrong;
  json["columns"] = {"node",    "op",      "value",   "type", "values",    "wrong",
                     "max_ulp", "max_abs", "max_rel", "used", "tolerance", "through"};
  const auto [instance, first] = first_wrong(checks);
  if (first != nullptr) {
    const Place place = place_of(compiled, instance, *first);
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
  auto& ipus = json["ipus"] = nlohmann::ordered_json::array();
  for (const InstanceCheck& check : checks) {
    nlohmann::ordered_json entry;
    entry["ipu"] = check.ipu;
    entry["step"] = check.step;
    entry["nodes"] = check.report.nodes;
    entry["compared"] = check.report.results.size();
    entry["unread"] = check.report.unread;
    auto& rows = entry["rows"] = nlohmann::ordered_json::array();
    for (const NodeResult& r : check.report.results) rows.push_back(row(r));
    ipus.push_back(std::move(entry));
  }
}

std::vector<std::string> node_lines(const CompiledModel& compiled, const std::vector<InstanceCheck>& checks) {
  constexpr std::size_t kMostRows = 8;
  std::vector<const NodeResult*> nearest;
  for (const InstanceCheck& check : checks)
    for (const NodeResult& result : check.report.results)
      if (result.worst) nearest.push_back(&result);
  std::stable_sort(nearest.begin(), nearest.end(),
                   [](const NodeResult* a, const NodeResult* b) { return a->used > b->used; });
  std::vector<std::string> lines;
  for (const InstanceCheck& check : checks)
    lines.push_back(fmt::format(
        "nodes       {}{}{}{}", checks.size() > 1 ? fmt::format("IPU {}: ", check.ipu) : "",
        compiled.batch > 0 ? "last round of the batch: " : "", check.report.text(),
        check.report.unread > 0 ? fmt::format("; {} nodes without a result to read", check.report.unread) : ""));
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
  const auto [instance, first] = first_wrong(checks);
  if (first != nullptr) lines.push_back("            " + place_of(compiled, instance, *first).text());
  return lines;
}

std::string node_failure(const CompiledModel& compiled, const std::vector<InstanceCheck>& checks) {
  if (passes(checks)) return {};
  const auto [instance, first] = first_wrong(checks);
  if (first == nullptr) return "no node has a result that the host can read: nothing was compared";
  const std::string place = place_of(compiled, instance, *first).text();
  return checks[instance].report.text() + (place.empty() ? "" : "; " + place) + "; tolerance: " + first->tolerance;
}

}  // namespace tessera::cli
