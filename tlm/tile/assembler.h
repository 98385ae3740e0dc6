// Short forms for the instruction words of tests: r(), i() and s() for the common formats, beside encode() of
// hw/encode.h. No labels, no text.
#pragma once

#include <cstdint>
#include <vector>

#include "hw/encode.h"
#include "hw/generated/isa.h"
#include "hw/generated/machine.h"

namespace tessera::testing {

using isa::Op;

using isa::encode;
using isa::place;

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
