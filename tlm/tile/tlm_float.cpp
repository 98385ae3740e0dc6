// RV32F by the integer reference (tlm/float/soft.h): every rounding mode and flag. Threaded code uses the host's
// floating point for the common modes.
#include "hw/generated/isa.h"
#include "hw/generated/machine.h"
#include "tlm/float/soft.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera {

using isa::FpOp;

namespace {

bool rounds(FpOp op) {
  switch (op) {
    case FpOp::add:
    case FpOp::sub:
    case FpOp::mul:
    case FpOp::div:
    case FpOp::sqrt:
    case FpOp::madd:
    case FpOp::msub:
    case FpOp::nmadd:
    case FpOp::nmsub:
    case FpOp::cvt_w_s:
    case FpOp::cvt_wu_s:
    case FpOp::cvt_s_w:
    case FpOp::cvt_s_wu:
      return true;
    default:
      return false;
  }
}

fp::Result compute(FpOp op, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t x, fp::Round rm) {
  switch (op) {
    case FpOp::add:
      return fp::add(a, b, rm);
    case FpOp::sub:
      return fp::sub(a, b, rm);
    case FpOp::mul:
      return fp::mul(a, b, rm);
    case FpOp::div:
      return fp::div(a, b, rm);
    case FpOp::sqrt:
      return fp::sqrt(a, rm);
    case FpOp::madd:
      return fp::fma(a, b, c, rm);
    case FpOp::msub:
      return fp::fmsub(a, b, c, rm);
    case FpOp::nmsub:
      return fp::fnmsub(a, b, c, rm);
    case FpOp::nmadd:
      return fp::fnmadd(a, b, c, rm);
    case FpOp::sgnj:
      return {fp::sgnj(a, b), 0};
    case FpOp::sgnjn:
      return {fp::sgnjn(a, b), 0};
    case FpOp::sgnjx:
      return {fp::sgnjx(a, b), 0};
    case FpOp::min:
      return fp::min(a, b);
    case FpOp::max:
      return fp::max(a, b);
    case FpOp::eq:
      return fp::feq(a, b);
    case FpOp::lt:
      return fp::flt(a, b);
    case FpOp::le:
      return fp::fle(a, b);
    case FpOp::classify:
      return {fp::classify(a), 0};
    case FpOp::move:
      return {x, 0};
    case FpOp::cvt_w_s:
      return fp::to_i32(a, rm);
    case FpOp::cvt_wu_s:
      return fp::to_u32(a, rm);
    case FpOp::cvt_s_w:
      return fp::from_i32(x, rm);
    case FpOp::cvt_s_wu:
      return fp::from_u32(x, rm);
    default:
      return {};
  }
}

}  // namespace

TlmTile::Outcome TlmTile::execute_float(TileContext& c, const Decoded& in, Step& step) {
  const isa::Info& info = isa::info(static_cast<isa::Op>(in.op));
  if (!c.fs) return step.raise(trap::illegal_instruction, in.word);
  unsigned rm = 0;
  if (rounds(info.fp)) {
    rm = in.rm() == 7 ? c.frm : in.rm();
    if (rm > 4) return step.raise(trap::illegal_instruction, in.word);
  }
  // A move carries bits from whichever file its operand is in.
  const std::uint32_t source = info.rs1.file == isa::File::x ? c.x[in.rs1] : c.f[in.rs1];
  const fp::Result result = compute(info.fp, c.f[in.rs1], c.f[in.rs2], c.f[in.rs3], source, static_cast<fp::Round>(rm));
  c.fflags |= result.flags;
  step.record.fflags = result.flags;
  if (info.rd.file == isa::File::f) {
    c.f[in.rd] = result.bits;
    step.record.fwrite[0] = {1, in.rd, result.bits};
  } else {
    write_x(c, in.rd, result.bits, step);
  }
  return Outcome::done;
}

}  // namespace tessera
