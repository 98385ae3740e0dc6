#include "host/cli/session.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <filesystem>

#include "host/cli/machine_dump.h"
#include "host/cli/taps.h"
#include "host/compiler/measure.h"
#include "host/onnx/tensor_io.h"
#include "hw/error.h"
#include "verif/cosim/shutdown.h"

namespace tessera::cli {

namespace {

/// --weights once is advised where weights are at least this part of all tiles' memory.
constexpr std::uint64_t kWorthSending = 16;
/// And where one part in so many of a tile is then left for run lists and tables.
constexpr std::uint64_t kTables = 20;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

compiler::Options compiler_options(const model::Model& model, const CompileSettings& settings, Progress& progress) {
  compiler::Options options;
  options.name = model.name;
  options.progress = [&progress](const std::string& pass, unsigned number, unsigned passes) {
    Shutdown::check();
    progress.phase("compiling: " + pass);
    progress.update(number, passes, 0);
  };
  options.poll = [] { Shutdown::check(); };
  if (!settings.dump_directory.empty()) {
    model::make_directory(settings.dump_directory);
    options.dump = [directory = settings.dump_directory](const std::string& pass, const nlohmann::ordered_json& json) {
      model::write_file(directory + "/" + pass + ".json", json.dump(2) + "\n");
    };
  }
  return options;
}

}  // namespace

void CompileSettings::add_to(CLI::App& app) {
  app.add_option_function<std::string>(
         "--weights", [this](const std::string& choice) { weights_once = choice == "once"; },
         "resident: constant weights of products lie on every tile that uses them (default); once: in one copy over "
         "all tiles, sent before each use, for less memory and more cycles")
      ->check(CLI::IsMember({"resident", "once"}))
      ->type_name("WAY");
  app.add_option("--chunk", chunk, "Rows of the batch a step; 0: chosen by cost")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->type_name("N");
  app.add_option("--replicas", replicas, "IPUs that share the batch, each with the whole model: a number, or all")
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--dump-passes", dump_directory, "Write what each compiler pass made as JSON")->type_name("DIR");
}

unsigned CompileSettings::replica_count(unsigned ipus) const {
  if (replicas == "all") return ipus;
  unsigned count = 0;
  const auto [end, error] = std::from_chars(replicas.data(), replicas.data() + replicas.size(), count);
  if (error != std::errc() || end != replicas.data() + replicas.size() || count == 0)
    throw Error(Category::usage, "'" + replicas + "' is no number of replicas", "--replicas",
                "give a number from 1, or all");
  if (count > ipus)
    throw Error(Category::usage, fmt::format("{} replicas, but there are {} IPUs", count, ipus), "--replicas",
                "give a number up to that, all, or a larger platform");
  return count;
}

namespace {

/// One instance of the program on each IPU; what has rows is shared out.
void replicate(CompiledModel& compiled, unsigned replicas) {
  executable::Executable& executable = compiled.executable;
  for (unsigned r = 1; r < replicas; ++r) executable.instances.push_back({r, 0, r});
  for (const auto* bindings : {&compiled.inputs, &compiled.outputs})
    for (const nn::Binding& binding : *bindings)
      for (executable::Stream& stream : executable.streams)
        if (stream.name == binding.stream) stream.divided = replicas > 1 && binding.rows > 0;
}

/// Bytes of all constant operands that --weights once would send.
std::uint64_t sendable_weights(const model::Model& model) {
  std::uint64_t bytes = 0;
  for (const model::Node& node : model.nodes) {
    const bool product = node.op == model::Op::Conv || node.op == model::Op::ConvTranspose ||
                         node.op == model::Op::MatMul || node.op == model::Op::Gemm;
    const model::Value* weights = product ? &model.value(node.inputs.at(1)) : nullptr;
    const bool half = model.value(node.outputs.at(0)).type == model::Type::f16;
    if (weights != nullptr && weights->constant && (half || node.op == model::Op::Conv))
      bytes += weights->constant->data.size();
  }
  return bytes;
}

/// Bytes that the fullest tile needs with weights sent before each use, run lists and tables not counted; nothing if a
/// product cannot be planned so.
std::optional<std::uint64_t> need_with_weights_once(const model::Model& model, const Platform& platform,
                                                    nn::Options lowering) {
  lowering.weights_once = true;
  lowering.frugal = false;
  try {
    const nn::Lowered lowered = nn::lower(model, lowering);
    const compiler::MemoryMeasure measured =
        compiler::measure_memory(lowered.graph, platform, CodeletLibrary::builtin(), {}, lowering.poll);
    return measured.in_place.fullest + measured.program_bytes;
  } catch (const Error& error) {
    if (error.category() != Category::does_not_fit) throw;
    return std::nullopt;
  }
}

/// Out of memory: --weights once is named if it is measured to help.
[[noreturn]] void does_not_fit(const Error& error, const model::Model& model, const Platform& platform,
                               const nn::Options& lowering, Progress& progress) {
  const std::uint64_t weights = lowering.weights_once ? 0 : sendable_weights(model);
  if (weights * kWorthSending < std::uint64_t{platform.tiles} * platform.sram_bytes) throw error;
  progress.phase("out of memory: measuring --weights once");
  progress.update(0, 0, 0);
  const std::optional<std::uint64_t> need = need_with_weights_once(model, platform, lowering);
  if (!need || *need > platform.sram_bytes - platform.sram_bytes / kTables) throw error;
  throw Error(error.category(), error.message(), error.where(),
              fmt::format("--weights once, which takes more cycles and {} bytes of the fullest tile (run lists and "
                          "tables not counted)",
                          *need) +
                  (error.advice().empty() ? std::string() : "; or " + error.advice()));
}

}  // namespace

CompiledModel compile_model(const model::Model& model, const Platform& platform, const CompileSettings& settings,
                            Progress& progress, const std::function<void(const nlohmann::ordered_json&)>& report) {
  const Clock::time_point start = Clock::now();
  nn::Options lowering;
  lowering.tiles = platform.tiles;
  lowering.sram_bytes = platform.sram_bytes;
  lowering.chunk = settings.chunk;
  lowering.tap_nodes = settings.tap_nodes;
  lowering.weights_once = settings.weights_once;
  lowering.replicas = settings.replica_count(platform.ipus());
  lowering.poll = [] { Shutdown::check(); };
  compiler::Options options = compiler_options(model, settings, progress);
  options.report = report;
  std::optional<nn::Lowered> lowered_for;
  const auto attempt = [&] {
    progress.phase("lowering");
    Shutdown::check();
    lowered_for.emplace(nn::lower(model, lowering));
    return compiler::compile(lowered_for->graph, platform, CodeletLibrary::builtin(), options);
  };
  // Plans guess how much memory products may take: what does not fit is planned once more for least memory.
  std::optional<compiler::Compiled> fits;
  while (!fits) {
    lowered_for.reset();
    try {
      fits.emplace(attempt());
    } catch (const Error& error) {
      if (error.category() != Category::does_not_fit) throw;
      if (lowering.frugal || (lowered_for && lowered_for->least_memory))
        does_not_fit(error, model, platform, lowering, progress);
      lowering.frugal = true;
    }
  }
  compiler::Compiled& compiled = *fits;
  nn::Lowered& lowered = *lowered_for;
  if (lowering.frugal || lowered.least_memory)
    lowered.notes.insert(lowered.notes.begin(),
                         {"memory", "products are planned for least memory: the fastest plans do not fit"});
  CompiledModel result;
  result.executable = std::move(compiled.executable);
  result.inputs = std::move(lowered.inputs);
  result.outputs = std::move(lowered.outputs);
  result.taps = std::move(lowered.taps);
  result.notes = std::move(lowered.notes);
  result.places = std::move(lowered.places);
  result.batch = lowered.batch;
  result.chunk = lowered.chunk;
  replicate(result, lowered.replicas);
  result.report = std::move(compiled.report.json);
  result.passes = std::move(compiled.report.passes);
  result.executable.interface_json = interface_json(result);
  result.seconds = seconds_since(start);
  return result;
}

namespace {

nlohmann::ordered_json to_json(const nn::Binding& binding) {
  nlohmann::ordered_json json;
  json["name"] = binding.name;
  json["stream"] = binding.stream;
  json["type"] = model::name_of(binding.type);
  json["declared"] = model::name_of(binding.declared);
  json["shape"] = binding.shape;
  json["rows"] = binding.rows;
  json["known"] = binding.known.data;
  return json;
}

model::Type type_of(const std::string& name) {
  for (unsigned i = 0; i <= static_cast<unsigned>(model::Type::f64); ++i)
    if (model::name_of(static_cast<model::Type>(i)) == name) return static_cast<model::Type>(i);
  throw Error(Category::usage, "the executable's interface names an unknown type '" + name + "'");
}

nn::Binding from_json(const nlohmann::json& json) {
  nn::Binding binding;
  binding.name = json.at("name");
  binding.stream = json.at("stream");
  binding.type = type_of(json.at("type"));
  binding.declared = type_of(json.at("declared"));
  binding.shape = json.at("shape").get<model::Shape>();
  binding.rows = json.at("rows");
  if (!binding.streamed()) {
    binding.known = model::Tensor(binding.type, binding.shape);
    binding.known.data = json.at("known").get<std::vector<std::uint8_t>>();
  }
  return binding;
}

}  // namespace

std::string interface_json(const CompiledModel& compiled) {
  nlohmann::ordered_json json;
  json["batch"] = compiled.batch;
  json["chunk"] = compiled.chunk;
  json["inputs"] = nlohmann::ordered_json::array();
  json["outputs"] = nlohmann::ordered_json::array();
  for (const nn::Binding& binding : compiled.inputs) json["inputs"].push_back(to_json(binding));
  for (const nn::Binding& binding : compiled.outputs) json["outputs"].push_back(to_json(binding));
  return json.dump();
}

void read_interface(CompiledModel& compiled) {
  try {
    const nlohmann::json json = nlohmann::json::parse(compiled.executable.interface_json);
    compiled.batch = json.at("batch");
    compiled.chunk = json.at("chunk");
    for (const auto& binding : json.at("inputs")) compiled.inputs.push_back(from_json(binding));
    for (const auto& binding : json.at("outputs")) compiled.outputs.push_back(from_json(binding));
  } catch (const nlohmann::json::exception& error) {
    throw Error(Category::usage,
                std::string("the executable does not describe its inputs and outputs: ") + error.what(),
                compiled.executable.name, "compile the model again");
  }
}

namespace {

void check_input(const nn::Binding& binding, const model::Tensor& tensor) {
  if (tensor.shape == binding.shape && tensor.type == binding.type) return;
  throw Error(
      Category::usage,
      fmt::format("input '{}' is {} {}, but the program takes {} {}", binding.name, model::name_of(tensor.type),
                  model::to_string(tensor.shape), model::name_of(binding.type), model::to_string(binding.shape)),
      binding.name, "give a tensor of that type and shape, or compile the model for this one");
}

std::uint64_t expected_steps(const CompiledModel& compiled) {
  if (compiled.chunk == 0) return 1;
  const auto replicas = static_cast<std::int64_t>(compiled.executable.instances.size());
  const std::int64_t share = (compiled.batch + replicas - 1) / replicas;
  return static_cast<std::uint64_t>((share + compiled.chunk - 1) / compiled.chunk);
}

void connect(engine::Engine& engine, const CompiledModel& compiled, const std::vector<model::Tensor>& inputs,
             std::vector<model::Tensor>& outputs) {
  for (std::size_t i = 0; i < compiled.inputs.size(); ++i) {
    const nn::Binding& binding = compiled.inputs[i];
    check_input(binding, inputs.at(i));
    if (!binding.streamed()) continue;
    engine.connect(binding.stream,
                   engine::Source([&binding, &tensor = inputs[i]](std::uint64_t step, std::uint8_t* to) {
                     nn::fill_step(binding, tensor, step, to);
                   }),
                   true);
  }
  for (std::size_t i = 0; i < compiled.outputs.size(); ++i) {
    const nn::Binding& binding = compiled.outputs[i];
    outputs.push_back(binding.streamed() ? model::Tensor(binding.type, binding.shape) : binding.known);
    outputs.back().name = binding.name;
  }
  for (std::size_t i = 0; i < compiled.outputs.size(); ++i) {
    const nn::Binding& binding = compiled.outputs[i];
    if (!binding.streamed()) continue;
    engine.connect(binding.stream,
                   engine::Sink([&binding, &tensor = outputs[i]](std::uint64_t step, const std::uint8_t* from) {
                     nn::drain_step(binding, tensor, step, from);
                   }));
  }
}

}  // namespace

DeviceRun run_compiled(Machine& machine, const CompiledModel& compiled, const std::vector<model::Tensor>& inputs,
                       Progress& progress, const std::function<void(const engine::Engine&, Machine&)>& inspect) {
  if (inputs.size() != compiled.inputs.size()) {
    throw Error(Category::usage,
                fmt::format("the program takes {} inputs, but {} were given", compiled.inputs.size(), inputs.size()));
  }
  const Clock::time_point start = Clock::now();
  engine::Options options;
  options.service_ns = machine.platform().host.service_ns;
  options.prefetched_ns = machine.platform().host.service_prefetch_ns;
  const std::uint64_t steps = expected_steps(compiled);
  options.progress = [&](std::uint64_t step, const std::string&) {
    progress.update(static_cast<double>(step), static_cast<double>(steps), machine.profile().last_arrival());
  };
  options.look = machine.look();
  options.inspect = [&machine](const driver::ExceptionInfo& info) {
    if (info.kind != driver::ExceptionInfo::Kind::trap) return std::string();
    const TileRef tile{static_cast<std::uint16_t>(info.ipu), static_cast<std::uint16_t>(info.tile)};
    return context_dump(machine, tile, static_cast<ContextId>(info.context));
  };
  DeviceRun run;
  machine.require_all_ipus();
  engine::Engine engine(compiled.executable, machine.driver(), options);
  progress.phase("loading");
  engine.load();
  connect(engine, compiled, inputs, run.outputs);
  TapGatherer taps(compiled.taps, compiled.executable.instances.size());
  if (!compiled.taps.empty())
    machine.on_tap([&](const executable::Tap& tap, std::size_t instance, const std::vector<std::uint8_t>& bytes) {
      taps.take(tap, instance, bytes);
    });
  progress.phase("running");
  try {
    run.result = engine.run();
  } catch (const RunStopped&) {  // a signal, seen by the machine's run loop
    Shutdown::check();
    throw;
  }
  progress.finish();
  machine.profile().finish(machine.profile().last_arrival());
  machine.phases().finish();
  machine.spans().finish(machine.profile().last_arrival());
  machine.amp_spans().finish();
  run.cycles = machine.profile().last_arrival() - machine.profile().start();
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    run.outputs[i] = model::widened(run.outputs[i], compiled.outputs[i].declared);
    run.outputs[i].name = compiled.outputs[i].name;
  }
  run.nodes = std::move(taps.nodes);
  run.statistics = machine.statistics();
  run.seconds = seconds_since(start);
  if (inspect) inspect(engine, machine);
  return run;
}

}  // namespace tessera::cli
