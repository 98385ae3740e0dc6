// The few RV32IM and Xtile instructions that control programs are made of, as words, with labels. Encodings are those
// of hw/isa; the test disassembles them with the generated tables.
#pragma once

#include <cstdint>
#include <vector>

#include "hw/types.h"

namespace tessera::compiler {

/// Registers by their ABI names.
enum Reg : std::uint8_t {
  zero = 0,
  ra = 1,
  sp = 2,
  gp = 3,
  tp = 4,
  t0 = 5,
  t1 = 6,
  t2 = 7,
  s0 = 8,
  s1 = 9,
  a0 = 10,
  a1 = 11,
  a2 = 12,
  s2 = 18,
  s3,
  s4,
  s5,
  s6,
  s7,
  s8,
  s9,
  s10,
  s11,
  t3 = 28,
  t4,
  t5,
  t6,
};

class Assembler {
 public:
  struct Label {
    std::uint32_t index = 0;
  };

  explicit Assembler(Address base) : base_(base) {}

  [[nodiscard]] Address pc() const { return base_ + 4 * static_cast<Address>(words_.size()); }
  [[nodiscard]] Label label();
  void bind(Label label);
  [[nodiscard]] Address address(Label label) const { return targets_[label.index]; }

  void lw(Reg rd, std::int32_t offset, Reg rs1) { load(2, rd, offset, rs1); }
  void lbu(Reg rd, std::int32_t offset, Reg rs1) { load(4, rd, offset, rs1); }
  void lhu(Reg rd, std::int32_t offset, Reg rs1) { load(5, rd, offset, rs1); }
  void sw(Reg rs2, std::int32_t offset, Reg rs1);
  void addi(Reg rd, Reg rs1, std::int32_t value);
  void add(Reg rd, Reg rs1, Reg rs2) { op(0, 0, rd, rs1, rs2); }
  void and_(Reg rd, Reg rs1, Reg rs2) { op(0, 7, rd, rs1, rs2); }
  void sltu(Reg rd, Reg rs1, Reg rs2) { op(0, 3, rd, rs1, rs2); }
  void mul(Reg rd, Reg rs1, Reg rs2) { op(1, 0, rd, rs1, rs2); }
  void not_(Reg rd, Reg rs1);
  void srai(Reg rd, Reg rs1, unsigned shift);
  void lui(Reg rd, std::uint32_t upper20);
  /// One or two instructions.
  void li(Reg rd, std::uint32_t value);
  void csrw(unsigned csr, Reg rs1);
  void csrr(Reg rd, unsigned csr);
  void beq(Reg rs1, Reg rs2, Label to) { branch(0, rs1, rs2, to); }
  void bne(Reg rs1, Reg rs2, Label to) { branch(1, rs1, rs2, to); }
  void bgeu(Reg rs1, Reg rs2, Label to) { branch(7, rs1, rs2, to); }
  void jal(Reg rd, Label to);
  void jump_to(Address target);  ///< jal x0
  void call(Address target);     ///< jal ra
  void jr(Reg rs1);

  void x_sync(Reg rd, Reg rs1, Zone zone);
  void x_exchange(Reg rs1);
  void x_packet(Reg rs1);
  /// All six workers: pc = rs1, a0 = rs2, a1 = rs3.
  void x_run_all(Reg rs1, Reg rs2, Reg rs3);

  /// Any other instruction; no label can stand in it.
  void word(std::uint32_t encoded) { emit(encoded); }

  /// All words, labels resolved. Throws std::logic_error for a label that is not bound or out of reach.
  [[nodiscard]] std::vector<std::uint32_t> finish();

 private:
  struct Fixup {
    std::size_t word = 0;
    std::uint32_t label = 0;
    bool jump = false;
  };
  void emit(std::uint32_t word) { words_.push_back(word); }
  void load(unsigned funct3, Reg rd, std::int32_t offset, Reg rs1);
  void op(unsigned funct7, unsigned funct3, Reg rd, Reg rs1, Reg rs2);
  void branch(unsigned funct3, Reg rs1, Reg rs2, Label to);

  Address base_;
  std::vector<std::uint32_t> words_;
  std::vector<Address> targets_;
  std::vector<Fixup> fixups_;
};

}  // namespace tessera::compiler
