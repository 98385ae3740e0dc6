/* Codelets of the demonstrations: a stencil, sums and seeded values, each with a defined order of operations, so that a
 * plain host loop gives the same bits. Linked by host/demo, not part of the library of the network compiler. All are
 * multi-vertices: one state, the six workers split the work. */
#include "tessera/vertex.h"
#include "tessera/xtile.h"

/* A word in which neighbouring indices differ all over: odd multipliers around a shift. */
static inline u32 mix(u32 x) {
  x *= 0x9e3779b1u;
  x ^= x >> 15;
  return x * 0x85ebca6bu;
}

/* y[k] = value(seed, first + k x step) for rows x columns elements: a signed 32-bit number x 2^-31, rounded once; 0
 * from index `end` on. Row r begins at y + r x pitch (words) with index first + r x step. */
VERTEX_MULTI(FillSeeded_f32, OUT(f32, y), VALUE(u32, seed), VALUE(u32, first), VALUE(u32, end), VALUE(u32, rows),
             VALUE(u32, columns), VALUE(u32, pitch), VALUE(u32, step)) {
  const u32 seed = state->seed, columns = state->columns;
  for (u32 r = 0; r < state->rows; ++r) {
    f32* y = state->y + r * state->pitch;
    const u32 first = state->first + r * state->step;
    u32 live = first < state->end ? state->end - first : 0;
    if (live > columns) live = columns;
    u32 k = worker;
    for (; k < live; k += 6) y[k] = (f32)(i32)mix(seed + first + k) * 0x1p-31f;
    for (; k < columns; k += 6) y[k] = 0;
  }
}

/* y[i] = x[i] + y[i], vectors of two; y stands `offset` bytes behind the state's. One slot a vector. */
VERTEX_MULTI(AddInto_f32, IN(f32, x, 8), INOUT(f32, y, 8), VALUE(u32, vectors)) {
  const u32 share = (state->vectors + 5) / 6;
  const u32 begin = worker * share;
  if (begin >= state->vectors) return;
  u32 n = state->vectors - begin;
  if (n > share) n = share;
  const f32* x = state->x + 2 * begin;
  f32* y = (f32*)((u32)(state->y + 2 * begin) + offset);
  x_sset(0, x, 0);
  x_sset(1, y, 0);
  x_sset(2, y, 0);
  if (n & 1)
    x_block(X_NONE, X_NONE, X_USES(p0, p2, p10),
            X_PAIR(X_LD2(p0, p2, X_STEP_0, X_STEP_8), X_FNOP) X_PAIR(X_NOP, X_ADD_F32V2(p10, p0, p2))
                X_PAIR(X_LDST(p0, p10, X_STEP_8, X_STEP_8), X_FNOP));
  n >>= 1;
  if (n) /* The last two stores load y's first vector again, for want of a store alone. */
    x_block(X_NONE, (X_INX(in0, n - 1), X_INX(in1, y)), X_USES(p0, p2, p4, p6, p10),
            X_PAIR(X_LD2(p0, p2, X_STEP_8, X_STEP_8), X_FNOP)
                X_PAIR(X_LD2(p4, p6, X_STEP_8, X_STEP_8), X_ADD_F32V2(p10, p0, p2)) X_REPEAT(
                    in0, X_FNOP, X_PAIR(X_LD2ST(p0, p2, p10, X_STEP_8, X_STEP_8, X_STEP_8), X_ADD_F32V2(p10, p4, p6)),
                    X_PAIR(X_LD2ST(p4, p6, p10, X_STEP_8, X_STEP_8, X_STEP_8), X_ADD_F32V2(p10, p0, p2)))
                    X_PAIR(X_SSET(0, in1, zero), X_FNOP)
                        X_PAIR(X_LDST(p0, p10, X_STEP_0, X_STEP_8), X_ADD_F32V2(p10, p4, p6))
                            X_PAIR(X_LDST(p0, p10, X_STEP_0, X_STEP_8), X_FNOP));
}

/* y[i] = ((s[0][i] + s[1][i]) + ...) over `count` slots `pitch` words apart, s[own] being y itself. Worker w takes
 * elements w, w + 6, ... */
VERTEX_MULTI(SumSlots_f32, IN(f32, slots), INOUT(f32, y), VALUE(u32, count), VALUE(u32, pitch), VALUE(u32, own),
             VALUE(u32, words)) {
  const u32 pitch = state->pitch, own = state->own, count = state->count;
  for (u32 i = worker; i < state->words; i += 6) {
    const f32* s = state->slots + i;
    const f32 mine = state->y[i];
    f32 sum = own == 0 ? mine : *s;
    s += pitch;
    u32 k = 1;
#pragma GCC unroll 4
    for (; k < own; ++k, s += pitch) sum += *s;
    if (own != 0) {
      sum += mine;
      s += pitch;
      ++k;
    }
#pragma GCC unroll 4
    for (; k < count; ++k, s += pitch) sum += *s;
    state->y[i] = sum;
  }
}

/* 3x3 stencil: out[r][c] = sum of w[i][j] x in[r + i - 1][c + j - 1], fused multiply-adds from +0 in order i, j. `in`
 * and `out` point to the first inner element of row 0, rows are `pitch` bytes apart, columns come in `quads` of four.
 * Row -1 and row `rows`, and the elements before and behind a row, are there. Writes the two words before each row of
 * `out` too, and reads up to three behind the last column.
 *
 * Two points take 10 slots: nine multiply-adds beside nine loads and a store. `a` pairs stand one column before an
 * aligned pair, `b` pairs one behind it, which is the next one's `a`: so the loop is unrolled twice. p0, p2, p4: row
 * above (a, aligned, b); p6, p8, p10: row itself; p12, p14, p16: row below; p18 sum, p20 zero. */
#define STENCIL_PAIR(a0, b0, b00, b01, a1, b1, b10, b11, a2, b2, b20, b21, n0, n1) \
  X_PAIR(X_ST64(p18, 8, io3), X_SADD_F32V2(p18, in0, a0, p20)),                    \
      X_PAIR(X_LD64(p8, 8, io1), X_SADD_F32V2(p18, in1, p2, p18)),                 \
      X_PAIR("flw " b10 ", -4(%[io1])\n\t", X_SADD_F32V2(p18, in2, b0, p18)),      \
      X_PAIR("flw " b11 ", 0(%[io1])\n\t", X_SADD_F32V2(p18, in3, a1, p18)),       \
      X_PAIR(X_LD64(p14, 8, io2), X_SADD_F32V2(p18, in4, p8, p18)),                \
      X_PAIR("flw " b20 ", -4(%[io2])\n\t", X_SADD_F32V2(p18, in5, b1, p18)),      \
      X_PAIR("flw " b21 ", 0(%[io2])\n\t", X_SADD_F32V2(p18, in6, a2, p18)),       \
      X_PAIR(X_LD64(p2, 8, io0), X_SADD_F32V2(p18, in7, p14, p18)),                \
      X_PAIR("flw " n0 ", -4(%[io0])\n\t", X_SADD_F32V2(p18, io4, b2, p18)),       \
      X_PAIR("flw " n1 ", 0(%[io0])\n\t", X_FNOP)

VERTEX_MULTI(Stencil3x3_f32, IN(f32, in, 8), OUT(f32, out, 8), VALUE(u32, rows), VALUE(u32, quads), VALUE(u32, pitch),
             VALUE(f32, w0), VALUE(f32, w1), VALUE(f32, w2), VALUE(f32, w3), VALUE(f32, w4), VALUE(f32, w5),
             VALUE(f32, w6), VALUE(f32, w7), VALUE(f32, w8)) {
  const u32 pitch = state->pitch, rows = state->rows;
  const f32 w0 = state->w0, w1 = state->w1, w2 = state->w2, w3 = state->w3, w4 = state->w4, w5 = state->w5,
            w6 = state->w6, w7 = state->w7;
  f32 w8 = state->w8;
  u32 middle = (u32)state->in + worker * pitch;
  u32 to = (u32)state->out + worker * pitch - 8;
  for (u32 r = worker; r < rows; r += 6, middle += 6 * pitch, to += 6 * pitch) {
    u32 above = middle - pitch, row = middle, below = middle + pitch, out = to;
    u32 rounds = state->quads;
    x_block(
        (X_IOX(io0, above), X_IOX(io1, row), X_IOX(io2, below), X_IOX(io3, out), X_IOF(io4, w8), X_IOX(io5, rounds)),
        (X_INF(in0, w0), X_INF(in1, w1), X_INF(in2, w2), X_INF(in3, w3), X_INF(in4, w4), X_INF(in5, w5), X_INF(in6, w6),
         X_INF(in7, w7)),
        X_USES(p0, p2, p4, p6, p8, p10, p12, p14, p16, p18, p20),
        X_PAIR("flw f0, -4(%[io0])\n\t", X_CMPLT_F32V2(p20, p20, p20)) X_PAIR("flw f1, 0(%[io0])\n\t", X_FNOP) X_PAIR(
            X_LD64(p2, 8, io0), X_FNOP) X_PAIR("flw f4, -4(%[io0])\n\t", X_FNOP) X_PAIR("flw f5, 0(%[io0])\n\t", X_FNOP)
            X_PAIR("flw f6, -4(%[io1])\n\t", X_FNOP) X_PAIR("flw f7, 0(%[io1])\n\t", X_FNOP)
                X_PAIR("flw f12, -4(%[io2])\n\t", X_FNOP) X_PAIR("flw f13, 0(%[io2])\n\t", X_FNOP) X_REPEAT(
                    io5, X_FNOP,
                    STENCIL_PAIR(p0, p4, "f4", "f5", p6, p10, "f10", "f11", p12, p16, "f16", "f17", "f0", "f1"),
                    STENCIL_PAIR(p4, p0, "f0", "f1", p10, p6, "f6", "f7", p16, p12, "f12", "f13", "f4", "f5"))
                    X_PAIR(X_ST64(p18, 8, io3), X_FNOP));
  }
}
