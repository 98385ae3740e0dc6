// How the simulator scales: host threads, a superstep without work, exchange phases against memcpy, and the boot of
// whole machines through the driver with the memory that they take.
#pragma once

#include "host/cli/command.h"
#include "verif/bench/figure.h"

namespace tessera::cli {

/// Each boot is a process of its own, since SystemC elaborates once a process.
[[nodiscard]] bench::Report run_scale_bench(const Context& context, const bench::Effort& effort);

}  // namespace tessera::cli
