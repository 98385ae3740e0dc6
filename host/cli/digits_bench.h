// The main job as a benchmark: the digits network compiled, and run on platform pocket in TLM, RTL and lockstep.
#pragma once

#include "host/cli/command.h"
#include "verif/bench/figure.h"

namespace tessera::cli {

/// Each run is a process of its own, since SystemC elaborates once a process.
[[nodiscard]] bench::Report run_digits_bench(const Context& context, const bench::Effort& effort);

}  // namespace tessera::cli
