// See lanes.h.
#include "tlm/link/lanes.h"

#include <algorithm>
#include <tuple>

namespace tessera {

class PacketLanes::Port : public PacketPort {
 public:
  Port(PacketLanes& lanes, unsigned tile) : lanes_(lanes), tile_(tile) {}

  bool send(Cycle c, Word word, bool first, bool last) override {
    if (first) {
      const auto room = lanes_.room(tile_, c);
      if (!room || *room != c) return false;
      words_.clear();
    }
    words_.push_back(word);
    if (last) complete_.emplace_back(c + 1, Packet::from_words(words_));
    return true;
  }

  std::optional<std::pair<Word, bool>> receive(Cycle c) override {
    auto& queue = lanes_.deliveries_[tile_];
    // A tile whose window is closed may have been run past the cycle of a word: it gets it as soon as it looks.
    if (queue.empty() || c < queue.front().first + taken_) return std::nullopt;
    const Packet& packet = queue.front().packet;
    const Word word = packet.lane_word(taken_++);
    const bool last = taken_ == packet.lane_words();
    if (last) queue.pop_front(), taken_ = 0;
    return std::make_pair(word, last);
  }

  /// Packets that the tile has sent whole, to be put before its lane. A tile's own thread runs it; lanes are shared.
  std::vector<std::pair<Cycle, Packet>> complete_;
  unsigned taken_ = 0;  ///< words of the first delivery

 private:
  PacketLanes& lanes_;
  unsigned tile_;
  std::vector<Word> words_;
};

PacketLanes::PacketLanes(const LaneTiming& timing)
    : timing_(timing),
      lanes_(timing.lanes()),
      waiting_(timing.tiles),
      freed_(timing.tiles),
      ports_(timing.tiles),
      deliveries_(timing.tiles),
      recent_(timing.tiles),
      is_touched_(timing.tiles) {}

PacketLanes::~PacketLanes() = default;
PacketLanes& PacketLanes::operator=(PacketLanes&&) noexcept = default;

void PacketLanes::reset() {
  const std::vector<unsigned> made = std::move(pin_level_);
  const std::uint64_t packets = packets_;
  *this = PacketLanes(timing_);
  packets_ = packets;
  for (unsigned t : made) port(t);
}

bool PacketLanes::for_link(const Packet& packet) { return PacketRemote::unpack(packet.remote).kind != kRemoteHost; }

PacketPort& PacketLanes::port(unsigned tile) {
  if (!ports_[tile]) {
    ports_[tile] = std::make_unique<Port>(*this, tile);
    pin_level_.push_back(tile);
  }
  return *ports_[tile];
}

void PacketLanes::touch(unsigned tile) {
  if (is_touched_[tile]) return;
  is_touched_[tile] = true;
  touched_.push_back(tile);
}

std::vector<unsigned> PacketLanes::take_touched() {
  std::vector<unsigned> list = std::move(touched_);
  touched_.clear();
  for (unsigned t : list) is_touched_[t] = false;
  return list;
}

std::vector<PacketLanes::Arrival> PacketLanes::take_arrivals() {
  std::vector<Arrival> list = std::move(arrivals_);
  arrivals_.clear();
  waiting_packets_ -= static_cast<unsigned>(list.size());
  return list;
}

// ---- tiles ----

std::optional<Cycle> PacketLanes::room(unsigned tile, Cycle from) const {
  // Granted packets hold their place until their cycle in freed_ (ascending); waiting ones have no such cycle yet.
  const std::size_t waiting = waiting_[tile].size() + (ports_[tile] ? ports_[tile]->complete_.size() : 0);
  if (waiting >= timing_.buffers) return std::nullopt;
  const std::size_t allowed = timing_.buffers - waiting - 1;
  const auto& freed = freed_[tile];
  const auto held = static_cast<std::size_t>(freed.end() - std::upper_bound(freed.begin(), freed.end(), from));
  if (held <= allowed) return from;
  return freed[freed.size() - allowed - 1];
}

void PacketLanes::take(unsigned tile, Cycle first, Packet packet) {
  const Cycle available = first + packet.lane_words();
  put(tile, available, std::move(packet));
}

void PacketLanes::put(unsigned tile, Cycle available, Packet packet) {
  ++waiting_packets_;
  waiting_[tile].push_back({available, std::move(packet)});
  if (waiting_[tile].size() != 1) return;
  const unsigned number = timing_.lane_of(tile);
  auto& list = lanes_[number].waiting;
  list.insert(std::lower_bound(list.begin(), list.end(), tile), tile);
  const Cycle cycle = std::max(ready(lanes_[number], tile), lanes_[number].up_free);
  if (cycle < lanes_[number].next) schedule(number, cycle);
}

std::optional<PacketLanes::Delivery> PacketLanes::take_delivery(unsigned tile) {
  auto& queue = deliveries_[tile];
  if (queue.empty()) return std::nullopt;
  Delivery delivery = std::move(queue.front());
  queue.pop_front();
  return delivery;
}

void PacketLanes::deliver(unsigned tile, Cycle first, Packet packet) {
  auto& recent = recent_[tile];
  if (recent.size() == kRecent) recent.pop_front();
  recent.push_back({first, packet.header_only()});
  deliveries_[tile].push_back({first, std::move(packet)});
  touch(tile);
}

// ---- lanes up ----

void PacketLanes::credit(unsigned number, Cycle cycle) {
  Lane& lane = lanes_[number];
  --lane.pending;
  while (lane.credits.size() >= timing_.buffers) lane.credits.pop_front();
  lane.credits.push_back(cycle + timing_.latency);
  look(number);
}

/// First cycle in which the lane knows of a free place at its end; kNever if that is not known yet.
Cycle PacketLanes::place_from(const Lane& lane) const {
  if (lane.pending >= timing_.buffers) return kNever;
  const std::size_t allowed = timing_.buffers - lane.pending - 1;
  return lane.credits.size() <= allowed ? 0 : lane.credits[lane.credits.size() - allowed - 1];
}

/// First cycle in which the lane could begin with the tile's packet, if it were free.
Cycle PacketLanes::ready(const Lane& lane, unsigned tile) const {
  const Waiting& head = waiting_[tile].front();
  return for_link(head.packet) ? std::max(head.available, place_from(lane)) : head.available;
}

void PacketLanes::schedule(unsigned number, Cycle cycle) {
  lanes_[number].next = cycle;
  if (cycle != kNever) heap_.emplace(cycle, number);
}

void PacketLanes::look(unsigned number) {
  Lane& lane = lanes_[number];
  Cycle first = kNever;
  for (unsigned t : lane.waiting) first = std::min(first, ready(lane, t));
  const Cycle cycle = first == kNever ? kNever : std::max(first, lane.up_free);
  if (cycle != lane.next) schedule(number, cycle);
}

void PacketLanes::grant(unsigned number, Cycle cycle) {
  Lane& lane = lanes_[number];
  // Round robin: the first tile after the one taken from last that has a packet by now.
  const auto after =
      lane.granted ? std::upper_bound(lane.waiting.begin(), lane.waiting.end(), lane.last_tile) : lane.waiting.begin();
  auto place = after;
  for (std::size_t i = 0; i < lane.waiting.size(); ++i, ++place) {
    if (place == lane.waiting.end()) place = lane.waiting.begin();
    if (ready(lane, *place) <= cycle) break;
  }
  const unsigned tile = *place;
  ++packets_;
  Packet packet = std::move(waiting_[tile].front().packet);
  waiting_[tile].pop_front();
  if (waiting_[tile].empty()) lane.waiting.erase(place);
  if (for_link(packet)) ++lane.pending;
  lane.up_free = cycle + timing_.busy(packet);
  lane.last_tile = tile;
  lane.granted = true;
  const Cycle end = lane.up_free + timing_.latency;
  auto& freed = freed_[tile];
  while (freed.size() >= timing_.buffers) freed.pop_front();
  freed.push_back(end);
  touch(tile);
  arrivals_.push_back({end, number, std::move(packet)});
  look(number);
}

void PacketLanes::collect_ports() {
  for (unsigned t : pin_level_) {
    for (auto& [available, packet] : ports_[t]->complete_) put(t, available, std::move(packet));
    ports_[t]->complete_.clear();
  }
}

Cycle PacketLanes::next_event() {
  collect_ports();
  while (!heap_.empty() && lanes_[heap_.top().second].next != heap_.top().first) heap_.pop();
  return heap_.empty() ? kNever : heap_.top().first;
}

void PacketLanes::advance(Cycle limit) {
  const std::size_t before = arrivals_.size();
  for (Cycle next = next_event(); next < limit; next = next_event()) {
    const unsigned lane = heap_.top().second;
    heap_.pop();
    lanes_[lane].next = kNever;
    grant(lane, next);
  }
  std::sort(arrivals_.begin() + static_cast<std::ptrdiff_t>(before), arrivals_.end(),
            [](const Arrival& a, const Arrival& b) { return std::tie(a.cycle, a.lane) < std::tie(b.cycle, b.lane); });
}

}  // namespace tessera
