// Speed of supersteps and of the exchange fabric with the TLM tiles of a whole C2 IPU (1216): what a superstep costs
// without words, what an exchange phase costs with them, matched anew and replayed.
#pragma once

#include "verif/bench/figure.h"

namespace tessera::bench {

/// `threads`: host threads that run tiles.
[[nodiscard]] Report run_exchange_bench(const Effort& effort, unsigned threads);

}  // namespace tessera::bench
