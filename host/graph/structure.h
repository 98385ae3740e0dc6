// What a graph does, without names and without the contents of constants: two graphs of equal structure can share one
// function whose constants are parameters.
#pragma once

#include <string>

#include "host/graph/graph.h"

namespace tessera::graph {

/// Bytes that are equal exactly if variables (type, shape, mapping, constant or not), compute sets, vertices with all
/// their fields, functions and the program are. Streams, entries and exposed tensors are left out. Linear in the graph.
[[nodiscard]] std::string structure_of(const Graph& graph, const Program& program);

}  // namespace tessera::graph
