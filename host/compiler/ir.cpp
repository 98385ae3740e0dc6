// Variables that the compiler adds to its copy of the graph.
#include "host/compiler/ir.h"

#include <utility>

namespace tessera::compiler {

graph::Tensor Ir::add_variable(graph::Type type, std::uint64_t elements, std::string name,
                               const std::vector<graph::TileInterval>& mapping) {
  graph::Tensor tensor = graph.add_variable(type, {elements}, std::move(name));
  for (const graph::TileInterval& i : mapping) graph.map(tensor.slice(i.begin, i.end), i.tile);
  update_layout();
  return tensor;
}

void Ir::update_layout() {
  while (layout.size() < graph.variables().size()) {
    layout.add(graph.variables()[layout.size()]);
    alignment.push_back(kIntervalAlign);
  }
}

}  // namespace tessera::compiler
