// Weights of the pieces and how each is written.
#include "verif/random/context_writer.h"

#include "hw/generated/machine.h"
#include "tlm/tile/assembler.h"

namespace tessera::random {

using isa::Op;
using testing::i;
using testing::r;
using testing::s;

void ContextWriter::constant(unsigned rd, std::uint32_t value) { testing::load_constant(code_, rd, value); }

std::int32_t ContextWriter::offset(unsigned bytes) {
  // Within the context's 4 KiB around x8; now and then misaligned.
  const std::int32_t any = static_cast<std::int32_t>(pick(4096)) - 2048;
  return kind_ != Kind::portable && pick(60) == 0 ? any : any & -static_cast<std::int32_t>(bytes);
}

void ContextWriter::integer() {
  static constexpr Op kRegister[] = {Op::add, Op::sub, Op::sll,  Op::slt, Op::sltu, Op::xor_,   Op::srl,
                                     Op::sra, Op::or_, Op::and_, Op::mul, Op::mulh, Op::mulhsu, Op::mulhu};
  static constexpr Op kImmediate[] = {Op::addi, Op::slti, Op::sltiu, Op::xori, Op::ori, Op::andi};
  static constexpr Op kShift[] = {Op::slli, Op::srli, Op::srai};
  static constexpr Op kDivide[] = {Op::div, Op::divu, Op::rem, Op::remu};
  static constexpr Op kFence[] = {Op::fence, Op::fence_i};
  const unsigned rd = pick(12) == 0 ? 0 : reg(), kind = pick(40);
  if (kind < 15) return emit(r(kRegister[pick(14)], rd, reg(), reg()));
  if (kind < 27) return emit(i(kImmediate[pick(6)], rd, reg(), static_cast<std::int32_t>(pick(4096)) - 2048));
  if (kind < 31) return emit(i(kShift[pick(3)], rd, reg(), static_cast<std::int32_t>(pick(32))));
  if (kind < 34) return emit(r(kDivide[pick(4)], rd, reg(), pick(6) == 0 ? 0 : reg()));
  if (kind < 36) return emit(i(Op::lui, rd, 0, static_cast<std::int32_t>(random_() & 0xfffff000u)));
  // -2^31 and -1: the overflow of a division needs them.
  if (kind < 37) return emit(i(Op::lui, rd, 0, INT32_MIN));
  if (kind < 38) return emit(i(Op::addi, rd, 0, -1));
  if (kind < 39) return emit(i(Op::auipc, rd, 0, static_cast<std::int32_t>(random_() & 0xfffff000u)));
  emit(r(kFence[pick(2)], 0));
}

void ContextWriter::memory() {
  static constexpr Op kLoad[] = {Op::lb, Op::lbu, Op::lh, Op::lhu, Op::lw};
  static constexpr Op kStore[] = {Op::sb, Op::sh, Op::sw};
  static constexpr unsigned kLoadBytes[] = {1, 1, 2, 2, 4}, kStoreBytes[] = {1, 2, 4};
  const unsigned l = pick(5), st = pick(3);
  // Now and then outside the SRAM: through x0, or any register. Never a store that could hit.
  const unsigned base = kind_ != Kind::portable && pick(50) == 0 ? (wild_ ? reg() : 0) : 8;
  switch (pick(kind_ == Kind::supervisor ? 2 : 4)) {
    case 0:
      return emit(i(kLoad[l], reg(), base, offset(kLoadBytes[l])));
    case 1:
      return emit(s(kStore[st], base == 8 ? 8 : 0, reg(), offset(kStoreBytes[st])));
    case 2:
      return emit(i(Op::flw, freg(), base, offset(4)));
    default:
      return emit(s(Op::fsw, base == 8 ? 8 : 0, freg(), offset(4)));
  }
}

void ContextWriter::floating() {
  static constexpr Op kTwo[] = {Op::fadd_s, Op::fsub_s, Op::fmul_s, Op::fadd_s, Op::fmul_s, Op::fdiv_s};
  static constexpr Op kThree[] = {Op::fmadd_s, Op::fmsub_s, Op::fnmadd_s, Op::fnmsub_s};
  static constexpr Op kPlain[] = {Op::fsgnj_s, Op::fsgnjn_s, Op::fsgnjx_s, Op::fmin_s, Op::fmax_s};
  static constexpr Op kCompare[] = {Op::feq_s, Op::flt_s, Op::fle_s};
  const std::uint32_t rm = (pick(3) == 0 ? pick(5) : 7u) << 12;
  switch (pick(12)) {
    case 0:
    case 1:
    case 2:
      return emit(r(kTwo[pick(6)], freg(), freg(), freg()) | rm);
    case 3:
    case 4:
      return emit(r(kThree[pick(4)], freg(), freg(), freg(), freg()) | rm);
    case 5:
      return emit(r(kPlain[pick(5)], freg(), freg(), freg()));
    case 6:
      return emit(r(kCompare[pick(3)], reg(), freg(), freg()));
    case 7:
      return emit(r(pick(2) ? Op::fcvt_w_s : Op::fcvt_wu_s, reg(), freg()) | rm);
    case 8:
      return emit(r(pick(2) ? Op::fcvt_s_w : Op::fcvt_s_wu, freg(), reg()) | rm);
    case 9:
      return emit(r(Op::fclass_s, reg(), freg()));
    case 10:
      return emit(pick(2) ? r(Op::fmv_w_x, freg(), reg()) : r(Op::fmv_x_w, reg(), freg()));
    default:
      return emit(r(Op::fsqrt_s, freg(), freg()) | rm);
  }
}

void ContextWriter::csr() {
  static constexpr unsigned kFloat[] = {csr::fflags, csr::frm, csr::fcsr};
  static constexpr unsigned kAny[] = {
      csr::mcycle,  csr::mcycleh, csr::minstret, csr::minstreth, csr::cycle,  csr::cycleh, csr::time,
      csr::instret, csr::mstatus, csr::misa,     csr::mscratch,  csr::mcause, csr::mtval,  csr::mhartid,
      csr::xtile,   csr::xntiles, csr::xsramend, csr::mvendorid, csr::mimpid, csr::xwstat, csr::xexit,
      csr::xsyncz,  csr::xsynczh, csr::xworker,  csr::xrng0,     csr::xrng3,  csr::xs0,    csr::xst2,
      csr::xwstack, 0x304,        0x323,         0xB03,          0x7A1,       0x180,       0x3A0};
  static constexpr unsigned kWritten[] = {csr::mscratch, csr::mcycle,  csr::mcycleh, csr::minstret, csr::minstreth,
                                          csr::mcause,   csr::mtval,   csr::xrng1,   csr::xrng2,    csr::xs1,
                                          csr::xst0,     csr::xexit,   csr::misa,    csr::mhartid,  csr::cycle,
                                          0x340,         csr::xsource, csr::xbase3};
  static constexpr Op kRegister[] = {Op::csrrw, Op::csrrs, Op::csrrc};
  static constexpr Op kImmediate[] = {Op::csrrwi, Op::csrrsi, Op::csrrci};
  const unsigned rd = pick(6) == 0 ? 0 : reg(), kind = pick(10);
  if (kind_ == Kind::portable || (kind_ == Kind::worker && kind < 4)) {
    const unsigned which = pick(3);
    // Reserved rounding modes trap; portable programs keep to the others.
    if (which != 0 || pick(2) == 0) {
      const unsigned mode = kind_ == Kind::portable || pick(8) != 0 ? pick(5) : 5 + pick(3);
      return emit(i(Op::csrrwi, rd, mode, static_cast<std::int32_t>(csr::frm)));
    }
    return emit(i(kImmediate[pick(3)], rd, pick(32), static_cast<std::int32_t>(kFloat[0])));
  }
  if (kind < 7) {
    const unsigned number = kAny[pick(sizeof kAny / sizeof kAny[0])];
    return emit(i(pick(2) ? Op::csrrs : Op::csrrsi, rd, 0, static_cast<std::int32_t>(number)));
  }
  const auto number = static_cast<std::int32_t>(kWritten[pick(sizeof kWritten / sizeof kWritten[0])]);
  if (kind < 9) return emit(i(kRegister[pick(3)], rd, reg(), number));
  emit(i(kImmediate[pick(3)], rd, pick(32), number));
}

void ContextWriter::trap() {
  switch (pick(8)) {
    case 0:
      return emit(r(Op::ecall, 0));
    case 1:
      return emit(r(Op::ebreak, 0));
    case 2:
      return emit(r(Op::wfi, 0));
    case 3:
      return emit(i(Op::jal, reg(), 0, 6));  // target not aligned
    case 4:
      return emit(s(Op::beq, 0, 0, 10));
    case 5:  // fetch outside: the handler leaves the program then
      if (pick(6) != 0) return emit(r(Op::ebreak, 0));
      return emit(i(Op::jalr, 28, 0, 16));
    case 6:  // what this role must not do
      return emit(kind_ == Kind::supervisor ? r(Op::x_exit, 0, reg()) : r(Op::x_delay, 0, reg()));
    default:
      return emit(kind_ == Kind::supervisor ? r(Op::fadd_s, freg(), freg(), freg()) | 7u << 12
                                            : testing::sync(reg(), reg(), pick(5)));
  }
}

/// A word that may mean nothing: random, or a legal one with a bit turned. Only what cannot leave the context's data,
/// registers and code.
void ContextWriter::odd_word() {
  for (;;) {
    auto word = static_cast<std::uint32_t>(random_());
    if (!code_.empty() && pick(2) != 0) word = code_[pick(static_cast<unsigned>(code_.size()))] ^ 1u << pick(32);
    const Op op = isa::decode(word);
    const isa::Info& info = isa::info(op);
    if (op != Op::illegal) {
      if (!info.in_rtl) continue;
      if (info.imm == isa::Imm::s || info.imm == isa::Imm::b || info.imm == isa::Imm::j || info.imm == isa::Imm::csr)
        continue;
      if (op == Op::jalr || op == Op::mret || info.role == isa::Role::supervisor || op == Op::x_exit) continue;
      const unsigned rd = isa::rd(word);
      if (info.rd.file == isa::File::x && info.rd.write && rd != 0 && (rd < 10 || rd > 17)) continue;
      if (info.rs1.write) continue;
      const unsigned opcode = word & 0x7f;
      if (!wild_ && (opcode == 0x03 || opcode == 0x07) && isa::rs1(word) != 8) continue;
    }
    return emit(word);
  }
}

void ContextWriter::control(unsigned depth) {
  if (depth == 0) return integer();
  static constexpr Op kBranch[] = {Op::beq, Op::bne, Op::blt, Op::bge, Op::bltu, Op::bgeu};
  const std::size_t from = code_.size();
  switch (pick(3)) {
    case 0:  // a forward branch over a few items
      emit(0);
      for (unsigned k = pick(4); k-- > 0;) item(depth - 1);
      code_[from] = s(kBranch[pick(6)], reg(), reg(), static_cast<std::int32_t>(4 * (code_.size() - from)));
      return;
    case 1: {  // a counted loop
      const unsigned counter = 18 + depth;
      emit(i(Op::addi, counter, 0, static_cast<std::int32_t>(1 + pick(6))));
      for (unsigned k = 1 + pick(5); k-- > 0;) item(depth - 1);
      emit(i(Op::addi, counter, counter, -1));
      emit(s(Op::bne, counter, 0, -static_cast<std::int32_t>(4 * (code_.size() - from - 1))));
      return;
    }
    default: {  // a call and its body
      const unsigned link = 24 + depth;
      emit(0);
      const std::size_t entry = code_.size();
      for (unsigned k = 1 + pick(3); k-- > 0;) integer();
      emit(i(Op::jalr, 0, link, 0));
      code_[from] = i(Op::jal, 0, 0, static_cast<std::int32_t>(4 * (code_.size() - from)));
      emit(i(Op::jal, link, 0, -static_cast<std::int32_t>(4 * (code_.size() - entry))));
    }
  }
}

/// Stores an instruction over a word a little further on and goes there; fence.i between, which others need.
void ContextWriter::write_code() {
  const std::uint32_t word = pick(3) == 0 && kind_ != Kind::supervisor
                                 ? r(Op::fadd_s, freg(), freg(), freg()) | 7u << 12
                                 : i(Op::addi, reg(), reg(), static_cast<std::int32_t>(pick(2000)));
  const unsigned gap = pick(4);
  const Address place = here() + 4 * (6 + gap);
  constant(28, word);
  constant(29, place);
  emit(s(Op::sw, 29, 28, 0));
  emit(r(Op::fence_i, 0));
  for (unsigned k = 0; k < gap + 1; ++k) emit(testing::nop());
}

/// FS = 0 for a while: every F instruction traps and is skipped.
void ContextWriter::without_f() {
  constant(28, 0x6000);
  emit(i(Op::csrrc, 0, 28, csr::mstatus));
  for (unsigned k = 1 + pick(4); k-- > 0;) pick(2) ? floating() : integer();
  constant(28, 0x2000);
  emit(i(Op::csrrs, reg(), 28, csr::mstatus));
}

void ContextWriter::item(unsigned depth) {
  const unsigned kind = pick(200);
  if (kind < 60) return integer();
  if (kind < 100) return memory();
  if (kind < 152) return kind_ == Kind::supervisor ? integer() : floating();
  if (kind < 164) return csr();
  if (kind < 168) return write_code();
  if (kind_ != Kind::portable) {
    if (kind < 172) return trap();
    if (kind < 176) return odd_word();
    if (kind < 178 && kind_ == Kind::worker) return without_f();
  }
  control(depth);
}

void ContextWriter::body(unsigned items) {
  while (items-- > 0) item(2);
}

Address ContextWriter::handler() {
  if (here() % 8 != 0 && pick(2) != 0) emit(testing::nop());
  const Address at = here();
  emit(i(Op::csrrs, 30, 0, csr::mcause));
  emit(i(Op::csrrs, 31, 0, csr::mepc));
  emit(i(Op::addi, 9, 9, 1));
  emit(i(Op::addi, 30, 30, -1));
  emit(s(Op::beq, 30, 0, 24));  // cause 1: there is nothing to go on with
  emit(i(Op::sltiu, 30, 9, 24));
  emit(s(Op::beq, 30, 0, 16));
  emit(i(Op::addi, 31, 31, 4));
  emit(i(Op::csrrw, 0, 31, csr::mepc));
  emit(r(Op::mret, 0));
  return at;
}

}  // namespace tessera::random
