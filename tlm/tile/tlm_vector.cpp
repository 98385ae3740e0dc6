// AUX instructions of Xtile by the integer reference (tlm/float/simd.h, amp.h): lanes, conversions, random numbers,
// transcendentals and the steps of the matrix product; and the load of its weights. No flags, no rounding mode. Where
// nobody reads the records' values, as in the search for races, host vectors give the same bits (simd_fast.h).
#include <cstring>

#include "hw/generated/isa.h"
#include "hw/generated/machine.h"
#include "tlm/float/amp_fast.h"
#include "tlm/float/simd.h"
#include "tlm/float/simd_fast.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera {

using isa::Op;

namespace {

fp::Operand operand(const TileContext& c, isa::Reg reg, unsigned number) {
  fp::Operand out;
  if (reg.file != isa::File::f) return out;
  const auto at = [&](unsigned k) { return k < reg.count ? std::uint64_t{c.f[number + k]} : 0; };
  out.lo = at(0) | at(1) << 32;
  out.hi = at(2) | at(3) << 32;
  return out;
}

/// Writes `count` registers: one, a pair, or a quad as two pairs.
void write_operand(TileContext& c, unsigned number, unsigned count, const fp::Operand& value, RetireRecord& record) {
  if (count == 1) {
    c.f[number] = static_cast<std::uint32_t>(value.lo);
    record.fwrite[0] = {1, static_cast<std::uint8_t>(number), value.lo & 0xffff'ffffu};
    return;
  }
  for (unsigned k = 0; k < count / 2; ++k) {
    const std::uint64_t bits = k == 0 ? value.lo : value.hi;
    c.f[number + 2 * k] = static_cast<std::uint32_t>(bits);
    c.f[number + 2 * k + 1] = static_cast<std::uint32_t>(bits >> 32);
    record.fwrite[k] = {2, static_cast<std::uint8_t>(number + 2 * k), bits};
  }
}

/// One step of the worker's random numbers; the record tells the state afterwards.
std::uint64_t draw(TileContext& c, RetireRecord& record) {
  fp::Rng rng{c.rng[0] | std::uint64_t{c.rng[1]} << 32, c.rng[2] | std::uint64_t{c.rng[3]} << 32};
  const std::uint64_t out = rng.step();
  c.rng = {static_cast<std::uint32_t>(rng.s0), static_cast<std::uint32_t>(rng.s0 >> 32),
           static_cast<std::uint32_t>(rng.s1), static_cast<std::uint32_t>(rng.s1 >> 32)};
  record.drew = true;
  record.rng = c.rng;
  return out;
}

/// First registers of a pair, or one register.
std::uint64_t registers(const TileContext& c, isa::Reg reg, unsigned number) {
  if (reg.file != isa::File::f) return 0;
  return reg.count == 1 ? c.f[number] : c.f[number] | std::uint64_t{c.f[number + 1]} << 32;
}

/// The kernel of an AMP step; nullptr for other instructions.
fp::fast::AmpKernel amp_kernel(Op op) {
  const fp::fast::AmpKernels& kernels = fp::fast::amp_kernels();
  switch (op) {
    case Op::x_amp_f16:
      return kernels.f16;
    case Op::x_amp_f32:
      return kernels.f32;
    case Op::x_amp_g:
      return kernels.g;
    case Op::x_amp_io:
      return kernels.io;
    default:
      return nullptr;
  }
}

}  // namespace

void TlmTile::execute_vector_unseen(TileContext& c, const Decoded& in, Step& step) {
  const auto op = static_cast<Op>(in.op);
  const isa::Info& info = isa::info(op);
  if (const fp::fast::AmpKernel kernel = amp_kernel(op)) {
    const std::uint64_t out = kernel(isa::amp_phase(in.word), *ready_weights(), c.sums, registers(c, info.rs1, in.rs1),
                                     registers(c, info.rs2, in.rs2), registers(c, info.rs3, in.rs3));
    c.f[in.rd] = static_cast<std::uint32_t>(out);
    if (info.rd.count == 2) c.f[in.rd + 1] = static_cast<std::uint32_t>(out >> 32);
    return;
  }
  const std::uint64_t drawn = fp::draws(op) ? draw(c, step.record) : 0;
  fp::fast::simd_kernels().run[in.op](c.f.data(), {in.rd, in.rs1, in.rs2, in.rs3}, drawn, op);
}

TlmTile::Outcome TlmTile::execute_vector(TileContext& c, const Decoded& in, Step& step) {
  if (!c.fs) return step.raise(trap::illegal_instruction, in.word);
  if (observer_ == nullptr && races_) {
    execute_vector_unseen(c, in, step);
    return Outcome::done;
  }
  const auto op = static_cast<Op>(in.op);
  const isa::Info& info = isa::info(op);
  const fp::Operand a = operand(c, info.rs1, in.rs1), b = operand(c, info.rs2, in.rs2),
                    d = operand(c, info.rs3, in.rs3);
  fp::Operand result;
  switch (op) {
    case Op::x_amp_f16:
    case Op::x_amp_f32:
    case Op::x_amp_g:
    case Op::x_amp_io: {
      const unsigned p = isa::amp_phase(in.word);
      result.lo = fp::amp_step(op, p, weights_, c.sums, a.lo, b.lo, d.lo);
      if (p == fp::last_phase(op)) {
        step.record.amp = 16;
        std::copy(c.sums.a.begin(), c.sums.a.end(), step.record.amp_words.begin());
        std::copy(c.sums.b.begin(), c.sums.b.end(), step.record.amp_words.begin() + 8);
      }
      break;
    }
    default:
      result = fp::simd(op, a, b, d, fp::draws(op) ? draw(c, step.record) : 0);
  }
  write_operand(c, in.rd, info.rd.count, result, step.record);
  return Outcome::done;
}

TlmTile::Outcome TlmTile::load_weights(Step& step) {
  constexpr std::uint32_t kBytes = sizeof weights_;
  const Address address = waiting_.operands[0];
  if (address % 16 != 0) return step.raise(trap::load_misaligned, address);
  if (address - kSramBase > sram_.size() - kBytes) return step.raise(trap::load_access, address);
  std::memcpy(weights_.data(), sram_.data() + (address - kSramBase), kBytes);
  step.record.amp = static_cast<std::uint8_t>(weights_.size());
  step.record.amp_words = weights_;
  write_x(contexts_[0], waiting_.op.rd, address + kBytes, step);
  return Outcome::done;
}

}  // namespace tessera
