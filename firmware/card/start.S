/* Header of the image, first instructions after a reset, and where traps go.
 *
 * The header is what tlm/card/firmware_image.h reads; pack.py fills length and checksum. Variables are cleared here, the
 * stack begins at the top of the memory. Any trap is a fault of the firmware: card_trap hands its registers to
 * card_crash, and a second one finds no handler and stops the processor. */
#include "tessera/machine.h"

  .section .header, "a", @progbits
  .word 0x57464354
  .word CARD_FIRMWARE_VERSION
  .word 0
  .word 0
  .word card_entry
  .zero 12

  .section .text.entry, "ax", @progbits
  .globl card_entry
card_entry:
  la    t0, card_trap
  csrw  mtvec, t0
  li    t0, TESSERA_CARD_BASE
  lw    t1, TESSERA_CARD_RAM_BYTES(t0)
  li    sp, TESSERA_SRAM_BASE
  add   sp, sp, t1
  la    t0, card_bss
  la    t1, card_end
1:
  bgeu  t0, t1, 2f
  sw    zero, 0(t0)
  addi  t0, t0, 4
  j     1b
2:
  call  card_main
  ebreak

  .balign 4
card_trap:
  csrw  mtvec, zero
  mv    a2, ra
  mv    a3, sp
  csrr  a0, mcause
  csrr  a1, mepc
  csrr  a4, mtval
  /* The stack may be what is wrong. */
  la    sp, card_crash_stack_end
  call  card_crash
  ebreak

  .section .bss.crash_stack, "aw", @nobits
  .balign 16
  .zero 256
card_crash_stack_end:
