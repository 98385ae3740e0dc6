// tessera compile: ONNX model to executable file; tessera exec: an executable on the modelled machine.

#include <fmt/format.h>

#include "host/cli/commands.h"
#include "host/cli/device_flow.h"
#include "host/cli/explain.h"
#include "host/cli/model_inputs.h"
#include "host/cli/run_report.h"
#include "host/executable/container.h"
#include "hw/error.h"

namespace tessera::cli {

namespace {

struct CompileOptions {
  std::string model, output, explain, report, platform = "c2";
  InputOptions inputs;
  CompileSettings settings;
};

int run_compile(Context& context, const CompileOptions& options) {
  if (!options.explain.empty()) {
    explain(context, executable::read_file(options.explain));
    return 0;
  }
  if (options.model.empty() || options.output.empty())
    throw Error(Category::usage, "compile needs MODEL.onnx and -o FILE", "",
                "or --explain FILE to see what is in an executable");
  Progress progress(context.quiet);
  const Platform platform = load_platform(options.platform);
  const LoadedModel loaded = load_model(context, options.model, options.inputs);
  CompiledModel compiled;
  nlohmann::ordered_json compiler_report;
  try {
    compiled = compile_model(loaded.model, platform, options.settings, progress,
                             [&](const nlohmann::ordered_json& report) { compiler_report = report; });
  } catch (const Error& error) {
    write_failed_report(context, options.report, error, compiler_report);
    throw;
  }
  progress.finish();
  executable::write_file(compiled.executable, options.output);
  const std::size_t bytes = executable::write(compiled.executable).size();
  context.result["executable"] = options.output;
  context.result["bytes"] = bytes;
  context.result["compiler"] = compiled.report;
  context.print(
      fmt::format("executable  {} ({} bytes), compiled in {:.2f} s", options.output, bytes, compiled.seconds));
  nlohmann::ordered_json passes = nlohmann::ordered_json::array();
  for (const compiler::PassTime& pass : compiled.passes) {
    context.print(fmt::format("pass        {:<10} {:.2f} s", pass.name, pass.seconds));
    passes.push_back({{"pass", pass.name}, {"seconds", pass.seconds}});
  }
  context.result["passes"] = std::move(passes);
  for (const nn::PlanNote& note : compiled.notes)
    context.print(fmt::format("plan        {}: {}", note.node, note.text));
  if (!options.report.empty()) write_report(options.report, context.result);
  return 0;
}

struct ExecOptions {
  std::string file;
  InputOptions inputs;
  MachineOptions machine;
  ResultOptions results;
};

/// Tensors for the program's inputs, by the names of the model's inputs.
std::vector<model::Tensor> exec_inputs(const ExecOptions& options, const CompiledModel& compiled) {
  model::Interface interface;
  for (const nn::Binding& binding : compiled.inputs) {
    model::Declared declared;
    declared.name = binding.name;
    declared.type = model::name_of(binding.declared);
    interface.inputs.push_back(declared);
  }
  const auto given = read_inputs(options.inputs, interface);
  std::vector<model::Tensor> tensors;
  for (const nn::Binding& binding : compiled.inputs) {
    const auto found = given.find(binding.name);
    if (found == given.end())
      throw Error(Category::usage, "no tensor was given for input '" + binding.name + "'", "",
                  "give --input " + binding.name + "=FILE.pb or --inputs DIR");
    tensors.push_back(model::narrowed(found->second, "input '" + binding.name + "'"));
  }
  return tensors;
}

int run_exec(Context& context, const ExecOptions& options) {
  Progress progress(context.quiet);
  CompiledModel compiled;
  compiled.executable = executable::read_file(options.file);
  const Platform platform = options.machine.platform.empty()
                                ? load_platform_text(compiled.executable.platform_json, options.file)
                                : load_platform(options.machine.platform);
  options.machine.check(platform);
  options.results.check();
  executable::check_platform(compiled.executable, platform.name, platform.hash());
  read_interface(compiled);
  const std::vector<model::Tensor> inputs = exec_inputs(options, compiled);
  FlowRequest request;
  request.title = options.file;
  request.machine = options.machine;
  request.results = options.results;
  return run_on_machine(context, request, platform, compiled, inputs, progress);
}

}  // namespace

void add_compile_command(CLI::App& app, Context& context) {
  add_command(app, context, "compile", "Compile an ONNX model to an executable file",
              "tessera compile host/examples/digits/digits.onnx --shape images=599,64 --platform pocket -o digits.tsx",
              [](CLI::App& sub) -> Body {
                auto options = std::make_shared<CompileOptions>();
                sub.add_option("MODEL", options->model, "ONNX file, or example:NAME (tessera examples)");
                sub.add_option("-o,--output", options->output, "Executable to write")->type_name("FILE");
                sub.add_option("--explain", options->explain, "Print what is in an executable, and do nothing else")
                    ->type_name("FILE");
                sub.add_option("--platform", options->platform, "c2, pocket, dss8440 or a platform file")
                    ->capture_default_str();
                sub.add_option("--report", options->report, "Write report.json and report.txt")->type_name("DIR");
                options->inputs.add_to(sub);
                options->settings.add_to(sub);
                return [options, &sub](Context& c) {
                  if (!options->explain.empty())
                    refuse_with(sub,
                                {"MODEL", "--output", "--platform", "--report", "--input", "--inputs", "--shape",
                                 "--weights", "--chunk", "--replicas", "--dump-passes"},
                                "--explain");
                  if (sub.count("--platform") == 0) options->platform = default_platform(options->model);
                  return run_compile(c, *options);
                };
              });
}

void add_exec_command(CLI::App& app, Context& context) {
  add_command(app, context, "exec", "Run an executable on the modelled machine",
              "tessera exec digits.tsx --inputs host/examples/digits", [](CLI::App& sub) -> Body {
                auto options = std::make_shared<ExecOptions>();
                sub.add_option("FILE", options->file, "Executable of tessera compile")->required();
                options->inputs.add_files_to(sub);
                options->machine.platform.clear();  // the executable knows its own
                CLI::Option* const check = sub.add_flag("--check", options->machine.check_races,
                                                        "Look for races between the contexts of a tile, in all tiles");
                sub.add_option("--race-tiles", options->machine.race_tiles,
                               "With --check: in at most so many tiles of an IPU, spread evenly; 0 is all")
                    ->type_name("N")
                    ->needs(check);
                options->results.add_to(sub);
                options->machine.add_to(sub);
                return [options, &sub](Context& c) {
                  require_with(sub, {"--rtol", "--atol"}, {"--expected"});
                  return run_exec(c, *options);
                };
              });
}

}  // namespace tessera::cli
