// Instruction words for tests, from the instruction table. encode() takes any instruction with the operands of its
// syntax; r(), i() and s() are short forms for the common formats. No labels, no text.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "hw/generated/isa.h"
#include "hw/generated/machine.h"

namespace tessera::testing {

using isa::Op;

/// Places an immediate into the fields of its format.
inline std::uint32_t place(isa::Imm imm, std::int32_t value) {
  const auto v = static_cast<std::uint32_t>(value);
  switch (imm) {
    case isa::Imm::i:
      return (v & 0xfff) << 20;
    case isa::Imm::s:
      return (v >> 5 & 0x7f) << 25 | (v & 31) << 7;
    case isa::Imm::b:
      return (v >> 12 & 1) << 31 | (v >> 5 & 0x3f) << 25 | (v >> 1 & 15) << 8 | (v >> 11 & 1) << 7;
    case isa::Imm::u:
      return v & 0xffff'f000u;
    case isa::Imm::j:
      return (v >> 20 & 1) << 31 | (v >> 1 & 0x3ff) << 21 | (v >> 11 & 1) << 20 | (v >> 12 & 0xff) << 12;
    case isa::Imm::shamt:
      return (v & 31) << 20;
    case isa::Imm::csr:
      return v << 20;
    default:
      return 0;
  }
}

/// Register form: unused fields are left 0 by passing 0.
inline std::uint32_t r(Op op, unsigned rd, unsigned rs1 = 0, unsigned rs2 = 0, unsigned rs3 = 0) {
  return isa::info(op).match | rd << 7 | rs1 << 15 | rs2 << 20 | rs3 << 27;
}
/// With an immediate: rd, rs1, imm (loads and arithmetic; lui and jal pass rs1 = 0; CSR forms pass the number).
inline std::uint32_t i(Op op, unsigned rd, unsigned rs1, std::int32_t imm) {
  return isa::info(op).match | rd << 7 | rs1 << 15 | place(isa::info(op).imm, imm);
}
/// Stores and branches: rs1, rs2, imm.
inline std::uint32_t s(Op op, unsigned rs1, unsigned rs2, std::int32_t imm) {
  return isa::info(op).match | rs1 << 15 | rs2 << 20 | place(isa::info(op).imm, imm);
}
namespace detail {

/// Puts one operand of the syntax into its field.
inline std::uint32_t place_operand(std::string_view token, const isa::Info& info, std::int64_t value) {
  const auto v = static_cast<std::uint32_t>(value);
  if (token.front() == 'f' && token.size() > 1 && token[1] == 'r') token.remove_prefix(1);
  if (const auto dot = token.find('.'); dot != token.npos) token = token.substr(0, dot);
  if (token.substr(0, 4) == "imm_" || token == "csr" || token == "shamt")
    return place(info.imm, static_cast<std::int32_t>(info.imm == isa::Imm::u ? v << 12 : v));
  if (token == "rd" || token == "worker") return v << 7;
  if (token == "rs1" || token == "zimm") return v << 15;
  if (token == "rs2" || token == "zone") return v << 20;
  if (token == "rs3") return v << 27;
  if (token == "rm") return v << 12;
  if (token == "pred") return v << 24;
  if (token == "succ" || token == "rptn") return v << 20;
  if (token == "rptcount") return (v >> 5) << 7 | (v & 31) << 15;
  if (token == "step0" || token == "stream" || token == "phase2") return v << 25;
  if (token == "step1") return v << 27;
  if (token == "step2") return v << 29;
  if (token == "phase3") return (v & 3) << 25 | (v >> 2) << 12;
  throw std::logic_error("operand " + std::string(token) + " of " + info.name);
}

}  // namespace detail

/// Any instruction with the operands of its syntax in order, registers as numbers; `imm(rs1)` is two operands; lui and
/// auipc take the upper 20 bits; a rounding field that is left out is dynamic. Reserved ones are encoded too. Throws
/// std::logic_error if the operands do not make a legal word of that instruction.
inline std::uint32_t encode(Op op, std::initializer_list<std::int64_t> operands = {}) {
  const isa::Info& info = isa::info(op);
  std::uint32_t word = info.match;
  const auto* next = operands.begin();
  std::string_view rest = info.syntax;
  while (!rest.empty()) {
    const auto end = rest.find_first_of(",(");
    std::string_view token = rest.substr(0, end);
    rest = end == rest.npos ? std::string_view{} : rest.substr(end + 1);
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    if (token.back() == ')') token.remove_suffix(1);
    if (next == operands.end() && token != "rm") throw std::logic_error(std::string("too few operands: ") + info.name);
    word |= detail::place_operand(token, info, next == operands.end() ? 7 : *next++);
  }
  if (next != operands.end() || isa::decode_word(word, true) != op)
    throw std::logic_error(std::string("operands that ") + info.name + " does not take");
  return word;
}

inline std::uint32_t nop() { return i(Op::addi, 0, 0, 0); }
/// x.sync rd, rs1, zone.
inline std::uint32_t sync(unsigned rd, unsigned rs1, unsigned zone) { return r(Op::x_sync, rd, rs1, zone); }
/// lui and addi that make `value` in rd.
inline void load_constant(std::vector<std::uint32_t>& code, unsigned rd, std::uint32_t value) {
  const std::uint32_t upper = (value + 0x800) & 0xffff'f000u;
  code.push_back(i(Op::lui, rd, 0, static_cast<std::int32_t>(upper)));
  code.push_back(i(Op::addi, rd, rd, static_cast<std::int32_t>(value - upper)));
}

}  // namespace tessera::testing
