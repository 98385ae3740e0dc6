/* Fill and copy: contiguous pieces of 8 to 64 bits an element, strided ones of up to four dimensions (transpose, slice,
 * concatenation, reversal and broadcast are such copies), planes of images interleaved, and slices at an index known at
 * run time. Elements are bits: no type is converted. */
#include "tessera/vertex.h"

#define COPY(Name, field_type, type)                                                     \
  VERTEX(Name, IN(field_type, x, sizeof(type)), OUT_SPAN(field_type, y, sizeof(type))) { \
    const type* x = (const type*)state->x;                                               \
    type* y = (type*)state->y.data;                                                      \
    uint32_t n = state->y.count * sizeof(field_type) / sizeof(type);                     \
    for (; n >= 4; n -= 4, x += 4, y += 4) {                                             \
      const type a = x[0], b = x[1], c = x[2], d = x[3];                                 \
      y[0] = a, y[1] = b, y[2] = c, y[3] = d;                                            \
    }                                                                                    \
    for (; n; --n) *y++ = *x++;                                                          \
  }
COPY(Copy_u8, u8, u8)
COPY(Copy_u16, u16, u16)
COPY(Copy_u32, u32, u32)

/* Eight words a round: 16 accesses, 3 other instructions. Data and count (words) multiples of 8 bytes. */
VERTEX(Copy_u64, IN(u32, x, 8, 2), OUT_SPAN(u32, y, 8, 2)) {
  const u32* x = state->x;
  u32* y = state->y.data;
  uint32_t n = state->y.count;
  for (; n >= 8; n -= 8, x += 8, y += 8) {
    const u32 a = x[0], b = x[1], c = x[2], d = x[3], e = x[4], f = x[5], g = x[6], h = x[7];
    y[0] = a, y[1] = b, y[2] = c, y[3] = d, y[4] = e, y[5] = f, y[6] = g, y[7] = h;
  }
  for (; n; --n) *y++ = *x++;
}

/* Any byte addresses and any number of bytes: words where both sides allow it, else bytes. */
VERTEX(CopyBytes, IN(u8, x), OUT_SPAN(u8, y)) {
  typedef u32 __attribute__((may_alias)) word;
  const u8* x = state->x;
  u8* y = state->y.data;
  uint32_t n = state->y.count;
  if ((((uintptr_t)x ^ (uintptr_t)y) & 3) == 0) {
    for (; n && ((uintptr_t)y & 3); --n) *y++ = *x++;
    for (; n >= 4; n -= 4, x += 4, y += 4) *(word*)y = *(const word*)x;
  }
  for (; n; --n) *y++ = *x++;
}

#define FILL(Name, type)                                              \
  VERTEX(Name, OUT_SPAN(type, y), VALUE(type, value)) {               \
    type* y = state->y.data;                                          \
    const type value = state->value;                                  \
    uint32_t n = state->y.count;                                      \
    for (; n >= 4; n -= 4, y += 4) y[0] = y[1] = y[2] = y[3] = value; \
    for (; n; --n) *y++ = value;                                      \
  }
FILL(Fill_u8, u8)
FILL(Fill_u16, u16)
FILL(Fill_u32, u32)

/* y[i0 ys0 + .. + i3 ys3] = x[i0 xs0 + .. + i3 xs3] for i_d < n_d; strides in elements, any sign, 0 repeats. */
#define COPY_STRIDED(Name, type)                                                                               \
  VERTEX(Name, IN(type, x), OUT(type, y), VALUE(u32, n0), VALUE(u32, n1), VALUE(u32, n2), VALUE(u32, n3),      \
         VALUE(i32, xs0), VALUE(i32, xs1), VALUE(i32, xs2), VALUE(i32, xs3), VALUE(i32, ys0), VALUE(i32, ys1), \
         VALUE(i32, ys2), VALUE(i32, ys3)) {                                                                   \
    const type* x0 = state->x;                                                                                 \
    type* y0 = state->y;                                                                                       \
    const uint32_t n3 = state->n3;                                                                             \
    const i32 xs3 = state->xs3, ys3 = state->ys3;                                                              \
    for (uint32_t i0 = state->n0; i0; --i0, x0 += state->xs0, y0 += state->ys0) {                              \
      const type* x1 = x0;                                                                                     \
      type* y1 = y0;                                                                                           \
      for (uint32_t i1 = state->n1; i1; --i1, x1 += state->xs1, y1 += state->ys1) {                            \
        const type* x2 = x1;                                                                                   \
        type* y2 = y1;                                                                                         \
        for (uint32_t i2 = state->n2; i2; --i2, x2 += state->xs2, y2 += state->ys2) {                          \
          const type* x = x2;                                                                                  \
          type* y = y2;                                                                                        \
          uint32_t n = n3;                                                                                     \
          for (; n >= 2; n -= 2) {                                                                             \
            const type a = *x;                                                                                 \
            x += xs3;                                                                                          \
            const type b = *x;                                                                                 \
            x += xs3;                                                                                          \
            *y = a, y += ys3;                                                                                  \
            *y = b, y += ys3;                                                                                  \
          }                                                                                                    \
          if (n) *y = *x;                                                                                      \
        }                                                                                                      \
      }                                                                                                        \
    }                                                                                                          \
  }
COPY_STRIDED(CopyStrided_u8, u8)
COPY_STRIDED(CopyStrided_u16, u16)
COPY_STRIDED(CopyStrided_u32, u32)

/* Slices at a run-time index. The index is clamped to 0 .. limit, so that no index reaches outside;
 * stride is elements from one index to the next. DynamicSlice: y = x[index stride ..]. DynamicUpdate: the same
 * piece of y = x. */
static inline uint32_t clamp_index(i32 index, u32 limit) {
  if (index < 0) return 0;
  return (u32)index > limit ? limit : (u32)index;
}

#define DYNAMIC(Suffix, type)                                                                          \
  VERTEX(DynamicSlice_##Suffix, IN(type, x), IN(i32, index), OUT_SPAN(type, y), VALUE(u32, stride),    \
         VALUE(u32, limit)) {                                                                          \
    const type* x = state->x + clamp_index(*state->index, state->limit) * state->stride;               \
    type* y = state->y.data;                                                                           \
    for (uint32_t n = state->y.count; n; --n) *y++ = *x++;                                             \
  }                                                                                                    \
  VERTEX(DynamicUpdate_##Suffix, IN_SPAN(type, x), IN(i32, index), INOUT(type, y), VALUE(u32, stride), \
         VALUE(u32, limit)) {                                                                          \
    const type* x = state->x.data;                                                                     \
    type* y = state->y + clamp_index(*state->index, state->limit) * state->stride;                     \
    for (uint32_t n = state->x.count; n; --n) *y++ = *x++;                                             \
  }
DYNAMIC(u8, u8)
DYNAMIC(u16, u16)
DYNAMIC(u32, u32)

/* All six workers over one state: worker w takes every sixth element from the w-th on. */
VERTEX_MULTI(FillAll_u32, OUT_SPAN(u32, y), VALUE(u32, value)) {
  u32* const y = state->y.data;
  const uint32_t n = state->y.count;
  const u32 value = state->value;
  for (uint32_t i = worker; i < n; i += 6) y[i] = value;
}

VERTEX_MULTI(CopyAll_u32, IN(u32, x), OUT_SPAN(u32, y)) {
  const u32* const x = state->x;
  u32* const y = state->y.data;
  const uint32_t n = state->y.count;
  for (uint32_t i = worker; i < n; i += 6) y[i] = x[i];
}

/* Up to four planes as positions of four: y[4 i + c] = x[c plane + i] for c < channels, else zero. Workers share the
 * positions. */
#define INTERLEAVE_f16(a, b) *y++ = (a) | (uint32_t)(b) << 16;
#define INTERLEAVE_f32(a, b) *y++ = a, *y++ = b;
#define INTERLEAVE(Name, type, bits)                                                                                 \
  VERTEX_MULTI(Name, IN(type, x), OUT(type, y, 8), VALUE(u32, positions), VALUE(u32, channels), VALUE(u32, plane)) { \
    typedef uint32_t __attribute__((may_alias)) word;                                                                \
    typedef bits __attribute__((may_alias)) element;                                                                 \
    const uint32_t n = state->positions, plane = state->plane, channels = state->channels;                           \
    const uint32_t share = (n + 5) / 6;                                                                              \
    const uint32_t first = worker * share;                                                                           \
    if (first >= n) return;                                                                                          \
    const element* x0 = (const element*)state->x + first;                                                            \
    const element* const end = x0 + (n - first < share ? n - first : share);                                         \
    const element *x1 = x0 + plane, *x2 = x1 + plane, *x3 = x2 + plane;                                              \
    word* y = (word*)(state->y + 4 * first);                                                                         \
    if (channels == 3)                                                                                               \
      for (; x0 != end; ++x0, ++x1, ++x2) {                                                                          \
        INTERLEAVE_##type(*x0, *x1) INTERLEAVE_##type(*x2, 0)                                                        \
      }                                                                                                              \
    else if (channels == 4)                                                                                          \
      for (; x0 != end; ++x0, ++x1, ++x2, ++x3) {                                                                    \
        INTERLEAVE_##type(*x0, *x1) INTERLEAVE_##type(*x2, *x3)                                                      \
      }                                                                                                              \
    else if (channels == 2)                                                                                          \
      for (; x0 != end; ++x0, ++x1) {                                                                                \
        INTERLEAVE_##type(*x0, *x1) INTERLEAVE_##type(0, 0)                                                          \
      }                                                                                                              \
    else                                                                                                             \
      for (; x0 != end; ++x0) {                                                                                      \
        INTERLEAVE_##type(*x0, 0) INTERLEAVE_##type(0, 0)                                                            \
      }                                                                                                              \
  }
INTERLEAVE(Interleave4_f16, f16, uint16_t)
INTERLEAVE(Interleave4_f32, f32, uint32_t)
