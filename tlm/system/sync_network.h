// Syncs of zones wider than one IPU: group 1, group 2, and zone host over group 1. Each group is divided into sets by
// number, which have nothing to do with each other. Chips meet here; the host's part of a host sync is the root chip's
// (tlm/system/chip.h).
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <systemc>
#include <vector>

#include "hw/topology.h"
#include "tlm/sync/sync_unit.h"

namespace tessera {

/// What a group of IPUs agrees on.
struct Meeting {
  std::map<unsigned, SyncResult> arrived;  ///< by IPU
  std::optional<unsigned> set;             ///< number in its group; nothing: an IPU alone with the host
  unsigned root = 0;                       ///< lowest IPU of the set
  // When all have arrived.
  Cycle latest = 0;
  bool vote = true;
  bool complete = false;
  bool released = false;  ///< zone host: the root has heard from the host
  Cycle z = 0;
  bool result = true;
};

class SyncNetwork {
 public:
  /// Cycles from the last arrival to the release: base + 2 x hop x (distance of the farthest IPU).
  SyncNetwork(const Platform::Sync& sync, const Topology& topology) : sync_(sync), topology_(topology) {}

  /// The set of group 1 and that of group 2 to which an IPU belongs; nothing: it is not in that group. To be told
  /// before any IPU of the set arrives.
  void set_member(unsigned ipu, std::optional<unsigned> set1, std::optional<unsigned> set2);
  /// Members of a set, ascending.
  [[nodiscard]] std::vector<unsigned> members(unsigned group, unsigned set) const;
  /// `ipu` and all that it may wait for: those of its sets, of their sets, and so on.
  [[nodiscard]] std::set<unsigned> joined(unsigned ipu) const;

  /// All tiles of `ipu` have arrived. The meeting completes with the last member; wait for changed() until it has.
  std::shared_ptr<Meeting> arrive(unsigned ipu, const SyncResult& result);
  /// The root chip has the host's answer at `acknowledged`.
  void release_host(Meeting& meeting, Cycle acknowledged, bool vote);
  /// The IPU stops: what it had arrived at is forgotten.
  void leave(unsigned ipu);

  /// One line for each meeting that waits, of IPUs of `only` if given: who has arrived, when the last did, and who is
  /// missing.
  [[nodiscard]] std::string describe(const std::set<unsigned>* only = nullptr) const;

  [[nodiscard]] sc_core::sc_event& changed() { return changed_; }

 private:
  static unsigned index(Zone zone) { return zone == Zone::group2 ? 1 : zone == Zone::host ? 2 : 0; }
  static unsigned group_of(unsigned zone) { return zone == 1 ? 1 : 0; }

  /// To the farthest member and back.
  [[nodiscard]] Cycle hop_delay(const std::vector<unsigned>& members) const;
  /// Who meets there.
  [[nodiscard]] std::vector<unsigned> awaited(unsigned zone, const Meeting& meeting) const;

  Platform::Sync sync_;
  const Topology& topology_;
  std::array<std::map<unsigned, unsigned>, 2> sets_;                  // of an IPU, by group
  std::array<std::map<unsigned, std::shared_ptr<Meeting>>, 3> open_;  // by root
  sc_core::sc_event changed_;
};

}  // namespace tessera
