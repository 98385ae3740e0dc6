// A model on the modelled machine (TLM, pocket), for tests: lowered, compiled, loaded and run in one go. SystemC
// elaborates once a process, so tests of several models give each a process of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <vector>

#include "host/nn/lower.h"
#include "verif/compiler/graph_machine.h"

namespace tessera::verif_nn {

/// How a process with one model ends.
enum Verdict { passed = 0, wrong = 1, unsupported = 3, broken = 8 };

/// A model lowered, compiled and run; expose: node results are readable afterwards.
class DeviceRun {
 public:
  DeviceRun(const model::Model& model, const std::vector<model::Tensor>& inputs, bool expose)
      : lowered_(nn::lower(model, options(expose))), machine_(lowered_.graph) {
    for (const nn::Binding& output : lowered_.outputs) results.emplace_back(output.type, output.shape);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (lowered_.inputs[i].streamed())
        machine_.engine().connect(lowered_.inputs[i].stream,
                                  engine::Source([this, &inputs, i](std::uint64_t step, std::uint8_t* bytes) {
                                    nn::fill_step(lowered_.inputs[i], inputs[i], step, bytes);
                                  }));
    for (std::size_t i = 0; i < results.size(); ++i)
      if (lowered_.outputs[i].streamed())
        machine_.engine().connect(lowered_.outputs[i].stream,
                                  engine::Sink([this, i](std::uint64_t step, const std::uint8_t* bytes) {
                                    nn::drain_step(lowered_.outputs[i], results[i], step, bytes);
                                  }));
      else
        results[i] = lowered_.outputs[i].known;
    machine_.engine().run("main");
  }

  /// The device's value, if the program exposes it.
  std::optional<model::Tensor> value(const model::Value& value) {
    if (executable::find_tensor(machine_.executable().programs.at(0), value.name) == nullptr) return std::nullopt;
    model::Tensor tensor(value.type, value.shape);
    tensor.data = machine_.engine().read_tensor(value.name);
    return tensor;
  }

  std::vector<model::Tensor> results;

 private:
  static nn::Options options(bool expose) {
    nn::Options options;
    options.expose_nodes = expose;
    return options;
  }

  nn::Lowered lowered_;
  testing::GraphMachine machine_;
};

/// What the body returned, in a process of its own; minus the signal that ended it.
inline int in_a_process(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace tessera::verif_nn
