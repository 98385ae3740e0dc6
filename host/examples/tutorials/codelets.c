/* Codelets of the tutorials, compiled when the programs run. */
#include "tessera/vertex.h"

/* y = |a - b| * scale */
VERTEX(ScaledDistance, IN_SPAN(f32, a), IN(f32, b), OUT(f32, y), VALUE(f32, scale)) {
  for (uint32_t i = 0; i < state->a.count; ++i) {
    f32 d = state->a.data[i] - state->b[i];
    if (d < 0) d = -d;
    state->y[i] = tessera_f32(d * state->scale);
  }
}

/* One element of a matrix times a vector: y = row . x */
VERTEX(Dot, IN_SPAN(f32, row), IN(f32, x), OUT(f32, y)) {
  f32 sum = 0;
  for (uint32_t i = 0; i < state->row.count; ++i) sum = tessera_fma(state->row.data[i], state->x[i], sum);
  state->y[0] = tessera_f32(sum);
}

/* Four rows of a block of columns, which stand one behind the other: an element of the vector is loaded once for all
 * four, and eight sums are under way at once. columns is a multiple of 2. */
VERTEX(FourDots, IN(f32, block, 8), IN(f32, x, 8), OUT(f32, y), VALUE(u32, columns)) {
  f32 s00 = 0, s01 = 0, s10 = 0, s11 = 0, s20 = 0, s21 = 0, s30 = 0, s31 = 0;
  const f32* r0 = state->block;
  const f32* r1 = r0 + state->columns;
  const f32* r2 = r1 + state->columns;
  const f32* r3 = r2 + state->columns;
  const f32* v = state->x;
  for (uint32_t i = state->columns / 2; i != 0; --i, r0 += 2, r1 += 2, r2 += 2, r3 += 2, v += 2) {
    const f32 v0 = v[0], v1 = v[1];
    s00 = tessera_fma(r0[0], v0, s00);
    s10 = tessera_fma(r1[0], v0, s10);
    s20 = tessera_fma(r2[0], v0, s20);
    s30 = tessera_fma(r3[0], v0, s30);
    s01 = tessera_fma(r0[1], v1, s01);
    s11 = tessera_fma(r1[1], v1, s11);
    s21 = tessera_fma(r2[1], v1, s21);
    s31 = tessera_fma(r3[1], v1, s31);
  }
  state->y[0] = tessera_f32(s00 + s01);
  state->y[1] = tessera_f32(s10 + s11);
  state->y[2] = tessera_f32(s20 + s21);
  state->y[3] = tessera_f32(s30 + s31);
}

/* y = sum of the parts: parts[p][n] */
VERTEX(SumParts, IN(f32, parts), OUT_SPAN(f32, y), VALUE(u32, count)) {
  for (uint32_t i = 0; i < state->y.count; ++i) {
    f32 sum = 0;
    for (uint32_t p = 0; p < state->count; ++p) sum += state->parts[p * state->y.count + i];
    state->y.data[i] = tessera_f32(sum);
  }
}
