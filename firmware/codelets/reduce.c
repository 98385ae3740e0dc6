/* Reductions over the middle axis of [outer][axis][inner], and what softmax is made of.
 *
 * Sums add in index order, starting from the first element, so results do not depend on how a loop is unrolled. */
#include "math.h"

#define REDUCE(Name, type, OP)                                                                      \
  VERTEX(Name, IN(type, x), OUT(type, y), VALUE(u32, outer), VALUE(u32, axis), VALUE(u32, inner)) { \
    const type* x = state->x;                                                                       \
    type* y = state->y;                                                                             \
    const uint32_t axis = state->axis, inner = state->inner;                                        \
    for (uint32_t o = state->outer; o; --o) {                                                       \
      for (uint32_t i = 0; i < inner; ++i) {                                                        \
        const type* p = x + i;                                                                      \
        type sum = *p;                                                                              \
        p += inner;                                                                                 \
        for (uint32_t k = axis - 1; k; --k, p += inner) sum = OP(sum, *p);                          \
        *y++ = sum;                                                                                 \
      }                                                                                             \
      x += axis * inner;                                                                            \
    }                                                                                               \
  }

/* Max and min of f32 carry a NaN on: once the result is a NaN no comparison replaces it. */
#define ADD(p, q) tessera_f32((p) + (q))
#define MUL(p, q) tessera_f32((p) * (q))
#define MAX_F(p, q) ((p) >= (q) || (p) != (p) ? (p) : (q))
#define MIN_F(p, q) ((p) <= (q) || (p) != (p) ? (p) : (q))
#define ADD_I(p, q) (i32)((u32)(p) + (u32)(q))
#define MAX_I(p, q) ((p) > (q) ? (p) : (q))
#define MIN_I(p, q) ((p) < (q) ? (p) : (q))
REDUCE(ReduceAdd_f32, f32, ADD)
REDUCE(ReduceMul_f32, f32, MUL)
REDUCE(ReduceMax_f32, f32, MAX_F)
REDUCE(ReduceMin_f32, f32, MIN_F)
REDUCE(ReduceAdd_i32, i32, ADD_I)
REDUCE(ReduceMax_i32, i32, MAX_I)
REDUCE(ReduceMin_i32, i32, MIN_I)

/* Index of the first largest element of each row; a NaN counts as largest. */
VERTEX(ArgMax_f32, IN(f32, x), OUT(i32, y), VALUE(u32, rows), VALUE(u32, columns)) {
  const f32* x = state->x;
  i32* y = state->y;
  const uint32_t columns = state->columns;
  for (uint32_t r = state->rows; r; --r) {
    f32 best = *x++;
    uint32_t where = 0;
    for (uint32_t k = 1; k < columns; ++k) {
      const f32 v = *x++;
      if (!(v <= best) && best == best) best = v, where = k;
    }
    *y++ = (i32)where;
  }
}

static inline f32 row_max(const f32* x, uint32_t n) {
  f32 best = *x++;
  for (--n; n; --n) {
    const f32 v = *x++;
    if (v > best) best = v;
  }
  return best;
}

/* Rows of `columns` elements, at x_stride and y_stride elements: y = exp(x - max) / sum. */
VERTEX(Softmax_f32, IN(f32, x), OUT(f32, y), VALUE(u32, rows), VALUE(u32, columns), VALUE(u32, x_stride),
       VALUE(u32, y_stride)) {
  const f32* x = state->x;
  f32* y = state->y;
  const uint32_t columns = state->columns;
  for (uint32_t r = state->rows; r; --r, x += state->x_stride, y += state->y_stride) {
    const f32 largest = row_max(x, columns);
    f32 sum = 0.0f;
    for (uint32_t k = 0; k < columns; ++k) {
      const f32 e = tessera_exp(x[k] - largest);
      y[k] = e;
      sum += e;
    }
    for (uint32_t k = 0; k < columns; ++k) y[k] = tessera_f32(y[k] / sum);
  }
}

/* y = (x - max) - log(sum of exp(x - max)). */
VERTEX(LogSoftmax_f32, IN(f32, x), OUT(f32, y), VALUE(u32, rows), VALUE(u32, columns), VALUE(u32, x_stride),
       VALUE(u32, y_stride)) {
  const f32* x = state->x;
  f32* y = state->y;
  const uint32_t columns = state->columns;
  for (uint32_t r = state->rows; r; --r, x += state->x_stride, y += state->y_stride) {
    const f32 largest = row_max(x, columns);
    f32 sum = 0.0f;
    for (uint32_t k = 0; k < columns; ++k) {
      const f32 d = x[k] - largest;
      y[k] = d;
      sum += tessera_exp(d);
    }
    const f32 shift = tessera_log(sum);
    for (uint32_t k = 0; k < columns; ++k) y[k] = tessera_f32(y[k] - shift);
  }
}

/* Pieces of a softmax whose rows lie across tiles: y = exp(x - largest[row]), and its row sums. */
VERTEX(ExpShifted_f32, IN(f32, x), IN(f32, largest), OUT(f32, y), OUT(f32, sum), VALUE(u32, rows),
       VALUE(u32, columns)) {
  const f32* x = state->x;
  f32* y = state->y;
  for (uint32_t r = 0; r < state->rows; ++r) {
    const f32 shift = state->largest[r];
    f32 sum = 0.0f;
    for (uint32_t k = state->columns; k; --k) {
      const f32 e = tessera_exp(*x++ - shift);
      *y++ = e;
      sum += e;
    }
    state->sum[r] = tessera_f32(sum);
  }
}

/* Predicates for RepeatWhile and If: a whole word, 0 or 1, that the supervisor loads and votes. */
VERTEX(All_bool, IN_SPAN(bool8, x), OUT(u32, y)) {
  const bool8* x = state->x.data;
  u32 result = 1;
  for (uint32_t n = state->x.count; n; --n) result &= *x++;
  *state->y = result;
}

VERTEX(Any_bool, IN_SPAN(bool8, x), OUT(u32, y)) {
  const bool8* x = state->x.data;
  u32 result = 0;
  for (uint32_t n = state->x.count; n; --n) result |= *x++;
  *state->y = result;
}
