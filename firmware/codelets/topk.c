/* The k largest or smallest elements of rows and where they stand, sorted; of equal elements the first first. A NaN is
 * larger than every number, zeros are equal whatever their sign. */
#include "tessera/vertex.h"

/* Keys: integers in the order of the elements. */
static inline i32 key_f32(f32 value) {
  const uint32_t bits = tessera_f32_bits(value), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return INT32_MAX;
  return bits >> 31 ? -(i32)magnitude : (i32)magnitude;
}
static inline i32 key_f16(f16 value) {
  const uint32_t magnitude = value & 0x7fffu;
  if (magnitude > 0x7c00u) return INT32_MAX;
  return value >> 15 ? -(i32)magnitude : (i32)magnitude;
}
#define KEY_WHOLE(value) ((i32)(value))
#define KEY_U32(value) ((i32)((value) ^ 0x80000000u))

/* The first `found` results are kept sorted; an element moves those down that it comes before. Rows by worker. */
#define TOP_K(type, KEY)                                                                                        \
  VERTEX_MULTI(TopK_##type, IN(type, x), OUT(type, y), OUT(i32, indices), VALUE(u32, rows), VALUE(u32, width),  \
               VALUE(u32, k), VALUE(u32, smallest)) {                                                           \
    const uint32_t width = state->width, k = state->k;                                                          \
    const i32 flip = state->smallest ? -1 : 0; /* ~key turns the order around */                                \
    for (uint32_t r = worker; r < state->rows; r += 6) {                                                        \
      const type* x = state->x + r * width;                                                                     \
      type* y = state->y + r * k;                                                                               \
      i32* indices = state->indices + r * k;                                                                    \
      uint32_t found = 0;                                                                                       \
      for (uint32_t i = 0; i < width; ++i) {                                                                    \
        const type value = x[i];                                                                                \
        const i32 key = KEY(value) ^ flip;                                                                      \
        uint32_t at = found < k ? found++ : k;                                                                  \
        if (at == k) {                                                                                          \
          if (k == 0 || (KEY(y[k - 1]) ^ flip) >= key) continue;                                                \
          --at;                                                                                                 \
        }                                                                                                       \
        for (; at > 0 && (KEY(y[at - 1]) ^ flip) < key; --at) y[at] = y[at - 1], indices[at] = indices[at - 1]; \
        y[at] = value;                                                                                          \
        indices[at] = (i32)i;                                                                                   \
      }                                                                                                         \
    }                                                                                                           \
  }
TOP_K(f32, key_f32)
TOP_K(f16, key_f16)
TOP_K(i32, KEY_WHOLE)
TOP_K(u32, KEY_U32)
TOP_K(i16, KEY_WHOLE)
TOP_K(u16, KEY_WHOLE)
TOP_K(i8, KEY_WHOLE)
TOP_K(u8, KEY_WHOLE)
