// What the compiler tells: memory by tile and category, phases, vertices, re-layout; and dumps of passes. All of it
// deterministic: no wall time.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "host/compiler/emit.h"

namespace tessera::compiler {

[[nodiscard]] nlohmann::ordered_json make_report(const Parts& parts);

[[nodiscard]] nlohmann::ordered_json dump_steps(const Ir& ir);
[[nodiscard]] nlohmann::ordered_json dump_allocation(const Ir& ir, const Liveness& liveness,
                                                     const Allocation& allocation);
[[nodiscard]] nlohmann::ordered_json dump_phases(const Ir& ir, const std::vector<exchange::Schedule>& schedules);

}  // namespace tessera::compiler
