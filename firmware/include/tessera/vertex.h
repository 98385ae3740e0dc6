/* VERTEX: a codelet as a plain C function over a state struct, with a note that tells the compiler its fields.
 *
 *   VERTEX(Scale, IN_SPAN(f32, x), OUT(f32, y), VALUE(f32, factor)) {
 *     for (uint32_t i = 0; i < state->x.count; ++i) state->y[i] = tessera_f32(state->x.data[i] * state->factor);
 *   }
 *
 * yields struct Scale_State, the function void Scale(const Scale_State* state, uint32_t offset) whose body follows, and
 * the ELF note .note.tessera.Scale. `offset` is what the supervisor passes in a1 (docs/codelets.md): codelets that
 * take loop-dependent addresses add it, the others ignore it. VERTEX_MULTI is the same for a vertex that all six
 * workers run over one state: its body also sees `worker`, 0..5.
 *
 * VERTEX_AMP is a multi-vertex on the accumulating matrix product (AMP). Two fields stand before those it lists:
 * IN(u32, weights, 16) are sets of 256 bytes, one behind the other, and IN_SPAN(u32, offsets) has one word a set. For
 * each set the supervisor loads the weights (x.amp.ldw) and starts the six workers with the set's word as `offset`; a
 * set starts when all workers have left the one before. The body runs one worker's share of one set.
 *
 * Fields: IN, OUT, INOUT (type, name [, align [, minimum]]): `state->name` points to elements.
 *         IN_SPAN, OUT_SPAN, INOUT_SPAN: `state->name.data` and `state->name.count`.
 *         VALUE: `state->name` is the element.
 *         IN_ELEMENTWISE: an IN whose element i nobody reads after element i of an output is written: the compiler may
 *         put an output of the same element size where it stands. If the codelet has values NAME_row and NAME_step,
 *         that holds for step 1 and rows that are as far apart as those of the output (`columns`).
 * Types: bool8, i8, u8, i16, u16, i32, u32, f16 (bits), f32. Up to 16 fields. OUT means every connected
 * element is written. align is the least alignment of the data in bytes, minimum the least number of elements.
 *
 * The same source builds for the host: pointers are then host pointers and a multi-vertex runs its six workers in
 * order, an AMP vertex set by set. There (and only there) the body of an AMP vertex sees `tessera_weights`, the 256
 * bytes of its set, in place of what a tile's workers have in the matrix unit. Results are the same bits as on a tile
 * if every f32 result of arithmetic goes through tessera_f32 (NaNs of the tile are canonical), fused operations are
 * written as tessera_fma, and f32 to integer conversion as tessera_f32_to_i32. f16 data are bits; tessera_f16_to_f32
 * and tessera_f32_to_f16 convert them. Code in x_block has a plain body for the host beside it, with what
 * tessera/xtile_host.h offers.
 */
#ifndef TESSERA_VERTEX_H_
#define TESSERA_VERTEX_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __riscv
#include "tessera/xtile.h"
#else
#include "tessera/xtile_host.h"
#endif

typedef uint8_t bool8; /* 0 or 1 */
typedef int8_t i8;
typedef uint8_t u8;
typedef int16_t i16;
typedef uint16_t u16;
typedef int32_t i32;
typedef uint32_t u32;
typedef uint16_t f16; /* IEEE binary16 bits */
typedef float f32;

/* Note contents. Everything is little-endian; host/codelets reads the same layout. */
enum { TESSERA_NOTE_TYPE = 1, TESSERA_NOTE_VERSION = 1 };
enum { TESSERA_NOTE_MULTI = 1, TESSERA_NOTE_AMP = 2 }; /* flags; an AMP vertex has both */
#define TESSERA_AMP_SET_BYTES 256
enum {
  TESSERA_KIND_IN = 1,
  TESSERA_KIND_OUT,
  TESSERA_KIND_INOUT,
  TESSERA_KIND_IN_SPAN,
  TESSERA_KIND_OUT_SPAN,
  TESSERA_KIND_INOUT_SPAN,
  TESSERA_KIND_VALUE,
  TESSERA_KIND_ELEMENTWISE = 0x80, /* mark on TESSERA_KIND_IN */
  TESSERA_KIND_IN_ELEMENTWISE = TESSERA_KIND_IN | TESSERA_KIND_ELEMENTWISE
};
enum {
  TESSERA_TYPE_bool8 = 1,
  TESSERA_TYPE_i8,
  TESSERA_TYPE_u8,
  TESSERA_TYPE_i16,
  TESSERA_TYPE_u16,
  TESSERA_TYPE_i32,
  TESSERA_TYPE_u32,
  TESSERA_TYPE_f16,
  TESSERA_TYPE_f32
};

struct tessera_note_head {
  uint32_t version, flags, state_bytes, field_count;
  char name[48];
};

struct tessera_note_field {
  char name[24];
  uint8_t kind, type;
  uint16_t offset;
  uint32_t align, minimum;
};

/* Fields become tuples (kind, type, name, align, minimum). */
#define TESSERA_PICK5(a, b, c, d, e, ...) e
#define TESSERA_FIELD2(kind, type, name) (kind, type, name, sizeof(type), 1)
#define TESSERA_FIELD3(kind, type, name, align) (kind, type, name, align, 1)
#define TESSERA_FIELD4(kind, type, name, align, minimum) (kind, type, name, align, minimum)
#define TESSERA_FIELD(kind, ...) \
  TESSERA_PICK5(__VA_ARGS__, TESSERA_FIELD4, TESSERA_FIELD3, TESSERA_FIELD2, )(kind, __VA_ARGS__)
#define IN(...) TESSERA_FIELD(IN, __VA_ARGS__)
#define IN_ELEMENTWISE(...) TESSERA_FIELD(IN_ELEMENTWISE, __VA_ARGS__)
#define OUT(...) TESSERA_FIELD(OUT, __VA_ARGS__)
#define INOUT(...) TESSERA_FIELD(INOUT, __VA_ARGS__)
#define IN_SPAN(...) TESSERA_FIELD(IN_SPAN, __VA_ARGS__)
#define OUT_SPAN(...) TESSERA_FIELD(OUT_SPAN, __VA_ARGS__)
#define INOUT_SPAN(...) TESSERA_FIELD(INOUT_SPAN, __VA_ARGS__)
#define VALUE(...) TESSERA_FIELD(VALUE, __VA_ARGS__)

#define TESSERA_MEMBER_IN(type, name) const type* name;
#define TESSERA_MEMBER_IN_ELEMENTWISE(type, name) const type* name;
#define TESSERA_MEMBER_OUT(type, name) type* name;
#define TESSERA_MEMBER_INOUT(type, name) type* name;
#define TESSERA_MEMBER_IN_SPAN(type, name) \
  struct {                                 \
    const type* data;                      \
    uint32_t count;                        \
  } name;
#define TESSERA_MEMBER_OUT_SPAN(type, name) \
  struct {                                  \
    type* data;                             \
    uint32_t count;                         \
  } name;
#define TESSERA_MEMBER_INOUT_SPAN(type, name) TESSERA_MEMBER_OUT_SPAN(type, name)
#define TESSERA_MEMBER_VALUE(type, name) type name;
#define TESSERA_MEMBER_TUPLE(kind, type, name, align, minimum) TESSERA_MEMBER_##kind(type, name)
#define TESSERA_MEMBER(state, tuple) TESSERA_MEMBER_TUPLE tuple

#define TESSERA_DESCRIBE_TUPLE(state, kind, type, name, align, minimum) \
  {#name, TESSERA_KIND_##kind, TESSERA_TYPE_##type, offsetof(state, name), align, minimum},
#define TESSERA_UNPACK(...) __VA_ARGS__
#define TESSERA_DESCRIBE_APPLY(macro, ...) macro(__VA_ARGS__)
#define TESSERA_DESCRIBE(state, tuple) TESSERA_DESCRIBE_APPLY(TESSERA_DESCRIBE_TUPLE, state, TESSERA_UNPACK tuple)

#define TESSERA_CHECK_TUPLE(kind, type, name, align, minimum) \
  _Static_assert(sizeof(#name) <= 24, "field name " #name " is longer than 23 characters");
#define TESSERA_CHECK(state, tuple) TESSERA_CHECK_TUPLE tuple

/* TESSERA_EACH(m, s, t1, ...): m(s, t1) m(s, t2) ..., up to 16. TESSERA_COUNT: how many there are. */
#define TESSERA_EACH1(m, s, t) m(s, t)
#define TESSERA_EACH2(m, s, t, ...) m(s, t) TESSERA_EACH1(m, s, __VA_ARGS__)
#define TESSERA_EACH3(m, s, t, ...) m(s, t) TESSERA_EACH2(m, s, __VA_ARGS__)
#define TESSERA_EACH4(m, s, t, ...) m(s, t) TESSERA_EACH3(m, s, __VA_ARGS__)
#define TESSERA_EACH5(m, s, t, ...) m(s, t) TESSERA_EACH4(m, s, __VA_ARGS__)
#define TESSERA_EACH6(m, s, t, ...) m(s, t) TESSERA_EACH5(m, s, __VA_ARGS__)
#define TESSERA_EACH7(m, s, t, ...) m(s, t) TESSERA_EACH6(m, s, __VA_ARGS__)
#define TESSERA_EACH8(m, s, t, ...) m(s, t) TESSERA_EACH7(m, s, __VA_ARGS__)
#define TESSERA_EACH9(m, s, t, ...) m(s, t) TESSERA_EACH8(m, s, __VA_ARGS__)
#define TESSERA_EACH10(m, s, t, ...) m(s, t) TESSERA_EACH9(m, s, __VA_ARGS__)
#define TESSERA_EACH11(m, s, t, ...) m(s, t) TESSERA_EACH10(m, s, __VA_ARGS__)
#define TESSERA_EACH12(m, s, t, ...) m(s, t) TESSERA_EACH11(m, s, __VA_ARGS__)
#define TESSERA_EACH13(m, s, t, ...) m(s, t) TESSERA_EACH12(m, s, __VA_ARGS__)
#define TESSERA_EACH14(m, s, t, ...) m(s, t) TESSERA_EACH13(m, s, __VA_ARGS__)
#define TESSERA_EACH15(m, s, t, ...) m(s, t) TESSERA_EACH14(m, s, __VA_ARGS__)
#define TESSERA_EACH16(m, s, t, ...) m(s, t) TESSERA_EACH15(m, s, __VA_ARGS__)
#define TESSERA_PICK17(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, n, ...) n
#define TESSERA_COUNT(...) TESSERA_PICK17(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, )
#define TESSERA_JOIN_(a, b) a##b
#define TESSERA_JOIN(a, b) TESSERA_JOIN_(a, b)
#define TESSERA_EACH(m, s, ...) TESSERA_JOIN(TESSERA_EACH, TESSERA_COUNT(__VA_ARGS__))(m, s, __VA_ARGS__)

#ifdef __riscv
/* The note of a tile object stands in a note section, that of a host object in the list of host codelets. */
#define TESSERA_NOTE(Name, note_flags, ...)                                                              \
  static const struct {                                                                                  \
    uint32_t owner_bytes, description_bytes, type;                                                       \
    char owner[8];                                                                                       \
    struct tessera_note_head head;                                                                       \
    struct tessera_note_field fields[TESSERA_COUNT(__VA_ARGS__)];                                        \
  } Name##_note __attribute__((section(".note.tessera." #Name), used, aligned(4))) = {                   \
      8,                                                                                                 \
      sizeof(struct tessera_note_head) + TESSERA_COUNT(__VA_ARGS__) * sizeof(struct tessera_note_field), \
      TESSERA_NOTE_TYPE,                                                                                 \
      "Tessera",                                                                                         \
      {TESSERA_NOTE_VERSION, note_flags, sizeof(Name##_State), TESSERA_COUNT(__VA_ARGS__), #Name},       \
      {TESSERA_EACH(TESSERA_DESCRIBE, Name##_State, __VA_ARGS__)}};
#define TESSERA_REGISTER(Name)
#else
struct tessera_host_codelet {
  const struct tessera_note_head* head;
  const struct tessera_note_field* fields; /* offsets are those of the host's state struct */
  void (*run)(const void* state, uint32_t offset);
};
#define TESSERA_NOTE(Name, note_flags, ...)                                                                    \
  static const struct tessera_note_head Name##_head = {TESSERA_NOTE_VERSION, note_flags, sizeof(Name##_State), \
                                                       TESSERA_COUNT(__VA_ARGS__), #Name};                     \
  static const struct tessera_note_field Name##_fields[] = {TESSERA_EACH(TESSERA_DESCRIBE, Name##_State, __VA_ARGS__)};
#define TESSERA_REGISTER(Name)                                                                                        \
  static void Name##_host(const void* state, uint32_t offset) { Name((const Name##_State*)state, offset); }           \
  static const struct tessera_host_codelet Name##_entry = {&Name##_head, Name##_fields, Name##_host};                 \
  static const struct tessera_host_codelet* const Name##_pointer __attribute__((section("tessera_codelets"), used)) = \
      &Name##_entry;
#endif

#define TESSERA_DECLARE(Name, note_flags, ...)                                                \
  typedef struct Name##_State Name##_State;                                                   \
  struct Name##_State {                                                                       \
    TESSERA_EACH(TESSERA_MEMBER, , __VA_ARGS__)                                               \
  };                                                                                          \
  _Static_assert(sizeof(#Name) <= 48, "codelet name " #Name " is longer than 47 characters"); \
  TESSERA_EACH(TESSERA_CHECK, , __VA_ARGS__)                                                  \
  TESSERA_NOTE(Name, note_flags, __VA_ARGS__)                                                 \
  void Name(const Name##_State* state, uint32_t offset);                                      \
  TESSERA_REGISTER(Name)

#define VERTEX(Name, ...)               \
  TESSERA_DECLARE(Name, 0, __VA_ARGS__) \
  void Name(const Name##_State* state __attribute__((unused)), uint32_t offset __attribute__((unused)))

#ifdef __riscv
#define TESSERA_CALL_MULTI(Name)                               \
  uint32_t worker; /* index 0..5 stands in tp from x.run on */ \
  __asm__("mv %0, tp" : "=r"(worker));                         \
  Name##_body(state, offset, worker);
#else
#define TESSERA_CALL_MULTI(Name) \
  for (uint32_t worker = 0; worker < 6; ++worker) Name##_body(state, offset, worker);
#endif
#define VERTEX_MULTI(Name, ...)                                                                \
  TESSERA_DECLARE(Name, TESSERA_NOTE_MULTI, __VA_ARGS__)                                       \
  static inline void Name##_body(const Name##_State* state, uint32_t offset, uint32_t worker); \
  void Name(const Name##_State* state, uint32_t offset) { TESSERA_CALL_MULTI(Name) }           \
  static inline void Name##_body(const Name##_State* state __attribute__((unused)),            \
                                 uint32_t offset __attribute__((unused)), uint32_t worker __attribute__((unused)))

#ifdef __riscv
#define TESSERA_AMP_BODY(Name) \
  static inline void Name##_body(const Name##_State* state, uint32_t offset, uint32_t worker)
#define TESSERA_CALL_AMP(Name) TESSERA_CALL_MULTI(Name)
#else
#define TESSERA_AMP_BODY(Name)                                                                \
  static inline void Name##_body(const Name##_State* state, uint32_t offset, uint32_t worker, \
                                 const uint32_t* tessera_weights)
#define TESSERA_CALL_AMP(Name)                              \
  (void)offset;                                             \
  for (uint32_t set = 0; set < state->offsets.count; ++set) \
    for (uint32_t worker = 0; worker < 6; ++worker)         \
      Name##_body(state, state->offsets.data[set], worker, state->weights + set * (TESSERA_AMP_SET_BYTES / 4));
#endif
#define VERTEX_AMP(Name, ...)                                                                                   \
  TESSERA_DECLARE(Name, TESSERA_NOTE_MULTI | TESSERA_NOTE_AMP, IN(u32, weights, 16, TESSERA_AMP_SET_BYTES / 4), \
                  IN_SPAN(u32, offsets), __VA_ARGS__)                                                           \
  TESSERA_AMP_BODY(Name);                                                                                       \
  void Name(const Name##_State* state, uint32_t offset){TESSERA_CALL_AMP(Name)} TESSERA_AMP_BODY(Name)

/* Arithmetic whose host and tile bits would differ otherwise. */
static inline uint32_t tessera_f32_bits(f32 value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  return bits;
}

static inline f32 tessera_f32_from_bits(uint32_t bits) {
  f32 value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}

/* A result of f32 arithmetic: any NaN becomes the canonical one, as the tile's F instructions give it. */
static inline f32 tessera_f32(f32 value) {
#ifndef __riscv
  if (value != value) return tessera_f32_from_bits(0x7fc00000u);
#endif
  return value;
}

/* a * b + c with one rounding. */
static inline f32 tessera_fma(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }

/* Toward zero; saturates; NaN gives the largest integer (fcvt.w.s). */
static inline i32 tessera_f32_to_i32(f32 value) {
#ifdef __riscv
  i32 result;
  __asm__("fcvt.w.s %0, %1, rtz" : "=r"(result) : "f"(value));
  return result;
#else
  if (value != value || value >= 2147483648.0f) return INT32_MAX;
  if (value < -2147483648.0f) return INT32_MIN;
  return (i32)value;
#endif
}

/* Rounds to nearest even; saturates; NaN gives the largest integer. */
static inline i32 tessera_f32_to_i32_nearest(f32 value) {
#ifdef __riscv
  i32 result;
  __asm__("fcvt.w.s %0, %1, rne" : "=r"(result) : "f"(value));
  return result;
#else
  if (value != value || value >= 2147483648.0f) return INT32_MAX;
  if (value < -2147483648.0f) return INT32_MIN;
  return (i32)__builtin_rintf(value);
#endif
}

/* Exact; a NaN becomes the canonical one. */
static inline f32 tessera_f16_to_f32(f16 value) {
#ifdef __riscv
  return x_cvt_f32_f16((f16x1){x_from_bits(value)});
#else
  return tessera_f32_from_bits(tessera_host_f32_of_f16(value));
#endif
}

/* Rounds to nearest even, beyond the largest to infinity; a NaN becomes the canonical one. */
static inline f16 tessera_f32_to_f16(f32 value) {
#ifdef __riscv
  return (f16)x_bits(x_cvt_f16_f32(value).r0);
#else
  return tessera_host_f16_of_f32(tessera_f32_bits(value));
#endif
}

#endif /* TESSERA_VERTEX_H_ */
