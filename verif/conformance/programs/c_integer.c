// C in integers: sorting, a checksum, 64-bit arithmetic of the compiler's library, recursion, strings. Checks itself by
// properties and leaves its results in the signature.
#include "conformance.h"

enum { kCount = 64 };
uint32_t begin_signature[kCount + 8] __attribute__((aligned(8)));

static void sort(uint32_t* a, int low, int high) {
  while (low < high) {
    const uint32_t pivot = a[(low + high) / 2];
    int i = low, j = high;
    while (i <= j) {
      while (a[i] < pivot) ++i;
      while (a[j] > pivot) --j;
      if (i <= j) {
        const uint32_t t = a[i];
        a[i++] = a[j];
        a[j--] = t;
      }
    }
    sort(a, low, j);
    low = i;
  }
}

static uint32_t crc(const unsigned char* p, int n) {
  uint32_t c = ~0u;
  while (n-- > 0) {
    c ^= *p++;
    for (int k = 0; k < 8; ++k) c = c >> 1 ^ (0xedb88320u & -(c & 1));
  }
  return ~c;
}

static uint32_t gcd(uint32_t a, uint32_t b) { return b == 0 ? a : gcd(b, a % b); }

void test_main(void) {
  uint32_t seed = 1, sum = 0;
  for (int i = 0; i < kCount; ++i) {
    seed = seed * 1103515245u + 12345u;
    begin_signature[i] = seed;
    sum += seed;
  }
  sort(begin_signature, 0, kCount - 1);
  for (int i = 0; i < kCount; ++i) {
    if (i > 0 && begin_signature[i - 1] > begin_signature[i]) fail_with(1);
    sum -= begin_signature[i];
  }
  if (sum != 0) fail_with(2);
  static const unsigned char text[] = "123456789";
  if ((begin_signature[kCount] = crc(text, 9)) != 0xcbf43926u) fail_with(3);  // the published check value
  volatile uint64_t a = 0x123456789abcdef0u, b = 0xfedcba987u;
  const uint64_t q = a / b, r = a % b;
  if (q * b + r != a || r >= b) fail_with(4);
  begin_signature[kCount + 1] = (uint32_t)q;
  begin_signature[kCount + 2] = (uint32_t)r;
  volatile int64_t s = -(int64_t)a;
  if (s / (int64_t)b != -(int64_t)q || s >> 60 != -2) fail_with(5);
  if ((begin_signature[kCount + 3] = gcd(2u * 3u * 5u * 7u * 11u * 13u, 3u * 7u * 13u * 17u)) != 273) fail_with(6);
  pass();
}

__asm__(".globl end_signature\n.set end_signature, begin_signature + 4 * (64 + 8)\n");
