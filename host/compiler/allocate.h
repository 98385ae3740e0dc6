// Addresses of variables on every tile. The data region is filled from the end of SRAM downwards, so that addresses do
// not depend on the sizes of the tables below it; holes that codelets leave on tiles that do not use them come first.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/compiler/in_place.h"
#include "host/compiler/ir.h"
#include "host/compiler/liveness.h"
#include "hw/platform.h"

namespace tessera::compiler {

struct AddressRange {
  Address begin = 0, end = 0;
};

struct TileMemory {
  std::int64_t lowest = 0;                ///< first byte of data outside holes; may lie below SRAM if it does not fit
  std::uint64_t sum = 0;                  ///< bytes of all variables, as if none shared
  std::uint64_t always = 0;               ///< bytes of those that live all the time
  std::uint64_t bound = 0;                ///< largest sum of what is live at one point: no allocation can do with less
  std::size_t peak_point = 0;             ///< Liveness::points index of that point
  std::uint64_t in_holes = 0;             ///< bytes of code holes in use
  std::uint64_t constants = 0, kept = 0;  ///< bytes of constants; of other variables that live all the time
  std::vector<std::uint32_t> live_at;     ///< bytes of what is live, by point
  std::uint64_t in_place = 0;             ///< bytes of variables that stand where another died
};

class Allocation {
 public:
  /// Block of a variable on a tile; throws std::logic_error if it has none.
  [[nodiscard]] Address base(std::uint32_t variable, std::uint32_t tile) const;
  [[nodiscard]] bool has(std::uint32_t variable, std::uint32_t tile) const;
  [[nodiscard]] Address at(const Place& place) const { return base(place.variable, place.tile) + place.offset; }
  [[nodiscard]] const std::vector<TileMemory>& tiles() const { return tiles_; }

  /// Tiles of a variable in ascending order.
  void place(std::uint32_t variable, std::uint32_t tile, std::int64_t address);
  std::vector<TileMemory> tiles_;

 private:
  std::vector<std::vector<std::pair<std::uint32_t, std::int64_t>>> blocks_;  // by variable: tile, address; by tile
};

struct AllocateOptions {
  bool reuse = true;  ///< false: every variable has memory of its own
  std::vector<InPlace> in_place;
};

/// holes: free ranges below the data region, by tile.
[[nodiscard]] Allocation allocate(const Ir& ir, const Liveness& liveness, const Platform& platform,
                                  const std::vector<std::vector<AddressRange>>& holes,
                                  const AllocateOptions& options = {});

/// Throws Error (does_not_fit) if on some tile data reaches below `floor`, naming the tile that lacks most: need and
/// have, categories (name, bytes), largest variables, the step of the peak and what to try.
void check_fits(const Ir& ir, const Liveness& liveness, const Allocation& allocation, const Platform& platform,
                Address floor, const std::vector<std::pair<std::string, std::uint64_t>>& categories);

}  // namespace tessera::compiler
