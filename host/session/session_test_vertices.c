/* Vertices that go wrong, for session_test.cpp. */
#include "tessera/vertex.h"

/* Never ends. */
VERTEX(Endless, INOUT(u32, x)) {
  for (;;) *(volatile u32*)state->x += 1;
}

/* Fine with 0, traps with another value: no memory is there. */
VERTEX(Stray, INOUT(u32, x)) {
  if (*state->x != 0) *(volatile u32*)(uintptr_t)*state->x = 1;
}

/* The same in a vertex of the matrix engines: every worker looks at its word. */
VERTEX_AMP(StrayAmp, INOUT(u32, x)) {
  (void)offset;
  if (state->x[worker] != 0) *(volatile u32*)(uintptr_t)state->x[worker] = 1;
}
