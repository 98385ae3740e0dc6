/* First instructions of the supervisor, and where vertices return to.
 *
 * tessera_boot is reached by the jump in the start region. It sets the workers' stacks and return address from the start
 * region, gp = step table, s1 = dispatch, sp = top of the supervisor's stack, and goes to the control program. Eighteen
 * slots, once. Instructions of Xtile are written as .insn so that any RV32 assembler reads this file. */
#include "tessera/start.h"

#define CSR_XWSTACK 0x7c0
#define CSR_XWSTKSZ 0x7c1
#define CSR_XWRA 0x7c2

  .section .text.tessera_boot, "ax", @progbits
  .globl tessera_boot
  .type tessera_boot, @function
  .balign 8
tessera_boot:
  lui   t0, %hi(TESSERA_START_BASE)
  lw    t1, TESSERA_START_STACKS(t0)
  lw    t2, TESSERA_START_STACK_BYTES(t0)
  /* Worker w (1..6) gets sp = xwstack + w * xwstksz: stacks grow down, so this is the end of its piece. */
  csrw  CSR_XWSTACK, t1
  csrw  CSR_XWSTKSZ, t2
  lui   a0, %hi(tessera_exit)
  addi  a0, a0, %lo(tessera_exit)
  csrw  CSR_XWRA, a0
  slli  a1, t2, 2
  slli  t2, t2, 1
  add   t1, t1, a1
  add   t1, t1, t2
  addi  sp, t1, TESSERA_SUPERVISOR_STACK_BYTES
  lui   s1, %hi(tessera_dispatch)
  addi  s1, s1, %lo(tessera_dispatch)
  lw    gp, TESSERA_START_STEPS(t0)
  lw    t1, TESSERA_START_CONTROL(t0)
  jr    t1
  .size tessera_boot, . - tessera_boot

  .section .text.tessera_exit, "ax", @progbits
  .globl tessera_exit
  .type tessera_exit, @function
  .balign 8
tessera_exit:
  .insn r 0x0b, 1, 0, x0, x0, x0 /* x.exit 0 */
  .size tessera_exit, . - tessera_exit
