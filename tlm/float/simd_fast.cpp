// Kernels of simd_fast.h. Only functions marked VECTOR are compiled for AVX2, FMA and F16C, and only they are called
// when the host has them; the rest of the file is for any host.
#include "tlm/float/simd_fast.h"

#include <cstring>

#include "tlm/float/fast.h"
#include "tlm/float/simd.h"

#if TESSERA_FLOAT_SSE
#include <immintrin.h>
#define VECTOR __attribute__((target("avx2,fma,f16c")))
#endif

namespace tessera::fp::fast {
namespace {

using isa::Op;

Operand load(const std::uint32_t* f, isa::Reg reg, unsigned number) {
  Operand out;
  if (reg.file != isa::File::f) return out;
  std::memcpy(static_cast<void*>(&out), f + number, 4u * reg.count);
  return out;
}

/// Any instruction by the reference.
void by_reference(std::uint32_t* f, Registers r, std::uint64_t draw, Op op) {
  const isa::Info& info = isa::info(op);
  const Operand out = simd(op, load(f, info.rs1, r.rs1), load(f, info.rs2, r.rs2), load(f, info.rs3, r.rs3), draw);
  std::memcpy(f + r.rd, &out, 4u * info.rd.count);
}

// Operations on bits alone, on 32 or 64 of them.

std::uint64_t get32(const std::uint32_t* f, unsigned number) { return f[number]; }
std::uint64_t get64(const std::uint32_t* f, unsigned number) {
  std::uint64_t v;
  std::memcpy(&v, f + number, sizeof v);
  return v;
}
void put64(std::uint32_t* f, unsigned number, std::uint64_t v) { std::memcpy(f + number, &v, sizeof v); }

constexpr std::uint64_t kHalfSigns = 0x8000800080008000u, kSingleSigns = 0x8000000080000000u;

template <std::uint64_t kSigns, bool kTwo>
void absolute(std::uint32_t* f, Registers r, std::uint64_t, Op) {
  if constexpr (kTwo) {
    put64(f, r.rd, get64(f, r.rs1) & ~kSigns);
  } else {
    f[r.rd] = static_cast<std::uint32_t>(get32(f, r.rs1) & ~kSigns);
  }
}
template <std::uint64_t kSigns, bool kTwo>
void negate(std::uint32_t* f, Registers r, std::uint64_t, Op) {
  if constexpr (kTwo) {
    put64(f, r.rd, get64(f, r.rs1) ^ kSigns);
  } else {
    f[r.rd] = static_cast<std::uint32_t>(get32(f, r.rs1) ^ kSigns);
  }
}
template <std::uint64_t kSigns, unsigned kLaneBits, bool kTwo>
void choose(std::uint32_t* f, Registers r, std::uint64_t, Op) {
  // A lane's sign bit, spread over the lane: ones below it by subtraction, and itself.
  const std::uint64_t signs = (kTwo ? get64(f, r.rs1) : get32(f, r.rs1)) & kSigns;
  const std::uint64_t mask = signs | (signs - (signs >> (kLaneBits - 1)));
  const std::uint64_t b = kTwo ? get64(f, r.rs2) : get32(f, r.rs2), c = kTwo ? get64(f, r.rs3) : get32(f, r.rs3);
  const std::uint64_t out = (b & mask) | (c & ~mask);
  if constexpr (kTwo) {
    put64(f, r.rd, out);
  } else {
    f[r.rd] = static_cast<std::uint32_t>(out);
  }
}
void move_pair(std::uint32_t* f, Registers r, std::uint64_t, Op) { put64(f, r.rd, get64(f, r.rs1)); }
void duplicate(std::uint32_t* f, Registers r, std::uint64_t, Op) { f[r.rd] = (f[r.rs1] & 0xffffu) * 0x10001u; }
void swap_halves(std::uint32_t* f, Registers r, std::uint64_t, Op) { f[r.rd] = f[r.rs1] << 16 | f[r.rs1] >> 16; }
void high_half(std::uint32_t* f, Registers r, std::uint64_t, Op) { f[r.rd] = f[r.rs1] >> 16; }
void pack(std::uint32_t* f, Registers r, std::uint64_t, Op) { f[r.rd] = (f[r.rs1] & 0xffffu) | f[r.rs2] << 16; }
void random32(std::uint32_t* f, Registers r, std::uint64_t draw, Op) { f[r.rd] = static_cast<std::uint32_t>(draw); }
void random64(std::uint32_t* f, Registers r, std::uint64_t draw, Op) { put64(f, r.rd, draw); }

bool is_vector_op(Op op) { return op >= Op::x_add_f16v2 && op <= Op::x_sel_f32v2; }

void set(SimdKernels& k, Op op, SimdKernel run, bool raises = false) {
  k.run[static_cast<unsigned>(op)] = run;
  k.raises[static_cast<unsigned>(op)] = raises;
}

SimdKernels portable() {
  SimdKernels k;
  for (unsigned op = 0; op < isa::kOpCount; ++op)
    if (is_vector_op(static_cast<Op>(op))) k.run[op] = by_reference;
  return k;
}

void use_bit_kernels(SimdKernels& k) {
  set(k, Op::x_abs_f16v2, absolute<kHalfSigns, false>);
  set(k, Op::x_abs_f16v4, absolute<kHalfSigns, true>);
  set(k, Op::x_abs_f32v2, absolute<kSingleSigns, true>);
  set(k, Op::x_neg_f16v2, negate<kHalfSigns, false>);
  set(k, Op::x_neg_f16v4, negate<kHalfSigns, true>);
  set(k, Op::x_neg_f32v2, negate<kSingleSigns, true>);
  set(k, Op::x_sel_f16v2, choose<kHalfSigns, 16, false>);
  set(k, Op::x_sel_f16v4, choose<kHalfSigns, 16, true>);
  set(k, Op::x_sel_f32v2, choose<kSingleSigns, 32, true>);
  set(k, Op::x_mv64, move_pair);
  set(k, Op::x_dup_f16, duplicate);
  set(k, Op::x_swap_f16v2, swap_halves);
  set(k, Op::x_high_f16, high_half);
  set(k, Op::x_pack_f16, pack);
  set(k, Op::x_urand32, random32);
  set(k, Op::x_urand64, random64);
}

#if TESSERA_FLOAT_SSE

VECTOR inline __m128i load_bits(const std::uint32_t* f, unsigned number, unsigned count) {
  if (count == 1) return _mm_cvtsi32_si128(static_cast<int>(f[number]));
  if (count == 2) return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(f + number));
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(f + number));
}
VECTOR inline void store_bits(std::uint32_t* f, unsigned number, unsigned count, __m128i v) {
  if (count == 1) {
    f[number] = static_cast<std::uint32_t>(_mm_cvtsi128_si32(v));
  } else if (count == 2) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(f + number), v);
  } else {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(f + number), v);
  }
}
VECTOR inline __m128 canonical(__m128 v) {
  return _mm_blendv_ps(v, _mm_castsi128_ps(_mm_set1_epi32(0x7fc00000)), _mm_cmpunord_ps(v, v));
}
VECTOR inline __m128i to_halves(__m128 v) { return _mm_cvtps_ph(canonical(v), _MM_FROUND_TO_NEAREST_INT); }

/// Four f16 multiply-adds, each rounded once.
VECTOR inline __m128i fused_halves(__m128 a, __m128 b, __m128 c) {
  const __m128 product = _mm_mul_ps(a, b);
  const __m128 sum = _mm_add_ps(product, c);
  const __m128 part = _mm_sub_ps(sum, product);
  const __m128 error = _mm_add_ps(_mm_sub_ps(product, _mm_sub_ps(sum, part)), _mm_sub_ps(c, part));
  // Inexact (never for infinities and NaNs, whose error is a NaN) and even: the odd neighbour towards the error.
  const __m128i inexact = _mm_castps_si128(_mm_cmp_ps(error, _mm_setzero_ps(), _CMP_NEQ_OQ));
  const __m128i bits = _mm_castps_si128(sum);
  const __m128i even = _mm_sub_epi32(_mm_and_si128(bits, _mm_set1_epi32(1)), _mm_set1_epi32(1));
  const __m128i towards =
      _mm_or_si128(_mm_srai_epi32(_mm_xor_si128(bits, _mm_castps_si128(error)), 31), _mm_set1_epi32(1));
  const __m128i odd = _mm_add_epi32(bits, _mm_and_si128(towards, _mm_and_si128(inexact, even)));
  return to_halves(_mm_castsi128_ps(odd));
}

/// Order-preserving signed keys: -0 below +0.
VECTOR inline __m128i half_key(__m128i v) {
  return _mm_xor_si128(v, _mm_and_si128(_mm_srai_epi16(v, 15), _mm_set1_epi16(0x7fff)));
}
VECTOR inline __m128i half_nan(__m128i v) {
  return _mm_cmpgt_epi16(_mm_and_si128(v, _mm_set1_epi16(0x7fff)), _mm_set1_epi16(0x7c00));
}
VECTOR inline __m128i single_key(__m128i v) {
  return _mm_xor_si128(v, _mm_and_si128(_mm_srai_epi32(v, 31), _mm_set1_epi32(0x7fffffff)));
}
VECTOR inline __m128i single_nan(__m128i v) {
  return _mm_cmpgt_epi32(_mm_and_si128(v, _mm_set1_epi32(0x7fffffff)), _mm_set1_epi32(0x7f800000));
}
/// a or b by `take_b`; a NaN loses to the other, two give `nan`.
VECTOR inline __m128i pick(__m128i a, __m128i b, __m128i take_b, __m128i nan_a, __m128i nan_b, __m128i nan) {
  __m128i out = _mm_blendv_epi8(a, b, take_b);
  out = _mm_blendv_epi8(out, b, nan_a);
  out = _mm_blendv_epi8(out, _mm_blendv_epi8(a, nan, nan_a), nan_b);
  return out;
}

enum class Do { add, sub, mul, min, max, eq, lt, le, fused, scaled };

VECTOR inline __m128 arithmetic(Do what, __m128 a, __m128 b) {
  switch (what) {
    case Do::add:
      return _mm_add_ps(a, b);
    case Do::sub:
      return _mm_sub_ps(a, b);
    case Do::mul:
      return _mm_mul_ps(a, b);
    case Do::eq:
      return _mm_cmp_ps(a, b, _CMP_EQ_OQ);
    case Do::lt:
      return _mm_cmp_ps(a, b, _CMP_LT_OQ);
    default:
      return _mm_cmp_ps(a, b, _CMP_LE_OQ);
  }
}

/// f16 lanes of kCount registers.
template <Do kWhat, unsigned kCount>
VECTOR void halves(std::uint32_t* f, Registers r, std::uint64_t, Op) {
  const __m128i x = load_bits(f, r.rs1, kCount), y = load_bits(f, r.rs2, kCount);
  __m128i out;
  if constexpr (kWhat == Do::min || kWhat == Do::max) {
    const __m128i kx = half_key(x), ky = half_key(y);
    const __m128i take_y = kWhat == Do::min ? _mm_cmpgt_epi16(kx, ky) : _mm_cmpgt_epi16(ky, kx);
    out = pick(x, y, take_y, half_nan(x), half_nan(y), _mm_set1_epi16(0x7e00));
  } else {
    const __m128 a = _mm_cvtph_ps(x), b = _mm_cvtph_ps(y);
    if constexpr (kWhat == Do::eq || kWhat == Do::lt || kWhat == Do::le) {
      const __m128i mask = _mm_castps_si128(arithmetic(kWhat, a, b));
      out = _mm_packs_epi32(mask, mask);
    } else if constexpr (kWhat == Do::fused) {
      out = fused_halves(a, b, _mm_cvtph_ps(load_bits(f, r.rs3, kCount)));
    } else if constexpr (kWhat == Do::scaled) {
      const __m128 scalar = _mm_cvtph_ps(load_bits(f, r.rs1, 1));
      out = fused_halves(_mm_shuffle_ps(scalar, scalar, 0), b, _mm_cvtph_ps(load_bits(f, r.rs3, kCount)));
    } else {
      out = to_halves(arithmetic(kWhat, a, b));
    }
  }
  store_bits(f, r.rd, kCount, out);
}

/// The two lanes of f32v2.
template <Do kWhat>
VECTOR void singles(std::uint32_t* f, Registers r, std::uint64_t, Op) {
  const __m128i x = load_bits(f, r.rs1, kWhat == Do::scaled ? 1 : 2), y = load_bits(f, r.rs2, 2);
  const __m128 a = _mm_castsi128_ps(x), b = _mm_castsi128_ps(y);
  __m128i out;
  if constexpr (kWhat == Do::min || kWhat == Do::max) {
    const __m128i kx = single_key(x), ky = single_key(y);
    const __m128i take_y = kWhat == Do::min ? _mm_cmpgt_epi32(kx, ky) : _mm_cmpgt_epi32(ky, kx);
    out = pick(x, y, take_y, single_nan(x), single_nan(y), _mm_set1_epi32(0x7fc00000));
  } else if constexpr (kWhat == Do::eq || kWhat == Do::lt || kWhat == Do::le) {
    out = _mm_castps_si128(arithmetic(kWhat, a, b));
  } else if constexpr (kWhat == Do::fused || kWhat == Do::scaled) {
    const __m128 c = _mm_castsi128_ps(load_bits(f, r.rs3, 2));
    const __m128 factor = kWhat == Do::scaled ? _mm_shuffle_ps(a, a, 0) : a;
    out = _mm_castps_si128(canonical(_mm_fmadd_ps(factor, b, c)));
  } else {
    out = _mm_castps_si128(canonical(arithmetic(kWhat, a, b)));
  }
  store_bits(f, r.rd, 2, out);
}

/// kLanes f16 to f32.
template <unsigned kLanes>
VECTOR void widen(std::uint32_t* f, Registers r, std::uint64_t, Op) {
  const __m128i x = load_bits(f, r.rs1, kLanes == 4 ? 2 : 1);
  store_bits(f, r.rd, kLanes, _mm_castps_si128(canonical(_mm_cvtph_ps(x))));
}

/// `lanes` of f16 from the low lanes of `v` to registers; a single lane clears the other.
template <unsigned kLanes>
VECTOR inline void store_halves(std::uint32_t* f, unsigned number, __m128i v) {
  if constexpr (kLanes == 1) {
    f[number] = static_cast<std::uint32_t>(_mm_extract_epi16(v, 0));
  } else {
    store_bits(f, number, kLanes / 2, v);
  }
}

template <unsigned kLanes>
VECTOR void narrow(std::uint32_t* f, Registers r, std::uint64_t, Op) {
  store_halves<kLanes>(f, r.rd, to_halves(_mm_castsi128_ps(load_bits(f, r.rs1, kLanes))));
}

/// half_from_f32_stochastic on lanes. drop = 13, or more below 2^-14; a shift of 32 or more gives 0 as it should.
template <unsigned kLanes>
VECTOR void narrow_stochastic(std::uint32_t* f, Registers r, std::uint64_t draw, Op) {
  const __m128i v = load_bits(f, r.rs1, kLanes);
  const __m128i magnitude = _mm_and_si128(v, _mm_set1_epi32(0x7fffffff));
  const __m128i exponent = _mm_srli_epi32(magnitude, 23);
  const __m128i significand = _mm_or_si128(_mm_and_si128(v, _mm_set1_epi32(0x007fffff)), _mm_set1_epi32(0x00800000));
  const __m128i drop = _mm_max_epi32(_mm_sub_epi32(_mm_set1_epi32(126), exponent), _mm_set1_epi32(13));
  const __m128i units = _mm_srlv_epi32(significand, drop);
  const __m128i dropped = _mm_sub_epi32(significand, _mm_sllv_epi32(units, drop));
  // The top 16 of `drop` bits: 3 to the left for the least drop, 13.
  const __m128i top = _mm_srlv_epi32(_mm_slli_epi32(dropped, 3), _mm_sub_epi32(drop, _mm_set1_epi32(13)));
  const __m128i random = _mm_cvtepu16_epi32(_mm_cvtsi64_si128(static_cast<long long>(draw)));
  const __m128i up = _mm_srli_epi32(_mm_add_epi32(top, random), 16);
  const __m128i place = _mm_sub_epi32(_mm_max_epi32(exponent, _mm_set1_epi32(113)), _mm_set1_epi32(113));
  __m128i out = _mm_add_epi32(_mm_slli_epi32(place, 10), _mm_add_epi32(units, up));
  out = _mm_min_epi32(out, _mm_set1_epi32(0x7c00));
  out = _mm_or_si128(out, _mm_and_si128(_mm_srli_epi32(v, 16), _mm_set1_epi32(0x8000)));
  out = _mm_blendv_epi8(out, _mm_set1_epi32(0x7e00), _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7f800000)));
  store_halves<kLanes>(f, r.rd, _mm_packus_epi32(out, out));
}

/// f32 to signed integers: the host says 0x80000000 for all that does not fit; what is not below 2^31 turns over.
template <unsigned kLanes>
VECTOR void to_integers(std::uint32_t* f, Registers r, std::uint64_t, Op) {
  const __m128 v = _mm_castsi128_ps(load_bits(f, r.rs1, kLanes));
  const __m128i over = _mm_castps_si128(_mm_cmp_ps(v, _mm_set1_ps(2147483648.0f), _CMP_NLT_UQ));
  store_bits(f, r.rd, kLanes, _mm_xor_si128(_mm_cvtps_epi32(v), over));
}
template <unsigned kLanes>
VECTOR void from_integers(std::uint32_t* f, Registers r, std::uint64_t, Op) {
  store_bits(f, r.rd, kLanes, _mm_castps_si128(_mm_cvtepi32_ps(load_bits(f, r.rs1, kLanes))));
}
VECTOR void from_unsigned(std::uint32_t* f, Registers r, std::uint64_t, Op) {
  f[r.rd] = detail::to_bits(static_cast<float>(static_cast<std::int64_t>(f[r.rs1])));
}

/// Sums over f16 lanes, each addition rounded.
template <unsigned kLanes>
VECTOR void sum_halves(std::uint32_t* f, Registers r, std::uint64_t, Op) {
  const __m128 v = _mm_cvtph_ps(load_bits(f, r.rs1, kLanes / 2));
  __m128i sums = to_halves(_mm_add_ps(v, _mm_shuffle_ps(v, v, _MM_SHUFFLE(2, 3, 0, 1))));  // in lanes 0 and 2
  if constexpr (kLanes == 4) {
    const __m128 pairs = _mm_cvtph_ps(sums);
    sums = to_halves(_mm_add_ss(pairs, _mm_shuffle_ps(pairs, pairs, _MM_SHUFFLE(2, 2, 2, 2))));
  }
  store_halves<1>(f, r.rd, sums);
}
VECTOR void sum_singles(std::uint32_t* f, Registers r, std::uint64_t, Op) {
  const __m128 v = _mm_castsi128_ps(load_bits(f, r.rs1, 2));
  store_bits(f, r.rd, 1, _mm_castps_si128(canonical(_mm_add_ss(v, _mm_shuffle_ps(v, v, 1)))));
}

/// Products are exact in f32.
VECTOR void dot(std::uint32_t* f, Registers r, std::uint64_t, Op) {
  const __m128 products = _mm_mul_ps(_mm_cvtph_ps(load_bits(f, r.rs1, 2)), _mm_cvtph_ps(load_bits(f, r.rs2, 2)));
  const __m128 pairs = _mm_add_ps(products, _mm_shuffle_ps(products, products, _MM_SHUFFLE(2, 3, 0, 1)));
  const __m128 all = _mm_add_ss(pairs, _mm_shuffle_ps(pairs, pairs, _MM_SHUFFLE(2, 2, 2, 2)));
  const __m128 sum = _mm_add_ss(_mm_castsi128_ps(load_bits(f, r.rs3, 1)), all);
  store_bits(f, r.rd, 1, _mm_castps_si128(canonical(sum)));
}

void use_vector_kernels(SimdKernels& k) {
  constexpr bool raises = true;
#define TESSERA_LANES(name, what)                            \
  set(k, Op::x_##name##_f16v2, halves<Do::what, 1>, raises); \
  set(k, Op::x_##name##_f16v4, halves<Do::what, 2>, raises); \
  set(k, Op::x_##name##_f32v2, singles<Do::what>, raises);
  TESSERA_LANES(add, add)
  TESSERA_LANES(sub, sub)
  TESSERA_LANES(mul, mul)
  TESSERA_LANES(max, max)
  TESSERA_LANES(min, min)
  TESSERA_LANES(cmpeq, eq)
  TESSERA_LANES(cmplt, lt)
  TESSERA_LANES(cmple, le)
  TESSERA_LANES(mac, fused)
  TESSERA_LANES(sadd, scaled)
#undef TESSERA_LANES
  set(k, Op::x_cvt_f32_f16, widen<1>, raises);
  set(k, Op::x_cvt_f32v2_f16v2, widen<2>, raises);
  set(k, Op::x_cvt_f32v4_f16v4, widen<4>, raises);
  set(k, Op::x_cvt_f16_f32, narrow<1>, raises);
  set(k, Op::x_cvt_f16v2_f32v2, narrow<2>, raises);
  set(k, Op::x_cvt_f16v4_f32v4, narrow<4>, raises);
  set(k, Op::x_cvt_sr_f16_f32, narrow_stochastic<1>);
  set(k, Op::x_cvt_sr_f16v2_f32v2, narrow_stochastic<2>);
  set(k, Op::x_cvt_sr_f16v4_f32v4, narrow_stochastic<4>);
  set(k, Op::x_cvt_i32_f32, to_integers<1>, raises);
  set(k, Op::x_cvt_i32v2_f32v2, to_integers<2>, raises);
  set(k, Op::x_cvt_f32_i32, from_integers<1>, raises);
  set(k, Op::x_cvt_f32v2_i32v2, from_integers<2>, raises);
  set(k, Op::x_cvt_f32_u32, from_unsigned, raises);
  set(k, Op::x_sum_f16v2, sum_halves<2>, raises);
  set(k, Op::x_sum_f16v4, sum_halves<4>, raises);
  set(k, Op::x_sum_f32v2, sum_singles, raises);
  set(k, Op::x_dot_f16v4, dot, raises);
}

#endif

SimdKernels best() {
  SimdKernels k = portable();
  use_bit_kernels(k);
#if TESSERA_FLOAT_SSE
  if (host_vectors()) use_vector_kernels(k);
#endif
  return k;
}

}  // namespace

bool host_vectors() {
#if TESSERA_FLOAT_SSE
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
#else
  return false;
#endif
}

const SimdKernels& simd_kernels() {
  static const SimdKernels kernels = best();
  return kernels;
}

const SimdKernels& portable_simd_kernels() {
  static const SimdKernels kernels = portable();
  return kernels;
}

}  // namespace tessera::fp::fast
