/* Pooling over windows of up to three axes: largest, largest and where, average. Data are blocks of channels:
 * [position][block], block a whole number of vectors for the codelets on vectors and anything for the others.
 *
 * A vertex computes `count` output positions from `first` on (row-major in the result's field) of one plane, that is of
 * one block of channels of one image. It sees a box of the input: origin and extents h and w of the box are its own,
 * the rest of the geometry is the node's (enum below). Windows are cut at the input's edges; a window without an
 * element gives the lowest value. Averages are sums in f32, in order of the window, times 1 / count rounded once.
 * All are multi-vertices: a worker takes every sixth position. */
#include "tessera/vertex.h"

/* Words of geometry, three an entry: depth, height, width. */
enum {
  POOL_INPUT = 0,
  POOL_RESULT = 3,
  POOL_KERNEL = 6,
  POOL_STRIDE = 9,
  POOL_DILATION = 12,
  POOL_PAD = 15,    /* before */
  POOL_PADDED = 18, /* input and padding behind: where counting with padding ends */
  POOL_COLUMN_MAJOR = 21,
  POOL_COUNT_PADDING = 22
};

struct window {
  uint32_t at[3];   /* first element inside the input */
  uint32_t taps[3]; /* elements inside */
  uint32_t padded;  /* elements inside input and padding */
};

static inline uint32_t steps_to(i32 way, uint32_t dilation) {
  if (way <= 0) return 0;
  return dilation == 1 ? (uint32_t)way : ((uint32_t)way + dilation - 1) / dilation;
}

static inline struct window window_at(const u32* g, uint32_t position) {
  struct window result;
  uint32_t o[3];
  const uint32_t row = position / g[POOL_RESULT + 2];
  o[2] = position - row * g[POOL_RESULT + 2];
  o[0] = row / g[POOL_RESULT + 1];
  o[1] = row - o[0] * g[POOL_RESULT + 1];
  result.padded = 1;
  for (uint32_t k = 0; k < 3; ++k) {
    const uint32_t kernel = g[POOL_KERNEL + k], dilation = g[POOL_DILATION + k];
    const i32 begin = (i32)(o[k] * g[POOL_STRIDE + k]) - (i32)g[POOL_PAD + k];
    const uint32_t first = begin < 0 ? steps_to(-begin, dilation) : 0;
    const uint32_t all = steps_to((i32)g[POOL_INPUT + k] - begin, dilation);
    const uint32_t padded = steps_to((i32)g[POOL_PADDED + k] - begin, dilation);
    const uint32_t last = all < kernel ? all : kernel;
    result.at[k] = (uint32_t)(begin + (i32)(first * dilation));
    result.taps[k] = last > first ? last - first : 0;
    result.padded *= padded < kernel ? padded : kernel;
  }
  return result;
}

static inline uint32_t place_in_field(const u32* g, uint32_t d, uint32_t h, uint32_t w) {
  if (g[POOL_COLUMN_MAJOR]) return (w * g[POOL_INPUT + 1] + h) * g[POOL_INPUT] + d;
  return (d * g[POOL_INPUT + 1] + h) * g[POOL_INPUT + 2] + w;
}

/* BODY for every tap of the window, in order; p points to it. */
#define EACH_TAP(w, base, BODY)                           \
  for (uint32_t d = 0; d < w.taps[0]; ++d)                \
    for (uint32_t h = 0; h < w.taps[1]; ++h) {            \
      const char* p = base + d * step_d + h * step_h;     \
      for (uint32_t t = w.taps[2]; t; --t, p += step_w) { \
        BODY                                              \
      }                                                   \
    }

#define POOL_FIELDS                                                                                    \
  VALUE(u32, first), VALUE(u32, count), VALUE(u32, block), VALUE(u32, origin_d), VALUE(u32, origin_h), \
      VALUE(u32, origin_w), VALUE(u32, box_h), VALUE(u32, box_w)

/* What every pooling vertex does around its channels: position i, its window w, base of the window's first element. */
#define POOL_LOOP(type, CHANNELS)                                                                                    \
  const u32* g = state->geometry;                                                                                    \
  const uint32_t block = state->block, count = state->count;                                                         \
  const uint32_t row = state->box_w * block * sizeof(type), plane = state->box_h * row;                              \
  const uint32_t step_w = g[POOL_DILATION + 2] * block * sizeof(type), step_h = g[POOL_DILATION + 1] * row,          \
                 step_d = g[POOL_DILATION] * plane;                                                                  \
  for (uint32_t i = worker; i < count; i += 6) {                                                                     \
    const struct window w = window_at(g, state->first + i);                                                          \
    const char* const base = (const char*)state->x + (w.at[0] - state->origin_d) * plane +                           \
                             (w.at[1] - state->origin_h) * row + (w.at[2] - state->origin_w) * block * sizeof(type); \
    CHANNELS                                                                                                         \
  }

/* Comparable forms of the elements. */
#define AS_IS(x) (x)
#define POOL_MAX(type, TO, LOWEST)                                                                                     \
  VERTEX_MULTI(PoolMax_##type, IN(type, x), OUT(type, y), IN(u32, geometry), POOL_FIELDS){                             \
      POOL_LOOP(type,                                                                                                  \
                {                                                                                                      \
                  for (uint32_t c = 0; c < block; ++c) {                                                               \
                    type best = LOWEST;                                                                                \
                    EACH_TAP(w, (base + c * sizeof(type)), {                                                           \
                      const type v = *(const type*)p;                                                                  \
                      if (TO(v) > TO(best)) best = v;                                                                  \
                    })                                                                                                 \
                    state->y[i * block + c] = best;                                                                    \
                  }                                                                                                    \
                })} VERTEX_MULTI(PoolMaxIndex_##type, IN(type, x), OUT(type, y), OUT(i32, indices), IN(u32, geometry), \
                                 VALUE(u32, channel), POOL_FIELDS) {                                                   \
    POOL_LOOP(type, {                                                                                                  \
      const uint32_t field = g[POOL_INPUT] * g[POOL_INPUT + 1] * g[POOL_INPUT + 2];                                    \
      for (uint32_t c = 0; c < block; ++c) {                                                                           \
        type best = LOWEST;                                                                                            \
        uint32_t where = place_in_field(g, w.at[0], w.at[1], w.at[2]);                                                 \
        EACH_TAP(w, (base + c * sizeof(type)), {                                                                       \
          const type v = *(const type*)p;                                                                              \
          if (TO(v) > TO(best)) {                                                                                      \
            best = v;                                                                                                  \
            where = place_in_field(g, w.at[0] + d * g[POOL_DILATION], w.at[1] + h * g[POOL_DILATION + 1],              \
                                   w.at[2] + (w.taps[2] - t) * g[POOL_DILATION + 2]);                                  \
          }                                                                                                            \
        })                                                                                                             \
        state->y[i * block + c] = best;                                                                                \
        state->indices[i * block + c] = (i32)((state->channel + c) * field + where);                                   \
      }                                                                                                                \
    })                                                                                                                 \
  }
POOL_MAX(f32, AS_IS, tessera_f32_from_bits(0xff800000u))
POOL_MAX(f16, tessera_f16_to_f32, 0xfc00)
POOL_MAX(i8, AS_IS, INT8_MIN)
POOL_MAX(u8, AS_IS, 0)

#define STORE_f32(x) (x)
#define STORE_f16(x) tessera_f32_to_f16(x)
#define POOL_AVERAGE(type, FROM)                                                                \
  VERTEX_MULTI(PoolAverage_##type, IN(type, x), OUT(type, y), IN(u32, geometry), POOL_FIELDS) { \
    POOL_LOOP(type, {                                                                           \
      const uint32_t inside = w.taps[0] * w.taps[1] * w.taps[2];                                \
      const f32 elements = (f32)(i32)(g[POOL_COUNT_PADDING] ? w.padded : inside);               \
      for (uint32_t c = 0; c < block; ++c) {                                                    \
        f32 sum = 0;                                                                            \
        EACH_TAP(w, (base + c * sizeof(type)), sum = tessera_f32(sum + FROM(*(const type*)p));) \
        state->y[i * block + c] = inside ? STORE_##type(tessera_f32(sum / elements)) : 0;       \
      }                                                                                         \
    })                                                                                          \
  }
POOL_AVERAGE(f32, AS_IS)
POOL_AVERAGE(f16, tessera_f16_to_f32)

/* The same with blocks of whole vectors of 8 bytes: four f16 or two f32 at once. */
#ifdef __riscv
#define VECTOR_f16 f16x4
#define VECTOR_f32 f32x2
#define LARGER_f16 x_max_f16v4
#define LARGER_f32 x_max_f32v2
#define LOWEST_f16 ((f16x4){x_from_bits(0xfc00fc00u), x_from_bits(0xfc00fc00u)})
#define LOWEST_f32 ((f32x2){x_from_bits(0xff800000u), x_from_bits(0xff800000u)})
#define LOAD_VECTOR(vector, p) x_ld64(p, 0)
#define STORE_VECTOR(value, p) x_st64(value, p, 8)
#else
#define VECTOR_f16 uint64_t
#define VECTOR_f32 uint64_t
#define LOWEST_f16 0xfc00fc00fc00fc00u
#define LOWEST_f32 0xff800000ff800000u
#define LOAD_VECTOR(vector, p) *p
#define STORE_VECTOR(value, p) *p++ = value
static inline uint64_t LARGER_f16(uint64_t a, uint64_t b) {
  uint64_t result = 0;
  for (uint32_t k = 0; k < 64; k += 16)
    result |= (uint64_t)tessera_host_max_f16((uint16_t)(a >> k), (uint16_t)(b >> k)) << k;
  return result;
}
static inline uint64_t LARGER_f32(uint64_t a, uint64_t b) {
  return tessera_host_max_f32((uint32_t)a, (uint32_t)b) |
         (uint64_t)tessera_host_max_f32((uint32_t)(a >> 32), (uint32_t)(b >> 32)) << 32;
}
#endif

#define POOL_MAX_VECTORS(type)                                                                           \
  VERTEX_MULTI(PoolMaxVectors_##type, IN(type, x, 8), OUT(type, y, 8), IN(u32, geometry), POOL_FIELDS) { \
    POOL_LOOP(type, {                                                                                    \
      VECTOR_##type* y = (VECTOR_##type*)(state->y + i * block);                                         \
      for (uint32_t c = 0; c < block * sizeof(type); c += 8) {                                           \
        VECTOR_##type best = LOWEST_##type;                                                              \
        EACH_TAP(w, (base + c), {                                                                        \
          const VECTOR_##type* at = (const VECTOR_##type*)p;                                             \
          best = LARGER_##type(best, LOAD_VECTOR(VECTOR_##type, at));                                    \
        })                                                                                               \
        STORE_VECTOR(best, y);                                                                           \
      }                                                                                                  \
    })                                                                                                   \
  }
POOL_MAX_VECTORS(f16)
POOL_MAX_VECTORS(f32)
