/* Every intrinsic of tessera/xtile.h once; the agreement test decodes the result. Not meant to run. */
#include "tessera/xtile.h"

void use(void *pc, unsigned value);
void use(void *pc, unsigned value) {
  value += x_sync(value, 0) + x_sync(value, 1) + x_sync(value, 2) + x_sync(value, 3) + x_sync(value, 4);
  x_exchange(value);
  x_delay(value);
  x_packet(value);
  x_run(1, pc, value, 1);
  x_run(7, pc, value, 2);
  csr_write(TESSERA_CSR_XBASE1, csr_read(TESSERA_CSR_XTILE) + value);
  x_exit(value);
}
