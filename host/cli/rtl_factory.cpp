#include "host/cli/rtl_factory.h"

namespace tessera::cli {

#ifdef TESSERA_FAULTY_RTL
std::unique_ptr<RtlTile> rtl_tile(const TileConfig& config) { return make_faulty_rtl_tile(config); }
std::unique_ptr<RtlTile> traced_rtl_tile(const TileConfig& config) { return make_faulty_rtl_tile(config); }
#else
std::unique_ptr<RtlTile> rtl_tile(const TileConfig& config) { return make_rtl_tile(config); }
std::unique_ptr<RtlTile> traced_rtl_tile(const TileConfig& config) { return make_traced_rtl_tile(config); }
#endif

}  // namespace tessera::cli
