// See link_load.h. Rings are found by depth-first search with a limit on its steps; in a ladder it needs few.
#include "host/demo/link_load.h"

#include <fmt/format.h>

#include <algorithm>

#include "hw/error.h"

namespace tessera::demo {

double link_bytes_per_cycle(const Platform& platform) {
  return static_cast<double>(platform.link.bits_per_second) / 8 * platform.link.efficiency_permille / 1000 /
         static_cast<double>(platform.clock_hz);
}

void LinkLoad::add(unsigned from, unsigned to, std::uint64_t bytes) {
  for (unsigned at = from; at != to;) {
    const auto next = topology_.next(at, to);
    if (!next) {
      throw Error(Category::usage, fmt::format("no links lead from IPU {} to IPU {}", from, to), "topology",
                  "join them, or use fewer IPUs");
    }
    Group& group = groups_[{at, topology_.group(at, to)}];
    group.to = *next;
    group.bytes += bytes;
    at = *next;
  }
}

LinkLoad::Busiest LinkLoad::busiest(const Platform& platform) const {
  Busiest worst;
  for (const auto& [key, group] : groups_) {
    const auto links = static_cast<unsigned>(key.second.size());
    const double cycles = static_cast<double>(group.bytes) / (links * link_bytes_per_cycle(platform));
    if (cycles > worst.cycles) worst = {key.first, group.to, links, group.bytes, cycles};
  }
  return worst;
}

namespace {

class Search {
 public:
  Search(const Topology& topology, bool close) : t_(topology), close_(close), used_(topology.ipus(), false) {}

  bool from(unsigned first) {
    order_ = {first};
    used_.assign(t_.ipus(), false);
    used_[first] = true;
    return extend();
  }
  [[nodiscard]] const std::vector<unsigned>& order() const { return order_; }

 private:
  bool joined(unsigned a, unsigned b) const { return t_.hops(a, b) == 1U && t_.hops(b, a) == 1U; }

  bool extend() {
    constexpr unsigned kSteps = 1'000'000;
    if (order_.size() == t_.ipus()) return !close_ || joined(order_.back(), order_.front());
    if (++steps_ > kSteps) return false;
    for (unsigned next = 0; next < t_.ipus(); ++next) {
      if (used_[next] || !joined(order_.back(), next)) continue;
      used_[next] = true;
      order_.push_back(next);
      if (extend()) return true;
      order_.pop_back();
      used_[next] = false;
    }
    return false;
  }

  const Topology& t_;
  bool close_;
  unsigned steps_ = 0;
  std::vector<bool> used_;
  std::vector<unsigned> order_;
};

}  // namespace

Ring find_ring(const Topology& topology) {
  Ring ring;
  for (unsigned i = 0; i < topology.ipus(); ++i) {
    ring.order.push_back(i);
    if (topology.hops(0, i) && topology.hops(i, 0)) continue;
    throw Error(Category::usage, fmt::format("no links lead from IPU 0 to IPU {} and back", i), "topology",
                "join all IPUs by links, or use fewer with --ipus");
  }
  Search around(topology, true);
  if (around.from(0)) {
    ring.order = around.order();
    return ring;
  }
  ring.neighbours = false;
  for (unsigned first = 0; first < topology.ipus(); ++first) {
    Search line(topology, false);
    if (!line.from(first)) continue;
    ring.order = line.order();
    break;
  }
  return ring;
}

}  // namespace tessera::demo
