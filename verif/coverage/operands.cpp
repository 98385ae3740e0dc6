// Types and kinds by name: the table's names carry them (x.mac.f16v4, fmadd.s, x.cvt.f16v2.f32v2).
#include "verif/coverage/operands.h"

#include <stdexcept>
#include <string_view>

#include "hw/generated/machine.h"

namespace tessera::coverage {

using isa::File;
using isa::FpOp;
using isa::Op;

namespace {

bool starts(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

/// Lane type of the last part of a name.
Type lanes(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  if (starts(last, "f16")) return Type::half;
  if (starts(last, "f32") || last == "s") return Type::single;
  return Type::none;
}

}  // namespace

std::array<Type, 3> operand_types(Op op) {
  const isa::Info& info = isa::info(op);
  const std::string_view name = info.name;
  const std::array<isa::Reg, 3> regs{info.rs1, info.rs2, info.rs3};
  std::array<Type, 3> types{};
  const bool moves = starts(name, "x.sel") || starts(name, "x.dup") || starts(name, "x.swap") ||
                     starts(name, "x.high") || starts(name, "x.pack") || starts(name, "fmv");
  const bool matrix = starts(name, "x.amp."), dot = starts(name, "x.dot.");
  for (unsigned k = 0; k < 3; ++k) {
    if (regs[k].file == File::x && regs[k].read) types[k] = Type::integer;
    if (regs[k].file != File::f || !regs[k].read || moves) continue;
    types[k] = lanes(name);
    if (matrix && k < 2 && name == "x.amp.g") types[k] = Type::half;
    if ((matrix || dot) && k == 2) types[k] = Type::single;
  }
  return types;
}

unsigned class_of_single(std::uint32_t bits) {
  const std::uint32_t exponent = bits >> 23 & 0xff, fraction = bits & 0x7fffff;
  if (exponent == 0) return fraction == 0 ? 0 : 1;
  if (exponent != 0xff) return 2;
  return fraction == 0 ? 3 : (fraction >> 22 & 1) != 0 ? 4 : 5;
}

unsigned class_of_half(std::uint32_t bits) {
  const std::uint32_t exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0) return fraction == 0 ? 0 : 1;
  if (exponent != 0x1f) return 2;
  return fraction == 0 ? 3 : (fraction >> 9 & 1) != 0 ? 4 : 5;
}

unsigned class_of_integer(std::uint32_t value) {
  if (value == 0) return 0;
  if (value == 0x80000000u) return 3;
  if (value == 0x7fffffffu) return 4;
  if (value == 0xffffffffu) return 5;
  return value >> 31 == 0 ? 1 : 2;
}

unsigned class_of_immediate(std::int32_t value, unsigned bits) {
  if (value == 0) return 0;
  if (value == -(1 << (bits - 1))) return 3;
  if (value == (1 << (bits - 1)) - 1) return 4;
  return value > 0 ? 1 : 2;
}

unsigned main_kind(Op op) {
  const unsigned opcode = isa::info(op).match & 0x7f;
  switch (opcode) {
    case 0x03:
      return 2;
    case 0x23:
      return 3;
    case 0x07:
      return 4;
    case 0x27:
      return 5;
    case 0x0b:
      return op == Op::x_sset ? 11 : op == Op::x_rpt || op == Op::x_rpti ? 12 : 6;
    case 0x2b:
      if (op == Op::x_ld64 || op == Op::x_ld64_r) return 7;
      if (op == Op::x_ld128 || op == Op::x_ld128_r) return 8;
      if (op == Op::x_st64 || op == Op::x_st64_r) return 9;
      return 10;
    default:
      return op == Op::mul || op == Op::mulh || op == Op::mulhsu || op == Op::mulhu ? 1 : 0;
  }
}

unsigned aux_kind(Op op) {
  const isa::Info& info = isa::info(op);
  const std::string_view name = info.name;
  switch (info.fp) {
    case FpOp::none:
      break;
    case FpOp::add:
    case FpOp::sub:
    case FpOp::mul:
      return 0;
    case FpOp::div:
    case FpOp::sqrt:
      return 2;
    case FpOp::madd:
    case FpOp::msub:
    case FpOp::nmadd:
    case FpOp::nmsub:
      return 1;
    default:
      return 3;
  }
  if (starts(name, "x.amp.")) return 11;
  if (starts(name, "x.urand") || starts(name, "x.cvt.sr")) return 8;
  if (starts(name, "x.cvt")) return 7;
  if (starts(name, "x.exp") || starts(name, "x.log") || starts(name, "x.tanh") || starts(name, "x.sigmoid") ||
      starts(name, "x.rsqrt"))
    return 9;
  if (starts(name, "x.mac") || starts(name, "x.sadd") || starts(name, "x.dot")) return 6;
  if (starts(name, "x.sum") || starts(name, "x.dup") || starts(name, "x.swap") || starts(name, "x.high") ||
      starts(name, "x.pack") || starts(name, "x.mv64") || starts(name, "x.sel"))
    return 10;
  if (lanes(name) == Type::half) return 4;
  if (lanes(name) == Type::single) return 5;
  throw std::logic_error(std::string(info.name) + " has no kind of AUX instruction in verif/coverage");
}

bool rounds(Op op) { return isa::info(op).fp != FpOp::none && (isa::info(op).mask & 0x7000) == 0; }

unsigned possible_flags(Op op) {
  constexpr unsigned kInvalid = 16, kZero = 8, kOver = 4, kUnder = 2, kInexact = 1;
  switch (isa::info(op).fp) {
    case FpOp::add:
    case FpOp::sub:
      return kInvalid | kOver | kInexact;  // a sum that is subnormal is exact
    case FpOp::mul:
    case FpOp::madd:
    case FpOp::msub:
    case FpOp::nmadd:
    case FpOp::nmsub:
      return kInvalid | kOver | kUnder | kInexact;
    case FpOp::div:
      return kInvalid | kZero | kOver | kUnder | kInexact;
    case FpOp::sqrt:
    case FpOp::cvt_w_s:
    case FpOp::cvt_wu_s:
      return kInvalid | kInexact;
    case FpOp::cvt_s_w:
    case FpOp::cvt_s_wu:
      return kInexact;
    case FpOp::min:
    case FpOp::max:
    case FpOp::eq:
    case FpOp::lt:
    case FpOp::le:
      return kInvalid;
    default:
      return 0;
  }
}

std::string csr_family(unsigned number) {
  const char* name = csr_name(number);
  if (name == nullptr) return {};
  const std::string text = name;
  for (const char* family : {"mhpmevent", "mhpmcounterh", "mhpmcounter", "hpmcounterh", "hpmcounter"}) {
    if (starts(text, family)) return family;
  }
  return text;
}

}  // namespace tessera::coverage
