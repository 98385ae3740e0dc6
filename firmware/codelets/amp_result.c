/* What finishes the sums of products on the matrix unit where these left them: bias, further parts, an addend, limits
 * and the rounding to the type.
 *
 * A tile has `groups` groups of `halves` (1 or 2) times eight channels, one a position, one behind the other in y and
 * the addend. Its own sums stand in `own` in the order of the product, 32 bytes a position, the upper half of a group
 * half_bytes behind the lower. terms are further parts, [parts][halves][groups][8], not looked at if parts is 0. bias
 * begins with lowest, lowest, highest, highest (mode 2 limits to them; 1 is Relu, 0 nothing), then rows of 8 * halves
 * numbers.
 *
 * A result is own + bias, then plus the parts in their order, plus the addend; it is rounded and then limited, which
 * gives the bits of the other order since rounding is monotone.
 *
 * 6 / halves slots of workers share the groups; with two halves, workers of even number take the lower one. Word `slot`
 * of `segments` is its first group (bits 31:16) and where its segments begin (words, bits 15:0); that of the next slot
 * tells where they end. A segment is two words: place of its first position in own (32 bytes each, bits 31:16) and
 * groups (bits 15:0, at least 1), then the byte offset of its row of bias. */
#include "tessera/vertex.h"

enum { RESULT_NOTHING, RESULT_RELU, RESULT_LIMITS };

#ifdef __riscv
#include "tessera/xtile.h"

/* One position: its own sums come in q0, q4 and leave in q8, q12, of which p8 is under way when it begins; bias in q20,
 * q24. Loads of the next position stand beside the arithmetic as soon as q0, q4 are free (`low`, `high`), and `next`
 * starts it. The other arguments are places for instructions of the main pipeline, in the order in which they come; a
 * place of END is a token of RESULT_MAIN_, since where there is no arithmetic to stand beside, idle is nothing.
 *
 * io0 y, in0 its step at the last store; io1 own; io2 terms, in1 from part to part, in2 from the last part to the next
 * position, in3 parts - 1; io3 addend, in4 its step at the last load. */
#define RESULT_MAIN_idle X_NOP
#define RESULT_ALONE_idle
#define RESULT_MAIN(token) RESULT_MAIN_##token
#define RESULT_ALONE(token) RESULT_ALONE_##token
#define RESULT_START X_ADD_F32V2(p8, p0, p20)
#define RESULT_BIAS(first, second, third)  \
  X_PAIR(first, X_ADD_F32V2(p10, p2, p22)) \
  X_PAIR(second, X_ADD_F32V2(p12, p4, p24)) X_PAIR(third, X_ADD_F32V2(p14, p6, p26))
#define RESULT_PART(first, second, third, fourth) \
  X_PAIR(first, X_ADD_F32V2(p8, p8, p0))          \
  X_PAIR(second, X_ADD_F32V2(p10, p10, p2))       \
  X_PAIR(third, X_ADD_F32V2(p12, p12, p4)) X_PAIR(fourth, X_ADD_F32V2(p14, p14, p6))

/* Sums by the count of parts (0, 1, any from 1 on) and the addend; how many doublewords they take. */
#define RESULT_TERM_LOW X_LD128(q0, 16, io2)
#define RESULT_SUM_0_NONE(a, b, low) RESULT_BIAS(a, b, low)
#define RESULT_SUM_1_NONE(a, b, low) \
  RESULT_BIAS(a, RESULT_TERM_LOW, b) RESULT_PART(X_LD128(q4, 16, io2), X_NOP, low, X_NOP)
#define RESULT_SUM_N_NONE(a, b, low)                                  \
  RESULT_BIAS(a, RESULT_TERM_LOW, X_RPT(in3, 4))                      \
  RESULT_PART(X_LD128_R(q4, io2, in1), X_NOP, RESULT_TERM_LOW, X_NOP) \
  RESULT_PART(X_LD128_R(q4, io2, in2), b, low, X_NOP)
#define RESULT_ADDEND_f16 X_LD128_R(q16, io3, in4)
#define RESULT_ADD_f16(low)                 \
  X_PAIR(X_NOP, X_CVT_F32V4_F16V4(q0, p16)) \
  X_PAIR(X_NOP, X_CVT_F32V4_F16V4(q4, p18)) RESULT_PART(X_NOP, X_NOP, low, X_NOP)
#define RESULT_SUM_0_f16(a, b, low) RESULT_BIAS(RESULT_ADDEND_f16, a, b) RESULT_ADD_f16(low)
#define RESULT_SUM_1_f16(a, b, low) RESULT_SUM_1_NONE(a, b, RESULT_ADDEND_f16) RESULT_ADD_f16(low)
#define RESULT_SUM_N_f16(a, b, low) RESULT_SUM_N_NONE(a, b, RESULT_ADDEND_f16) RESULT_ADD_f16(low)
#define RESULT_ADDEND_f32 X_LD128(q0, 16, io3)
#define RESULT_ADD_f32(low) RESULT_PART(X_LD128_R(q4, io3, in4), X_NOP, low, X_NOP)
#define RESULT_SUM_0_f32(a, b, low) RESULT_BIAS(a, b, RESULT_ADDEND_f32) RESULT_ADD_f32(low)
#define RESULT_SUM_1_f32(a, b, low) RESULT_SUM_1_NONE(a, b, RESULT_ADDEND_f32) RESULT_ADD_f32(low)
#define RESULT_SUM_N_f32(a, b, low) RESULT_SUM_N_NONE(a, b, RESULT_ADDEND_f32) RESULT_ADD_f32(low)
#define RESULT_LENGTH_0_NONE 3
#define RESULT_LENGTH_1_NONE 7
#define RESULT_LENGTH_0_f16 9
#define RESULT_LENGTH_1_f16 13
#define RESULT_LENGTH_0_f32 7
#define RESULT_LENGTH_1_f32 11

/* Rounding, limits and stores. RELU goes by the sign (sums that are NaNs have none), p30 is zero; LIMITS are p28, p30.
 */
#define RESULT_STORE_f16(last, next) X_PAIR(X_ST64(p16, 8, io0), last) X_PAIR(X_ST64_R(p18, io0, in0), next)
#define RESULT_ROUND_f16(high, a) X_PAIR(high, X_CVT_F16V4_F32V4(p16, q8)) X_PAIR(a, X_CVT_F16V4_F32V4(p18, q12))
#define RESULT_END_f16_NOTHING(high, a, b, next) \
  X_PAIR(high, X_CVT_F16V4_F32V4(p16, q8))       \
  RESULT_STORE_f16(X_CVT_F16V4_F32V4(p18, q12), next) RESULT_ALONE(a) RESULT_ALONE(b)
#define RESULT_END_f16_RELU(high, a, b, next)                                                    \
  RESULT_ROUND_f16(high, RESULT_MAIN(a)) X_PAIR(RESULT_MAIN(b), X_SEL_F16V4(p16, p16, p30, p16)) \
      RESULT_STORE_f16(X_SEL_F16V4(p18, p18, p30, p18), next)
#define RESULT_END_f16_LIMITS(high, a, b, next)                                             \
  RESULT_ROUND_f16(high, RESULT_MAIN(a)) X_PAIR(RESULT_MAIN(b), X_MAX_F16V4(p16, p16, p28)) \
      X_PAIR(X_NOP, X_MAX_F16V4(p18, p18, p28)) X_PAIR(X_NOP, X_MIN_F16V4(p16, p16, p30))   \
          RESULT_STORE_f16(X_MIN_F16V4(p18, p18, p30), next)
#define RESULT_STORE_f32(high, w8, w10, w12, w14, next) \
  X_PAIR(high, w8)                                      \
  X_PAIR(X_ST64(p8, 8, io0), w10)                       \
  X_PAIR(X_ST64(p10, 8, io0), w12) X_PAIR(X_ST64(p12, 8, io0), w14) X_PAIR(X_ST64_R(p14, io0, in0), next)
#define RESULT_FNOP X_FSGNJ_S(f30, f30, f30) /* beside any load here */
#define RESULT_END_f32_NOTHING(high, a, b, next) \
  RESULT_STORE_f32(high, RESULT_FNOP, RESULT_FNOP, RESULT_FNOP, RESULT_FNOP, next) RESULT_ALONE(a) RESULT_ALONE(b)
#define RESULT_SELECT(d) X_SEL_F32V2(d, d, p30, d)
#define RESULT_END_f32_RELU(high, a, b, next)                                                                 \
  RESULT_STORE_f32(high, RESULT_SELECT(p8), RESULT_SELECT(p10), RESULT_SELECT(p12), RESULT_SELECT(p14), next) \
      RESULT_ALONE(a) RESULT_ALONE(b)
#define RESULT_MAX(d) X_MAX_F32V2(d, d, p28)
#define RESULT_MIN(d) X_MIN_F32V2(d, d, p30)
#define RESULT_END_f32_LIMITS(high, a, b, next) \
  X_PAIR(RESULT_MAIN(a), RESULT_MAX(p8))        \
  X_PAIR(RESULT_MAIN(b), RESULT_MAX(p10))       \
  X_PAIR(X_NOP, RESULT_MAX(p12))                \
  X_PAIR(X_NOP, RESULT_MAX(p14))                \
  RESULT_STORE_f32(high, RESULT_MIN(p8), RESULT_MIN(p10), RESULT_MIN(p12), RESULT_MIN(p14), next)
#define RESULT_END_LENGTH_f16_NOTHING 3
#define RESULT_END_LENGTH_f16_RELU 5
#define RESULT_END_LENGTH_f16_LIMITS 7
#define RESULT_END_LENGTH_f32_NOTHING 5
#define RESULT_END_LENGTH_f32_RELU 5
#define RESULT_END_LENGTH_f32_LIMITS 9

/* What the limits need. */
#define RESULT_LIMITS_LOAD X_PAIR(X_LD128_R(q28, out0, zero), X_FNOP)
#define RESULT_PREPARE_f16_NOTHING
#define RESULT_PREPARE_f16_RELU X_PAIR(X_NOP, X_CMPLT_F32V2(p30, p30, p30))
#define RESULT_PREPARE_f16_LIMITS            \
  RESULT_LIMITS_LOAD                         \
  X_PAIR(X_NOP, X_CVT_F16V2_F32V2(f28, p28)) \
  X_PAIR(X_NOP, X_CVT_F16V2_F32V2(f30, p30)) \
  X_PAIR(X_NOP, X_FSGNJ_S(f29, f28, f28)) X_PAIR(X_NOP, X_FSGNJ_S(f31, f30, f30))
#define RESULT_PREPARE_f32_NOTHING
#define RESULT_PREPARE_f32_RELU RESULT_PREPARE_f16_RELU
#define RESULT_PREPARE_f32_LIMITS RESULT_LIMITS_LOAD

/* Segments: io4 is the segment's address, in5 that of the last one, io5 whether one follows; io1, io6 and io7 come as
 * the segment's place, count and offset and become address, rounds and address (in6 own, in7 bias). All positions but
 * the last run in a loop that loads the next; the last one reads the following segment (or the last again). */
#define RESULT_MAIN_count X_LHU(io6, 0, io4)
#define RESULT_ALONE_count X_LHU(io6, 0, io4)
#define RESULT_MAIN_row X_LW(io7, 4, io4)
#define RESULT_ALONE_row X_LW(io7, 4, io4)
#define RESULT_SEGMENT_START                \
  X_SLLI(io1, io1, 5)                       \
  X_ADDI(io6, io6, -1)                      \
  X_ADD(io1, io1, in6)                      \
  X_ADD(io7, io7, in7)                      \
  X_PAIR(X_LD128(q0, 16, io1), RESULT_FNOP) \
  X_PAIR(X_LD128(q20, 16, io7), X_FNOP) X_PAIR(X_LD128(q24, 16, io7), RESULT_START) X_PAIR(RESULT_NEXT_HIGH, X_FNOP)
#define RESULT_NEXT_LOW X_LD128(q0, 16, io1)
#define RESULT_NEXT_HIGH X_LD128(q4, 16, io1)
#define RESULT_SEGMENT_END(SUM, END)                                    \
  SUM(X_SLTU(io5, io4, in5), X_SLLI(io5, io5, 3), X_ADD(io4, io4, io5)) \
  END(X_LHU(io1, 2, io4), count, row, X_FNOP)                           \
  "bnez %[io5], 1b\n\t" X_NOP
#define RESULT_REPEAT(SUM, END, LENGTH)                                                               \
  "1:\n\t" RESULT_SEGMENT_START X_PAIR(X_RPT(io6, LENGTH), X_FNOP) SUM(X_NOP, X_NOP, RESULT_NEXT_LOW) \
      END(RESULT_NEXT_HIGH, idle, idle, RESULT_START) RESULT_SEGMENT_END(SUM, END)
/* A loop of its own for the parts: the positions are counted. */
#define RESULT_COUNTED(SUM, END)                                                                                       \
  "1:\n\t" RESULT_SEGMENT_START "beqz %[io6], 3f\n\t" X_NOP "2:\n\t" SUM(X_ADDI(io6, io6, -1), X_NOP, RESULT_NEXT_LOW) \
      END(RESULT_NEXT_HIGH, idle, idle, RESULT_START) "bnez %[io6], 2b\n\t" X_NOP                                      \
                                                      "3:\n\t" RESULT_SEGMENT_END(SUM, END)

#define RESULT_TEXT_0(type, ADD, MODE)                          \
  RESULT_REPEAT(RESULT_SUM_0_##ADD, RESULT_END_##type##_##MODE, \
                (RESULT_LENGTH_0_##ADD + RESULT_END_LENGTH_##type##_##MODE))
#define RESULT_TEXT_1(type, ADD, MODE)                          \
  RESULT_REPEAT(RESULT_SUM_1_##ADD, RESULT_END_##type##_##MODE, \
                (RESULT_LENGTH_1_##ADD + RESULT_END_LENGTH_##type##_##MODE))
#define RESULT_TEXT_N(type, ADD, MODE) RESULT_COUNTED(RESULT_SUM_N_##ADD, RESULT_END_##type##_##MODE)
#define RESULT_IO_0
#define RESULT_IO_1 , X_IOX(io2, terms)
#define RESULT_IO_N , X_IOX(io2, terms)
#define RESULT_IN_0
#define RESULT_IN_1
#define RESULT_IN_N , X_INX(in1, part - 16), X_INX(in2, 16 - (parts - 1) * part), X_INX(in3, parts - 1)
#define RESULT_IO_NONE
#define RESULT_IO_f16 , X_IOX(io3, addend)
#define RESULT_IO_f32 , X_IOX(io3, addend)
#define RESULT_IN_NONE
#define RESULT_IN_f16 , X_INX(in4, y_step)
#define RESULT_IN_f32 , X_INX(in4, y_step - 16)
#define RESULT_IN_NOTHING
#define RESULT_IN_RELU
#define RESULT_IN_LIMITS , X_INX(out0, state->bias)
#define RESULT_LAST_f16 8
#define RESULT_LAST_f32 24
/* Of the registers used, those that a C function saves for its caller are not named: dispatch keeps nothing in them. */
#define RESULT_BLOCK(type, ADD, PARTS, MODE)                                                            \
  x_block((X_IOX(io0, y), X_IOX(io1, place), X_IOX(io4, segment), X_OUTX(io5, more), X_IOX(io6, count), \
           X_IOX(io7, row) RESULT_IO_##PARTS RESULT_IO_##ADD),                                          \
          (X_INX(in0, y_step - RESULT_LAST_##type), X_INX(in5, last), X_INX(in6, own),                  \
           X_INX(in7, bias) RESULT_IN_##PARTS RESULT_IN_##ADD RESULT_IN_##MODE),                        \
          X_USES(q0, q4, p10, q12, p16, q28), RESULT_PREPARE_##type##_##MODE RESULT_TEXT_##PARTS(type, ADD, MODE))
/* Everything for one count of parts. */
#define RESULT_PARTS_0
#define RESULT_PARTS_1 const char* terms = (const char*)state->terms + (half * state->groups + first) * 32;
#define RESULT_PARTS_N                                             \
  RESULT_PARTS_1 const uint32_t part = state->groups << (5 + two); \
  const uint32_t parts = state->parts;
#define RESULT_ADDEND_OF_NONE
#define RESULT_ADDEND_OF_f16 const char* addend = (const char*)state->addend + at;
#define RESULT_ADDEND_OF_f32 RESULT_ADDEND_OF_f16
#define RESULT_WITH(type, ADD, PARTS)                                                                              \
  {                                                                                                                \
    const uint32_t y_step = (8 * sizeof(type)) << two;                                                             \
    const uint32_t at = first * y_step + half * 8 * sizeof(type);                                                  \
    const char* own = (const char*)state->own + half * state->half_bytes;                                          \
    const char* bias = (const char*)state->bias + 16 + half * 32;                                                  \
    char* y = (char*)state->y + at;                                                                                \
    RESULT_PARTS_##PARTS RESULT_ADDEND_OF_##ADD;                                                                   \
    uint32_t place = ((const result_half*)segment)[1], count = ((const result_half*)segment)[0], row = segment[1]; \
    uint32_t more;                                                                                                 \
    if (state->mode == RESULT_RELU)                                                                                \
      RESULT_BLOCK(type, ADD, PARTS, RELU);                                                                        \
    else if (state->mode == RESULT_NOTHING)                                                                        \
      RESULT_BLOCK(type, ADD, PARTS, NOTHING);                                                                     \
    else                                                                                                           \
      RESULT_BLOCK(type, ADD, PARTS, LIMITS);                                                                      \
  }
/* Parts have a function of their own, since it saves registers. */
#define RESULT_PARTS_ARGUMENTS(Name)                                                                             \
  const struct Name##_State *state, const uint32_t *segment, const uint32_t *last, uint32_t first, uint32_t two, \
      uint32_t half
#define RESULT_DECLARE_PARTS(Name) static __attribute__((noinline)) void Name##_parts(RESULT_PARTS_ARGUMENTS(Name));
#define RESULT_DEFINE_PARTS(Name, type, ADD)               \
  static void Name##_parts(RESULT_PARTS_ARGUMENTS(Name)) { \
    if (state->parts == 1)                                 \
      RESULT_WITH(type, ADD, 1)                            \
    else                                                   \
      RESULT_WITH(type, ADD, N)                            \
  }
#define RESULT_RUN(Name, type, ADD)                              \
  if (state->parts)                                              \
    Name##_parts(state, segment, last, first, two, two& worker); \
  else {                                                         \
    const uint32_t half = two & worker;                          \
    RESULT_WITH(type, ADD, 0)                                    \
  }
#else
#define RESULT_ROUND_f16(v) tessera_f32_to_f16(v)
#define RESULT_ROUND_f32(v) (v)
#define RESULT_ADD_NONE
#define RESULT_ADD_f16 sum = tessera_f32(sum + tessera_f16_to_f32(((const f16*)addend)[e]));
#define RESULT_ADD_f32 sum = tessera_f32(sum + ((const f32*)addend)[e]);
static f32 result_limited(f32 sum, uint32_t mode, const f32* limits) {
  uint32_t bits = tessera_f32_bits(sum);
  if (mode == RESULT_RELU) bits = bits >> 31 ? 0 : bits;
  if (mode == RESULT_LIMITS) {
    bits = tessera_host_max_f32(bits, tessera_f32_bits(limits[0]));
    bits = tessera_host_min_f32(bits, tessera_f32_bits(limits[2]));
  }
  return tessera_f32_from_bits(bits);
}
#define RESULT_ADDEND_OF_NONE bias
#define RESULT_ADDEND_OF_f16 (const char*)state->addend + at
#define RESULT_ADDEND_OF_f32 RESULT_ADDEND_OF_f16
#define RESULT_RUN(Name, type, ADD)                                                                         \
  const uint32_t half = two & worker, parts = state->parts, y_step = (8 * sizeof(type)) << two;             \
  const uint32_t at = first * y_step + half * 8 * sizeof(type);                                             \
  const char* own = (const char*)state->own + half * state->half_bytes;                                     \
  const char* bias = (const char*)state->bias + 16 + half * 32;                                             \
  const char* terms = (const char*)state->terms + (half * state->groups + first) * 32;                      \
  const char* addend = RESULT_ADDEND_OF_##ADD;                                                              \
  char* y = (char*)state->y + at;                                                                           \
  for (; segment <= last; segment += 2) {                                                                   \
    const f32* from = (const f32*)(own + (segment[0] >> 16) * 32);                                          \
    const f32* row = (const f32*)(bias + segment[1]);                                                       \
    for (uint32_t n = segment[0] & 0xffff; n; --n) {                                                        \
      for (int e = 0; e < 8; ++e) {                                                                         \
        f32 sum = tessera_f32(from[e] + row[e]);                                                            \
        for (uint32_t p = 0; p < parts; ++p)                                                                \
          sum = tessera_f32(sum + ((const f32*)(terms + (p * state->groups << (5 + two))))[e]);             \
        RESULT_ADD_##ADD((type*)y)[e] = RESULT_ROUND_##type(result_limited(sum, state->mode, state->bias)); \
      }                                                                                                     \
      from += 8, terms += 32, y += y_step, addend += y_step;                                                \
    }                                                                                                       \
  }                                                                                                         \
  (void)addend;
#define RESULT_DECLARE_PARTS(Name)
#define RESULT_DEFINE_PARTS(Name, type, ADD)
#endif

/* Halves of the words of `segments`. */
typedef uint16_t __attribute__((may_alias)) result_half;

#define RESULT(Name, type, ADD, ...)                                                                                \
  struct Name##_State;                                                                                              \
  RESULT_DECLARE_PARTS(Name)                                                                                        \
  VERTEX_MULTI(Name, IN(f32, own, 8), IN(f32, terms, 8), IN(f32, bias, 8), OUT(type, y, 8), IN_SPAN(u32, segments), \
               VALUE(u32, groups), VALUE(u32, parts), VALUE(u32, halves), VALUE(u32, half_bytes),                   \
               VALUE(u32, mode) __VA_ARGS__) {                                                                      \
    const uint32_t two = state->halves - 1; /* 0 or 1 */                                                            \
    const uint32_t* segment = state->segments.data;                                                                 \
    const result_half* head = (const result_half*)(segment + (worker >> two));                                      \
    const uint32_t first = head[1];                                                                                 \
    const uint32_t* const last = segment + head[2] - 2;                                                             \
    segment += head[0];                                                                                             \
    if (segment > last) return;                                                                                     \
    RESULT_RUN(Name, type, ADD)                                                                                     \
  }                                                                                                                 \
  RESULT_DEFINE_PARTS(Name, type, ADD)
#define RESULT_COMMA ,
RESULT(AmpResult_f16, f16, NONE)
RESULT(AmpResult_f32, f32, NONE)
RESULT(AmpResultAdd_f16, f16, f16, RESULT_COMMA IN(f16, addend, 8))
RESULT(AmpResultAdd_f32, f32, f32, RESULT_COMMA IN(f32, addend, 8))
