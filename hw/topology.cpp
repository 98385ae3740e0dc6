// Ports, routes and groups of a platform's topology; see topology.h. Tables are built once and checked: every route
// arrives, and no chain of full buffers can close to a circle.
#include "hw/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "hw/error.h"

namespace tessera {

namespace {

[[noreturn]] void refuse(const Platform& platform, const std::string& what, const std::string& advice) {
  throw Error(Category::usage, "topology: " + what, fmt::format("platform {}, /topology", platform.name), advice);
}

using Next = std::vector<std::vector<int>>;

/// Shortest ways over the neighbours; at equal length by the lowest next IPU.
Next shortest_ways(const std::vector<std::vector<unsigned>>& neighbours) {
  const auto n = static_cast<unsigned>(neighbours.size());
  Next next(n, std::vector<int>(n, -1));
  for (unsigned to = 0; to < n; ++to) {
    std::vector<unsigned> distance(n, n);
    std::deque<unsigned> open{to};
    distance[to] = 0;
    while (!open.empty()) {
      const unsigned at = open.front();
      open.pop_front();
      for (const unsigned other : neighbours[at]) {
        if (distance[other] < n) continue;
        distance[other] = distance[at] + 1;
        open.push_back(other);
      }
    }
    for (unsigned at = 0; at < n; ++at) {
      if (at == to || distance[at] == n) continue;
      for (const unsigned other : neighbours[at])  // ascending
        if (distance[other] + 1 == distance[at]) {
          next[at][to] = static_cast<int>(other);
          break;
        }
    }
  }
  return next;
}

/// Across the source card's rung, then along the rail. -1 where a link of the way is missing.
Next ladder_ways(const Platform& platform, const std::vector<std::vector<unsigned>>& neighbours) {
  const unsigned n = platform.ipus(), sides = platform.ipus_per_card;
  Next next(n, std::vector<int>(n, -1));
  const auto joined = [&](unsigned a, unsigned b) {
    return std::binary_search(neighbours[a].begin(), neighbours[a].end(), b);
  };
  for (unsigned at = 0; at < n; ++at)
    for (unsigned to = 0; to < n; ++to) {
      if (at == to) continue;
      const unsigned over = at % sides != to % sides ? at ^ 1u : at / sides < to / sides ? at + sides : at - sides;
      if (joined(at, over)) next[at][to] = static_cast<int>(over);
    }
  // A way that cannot be walked to its end is none.
  Next whole = next;
  for (unsigned at = 0; at < n; ++at)
    for (unsigned to = 0; to < n; ++to) {
      unsigned here = at;
      while (here != to && next[here][to] >= 0) here = static_cast<unsigned>(next[here][to]);
      if (here != to) whole[at][to] = -1;
    }
  return whole;
}

}  // namespace

std::string Topology::name(unsigned ipu, unsigned port) { return fmt::format("{}.{}", ipu, port); }

Topology::Topology(const Platform& platform) : ports_(platform.ipus()) {
  join_ports(platform);
  std::vector<std::vector<unsigned>> neighbours(ipus());
  for (unsigned at = 0; at < ipus(); ++at) {
    if (ports_[at].size() > kMaxPorts)
      refuse(platform, fmt::format("IPU {} has {} links; there are {} ports", at, ports_[at].size(), kMaxPorts),
             "take fewer links");
    for (const Port& port : ports_[at]) neighbours[at].push_back(port.ipu);
    std::sort(neighbours[at].begin(), neighbours[at].end());
    neighbours[at].erase(std::unique(neighbours[at].begin(), neighbours[at].end()), neighbours[at].end());
  }
  next_ = platform.topology.ladder ? ladder_ways(platform, neighbours) : shortest_ways(neighbours);
  std::vector<std::vector<bool>> given(ipus(), std::vector<bool>(ipus()));
  for (const Platform::Topology::Route& r : platform.topology.routes) {
    const std::string text = fmt::format("route [{}, {}, {}]", r.from, r.to, r.via);
    if (r.from >= ipus() || r.to >= ipus() || r.via >= ipus() || r.from == r.to)
      refuse(platform, fmt::format("{} does not lead from one of the {} IPUs to another", text, ipus()),
             "a route is [from, to, via]");
    if (!std::binary_search(neighbours[r.from].begin(), neighbours[r.from].end(), r.via))
      refuse(platform, fmt::format("{}: no link joins IPU {} and IPU {}", text, r.from, r.via),
             "go over a neighbour that `links` names");
    if (given[r.from][r.to])
      refuse(platform, fmt::format("{}: the way from {} to {} is given twice", text, r.from, r.to), "keep one of them");
    given[r.from][r.to] = true;
    next_[r.from][r.to] = static_cast<int>(r.via);
  }
  check_arrival(platform);
  fill_groups(platform);
  check_circles(platform);
}

void Topology::join_ports(const Platform& platform) {
  using Use = Port::Use;
  const auto join = [&](unsigned a, Use use_a, unsigned b, Use use_b, unsigned links) {
    for (unsigned i = 0; i < links; ++i) {
      const auto port_a = static_cast<unsigned>(ports_[a].size()), port_b = static_cast<unsigned>(ports_[b].size());
      ports_[a].push_back({b, port_b, use_a});
      ports_[b].push_back({a, port_a, use_b});
    }
  };
  const Platform::Link& link = platform.link;
  if (!platform.topology.ladder) {
    std::vector<std::vector<bool>> named(ipus(), std::vector<bool>(ipus()));
    for (const Platform::Topology::Bundle& b : platform.topology.bundles) {
      const std::string text = fmt::format("links [{}, {}, {}]", b.a, b.b, b.links);
      if (b.a >= ipus() || b.b >= ipus() || b.a == b.b || b.links == 0)
        refuse(platform, fmt::format("{} does not join two of the {} IPUs", text, ipus()),
               "an entry of links is [IPU, IPU, number of links]");
      if (named[b.a][b.b]) refuse(platform, fmt::format("{}: this pair is named twice", text), "name each pair once");
      named[b.a][b.b] = named[b.b][b.a] = true;
      join(b.a, Use::other, b.b, Use::other, b.links);
    }
    return;
  }
  const unsigned sides = platform.ipus_per_card;
  if (platform.cards > 1 && link.rail_up != link.rail_down)
    throw Error(
        Category::usage,
        fmt::format("topology: {} links up the rail cannot meet {} links down it", link.rail_up, link.rail_down),
        fmt::format("platform {}, /link/rail_up", platform.name), "make rail_up and rail_down equal");
  // Ports in the order direct, crossed, up, down; what leads nowhere has no number. Card by card, an up link would get
  // its number at the upper end before that end's siblings: so siblings first, then rails from below.
  if (sides == 2)
    for (unsigned card = 0; card < platform.cards; ++card) {
      join(2 * card, Use::direct, 2 * card + 1, Use::direct, link.sibling_direct);
      join(2 * card, Use::crossed, 2 * card + 1, Use::crossed, link.sibling_crossed);
    }
  std::vector<unsigned> first_up(ipus()), first_down(ipus());
  for (unsigned ipu = 0; ipu < ipus(); ++ipu) {
    const bool up = ipu + sides < ipus(), down = ipu >= sides;
    first_up[ipu] = static_cast<unsigned>(ports_[ipu].size());
    first_down[ipu] = first_up[ipu] + (up ? link.rail_up : 0);
    ports_[ipu].resize(first_down[ipu] + (down ? link.rail_down : 0));
  }
  for (unsigned ipu = 0; ipu + sides < ipus(); ++ipu)
    for (unsigned i = 0; i < link.rail_up; ++i) {
      ports_[ipu][first_up[ipu] + i] = {ipu + sides, first_down[ipu + sides] + i, Use::rail};
      ports_[ipu + sides][first_down[ipu + sides] + i] = {ipu, first_up[ipu] + i, Use::rail};
    }
}

void Topology::check_arrival(const Platform& platform) const {
  for (unsigned from = 0; from < ipus(); ++from)
    for (unsigned to = 0; to < ipus(); ++to) {
      if (from == to || next_[from][to] < 0) continue;
      std::vector<unsigned> way{from};
      while (way.back() != to) {
        const int over = next_[way.back()][to];
        const bool again = over >= 0 && std::find(way.begin(), way.end(), static_cast<unsigned>(over)) != way.end();
        if (over < 0 || again)
          refuse(platform,
                 fmt::format("the way from IPU {} to IPU {} never arrives: {}{}", from, to, fmt::join(way, " > "),
                             over < 0 ? ", and no further" : fmt::format(" > {}", over)),
                 "change the routes to this IPU");
        way.push_back(static_cast<unsigned>(over));
      }
    }
}

void Topology::fill_groups(const Platform& platform) {
  groups_.assign(ipus(), std::vector<std::vector<unsigned>>(ipus()));
  const bool by_use = platform.topology.ladder && ipus() > 2;
  for (unsigned at = 0; at < ipus(); ++at)
    for (unsigned to = 0; to < ipus(); ++to) {
      if (at == to || next_[at][to] < 0) continue;
      const auto over = static_cast<unsigned>(next_[at][to]);
      std::vector<unsigned> all, fitting;
      for (unsigned p = 0; p < ports_[at].size(); ++p) {
        if (ports_[at][p].ipu != over) continue;
        all.push_back(p);
        const bool ends = over == to;
        if (ports_[at][p].use == Port::Use::rail || (ports_[at][p].use == Port::Use::direct) == ends)
          fitting.push_back(p);
      }
      // A platform without links of one of the two uses takes the others.
      groups_[at][to] = by_use && !fitting.empty() ? fitting : all;
    }
}

void Topology::check_circles(const Platform& platform) const {
  // A buffer before a link waits for one behind it: links of one group at an IPU share that fate, so a node is the
  // first link of a group. What arrives is always taken.
  const unsigned nodes = ipus() * kMaxPorts;
  const auto node = [&](unsigned at, unsigned to) { return at * kMaxPorts + groups_[at][to].front(); };
  std::vector<std::vector<unsigned>> waits_for(nodes);
  for (unsigned at = 0; at < ipus(); ++at)
    for (unsigned to = 0; to < ipus(); ++to) {
      if (at == to || next_[at][to] < 0) continue;
      const auto over = static_cast<unsigned>(next_[at][to]);
      if (over != to) waits_for[node(at, to)].push_back(node(over, to));
    }
  enum Mark : char { unseen, open, done };
  std::vector<Mark> mark(nodes, unseen);
  for (unsigned start = 0; start < nodes; ++start) {
    if (mark[start] != unseen) continue;
    std::vector<std::pair<unsigned, std::size_t>> path{{start, 0}};
    mark[start] = open;
    while (!path.empty()) {
      const unsigned at = path.back().first;
      if (path.back().second == waits_for[at].size()) {
        mark[at] = done;
        path.pop_back();
        continue;
      }
      const unsigned further = waits_for[at][path.back().second++];
      if (mark[further] == open) {
        std::string circle;
        bool inside = false;
        for (const auto& [member, edge] : path)
          if ((inside = inside || member == further)) circle += name(member / kMaxPorts, member % kMaxPorts) + " > ";
        refuse(platform,
               fmt::format("full links could wait for each other in a circle: {}{}", circle,
                           name(further / kMaxPorts, further % kMaxPorts)),
               "give routes that leave out a turn of this circle (IPU.port of each link is named)");
      }
      if (mark[further] == unseen) {
        mark[further] = open;
        path.emplace_back(further, 0);
      }
    }
  }
}

std::optional<unsigned> Topology::next(unsigned at, unsigned to) const {
  const int over = next_.at(at).at(to);
  return over < 0 ? std::nullopt : std::optional<unsigned>(over);
}

const std::vector<unsigned>& Topology::group(unsigned at, unsigned to) const { return groups_.at(at).at(to); }

std::optional<unsigned> Topology::hops(unsigned from, unsigned to) const {
  unsigned count = 0;
  for (; from != to; ++count) {
    const auto over = next(from, to);
    if (!over) return std::nullopt;
    from = *over;
  }
  return count;
}

unsigned Topology::sync_hops(const std::vector<unsigned>& members) const {
  if (members.size() < 2) return 0;
  std::optional<unsigned> best;
  for (const unsigned middle : members) {
    std::optional<unsigned> farthest = 0;
    for (const unsigned other : members) {
      const auto distance = hops(middle, other);
      farthest = distance && farthest ? std::optional(std::max(*farthest, *distance)) : std::nullopt;
    }
    if (farthest && (!best || *farthest < *best)) best = farthest;
  }
  return best.value_or(1 + static_cast<unsigned>(members.size()) / 4);
}

}  // namespace tessera
