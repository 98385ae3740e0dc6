// The floating-point work of the instruction-set benchmark: scaled sums, dot products, polynomials, a filter, a matrix
// product, normalisation with roots and quotients, clamping and conversion, in about equal parts of time. Linked and run
// like iss_kernel.c.
#include <stdint.h>

enum { kFloats = 1024, kFloatSide = 16 };

typedef struct {
  float x[kFloats], y[kFloats], z[kFloats];
  float m[kFloatSide][kFloatSide], n[kFloatSide][kFloatSide], p[kFloatSide][kFloatSide];
} FloatWork;

__attribute__((noipa)) static void scaled_sum(float* z, const float* x, const float* y, float a, int n) {
  for (int i = 0; i < n; i += 2) {
    z[i] = a * x[i] + y[i];
    z[i + 1] = a * x[i + 1] + y[i + 1];
  }
}

__attribute__((noipa)) static float dot(const float* x, const float* y, int n) {
  float a = 0, b = 0, c = 0, d = 0;
  for (int i = 0; i < n; i += 4) {
    a = __builtin_fmaf(x[i], y[i], a);
    b = __builtin_fmaf(x[i + 1], y[i + 1], b);
    c = __builtin_fmaf(x[i + 2], y[i + 2], c);
    d = __builtin_fmaf(x[i + 3], y[i + 3], d);
  }
  return (a + b) + (c + d);
}

__attribute__((noipa)) static void polynomial(float* z, const float* x, int n) {
  for (int i = 0; i < n; ++i) {
    const float t = x[i];
    z[i] = ((((0.0083f * t + 0.0417f) * t + 0.1667f) * t + 0.5f) * t + 1.0f) * t + 1.0f;
  }
}

// Bounded, so that all rounds compute with ordinary numbers.
__attribute__((noipa)) static void filter(float* z, const float* x, const float* y, int n) {
  for (int i = 1; i + 1 < n; ++i) {
    float v = 0.25f * x[i - 1] - 0.5f * x[i] + 0.25f * x[i + 1] + y[i];
    if (v > 2.0f) v = 2.0f;
    if (v < -2.0f) v = -2.0f;
    z[i] = v;
  }
}

__attribute__((noipa)) static void multiply_floats(FloatWork* w) {
  for (int i = 0; i < kFloatSide; ++i)
    for (int j = 0; j < kFloatSide; ++j) {
      float sum = 0;
      for (int k = 0; k < kFloatSide; ++k) sum = __builtin_fmaf(w->m[i][k], w->n[k][j], sum);
      w->p[i][j] = sum;
    }
}

__attribute__((noipa)) static void normalise(float* x, const float* y, int n) {
  for (int i = 0; i < n; ++i) x[i] = x[i] / __builtin_sqrtf(x[i] * x[i] + y[i] * y[i] + 1.0f);
}

__attribute__((noipa)) static int32_t clamped(const float* x, int n) {
  int32_t sum = 0;
  for (int i = 0; i < n; ++i) {
    float v = x[i] * 64.0f;
    if (v > 100.0f) v = 100.0f;
    if (v < -100.0f) v = -100.0f;
    sum += (int32_t)v;
  }
  return sum;
}

/// Runs `rounds` rounds on the memory at `work` (at least 16 KiB); returns a checksum.
uint32_t iss_float(void* work, uint32_t rounds) {
  FloatWork* w = work;
  uint32_t seed = 777;
  for (int i = 0; i < kFloats; ++i) {
    seed = seed * 1664525u + 1013904223u;
    w->x[i] = (float)(int32_t)seed * 0x1p-30f;
    w->y[i] = (float)(int32_t)(seed << 7) * 0x1p-31f;
  }
  for (int i = 0; i < kFloatSide * kFloatSide; ++i) {
    (&w->m[0][0])[i] = w->x[i];
    (&w->n[0][0])[i] = w->y[i];
  }
  uint32_t sum = 0;
  for (uint32_t r = 0; r < rounds; ++r) {
    scaled_sum(w->z, w->x, w->y, 0.75f, kFloats);
    sum += (uint32_t)clamped(w->z, kFloats);
    const float d = dot(w->z, w->y, kFloats);
    polynomial(w->z, w->x, kFloats);
    filter(w->x, w->z, w->y, kFloats);
    multiply_floats(w);
    w->y[r % kFloats] = w->p[r % kFloatSide][3] * 0.03125f;
    normalise(w->x, w->y, kFloats / 4);
    sum ^= (uint32_t)(int32_t)(d * 1024.0f);
  }
  return sum;
}
