// RV32 relocation types and instruction fields, as far as linking and code analysis need them.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::riscv {

// Numbers of the RISC-V ELF psABI; <elf.h> of some systems lacks the later ones.
enum Reloc : std::uint32_t {
  kNone = 0,
  k32 = 1,
  kBranch = 16,
  kJal = 17,
  kCall = 18,
  kCallPlt = 19,
  kPcrelHi20 = 23,
  kPcrelLo12I = 24,
  kPcrelLo12S = 25,
  kHi20 = 26,
  kLo12I = 27,
  kLo12S = 28,
  kAdd8 = 33,
  kAdd16 = 34,
  kAdd32 = 35,
  kSub8 = 37,
  kSub16 = 38,
  kSub32 = 39,
  kAlign = 43,
  kRelax = 51,
  kSub6 = 52,
  kSet6 = 53,
  kSet8 = 54,
  kSet16 = 55,
  kSet32 = 56,
  k32Pcrel = 57,
};

inline std::uint32_t load32(const std::vector<std::uint8_t>& bytes, std::size_t at) {
  return static_cast<std::uint32_t>(bytes.at(at)) | static_cast<std::uint32_t>(bytes.at(at + 1)) << 8 |
         static_cast<std::uint32_t>(bytes.at(at + 2)) << 16 | static_cast<std::uint32_t>(bytes.at(at + 3)) << 24;
}

inline void store32(std::vector<std::uint8_t>& bytes, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) bytes.at(at + i) = static_cast<std::uint8_t>(value >> (8 * i));
}

constexpr std::uint32_t opcode(std::uint32_t word) { return word & 0x7f; }
constexpr unsigned rd(std::uint32_t word) { return (word >> 7) & 31; }
constexpr unsigned funct3(std::uint32_t word) { return (word >> 12) & 7; }
constexpr unsigned rs1(std::uint32_t word) { return (word >> 15) & 31; }
constexpr std::int32_t imm_i(std::uint32_t word) { return static_cast<std::int32_t>(word) >> 20; }

constexpr std::int32_t imm_b(std::uint32_t word) {
  return (static_cast<std::int32_t>(word & 0x80000000u) >> 19) | static_cast<std::int32_t>((word & 0x80) << 4) |
         static_cast<std::int32_t>((word >> 20) & 0x7e0) | static_cast<std::int32_t>((word >> 7) & 0x1e);
}

constexpr std::int32_t imm_j(std::uint32_t word) {
  return (static_cast<std::int32_t>(word & 0x80000000u) >> 11) | static_cast<std::int32_t>(word & 0xff000) |
         static_cast<std::int32_t>((word >> 9) & 0x800) | static_cast<std::int32_t>((word >> 20) & 0x7fe);
}

constexpr std::uint32_t encode_b(std::int32_t offset) {
  const auto o = static_cast<std::uint32_t>(offset);
  return ((o >> 12) & 1) << 31 | ((o >> 5) & 0x3f) << 25 | ((o >> 1) & 0xf) << 8 | ((o >> 11) & 1) << 7;
}

constexpr std::uint32_t encode_j(std::int32_t offset) {
  const auto o = static_cast<std::uint32_t>(offset);
  return ((o >> 20) & 1) << 31 | ((o >> 1) & 0x3ff) << 21 | ((o >> 11) & 1) << 20 | ((o >> 12) & 0xff) << 12;
}

constexpr std::uint32_t kMaskI = 0x000fffff, kMaskS = 0x01fff07f, kMaskB = 0x01fff07f, kMaskJ = 0x00000fff,
                        kMaskU = 0x00000fff;

/// The upper 20 bits that, with a sign-extended lower 12, make `value`.
constexpr std::uint32_t hi20(std::uint32_t value) { return (value + 0x800) & 0xfffff000u; }
constexpr std::uint32_t encode_i(std::uint32_t value) { return (value & 0xfff) << 20; }
constexpr std::uint32_t encode_s(std::uint32_t value) { return ((value >> 5) & 0x7f) << 25 | (value & 0x1f) << 7; }

}  // namespace tessera::riscv
