// The RTL tile with a wrong bit in its adder, for tests that lockstep finds it.
#include "Vtile_core_faulty.h"
#include "verif/cosim/rtl_tile_model.h"

namespace tessera {

std::unique_ptr<RtlTile> make_faulty_rtl_tile(const TileConfig& config) {
  return std::make_unique<RtlTileModel<Vtile_core_faulty>>(config);
}

}  // namespace tessera
