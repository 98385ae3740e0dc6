// Kernels of amp_fast.h, single steps. The group of four steps with their memory accesses is in
// tlm/tile/tlm_fast_amp.cpp.
#include "tlm/float/amp_fast.h"

#include <cstring>
#include <utility>

#include "tlm/float/amp_vector.h"
#include "tlm/float/half.h"
#include "tlm/float/simd_fast.h"

#define VECTOR TESSERA_VECTOR

namespace tessera::fp::fast {
namespace {

using isa::Op;

template <Op kOp>
std::uint64_t by_reference(unsigned p, const AmpReady& weights, AmpSums& sums, std::uint64_t rs1, std::uint64_t rs2,
                           std::uint64_t rs3) {
  return amp_step(kOp, p, weights.loaded, sums, rs1, rs2, rs3);
}

/// Partials out of and into set B.
std::uint64_t exchange_pair(AmpSums& sums, unsigned p, std::uint64_t in) {
  std::uint64_t out;
  std::memcpy(&out, &sums.b[2 * p], sizeof out);
  std::memcpy(&sums.b[2 * p], &in, sizeof in);
  return out;
}

std::uint64_t pass(unsigned p, const AmpReady&, AmpSums& sums, std::uint64_t, std::uint64_t, std::uint64_t rs3) {
  const std::uint64_t out = exchange_pair(sums, p, rs3);
  if (p == 3) std::swap(sums.a, sums.b);
  return out;
}

#if TESSERA_FLOAT_SSE

/// Stores set A, canonical; swaps behind the last phase.
VECTOR inline void finish(AmpSums& sums, __m256 a, bool last) {
  a = vector::canonical(a);
  if (last) {
    const __m256 b = vector::load(sums.b);
    vector::store(sums.b, a);
    vector::store(sums.a, b);
  } else {
    vector::store(sums.a, a);
  }
}

VECTOR std::uint64_t vector_f16(unsigned p, const AmpReady& weights, AmpSums& sums, std::uint64_t rs1, std::uint64_t,
                                std::uint64_t rs3) {
  const std::uint64_t out = exchange_pair(sums, p, rs3);
  finish(sums, vector::step(vector::load(sums.a), vector::activations(rs1, rs1), weights.half[p]), p == 3);
  return out;
}

VECTOR std::uint64_t vector_g(unsigned p, const AmpReady& weights, AmpSums& sums, std::uint64_t rs1, std::uint64_t rs2,
                              std::uint64_t rs3) {
  const std::uint64_t out = exchange_pair(sums, p, rs3);
  finish(sums, vector::step(vector::load(sums.a), vector::activations(rs1, rs2), weights.half[p]), p == 3);
  return out;
}

VECTOR std::uint64_t vector_f32(unsigned p, const AmpReady& weights, AmpSums& sums, std::uint64_t rs1, std::uint64_t,
                                std::uint64_t rs3) {
  const std::uint64_t out = std::exchange(sums.b[p], static_cast<std::uint32_t>(rs3));
  const __m256 x = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(rs1)));
  const __m256 w = _mm256_load_ps(reinterpret_cast<const float*>(weights.single[p]));
  finish(sums, _mm256_fmadd_ps(x, w, vector::load(sums.a)), p == 7);
  return out;
}

#endif

AmpKernels portable() {
  return {by_reference<Op::x_amp_f16>, by_reference<Op::x_amp_f32>, by_reference<Op::x_amp_g>,
          by_reference<Op::x_amp_io>};
}

AmpKernels best() {
  AmpKernels k = portable();
  k.io = pass;
#if TESSERA_FLOAT_SSE
  if (host_vectors()) k = {vector_f16, vector_f32, vector_g, pass};
#endif
  return k;
}

}  // namespace

void make_ready(const AmpWeights& weights, AmpReady& ready) {
  ready.loaded = weights;
  for (unsigned e = 0; e < 8; ++e) {
    for (unsigned j = 0; j < 16; ++j) {
      const auto h = static_cast<std::uint16_t>(weights[8 * e + j / 2] >> 16 * (j & 1));
      ready.half[j / 4][j % 4][e] = detail::to_float(half_to_f32(h));
    }
    for (unsigned j = 0; j < 8; ++j) ready.single[j][e] = weights[8 * e + j];
  }
}

const AmpKernels& amp_kernels() {
  static const AmpKernels kernels = best();
  return kernels;
}

const AmpKernels& portable_amp_kernels() {
  static const AmpKernels kernels = portable();
  return kernels;
}

}  // namespace tessera::fp::fast
