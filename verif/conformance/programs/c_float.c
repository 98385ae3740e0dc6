// C in f32: Newton's root, a linear system, an integral, conversions. Checks itself by residuals and leaves its results,
// bit for bit, in the signature.
#include "conformance.h"

enum { kSide = 6, kWords = kSide + 10 };
uint32_t begin_signature[kWords] __attribute__((aligned(8)));

static uint32_t bits(float f) {
  uint32_t u;
  __builtin_memcpy(&u, &f, 4);
  return u;
}

static float magnitude(float f) { return f < 0 ? -f : f; }

static float hardware_root(float a) {
  float r;
  __asm__("fsqrt.s %0, %1" : "=f"(r) : "f"(a));
  return r;
}

static float root(float a) {
  float x = a > 1 ? a : 1;
  for (int i = 0; i < 30; ++i) x = 0.5f * (x + a / x);
  return x;
}

/// Gauss with pivots; the residual of the solution must be small.
static float solve(void) {
  float m[kSide][kSide + 1], original[kSide][kSide + 1], x[kSide];
  uint32_t seed = 7;
  for (int i = 0; i < kSide; ++i)
    for (int j = 0; j <= kSide; ++j) {
      seed = seed * 1664525u + 1013904223u;
      original[i][j] = m[i][j] = (float)(int)(seed >> 16 & 0xff) - 128.0f + (i == j ? 300.0f : 0.0f);
    }
  for (int k = 0; k < kSide; ++k) {
    int pivot = k;
    for (int i = k + 1; i < kSide; ++i)
      if (magnitude(m[i][k]) > magnitude(m[pivot][k])) pivot = i;
    for (int j = 0; j <= kSide; ++j) {
      const float t = m[k][j];
      m[k][j] = m[pivot][j];
      m[pivot][j] = t;
    }
    for (int i = k + 1; i < kSide; ++i) {
      const float f = m[i][k] / m[k][k];
      for (int j = k; j <= kSide; ++j) m[i][j] -= f * m[k][j];
    }
  }
  for (int i = kSide - 1; i >= 0; --i) {
    float sum = m[i][kSide];
    for (int j = i + 1; j < kSide; ++j) sum -= m[i][j] * x[j];
    x[i] = sum / m[i][i];
    begin_signature[i] = bits(x[i]);
  }
  float worst = 0;
  for (int i = 0; i < kSide; ++i) {
    float sum = -original[i][kSide];
    for (int j = 0; j < kSide; ++j) sum += original[i][j] * x[j];
    if (magnitude(sum) > worst) worst = magnitude(sum);
  }
  return worst;
}

void test_main(void) {
  for (int i = 1; i <= 4; ++i) {
    const float a = (float)i * 1.7f, r = root(a);
    begin_signature[kSide + i] = bits(r);
    if (magnitude(r * r - a) > 1e-5f) fail_with(1);
    if (magnitude(r - hardware_root(a)) > 1e-6f) fail_with(2);
  }
  if (solve() > 1e-3f) fail_with(3);
  float integral = 0;  // of 4 / (1 + x^2) from 0 to 1
  for (int i = 0; i < 1000; ++i) {
    const float x = ((float)i + 0.5f) * 0.001f;
    integral += 4.0f / (1.0f + x * x);
  }
  begin_signature[kSide + 5] = bits(integral * 0.001f);
  if (magnitude(integral * 0.001f - 3.14159265f) > 1e-4f) fail_with(4);
  volatile float big = 3e9f, small = -2.5f;
  if ((uint32_t)big != 3000000000u || (int)small != -2) fail_with(5);
  begin_signature[kSide + 6] = (uint32_t)(int)(small * 1e5f);
  pass();
}

__asm__(".globl end_signature\n.set end_signature, begin_signature + 4 * (6 + 10)\n");
