/* Every intrinsic of tessera/xtile.h once; the agreement test decodes the result. Not meant to run. */
#include "tessera/start.h"
#include "tessera/xtile.h"

/* The firmware's plain defines say what the tables say. */
_Static_assert(TESSERA_START_BASE == TESSERA_SRAM_BASE, "SRAM base");
_Static_assert(TESSERA_START_BYTES == TESSERA_START_REGION_BYTES, "start region");
_Static_assert(TESSERA_START_TILE == TESSERA_START_REGION_TILE, "tile");
_Static_assert(TESSERA_START_CONTROL == TESSERA_START_REGION_CONTROL, "control");
_Static_assert(TESSERA_START_STEPS == TESSERA_START_REGION_STEPS, "steps");
_Static_assert(TESSERA_START_STACKS == TESSERA_START_REGION_STACKS, "stacks");
_Static_assert(TESSERA_START_STACK_BYTES == TESSERA_START_REGION_STACK_BYTES, "stack bytes");
_Static_assert(TESSERA_START_END == TESSERA_START_REGION_END, "end");
_Static_assert(TESSERA_RECORD_STRIDE == TESSERA_DISPATCH_RECORD_STRIDE, "record");
_Static_assert(TESSERA_RECORD_BYTES == TESSERA_DISPATCH_RECORD_BYTES, "record");
_Static_assert(TESSERA_RECORD_MOVING == TESSERA_DISPATCH_MOVING, "moving");

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
