// See lanes.h.
#include "tlm/link/lanes.h"

#include <algorithm>

namespace tessera {

class PacketLanes::Port : public PacketPort {
 public:
  Port(PacketLanes& lanes, unsigned tile) : lanes_(lanes), tile_(tile) {}

  bool send(Cycle c, Word word, bool first, bool last) override {
    if (first) {
      const auto room = lanes_.room(tile_, c);
      if (!room || *room != c) return false;
      start_ = c;
      words_.clear();
    }
    words_.push_back(word);
    if (last) lanes_.waiting_[tile_].push_back({c + 1, Packet::from_words(words_)});
    return true;
  }

  std::optional<std::pair<Word, bool>> receive(Cycle c) override {
    auto& queue = lanes_.deliveries_[tile_];
    if (queue.empty() || c < queue.front().first) return std::nullopt;
    const Packet& packet = queue.front().packet;
    const auto k = static_cast<unsigned>(c - queue.front().first);
    const bool last = k + 1 == packet.lane_words();
    const Word word = packet.lane_word(k);
    if (last) queue.pop_front();
    return std::make_pair(word, last);
  }

 private:
  PacketLanes& lanes_;
  unsigned tile_;
  Cycle start_ = 0;
  std::vector<Word> words_;
};

PacketLanes::PacketLanes(const LaneTiming& timing, PacketHost* host)
    : timing_(timing), host_(host), waiting_(timing.tiles), freed_(timing.tiles), deliveries_(timing.tiles) {
  const unsigned columns = (timing.tiles + timing.tiles_per_column - 1) / timing.tiles_per_column;
  lanes_.resize(std::size_t{columns} * timing.lanes_per_column);
  lane_tiles_.resize(lanes_.size());
  for (unsigned t = 0; t < timing.tiles; ++t) {
    lane_tiles_[lane_of(t)].push_back(t);
    ports_.push_back(std::make_unique<Port>(*this, t));
  }
}

PacketLanes::~PacketLanes() = default;

void PacketLanes::reset() {
  for (Lane& lane : lanes_) lane = {};
  for (auto& queue : waiting_) queue.clear();
  for (auto& queue : freed_) queue.clear();
  for (auto& queue : deliveries_) queue.clear();
  arrivals_.clear();
  answers_.clear();
  refused_.reset();
  last_arrival_ = 0;
}

unsigned PacketLanes::lane_of(unsigned tile) const {
  // The tiles of a column in lanes_per_column equal parts, north to south.
  const unsigned column = tile / timing_.tiles_per_column, row = tile % timing_.tiles_per_column;
  return column * timing_.lanes_per_column + row * timing_.lanes_per_column / timing_.tiles_per_column;
}

PacketPort& PacketLanes::port(unsigned tile) { return *ports_[tile]; }

std::optional<Cycle> PacketLanes::room(unsigned tile, Cycle from) const {
  // Granted packets hold their place until their cycle in freed_ (ascending); waiting ones have no such cycle yet.
  if (waiting_[tile].size() >= timing_.buffers) return std::nullopt;
  const std::size_t allowed = timing_.buffers - waiting_[tile].size() - 1;
  const auto& freed = freed_[tile];
  const auto held = static_cast<std::size_t>(freed.end() - std::upper_bound(freed.begin(), freed.end(), from));
  if (held <= allowed) return from;
  return freed[freed.size() - allowed - 1];
}

void PacketLanes::take(unsigned tile, Cycle first, Packet packet) {
  const Cycle available = first + packet.lane_words();
  waiting_[tile].push_back({available, std::move(packet)});
}

std::optional<PacketLanes::Delivery> PacketLanes::take_delivery(unsigned tile) {
  auto& queue = deliveries_[tile];
  if (queue.empty()) return std::nullopt;
  Delivery delivery = std::move(queue.front());
  queue.pop_front();
  return delivery;
}

Cycle PacketLanes::next_grant(unsigned lane, unsigned& tile) const {
  const Lane& l = lanes_[lane];
  Cycle first = kNever;
  for (unsigned t : lane_tiles_[lane])
    if (!waiting_[t].empty()) first = std::min(first, waiting_[t].front().available);
  if (first == kNever) return kNever;
  const Cycle cycle = std::max(first, l.up_free);
  // Round robin: the first tile after the one granted last that has a packet by then.
  const auto& tiles = lane_tiles_[lane];
  const auto after = l.granted ? std::upper_bound(tiles.begin(), tiles.end(), l.last_tile) : tiles.begin();
  const auto start = static_cast<std::size_t>(after - tiles.begin());
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const unsigned t = tiles[(start + i) % tiles.size()];
    if (waiting_[t].empty() || waiting_[t].front().available > cycle) continue;
    tile = t;
    return cycle;
  }
  return kNever;
}

void PacketLanes::grant(unsigned lane, unsigned tile, Cycle cycle) {
  ++packets_;
  Packet packet = std::move(waiting_[tile].front().packet);
  waiting_[tile].pop_front();
  const Cycle busy = (packet.lane_words() + timing_.words_per_cycle - 1) / timing_.words_per_cycle;
  Lane& l = lanes_[lane];
  l.up_free = cycle + busy;
  l.last_tile = tile;
  l.granted = true;
  const Cycle end = cycle + busy + timing_.latency;
  auto& freed = freed_[tile];
  while (freed.size() >= timing_.buffers) freed.pop_front();
  freed.push_back(end);
  const Arrival arrival{end, lane, std::move(packet)};
  const auto later = [](const Arrival& a, const Arrival& b) {
    return a.cycle != b.cycle ? a.cycle < b.cycle : a.lane < b.lane;
  };
  arrivals_.insert(std::upper_bound(arrivals_.begin(), arrivals_.end(), arrival, later), arrival);
}

void PacketLanes::arrive(const Arrival& arrival) {
  last_arrival_ = std::max(last_arrival_, arrival.cycle);
  const Packet& packet = arrival.packet;
  const bool host = PacketRemote::unpack(packet.remote).kind == kRemoteHost && host_ != nullptr;
  if (packet.kind == Packet::Kind::write) {
    if (!host || !host_->write(arrival.cycle, packet)) {
      if (!refused_) refused_ = Refusal{arrival.cycle, packet};
    }
    return;
  }
  Packet response = packet;
  response.kind = Packet::Kind::read_response;
  std::optional<Cycle> back;
  if (host) back = host_->read(arrival.cycle, packet, response.payload);
  if (!back) {
    if (!refused_) refused_ = Refusal{arrival.cycle, packet};
    return;
  }
  const Arrival answer{*back, arrival.lane, std::move(response)};
  answers_.insert(std::upper_bound(answers_.begin(), answers_.end(), answer,
                                   [](const Arrival& a, const Arrival& b) { return a.cycle < b.cycle; }),
                  answer);
}

void PacketLanes::answer(const Arrival& answer) {
  Lane& lane = lanes_[answer.lane];
  const Cycle cycle = std::max(answer.cycle, lane.down_free);
  lane.down_free = cycle + (answer.packet.lane_words() + timing_.words_per_cycle - 1) / timing_.words_per_cycle;
  deliveries_[answer.packet.tile].push_back({cycle + timing_.latency, answer.packet});
}

Cycle PacketLanes::next_event() const {
  Cycle next = kNever;
  unsigned tile = 0;
  for (unsigned lane = 0; lane < lanes_.size(); ++lane) next = std::min(next, next_grant(lane, tile));
  if (!arrivals_.empty()) next = std::min(next, arrivals_.front().cycle);
  if (!answers_.empty()) next = std::min(next, answers_.front().cycle);
  return next;
}

void PacketLanes::advance(Cycle limit) {
  for (;;) {
    // In time order; in one cycle grants before arrivals before answers, lanes by number.
    Cycle next = kNever;
    unsigned lane = 0, tile = 0;
    for (unsigned l = 0; l < lanes_.size(); ++l) {
      unsigned candidate = 0;
      const Cycle cycle = next_grant(l, candidate);
      if (cycle < next) next = cycle, lane = l, tile = candidate;
    }
    const Cycle arrival = arrivals_.empty() ? kNever : arrivals_.front().cycle;
    const Cycle back = answers_.empty() ? kNever : answers_.front().cycle;
    if (std::min({next, arrival, back}) >= limit) return;
    if (next <= arrival && next <= back) {
      grant(lane, tile, next);
    } else if (arrival <= back) {
      const Arrival at = std::move(arrivals_.front());
      arrivals_.pop_front();
      arrive(at);
    } else {
      answer(answers_.front());
      answers_.pop_front();
    }
  }
}

}  // namespace tessera
