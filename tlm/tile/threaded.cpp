// Threaded operations from decoded instructions, and what a page needs besides them: marks at the ends of x.rpt bodies,
// groups of four matrix steps that run as one operation, and pairs of neighbours that do.
//
// A mark replaces the handler of the word behind a body by `loop_end`; the handler proper stands in `behind`. So the
// end of a loop costs nothing elsewhere. A mark is a possibility: whether a loop is active there is known when it is
// reached. While a loop is active control only comes to its end in a straight line, so no other word needs to look.
#include "tlm/tile/threaded.h"

#include "hw/generated/isa.h"
#include "hw/generated/machine.h"
#include "tlm/float/simd.h"
#include "tlm/float/simd_fast.h"
#include "tlm/tile/alu.h"
#include "tlm/tile/tlm_handlers.h"

namespace tessera {

using isa::Op;

namespace {

constexpr bool is_branch(Op op) {
  switch (op) {
#define X(name, condition) case Op::name:
    TESSERA_BRANCHES(X)
#undef X
    return true;
    default:
      return false;
  }
}

/// Loads and stores: their immediate is biased by the SRAM base, so a handler checks an offset.
constexpr bool is_access(Op op) {
  switch (op) {
    case Op::lb:
    case Op::lbu:
    case Op::lh:
    case Op::lhu:
    case Op::lw:
    case Op::flw:
    case Op::sb:
    case Op::sh:
    case Op::sw:
    case Op::fsw:
      return true;
    default:
      return false;
  }
}

/// Custom-2 and custom-3 without the matrix product.
constexpr bool is_simd(Op op) { return op >= Op::x_add_f16v2 && op <= Op::x_sel_f32v2; }

constexpr bool is_amp(Op op) { return op >= Op::x_amp_f16 && op <= Op::x_amp_io; }

constexpr bool is_repeat(Op op) { return op == Op::x_rpt || op == Op::x_rpti; }

/// What the handlers of Xtile find in `imm`: steps of streams, stream, phase, instruction, or bytes of a loop body.
std::int32_t xtile_immediate(const Decoded& in, Op op) {
  if (op == Op::x_ld2 || op == Op::x_ldst || op == Op::x_ld2st) return in.word >> 25 & 63;
  if (op == Op::x_sset) return in.word >> 25 & 3;
  if (is_amp(op)) return static_cast<std::int32_t>(isa::amp_phase(in.word));
  if (is_simd(op)) return in.op;
  return in.imm;
}

const void* float_handler(const HandlerAccess::Handlers& h, const Decoded& in, Op op) {
  if (op == Op::fcvt_w_s || op == Op::fcvt_wu_s) {
    if (in.rm() == 1) return h.other[in.op];
    return in.rm() == 0 || in.rm() == 7 ? h.plain[in.op] : h.generic_float;
  }
  switch (op) {
    case Op::fadd_s:
    case Op::fsub_s:
    case Op::fmul_s:
    case Op::fdiv_s:
    case Op::fsqrt_s:
    case Op::fmadd_s:
    case Op::fmsub_s:
    case Op::fnmadd_s:
    case Op::fnmsub_s:
    case Op::fcvt_s_w:
    case Op::fcvt_s_wu:
      return in.rm() == 0 || in.rm() == 7 ? h.plain[in.op] : h.generic_float;
    default:
      return h.plain[in.op];
  }
}

/// A repeat whose body lies within the page; what lies beyond, or may not repeat, goes the careful way.
FastOp repeat_op(const Decoded& in, unsigned index, FastOp out) {
  const auto& h = HandlerAccess::get();
  out.imm = static_cast<std::int32_t>(in.word >> 20) * 2 * static_cast<std::int32_t>(sizeof(FastOp));
  out.handler = h.far[in.op];
  if (index % 2 == 0 && !in.pair()) out.handler = h.slow;  // illegal there
  return out;
}

}  // namespace

FastOp threaded_op(const Decoded& in, unsigned index, Address pc) {
  const auto& h = HandlerAccess::get();
  const Op op = static_cast<Op>(in.op);
  const isa::Info& info = isa::info(op);
  FastOp out;
  out.imm = in.imm;
  out.rd = info.rd.file == isa::File::x && in.rd == 0 ? 32 : in.rd;
  out.rs1 = in.rs1;
  out.rs2 = in.rs2;
  out.rs3 = in.rs3;
  out.handler = in.pair() ? h.paired[in.op] : h.plain[in.op];
  if (out.handler == nullptr) out.handler = h.slow;
  if (op >= Op::x_amp_ldw) out.imm = xtile_immediate(in, op);
  // Post-increment: rs3 is where rs1 is written.
  if (op >= Op::x_ld64 && op <= Op::x_st64_r) out.rs3 = in.rs1 == 0 ? 32 : in.rs1;
  if (is_repeat(op)) return repeat_op(in, index, out);
  if (is_access(op)) out.imm = static_cast<std::int32_t>(static_cast<std::uint32_t>(in.imm) - kSramBase);
  if (op == Op::auipc) out.imm = static_cast<std::int32_t>(pc + static_cast<std::uint32_t>(in.imm));
  if (info.fp != isa::FpOp::none) out.handler = float_handler(h, in, op);
  if (is_branch(op) || op == Op::jal) {
    const std::int32_t target = static_cast<std::int32_t>(index) + in.imm / 4;
    if (in.imm % 4 != 0) {
      out.handler = h.slow;
    } else if (target >= 0 && target < static_cast<std::int32_t>(kPageWords)) {
      out.imm = in.imm / 4 * static_cast<std::int32_t>(sizeof(FastOp));
    } else {
      out.handler = h.far[in.op];
    }
  }
  return out;
}

FastOp undecoded_op() {
  FastOp out;
  out.handler = HandlerAccess::get().undecoded;
  return out;
}

FastOp page_end_op() {
  FastOp out;
  out.handler = HandlerAccess::get().page_end;
  return out;
}

bool transfers_control(const Decoded& in) {
  const Op op = static_cast<Op>(in.op);
  switch (op) {
    case Op::jal:
    case Op::jalr:
    case Op::x_rpt:
    case Op::x_rpti:
    case Op::x_exit:
    case Op::mret:
    case Op::ecall:
    case Op::ebreak:
      return true;
    default:
      return is_branch(op);
  }
}

bool leaves_straight_line(const Decoded& in) {
  const auto& h = HandlerAccess::get();
  return h.plain[in.op] == nullptr || static_cast<Op>(in.op) == Op::jal || static_cast<Op>(in.op) == Op::jalr;
}

void CodePage::put(unsigned index, const FastOp& op) {
  fast[index] = op;
  if (behind[index] == nullptr) return;
  behind[index] = op.handler;
  fast[index].handler = HandlerAccess::get().loop_end;
}

bool CodePage::repeats_in_place(unsigned index) const {
  const unsigned from = (index & ~1u) + 2, to = from + 2 * (decoded[index].word >> 20);
  if (to > kPageWords) return false;
  for (unsigned i = from; i < to; ++i)
    if (!known(i) || transfers_control(decoded[i])) return false;
  return true;
}

bool CodePage::starts_amp_group(unsigned index) const {
  if (index % 2 != 0 || index + 8 > kPageWords || !fp::fast::host_vectors()) return false;
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned at = index + 2 * k;
    if (!known(at) || (k != 0 && behind[at] != nullptr)) return false;
    const Decoded &first = decoded[at], &second = decoded[at + 1];
    if (!first.pair() || static_cast<Op>(first.op) != Op::x_ld2st || static_cast<Op>(second.op) != Op::x_amp_f16)
      return false;
    if (isa::amp_phase(second.word) != k) return false;
  }
  return true;
}

void CodePage::refresh(unsigned index) {
  const auto& h = HandlerAccess::get();
  FastOp op = threaded_op(decoded[index], index, address + 4 * index);
  const auto code = static_cast<Op>(decoded[index].op);
  if (is_repeat(code) && op.handler != h.slow && repeats_in_place(index)) {
    op.handler = decoded[index].pair() ? h.paired[decoded[index].op] : h.plain[decoded[index].op];
    mark((index & ~1u) + 2 + 2 * (decoded[index].word >> 20));
  }
  if (code == Op::x_ld2st && starts_amp_group(index)) op.handler = h.amp_group;
  if (const void* both = fused(index, op.handler)) op.handler = both;
  put(index, op);
}

const void* CodePage::fused(unsigned index, const void* proper) const {
  if (index + 1 >= kPageWords || !known(index + 1) || behind[index + 1] != nullptr) return nullptr;
  const auto& h = HandlerAccess::get();
  const Decoded &first = decoded[index], &second = decoded[index + 1];
  if (first.op >= h.kFusable || second.op >= h.kFusable || second.pair()) return nullptr;
  const void* both = (first.pair() ? h.fused_pair : h.fused)[first.op][second.op];
  // Only the usual forms: no jumps out of the page, no other rounding.
  if (both == nullptr || proper != (first.pair() ? h.paired : h.plain)[first.op]) return nullptr;
  return threaded_op(second, index + 1, address + 4 * (index + 1)).handler == h.plain[second.op] ? both : nullptr;
}

void CodePage::refresh_before(unsigned index, unsigned words) {
  for (unsigned i = index > words ? index - words : 0; i < index; ++i) {
    const auto op = static_cast<Op>(decoded[i].op);
    if (known(i) && (is_repeat(op) || op == Op::x_ld2st || i + 1 == index)) refresh(i);
  }
}

void CodePage::mark(unsigned index) {
  if (behind[index] != nullptr) return;
  behind[index] = fast[index].handler;
  fast[index].handler = HandlerAccess::get().loop_end;
  refresh_before(index, 6);  // a group must not run over the mark
}

void CodePage::decode_all(const std::uint8_t* page_bytes) {
  for (unsigned i = 0; i < kPageWords; i += 2) {
    decode_pair(page_bytes + 4 * i, role, &decoded[i]);
    decoded_pair[i / 2] = true;
  }
  fast[kPageWords] = page_end_op();
  for (unsigned i = 0; i < kPageWords; ++i) put(i, threaded_op(decoded[i], i, address + 4 * i));
  for (unsigned i = 0; i < kPageWords; ++i)
    if (const void* both = fused(i, fast[i].handler)) fast[i].handler = both;
  refresh_before(kPageWords, kPageWords);
}

void CodePage::decode(const std::uint8_t* page_bytes, unsigned index) {
  index &= ~1u;
  decode_pair(page_bytes + 4 * index, role, &decoded[index]);
  decoded_pair[index / 2] = true;
  refresh(index);
  refresh(index + 1);
  refresh_before(index, 2 * kLongestBody + 2);
}

void CodePage::forget(unsigned index) {
  index &= ~1u;
  decoded_pair[index / 2] = false;
  put(index, undecoded_op());
  put(index + 1, undecoded_op());
  refresh_before(index, 6);
}

}  // namespace tessera
