// Vertices of a compute set: fields checked against their codelet, connected data found on the vertex's tile or staged
// there, states made with addresses still to come.
#pragma once

#include "host/codelets/codelet.h"
#include "host/compiler/copy_plan.h"
#include "host/compiler/ir.h"

namespace tessera::compiler {

/// A compute set as supersteps: what must be brought to staging before, the vertices, what goes back behind.
struct BoundSet {
  CopyList before, after;
  std::vector<std::uint32_t> staging;  ///< variables that `before` fills
  std::vector<std::uint32_t> after_kills;
  std::uint32_t compute = 0;  ///< index into Ir::computes
};

/// Throws Error (usage) that names vertex, field, tensor and compute set: unknown codelet or field, field unconnected,
/// type mismatch, too few elements, two vertices that write one element or one that reads what another writes.
[[nodiscard]] BoundSet bind_compute_set(Ir& ir, const CodeletLibrary& library, std::uint32_t set,
                                        const std::string& path);

}  // namespace tessera::compiler
