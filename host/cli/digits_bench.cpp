#include "host/cli/digits_bench.h"

#include <fmt/format.h>

#include <filesystem>

#include "host/cli/model_inputs.h"
#include "host/cli/session.h"
#include "hw/error.h"
#include "verif/bench/apart.h"
#include "verif/cosim/shutdown.h"

namespace tessera::cli {

namespace {

const char* const kDigits = TESSERA_SOURCE_DIR "/host/examples/digits";

struct Run {
  double cycles = 0, instructions = 0;
  bench::Seconds seconds;
};

struct Job {
  const Context& context;
  const Platform& platform;
  const CompiledModel& compiled;
  const std::vector<model::Tensor>& inputs;
};

/// In this process: machine made, executable loaded through the driver, program run to its end.
nlohmann::json run_here(const Job& job, const std::string& mode) {
  MachineOptions options;
  options.platform = job.platform.name;
  if (mode == "rtl") options.rtl = "all";
  if (mode == "lockstep") options.lockstep = "all";
  Progress progress(true);
  DeviceRun run;
  const bench::Seconds seconds = bench::timed([&] {
    Machine machine(job.context, options, job.platform, job.compiled.executable, progress);
    run = run_compiled(machine, job.compiled, job.inputs, progress);
  });
  return {{"cycles", run.cycles},
          {"instructions", run.statistics.instructions},
          {"cpu", seconds.cpu},
          {"wall", seconds.wall}};
}

Run run_apart(const Job& job, const std::string& mode) {
  const std::string text = bench::run_apart([&] { return run_here(job, mode).dump(); });
  Shutdown::check();  // a signal ends parent and child
  const nlohmann::json result = nlohmann::json::parse(text, nullptr, false);
  if (!result.is_object() || result.contains("error"))
    throw Error(Category::internal,
                "digits in " + mode + " failed: " + (result.is_object() ? result.value("error", "") : text), "bench",
                "run tessera run host/examples/digits/digits.onnx");
  return {result.at("cycles"), result.at("instructions"), {result.at("cpu"), result.at("wall")}};
}

struct Mode {
  std::string name;
  bench::Figure cycles, instructions, seconds;
};

Mode make_mode(const std::string& name) {
  return {name,
          {name + " cycles", "Mcycle/s", "", "machine cycles, loading included", {}, {}},
          {name + " instructions", "Minstr/s", "", "instructions retired by all tiles", {}, {}},
          {name + " run", "s", "", "making the machine, loading and running", {}, {}}};
}

}  // namespace

bench::Report run_digits_bench(const Context& context, const bench::Effort& effort) {
  bench::Report report;
  report.name = "digits";
  const std::string model = std::string(kDigits) + "/digits.onnx";
  if (!std::filesystem::exists(model)) {
    report.notes.push_back(model + " is not there: nothing measured");
    return report;
  }
  InputOptions given;
  if (effort.quick)
    given.shapes = {"images=8,64"};
  else
    given.directory = kDigits;
  const LoadedModel loaded = load_model(context, model, given);
  const std::vector<model::Tensor> inputs = arrange(loaded.model, loaded.given, effort.quick, context.seed);
  const Platform platform = load_platform("pocket"), c2 = load_platform("c2");
  Progress quiet(true);

  bench::Figure pocket_compile{"compile for pocket", "s", "", "lowering and compiling for 16 tiles", {}, {}};
  bench::Figure c2_compile{"compile for c2", "s", "", "lowering and compiling for 1216 tiles", {}, {}};
  std::vector<Mode> modes = {make_mode("tlm"), make_mode("rtl"), make_mode("lockstep")};
  double cycles = 0, instructions = 0;
  for (unsigned round = 0; round < effort.rounds; ++round) {
    CompiledModel compiled;
    pocket_compile.add_time(bench::timed([&] { compiled = compile_model(loaded.model, platform, {}, quiet); }));
    if (!effort.quick) c2_compile.add_time(bench::timed([&] { (void)compile_model(loaded.model, c2, {}, quiet); }));
    for (Mode& mode : modes) {
      const Run run = run_apart({context, platform, compiled, inputs}, mode.name);
      mode.cycles.add_rate(1e-6 * run.cycles, run.seconds);
      mode.instructions.add_rate(1e-6 * run.instructions, run.seconds);
      mode.seconds.add_time(run.seconds);
      cycles = run.cycles;
      instructions = run.instructions;
    }
  }
  report.figures.push_back(pocket_compile);
  if (!effort.quick) report.figures.push_back(c2_compile);
  for (const Mode& mode : modes) {
    report.figures.push_back(mode.seconds);
    report.figures.push_back(mode.cycles);
    report.figures.push_back(mode.instructions);
  }
  report.figures.push_back(bench::ratio("lockstep / rtl run", modes[2].seconds, modes[1].seconds, "at most 2",
                                        "time of the run with all tiles in lockstep against all RTL"));
  report.figures.push_back(bench::ratio("rtl / tlm run", modes[1].seconds, modes[0].seconds, "",
                                        "time of the run with all tiles RTL against all TLM"));
  report.notes.push_back(fmt::format("platform pocket, 16 tiles, {} images: {} cycles, {} instructions a run",
                                     inputs.front().shape.front(), cycles, instructions));
  return report;
}

}  // namespace tessera::cli
