/* Pooling of vectors: largest and mean over windows that the host has laid out, of one plane of a field (a block of
 * channels of one image), two axes.
 *
 * Data are [position][channels], channels a whole number of vectors of 8 bytes. windows has two words for each of
 * `count` positions: where the first element inside stands in x (bytes), then how many columns (bits 7:0) and rows
 * (15:8) are inside and what a sum is divided by (31:16). step_w and step_h lead from tap to tap, in bytes. A position
 * has 1 << shift vectors; worker w takes every sixth vector of all positions. Sums are f32, in order of the window,
 * divided and rounded once. `taps` is the largest window's (estimates of time alone use it). No window may be empty. */
#include "tessera/vertex.h"
#ifdef __riscv
#include "tessera/xtile.h"
#else
#include "tessera/xtile_host.h"
#endif

#define WINDOW_FIELDS \
  IN(u32, windows), VALUE(u32, count), VALUE(u32, shift), VALUE(u32, step_w), VALUE(u32, step_h), VALUE(u32, taps)

#ifdef __riscv
/* One window: p points to its vector at the first tap. LOAD has a tap in p0, FOLD takes it into the result's registers,
 * FIRST readies these. */
#define WINDOW_BLOCK(p, columns, rows, to, FIRST, FOLD_COUNT, FOLD, STORE, ...)                                  \
  {                                                                                                              \
    const char* at = (p);                                                                                        \
    char* y = (char*)(to);                                                                                       \
    uint32_t left = (rows);                                                                                      \
    const uint32_t step = state->step_w, back = state->step_h - (columns)*step;                                  \
    x_block((X_IOX(io0, at), X_IOX(io1, left), X_IOX(io2, y)),                                                   \
            (X_INX(in0, step), X_INX(in1, columns), X_INX(in2, back) X_COMMA(__VA_ARGS__)), X_USES(p0, q4, q8),  \
            FIRST "1:\n\t" X_RPT(in1, FOLD_COUNT) X_FNOP X_PAIR(X_LD64_R(p0, io0, in0), X_FNOP) FOLD X_PAIR(     \
                X_ADDI(io1, io1, -1), X_FNOP) X_PAIR(X_ADD(io0, io0, in2), X_FNOP) "bnez %[io1], 1b\n\t" STORE); \
  }
/* A window of NaNs alone gives -infinity, as the reference does. */
#define WINDOW_LEAST X_PAIR(X_NOP, X_FSGNJ_S(f4, in3, in3)) X_PAIR(X_NOP, X_FSGNJ_S(f5, in3, in3))
#define WINDOW_MAX_f16(p, columns, rows, y)                                                  \
  WINDOW_BLOCK(p, columns, rows, y, WINDOW_LEAST, 2, X_PAIR(X_NOP, X_MAX_F16V4(p4, p4, p0)), \
               X_PAIR(X_ST64(p4, 8, io2), X_FNOP), X_INF(in3, x_from_bits(0xfc00fc00u)))
#define WINDOW_MAX_f32(p, columns, rows, y)                                                  \
  WINDOW_BLOCK(p, columns, rows, y, WINDOW_LEAST, 2, X_PAIR(X_NOP, X_MAX_F32V2(p4, p4, p0)), \
               X_PAIR(X_ST64(p4, 8, io2), X_FNOP), X_INF(in3, x_from_bits(0xff800000u)))
#define WINDOW_ZERO X_PAIR(X_NOP, X_CMPLT_F32V2(p8, p8, p8)) X_PAIR(X_NOP, X_CMPLT_F32V2(p10, p10, p10))
#define WINDOW_SUM_f16(p, columns, rows, sums)                                                 \
  WINDOW_BLOCK(p, columns, rows, sums, WINDOW_ZERO, 4,                                         \
               X_PAIR(X_NOP, X_CVT_F32V4_F16V4(q4, p0)) X_PAIR(X_NOP, X_ADD_F32V2(p8, p8, p4)) \
                   X_PAIR(X_NOP, X_ADD_F32V2(p10, p10, p6)),                                   \
               X_PAIR(X_ST64(p8, 8, io2), X_FNOP) X_PAIR(X_ST64(p10, 8, io2), X_FNOP))
#define WINDOW_SUM_f32(p, columns, rows, sums)                                                 \
  WINDOW_BLOCK(p, columns, rows, sums, WINDOW_ZERO, 2, X_PAIR(X_NOP, X_ADD_F32V2(p8, p8, p0)), \
               X_PAIR(X_ST64(p8, 8, io2), X_FNOP))
#else
#define WINDOW_EACH(p, columns, rows, BODY)                                \
  for (uint32_t row = 0; row < (rows); ++row)                              \
    for (uint32_t column = 0; column < (columns); ++column) {              \
      const char* at = (p) + row * state->step_h + column * state->step_w; \
      BODY                                                                 \
    }
#define WINDOW_LARGER_f16(a, b) tessera_host_max_f16(a, b)
#define WINDOW_LARGER_f32(a, b) tessera_f32_from_bits(tessera_host_max_f32(tessera_f32_bits(a), tessera_f32_bits(b)))
#define WINDOW_LEAST_f16 0xfc00u
#define WINDOW_LEAST_f32 tessera_f32_from_bits(0xff800000u)
#define WINDOW_MAX(type, p, columns, rows, y)                                               \
  for (uint32_t k = 0; k < 8 / sizeof(type); ++k) {                                         \
    type best = WINDOW_LEAST_##type;                                                        \
    WINDOW_EACH(p, columns, rows, best = WINDOW_LARGER_##type(best, ((const type*)at)[k]);) \
    ((type*)(y))[k] = best;                                                                 \
  }
#define WINDOW_MAX_f16(p, columns, rows, y) WINDOW_MAX(f16, p, columns, rows, y)
#define WINDOW_MAX_f32(p, columns, rows, y) WINDOW_MAX(f32, p, columns, rows, y)
#define WINDOW_SUM(type, FROM, p, columns, rows, sums)                                  \
  for (uint32_t k = 0; k < 8 / sizeof(type); ++k) {                                     \
    f32 sum = 0;                                                                        \
    WINDOW_EACH(p, columns, rows, sum = tessera_f32(sum + FROM(((const type*)at)[k]));) \
    (sums)[k] = sum;                                                                    \
  }
#define WINDOW_AS_IS(v) (v)
#define WINDOW_SUM_f16(p, columns, rows, sums) WINDOW_SUM(f16, tessera_f16_to_f32, p, columns, rows, sums)
#define WINDOW_SUM_f32(p, columns, rows, sums) WINDOW_SUM(f32, WINDOW_AS_IS, p, columns, rows, sums)
#endif

#define WINDOW_LOOP(BODY)                                                               \
  const uint32_t units = state->count << state->shift, rest = (1u << state->shift) - 1; \
  for (uint32_t i = worker; i < units; i += 6) {                                        \
    const u32* const window = state->windows + 2 * (i >> state->shift);                 \
    const char* const first = (const char*)state->x + window[0] + 8 * (i & rest);       \
    const uint32_t columns = window[1] & 0xff, rows = window[1] >> 8 & 0xff;            \
    BODY                                                                                \
  }

#define WINDOW_MAXIMUM(type)                                                       \
  VERTEX_MULTI(WindowMax_##type, IN(type, x, 8), OUT(type, y, 8), WINDOW_FIELDS) { \
    WINDOW_LOOP(WINDOW_MAX_##type(first, columns, rows, (char*)state->y + 8 * i))  \
  }
WINDOW_MAXIMUM(f16)
WINDOW_MAXIMUM(f32)

#define WINDOW_STORE_f32(v) (v)
#define WINDOW_STORE_f16(v) tessera_f32_to_f16(v)
#define WINDOW_MEAN(type)                                                                                   \
  VERTEX_MULTI(WindowMean_##type, IN(type, x, 8), OUT(type, y, 8), WINDOW_FIELDS) {                         \
    WINDOW_LOOP({                                                                                           \
      f32 sums[8 / sizeof(type)] __attribute__((aligned(8)));                                               \
      WINDOW_SUM_##type(first, columns, rows, sums) const f32 n = (f32)(i32)(window[1] >> 16);              \
      type* const y = (type*)((char*)state->y + 8 * i);                                                     \
      for (uint32_t k = 0; k < 8 / sizeof(type); ++k) y[k] = WINDOW_STORE_##type(tessera_f32(sums[k] / n)); \
    })                                                                                                      \
  }
WINDOW_MEAN(f16)
WINDOW_MEAN(f32)
