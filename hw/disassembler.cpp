// The operands of an instruction are its `syntax` in the table: tokens separated by commas, each a register, an
// immediate or a small field. Only their printing is here.
#include "hw/disassembler.h"

#include <fmt/format.h>

#include <string_view>

#include "hw/generated/isa.h"
#include "hw/generated/machine.h"

namespace tessera {

namespace {

constexpr const char* kX[32] = {"zero", "ra", "sp", "gp", "tp",  "t0",  "t1", "t2", "s0", "s1", "a0",
                                "a1",   "a2", "a3", "a4", "a5",  "a6",  "a7", "s2", "s3", "s4", "s5",
                                "s6",   "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"};
constexpr const char* kF[32] = {"ft0", "ft1", "ft2", "ft3", "ft4",  "ft5",  "ft6", "ft7", "fs0",  "fs1", "fa0",
                                "fa1", "fa2", "fa3", "fa4", "fa5",  "fa6",  "fa7", "fs2", "fs3",  "fs4", "fs5",
                                "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11"};
constexpr const char* kRounding[8] = {"rne", "rtz", "rdn", "rup", "rmm", "unknown", "unknown", "dyn"};
constexpr const char* kZones[8] = {"local", "internal", "group1", "group2", "host", "?", "?", "?"};
constexpr const char* kSteps[4] = {"+8", "a", "b", "0"};

std::string fence_set(unsigned bits) {
  if (bits == 0) return "unknown";
  std::string text;
  for (unsigned i = 0; i < 4; ++i)
    if ((bits >> (3 - i)) & 1) text += "iorw"[i];
  return text;
}

std::string csr_text(unsigned number) {
  const char* name = csr_name(number);
  return name != nullptr ? name : fmt::format("{:#x}", number);
}

/// A register token: [f]rd|rs1|rs2|rs3[.2|.4]; empty if the token is none.
std::string register_text(std::string_view token, std::uint32_t w) {
  const bool f = token[0] == 'f';
  if (f) token.remove_prefix(1);
  if (const auto dot = token.find('.'); dot != token.npos) token = token.substr(0, dot);
  unsigned number = 0;
  if (token == "rd")
    number = isa::rd(w);
  else if (token == "rs1")
    number = isa::rs1(w);
  else if (token == "rs2")
    number = isa::rs2(w);
  else if (token == "rs3")
    number = isa::rs3(w);
  else
    return {};
  return f ? kF[number] : kX[number];
}

std::string immediate_text(isa::Imm imm, std::uint32_t w, Address pc) {
  const std::uint32_t value = isa::immediate(imm, w);
  switch (imm) {
    case isa::Imm::b:
    case isa::Imm::j:
      return fmt::format("{:#x}", pc + value);
    case isa::Imm::u:
      return fmt::format("{:#x}", value >> 12);
    case isa::Imm::shamt:
      return fmt::format("{:#x}", value);
    default:
      return fmt::format("{}", static_cast<std::int32_t>(value));
  }
}

/// One operand; empty: nothing is printed (dynamic rounding).
std::string operand_text(std::string_view token, const isa::Info& info, std::uint32_t w, Address pc) {
  if (token.substr(0, 4) == "imm_") {
    std::string text = immediate_text(info.imm, w, pc);
    if (const auto open = token.find('('); open != token.npos)
      text += "(" + register_text(token.substr(open + 1, token.size() - open - 2), w) + ")";
    return text;
  }
  if (std::string text = register_text(token, w); !text.empty()) return text;
  if (token == "rm") return isa::rm(w) == 7 ? "" : kRounding[isa::rm(w)];
  if (token == "csr") return csr_text(isa::csr_number(w));
  if (token == "zimm") return fmt::format("{}", isa::rs1(w));
  if (token == "shamt") return immediate_text(info.imm, w, pc);
  if (token == "pred") return fence_set((w >> 24) & 15);
  if (token == "succ") return fence_set((w >> 20) & 15);
  if (token == "zone") return kZones[isa::rs2(w) & 7];
  if (token == "worker") return isa::rd(w) == 7 ? "all" : fmt::format("{}", isa::rd(w));
  if (token == "stream") return fmt::format("s{}", (w >> 25) & 3);
  if (token == "rptn") return fmt::format("{}", w >> 20);
  if (token == "rptcount") return fmt::format("{}", 32 * isa::rd(w) + isa::rs1(w));
  if (token == "step0") return kSteps[(w >> 25) & 3];
  if (token == "step1") return kSteps[(w >> 27) & 3];
  if (token == "step2") return kSteps[(w >> 29) & 3];
  if (token == "phase2") return fmt::format("{}", (w >> 25) & 3);
  if (token == "phase3") return fmt::format("{}", ((w >> 12) & 1) * 4 + ((w >> 25) & 3));
  return fmt::format("?{}", token);
}

}  // namespace

const char* x_register_name(unsigned number) { return kX[number & 31]; }
const char* f_register_name(unsigned number) { return kF[number & 31]; }

std::string disassemble(std::uint32_t word, Address pc) {
  const isa::Op op = isa::decode_word(word, true);
  if (op == isa::Op::illegal) return fmt::format(".word 0x{:08x}", word);
  const isa::Info& info = isa::info(op);
  // The one fence with a name of its own: fm = 8, rw,rw.
  if (op == isa::Op::fence && (word >> 20) == 0x833) return "fence.tso";
  std::string text = info.name;
  std::string_view rest = info.syntax;
  char separator = ' ';
  while (!rest.empty()) {
    const auto comma = rest.find(", ");
    const std::string operand = operand_text(rest.substr(0, comma), info, word, pc);
    rest = comma == rest.npos ? std::string_view{} : rest.substr(comma + 2);
    if (operand.empty()) continue;
    text += separator + operand;
    separator = ',';
  }
  return text;
}

}  // namespace tessera
