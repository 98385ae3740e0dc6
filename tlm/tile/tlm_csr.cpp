// Control and status registers of both roles (docs/machine/csrs.md).
#include <algorithm>

#include "hw/generated/isa.h"
#include "hw/generated/machine.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera {

using isa::Op;

namespace {

std::uint32_t low(std::uint64_t v) { return static_cast<std::uint32_t>(v); }
std::uint32_t high(std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); }

}  // namespace

bool TlmTile::read_csr(const TileContext& c, unsigned n, Cycle t, std::uint32_t& value) const {
  const std::uint64_t cycle = t + c.cycle_offset, instret = c.retired + c.instret_offset;
  value = 0;
  const CsrAccess access = csr_access(n, c.supervisor());
  if (access == CsrAccess::absent) return false;
  if (access == CsrAccess::zero) return true;
  switch (n) {
    case csr::mstatus:
      value = (c.mie ? 8u : 0) | (c.mpie ? 0x80u : 0) | 0x1800u | (c.fs ? 0x8000'6000u : 0);
      return true;
    case csr::misa:
      value = c.supervisor() ? 0x4080'1100u : 0x4080'1120u;
      return true;
    case csr::mtvec:
      value = c.mtvec;
      return true;
    case csr::mscratch:
      value = c.mscratch;
      return true;
    case csr::mepc:
      value = c.mepc;
      return true;
    case csr::mcause:
      value = c.mcause;
      return true;
    case csr::mtval:
      value = c.mtval;
      return true;
    case csr::mcycle:
    case csr::cycle:
    case csr::time:
      value = low(cycle);
      return true;
    case csr::mcycleh:
    case csr::cycleh:
    case csr::timeh:
      value = high(cycle);
      return true;
    case csr::minstret:
    case csr::instret:
      value = low(instret);
      return true;
    case csr::minstreth:
    case csr::instreth:
      value = high(instret);
      return true;
    case csr::mhartid:
      value = config_.hart_base + c.id;
      return true;
    case csr::xtile:
      value = config_.tile;
      return true;
    case csr::xipu:
      value = config_.ipu;
      return true;
    case csr::xntiles:
      value = config_.tiles;
      return true;
    case csr::xsramend:
      value = kSramBase + config_.sram_bytes;
      return true;
    default:
      break;
  }
  if (c.supervisor()) return supervisor_csr_value(n, t, value);
  switch (n) {
    case csr::fflags:
      value = c.fflags;
      return c.fs;
    case csr::frm:
      value = c.frm;
      return c.fs;
    case csr::fcsr:
      value = c.frm << 5 | c.fflags;
      return c.fs;
    case csr::xworker:
      value = c.id - 1u;
      return true;
    case csr::xrpt:
      value = c.repeats;
      return true;
    default:
      break;
  }
  if (n >= csr::xrng0 && n < csr::xrng0 + 4u) {
    value = c.rng[n - csr::xrng0];
    return true;
  }
  if (n >= csr::xs0 && n < csr::xs0 + 3u) {
    value = c.stream[n - csr::xs0];
    return true;
  }
  if (n >= csr::xst0 && n < csr::xst0 + 3u) {
    value = c.stride[n - csr::xst0];
    return true;
  }
  value = csr_reset(n, c.supervisor());
  return true;
}

bool TlmTile::supervisor_csr_value(unsigned n, Cycle t, std::uint32_t& value) const {
  switch (n) {
    case csr::xwstack:
      value = xwstack_;
      return true;
    case csr::xwstksz:
      value = xwstksz_;
      return true;
    case csr::xwra:
      value = xwra_;
      return true;
    case csr::xbase1:
    case csr::xbase2:
    case csr::xbase3:
      value = xbase_[n - csr::xbase1];
      return true;
    case csr::xsource:
      value = xsource_;
      return true;
    case csr::xexit:
      value = xexit_;
      for (const auto& [visible, code] : exits_)
        if (visible <= t) value |= code;
      return true;
    case csr::xwstat:
      for (unsigned w = 1; w < 7; ++w) {
        const TileContext& worker = contexts_[w];
        const bool excepted = worker.run == Run::excepted && worker.vacant_from <= t;
        const bool idle = worker.run == Run::idle && worker.vacant_from <= t;
        value |= (idle ? 0u : 1u) << (w - 1) | (excepted ? 1u : 0u) << (w + 7);
      }
      return true;
    case csr::xsyncz:
      value = low(release_);
      return true;
    case csr::xsynczh:
      value = high(release_);
      return true;
    case csr::xpktcnt:
      value = packet_count_;
      return true;
    case csr::xfaultcyc:
      value = fault_cycle_;
      return true;
    default:
      value = csr_reset(n, true);
      return true;
  }
}

void TlmTile::settle_exits(Cycle t) {
  const auto arrived = [t](const std::pair<Cycle, std::uint32_t>& e) { return e.first <= t; };
  for (const auto& e : exits_)
    if (arrived(e)) xexit_ |= e.second;
  exits_.erase(std::remove_if(exits_.begin(), exits_.end(), arrived), exits_.end());
}

void TlmTile::write_csr(TileContext& c, unsigned n, Cycle t, std::uint32_t v) {
  constexpr std::uint64_t kHigh = 0xffff'ffff'0000'0000u, kLow = 0xffff'ffffu;
  const std::uint64_t cycle = t + c.cycle_offset, instret = c.retired + c.instret_offset;
  switch (n) {
    case csr::mstatus:
      c.mie = (v & 8) != 0;
      c.mpie = (v & 0x80) != 0;
      if (!c.supervisor()) c.fs = (v & 0x6000) != 0;
      break;
    case csr::mtvec:
      c.mtvec = v & ~3u;
      break;
    case csr::mscratch:
      c.mscratch = v;
      break;
    case csr::mepc:
      c.mepc = v & ~3u;
      break;
    case csr::mcause:
      c.mcause = v;
      break;
    case csr::mtval:
      c.mtval = v;
      break;
    case csr::mcycle:
      c.cycle_offset = ((cycle & kHigh) | v) - t;
      break;
    case csr::mcycleh:
      c.cycle_offset = ((cycle & kLow) | std::uint64_t{v} << 32) - t;
      break;
    // The increment of the writing instruction is suppressed: it is counted in `retired`, so the offset takes it back.
    case csr::minstret:
      c.instret_offset = ((instret & kHigh) | v) - (c.retired + 1);
      break;
    case csr::minstreth:
      c.instret_offset = ((instret & kLow) | std::uint64_t{v} << 32) - (c.retired + 1);
      break;
    case csr::fflags:
      c.fflags = v & 0x1f;
      break;
    case csr::frm:
      c.frm = v & 7;
      break;
    case csr::fcsr:
      c.fflags = v & 0x1f;
      c.frm = v >> 5 & 7;
      break;
    case csr::xwstack:
      xwstack_ = v;
      break;
    case csr::xwstksz:
      xwstksz_ = v;
      break;
    case csr::xwra:
      xwra_ = v;
      break;
    case csr::xbase1:
    case csr::xbase2:
    case csr::xbase3:
      xbase_[n - csr::xbase1] = v;
      break;
    case csr::xsource:
      xsource_ = v;
      break;
    case csr::xexit:
      settle_exits(t);
      xexit_ = v;
      break;
    default:
      if (n >= csr::xrng0 && n < csr::xrng0 + 4u) c.rng[n - csr::xrng0] = v;
      if (n >= csr::xs0 && n < csr::xs0 + 3u) c.stream[n - csr::xs0] = v;
      if (n >= csr::xst0 && n < csr::xst0 + 3u) c.stride[n - csr::xst0] = v;
  }
}

TlmTile::Outcome TlmTile::execute_csr(TileContext& c, const Decoded& in, Cycle t, Step& step) {
  const auto op = static_cast<Op>(in.op);
  const unsigned n = static_cast<unsigned>(in.imm) & 0xfff;
  const bool immediate = op == Op::csrrwi || op == Op::csrrsi || op == Op::csrrci;
  const bool swap = op == Op::csrrw || op == Op::csrrwi;
  const bool writes = swap || in.rs1 != 0;
  if (c.supervisor() && !exact() && (n == csr::xwstat || n == csr::xexit)) catch_up(t);
  std::uint32_t old = 0;
  if (!read_csr(c, n, t, old) || (writes && (n >> 10) == 3)) return step.raise(2, in.word);
  if (writes) {
    const std::uint32_t operand = immediate ? in.rs1 : c.x[in.rs1];
    const bool set = op == Op::csrrs || op == Op::csrrsi;
    write_csr(c, n, t, swap ? operand : set ? old | operand : old & ~operand);
    std::uint32_t now = 0;
    if (!read_csr(c, n, t, now)) now = 0;  // fcsr after FS was cleared is not there, but FS itself is
    if (n == csr::minstret || n == csr::minstreth) {
      const std::uint64_t count = c.retired + 1 + c.instret_offset;
      now = n == csr::minstret ? low(count) : high(count);
    }
    step.record.csr = static_cast<std::uint16_t>(n);
    step.record.csr_value = now;
  }
  write_x(c, in.rd, old, step);
  return Outcome::done;
}

}  // namespace tessera
