/* Softmax of f16 by vectors of four: what whole rows (rows_fast.c) and parts of rows (row_parts.c) are made of. */
#ifndef TESSERA_CODELETS_ROW_VECTORS_H_
#define TESSERA_CODELETS_ROW_VECTORS_H_

#include "lanes.h"

static inline f16 largest_of(const f16* x, u32 vectors) {
#ifdef __riscv
  f32 low, high;
  x_block((X_OUTF(out0, low), X_OUTF(out1, high), X_IOX(io0, x)), (X_INX(in0, vectors - 1)), X_USES(p0, p10),
          X_PAIR(X_LD64(p10, 8, io0), X_FNOP) X_PAIR(X_NOP, X_MAX_F16V4(p10, p10, p10))
              X_REPEAT(in0, X_FNOP, X_PAIR(X_LD64(p0, 8, io0), X_FSGNJ_S(f10, f10, f10)),
                       X_PAIR(X_NOP, X_MAX_F16V4(p10, p10, p0))) X_PAIR(X_NOP, X_FSGNJ_S(out0, f10, f10))
                  X_PAIR(X_NOP, X_FSGNJ_S(out1, f11, f11)));
  const f16x2 both = x_max_f16v2((f16x2){low}, (f16x2){high});
  const u32 bits = x_bits(both.r0);
  return (f16)x_bits(x_max_f16v2((f16x2){x_from_bits(bits & 0xffff)}, (f16x2){x_from_bits(bits >> 16)}).r0);
#else
  f16 best = tessera_host_max_f16(x[0], x[0]);
  for (u32 k = 1; k < 4 * vectors; ++k) best = tessera_host_max_f16(best, x[k]);
  return best;
#endif
}

/* y = exp(x - largest) in f16, and their sum in f32: of elements 0 and 2 of each vector, and 1 and 3. */
static inline f32 exponentials_of(const f16* x, f16* y, u32 vectors, f32 largest) {
#ifdef __riscv
  f32 sum;
  x_block((X_OUTF(out0, sum), X_IOX(io0, x), X_IOX(io1, y)), (X_INX(in0, vectors), X_INF(in1, largest)),
          X_USES(p0, q4, q8, p12, p14, p16),
          X_PAIR(X_NOP, X_FSGNJ_S(f16, in1, in1)) X_PAIR(X_NOP, X_FSGNJ_S(f17, in1, in1))
              X_PAIR(X_NOP, X_CMPLT_F32V2(p14, p14, p14))
                  X_REPEAT(in0, X_FNOP, X_PAIR(X_LD64(p0, 8, io0), X_FSGNJ_S(f16, f16, f16)),
                           X_PAIR(X_NOP, X_CVT_F32V4_F16V4(q4, p0)), X_PAIR(X_NOP, X_SUB_F32V2(p4, p4, p16)),
                           X_PAIR(X_NOP, X_SUB_F32V2(p6, p6, p16)), X_PAIR(X_NOP, X_EXP_F32(f8, f4)),
                           X_PAIR(X_NOP, X_EXP_F32(f9, f5)), X_PAIR(X_NOP, X_EXP_F32(f10, f6)),
                           X_PAIR(X_NOP, X_EXP_F32(f11, f7)), X_PAIR(X_NOP, X_CVT_F16V4_F32V4(p12, q8)),
                           X_PAIR(X_ST64(p12, 8, io1), X_ADD_F32V2(p14, p14, p8)),
                           X_PAIR(X_NOP, X_ADD_F32V2(p14, p14, p10))) X_PAIR(X_NOP, X_SUM_F32V2(out0, p14)));
  return sum;
#else
  f32 sums[2] = {0.0f, 0.0f};
  for (u32 k = 0; k < 4 * vectors; ++k) {
    const f32 e = lane_exp_f32(tessera_f32(tessera_f16_to_f32(x[k]) - largest));
    y[k] = tessera_f32_to_f16(e);
    sums[k & 1] = sums[k & 1] + e;
  }
  return sums[0] + sums[1];
#endif
}

static inline void scale_row(f16* y, u32 vectors, f32 scale) {
#ifdef __riscv
  f16* x = y;
  x_block((X_IOX(io0, x), X_IOX(io1, y)), (X_INX(in0, vectors), X_INF(in1, scale)), X_USES(p0, q4, q8, p16),
          X_PAIR(X_NOP, X_FSGNJ_S(f16, in1, in1)) X_PAIR(X_NOP, X_FSGNJ_S(f17, in1, in1))
              X_REPEAT(in0, X_FNOP, X_PAIR(X_LD64(p0, 8, io0), X_FSGNJ_S(f16, f16, f16)),
                       X_PAIR(X_NOP, X_CVT_F32V4_F16V4(q4, p0)), X_PAIR(X_NOP, X_MUL_F32V2(p8, p4, p16)),
                       X_PAIR(X_NOP, X_MUL_F32V2(p10, p6, p16)), X_PAIR(X_NOP, X_CVT_F16V4_F32V4(p0, q8)),
                       X_PAIR(X_ST64(p0, 8, io1), X_FSGNJ_S(f16, f16, f16))));
#else
  for (u32 n = 4 * vectors; n; --n, ++y) *y = tessera_f32_to_f16(tessera_f16_to_f32(*y) * scale);
#endif
}

#endif /* TESSERA_CODELETS_ROW_VECTORS_H_ */
