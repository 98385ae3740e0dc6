/* First instructions of the supervisor, and where vertices return to.
 *
 * tessera_boot is reached by the jump in the start region. It sets the workers' stacks and return address from the start
 * region, gp = step table, s1 = dispatch, sp = top of the supervisor's stack, and goes to the control program. Eighteen
 * slots, once. */
#include "tessera/machine.h"
#include "tessera/xtile.h"


  .section .text.tessera_boot, "ax", @progbits
  .globl tessera_boot
  .type tessera_boot, @function
  .balign 8
tessera_boot:
  lui   t0, %hi(TESSERA_SRAM_BASE)
  lw    t1, TESSERA_START_REGION_STACKS(t0)
  lw    t2, TESSERA_START_REGION_STACK_BYTES(t0)
  /* Worker w (1..6) gets sp = xwstack + w * xwstksz: stacks grow down, so this is the end of its piece. */
  csrw  TESSERA_CSR_XWSTACK, t1
  csrw  TESSERA_CSR_XWSTKSZ, t2
  lui   a0, %hi(tessera_exit)
  addi  a0, a0, %lo(tessera_exit)
  csrw  TESSERA_CSR_XWRA, a0
  slli  a1, t2, 2
  slli  t2, t2, 1
  add   t1, t1, a1
  add   t1, t1, t2
  addi  sp, t1, TESSERA_SUPERVISOR_STACK_BYTES
  lui   s1, %hi(tessera_dispatch)
  addi  s1, s1, %lo(tessera_dispatch)
  lw    gp, TESSERA_START_REGION_STEPS(t0)
  lw    t1, TESSERA_START_REGION_CONTROL(t0)
  jr    t1
  .size tessera_boot, . - tessera_boot

  .section .text.tessera_exit, "ax", @progbits
  .globl tessera_exit
  .type tessera_exit, @function
  .balign 8
tessera_exit:
  x_exit x0
  .size tessera_exit, . - tessera_exit
