// The check of a run node by node: has the reference compare what was read of the program, and says where on the
// machine a wrong element lies.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "host/cli/session.h"
#include "host/golden/check.h"
#include "host/onnx/model.h"

namespace tessera::cli {

/// nodes: what the run read while the program ran (DeviceRun::nodes), whole values of the whole batch. inputs: in the
/// model's order.
[[nodiscard]] golden::NodeReport check_nodes(const model::Model& model, const std::vector<model::Tensor>& inputs,
                                             const std::map<std::string, model::Tensor>& nodes);

/// Adds "nodes" to the result: sums, the first wrong element with its place, one row of figures a node.
void add_nodes(nlohmann::ordered_json& result, const CompiledModel& compiled, const golden::NodeReport& report);
/// The nodes that are wrong or nearest to it, a few lines, and the sums.
[[nodiscard]] std::vector<std::string> node_lines(const CompiledModel& compiled, const golden::NodeReport& report);
/// What is wrong, with the place of the worst element; empty if nothing is. Nothing compared is wrong.
[[nodiscard]] std::string node_failure(const CompiledModel& compiled, const golden::NodeReport& report);

}  // namespace tessera::cli
