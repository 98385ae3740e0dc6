// Eight engines as one AVX vector: the pieces of amp_fast.cpp and of the group of steps in threaded code. Only for
// files that select AVX2 function by function; empty on hosts that are not x86-64.
#pragma once

#include "tlm/float/amp_fast.h"
#include "tlm/float/fast.h"

#if TESSERA_FLOAT_SSE

#include <immintrin.h>

/// Compiled for AVX2, FMA and F16C whatever the options of the build; called only if host_vectors().
#define TESSERA_VECTOR __attribute__((target("avx2,fma,f16c")))

namespace tessera::fp::fast::vector {

TESSERA_VECTOR inline __m256 load(const std::array<std::uint32_t, 8>& set) {
  return _mm256_loadu_ps(reinterpret_cast<const float*>(set.data()));
}
TESSERA_VECTOR inline void store(std::array<std::uint32_t, 8>& set, __m256 v) {
  _mm256_storeu_ps(reinterpret_cast<float*>(set.data()), v);
}

TESSERA_VECTOR inline __m256 canonical(__m256 a) {
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
  return _mm256_blendv_ps(a, nan, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}

/// Four f16 activations as f32, those of engines 0 to 3 and of engines 4 to 7.
TESSERA_VECTOR inline __m256 activations(std::uint64_t low, std::uint64_t high) {
  return _mm256_cvtph_ps(_mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low)));
}

/// One f16 step: set A and what it adds; NaNs as the host makes them.
TESSERA_VECTOR inline __m256 step(__m256 a, __m256 x, const float (*w)[8]) {
  const __m256 x0 = _mm256_permute_ps(x, 0x00), x1 = _mm256_permute_ps(x, 0x55), x2 = _mm256_permute_ps(x, 0xaa),
               x3 = _mm256_permute_ps(x, 0xff);
  const __m256 left = _mm256_fmadd_ps(x1, _mm256_load_ps(w[1]), _mm256_mul_ps(x0, _mm256_load_ps(w[0])));
  const __m256 right = _mm256_fmadd_ps(x3, _mm256_load_ps(w[3]), _mm256_mul_ps(x2, _mm256_load_ps(w[2])));
  return _mm256_add_ps(a, _mm256_add_ps(left, right));
}

}  // namespace tessera::fp::fast::vector

#endif
