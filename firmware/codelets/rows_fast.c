/* Rows of f16 by vectors: columns are a multiple of 4 and data begin at multiples of 8 bytes. Arithmetic is f32. Slots
 * a vector of 4: softmax 1 + 19 + 6, moments 2, their application 8. rows.c has the forms for all other rows. */
#include "row_vectors.h"

#define ONES 0x3c003c00u

/* Sum and sum of squares of `vectors` vectors: chains of x.dot.f16v4. */
static inline void moments_of(const f16* x, u32 vectors, f32* sum, f32* squares) {
#ifdef __riscv
#define BOTH(main, v) X_PAIR(main, X_DOT_F16V4(f10, v, p12, f10)) X_PAIR(X_NOP, X_DOT_F16V4(f11, v, v, f11))
#define MOMENTS_HEAD                                   \
  X_PAIR(X_LD64(p0, 8, io0), X_FSGNJ_S(f12, in1, in1)) \
  X_PAIR(X_NOP, X_FSGNJ_S(f13, in1, in1))              \
  X_PAIR(X_NOP, X_CMPLT_F16V4(p10, p10, p10))          \
  X_RPT(in0, 4) X_FNOP BOTH(X_LD64(p4, 8, io0), p0) BOTH(X_LD64(p0, 8, io0), p4)
#define MOMENTS_END X_PAIR(X_NOP, X_FSGNJ_S(out0, f10, f10)) X_PAIR(X_NOP, X_FSGNJ_S(out1, f11, f11))
  f32 s, q;
  if (vectors & 1)
    x_block((X_OUTF(out0, s), X_OUTF(out1, q), X_IOX(io0, x)),
            (X_INX(in0, vectors >> 1), X_INF(in1, x_from_bits(ONES))), X_USES(p0, p4, p10, p12),
            MOMENTS_HEAD BOTH(X_NOP, p0) MOMENTS_END);
  else
    x_block((X_OUTF(out0, s), X_OUTF(out1, q), X_IOX(io0, x)),
            (X_INX(in0, (vectors >> 1) - 1), X_INF(in1, x_from_bits(ONES))), X_USES(p0, p4, p10, p12),
            MOMENTS_HEAD BOTH(X_LD64(p4, 8, io0), p0) BOTH(X_NOP, p4) MOMENTS_END);
  *sum = s, *squares = q;
#else
  static const f16 ones[4] = {0x3c00, 0x3c00, 0x3c00, 0x3c00};
  u32 s = 0, q = 0;
  for (; vectors; --vectors, x += 4) s = tessera_host_dot_f16v4(x, ones, s), q = tessera_host_dot_f16v4(x, x, q);
  *sum = tessera_f32_from_bits(s), *squares = tessera_f32_from_bits(q);
#endif
}

/* moments[row][worker] = sum and sum of squares of the worker's share of the row's columns. */
VERTEX_MULTI(RowMoments_f16, IN(f16, x, 8), OUT(f32, moments), VALUE(u32, rows), VALUE(u32, columns)) {
  const u32 columns = state->columns;
  u32 begin, end;
  worker_share(columns, 4, worker, &begin, &end);
  const f16* x = state->x + begin;
  f32* moments = state->moments + 2 * worker;
  for (u32 rows = state->rows; rows; --rows, x += columns, moments += 12) {
    f32 sum = 0.0f, squares = 0.0f;
    if (end > begin) moments_of(x, (end - begin) / 4, &sum, &squares);
    moments[0] = sum, moments[1] = squares;
  }
}

/* y = (x * inverse + shift) * scale + bias. */
static inline void apply_row(const f16* x, const f32* scale, const f32* bias, f16* y, u32 vectors, f32 inverse,
                             f32 shift) {
#ifdef __riscv
  x_block((X_IOX(io0, x), X_IOX(io1, scale), X_IOX(io2, bias), X_IOX(io3, y)),
          (X_INX(in0, vectors), X_INF(in1, inverse), X_INF(in2, shift)), X_USES(p0, q4, q8, q12, p16, q20),
          X_PAIR(X_NOP, X_FSGNJ_S(f16, in2, in2)) X_PAIR(X_NOP, X_FSGNJ_S(f17, in2, in2))
              X_REPEAT(in0, X_FNOP, X_PAIR(X_LD64(p0, 8, io0), X_FSGNJ_S(f16, f16, f16)),
                       X_PAIR(X_LD128(q8, 16, io1), X_CVT_F32V4_F16V4(q4, p0)),
                       X_PAIR(X_LD128(q12, 16, io2), X_SADD_F32V2(p20, in1, p4, p16)),
                       X_PAIR(X_NOP, X_SADD_F32V2(p22, in1, p6, p16)), X_PAIR(X_NOP, X_MAC_F32V2(p20, p20, p8, p12)),
                       X_PAIR(X_NOP, X_MAC_F32V2(p22, p22, p10, p14)), X_PAIR(X_NOP, X_CVT_F16V4_F32V4(p0, q20)),
                       X_PAIR(X_ST64(p0, 8, io3), X_FSGNJ_S(f16, f16, f16))));
#else
  for (u32 n = 4 * vectors; n; --n, ++x, ++scale, ++bias, ++y)
    *y = tessera_f32_to_f16(tessera_fma(tessera_fma(inverse, tessera_f16_to_f32(*x), shift), *scale, *bias));
#endif
}

/* Layer normalisation with the moments of RowMoments_f16. scale and bias are those of the columns. */
VERTEX_MULTI(RowApply_f16, IN_ELEMENTWISE(f16, x, 8), IN(f32, moments), IN(f32, scale, 8), IN(f32, bias, 8),
             OUT(f16, y, 8), OUT(f32, mean), OUT(f32, deviation), VALUE(u32, rows), VALUE(u32, columns),
             VALUE(f32, epsilon)) {
  const u32 columns = state->columns;
  const f32 share = 1.0f / (f32)columns;
  u32 begin, end;
  worker_share(columns, 4, worker, &begin, &end);
  const f32* moments = state->moments;
  for (u32 row = 0; row < state->rows; ++row, moments += 12) {
    f32 sum = moments[0], squares = moments[1];
    for (u32 w = 1; w < 6; ++w) sum = sum + moments[2 * w], squares = squares + moments[2 * w + 1];
    const f32 mean = sum * share;
    f32 variance = tessera_fma(-mean, mean, squares * share);
    if (variance < 0.0f) variance = 0.0f;
    const f32 inverse = 1.0f / __builtin_sqrtf(variance + state->epsilon);
    if (worker == 0) state->mean[row] = tessera_f32(mean), state->deviation[row] = tessera_f32(inverse);
    if (end > begin)
      apply_row(state->x + row * columns + begin, state->scale + begin, state->bias + begin,
                state->y + row * columns + begin, (end - begin) / 4, inverse, -mean * inverse);
  }
}

VERTEX_MULTI(RowSoftmaxFast_f16, IN_ELEMENTWISE(f16, x, 8), OUT(f16, y, 8), VALUE(u32, rows), VALUE(u32, columns)) {
  const u32 columns = state->columns, vectors = columns / 4;
  for (u32 row = worker; row < state->rows; row += 6) {
    const f16* x = state->x + row * columns;
    f16* y = state->y + row * columns;
    const f32 largest = tessera_f16_to_f32(largest_of(x, vectors));
    const f32 sum = exponentials_of(x, y, vectors, largest);
    scale_row(y, vectors, 1.0f / sum);
  }
}
