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
 * groups (bits 15:0, at least 1), then the offset of its row in bias, in bytes from the beginning of bias. */
#include "tessera/vertex.h"

enum { RESULT_NOTHING, RESULT_RELU, RESULT_LIMITS };

#ifdef __riscv
#include "tessera/xtile.h"

/* One position: its own sums come in q0, q4 and leave in q8, q12, of which p8 is under way when it begins; bias in q20,
 * q24. Loads of the next position stand beside the arithmetic as soon as q0, q4 are free (`low`, `high`), and `next`
 * starts it. The other arguments are places for instructions of the main pipeline, in the order in which they come; a
 * place of END is a token of RESULT_MAIN_, since where there is no arithmetic to stand beside, idle is nothing.
 *
 * All x registers that a function may change are in use: a1 y, t1 its step at the last store; a2 own; a3 terms, t2 from
 * part to part, t3 from the last part to the next position, t4 parts - 1; a4 addend, which steps by t1 and 8; those of
 * segments below. */
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
#define RESULT_TERM_LOW X_LD128(q0, 16, a3)
#define RESULT_SUM_0_NONE(a, b, low) RESULT_BIAS(a, b, low)
#define RESULT_SUM_1_NONE(a, b, low) \
  RESULT_BIAS(a, RESULT_TERM_LOW, b) RESULT_PART(X_LD128(q4, 16, a3), X_NOP, low, X_NOP)
#define RESULT_SUM_N_NONE(a, b, low)                                \
  RESULT_BIAS(a, RESULT_TERM_LOW, X_RPT(t4, 4))                     \
  RESULT_PART(X_LD128_R(q4, a3, t2), X_NOP, RESULT_TERM_LOW, X_NOP) \
  RESULT_PART(X_LD128_R(q4, a3, t3), b, low, X_NOP)
#define RESULT_ADDEND_f16 X_LD128_R(q16, a4, t1)
#define RESULT_ADD_f16(low)                             \
  X_PAIR(X_ADDI(a4, a4, 8), X_CVT_F32V4_F16V4(q0, p16)) \
  X_PAIR(X_NOP, X_CVT_F32V4_F16V4(q4, p18)) RESULT_PART(X_NOP, X_NOP, low, X_NOP)
#define RESULT_SUM_0_f16(a, b, low) RESULT_BIAS(RESULT_ADDEND_f16, a, b) RESULT_ADD_f16(low)
#define RESULT_SUM_1_f16(a, b, low) RESULT_SUM_1_NONE(a, b, RESULT_ADDEND_f16) RESULT_ADD_f16(low)
#define RESULT_SUM_N_f16(a, b, low) RESULT_SUM_N_NONE(a, b, RESULT_ADDEND_f16) RESULT_ADD_f16(low)
#define RESULT_ADDEND_f32 X_LD128(q0, 16, a4)
#define RESULT_ADD_f32(low) RESULT_PART(X_LD128_R(q4, a4, t1), X_ADDI(a4, a4, 8), low, X_NOP)
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
#define RESULT_STORE_f16(last, next) X_PAIR(X_ST64(p16, 8, a1), last) X_PAIR(X_ST64_R(p18, a1, t1), next)
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
  X_PAIR(X_ST64(p8, 8, a1), w10)                        \
  X_PAIR(X_ST64(p10, 8, a1), w12) X_PAIR(X_ST64(p12, 8, a1), w14) X_PAIR(X_ST64_R(p14, a1, t1), next)
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

/* Segments: a5 is the segment's address, t5 that of the last one, a6 whether one follows; a2, a7 and t0 come as
 * the segment's place, count and offset and become address, rounds and address (t6 own, a0 bias). All positions but
 * the last run in a loop that loads the next; the last one reads the following segment (or the last again). */
#define RESULT_MAIN_count X_LHU(a7, 0, a5)
#define RESULT_ALONE_count X_LHU(a7, 0, a5)
#define RESULT_MAIN_row X_LW(t0, 4, a5)
#define RESULT_ALONE_row X_LW(t0, 4, a5)
#define RESULT_SEGMENT_START               \
  X_SLLI(a2, a2, 5)                        \
  X_ADDI(a7, a7, -1)                       \
  X_ADD(a2, a2, t6)                        \
  X_ADD(t0, t0, a0)                        \
  X_PAIR(X_LD128(q0, 16, a2), RESULT_FNOP) \
  X_PAIR(X_LD128(q20, 16, t0), X_FNOP) X_PAIR(X_LD128(q24, 16, t0), RESULT_START) X_PAIR(RESULT_NEXT_HIGH, X_FNOP)
#define RESULT_NEXT_LOW X_LD128(q0, 16, a2)
#define RESULT_NEXT_HIGH X_LD128(q4, 16, a2)
#define RESULT_SEGMENT_END(SUM, END)                            \
  SUM(X_SLTU(a6, a5, t5), X_SLLI(a6, a6, 3), X_ADD(a5, a5, a6)) \
  END(X_LHU(a2, 2, a5), count, row, X_FNOP)                     \
  "bnez a6, 1b\n\t" X_NOP
#define RESULT_REPEAT(SUM, END, LENGTH)                                                              \
  "1:\n\t" RESULT_SEGMENT_START X_PAIR(X_RPT(a7, LENGTH), X_FNOP) SUM(X_NOP, X_NOP, RESULT_NEXT_LOW) \
      END(RESULT_NEXT_HIGH, idle, idle, RESULT_START) RESULT_SEGMENT_END(SUM, END)
/* A loop of its own for the parts: the positions are counted. */
#define RESULT_COUNTED(SUM, END)                                                                                 \
  "1:\n\t" RESULT_SEGMENT_START "beqz a7, 3f\n\t" X_NOP "2:\n\t" SUM(X_ADDI(a7, a7, -1), X_NOP, RESULT_NEXT_LOW) \
      END(RESULT_NEXT_HIGH, idle, idle, RESULT_START) "bnez a7, 2b\n\t" X_NOP "3:\n\t" RESULT_SEGMENT_END(SUM, END)

#define RESULT_TEXT_0(type, ADD, MODE)                          \
  RESULT_REPEAT(RESULT_SUM_0_##ADD, RESULT_END_##type##_##MODE, \
                (RESULT_LENGTH_0_##ADD + RESULT_END_LENGTH_##type##_##MODE))
#define RESULT_TEXT_1(type, ADD, MODE)                          \
  RESULT_REPEAT(RESULT_SUM_1_##ADD, RESULT_END_##type##_##MODE, \
                (RESULT_LENGTH_1_##ADD + RESULT_END_LENGTH_##type##_##MODE))
#define RESULT_TEXT_N(type, ADD, MODE) RESULT_COUNTED(RESULT_SUM_N_##ADD, RESULT_END_##type##_##MODE)

/* One kind of vertex: what the mode needs is made beside the last steps to the addresses. */
#define RESULT_BIAS_HALF X_ADD(a0, a0, t4)
#define RESULT_PREPARE_f16_NOTHING X_PAIR(RESULT_BIAS_HALF, X_FNOP)
#define RESULT_PREPARE_f16_RELU X_PAIR(RESULT_BIAS_HALF, X_CMPLT_F32V2(p30, p30, p30))
#define RESULT_LIMITS_LOAD X_PAIR(X_LD128_R(q28, a0, zero), X_FNOP)
#define RESULT_PREPARE_f16_LIMITS                       \
  RESULT_LIMITS_LOAD                                    \
  X_PAIR(RESULT_BIAS_HALF, X_CVT_F16V2_F32V2(f28, p28)) \
  X_PAIR(X_NOP, X_CVT_F16V2_F32V2(f30, p30))            \
  X_PAIR(X_NOP, X_FSGNJ_S(f29, f28, f28)) X_PAIR(X_NOP, X_FSGNJ_S(f31, f30, f30))
#define RESULT_PREPARE_f32_NOTHING RESULT_PREPARE_f16_NOTHING
#define RESULT_PREPARE_f32_RELU RESULT_PREPARE_f16_RELU
#define RESULT_PREPARE_f32_LIMITS RESULT_LIMITS_LOAD X_PAIR(RESULT_BIAS_HALF, RESULT_FNOP)
#define RESULT_PREPARE_0
#define RESULT_PREPARE_1
#define RESULT_PREPARE_N X_ADDI(t4, t2, 0) X_ADDI(t2, a6, -16) X_PAIR(X_LW(t0, 4, a5), X_FNOP)
#define RESULT_ALIGN ".balignl 8, 0x13\n\t"
#define RESULT_KIND(label, type, ADD, PARTS, MODE) \
  RESULT_ALIGN label RESULT_PREPARE_##type##_##MODE RESULT_PREPARE_##PARTS RESULT_TEXT_##PARTS(type, ADD, MODE)
#define RESULT_LEAVE "j 90f\n\t"

/* The first segment, and by the mode to a kind of vertex (limits: the next instruction). */
#define RESULT_GO(mode, row, nothing, relu) \
  X_LHU(a2, 2, a5)                          \
  X_LHU(a7, 0, a5) row X_ADDI(mode, mode, -1) "beqz " #mode ", " relu "\n\tbltz " #mode ", " nothing "\n\t"
#define RESULT_ROW X_LW(t0, 4, a5)

/* Addresses from the state in a0; tp is the worker. SHIFT: log2 of the bytes of eight results. t0 is halves - 1, t3 the
 * slot's first group, t4 the half. */
#define RESULT_ADDEND_NONE
#define RESULT_ADDEND_ADD X_LW(a4, 44, a0) X_ADD(a4, a4, a3)
#define RESULT_ENTER(SHIFT, ADDEND)                                                                                   \
  X_LW(t0, 32, a0)                                                                                                    \
  X_LW(a5, 16, a0)                                                                                                    \
  X_ADDI(t0, t0, -1)                                                                                                  \
  "srl t1, tp, t0\n\t" X_SLLI(t1, t1, 2) X_ADD(t1, a5, t1) X_LHU(t5, 4, t1) X_LHU(t2, 0, t1)                          \
      X_LHU(t3, 2, t1) "beq t2, t5, 90f\n\t" X_SLLI(t5, t5, 2) X_ADD(t5, a5, t5) X_ADDI(t5, t5, -8) X_SLLI(t2, t2, 2) \
          X_ADD(a5, a5, t2) "and t4, tp, t0\n\t" X_LW(t6, 0, a0) X_LW(t2, 36, a0) X_MUL(t2, t2, t4) X_ADD(t6, t6, t2) \
              X_LW(a1, 12, a0) X_SLL(a3, t3, t0) X_ADD(a3, a3, t4) X_SLLI(a3, a3, SHIFT) X_ADD(a1, a1, a3)            \
                  RESULT_ADDEND_##ADDEND                                                                              \
                  X_SLLI(t1, t0, SHIFT) X_ADDI(t1, t1, 8) X_LW(t2, 28, a0) "bnez t2, 20f\n\t" X_LW(a6, 40, a0)        \
                      X_SLLI(t4, t4, 5) X_LW(a0, 8, a0) RESULT_GO(a6, RESULT_ROW, "11f", "12f")
/* terms, and for more than one part the bytes of one (a6), back and parts - 1. */
#define RESULT_ENTER_PARTS                                                                                           \
  "20:\n\t" X_LW(a7, 24, a0) X_LW(a3, 4, a0) X_MUL(a2, a7, t4) X_ADD(a2, a2, t3) X_SLLI(a2, a2, 5) X_ADD(a3, a3, a2) \
      X_SLLI(t4, t4, 5) X_ADDI(t2, t2, -1) "bnez t2, 30f\n\t" X_LW(a6, 40, a0) X_LW(a0, 8, a0)                       \
          RESULT_GO(a6, RESULT_ROW, "21f", "22f")
#define RESULT_ENTER_MANY                                                                                \
  "30:\n\t" X_ADDI(t0, t0, 5) X_SLL(a6, a7, t0) X_MUL(t3, t2, a6) X_SUB(t3, zero, t3) X_ADDI(t3, t3, 16) \
      X_LW(t0, 40, a0) X_LW(a0, 8, a0) RESULT_GO(t0, , "31f", "32f")

/* Of the registers used, those that a C function saves for its caller are not named: dispatch keeps nothing in them. */
#define RESULT_RUN(Name, type, ADD, SHIFT, ADDEND)                                                                    \
  _Static_assert(offsetof(Name##_State, bias) == 8 && offsetof(Name##_State, segments) == 16 &&                       \
                     offsetof(Name##_State, halves) == 32 && offsetof(Name##_State, mode) == 40,                      \
                 "the block reads the state by offsets");                                                             \
  register const void* state_ __asm__("a0") = state;                                                                  \
  x_block((X_IOX(io0, state_)), X_NONE,                                                                               \
          X_USES(q0, q4, p10, q12, p16, q28, t0, t1, t2, t3, t4, t5, t6, a1, a2, a3, a4, a5, a6, a7),                 \
          RESULT_ENTER(SHIFT, ADDEND) RESULT_KIND("", type, ADD, 0, LIMITS) RESULT_LEAVE RESULT_KIND(                 \
              "11:\n\t", type, ADD, 0, NOTHING) RESULT_LEAVE RESULT_ENTER_PARTS RESULT_KIND("", type, ADD, 1, LIMITS) \
              RESULT_LEAVE RESULT_KIND("21:\n\t", type, ADD, 1, NOTHING) RESULT_LEAVE RESULT_KIND(                    \
                  "22:\n\t", type, ADD, 1, RELU) RESULT_LEAVE RESULT_ENTER_MANY RESULT_KIND("", type, ADD, N, LIMITS) \
                  RESULT_LEAVE RESULT_KIND("31:\n\t", type, ADD, N, NOTHING)                                          \
                      RESULT_LEAVE RESULT_KIND("32:\n\t", type, ADD, N, RELU)                                         \
                          RESULT_LEAVE RESULT_KIND("12:\n\t", type, ADD, 0, RELU) "90:\n\t")
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
#define RESULT_ADDEND_OF_NONE (const char*)state->bias
#define RESULT_ADDEND_OF_ADD (const char*)state->addend + at
#define RESULT_RUN(Name, type, ADD, SHIFT, ADDEND)                                                              \
  const uint32_t two = state->halves - 1, half = two & worker, parts = state->parts;                            \
  const uint32_t* const head = state->segments.data + (worker >> two);                                          \
  const uint32_t first = head[0] >> 16, at = ((first << two) + half) << SHIFT;                                  \
  const char* terms = (const char*)state->terms + (half * state->groups + first) * 32;                          \
  const char* addend = RESULT_ADDEND_OF_##ADDEND;                                                               \
  char* y = (char*)state->y + at;                                                                               \
  for (uint32_t s = head[0] & 0xffff; s != (head[1] & 0xffff); s += 2) {                                        \
    const uint32_t* segment = state->segments.data + s;                                                         \
    const f32* own = (const f32*)((const char*)state->own + half * state->half_bytes) + (segment[0] >> 16) * 8; \
    const f32* bias = (const f32*)((const char*)state->bias + half * 32 + segment[1]);                          \
    for (uint32_t n = segment[0] & 0xffff; n; --n) {                                                            \
      for (int e = 0; e < 8; ++e) {                                                                             \
        f32 sum = tessera_f32(own[e] + bias[e]);                                                                \
        for (uint32_t p = 0; p < parts; ++p)                                                                    \
          sum = tessera_f32(sum + ((const f32*)(terms + (p * state->groups << (5 + two))))[e]);                 \
        RESULT_ADD_##ADD((type*)y)[e] = RESULT_ROUND_##type(result_limited(sum, state->mode, state->bias));     \
      }                                                                                                         \
      own += 8, terms += 32, y += 1 << two << SHIFT, addend += 1 << two << SHIFT;                               \
    }                                                                                                           \
  }                                                                                                             \
  (void)addend
#endif

#define RESULT(Name, type, ADD, SHIFT, ADDEND, ...)                                                                 \
  VERTEX_MULTI(Name, IN(f32, own, 8), IN(f32, terms, 8), IN(f32, bias, 8), OUT(type, y, 8), IN_SPAN(u32, segments), \
               VALUE(u32, groups), VALUE(u32, parts), VALUE(u32, halves), VALUE(u32, half_bytes),                   \
               VALUE(u32, mode) __VA_ARGS__) {                                                                      \
    RESULT_RUN(Name, type, ADD, SHIFT, ADDEND);                                                                     \
  }
#define RESULT_COMMA ,
RESULT(AmpResult_f16, f16, NONE, 4, NONE)
RESULT(AmpResult_f32, f32, NONE, 5, NONE)
RESULT(AmpResultAdd_f16, f16, f16, 4, ADD, RESULT_COMMA IN_ELEMENTWISE(f16, addend, 8))
RESULT(AmpResultAdd_f32, f32, f32, 5, ADD, RESULT_COMMA IN_ELEMENTWISE(f32, addend, 8))
