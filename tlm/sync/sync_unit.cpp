// See sync_unit.h.
#include "tlm/sync/sync_unit.h"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace tessera {

void SyncUnit::set_active(unsigned tile, bool active) { active_.at(tile) = active; }

unsigned SyncUnit::active_tiles() const {
  return static_cast<unsigned>(std::count(active_.begin(), active_.end(), true));
}

void SyncUnit::arrive(unsigned tile, const SyncArrival& arrival) {
  if (!active_.at(tile) || arrived_[tile]) throw std::logic_error("sync: a tile arrived that is inactive or waits");
  arrived_[tile] = arrival;
  ++count_;
}

std::optional<SyncResult> SyncUnit::complete() const {
  if (count_ == 0 || count_ != active_tiles()) return std::nullopt;
  std::optional<SyncResult> result;
  for (const auto& arrival : arrived_) {
    if (!arrival) continue;
    if (!result) result = SyncResult{arrival->zone, 0, true, arrival->code};
    if (arrival->zone != result->zone) return std::nullopt;
    result->latest = std::max(result->latest, arrival->cycle);
    result->vote = result->vote && arrival->vote;
  }
  return result;
}

std::optional<ZoneConflict> SyncUnit::conflict() const {
  if (count_ < 2) return std::nullopt;
  std::map<Zone, ZoneConflict::Waiting> sets;
  std::map<Zone, Cycle> first;  // of each zone
  for (unsigned tile = 0; tile < arrived_.size(); ++tile) {
    if (!arrived_[tile]) continue;
    const Zone zone = arrived_[tile]->zone;
    auto [at, fresh] = first.emplace(zone, arrived_[tile]->cycle);
    if (!fresh) at->second = std::min(at->second, arrived_[tile]->cycle);
    sets[zone].zone = zone;
    sets[zone].tiles.push_back(tile);
  }
  if (sets.size() < 2) return std::nullopt;
  ZoneConflict conflict;
  std::vector<Cycle> starts;
  for (const auto& [zone, cycle] : first) starts.push_back(cycle);
  std::sort(starts.begin(), starts.end());
  conflict.cycle = starts[1];
  for (auto& [zone, waiting] : sets) conflict.sets.push_back(std::move(waiting));
  return conflict;
}

void SyncUnit::release() {
  for (auto& arrival : arrived_) arrival.reset();
  count_ = 0;
}

const char* zone_name(Zone zone) {
  switch (zone) {
    case Zone::local:
      return "local";
    case Zone::internal:
      return "internal";
    case Zone::group1:
      return "group 1";
    case Zone::group2:
      return "group 2";
    case Zone::host:
      return "host";
  }
  return "?";
}

std::string tile_ranges(const std::vector<unsigned>& tiles, std::size_t most) {
  std::string text;
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < tiles.size();) {
    std::size_t last = i;
    while (last + 1 < tiles.size() && tiles[last + 1] == tiles[last] + 1) ++last;
    if (ranges++ == most) return text + ", ... (" + std::to_string(tiles.size()) + " tiles)";
    if (!text.empty()) text += ", ";
    text += std::to_string(tiles[i]);
    if (last > i) text += "-" + std::to_string(tiles[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace tessera
