/* Every assembly macro of tessera/xtile.h once; the agreement test decodes the result. */
#include "tessera/xtile.h"
  x_sync a0, a1, 4
  x_exchange a0
  x_delay a0
  x_packet a0
  x_run 7, a0, a1, a2
  x_run 1, a0, a1, a2
  x_exit a0
