/* Functions of f32 for elementwise codelets, inlined; the same bits on host and tile. f16 elements go through them and
 * one rounding.
 *
 * exp, log, tanh and sigmoid are the machine's instructions (at most 2 ulp). The others are polynomials (minimax in
 * double precision, rounded to f32) and these instructions: sin, cos, tan, atan, asin, acos, sinh, cosh and erf within
 * a few ulp, pow too (its logarithm is a sum of two f32). host/codelets/vertex_cases_map.cpp checks them. */
#ifndef TESSERA_CODELETS_FUNCTIONS_H_
#define TESSERA_CODELETS_FUNCTIONS_H_

#include "lanes.h"

#define FN_NAN tessera_f32_from_bits(0x7fc00000u)
#define FN_INFINITY tessera_f32_from_bits(0x7f800000u)

static inline f32 fn_abs(f32 x) { return tessera_f32_from_bits(tessera_f32_bits(x) & 0x7fffffffu); }
static inline f32 fn_sign_of(f32 x, f32 from) {
  return tessera_f32_from_bits((tessera_f32_bits(x) & 0x7fffffffu) | (tessera_f32_bits(from) & 0x80000000u));
}
static inline f32 fn_sqrt(f32 x) { return tessera_f32(__builtin_sqrtf(x)); }

/* To an integer: toward minus infinity, plus infinity, nearest even. From 2^23 on every f32 is one. The sign stays. */
static inline f32 fn_round(f32 x) {
  if (!(fn_abs(x) < 8388608.0f)) return tessera_f32(x + 0.0f); /* a NaN becomes canonical */
  return fn_sign_of((f32)tessera_f32_to_i32_nearest(x), x);
}
static inline f32 fn_floor(f32 x) {
  if (!(fn_abs(x) < 8388608.0f)) return tessera_f32(x + 0.0f); /* a NaN becomes canonical */
  const f32 whole = (f32)tessera_f32_to_i32(x);
  return fn_sign_of(whole > x ? whole - 1.0f : whole, x);
}
static inline f32 fn_ceil(f32 x) {
  if (!(fn_abs(x) < 8388608.0f)) return tessera_f32(x + 0.0f); /* a NaN becomes canonical */
  const f32 whole = (f32)tessera_f32_to_i32(x);
  return fn_sign_of(whole < x ? whole + 1.0f : whole, x);
}
static inline f32 fn_sign(f32 x) {
  if (x != x) return FN_NAN;
  return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f;
}

/* log(1 + x): what rounding lost in 1 + x is put back. */
static inline f32 fn_log1p(f32 x) {
  const f32 u = 1.0f + x;
  const f32 y = lane_log_f32(u);
  if (!(u > 0.0f) || u == FN_INFINITY) return y;
  return y + (x - (u - 1.0f)) / u;
}

/* exp(x) - 1. */
static inline f32 fn_expm1(f32 x) {
  if (!(fn_abs(x) < 0.5f)) return tessera_f32(lane_exp_f32(x) - 1.0f);
  f32 p = tessera_fma(1.99275819e-4f, x, 1.39666093e-3f);
  p = tessera_fma(p, x, 8.33327975e-3f);
  p = tessera_fma(p, x, 4.16661799e-2f);
  p = tessera_fma(p, x, 0.166666672f);
  return x + tessera_fma(p * x, x * x, 0.5f * (x * x));
}

/* x as quadrant * pi/2 + rest, |rest| <= pi/4 and a little; returns the quadrant modulo 4. */
static inline u32 fn_quadrant(f32 x, f32* rest) {
  const u32 bits = tessera_f32_bits(x), magnitude = bits & 0x7fffffffu;
  if (magnitude < 0x47800000u) { /* below 65536: pi/2 in three parts */
    const i32 n = tessera_f32_to_i32_nearest(x * 0.636619747f);
    const f32 k = (f32)n;
    f32 r = tessera_fma(k, -1.57079637f, x);
    const f32 high = tessera_fma(k, 4.37113883e-8f, r);
    const f32 low = tessera_fma(k, 4.37113883e-8f, r - high);
    *rest = high + tessera_fma(k, 1.71512451e-15f, low);
    return (u32)n;
  }
  /* The mantissa times 2/pi, of whose bits only those count that give quadrant and fraction. */
  static const u32 two_over_pi[8] = {0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                                     0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
  const u32 mantissa = (bits & 0x007fffffu) | 0x00800000u;
  /* x = mantissa * 2^exponent, exponent >= -7; the window begins 2 bits above the unit of quadrants. */
  const u32 position = (magnitude >> 23) - 150 + 30;
  const u32 word = position >> 5, shift = position & 31;
  u32 w[3];
  for (u32 i = 0; i < 3; ++i)
    w[i] = shift ? two_over_pi[word + i] << shift | two_over_pi[word + i + 1] >> (32 - shift) : two_over_pi[word + i];
  const uint64_t low = (uint64_t)mantissa * w[2], middle = (uint64_t)mantissa * w[1];
  const uint64_t sum = ((uint64_t)(mantissa * w[0]) << 32) + middle + (low >> 32);
  const u32 top = (u32)(sum >> 62);
  uint64_t fraction = sum << 2;
  u32 quadrant = top;
  const u32 negative = (u32)(fraction >> 63); /* nearest: the rest may be below zero */
  if (negative) fraction = 0 - fraction, ++quadrant;
  f32 r = (f32)(u32)(fraction >> 32) * 0x1p-32f + (f32)(u32)fraction * 0x1p-64f;
  r = r * 1.57079637f;
  if (negative) r = -r;
  *rest = bits >> 31 ? -r : r;
  return bits >> 31 ? 0 - quadrant : quadrant;
}

static inline f32 fn_sin_rest(f32 r) {
  const f32 z = r * r;
  f32 p = tessera_fma(-1.95853732e-4f, z, 8.33273679e-3f);
  p = tessera_fma(p, z, -0.166666642f);
  return tessera_fma(p * z, r, r);
}
static inline f32 fn_cos_rest(f32 r) {
  const f32 z = r * r;
  f32 p = tessera_fma(2.45454194e-5f, z, -1.38882909e-3f);
  p = tessera_fma(p, z, 4.16666642e-2f);
  const f32 half = 0.5f * z, high = 1.0f - half;
  return high + tessera_fma(p * z, z, (1.0f - high) - half);
}
static inline f32 fn_sin(f32 x) {
  if (!(fn_abs(x) < FN_INFINITY)) return FN_NAN;
  f32 r;
  const u32 q = fn_quadrant(x, &r);
  if (fn_abs(x) < 0x1p-12f) return x;
  const f32 y = q & 1 ? fn_cos_rest(r) : fn_sin_rest(r);
  return q & 2 ? -y : y;
}
static inline f32 fn_cos(f32 x) {
  if (!(fn_abs(x) < FN_INFINITY)) return FN_NAN;
  f32 r;
  const u32 q = fn_quadrant(x, &r);
  const f32 y = q & 1 ? fn_sin_rest(r) : fn_cos_rest(r);
  return (q + 1) & 2 ? -y : y;
}
static inline f32 fn_tan(f32 x) {
  if (!(fn_abs(x) < FN_INFINITY)) return FN_NAN;
  f32 r;
  const u32 q = fn_quadrant(x, &r);
  if (fn_abs(x) < 0x1p-12f) return x;
  const f32 s = fn_sin_rest(r), c = fn_cos_rest(r);
  return q & 1 ? -c / s : s / c;
}

/* atan(x) for x >= 0, +inf too. */
static inline f32 fn_atan_positive(f32 x) {
  f32 base = 0.0f, low = 0.0f, t = x;
  if (x > 2.41421366f) {
    base = 1.57079637f, low = -4.37113883e-8f, t = -1.0f / x;
  } else if (x > 0.414213568f) {
    base = 0.785398185f, low = -2.18556941e-8f, t = (x - 1.0f) / (x + 1.0f);
  }
  const f32 z = t * t;
  f32 p = tessera_fma(-6.02630526e-2f, z, 0.105698287f);
  p = tessera_fma(p, z, -0.142395332f);
  p = tessera_fma(p, z, 0.199981824f);
  p = tessera_fma(p, z, -0.333333075f);
  return base + (t + tessera_fma(p * z, t, low));
}
static inline f32 fn_atan(f32 x) { return x != x ? FN_NAN : fn_sign_of(fn_atan_positive(fn_abs(x)), x); }
static inline f32 fn_asin(f32 x) {
  const f32 a = fn_abs(x);
  if (!(a <= 1.0f)) return FN_NAN;
  return fn_sign_of(fn_atan_positive(a / __builtin_sqrtf((1.0f - a) * (1.0f + a))), x);
}
static inline f32 fn_acos(f32 x) {
  if (!(fn_abs(x) <= 1.0f)) return FN_NAN;
  return 2.0f * fn_atan_positive(__builtin_sqrtf((1.0f - x) / (1.0f + x)));
}

static inline f32 fn_sinh(f32 x) {
  if (x != x) return FN_NAN;
  const f32 a = fn_abs(x);
  if (a < 1.0f) {
    const f32 z = x * x;
    f32 p = tessera_fma(2.80628024e-6f, z, 1.98381022e-4f);
    p = tessera_fma(p, z, 8.33333936e-3f);
    p = tessera_fma(p, z, 0.166666672f);
    return tessera_fma(p * z, x, x);
  }
  if (a > 88.0f) {
    const f32 half = lane_exp_f32(0.5f * a);
    return tessera_f32(fn_sign_of(0.5f * half * half, x));
  }
  const f32 e = lane_exp_f32(a);
  return tessera_f32(fn_sign_of(0.5f * e - 0.5f / e, x));
}
static inline f32 fn_cosh(f32 x) {
  const f32 a = fn_abs(x);
  if (a > 88.0f) {
    const f32 half = lane_exp_f32(0.5f * a);
    return tessera_f32(0.5f * half * half);
  }
  const f32 e = lane_exp_f32(a);
  return tessera_f32(0.5f * e + 0.5f / e);
}
static inline f32 fn_asinh(f32 x) {
  if (x != x) return FN_NAN;
  const f32 a = fn_abs(x);
  if (!(a < 1e18f)) return tessera_f32(fn_sign_of(lane_log_f32(a) + 0.693147182f, x));
  const f32 square = a * a;
  return fn_sign_of(fn_log1p(a + square / (1.0f + __builtin_sqrtf(square + 1.0f))), x);
}
static inline f32 fn_acosh(f32 x) {
  if (!(x >= 1.0f)) return FN_NAN;
  if (x > 1e18f) return lane_log_f32(x) + 0.693147182f;
  const f32 t = x - 1.0f;
  return fn_log1p(t + __builtin_sqrtf(t * (t + 2.0f)));
}
static inline f32 fn_atanh(f32 x) {
  const f32 a = fn_abs(x);
  if (!(a <= 1.0f)) return FN_NAN;
  if (a == 1.0f) return fn_sign_of(FN_INFINITY, x);
  return fn_sign_of(0.5f * fn_log1p((a + a) / (1.0f - a)), x);
}

static inline f32 fn_erf(f32 x) {
  const f32 a = fn_abs(x);
  if (x != x) return FN_NAN;
  if (a < 1.0f) {
    const f32 z = x * x;
    f32 p = tessera_fma(7.87587487e-5f, z, -8.0168643e-4f);
    p = tessera_fma(p, z, 5.18908724e-3f);
    p = tessera_fma(p, z, -2.68542115e-2f);
    p = tessera_fma(p, z, 0.112835944f);
    p = tessera_fma(p, z, -0.37612626f);
    return tessera_fma(p, z, 1.12837911f) * x;
  }
  if (a >= 4.0f) return fn_sign_of(1.0f, x);
  const f32 s = (a - 2.5f) * 0.666666687f;
  f32 p = tessera_fma(-0.000258006097f, s, -9.49723835e-05f);
  p = tessera_fma(p, s, 0.00203279871f);
  p = tessera_fma(p, s, -0.00154291105f);
  p = tessera_fma(p, s, -0.00466702878f);
  p = tessera_fma(p, s, 0.0104118455f);
  p = tessera_fma(p, s, -0.00663786428f);
  p = tessera_fma(p, s, -0.00957930554f);
  p = tessera_fma(p, s, 0.0318684503f);
  p = tessera_fma(p, s, -0.0463895835f);
  p = tessera_fma(p, s, 0.0436514802f);
  p = tessera_fma(p, s, -0.0281874072f);
  p = tessera_fma(p, s, 0.01225283f);
  p = tessera_fma(p, s, -0.00326727028f);
  p = tessera_fma(p, s, 0.000406952022f);
  return fn_sign_of(1.0f - p, x);
}

/* log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)). */
static inline f32 fn_softplus(f32 x) {
  if (x != x) return FN_NAN;
  return (x > 0.0f ? x : 0.0f) + fn_log1p(lane_exp_f32(-fn_abs(x)));
}

/* log2(x) of a positive normal x as high + low. */
static inline f32 fn_log2_parts(u32 bits, i32 shift, f32* low) {
  const i32 above = (i32)(bits - 0x3f3504f3u);
  const f32 n = (f32)((above >> 23) - shift);
  const f32 m = tessera_f32_from_bits(((u32)above & 0x007fffffu) + 0x3f3504f3u);
  /* s = (m - 1) / (m + 1) in two parts; log2 m = 2 / ln 2 * (s + s^3 / 3 + ...). */
  const f32 above_one = m - 1.0f, d = m + 1.0f, d_low = m < 1.0f ? (1.0f - d) + m : (m - d) + 1.0f;
  const f32 s = above_one / d;
  const f32 s_low = tessera_fma(-s, d_low, tessera_fma(-s, d, above_one)) / d;
  const f32 z = s * s;
  f32 p = tessera_fma(0.332763821f, z, 0.41206044f);
  p = tessera_fma(p, z, 0.577078223f);
  const f32 cube = s * z, cube_low = tessera_fma(s, z, -cube) + s * tessera_fma(s, s, -z);
  const f32 t = 2.88539004f * s;
  f32 rest = tessera_fma(2.88539004f, s, -t);
  rest = tessera_fma(3.85192607e-8f, s, rest);
  rest = tessera_fma(2.88539004f, s_low, rest);
  const f32 u = 0.961796701f * cube;
  f32 rest_u = tessera_fma(0.961796701f, cube, -u);
  rest_u = tessera_fma(-7.02846181e-9f, cube, rest_u);
  rest_u = tessera_fma(0.961796701f, cube_low, rest_u);
  rest_u = tessera_fma(p * z, cube, rest_u);
  /* n + t + u, exact but for the smallest parts: |n| >= 1 or 0, |t| > |u|. */
  const f32 tu = t + u, tu_low = u - (tu - t);
  const f32 high = n + tu, high_low = n == 0.0f ? 0.0f : tu - (high - n);
  *low = high_low + (tu_low + (rest + rest_u));
  return high;
}

static inline f32 fn_pow(f32 x, f32 y) {
  if (y == 0.0f || x == 1.0f) return 1.0f;
  if (x != x || y != y) return FN_NAN;
  const f32 ay = fn_abs(y);
  /* 2: y is an even integer, 1: odd, 0: not an integer. */
  u32 whole = 2;
  if (ay < 16777216.0f) {
    const i32 i = tessera_f32_to_i32(y);
    whole = (f32)i != y ? 0 : i & 1 ? 1 : 2;
  }
  const u32 negative = tessera_f32_bits(x) >> 31 && whole == 1;
  u32 bits = tessera_f32_bits(x) & 0x7fffffffu;
  const f32 sign = negative ? -1.0f : 1.0f;
  if (bits == 0) return sign * (y < 0.0f ? FN_INFINITY : 0.0f);
  if (bits == 0x7f800000u) return sign * (y < 0.0f ? 0.0f : FN_INFINITY);
  if (tessera_f32_bits(x) >> 31 && whole == 0 && ay != FN_INFINITY) return FN_NAN;
  if (ay == FN_INFINITY) {
    if (bits == 0x3f800000u) return 1.0f;
    return (bits > 0x3f800000u) == (y > 0.0f) ? FN_INFINITY : 0.0f;
  }
  if (y == 2.0f) return tessera_f32(x * x);
  i32 shift = 0;
  if (bits < 0x00800000u) bits = tessera_f32_bits(tessera_f32_from_bits(bits) * 8388608.0f), shift = 23;
  f32 low;
  const f32 high = fn_log2_parts(bits, shift, &low);
  const f32 product = y * high;
  if (product >= 129.0f) return sign * FN_INFINITY;
  if (product <= -151.0f) return sign * 0.0f;
  const f32 product_low = tessera_fma(y, low, tessera_fma(y, high, -product));
  const i32 n = tessera_f32_to_i32_nearest(product);
  const f32 r = (product - (f32)n) + product_low;
  f32 p = tessera_fma(1.52973244e-5f, r, 1.54614449e-4f);
  p = tessera_fma(p, r, 1.3333502e-3f);
  p = tessera_fma(p, r, 9.61805694e-3f);
  p = tessera_fma(p, r, 5.55041097e-2f);
  p = tessera_fma(p, r, 0.240226507f);
  p = tessera_fma(p, r, 0.693147182f);
  p = tessera_fma(p, r, 1.0f);
  const i32 half = n >> 1; /* two factors, so that each is normal and only the last product rounds */
  const f32 first = tessera_f32_from_bits((u32)(half + 127) << 23);
  const f32 second = tessera_f32_from_bits((u32)(n - half + 127) << 23);
  return sign * (p * first * second);
}

/* Remainder with the sign of x, exact. */
static inline f32 fn_fmod(f32 x, f32 y) {
  const u32 sign = tessera_f32_bits(x) & 0x80000000u;
  u32 a = tessera_f32_bits(x) & 0x7fffffffu, b = tessera_f32_bits(y) & 0x7fffffffu;
  if (a >= 0x7f800000u || b > 0x7f800000u || b == 0) return FN_NAN;
  if (a < b) return x;
  i32 ea = (i32)(a >> 23), eb = (i32)(b >> 23);
  u32 ma = a & 0x007fffffu, mb = b & 0x007fffffu;
  if (ea)
    ma |= 0x00800000u;
  else
    ea = 1;
  if (eb)
    mb |= 0x00800000u;
  else
    eb = 1;
  for (ma %= mb; ea > eb && ma; --ea) ma = (ma << 1) % mb;
  if (ma == 0) return tessera_f32_from_bits(sign);
  while (ma < 0x00800000u && eb > 1) ma <<= 1, --eb;
  const u32 bits = ma < 0x00800000u ? ma : (ma & 0x007fffffu) | (u32)eb << 23;
  return tessera_f32_from_bits(sign | bits);
}

/* 1 / b = high + low to 2^-36 of it, for b of 11 significant bits, not 0 and finite: high has 13 bits, so that its
 * product with another such number is exact; low has the sign of high and is not 0. */
static inline void fn_inverse(f32 b, f32* high, f32* low) {
  const f32 whole = tessera_f32(1.0f / b);
  *high = tessera_f32_from_bits(tessera_f32_bits(whole) & 0xfffff800u);
  *low = tessera_f32(tessera_fma(-b, *high, 1.0f) / b);
  if (*low == 0.0f) *high = *low = whole * 0.5f;
}

#endif /* TESSERA_CODELETS_FUNCTIONS_H_ */
