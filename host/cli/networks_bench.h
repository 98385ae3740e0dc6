// The networks of docs/networks.md as `tessera run example:NAME` runs them: machine cycles against the limits set for
// them, utilisation, memory, and the time of compiling and running.
#pragma once

#include <string>
#include <vector>

#include "host/cli/command.h"
#include "verif/bench/figure.h"

namespace tessera::cli {

/// Names by which one network can be chosen.
[[nodiscard]] std::vector<std::string> bench_networks();

/// One network, or all if `name` is empty. Each is run once, whatever `effort` says of rounds: its cycles are the same
/// every time and a whole network takes long. Quick: shrunken variants on a pocket machine.
[[nodiscard]] bench::Report run_networks_bench(const Context& context, const bench::Effort& effort,
                                               const std::string& name);

}  // namespace tessera::cli
