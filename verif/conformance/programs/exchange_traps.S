// The exchange engine's faults on a tile alone: cause, the descriptor in mtval, the cycle in xfaultcyc, mepc at the
// x.exchange; a phase without a fault; what uses a release up.
#include "tessera/xtile.h"
#include "traps.inc"
  .text
  .globl test_main

  // A release, then the exchange of a table that faults: cause, descriptor and the fault's cycle after the release.
  .macro faults number, cause, descriptor, after, table
  x_sync x0, x0, 1
  la   t4, \table
  la   t5, \descriptor
  traps_at \number, \cause, t5, x_exchange t4
  li   gp, \number
  csrr a0, 0xfc8                    // xfaultcyc
  csrr a1, 0xfc5                    // xsyncz
  sub  a0, a0, a1
  li   a1, \after
  bne  a0, a1, failed
  .endm

  .macro descriptor kind, base, time, count, address, peer
  .dword (\kind) | (\base) << 2 | (\time) << 4 | (\count) << 22 | (\address) << 34 | (\peer) << 52
  .endm
  .macro header sends, receives, length
  .dword (\sends) | (\receives) << 16 | (\length) << 32
  .endm

test_main:
  la   t0, handler
  csrw mtvec, t0
  la   s0, buffer
  csrw 0x7c3, s0                    // xbase1
  csrr a0, 0xfc3
  addi a0, a0, -4
  csrw 0x7c4, a0                    // xbase2: the last word of the SRAM
  csrw 0x7c6, zero

  // Before any release, and table 0.
  la   t4, good
  traps 1, 25, 0, x_exchange t4
  x_exchange x0
  // A phase that only sends: next issue at max(X + 12, L + 4), L its last word in cycle Z + 403.
  x_sync x0, x0, 1
  li   gp, 2
  x_exchange t4
  csrr a0, mcycle
  csrr a1, 0xfc5
  sub  a0, a0, a1
  li   a1, 407
  bne  a0, a1, failed
  // One exchange for a release.
  traps 3, 25, 0, x_exchange t4
  // An empty table: X + 12.
  x_sync x0, x0, 1
  la   t4, empty
  li   gp, 4
  csrr a0, mcycle
  x_exchange t4
  csrr a1, mcycle
  sub  a0, a1, a0
  li   a1, 18
  bne  a0, a1, failed

  // Underrun: nobody sends. Nothing is written.
  faults 10, 27, silent_receive, 500, silent
  la   a0, buffer
  lw   a0, 16(a0)
  expect 11, a0, 0
  // Overrun: earlier than X + 12; too near to the one before.
  faults 12, 28, early_send, 3, early
  faults 13, 28, near_second, 401, near
  faults 14, 28, inside_second, 405, inside
  // Bad: kind 3, a sweep in the send list, no such source, addresses.
  faults 15, 29, kind3_receive, 600, kind3
  faults 16, 29, sweep_send, 600, sweep
  faults 17, 29, source_receive, 600, source
  faults 18, 29, outside_send, 601, outside
  // A table that is not aligned or outside traps at once and leaves the release for another.
  x_sync x0, x0, 1
  la   t4, good + 4
  traps_at 19, 29, t4, x_exchange t4
  li   t4, 0x1000
  traps_at 20, 29, t4, x_exchange t4
  la   t4, good
  x_exchange t4
  // Lists beyond the SRAM: at X + 12, mtval is the table.
  x_sync x0, x0, 1
  csrr t4, 0xfc3
  addi t4, t4, -8
  la   t0, long_header
  lw   t1, 0(t0)
  sw   t1, 0(t4)
  lw   t1, 4(t0)
  sw   t1, 4(t4)
  traps_at 21, 29, t4, x_exchange t4
  // The earlier of two faults, receive before send in the same cycle; the other list goes on.
  faults 22, 29, both_receive, 600, both
  faults 23, 29, second_send, 590, second

  la   s1, begin_signature
  sw   gp, 0(s1)
  j    pass
failed:
  j    fail

  trap_handler

  .data
  .balign 8
good:
  header 1, 0, 1000
  descriptor 0, 1, 400, 4, 0, 0
empty:
  header 0, 0, 100
silent:
  header 0, 1, 1000
silent_receive:
  descriptor 0, 1, 500, 2, 4, 0
early:
  header 1, 0, 1000
early_send:
  descriptor 0, 1, 3, 1, 0, 0
near:
  header 2, 0, 1000
  descriptor 0, 1, 400, 1, 0, 0
near_second:
  descriptor 0, 1, 401, 1, 0, 0
inside:
  header 2, 0, 1000
  descriptor 0, 1, 400, 10, 0, 0
inside_second:
  descriptor 0, 1, 405, 1, 0, 0
kind3:
  header 0, 1, 1000
kind3_receive:
  descriptor 3, 1, 600, 1, 0, 0
sweep:
  header 2, 0, 1000
sweep_send:
  descriptor 2, 1, 600, 1, 0, 0
  .dword 1
source:
  header 0, 1, 1000
source_receive:
  descriptor 0, 1, 600, 1, 0, 77
outside:
  header 1, 0, 1000
outside_send:
  descriptor 0, 2, 600, 4, 0, 0
both:
  header 1, 1, 1000
  descriptor 3, 1, 600, 1, 0, 0
both_receive:
  descriptor 3, 1, 600, 1, 0, 0
second:
  header 1, 1, 1000
second_send:
  descriptor 3, 1, 590, 1, 0, 0
  descriptor 3, 1, 600, 1, 0, 0
long_header:
  header 5, 0, 100
buffer:
  .zero 64
  .globl begin_signature
  .globl end_signature
begin_signature:
  .zero 8
end_signature:
