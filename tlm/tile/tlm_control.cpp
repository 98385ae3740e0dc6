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
      return begin_sync(in, t, step);
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
  wait_in(in, step.record.pc, t, Mode::implicit_wait);
  return Outcome::deferred;
}

void TlmTile::wait_in(const Decoded& in, Address pc, Cycle t, Mode mode) {
  TileContext& c = contexts_[0];
  waiting_.cycle = t;
  waiting_.pc = pc;
  waiting_.next_pc = pc + 4;
  waiting_.operands = {c.x[in.rs1], c.x[in.rs2], c.x[in.rs3]};
  waiting_.op = in;
  mode_ = mode;
  c.next = t;
}

bool TlmTile::member(Zone zone) const {
  return zone == Zone::group1 ? config_.group1 : zone == Zone::group2 ? config_.group2 : true;
}

TlmTile::Step TlmTile::waiting_step() const {
  Step step;
  step.record.cycle = waiting_.cycle;
  step.record.pc = waiting_.pc;
  step.record.word = waiting_.op.word;
  step.next_pc = waiting_.next_pc;
  return step;
}

TlmTile::Outcome TlmTile::begin_sync(const Decoded& in, Cycle t, Step& step) {
  if (!member(static_cast<Zone>(in.imm))) return step.raise(25, 0);
  wait_in(in, step.record.pc, t, Mode::local_sync);
  return Outcome::deferred;
}

void TlmTile::take_effect(Cycle t) {
  TileContext& c = contexts_[0];
  last_issue_ = std::max(last_issue_, t);
  waiting_.cycle = t;
  if (races_) races_->waited(wait_mask_);
  Outcome outcome = Outcome::done;
  Step step = waiting_step();
  switch (static_cast<Op>(waiting_.op.op)) {
    case Op::x_run:
      outcome = start_workers(t, step);
      break;
    case Op::x_amp_ldw:
      outcome = load_weights(step);
      break;
    case Op::x_exchange:
      outcome = enter_exchange(t, step);
      break;
    default:
      outcome = enter_packet(t, step);
  }
  if (outcome == Outcome::trap) {
    trap(c, t, waiting_.pc, waiting_.op.word, step.cause, step.tval);
  } else if (outcome == Outcome::done) {
    if (waiting_.op.slots > 1) slots_end_ = t + 6 * waiting_.op.slots;
    finish_waiting(step, t + 6 * waiting_.op.slots);
  }
}

void TlmTile::finish_waiting(Cycle next) {
  if (observed()) return finish_waiting(waiting_step(), next);
  TileContext& c = contexts_[0];
  c.pc = waiting_.next_pc;
  c.next = next;
  ++c.retired;
  mode_ = Mode::issue;
}

void TlmTile::finish_waiting(std::uint32_t value, Cycle next) {
  if (observed()) {
    Step step = waiting_step();
    write_x(contexts_[0], waiting_.op.rd, value, step);
    return finish_waiting(step, next);
  }
  if (waiting_.op.rd != 0) contexts_[0].x[waiting_.op.rd] = value;
  finish_waiting(next);
}

void TlmTile::finish_waiting(const Step& step, Cycle next) {
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
  const unsigned which = waiting_.op.rd;
  const auto [pc, a0, a1] = waiting_.operands;
  step.record.run = {which, pc, a0, a1, xwstack_, xwstksz_, xwra_};
  for (unsigned w = 1; w < 7; ++w)
    if (which == 7 || which == w) start_worker(w, pc, a0, a1, t);
  return Outcome::done;
}

void TlmTile::start_worker(unsigned w, Address pc, std::uint32_t a0, std::uint32_t a1, Cycle t) {
  TileContext& c = contexts_[w];
  c.run = Run::running;
  busy_workers_ |= static_cast<std::uint8_t>(1u << (w - 1));
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
  const Address table = waiting_.operands[0];
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
  const Address table = waiting_.operands[0];
  if (!window_open_) return step.raise(25, 0);
  if (bad_table(table)) return step.raise(29, table);
  effective_issue_ = t;
  mode_ = Mode::packet;
  pending_ = TileStop{TileStop::Kind::packet, t, Zone::local, table};
  return Outcome::deferred;
}

}  // namespace tessera
