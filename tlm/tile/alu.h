// Integer operations of RV32IM as one table for every interpreter of the tile: X(name, expression of a and b).
#pragma once

#include <cstdint>

#define TESSERA_ALU_OPERATIONS(X)                                            \
  X(add, a + b)                                                              \
  X(sub, a - b)                                                              \
  X(sll, a << (b & 31))                                                      \
  X(slt, tessera::alu::as_signed(a) < tessera::alu::as_signed(b) ? 1u : 0u)  \
  X(sltu, a < b ? 1u : 0u)                                                   \
  X(xor_, a ^ b)                                                             \
  X(srl, a >> (b & 31))                                                      \
  X(sra, static_cast<std::uint32_t>(tessera::alu::as_signed(a) >> (b & 31))) \
  X(or_, a | b)                                                              \
  X(and_, a& b)                                                              \
  X(mul, a* b)                                                               \
  X(mulh, tessera::alu::mulh(a, b))                                          \
  X(mulhsu, tessera::alu::mulhsu(a, b))                                      \
  X(mulhu, static_cast<std::uint32_t>(std::uint64_t{a} * b >> 32))

/// Immediate forms: X(name, the same expressions).
#define TESSERA_ALU_IMMEDIATES(X)                                            \
  X(addi, a + b)                                                             \
  X(slti, tessera::alu::as_signed(a) < tessera::alu::as_signed(b) ? 1u : 0u) \
  X(sltiu, a < b ? 1u : 0u)                                                  \
  X(xori, a ^ b)                                                             \
  X(ori, a | b)                                                              \
  X(andi, a& b)                                                              \
  X(slli, a << (b & 31))                                                     \
  X(srli, a >> (b & 31))                                                     \
  X(srai, static_cast<std::uint32_t>(tessera::alu::as_signed(a) >> (b & 31)))

/// Six slots each, SOLO.
#define TESSERA_DIVISIONS(X)      \
  X(div, tessera::alu::div(a, b)) \
  X(divu, b == 0 ? ~0u : a / b)   \
  X(rem, tessera::alu::rem(a, b)) \
  X(remu, b == 0 ? a : a % b)

/// X(name, condition under which it is taken).
#define TESSERA_BRANCHES(X)                                        \
  X(beq, a == b)                                                   \
  X(bne, a != b)                                                   \
  X(blt, tessera::alu::as_signed(a) < tessera::alu::as_signed(b))  \
  X(bge, tessera::alu::as_signed(a) >= tessera::alu::as_signed(b)) \
  X(bltu, a < b)                                                   \
  X(bgeu, a >= b)

namespace tessera::alu {

constexpr std::int32_t as_signed(std::uint32_t a) { return static_cast<std::int32_t>(a); }
constexpr std::uint32_t mulh(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>((std::int64_t{as_signed(a)} * as_signed(b)) >> 32);
}
constexpr std::uint32_t mulhsu(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>((std::int64_t{as_signed(a)} * std::int64_t{b}) >> 32);
}
constexpr std::uint32_t div(std::uint32_t a, std::uint32_t b) {
  if (b == 0) return ~0u;
  if (a == 0x8000'0000u && b == ~0u) return a;
  return static_cast<std::uint32_t>(as_signed(a) / as_signed(b));
}
constexpr std::uint32_t rem(std::uint32_t a, std::uint32_t b) {
  if (b == 0) return a;
  if (a == 0x8000'0000u && b == ~0u) return 0;
  return static_cast<std::uint32_t>(as_signed(a) % as_signed(b));
}

}  // namespace tessera::alu
