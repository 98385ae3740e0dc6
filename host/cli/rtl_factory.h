// Which RTL the command simulates. The test build `tessera-faulty` differs from `tessera` in this file alone: its RTL
// tiles have a wrong bit in the adder, so that tests see what users see when RTL and TLM differ.
#pragma once

#include <memory>

#include "verif/cosim/rtl_tile.h"

namespace tessera::cli {

[[nodiscard]] std::unique_ptr<RtlTile> rtl_tile(const TileConfig& config);
/// With signal tracing compiled in; several times slower.
[[nodiscard]] std::unique_ptr<RtlTile> traced_rtl_tile(const TileConfig& config);

}  // namespace tessera::cli
