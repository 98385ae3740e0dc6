// The tile's hand-written decoders against the generated table (hw/generated/isa.h), word by word: legality in both
// roles, class, slots, operation, operands and immediate. Pairing and execution are the business of lockstep.
#include <Vdecode_probe.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <random>
#include <string>

#include "hw/generated/isa.h"

namespace tessera::isa {
namespace {

/// Bits of decode_probe's unit_o.
enum Unit : std::uint32_t {
  kFmem = 1u << 0,
  kLoad = 1u << 1,
  kStore = 1u << 2,
  kBranch = 1u << 3,
  kJal = 1u << 4,
  kJalr = 1u << 5,
  kMul = 1u << 6,
  kDiv = 1u << 7,
  kCsr = 1u << 8,
  kEcall = 1u << 9,
  kEbreak = 1u << 10,
  kMret = 1u << 11,
  kRun = 1u << 12,
  kSync = 1u << 13,
  kExchange = 1u << 14,
  kPacket = 1u << 15,
  kDelay = 1u << 16,
  kExit = 1u << 17,
  kWide = 1u << 18,
  kQuad = 1u << 19,
  kPost = 1u << 20,
  kStream = 1u << 21,
  kUses0 = 1u << 22,
  kUses1 = 1u << 23,
  kUses2 = 1u << 24,
  kSset = 1u << 25,
  kRpt = 1u << 26,
  kLdw = 1u << 27,
  kDataRd = 1u << 28,
};

/// Which parts of the tile an instruction asks for; 0: the ALU, or nothing (fence, wfi).
std::uint32_t unit(Op op) {
  if (op >= Op::beq && op <= Op::bgeu) return kBranch;
  if (op >= Op::lb && op <= Op::lhu) return kLoad;
  if (op >= Op::sb && op <= Op::sw) return kStore;
  if (op >= Op::mul && op <= Op::mulhu) return kMul;
  if (op >= Op::div && op <= Op::remu) return kDiv;
  if (op >= Op::csrrw && op <= Op::csrrci) return kCsr;
  switch (op) {
    case Op::flw:
      return kLoad | kFmem;
    case Op::fsw:
      return kStore | kFmem;
    case Op::jal:
      return kJal;
    case Op::jalr:
      return kJalr;
    case Op::ecall:
      return kEcall;
    case Op::ebreak:
      return kEbreak;
    case Op::mret:
      return kMret;
    case Op::x_run:
      return kRun;
    case Op::x_sync:
      return kSync;
    case Op::x_exchange:
      return kExchange;
    case Op::x_packet:
      return kPacket;
    case Op::x_delay:
      return kDelay;
    case Op::x_exit:
      return kExit;
    case Op::x_ld64:
    case Op::x_ld64_r:
      return kLoad | kFmem | kWide | kPost;
    case Op::x_ld128:
    case Op::x_ld128_r:
      return kLoad | kFmem | kWide | kPost | kQuad;
    case Op::x_st64:
      return kStore | kFmem | kWide | kPost;
    case Op::x_st64_r:
      return kStore | kFmem | kWide | kPost | kDataRd;
    case Op::x_ld2:
      return kLoad | kFmem | kWide | kStream | kUses0 | kUses1;
    case Op::x_ldst:
      return kLoad | kStore | kFmem | kWide | kStream | kUses0 | kUses2;
    case Op::x_ld2st:
      return kLoad | kStore | kFmem | kWide | kStream | kUses0 | kUses1 | kUses2;
    case Op::x_sset:
      return kSset;
    case Op::x_rpt:
    case Op::x_rpti:
      return kRpt;
    case Op::x_amp_ldw:
      return kLdw;
    default:
      return 0;
  }
}

/// {funct7[5], funct3} of the register form of what the ALU computes (tile_pkg::alu_op_e).
unsigned alu(Op op) {
  switch (op) {
    case Op::sub:
      return 8;
    case Op::sll:
    case Op::slli:
      return 1;
    case Op::slt:
    case Op::slti:
      return 2;
    case Op::sltu:
    case Op::sltiu:
      return 3;
    case Op::xor_:
    case Op::xori:
      return 4;
    case Op::srl:
    case Op::srli:
      return 5;
    case Op::sra:
    case Op::srai:
      return 13;
    case Op::or_:
    case Op::ori:
      return 6;
    case Op::and_:
    case Op::andi:
      return 7;
    case Op::x_clz:
      return 9;
    case Op::x_ctz:
      return 10;
    case Op::x_cpop:
      return 11;
    case Op::x_brev:
      return 12;
    case Op::x_shuf8:
      return 14;
    default:
      return 0;
  }
}

bool computes(Op op) {
  return op == Op::lui || op == Op::auipc || (op >= Op::addi && op <= Op::and_) ||
         (op >= Op::x_clz && op <= Op::x_shuf8);
}

/// The unit of arithmetic on f registers: 0 FPU, 1 SIMD, 2 transcendental, 3 AMP (tile_pkg::f_unit_e).
unsigned f_unit(Op op) {
  if (op >= Op::x_exp_f16v2 && op <= Op::x_rsqrt_f32) return 2;
  if (op >= Op::x_amp_f16 && op <= Op::x_amp_io) return 3;
  return op >= Op::x_add_f16v2 ? 1 : 0;
}

bool draws(Op op) {
  return op == Op::x_urand32 || op == Op::x_urand64 || op == Op::x_cvt_sr_f16_f32 || op == Op::x_cvt_sr_f16v2_f32v2 ||
         op == Op::x_cvt_sr_f16v4_f32v4;
}

class Comparison {
 public:
  Comparison() : rtl_(std::make_unique<Vdecode_probe>(&context_)) {}
  ~Comparison() { rtl_->final(); }

  void word(std::uint32_t w) {
    rtl_->word_i = w;
    rtl_->eval();
    const Op in_models = decode(w), op = info(in_models).in_rtl ? in_models : Op::illegal;
    ++words_;
    ++seen_[static_cast<unsigned>(op)];
    const std::string difference = compare(w, op);
    if (difference.empty()) return;
    if (++wrong_ <= 10) {
      ADD_FAILURE() << std::hex << "word " << w << std::dec << ", " << info(op).name << " in the table: " << difference;
    }
  }

  /// Every word agreed, and every implemented instruction was among them at least `times` times.
  void finish(const char* what, std::uint64_t times) const {
    std::uint64_t legal = 0;
    for (unsigned n = 1; n < kOpCount; ++n) {
      legal += seen_[n];
      if (kTable[n].in_rtl) {
        EXPECT_GE(seen_[n], times) << kTable[n].name;
      }
    }
    std::printf("decoders, %s: %llu words, %llu of them legal, %llu different\n", what,
                static_cast<unsigned long long>(words_), static_cast<unsigned long long>(legal),
                static_cast<unsigned long long>(wrong_));
    EXPECT_EQ(wrong_, 0u);
  }

 private:
  /// What differs, empty if nothing does.
  std::string compare(std::uint32_t w, Op op) const {
    const Info& i = info(op);
    // The decoder of arithmetic has all of F but loads and stores, and custom-2 and custom-3.
    const bool known = op != Op::illegal, is_fp = i.fp != FpOp::none || (known && i.klass == Class::aux);
    if (rtl_->legal_supervisor_o != (known && i.role != Role::worker)) return "legality in the supervisor";
    if ((rtl_->legal_worker_o || rtl_->fp_legal_o) != (known && i.role != Role::supervisor))
      return "legality in a worker";
    if (rtl_->legal_worker_o && rtl_->fp_legal_o) return "both decoders claim it";
    if (rtl_->role_bound_o) return "more than legality depends on the role";
    if (!known) return "";
    if (rtl_->fp_legal_o != is_fp) return "which decoder claims it";
    return is_fp ? compare_fp(op, i) : compare_int(w, op, i);
  }

  std::string compare_int(std::uint32_t w, Op op, const Info& i) const {
    if (rtl_->unit_o != unit(op)) return "unit";
    if ((rtl_->main_o ? Class::main_ : Class::solo) != i.klass) return "class";
    if ((rtl_->unit_o & kDiv ? 6 : rtl_->unit_o & kLdw ? 3 : 1) != i.slots) return "slots";
    // x.sync writes rd when it is released.
    if (rtl_->rd_x_o != (i.rd.file == File::x && i.rd.write && op != Op::x_sync)) return "write of x[rd]";
    if (rtl_->count_rd_o != (i.rd.file == File::f && i.rd.write ? i.rd.count : 0)) return "f registers of rd";
    const bool uses_f = i.rd.file == File::f || i.rs2.file == File::f;
    if (((rtl_->unit_o & kFmem) != 0) != uses_f) return "use of f registers";
    if (((rtl_->unit_o & kPost) != 0) != (i.rs1.file == File::x && i.rs1.write)) return "write of x[rs1]";
    const bool second = i.rs1.file == File::f && i.rs1.write;
    if (((rtl_->unit_o & kUses1) != 0) != second) return "f registers of rs1";
    const bool has_imm = i.imm != Imm::none && i.imm != Imm::csr;
    const std::uint32_t mask = i.imm == Imm::shamt ? 31u : ~0u;
    if (has_imm && (rtl_->imm_o & mask) != immediate(i.imm, w)) return "immediate";
    if (computes(op) || (rtl_->unit_o & (kLoad | kStore))) {
      if (rtl_->alu_o != alu(op)) return "operation of the ALU";
      if (rtl_->a_pc_o != (op == Op::auipc)) return "pc as operand";
      if (rtl_->a_zero_o != (op == Op::lui)) return "0 as operand";
      if (rtl_->b_imm_o != has_imm) return "immediate as operand";
    }
    return "";
  }

  std::string compare_fp(Op op, const Info& i) const {
    if ((rtl_->fp_aux_o ? Class::aux : Class::solo) != i.klass) return "class";
    if (rtl_->fp_slots_o != i.slots) return "slots";
    if (rtl_->fp_unit_o != f_unit(op)) return "unit";
    if (rtl_->fp_draws_o != draws(op)) return "PRNG step";
    const auto count = [](const Reg& r, bool used) { return r.file == File::f && used ? unsigned{r.count} : 0u; };
    // A read that is not one would cost pairs with loads.
    if (rtl_->fp_counts_o != (count(i.rs1, i.rs1.read) | count(i.rs2, i.rs2.read) << 3 | count(i.rs3, i.rs3.read) << 6 |
                              count(i.rd, i.rd.write) << 9))
      return "f registers";
    if (i.rd.read) return "rd is read, which the decoder does not know";
    if (i.fp == FpOp::none) return rtl_->fp_xop_o == static_cast<unsigned>(op) ? "" : "operation";
    if (rtl_->fp_lane_o != (i.slots == 5)) return "lane";
    if (rtl_->fp_lane_o) {
      if ((rtl_->fp_sqrt_o ? FpOp::sqrt : FpOp::div) != i.fp) return "operation of the divider";
    } else if (static_cast<FpOp>(rtl_->fp_op_o) != i.fp) {
      return "operation of the FPU";
    }
    if (rtl_->fp_rounds_o != ((i.mask & 0x7000u) == 0)) return "rounding mode";
    if (rtl_->fp_x_rd_o != (i.rd.file == File::x)) return "file of rd";
    if (rtl_->fp_x_rs1_o != (i.rs1.file == File::x)) return "file of rs1";
    return "";
  }

  VerilatedContext context_;
  std::unique_ptr<Vdecode_probe> rtl_;
  std::array<std::uint64_t, kOpCount> seen_{};
  std::uint64_t words_ = 0, wrong_ = 0;
};

TEST(DecodeRtl, EveryOpcodeFunct3AndFunct7) {
  constexpr std::array<std::uint32_t, 9> kRs2 = {0, 1, 2, 3, 4, 5, 8, 16, 31};
  // rd and rs1: both 0 as system instructions want them, one of them not, the last worker of x.run and beyond; quads.
  constexpr std::array<std::array<std::uint32_t, 2>, 6> kRdRs1 = {{{0, 0}, {0, 1}, {1, 0}, {7, 9}, {8, 31}, {8, 4}}};
  Comparison comparison;
  for (std::uint32_t opcode = 0; opcode < 128; ++opcode) {
    for (std::uint32_t funct3 = 0; funct3 < 8; ++funct3) {
      for (std::uint32_t funct7 = 0; funct7 < 128; ++funct7) {
        for (const std::uint32_t rs2 : kRs2) {
          for (const auto& [rd, rs1] : kRdRs1) {
            comparison.word(funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode);
          }
        }
      }
    }
  }
  comparison.finish("fields", 1);
}

TEST(DecodeRtl, RandomWords) {
  std::mt19937 random(20260);
  Comparison comparison;
  for (int n = 0; n < 500'000; ++n) comparison.word(static_cast<std::uint32_t>(random()));
  // Words near the encodings of the table, reserved ones too: fixed bits right, or one of all bits changed.
  for (int n = 0; n < 5'000; ++n) {
    for (unsigned op = 1; op < kOpCount; ++op) {
      const std::uint32_t w = kTable[op].match | (static_cast<std::uint32_t>(random()) & ~kTable[op].mask);
      comparison.word(w);
      comparison.word(w ^ 1u << (random() % 32));
    }
  }
  comparison.finish("random", 100);
}

}  // namespace
}  // namespace tessera::isa
