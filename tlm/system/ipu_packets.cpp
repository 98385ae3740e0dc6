// Packets of an IPU's tiles: windows of interval-based tiles and the lanes, advanced together in steps in which nothing
// that a tile does can come back to a tile. See ipu.h and tlm/link.
#include <algorithm>

#include "tlm/system/ipu.h"

namespace tessera {

namespace {
constexpr unsigned kXbase1 = 0x7c3;
}

void Ipu::open_window(unsigned t, const TileStop& stop) {
  PacketInputs inputs;
  inputs.sram = tiles_[t]->sram();
  inputs.sram_bytes = config_.sram_bytes;
  inputs.table = stop.value;
  inputs.issue = stop.cycle;
  for (unsigned i = 0; i < 3; ++i) inputs.xbase[i] = tiles_[t]->supervisor_csr(kXbase1 + i);
  inputs.tile = t;
  inputs.ipu = config_.ipu;
  seats_[t].window = std::make_unique<PacketWindow>(inputs);
}

void Ipu::step_packets(Cycle to) {
  for (unsigned t = 0; t < config_.tiles; ++t) {
    PacketWindow* window = seats_[t].window.get();
    if (window == nullptr) continue;
    while (const auto offer = window->next_offer()) {
      if (*offer >= to) break;
      const auto taken = lanes_.room(t, *offer);
      if (!taken || *taken >= to) break;
      lanes_.take(t, *taken, window->next_packet());
      window->taken(*taken);
    }
  }
  lanes_.advance(to);
  for (unsigned t = 0; t < config_.tiles; ++t) {
    PacketWindow* window = seats_[t].window.get();
    if (window == nullptr) continue;
    while (const auto delivery = lanes_.take_delivery(t)) {
      window->deliver(delivery->first, delivery->packet);
      const auto [address, bytes] = window->last_written();
      if (bytes != 0) tiles_[t]->memory_written(address, bytes);
    }
  }
}

bool Ipu::finish_windows() {
  bool any = false;
  for (unsigned t = 0; t < config_.tiles; ++t) {
    Seat& seat = seats_[t];
    if (!seat.window || !seat.window->complete()) continue;
    const Cycle c = seat.window->completion();
    tiles_[t]->packet_traffic(seat.window->traffic());
    if (const auto& fault = seat.window->fault())
      tiles_[t]->fail_packets(c, seat.window->received(), fault->cause, fault->tval);
    else
      tiles_[t]->finish_packets(c, seat.window->received());
    emit(t, MachineEvent::Kind::packet_done, c, seat.window->received());
    seat.window.reset();
    seat.status = TileStatus::running;
    any = true;
  }
  return any;
}

Cycle Ipu::next_packet_event() const {
  Cycle next = lanes_.next_event();
  for (unsigned t = 0; t < config_.tiles; ++t) {
    if (!seats_[t].window) continue;
    const auto offer = seats_[t].window->next_offer();
    if (!offer) continue;
    if (const auto taken = lanes_.room(t, *offer)) next = std::min(next, *taken);
  }
  return next;
}

bool Ipu::run_packets(Cycle limit) {
  bool waiting = false;
  for (const Seat& seat : seats_) waiting = waiting || seat.window != nullptr;
  if (!waiting) return false;
  // Tiles that still run may yet offer packets: nothing beyond what they have done is settled.
  for (const Seat& seat : seats_)
    if (seat.status == TileStatus::running) limit = std::min(limit, seat.progress);
  if (finish_windows()) return true;
  for (;;) {
    const Cycle next = next_packet_event();
    if (next >= limit) return false;
    step_packets(std::min(limit, next + lanes_.lookahead()));
    if (refused()) return false;
    if (finish_windows()) return true;
    poll(next);
  }
}

Cycle Ipu::drain_packets(Cycle limit) {
  lanes_.advance(limit);
  return lanes_.last_arrival();
}

}  // namespace tessera
