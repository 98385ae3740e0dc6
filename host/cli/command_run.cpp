// tessera run: an ONNX model on the modelled machine, from file to verified results.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "host/cli/commands.h"
#include "host/cli/model_inputs.h"
#include "host/cli/run_report.h"
#include "host/cli/session.h"
#include "host/golden/compare.h"
#include "host/golden/evaluate.h"
#include "host/onnx/tensor_io.h"
#include "hw/error.h"
#include "verif/cosim/shutdown.h"

namespace tessera::cli {

namespace {

struct RunOptions {
  std::string model;
  InputOptions inputs;
  MachineOptions machine;
  CompileSettings compile;
  bool synthetic = false;
  bool check = false;
  golden::Tolerance tolerance{1e-4, 1e-5, 0};
  std::string labels, report, out;
};

/// A model with its inputs, read and resolved.
struct Loaded {
  model::Model model;
  std::vector<model::Tensor> inputs;
};

Loaded load_model(const Context& context, const RunOptions& options) {
  const model::Interface interface = model::read_interface(options.model);
  model::ImportOptions import;
  import.inputs = read_inputs(options.inputs, interface);
  import.shapes = parse_shapes(options.inputs, interface);
  Loaded loaded;
  loaded.model = model::import_model(options.model, import);
  for (const std::string& warning : loaded.model.warnings) context.warn(warning);
  const bool any_given = !import.inputs.empty();
  loaded.inputs = arrange(loaded.model, import.inputs, options.synthetic && !any_given, context.seed);
  return loaded;
}

golden::Comparison check_outputs(const Loaded& loaded, const DeviceRun& run, const golden::Tolerance& tolerance) {
  const auto values = golden::run(loaded.model, loaded.inputs, golden::Backend::onednn);
  golden::Comparison all;
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    const model::ValueId id = loaded.model.outputs[i];
    const model::Value& value = loaded.model.value(id);
    all.merge(
        golden::compare(run.outputs[i], model::widened(values.at(id).value(), value.declared), tolerance, value.name));
  }
  return all;
}

void add_check(Context& context, const golden::Comparison& comparison) {
  auto& check = context.result["check"];
  check["passes"] = comparison.passes();
  check["values"] = comparison.values;
  check["wrong"] = comparison.wrong;
  check["max_abs"] = comparison.max_abs;
  check["max_rel"] = comparison.max_rel;
  check["max_ulp"] = comparison.max_ulp;
}

/// Share of rows whose largest element stands at the label. The first output, rows along axis 0.
void add_accuracy(Context& context, const RunOptions& options, const DeviceRun& run) {
  const model::Tensor labels = model::read_tensor(options.labels);
  const model::Tensor& scores = run.outputs.front();
  const std::int64_t rows = labels.elements();
  if (rows == 0 || scores.shape.empty() || scores.shape.front() != rows)
    throw Error(
        Category::usage,
        fmt::format("--labels holds {} labels, but the first output is {}", rows, model::to_string(scores.shape)),
        options.labels);
  const std::int64_t classes = scores.elements() / rows;
  std::int64_t right = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < classes; ++c)
      if (scores.real(row * classes + c) > scores.real(row * classes + best)) best = c;
    right += best == labels.integer(row) ? 1 : 0;
  }
  const double accuracy = static_cast<double>(right) / static_cast<double>(rows);
  context.result["accuracy"] = {{"rows", rows}, {"right", right}, {"share", accuracy}};
  context.print(fmt::format("classified  {} of {} right: accuracy {:.2f} %", right, rows, 100.0 * accuracy));
}

void write_outputs(const std::string& directory, const DeviceRun& run) {
  std::filesystem::create_directories(directory);
  for (std::size_t i = 0; i < run.outputs.size(); ++i)
    model::write_tensor(fmt::format("{}/output_{}.pb", directory, i), run.outputs[i]);
}

void print_run(const Context& context, const Machine& machine, const CompiledModel& compiled, const DeviceRun& run) {
  const Machine::Statistics& s = run.statistics;
  if (s.lockstep_tiles > 0) {
    context.print(fmt::format("lockstep    {} instructions and {} exchange words compared on {} tiles, no mismatch",
                              s.compared.instructions, s.compared.words, s.lockstep_tiles));
  }
  const double simulated = machine.platform().seconds(run.cycles);
  context.print(fmt::format("machine     {} cycles, {} instructions, {:.3f} ms simulated at {:.1f} GHz", run.cycles,
                            s.instructions, 1e3 * simulated, static_cast<double>(machine.platform().clock_hz) / 1e9));
  context.print(
      fmt::format("speed       {:.2f} Mcycle/s, {:.1f} Minstr/s; compiled in {:.2f} s, loaded and run in {:.2f} s",
                  static_cast<double>(run.cycles) / run.seconds / 1e6,
                  static_cast<double>(s.instructions) / run.seconds / 1e6, compiled.seconds, run.seconds));
  if (compiled.batch > 0) {
    context.print(fmt::format("throughput  {:.0f} rows per simulated second ({} rows, {} a step)",
                              static_cast<double>(compiled.batch) / simulated, compiled.batch, compiled.chunk));
  }
}

/// The report of a run that did not get to its end: what is known so far.
void write_partial(Context& context, const RunOptions& options, const CompiledModel* compiled) {
  if (options.report.empty()) return;
  nlohmann::ordered_json report = context.result;
  if (compiled != nullptr) report["compiler"] = compiled->report;
  write_report(options.report, report);
}

void finish_waves(Context& context, Machine& machine) {
  const std::optional<WaveSummary> waves = machine.close_waves();
  if (!waves) return;
  for (const std::string& pattern : waves->unmatched) context.warn("--wave-scope '" + pattern + "' matches no signal");
  context.result["wave"] = {
      {"file", waves->file}, {"view", waves->view}, {"signals", waves->signals}, {"changes", waves->changes}};
}

int report_results(Context& context, const RunOptions& options, const Loaded& loaded, Machine& machine,
                   const CompiledModel& compiled, const DeviceRun& run) {
  add_run(context.result, machine, compiled, run);
  if (!options.out.empty()) write_outputs(options.out, run);
  context.print(fmt::format("model       {} on platform {}: {} tiles, {} in lockstep, {} RTL", options.model,
                            machine.platform().name, machine.platform().tiles * machine.platform().ipus(),
                            run.statistics.lockstep_tiles, run.statistics.rtl_tiles));
  if (!options.labels.empty()) add_accuracy(context, options, run);
  int code = 0;
  golden::Comparison comparison;
  if (options.check) {
    comparison = check_outputs(loaded, run, options.tolerance);
    add_check(context, comparison);
    context.print("reference   " + comparison.text());
    if (!comparison.passes()) code = exit_code(Category::wrong_result);
  }
  print_run(context, machine, compiled, run);
  if (context.result.contains("wave"))
    context.print(fmt::format("waveform    {} (view {})", context.result["wave"]["file"].get<std::string>(),
                              context.result["wave"]["view"].get<std::string>()));
  if (!options.report.empty()) {
    nlohmann::ordered_json report = context.result;
    report["compiler"] = compiled.report;
    report["cycle_profile"] = cycles_json(machine.profile(), compiled.executable);
    write_report(options.report, report);
    context.print(fmt::format("report      {0}/report.json, {0}/report.txt", options.report));
  }
  if (!context.json_file.empty()) context.print("result      " + context.json_file);
  if (code != 0)
    throw Error(Category::wrong_result, "the results differ from the reference: " + comparison.text(), options.model,
                "run with --lockstep all to find a fault of the machine; --tolerance changes what is accepted");
  return code;
}

int run_command(Context& context, const RunOptions& options) {
  Shutdown::install();
  Progress progress(context.quiet);
  const Platform platform = load_platform(options.machine.platform);
  std::optional<CompiledModel> compiled;
  std::unique_ptr<Machine> machine;
  try {
    const Loaded loaded = load_model(context, options);
    compiled = compile_model(loaded.model, platform, options.compile, progress);
    machine = std::make_unique<Machine>(context, options.machine, platform, compiled->executable, progress);
    const DeviceRun run = run_compiled(*machine, *compiled, loaded.inputs, progress);
    finish_waves(context, *machine);
    return report_results(context, options, loaded, *machine, *compiled, run);
  } catch (...) {  // whatever ended the run: waves and report are closed and readable, then the error goes on
    progress.finish();
    if (machine) finish_waves(context, *machine);
    write_partial(context, options, compiled ? &*compiled : nullptr);
    throw;
  }
}

}  // namespace

void add_run_command(CLI::App& app, Context& context) {
  add_command(
      app, context, "run", "Compile an ONNX model, run it on the modelled machine and verify the results",
      "tessera run host/examples/digits/digits.onnx --inputs host/examples/digits --platform pocket --check",
      [](CLI::App& sub) -> Body {
        auto options = std::make_shared<RunOptions>();
        sub.add_option("MODEL", options->model, "ONNX file")->required();
        options->inputs.add_to(sub);
        sub.add_flag("--synthetic", options->synthetic, "Draw all inputs from --seed instead of reading files");
        sub.add_flag("--check", options->check, "Compare the outputs with the reference");
        sub.add_option("--rtol", options->tolerance.rtol, "Relative tolerance of --check")->capture_default_str();
        sub.add_option("--atol", options->tolerance.atol, "Absolute tolerance of --check")->capture_default_str();
        sub.add_option("--labels", options->labels, "Integer class of each row: prints the accuracy")
            ->type_name("FILE");
        sub.add_option("--out", options->out, "Write the outputs as DIR/output_0.pb, ...")->type_name("DIR");
        sub.add_option("--report", options->report, "Write report.json and report.txt")->type_name("DIR");
        sub.add_option("--chunk", options->compile.chunk, "Rows of the batch a step; 0: chosen by cost")
            ->type_name("N");
        sub.add_option("--dump-passes", options->compile.dump_directory, "Write what each compiler pass made as JSON")
            ->type_name("DIR");
        options->machine.add_to(sub);
        return [options](Context& c) { return run_command(c, *options); };
      });
}

}  // namespace tessera::cli
