/* Loops over elements, in the four forms that broadcasting needs. Loads stand before stores in groups of four, so data
 * may be its own output. */
#ifndef TESSERA_CODELETS_ELEMENTWISE_H_
#define TESSERA_CODELETS_ELEMENTWISE_H_

#include "tessera/vertex.h"

/* OP(p, q) gives the result element. Name: y[i] = a[i] op b[i]. Name_scalar: b is one element. Name_scalar_left: a is.
 * Name_rows: rows of `columns` elements; strides from row to row and steps within a row in elements, 0 to broadcast. */
#define BINARY(Name, tin, tout, OP)                                                                                  \
  VERTEX(Name, IN_ELEMENTWISE(tin, a), IN_ELEMENTWISE(tin, b), OUT_SPAN(tout, y)) {                                  \
    const tin *a = state->a, *b = state->b;                                                                          \
    tout* y = state->y.data;                                                                                         \
    uint32_t n = state->y.count;                                                                                     \
    for (; n >= 4; n -= 4, a += 4, b += 4, y += 4) {                                                                 \
      const tout y0 = OP(a[0], b[0]), y1 = OP(a[1], b[1]), y2 = OP(a[2], b[2]), y3 = OP(a[3], b[3]);                 \
      y[0] = y0, y[1] = y1, y[2] = y2, y[3] = y3;                                                                    \
    }                                                                                                                \
    for (; n; --n, ++a, ++b, ++y) *y = OP(*a, *b);                                                                   \
  }                                                                                                                  \
  VERTEX(Name##_scalar, IN_ELEMENTWISE(tin, a), IN(tin, b), OUT_SPAN(tout, y)) {                                     \
    const tin* a = state->a;                                                                                         \
    const tin b = *state->b;                                                                                         \
    tout* y = state->y.data;                                                                                         \
    uint32_t n = state->y.count;                                                                                     \
    for (; n >= 4; n -= 4, a += 4, y += 4) {                                                                         \
      const tout y0 = OP(a[0], b), y1 = OP(a[1], b), y2 = OP(a[2], b), y3 = OP(a[3], b);                             \
      y[0] = y0, y[1] = y1, y[2] = y2, y[3] = y3;                                                                    \
    }                                                                                                                \
    for (; n; --n, ++a, ++y) *y = OP(*a, b);                                                                         \
  }                                                                                                                  \
  VERTEX(Name##_scalar_left, IN(tin, a), IN_ELEMENTWISE(tin, b), OUT_SPAN(tout, y)) {                                \
    const tin a = *state->a;                                                                                         \
    const tin* b = state->b;                                                                                         \
    tout* y = state->y.data;                                                                                         \
    uint32_t n = state->y.count;                                                                                     \
    for (; n >= 4; n -= 4, b += 4, y += 4) {                                                                         \
      const tout y0 = OP(a, b[0]), y1 = OP(a, b[1]), y2 = OP(a, b[2]), y3 = OP(a, b[3]);                             \
      y[0] = y0, y[1] = y1, y[2] = y2, y[3] = y3;                                                                    \
    }                                                                                                                \
    for (; n; --n, ++b, ++y) *y = OP(a, *b);                                                                         \
  }                                                                                                                  \
  VERTEX(Name##_rows, IN(tin, a), IN(tin, b), OUT(tout, y), VALUE(u32, rows), VALUE(u32, columns),                   \
         VALUE(i32, a_stride), VALUE(i32, b_stride), VALUE(i32, y_stride), VALUE(i32, a_step), VALUE(i32, b_step)) { \
    const tin *a_row = state->a, *b_row = state->b;                                                                  \
    tout* y_row = state->y;                                                                                          \
    const i32 a_step = state->a_step, b_step = state->b_step;                                                        \
    for (uint32_t r = state->rows; r; --r) {                                                                         \
      const tin *a = a_row, *b = b_row;                                                                              \
      tout* y = y_row;                                                                                               \
      for (uint32_t n = state->columns; n; --n, a += a_step, b += b_step) *y++ = OP(*a, *b);                         \
      a_row += state->a_stride, b_row += state->b_stride, y_row += state->y_stride;                                  \
    }                                                                                                                \
  }

/* y[i] = OP(x[i]). */
#define UNARY(Name, tin, tout, OP)                                           \
  VERTEX(Name, IN_ELEMENTWISE(tin, x), OUT_SPAN(tout, y)) {                  \
    const tin* x = state->x;                                                 \
    tout* y = state->y.data;                                                 \
    uint32_t n = state->y.count;                                             \
    for (; n >= 4; n -= 4, x += 4, y += 4) {                                 \
      const tout y0 = OP(x[0]), y1 = OP(x[1]), y2 = OP(x[2]), y3 = OP(x[3]); \
      y[0] = y0, y[1] = y1, y[2] = y2, y[3] = y3;                            \
    }                                                                        \
    for (; n; --n, ++x, ++y) *y = OP(*x);                                    \
  }

/* The same without unrolling, for long operations. */
#define UNARY_LONG(Name, tin, tout, OP)                              \
  VERTEX(Name, IN_ELEMENTWISE(tin, x), OUT_SPAN(tout, y)) {          \
    const tin* x = state->x;                                         \
    tout* y = state->y.data;                                         \
    for (uint32_t n = state->y.count; n; --n, ++x, ++y) *y = OP(*x); \
  }

#endif /* TESSERA_CODELETS_ELEMENTWISE_H_ */
