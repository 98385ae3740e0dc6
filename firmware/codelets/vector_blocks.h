/* Blocks of elementwise loops over whole vectors of 8 bytes (two f32 or four f16), 8-byte aligned; tiles only.
 *
 * Loads run one vector ahead of the arithmetic and stores one behind, so MAIN (x.ld2st) and AUX (arithmetic) of every
 * doubleword pair, and a vector costs what its arithmetic costs. y may be an operand, else they do not overlap. */
#ifndef TESSERA_CODELETS_VECTOR_BLOCKS_H_
#define TESSERA_CODELETS_VECTOR_BLOCKS_H_

#include "tessera/xtile.h"

/* ZSTEP: how the second operand moves from vector to vector, X_STEP_8 or X_STEP_0 (always the same vector).
 * One vector of an odd count, before the rest: S0 steps when its result is stored, so nothing is read past the end. */
#define ODD_BINARY(OP, ZSTEP)                    \
  X_PAIR(X_LD2(p0, p2, X_STEP_0, ZSTEP), X_FNOP) \
  X_PAIR(X_NOP, OP(p10, p0, p2)) X_PAIR(X_LDST(p0, p10, X_STEP_8, X_STEP_8), X_FNOP)

/* 2 * (in0 + 1) vectors. The last two stores load something that is there, y[0], for want of a store alone: S0 is y
 * then. */
#define EVEN_BINARY(OP, ZSTEP)                                                                    \
  X_PAIR(X_LD2(p0, p2, X_STEP_8, ZSTEP), X_FNOP)                                                  \
  X_PAIR(X_LD2(p4, p6, X_STEP_8, ZSTEP), OP(p10, p0, p2))                                         \
  X_REPEAT(in0, X_FNOP, X_PAIR(X_LD2ST(p0, p2, p10, X_STEP_8, ZSTEP, X_STEP_8), OP(p10, p4, p6)), \
           X_PAIR(X_LD2ST(p4, p6, p10, X_STEP_8, ZSTEP, X_STEP_8), OP(p10, p0, p2)))              \
  X_PAIR(X_SSET(0, in1, zero), X_FNOP)                                                            \
  X_PAIR(X_LDST(p0, p10, X_STEP_0, X_STEP_8), OP(p10, p4, p6))                                    \
  X_PAIR(X_LDST(p0, p10, X_STEP_0, X_STEP_8), X_FNOP)

#define BINARY_LOOP_WITH(OP, ZSTEP, n_vectors, x, z, out, ...)                                                 \
  uint32_t n = n_vectors;                                                                                      \
  void* const result = out;                                                                                    \
  x_sset(0, x, 0);                                                                                             \
  x_sset(1, z, 0);                                                                                             \
  x_sset(2, result, 0);                                                                                        \
  if (n & 1) x_block(X_NONE, (__VA_ARGS__), X_USES(p0, p2, p10), ODD_BINARY(OP, ZSTEP));                       \
  n >>= 1;                                                                                                     \
  if (n)                                                                                                       \
    x_block(X_NONE, (X_INX(in0, n - 1), X_INX(in1, result) X_COMMA(__VA_ARGS__)), X_USES(p0, p2, p4, p6, p10), \
            EVEN_BINARY(OP, ZSTEP));
#define BINARY_LOOP(OP, n_vectors, x, z, out, ...) BINARY_LOOP_WITH(OP, X_STEP_8, n_vectors, x, z, out, __VA_ARGS__)

/* One operand. STEP0(main) and STEP1(main) are the arithmetic of the vector in p0 and p4 into p10 with `main` in its
 * first doubleword; LENGTH their doublewords together. The first loads store what p10 holds to y[0], which is written
 * again. */
#define LOAD_FIRST(pair, step) X_LDST(pair, p10, step, X_STEP_0)
#define LAST_STORE X_LDST(p0, p10, X_STEP_0, X_STEP_8)
#define ODD_UNARY(STEP0)                                         \
  X_PAIR(LOAD_FIRST(p0, X_STEP_0), X_CMPLT_F32V2(p12, p12, p12)) \
  STEP0(X_NOP) X_PAIR(X_LDST(p0, p10, X_STEP_8, X_STEP_8), X_FNOP)
#define EVEN_UNARY(STEP0, STEP1, LENGTH)                                                       \
  X_PAIR(LOAD_FIRST(p0, X_STEP_8), X_CMPLT_F32V2(p12, p12, p12))                               \
  STEP0(LOAD_FIRST(p4, X_STEP_8))                                                              \
  X_RPT(in0, LENGTH)                                                                           \
  X_FNOP STEP1(X_LDST(p0, p10, X_STEP_8, X_STEP_8)) STEP0(X_LDST(p4, p10, X_STEP_8, X_STEP_8)) \
      X_PAIR(X_SSET(0, in1, zero), X_FNOP) STEP1(LAST_STORE) X_PAIR(LAST_STORE, X_FNOP)

/* y[i] = function of x[i] for n vectors; `uses`: what the steps change (X_USES). */
#define UNARY_LOOP_USING(x, out, n_vectors, STEP0, STEP1, LENGTH, uses) \
  uint32_t n_ = n_vectors;                                              \
  void* const result_ = out;                                            \
  x_sset(0, x, 0);                                                      \
  x_sset(2, result_, 0);                                                \
  if (n_ & 1) x_block(X_NONE, X_NONE, uses, ODD_UNARY(STEP0));          \
  n_ >>= 1;                                                             \
  if (n_) x_block(X_NONE, (X_INX(in0, n_ - 1), X_INX(in1, result_)), uses, EVEN_UNARY(STEP0, STEP1, LENGTH));
#define UNARY_LOOP(x, out, n_vectors, STEP0, STEP1, LENGTH) \
  UNARY_LOOP_USING(x, out, n_vectors, STEP0, STEP1, LENGTH, X_USES(p0, p4, p10, p12, p14))

/* By the sign, so that NaNs stay: negative numbers and -0 give +0. p12 is zero. */
#define RELU_F32_0(main) X_PAIR(main, X_SEL_F32V2(p10, p0, p12, p0))
#define RELU_F32_1(main) X_PAIR(main, X_SEL_F32V2(p10, p4, p12, p4))
#define RELU_F16_0(main) X_PAIR(main, X_SEL_F16V4(p10, p0, p12, p0))
#define RELU_F16_1(main) X_PAIR(main, X_SEL_F16V4(p10, p4, p12, p4))

/* By a comparison, so that NaNs of either sign stay. */
#define RELU_NAN_F32_0(main) X_PAIR(main, X_CMPLT_F32V2(p14, p0, p12)) X_PAIR(X_NOP, X_SEL_F32V2(p10, p14, p12, p0))
#define RELU_NAN_F32_1(main) X_PAIR(main, X_CMPLT_F32V2(p14, p4, p12)) X_PAIR(X_NOP, X_SEL_F32V2(p10, p14, p12, p4))
#define RELU_NAN_F16_0(main) X_PAIR(main, X_CMPLT_F16V4(p14, p0, p12)) X_PAIR(X_NOP, X_SEL_F16V4(p10, p14, p12, p0))
#define RELU_NAN_F16_1(main) X_PAIR(main, X_CMPLT_F16V4(p14, p4, p12)) X_PAIR(X_NOP, X_SEL_F16V4(p10, p14, p12, p4))

/* Functions of one register: two to a vector. */
#define EXP_F32_0(main) X_PAIR(main, X_EXP_F32(f10, f0)) X_PAIR(X_NOP, X_EXP_F32(f11, f1))
#define EXP_F32_1(main) X_PAIR(main, X_EXP_F32(f10, f4)) X_PAIR(X_NOP, X_EXP_F32(f11, f5))
#define LOG_F32_0(main) X_PAIR(main, X_LOG_F32(f10, f0)) X_PAIR(X_NOP, X_LOG_F32(f11, f1))
#define LOG_F32_1(main) X_PAIR(main, X_LOG_F32(f10, f4)) X_PAIR(X_NOP, X_LOG_F32(f11, f5))
#define TANH_F32_0(main) X_PAIR(main, X_TANH_F32(f10, f0)) X_PAIR(X_NOP, X_TANH_F32(f11, f1))
#define TANH_F32_1(main) X_PAIR(main, X_TANH_F32(f10, f4)) X_PAIR(X_NOP, X_TANH_F32(f11, f5))
#define SIGMOID_F32_0(main) X_PAIR(main, X_SIGMOID_F32(f10, f0)) X_PAIR(X_NOP, X_SIGMOID_F32(f11, f1))
#define SIGMOID_F32_1(main) X_PAIR(main, X_SIGMOID_F32(f10, f4)) X_PAIR(X_NOP, X_SIGMOID_F32(f11, f5))
#define EXP_F16_0(main) X_PAIR(main, X_EXP_F16V2(f10, f0)) X_PAIR(X_NOP, X_EXP_F16V2(f11, f1))
#define EXP_F16_1(main) X_PAIR(main, X_EXP_F16V2(f10, f4)) X_PAIR(X_NOP, X_EXP_F16V2(f11, f5))
#define LOG_F16_0(main) X_PAIR(main, X_LOG_F16V2(f10, f0)) X_PAIR(X_NOP, X_LOG_F16V2(f11, f1))
#define LOG_F16_1(main) X_PAIR(main, X_LOG_F16V2(f10, f4)) X_PAIR(X_NOP, X_LOG_F16V2(f11, f5))
#define TANH_F16_0(main) X_PAIR(main, X_TANH_F16V2(f10, f0)) X_PAIR(X_NOP, X_TANH_F16V2(f11, f1))
#define TANH_F16_1(main) X_PAIR(main, X_TANH_F16V2(f10, f4)) X_PAIR(X_NOP, X_TANH_F16V2(f11, f5))
#define SIGMOID_F16_0(main) X_PAIR(main, X_SIGMOID_F16V2(f10, f0)) X_PAIR(X_NOP, X_SIGMOID_F16V2(f11, f1))
#define SIGMOID_F16_1(main) X_PAIR(main, X_SIGMOID_F16V2(f10, f4)) X_PAIR(X_NOP, X_SIGMOID_F16V2(f11, f5))

#endif /* TESSERA_CODELETS_VECTOR_BLOCKS_H_ */
