// tessera run: an ONNX model on the modelled machine, from file to verified results.

#include <fmt/format.h>

#include <optional>

#include "host/cli/commands.h"
#include "host/cli/device_flow.h"
#include "host/cli/model_inputs.h"
#include "host/cli/network_report.h"
#include "host/cli/node_check.h"
#include "host/cli/run_report.h"
#include "host/cli/session.h"
#include "host/cli/wavenet_run.h"
#include "host/golden/compare.h"
#include "host/golden/evaluate.h"
#include "hw/error.h"

namespace tessera::cli {

namespace {

struct RunOptions {
  std::string model;
  InputOptions inputs;
  MachineOptions machine;
  CompileSettings compile;
  bool synthetic = false;
  bool check = false;
  bool check_outputs = false;
  bool no_races = false, all_races = false;
  std::optional<unsigned> race_tiles;
  ResultOptions results;
  NetworkReportOptions network;
};

/// Tiles of an IPU in which a check looks for races unless told otherwise. A tile that is looked at runs in exact
/// interleave, an order of magnitude slower than the others.
constexpr unsigned kRaceTiles = 64;

/// The machine of a run, with or without a check of results.
MachineOptions machine_options(const RunOptions& options, bool check) {
  MachineOptions machine = options.machine;
  machine.check_races = options.all_races || options.race_tiles || (check && !options.no_races);
  machine.race_tiles = options.all_races ? 0 : options.race_tiles.value_or(kRaceTiles);
  return machine;
}

golden::Comparison check_outputs(const model::Model& model, const std::vector<model::Tensor>& inputs,
                                 const DeviceRun& run, const golden::Tolerance& tolerance) {
  const auto values = golden::run(model, inputs, golden::Backend::host);
  golden::Comparison all;
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    const model::ValueId id = model.outputs[i];
    const model::Value& value = model.value(id);
    const model::Tensor reference = model::widened(values.at(id).value(), value.declared);
    all.merge(golden::compare(run.outputs[i], reference, golden::end_to_end(model, reference, tolerance), value.name));
  }
  return all;
}

/// Compiles; the report of a model that cannot be compiled says what is known.
CompiledModel compile_or_report(Context& context, const RunOptions& options, const model::Model& model,
                                const Platform& platform, Progress& progress) {
  nlohmann::ordered_json compiler_report;
  try {
    CompileSettings settings = options.compile;
    settings.replicas = std::to_string(settings.replica_count(options.machine.chosen(platform).ipus()));
    settings.tap_nodes = options.check;
    return compile_model(model, platform, settings, progress,
                         [&](const nlohmann::ordered_json& report) { compiler_report = report; });
  } catch (const Error& error) {
    progress.finish();
    write_failed_report(context, options.results.report, error, compiler_report);
    throw;
  }
}

int run_command(Context& context, const RunOptions& options) {
  Progress progress(context.quiet);
  const Platform platform = load_platform(options.machine.platform);
  options.machine.check(platform);
  options.results.check();
  (void)options.compile.replica_count(options.machine.chosen(platform).ipus());
  if (is_wavenet(options.model)) {
    FlowRequest request;
    request.machine = machine_options(options, options.check || options.check_outputs);
    request.results = options.results;
    return run_wavenet(context, options.model, request, platform, options.check || options.check_outputs, progress);
  }
  const LoadedModel loaded = load_model(context, options.model, options.inputs);
  const std::vector<model::Tensor> inputs =
      arrange(loaded.model, loaded.given, options.synthetic, context.seed);
  const bool check = options.check || options.check_outputs;
  const CompiledModel compiled = compile_or_report(context, options, loaded.model, platform, progress);
  FlowRequest request;
  request.title = options.model;
  request.machine = machine_options(options, check);
  request.results = options.results;
  if (loaded.example && !loaded.replaced) request.labels = loaded.example->labels;
  request.conclude = [&](const Machine& machine, const DeviceRun& run) {
    std::string wrong = report_network(context, loaded, options.network, compiled, machine, run);
    if (!options.check) return wrong;
    const golden::NodeReport nodes = check_nodes(loaded.model, inputs, run.nodes);
    add_nodes(context.result, compiled, nodes);
    for (const std::string& line : node_lines(compiled, nodes)) context.print(line);
    const std::string failure = node_failure(compiled, nodes);
    return failure.empty() ? wrong : failure;
  };
  if (check)
    request.check = [&](const DeviceRun& run) {
      return check_outputs(loaded.model, inputs, run, options.results.tolerance);
    };
  return run_on_machine(context, request, platform, compiled, inputs, progress);
}

}  // namespace

void add_run_command(CLI::App& app, Context& context) {
  add_command(
      app, context, "run", "Compile an ONNX model, run it on the modelled machine and verify the results",
      "tessera run host/examples/digits/digits.onnx --inputs host/examples/digits --platform pocket --check",
      [](CLI::App& sub) -> Body {
        auto options = std::make_shared<RunOptions>();
        sub.add_option("MODEL", options->model, "ONNX file, or example:NAME?key=value,... (tessera examples)")
            ->required();
        options->inputs.add_to(sub);
        sub.add_flag("--synthetic", options->synthetic, "Draw inputs from --seed for which there is no file");
        CLI::Option* const check =
            sub.add_flag("--check", options->check,
                     fmt::format("Read the result of every node and compare it and the outputs with the reference; "
                                 "look for races between the contexts of a tile, in at most {} tiles of an IPU",
                                 kRaceTiles));
        sub.add_flag("--check-outputs", options->check_outputs,
                     "The same for the outputs alone, of the program as it is without --check")
            ->excludes(check);
        CLI::Option* const all_races =
            sub.add_flag("--race-check", options->all_races,
                         "Look for races in all tiles, with a check or without: slow on large machines");
        CLI::Option* const race_tiles =
            sub.add_option("--race-tiles", options->race_tiles,
                           "Look for races in at most so many tiles of an IPU, spread evenly; 0 is all")
                ->type_name("N")
                ->excludes(all_races);
        sub.add_flag("--no-race-check", options->no_races, "With a check: do not look for races")
            ->excludes(all_races)
            ->excludes(race_tiles);
        sub.add_flag("--nodes", options->network.nodes, "Print cycles and work of each node that multiplies");
        options->compile.add_to(sub);
        options->results.add_to(sub);
        options->machine.add_to(sub);
        return [options, &sub](Context& c) {
          if (sub.count("--platform") == 0) options->machine.platform = default_platform(options->model);
          require_with(sub, {"--no-race-check"}, {"--check", "--check-outputs"});
          require_with(sub, {"--rtol", "--atol"}, {"--check", "--check-outputs", "--expected"});
          if (is_wavenet(options->model))
            refuse_with(sub,
                        {"--input", "--inputs", "--shape", "--synthetic", "--nodes", "--weights", "--chunk",
                         "--replicas", "--dump-passes", "--labels", "--rtol", "--atol"},
                        options->model + ", a program of the graph library");
          return run_command(c, *options);
        };
      });
}

}  // namespace tessera::cli
