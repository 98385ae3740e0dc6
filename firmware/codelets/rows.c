/* Operations on whole rows as multi-vertices: six workers take rows in turn. Reductions, softmax, normalisations,
 * running sums, the loss of a class. x is [rows][columns]; arithmetic is f32 in index order, f16 is only how data are
 * stored. */
#include "functions.h"

#define EACH_ROW for (u32 row = worker; row < state->rows; row += 6)
#define SAME(p) (p)

/* y[row] = START(x[0]) folded with the others by OP(sum, element). */
#define ROW_REDUCE(Name, type, out, LOAD, START, OP)                                    \
  VERTEX_MULTI(Name, IN(type, x), OUT(out, y), VALUE(u32, rows), VALUE(u32, columns)) { \
    const u32 columns = state->columns;                                                 \
    EACH_ROW {                                                                          \
      const type* x = state->x + row * columns;                                         \
      out sum = START(LOAD(x[0]));                                                      \
      for (u32 k = 1; k < columns; ++k) sum = OP(sum, LOAD(x[k]));                      \
      state->y[row] = sum;                                                              \
    }                                                                                   \
  }
#define SUM(s, v) tessera_f32((s) + (v))
#define PRODUCT(s, v) tessera_f32((s) * (v))
#define LARGEST(s, v) ((s) >= (v) || (s) != (s) ? (s) : (v))
#define SMALLEST(s, v) ((s) <= (v) || (s) != (s) ? (s) : (v))
#define SUM_ABS(s, v) tessera_f32((s) + fn_abs(v))
#define SQUARE(v) tessera_f32((v) * (v))
#define SUM_SQUARE(s, v) tessera_f32((s) + (v) * (v))
#define ROW_REDUCE_FLOAT(type, LOAD)                         \
  ROW_REDUCE(RowSum_##type, type, f32, LOAD, SAME, SUM)      \
  ROW_REDUCE(RowProd_##type, type, f32, LOAD, SAME, PRODUCT) \
  ROW_REDUCE(RowMax_##type, type, f32, LOAD, SAME, LARGEST)  \
  ROW_REDUCE(RowMin_##type, type, f32, LOAD, SAME, SMALLEST) \
  ROW_REDUCE(RowL1_##type, type, f32, LOAD, fn_abs, SUM_ABS) \
  ROW_REDUCE(RowSumSquare_##type, type, f32, LOAD, SQUARE, SUM_SQUARE)
ROW_REDUCE_FLOAT(f32, SAME)
ROW_REDUCE_FLOAT(f16, tessera_f16_to_f32)
#define ABS_I(v) ((v) < 0 ? (i32)(0 - (u32)(v)) : (v))
#define SUM_I(s, v) (i32)((u32)(s) + (u32)(v))
#define PRODUCT_I(s, v) (i32)((u32)(s) * (u32)(v))
#define LARGEST_I(s, v) ((s) > (v) ? (s) : (v))
#define SMALLEST_I(s, v) ((s) < (v) ? (s) : (v))
#define SUM_ABS_I(s, v) SUM_I(s, ABS_I(v))
#define SQUARE_I(v) PRODUCT_I(v, v)
#define SUM_SQUARE_I(s, v) SUM_I(s, PRODUCT_I(v, v))
ROW_REDUCE(RowSum_i32, i32, i32, SAME, SAME, SUM_I)
ROW_REDUCE(RowProd_i32, i32, i32, SAME, SAME, PRODUCT_I)
ROW_REDUCE(RowMax_i32, i32, i32, SAME, SAME, LARGEST_I)
ROW_REDUCE(RowMin_i32, i32, i32, SAME, SAME, SMALLEST_I)
ROW_REDUCE(RowL1_i32, i32, i32, SAME, ABS_I, SUM_ABS_I)
ROW_REDUCE(RowSumSquare_i32, i32, i32, SAME, SQUARE_I, SUM_SQUARE_I)

/* Index of the largest or smallest element, the first or the last of equal ones; a NaN is both. */
#define ROW_ARG(Name, type, LOAD, BETTER)                                                                 \
  VERTEX_MULTI(Name, IN(type, x), OUT(i32, y), VALUE(u32, rows), VALUE(u32, columns), VALUE(u32, last)) { \
    const u32 columns = state->columns, last = state->last;                                               \
    EACH_ROW {                                                                                            \
      const type* x = state->x + row * columns;                                                           \
      __typeof__(LOAD(x[0]) + 0) best = LOAD(x[0]);                                                       \
      u32 where = 0;                                                                                      \
      for (u32 k = 1; k < columns; ++k) {                                                                 \
        const __typeof__(best) v = LOAD(x[k]);                                                            \
        if (BETTER(v, best) || (last && v == best)) best = v, where = k;                                  \
      }                                                                                                   \
      state->y[row] = (i32)where;                                                                         \
    }                                                                                                     \
  }
#define ABOVE(v, best) (!((v) <= (best)) && (best) == (best))
#define BELOW(v, best) (!((v) >= (best)) && (best) == (best))
#define ABOVE_I(v, best) ((v) > (best))
#define BELOW_I(v, best) ((v) < (best))
ROW_ARG(RowArgMax_f32, f32, SAME, ABOVE)
ROW_ARG(RowArgMin_f32, f32, SAME, BELOW)
ROW_ARG(RowArgMax_f16, f16, tessera_f16_to_f32, ABOVE)
ROW_ARG(RowArgMin_f16, f16, tessera_f16_to_f32, BELOW)
ROW_ARG(RowArgMax_i32, i32, SAME, ABOVE_I)
ROW_ARG(RowArgMin_i32, i32, SAME, BELOW_I)

#define ROW_LARGEST(largest, type, LOAD) \
  f32 largest = LOAD(x[0]);              \
  for (u32 k = 1; k < columns; ++k) {    \
    const f32 v = LOAD(x[k]);            \
    largest = LARGEST(largest, v);       \
  }

/* largest + log(sum of exp(x - largest)). */
#define ROW_LOG_SUM_EXP(type, LOAD)                                                                    \
  VERTEX_MULTI(RowLogSumExp_##type, IN(type, x), OUT(f32, y), VALUE(u32, rows), VALUE(u32, columns)) { \
    const u32 columns = state->columns;                                                                \
    EACH_ROW {                                                                                         \
      const type* x = state->x + row * columns;                                                        \
      ROW_LARGEST(largest, type, LOAD)                                                                 \
      const f32 shift = fn_abs(largest) < FN_INFINITY ? largest : 0.0f;                                \
      f32 sum = 0.0f;                                                                                  \
      for (u32 k = 0; k < columns; ++k) sum = sum + lane_exp_f32(LOAD(x[k]) - shift);                  \
      state->y[row] = tessera_f32(shift + lane_log_f32(sum));                                          \
    }                                                                                                  \
  }
ROW_LOG_SUM_EXP(f32, SAME)
ROW_LOG_SUM_EXP(f16, tessera_f16_to_f32)

#define ROW_SOFTMAX(type, LOAD, STORE)                                                                               \
  VERTEX_MULTI(RowSoftmax_##type, IN_ELEMENTWISE(type, x), OUT(type, y), VALUE(u32, rows), VALUE(u32, columns)) {    \
    const u32 columns = state->columns;                                                                              \
    EACH_ROW {                                                                                                       \
      const type* x = state->x + row * columns;                                                                      \
      type* y = state->y + row * columns;                                                                            \
      ROW_LARGEST(largest, type, LOAD)                                                                               \
      f32 sum = 0.0f;                                                                                                \
      for (u32 k = 0; k < columns; ++k) {                                                                            \
        const f32 e = lane_exp_f32(LOAD(x[k]) - largest);                                                            \
        y[k] = STORE(e);                                                                                             \
        sum = sum + e;                                                                                               \
      }                                                                                                              \
      const f32 scale = 1.0f / sum;                                                                                  \
      for (u32 k = 0; k < columns; ++k) y[k] = STORE(tessera_f32(LOAD(y[k]) * scale));                               \
    }                                                                                                                \
  }                                                                                                                  \
  VERTEX_MULTI(RowLogSoftmax_##type, IN_ELEMENTWISE(type, x), OUT(type, y), VALUE(u32, rows), VALUE(u32, columns)) { \
    const u32 columns = state->columns;                                                                              \
    EACH_ROW {                                                                                                       \
      const type* x = state->x + row * columns;                                                                      \
      type* y = state->y + row * columns;                                                                            \
      ROW_LARGEST(largest, type, LOAD)                                                                               \
      f32 sum = 0.0f;                                                                                                \
      for (u32 k = 0; k < columns; ++k) sum = sum + lane_exp_f32(LOAD(x[k]) - largest);                              \
      const f32 shift = lane_log_f32(sum);                                                                           \
      for (u32 k = 0; k < columns; ++k) y[k] = STORE(tessera_f32((LOAD(x[k]) - largest) - shift));                   \
    }                                                                                                                \
  }                                                                                                                  \
  VERTEX_MULTI(RowHardmax_##type, IN(type, x), OUT(type, y), VALUE(u32, rows), VALUE(u32, columns)) {                \
    const u32 columns = state->columns;                                                                              \
    EACH_ROW {                                                                                                       \
      const type* x = state->x + row * columns;                                                                      \
      type* y = state->y + row * columns;                                                                            \
      f32 best = LOAD(x[0]);                                                                                         \
      u32 where = 0;                                                                                                 \
      for (u32 k = 1; k < columns; ++k) {                                                                            \
        const f32 v = LOAD(x[k]);                                                                                    \
        if (ABOVE(v, best)) best = v, where = k;                                                                     \
      }                                                                                                              \
      for (u32 k = 0; k < columns; ++k) y[k] = STORE(k == where ? 1.0f : 0.0f);                                      \
    }                                                                                                                \
  }
ROW_SOFTMAX(f32, SAME, SAME)
ROW_SOFTMAX(f16, tessera_f16_to_f32, tessera_f32_to_f16)

/* (x - mean) / sqrt(variance + epsilon) * scale + bias; scale and bias move by s_row from row to row and by s_step (0
 * or 1) from column to column. mean and 1 / sqrt(...) of each row are written too. */
#define ROW_NORM(type, LOAD, STORE)                                                                                  \
  VERTEX_MULTI(RowNorm_##type, IN_ELEMENTWISE(type, x), IN(f32, scale), IN(f32, bias), OUT(type, y), OUT(f32, mean), \
               OUT(f32, deviation), VALUE(u32, rows), VALUE(u32, columns), VALUE(u32, s_row), VALUE(u32, s_step),    \
               VALUE(f32, epsilon)) {                                                                                \
    const u32 columns = state->columns, s_step = state->s_step;                                                      \
    const f32 share = 1.0f / (f32)columns;                                                                           \
    EACH_ROW {                                                                                                       \
      const type* x = state->x + row * columns;                                                                      \
      type* y = state->y + row * columns;                                                                            \
      f32 sum = 0.0f, squares = 0.0f;                                                                                \
      for (u32 k = 0; k < columns; ++k) sum = sum + LOAD(x[k]);                                                      \
      const f32 mean = sum * share;                                                                                  \
      for (u32 k = 0; k < columns; ++k) {                                                                            \
        const f32 d = LOAD(x[k]) - mean;                                                                             \
        squares = tessera_fma(d, d, squares);                                                                        \
      }                                                                                                              \
      const f32 inverse = 1.0f / __builtin_sqrtf(squares * share + state->epsilon);                                  \
      state->mean[row] = tessera_f32(mean), state->deviation[row] = tessera_f32(inverse);                            \
      const f32 *scale = state->scale + row * state->s_row, *bias = state->bias + row * state->s_row;                \
      for (u32 k = 0; k < columns; ++k, scale += s_step, bias += s_step)                                             \
        y[k] = STORE(tessera_f32(tessera_fma((LOAD(x[k]) - mean) * inverse, *scale, *bias)));                        \
    }                                                                                                                \
  }
ROW_NORM(f32, SAME, SAME)
ROW_NORM(f16, tessera_f16_to_f32, tessera_f32_to_f16)

/* y[k] = x[k] / (bias + alpha * sum of squares of x[k - before .. k + behind]) ^ beta. Workers share the elements,
 * since rows are few. The power of f16 is that of the machine's exp and log. */
static inline f32 lrn_power_f32(f32 x, f32 y) { return fn_pow(x, y); }
static inline f32 lrn_power_f16(f32 x, f32 y) { return lane_exp_f32(tessera_f32(y * lane_log_f32(x))); }
#define ROW_LRN(type, LOAD, STORE)                                                                                  \
  VERTEX_MULTI(RowLrn_##type, IN(type, x), OUT(type, y), VALUE(u32, rows), VALUE(u32, columns), VALUE(u32, before), \
               VALUE(u32, behind), VALUE(f32, alpha), VALUE(f32, beta), VALUE(f32, bias)) {                         \
    const u32 columns = state->columns, before = state->before, behind = state->behind;                             \
    const f32 alpha = state->alpha, power = -state->beta, bias = state->bias;                                       \
    u32 at, end;                                                                                                    \
    worker_share(state->rows* columns, 1, worker, &at, &end);                                                       \
    if (at >= end) return;                                                                                          \
    const type* x = state->x + at;                                                                                  \
    type* y = state->y + at;                                                                                        \
    for (u32 k = at % columns; at < end; ++at, ++x, ++y) {                                                          \
      const u32 back = k < before ? k : before, left = columns - 1 - k;                                             \
      const type* last = x + (left < behind ? left : behind);                                                       \
      f32 sum = 0.0f;                                                                                               \
      for (const type* from = x - back; from <= last; ++from) {                                                     \
        const f32 v = LOAD(*from);                                                                                  \
        sum = tessera_fma(v, v, sum);                                                                               \
      }                                                                                                             \
      *y = STORE(tessera_f32(LOAD(*x) * lrn_power_##type(tessera_fma(alpha, sum, bias), power)));                   \
      if (++k == columns) k = 0;                                                                                    \
    }                                                                                                               \
  }
ROW_LRN(f32, SAME, SAME)
ROW_LRN(f16, tessera_f16_to_f32, tessera_f32_to_f16)

/* Running sums; exclusive: without the element itself; reverse: from the end. f16 sums are f32. */
#define ROW_CUM_SUM(type, sum_type, LOAD, STORE, ADD)                                                          \
  VERTEX_MULTI(RowCumSum_##type, IN_ELEMENTWISE(type, x), OUT(type, y), VALUE(u32, rows), VALUE(u32, columns), \
               VALUE(u32, exclusive), VALUE(u32, reverse)) {                                                   \
    const u32 columns = state->columns;                                                                        \
    const i32 step = state->reverse ? -1 : 1;                                                                  \
    EACH_ROW {                                                                                                 \
      const type* x = state->x + row * columns + (state->reverse ? columns - 1 : 0);                           \
      type* y = state->y + row * columns + (state->reverse ? columns - 1 : 0);                                 \
      sum_type sum = 0;                                                                                        \
      for (u32 k = columns; k; --k, x += step, y += step) {                                                    \
        const sum_type next = ADD(sum, LOAD(*x));                                                              \
        *y = STORE(state->exclusive ? sum : next);                                                             \
        sum = next;                                                                                            \
      }                                                                                                        \
    }                                                                                                          \
  }
ROW_CUM_SUM(f32, f32, SAME, SAME, SUM)
ROW_CUM_SUM(f16, f32, tessera_f16_to_f32, tessera_f32_to_f16, SUM)
ROW_CUM_SUM(i32, i32, SAME, SAME, SUM_I)

/* Loss of the class that target names: y = -weight * x[target], and the weight; 0 and 0 for the ignored class and for
 * one that does not exist. */
VERTEX_MULTI(RowNll_f32, IN(f32, x), IN(i32, target), IN(f32, weight), OUT(f32, y), OUT(f32, weights), VALUE(u32, rows),
             VALUE(u32, columns), VALUE(i32, ignored), VALUE(u32, ignores)) {
  const u32 columns = state->columns;
  EACH_ROW {
    const i32 t = state->target[row];
    const u32 counts = (u32)t < columns && !(state->ignores && t == state->ignored);
    const f32 weight = counts ? state->weight[t] : 0.0f;
    state->y[row] = counts ? tessera_f32(-weight * state->x[row * columns + (u32)t]) : 0.0f;
    state->weights[row] = tessera_f32(weight * 1.0f);
  }
}
