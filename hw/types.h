// Names for the quantities of the machine that every C++ room shares.
#pragma once

#include <cstdint>

namespace tessera {

using Cycle = std::uint64_t;    ///< tile clock cycles since the clock left reset (docs/machine/timing.md)
using Address = std::uint32_t;  ///< byte address as a tile sees it
using Word = std::uint32_t;     ///< one aligned 32-bit word

inline constexpr Cycle kNever = ~Cycle{0};

/// Contexts of a tile: 0 is the supervisor, 1..6 the workers (worker w owns slot w-1).
using ContextId = std::uint8_t;

/// Sync zones, as encoded in the rs2 field of x.sync.
enum class Zone : std::uint8_t { local = 0, internal = 1, group1 = 2, group2 = 3, host = 4 };

/// Where a tile stands in the system.
struct TileRef {
  std::uint16_t ipu = 0;
  std::uint16_t tile = 0;
  friend bool operator==(TileRef a, TileRef b) { return a.ipu == b.ipu && a.tile == b.tile; }
  friend bool operator!=(TileRef a, TileRef b) { return !(a == b); }
  friend bool operator<(TileRef a, TileRef b) { return a.ipu != b.ipu ? a.ipu < b.ipu : a.tile < b.tile; }
};

/// How a tile is modelled; chosen per tile at run time.
enum class TileMode : std::uint8_t { tlm, rtl, lockstep };

}  // namespace tessera
