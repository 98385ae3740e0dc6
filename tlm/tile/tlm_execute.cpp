// One issue of one context at a given cycle: fetch, pair, retire or trap, with the record of what happened. This is the
// reference of the tile; threaded code (tlm_fast.cpp) does the common cases faster and leaves the others here.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "hw/generated/isa.h"
#include "hw/generated/machine.h"
#include "tlm/tile/alu.h"
#include "tlm/tile/threaded.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera {

using isa::Op;

const Decoded* TlmTile::fetch(TileContext& c, Cycle t) {
  const Address pc = c.pc;
  if (pc % 4 != 0) {
    trap(c, t, pc, 0, 0, pc);
    return nullptr;
  }
  const std::uint32_t offset = pc - kSramBase;
  if (offset >= sram_.size()) {
    trap(c, t, pc, 0, 1, pc);
    return nullptr;
  }
  CodePage* code = page(c.supervisor() ? Role::supervisor : Role::worker, pc);
  const unsigned index = (offset & (kPageBytes - 1)) / 4;
  if (!code->known(index)) decode(*code, index);
  return &code->decoded[index];
}

void TlmTile::issue(TileContext& c, Cycle t) {
  last_issue_ = std::max(last_issue_, t);
  if (debugging_) issued(c, t);
  const Address pc = c.pc;
  const Decoded* at = fetch(c, t);
  if (at == nullptr) return;
  const Decoded first = at[0];
  if (debugging_ && static_cast<Op>(first.op) == Op::ebreak && breaks(c, t)) return;
  // By far the commonest of all in a machine that waits: no step is made that nobody looks at.
  if (static_cast<Op>(first.op) == Op::x_sync && !observed() && member(static_cast<Zone>(first.imm)))
    return wait_in(first, pc, t, Mode::local_sync);
  Cycle slots = first.slots;
  c.next = t + 6;
  Outcome outcome = Outcome::done;
  if (first.pair() && pc % 8 == 0) {
    const Decoded second = at[1];  // fetched once: the first may store over it
    outcome = retire(c, first, pc, pc + 4, t, true);
    if (outcome == Outcome::trap) return;
    // Of what may be a MAIN only x.rpt with count 0 goes elsewhere, and the AUX acts on the way.
    const Address next = c.pc == pc + 4 ? pc + 8 : c.pc;
    outcome = retire(c, second, pc + 4, next, t, true);
    slots = second.slots;
  } else {
    outcome = retire(c, first, pc, pc + 4, t, false);
  }
  if (outcome != Outcome::done || slots <= 1) return;
  c.next = t + 6 * slots;
  if (c.supervisor()) slots_end_ = c.next;
}

TlmTile::Outcome TlmTile::retire(TileContext& c, const Decoded& in, Address pc, Address next, Cycle t, bool paired) {
  Step step;
  step.record.cycle = t;
  step.record.context = c.id;
  step.record.paired = paired;
  step.record.pc = pc;
  step.record.word = in.word;
  step.next_pc = next;
  const Outcome outcome = execute(c, in, t, step);
  if (outcome == Outcome::trap) {
    trap(c, t, pc, in.word, step.cause, step.tval, paired);
  } else if (outcome == Outcome::done) {
    if (c.looping && step.next_pc == c.loop_end) step.next_pc = turn_loop(c);
    c.pc = step.next_pc;
    ++c.retired;
    if (observed()) {
      step.record.next_pc = paired && pc % 8 == 0 ? pc + 4 : step.next_pc;
      tell(step.record);
    }
  }
  return outcome;
}

void TlmTile::tell(const RetireRecord& record) {
  if (observer_ != nullptr) observer_->retired(record);
  if (!races_) return;
  races_->retired(record);
  if (!races_->race()) return;
  TileRace race = *races_->race();
  race.ipu = config_.ipu;
  race.tile = config_.tile;
  race.supervisor_pc = contexts_[0].pc;
  race.supervisor_return = contexts_[0].x[1];
  races_.reset();
  race_found_(race);
}

void TlmTile::trap(TileContext& c, Cycle t, Address pc, std::uint32_t word, std::uint32_t cause, std::uint32_t tval,
                   bool paired) {
  last_issue_ = std::max(last_issue_, t);
  c.mepc = pc & ~3u;
  c.mcause = cause;
  c.mtval = tval;
  c.mpie = c.mie;
  c.mie = false;
  c.looping = false;
  if (c.mtvec != 0) {
    c.pc = c.mtvec;
    c.next = t + 6;
    if (c.supervisor()) mode_ = Mode::issue;
  } else {
    c.pc = pc;
    c.run = Run::excepted;
    any_excepted_ = true;
    c.vacant_from = t + 6;
    c.trap_cycle = cause >= 27 && cause <= 29 && c.supervisor() && mode_ == Mode::exchange ? fault_time_ : t;
    if (c.supervisor()) mode_ = Mode::stopped;
  }
  if (observer_ == nullptr) return;
  RetireRecord record;
  record.cycle = t;
  record.context = c.id;
  record.paired = paired;
  record.trap = true;
  record.pc = pc;
  record.word = word;
  record.next_pc = c.pc;
  record.cause = cause;
  record.tval = tval;
  observer_->retired(record);
}

Address TlmTile::turn_loop(TileContext& c) {
  c.looping = --c.repeats != 0;
  return c.looping ? c.loop_start : c.loop_end;
}

TlmTile::Outcome TlmTile::repeat(TileContext& c, const Decoded& in, Step& step) {
  const Address pc = step.record.pc;
  const bool immediate = static_cast<Op>(in.op) == Op::x_rpti;
  c.repeats = immediate ? isa::rpt_count(in.word) : c.x[in.rs1];
  c.loop_start = (pc & ~7u) + 8;
  c.loop_end = c.loop_start + 8 * (in.word >> 20);
  c.looping = c.repeats != 0;
  if (!c.looping) step.next_pc = c.loop_end;
  return Outcome::done;
}

void TlmTile::write_x(TileContext& c, unsigned rd, std::uint32_t value, Step& step) {
  if (rd == 0) return;
  c.x[rd] = value;
  step.record.xrd = static_cast<std::uint8_t>(rd);
  step.record.xval = value;
}

TlmTile::Outcome TlmTile::execute(TileContext& c, const Decoded& in, Cycle t, Step& step) {
  const std::uint32_t a = c.x[in.rs1];
  std::uint32_t b = c.x[in.rs2];
  const Address pc = step.record.pc;
  const bool repeats = static_cast<Op>(in.op) == Op::x_rpt || static_cast<Op>(in.op) == Op::x_rpti;
  if (repeats && pc % 8 == 0 && !step.record.paired) return step.raise(trap::illegal_instruction, in.word);
  if (c.looping && transfers_control(in)) return step.raise(trap::repeat_control, in.word);
  const auto jump = [&](Address target) {
    if (target % 4 != 0) return step.raise(trap::instruction_misaligned, target);
    step.next_pc = target;
    return Outcome::done;
  };
  switch (static_cast<Op>(in.op)) {
#define X(name, expression)                \
  case Op::name:                           \
    write_x(c, in.rd, (expression), step); \
    return Outcome::done;
    TESSERA_ALU_OPERATIONS(X)
    TESSERA_DIVISIONS(X)
#undef X
#define X(name, expression)                 \
  case Op::name:                            \
    b = static_cast<std::uint32_t>(in.imm); \
    write_x(c, in.rd, (expression), step);  \
    return Outcome::done;
    TESSERA_ALU_IMMEDIATES(X)
#undef X
#define X(name, condition) \
  case Op::name:           \
    return (condition) ? jump(pc + static_cast<std::uint32_t>(in.imm)) : Outcome::done;
    TESSERA_BRANCHES(X)
#undef X
    case Op::lui:
      write_x(c, in.rd, static_cast<std::uint32_t>(in.imm), step);
      return Outcome::done;
    case Op::auipc:
      write_x(c, in.rd, pc + static_cast<std::uint32_t>(in.imm), step);
      return Outcome::done;
    case Op::jal:
    case Op::jalr: {
      const bool relative = static_cast<Op>(in.op) == Op::jal;
      const Address target =
          relative ? pc + static_cast<std::uint32_t>(in.imm) : (a + static_cast<std::uint32_t>(in.imm)) & ~1u;
      const Outcome outcome = jump(target);
      if (outcome == Outcome::done) write_x(c, in.rd, pc + 4, step);
      return outcome;
    }
    case Op::lb:
    case Op::lbu:
    case Op::lh:
    case Op::lhu:
    case Op::lw:
    case Op::sb:
    case Op::sh:
    case Op::sw:
    case Op::flw:
    case Op::fsw:
      return execute_memory(c, in, step);
    case Op::x_ld64:
    case Op::x_ld128:
    case Op::x_st64:
    case Op::x_ld64_r:
    case Op::x_ld128_r:
    case Op::x_st64_r:
      return execute_wide(c, in, step);
    case Op::x_ld2:
    case Op::x_ldst:
    case Op::x_ld2st:
      return execute_streams(c, in, step);
    case Op::x_sset:
      return set_stream(c, in, step);
    case Op::x_rpt:
    case Op::x_rpti:
      return repeat(c, in, step);
    case Op::x_run:
    case Op::x_amp_ldw:
    case Op::x_exit:
    case Op::x_sync:
    case Op::x_delay:
    case Op::x_exchange:
    case Op::x_packet:
      return execute_control(c, in, t, step);
    case Op::illegal:
      return step.raise(trap::illegal_instruction, in.word);
    default:
      break;
  }
  const isa::Info& info = isa::info(static_cast<Op>(in.op));
  if (info.fp != isa::FpOp::none) return execute_float(c, in, step);
  if (info.klass == isa::Class::aux) return execute_vector(c, in, step);
  return execute_system(c, in, t, step);
}

TlmTile::Outcome TlmTile::execute_system(TileContext& c, const Decoded& in, Cycle t, Step& step) {
  switch (static_cast<Op>(in.op)) {
    case Op::fence:
    case Op::fence_i:
    case Op::wfi:
      return Outcome::done;
    case Op::ecall:
      return step.raise(11, 0);
    case Op::ebreak:
      return step.raise(3, step.record.pc);
    case Op::mret:
      c.mie = c.mpie;
      c.mpie = true;
      step.next_pc = c.mepc;
      return Outcome::done;
    case Op::csrrw:
    case Op::csrrs:
    case Op::csrrc:
    case Op::csrrwi:
    case Op::csrrsi:
    case Op::csrrci:
      return execute_csr(c, in, t, step);
    default:
      // Legal in the table, but not an instruction of this model: as good as absent.
      return step.raise(trap::illegal_instruction, in.word);
  }
}

TlmTile::Outcome TlmTile::execute_memory(TileContext& c, const Decoded& in, Step& step) {
  const Address address = c.x[in.rs1] + static_cast<std::uint32_t>(in.imm);
  const auto op = static_cast<Op>(in.op);
  if ((op == Op::flw || op == Op::fsw) && !c.fs) return step.raise(trap::illegal_instruction, in.word);
  std::uint32_t value = 0;
  const auto loaded = [&](unsigned bytes, auto extend) {
    const Outcome outcome = load(c, address, bytes, step, value);
    if (outcome == Outcome::done) write_x(c, in.rd, static_cast<std::uint32_t>(extend(value)), step);
    return outcome;
  };
  switch (op) {
    case Op::lb:
      return loaded(1, [](std::uint32_t v) { return static_cast<std::int8_t>(v); });
    case Op::lbu:
      return loaded(1, [](std::uint32_t v) { return v; });
    case Op::lh:
      return loaded(2, [](std::uint32_t v) { return static_cast<std::int16_t>(v); });
    case Op::lhu:
      return loaded(2, [](std::uint32_t v) { return v; });
    case Op::lw:
      return loaded(4, [](std::uint32_t v) { return v; });
    case Op::sb:
      return store(c, address, 1, c.x[in.rs2], step);
    case Op::sh:
      return store(c, address, 2, c.x[in.rs2], step);
    case Op::sw:
      return store(c, address, 4, c.x[in.rs2], step);
    case Op::fsw:
      return store(c, address, 4, c.f[in.rs2], step);
    default:
      break;
  }
  const Outcome outcome = load(c, address, 4, step, value);  // flw
  if (outcome != Outcome::done) return outcome;
  c.f[in.rd] = value;
  step.record.fwrite[0] = {1, in.rd, value};
  return outcome;
}

TlmTile::Outcome TlmTile::load(TileContext& c, Address address, unsigned bytes, Step& step, std::uint32_t& value) {
  if (address % bytes != 0) return step.raise(trap::load_misaligned, address);
  const std::uint32_t offset = address - kSramBase;
  if (offset > sram_.size() - bytes) return outside(c, address, bytes, false, 0, step);
  value = 0;
  std::memcpy(&value, sram_.data() + offset, bytes);
  step.record.mem_read = true;
  step.record.read_addr[0] = address;
  return Outcome::done;
}

TlmTile::Outcome TlmTile::store(TileContext& c, Address address, unsigned bytes, std::uint64_t value, Step& step) {
  if (address % bytes != 0) return step.raise(trap::store_misaligned, address);
  const std::uint32_t offset = address - kSramBase;
  if (offset > sram_.size() - bytes) return outside(c, address, bytes, true, value, step);
  std::memcpy(sram_.data() + offset, &value, bytes);
  step.record.mem_write = true;
  step.record.write_addr = address;
  step.record.write_mask = static_cast<std::uint8_t>((1u << bytes) - 1);
  step.record.write_data = bytes == 8 ? value : value & ((std::uint64_t{1} << 8 * bytes) - 1);
  if (line_flags_[offset >> kLineBits] != 0) stored(address, bytes, step.record.cycle);
  return Outcome::done;
}

TlmTile::Outcome TlmTile::outside(const TileContext& c, Address address, unsigned bytes, bool write,
                                  std::uint64_t value, Step& step) {
  const bool peripheral = c.supervisor() && address - mmio_base_ < mmio_bytes_;
  if (!peripheral) return step.raise(write ? trap::store_access : trap::load_access, address);
  mmio_ = {address, bytes, write, static_cast<std::uint32_t>(value)};
  const Cycle t = step.record.cycle;
  wait_in(decode_word(step.record.word, Role::supervisor), step.record.pc, t, Mode::mmio);
  pending_ = TileStop{TileStop::Kind::mmio, t, Zone::local, address};
  return Outcome::deferred;
}

void TlmTile::finish_mmio(std::uint32_t value, Cycle next) {
  if (mode_ != Mode::mmio) throw std::logic_error("finish_mmio of a tile that waits for no peripheral");
  pending_.reset();
  next = std::max(next, waiting_.cycle + 6);
  if (mmio_.write) return finish_waiting(next);
  const auto op = static_cast<Op>(waiting_.op.op);
  if (op == Op::lb) value = static_cast<std::uint32_t>(static_cast<std::int8_t>(value));
  if (op == Op::lh) value = static_cast<std::uint32_t>(static_cast<std::int16_t>(value));
  finish_waiting(value, next);
}

void TlmTile::fail_mmio() {
  if (mode_ != Mode::mmio) throw std::logic_error("fail_mmio of a tile that waits for no peripheral");
  pending_.reset();
  trap(contexts_[0], waiting_.cycle, waiting_.pc, waiting_.op.word,
       mmio_.write ? trap::store_access : trap::load_access, mmio_.address);
}

void TlmTile::stored(Address address, unsigned bytes, Cycle t) {
  const std::uint32_t offset = address - kSramBase;
  if ((line_flags_[offset >> kLineBits] & kCodeLine) != 0) code_stored(offset);
  if (config_.tohost == 0 || address + bytes <= config_.tohost || address >= config_.tohost + 4) return;
  std::memcpy(&tohost_value_, sram_.data() + (config_.tohost - kSramBase), sizeof tohost_value_);
  if (tohost_value_ == 0) return;
  tohost_hit_ = true;
  tohost_cycle_ = t;
}

}  // namespace tessera
