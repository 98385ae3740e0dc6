// The check of a run node by node: reads what the program exposes, has the reference compare it, and says where on the
// machine a wrong element lies.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "host/cli/session.h"
#include "host/engine/engine.h"
#include "host/golden/check.h"
#include "host/onnx/model.h"

namespace tessera::cli {

/// What was compared on one IPU. A program that repeats over a batch holds the values of its last round.
struct InstanceCheck {
  unsigned ipu = 0;
  std::uint64_t step = 0;  ///< of the batch's streams
  golden::NodeReport report;
};

/// The program has ended. inputs: of the whole batch, in the model's order.
[[nodiscard]] std::vector<InstanceCheck> check_nodes(const model::Model& model, const CompiledModel& compiled,
                                                     const std::vector<model::Tensor>& inputs,
                                                     const engine::Engine& engine);

/// Adds "nodes" to the result: sums, the first wrong element with its place, one row of figures a node.
void add_nodes(nlohmann::ordered_json& result, const CompiledModel& compiled, const std::vector<InstanceCheck>& checks);
/// The nodes that are wrong or nearest to it, a few lines, and the sums.
[[nodiscard]] std::vector<std::string> node_lines(const CompiledModel& compiled,
                                                  const std::vector<InstanceCheck>& checks);
/// What is wrong, with the place of the worst element; empty if nothing is. Nothing compared is wrong.
[[nodiscard]] std::string node_failure(const CompiledModel& compiled, const std::vector<InstanceCheck>& checks);

}  // namespace tessera::cli
