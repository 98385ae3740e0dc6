/* Softmax and its logarithm of rows that several workers, and several tiles, share: three steps that hand each other
 * partial results of six workers a part. x is [rows][columns], a part of each row; every worker takes a share of the
 * columns. `n` partial results a row, a multiple of 6, come from all parts of the row, in order. Data begin at
 * multiples of 8 bytes; if columns are no multiple of a vector there is one row. Arithmetic is f32. Slots a vector of 4
 * f16: 2, 19 and 6; of 2 f32: 2, 9 and 2. rows.c has softmax of whole rows. */
#include "functions.h"
#include "row_vectors.h"

/* The largest and the sum of n values, n even and at least 2: those at even places, at odd places, and both together.
 */
static inline f32 largest_f32(const f32* x, u32 vectors) {
#ifdef __riscv
  f32 even, odd;
  x_block((X_OUTF(out0, even), X_OUTF(out1, odd), X_IOX(io0, x)), (X_INX(in0, vectors - 1)), X_USES(p0, p10),
          X_PAIR(X_LD64(p10, 8, io0), X_FNOP)
              X_REPEAT(in0, X_FNOP, X_PAIR(X_LD64(p0, 8, io0), X_FSGNJ_S(f10, f10, f10)),
                       X_PAIR(X_NOP, X_MAX_F32V2(p10, p10, p0))) X_PAIR(X_NOP, X_FSGNJ_S(out0, f10, f10))
                  X_PAIR(X_NOP, X_FSGNJ_S(out1, f11, f11)));
  return lane_max_f32(even, odd);
#else
  f32 even = x[0], odd = x[1];
  for (u32 k = 2; k < 2 * vectors; k += 2) even = lane_max_f32(even, x[k]), odd = lane_max_f32(odd, x[k + 1]);
  return lane_max_f32(even, odd);
#endif
}
static inline f32 sum_f32(const f32* x, u32 vectors) {
#ifdef __riscv
  f32 sum;
  x_block((X_OUTF(out0, sum), X_IOX(io0, x)), (X_INX(in0, vectors)), X_USES(p0, p10),
          X_PAIR(X_NOP, X_CMPLT_F32V2(p10, p10, p10))
              X_REPEAT(in0, X_FNOP, X_PAIR(X_LD64(p0, 8, io0), X_FSGNJ_S(f10, f10, f10)),
                       X_PAIR(X_NOP, X_ADD_F32V2(p10, p10, p0))) X_PAIR(X_NOP, X_SUM_F32V2(out0, p10)));
  return sum;
#else
  f32 even = 0.0f, odd = 0.0f;
  for (u32 k = 0; k < 2 * vectors; k += 2) even = even + x[k], odd = odd + x[k + 1];
  return even + odd;
#endif
}

/* exp(x - largest), stored if `y`, and their sum. */
static inline f32 exponentials_f32(const f32* x, f32* y, u32 vectors, f32 largest) {
#ifdef __riscv
  f32 sum;
  x_block((X_OUTF(out0, sum), X_IOX(io0, x), X_IOX(io1, y)), (X_INX(in0, vectors), X_INF(in1, largest)),
          X_USES(p0, p4, p8, p14, p16),
          X_PAIR(X_NOP, X_FSGNJ_S(f16, in1, in1)) X_PAIR(X_NOP, X_FSGNJ_S(f17, in1, in1))
              X_PAIR(X_NOP, X_CMPLT_F32V2(p14, p14, p14))
                  X_REPEAT(in0, X_FNOP, X_PAIR(X_LD64(p0, 8, io0), X_FSGNJ_S(f16, f16, f16)),
                           X_PAIR(X_NOP, X_SUB_F32V2(p4, p0, p16)), X_PAIR(X_NOP, X_EXP_F32(f8, f4)),
                           X_PAIR(X_NOP, X_EXP_F32(f9, f5)), X_PAIR(X_ST64(p8, 8, io1), X_ADD_F32V2(p14, p14, p8)))
                      X_PAIR(X_NOP, X_SUM_F32V2(out0, p14)));
  return sum;
#else
  f32 sums[2] = {0.0f, 0.0f};
  for (u32 k = 0; k < 2 * vectors; ++k) y[k] = lane_exp_f32(x[k] - largest), sums[k & 1] = sums[k & 1] + y[k];
  return sums[0] + sums[1];
#endif
}
static inline void scale_f32(f32* y, u32 vectors, f32 scale) {
#ifdef __riscv
  f32* x = y;
  x_block((X_IOX(io0, x), X_IOX(io1, y)), (X_INX(in0, vectors), X_INF(in1, scale)), X_USES(p0, p4, p16),
          X_PAIR(X_NOP, X_FSGNJ_S(f16, in1, in1)) X_PAIR(X_NOP, X_FSGNJ_S(f17, in1, in1))
              X_REPEAT(in0, X_FNOP, X_PAIR(X_LD64(p0, 8, io0), X_FSGNJ_S(f16, f16, f16)),
                       X_PAIR(X_NOP, X_MUL_F32V2(p4, p0, p16)), X_PAIR(X_ST64(p4, 8, io1), X_FSGNJ_S(f16, f16, f16))));
#else
  for (u32 n = 2 * vectors; n; --n, ++y) *y = tessera_f32(*y * scale);
#endif
}

/* (x - largest) - shift. */
static inline void shift_f32(const f32* x, f32* y, u32 vectors, f32 largest, f32 shift) {
#ifdef __riscv
  x_block((X_IOX(io0, x), X_IOX(io1, y)), (X_INX(in0, vectors), X_INF(in1, largest), X_INF(in2, shift)),
          X_USES(p0, p4, p16, p18),
          X_PAIR(X_NOP, X_FSGNJ_S(f16, in1, in1)) X_PAIR(X_NOP, X_FSGNJ_S(f17, in1, in1))
              X_PAIR(X_NOP, X_FSGNJ_S(f18, in2, in2)) X_PAIR(X_NOP, X_FSGNJ_S(f19, in2, in2))
                  X_REPEAT(in0, X_FNOP, X_PAIR(X_LD64(p0, 8, io0), X_FSGNJ_S(f16, f16, f16)),
                           X_PAIR(X_NOP, X_SUB_F32V2(p4, p0, p16)), X_PAIR(X_NOP, X_SUB_F32V2(p4, p4, p18)),
                           X_PAIR(X_ST64(p4, 8, io1), X_FSGNJ_S(f16, f16, f16))));
#else
  for (u32 n = 2 * vectors; n; --n, ++x, ++y) *y = tessera_f32((*x - largest) - shift);
#endif
}
static inline void shift_f16(const f16* x, f16* y, u32 vectors, f32 largest, f32 shift) {
#ifdef __riscv
  x_block((X_IOX(io0, x), X_IOX(io1, y)), (X_INX(in0, vectors), X_INF(in1, largest), X_INF(in2, shift)),
          X_USES(p0, q4, p12, p16, p18),
          X_PAIR(X_NOP, X_FSGNJ_S(f16, in1, in1)) X_PAIR(X_NOP, X_FSGNJ_S(f17, in1, in1))
              X_PAIR(X_NOP, X_FSGNJ_S(f18, in2, in2)) X_PAIR(X_NOP, X_FSGNJ_S(f19, in2, in2))
                  X_REPEAT(in0, X_FNOP, X_PAIR(X_LD64(p0, 8, io0), X_FSGNJ_S(f16, f16, f16)),
                           X_PAIR(X_NOP, X_CVT_F32V4_F16V4(q4, p0)), X_PAIR(X_NOP, X_SUB_F32V2(p4, p4, p16)),
                           X_PAIR(X_NOP, X_SUB_F32V2(p6, p6, p16)), X_PAIR(X_NOP, X_SUB_F32V2(p4, p4, p18)),
                           X_PAIR(X_NOP, X_SUB_F32V2(p6, p6, p18)), X_PAIR(X_NOP, X_CVT_F16V4_F32V4(p12, q4)),
                           X_PAIR(X_ST64(p12, 8, io1), X_FSGNJ_S(f16, f16, f16))));
#else
  for (u32 n = 4 * vectors; n; --n, ++x, ++y) *y = tessera_f32_to_f16((tessera_f16_to_f32(*x) - largest) - shift);
#endif
}

#define SAME(v) (v)
static inline f32 largest_of_f16(const f16* x, u32 vectors) { return tessera_f16_to_f32(largest_of(x, vectors)); }
#define exponentials_f16 exponentials_of
#define scale_f16 scale_row

/* A worker's columns of a row: whole vectors, then what is left behind the last one. */
#define SHARE(WIDTH)                                  \
  const u32 columns = state->columns;                 \
  u32 begin, end;                                     \
  worker_share(columns, WIDTH, worker, &begin, &end); \
  const u32 vectors = (end - begin) / WIDTH, rest = begin + vectors * WIDTH;

#define ROW_PARTS(type, WIDTH, LARGEST_OF, LOAD, STORE)                                                           \
  /* y[row][worker]: the largest of the worker's share, minus infinity without one. */                            \
  VERTEX_MULTI(PartMax_##type, IN(type, x, 8), OUT(f32, y), VALUE(u32, rows), VALUE(u32, columns)) {              \
    SHARE(WIDTH)                                                                                                  \
    const type* x = state->x;                                                                                     \
    f32* y = state->y + worker;                                                                                   \
    for (u32 row = state->rows; row; --row, x += columns, y += 6) {                                               \
      f32 best = -FN_INFINITY;                                                                                    \
      if (vectors) best = LARGEST_OF(x + begin, vectors);                                                         \
      for (u32 k = rest; k < end; ++k) best = lane_max_f32(best, LOAD(x[k]));                                     \
      *y = tessera_f32(best);                                                                                     \
    }                                                                                                             \
  }                                                                                                               \
  /* y = exp(x - the largest of best[row]); sums[row][worker]. */                                                 \
  VERTEX_MULTI(PartExp_##type, IN_ELEMENTWISE(type, x, 8), IN(f32, best, 8), OUT(type, y, 8), OUT(f32, sums),     \
               VALUE(u32, rows), VALUE(u32, columns), VALUE(u32, n)) {                                            \
    SHARE(WIDTH)                                                                                                  \
    const u32 n = state->n;                                                                                       \
    const type* x = state->x;                                                                                     \
    type* y = state->y;                                                                                           \
    const f32* best = state->best;                                                                                \
    f32* sums = state->sums + worker;                                                                             \
    for (u32 row = state->rows; row; --row, x += columns, y += columns, best += n, sums += 6) {                   \
      const f32 largest = largest_f32(best, n / 2);                                                               \
      f32 sum = 0.0f;                                                                                             \
      if (vectors) sum = exponentials_##type(x + begin, y + begin, vectors, largest);                             \
      for (u32 k = rest; k < end; ++k) {                                                                          \
        const f32 e = lane_exp_f32(LOAD(x[k]) - largest);                                                         \
        y[k] = STORE(e);                                                                                          \
        sum = sum + e;                                                                                            \
      }                                                                                                           \
      *sums = tessera_f32(sum);                                                                                   \
    }                                                                                                             \
  }                                                                                                               \
  /* y divided by the sum of sums[row]. */                                                                        \
  VERTEX_MULTI(PartScale_##type, INOUT(type, y, 8), IN(f32, sums, 8), VALUE(u32, rows), VALUE(u32, columns),      \
               VALUE(u32, n)) {                                                                                   \
    SHARE(WIDTH)                                                                                                  \
    const u32 n = state->n;                                                                                       \
    type* y = state->y;                                                                                           \
    const f32* sums = state->sums;                                                                                \
    for (u32 row = state->rows; row; --row, y += columns, sums += n) {                                            \
      const f32 scale = 1.0f / sum_f32(sums, n / 2);                                                              \
      if (vectors) scale_##type(y + begin, vectors, scale);                                                       \
      for (u32 k = rest; k < end; ++k) y[k] = STORE(tessera_f32(LOAD(y[k]) * scale));                             \
    }                                                                                                             \
  }                                                                                                               \
  /* y = (x - the largest of best[row]) - log of the sum of sums[row]. */                                         \
  VERTEX_MULTI(PartShift_##type, IN_ELEMENTWISE(type, x, 8), IN(f32, best, 8), IN(f32, sums, 8), OUT(type, y, 8), \
               VALUE(u32, rows), VALUE(u32, columns), VALUE(u32, n)) {                                            \
    SHARE(WIDTH)                                                                                                  \
    const u32 n = state->n;                                                                                       \
    const type* x = state->x;                                                                                     \
    type* y = state->y;                                                                                           \
    const f32 *best = state->best, *sums = state->sums;                                                           \
    for (u32 row = state->rows; row; --row, x += columns, y += columns, best += n, sums += n) {                   \
      const f32 largest = largest_f32(best, n / 2), shift = lane_log_f32(sum_f32(sums, n / 2));                   \
      if (vectors) shift_##type(x + begin, y + begin, vectors, largest, shift);                                   \
      for (u32 k = rest; k < end; ++k) y[k] = STORE(tessera_f32((LOAD(x[k]) - largest) - shift));                 \
    }                                                                                                             \
  }
ROW_PARTS(f32, 2, largest_f32, SAME, SAME)
ROW_PARTS(f16, 4, largest_of_f16, tessera_f16_to_f32, tessera_f32_to_f16)

/* Where the best element of a row of parts of `length` stands: part[row] is the best part, where[row][parts] the best
 * element of each. */
VERTEX_MULTI(PartPick_i32, IN(i32, part), IN(i32, where), OUT(i32, y), VALUE(u32, rows), VALUE(u32, parts),
             VALUE(u32, length)) {
  for (u32 row = worker; row < state->rows; row += 6) {
    const u32 p = (u32)state->part[row];
    state->y[row] = (i32)(p * state->length + (u32)state->where[row * state->parts + p]);
  }
}
