// Instructions that concern the tile and not one context alone: x.run, x.exit, x.sync, x.delay, x.exchange, x.packet,
// x.amp.ldw, with their implicit waits (docs/machine/timing.md and tile.md). A waiting instruction is fetched at T and
// takes effect, and retires, at T'; its operands are read at T.
#include <algorithm>

#include "hw/generated/isa.h"
#include "hw/generated/machine.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera {

using isa::Op;

TlmTile::Outcome TlmTile::execute_control(TileContext& c, const Decoded& in, Cycle t, Step& step) {
  const std::uint32_t a = c.x[in.rs1];
  switch (static_cast<Op>(in.op)) {
    case Op::x_exit:
      c.run = Run::idle;
      c.vacant_from = t + 6;
      if (a != 0) exits_.emplace_back(t + 6, a);
      emit(MachineEvent::Kind::exit, t, c.id, step.record.pc, a);
      return Outcome::done;
    case Op::x_delay:
      c.next = t + std::max<Cycle>(6, a);
      return Outcome::done;
    case Op::x_sync:
      return begin_sync(c, in, t, step);
    case Op::x_run:
      wait_mask_ = in.rd == 7 ? 0x3f : static_cast<std::uint8_t>(1u << (in.rd - 1));
      break;
    case Op::x_amp_ldw:
      wait_mask_ = 0x3f;
      break;
    default:  // x.exchange, x.packet
      if (a == 0) return Outcome::done;
      wait_mask_ = 0x3f;
  }
  deferred_ = step;
  deferred_op_ = in;
  deferred_operands_ = {a, c.x[in.rs2], c.x[in.rs3]};
  mode_ = Mode::implicit_wait;
  c.next = t;
  return Outcome::deferred;
}

TlmTile::Outcome TlmTile::begin_sync(TileContext& c, const Decoded& in, Cycle t, Step& step) {
  const auto zone = static_cast<Zone>(in.imm);
  const bool member = zone == Zone::group1 ? config_.group1 : zone == Zone::group2 ? config_.group2 : true;
  if (!member) return step.raise(25, 0);
  deferred_ = step;
  deferred_op_ = in;
  deferred_operands_ = {c.x[in.rs1], 0, 0};
  mode_ = Mode::local_sync;
  c.next = t;
  return Outcome::deferred;
}

void TlmTile::take_effect(Cycle t) {
  TileContext& c = contexts_[0];
  last_issue_ = std::max(last_issue_, t);
  deferred_.record.cycle = t;
  if (races_) races_->waited(wait_mask_);
  Outcome outcome = Outcome::done;
  switch (static_cast<Op>(deferred_op_.op)) {
    case Op::x_run:
      outcome = start_workers(t, deferred_);
      break;
    case Op::x_amp_ldw:
      outcome = load_weights(deferred_);
      break;
    case Op::x_exchange:
      outcome = enter_exchange(t, deferred_);
      break;
    default:
      outcome = enter_packet(t, deferred_);
  }
  if (outcome == Outcome::trap) {
    const RetireRecord r = deferred_.record;
    trap(c, t, r.pc, r.word, deferred_.cause, deferred_.tval);
  } else if (outcome == Outcome::done) {
    if (deferred_op_.slots > 1) slots_end_ = t + 6 * deferred_op_.slots;
    finish_deferred(deferred_, t + 6 * deferred_op_.slots);
  }
}

void TlmTile::finish_deferred(const Step& step, Cycle next) {
  TileContext& c = contexts_[0];
  c.pc = step.next_pc;
  c.next = next;
  ++c.retired;
  mode_ = Mode::issue;
  if (observed()) {
    RetireRecord record = step.record;
    record.next_pc = step.next_pc;
    tell(record);
  }
}

TlmTile::Outcome TlmTile::start_workers(Cycle t, Step& step) {
  const unsigned which = deferred_op_.rd;
  const auto [pc, a0, a1] = deferred_operands_;
  step.record.run = {which, pc, a0, a1, xwstack_, xwstksz_, xwra_};
  for (unsigned w = 1; w < 7; ++w)
    if (which == 7 || which == w) start_worker(w, pc, a0, a1, t);
  return Outcome::done;
}

void TlmTile::start_worker(unsigned w, Address pc, std::uint32_t a0, std::uint32_t a1, Cycle t) {
  TileContext& c = contexts_[w];
  c.run = Run::running;
  c.pc = pc;
  c.x[10] = a0;
  c.x[11] = a1;
  c.x[2] = xwstack_ + w * xwstksz_;
  c.x[4] = w - 1;
  c.x[1] = xwra_;
  c.frm = c.fflags = 0;
  c.looping = false;
  c.sums = {};
  const Cycle from = t + 6;
  c.next = from + (w - 1 + 6 - from % 6) % 6;
  emit(MachineEvent::Kind::run, c.next, c.id, pc, a0);
}

bool TlmTile::bad_table(Address table) const { return table % 8 != 0 || table - kSramBase > sram_.size() - 8; }

TlmTile::Outcome TlmTile::enter_exchange(Cycle t, Step& step) {
  const Address table = deferred_operands_[0];
  if (!exchange_open_) return step.raise(25, 0);
  if (bad_table(table)) {
    fault_cycle_ = static_cast<std::uint32_t>(t);
    return step.raise(29, table);
  }
  exchange_open_ = false;
  effective_issue_ = t;
  mode_ = Mode::exchange;
  pending_ = TileStop{TileStop::Kind::exchange, t, Zone::local, table};
  return Outcome::deferred;
}

TlmTile::Outcome TlmTile::enter_packet(Cycle t, Step& step) {
  const Address table = deferred_operands_[0];
  if (!window_open_) return step.raise(25, 0);
  if (bad_table(table)) return step.raise(29, table);
  effective_issue_ = t;
  mode_ = Mode::packet;
  pending_ = TileStop{TileStop::Kind::packet, t, Zone::local, table};
  return Outcome::deferred;
}

}  // namespace tessera
