// The supervisor's control of workers: arguments and registers of x.run, exit codes, waits, x.sync, x.delay, and the time
// each takes. All of it in one control program with six workers.
#include "tessera/xtile.h"
#include "traps.inc"
  .text
  .globl test_main

  // Cycles from the read of mcycle before an instruction to the one after it.
  .macro measure number, cycles, instruction:vararg
  li   gp, \number
  csrr a0, mcycle
  \instruction
  csrr a1, mcycle
  sub  a0, a1, a0
  li   a1, \cycles
  bne  a0, a1, failed
  .endm

test_main:
  la   t0, handler
  csrw mtvec, t0
  la   s0, results
  la   a0, stacks
  csrw 0x7c0, a0
  li   a0, 256
  csrw 0x7c1, a0
  la   a0, stub
  csrw 0x7c2, a0
  csrw 0x7c7, zero

  // x.run of all: pc, a0, a1, sp, tp, ra; results are stored per worker.
  li   gp, 1
  la   a0, record
  li   a1, 0x1111
  x_run 7, a0, s0, a1
  x_sync x0, x0, 0
  li   t0, 0              // worker index
1:
  slli t1, t0, 5
  add  t1, t1, s0
  lw   a0, 0(t1)          // tp
  bne  a0, t0, failed
  lw   a0, 4(t1)          // sp = stacks + (index + 1) * 256
  addi a1, t0, 1
  slli a1, a1, 8
  la   a2, stacks
  add  a1, a1, a2
  bne  a0, a1, failed
  lw   a0, 8(t1)          // a0
  bne  a0, s0, failed
  lw   a0, 12(t1)         // a1
  li   a1, 0x1111
  bne  a0, a1, failed
  lw   a0, 16(t1)         // ra
  la   a1, stub
  bne  a0, a1, failed
  lw   a0, 20(t1)         // xworker
  bne  a0, t0, failed
  lw   a0, 24(t1)         // fcsr
  bnez a0, failed
  addi t0, t0, 1
  li   a0, 6
  bne  t0, a0, 1b
  expect_csr 2, 0x7c7, 0
  expect_csr 3, 0xfc4, 0

  // Exit codes: the OR of what workers gave, until written.
  la   a0, code
  li   a1, 1
  x_run 1, a0, a1, x0
  li   a1, 0x100
  x_run 4, a0, a1, x0
  li   a1, 0x80000000
  x_run 6, a0, a1, x0
  x_sync x0, x0, 0
  expect_csr 4, 0x7c7, 0x80000101
  csrw 0x7c7, zero
  expect_csr 5, 0x7c7, 0
  // Registers of a worker stay from run to run; fcsr is cleared.
  la   a0, count
  x_run 3, a0, s0, x0
  x_run 3, a0, s0, x0
  x_run 3, a0, s0, x0
  x_sync x0, x0, 0
  lw   a0, 0(s0)
  expect 6, a0, 3
  lw   a0, 4(s0)
  expect 7, a0, 0

  // Time. Nobody runs: a delay of n is max(6, n), x.sync local 6.
  measure 10, 12, x_delay zero
  li   t0, 5
  measure 11, 12, x_delay t0
  li   t0, 100
  measure 12, 106, x_delay t0
  measure 13, 12, x_sync x0, x0, 0
  x_exchange x0           // table 0: 1 slot, no wait, no trap
  x_packet x0
  measure 14, 12, x_exchange x0

  // A worker of 20 instructions and x.exit, in each slot: x.sync local takes the last x.exit + 6.
  .macro slot number, w
  la   a2, twenty
  li   gp, \number
  csrr a0, mcycle
  x_run \w, a2, x0, x0
  x_sync x0, x0, 0
  csrr a1, mcycle
  sub  a0, a1, a0
  // x.run at T = c + 6; first issue f of the worker: the first cycle >= T + 6 in its slot; 21 instructions; x.exit at f + 120.
  csrr a3, mcycle         // the slot in which the supervisor runs now stays its own; recompute from c
  sub  a3, a1, a0         // c
  addi a3, a3, 12
  li   t1, 6
  rem  t2, a3, t1
  li   t3, \w - 1
  sub  t3, t3, t2
  bgez t3, 3f
  addi t3, t3, 6
3:
  add  a3, a3, t3         // f
  addi a3, a3, 126        // x.exit + 6
  bne  a3, a1, failed
  .endm
  slot 20, 1
  slot 21, 2
  slot 22, 3
  slot 23, 4
  slot 24, 5
  slot 25, 6

  // xwstat: not idle from x.run + 6 on, until x.exit + 6. An instruction beside a running worker takes its 6 cycles, or
  // more when the slot it would come to is taken.
  la   a2, twenty
  li   gp, 30
  x_run 2, a2, x0, x0
  csrr a0, 0xfc4
  li   a1, 2
  bne  a0, a1, failed
  x_sync x0, x0, 0
  csrr a0, 0xfc4
  bnez a0, failed
  // x.run of a running worker waits for it.
  li   gp, 31
  sw   zero, 0(s0)
  la   a0, increment
  x_run 5, a0, s0, x0
  x_run 5, a0, s0, x0
  x_run 5, a0, s0, x0
  x_run 7, a0, s0, x0     // waits for all
  x_sync x0, x0, 0
  lw   a0, 0(s0)
  li   a1, 4              // 3 by worker 5, then all six at once: each adds 1 to what it read
  blt  a0, a1, failed
  li   a1, 9
  bgt  a0, a1, failed
  // Weights wait too: the worker's last store is there.
  li   gp, 32
  sw   zero, 8(s0)
  la   a0, late
  x_run 4, a0, s0, x0
  la   a1, weights
  x_amp_ldw a2, a1
  lw   a0, 8(s0)
  li   a1, 77
  bne  a0, a1, failed
  la   a1, weights
  addi a1, a1, 256
  bne  a2, a1, failed
  la   a1, weights
  x_amp_ldw a1, a1        // rd = rs1
  bne  a2, a1, failed
  la   a1, weights
  measure 33, 24, x_amp_ldw a2, a1

  // Votes: a tile alone is unanimous with itself; the vote comes back at the release.
  li   gp, 34
  li   t0, 1
  x_sync a0, t0, 1
  bne  a0, t0, failed
  x_sync a0, x0, 4
  bnez a0, failed

  // Traps of control.
  traps 40, 2, 0x0a0aa00b, .word 0x0a0aa00b            // custom-0, funct3 2 in the supervisor: x.rpt
  illegal 41, 0x0000600b                               // x.run of worker 0
  illegal 42, 0x0000640b                               // x.run of worker 8
  illegal 43, 0x0450000b                               // x.sync of zone 5
  illegal 44, 0x04f0000b                               // x.sync of zone 15
  illegal 45, 0x0a15000b                               // x.amp.ldw with an rs2 field
  illegal_here 46, x_ld64 f4, 0(a0)
  illegal_here 47, x_sset 0, a0, a1
  illegal_here 48, x_add_f16v2 f4, f4, f4
  illegal_here 49, x_exit a0
  illegal_here 50, flw f4, 0(a0)
  la   t0, weights + 8
  traps_at 51, 4, t0, x_amp_ldw a2, t0                 // 16-byte aligned
  csrr t0, 0xfc3
  addi t0, t0, -128
  traps_at 52, 5, t0, x_amp_ldw a2, t0                 // all 256 bytes inside
  // A worker with a bad pc faults itself: here with its own mtvec, set before.
  la   a0, set_handler
  x_run 2, a0, s0, x0
  li   a0, 0x42
  x_run 2, a0, s0, x0
  x_sync x0, x0, 0
  lw   a0, 16(s0)
  expect 53, a0, 0                                     // cause: misaligned
  lw   a0, 20(s0)
  expect 54, a0, 0x42
  // ra is the stub: a plain function returns to it.
  expect_csr 55, 0x7c7, 0
  la   a0, plain
  x_run 1, a0, s0, x0
  x_sync x0, x0, 0
  lw   a0, 0(s0)
  expect 56, a0, 0x777

  la   s1, begin_signature
  sw   gp, 0(s1)
  j    pass
failed:
  j    fail

  trap_handler

  // Code of workers.
stub:
  x_exit zero
record:
  slli t0, tp, 5
  add  t0, t0, a0
  sw   tp, 0(t0)
  sw   sp, 4(t0)
  sw   a0, 8(t0)
  sw   a1, 12(t0)
  sw   ra, 16(t0)
  csrr t1, 0xcc0
  sw   t1, 20(t0)
  csrr t1, fcsr
  sw   t1, 24(t0)
  ret
code:
  x_exit a0
count:
  addi s5, s5, 1          // 0 at power-on
  sw   s5, 0(a0)
  csrr t0, fcsr
  sw   t0, 4(a0)
  li   t0, 0x75
  csrw fcsr, t0
  x_exit zero
twenty:
  .rept 20
  nop
  .endr
  x_exit zero
increment:
  lw   t0, 0(a0)
  addi t0, t0, 1
  .rept 10
  nop
  .endr
  sw   t0, 0(a0)
  x_exit zero
late:
  .rept 30
  nop
  .endr
  li   t0, 77
  sw   t0, 8(a0)
  x_exit zero
set_handler:
  la   t0, worker_trap
  csrw mtvec, t0
  csrw mscratch, a0
  x_exit zero
  .balign 4
worker_trap:
  csrr t0, mscratch
  csrr t1, mcause
  sw   t1, 16(t0)
  csrr t1, mtval
  sw   t1, 20(t0)
  x_exit zero
plain:
  li   t0, 0x777
  sw   t0, 0(a0)
  ret

  .data
  .balign 16
weights:
  .zero 256
results:
  .zero 256
stacks:
  .zero 2048
  .globl begin_signature
  .globl end_signature
begin_signature:
  .zero 8
end_signature:
