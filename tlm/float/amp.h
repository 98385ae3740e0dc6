// The accumulating matrix product, one step (docs/machine/tile.md). Integers alone; the reference for amp_fast.h, RTL
// and lockstep.
#pragma once

#include <array>
#include <cstdint>

#include "hw/generated/isa.h"

namespace tessera::fp {

/// Weights of a tile as x.amp.ldw finds them in memory: word k at byte 4k of the 256. Engine e has words 8e..8e+7: f16
/// weight j in half j & 1 of word 8e + j/2, f32 weight j in word 8e + j.
using AmpWeights = std::array<std::uint32_t, 64>;

/// Partial sums of a worker, f32 bits; +0 at x.run.
struct AmpSums {
  std::array<std::uint32_t, 8> a{}, b{};
};

/// One step of x.amp.f16, x.amp.f32, x.amp.g or x.amp.io in phase p. rs1, rs2, rs3: register pairs, first register in
/// the low half (x.amp.f32: rs1 and rs3 single). Returns what goes to rd.
std::uint64_t amp_step(isa::Op op, unsigned p, const AmpWeights& weights, AmpSums& sums, std::uint64_t rs1,
                       std::uint64_t rs2, std::uint64_t rs3);

/// Last phase of the instruction: the sets are swapped behind it.
[[nodiscard]] constexpr unsigned last_phase(isa::Op op) { return op == isa::Op::x_amp_f32 ? 7 : 3; }

}  // namespace tessera::fp
