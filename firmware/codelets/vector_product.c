/* Matrix product of few rows with a matrix that lies on the tiles: a tile has some columns (rows of `weights`) and a
 * part of the inner axis. The sums of workers and parts are put together on the tiles of the result. */
#include "row_product.h"

/* partials[batch][row][worker]. x: `stride` elements from one row of the batch to the next; row_product.h tells the
 * rest. */
#define VECTOR_PRODUCT(type, lanes)                                                                                \
  VERTEX_MULTI(VectorProduct_##type, IN(type, weights, 8), IN(type, x, 8), OUT(f32, partials), VALUE(u32, groups), \
               VALUE(u32, vectors), VALUE(u32, share), VALUE(u32, batch), VALUE(u32, stride)) {                    \
    const uint32_t groups = state->groups, share = state->share, stride = state->stride;                           \
    const uint32_t n = share_of(state->vectors, share, worker);                                                    \
    const type* x = state->x + worker * share * lanes;                                                             \
    f32* out = state->partials + worker;                                                                           \
    for (uint32_t b = state->batch; b; --b, x += stride) {                                                         \
      const type* weights = state->weights + worker * share * 4 * lanes;                                           \
      for (uint32_t g = groups; g; --g, weights += 6 * share * 4 * lanes, out += 24) {                             \
        if (n)                                                                                                     \
          product_##type(weights, x, out, n);                                                                      \
        else                                                                                                       \
          out[0] = out[6] = out[12] = out[18] = 0;                                                                 \
      }                                                                                                            \
    }                                                                                                              \
  }
VECTOR_PRODUCT(f16, 4)
VECTOR_PRODUCT(f32, 2)

/* y[row] = limits(bias[row] + the sums of all workers of all parts in their order), rounded once. terms is
 * [parts][part_rows][6]. mode: 0 nothing, 1 Relu (by the sign; sums that are NaNs have none), 2 limits lowest and
 * highest, to which a NaN loses. */
static inline f32 vector_limited(f32 sum, uint32_t mode, f32 lowest, f32 highest) {
  if (mode == 1) return tessera_f32_bits(sum) >> 31 ? 0 : sum;
  if (mode == 2) {
    if (!(sum > lowest)) sum = lowest;
    if (sum > highest) sum = highest;
  }
  return sum;
}
#define VECTOR_VALUE_f16 tessera_f32_to_f16
#define VECTOR_VALUE_f32
#define VECTOR_SUMS(type)                                                                                           \
  VERTEX_MULTI(VectorSums_##type, IN(f32, terms), IN(f32, bias), OUT(type, y), VALUE(u32, rows), VALUE(u32, part_rows), \
               VALUE(u32, parts), VALUE(u32, mode), VALUE(f32, lowest), VALUE(f32, highest)) {                      \
    const uint32_t rows = state->rows, pitch = 6 * state->part_rows;                                                \
    for (uint32_t row = worker; row < rows; row += 6) {                                                             \
      f32 sum = state->bias[row];                                                                                   \
      const f32* term = state->terms + 6 * row;                                                                     \
      for (uint32_t part = state->parts; part; --part, term += pitch) {                                             \
        const f32 a = term[0], b = term[1], c = term[2], d = term[3], e = term[4], f = term[5];                     \
        sum = tessera_f32(tessera_f32(tessera_f32(sum + a) + b) + c);                                               \
        sum = tessera_f32(tessera_f32(tessera_f32(sum + d) + e) + f);                                               \
      }                                                                                                             \
      state->y[row] = VECTOR_VALUE_##type(vector_limited(sum, state->mode, state->lowest, state->highest));         \
    }                                                                                                               \
  }
VECTOR_SUMS(f16)
VECTOR_SUMS(f32)
