/* Products of four rows of a matrix with a vector, in f16 with sums in f32, or in f32, as recurrent cells and products
 * of few rows use them.
 *
 * Weights: [group of 4 rows][worker][vector][4 rows] vectors of 8 bytes. A worker takes `share` vectors of the inner
 * axis, the last workers what is left of `vectors`; both are even. Sums of workers are left apart: six for each row. */
#ifndef TESSERA_CODELETS_ROW_PRODUCT_H_
#define TESSERA_CODELETS_ROW_PRODUCT_H_

#include "tessera/vertex.h"

static inline uint32_t share_of(uint32_t vectors, uint32_t share, uint32_t worker) {
  const uint32_t first = worker * share;
  if (first >= vectors) return 0;
  return vectors - first < share ? vectors - first : share;
}

#ifdef __riscv
#define DOT_0(w, h) X_DOT_F16V4(f16, w, h, f16)
#define DOT_1(w, h) X_DOT_F16V4(f18, w, h, f18)
#define DOT_2(w, h) X_DOT_F16V4(f20, w, h, f20)
#define DOT_3(w, h) X_DOT_F16V4(f22, w, h, f22)
#define MAC_0(w, h) X_MAC_F32V2(p16, w, h, p16)
#define MAC_1(w, h) X_MAC_F32V2(p18, w, h, p18)
#define MAC_2(w, h) X_MAC_F32V2(p20, w, h, p20)
#define MAC_3(w, h) X_MAC_F32V2(p22, w, h, p22)
/* Two vectors of h, in p2 and p6, against four rows each; loads run one step ahead. */
#define FIRST_HALF(M, step)                                \
  X_PAIR(X_LD2(p4, p6, X_STEP_8, X_STEP_0), M##_0(p0, p2)) \
  X_PAIR(X_LD2(p0, p6, X_STEP_8, X_STEP_0), M##_1(p4, p2)) \
  X_PAIR(X_LD2(p4, p6, X_STEP_8, X_STEP_0), M##_2(p0, p2)) \
  X_PAIR(X_LD2(p0, p6, X_STEP_8, step), M##_3(p4, p2))
#define SECOND_HALF(M)                                     \
  X_PAIR(X_LD2(p4, p2, X_STEP_8, X_STEP_0), M##_0(p0, p6)) \
  X_PAIR(X_LD2(p0, p2, X_STEP_8, X_STEP_0), M##_1(p4, p6)) \
  X_PAIR(X_LD2(p4, p2, X_STEP_8, X_STEP_0), M##_2(p0, p6)) \
  X_PAIR(X_LD2(p0, p2, X_STEP_8, X_STEP_8), M##_3(p4, p6))
/* Nothing is read behind the last vectors. */
#define LAST_HALF(M)                                       \
  X_PAIR(X_LD2(p4, p2, X_STEP_8, X_STEP_0), M##_0(p0, p6)) \
  X_PAIR(X_LD2(p0, p2, X_STEP_8, X_STEP_0), M##_1(p4, p6)) \
  X_PAIR(X_LD2(p4, p2, X_STEP_8, X_STEP_0), M##_2(p0, p6)) \
  X_PAIR(X_NOP, M##_3(p4, p6))
#define CLEAR(pair) X_CMPLT_F32V2(pair, pair, pair)
#define PRODUCT(M, FINISH)                                                                                          \
  f32 s0, s1, s2, s3;                                                                                               \
  x_sset(0, weights, 0);                                                                                            \
  x_sset(1, h, 0);                                                                                                  \
  x_block((X_OUTF(out0, s0), X_OUTF(out1, s1), X_OUTF(out2, s2), X_OUTF(out3, s3)), (X_INX(in0, n / 2 - 1)),        \
          X_USES(p0, p2, p4, p6, p16, p18, p20, p22),                                                               \
          X_PAIR(X_LD2(p0, p2, X_STEP_8, X_STEP_8), CLEAR(p16)) X_PAIR(X_NOP, CLEAR(p18)) X_PAIR(X_NOP, CLEAR(p20)) \
              X_PAIR(X_NOP, CLEAR(p22)) X_RPT(in0, 8) X_FNOP FIRST_HALF(M, X_STEP_8) SECOND_HALF(M)                 \
                  FIRST_HALF(M, X_STEP_0) LAST_HALF(M) FINISH);                                                     \
  out[0] = s0, out[6] = s1, out[12] = s2, out[18] = s3;
#define DOT_FINISH                         \
  X_PAIR(X_NOP, X_FSGNJ_S(out0, f16, f16)) \
  X_PAIR(X_NOP, X_FSGNJ_S(out1, f18, f18)) \
  X_PAIR(X_NOP, X_FSGNJ_S(out2, f20, f20)) X_PAIR(X_NOP, X_FSGNJ_S(out3, f22, f22))
#define MAC_FINISH                      \
  X_PAIR(X_NOP, X_SUM_F32V2(out0, p16)) \
  X_PAIR(X_NOP, X_SUM_F32V2(out1, p18)) X_PAIR(X_NOP, X_SUM_F32V2(out2, p20)) X_PAIR(X_NOP, X_SUM_F32V2(out3, p22))
static inline void product_f16(const f16* weights, const f16* h, f32* out, uint32_t n) { PRODUCT(DOT, DOT_FINISH) }
static inline void product_f32(const f32* weights, const f32* h, f32* out, uint32_t n) { PRODUCT(MAC, MAC_FINISH) }
#else
static inline void product_f16(const f16* weights, const f16* h, f32* out, uint32_t n) {
  for (uint32_t r = 0; r < 4; ++r) {
    uint32_t sum = 0;
    for (uint32_t k = 0; k < n; ++k) sum = tessera_host_dot_f16v4(weights + (4 * k + r) * 4, h + 4 * k, sum);
    out[6 * r] = tessera_f32_from_bits(sum);
  }
}
static inline void product_f32(const f32* weights, const f32* h, f32* out, uint32_t n) {
  for (uint32_t r = 0; r < 4; ++r) {
    f32 even = 0, odd = 0;
    for (uint32_t k = 0; k < n; ++k) {
      const f32* w = weights + (4 * k + r) * 2;
      even = tessera_fma(w[0], h[2 * k], even);
      odd = tessera_fma(w[1], h[2 * k + 1], odd);
    }
    out[6 * r] = tessera_f32(even + odd);
  }
}
#endif

#endif /* TESSERA_CODELETS_ROW_PRODUCT_H_ */
