/* y = 2 x, one element a vertex. */
#include "tessera/vertex.h"

VERTEX(Twice, IN(f32, x), OUT(f32, y)) { *state->y = *state->x * 2.0f; }
