// Four steps of the matrix product with the streams that feed them, as one operation of threaded code: x.ld2st paired
// with x.amp.f16, phases 0 to 3. The sums stay in host registers from step to step.
#pragma once

#include <array>
#include <cstdint>

#include "tlm/float/amp_fast.h"
#include "tlm/tile/code_cache.h"

namespace tessera {

/// Bytes by which each stream moves, by selector: +8, A, B, 0.
using StreamSteps = std::array<std::array<std::uint32_t, 4>, 3>;

/// What a group works on.
struct AmpGroup {
  std::uint8_t* memory;       ///< SRAM
  std::uint32_t size;         ///< its bytes, a multiple of 8
  const std::uint8_t* lines;  ///< a flag for each 64 bytes: a store there concerns somebody
  std::uint32_t* f;           ///< f registers
  std::uint32_t* stream;      ///< S0, S1, S2
  const StreamSteps* steps;
  fp::AmpSums* sums;
  const fp::fast::AmpReady* weights;
};

/// Runs the eight instructions from `o` on `rounds` times, as their sequence would; returns how many times it did. It
/// ends early, before a round, if an access may trap in it or a store would concern somebody. Only if
/// fp::fast::host_vectors().
std::uint32_t run_amp_group(const AmpGroup& group, const FastOp* o, std::uint32_t rounds);

}  // namespace tessera
