// Which link of which IPU leads where, and by which way packets go: from a platform's `topology`. Plain data, for
// models, driver and compilers alike.
//
// Ladder (docs/machine/links.md): cards are rungs, the IPUs 2k and 2k + 1 of card k siblings; rails join IPUs of equal
// parity on neighbouring cards; no wrap. Across the source card's rung first, then along the rail. With more than two
// IPUs a packet that ends at the sibling takes one of the direct links, one that goes on takes one of the crossed; with
// two IPUs all are for it. Ports are numbered direct, crossed, up, down; what would lead beyond the first or last card
// has no port. Other topologies: ports in the order of the file's links; shortest way, at equal length by the lowest
// next IPU, but for the routes that the file gives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hw/platform.h"

namespace tessera {

class Topology {
 public:
  static constexpr unsigned kMaxPorts = 16;

  /// Throws Error(usage) for IPUs that are not there, pairs named twice, more than kMaxPorts links at an IPU, routes
  /// over IPUs that are no neighbours or that never arrive, and for ways that wait for each other in a circle (a
  /// deadlock of full buffers): the circle is named.
  explicit Topology(const Platform& platform);

  struct Port {
    unsigned ipu = 0, port = 0;  ///< the other end
    enum class Use : std::uint8_t { direct, crossed, rail, other } use = Use::other;
  };
  [[nodiscard]] unsigned ipus() const { return static_cast<unsigned>(ports_.size()); }
  [[nodiscard]] const std::vector<Port>& ports(unsigned ipu) const { return ports_.at(ipu); }

  /// Next IPU on the way from `at` to `to`; nothing if there is none (or at == to).
  [[nodiscard]] std::optional<unsigned> next(unsigned at, unsigned to) const;
  /// Ports at `at` that packets for `to` may take; lane l takes number l mod size. Empty if there is no way.
  [[nodiscard]] const std::vector<unsigned>& group(unsigned at, unsigned to) const;
  /// Links on the way; 0 for itself, nothing if there is no way.
  [[nodiscard]] std::optional<unsigned> hops(unsigned from, unsigned to) const;
  /// Hops of a sync of these IPUs, one way: from the member for which the farthest of the others is nearest. IPUs that
  /// no links join count as in a ladder: 1 + n / 4. 0 for one IPU. (calibration sync-003 .. sync-006: 1, 2, 3, 5 for 2,
  /// 4, 8, 16)
  [[nodiscard]] unsigned sync_hops(const std::vector<unsigned>& members) const;
  /// "0.3": IPU 0, port 3.
  [[nodiscard]] static std::string name(unsigned ipu, unsigned port);

 private:
  void join_ports(const Platform& platform);
  void check_arrival(const Platform& platform) const;
  void fill_groups(const Platform& platform);
  void check_circles(const Platform& platform) const;

  std::vector<std::vector<Port>> ports_;                    // [IPU][port]
  std::vector<std::vector<int>> next_;                      // [at][to], -1: none
  std::vector<std::vector<std::vector<unsigned>>> groups_;  // [at][to]
};

}  // namespace tessera
