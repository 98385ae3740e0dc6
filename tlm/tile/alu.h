// Integer operations of RV32IM and the bit operations of Xtile as one table for every interpreter of the tile: X(name,
// expression of a and b).
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
  X(mulhu, static_cast<std::uint32_t>(std::uint64_t{a} * b >> 32))           \
  X(x_clz, tessera::alu::clz(a))                                             \
  X(x_ctz, tessera::alu::ctz(a))                                             \
  X(x_cpop, tessera::alu::cpop(a))                                           \
  X(x_brev, tessera::alu::brev(a))                                           \
  X(x_shuf8, tessera::alu::shuf8(a, b))

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

constexpr std::uint32_t clz(std::uint32_t a) { return a == 0 ? 32u : static_cast<std::uint32_t>(__builtin_clz(a)); }
constexpr std::uint32_t ctz(std::uint32_t a) { return a == 0 ? 32u : static_cast<std::uint32_t>(__builtin_ctz(a)); }
constexpr std::uint32_t cpop(std::uint32_t a) { return static_cast<std::uint32_t>(__builtin_popcount(a)); }
/// Bits in reverse order.
constexpr std::uint32_t brev(std::uint32_t a) {
  a = (a >> 1 & 0x5555'5555u) | (a & 0x5555'5555u) << 1;
  a = (a >> 2 & 0x3333'3333u) | (a & 0x3333'3333u) << 2;
  a = (a >> 4 & 0x0f0f'0f0fu) | (a & 0x0f0f'0f0fu) << 4;
  return __builtin_bswap32(a);
}
/// Byte i is byte b[8i+1:8i] of a, or 0 if b[8i+7] is set.
constexpr std::uint32_t shuf8(std::uint32_t a, std::uint32_t b) {
  std::uint32_t out = 0;
  for (unsigned i = 0; i < 32; i += 8)
    if ((b >> (i + 7) & 1) == 0) out |= (a >> 8 * (b >> i & 3) & 0xff) << i;
  return out;
}

}  // namespace tessera::alu
