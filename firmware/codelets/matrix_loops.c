/* Matrix product and 1x1 convolution on the accumulating matrix product: c[i] += x[i] W for positions i of one worker.
 *
 * The supervisor has loaded the weights (x.amp.ldw): 8 output channels by 16 input channels of f16, or 8 of f32. Row i
 * of x is one position's input channels, row i of c its eight f32 outputs, in place. x_stride and c_stride are stride
 * words of x.sset whose A leads from the last doubleword of a row to the first of the next, so rows may lie anywhere at
 * one distance.
 *
 * Position i enters with its partials in round i, meets its activations in round i + 1 and leaves in round i + 2; a
 * round is four steps of a doubleword of each stream. Loads run one step ahead and stores one behind, so every step is
 * one pair. Slots: docs/machine/inner-loops.md. The network compiler does not choose these codelets yet. */
#include "tessera/vertex.h"
#include "tessera/xtile.h"

/* A step of phase p (0..3) on the operands in p0, p2 or in p4, p6, with `main` beside it. IO steps only move partials.
 */
#define F16_STEP0(main, p) X_PAIR(main, X_AMP_F16(p10, p0, p2, p))
#define F16_STEP1(main, p) X_PAIR(main, X_AMP_F16(p10, p4, p6, p))
#define F32_STEP0(main, p) X_PAIR(main, X_AMP_F32(f10, f0, f2, 2 * p)) X_PAIR(X_NOP, X_AMP_F32(f11, f1, f3, 2 * p + 1))
#define F32_STEP1(main, p) X_PAIR(main, X_AMP_F32(f10, f4, f6, 2 * p)) X_PAIR(X_NOP, X_AMP_F32(f11, f5, f7, 2 * p + 1))
#define IO_STEP0(main, p) X_PAIR(main, X_AMP_IO(p10, p2, p))
#define IO_STEP1(main, p) X_PAIR(main, X_AMP_IO(p10, p6, p))

/* Streams: S0 activations, S1 partials in, S2 partials out. */
#define LOAD0(x, c) X_LD2(p0, p2, x, c)
#define LOAD1(x, c) X_LD2(p4, p6, x, c)
#define BOTH0(x, c, y) X_LD2ST(p0, p2, p10, x, c, y)
#define BOTH1(x, c, y) X_LD2ST(p4, p6, p10, x, c, y)
#define TAIL0(x, y) X_LDST(p0, p10, x, y)
#define TAIL1(x, y) X_LDST(p4, p10, x, y)
#define NEXT X_STEP_8
#define ROW X_STEP_A
#define STAY X_STEP_0

/* Round 0 and 1, and the first step of round 2: nothing has come out yet. */
#define AMP_HEAD(STEP0, STEP1)                                                                                      \
  X_PAIR(LOAD0(STAY, NEXT), X_FNOP)                                                                                 \
  IO_STEP0(LOAD1(STAY, NEXT), 0)                                                                                    \
  IO_STEP1(LOAD0(STAY, NEXT), 1) IO_STEP0(LOAD1(STAY, ROW), 2) IO_STEP1(LOAD0(NEXT, NEXT), 3)                       \
      STEP0(LOAD1(NEXT, NEXT), 0) STEP1(LOAD0(NEXT, NEXT), 1) STEP0(LOAD1(ROW, ROW), 2) STEP1(LOAD0(NEXT, NEXT), 3) \
          STEP0(LOAD1(NEXT, NEXT), 0)
/* A round with everything, from its second step to the first of the next. */
#define AMP_ROUND(STEP0, STEP1)     \
  STEP1(BOTH0(NEXT, NEXT, NEXT), 1) \
  STEP0(BOTH1(ROW, ROW, NEXT), 2) STEP1(BOTH0(NEXT, NEXT, NEXT), 3) STEP0(BOTH1(NEXT, NEXT, ROW), 0)
/* The last partials, the last activations, the last results; S0 stays on the last doubleword when there is no other. */
#define AMP_TAIL(STEP0, STEP1)                                                                                        \
  STEP1(BOTH0(NEXT, NEXT, NEXT), 1)                                                                                   \
  STEP0(BOTH1(ROW, STAY, NEXT), 2) STEP1(TAIL0(NEXT, NEXT), 3) STEP0(TAIL1(NEXT, ROW), 0) STEP1(TAIL0(NEXT, NEXT), 1) \
      STEP0(TAIL1(STAY, NEXT), 2) STEP1(TAIL0(STAY, NEXT), 3) IO_STEP0(TAIL1(STAY, ROW), 0)                           \
          IO_STEP1(TAIL0(STAY, NEXT), 1) IO_STEP0(TAIL1(STAY, NEXT), 2) IO_STEP1(TAIL0(STAY, NEXT), 3)                \
              X_PAIR(TAIL0(STAY, NEXT), X_FNOP)

/* One position by itself, for the one or two that make no pipeline: in, through, out. Stores beside activations go to
 * where the results will stand; for the last stores S0 is c. */
#define AMP_SINGLE(STEP0, STEP1)                                                                                       \
  X_PAIR(LOAD0(STAY, NEXT), X_FNOP)                                                                                    \
  IO_STEP0(LOAD1(STAY, NEXT), 0)                                                                                       \
  IO_STEP1(LOAD0(STAY, NEXT), 1) IO_STEP0(LOAD1(STAY, STAY), 2) IO_STEP1(LOAD0(NEXT, STAY), 3)                         \
      STEP0(X_LDST(p4, p10, NEXT, STAY), 0) STEP1(X_LDST(p0, p10, NEXT, STAY), 1) STEP0(X_LDST(p4, p10, ROW, STAY), 2) \
          STEP1(X_NOP, 3) X_PAIR(X_SSET(0, in1, zero), X_FNOP) IO_STEP0(X_NOP, 0) IO_STEP1(TAIL0(STAY, NEXT), 1)       \
              IO_STEP0(TAIL0(STAY, NEXT), 2) IO_STEP1(TAIL0(STAY, NEXT), 3) X_PAIR(TAIL0(STAY, ROW), X_FNOP)

#define AMP_USES X_USES(p0, p2, p4, p6, p10)
/* LENGTH: doublewords of a round. */
#define AMP_LOOP(STEP0, STEP1, LENGTH)                                                                        \
  const int32_t rounds = (int32_t)state->n - 3;                                                               \
  x_sset(0, state->x, state->x_stride);                                                                       \
  x_sset(1, state->c, state->c_stride);                                                                       \
  x_sset(2, state->c, state->c_stride);                                                                       \
  if (__builtin_expect(rounds >= 0, 1)) {                                                                     \
    x_block(X_NONE, (X_INX(in0, rounds)), AMP_USES,                                                           \
            AMP_HEAD(STEP0, STEP1) X_RPT(in0, LENGTH) X_FNOP AMP_ROUND(STEP0, STEP1) AMP_TAIL(STEP0, STEP1)); \
    return;                                                                                                   \
  }                                                                                                           \
  const char *x = (const char*)state->x, *c = (const char*)state->c;                                          \
  for (uint32_t n = state->n; n; --n) {                                                                       \
    x_sset(0, x, state->x_stride);                                                                            \
    x_sset(1, c, state->c_stride);                                                                            \
    x_sset(2, c, state->c_stride);                                                                            \
    x_block(X_NONE, (X_INX(in1, c)), AMP_USES, AMP_SINGLE(STEP0, STEP1));                                     \
    x += 24 + 8 * (int16_t)state->x_stride;                                                                   \
    c += 24 + 8 * (int16_t)state->c_stride;                                                                   \
  }

VERTEX(MatMulAmp_f16, IN(f16, x, 8), INOUT(f32, c, 8), VALUE(u32, n), VALUE(u32, x_stride),
       VALUE(u32, c_stride)){AMP_LOOP(F16_STEP0, F16_STEP1, 4)}

VERTEX(MatMulAmp_f32, IN(f32, x, 8), INOUT(f32, c, 8), VALUE(u32, n), VALUE(u32, x_stride), VALUE(u32, c_stride)) {
  AMP_LOOP(F32_STEP0, F32_STEP1, 8)
}
