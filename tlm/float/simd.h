// Xtile f-register arithmetic as pure functions: the reference that interpreters, RTL unit tests and lockstep share.
// Everything of custom-2 and custom-3 but the AMP (amp.h). Integers alone; no flags, no frm.
#pragma once

#include <cstdint>

#include "hw/generated/isa.h"

namespace tessera::fp {

/// Up to four f registers from an operand's first one: register k is bits 32k+31..32k of {hi, lo}. What an operand does
/// not have is 0.
struct Operand {
  std::uint64_t lo = 0, hi = 0;
  friend bool operator==(const Operand& a, const Operand& b) { return a.lo == b.lo && a.hi == b.hi; }
};

/// xoroshiro128aox (arXiv 2203.04058), one state a worker.
struct Rng {
  std::uint64_t s0 = 0, s1 = 0;
  /// Makes one step and returns its output.
  std::uint64_t step();
};

/// True for the instructions that make one PRNG step.
[[nodiscard]] bool draws(isa::Op op);

/// Result of one AUX of custom-2 or custom-3 that is not an AMP step; as many registers as its rd has. `draw` is the
/// output of the PRNG step for those that draw, else ignored. Calling it for another instruction is a logic error.
[[nodiscard]] Operand simd(isa::Op op, const Operand& rs1, const Operand& rs2, const Operand& rs3, std::uint64_t draw);

}  // namespace tessera::fp
