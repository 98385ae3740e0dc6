// What packets do to links: bytes over each group of links, and the least cycles that takes. And rings over the IPUs of
// a topology. Plain arithmetic on hw/topology; nothing here simulates.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hw/platform.h"
#include "hw/topology.h"

namespace tessera::demo {

/// Bytes a cycle of one link and direction: rate x efficiency over the tile clock.
[[nodiscard]] double link_bytes_per_cycle(const Platform& platform);

/// Payload over the groups of links that share a way (Topology::group), headers and frames not counted.
class LinkLoad {
 public:
  explicit LinkLoad(const Topology& topology) : topology_(topology) {}

  /// Adds `bytes` from one IPU to another, over every link group on the way. Throws Error(usage) if there is no way.
  void add(unsigned from, unsigned to, std::uint64_t bytes);

  struct Busiest {
    unsigned from = 0, to = 0;  ///< the neighbours that the group joins
    unsigned links = 0;
    std::uint64_t bytes = 0;
    double cycles = 0;
  };
  /// The group that takes longest; of equals the first by IPU. All zero if nothing was added.
  [[nodiscard]] Busiest busiest(const Platform& platform) const;

 private:
  struct Group {
    unsigned to = 0;
    std::uint64_t bytes = 0;
  };
  const Topology& topology_;
  std::map<std::pair<unsigned, std::vector<unsigned>>, Group> groups_;  // by IPU and its ports
};

/// IPUs of a ring; order[p] sends to order[p + 1] and order[p - 1], around.
struct Ring {
  std::vector<unsigned> order;
  bool neighbours = true;  ///< every step of it is one link; if not, some packets pass other IPUs
};

/// A ring over all IPUs, from IPU 0. If the links have no ring, a line that visits all and comes back over itself; if
/// they have no line, the IPUs by number. Throws Error(usage) if some IPU cannot be reached from another.
[[nodiscard]] Ring find_ring(const Topology& topology);

}  // namespace tessera::demo
