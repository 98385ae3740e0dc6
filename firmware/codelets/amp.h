/* Steps of the accumulating matrix product with the streams that feed them, as texts for x_block: activations on S0,
 * partial sums in on S1 and out on S2.
 *
 * A position takes four steps of a doubleword of each stream (f32: eight half steps). Its partials enter in round i,
 * meet its activations in round i + 1 and leave in round i + 2. S0 goes from the second doubleword of a position to the
 * third by its stride B, to the next position by A. Loads run one step ahead, stores one behind. */
#ifndef TESSERA_CODELETS_AMP_H_
#define TESSERA_CODELETS_AMP_H_

#include "tessera/vertex.h"
#ifdef __riscv
#include "tessera/xtile.h"

/* Step of phase p (0..3): activations in p0 (_0) or p4 (_1), partials in `in`, results in p10, `main` beside it. */
#define AMP_F16_0(main, in, p) X_PAIR(main, X_AMP_F16(p10, p0, in, p))
#define AMP_F16_1(main, in, p) X_PAIR(main, X_AMP_F16(p10, p4, in, p))
#define AMP_HALF_p2 f2, f3
#define AMP_HALF_p6 f6, f7
#define AMP_HALF_p12 f12, f13
#define AMP_F32(main, a, b, c, d, p) \
  X_PAIR(main, X_AMP_F32(f10, a, c, 2 * p)) X_PAIR(X_NOP, X_AMP_F32(f11, b, d, 2 * p + 1))
#define AMP_F32_HALVES(main, a, b, halves, p) AMP_F32_(main, a, b, halves, p)
#define AMP_F32_(main, a, b, c, d, p) AMP_F32(main, a, b, c, d, p)
#define AMP_F32_0(main, in, p) AMP_F32_HALVES(main, f0, f1, AMP_HALF_##in, p)
#define AMP_F32_1(main, in, p) AMP_F32_HALVES(main, f4, f5, AMP_HALF_##in, p)
#define AMP_IO(main, in, p) X_PAIR(main, X_AMP_IO(p10, in, p))

#define AMP_NEXT X_STEP_8
#define AMP_HALF X_STEP_B
#define AMP_ROW X_STEP_A
#define AMP_STAY X_STEP_0
#define AMP_BACK X_STEP_A
#define AMP_LOAD0(x, c) X_LD2(p0, p2, x, c)
#define AMP_LOAD1(x, c) X_LD2(p4, p6, x, c)
#define AMP_BOTH0(x, c) X_LD2ST(p0, p2, p10, x, c, AMP_NEXT)
#define AMP_BOTH1(x, c) X_LD2ST(p4, p6, p10, x, c, AMP_NEXT)
#define AMP_OUT0(x) X_LDST(p0, p10, x, AMP_NEXT)
#define AMP_OUT1(x) X_LDST(p4, p10, x, AMP_NEXT)

/* n >= 3 positions onto their partials; in0 = n - 3. LENGTH: doublewords of a round. io0 points to the first partial,
 * where S2 stands; S1 stands behind the first position's, and both are led back there by their stride A, so that the
 * next set finds them. io1 becomes in1 + io1, where S0 begins; in2 its stride. AMP_FIRST_PARTIALS comes before, in the
 * word before the block's first doubleword. */
#define AMP_FIRST_PARTIALS(to) __asm__ volatile(X_LD128(q12, 16, io0) : X_IOX(io0, to) : : X_USE_q12, "memory")
#define AMP_ACCUMULATE(S0, S1, LENGTH)                                                                  \
  AMP_IO(X_LD128(q16, -16, io0), p12, 0)                                                                \
  AMP_IO(X_ADD(io1, in1, io1), p14, 1)                                                                  \
  AMP_IO(X_SSET(0, io1, in2), p16, 2)                                                                   \
  AMP_IO(AMP_LOAD0(AMP_NEXT, AMP_NEXT), p18, 3)                                                         \
  S0(AMP_LOAD1(AMP_HALF, AMP_NEXT), p2, 0)                                                              \
  S1(AMP_LOAD0(AMP_NEXT, AMP_NEXT), p6, 1)                                                              \
  S0(AMP_LOAD1(AMP_ROW, AMP_NEXT), p2, 2)                                                               \
  S1(AMP_LOAD0(AMP_NEXT, AMP_NEXT), p6, 3)                                                              \
  S0(AMP_LOAD1(AMP_HALF, AMP_NEXT), p2, 0)                                                              \
  X_RPT(in0, LENGTH)                                                                                    \
  X_FNOP S1(AMP_BOTH0(AMP_NEXT, AMP_NEXT), p6, 1) S0(AMP_BOTH1(AMP_ROW, AMP_NEXT), p2, 2)               \
      S1(AMP_BOTH0(AMP_NEXT, AMP_NEXT), p6, 3) S0(AMP_BOTH1(AMP_HALF, AMP_NEXT), p2, 0)                 \
          S1(AMP_BOTH0(AMP_NEXT, AMP_NEXT), p6, 1) S0(AMP_BOTH1(AMP_ROW, AMP_BACK), p2, 2)              \
              S1(AMP_OUT0(AMP_NEXT), p6, 3) S0(AMP_OUT1(AMP_HALF), p2, 0) S1(AMP_OUT0(AMP_NEXT), p6, 1) \
                  S0(AMP_OUT1(AMP_STAY), p2, 2) S1(AMP_OUT0(AMP_STAY), p6, 3) AMP_DRAIN

/* The last position's results: out while nothing comes in. */
#define AMP_DRAIN                   \
  AMP_IO(AMP_OUT1(AMP_STAY), p2, 0) \
  AMP_IO(AMP_OUT0(AMP_STAY), p6, 1) \
  AMP_IO(AMP_OUT1(AMP_STAY), p2, 2) \
  AMP_IO(AMP_OUT0(AMP_STAY), p6, 3) \
  X_PAIR(X_LDST(p0, p10, AMP_STAY, AMP_BACK), X_FNOP)

/* n >= 2 positions from zero: sums are +0 when a worker starts, and p12 = 0 goes in. in0 = n - 2. */
#define AMP_START(S0, S1, LENGTH)                                                                    \
  X_PAIR(AMP_LOAD0(AMP_NEXT, AMP_STAY), X_CMPLT_F32V2(p12, p12, p12))                                \
  S0(AMP_LOAD1(AMP_HALF, AMP_STAY), p12, 0)                                                          \
  S1(AMP_LOAD0(AMP_NEXT, AMP_STAY), p12, 1)                                                          \
  S0(AMP_LOAD1(AMP_ROW, AMP_STAY), p12, 2)                                                           \
  S1(AMP_LOAD0(AMP_NEXT, AMP_STAY), p12, 3)                                                          \
  S0(AMP_LOAD1(AMP_HALF, AMP_STAY), p12, 0)                                                          \
  X_RPT(in0, LENGTH)                                                                                 \
  X_FNOP S1(AMP_OUT0(AMP_NEXT), p12, 1) S0(AMP_OUT1(AMP_ROW), p12, 2) S1(AMP_OUT0(AMP_NEXT), p12, 3) \
      S0(AMP_OUT1(AMP_HALF), p12, 0) S1(AMP_OUT0(AMP_NEXT), p12, 1) S0(AMP_OUT1(AMP_STAY), p12, 2)   \
          S1(AMP_OUT0(AMP_STAY), p12, 3) AMP_DRAIN

#define AMP_USES X_USES(p0, p2, p4, p6, p10, q12, p16)
#endif

#endif
