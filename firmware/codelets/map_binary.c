/* Elementwise operations of two and three operands as multi-vertices (map.h). Names: Map, operation, type of the
 * operands. f16 arithmetic is f32 arithmetic with one rounding to f16, which for sum, difference and product is what
 * the vector instructions do. */
#include "map.h"

#define FUNCTIONS(OP) BINARY_VECTORS_FUNCTION(OP) BINARY_SCALAR_FUNCTION(OP)
#define X_FROM_F32V2(y, p, q) X_SUB_F32V2(y, q, p)
#define X_FROM_F16V4(y, p, q) X_SUB_F16V4(y, q, p)
FUNCTIONS(X_ADD_F32V2)
FUNCTIONS(X_SUB_F32V2)
FUNCTIONS(X_MUL_F32V2)
FUNCTIONS(X_ADD_F16V4)
FUNCTIONS(X_SUB_F16V4)
FUNCTIONS(X_MUL_F16V4)
BINARY_SCALAR_FUNCTION(X_FROM_F32V2)
BINARY_SCALAR_FUNCTION(X_FROM_F16V4)
#define ADD_F32_LOOP(a, b, y, n, s, t) VECTOR_LOOP(f32, a, b, y, n, s, t, 2, X_ADD_F32V2, X_ADD_F32V2)
#define SUB_F32_LOOP(a, b, y, n, s, t) VECTOR_LOOP(f32, a, b, y, n, s, t, 2, X_SUB_F32V2, X_FROM_F32V2)
#define MUL_F32_LOOP(a, b, y, n, s, t) VECTOR_LOOP(f32, a, b, y, n, s, t, 2, X_MUL_F32V2, X_MUL_F32V2)
#define ADD_F16_LOOP(a, b, y, n, s, t) VECTOR_LOOP(f16, a, b, y, n, s, t, 4, X_ADD_F16V4, X_ADD_F16V4)
#define SUB_F16_LOOP(a, b, y, n, s, t) VECTOR_LOOP(f16, a, b, y, n, s, t, 4, X_SUB_F16V4, X_FROM_F16V4)
#define MUL_F16_LOOP(a, b, y, n, s, t) VECTOR_LOOP(f16, a, b, y, n, s, t, 4, X_MUL_F16V4, X_MUL_F16V4)

#define ADD(p, q) tessera_f32((p) + (q))
#define SUB(p, q) tessera_f32((p) - (q))
#define MUL(p, q) tessera_f32((p) * (q))
#define DIV(p, q) tessera_f32((p) / (q))
/* A NaN wins, as ONNX has it. Of equal numbers the first stays. */
static inline f32 map_max(f32 p, f32 q) { return p != p || q != q ? FN_NAN : lane_max_f32(p, q); }
static inline f32 map_min(f32 p, f32 q) { return p != p || q != q ? FN_NAN : lane_min_f32(p, q); }
#define PRELU(p, q) ((p) < 0.0f ? tessera_f32((p) * (q)) : (p))
#define HALVES(NAME, FN) \
  static inline f16 NAME(f16 p, f16 q) { return tessera_f32_to_f16(FN(tessera_f16_to_f32(p), tessera_f16_to_f32(q))); }
HALVES(div_half, DIV)
HALVES(max_half, map_max)
HALVES(min_half, map_min)
HALVES(pow_half, fn_pow)
HALVES(fmod_half, fn_fmod)
HALVES(prelu_half, PRELU)

MAP2_LOOP(MapAdd_f32, f32, f32, ADD, ADD_F32_LOOP)
MAP2_LOOP(MapSub_f32, f32, f32, SUB, SUB_F32_LOOP)
MAP2_LOOP(MapMul_f32, f32, f32, MUL, MUL_F32_LOOP)
MAP2_LOOP(MapAdd_f16, f16, f16, lane_add_f16, ADD_F16_LOOP)
MAP2_LOOP(MapSub_f16, f16, f16, lane_sub_f16, SUB_F16_LOOP)
MAP2_LOOP(MapMul_f16, f16, f16, lane_mul_f16, MUL_F16_LOOP)
MAP2(MapDiv_f32, f32, f32, DIV)
/* By a number that stays, as a product with its inverse in two parts, each element's first product exact: right to 24
 * bits, nearer than a quotient of two f16 can come to the middle between two others (2^-23 of it), so that rounding
 * gives the same. The inverse is cut to 13 bits, so its rest has its sign; if there is none, two halves of it serve, so
 * that an infinite element meets no zero. */
#ifdef __riscv
#define DIV_BOTH(a, b) X_PAIR(X_NOP, a) X_PAIR(X_NOP, b)
#define DIV_STEP(main, x)                                                    \
  X_PAIR(main, X_CVT_F32V4_F16V4(q12, x))                                    \
  DIV_BOTH(X_MUL_F32V2(p2, p12, p16), X_MUL_F32V2(p6, p14, p16))             \
  DIV_BOTH(X_SADD_F32V2(p12, f20, p12, p2), X_SADD_F32V2(p14, f20, p14, p6)) \
  X_PAIR(X_NOP, X_CVT_F16V4_F32V4(p10, q12))
#define DIV_STEP_0(main) DIV_STEP(main, p0)
#define DIV_STEP_1(main) DIV_STEP(main, p4)
static inline void div_vectors(const f16* x, f32 high, f32 low, f16* y, u32 vectors) {
  x_block(X_NONE, (X_INF(in0, high), X_INF(in1, low)), X_USES(p16, f20),
          X_PAIR(X_NOP, X_FSGNJ_S(f16, in1, in1)) X_PAIR(X_NOP, X_FSGNJ_S(f17, in1, in1))
              X_PAIR(X_NOP, X_FSGNJ_S(f20, in0, in0)));
  UNARY_LOOP_USING(x, y, vectors, DIV_STEP_0, DIV_STEP_1, 12, X_USES(p0, p2, p4, p6, p10, q12, p16, f20))
}
#define DIV_F16_LOOP(a, b, y, n, a_step, b_step)                                              \
  if (n >= 4 && a_step && !b_step && vectors_at(a, y) && (u32)((*b & 0x7fff) - 1) < 0x7bff) { \
    f32 high, low;                                                                            \
    fn_inverse(tessera_f16_to_f32(*b), &high, &low);                                          \
    div_vectors(a, high, low, y, n / 4);                                                      \
    a += n & ~3u, y += n & ~3u, n &= 3;                                                       \
  }
#else
#define DIV_F16_LOOP(a, b, y, n, a_step, b_step)
#endif
MAP2_LOOP(MapDiv_f16, f16, f16, div_half, DIV_F16_LOOP)
MAP2(MapMax_f32, f32, f32, map_max)
MAP2(MapMax_f16, f16, f16, max_half)
MAP2(MapMin_f32, f32, f32, map_min)
MAP2(MapMin_f16, f16, f16, min_half)
MAP2(MapPow_f32, f32, f32, fn_pow)
MAP2(MapPow_f16, f16, f16, pow_half)
MAP2(MapFmod_f32, f32, f32, fn_fmod)
MAP2(MapFmod_f16, f16, f16, fmod_half)
MAP2(MapPRelu_f32, f32, f32, PRELU)
MAP2(MapPRelu_f16, f16, f16, prelu_half)

/* Integers wrap; division truncates, by zero -1 (unsigned: all ones) as the machine has it; Mod has the divisor's sign,
 * Fmod the dividend's, both give the dividend for a divisor of zero; a negative power is 1 over the number, truncated.
 */
static inline i32 map_div_i(i32 p, i32 q) {
  if (q == 0) return -1;
  return q == -1 ? (i32)(0 - (u32)p) : p / q;
}
static inline i32 map_fmod_i(i32 p, i32 q) {
  if (q == 0) return p;
  return q == -1 ? 0 : p % q;
}
static inline i32 map_mod_i(i32 p, i32 q) {
  const i32 r = map_fmod_i(p, q);
  return r != 0 && q != 0 && (r ^ q) < 0 ? r + q : r;
}
static inline u32 map_div_u(u32 p, u32 q) { return q == 0 ? 0xffffffffu : p / q; }
static inline u32 map_mod_u(u32 p, u32 q) { return q == 0 ? p : p % q; }
static inline u32 map_pow_u(u32 base, u32 exponent) {
  u32 result = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}
static inline i32 map_pow_i(i32 base, i32 exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
  return (i32)map_pow_u((u32)base, (u32)exponent);
}
#define ADD_I(p, q) ((u32)(p) + (u32)(q))
#define SUB_I(p, q) ((u32)(p) - (u32)(q))
#define MUL_I(p, q) ((u32)(p) * (u32)(q))
#define MAX_I(p, q) ((p) > (q) ? (p) : (q))
#define MIN_I(p, q) ((p) < (q) ? (p) : (q))
#define PRELU_I(p, q) ((p) < 0 ? (u32)(p) * (u32)(q) : (u32)(p))
#define INTEGERS(name, type, DIVIDE, MODULO, FMODULO, POWER) \
  MAP2(MapAdd_##name, type, type, ADD_I)                     \
  MAP2(MapSub_##name, type, type, SUB_I)                     \
  MAP2(MapMul_##name, type, type, MUL_I)                     \
  MAP2(MapDiv_##name, type, type, DIVIDE)                    \
  MAP2(MapMax_##name, type, type, MAX_I)                     \
  MAP2(MapMin_##name, type, type, MIN_I)                     \
  MAP2(MapMod_##name, type, type, MODULO)                    \
  MAP2(MapFmod_##name, type, type, FMODULO)                  \
  MAP2(MapPow_##name, type, type, POWER)
INTEGERS(i32, i32, map_div_i, map_mod_i, map_fmod_i, map_pow_i)
INTEGERS(i16, i16, map_div_i, map_mod_i, map_fmod_i, map_pow_i)
INTEGERS(i8, i8, map_div_i, map_mod_i, map_fmod_i, map_pow_i)
INTEGERS(u32, u32, map_div_u, map_mod_u, map_mod_u, map_pow_u)
INTEGERS(u16, u16, map_div_u, map_mod_u, map_mod_u, map_pow_u)
INTEGERS(u8, u8, map_div_u, map_mod_u, map_mod_u, map_pow_u)
MAP2(MapPRelu_i32, i32, i32, PRELU_I)
#define KEEP_FIRST(p, q) (p)
MAP2(MapPRelu_u32, u32, u32, KEEP_FIRST)

#define EQUAL(p, q) ((p) == (q))
#define LESS(p, q) ((p) < (q))
#define LESS_EQUAL(p, q) ((p) <= (q))
#define GREATER(p, q) ((p) > (q))
#define GREATER_EQUAL(p, q) ((p) >= (q))
#define COMPARISONS(name, type)                        \
  MAP2(MapEqual_##name, type, bool8, EQUAL)            \
  MAP2(MapLess_##name, type, bool8, LESS)              \
  MAP2(MapLessOrEqual_##name, type, bool8, LESS_EQUAL) \
  MAP2(MapGreater_##name, type, bool8, GREATER)        \
  MAP2(MapGreaterOrEqual_##name, type, bool8, GREATER_EQUAL)
COMPARISONS(f32, f32)
COMPARISONS(i32, i32)
COMPARISONS(u32, u32)
COMPARISONS(i16, i16)
COMPARISONS(u16, u16)
COMPARISONS(i8, i8)
COMPARISONS(u8, u8)
#define OF_HALVES(OP, p, q) OP(tessera_f16_to_f32(p), tessera_f16_to_f32(q))
#define EQUAL_HALF(p, q) OF_HALVES(EQUAL, p, q)
#define LESS_HALF(p, q) OF_HALVES(LESS, p, q)
#define LESS_EQUAL_HALF(p, q) OF_HALVES(LESS_EQUAL, p, q)
#define GREATER_HALF(p, q) OF_HALVES(GREATER, p, q)
#define GREATER_EQUAL_HALF(p, q) OF_HALVES(GREATER_EQUAL, p, q)
MAP2(MapEqual_f16, f16, bool8, EQUAL_HALF)
MAP2(MapLess_f16, f16, bool8, LESS_HALF)
MAP2(MapLessOrEqual_f16, f16, bool8, LESS_EQUAL_HALF)
MAP2(MapGreater_f16, f16, bool8, GREATER_HALF)
MAP2(MapGreaterOrEqual_f16, f16, bool8, GREATER_EQUAL_HALF)

/* bool8 holds 0 or 1 only. */
#define AND(p, q) ((p) & (q))
#define OR(p, q) ((p) | (q))
#define XOR(p, q) ((p) ^ (q))
MAP2(MapAnd_bool, bool8, bool8, AND)
MAP2(MapOr_bool, bool8, bool8, OR)
MAP2(MapXor_bool, bool8, bool8, XOR)
MAP2(MapEqual_bool, bool8, bool8, EQUAL)

/* Bits of a where c is true, else of b. */
#define WHERE(c, p, q) ((c) ? (p) : (q))
MAP3(MapWhere_u8, bool8, u8, u8, WHERE)
MAP3(MapWhere_u16, bool8, u16, u16, WHERE)
MAP3(MapWhere_u32, bool8, u32, u32, WHERE)

/* c * a + b in f32: normalisation by channel. c is the data. */
#define AFFINE(c, p, q) tessera_f32((c) * (p) + (q))
#define AFFINE_HALF(c, p, q) tessera_f32_to_f16(tessera_f16_to_f32(c) * (p) + (q))
MAP3(MapAffine_f32, f32, f32, f32, AFFINE)
MAP3(MapAffine_f16, f16, f32, f16, AFFINE_HALF)
