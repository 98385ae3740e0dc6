// Syncs of zones wider than one IPU: group 1, group 2, and zone host over group 1. Chips meet here; the host's part of
// a host sync is the root chip's (tlm/system/chip.h).
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <systemc>
#include <vector>

#include "hw/topology.h"
#include "tlm/sync/sync_unit.h"

namespace tessera {

/// What a group of IPUs agrees on.
struct Meeting {
  std::map<unsigned, SyncResult> arrived;  ///< by IPU
  Cycle latest = 0;
  bool vote = true;
  unsigned root = 0;  ///< lowest IPU of the group
  bool complete = false;
  bool released = false;  ///< zone host: the root has heard from the host
  Cycle z = 0;
  bool result = true;
};

class SyncNetwork {
 public:
  /// Cycles from the last arrival to the release: base + 2 x hop x (distance of the farthest IPU).
  SyncNetwork(const Platform::Sync& sync, const Topology& topology) : sync_(sync), topology_(topology) {}

  /// Membership of an IPU in groups 1 and 2.
  void set_member(unsigned ipu, bool group1, bool group2);
  [[nodiscard]] bool member(unsigned ipu, Zone zone) const;

  /// All tiles of `ipu` have arrived. The meeting completes with the last member; wait for changed() until it has.
  std::shared_ptr<Meeting> arrive(unsigned ipu, const SyncResult& result);
  /// The root chip has the host's answer at `acknowledged`.
  void release_host(Meeting& meeting, Cycle acknowledged, bool vote);
  /// The IPU stops: what it had arrived at is forgotten.
  void leave(unsigned ipu);

  /// One line for each meeting that waits: who has arrived, when the last did, and who is missing.
  [[nodiscard]] std::string describe() const;

  [[nodiscard]] sc_core::sc_event& changed() { return changed_; }

 private:
  static unsigned index(Zone zone) { return zone == Zone::group2 ? 1 : zone == Zone::host ? 2 : 0; }

  /// To the farthest member and back.
  [[nodiscard]] Cycle hop_delay(const std::vector<unsigned>& members) const;

  Platform::Sync sync_;
  const Topology& topology_;
  std::array<std::map<unsigned, bool>, 2> members_;
  std::array<std::map<unsigned, std::shared_ptr<Meeting>>, 3> open_;  // by root
  sc_core::sc_event changed_;
};

}  // namespace tessera
