/* Elementwise multi-vertices: six workers share the elements of a tile. Whole vectors of 8 bytes go through
 * vector_blocks.h where an operation has a vector form and data are 8-byte aligned; the other elements, and all on the
 * host, one by one with the same bits. */
#ifndef TESSERA_CODELETS_MAP_H_
#define TESSERA_CODELETS_MAP_H_

#include "functions.h"
#ifdef __riscv
#include "vector_blocks.h"
#endif

/* y[i] = OP(x[i]); y may be x. */
#define MAP(Name, tin, tout, OP)                                  \
  VERTEX_MULTI(Name, IN_ELEMENTWISE(tin, x), OUT_SPAN(tout, y)) { \
    u32 begin, end;                                               \
    worker_share(state->y.count, 8, worker, &begin, &end);        \
    const tin* x = state->x + begin;                              \
    tout* y = state->y.data + begin;                              \
    for (u32 n = end - begin; n; --n, ++x, ++y) *y = OP(*x);      \
  }
/* The same with parameters alpha, beta, gamma: OP(x, alpha, beta, gamma). */
#define MAP_WITH(Name, tin, tout, OP)                                                                   \
  VERTEX_MULTI(Name, IN_ELEMENTWISE(tin, x), OUT_SPAN(tout, y), VALUE(f32, alpha), VALUE(f32, beta),    \
               VALUE(f32, gamma)) {                                                                     \
    u32 begin, end;                                                                                     \
    worker_share(state->y.count, 8, worker, &begin, &end);                                              \
    const tin* x = state->x + begin;                                                                    \
    tout* y = state->y.data + begin;                                                                    \
    const f32 alpha __attribute__((unused)) = state->alpha, beta __attribute__((unused)) = state->beta; \
    const f32 gamma __attribute__((unused)) = state->gamma;                                             \
    for (u32 n = end - begin; n; --n, ++x, ++y) *y = OP(*x, alpha, beta, gamma);                        \
  }

/* With a vector form: STEP0, STEP1, LENGTH as vector_blocks.h has them, LANES elements a vector. */
#ifdef __riscv
#define MAP_VECTORS(type, LANES, STEP0, STEP1, LENGTH) \
  if (n >= LANES && vectors_at(x, y)) {                \
    const u32 vectors = n / LANES;                     \
    UNARY_LOOP(x, y, vectors, STEP0, STEP1, LENGTH)    \
    x += vectors * LANES, y += vectors * LANES;        \
    n -= vectors * LANES;                              \
  }
#else
#define MAP_VECTORS(type, LANES, STEP0, STEP1, LENGTH)
#endif
#define MAP_FAST(Name, type, LANES, OP, STEP0, STEP1, LENGTH)      \
  VERTEX_MULTI(Name, IN_ELEMENTWISE(type, x), OUT_SPAN(type, y)) { \
    u32 begin, end;                                                \
    worker_share(state->y.count, 8, worker, &begin, &end);         \
    const type* x = state->x + begin;                              \
    type* y = state->y.data + begin;                               \
    u32 n = end - begin;                                           \
    MAP_VECTORS(type, LANES, STEP0, STEP1, LENGTH)                 \
    for (; n; --n, ++x, ++y) *y = OP(*x);                          \
  }

/* f32 and f16 from a function of f32. */
#define MAP_FLOAT(Name, FN)                                                                      \
  static inline f16 Name##_half(f16 x) { return tessera_f32_to_f16(FN(tessera_f16_to_f32(x))); } \
  MAP(Name##_f32, f32, f32, FN)                                                                  \
  MAP(Name##_f16, f16, f16, Name##_half)
#define MAP_FLOAT_WITH(Name, FN)                                                                            \
  static inline f16 Name##_half(f16 x, f32 alpha __attribute__((unused)), f32 beta __attribute__((unused)), \
                                f32 gamma __attribute__((unused))) {                                        \
    return tessera_f32_to_f16(FN(tessera_f16_to_f32(x), alpha, beta, gamma));                               \
  }                                                                                                         \
  MAP_WITH(Name##_f32, f32, f32, FN)                                                                        \
  MAP_WITH(Name##_f16, f16, f16, Name##_half)

/* Two operands over rows of `columns` elements of y, which are contiguous: from row to row an operand moves by its
 * _row, from element to element by its _step (0 or 1), in elements. Six workers share rows, or columns if there are few
 * rows. LOOP(a, b, y, n) does what it can of n elements with steps of 1, and moves a, b, y, n. */
#define MAP2_LOOP(Name, tin, tout, OP, LOOP)                                                                        \
  VERTEX_MULTI(Name, IN_ELEMENTWISE(tin, a), IN_ELEMENTWISE(tin, b), OUT(tout, y), VALUE(u32, rows),                \
               VALUE(u32, columns), VALUE(u32, a_row), VALUE(u32, a_step), VALUE(u32, b_row), VALUE(u32, b_step)) { \
    const u32 columns = state->columns, a_step = state->a_step, b_step = state->b_step;                             \
    u32 row = 0, rows = state->rows, first = 0, last = columns;                                                     \
    if (rows >= 24 || columns < 24)                                                                                 \
      worker_share(rows, 1, worker, &row, &rows);                                                                   \
    else                                                                                                            \
      worker_share(columns, 8, worker, &first, &last);                                                              \
    for (; row < rows; ++row) {                                                                                     \
      const tin *a = state->a + row * state->a_row + first * a_step,                                                \
                *b = state->b + row * state->b_row + first * b_step;                                                \
      tout* y = state->y + row * columns + first;                                                                   \
      u32 n = last - first;                                                                                         \
      LOOP(a, b, y, n, a_step, b_step)                                                                              \
      for (; n; --n, a += a_step, b += b_step, ++y) *y = OP(*a, *b);                                                \
    }                                                                                                               \
  }
#define NO_LOOP(a, b, y, n, a_step, b_step)
#define MAP2(Name, tin, tout, OP) MAP2_LOOP(Name, tin, tout, OP, NO_LOOP)
#ifdef __riscv
/* Two bits patterns of a word: what a vector of equal elements consists of. */
static inline u32 filled_word_f32(f32 x) { return tessera_f32_bits(x); }
static inline u32 filled_word_f16(f16 x) { return x | (u32)x << 16; }
/* Both operands move, or one stays: that is then a vector of equal elements on the stack. OP_LEFT is OP with its
 * operands exchanged. */
#define VECTOR_LOOP(type, a, b, y, n, a_step, b_step, LANES, OP, OP_LEFT)                 \
  if (n >= LANES && (a_step | b_step) && vectors_at(y, a_step ? a : (const type*)y) &&    \
      vectors_at(y, b_step ? b : (const type*)y)) {                                       \
    const u32 whole = n / LANES;                                                          \
    if (a_step & b_step) {                                                                \
      binary_vectors_##OP(a, b, y, whole);                                                \
    } else {                                                                              \
      const u32 word = filled_word_##type(a_step ? *b : *a);                              \
      const u32 vector[2] __attribute__((aligned(8))) = {word, word};                     \
      if (a_step)                                                                         \
        binary_scalar_##OP(a, vector, y, whole);                                          \
      else                                                                                \
        binary_scalar_##OP_LEFT(b, vector, y, whole);                                     \
    }                                                                                     \
    a += a_step ? whole * LANES : 0, b += b_step ? whole * LANES : 0, y += whole * LANES; \
    n -= whole * LANES;                                                                   \
  }
#define BINARY_VECTORS_FUNCTION(OP)                                                            \
  static inline void binary_vectors_##OP(const void* a, const void* b, void* y, u32 vectors) { \
    BINARY_LOOP(OP, vectors, a, b, y)                                                          \
  }
#define BINARY_SCALAR_FUNCTION(OP)                                                                \
  static inline void binary_scalar_##OP(const void* x, const u32* vector, void* y, u32 vectors) { \
    BINARY_LOOP_WITH(OP, X_STEP_0, vectors, x, vector, y)                                         \
  }
#else
#define VECTOR_LOOP(type, a, b, y, n, a_step, b_step, LANES, OP, OP_LEFT)
#define BINARY_VECTORS_FUNCTION(OP)
#define BINARY_SCALAR_FUNCTION(OP)
#endif

/* Three operands likewise; c is a bool8 or of type tc. */
#define MAP3(Name, tc, tin, tout, OP)                                                                           \
  VERTEX_MULTI(Name, IN_ELEMENTWISE(tc, c), IN_ELEMENTWISE(tin, a), IN_ELEMENTWISE(tin, b), OUT(tout, y),       \
               VALUE(u32, rows), VALUE(u32, columns), VALUE(u32, c_row), VALUE(u32, c_step), VALUE(u32, a_row), \
               VALUE(u32, a_step), VALUE(u32, b_row), VALUE(u32, b_step)) {                                     \
    const u32 columns = state->columns, c_step = state->c_step, a_step = state->a_step, b_step = state->b_step; \
    u32 row = 0, rows = state->rows, first = 0, last = columns;                                                 \
    if (rows >= 24 || columns < 24)                                                                             \
      worker_share(rows, 1, worker, &row, &rows);                                                               \
    else                                                                                                        \
      worker_share(columns, 8, worker, &first, &last);                                                          \
    for (; row < rows; ++row) {                                                                                 \
      const tc* c = state->c + row * state->c_row + first * c_step;                                             \
      const tin *a = state->a + row * state->a_row + first * a_step,                                            \
                *b = state->b + row * state->b_row + first * b_step;                                            \
      tout* y = state->y + row * columns + first;                                                               \
      for (u32 n = last - first; n; --n, c += c_step, a += a_step, b += b_step, ++y) *y = OP(*c, *a, *b);       \
    }                                                                                                           \
  }

#endif /* TESSERA_CODELETS_MAP_H_ */
