// The RTL tile with faults that can be planted, and tracing, compiled in.
#include <verilated_fst_c.h>

#include "Vtile_core_faulty.h"
#include "verif/cosim/rtl_tile_model.h"

namespace tessera {

std::unique_ptr<RtlTile> make_faulty_rtl_tile(const TileConfig& config, const std::string& fault) {
  return std::make_unique<RtlTileModel<Vtile_core_faulty, true>>(config, "+fault_" + fault);
}

}  // namespace tessera
