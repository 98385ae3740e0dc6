// From the operator graph to the graph of the machine: variables, vertices, compute sets, streams and the program.
//
// Reshape, Transpose, Squeeze, Slice, Concat and their like are views: nothing moves until an operator needs its
// operand elsewhere. Element-wise operators take the layout of their operand. Matrix products are partitioned by a cost
// model (matmul_plan.h), their constant operand lies where it is used. If the model leaves its first axis open (the
// batch) and treats its rows independently, the program repeats the body over chunks of rows that host streams feed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host/graph/graph.h"
#include "host/onnx/model.h"

namespace tessera::nn {

struct Options {
  unsigned tiles = 16;
  std::uint32_t sram_bytes = 256 * 1024;  ///< of a tile
  std::int64_t chunk = 0;                 ///< rows a step of the batch loop; 0: by cost
  unsigned replicas = 1;                  ///< IPUs that share the rows of the batch; more than rows are not used
  /// Constant weights of products on the AMP unit lie once, spread over all tiles, and are sent to the tiles that use
  /// them before each use; else resident copies.
  bool weights_once = false;
  bool frugal = false;     ///< least memory of weights and work together, and no patches that keep their zeros
  bool oversized = false;  ///< products that no plan fits into a tile are lowered all the same, to measure them
  bool outline = true;     ///< repeated clusters of nodes become one function that is called (host/nn/clusters.h)
  bool tap_nodes = false;  ///< tap every node's result (--check); what only views another one is left out
  /// Called between nodes and plans; what it throws ends the lowering.
  std::function<void()> poll{};
};

/// A stream and the model's tensor that it carries.
struct Binding {
  std::string name;    ///< of the tensor
  std::string stream;  ///< of the stream, empty if not streamed
  model::Type type = model::Type::f32;
  model::Type declared = model::Type::f32;
  model::Shape shape;     ///< of the whole tensor
  std::int64_t rows = 0;  ///< rows of axis 0 that one step carries; 0: the stream has one step, with all of it
  model::Tensor known;    ///< an output that is not streamed: a constant, or without elements
  [[nodiscard]] bool streamed() const { return !stream.empty(); }
  [[nodiscard]] std::int64_t step_elements() const;
};

/// What the planner chose for a node, for people.
struct PlanNote {
  std::string node, text;
};

/// Which steps do a node's work: those in the innermost sequence of the name `steps`.
struct NodePlace {
  std::string node;
  std::string steps;         ///< the node itself, the product that takes it along, or the same node of the first call
  std::uint32_t calls = 1;   ///< more than 1: in a function that serves as many nodes, one a call
  bool taken_along = false;  ///< computed with `steps`, has none of its own
};

struct Lowered {
  graph::Graph graph;                    ///< entry point "main"
  std::uint32_t steps = 1;               ///< rounds of the batch loop
  std::int64_t batch = 0;                ///< rows in all; 0 without batch loop
  std::int64_t chunk = 0;                ///< rows a round and replica; the last may be padded
  unsigned replicas = 1;                 ///< step s of a stream with rows is round s / replicas of replica s % replicas
  std::vector<Binding> inputs, outputs;  ///< in the model's order
  std::vector<Binding> taps;             ///< values that are tapped, without streams; rows as for outputs
  std::vector<PlanNote> notes;
  std::vector<NodePlace> places{};  ///< one for each node of the model, in its order
  bool least_memory = false;        ///< of products: Options::frugal would give no other plans
};

/// Throws Error: unsupported (all nodes that have no lowering), does_not_fit (no plan within the memory of a tile).
[[nodiscard]] Lowered lower(const model::Model& model, const Options& options);

/// Contents of one step of an input stream; rows behind the batch are zero.
void fill_step(const Binding& input, const model::Tensor& whole, std::uint64_t step, std::uint8_t* bytes);
/// Takes one step of an output stream into the whole tensor, which has its type and shape; rows behind the batch are
/// dropped.
void drain_step(const Binding& output, model::Tensor& whole, std::uint64_t step, const std::uint8_t* bytes);

/// Whether the model may be cut into chunks of rows: its inputs leave axis 0 open, and every output row depends on the
/// same input row only.
[[nodiscard]] bool rows_are_independent(const model::Model& model);

}  // namespace tessera::nn
