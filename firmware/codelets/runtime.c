/* The functions a freestanding gcc may call on its own. Byte loops: codelets move data with their own loops. */
#include <stddef.h>

void* memcpy(void* restrict to, const void* restrict from, size_t count) {
  char* t = to;
  for (const char* f = from; count; --count) *t++ = *f++;
  return to;
}

void* memmove(void* to, const void* from, size_t count) {
  char* t = to;
  const char* f = from;
  if (t <= f) {
    for (; count; --count) *t++ = *f++;
  } else {
    while (count--) t[count] = f[count];
  }
  return to;
}

void* memset(void* to, int value, size_t count) {
  for (char* t = to; count; --count) *t++ = (char)value;
  return to;
}

int memcmp(const void* a, const void* b, size_t count) {
  const unsigned char *x = a, *y = b;
  for (; count; --count, ++x, ++y)
    if (*x != *y) return *x < *y ? -1 : 1;
  return 0;
}
