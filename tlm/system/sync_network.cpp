// See sync_network.h.
#include "tlm/system/sync_network.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {

void SyncNetwork::set_member(unsigned ipu, std::optional<unsigned> set1, std::optional<unsigned> set2) {
  const std::array<std::optional<unsigned>, 2> in{set1, set2};
  for (unsigned g = 0; g < 2; ++g) {
    if (in[g])
      sets_[g][ipu] = *in[g];
    else
      sets_[g].erase(ipu);
  }
}

std::vector<unsigned> SyncNetwork::members(unsigned group, unsigned set) const {
  std::vector<unsigned> found;
  for (const auto& [ipu, number] : sets_[group])
    if (number == set) found.push_back(ipu);
  return found;
}

std::set<unsigned> SyncNetwork::joined(unsigned ipu) const {
  std::set<unsigned> found;
  std::vector<unsigned> fresh{ipu};
  while (!fresh.empty()) {
    const unsigned at = fresh.back();
    fresh.pop_back();
    if (!found.insert(at).second) continue;
    for (unsigned g = 0; g < sets_.size(); ++g) {
      const auto in = sets_[g].find(at);
      if (in == sets_[g].end()) continue;
      const std::vector<unsigned> others = members(g, in->second);
      fresh.insert(fresh.end(), others.begin(), others.end());
    }
  }
  return found;
}

Cycle SyncNetwork::hop_delay(const std::vector<unsigned>& members) const {
  return 2 * Cycle{sync_.group_hop} * topology_.sync_hops(members);
}

std::vector<unsigned> SyncNetwork::awaited(unsigned zone, const Meeting& meeting) const {
  return meeting.set ? members(group_of(zone), *meeting.set) : std::vector<unsigned>{meeting.root};
}

std::shared_ptr<Meeting> SyncNetwork::arrive(unsigned ipu, const SyncResult& result) {
  const unsigned zone = index(result.zone);
  // Zone host meets over group 1; an IPU outside is alone with the host.
  const auto in = sets_[group_of(zone)].find(ipu);
  const bool alone = in == sets_[group_of(zone)].end();
  const unsigned root = alone ? ipu : members(group_of(zone), in->second).front();
  auto& open = open_[zone][root];
  if (!open) open = std::make_shared<Meeting>();
  const std::shared_ptr<Meeting> meeting = open;
  if (!alone) meeting->set = in->second;
  meeting->root = root;
  meeting->arrived[ipu] = result;
  const std::vector<unsigned> members = awaited(zone, *meeting);
  if (meeting->arrived.size() == members.size()) {
    meeting->complete = true;
    for (const auto& [member, what] : meeting->arrived) {
      meeting->latest = std::max(meeting->latest, what.latest);
      meeting->vote = meeting->vote && what.vote;
    }
    meeting->z = meeting->latest + sync_.group_base + hop_delay(members);
    meeting->result = meeting->vote;
    open_[zone].erase(root);
    changed_.notify(sc_core::SC_ZERO_TIME);
  }
  return meeting;
}

void SyncNetwork::release_host(Meeting& meeting, Cycle acknowledged, bool vote) {
  // The host is one more that arrives.
  std::vector<unsigned> members;
  for (const auto& [ipu, result] : meeting.arrived) members.push_back(ipu);
  meeting.z = std::max(meeting.latest, acknowledged) + sync_.host + hop_delay(members);
  meeting.result = meeting.vote && vote;
  meeting.released = true;
  changed_.notify(sc_core::SC_ZERO_TIME);
}

std::string SyncNetwork::describe(const std::set<unsigned>* only) const {
  std::string text;
  for (unsigned zone = 0; zone < open_.size(); ++zone) {
    for (const auto& [root, meeting] : open_[zone]) {
      if (only != nullptr && only->count(root) == 0) continue;
      Cycle latest = 0;
      std::vector<unsigned> here, missing;
      for (const auto& [ipu, result] : meeting->arrived) {
        here.push_back(ipu);
        latest = std::max(latest, result.latest);
      }
      for (unsigned ipu : awaited(zone, *meeting))
        if (meeting->arrived.count(ipu) == 0) missing.push_back(ipu);
      std::string name = zone_name(meeting->arrived.begin()->second.zone);
      if (meeting->set.value_or(0) != 0) name += fmt::format(" (set {})", *meeting->set);
      text += fmt::format("\nx.sync {}: IPUs {} have arrived, the last in cycle {}; IPUs {} have not", name,
                          tile_ranges(here), latest, tile_ranges(missing));
    }
  }
  return text;
}

void SyncNetwork::leave(unsigned ipu) {
  for (auto& zone : open_)
    for (auto at = zone.begin(); at != zone.end();) {
      at->second->arrived.erase(ipu);
      at = at->second->arrived.empty() ? zone.erase(at) : std::next(at);
    }
}

}  // namespace tessera
