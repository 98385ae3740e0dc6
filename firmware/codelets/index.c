/* Choosing elements by indices known at run time: gather, scatter, one-hot. Data move as bits of 8, 16 or 32.
 *
 * A tile holds `rows` rows from `first` on of a table whose axis has `extent` rows, `columns` elements of each: whole
 * words. An index below 0 counts from the end. What lies outside the tile's rows gives zeros when gathered, so that the
 * results of all blocks of rows are joined by OR, and is left alone when scattered. All are multi-vertices. */
#include "tessera/vertex.h"

/* Row of an index on this tile; `rows` or more if it is not here. */
static inline uint32_t local_row(i32 index, uint32_t extent, uint32_t first) {
  const uint32_t row = (uint32_t)(index < 0 ? index + (i32)extent : index);
  return row >= extent ? 0xffffffffu : row - first;
}

typedef u32 __attribute__((may_alias)) any_word;

/* y[i] = table[indices[i]], whole rows. */
#define GATHER_ROWS(type)                                                                                          \
  VERTEX_MULTI(GatherRows_##type, IN(type, table, 4), IN_SPAN(i32, indices), OUT(type, y, 4), VALUE(u32, columns), \
               VALUE(u32, first), VALUE(u32, rows), VALUE(u32, extent)) {                                          \
    const uint32_t words = state->columns * sizeof(type) / 4, rows = state->rows;                                  \
    const uint32_t n = state->indices.count, extent = state->extent, first = state->first;                         \
    const i32* indices = state->indices.data;                                                                      \
    any_word* y = (any_word*)state->y + worker * words;                                                            \
    for (uint32_t i = worker; i < n; i += 6, y += 5 * words) {                                                     \
      const uint32_t row = local_row(indices[i], extent, first);                                                   \
      const any_word* x = (const any_word*)state->table + row * words;                                             \
      if (row < rows)                                                                                              \
        for (uint32_t k = words; k; --k) *y++ = *x++;                                                              \
      else                                                                                                         \
        for (uint32_t k = words; k; --k) *y++ = 0;                                                                 \
    }                                                                                                              \
  }
GATHER_ROWS(u8)
GATHER_ROWS(u16)
GATHER_ROWS(u32)

/* y[i][k] = table[indices[i][k]][k]; indices and y have `count` rows. */
#define GATHER_COLUMNS(type)                                                                                          \
  VERTEX_MULTI(GatherColumns_##type, IN(type, table, 4), IN_SPAN(i32, indices), OUT(type, y, 4), VALUE(u32, columns), \
               VALUE(u32, first), VALUE(u32, rows), VALUE(u32, extent)) {                                             \
    const uint32_t columns = state->columns, rows = state->rows, extent = state->extent, first = state->first;        \
    const uint32_t n = state->indices.count;                                                                          \
    for (uint32_t begin = worker * columns; begin < n; begin += 6 * columns)                                          \
      for (uint32_t k = 0; k < columns; ++k) {                                                                        \
        const uint32_t row = local_row(state->indices.data[begin + k], extent, first);                                \
        state->y[begin + k] = row < rows ? state->table[row * columns + k] : 0;                                       \
      }                                                                                                               \
  }
GATHER_COLUMNS(u8)
GATHER_COLUMNS(u16)
GATHER_COLUMNS(u32)

/* y = x[0] | x[1] | ... of `blocks` blocks of y's size, as whole words. */
#define JOIN_BLOCKS(type)                                                                     \
  VERTEX_MULTI(JoinBlocks_##type, IN(type, x, 4), OUT_SPAN(type, y, 4), VALUE(u32, blocks)) { \
    const uint32_t words = state->y.count * sizeof(type) / 4;                                 \
    any_word* y = (any_word*)state->y.data;                                                   \
    for (uint32_t i = worker; i < words; i += 6) {                                            \
      const any_word* x = (const any_word*)state->x + i;                                      \
      u32 bits = 0;                                                                           \
      for (uint32_t b = state->blocks; b; --b, x += words) bits |= *x;                        \
      y[i] = bits;                                                                            \
    }                                                                                         \
  }
JOIN_BLOCKS(u8)
JOIN_BLOCKS(u16)
JOIN_BLOCKS(u32)

/* table[indices[i]] op= updates[i], in order of i: whole rows, and element by element. A worker takes rows of the
 * table by their number, so that updates of one element keep their order. */
#define SCATTER(Name, type, OP)                                                                                   \
  VERTEX_MULTI(ScatterRows##Name##_##type, INOUT(type, table, 4), IN_SPAN(i32, indices), IN(type, updates, 4),    \
               VALUE(u32, columns), VALUE(u32, first), VALUE(u32, rows), VALUE(u32, extent)) {                    \
    const uint32_t columns = state->columns, rows = state->rows, extent = state->extent, first = state->first;    \
    const uint32_t share = (rows + 5) / 6, low = worker * share;                                                  \
    const uint32_t high = low + share < rows ? low + share : rows;                                                \
    const type* x = state->updates;                                                                               \
    for (uint32_t i = 0; i < state->indices.count; ++i, x += columns) {                                           \
      const uint32_t row = local_row(state->indices.data[i], extent, first);                                      \
      if (row < low || row >= high) continue;                                                                     \
      type* y = state->table + row * columns;                                                                     \
      for (uint32_t k = 0; k < columns; ++k) y[k] = OP(y[k], x[k]);                                               \
    }                                                                                                             \
  }                                                                                                               \
  VERTEX_MULTI(ScatterColumns##Name##_##type, INOUT(type, table, 4), IN_SPAN(i32, indices), IN(type, updates, 4), \
               VALUE(u32, columns), VALUE(u32, first), VALUE(u32, rows), VALUE(u32, extent)) {                    \
    const uint32_t columns = state->columns, rows = state->rows, extent = state->extent, first = state->first;    \
    const uint32_t share = (rows + 5) / 6, low = worker * share;                                                  \
    const uint32_t high = low + share < rows ? low + share : rows;                                                \
    const uint32_t n = state->indices.count;                                                                      \
    uint32_t k = 0;                                                                                               \
    for (uint32_t i = 0; i < n; ++i) {                                                                            \
      const uint32_t row = local_row(state->indices.data[i], extent, first);                                      \
      if (row >= low && row < high) {                                                                             \
        type* y = state->table + row * columns + k;                                                               \
        *y = OP(*y, state->updates[i]);                                                                           \
      }                                                                                                           \
      if (++k == columns) k = 0;                                                                                  \
    }                                                                                                             \
  }
#define SECOND(a, b) (b)
#define ADD_REAL(a, b) tessera_f32((a) + (b))
#define MUL_REAL(a, b) tessera_f32((a) * (b))
#define ADD_HALF(a, b) tessera_f32_to_f16(tessera_f32(tessera_f16_to_f32(a) + tessera_f16_to_f32(b)))
#define MUL_HALF(a, b) tessera_f32_to_f16(tessera_f32(tessera_f16_to_f32(a) * tessera_f16_to_f32(b)))
#define ADD_WHOLE(a, b) (i32)((u32)(a) + (u32)(b))
#define MUL_WHOLE(a, b) (i32)((u32)(a) * (u32)(b))
SCATTER(, u8, SECOND)
SCATTER(, u16, SECOND)
SCATTER(, u32, SECOND)
SCATTER(Add, f32, ADD_REAL)
SCATTER(Mul, f32, MUL_REAL)
SCATTER(Add, f16, ADD_HALF)
SCATTER(Mul, f16, MUL_HALF)
SCATTER(Add, i32, ADD_WHOLE)
SCATTER(Mul, i32, MUL_WHOLE)

/* y[i] = ((q d0 + x[i][0]) d1 + x[i][1]) ...: rows of `depth` indices, each counted from the end if below 0, as one
 * index into the axes together; q = (first + i) / per_batch, the axes in front that indices and data share. If an index
 * is out of range the result is too: the smallest number. */
VERTEX_MULTI(FlattenIndices, IN(i32, x), OUT_SPAN(i32, y), IN(u32, extents), VALUE(u32, depth), VALUE(u32, first),
             VALUE(u32, per_batch)) {
  const uint32_t depth = state->depth, n = state->y.count;
  for (uint32_t i = worker; i < n; i += 6) {
    uint32_t position = (state->first + i) / state->per_batch, outside = 0;
    for (uint32_t k = 0; k < depth; ++k) {
      const uint32_t extent = state->extents[k];
      const i32 index = state->x[i * depth + k];
      const uint32_t at = (uint32_t)(index < 0 ? index + (i32)extent : index);
      outside |= at >= extent;
      position = position * extent + at;
    }
    state->y.data[i] = outside ? INT32_MIN : (i32)position;
  }
}

/* y[i][k] = values[1] where k is the index, else values[0]; an index out of range makes nothing hot. */
#define ONE_HOT(type)                                                                                     \
  VERTEX_MULTI(OneHot_##type, IN_SPAN(i32, indices), IN(type, values), OUT(type, y), VALUE(u32, depth)) { \
    const uint32_t depth = state->depth, n = state->indices.count;                                        \
    const type cold = state->values[0], hot = state->values[1];                                           \
    for (uint32_t i = worker; i < n; i += 6) {                                                            \
      const uint32_t at = local_row(state->indices.data[i], depth, 0);                                    \
      type* y = state->y + i * depth;                                                                     \
      for (uint32_t k = 0; k < depth; ++k) y[k] = cold;                                                   \
      if (at < depth) y[at] = hot;                                                                        \
    }                                                                                                     \
  }
ONE_HOT(u8)
ONE_HOT(u16)
ONE_HOT(u32)
