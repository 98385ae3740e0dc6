// See sync_network.h.
#include "tlm/system/sync_network.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {

void SyncNetwork::set_member(unsigned ipu, bool group1, bool group2) {
  const std::array<bool, 2> in{group1, group2};
  for (unsigned g = 0; g < 2; ++g) {
    if (in[g])
      members_[g][ipu] = true;
    else
      members_[g].erase(ipu);
  }
}

bool SyncNetwork::member(unsigned ipu, Zone zone) const {
  if (zone == Zone::host) return true;
  return members_[index(zone)].count(ipu) != 0;
}

Cycle SyncNetwork::hop_delay(const std::vector<unsigned>& members) const {
  return 2 * Cycle{sync_.group_hop} * topology_.sync_hops(members);
}

std::shared_ptr<Meeting> SyncNetwork::arrive(unsigned ipu, const SyncResult& result) {
  const unsigned zone = index(result.zone);
  // Zone host meets over group 1; an IPU outside is alone with the host.
  const auto& group = members_[zone == 1 ? 1 : 0];
  const bool alone = result.zone == Zone::host && group.count(ipu) == 0;
  const unsigned root = alone || group.empty() ? ipu : group.begin()->first;
  auto& meeting = open_[zone][root];
  if (!meeting) meeting = std::make_shared<Meeting>();
  meeting->root = root;
  meeting->arrived[ipu] = result;
  meeting->latest = std::max(meeting->latest, result.latest);
  meeting->vote = meeting->vote && result.vote;
  std::vector<unsigned> members{ipu};
  if (!alone) {
    members.clear();
    for (const auto& [member, in] : group) members.push_back(member);
  }
  const std::shared_ptr<Meeting> here = meeting;
  if (here->arrived.size() == members.size()) {
    here->complete = true;
    here->z = here->latest + sync_.group_base + hop_delay(members);
    here->result = here->vote;
    open_[zone].erase(root);
    changed_.notify(sc_core::SC_ZERO_TIME);
  }
  return here;
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

std::string SyncNetwork::describe() const {
  std::string text;
  for (unsigned zone = 0; zone < open_.size(); ++zone) {
    for (const auto& [root, meeting] : open_[zone]) {
      if (meeting->arrived.empty()) continue;
      std::vector<unsigned> here, missing;
      for (const auto& [ipu, result] : meeting->arrived) here.push_back(ipu);
      for (const auto& [ipu, in] : members_[zone == 1 ? 1 : 0])
        if (meeting->arrived.count(ipu) == 0) missing.push_back(ipu);
      const Zone which = meeting->arrived.begin()->second.zone;
      text += fmt::format("\nx.sync {}: IPUs {} have arrived, the last in cycle {}; IPUs {} have not", zone_name(which),
                          tile_ranges(here), meeting->latest, tile_ranges(missing));
    }
  }
  return text;
}

void SyncNetwork::leave(unsigned ipu) {
  for (auto& zone : open_)
    for (auto& [root, meeting] : zone) meeting->arrived.erase(ipu);
}

}  // namespace tessera
