#include "host/cli/wavenet_run.h"

#include <fmt/format.h>

#include <chrono>

#include "host/cli/network_report.h"
#include "host/examples/wavenet.h"
#include "hw/error.h"
#include "verif/cosim/shutdown.h"

namespace tessera::cli {

namespace {

constexpr double kSoundHz = 16000;

nn::Binding output(const std::string& name, model::Type type, const model::Shape& shape) {
  nn::Binding binding;
  binding.name = binding.stream = name;
  binding.type = binding.declared = type;
  binding.shape = shape;
  binding.rows = 1;
  return binding;
}

CompiledModel compile_program(const examples::WaveNetShape& shape, const examples::WaveNetWeights& weights,
                              const Platform& platform, Progress& progress) {
  const auto start = std::chrono::steady_clock::now();
  compiler::Options options;
  options.name = "wavenet";
  options.progress = [&progress](const std::string& pass, unsigned number, unsigned passes) {
    Shutdown::check();
    progress.phase("compiling: " + pass);
    progress.update(number, passes, 0);
  };
  const graph::Graph graph = examples::build_wavenet(shape, weights, platform.tiles);
  compiler::Compiled compiled = compiler::compile(graph, platform, CodeletLibrary::builtin(), options);
  CompiledModel result;
  result.executable = std::move(compiled.executable);
  result.report = std::move(compiled.report.json);
  const auto extent = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  const model::Shape sound = {extent(shape.samples / shape.block), extent(shape.channels), extent(shape.block)};
  result.outputs = {output("samples", model::Type::u32, sound), output("chances", model::Type::f32, sound)};
  result.executable.interface_json = interface_json(result);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

golden::Comparison compare_sound(const examples::WaveNetShape& shape, const examples::WaveNetWeights& weights,
                                 const DeviceRun& run) {
  // Logits come of sums of states that are rounded to f16: probabilities agree to about that.
  const golden::Tolerance tolerance{2e-2, 1e-6, 0};
  const examples::WaveNetReference reference = examples::wavenet_reference(shape, weights, run.outputs.at(0), 2e-3);
  golden::Comparison all = golden::compare(run.outputs.at(0), reference.samples, tolerance, "samples");
  all.merge(golden::compare(run.outputs.at(1), reference.chances, tolerance, "chances"));
  return all;
}

void print_rate(Context& context, const examples::WaveNetShape& shape, const Machine& machine, const DeviceRun& run) {
  const double per_sample = static_cast<double>(run.cycles) / static_cast<double>(shape.samples);
  const double rate = static_cast<double>(machine.platform().clock_hz) / per_sample;
  const std::uint64_t places = machine.platform().tiles / shape.tiles;
  const bool real_time = rate >= kSoundHz;
  const double work = static_cast<double>(shape.work() * shape.channels) / per_sample;
  context.result["sound"] = {{"channels", shape.channels},
                             {"tiles_per_channel", shape.tiles},
                             {"samples", shape.samples},
                             {"cycles_per_sample", per_sample},
                             {"samples_per_second", rate},
                             {"multiply_accumulates_per_sample", shape.work()},
                             {"multiply_accumulates_per_cycle", work},
                             {"real_time", real_time},
                             {"channels_in_real_time", real_time ? places : 0}};
  context.print(
      fmt::format("sound       {} channels of {} samples: {:.0f} cycles a sample, {:.0f} samples a second each",
                  shape.channels, shape.samples, per_sample, rate));
  context.print(
      fmt::format("            {:.2f} times the {:.0f} a second of 16 kHz sound: {} channels of {} tiles in "
                  "real time on {} tiles",
                  rate / kSoundHz, kSoundHz, real_time ? places : 0, shape.tiles, machine.platform().tiles));
  context.print(
      fmt::format("work        {} multiply-accumulates a sample and channel, {:.1f} a cycle", shape.work(), work));
}

}  // namespace

bool is_wavenet(const std::string& model) {
  return examples::is_example(model) && examples::choose(model, 0).example->name == "wavenet";
}

int run_wavenet(Context& context, const std::string& model, FlowRequest request, const Platform& platform, bool check,
                Progress& progress) {
  const examples::Chosen chosen = examples::choose(model, context.seed);
  const examples::WaveNetShape shape = examples::wavenet_shape(chosen.settings, platform.tiles);
  const examples::WaveNetWeights weights = examples::wavenet_weights(shape);
  const CompiledModel compiled = compile_program(shape, weights, platform, progress);
  request.title = model;
  request.what = "program";
  if (check) request.check = [&](const DeviceRun& run) { return compare_sound(shape, weights, run); };
  request.conclude = [&](const Machine& machine, const DeviceRun& run) {
    print_rate(context, shape, machine, run);
    report_memory(context, compiled, true);
    return std::string();
  };
  return run_on_machine(context, request, platform, compiled, {}, progress);
}

}  // namespace tessera::cli
