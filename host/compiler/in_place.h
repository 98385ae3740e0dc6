// Which variables may take the place of another: one that dies in the compute set that makes the other, element by
// element at the same offset of equal blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "host/compiler/ir.h"
#include "host/compiler/liveness.h"

namespace tessera::compiler {

/// On these tiles `dying` and `born` may stand at one address.
struct InPlace {
  std::uint32_t dying = 0, born = 0;
  std::vector<std::uint32_t> tiles;  ///< ascending
};

/// In order of points. Fields marked elementwise (vertex.h) are what allows it; a vertex that reads or writes one of
/// the two otherwise forbids it on its tile.
[[nodiscard]] std::vector<InPlace> find_in_place(const Ir& ir, const Liveness& liveness);

}  // namespace tessera::compiler
