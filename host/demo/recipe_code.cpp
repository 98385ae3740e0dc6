// Recipes as machine code of a worker. a and b live in a5 and a6, the constants' address in a3, the result's in a4.
#include <initializer_list>

#include "host/compiler/assembler.h"
#include "host/demo/recipe.h"
#include "hw/encode.h"

namespace tessera::demo {

namespace {

using compiler::Assembler;
using compiler::Reg;
using isa::encode;
using isa::Op;
using Kind = Stage::Kind;

constexpr int kZero = 0, kRa = 1, kSp = 2, kT0 = 5, kT1 = 6, kT2 = 7, kA0 = 10, kA2 = 12, kC = 13, kOut = 14, kA = 15,
              kB = 16, kT3 = 28, kT4 = 29;
constexpr int kNearest = 0;  // rounding mode

class Writer {
 public:
  std::vector<std::uint32_t> run(const std::vector<Stage>& stages) {
    op(Op::lw, {kA2, 0, kA0});
    op(Op::lw, {kC, 4, kA0});
    op(Op::lw, {kOut, 8, kA0});
    op(Op::lw, {kA, 0, kA2});
    op(Op::lw, {kB, 4, kA2});
    key(kT0, 0);
    op(Op::xor_, {kA, kA, kT0});
    key(kT0, 1);
    op(Op::add, {kB, kB, kT0});
    for (const Stage& s : stages) stage(s);
    absorb();
    op(Op::sw, {kA, 0, kOut});
    op(Op::sw, {kB, 4, kOut});
    op(Op::jalr, {kZero, 0, kRa});
    return as_.finish();
  }

 private:
  void op(Op o, std::initializer_list<std::int64_t> operands) { as_.word(encode(o, operands)); }
  static Reg reg(int r) { return static_cast<Reg>(r); }
  static int at(unsigned word) { return static_cast<int>(4 * word); }
  void key(int rd, unsigned i) { op(Op::lw, {rd, at(WorkerConstants::kKeys + i), kC}); }
  void number(int fd, unsigned i) { op(Op::flw, {fd, at(WorkerConstants::kFloats + i % 8), kC}); }

  void integers(const Stage& s) {
    switch (s.kind) {
      case Kind::shifts:
        op(Op::slli, {kT0, kA, s.p});
        op(Op::xor_, {kA, kA, kT0});
        op(Op::srli, {kT0, kA, s.q});
        op(Op::xor_, {kA, kA, kT0});
        op(Op::slli, {kT0, kA, s.r});
        op(Op::xor_, {kA, kA, kT0});
        break;
      case Kind::product:
        key(kT0, s.p);
        key(kT1, s.q);
        op(Op::mul, {kA, kA, kT0});
        op(Op::add, {kA, kA, kB});
        op(Op::mulhu, {kT1, kA, kT1});
        op(Op::xor_, {kB, kB, kT1});
        break;
      case Kind::rotate:
        op(Op::slli, {kT0, kA, s.p});
        op(Op::srli, {kT1, kA, 32 - s.p});
        op(Op::or_, {kA, kT0, kT1});
        key(kT0, s.q);
        op(Op::xor_, {kA, kA, kT0});
        if (s.r == 0) break;
        op(Op::addi, {kT0, kA, 0});
        op(Op::addi, {kA, kB, 0});
        op(Op::addi, {kB, kT0, 0});
        break;
      case Kind::divide:
        key(kT0, s.p);
        op(Op::ori, {kT0, kT0, 1});
        op(Op::remu, {kT1, kA, kT0});
        op(Op::divu, {kT2, kA, kT0});
        op(Op::add, {kA, kT1, kB});
        op(Op::xor_, {kB, kB, kT2});
        break;
      case Kind::bits:
        op(Op::x_clz, {kT0, kA});
        op(Op::slli, {kT0, kT0, s.p});
        op(Op::xor_, {kB, kB, kT0});
        op(Op::x_brev, {kT0, kA});
        op(Op::x_cpop, {kT1, kB});
        op(Op::add, {kA, kT0, kT1});
        break;
      case Kind::bytes:
        as_.li(reg(kT0), (s.p & 3) | (s.p >> 2 & 3) << 8 | (s.p >> 4 & 3) << 16 | (s.p >> 6 & 3) << 24);
        op(Op::x_shuf8, {kA, kA, kT0});
        op(Op::add, {kA, kA, kB});
        break;
      default:
        memory();
    }
  }

  /// a = low half of b, low half of a above it; b = high half of b, high half of a above it.
  void memory() {
    op(Op::sw, {kA, -8, kSp});
    op(Op::sw, {kB, -4, kSp});
    op(Op::lhu, {kT0, -8, kSp});  // low a
    op(Op::lhu, {kT1, -2, kSp});  // high b
    op(Op::sh, {kT0, -2, kSp});   // words: a, then low b with low a above
    op(Op::lw, {kT2, -4, kSp});
    op(Op::sh, {kT1, -8, kSp});  // first word: high b with high a above
    op(Op::lw, {kB, -8, kSp});
    op(Op::addi, {kA, kT2, 0});
  }

  void loop(const Stage& s) {
    op(Op::addi, {kT0, kC, at(WorkerConstants::kData)});
    op(Op::addi, {kT1, kT0, at(s.q + 1)});
    const Assembler::Label head = as_.label();
    as_.bind(head);
    op(Op::lw, {kT2, 0, kT0});
    op(Op::srli, {kT3, s.kind == Kind::sum ? kA : kT2, s.p});
    if (s.kind == Kind::sum) {
      op(Op::xor_, {kT2, kT2, kT3});
      op(Op::add, {kA, kA, kT2});
    } else {
      const Assembler::Label clear = as_.label(), next = as_.label();
      op(Op::andi, {kT3, kT3, 1});
      as_.beq(reg(kT3), reg(kZero), clear);
      op(Op::sub, {kA, kA, kT2});
      as_.jal(reg(kZero), next);
      as_.bind(clear);
      op(Op::xor_, {kB, kB, kT2});
      op(Op::add, {kA, kA, kB});
      as_.bind(next);
    }
    op(Op::addi, {kT0, kT0, 4});
    as_.bne(reg(kT0), reg(kT1), head);
  }

  void text(const Stage& s) {
    op(Op::addi, {kT0, kC, at(WorkerConstants::kData) + static_cast<int>(s.p)});
    as_.li(reg(kT1), s.q + 1);
    const Assembler::Label head = as_.label();
    as_.bind(head);
    op(Op::lbu, {kT2, 0, kT0});
    op(Op::slli, {kT3, kA, 5});
    op(Op::sub, {kA, kT3, kA});
    op(Op::add, {kA, kA, kT2});
    op(Op::addi, {kT0, kT0, 1});
    op(Op::addi, {kT1, kT1, -1});
    as_.bne(reg(kT1), reg(kZero), head);
  }

  void floats(const Stage& s) {
    op(Op::slli, {kT0, kA, 20});
    op(Op::srli, {kT0, kT0, 20});
    op(Op::fcvt_s_wu, {0, kT0, kNearest});
    for (unsigned k = 0; k <= s.q; ++k) {
      number(1, s.p + k);
      op(Op::fmul_s, {0, 0, 1, kNearest});
      number(2, s.p + k + 3);
      op(Op::fadd_s, {0, 0, 2, kNearest});
    }
    op(Op::fmv_x_w, {kT0, 0});
    op(Op::xor_, {kA, kA, kT0});
  }

  void order(const Stage& s) {
    number(1, s.p);
    number(2, s.q);
    op(Op::fmin_s, {3, 1, 2});
    op(Op::fmax_s, {4, 1, 2});
    op(Op::flt_s, {kT0, 1, 2});
    op(Op::slli, {kT0, kT0, s.r});
    op(Op::fmv_x_w, {kT1, 3});
    op(Op::xor_, {kA, kA, kT1});
    op(Op::add, {kA, kA, kT0});
    op(Op::fmv_x_w, {kT1, 4});
    op(Op::add, {kB, kB, kT1});
  }

  void halves(const Stage& s) {
    constexpr Op kOps[] = {Op::x_add_f16v4, Op::x_sub_f16v4, Op::x_max_f16v4, Op::x_min_f16v4};
    op(Op::addi, {kT0, kC, at(WorkerConstants::kHalves)});
    for (int k = 0; k < 4; ++k) op(Op::x_ld64, {2 * k, 8, kT0});
    op(Op::x_mul_f16v4, {0, 0, 2});
    op(kOps[s.p], {0, 0, 4});
    op(kOps[s.q], {0, 0, 6});
    op(Op::fmv_x_w, {kT1, 0});
    op(Op::xor_, {kA, kA, kT1});
    op(Op::fmv_x_w, {kT1, 1});
    op(Op::add, {kB, kB, kT1});
  }

  /// Two rounds: a pair from each half of the floats.
  void stream(const Stage& s) {
    op(Op::addi, {kT0, kC, at(WorkerConstants::kFloats)});
    op(Op::addi, {kT1, kT0, 16});
    op(Op::x_sset, {0, kT0, kZero});
    op(Op::x_sset, {1, kT1, kZero});
    op(Op::fmv_w_x, {4, kZero});
    op(Op::fmv_w_x, {5, kZero});
    while (as_.pc() % 8 != 4) op(Op::addi, {kZero, kZero, 0});
    op(Op::x_rpti, {2, 3});  // the last word of a doubleword: the body begins aligned
    op(Op::x_ld2, {0, 2, 0, 0});
    op(Op::addi, {kZero, kZero, 0});
    op(Op::addi, {kZero, kZero, 0});
    op(Op::x_add_f32v2, {4, 4, 0});
    op(Op::addi, {kZero, kZero, 0});
    op(s.p == 0 ? Op::x_add_f32v2 : Op::x_max_f32v2, {4, 4, 2});
    op(Op::fmv_x_w, {kT0, 4});
    op(Op::xor_, {kA, kA, kT0});
    op(Op::fmv_x_w, {kT0, 5});
    op(Op::add, {kB, kB, kT0});
  }

  void subroutine(const Stage& s) {
    const Assembler::Label routine = as_.label(), out = as_.label();
    as_.jal(reg(kT4), routine);
    as_.jal(reg(kT4), routine);
    as_.jal(reg(kZero), out);
    as_.bind(routine);
    op(Op::slli, {kT0, kA, 2});
    op(Op::add, {kA, kA, kT0});
    key(kT0, s.p);
    op(Op::add, {kA, kA, kT0});
    op(Op::srli, {kT0, kA, s.q});
    op(Op::xor_, {kB, kB, kT0});
    op(Op::jalr, {kZero, 0, kT4});
    as_.bind(out);
  }

  void absorb() {
    op(Op::addi, {kT0, kC, 0});
    op(Op::addi, {kT1, kC, at(WorkerConstants::kWords)});
    as_.li(reg(kT3), 0x01000193U);
    const Assembler::Label head = as_.label();
    as_.bind(head);
    op(Op::lw, {kT2, 0, kT0});
    op(Op::xor_, {kA, kA, kT2});
    op(Op::mul, {kA, kA, kT3});
    op(Op::srli, {kT2, kA, 15});
    op(Op::xor_, {kA, kA, kT2});
    op(Op::add, {kB, kB, kA});
    op(Op::addi, {kT0, kT0, 4});
    as_.bne(reg(kT0), reg(kT1), head);
  }

  void stage(const Stage& s) {
    switch (s.kind) {
      case Kind::sum:
      case Kind::branches:
        return loop(s);
      case Kind::text:
        return text(s);
      case Kind::floats:
        return floats(s);
      case Kind::order:
        return order(s);
      case Kind::halves:
        return halves(s);
      case Kind::stream:
        return stream(s);
      case Kind::subroutine:
        return subroutine(s);
      default:
        return integers(s);
    }
  }

  Assembler as_{0};
};

}  // namespace

std::vector<std::uint32_t> Recipe::code() const { return Writer().run(stages_); }

}  // namespace tessera::demo
