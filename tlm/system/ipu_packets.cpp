// Packets of an IPU's tiles: windows of interval-based tiles and the lanes, advanced together in steps in which nothing
// that a tile does can come back to a tile. Only windows in which something happens are looked at. See ipu.h, tlm/link.
#include <algorithm>

#include "tlm/system/ipu.h"

namespace tessera {

namespace {
constexpr unsigned kXbase1 = 0x7c3;
constexpr std::uint32_t kPacketFault = 30;
}  // namespace

void Ipu::open_window(unsigned t, const TileStop& stop) {
  PacketInputs inputs;
  inputs.sram = tiles_[t]->sram();
  inputs.sram_bytes = config_.sram_bytes;
  inputs.table = stop.value;
  inputs.issue = stop.cycle;
  for (unsigned i = 0; i < 3; ++i) inputs.xbase[i] = tiles_[t]->supervisor_csr(kXbase1 + i);
  inputs.tile = t;
  inputs.ipu = config_.ipu;
  inputs.traffic = tiles_[t]->wants_packet_traffic();
  packet_seats_[t].window = std::make_unique<PacketWindow>(inputs);
  plan_offer(t);
  plan_arrival(t);
  plan_end(t);
}

void Ipu::plan_offer(unsigned t) {
  const auto offer = packet_seats_[t].window->next_offer();
  if (!offer) return;
  if (const auto taken = lanes_.room(t, *offer)) push(PacketEvent::Kind::offer, t, *taken);
}

void Ipu::plan_arrival(unsigned t) {
  if (const auto* next = lanes_.next_delivery(t)) push(PacketEvent::Kind::arrival, t, next->first);
}

void Ipu::plan_end(unsigned t) {
  if (const auto decided = packet_seats_[t].window->decided()) push(PacketEvent::Kind::end, t, *decided - 1);
}

/// Tiles at whose ports the lanes have changed something: new arrivals, or places for a packet on offer.
void Ipu::look_at_touched() {
  for (unsigned t : lanes_.take_touched()) {
    if (packet_seats_[t].window) {
      plan_offer(t);
      plan_arrival(t);
    } else {
      refuse_strays(t);
    }
  }
}

void Ipu::arrive(unsigned t, Cycle to) {
  PacketWindow& window = *packet_seats_[t].window;
  for (const auto* next = lanes_.next_delivery(t); next != nullptr && next->first < to;
       next = lanes_.next_delivery(t)) {
    const bool stray_before = window.stray().has_value();
    const auto delivery = lanes_.take_delivery(t);
    const bool whole = window.deliver(delivery->first, delivery->packet);
    // What the window does not take may turn out a stray at its end, if nothing became one before.
    if (!whole && !stray_before && !packet_seats_[t].stray && delivery->packet.kind == Packet::Kind::write)
      packet_seats_[t].stray_packet = delivery->packet.header_only();
    const auto [address, bytes] = window.last_written();
    if (bytes != 0) tiles_[t]->memory_written(address, bytes);
  }
  plan_arrival(t);
  plan_end(t);
}

bool Ipu::step_packets(Cycle to) {
  bool any = false;
  look_at_touched();
  while (!packet_events_.empty() && packet_events_.top().cycle < to) {
    const PacketEvent e = packet_events_.top();
    packet_events_.pop();
    PacketWindow* window = packet_seats_[e.tile].window.get();
    if (window == nullptr) continue;
    switch (e.kind) {
      case PacketEvent::Kind::offer: {
        const auto offer = window->next_offer();
        const auto taken = offer ? lanes_.room(e.tile, *offer) : std::nullopt;
        if (!taken || *taken != e.cycle) break;  // planned twice
        Packet packet = window->next_packet();
        window->taken(*taken, packet);
        lanes_.take(e.tile, *taken, std::move(packet));
        plan_offer(e.tile);
        plan_end(e.tile);
        break;
      }
      case PacketEvent::Kind::arrival:
        arrive(e.tile, e.cycle + 1);
        break;
      case PacketEvent::Kind::end:
        if (!window->finished(to)) break;
        end_window(e.tile);
        any = true;
        break;
    }
  }
  lanes_.advance(to);
  look_at_touched();
  return any;
}

void Ipu::end_window(unsigned t) {
  PacketSeat& seat = packet_seats_[t];
  const Cycle c = seat.window->completion();
  if (tiles_[t]->wants_packet_traffic()) tiles_[t]->packet_traffic(seat.window->traffic());
  if (const auto& fault = seat.window->fault())
    tiles_[t]->fail_packets(c, seat.window->received(), fault->cause, fault->tval);
  else
    tiles_[t]->finish_packets(c, seat.window->received());
  emit(t, MachineEvent::Kind::packet_done, c, seat.window->received());
  if (seat.window->stray()) note_stray(t, *seat.window->stray(), seat.stray_packet);
  seat.window.reset();
  seat.window_open = false;
  set_status(t, TileStatus::running);
  refuse_strays(t);
}

void Ipu::note_stray(unsigned t, const PacketWindow::Stray& stray, const Packet& packet) {
  if (packet_seats_[t].stray) return;
  packet_seats_[t].stray = stray;
  packet_seats_[t].stray_packet = packet;
}

/// What comes to an interval-based tile without a window: writes are strays, answers of a window that a fault has ended
/// are dropped.
void Ipu::refuse_strays(unsigned t) {
  if (!interval_based_[t] || packet_seats_[t].window_open) return;
  while (const auto delivery = lanes_.take_delivery(t)) {
    if (delivery->packet.kind != Packet::Kind::write) continue;
    const auto address = static_cast<Address>(kSramBase + static_cast<std::uint32_t>(delivery->packet.remote));
    note_stray(t, {address, delivery->first + 1}, delivery->packet.header_only());
  }
}

/// At a release in `z` that opens windows: words for tiles that did not come to x.packet stand in their memory.
void Ipu::close_windows(Cycle z) {
  for (unsigned t = 0; t < config_.tiles; ++t) {
    PacketSeat& seat = packet_seats_[t];
    if (!seat.window_open || seat.window) continue;
    for (const auto* next = lanes_.next_delivery(t); next != nullptr && next->first < z;
         next = lanes_.next_delivery(t)) {
      const auto delivery = lanes_.take_delivery(t);
      const Packet& p = delivery->packet;
      if (p.kind != Packet::Kind::write) continue;
      for (unsigned k = 0; k < p.words; ++k) {
        const std::uint64_t offset = std::uint64_t{static_cast<std::uint32_t>(p.remote)} + 4 * k;
        if (offset % 4 != 0 || offset + 4 > config_.sram_bytes) break;
        tiles_[t]->write_memory(static_cast<Address>(kSramBase + offset),
                                reinterpret_cast<const std::uint8_t*>(&p.payload[k]), 4);
      }
    }
  }
}

/// Opens the window of a release in `z`; a stray that the tile's engine knows of by then traps there.
void Ipu::before_release(unsigned t, Cycle z) {
  refuse_strays(t);
  PacketSeat& seat = packet_seats_[t];
  if (arrival_->zone != Zone::internal) seat.window_open = interval_based_[t];
  if (!seat.stray || seat.stray->cycle + 2 > z) return;
  tiles_[t]->stray_packet(seat.stray->address);
  seat.told = Stray{t, seat.stray->address, seat.stray_packet};
  seat.stray.reset();
}

std::optional<Packet> Ipu::culprit(const FirstException& first) const {
  if (first.exception.cause != kPacketFault) return std::nullopt;
  if (const auto& told = packet_seats_[first.tile].told; told && told->address == first.exception.tval)
    return told->packet;
  // The newest write that has the word.
  const auto& recent = lanes_.last_delivered(first.tile);
  for (auto header = recent.rbegin(); header != recent.rend(); ++header) {
    const Packet& p = header->packet;
    const std::uint32_t into = first.exception.tval - kSramBase - static_cast<std::uint32_t>(p.remote);
    if (p.kind == Packet::Kind::write && header->first <= first.exception.cycle && into < 4 * p.words) return p;
  }
  return std::nullopt;
}

std::optional<Ipu::Stray> Ipu::stray(Cycle before) const {
  for (unsigned t = 0; t < config_.tiles; ++t)
    if (packet_seats_[t].stray && packet_seats_[t].stray->cycle < before)
      return Stray{t, packet_seats_[t].stray->address, packet_seats_[t].stray_packet};
  return std::nullopt;
}

Cycle Ipu::next_packet_event() {
  look_at_touched();
  return std::min(lanes_.next_event(), packet_events_.empty() ? kNever : packet_events_.top().cycle);
}

Cycle Ipu::wanted() {
  Cycle next = next_packet_event();
  if (exception_ && in_packet_ != 0) next = std::min(next, exception_->exception.cycle);
  // Pin-level tiles that have come to what is known.
  if (running_ != 0 && packets_move_ && pins_) next = std::min(next, known_);
  return std::max(next, known_);
}

bool Ipu::run_packets(Cycle limit) {
  if (next_packet_event() == kNever) return false;
  limit = std::min(limit, known_);
  // Tiles that still run may yet offer packets: nothing beyond what they have done is settled.
  if (running_ != 0)
    for (const Seat& seat : seats_)
      if (seat.status == TileStatus::running) limit = std::min(limit, seat.progress);
  for (;;) {
    const Cycle next = next_packet_event();
    if (next >= limit) return false;
    if (step_packets(std::min(limit, next + lanes_.lookahead()))) return true;
    poll(next);
  }
}

}  // namespace tessera
