// What instructions do with their operands, as far as coverage asks: types of source operands, classes of values, kinds
// of MAIN and AUX instructions. All of it from the instruction table and the names in it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "hw/generated/isa.h"

namespace tessera::coverage {

/// How a source operand is read.
enum class Type : std::uint8_t {
  none,     ///< not read, or only moved
  integer,  ///< an x register
  half,     ///< f16 lanes
  single,   ///< f32 lanes
};
/// Of rs1, rs2, rs3.
[[nodiscard]] std::array<Type, 3> operand_types(isa::Op op);

inline constexpr std::array<const char*, 6> kFloatClasses = {"zero",     "subnormal", "normal",
                                                             "infinity", "quiet-nan", "signaling-nan"};
[[nodiscard]] unsigned class_of_single(std::uint32_t bits);
[[nodiscard]] unsigned class_of_half(std::uint32_t bits);

inline constexpr std::array<const char*, 6> kIntegerClasses = {"zero",   "positive", "negative",
                                                               "lowest", "highest",  "minus-one"};
[[nodiscard]] unsigned class_of_integer(std::uint32_t value);

/// Classes of an immediate of `bits` bits, signed.
inline constexpr std::array<const char*, 5> kImmediateClasses = {"zero", "positive", "negative", "lowest", "highest"};
[[nodiscard]] unsigned class_of_immediate(std::int32_t value, unsigned bits);

/// Kinds of MAIN instructions that a pair may hold.
inline constexpr std::array<const char*, 13> kMainKinds = {"alu",     "multiply", "load",  "store", "f-load",
                                                           "f-store", "bits",     "ld64",  "ld128", "st64",
                                                           "stream",  "sset",     "repeat"};
/// Index in kMainKinds; the instruction is MAIN and workers have it.
[[nodiscard]] unsigned main_kind(isa::Op op);
/// Kinds of AUX instructions.
inline constexpr std::array<const char*, 12> kAuxKinds = {
    "f-add-mul",  "f-fused", "f-divide-root", "f-sign-select",  "simd-f16", "simd-f32",
    "fused-simd", "convert", "random",        "transcendental", "lanes",    "amp"};
[[nodiscard]] unsigned aux_kind(isa::Op op);

/// The instruction has a rounding field.
[[nodiscard]] bool rounds(isa::Op op);
/// fflags (bits NV 4, DZ 3, OF 2, UF 1, NX 0) that an F instruction can raise; 0 for all else.
[[nodiscard]] unsigned possible_flags(isa::Op op);

/// The CSR's name; the performance counters that read 0 share the names mhpmevent, mhpmcounter, mhpmcounterh, .. ;
/// empty if the number is none.
[[nodiscard]] std::string csr_family(unsigned number);

}  // namespace tessera::coverage
