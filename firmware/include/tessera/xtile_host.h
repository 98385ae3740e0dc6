/* Xtile arithmetic for the host's build of codelets: what a codelet's plain body needs to give the bits of its x_block.
 *
 * Numbers are passed as bits, so that no host register changes a NaN: f32 as uint32_t, f16 as uint16_t. Every function
 * is named after its instruction. Results that are NaNs are canonical, 0x7fc00000 and 0x7e00. Subnormals are kept. The
 * host computes f32 arithmetic in IEEE single precision, nearest even, without contraction. Not built for tiles. */
#ifndef TESSERA_XTILE_HOST_H_
#define TESSERA_XTILE_HOST_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline float tessera_host_float(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}
/* A result of f32 arithmetic: NaNs canonical. */
static inline uint32_t tessera_host_bits(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  return value != value ? 0x7fc00000u : bits;
}

/* x.cvt.f32.f16: exact. */
static inline uint32_t tessera_host_f32_of_f16(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
  if (exponent == 31) return fraction ? 0x7fc00000u : sign | 0x7f800000u;
  if (exponent) return sign | (exponent + 112) << 23 | fraction << 13;
  return sign | tessera_host_bits((float)fraction * 0x1p-24f);
}

/* x.cvt.f16.f32: nearest even. */
static inline uint16_t tessera_host_f16_of_f32(uint32_t bits) {
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0x7e00;
  if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 and more */
  if (magnitude >= 0x38800000) {                                 /* a normal f16 */
    const uint32_t up = (magnitude >> 13 & 1) + 0xfff;
    return (uint16_t)(sign | ((magnitude + up - 0x38000000) >> 13));
  }
  /* A sum with 2^-1 * 2^-24 * 2^23 leaves the fraction in units of 2^-24, rounded by the addition. */
  return (uint16_t)(sign | (tessera_host_bits(tessera_host_float(magnitude) + 0.5f) - 0x3f000000));
}

/* x.exp.f32 and so on: the integer programs of hw/arith, which tiles execute too. */
uint32_t tessera_host_exp_f32(uint32_t a);
uint32_t tessera_host_log_f32(uint32_t a);
uint32_t tessera_host_tanh_f32(uint32_t a);
uint32_t tessera_host_sigmoid_f32(uint32_t a);
uint32_t tessera_host_rsqrt_f32(uint32_t a);
uint16_t tessera_host_exp_f16(uint16_t a);
uint16_t tessera_host_log_f16(uint16_t a);
uint16_t tessera_host_tanh_f16(uint16_t a);
uint16_t tessera_host_sigmoid_f16(uint16_t a);

/* One lane of x.add.f16vN and so on: one rounding. A double holds every sum and product of f16; the f32 between is
 * exact for a product and wide enough for a sum (24 >= 2 * 11 + 2). */
static inline uint16_t tessera_host_add_f16(uint16_t a, uint16_t b) {
  return tessera_host_f16_of_f32(tessera_host_bits(tessera_host_float(tessera_host_f32_of_f16(a)) +
                                                   tessera_host_float(tessera_host_f32_of_f16(b))));
}
static inline uint16_t tessera_host_sub_f16(uint16_t a, uint16_t b) {
  return tessera_host_f16_of_f32(tessera_host_bits(tessera_host_float(tessera_host_f32_of_f16(a)) -
                                                   tessera_host_float(tessera_host_f32_of_f16(b))));
}
static inline uint16_t tessera_host_mul_f16(uint16_t a, uint16_t b) {
  return tessera_host_f16_of_f32(tessera_host_bits(tessera_host_float(tessera_host_f32_of_f16(a)) *
                                                   tessera_host_float(tessera_host_f32_of_f16(b))));
}
/* x.min and x.max: a NaN loses to a number, two NaNs give the canonical one, -0 is below +0. */
static inline uint32_t tessera_host_max_f32(uint32_t a, uint32_t b) {
  const float x = tessera_host_float(a), y = tessera_host_float(b);
  if (x != x) return tessera_host_bits(y);
  if (y != y) return a;
  if (x == y) return a & b;
  return x > y ? a : b;
}
static inline uint32_t tessera_host_min_f32(uint32_t a, uint32_t b) {
  const float x = tessera_host_float(a), y = tessera_host_float(b);
  if (x != x) return tessera_host_bits(y);
  if (y != y) return a;
  if (x == y) return a | b;
  return x < y ? a : b;
}
static inline uint16_t tessera_host_max_f16(uint16_t a, uint16_t b) {
  return tessera_host_f16_of_f32(tessera_host_max_f32(tessera_host_f32_of_f16(a), tessera_host_f32_of_f16(b)));
}
static inline uint16_t tessera_host_min_f16(uint16_t a, uint16_t b) {
  return tessera_host_f16_of_f32(tessera_host_min_f32(tessera_host_f32_of_f16(a), tessera_host_f32_of_f16(b)));
}
/* x.dot.f16v4: sum + ((a0 b0 + a1 b1) + (a2 b2 + a3 b3)), products exact, each sum rounded to f32. */
static inline uint32_t tessera_host_dot_f16v4(const uint16_t* a, const uint16_t* b, uint32_t sum) {
  float p[4];
  for (int i = 0; i < 4; ++i)
    p[i] = tessera_host_float(tessera_host_f32_of_f16(a[i])) * tessera_host_float(tessera_host_f32_of_f16(b[i]));
  const float low = p[0] + p[1], high = p[2] + p[3], four = low + high;
  return tessera_host_bits(tessera_host_float(sum) + four);
}

#ifdef __cplusplus
}
#endif

#endif /* TESSERA_XTILE_HOST_H_ */
