// A tile whose coverage is collected: stands between a chip (or a test that plays one) and a tile of any kind.
#pragma once

#include <memory>

#include "tlm/tile/tile_model.h"
#include "verif/coverage/collector.h"

namespace tessera::coverage {

/// `tile` itself if there are no totals: nothing is spent then. Observers of the tile go on working.
[[nodiscard]] std::unique_ptr<TileModel> covered(const TileConfig& config, std::unique_ptr<TileModel> tile,
                                                 const std::shared_ptr<Totals>& totals);

}  // namespace tessera::coverage
