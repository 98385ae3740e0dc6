/* An AMP vertex for tests of VERTEX_AMP and tessera_amp: c[r] += x[offset + r] W for rows r of 16 f16 and 8 f32, a
 * worker taking every sixth. Without pipelining; the library has the fast ones. One that does nothing shows what the
 * loop costs.
 */
#include "tessera/vertex.h"
#ifdef __riscv
#include "tessera/xtile.h"
#endif

#ifdef __riscv
#define IN_PHASE(p) (void)x_amp_io(((f32x2){c[2 * p], c[2 * p + 1]}), p)
#define STEP_PHASE(p) (void)x_amp_f16(x_ld64_at(x + 4 * p), zero, p)
#define OUT_PHASE(p)                          \
  {                                           \
    const f32x2 out = x_amp_io(zero, p);      \
    c[2 * p] = out.r0, c[2 * p + 1] = out.r1; \
  }
static inline f16x4 x_ld64_at(const f16* at) {
  const f32* words = (const f32*)at;
  return (f16x4){words[0], words[1]};
}
static inline void row(const f16* x, f32* c) {
  const f32x2 zero = {0, 0};
  IN_PHASE(0), IN_PHASE(1), IN_PHASE(2), IN_PHASE(3);
  STEP_PHASE(0), STEP_PHASE(1), STEP_PHASE(2), STEP_PHASE(3);
  OUT_PHASE(0) OUT_PHASE(1) OUT_PHASE(2) OUT_PHASE(3)
}
#define ROW(x, c) row(x, c)
#else
/* Whole numbers below 2048 only, which is what the test uses. */
static inline f32 small(f16 bits) {
  const int exponent = (bits >> 10 & 31) - 15;
  if ((bits & 0x7fff) == 0) return 0;
  f32 value = 1 + (f32)(bits & 1023) / 1024;
  for (int i = 0; i < exponent; ++i) value *= 2;
  return bits >> 15 ? -value : value;
}
static inline void row(const f16* x, f32* c, const f16* w) {
  for (unsigned e = 0; e < 8; ++e)
    for (unsigned k = 0; k < 16; k += 4)
      c[e] += (small(x[k]) * small(w[16 * e + k]) + small(x[k + 1]) * small(w[16 * e + k + 1])) +
              (small(x[k + 2]) * small(w[16 * e + k + 2]) + small(x[k + 3]) * small(w[16 * e + k + 3]));
}
#define ROW(x, c) row(x, c, (const f16*)tessera_weights)
#endif

VERTEX_AMP(TestAmpRows, IN(f16, x, 8), INOUT(f32, c, 8), VALUE(u32, n)) {
  for (uint32_t r = worker; r < state->n; r += 6) ROW(state->x + offset / 2 + 16 * r, state->c + 8 * r);
}

VERTEX_AMP(TestAmpNothing, VALUE(u32, unused)) {
  (void)state, (void)offset, (void)worker;
#ifndef __riscv
  (void)tessera_weights;
#endif
}

/* Leaves SRAM in the set whose offset is not 0. */
VERTEX_AMP(TestAmpFault, IN(u32, x), OUT(u32, y)) {
  if (worker == 2 && offset != 0) ((volatile u32*)(uintptr_t)offset)[0] = state->x[0];
  if (worker == 0) state->y[0] = offset;
#ifndef __riscv
  (void)tessera_weights;
#endif
}
