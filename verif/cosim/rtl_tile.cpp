// The fast RTL tile: no tracing.
#include "Vtile_core.h"
#include "verif/cosim/rtl_tile_model.h"

namespace tessera {

std::unique_ptr<RtlTile> make_rtl_tile(const TileConfig& config) {
  return std::make_unique<RtlTileModel<Vtile_core>>(config);
}

}  // namespace tessera
