// Encoding of control instructions.
#include "host/compiler/assembler.h"

#include <stdexcept>

namespace tessera::compiler {

namespace {

constexpr Address kUnbound = 0xFFFFFFFF;
constexpr std::uint32_t kXtileControl = 0x0B;

std::uint32_t u(std::int32_t value) { return static_cast<std::uint32_t>(value); }

std::uint32_t branch_offset(std::int32_t offset) {
  if (offset < -4096 || offset >= 4096) throw std::logic_error("branch out of reach");
  const std::uint32_t o = u(offset);
  return (o >> 12 & 1) << 31 | (o >> 5 & 0x3F) << 25 | (o >> 1 & 0xF) << 8 | (o >> 11 & 1) << 7;
}

std::uint32_t jump_offset(std::int32_t offset) {
  if (offset < -(1 << 20) || offset >= 1 << 20) throw std::logic_error("jump out of reach");
  const std::uint32_t o = u(offset);
  return (o >> 20 & 1) << 31 | (o >> 1 & 0x3FF) << 21 | (o >> 11 & 1) << 20 | (o >> 12 & 0xFF) << 12;
}

void check_immediate(std::int32_t value) {
  if (value < -2048 || value > 2047) throw std::logic_error("immediate out of reach");
}

}  // namespace

Assembler::Label Assembler::label() {
  targets_.push_back(kUnbound);
  return {static_cast<std::uint32_t>(targets_.size() - 1)};
}

void Assembler::bind(Label label) { targets_[label.index] = pc(); }

void Assembler::load(unsigned funct3, Reg rd, std::int32_t offset, Reg rs1) {
  check_immediate(offset);
  emit(u(offset) << 20 | std::uint32_t{rs1} << 15 | funct3 << 12 | std::uint32_t{rd} << 7 | 0x03);
}

void Assembler::sw(Reg rs2, std::int32_t offset, Reg rs1) {
  check_immediate(offset);
  emit((u(offset) >> 5 & 0x7F) << 25 | std::uint32_t{rs2} << 20 | std::uint32_t{rs1} << 15 | 2U << 12 |
       (u(offset) & 0x1F) << 7 | 0x23);
}

void Assembler::addi(Reg rd, Reg rs1, std::int32_t value) {
  check_immediate(value);
  emit(u(value) << 20 | std::uint32_t{rs1} << 15 | std::uint32_t{rd} << 7 | 0x13);
}

void Assembler::op(unsigned funct7, unsigned funct3, Reg rd, Reg rs1, Reg rs2) {
  emit(funct7 << 25 | std::uint32_t{rs2} << 20 | std::uint32_t{rs1} << 15 | funct3 << 12 | std::uint32_t{rd} << 7 |
       0x33);
}

void Assembler::not_(Reg rd, Reg rs1) {
  emit(0xFFFU << 20 | std::uint32_t{rs1} << 15 | 4U << 12 | std::uint32_t{rd} << 7 | 0x13);
}

void Assembler::srai(Reg rd, Reg rs1, unsigned shift) {
  emit(0x20U << 25 | shift << 20 | std::uint32_t{rs1} << 15 | 5U << 12 | std::uint32_t{rd} << 7 | 0x13);
}

void Assembler::lui(Reg rd, std::uint32_t upper20) { emit(upper20 << 12 | std::uint32_t{rd} << 7 | 0x37); }

void Assembler::li(Reg rd, std::uint32_t value) {
  const auto low = static_cast<std::int32_t>(value << 20) >> 20;
  const std::uint32_t high = (value - u(low)) >> 12;
  if (high == 0) {
    addi(rd, zero, low);
    return;
  }
  lui(rd, high);
  if (low != 0) addi(rd, rd, low);
}

void Assembler::csrw(unsigned csr, Reg rs1) { emit(csr << 20 | std::uint32_t{rs1} << 15 | 1U << 12 | 0x73); }

void Assembler::csrr(Reg rd, unsigned csr) { emit(csr << 20 | 2U << 12 | std::uint32_t{rd} << 7 | 0x73); }

void Assembler::branch(unsigned funct3, Reg rs1, Reg rs2, Label to) {
  fixups_.push_back({words_.size(), to.index, false});
  emit(std::uint32_t{rs2} << 20 | std::uint32_t{rs1} << 15 | funct3 << 12 | 0x63);
}

void Assembler::jal(Reg rd, Label to) {
  fixups_.push_back({words_.size(), to.index, true});
  emit(std::uint32_t{rd} << 7 | 0x6F);
}

void Assembler::jump_to(Address target) { emit(jump_offset(static_cast<std::int32_t>(target - pc())) | 0x6F); }

void Assembler::call(Address target) {
  emit(jump_offset(static_cast<std::int32_t>(target - pc())) | std::uint32_t{ra} << 7 | 0x6F);
}

void Assembler::jr(Reg rs1) { emit(std::uint32_t{rs1} << 15 | 0x67); }

void Assembler::x_sync(Reg rd, Reg rs1, Zone zone) {
  emit(2U << 25 | static_cast<std::uint32_t>(zone) << 20 | std::uint32_t{rs1} << 15 | std::uint32_t{rd} << 7 |
       kXtileControl);
}

void Assembler::x_exchange(Reg rs1) { emit(3U << 25 | std::uint32_t{rs1} << 15 | kXtileControl); }

void Assembler::x_packet(Reg rs1) { emit(6U << 25 | std::uint32_t{rs1} << 15 | kXtileControl); }

void Assembler::x_run_all(Reg rs1, Reg rs2, Reg rs3) {
  emit(std::uint32_t{rs3} << 27 | std::uint32_t{rs2} << 20 | std::uint32_t{rs1} << 15 | 6U << 12 | 7U << 7 |
       kXtileControl);
}

std::vector<std::uint32_t> Assembler::finish() {
  std::vector<std::uint32_t> words = words_;
  for (const Fixup& f : fixups_) {
    if (targets_[f.label] == kUnbound) throw std::logic_error("label that is not bound");
    const auto offset = static_cast<std::int32_t>(targets_[f.label] - (base_ + 4 * static_cast<Address>(f.word)));
    words[f.word] |= f.jump ? jump_offset(offset) : branch_offset(offset);
  }
  return words;
}

}  // namespace tessera::compiler
