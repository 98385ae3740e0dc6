// Instruction words from the instruction table: any instruction with the operands of its syntax. No labels, no text.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include "hw/generated/isa.h"

namespace tessera::isa {

/// Places an immediate into the fields of its format.
inline std::uint32_t place(Imm imm, std::int32_t value) {
  const auto v = static_cast<std::uint32_t>(value);
  switch (imm) {
    case Imm::i:
      return (v & 0xfff) << 20;
    case Imm::s:
      return (v >> 5 & 0x7f) << 25 | (v & 31) << 7;
    case Imm::b:
      return (v >> 12 & 1) << 31 | (v >> 5 & 0x3f) << 25 | (v >> 1 & 15) << 8 | (v >> 11 & 1) << 7;
    case Imm::u:
      return v & 0xffff'f000u;
    case Imm::j:
      return (v >> 20 & 1) << 31 | (v >> 1 & 0x3ff) << 21 | (v >> 11 & 1) << 20 | (v >> 12 & 0xff) << 12;
    case Imm::shamt:
      return (v & 31) << 20;
    case Imm::csr:
      return v << 20;
    default:
      return 0;
  }
}

namespace detail {

/// Puts one operand of the syntax into its field.
inline std::uint32_t place_operand(std::string_view token, const Info& info, std::int64_t value) {
  const auto v = static_cast<std::uint32_t>(value);
  if (token.front() == 'f' && token.size() > 1 && token[1] == 'r') token.remove_prefix(1);
  if (const auto dot = token.find('.'); dot != token.npos) token = token.substr(0, dot);
  if (token.substr(0, 4) == "imm_" || token == "csr" || token == "shamt")
    return place(info.imm, static_cast<std::int32_t>(info.imm == Imm::u ? v << 12 : v));
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
  const Info& info = isa::info(op);
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
  if (next != operands.end() || decode_word(word, true) != op)
    throw std::logic_error(std::string("operands that ") + info.name + " does not take");
  return word;
}

}  // namespace tessera::isa
