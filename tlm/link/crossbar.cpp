// See crossbar.h.
#include "tlm/link/crossbar.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace tessera {

std::string way_of(const Packet& packet) {
  const PacketRemote remote = PacketRemote::unpack(packet.remote);
  return fmt::format("IPU {} tile {} to IPU {} tile {} (offset 0x{:x}, {} words from 0x{:x})", packet.ipu, packet.tile,
                     remote.ipu, remote.tile, remote.offset, packet.words, kSramBase + packet.local);
}

std::string PacketRefusal::text() const {
  static constexpr const char* kWhy[] = {"the host buffer does not allow it",
                                         "tiles of one IPU exchange words, not packets",
                                         "no tile writes chip registers",
                                         "no links lead there",
                                         "there is no such tile",
                                         "that tile is not active"};
  return fmt::format("packet of {}: {}", way_of(packet), kWhy[static_cast<unsigned>(why)]);
}

Crossbar::Crossbar(unsigned ipu, PacketLanes& lanes, const Topology* topology)
    : ipu_(ipu),
      lanes_(lanes),
      topology_(topology),
      lane_count_(lanes.timing().lanes()),
      ports_(topology == nullptr ? 0 : static_cast<unsigned>(topology->ports(ipu).size())),
      inputs_(lane_count_ + ports_),
      outputs_(lane_count_ + ports_),
      host_(lane_count_) {}

void Crossbar::reset() {
  ++resets_;
  // What waits at links stays there: they know nothing of programs.
  for (unsigned i = 0; i < lane_count_; ++i) inputs_[i] = {};
  std::vector<unsigned> again;  // links whose packets were to go to the tiles: looked at anew, and refused then
  for (unsigned o = 0; o < outputs_.size(); ++o) {
    Output& output = outputs_[o];
    const auto links_begin = std::lower_bound(output.contenders.begin(), output.contenders.end(), lane_count_);
    if (o >= ports_) again.insert(again.end(), links_begin, output.contenders.end());
    output.contenders.erase(output.contenders.begin(), o < ports_ ? links_begin : output.contenders.end());
    output.any = false;
    output.lane_free = 0;
    output.places.clear();
  }
  for (auto& queue : host_) queue.clear();
  answers_.clear();
  std::vector<Event> kept;
  for (; !heap_.empty(); heap_.pop()) {
    const Event& e = heap_.top();
    if ((e.step == Step::input && is_link(static_cast<unsigned>(e.index))) || e.step == Step::output) kept.push_back(e);
  }
  for (const Event& e : kept) heap_.push(e);
  for (unsigned input : again) {
    inputs_[input].waits = false;
    schedule_input(input);
  }
  own_ = 0;
  last_served_ = 0;
}

void Crossbar::collect() {
  for (PacketLanes::Arrival& arrival : lanes_.take_arrivals()) {
    ++own_;
    const bool host = PacketRemote::unpack(arrival.packet.remote).kind == kRemoteHost;
    auto& queue = host ? host_[arrival.lane] : inputs_[arrival.lane].packets;
    queue.push_back({arrival.cycle, std::move(arrival.packet)});
    if (host)
      heap_.push({arrival.cycle, Step::host, arrival.lane});
    else
      schedule_input(arrival.lane);
  }
}

void Crossbar::link_reset(unsigned port) {
  const unsigned input = lane_count_ + port;
  for (Output& output : outputs_) {
    const auto found = std::find(output.contenders.begin(), output.contenders.end(), input);
    if (found == output.contenders.end()) continue;
    output.contenders.erase(found);
    inputs_[input].waits = false;
  }
}

void Crossbar::announced(unsigned port, Cycle) { schedule_input(lane_count_ + port); }
void Crossbar::room_made(unsigned port, Cycle now) { schedule_output(port, now); }

const Packet* Crossbar::head(unsigned input, Cycle& whole) const {
  if (is_link(input)) return links[input - lane_count_]->front(whole);
  const auto& packets = inputs_[input].packets;
  if (packets.empty()) return nullptr;
  whole = packets.front().whole;
  return &packets.front().packet;
}

void Crossbar::schedule_input(unsigned input) {
  Input& in = inputs_[input];
  if (in.waits) return;
  Cycle whole = 0;
  if (head(input, whole) == nullptr) return;
  in.waits = true;
  heap_.push({std::max(whole, in.free), Step::input, input});
}

void Crossbar::schedule_output(unsigned output, Cycle cycle) {
  Output& out = outputs_[output];
  if (out.contenders.empty()) return;
  cycle = std::max(cycle, out.free);
  if (out.tried <= cycle) return;
  out.tried = cycle;
  heap_.push({cycle, Step::output, output});
}

Packet Crossbar::take(unsigned input, Cycle now) {
  Input& in = inputs_[input];
  Packet packet;
  if (is_link(input)) {
    packet = links[input - lane_count_]->pop();
  } else {
    packet = std::move(in.packets.front().packet);
    in.packets.pop_front();
    lanes_.credit(input, now);
    changed_ = true;
    served(now);
  }
  in.free = now + 1;
  in.waits = false;
  schedule_input(input);
  return packet;
}

void Crossbar::served(Cycle cycle) {
  --own_;
  last_served_ = std::max(last_served_, cycle);
}

void Crossbar::run(Cycle until) {
  while (!heap_.empty() && heap_.top().cycle <= until) {
    const Event e = heap_.top();
    heap_.pop();
    const auto index = static_cast<unsigned>(e.index);
    switch (e.step) {
      case Step::host:
        serve_host(index, e.cycle);
        break;
      case Step::answer: {
        const auto found = answers_.find(e.index);
        if (found == answers_.end()) break;  // of a run that was reset
        Packet packet = std::move(found->second);
        answers_.erase(found);
        const unsigned tile = packet.tile;
        served(enter(tile, e.cycle, std::move(packet), false));
        break;
      }
      case Step::input:
        present(index, e.cycle);
        break;
      case Step::output:
        if (outputs_[index].tried != e.cycle) break;
        outputs_[index].tried = kNever;
        serve_output(index, e.cycle);
        break;
    }
  }
}

void Crossbar::serve_host(unsigned lane, Cycle now) {
  auto& queue = host_[lane];
  if (queue.empty() || queue.front().whole != now) return;  // reset
  Packet packet = std::move(queue.front().packet);
  queue.pop_front();
  const auto refused = [&] {
    if (refuse) refuse({now, PacketRefusal::Why::host_access, packet.header_only()});
  };
  // The host's side lets a moment pass, in which a reset may come: then the packet is no more.
  const unsigned resets = resets_;
  if (packet.kind == Packet::Kind::write) {
    const bool ok = host != nullptr && host->write(now, packet);
    if (resets != resets_) return;
    if (!ok) refused();
    served(now);
    return;
  }
  std::vector<Word> words;
  const std::optional<Cycle> back = host == nullptr ? std::nullopt : host->read(now, packet, words);
  if (resets != resets_) return;
  if (!back) {
    refused();
    served(now);
    return;
  }
  packet.kind = Packet::Kind::read_response;
  packet.payload = std::move(words);
  answers_.emplace(next_answer_, std::move(packet));
  heap_.push({*back, Step::answer, next_answer_++});
}

std::optional<unsigned> Crossbar::output_of(const Packet& packet, bool from_lane, PacketRefusal::Why& why) const {
  const PacketRemote remote = PacketRemote::unpack(packet.remote);
  const auto ipu = static_cast<unsigned>(remote.ipu), tile = static_cast<unsigned>(remote.tile);
  const auto no = [&why](PacketRefusal::Why reason) {
    why = reason;
    return std::nullopt;
  };
  if (remote.kind != kRemoteTile) return no(PacketRefusal::Why::registers);
  if (from_lane && ipu == ipu_) return no(PacketRefusal::Why::own_ipu);
  if (tile >= lanes_.timing().tiles) return no(PacketRefusal::Why::no_tile);
  if (ipu == ipu_) {
    if (active && !active(tile)) return no(PacketRefusal::Why::inactive_tile);
    return ports_ + lanes_.timing().lane_of(tile);
  }
  if (topology_ == nullptr || ipu >= topology_->ipus()) return no(PacketRefusal::Why::no_way);
  const std::vector<unsigned>& group = topology_->group(ipu_, ipu);
  if (group.empty()) return no(PacketRefusal::Why::no_way);
  return group[lanes_.timing().lane_of(packet.tile) % group.size()];
}

void Crossbar::present(unsigned input, Cycle now) {
  Cycle whole = 0;
  const Packet* packet = head(input, whole);
  if (packet == nullptr || whole > now) {  // a reset, or another took its place
    inputs_[input].waits = false;
    schedule_input(input);
    return;
  }
  PacketRefusal::Why why{};
  const std::optional<unsigned> output = output_of(*packet, !is_link(input), why);
  if (!output) {
    const Packet dropped = take(input, now).header_only();
    if (refuse) refuse({now, why, dropped});
    return;
  }
  auto& list = outputs_[*output].contenders;
  list.insert(std::lower_bound(list.begin(), list.end(), input), input);
  schedule_output(*output, now);
}

void Crossbar::serve_output(unsigned output, Cycle now) {
  Output& out = outputs_[output];
  if (out.contenders.empty()) return;
  const bool link = output < ports_;
  if (link) {
    if (!links[output]->room()) return links[output]->blocked();  // room_made() comes
  } else {
    while (!out.places.empty() && out.places.front() <= now) out.places.pop_front();
    if (out.places.size() >= lanes_.timing().buffers) return schedule_output(output, out.places.front());
  }
  auto place =
      out.any ? std::upper_bound(out.contenders.begin(), out.contenders.end(), out.last) : out.contenders.begin();
  if (place == out.contenders.end()) place = out.contenders.begin();
  const unsigned input = *place;
  out.contenders.erase(place);
  out.last = input;
  out.any = true;
  out.free = now + 1;
  Packet packet = take(input, now);
  if (link) {
    ++(is_link(input) ? counters_.forwarded : counters_.to_links);
    links[output]->send(std::move(packet));
  } else {
    ++counters_.from_links;
    const auto tile = static_cast<unsigned>(PacketRemote::unpack(packet.remote).tile);
    enter(tile, now, std::move(packet), true);
  }
  schedule_output(output, now + 1);
}

Cycle Crossbar::enter(unsigned tile, Cycle now, Packet packet, bool of_link) {
  Output& lane = outputs_[ports_ + lanes_.timing().lane_of(tile)];
  const Cycle begin = std::max(now, lane.lane_free);
  lane.lane_free = begin + lanes_.timing().busy(packet);
  if (of_link) lane.places.push_back(lane.lane_free);
  const Cycle first = begin + lanes_.timing().latency, last = first + packet.lane_words() - 1;
  lanes_.deliver(tile, first, std::move(packet));
  changed_ = true;
  return last;
}

std::vector<Packet> Crossbar::waiting_for(unsigned port) const {
  std::vector<Packet> list;
  for (unsigned input : outputs_[port].contenders) {
    Cycle whole = 0;
    if (const Packet* packet = head(input, whole)) list.push_back(packet->header_only());
  }
  return list;
}

}  // namespace tessera
