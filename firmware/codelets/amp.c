/* Convolution and matrix product on the accumulating matrix product, one set of weights after the other, and zeros in
 * their operands. amp_result.c finishes the sums.
 *
 * AmpProduct: positions stand at one distance in x (the low half of x_stride leads S0 from the last doubleword of a
 * position to the first of the next, the high half from the second to the third); their eight f32 sums stand one behind
 * the other in c. Every worker takes `positions` of them (at least 3): worker w begins w * x_share bytes into x and w *
 * c_share bytes into c. The word of a set that adds to the sums of the one before is where in x its tap and channels
 * begin, in bytes. That of the first set of some output channels has bit 31 set (sums start from zero); it says where
 * in x it begins in bits 30:16 (8 bytes each) and where in c its sums stand in bits 12:0 (32 bytes each); bit 15 marks
 * the vertex's first set: workers then read the state. Workers keep what they need in registers and streams from set to
 * set, since nothing else runs between, and leave themselves. What the taps of junk positions behind the field read or
 * write does not matter, but it must be memory of x and c. */
#include "amp.h"

#define AMP_FIRST 0x80000000u
#define AMP_BEGIN 0x8000u

#ifdef __riscv
/* A worker's own x and c, c of the output channels, stride of x, strides of S1 and S2 from their last doubleword back
 * to where they begin, and positions less 3, from set to set. */
register char* amp_x_first __asm__("s3"); /* for words with AMP_FIRST, which are shifted by 13 */
register uint32_t amp_first_rounds __asm__("s4");
register uint32_t amp_back1 __asm__("s5");
register uint32_t amp_back2 __asm__("s6");
register char* amp_to __asm__("s7");
register char* amp_x __asm__("s8");
register char* amp_c __asm__("s9");
register uint32_t amp_stride __asm__("s10");
register uint32_t amp_rounds __asm__("s11");

#define AMP_PRODUCT(Name, type, S0, S1, LENGTH)                                                                     \
  VERTEX_AMP(Name, IN(type, x, 8), OUT(f32, c, 16), VALUE(u32, x_share), VALUE(u32, c_share), VALUE(u32, x_stride), \
             VALUE(u32, positions)) {                                                                               \
    (void)worker;                                                                                                   \
    if (__builtin_expect((int32_t)offset < 0, 0)) {                                                                 \
      if (__builtin_expect((int32_t)(offset << 16) < 0, 0)) { /* AMP_BEGIN */                                       \
        uint32_t own;                                         /* `worker`, read only where it is needed */          \
        __asm__ volatile("mv %0, tp" : "=r"(own));                                                                  \
        const uint32_t positions = state->positions;                                                                \
        amp_x = (char*)state->x + own * state->x_share;                                                             \
        amp_c = (char*)state->c + own * state->c_share;                                                             \
        amp_stride = state->x_stride;                                                                               \
        amp_x_first = amp_x - (AMP_FIRST >> 13);                                                                    \
        amp_rounds = positions - 3;                                                                                 \
        amp_first_rounds = positions - 2;                                                                           \
        amp_back1 = (5 - 4 * positions) & 0xffff;                                                                   \
        amp_back2 = (1 - 4 * positions) & 0xffff;                                                                   \
        offset ^= AMP_BEGIN;                                                                                        \
      }                                                                                                             \
      amp_to = amp_c + (offset << 19 >> 14);                                                                        \
      x_sset(0, amp_x_first + (offset >> 13), amp_stride);                                                          \
      x_sset(1, amp_to + 32, amp_back1);                                                                            \
      x_sset(2, amp_to, amp_back2);                                                                                 \
      x_block(X_NONE, (X_INX(in0, amp_first_rounds)), AMP_USES, AMP_START(S0, S1, LENGTH));                         \
    } else {                                                                                                        \
      AMP_FIRST_PARTIALS(amp_to);                                                                                   \
      x_block((X_IOX(io0, amp_to), X_IOX(io1, offset)),                                                             \
              (X_INX(in0, amp_rounds), X_INX(in1, amp_x), X_INX(in2, amp_stride)), AMP_USES,                        \
              AMP_ACCUMULATE(S0, S1, LENGTH));                                                                      \
    }                                                                                                               \
    x_exit(0);                                                                                                      \
  }
AMP_PRODUCT(AmpProduct_f16, f16, AMP_F16_0, AMP_F16_1, 4)
AMP_PRODUCT(AmpProduct_f32, f32, AMP_F32_0, AMP_F32_1, 8)
#else
/* Four products of f16, exact, onto a sum: four roundings. */
static f32 amp_four(f32 sum, const f16* a, const f16* w) {
  f32 product[4];
  for (int i = 0; i < 4; ++i) product[i] = tessera_f16_to_f32(a[i]) * tessera_f16_to_f32(w[i]);
  const f32 low = product[0] + product[1], high = product[2] + product[3], both = low + high;
  return tessera_f32(sum + both);
}
/* gap: bytes between the halves of a position. */
static f32 amp_sum_f16(f32 sum, const char* x, int32_t gap, const uint32_t* weights, int e) {
  for (int p = 0; p < 4; ++p)
    sum = amp_four(sum, (const f16*)(x + (p < 2 ? 0 : gap)) + 4 * p, (const f16*)weights + 16 * e + 4 * p);
  return sum;
}
static f32 amp_sum_f32(f32 sum, const char* x, int32_t gap, const uint32_t* weights, int e) {
  for (int p = 0; p < 8; ++p)
    sum = tessera_f32(tessera_fma(((const f32*)(x + (p < 4 ? 0 : gap)))[p], ((const f32*)weights)[8 * e + p], sum));
  return sum;
}
#define AMP_PRODUCT(Name, type, SUM)                                                                                \
  VERTEX_AMP(Name, IN(type, x, 8), OUT(f32, c, 16), VALUE(u32, x_share), VALUE(u32, c_share), VALUE(u32, x_stride), \
             VALUE(u32, positions)) {                                                                               \
    const uint32_t place = offset & AMP_FIRST ? offset << 1 >> 14 & ~7u : offset;                                   \
    const char* x = (const char*)state->x + place + worker * state->x_share;                                        \
    uint32_t first = (uint32_t)(tessera_weights - state->weights) / 64; /* then: of its output channels */          \
    while (!(state->offsets.data[first] & AMP_FIRST)) --first;                                                      \
    f32* c = (f32*)((char*)state->c + (state->offsets.data[first] << 19 >> 14) + worker * state->c_share);          \
    const int32_t gap = 8 * ((int32_t)state->x_stride >> 16) - 8;                                                   \
    for (uint32_t i = 0; i < state->positions; ++i, c += 8, x += 24 + gap + 8 * (int16_t)state->x_stride)           \
      for (int e = 0; e < 8; ++e) c[e] = SUM(offset & AMP_FIRST ? 0.0f : c[e], x, gap, tessera_weights, e);         \
  }
AMP_PRODUCT(AmpProduct_f16, f16, amp_sum_f16)
AMP_PRODUCT(AmpProduct_f32, f32, amp_sum_f32)
#endif

/* Zeros where no operand is brought: runs of words {first << 16 | count}, in 8 bytes, repeated `blocks` times at
 * block_bytes. Worker w takes every sixth run of all blocks. Runs of four are fastest if there are several blocks. */
#ifdef __riscv
#define AMP_ZERO_BLOCK(to, rounds, last, ...)                                     \
  {                                                                               \
    char* at = to;                                                                \
    x_block((X_IOX(io0, at)), (X_INX(in0, rounds), X_INX(in1, last)), X_USES(p0), \
            X_REPEAT(in0, X_CMPLT_F32V2(p0, p0, p0), __VA_ARGS__));               \
  }
#define AMP_ZERO_NEXT X_PAIR(X_ST64(p0, 8, io0), X_FSGNJ_S(f2, f2, f2))
#define AMP_ZERO_LAST X_PAIR(X_ST64_R(p0, io0, in1), X_FSGNJ_S(f2, f2, f2))
#define AMP_ZERO_FOUR(to, blocks, step) \
  AMP_ZERO_BLOCK(to, blocks, step - 24, AMP_ZERO_NEXT, AMP_ZERO_NEXT, AMP_ZERO_NEXT, AMP_ZERO_LAST)
#define AMP_ZERO_EACH(to, rounds, step) AMP_ZERO_BLOCK(to, rounds, step, AMP_ZERO_LAST)
#else
#define AMP_ZERO_EACH(to, rounds, step) \
  for (uint32_t k = 0; k < (rounds); ++k) __builtin_memset((to) + k * (step), 0, 8);
#define AMP_ZERO_FOUR(to, blocks, step) \
  for (uint32_t k = 0; k < (blocks); ++k) __builtin_memset((to) + k * (step), 0, 32);
#endif
#define AMP_ZERO(Name, type)                                                                               \
  VERTEX_MULTI(Name, INOUT(type, y, 8), IN_SPAN(u32, runs), VALUE(u32, blocks), VALUE(u32, block_bytes)) { \
    const uint32_t blocks = state->blocks, step = state->block_bytes;                                      \
    char* const y = (char*)state->y;                                                                       \
    const u32* run = state->runs.data + worker;                                                            \
    const u32* const end = state->runs.data + state->runs.count;                                           \
    for (; run < end; run += 6) {                                                                          \
      char* to = y + (*run >> 16) * 8;                                                                     \
      uint32_t n = *run & 0xffff;                                                                          \
      if (blocks == 1) {                                                                                   \
        AMP_ZERO_EACH(to, n, 8)                                                                            \
      } else if (n == 4) {                                                                                 \
        AMP_ZERO_FOUR(to, blocks, step)                                                                    \
      } else {                                                                                             \
        for (; n; --n, to += 8) AMP_ZERO_EACH(to, blocks, step)                                            \
      }                                                                                                    \
    }                                                                                                      \
  }
AMP_ZERO(AmpZero_f16, f16)
AMP_ZERO(AmpZero_f32, f32)
