// How long the demonstration `workers` takes on the whole server, and how much memory: building the program, making and
// loading the machine, running it, verifying every word.
#pragma once

#include "host/cli/command.h"
#include "verif/bench/figure.h"

namespace tessera::cli {

/// Each round is a process of its own, since SystemC elaborates once a process. Throws Error(internal) if one fails.
[[nodiscard]] bench::Report run_demo_bench(const Context& context, const bench::Effort& effort);

}  // namespace tessera::cli
