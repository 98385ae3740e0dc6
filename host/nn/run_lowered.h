// Test support: a lowered model on the host, without a machine.
#pragma once

#include <vector>

#include "host/nn/graph_interpreter.h"
#include "host/nn/lower.h"

namespace tessera::nn {

/// Outputs of a lowered model in its order, by the host build of the codelets.
inline std::vector<model::Tensor> execute(const Lowered& lowered, const std::vector<model::Tensor>& inputs) {
  graph::validate(lowered.graph);
  GraphInterpreter interpreter(lowered.graph);
  std::vector<model::Tensor> results;
  for (const Binding& output : lowered.outputs) results.emplace_back(output.type, output.shape);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    interpreter.connect_input(lowered.inputs.at(i).stream, [&, i](std::uint64_t step, std::uint8_t* bytes) {
      fill_step(lowered.inputs[i], inputs[i], step, bytes);
    });
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!lowered.outputs[i].streamed()) results[i] = lowered.outputs[i].known;
    interpreter.connect_output(lowered.outputs[i].stream, [&, i](std::uint64_t step, const std::uint8_t* bytes) {
      drain_step(lowered.outputs[i], results[i], step, bytes);
    });
  }
  interpreter.run();
  return results;
}

}  // namespace tessera::nn
