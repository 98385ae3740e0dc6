// The memory, stream, loop, matrix and integer intrinsics of tessera/xtile.h in C: each does to plain arrays what a
// plain loop does. Compiled code chooses the registers, so operands that a header mixes up show here.
#include "conformance.h"
#include "tessera/xtile.h"

enum { kN = 12 };
extern uint32_t begin_signature[8];
__asm__(
    ".bss\n.balign 8\n.globl begin_signature\n.globl end_signature\nbegin_signature: .zero 32\nend_signature:\n.text");
void test_main(void);

static f32x2 a[kN], b[kN], y[kN];
static f32x4 quads[kN / 2];

static uint32_t low(f32x2 v) { return x_bits(v.r0); }
static uint32_t high(f32x2 v) { return x_bits(v.r1); }
static void same(int test, f32x2 got, f32x2 want) {
  if (low(got) != low(want) || high(got) != high(want)) fail_with(test);
  begin_signature[test & 7] = begin_signature[test & 7] * 31 + low(got) + high(got);
}
static void equal(int test, uint32_t got, uint32_t want) {
  if (got != want) fail_with(test);
}

static void fill(void) {
  for (uint32_t i = 0; i < kN; ++i) {
    a[i] = (f32x2){(float)(int)i, 0.5f * (float)(int)i};
    b[i] = (f32x2){100.0f - (float)(int)i, 0.25f};
    y[i] = (f32x2){x_from_bits(0xdead0000u + i), x_from_bits(0xbeef0000u + i)};
    quads[i / 2] = (f32x4){1, 2, 3, (float)(int)i};
  }
}

static void pointers(void) {
  fill();
  const f32x2* p = a;
  same(1, x_ld64(p, 16), a[0]);
  equal(2, (uint32_t)p, (uint32_t)&a[2]);
  same(3, x_ld64(p, -8), a[2]);
  same(4, x_ld64_r(p, 24), a[1]);
  equal(5, (uint32_t)p, (uint32_t)&a[4]);
  f32x2* q = y;
  x_st64(b[3], q, 8);
  x_st64_r(b[4], q, (uint32_t)-8);
  equal(6, (uint32_t)q, (uint32_t)y);
  same(7, y[0], b[3]);
  same(8, y[1], b[4]);
  equal(9, x_bits(y[2].r0), 0xdead0002u);
  const f32x4* w = quads;
  const f32x4 first = x_ld128(w, 16), second = x_ld128_r(w, 32);
  equal(10, (uint32_t)w, (uint32_t)&quads[3]);
  same(11, (f32x2){first.r0, first.r3}, (f32x2){1, 1});
  same(12, (f32x2){second.r2, second.r3}, (f32x2){3, 3});
}

static void streams(void) {
  fill();
  f32x2 u, v;
  x_sset(0, a, X_STRIDES(2, -1));
  x_sset(1, b, X_STRIDES(1, 3));
  x_sset(2, y, X_STRIDES(2, 0));
  x_ld2(u, v, X_STEP_A, X_STEP_B);
  same(20, u, a[0]), same(21, v, b[0]);
  x_ld2(u, v, X_STEP_B, X_STEP_0);
  same(22, u, a[2]), same(23, v, b[3]);
  x_ldst(u, b[7], X_STEP_8, X_STEP_A);
  same(24, u, a[1]), same(25, y[0], b[7]);
  x_ld2st(u, v, b[8], X_STEP_8, X_STEP_8, X_STEP_8);
  same(26, u, a[2]), same(27, v, b[3]), same(28, y[2], b[8]);
  equal(29, csr_read(TESSERA_CSR_XS0), (uint32_t)&a[3]);
  equal(30, csr_read(TESSERA_CSR_XS1), (uint32_t)&b[4]);
  equal(31, csr_read(TESSERA_CSR_XS2), (uint32_t)&y[3]);
}

static void loops(void) {
  fill();
  // y = 3 a + b over rounds that a value gives, with the factor in a register that the compiler chooses.
  x_sset(0, a, 0);
  x_sset(1, b, 0);
  f32x2* out = y;
  x_rpt(kN, (X_IOX(io0, out)), (X_INF(in0, 3.0f)), X_USES(p0, p2, p10),
        X_PAIR(X_LD2(p0, p2, X_STEP_8, X_STEP_8), X_FNOP), X_PAIR(X_NOP, X_SADD_F32V2(p10, in0, p0, p2)),
        X_PAIR(X_ST64(p10, 8, io0), X_FNOP));
  equal(40, (uint32_t)out, (uint32_t)&y[kN]);
  for (uint32_t i = 0; i < kN; ++i) same(41, y[i], x_sadd_f32v2(3.0f, a[i], b[i]));
  // A count in the instruction; a sum in and out of a register.
  float sum = 1.5f;
  const f32x2* p = a;
  x_rpti(kN, (X_IOX(io0, p), X_IOF(io1, sum)), X_NONE, X_USES(p0, f4), X_PAIR(X_LD64(p0, 8, io0), X_FNOP),
         X_PAIR(X_NOP, X_SUM_F32V2(f4, p0)), X_PAIR(X_NOP, X_FADD_S(io1, io1, f4)));
  float want = 1.5f;
  for (uint32_t i = 0; i < kN; ++i) want += a[i].r0 + a[i].r1;
  equal(42, x_bits(sum), x_bits(want));
  x_rpt(0, (X_IOX(io0, p)), X_NONE, X_USES(p0), X_PAIR(X_LD64(p0, 8, io0), X_FNOP));  // no round
  equal(43, (uint32_t)p, (uint32_t)&a[kN]);
}

/* Weights are zero here (nobody loaded any), so what goes in as a partial comes out two rounds later. */
static void matrix(void) {
  fill();
  const f16x4 x = {x_from_bits(0x3c003c00), x_from_bits(0x3c003c00)};
  (void)x_amp_io(a[1], 0), (void)x_amp_io(a[2], 1), (void)x_amp_io(a[3], 2), (void)x_amp_io(a[4], 3);
  (void)x_amp_f16(x, b[1], 0), (void)x_amp_g(x, x, b[2], 1), (void)x_amp_f16(x, b[3], 2), (void)x_amp_f16(x, b[4], 3);
  same(50, x_amp_io(b[0], 0), a[1]);
  equal(51, x_bits(x_amp_f32(1.0f, 7.0f, 2)), x_bits(a[2].r0));
  equal(52, x_bits(x_amp_f32(1.0f, 8.0f, 3)), x_bits(a[2].r1));
  same(53, x_amp_io(b[0], 2), a[3]);
  equal(54, x_bits(x_amp_f32(1.0f, 9.0f, 6)), x_bits(a[4].r0));
  equal(55, x_bits(x_amp_f32(1.0f, 9.0f, 7)), x_bits(a[4].r1));
}

static void integers(void) {
  equal(60, x_clz(0x00012345u), 15);
  equal(61, x_ctz(0x00012300u), 8);
  equal(62, x_cpop(0xf0f01u), 9);
  equal(63, x_brev(0x80000005u), 0xa0000001u);
  equal(64, x_shuf8(0x44332211u, 0x00800203u), 0x11003344u);
  equal(65, x_bits(x_as(f16x2, ((u32x1){x_from_bits(0x12345678u)})).r0), 0x12345678u);
}

void test_main(void) {
  pointers();
  streams();
  loops();
  matrix();
  integers();
  pass();
}
