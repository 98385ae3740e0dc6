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
#define WINDOW_BLOCK(p, columns, rows, to, FIRST, FOLD_COUNT, BESIDE, FOLD, STORE, ...)                         \
  {                                                                                                             \
    const char* at = (p);                                                                                       \
    char* y_ = (char*)(to);                                                                                     \
    uint32_t left = (rows);                                                                                     \
    const uint32_t step = step_w, back = step_h - (columns)*step;                                               \
    x_block((X_IOX(io0, at), X_IOX(io1, left), X_IOX(io2, y_)),                                                 \
            (X_INX(in0, step), X_INX(in1, columns), X_INX(in2, back) X_COMMA(__VA_ARGS__)), X_USES(p0, q4, q8), \
            FIRST "1:\n\t" X_RPT(in1, FOLD_COUNT) X_FNOP X_PAIR(X_LD64_R(p0, io0, in0), BESIDE)                 \
                FOLD X_ADDI(io1, io1, -1) X_ADD(io0, io0, in2) "bnez %[io1], 1b\n\t" X_NOP STORE);              \
  }
/* Two vectors of one window, the second one's fold a tap behind: q0 and q4 have taps, p12 and p14 the result. A window
 * of NaNs alone gives -infinity, as the reference does. */
#define WINDOW_LEAST(main0, main1) X_PAIR(main0, X_FSGNJ_S(f10, in3, in3)) X_PAIR(main1, X_FSGNJ_S(f11, in3, in3))
#define WINDOW_PAIR(p, columns, rows, to, MAX, least)                                                                \
  {                                                                                                                  \
    const char* at = (p);                                                                                            \
    char* y_ = (char*)(to);                                                                                          \
    uint32_t left = (rows);                                                                                          \
    const uint32_t step = step_w - 8, back = step_h - (columns)*step_w;                                              \
    x_block((X_IOX(io0, at), X_IOX(io1, left), X_IOX(io2, y_)),                                                      \
            (X_INX(in0, step), X_INX(in1, columns), X_INX(in2, back), X_INF(in3, x_from_bits(least))),               \
            X_USES(p0, p2, p10, p12, p14),                                                                           \
            WINDOW_LEAST(X_NOP, X_NOP) X_PAIR(X_NOP, X_MV64(p2, p10)) X_PAIR(X_NOP, X_MV64(p12, p10)) X_PAIR(        \
                X_NOP, X_MV64(p14, p10)) "1:\n\t" X_RPT(in1, 2) X_FNOP X_PAIR(X_LD64(p0, 8, io0), MAX(p14, p14, p2)) \
                X_PAIR(X_LD64_R(p2, io0, in0), MAX(p12, p12, p0)) X_ADDI(io1, io1, -1)                               \
                    X_ADD(io0, io0, in2) "bnez %[io1], 1b\n\t" X_NOP X_PAIR(X_ST64(p12, 8, io2), MAX(p14, p14, p2))  \
                        X_PAIR(X_ST64(p14, 8, io2), X_FNOP));                                                        \
  }
/* The same of three by three taps. */
#define WINDOW_NEXT(low, high, step, MAX, last_low, last_high) \
  X_PAIR(X_LD64(low, 8, io0), MAX(p12, p12, last_low)) X_PAIR(X_LD64_R(high, io0, step), MAX(p14, p14, last_high))
#define WINDOW_NINE(p, to, MAX, least)                                                                             \
  {                                                                                                                \
    const char* at = (p);                                                                                          \
    char* y_ = (char*)(to);                                                                                        \
    const uint32_t step = step_w - 8, row = step_h - 2 * step_w - 8;                                               \
    x_block((X_IOX(io0, at), X_IOX(io2, y_)), (X_INX(in0, step), X_INX(in1, row), X_INF(in3, x_from_bits(least))), \
            X_USES(p0, p2, p4, p6, p10, p12, p14),                                                                 \
            WINDOW_LEAST(X_LD64(p0, 8, io0), X_LD64_R(p2, io0, in0)) X_PAIR(X_LD64(p4, 8, io0), MAX(p12, p10, p0)) \
                X_PAIR(X_LD64_R(p6, io0, in0), MAX(p14, p10, p2)) WINDOW_NEXT(p0, p2, in1, MAX, p4, p6)            \
                    WINDOW_NEXT(p4, p6, in0, MAX, p0, p2) WINDOW_NEXT(p0, p2, in0, MAX, p4, p6)                    \
                        WINDOW_NEXT(p4, p6, in1, MAX, p0, p2) WINDOW_NEXT(p0, p2, in0, MAX, p4, p6)                \
                            WINDOW_NEXT(p4, p6, in0, MAX, p0, p2) WINDOW_NEXT(p0, p2, zero, MAX, p4, p6)           \
                                X_PAIR(X_NOP, MAX(p12, p12, p0)) X_PAIR(X_ST64(p12, 8, io2), MAX(p14, p14, p2))    \
                                    X_PAIR(X_ST64(p14, 8, io2), X_FNOP));                                          \
  }
#define WINDOW_LEAST_f16 0xfc00fc00u
#define WINDOW_LEAST_f32 0xff800000u
#define WINDOW_LARGER_f16 X_MAX_F16V4
#define WINDOW_LARGER_f32 X_MAX_F32V2
#define WINDOW_MAX_PAIR(type, p, columns, rows, y)               \
  if (columns == 3 && rows == 3)                                 \
    WINDOW_NINE(p, y, WINDOW_LARGER_##type, WINDOW_LEAST_##type) \
  else                                                           \
    WINDOW_PAIR(p, columns, rows, y, WINDOW_LARGER_##type, WINDOW_LEAST_##type)
#define WINDOW_MAX_ONE(type, p, columns, rows, y)                                                 \
  WINDOW_BLOCK(p, columns, rows, y, WINDOW_LEAST(X_NOP, X_NOP) X_PAIR(X_NOP, X_MV64(p4, p10)), 2, \
               X_FSGNJ_S(f10, f10, f10), X_PAIR(X_NOP, WINDOW_LARGER_##type(p4, p4, p0)),         \
               X_PAIR(X_ST64(p4, 8, io2), X_FNOP), X_INF(in3, x_from_bits(WINDOW_LEAST_##type)))
#define WINDOW_ZERO X_PAIR(X_NOP, X_CMPLT_F32V2(p8, p8, p8)) X_PAIR(X_NOP, X_CMPLT_F32V2(p10, p10, p10))
/* The second half of a tap is added beside the next load. */
#define WINDOW_SUM_f16(p, columns, rows, sums)                                                  \
  WINDOW_BLOCK(p, columns, rows, sums, WINDOW_ZERO X_PAIR(X_NOP, X_CMPLT_F32V2(p6, p6, p6)), 3, \
               X_ADD_F32V2(p10, p10, p6),                                                       \
               X_PAIR(X_NOP, X_CVT_F32V4_F16V4(q4, p0)) X_PAIR(X_NOP, X_ADD_F32V2(p8, p8, p4)), \
               X_PAIR(X_ST64(p8, 8, io2), X_ADD_F32V2(p10, p10, p6)) X_PAIR(X_ST64(p10, 8, io2), X_FNOP))
#define WINDOW_SUM_f32(p, columns, rows, sums)                                   \
  WINDOW_BLOCK(p, columns, rows, sums, WINDOW_ZERO, 2, X_FSGNJ_S(f10, f10, f10), \
               X_PAIR(X_NOP, X_ADD_F32V2(p8, p8, p0)), X_PAIR(X_ST64(p8, 8, io2), X_FNOP))
#else
#define WINDOW_EACH(p, columns, rows, BODY)                   \
  for (uint32_t row = 0; row < (rows); ++row)                 \
    for (uint32_t column = 0; column < (columns); ++column) { \
      const char* at = (p) + row * step_h + column * step_w;  \
      BODY                                                    \
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
#define WINDOW_MAX_ONE(type, p, columns, rows, y) WINDOW_MAX(type, p, columns, rows, y)
#define WINDOW_MAX_PAIR(type, p, columns, rows, y) \
  WINDOW_MAX(type, p, columns, rows, y)            \
  WINDOW_MAX(type, (p) + 8, columns, rows, (y) + 8)
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

/* Units of 1 << log vectors; a worker takes every sixth. */
#define WINDOW_LOOP(log, ...)                                                                             \
  {                                                                                                       \
    const uint32_t shift = state->shift - (log), units = state->count << shift, rest = (1u << shift) - 1; \
    const uint32_t step_w = state->step_w, step_h = state->step_h;                                        \
    const u32* const windows = state->windows;                                                            \
    const char* const x = (const char*)state->x;                                                          \
    char* const y = (char*)state->y;                                                                      \
    for (uint32_t i = worker; i < units; i += 6) {                                                        \
      const u32* const window = windows + 2 * (i >> shift);                                               \
      const char* const first = x + window[0] + ((i & rest) << (3 + (log)));                              \
      char* const to = y + (i << (3 + (log)));                                                            \
      const uint32_t extents = window[1];                                                                 \
      const uint32_t columns = extents & 0xff, rows = extents >> 8 & 0xff;                                \
      __VA_ARGS__                                                                                         \
    }                                                                                                     \
    (void)step_w, (void)step_h;                                                                           \
  }

#define WINDOW_MAXIMUM(type)                                                       \
  VERTEX_MULTI(WindowMax_##type, IN(type, x, 8), OUT(type, y, 8), WINDOW_FIELDS) { \
    if (state->shift)                                                              \
      WINDOW_LOOP(1, WINDOW_MAX_PAIR(type, first, columns, rows, to))              \
    else                                                                           \
      WINDOW_LOOP(0, WINDOW_MAX_ONE(type, first, columns, rows, to))               \
  }
WINDOW_MAXIMUM(f16)
WINDOW_MAXIMUM(f32)

#define WINDOW_STORE_f32(v) (v)
#define WINDOW_STORE_f16(v) tessera_f32_to_f16(v)
/* Rows without a gap between them are one. */
#define WINDOW_MEAN(type)                                                                                             \
  VERTEX_MULTI(WindowMean_##type, IN(type, x, 8), OUT(type, y, 8), WINDOW_FIELDS) {                                   \
    WINDOW_LOOP(0, {                                                                                                  \
      f32 sums[8 / sizeof(type)] __attribute__((aligned(8)));                                                         \
      const uint32_t one = columns * step_w == step_h;                                                                \
      const uint32_t along = one ? columns * rows : columns, down = one ? 1 : rows;                                   \
      WINDOW_SUM_##type(first, along, down, sums) const f32 n = (f32)(i32)(extents >> 16);                            \
      for (uint32_t k = 0; k < 8 / sizeof(type); ++k) ((type*)to)[k] = WINDOW_STORE_##type(tessera_f32(sums[k] / n)); \
    })                                                                                                                \
  }
WINDOW_MEAN(f16)
WINDOW_MEAN(f32)
