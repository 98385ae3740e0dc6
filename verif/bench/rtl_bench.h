// Speed of the Verilated tile, alone, with a waveform, and in lockstep with the TLM tile: one tile whose six workers
// run the kernel of the instruction-set benchmark, so that it issues in every slot. Loading and making the tiles take
// no part in the times.
#pragma once

#include <functional>
#include <memory>

#include "verif/bench/figure.h"
#include "verif/cosim/rtl_tile.h"

namespace tessera::bench {

/// Makes RTL tiles; the library does not know which models a program has.
struct RtlModels {
  std::function<std::unique_ptr<RtlTile>(const TileConfig&)> plain, traced;
};

/// Cycles a second without and with an FST of all signals.
[[nodiscard]] Report run_rtl_bench(const Effort& effort, const RtlModels& models);
/// Time of a lockstep tile against the RTL alone.
[[nodiscard]] Report run_lockstep_bench(const Effort& effort, const RtlModels& models);

}  // namespace tessera::bench
