/* Elementwise functions of one operand as multi-vertices (map.h). Names: Map, operation, type. */
#include "map.h"

/* Numbers below zero give +0; NaNs stay. */
static inline f32 map_relu(f32 x) { return x < 0.0f ? 0.0f : x; }
static inline f16 map_relu_half(f16 x) { return (u32)(x - 0x8001) < 0x7c00 ? 0 : x; }
MAP_FAST(MapRelu_f32, f32, 2, map_relu, RELU_NAN_F32_0, RELU_NAN_F32_1, 4)
MAP_FAST(MapRelu_f16, f16, 4, map_relu_half, RELU_NAN_F16_0, RELU_NAN_F16_1, 4)
MAP_FAST(MapExp_f32, f32, 2, lane_exp_f32, EXP_F32_0, EXP_F32_1, 4)
MAP_FAST(MapExp_f16, f16, 4, lane_exp_f16, EXP_F16_0, EXP_F16_1, 4)
MAP_FAST(MapLog_f32, f32, 2, lane_log_f32, LOG_F32_0, LOG_F32_1, 4)
MAP_FAST(MapLog_f16, f16, 4, lane_log_f16, LOG_F16_0, LOG_F16_1, 4)
MAP_FAST(MapTanh_f32, f32, 2, lane_tanh_f32, TANH_F32_0, TANH_F32_1, 4)
MAP_FAST(MapTanh_f16, f16, 4, lane_tanh_f16, TANH_F16_0, TANH_F16_1, 4)
MAP_FAST(MapSigmoid_f32, f32, 2, lane_sigmoid_f32, SIGMOID_F32_0, SIGMOID_F32_1, 4)
MAP_FAST(MapSigmoid_f16, f16, 4, lane_sigmoid_f16, SIGMOID_F16_0, SIGMOID_F16_1, 4)

/* Bits only: NaNs stay. */
#define NEG_HALF(x) (f16)((x) ^ 0x8000)
#define ABS_HALF(x) (f16)((x)&0x7fff)
static inline f32 map_neg(f32 x) { return tessera_f32_from_bits(tessera_f32_bits(x) ^ 0x80000000u); }
MAP(MapNeg_f32, f32, f32, map_neg)
MAP(MapNeg_f16, f16, f16, NEG_HALF)
MAP(MapAbs_f32, f32, f32, fn_abs)
MAP(MapAbs_f16, f16, f16, ABS_HALF)
#define NEG_I(x) (0 - (u32)(x))
#define ABS_I(x) ((x) < 0 ? 0 - (u32)(x) : (u32)(x))
#define SIGN_I(x) ((x) > 0 ? 1 : (x) < 0 ? -1 : 0)
#define SIGN_U(x) ((x) != 0)
#define RELU_I(x) ((x) > 0 ? (x) : 0)
#define NOT(x) ((x) ^ 1)
MAP(MapNeg_i32, i32, i32, NEG_I)
MAP(MapNeg_i16, i16, i16, NEG_I)
MAP(MapNeg_i8, i8, i8, NEG_I)
MAP(MapAbs_i32, i32, i32, ABS_I)
MAP(MapAbs_i16, i16, i16, ABS_I)
MAP(MapAbs_i8, i8, i8, ABS_I)
MAP(MapSign_i32, i32, i32, SIGN_I)
MAP(MapSign_i16, i16, i16, SIGN_I)
MAP(MapSign_i8, i8, i8, SIGN_I)
MAP(MapSign_u32, u32, u32, SIGN_U)
MAP(MapSign_u16, u16, u16, SIGN_U)
MAP(MapSign_u8, u8, u8, SIGN_U)
MAP(MapRelu_i32, i32, i32, RELU_I)
MAP(MapRelu_i16, i16, i16, RELU_I)
MAP(MapRelu_i8, i8, i8, RELU_I)
MAP(MapNot_bool, bool8, bool8, NOT)

#define RECIPROCAL(x) tessera_f32(1.0f / (x))
#define SOFTSIGN(x) tessera_f32((x) / (1.0f + fn_abs(x)))
MAP_FLOAT(MapFloor, fn_floor)
MAP_FLOAT(MapCeil, fn_ceil)
MAP_FLOAT(MapRound, fn_round)
MAP_FLOAT(MapSign, fn_sign)
MAP_FLOAT(MapSqrt, fn_sqrt)
MAP_FLOAT(MapReciprocal, RECIPROCAL)
MAP_FLOAT(MapSoftsign, SOFTSIGN)
MAP_FLOAT(MapSoftplus, fn_softplus)
MAP(MapErf_f32, f32, f32, fn_erf)
MAP_FLOAT(MapSin, fn_sin)
MAP_FLOAT(MapCos, fn_cos)
MAP_FLOAT(MapTan, fn_tan)
MAP_FLOAT(MapAsin, fn_asin)
MAP_FLOAT(MapAcos, fn_acos)
MAP_FLOAT(MapAtan, fn_atan)
MAP_FLOAT(MapSinh, fn_sinh)
MAP_FLOAT(MapCosh, fn_cosh)
MAP_FLOAT(MapAsinh, fn_asinh)
MAP_FLOAT(MapAcosh, fn_acosh)
MAP_FLOAT(MapAtanh, fn_atanh)

/* Activations with numbers of their own. */
#define ELU(x, alpha, beta, gamma) ((x) < 0.0f ? tessera_f32((alpha)*fn_expm1(x)) : (x))
#define SELU(x, alpha, beta, gamma) tessera_f32((gamma) * ((x) <= 0.0f ? (alpha)*fn_expm1(x) : (x)))
#define CELU(x, alpha, beta, gamma) ((x) < 0.0f ? tessera_f32((alpha)*fn_expm1((x) / (alpha))) : (x))
#define LEAKY_RELU(x, alpha, beta, gamma) ((x) < 0.0f ? tessera_f32((alpha) * (x)) : (x))
#define THRESHOLDED_RELU(x, alpha, beta, gamma) ((x) > (alpha) || (x) != (x) ? (x) : 0.0f)
static inline f32 map_clamp01(f32 x) { return x > 1.0f ? 1.0f : x < 0.0f ? 0.0f : tessera_f32(x); }
#define HARD_SIGMOID(x, alpha, beta, gamma) map_clamp01((alpha) * (x) + (beta))
#define HARD_SWISH(x, alpha, beta, gamma) tessera_f32((x)*map_clamp01((alpha) * (x) + (beta)))
#define SHRINK(x, alpha, beta, gamma) \
  ((x) < -(alpha) ? tessera_f32((x) + (beta)) : (x) > (alpha) ? tessera_f32((x) - (beta)) : (x) != (x) ? (x) : 0.0f)
/* Limits alpha and beta; a NaN stays. */
#define CLIP(x, alpha, beta, gamma) \
  ((x) > (beta) ? (beta) : (x) < (alpha) ? ((alpha) > (beta) ? (beta) : (alpha)) : (x))
#define SCALE(x, alpha, beta, gamma) tessera_f32((alpha) * (x) + (beta))
MAP_FLOAT_WITH(MapElu, ELU)
MAP_FLOAT_WITH(MapSelu, SELU)
MAP_FLOAT_WITH(MapCelu, CELU)
MAP_FLOAT_WITH(MapLeakyRelu, LEAKY_RELU)
MAP_FLOAT_WITH(MapThresholdedRelu, THRESHOLDED_RELU)
MAP_FLOAT_WITH(MapHardSigmoid, HARD_SIGMOID)
MAP_FLOAT_WITH(MapHardSwish, HARD_SWISH)
MAP_FLOAT_WITH(MapShrink, SHRINK)
MAP_FLOAT_WITH(MapClip, CLIP)
MAP_FLOAT_WITH(MapScale, SCALE)

/* beta: counts +infinity, alpha: counts -infinity. */
static inline bool8 map_is_inf(f32 x, f32 alpha, f32 beta, f32 gamma __attribute__((unused))) {
  const u32 bits = tessera_f32_bits(x);
  return (bits == 0x7f800000u && beta != 0.0f) || (bits == 0xff800000u && alpha != 0.0f);
}
#define IS_INF_HALF(x, alpha, beta, gamma) map_is_inf(tessera_f16_to_f32(x), alpha, beta, gamma)
#define IS_NAN(x) ((x) != (x))
#define IS_NAN_HALF(x) (((x)&0x7fff) > 0x7c00)
MAP_WITH(MapIsInf_f32, f32, bool8, map_is_inf)
MAP_WITH(MapIsInf_f16, f16, bool8, IS_INF_HALF)
MAP(MapIsNaN_f32, f32, bool8, IS_NAN)
MAP(MapIsNaN_f16, f16, bool8, IS_NAN_HALF)

/* Casts: toward zero and saturating from floats to 32 bits (a NaN is the largest number), narrower integers keep the
 * low bits; to bool: not equal to zero. */
static inline u32 map_f32_to_u32(f32 x) {
#ifdef __riscv
  u32 result;
  __asm__("fcvt.wu.s %0, %1, rtz" : "=r"(result) : "f"(x));
  return result;
#else
  if (x != x || x >= 4294967296.0f) return UINT32_MAX;
  return x <= -1.0f ? 0 : (u32)x;
#endif
}
#define KEEP(x) (x)
#define TO_F32(x) (f32)(x)
#define TO_F16(x) tessera_f32_to_f16((f32)(x))
#define TO_BOOL(x) ((x) != 0)
#define HALF_TO_BOOL(x) (((x)&0x7fff) != 0)
#define FROM_FLOAT_I32(x) tessera_f32_to_i32(x)
#define FROM_HALF_I32(x) tessera_f32_to_i32(tessera_f16_to_f32(x))
#define FROM_HALF_U32(x) map_f32_to_u32(tessera_f16_to_f32(x))
#define CAST_INTEGER(name, type)                   \
  MAP(MapCast_##name##_i32, type, i32, KEEP)       \
  MAP(MapCast_##name##_u32, type, u32, KEEP)       \
  MAP(MapCast_##name##_i16, type, i16, KEEP)       \
  MAP(MapCast_##name##_u16, type, u16, KEEP)       \
  MAP(MapCast_##name##_i8, type, i8, KEEP)         \
  MAP(MapCast_##name##_u8, type, u8, KEEP)         \
  MAP(MapCast_##name##_bool, type, bool8, TO_BOOL) \
  MAP(MapCast_##name##_f32, type, f32, TO_F32)     \
  MAP(MapCast_##name##_f16, type, f16, TO_F16)
CAST_INTEGER(i32, i32)
CAST_INTEGER(u32, u32)
CAST_INTEGER(i16, i16)
CAST_INTEGER(u16, u16)
CAST_INTEGER(i8, i8)
CAST_INTEGER(u8, u8)
CAST_INTEGER(bool, bool8)
#define CAST_FLOAT(name, type, SIGNED, UNSIGNED) \
  MAP(MapCast_##name##_i32, type, i32, SIGNED)   \
  MAP(MapCast_##name##_u32, type, u32, UNSIGNED) \
  MAP(MapCast_##name##_i16, type, i16, SIGNED)   \
  MAP(MapCast_##name##_u16, type, u16, SIGNED)   \
  MAP(MapCast_##name##_i8, type, i8, SIGNED)     \
  MAP(MapCast_##name##_u8, type, u8, SIGNED)
CAST_FLOAT(f32, f32, FROM_FLOAT_I32, map_f32_to_u32)
CAST_FLOAT(f16, f16, FROM_HALF_I32, FROM_HALF_U32)
MAP(MapCast_f32_bool, f32, bool8, TO_BOOL)
MAP(MapCast_f16_bool, f16, bool8, HALF_TO_BOOL)
MAP(MapCast_f32_f16, f32, f16, tessera_f32_to_f16)
MAP(MapCast_f16_f32, f16, f32, tessera_f16_to_f32)

/* erf of f16 as tanh(x P(x x)), within 4e-6; P grows beyond all bounds, so that large numbers give 1. */
#define ERF_0 1.12837493f
#define ERF_1 0.10285196f
#define ERF_2 -0.000407940708f
#define ERF_3 -0.000446346239f
#define ERF_4 3.54543168e-5f
static inline f16 map_erf_half(f16 half) {
  const f32 x = tessera_f16_to_f32(half), z = tessera_f32(x * x);
  f32 p = tessera_fma(ERF_4, z, ERF_3);
  p = tessera_fma(p, z, ERF_2);
  p = tessera_fma(p, z, ERF_1);
  p = tessera_fma(p, z, ERF_0);
  return tessera_f32_to_f16(lane_tanh_f32(tessera_f32(x * p)));
}
#ifdef __riscv
/* The steps in two pairs beside each other; p2 and p6 are the squares, p10 and p22 the sums, f20 and p16, p18, p28, p30
 * the coefficients. */
#define ERF_BOTH(a, b) X_PAIR(X_NOP, a) X_PAIR(X_NOP, b)
#define ERF_MAC(c) ERF_BOTH(X_MAC_F32V2(p10, p10, p2, c), X_MAC_F32V2(p22, p22, p6, c))
#define ERF_STEP(main, x)                                                                                       \
  X_PAIR(main, X_CVT_F32V4_F16V4(q12, x))                                                                       \
  ERF_BOTH(X_MUL_F32V2(p2, p12, p12), X_MUL_F32V2(p6, p14, p14))                                                \
  ERF_BOTH(X_SADD_F32V2(p10, f20, p2, p16), X_SADD_F32V2(p22, f20, p6, p16))                                    \
  ERF_MAC(p18)                                                                                                  \
  ERF_MAC(p28) ERF_MAC(p30) ERF_BOTH(X_MUL_F32V2(p12, p12, p10), X_MUL_F32V2(p14, p14, p22))                    \
      ERF_BOTH(X_TANH_F32(f12, f12), X_TANH_F32(f13, f13)) ERF_BOTH(X_TANH_F32(f14, f14), X_TANH_F32(f15, f15)) \
          X_PAIR(X_NOP, X_CVT_F16V4_F32V4(p10, q12))
#define ERF_STEP_0(main) ERF_STEP(main, p0)
#define ERF_STEP_1(main) ERF_STEP(main, p4)
#define ERF_USES X_USES(p0, p2, p4, p6, p10, q12, p16, p18, f20, p22, q28)
#define ERF_COPY(to, from) X_PAIR(X_NOP, X_FSGNJ_S(to, from, from))
#define ERF_COPIES(low, high, from) ERF_COPY(low, from) ERF_COPY(high, from)
static inline void erf_vectors(const f16* x, f16* y, uint32_t vectors) {
  x_block(X_NONE, (X_INF(in0, ERF_0), X_INF(in1, ERF_1), X_INF(in2, ERF_2), X_INF(in3, ERF_3), X_INF(in4, ERF_4)),
          X_USES(p16, p18, f20, q28),
          ERF_COPIES(f30, f31, in0) ERF_COPIES(f28, f29, in1) ERF_COPIES(f18, f19, in2) ERF_COPIES(f16, f17, in3)
              ERF_COPY(f20, in4));
  UNARY_LOOP_USING(x, y, vectors, ERF_STEP_0, ERF_STEP_1, 36, ERF_USES)
}
#endif
VERTEX_MULTI(MapErf_f16, IN_ELEMENTWISE(f16, x), OUT_SPAN(f16, y)) {
  u32 begin, end;
  worker_share(state->y.count, 8, worker, &begin, &end);
  const f16* x = state->x + begin;
  f16* y = state->y.data + begin;
  u32 n = end - begin;
#ifdef __riscv
  if (n >= 4 && vectors_at(x, y)) {
    erf_vectors(x, y, n / 4);
    x += n & ~3u, y += n & ~3u, n &= 3;
  }
#endif
  for (; n; --n, ++x, ++y) *y = map_erf_half(*x);
}
