/* Convolution and matrix product on the accumulating matrix product, one set of weights after the other, and what
 * finishes their sums.
 *
 * AmpProduct: positions stand at one distance in x (x_stride leads S0 from the last doubleword of a position to the
 * first of the next); their eight f32 sums stand one behind the other in c. Every worker takes `positions` of them (at
 * least 3): worker w begins w * x_share bytes into x and w * c_share bytes into c. The word of a set says where in x
 * its tap and channels begin (bits 30:16, 8 bytes each) and whether it is the first one of its output channels (bit 31:
 * sums start from zero). Such a word also says where in c these stand (bits 12:0, 32 bytes each) and whether it is the
 * vertex's first set (bit 15: workers then read the state); in all others bits 15:0 are 0 and sums go where those of
 * the set before went. Workers keep what they need in registers from set to set, since nothing else runs between. What
 * the taps of junk positions behind the field read or write does not matter, but it must be memory of x and c. */
#include "amp.h"

#define AMP_FIRST 0x80000000u
#define AMP_BEGIN 0x8000u

#ifdef __riscv
/* A worker's own x and c, c of the output channels, stride of x, and positions less 3, from set to set. */
register char* amp_to __asm__("s7");
register char* amp_x __asm__("s8");
register char* amp_c __asm__("s9");
register uint32_t amp_stride __asm__("s10");
register uint32_t amp_rounds __asm__("s11");

#define AMP_STREAMS(x)                \
  x_sset(0, amp_x + (x), amp_stride); \
  x_sset(1, amp_to, 0);               \
  x_sset(2, amp_to, 0)
#define AMP_PRODUCT(Name, type, S0, S1, LENGTH)                                                                    \
  VERTEX_AMP(Name, IN(type, x, 8), OUT(f32, c, 8), VALUE(u32, x_share), VALUE(u32, c_share), VALUE(u32, x_stride), \
             VALUE(u32, positions)) {                                                                              \
    if (__builtin_expect((int32_t)offset < 0, 0)) {                                                                \
      if (offset & AMP_BEGIN) {                                                                                    \
        uint32_t own; /* `worker`, read only where it is needed */                                                 \
        __asm__ volatile("mv %0, tp" : "=r"(own));                                                                 \
        amp_x = (char*)state->x + own * state->x_share;                                                            \
        amp_c = (char*)state->c + own * state->c_share;                                                            \
        amp_stride = state->x_stride;                                                                              \
        amp_rounds = state->positions - 3;                                                                         \
        offset ^= AMP_BEGIN, (void)worker;                                                                         \
      }                                                                                                            \
      amp_to = amp_c + (offset << 19 >> 14);                                                                       \
      AMP_STREAMS(offset << 1 >> 14);                                                                              \
      x_block(X_NONE, (X_INX(in0, amp_rounds + 1)), AMP_USES, AMP_START(S0, S1, LENGTH));                          \
    } else {                                                                                                       \
      AMP_STREAMS(offset >> 13);                                                                                   \
      x_block(X_NONE, (X_INX(in0, amp_rounds)), AMP_USES, AMP_ACCUMULATE(S0, S1, LENGTH));                         \
    }                                                                                                              \
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
static f32 amp_sum_f16(f32 sum, const void* x, const uint32_t* weights, int e) {
  for (int p = 0; p < 4; ++p) sum = amp_four(sum, (const f16*)x + 4 * p, (const f16*)weights + 16 * e + 4 * p);
  return sum;
}
static f32 amp_sum_f32(f32 sum, const void* x, const uint32_t* weights, int e) {
  for (int p = 0; p < 8; ++p) sum = tessera_f32(tessera_fma(((const f32*)x)[p], ((const f32*)weights)[8 * e + p], sum));
  return sum;
}
#define AMP_PRODUCT(Name, type, SUM)                                                                               \
  VERTEX_AMP(Name, IN(type, x, 8), OUT(f32, c, 8), VALUE(u32, x_share), VALUE(u32, c_share), VALUE(u32, x_stride), \
             VALUE(u32, positions)) {                                                                              \
    const char* x = (const char*)state->x + (offset << 1 >> 14 & ~7u) + worker * state->x_share;                   \
    uint32_t first = (uint32_t)(tessera_weights - state->weights) / 64; /* then: of its output channels */         \
    while (!(state->offsets.data[first] & AMP_FIRST)) --first;                                                     \
    f32* c = (f32*)((char*)state->c + (state->offsets.data[first] << 19 >> 14) + worker * state->c_share);         \
    for (uint32_t i = 0; i < state->positions; ++i, c += 8, x += 24 + 8 * (int16_t)state->x_stride)                \
      for (int e = 0; e < 8; ++e) c[e] = SUM(offset & AMP_FIRST ? 0.0f : c[e], x, tessera_weights, e);             \
  }
AMP_PRODUCT(AmpProduct_f16, f16, amp_sum_f16)
AMP_PRODUCT(AmpProduct_f32, f32, amp_sum_f32)
#endif

/* (The first part plus the channel's bias) plus the further parts in their order, plus an addend, limited, rounded to
 * the type.
 *
 * A tile has `groups` groups of `halves` times eight channels, one a position, that stand one behind the other in y;
 * the first is position `first` of `positions`, with the bias of the first block, and so on through the blocks. terms
 * is [parts][halves][groups][8]. bias begins with lowest, lowest, highest, highest (mode 2 limits to them; 1 is Relu, 0
 * nothing), then 8 * halves numbers a block. Workers share halves first, then groups, `each` of them. */
enum { FINISH_NONE, FINISH_RELU, FINISH_LIMITS };

#ifdef __riscv
/* Eight channels of one position in p0 .. p6, from terms at io0 (in0 leads on from the upper half of a part, in2 from
 * the last part to the next position) and the bias in q16, q20; io3 points to its last two. in1 = parts - 1. */
#define FINISH_SUM                                                                \
  X_PAIR(X_LD128(q0, 16, io0), X_FNOP)                                            \
  X_PAIR(X_LD128_R(q4, io0, in0), X_ADD_F32V2(p0, p0, p16))                       \
  X_PAIR(X_LD64(p14, 0, io3), X_ADD_F32V2(p2, p2, p18))                           \
  X_RPT(in1, 4)                                                                   \
  X_ADD_F32V2(p4, p4, p20)                                                        \
  X_PAIR(X_LD128(q8, 16, io0), X_ADD_F32V2(p6, p6, p14))                          \
  X_PAIR(X_LD128_R(q12, io0, in0), X_ADD_F32V2(p0, p0, p8))                       \
  X_PAIR(X_NOP, X_ADD_F32V2(p2, p2, p10)) X_PAIR(X_NOP, X_ADD_F32V2(p4, p4, p12)) \
      X_PAIR(X_ADD(io0, io0, in2), X_ADD_F32V2(p6, p6, p14))
#define FINISH_FOUR(OP, a, b, c, d) \
  X_PAIR(X_NOP, OP(p0, p0, a)) X_PAIR(X_NOP, OP(p2, p2, b)) X_PAIR(X_NOP, OP(p4, p4, c)) X_PAIR(X_NOP, OP(p6, p6, d))
/* The addend at io2, in3 to the next. */
#define FINISH_ADDEND_f16                    \
  X_PAIR(X_LD128_R(q8, io2, in3), X_FNOP)    \
  X_PAIR(X_NOP, X_CVT_F32V4_F16V4(q12, p8))  \
  X_PAIR(X_NOP, X_CVT_F32V4_F16V4(q24, p10)) \
  FINISH_FOUR(X_ADD_F32V2, p12, p14, p24, p26)
#define FINISH_ADDEND_f32                  \
  X_PAIR(X_LD128(q8, 16, io2), X_FNOP)     \
  X_PAIR(X_LD128_R(q12, io2, in3), X_FNOP) \
  FINISH_FOUR(X_ADD_F32V2, p8, p10, p12, p14)
#define FINISH_NO_ADDEND_f16
#define FINISH_NO_ADDEND_f32
/* Limits by the sign or from q28. */
#define FINISH_SELECT(d, x, zero_) X_SEL_F32V2(d, x, zero_, x)
#define FINISH_RELU_TEXT FINISH_FOUR(FINISH_SELECT, p30, p30, p30, p30)
#define FINISH_LIMITS_TEXT FINISH_FOUR(X_MAX_F32V2, p28, p28, p28, p28) FINISH_FOUR(X_MIN_F32V2, p30, p30, p30, p30)
/* To io1, in4 to the next position less what stood before the last store. */
#define FINISH_STORE_f16                                  \
  X_PAIR(X_ADDI(io4, io4, -1), X_CVT_F16V4_F32V4(p8, q0)) \
  X_PAIR(X_ST64(p8, 8, io1), X_CVT_F16V4_F32V4(p10, q4))  \
  X_PAIR(X_ST64_R(p10, io1, in4), X_FNOP)
#define FINISH_STORE_f32               \
  X_PAIR(X_ADDI(io4, io4, -1), X_FNOP) \
  X_PAIR(X_ST64(p0, 8, io1), X_FNOP)   \
  X_PAIR(X_ST64(p2, 8, io1), X_FNOP)   \
  X_PAIR(X_ST64(p4, 8, io1), X_FNOP)   \
  X_PAIR(X_ST64_R(p6, io1, in4), X_FNOP)
/* Of the registers used, those that a C function saves for its caller are not named: dispatch keeps nothing in them. */
#define FINISH_USES X_USES(q0, q4, p10, q12, p16, q28)
#define FINISH_BLOCK(type, ADDEND, PREPARE, LIMIT)                                                    \
  x_block((X_IOX(io0, terms), X_IOX(io1, y), X_IOX(io2, addend), X_IOX(io3, row), X_IOX(io4, n)),     \
          (X_INX(in0, step), X_INX(in1, state->parts - 1), X_INX(in2, back), X_INX(in3, addend_step), \
           X_INX(in4, y_last), X_INX(in5, state->bias)),                                              \
          FINISH_USES,                                                                                \
          X_PAIR(X_LD128(q16, 16, io3), X_FNOP) X_PAIR(X_LD128(q20, 8, io3), X_FNOP) PREPARE          \
          "1:\n\t" FINISH_SUM FINISH_##ADDEND##_##type LIMIT FINISH_STORE_##type "bnez %[io4], 1b\n\t");
#define FINISH_RUN(type, ADDEND)                                                              \
  const char* row = bias;                                                                     \
  if (state->mode == FINISH_NONE)                                                             \
    FINISH_BLOCK(type, ADDEND, , )                                                            \
  else if (state->mode == FINISH_RELU)                                                        \
    FINISH_BLOCK(type, ADDEND, X_PAIR(X_NOP, X_CMPLT_F32V2(p30, p30, p30)), FINISH_RELU_TEXT) \
  else                                                                                        \
    FINISH_BLOCK(type, ADDEND, X_PAIR(X_LD128_R(q28, in5, zero), X_FNOP), FINISH_LIMITS_TEXT)
#else
#define FINISH_VALUE_f16(v) tessera_f16_to_f32(v)
#define FINISH_VALUE_f32(v) (v)
#define FINISH_ROUND_f16(v) tessera_f32_to_f16(v)
#define FINISH_ROUND_f32(v) (v)
#define FINISH_WITH_ADDEND(type) sum = tessera_f32(sum + FINISH_VALUE_##type(((const type*)addend)[e]));
#define FINISH_WITH_NO_ADDEND(type)
static f32 finish_limited(f32 sum, uint32_t mode, const f32* limits) {
  uint32_t bits = tessera_f32_bits(sum);
  if (mode == FINISH_RELU) bits = bits >> 31 ? 0 : bits;
  if (mode == FINISH_LIMITS) {
    bits = tessera_host_max_f32(bits, tessera_f32_bits(limits[0]));
    bits = tessera_host_min_f32(bits, tessera_f32_bits(limits[2]));
  }
  return tessera_f32_from_bits(bits);
}
#define FINISH_RUN(type, ADDEND)                                                          \
  for (; n; --n) {                                                                        \
    for (int e = 0; e < 8; ++e) {                                                         \
      f32 sum = tessera_f32(((const f32*)terms)[e] + ((const f32*)bias)[e]);              \
      for (uint32_t part = 1; part < state->parts; ++part)                                \
        sum = tessera_f32(sum + ((const f32*)(terms + part * (step + 16)))[e]);           \
      FINISH_WITH_##ADDEND(type)((type*)y)[e] =                                           \
          FINISH_ROUND_##type(finish_limited(sum, state->mode, (const f32*)state->bias)); \
    }                                                                                     \
    terms += 32, y += y_step, addend += y_step;                                           \
  }                                                                                       \
  (void)back, (void)addend_step, (void)y_last;
#endif

#define FINISH(Name, type, ADDEND, addend_of, ...)                                                                \
  VERTEX_MULTI(Name, IN(f32, terms, 8), IN(f32, bias, 8), OUT(type, y, 8), VALUE(u32, groups), VALUE(u32, parts), \
               VALUE(u32, halves), VALUE(u32, each), VALUE(u32, first), VALUE(u32, positions),                    \
               VALUE(u32, mode) __VA_ARGS__) {                                                                    \
    const uint32_t two = state->halves - 1; /* 0 or 1 */                                                          \
    const uint32_t half = two & worker, slot = worker >> two, share = state->each;                                \
    uint32_t g = slot * share, end = g + share < state->groups ? g + share : state->groups;                       \
    if (g >= end) return;                                                                                         \
    const uint32_t y_step = (8 * sizeof(type)) << two, bias_step = 32 << two;                                     \
    const uint32_t step = (state->groups << (5 + two)) - 16, back = 32 - state->parts * (step + 16);              \
    const uint32_t y_last = y_step - 8 * sizeof(type) + 8, addend_step = y_step - 8 * sizeof(type) + 16;          \
    uint32_t position = state->first + g;                                                                         \
    const char* terms = (const char*)state->terms + (half * state->groups + g) * 32;                              \
    const char* bias = (const char*)state->bias + 16 + half * 32;                                                 \
    char* y = (char*)state->y + g * y_step + half * 8 * sizeof(type);                                             \
    const char* addend = addend_of;                                                                               \
    while (position >= state->positions) position -= state->positions, bias += bias_step;                         \
    for (;;) {                                                                                                    \
      uint32_t n = state->positions - position;                                                                   \
      if (n > end - g) n = end - g;                                                                               \
      g += n;                                                                                                     \
      FINISH_RUN(type, ADDEND)                                                                                    \
      if (g == end) break;                                                                                        \
      position = 0, bias += bias_step;                                                                            \
    }                                                                                                             \
  }
#define FINISH_ADDEND_START(type) ((const char*)state->addend + g * y_step + half * 8 * sizeof(type))
#define FINISH_COMMA ,
FINISH(AmpFinish_f16, f16, NO_ADDEND, (const char*)state->bias)
FINISH(AmpFinish_f32, f32, NO_ADDEND, (const char*)state->bias)
FINISH(AmpFinishAdd_f16, f16, ADDEND, FINISH_ADDEND_START(f16), FINISH_COMMA IN(f16, addend, 8))
FINISH(AmpFinishAdd_f32, f32, ADDEND, FINISH_ADDEND_START(f32), FINISH_COMMA IN(f32, addend, 8))

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
