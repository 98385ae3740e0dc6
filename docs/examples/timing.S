// The worked example of docs/machine/timing.md: a supervisor and two workers that show each rule once.
#include "tessera/xtile.h"

  .option norelax
  .section .text.init
  .globl _start
_start:
  la      t0, worker
  la      t1, data
  x_run   1, t0, t1, zero    // worker 1 owns slot 0, in which the supervisor stands
  x_run   3, t0, t1, zero
  div     t3, t1, t0         // six slots
  x_run   1, t0, t1, zero    // waits until worker 1 has ended
  x_sync  t4, zero, 0        // local: waits for both
  li      t2, 20
  x_delay t2
  x_amp_ldw t1, t1           // three slots
  li      t0, 1
  la      t1, tohost
  sw      t0, 0(t1)

  .balign 8
worker:
  addi    a1, a1, 1
  fadd.s  fa0, fa1, fa2      // pairs
  flw     fa3, 0(a0)
  fadd.s  fa4, fa3, fa0      // reads what its neighbour loads: no pair
  addi    a1, a1, 1
  fdiv.s  fa5, fa4, fa3      // pairs, five slots
  x_rpti  3, 1
  fsgnj.s fa6, fa5, fa5      // pairs with x.rpt, acts once
  addi    a1, a1, 1          // the body, three rounds
  fadd.s  fa6, fa6, fa3
  x_exit  zero

  .data
  .balign 16
data:
  .float 1.5
  .zero 252

  .section .tohost, "aw"
  .balign 64
  .globl tohost
tohost:
  .dword 0
