// The work of the instruction-set benchmark: integer and float dot products, copying, CRC, a linked list, a small matrix
// product and a state machine, in about equal parts of time. The same object file is linked for a tile and for Linux
// user mode, so both execute the same instructions.
#include <stdint.h>

enum { kWords = 1024, kNodes = 256, kSide = 16 };

typedef struct Node {
  struct Node* next;
  uint32_t value;
} Node;

// One worker's memory: about 19 KiB.
typedef struct {
  int32_t a[kWords], b[kWords];
  float x[kWords], y[kWords];
  Node nodes[kNodes];
  int32_t m[kSide][kSide], n[kSide][kSide], p[kSide][kSide];
} Work;

__attribute__((noipa)) static int32_t int_dot(const int32_t* a, const int32_t* b, int n) {
  int32_t sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

__attribute__((noipa)) static float float_dot(const float* x, const float* y, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum = __builtin_fmaf(x[i], y[i], sum);
  return sum;
}

__attribute__((noipa)) static void copy(int32_t* to, const int32_t* from, int n) {
  for (int i = 0; i < n; i += 4) {
    int32_t a = from[i], b = from[i + 1], c = from[i + 2], d = from[i + 3];
    to[i] = a, to[i + 1] = b, to[i + 2] = c, to[i + 3] = d;
  }
}

__attribute__((noipa)) static uint32_t crc(const uint8_t* p, int n) {
  uint32_t c = ~0u;
  for (int i = 0; i < n; ++i) {
    c ^= p[i];
    for (int k = 0; k < 8; ++k) c = (c >> 1) ^ (0xedb88320u & -(c & 1));
  }
  return ~c;
}

__attribute__((noipa)) static uint32_t list_sum(const Node* node) {
  uint32_t sum = 0;
  for (; node; node = node->next) sum += node->value;
  return sum;
}

__attribute__((noipa)) static void multiply(Work* w) {
  for (int i = 0; i < kSide; ++i)
    for (int j = 0; j < kSide; ++j) {
      int32_t sum = 0;
      for (int k = 0; k < kSide; ++k) sum += w->m[i][k] * w->n[k][j];
      w->p[i][j] = sum;
    }
}

__attribute__((noipa)) static uint32_t machine(uint32_t seed, int steps) {
  uint32_t state = 0, out = 0;
  for (int i = 0; i < steps; ++i) {
    seed = seed * 1664525u + 1013904223u;
    const uint32_t in = seed >> 30;
    switch (state) {
      case 0: state = in == 0 ? 1 : in == 1 ? 2 : 0; break;
      case 1: state = in == 2 ? 3 : 1; out += 3; break;
      case 2: state = in == 3 ? 0 : 3; out ^= in << 5; break;
      default: state = in & 1 ? 0 : 2; out = (out << 1) | (out >> 31); break;
    }
  }
  return out;
}

static void fill(Work* w) {
  uint32_t seed = 12345;
  for (int i = 0; i < kWords; ++i) {
    seed = seed * 1664525u + 1013904223u;
    w->a[i] = (int32_t)(seed >> 16);
    w->b[i] = (int32_t)(seed & 0xffff);
    w->x[i] = (float)(seed >> 20) * 0.0625f;
    w->y[i] = (float)((seed & 0xfff) - 2048.0f) * 0.03125f;
  }
  for (int i = 0; i < kNodes; ++i) {
    w->nodes[(i * 7) % kNodes].next = i + 1 < kNodes ? &w->nodes[((i + 1) * 7) % kNodes] : 0;
    w->nodes[i].value = (uint32_t)i * 2654435761u;
  }
  for (int i = 0; i < kSide * kSide; ++i) {
    (&w->m[0][0])[i] = w->a[i];
    (&w->n[0][0])[i] = w->b[i];
  }
}

uint32_t iss_float(void* work, uint32_t rounds);

/// Runs `rounds` rounds on the memory at `work` (at least 20 KiB, 8-byte aligned); returns a checksum. Kind 0 is the
/// mixed work, 1 that of iss_float.c.
uint32_t iss_kernel(void* work, uint32_t rounds, uint32_t kind) {
  if (kind == 1) return iss_float(work, rounds);
  Work* w = work;
  fill(w);
  uint32_t sum = 0;
  for (uint32_t r = 0; r < rounds; ++r) {
    sum += (uint32_t)int_dot(w->a, w->b, kWords);
    const float f = float_dot(w->x, w->y, kWords) + float_dot(w->y, w->y, kWords);
    sum ^= (uint32_t)(int32_t)(f * 0.001f);
    copy(w->a, w->b, kWords);
    w->b[r % kWords] += (int32_t)r;
    sum += crc((const uint8_t*)w->a, 128);
    sum += list_sum(w->nodes) + list_sum(w->nodes);
    multiply(w);
    sum += (uint32_t)w->p[r % kSide][3];
    sum ^= machine(sum, 500);
  }
  return sum;
}
