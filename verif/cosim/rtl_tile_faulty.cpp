// The RTL tile with a wrong bit in its adder and tracing compiled in, for tests that lockstep finds the fault.
#include <verilated_fst_c.h>

#include "Vtile_core_faulty.h"
#include "verif/cosim/rtl_tile_model.h"

namespace tessera {

std::unique_ptr<RtlTile> make_faulty_rtl_tile(const TileConfig& config) {
  return std::make_unique<RtlTileModel<Vtile_core_faulty, true>>(config);
}

}  // namespace tessera
