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

/// A model lowered, compiled and run; tap: node results are read while it runs; outline: as nn::Options.
class DeviceRun {
 public:
  DeviceRun(const model::Model& model, const std::vector<model::Tensor>& inputs, bool tap, bool outline = true)
      : lowered_(nn::lower(model, options(tap, outline))), machine_(lowered_.graph), taps_(lowered_.taps, 1) {
    machine_.on_tap([this](const executable::Tap& tapped, std::size_t instance,
                           const std::vector<std::uint8_t>& bytes) { taps_.take(tapped, instance, bytes); });
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

  /// The device's value, if the program taps it.
  std::optional<model::Tensor> value(const model::Value& value) {
    const auto found = taps_.nodes.find(value.name);
    if (found == taps_.nodes.end()) return std::nullopt;
    return found->second;
  }

  std::vector<model::Tensor> results;

 private:
  static nn::Options options(bool tap, bool outline) {
    nn::Options options;
    options.tap_nodes = tap;
    options.outline = outline;
    return options;
  }

  nn::Lowered lowered_;
  testing::GraphMachine machine_;
  cli::TapGatherer taps_;
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
