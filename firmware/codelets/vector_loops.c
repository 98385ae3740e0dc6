/* Elementwise, reducing and filling inner loops on streams: whole vectors of 8 bytes (two f32 or four f16).
 *
 * `vectors` counts them; data is 8-byte aligned and padded to whole vectors. Loads run one vector ahead of the
 * arithmetic and stores one behind, so MAIN (x.ld2st) and AUX (arithmetic) of every doubleword pair, and a vector costs
 * what its arithmetic costs: one slot, or that of the transcendental instructions. y may be a or b, else they do not
 * overlap. Measured slots stand in docs/machine/inner-loops.md. The network compiler does not choose these codelets
 * yet. */
#include "tessera/vertex.h"
#include "tessera/xtile.h"
#include "vector_blocks.h"

#define BINARY_VECTORS(Name, type, OP)                                                 \
  VERTEX(Name, IN(type, a, 8), IN(type, b, 8), OUT(type, y, 8), VALUE(u32, vectors)) { \
    BINARY_LOOP(OP, state->vectors, state->a, state->b, state->y)                      \
  }
BINARY_VECTORS(AddVectors_f32, f32, X_ADD_F32V2)
BINARY_VECTORS(SubVectors_f32, f32, X_SUB_F32V2)
BINARY_VECTORS(MulVectors_f32, f32, X_MUL_F32V2)
BINARY_VECTORS(MaxVectors_f32, f32, X_MAX_F32V2)
BINARY_VECTORS(AddVectors_f16, f16, X_ADD_F16V4)
BINARY_VECTORS(SubVectors_f16, f16, X_SUB_F16V4)
BINARY_VECTORS(MulVectors_f16, f16, X_MUL_F16V4)
BINARY_VECTORS(MaxVectors_f16, f16, X_MAX_F16V4)

/* y += scale * x. */
#define SADD_F32(d, x, y) X_SADD_F32V2(d, in2, x, y)
#define SADD_F16(d, x, y) X_SADD_F16V4(d, in2, x, y)
VERTEX(ScaledAddVectors_f32, IN(f32, x, 8), INOUT(f32, y, 8), VALUE(f32, scale), VALUE(u32, vectors)){
    BINARY_LOOP(SADD_F32, state->vectors, state->x, state->y, state->y,
                X_INF(in2, state->scale))} VERTEX(ScaledAddVectors_f16, IN(f16, x, 8), INOUT(f16, y, 8),
                                                  VALUE(u32, scale_bits), VALUE(u32, vectors)){
    BINARY_LOOP(SADD_F16, state->vectors, state->x, state->y, state->y, X_INF(in2, x_from_bits(state->scale_bits)))}
#define UNARY_VECTORS(Name, type, STEP0, STEP1, LENGTH)                                                                \
  VERTEX(Name, IN(type, x, 8), OUT(type, y, 8), VALUE(u32, vectors)) {                                                 \
    uint32_t n = state->vectors;                                                                                       \
    type* const y = state->y;                                                                                          \
    x_sset(0, state->x, 0);                                                                                            \
    x_sset(2, y, 0);                                                                                                   \
    if (n & 1) x_block(X_NONE, X_NONE, X_USES(p0, p10, p12), ODD_UNARY(STEP0));                                        \
    n >>= 1;                                                                                                           \
    if (n)                                                                                                             \
      x_block(X_NONE, (X_INX(in0, n - 1), X_INX(in1, y)), X_USES(p0, p4, p10, p12), EVEN_UNARY(STEP0, STEP1, LENGTH)); \
  }

UNARY_VECTORS(ReluVectors_f32, f32, RELU_F32_0, RELU_F32_1, 2)
    UNARY_VECTORS(ReluVectors_f16, f16, RELU_F16_0, RELU_F16_1, 2)

    /* Functions of one register: two to a vector. */
    UNARY_VECTORS(ExpVectors_f32, f32, EXP_F32_0, EXP_F32_1, 4)
        UNARY_VECTORS(LogVectors_f32, f32, LOG_F32_0, LOG_F32_1, 4)
            UNARY_VECTORS(TanhVectors_f32, f32, TANH_F32_0, TANH_F32_1, 4)
                UNARY_VECTORS(SigmoidVectors_f32, f32, SIGMOID_F32_0, SIGMOID_F32_1, 4)
                    UNARY_VECTORS(ExpVectors_f16, f16, EXP_F16_0, EXP_F16_1, 4)
                        UNARY_VECTORS(LogVectors_f16, f16, LOG_F16_0, LOG_F16_1, 4)
                            UNARY_VECTORS(TanhVectors_f16, f16, TANH_F16_0, TANH_F16_1, 4)
                                UNARY_VECTORS(SigmoidVectors_f16, f16, SIGMOID_F16_0, SIGMOID_F16_1, 4)

/* Reductions of at least one vector to one f32. f32 lanes gather even and odd elements; f16 is summed in f32.
 * START sets the accumulator beside the first load; ADD(v) takes a vector; END gives the result in out0. */
#define LOAD(pair) X_LD64(pair, 8, io0)
#define REDUCE_HEAD(START, ADD) START X_REPEAT(in0, X_FNOP, X_PAIR(LOAD(p4), ADD(p0)), X_PAIR(LOAD(p0), ADD(p4)))
#define REDUCE_LOOP(START, ADD, END)                                                                                 \
  const f32* x = (const f32*)state->x;                                                                               \
  const uint32_t n = state->vectors;                                                                                 \
  f32 result;                                                                                                        \
  if (n & 1)                                                                                                         \
    x_block((X_OUTF(out0, result), X_IOX(io0, x)), (X_INX(in0, n >> 1), X_INF(in1, x_from_bits(0x3c003c00))),        \
            X_USES(p0, p4, p10, p12), REDUCE_HEAD(START, ADD) X_PAIR(X_NOP, ADD(p0)) END);                           \
  else                                                                                                               \
    x_block((X_OUTF(out0, result), X_IOX(io0, x)), (X_INX(in0, (n >> 1) - 1), X_INF(in1, x_from_bits(0x3c003c00))),  \
            X_USES(p0, p4, p10, p12), REDUCE_HEAD(START, ADD) X_PAIR(LOAD(p4), ADD(p0)) X_PAIR(X_NOP, ADD(p4)) END); \
  *state->y = result;

#define SUM_START X_PAIR(LOAD(p0), X_CMPLT_F32V2(p10, p10, p10))
#define SUM_ADD(v) X_ADD_F32V2(p10, p10, v)
                                    VERTEX(SumVectors_f32, IN(f32, x, 8), OUT(f32, y),
                                           VALUE(u32, vectors)){REDUCE_LOOP(SUM_START, SUM_ADD, X_SUM_F32V2(out0, p10))}
#define MAX_START X_PAIR(X_LD64(p10, 0, io0), X_FNOP) X_PAIR(LOAD(p0), X_FNOP)
#define MAX_ADD(v) X_MAX_F32V2(p10, p10, v)
VERTEX(MaxOfVectors_f32, IN(f32, x, 8), OUT(f32, y),
       VALUE(u32, vectors)){REDUCE_LOOP(MAX_START, MAX_ADD, X_FMAX_S(out0, f10, f11))}
/* The product with ones adds four lanes to an f32. */
#define HALF_START                           \
  X_PAIR(LOAD(p0), X_FSGNJ_S(f12, in1, in1)) \
  X_PAIR(X_NOP, X_FSGNJ_S(f13, in1, in1)) X_PAIR(X_NOP, X_CMPLT_F16V2(f10, f10, f10))
#define HALF_ADD(v) X_DOT_F16V4(f10, v, p12, f10)
VERTEX(SumVectors_f16, IN(f16, x, 8), OUT(f32, y),
       VALUE(u32, vectors)){REDUCE_LOOP(HALF_START, HALF_ADD, X_FSGNJ_S(out0, f10, f10))}

/* Every 32-bit word of y. */
VERTEX(FillVectors, OUT(u32, y, 8), VALUE(u32, word), VALUE(u32, vectors)) {
  u32* y = state->y;
  const f32 word = x_from_bits(state->word);
  x_block((X_IOX(io0, y)), (X_INX(in0, state->vectors), X_INF(in1, word)), X_USES(p10),
          X_PAIR(X_NOP, X_FSGNJ_S(f10, in1, in1))
              X_REPEAT(in0, X_FSGNJ_S(f11, in1, in1), X_PAIR(X_ST64(p10, 8, io0), X_FNOP)));
}

/* 64 random bits a vector from the worker's generator. */
VERTEX(RandomBits, OUT(u32, y, 8), VALUE(u32, vectors)) {
  u32* y = state->y;
  x_block((X_IOX(io0, y)), (X_INX(in0, state->vectors)), X_USES(p10),
          X_REPEAT(in0, X_URAND64(p10), X_PAIR(X_ST64(p10, 8, io0), X_URAND64(p10))));
}

/* Two f32 a vector, uniform over 0 to 1: a signed integer i of 32 bits gives i * 2^-32 + 1/2, rounded. One vector more
 * is drawn than is stored. */
VERTEX(RandomUniform_f32, OUT(f32, y, 8), VALUE(u32, vectors)) {
  f32* y = state->y;
  x_block((X_IOX(io0, y)), (X_INX(in0, state->vectors), X_INF(in1, 0x1p-32f), X_INF(in2, 0.5f)), X_USES(p4, p10, p12),
          X_PAIR(X_NOP, X_URAND64(p4)) X_PAIR(X_NOP, X_FSGNJ_S(f12, in2, in2)) X_PAIR(X_NOP, X_FSGNJ_S(f13, in2, in2))
              X_PAIR(X_NOP, X_CVT_F32V2_I32V2(p4, p4))
                  X_REPEAT(in0, X_SADD_F32V2(p10, in1, p4, p12), X_PAIR(X_ST64(p10, 8, io0), X_URAND64(p4)),
                           X_PAIR(X_NOP, X_CVT_F32V2_I32V2(p4, p4)), X_PAIR(X_NOP, X_SADD_F32V2(p10, in1, p4, p12))));
}
