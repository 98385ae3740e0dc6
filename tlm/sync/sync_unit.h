// The sync unit of one IPU: which active tiles wait in which zone, when the last arrived, what they voted.
//
// A sync completes when every active tile waits in one zone; inactive tiles count as arrived. The release cycle is the
// caller's: Z = latest arrival + S_zone, over all IPUs of a group. Active tiles that wait in different wide zones at
// once are a conflict. Not modelled here: zone local (inside the tile), time, the host.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "hw/types.h"

namespace tessera {

struct SyncArrival {
  Cycle cycle = 0;  ///< r: the tile raises its line
  Zone zone = Zone::internal;
  bool vote = true;
  std::uint32_t code = 0;  ///< bits 31:8 of rs1, used from the root tile in zone host
};

/// Tiles that wait in different zones at once.
struct ZoneConflict {
  struct Waiting {
    Zone zone;
    std::vector<unsigned> tiles;
  };
  Cycle cycle = 0;  ///< arrival that made it a conflict
  std::vector<Waiting> sets;
};

struct SyncResult {
  Zone zone = Zone::internal;
  Cycle latest = 0;        ///< largest r
  bool vote = true;        ///< AND of all votes
  std::uint32_t code = 0;  ///< of the root tile, the lowest active one
};

class SyncUnit {
 public:
  explicit SyncUnit(unsigned tiles) : active_(tiles, 1), active_count_(tiles), arrived_(tiles) {}

  void set_active(unsigned tile, bool active);
  [[nodiscard]] bool active(unsigned tile) const { return active_[tile] != 0; }
  [[nodiscard]] unsigned active_tiles() const { return active_count_; }

  void arrive(unsigned tile, const SyncArrival& arrival);
  [[nodiscard]] const std::optional<SyncArrival>& arrival(unsigned tile) const { return arrived_[tile]; }
  [[nodiscard]] unsigned arrivals() const { return count_; }

  /// All active tiles wait in one zone (false if there are none).
  [[nodiscard]] std::optional<SyncResult> complete() const;
  [[nodiscard]] std::optional<ZoneConflict> conflict() const;
  /// All tiles go on.
  void release();

 private:
  static constexpr std::size_t kZones = 5;

  std::vector<std::uint8_t> active_;
  unsigned active_count_;
  std::vector<std::optional<SyncArrival>> arrived_;
  // Kept with each arrival, so that nothing has to be gathered when the last comes.
  std::array<unsigned, kZones> in_zone_{};
  unsigned count_ = 0, lowest_ = ~0u;
  Cycle latest_ = 0;
  bool vote_ = true;
};

[[nodiscard]] const char* zone_name(Zone zone);
/// "0-3, 7, 9-12": a set of tiles as short as it goes; more than `most` ranges end in "... (N tiles)".
[[nodiscard]] std::string tile_ranges(const std::vector<unsigned>& tiles, std::size_t most = 12);

}  // namespace tessera
