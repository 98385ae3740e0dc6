// Vector loops of a worker on the TLM tile, in threaded code: the inner loop of a matrix product (four doublewords of
// x.ld2st paired with x.amp.f16 in x.rpt) and f16 multiply-add over memory. How many multiply-accumulates a second one
// host thread simulates.
#pragma once

#include <cstdint>

#include "verif/bench/figure.h"

namespace tessera::bench {

enum class VectorLoop : std::uint8_t {
  matrix_f16,  ///< x.amp.f16, 32 multiply-accumulates a doubleword
  matrix_f32,  ///< x.amp.f32, 8 a doubleword
  lanes_f16,   ///< x.mac.f16v4, 4 a doubleword
};

struct VectorResult {
  std::uint64_t products = 0;  ///< multiply-accumulates
  Seconds seconds;
  std::uint32_t checksum = 0;  ///< of the memory behind the loop and the f registers
};

/// Runs `passes` passes over 1,000 rounds of the loop on each of `workers` workers. Throws std::runtime_error if the
/// program does not run.
[[nodiscard]] VectorResult run_vector_loop(VectorLoop loop, unsigned workers, std::uint32_t passes, bool exact);

/// The benchmark `amp`. Throws Error(wrong_result) if threaded code and exact interleave give different bits.
[[nodiscard]] Report run_amp_report(const Effort& effort);

}  // namespace tessera::bench
