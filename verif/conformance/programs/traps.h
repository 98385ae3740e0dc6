// Macros of the trap programs: an instruction that must trap, with cause, mtval and mepc, and the handler that checks it.
// Registers: gp test number; s7 mstatus in the handler; s8 where to go on, s9 mepc, s10 cause, s11 mtval expected.
#pragma once

// The instruction must trap with mepc at itself.
  .macro traps number, cause, tval, instruction:vararg
  li   gp, \number
  li   s10, \cause
  li   s11, \tval
  la   s9, 8f
  la   s8, 9f
  .balign 8
8:
  \instruction
  j    failed
9:
  .endm

// The same with mtval equal to a register's value.
  .macro traps_at number, cause, register, instruction:vararg
  li   gp, \number
  li   s10, \cause
  mv   s11, \register
  la   s9, 8f
  la   s8, 9f
8:
  \instruction
  j    failed
9:
  .endm

// An illegal word.
  .macro illegal number, word
  traps \number, 2, \word, .word \word
  .endm

// The same at pc = 4 mod 8.
  .macro illegal_second number, word
  li   gp, \number
  li   s10, 2
  li   s11, \word
  la   s9, 8f
  la   s8, 9f
  .balign 8
  nop
8:
  .word \word
  j    failed
9:
  .endm

// An instruction given by name that is illegal where it stands: mtval is its encoding.
  .macro illegal_here number, instruction:vararg
  li   gp, \number
  li   s10, 2
  la   s9, 8f
  lw   s11, 8f
  la   s8, 9f
  .balign 8
8:
  \instruction
  j    failed
9:
  .endm

  .macro expect_csr number, name, value
  li   gp, \number
  csrr a0, \name
  li   a1, \value
  bne  a0, a1, failed
  .endm

  .macro expect number, register, value
  li   gp, \number
  li   a1, \value
  bne  \register, a1, failed
  .endm

  .macro trap_handler
  .balign 4
handler:
  csrr s7, mstatus
  csrr a0, mcause
  bne  a0, s10, failed
  csrr a0, mepc
  bne  a0, s9, failed
  csrr a0, mtval
  bne  a0, s11, failed
  csrw mepc, s8
  mret
  .endm
