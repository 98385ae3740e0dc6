// See allreduce.h. The plan and the comparison; programs are in allreduce_program.cpp.
#include "host/demo/allreduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "host/demo/seeded.h"
#include "hw/error.h"
#include "hw/generated/machine.h"

namespace tessera::demo {

namespace {

constexpr double kSlot = 6;  // cycles

/// Words from chunk to chunk, and their alignment up to a packet's size: where a packet may begin and, if shorter, does
/// not meet the end of a remote KiB, so that no chunk is cut more often than its length asks for. In a ring a chunk
/// that is cut on one IPU holds up all.
std::uint32_t pitch_of(std::uint32_t chunk) {
  if (chunk > kPacketMaxWords) return (chunk + kPacketMaxWords - 1) / kPacketMaxWords * kPacketMaxWords;
  std::uint32_t pitch = 2;
  while (pitch < chunk) pitch *= 2;
  return pitch;
}

}  // namespace

AllReduce::AllReduce(const Platform& platform, const AllReduceOptions& options)
    : platform_(platform), topology_(platform), options_(options) {
  if (platform.ipus() < 2) {
    throw Error(Category::usage,
                fmt::format("an all-reduce needs two IPUs or more, platform {} has {}", platform.name, platform.ipus()),
                "", "take c2, dss8440, or a platform file with more");
  }
  if (options.bytes == 0 || options.bytes % 4 != 0 || options.bytes / 4 > 0x7fffffff) {
    throw Error(Category::usage,
                fmt::format("a vector of {} bytes is no whole number of f32 up to 8 GiB", options.bytes), "--bytes",
                "give a multiple of 4");
  }
  words_ = options.bytes / 4;
  ring_ = find_ring(topology_);
  position_.resize(ipus());
  for (unsigned p = 0; p < ipus(); ++p) position_[ring_.order[p]] = p;

  const Choice around = best_ring(), straight = best_direct();
  ring_way_ = options.way == AllReduceOptions::Way::automatic ? around.cycles < straight.cycles
                                                              : options.way == AllReduceOptions::Way::ring;
  const Choice& chosen = ring_way_ ? around : straight;
  estimate_ = chosen.cycles;
  tiles_ = tiles_in_lane_order();
  tiles_.resize(chosen.tiles);
  chunk_ = chunk_of(chosen.tiles, ring_way_);
  pitch_ = pitch_of(chunk_);
}

/// Words of a chunk with that many tiles; even in a ring, where vectors of two are added.
std::uint32_t AllReduce::chunk_of(unsigned tiles, bool ring) const {
  const std::uint64_t parts = std::uint64_t{tiles} * ipus();
  const auto words = static_cast<std::uint32_t>((words_ + parts - 1) / parts);
  return ring ? (words + 1) / 2 * 2 : words;
}

/// The tiles so that any first n of them are spread over the lanes as evenly as can be.
std::vector<unsigned> AllReduce::tiles_in_lane_order() const {
  const unsigned lanes = platform_.columns() * platform_.packet.lanes_per_column;
  std::vector<std::vector<unsigned>> by_lane(lanes);
  for (unsigned t = 0; t < platform_.tiles; ++t) {
    const unsigned row = t % platform_.tiles_per_column;
    by_lane[platform_.column(t) * platform_.packet.lanes_per_column +
            row * platform_.packet.lanes_per_column / platform_.tiles_per_column]
        .push_back(t);
  }
  std::vector<unsigned> order;
  for (std::size_t round = 0; order.size() < platform_.tiles; ++round)
    for (const auto& lane : by_lane)
      if (round < lane.size()) order.push_back(lane[round]);
  return order;
}

/// Which way the piece of the k-th tile goes: columns and rounds alternate, so every lane and every link has as much of
/// either, and a lane never has many packets of one way in a row.
bool AllReduce::clockwise(unsigned k) const {
  const unsigned lanes = platform_.columns() * platform_.packet.lanes_per_column;
  return ((k / lanes + k % lanes / platform_.packet.lanes_per_column) & 1) == 0;
}

unsigned AllReduce::next(unsigned ipu, bool clockwise) const {
  return ring_.order[(position_[ipu] + (clockwise ? 1 : ipus() - 1)) % ipus()];
}

AllReduce::Choice AllReduce::best_ring() const {
  const double rate = link_bytes_per_cycle(platform_);
  std::size_t links = Topology::kMaxPorts;
  for (unsigned p = 0; p < ipus(); ++p)
    links = std::min(links, topology_.group(ring_.order[p], ring_.order[(p + 1) % ipus()]).size());
  std::vector<unsigned> members = ring_.order;
  const double sync = platform_.sync.group_base + 2.0 * platform_.sync.group_hop * topology_.sync_hops(members);
  std::vector<Choice> choices;
  const unsigned lanes = platform_.columns() * platform_.packet.lanes_per_column;
  for (unsigned tiles = 1; tiles <= platform_.tiles; ++tiles) {
    if (tiles > lanes && tiles % (2 * lanes) != 0 && tiles != platform_.tiles) continue;  // all lanes alike
    const std::uint32_t chunk = chunk_of(tiles, true);
    const double packets = (chunk + kPacketMaxWords - 1) / kPacketMaxWords;
    const double bytes = 4.0 * chunk + packets * (4 * kPacketHeaderWords + platform_.link.frame_bytes);
    const double one = std::min<double>(chunk, kPacketMaxWords) + kPacketHeaderWords;  // words of a packet
    // Tile, lane and lane hold a packet for its words; the link for its bytes.
    const double fill = 12 + 3 * one + 2 * platform_.packet.lane_latency + platform_.link.latency + 4 * one / rate;
    const double each_way = std::ceil(tiles / 2.0 / static_cast<double>(links));  // tiles a link
    const double step = sync + 100 + fill + (each_way * bytes - 4 * one) / rate;
    const double add = 30 * kSlot + std::ceil(chunk / 2 / 6.0) * kSlot;
    choices.push_back({true, tiles, (ipus() - 1) * (2 * step + add)});
  }
  // Of choices that are nearly as good the one with the most tiles: a replica's data is spread over all.
  double least = choices.front().cycles;
  for (const Choice& c : choices) least = std::min(least, c.cycles);
  Choice best;
  for (const Choice& c : choices)
    if (c.cycles <= 1.01 * least) best = c;
  return best;
}

AllReduce::Choice AllReduce::best_direct() const {
  const double rate = link_bytes_per_cycle(platform_);
  const double sync = platform_.sync.group_base + 2.0 * platform_.sync.group_hop * topology_.sync_hops(ring_.order);
  unsigned hops = 1;
  LinkLoad pairs(topology_);
  for (unsigned a = 0; a < ipus(); ++a)
    for (unsigned b = 0; b < ipus(); ++b) {
      if (a == b) continue;
      pairs.add(a, b, 1);
      hops = std::max(hops, *topology_.hops(a, b));
    }
  const LinkLoad::Busiest busiest = pairs.busiest(platform_);
  Choice best;
  for (unsigned tiles = 1; tiles <= platform_.tiles; ++tiles) {
    const std::uint32_t chunk = chunk_of(tiles, false);
    const double packets = (chunk + kPacketMaxWords - 1) / kPacketMaxWords;
    const double bytes = 4.0 * chunk + packets * (4 * kPacketHeaderWords + platform_.link.frame_bytes);
    const double send = (ipus() - 1) * (chunk + packets * (kPacketHeaderWords + 8));
    const double one = std::min<double>(chunk, kPacketMaxWords) + kPacketHeaderWords;
    const double way = 3 * one + 2 * platform_.packet.lane_latency +
                       hops * (platform_.link.latency + platform_.packet.lane_latency + 4 * one / rate);
    const double spread = std::min<double>(tiles, busiest.links);
    const double links = static_cast<double>(busiest.bytes) * tiles * bytes / (spread * rate);
    const double step = sync + 100 + way + std::max(send, links);
    const double sum = (40 + std::ceil(chunk / 6.0) * (10 + 3.0 * ipus())) * kSlot;
    const double cycles = 2 * step + sum;
    if (best.cycles == 0 || cycles < best.cycles) best = {false, tiles, cycles};
    if (chunk == 1) break;
  }
  return best;
}

LinkLoad::Busiest AllReduce::bound() const {
  LinkLoad load(topology_);
  for (unsigned k = 0; k < tiles_.size(); ++k) {
    for (unsigned i = 0; i < ipus(); ++i) {
      if (ring_way_) {
        load.add(i, next(i, clockwise(k)), std::uint64_t{8} * chunk_ * (ipus() - 1));
        continue;
      }
      for (unsigned q = 0; q < ipus(); ++q)
        if (q != i) load.add(i, q, std::uint64_t{8} * chunk_);
    }
  }
  return load.busiest(platform_);
}

float AllReduce::expected(std::uint64_t g) const {
  const std::uint64_t chunk = g / chunk_;
  const auto k = static_cast<unsigned>(chunk / ipus());
  const auto c = static_cast<unsigned>(chunk % ipus());
  float sum = 0;
  for (unsigned i = 0; i < ipus(); ++i) {
    unsigned ipu = i;
    if (ring_way_) ipu = ring_.order[(clockwise(k) ? c + i : c + ipus() - i) % ipus()];
    const float value = seeded_value(seed_of(options_.seed, ipu), static_cast<std::uint32_t>(g));
    sum = i == 0 ? value : sum + value;
  }
  return sum;
}

Comparison AllReduce::check(const Reader& read) const {
  // By tile and chunk as they lie in memory; behind the last chunk's words is padding that nobody looks at.
  const std::size_t piece = std::size_t{pitch_} * ipus();
  std::vector<std::uint32_t> wanted(piece * tiles_.size());
  const auto index = [&](std::uint64_t g) {
    const std::uint64_t chunk = g / chunk_;
    return static_cast<std::size_t>(chunk / ipus() * piece + chunk % ipus() * pitch_ + g % chunk_);
  };
  for (std::uint64_t g = 0; g < words_; ++g) {
    const float value = expected(g);
    std::memcpy(&wanted[index(g)], &value, 4);
  }
  Comparison result;
  for (unsigned i = 0; i < ipus(); ++i) {
    const std::vector<std::uint32_t> got = read("sum", i);
    for (std::uint64_t g = 0; g < words_; ++g) {
      ++result.compared;
      const std::size_t at = index(g);
      if (got.at(at) == wanted[at] || result.wrong++ != 0) continue;
      result.first = fmt::format("element {} on IPU {}, tile {}: 0x{:08x}, the host has 0x{:08x}", g, i,
                                 tiles_[g / chunk_ / ipus()], got[at], wanted[at]);
    }
  }
  return result;
}

}  // namespace tessera::demo
