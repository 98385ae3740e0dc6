// A graph of the machine counted as it is: vertices, edges, compute sets, variables and memory, by layer of the model.
// This is the natural grain, that of the own lowering, whose vertices are as large as memory and workers want them.
#pragma once

#include <string>
#include <vector>

#include "host/graph/graph.h"
#include "host/scale/scene.h"

namespace tessera::scale {

struct LayerCounts {
  std::string layer;
  Counts counts;
  std::uint64_t compute_sets = 0, families = 0;
  std::uint64_t bytes = 0;  ///< of variables that this layer is the first to write, and of constants it reads first
};

struct NaturalCounts {
  std::vector<LayerCounts> layers;  ///< in order of their first compute set
  Counts counts;
  std::uint64_t compute_sets = 0, families = 0, variables = 0, constants = 0, tensors = 0, bytes = 0;
};

/// `layers`: names of the model's nodes. A compute set belongs to the longest of them that begins its name, else to a
/// layer of its own name. Tensors: different views that fields are connected to. Edges are counted one by one.
[[nodiscard]] NaturalCounts count(const graph::Graph& graph, const std::vector<std::string>& layers);

/// One cluster a layer, another for what nobody writes (inputs and constants of the layer). `graph` must outlive it.
[[nodiscard]] Scene make_scene(const graph::Graph& graph, const std::vector<std::string>& layers);

}  // namespace tessera::scale
