// Copies as exchange words and copy vertices: pieces that go word to word at equal phase
// are exchanged straight to their place; of all others the covering words go to a staging buffer on the receiving tile,
// where copy vertices put the bytes right. These are counted as re-layout.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "host/compiler/ir.h"

namespace tessera::compiler {

/// Source and destination views of equal type and shape; destinations are disjoint from everything else of the list.
using CopyList = std::vector<std::pair<graph::Tensor, graph::Tensor>>;

/// Lowers copies that happen at once. `kills`: variables that are wholly written by them. Returns a sequence of at most
/// one exchange and one compute node.
[[nodiscard]] Node lower_copies(Ir& ir, const CodeletLibrary& library, const CopyList& copies,
                                const std::vector<std::uint32_t>& kills, const std::string& path,
                                const std::string& name);

/// Variables of which a list of destinations holds every element once.
[[nodiscard]] std::vector<std::uint32_t> fully_written(const graph::Graph& graph,
                                                       const std::vector<graph::Tensor>& destinations);

/// Estimated cycles of a vertex in this state; addresses do not matter.
[[nodiscard]] std::uint64_t vertex_cycles(const CodeletInfo& info, const StateWord* state);

/// Sorted, without repeats.
void sort_unique(std::vector<std::uint32_t>& values);

}  // namespace tessera::compiler
