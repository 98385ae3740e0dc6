/* exp, log, tanh and sigmoid of f32 in F instructions, inlined into loops so that constants stay in registers.
 *
 * Each is within 2 units in the last place of the exact value over all f32 (host/codelets/math_test.cpp measures it),
 * handles infinities, NaNs and subnormals, and gives the same bits on host and tile. Polynomials are minimax fits in
 * double precision, rounded to f32. Slots: exp about 20, log 27, sigmoid 27, tanh 13 to 29 an element. */
#ifndef TESSERA_CODELETS_MATH_H_
#define TESSERA_CODELETS_MATH_H_

#include "tessera/vertex.h"

#define TESSERA_INFINITY_BITS 0x7f800000u
#define TESSERA_NAN_BITS 0x7fc00000u
#define TESSERA_LN2_HI 0.693145752f    /* ln 2 to 16 bits: its product with an exponent is exact */
#define TESSERA_LN2_LO 1.42860677e-06f /* and the rest */

/* exp(r) for |r| <= 0.347, r the rest of the argument after n = nearest(x / ln 2); `low` is about what rounding
 * r and the result lost. */
static inline f32 tessera_exp_reduced(f32 x, i32* n, f32* low) {
  *n = tessera_f32_to_i32_nearest(x * 1.44269504f);
  const f32 scale = (f32)*n;
  const f32 exact = tessera_fma(scale, -TESSERA_LN2_HI, x);
  const f32 r = tessera_fma(scale, -TESSERA_LN2_LO, exact);
  f32 p = tessera_fma(1.395047642e-3f, r, 8.368902840e-3f);
  p = tessera_fma(p, r, 4.166620597e-2f);
  p = tessera_fma(p, r, 1.666651964e-1f);
  p = tessera_fma(p, r, 0.5f);
  /* 1 + r in two parts, so that only the last addition rounds at the size of the result. */
  const f32 high = 1.0f + r;
  const f32 rest = tessera_fma(p, r * r, r - (high - 1.0f));
  const f32 result = high + rest;
  *low = (rest - (result - high)) + tessera_fma(scale, -TESSERA_LN2_LO, exact - r);
  return result;
}

static inline f32 tessera_exp(f32 x) {
  const uint32_t magnitude = tessera_f32_bits(x) & 0x7fffffffu;
  i32 n;
  f32 low;
  if (__builtin_expect(magnitude < 0x42ae0000u, 1)) { /* |x| < 87: the result is normal */
    const f32 p = tessera_exp_reduced(x, &n, &low);
    return tessera_f32_from_bits(tessera_f32_bits(p) + ((uint32_t)n << 23));
  }
  if (x != x) return tessera_f32_from_bits(TESSERA_NAN_BITS);
  if (x > 88.7228394f) return tessera_f32_from_bits(TESSERA_INFINITY_BITS);
  if (x < -103.972084f) return 0.0f;
  const f32 p = tessera_exp_reduced(x, &n, &low);
  const i32 half = n >> 1; /* two factors, so that each is normal and only the last product rounds */
  const f32 first = tessera_f32_from_bits((uint32_t)(half + 127) << 23);
  const f32 second = tessera_f32_from_bits((uint32_t)(n - half + 127) << 23);
  return p * first * second;
}

static inline f32 tessera_log(f32 x) {
  uint32_t bits = tessera_f32_bits(x);
  i32 shift = 0;
  if (__builtin_expect(bits - 0x00800000u >= 0x7f000000u, 0)) { /* not a positive normal number */
    if ((bits & 0x7fffffffu) == 0) return tessera_f32_from_bits(TESSERA_INFINITY_BITS | 0x80000000u);
    if (bits == TESSERA_INFINITY_BITS) return x;
    if (bits > TESSERA_INFINITY_BITS) return tessera_f32_from_bits(TESSERA_NAN_BITS); /* negative or NaN */
    bits = tessera_f32_bits(x * 8388608.0f);
    shift = 23;
  }
  /* x = 2^n m with m in [sqrt(1/2), sqrt(2)). */
  const i32 above = (i32)(bits - 0x3f3504f3u);
  const f32 n = (f32)((above >> 23) - shift);
  const f32 f = tessera_f32_from_bits(((uint32_t)above & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  f32 p = tessera_fma(-7.863227278e-2f, f, 1.287854910e-1f);
  p = tessera_fma(p, f, -1.312576234e-1f);
  p = tessera_fma(p, f, 1.418153048e-1f);
  p = tessera_fma(p, f, -1.662493795e-1f);
  p = tessera_fma(p, f, 2.000227720e-1f);
  p = tessera_fma(p, f, -2.500079870e-1f);
  p = tessera_fma(p, f, 3.333331645e-1f);
  const f32 square = f * f;
  f32 rest = (square * f) * p;
  rest = tessera_fma(n, TESSERA_LN2_LO, rest);
  rest = tessera_fma(square, -0.5f, rest);
  return tessera_fma(n, TESSERA_LN2_HI, f + rest);
}

/* With e = exp(-|x|): 1 / (1 + e), or e / (1 + e) for a negative x. There the ulp of the result may be half that of e,
 * so what rounding lost in e and in 1 + e is put back: ds = s (1 - s) (de / e - dd), with 1 / p within a tenth of
 * 2.121 - p. */
static inline f32 tessera_sigmoid(f32 x) {
  const uint32_t bits = tessera_f32_bits(x);
  const f32 negative = tessera_f32_from_bits(bits | 0x80000000u);
  if (__builtin_expect((bits & 0x7fffffffu) >= 0x42ae0000u, 0)) { /* |x| >= 87: 1, or exp(x), or a NaN */
    if (x != x) return tessera_f32_from_bits(TESSERA_NAN_BITS);
    return bits >> 31 ? tessera_exp(x) : 1.0f;
  }
  i32 n;
  f32 low;
  const f32 p = tessera_exp_reduced(negative, &n, &low);
  const f32 e = tessera_f32_from_bits(tessera_f32_bits(p) + ((uint32_t)n << 23));
  const f32 d = 1.0f + e;
  if (!(bits >> 31)) return 1.0f / d;
  const f32 s = e / d;
  const f32 lost = tessera_fma(low, 2.121f - p, (d - 1.0f) - e);
  return tessera_fma(tessera_fma(-s, s, s), lost, s);
}

static inline f32 tessera_tanh(f32 x) {
  const f32 a = tessera_f32_from_bits(tessera_f32_bits(x) & 0x7fffffffu);
  const uint32_t sign = tessera_f32_bits(x) & 0x80000000u;
  if (x != x) return tessera_f32_from_bits(TESSERA_NAN_BITS);
  f32 y = 1.0f; /* from 9.02 on the nearest f32 is 1 */
  if (a < 0.625f) {
    const f32 z = a * a;
    f32 p = tessera_fma(2.124857623e-3f, z, -8.158907294e-3f);
    p = tessera_fma(p, z, 2.169384062e-2f);
    p = tessera_fma(p, z, -5.394564942e-2f);
    p = tessera_fma(p, z, 1.333319843e-1f);
    p = tessera_fma(p, z, -3.333333135e-1f);
    y = tessera_fma(p * z, a, a);
  } else if (a < 9.1f) {
    y = 1.0f - 2.0f / (tessera_exp(a + a) + 1.0f);
  }
  return tessera_f32_from_bits(tessera_f32_bits(y) | sign);
}

#endif /* TESSERA_CODELETS_MATH_H_ */
