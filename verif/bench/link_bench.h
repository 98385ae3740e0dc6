// Speed of an IPU-Link: what one packet costs from one port to the other, in SystemC, with a process that sends and one
// that takes.
#pragma once

#include "verif/bench/figure.h"

namespace tessera::bench {

[[nodiscard]] Report run_link_bench(const Effort& effort);

}  // namespace tessera::bench
