/* Elementwise operations on one operand, and casts.
 *
 * Casts truncate toward zero. f32 to i32 saturates and makes a NaN the largest integer, as fcvt.w.s does; f32 to a
 * narrower integer is that result cut to its low bits; to bool8 it is "not equal to zero" (a NaN is true). */
#include "elementwise.h"
#include "math.h"

/* By the bits, which costs no more than a compare and keeps NaNs: a negative number or zero gives +0. */
static inline u32 relu_bits(u32 bits) { return (i32)bits >= 0 || bits > 0xff800000u ? bits : 0; }

#define NEGATE_BITS(p) ((p) ^ 0x80000000u)
#define ABSOLUTE_BITS(p) ((p)&0x7fffffffu)

/* Bit operations on f32 data: the fields are f32, the loads and stores of words. */
#define UNARY_BITS(Name, OP)                                                \
  VERTEX(Name, IN_ELEMENTWISE(f32, x), OUT_SPAN(f32, y)) {                              \
    const tessera_word* x = (const tessera_word*)state->x;                  \
    tessera_word* y = (tessera_word*)state->y.data;                         \
    uint32_t n = state->y.count;                                            \
    for (; n >= 4; n -= 4, x += 4, y += 4) {                                \
      const u32 y0 = OP(x[0]), y1 = OP(x[1]), y2 = OP(x[2]), y3 = OP(x[3]); \
      y[0] = y0, y[1] = y1, y[2] = y2, y[3] = y3;                           \
    }                                                                       \
    for (; n; --n, ++x, ++y) *y = OP(*x);                                   \
  }
typedef u32 __attribute__((may_alias)) tessera_word;
UNARY_BITS(Relu_f32, relu_bits)
UNARY_BITS(Neg_f32, NEGATE_BITS)
UNARY_BITS(Abs_f32, ABSOLUTE_BITS)

#define SQRT(p) tessera_f32(__builtin_sqrtf(p))
#define RECIPROCAL(p) tessera_f32(1.0f / (p))
UNARY(Sqrt_f32, f32, f32, SQRT)
UNARY(Reciprocal_f32, f32, f32, RECIPROCAL)
UNARY_LONG(Exp_f32, f32, f32, tessera_exp)
UNARY_LONG(Log_f32, f32, f32, tessera_log)
UNARY_LONG(Sigmoid_f32, f32, f32, tessera_sigmoid)
UNARY_LONG(Tanh_f32, f32, f32, tessera_tanh)

#define NEGATE_I(p) (i32)(0u - (u32)(p))
#define ABSOLUTE_I(p) (i32)((p) < 0 ? 0u - (u32)(p) : (u32)(p))
#define NOT(p) ((p) ^ 1)
UNARY(Neg_i32, i32, i32, NEGATE_I)
UNARY(Abs_i32, i32, i32, ABSOLUTE_I)
UNARY(Not_bool, bool8, bool8, NOT)

#define TO_F32(p) (f32)(p)
#define F32_TO_I8(p) (i8)(u32) tessera_f32_to_i32(p)
#define F32_TO_U8(p) (u8)(u32) tessera_f32_to_i32(p)
#define TO_BOOL(p) ((p) != 0)
#define KEEP(p) (p)
#define TO_I8(p) (i8)(u32)(p)
#define TO_U8(p) (u8)(u32)(p)
UNARY(Cast_f32_i32, f32, i32, tessera_f32_to_i32)
UNARY(Cast_f32_u8, f32, u8, F32_TO_U8)
UNARY(Cast_f32_i8, f32, i8, F32_TO_I8)
UNARY(Cast_f32_bool, f32, bool8, TO_BOOL)
UNARY(Cast_f32_f16, f32, f16, tessera_f32_to_f16)
UNARY(Cast_f16_f32, f16, f32, tessera_f16_to_f32)
UNARY(Cast_i32_f32, i32, f32, TO_F32)
UNARY(Cast_i32_u8, i32, u8, TO_U8)
UNARY(Cast_i32_i8, i32, i8, TO_I8)
UNARY(Cast_i32_bool, i32, bool8, TO_BOOL)
UNARY(Cast_u8_f32, u8, f32, TO_F32)
UNARY(Cast_u8_i32, u8, i32, KEEP)
UNARY(Cast_u8_bool, u8, bool8, TO_BOOL)
UNARY(Cast_i8_f32, i8, f32, TO_F32)
UNARY(Cast_i8_i32, i8, i32, KEEP)
UNARY(Cast_i8_bool, i8, bool8, TO_BOOL)
UNARY(Cast_bool_f32, bool8, f32, TO_F32)
UNARY(Cast_bool_i32, bool8, i32, KEEP)
