// Xtile f-register arithmetic for threaded code: the same bits as fp::simd, on the f registers in place, by host
// vectors where the host has AVX2, FMA and F16C; else by the integer reference itself. The AMP is in amp_fast.h.
//
// Why the vector forms are exact (tested against the reference in simd_fast_test.cpp):
//  - f32 lanes: one host operation is one rounding; NaN results are replaced by the canonical NaN.
//  - f16 sums, differences, products: done in f32 and rounded to f16. The operation is exact or has 24 bits, and
//    24 >= 2 * 11 + 2 makes the second rounding innocuous, subnormal results included (their last place, 2^-24, is
//    that of the exact sums; products below it keep more than two bits more).
//  - f16 multiply-add: the product is exact in f32 (22 bits, exponents -48..31). Its f32 sum with c is made
//  round-to-odd
//    from the error that TwoSum gives exactly (no overflow: below 2^33), and 24 >= 11 + 2 bits rounded to odd round to
//    f16 as the exact sum does (Boldo, Melquiond 2008).
//  - Stochastic conversion is integer arithmetic on lanes.
//
// Host state: MXCSR must round to nearest with subnormals honoured, as inside a FlagScope; a kernel marked `raises`
// leaves flags in it that mean nothing.
#pragma once

#include <array>
#include <cstdint>

#include "hw/generated/isa.h"

namespace tessera::fp::fast {

/// First registers of the operands.
struct Registers {
  std::uint8_t rd = 0, rs1 = 0, rs2 = 0, rs3 = 0;
};

/// Carries out one instruction on the 32 f registers; `draw` is the output of the PRNG step, for those that draw.
using SimdKernel = void (*)(std::uint32_t* f, Registers registers, std::uint64_t draw, isa::Op op);

struct SimdKernels {
  std::array<SimdKernel, isa::kOpCount> run{};  ///< null for what is not custom-2 or custom-3, and for the AMP
  std::array<bool, isa::kOpCount> raises{};     ///< uses the host's floating point, so its flags
};

/// The fastest kernels of this host.
[[nodiscard]] const SimdKernels& simd_kernels();
/// Those of a host without vectors.
[[nodiscard]] const SimdKernels& portable_simd_kernels();

/// Whether the host has AVX2, FMA and F16C (and the build is for x86-64).
[[nodiscard]] bool host_vectors();

}  // namespace tessera::fp::fast
