// TILES of the command line: which tiles are modelled as RTL or in lockstep.
//
//   0            tile 0 of every IPU's numbering: IPU 0 unless given      0,17,40-47   lists and ranges
//   1:5          tile 5 of IPU 1 (ranges too: 1:5-9)                      all          every tile of every IPU
#pragma once

#include <string>
#include <vector>

#include "hw/types.h"

namespace tessera::cli {

/// Parses `text` for a system of `ipus` IPUs with `tiles` tiles each. Returns the tiles in ascending order without
/// duplicates. Throws Error (usage) that names the part which is wrong and the valid range.
std::vector<TileRef> parse_tile_list(const std::string& text, unsigned ipus, unsigned tiles);

/// Whether `tile` is among `count` of an IPU's `tiles` that are spread evenly: one of each `count`-th part, all are if
/// count is at least `tiles`. What is laid out over tiles repeats at even distances, so the places within the parts are
/// uneven (multiples of the golden section). IPU 0 has its first and its last tile among them; every IPU after it looks
/// one tile further within each part, so that as many IPUs as a part has tiles look at all of them.
[[nodiscard]] bool in_spread(unsigned tile, unsigned tiles, unsigned count, unsigned ipu = 0);

}  // namespace tessera::cli
