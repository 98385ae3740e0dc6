// Slots of every inner loop of firmware/codelets on one worker, and whether its results are right: a program for one
// tile.
//
// The supervisor loads weights and starts worker 1; the worker calls each kernel at several sizes, reads mcycle before
// and after, and compares all results with a plain loop of value intrinsics (which the conformance programs check one
// by one). The signature is a row of kCounts slot counts for each CASE line, in their order; table.py reads the names
// from here.
#include "firmware/codelets/matrix_loops.c"
#include "firmware/codelets/vector_loops.c"
#include "verif/conformance/programs/conformance.h"

enum { kMost = 64, kCounts = 8, kCases = 32 };
static const uint32_t kN[kCounts] = {1, 2, 3, 4, 7, 16, 33, 64};

extern uint32_t begin_signature[kCases * kCounts + 4];
__asm__(
    ".bss\n.balign 8\n.globl begin_signature\n.globl end_signature\nbegin_signature: .zero 4 * (32 * 8 + "
    "4)\nend_signature:\n.text");
static f32x2 a[kMost + 1], b[kMost + 1], y[kMost + 1], expected[kMost + 1];
static f32x2 wide[8 * kMost], matrix[8 * kMost], matrix_expected[8 * kMost];
static uint32_t weights[2][64] __attribute__((aligned(16)));
static uint8_t stacks[7][2048] __attribute__((aligned(16)));
static uint32_t row, part;

typedef uint32_t __attribute__((may_alias)) word;
typedef void (*Kernel)(const void* state, uint32_t offset);

// Slots from the first instruction of the kernel to its return, the return counted.
__attribute__((noipa)) static uint32_t cycles_of(Kernel kernel, const void* state) {
  const uint32_t start = csr_read(TESSERA_CSR_MCYCLE);
  kernel(state, 0);
  return csr_read(TESSERA_CSR_MCYCLE) - start;
}
__attribute__((noipa)) static void nothing(const void* state, uint32_t offset) { (void)state, (void)offset; }
static uint32_t slots_of(Kernel kernel, const void* state) {
  return (cycles_of(kernel, state) - cycles_of(nothing, state)) / 6 + 1;
}

static uint32_t mix(uint32_t v) {
  v ^= v << 13, v ^= v >> 17, v ^= v << 5;
  return v;
}

static void failed(void) { fail_with((int)(row + 1)); }

static void same(const void* got, const void* want, uint32_t words) {
  const word *g = got, *w = want;
  for (uint32_t i = 0; i < words; ++i)
    if (g[i] != w[i]) failed();
}

/* Numbers of moderate size, as f32 or as f16. */
static void fill(void* data, uint32_t words, uint32_t seed, int half) {
  word* out = data;
  for (uint32_t i = 0; i < words; ++i) {
    seed = mix(seed);
    out[i] = half ? ((seed & 0x8fff8fff) | 0x30003000) : ((seed & 0x80ffffff) | 0x3e000000);
  }
}

static void record(uint32_t k, uint32_t slots) { begin_signature[row * kCounts + k] = slots; }

#define COMMA ,
#define AS_F16(v) x_as_pair(f16x4, v)
#define TO_PAIR(v) x_as_pair(f32x2, v)

/* y = OP(a, b) */
#define RUN_BINARY(Name, HALF, EXPECTED)                                                               \
  for (uint32_t k = 0; k < kCounts; ++k) {                                                             \
    const uint32_t n = kN[k];                                                                          \
    fill(a, 2 * kMost, n + 1, HALF), fill(b, 2 * kMost, n + 2, HALF), fill(y, 2 * kMost + 2, 3, HALF); \
    for (uint32_t i = 0; i <= n; ++i) expected[i] = i < n ? TO_PAIR(EXPECTED) : y[i];                  \
    const Name##_State state = {(const void*)a, (const void*)b, (void*)y, n};                          \
    record(k, slots_of((Kernel)Name, &state));                                                         \
    same(y, expected, 2 * n + 2);                                                                      \
  }                                                                                                    \
  ++row;
#define RUN_SCALED(Name, HALF, SCALE, EXPECTED)                                        \
  for (uint32_t k = 0; k < kCounts; ++k) {                                             \
    const uint32_t n = kN[k];                                                          \
    fill(a, 2 * kMost, n + 1, HALF), fill(y, 2 * kMost + 2, n + 2, HALF);              \
    for (uint32_t i = 0; i <= n; ++i) expected[i] = i < n ? TO_PAIR(EXPECTED) : y[i];  \
    const Name##_State state = {(const void*)a, (void*)y, SCALE, n};                   \
    record(k, (cycles_of((Kernel)Name, &state) - cycles_of(nothing, &state)) / 6 + 1); \
    same(y, expected, 2 * n + 2);                                                      \
  }                                                                                    \
  ++row;
#define RUN_UNARY(Name, HALF, EXPECTED)                                               \
  for (uint32_t k = 0; k < kCounts; ++k) {                                            \
    const uint32_t n = kN[k];                                                         \
    fill(a, 2 * kMost, n + 1, HALF), fill(y, 2 * kMost + 2, 3, HALF);                 \
    for (uint32_t i = 0; i <= n; ++i) expected[i] = i < n ? TO_PAIR(EXPECTED) : y[i]; \
    const Name##_State state = {(const void*)a, (void*)y, n};                         \
    record(k, slots_of((Kernel)Name, &state));                                        \
    same(y, expected, 2 * n + 2);                                                     \
  }                                                                                   \
  ++row;
#define TWICE(f, type, v) ((f32x2){x_##f(((type){(v).r0})).r0, x_##f(((type){(v).r1})).r0})
#define TWICE_F32(f, v) ((f32x2){x_##f((v).r0), x_##f((v).r1)})
#define RUN_REDUCE(Name, HALF, START, STEP, END)          \
  for (uint32_t k = 0; k < kCounts; ++k) {                \
    const uint32_t n = kN[k];                             \
    fill(a, 2 * kMost, n + 1, HALF);                      \
    START;                                                \
    for (uint32_t i = 0; i < n; ++i) STEP;                \
    const float want = END;                               \
    float got = 0;                                        \
    const Name##_State state = {(const void*)a, &got, n}; \
    record(k, slots_of((Kernel)Name, &state));            \
    same(&got, &want, 1);                                 \
  }                                                       \
  ++row;

static void vectors(void) {
  const f32x2 zero = {0, 0};
  /* CASE AddVectors_f32 */ RUN_BINARY(AddVectors_f32, 0, x_add_f32v2(a[i], b[i]))
  /* CASE MulVectors_f32 */ RUN_BINARY(MulVectors_f32, 0, x_mul_f32v2(a[i], b[i]))
  /* CASE AddVectors_f16 */ RUN_BINARY(AddVectors_f16, 1, x_add_f16v4(AS_F16(a[i]), AS_F16(b[i])))
  /* CASE MulVectors_f16 */ RUN_BINARY(MulVectors_f16, 1, x_mul_f16v4(AS_F16(a[i]), AS_F16(b[i])))
  /* CASE ScaledAddVectors_f32 */ RUN_SCALED(ScaledAddVectors_f32, 0, 0.75f, x_sadd_f32v2(0.75f, a[i], y[i]))
  /* CASE ScaledAddVectors_f16 */
  RUN_SCALED(ScaledAddVectors_f16, 1, 0x3a00, x_sadd_f16v4(((f16x1){x_from_bits(0x3a00)}), AS_F16(a[i]), AS_F16(y[i])))
  /* CASE ReluVectors_f32 */ RUN_UNARY(ReluVectors_f32, 0, x_sel_f32v2(a[i], zero, a[i]))
  /* CASE ReluVectors_f16 */ RUN_UNARY(ReluVectors_f16, 1, x_sel_f16v4(AS_F16(a[i]), AS_F16(zero), AS_F16(a[i])))
  /* CASE ExpVectors_f32 */ RUN_UNARY(ExpVectors_f32, 0, TWICE_F32(exp_f32, a[i]))
  /* CASE ExpVectors_f16 */ RUN_UNARY(ExpVectors_f16, 1, TWICE(exp_f16v2, f16x2, a[i]))
  /* CASE LogVectors_f32 */ RUN_UNARY(LogVectors_f32, 0, TWICE_F32(log_f32, a[i]))
  /* CASE LogVectors_f16 */ RUN_UNARY(LogVectors_f16, 1, TWICE(log_f16v2, f16x2, a[i]))
  /* CASE TanhVectors_f32 */ RUN_UNARY(TanhVectors_f32, 0, TWICE_F32(tanh_f32, a[i]))
  /* CASE TanhVectors_f16 */ RUN_UNARY(TanhVectors_f16, 1, TWICE(tanh_f16v2, f16x2, a[i]))
  /* CASE SigmoidVectors_f32 */ RUN_UNARY(SigmoidVectors_f32, 0, TWICE_F32(sigmoid_f32, a[i]))
  /* CASE SigmoidVectors_f16 */ RUN_UNARY(SigmoidVectors_f16, 1, TWICE(sigmoid_f16v2, f16x2, a[i]))
  /* CASE SumVectors_f32 */
  RUN_REDUCE(SumVectors_f32, 0, f32x2 sum = zero, sum = x_add_f32v2(sum, a[i]), x_sum_f32v2(sum))
  /* CASE SumVectors_f16 */
  RUN_REDUCE(SumVectors_f16, 1, float sum = 0;
             const f16x4 ones = {x_from_bits(0x3c003c00) COMMA x_from_bits(0x3c003c00)},
             sum = x_dot_f16v4(AS_F16(a[i]), ones, sum), sum)
  /* CASE MaxOfVectors_f32 */
  RUN_REDUCE(MaxOfVectors_f32, 0, f32x2 most = a[0], most = x_max_f32v2(most, a[i]),
             most.r0 > most.r1 ? most.r0 : most.r1)
}

static void seed(void) {
  csr_write(TESSERA_CSR_XRNG0, 0x1234567);
  csr_write(TESSERA_CSR_XRNG1, 0x89abcdef);
  csr_write(TESSERA_CSR_XRNG2, 1);
  csr_write(TESSERA_CSR_XRNG3, 0x55aa55aa);
}

static void fills(void) {
  /* CASE FillVectors */
  for (uint32_t k = 0; k < kCounts; ++k) {
    const uint32_t n = kN[k];
    fill(y, 2 * kMost + 2, 3, 0);
    for (uint32_t i = 0; i <= n; ++i)
      expected[i] = i < n ? (f32x2){x_from_bits(0xdeadbeef), x_from_bits(0xdeadbeef)} : y[i];
    const FillVectors_State state = {(void*)y, 0xdeadbeef, n};
    record(k, slots_of((Kernel)FillVectors, &state));
    same(y, expected, 2 * n + 2);
  }
  ++row;
  /* CASE RandomBits */
  for (uint32_t k = 0; k < kCounts; ++k) {
    const uint32_t n = kN[k];
    fill(y, 2 * kMost + 2, 3, 0);
    seed();
    for (uint32_t i = 0; i <= n; ++i) expected[i] = i < n ? x_as_pair(f32x2, x_urand64()) : y[i];
    seed();
    const RandomBits_State state = {(void*)y, n};
    record(k, slots_of((Kernel)RandomBits, &state));
    same(y, expected, 2 * n + 2);
  }
  ++row;
  /* CASE RandomUniform_f32 */
  const f32x2 half = {0.5f, 0.5f};
  for (uint32_t k = 0; k < kCounts; ++k) {
    const uint32_t n = kN[k];
    fill(y, 2 * kMost + 2, 3, 0);
    seed();
    for (uint32_t i = 0; i <= n; ++i) {
      const f32x2 number = x_cvt_f32v2_i32v2(x_as_pair(i32x2, x_urand64()));
      expected[i] = i < n ? x_sadd_f32v2(0x1p-32f, number, half) : y[i];
      if (i < n && !(expected[i].r0 >= 0 && expected[i].r0 <= 1)) failed();
    }
    seed();
    const RandomUniform_f32_State state = {(void*)y, n};
    record(k, slots_of((Kernel)RandomUniform_f32, &state));
    same(y, expected, 2 * n + 2);
  }
  ++row;
}

/* Rows of 4 doublewords, `pitch` doublewords apart; c += x W. */
static void product(Kernel kernel, int half, uint32_t pitch) {
  for (uint32_t k = 0; k < kCounts; ++k) {
    const uint32_t n = kN[k];
    fill(wide, sizeof wide / 4, n + 5, half), fill(matrix, sizeof matrix / 4, n + 6, 0);
    for (uint32_t i = 0; i < 8 * kMost; ++i) matrix_expected[i] = matrix[i];
    for (uint32_t i = 0; i < n; ++i) {
      const f32x2* x = &wide[i * pitch];
      float* c = (float*)&matrix_expected[i * pitch];
      for (uint32_t e = 0; e < 8; ++e) {
        const float* w = (const float*)&weights[!half][8 * e];
        float sum = c[e];
        for (uint32_t p = 0; p < 4; ++p) {
          const f16x4 wp = {w[2 * p], w[2 * p + 1]};
          if (half)
            sum = x_dot_f16v4(AS_F16(x[p]), wp, sum);
          else
            sum = __builtin_fmaf(x[p].r1, w[2 * p + 1], __builtin_fmaf(x[p].r0, w[2 * p], sum));
        }
        c[e] = sum;
      }
    }
    const MatMulAmp_f16_State state = {(const void*)wide, (void*)matrix, n, X_STRIDES(pitch - 3, 0),
                                       X_STRIDES(pitch - 3, 0)};
    record(k, slots_of(kernel, &state));
    same(matrix, matrix_expected, sizeof matrix / 4);
  }
  ++row;
}

__attribute__((used)) static void work(void) {
  if (part == 0) {
    row = 0;
    vectors();
    fills();
    /* CASE MatMulAmp_f16 */ product((Kernel)MatMulAmp_f16, 1, 4);
    product((Kernel)MatMulAmp_f16, 1, 7), --row;
  } else {
    /* CASE MatMulAmp_f32 */ product((Kernel)MatMulAmp_f32, 0, 4);
    product((Kernel)MatMulAmp_f32, 0, 7), --row;
  }
}

static void exit_stub(void) { x_exit(0); }
static void idle_vertex(void) {}

void test_main(void);
void test_main(void) {
  csr_write(TESSERA_CSR_XWSTACK, stacks);
  csr_write(TESSERA_CSR_XWSTKSZ, sizeof stacks[0]);
  csr_write(TESSERA_CSR_XWRA, exit_stub);
  uint32_t seed_of = 77;
  for (uint32_t i = 0; i < 64; ++i) {
    seed_of = mix(seed_of);
    weights[0][i] = (seed_of & 0x8fff8fff) | 0x30003000;
    weights[1][i] = (seed_of & 0x80ffffff) | 0x3e000000;
  }
  for (part = 0; part < 2; ++part) {
    x_amp_ldw((uint32_t)weights[part]);
    x_run(1, work, 0, 0);
    x_sync(0, 0);
  }
  // What the supervisor pays: all six workers started and awaited, and a load of weights; in cycles.
  uint32_t start = csr_read(TESSERA_CSR_MCYCLE);
  x_run(7, idle_vertex, 0, 0);
  x_sync(0, 0);
  begin_signature[kCases * kCounts] = csr_read(TESSERA_CSR_MCYCLE) - start - 6;
  start = csr_read(TESSERA_CSR_MCYCLE);
  x_amp_ldw((uint32_t)weights[0]);
  begin_signature[kCases * kCounts + 1] = csr_read(TESSERA_CSR_MCYCLE) - start - 6;
  begin_signature[kCases * kCounts + 2] = row;
  pass();
}
