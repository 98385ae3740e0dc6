/* Fill and copy: contiguous pieces of 8 to 64 bits an element, and strided ones of up to four dimensions (transpose,
 * slice, concatenation and reversal are such copies). Elements are bits; no type is converted here. */
#include "tessera/vertex.h"

#define COPY(Name, type)                           \
  VERTEX(Name, IN(type, x), OUT_SPAN(type, y)) {   \
    const type* x = state->x;                      \
    type* y = state->y.data;                       \
    uint32_t n = state->y.count;                   \
    for (; n >= 4; n -= 4, x += 4, y += 4) {       \
      type a = x[0], b = x[1], c = x[2], d = x[3]; \
      y[0] = a, y[1] = b, y[2] = c, y[3] = d;      \
    }                                              \
    for (; n; --n) *y++ = *x++;                    \
  }
COPY(Copy_u8, u8)
COPY(Copy_u16, u16)
COPY(Copy_u32, u32)
