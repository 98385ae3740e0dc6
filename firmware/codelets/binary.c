/* Elementwise operations on two operands: f32, i32 (wrapping; division truncates, by zero gives -1 as the machine
 * does), comparisons to bool8, and logic on bool8. Min and max of f32: a NaN loses to a number, -0 is below +0. */
#include "elementwise.h"

static inline f32 min_f32(f32 a, f32 b) {
#ifdef __riscv
  f32 result; /* gcc 12 would call a library function */
  __asm__("fmin.s %0, %1, %2" : "=f"(result) : "f"(a), "f"(b));
  return result;
#else
  if (a != a) return tessera_f32(b);
  if (b != b) return a;
  if (a == b) return tessera_f32_from_bits(tessera_f32_bits(a) | tessera_f32_bits(b));
  return a < b ? a : b;
#endif
}

static inline f32 max_f32(f32 a, f32 b) {
#ifdef __riscv
  f32 result; /* gcc 12 would call a library function */
  __asm__("fmax.s %0, %1, %2" : "=f"(result) : "f"(a), "f"(b));
  return result;
#else
  if (a != a) return tessera_f32(b);
  if (b != b) return a;
  if (a == b) return tessera_f32_from_bits(tessera_f32_bits(a) & tessera_f32_bits(b));
  return a > b ? a : b;
#endif
}

static inline i32 divide_i32(i32 a, i32 b) {
#ifdef __riscv
  i32 quotient; /* the machine's own answers for zero and overflow, without tests around them */
  __asm__("div %0, %1, %2" : "=r"(quotient) : "r"(a), "r"(b));
  return quotient;
#else
  if (b == 0) return -1;
  return a == INT32_MIN && b == -1 ? a : a / b;
#endif
}

#define ADD(p, q) tessera_f32((p) + (q))
#define SUB(p, q) tessera_f32((p) - (q))
#define MUL(p, q) tessera_f32((p) * (q))
#define DIV(p, q) tessera_f32((p) / (q))
BINARY(Add_f32, f32, f32, ADD)
BINARY(Sub_f32, f32, f32, SUB)
BINARY(Mul_f32, f32, f32, MUL)
BINARY(Div_f32, f32, f32, DIV)
BINARY(Min_f32, f32, f32, min_f32)
BINARY(Max_f32, f32, f32, max_f32)

#define ADD_I(p, q) (i32)((u32)(p) + (u32)(q))
#define SUB_I(p, q) (i32)((u32)(p) - (u32)(q))
#define MUL_I(p, q) (i32)((u32)(p) * (u32)(q))
#define MIN_I(p, q) ((p) < (q) ? (p) : (q))
#define MAX_I(p, q) ((p) > (q) ? (p) : (q))
BINARY(Add_i32, i32, i32, ADD_I)
BINARY(Sub_i32, i32, i32, SUB_I)
BINARY(Mul_i32, i32, i32, MUL_I)
BINARY(Div_i32, i32, i32, divide_i32)
BINARY(Min_i32, i32, i32, MIN_I)
BINARY(Max_i32, i32, i32, MAX_I)

#define EQUAL(p, q) ((p) == (q))
#define LESS(p, q) ((p) < (q))
#define LESS_EQUAL(p, q) ((p) <= (q))
#define GREATER(p, q) ((p) > (q))
#define GREATER_EQUAL(p, q) ((p) >= (q))
BINARY(Equal_f32, f32, bool8, EQUAL)
BINARY(Less_f32, f32, bool8, LESS)
BINARY(LessOrEqual_f32, f32, bool8, LESS_EQUAL)
BINARY(Greater_f32, f32, bool8, GREATER)
BINARY(GreaterOrEqual_f32, f32, bool8, GREATER_EQUAL)
BINARY(Equal_i32, i32, bool8, EQUAL)
BINARY(Less_i32, i32, bool8, LESS)
BINARY(LessOrEqual_i32, i32, bool8, LESS_EQUAL)
BINARY(Greater_i32, i32, bool8, GREATER)
BINARY(GreaterOrEqual_i32, i32, bool8, GREATER_EQUAL)

/* bool8 holds 0 or 1 only. */
#define AND(p, q) ((p) & (q))
#define OR(p, q) ((p) | (q))
#define XOR(p, q) ((p) ^ (q))
BINARY(And_bool, bool8, bool8, AND)
BINARY(Or_bool, bool8, bool8, OR)
BINARY(Xor_bool, bool8, bool8, XOR)
BINARY(Equal_bool, bool8, bool8, EQUAL)
