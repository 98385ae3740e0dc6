/* Matrix products of f32 and i32 pieces: c[m][n] = start + sum over k of a[m][k] b[k][n].
 *
 * Every element is one chain of fused multiply-adds in ascending k from its start value (zero, the old c, or a bias),
 * so blocking changes no bit, and a product cut along k into pieces that are accumulated in order equals the whole.
 * Rows of a, b, c are lda, ldb, ldc elements apart; within a row elements are adjacent. MatMulNT takes b as [n][k].
 * Four by four elements are kept in registers: 27 instructions for 16 multiply-adds of f32. Integers wrap. */
#include "tessera/vertex.h"

enum { START_ZERO, START_OLD, START_BIAS };

#define ALWAYS_INLINE static inline __attribute__((always_inline))

struct product {
  const f32 *a, *b, *bias;
  f32* c;
  uint32_t m, n, k, lda, ldb, ldc;
};
struct integer_product {
  const u32 *a, *b, *bias;
  u32* c;
  uint32_t m, n, k, lda, ldb, ldc;
};

ALWAYS_INLINE u32 integer_multiply_add(u32 a, u32 b, u32 sum) { return a * b + sum; }
ALWAYS_INLINE u32 unchanged(u32 x) { return x; }

/* ROWS x COLUMNS elements of c. b_k, b_n: elements of b from one k and one n to the next. */
#define BLOCK(NAME, ROWS, COLUMNS, T, MAC, KEEP)                                                                \
  ALWAYS_INLINE void NAME(const T* a, const T* b, T* c, const T* bias, uint32_t k, uint32_t lda, uint32_t ldb,  \
                          uint32_t ldc, int start, int transposed) {                                            \
    T sum[ROWS][COLUMNS];                                                                                       \
    _Pragma("GCC unroll 4") for (int i = 0; i < ROWS; ++i) {                                                    \
      _Pragma("GCC unroll 4") for (int j = 0; j < COLUMNS; ++j) {                                               \
        sum[i][j] = start == START_OLD ? c[i * ldc + j] : start == START_BIAS ? bias[j] : 0;                    \
      }                                                                                                         \
    }                                                                                                           \
    const T* ap[ROWS];                                                                                          \
    const T* bp[COLUMNS];                                                                                       \
    _Pragma("GCC unroll 4") for (int i = 0; i < ROWS; ++i) ap[i] = a + i * lda;                                 \
    _Pragma("GCC unroll 4") for (int j = 0; j < COLUMNS; ++j) bp[j] = b + (transposed ? j * ldb : (uint32_t)j); \
    for (; k; --k) {                                                                                            \
      T av[ROWS], bv[COLUMNS];                                                                                  \
      _Pragma("GCC unroll 4") for (int i = 0; i < ROWS; ++i) av[i] = *ap[i]++;                                  \
      if (transposed) {                                                                                         \
        _Pragma("GCC unroll 4") for (int j = 0; j < COLUMNS; ++j) bv[j] = *bp[j]++;                             \
      } else {                                                                                                  \
        _Pragma("GCC unroll 4") for (int j = 0; j < COLUMNS; ++j) bv[j] = bp[0][j];                             \
        bp[0] += ldb;                                                                                           \
      }                                                                                                         \
      _Pragma("GCC unroll 4") for (int i = 0; i < ROWS; ++i) {                                                  \
        _Pragma("GCC unroll 4") for (int j = 0; j < COLUMNS; ++j) sum[i][j] = MAC(av[i], bv[j], sum[i][j]);     \
      }                                                                                                         \
    }                                                                                                           \
    _Pragma("GCC unroll 4") for (int i = 0; i < ROWS; ++i) {                                                    \
      _Pragma("GCC unroll 4") for (int j = 0; j < COLUMNS; ++j) c[i * ldc + j] = KEEP(sum[i][j]);               \
    }                                                                                                           \
  }
BLOCK(block_4x4, 4, 4, f32, tessera_fma, tessera_f32)
BLOCK(block_1x4, 1, 4, f32, tessera_fma, tessera_f32)
BLOCK(block_4x1, 4, 1, f32, tessera_fma, tessera_f32)
BLOCK(block_1x1, 1, 1, f32, tessera_fma, tessera_f32)
BLOCK(integer_4x4, 4, 4, u32, integer_multiply_add, unchanged)
BLOCK(integer_1x4, 1, 4, u32, integer_multiply_add, unchanged)
BLOCK(integer_4x1, 4, 1, u32, integer_multiply_add, unchanged)
BLOCK(integer_1x1, 1, 1, u32, integer_multiply_add, unchanged)

#define PRODUCT_OF(NAME, STRUCT, T, KIND)                                         \
  ALWAYS_INLINE void NAME(const struct STRUCT p, int start, int transposed) {     \
    const T* a = p.a;                                                             \
    T* c_row = p.c;                                                               \
    uint32_t m = p.m;                                                             \
    const uint32_t b_step = transposed ? p.ldb : 1;                               \
    while (m) {                                                                   \
      const uint32_t rows = m >= 4 ? 4 : 1;                                       \
      const T *b = p.b, *bias = p.bias;                                           \
      T* c = c_row;                                                               \
      uint32_t n = p.n;                                                           \
      if (rows == 4) {                                                            \
        for (; n >= 4; n -= 4, b += 4 * b_step, c += 4, bias += 4)                \
          KIND##_4x4(a, b, c, bias, p.k, p.lda, p.ldb, p.ldc, start, transposed); \
        for (; n; --n, b += b_step, ++c, ++bias)                                  \
          KIND##_4x1(a, b, c, bias, p.k, p.lda, p.ldb, p.ldc, start, transposed); \
      } else {                                                                    \
        for (; n >= 4; n -= 4, b += 4 * b_step, c += 4, bias += 4)                \
          KIND##_1x4(a, b, c, bias, p.k, p.lda, p.ldb, p.ldc, start, transposed); \
        for (; n; --n, b += b_step, ++c, ++bias)                                  \
          KIND##_1x1(a, b, c, bias, p.k, p.lda, p.ldb, p.ldc, start, transposed); \
      }                                                                           \
      a += rows * p.lda, c_row += rows * p.ldc, m -= rows;                        \
    }                                                                             \
  }
PRODUCT_OF(product, product, f32, block)
PRODUCT_OF(integer_product, integer_product, u32, integer)

#define SIZES VALUE(u32, m), VALUE(u32, n), VALUE(u32, k), VALUE(u32, lda), VALUE(u32, ldb), VALUE(u32, ldc)
#define PRODUCT(BIAS, START, TRANSPOSED)                                                                             \
  product((struct product){state->a, state->b, BIAS, state->c, state->m, state->n, state->k, state->lda, state->ldb, \
                           state->ldc},                                                                              \
          START, TRANSPOSED)

VERTEX(MatMul_f32, IN(f32, a), IN(f32, b), OUT(f32, c), SIZES) { PRODUCT(state->c, START_ZERO, 0); }
VERTEX(MatMulAccumulate_f32, IN(f32, a), IN(f32, b), INOUT(f32, c), SIZES) { PRODUCT(state->c, START_OLD, 0); }
VERTEX(MatMulBias_f32, IN(f32, a), IN(f32, b), IN(f32, bias), OUT(f32, c), SIZES) {
  PRODUCT(state->bias, START_BIAS, 0);
}
VERTEX(MatMulNT_f32, IN(f32, a), IN(f32, b), OUT(f32, c), SIZES) { PRODUCT(state->c, START_ZERO, 1); }
VERTEX(MatMulNTAccumulate_f32, IN(f32, a), IN(f32, b), INOUT(f32, c), SIZES) { PRODUCT(state->c, START_OLD, 1); }
VERTEX(MatMulNTBias_f32, IN(f32, a), IN(f32, b), IN(f32, bias), OUT(f32, c), SIZES) {
  PRODUCT(state->bias, START_BIAS, 1);
}
VERTEX(MatMul_i32, IN(i32, a), IN(i32, b), OUT(i32, c), SIZES) {
  integer_product(
      (struct integer_product){(const u32*)state->a, (const u32*)state->b, (const u32*)state->c, (u32*)state->c,
                               state->m, state->n, state->k, state->lda, state->ldb, state->ldc},
      START_ZERO, 0);
}
