// Cycles and work of each node of a model that ran: whose supersteps are whose, what the matrix engines did in them.
//
// A superstep counts for the node whose step opens it: what a later node computes in it without an exchange of its own
// counts there too. A function that serves several nodes, one a call, is shared out in equal parts. Nodes that a
// product takes along have no cycles of their own.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "host/cli/session.h"
#include "host/onnx/model.h"

namespace tessera::cli {

struct NodeFigures {
  const model::Node* node = nullptr;
  std::string kind;            ///< model::work_class
  std::string taken_along;     ///< the product that computes it too; empty if it has steps of its own
  std::uint32_t calls = 1;     ///< nodes that share its steps
  std::uint64_t work = 0;      ///< multiply-accumulates
  std::uint64_t flop = 0;      ///< floating-point operations
  double engine_cycles = 0;    ///< that one tile would take for the work at its peak
  double useful_steps = 0;     ///< the same for the part of it that matrix engines do
  double cycles = 0;           ///< of its supersteps, over all executions
  double loop_cycles = 0;      ///< of those in the loop of a recurrence
  double amp_cycles = 0;       ///< of its AMP compute sets: see profile::AmpSpans
  double amp_tile_cycles = 0;  ///< the same, times the tiles active in them

  /// Useful AMP steps over compute cycles and active tiles.
  [[nodiscard]] double amp_share() const { return amp_tile_cycles > 0 ? useful_steps / amp_tile_cycles : 0; }
  /// Work over that of all tiles' matrix engines in the node's cycles.
  [[nodiscard]] double peak_share(double tiles) const { return cycles > 0 ? engine_cycles / (cycles * tiles) : 0; }
};

/// One entry for each node, in order.
[[nodiscard]] std::vector<NodeFigures> figures_of(const model::Model& model, const CompiledModel& compiled,
                                                  const Machine& machine);

struct ClassFigures {
  std::string name;
  std::uint64_t nodes = 0, work = 0, flop = 0;
  double engine_cycles = 0, cycles = 0;
  double useful_steps = 0, amp_tile_cycles = 0;  ///< of those nodes that the matrix engines compute
};

/// Sums by kind, those with most cycles first.
[[nodiscard]] std::vector<ClassFigures> by_class(const std::vector<NodeFigures>& figures);

[[nodiscard]] nlohmann::ordered_json to_json(const NodeFigures& figures, double tiles);
[[nodiscard]] nlohmann::ordered_json to_json(const ClassFigures& figures, double tiles);

}  // namespace tessera::cli
