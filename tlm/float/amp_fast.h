// Steps of the accumulating matrix product for threaded code: the bits of fp::amp_step by host vectors of eight
// engines, or by the reference on hosts without AVX2, FMA and F16C.
//
// Why it is exact: the product of two f16 has 22 bits and fits in an f32, so fma(a1, w1, a0 * w0) rounds the exact sum
// of two products once, as the rule says; the other sums are f32 additions in the prescribed order. A NaN that the host
// makes is replaced by the canonical one before a step or a group of steps ends, and additions keep a NaN a NaN, so
// nobody sees another. Host state and flags: as for simd_fast.h.
#pragma once

#include <cstdint>

#include "tlm/float/amp.h"

namespace tessera::fp::fast {

/// Weights made ready: besides what was loaded, by phase and lane as vectors over the engines.
struct alignas(32) AmpReady {
  float half[4][4][8] = {};         ///< [p][i][e] = weight 4p + i of engine e, as f32
  std::uint32_t single[8][8] = {};  ///< [p][e] = f32 weight p of engine e, its bits
  AmpWeights loaded{};
};
/// Fills `ready` from the weights as loaded.
void make_ready(const AmpWeights& weights, AmpReady& ready);

/// fp::amp_step of one instruction.
using AmpKernel = std::uint64_t (*)(unsigned p, const AmpReady& weights, AmpSums& sums, std::uint64_t rs1,
                                    std::uint64_t rs2, std::uint64_t rs3);
struct AmpKernels {
  AmpKernel f16 = nullptr, f32 = nullptr, g = nullptr, io = nullptr;
};

/// The fastest of this host.
[[nodiscard]] const AmpKernels& amp_kernels();
/// Those of a host without vectors.
[[nodiscard]] const AmpKernels& portable_amp_kernels();

}  // namespace tessera::fp::fast
