// See sync_unit.h.
#include "tlm/sync/sync_unit.h"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace tessera {

void SyncUnit::set_active(unsigned tile, bool active) {
  if (active_.at(tile) == active) return;
  active_[tile] = active;
  active_count_ += active ? 1 : -1;
}

void SyncUnit::arrive(unsigned tile, const SyncArrival& arrival) {
  if (active_.at(tile) == 0 || arrived_[tile]) throw std::logic_error("sync: a tile arrived that is inactive or waits");
  arrived_[tile] = arrival;
  ++in_zone_.at(static_cast<std::size_t>(arrival.zone));
  ++count_;
  lowest_ = std::min(lowest_, tile);
  latest_ = std::max(latest_, arrival.cycle);
  vote_ = vote_ && arrival.vote;
}

std::optional<SyncResult> SyncUnit::complete() const {
  if (count_ == 0 || count_ != active_count_) return std::nullopt;
  const SyncArrival& root = *arrived_[lowest_];
  if (in_zone_[static_cast<std::size_t>(root.zone)] != count_) return std::nullopt;
  return SyncResult{root.zone, latest_, vote_, root.code};
}

std::optional<ZoneConflict> SyncUnit::conflict() const {
  if (count_ < 2 || in_zone_[static_cast<std::size_t>(arrived_[lowest_]->zone)] == count_) return std::nullopt;
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
  ZoneConflict conflict;
  std::vector<Cycle> starts;
  for (const auto& [zone, cycle] : first) starts.push_back(cycle);
  std::sort(starts.begin(), starts.end());
  conflict.cycle = starts[1];
  for (auto& [zone, waiting] : sets) conflict.sets.push_back(std::move(waiting));
  return conflict;
}

void SyncUnit::release() {
  if (count_ != 0)
    for (auto& arrival : arrived_) arrival.reset();
  in_zone_ = {};
  count_ = 0;
  lowest_ = ~0u;
  latest_ = 0;
  vote_ = true;
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
