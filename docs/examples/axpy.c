/* y = 3 x + y for sixteen f32, two a vector: a worker's loop with streams and Xtile intrinsics (docs/user-guide.md). */
#include "conformance.h"
#include "tessera/xtile.h"

enum { kVectors = 8 };
static f32x2 x[kVectors], y[kVectors];

void test_main(void) {
  for (int i = 0; i < kVectors; ++i) {
    x[i] = (f32x2){(float)i, 0.5f};
    y[i] = (f32x2){100.0f, (float)i};
  }
  f32x2* out = y;
  x_sset(0, x, 0); /* stream 0 reads x, */
  x_sset(1, y, 0); /* stream 1 reads y */
  x_rpti(kVectors, (X_IOX(io0, out)), (X_INF(in0, 3.0f)), X_USES(p4, p6, p10),
         X_PAIR(X_LD2(p4, p6, X_STEP_8, X_STEP_8), X_FNOP), /* both vectors; X_FNOP pairs, as it touches f0 alone */
         X_PAIR(X_NOP, X_SADD_F32V2(p10, in0, p4, p6)),     /* 3 x + y, two lanes */
         X_PAIR(X_ST64(p10, 8, io0), X_FNOP));              /* store, pointer + 8 */
  for (int i = 0; i < kVectors; ++i) {
    if (x_bits(y[i].r0) != x_bits(3.0f * (float)i + 100.0f)) fail_with(1);
    if (x_bits(y[i].r1) != x_bits(1.5f + (float)i)) fail_with(2);
  }
  pass();
}
