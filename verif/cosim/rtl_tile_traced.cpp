// The RTL tile with FST tracing compiled in.
#include <verilated_fst_c.h>

#include "Vtile_core_traced.h"
#include "verif/cosim/rtl_tile_model.h"

namespace tessera {

std::unique_ptr<RtlTile> make_traced_rtl_tile(const TileConfig& config) {
  return std::make_unique<RtlTileModel<Vtile_core_traced, true>>(config);
}

}  // namespace tessera
