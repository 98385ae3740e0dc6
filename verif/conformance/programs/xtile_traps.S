// Traps of Xtile in a worker: memory accesses and streams with the order of their checks, roles, encodings, FS, loops,
// and which word of a pair has happened.
#include "tessera/xtile.h"
#include "traps.inc"
  .text
  .globl test_main

  // f16 f17 hold what no faulting load may change.
  .macro marked
  li   a0, 0x1234
  fmv.w.x f16, a0
  fmv.w.x f17, a0
  .endm
  .macro still_marked number
  li   a1, 0x1234
  fmv.x.w a0, f16
  li   gp, \number
  bne  a0, a1, failed
  fmv.x.w a0, f17
  bne  a0, a1, failed
  .endm
  // Stream k at an address with strides 0.
  .macro stream k, address
  x_sset \k, \address, zero
  .endm
  .macro stream_is number, k, address
  li   gp, \number
  csrr a0, 0x808 + \k
  bne  a0, \address, failed
  .endm

test_main:
  la   t0, handler
  csrw mtvec, t0
  la   s0, data
  csrr s1, 0xfc3          // end of the SRAM
  marked

  // Post-increment accesses: misaligned before outside; pointer and registers stay.
  addi t0, s0, 4
  mv   t1, t0
  traps_at 1, 4, t1, x_ld64 f16, 8(t0)
  li   gp, 2
  bne  t0, t1, failed
  traps_at 3, 4, t1, x_ld128 f16, 8(t0)
  traps_at 4, 6, t1, x_st64 f16, 8(t0)
  li   t2, 8
  traps_at 5, 4, t1, x_ld64_r f16, t0, t2
  traps_at 6, 4, t1, x_ld128_r f16, t0, t2
  traps_at 7, 6, t1, x_st64_r f16, t0, t2
  addi t0, s0, 2
  traps_at 8, 4, t0, x_ld64 f16, 0(t0)
  bne  t0, t0, failed
  li   gp, 9
  mv   t0, s1
  traps_at 10, 5, s1, x_ld64 f16, -8(t0)
  bne  t0, s1, failed
  traps_at 11, 7, s1, x_st64 f16, -8(t0)
  bne  t0, s1, failed
  addi t0, s1, -8         // the first half of 128 bits lies inside
  mv   t1, t0
  traps_at 12, 5, t1, x_ld128 f16, 0(t0)
  bne  t0, t1, failed
  li   t0, 0x3fff8
  traps_at 13, 5, t0, x_ld64 f16, 0(t0)
  traps_at 14, 7, t0, x_st64 f16, 0(t0)
  li   t0, -8
  traps_at 15, 5, t0, x_ld128 f16, 0(t0)
  addi t0, s1, 4
  traps_at 16, 4, t0, x_ld64 f16, 0(t0)
  still_marked 17
  addi t0, s1, -16        // the last 128 bits are inside; the pointer may rest outside
  x_ld128 f20, 32(t0)
  addi t1, s1, 16
  li   gp, 18
  bne  t0, t1, failed

  // Streams: misaligned, then outside, for S0, then S1, then S2; no pointer moves, nothing is loaded or stored.
  addi t0, s0, 4          // misaligned
  mv   t1, s1             // outside
  mv   t2, s0             // good
  marked
  stream 0, t1
  stream 1, t0
  traps_at 20, 5, t1, x_ld2 f16, f18, X_STEP_8, X_STEP_8
  stream_is 21, 0, t1
  stream_is 22, 1, t0
  stream 0, t2
  traps_at 23, 4, t0, x_ld2 f16, f18, X_STEP_8, X_STEP_8
  stream_is 24, 0, t2
  stream 1, t1
  traps_at 25, 5, t1, x_ld2 f16, f18, X_STEP_8, X_STEP_8
  stream 1, t2
  stream 2, t0
  traps_at 26, 6, t0, x_ld2st f16, f18, f20, X_STEP_8, X_STEP_8, X_STEP_8
  stream_is 27, 0, t2
  stream_is 28, 1, t2
  stream_is 29, 2, t0
  stream 2, t1
  traps_at 30, 7, t1, x_ld2st f16, f18, f20, X_STEP_8, X_STEP_8, X_STEP_8
  traps_at 31, 7, t1, x_ldst f16, f20, X_STEP_8, X_STEP_8
  stream 0, t0
  traps_at 32, 4, t0, x_ldst f16, f20, X_STEP_8, X_STEP_8
  stream 1, t1
  traps_at 33, 4, t0, x_ld2st f16, f18, f20, X_STEP_8, X_STEP_8, X_STEP_8
  addi t3, s1, 4          // misaligned and outside
  stream 0, t3
  traps_at 34, 4, t3, x_ld2 f16, f18, X_STEP_8, X_STEP_8
  still_marked 35
  // A fault of the store leaves memory alone.
  la   t4, data
  lw   a0, 0(t4)
  li   a1, 0x11111111
  li   gp, 36
  bne  a0, a1, failed
  // A step may leave the pointer outside, or wrap.
  addi t0, s1, -8
  stream 0, t0
  stream 1, t2
  x_ld2 f20, f22, X_STEP_8, X_STEP_0
  stream_is 37, 0, s1
  stream_is 38, 1, t2

  // What is not a worker's, and words that are no instruction.
  illegal 40, 0x0a05058b            // x.amp.ldw
  illegal 41, 0x0805000b            // x.delay
  illegal 42, 0x0605000b            // x.exchange
  illegal 43, 0x000500ab            // x.ld64 of an odd register
  illegal 44, 0x0005112b            // x.ld128 of a register that is no multiple of four
  illegal 45, 0x0015202b            // x.st64 of an odd register
  illegal 46, 0x0002422b            // x.ld2 f4, f4
  illegal 47, 0x8003422b            // x.ld2 f4, f6 with bit 31
  illegal 48, 0x0013422b            // x.ld2 f4, f6 with an rs2 field
  illegal 49, 0x0605500b            // x.sset of stream 3
  illegal 50, 0x0005508b            // x.sset with an rd field
  illegal 51, 0x0015455b            // x.cvt.f32.f16 with an rs2 field
  illegal 52, 0x00b5105b            // x.add.f16v4 of odd registers
  illegal 53, 0xfe00005b            // custom-2, unknown funct7
  illegal 54, 0x0010407b            // x.amp.f32 with an rs2 field
  illegal 55, 0x0000b07b            // x.amp.f16 of an odd rs1
  illegal 56, 0x0c05458b            // bit operation with an unknown funct7
  // x.rpt with a reserved n or rd, where a legal one could stand: pc = 4 mod 8.
  illegal_second 57, 0x0015208b
  illegal_second 58, 0x0005200b
  illegal_second 59, 0x0415200b
  illegal_second 67, 0x0410300b
  illegal_second 68, 0x0000300b
  // x.rpt alone at an aligned pc: its next word is no AUX.
  li   a0, 3
  illegal_here 60, x_rpt a0, 1
  illegal_here 61, x_rpti 3, 1

  // FS = 0: nothing of f registers; streams, loops and bit operations go on.
  li   t0, 0x6000
  csrc mstatus, t0
  illegal_here 70, x_add_f16v2 f4, f4, f4
  illegal_here 71, x_ld64 f4, 0(s0)
  illegal_here 72, x_st64 f4, 0(s0)
  illegal_here 73, x_ld2 f4, f6, X_STEP_8, X_STEP_8
  illegal_here 74, x_urand32 f4
  illegal_here 75, x_amp_io f4, f6, 0
  illegal_here 76, x_mv64 f4, f6
  x_sset 0, s0, zero
  x_clz a2, s0
  li   a0, 3
  li   a2, 0
  .balign 8
  nop
  x_rpt a0, 1
  addi a2, a2, 1
  nop
  csrs mstatus, t0
  expect 77, a2, 3

  // Pairs. AUX faults (FS = 0): MAIN has happened, mepc is the second word.
  csrc mstatus, t0
  li   gp, 80
  li   s10, 2
  la   s9, 8f
  lw   s11, 8f
  la   s8, 9f
  li   a2, 0
  .balign 8
  addi a2, a2, 1
8:
  fadd.s f4, f4, f4
  j    failed
9:
  csrs mstatus, t0
  expect 81, a2, 1
  // Reserved frm: the same for an instruction that uses it.
  csrwi frm, 5
  li   gp, 82
  la   s9, 8f
  lw   s11, 8f
  la   s8, 9f
  .balign 8
  addi a2, a2, 1
8:
  fadd.s f4, f4, f4
  j    failed
9:
  expect 83, a2, 2
  // Xtile arithmetic does not care.
  x_add_f32v2 f4, f4, f4
  csrwi frm, 0
  // MAIN faults: neither has happened.
  marked
  addi t0, s0, 4
  li   gp, 84
  li   s10, 4
  mv   s11, t0
  la   s9, 8f
  la   s8, 9f
  .balign 8
8:
  x_ld64 f20, 8(t0)
  x_add_f32v2 f16, f18, f18
  j    failed
9:
  still_marked 85
  addi t1, s0, 4
  li   gp, 86
  bne  t0, t1, failed

  // Control inside an active loop: cause 26 before the instruction's own, taken or not.
  .macro loop_trap number, instruction:vararg
  li   gp, \number
  li   s10, 26
  la   s9, 8f
  lw   s11, 8f
  la   s8, 9f
  li   a2, 0
  li   a4, 5
  .balign 8
  nop
  x_rpt a4, 2
  addi a2, a2, 1
  nop
8:
  \instruction
  nop
9:
  csrr a0, 0xcc1
  expect \number, a0, 5     // the round counts as remaining
  expect \number, a2, 1     // the loop is over: the body's end below does nothing
  .endm
  loop_trap 90, beq zero, zero, 9f
  loop_trap 91, bne zero, zero, 9f
  loop_trap 92, j 9f
  loop_trap 93, jalr zero, 0(zero)
  loop_trap 94, mret
  loop_trap 95, ecall
  loop_trap 96, ebreak
  loop_trap 97, x_exit zero
  loop_trap 98, .word 0x00006063 | 0x40  // bltu zero, zero, not taken
  // Another x.rpt in the body: as MAIN of a pair it is legal by encoding, so it is 26.
  li   gp, 99
  la   s9, 8f
  lw   s11, 8f
  la   s8, 9f
  li   a4, 2
  .balign 8
  nop
  x_rpt a4, 1
8:
  x_rpt a4, 1
  fadd.s f4, f4, f4
  j    failed
9:
  // A body that went through leaves 0 remaining.
  li   a4, 2
  .balign 8
  nop
  x_rpt a4, 1
  nop
  nop
  csrr a0, 0xcc1
  expect 100, a0, 0
  // A fault in the second round: one round remains, and the loop does not go on after the handler.
  la   t0, data
  addi t0, t0, 0
  li   a2, 0
  li   gp, 101
  li   s10, 4
  addi s11, t0, 12
  la   s9, 8f
  la   s8, 9f
  li   a4, 2
  .balign 8
  nop
  x_rpt a4, 1
8:
  x_ld64 f4, 12(t0)
  fadd.s f6, f6, f6
9:
  addi a2, a2, 1
  csrr a0, 0xcc1
  expect 102, a0, 1
  expect 103, a2, 1

  la   s1, begin_signature
  sw   gp, 0(s1)
  j    pass
failed:
  j    fail

  trap_handler

  .data
  .balign 16
data:
  .word 0x11111111, 0x22222222, 0x33333333, 0x44444444
  .zero 64
  .globl begin_signature
  .globl end_signature
begin_signature:
  .zero 8
end_signature:
