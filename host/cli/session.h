// From a model to results on the modelled machine: lower, compile, load, run, gather the outputs. Shared by run,
// compile, exec and onnx-test.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/cli/machine.h"
#include "host/compiler/compiler.h"
#include "host/engine/engine.h"
#include "host/nn/lower.h"
#include "host/onnx/model.h"

namespace tessera::cli {

/// A model compiled for a platform, with what carries its tensors.
struct CompiledModel {
  executable::Executable executable;
  std::vector<nn::Binding> inputs, outputs;  ///< in the model's order
  std::vector<nn::Binding> taps;             ///< values read while the program runs; only with tap_nodes
  std::vector<nn::PlanNote> notes;
  std::vector<nn::NodePlace> places;       ///< of the model's nodes; empty for an executable that was read from a file
  std::vector<compiler::PassTime> passes;  ///< wall time of each pass
  std::int64_t batch = 0, chunk = 0;       ///< chunk: rows of a step on one IPU
  nlohmann::ordered_json report;           ///< the compiler's, deterministic
  double seconds = 0;                      ///< wall time of lowering and compiling
};

struct CompileSettings {
  std::int64_t chunk = 0;      ///< --chunk: rows a step of the batch loop; 0: by cost
  std::string replicas = "1";  ///< --replicas: IPUs that share the batch, or all
  bool weights_once = false;   ///< --weights once: sent before each use; else resident copies
  bool tap_nodes = false;      ///< read every node's result while the program runs (--check)
  std::string dump_directory;  ///< --dump-passes: one JSON file a pass

  void add_to(CLI::App& app);
  /// Throws Error(usage) for what is neither a number of IPUs that there are nor "all".
  [[nodiscard]] unsigned replica_count(unsigned ipus) const;
};

/// `report` takes the compiler's report as soon as memory is known, also of what then does not fit; may be empty.
[[nodiscard]] CompiledModel compile_model(const model::Model& model, const Platform& platform,
                                          const CompileSettings& settings, Progress& progress,
                                          const std::function<void(const nlohmann::ordered_json&)>& report = {});

/// The bindings of an executable that `tessera compile` wrote, and back.
[[nodiscard]] std::string interface_json(const CompiledModel& compiled);
void read_interface(CompiledModel& compiled);

struct DeviceRun {
  std::vector<model::Tensor> outputs;          ///< in the model's order, types as the model declares
  std::map<std::string, model::Tensor> nodes;  ///< tapped values by name, whole, in the machine's types
  engine::RunResult result;
  Cycle cycles = 0;  ///< from the start of the supervisors to the last arrival at the program's end
  Machine::Statistics statistics;
  double seconds = 0;  ///< wall time of loading and running, without the time of `inspect`
};

/// Loads and runs on `machine`. `inputs` in the model's order, checked against the bindings (Error usage). `inspect`
/// looks at memory when the program has ended; may be empty.
[[nodiscard]] DeviceRun run_compiled(Machine& machine, const CompiledModel& compiled,
                                     const std::vector<model::Tensor>& inputs, Progress& progress,
                                     const std::function<void(const engine::Engine&, Machine&)>& inspect = {});

}  // namespace tessera::cli
