// Traps of every cause that one context can raise by itself, machine-mode CSRs, code that is written while it runs.
// Runs in the supervisor and in a worker; what differs is chosen by bit 5 (F) of misa. Not for Linux user mode.
#include "traps.inc"
  .text
  .globl test_main

test_main:
  la   t0, handler
  csrw mtvec, t0
  csrr s0, misa
  andi s0, s0, 0x20            // not 0 in a worker
  la   s1, begin_signature

  // Causes 3 and 11, 2.
  traps 1, 11, 0, ecall
  li   gp, 2
  la   t0, 8f
  traps_at 2, 3, t0, ebreak
  traps 3, 2, 0x00000000, .word 0x00000000
  traps 4, 2, 0xffffffff, .word 0xffffffff
  traps 5, 2, 0x10200073, .word 0x10200073   // sret
  traps 6, 2, 0x12000073, .word 0x12000073   // sfence.vma
  traps 7, 2, 0x18002573, .word 0x18002573   // csrr a0, satp
  traps 8, 2, 0x30202573, .word 0x30202573   // csrr a0, medeleg
  traps 9, 2, 0xc0051073, .word 0xc0051073   // csrw cycle, a0
  traps 10, 2, 0xf1451073, .word 0xf1451073  // csrw mhartid, a0
  traps 11, 2, 0x7b002573, .word 0x7b002573  // csrr a0, xdcsr
  traps 12, 2, 0xc0356073, .word 0xc0356073  // csrsi hpmcounter3, 10: reads 0, but is read-only
  traps 13, 2, 0x02005013, .word 0x02005013  // srli with bit 5 of the shift amount

  // Causes 4 to 7: misaligned before outside; nothing is written.
  la   t0, scratch
  addi t1, t0, 1
  addi t2, t0, 2
  li   a5, 0x1234
  traps_at 20, 4, t1, lh a5, 1(t0)
  traps_at 21, 4, t1, lw a5, 1(t0)
  traps_at 22, 4, t2, lw a5, 2(t0)
  traps_at 23, 6, t1, sh a5, 1(t0)
  traps_at 24, 6, t2, sw a5, 2(t0)
  li   a6, 0x1234
  bne  a5, a6, failed
  lw   a6, 0(t0)
  bnez a6, failed
  li   t0, 0x3fffc
  li   t1, 0x3fffd
  traps_at 25, 5, t0, lw a5, 0(t0)
  traps_at 26, 7, t0, sw a5, 0(t0)
  traps_at 27, 4, t1, lw a5, 1(t0)
  csrr t0, 0xfc3                              // xsramend
  traps_at 28, 5, t0, lbu a5, 0(t0)
  traps_at 29, 7, t0, sb a5, 0(t0)
  lbu  a5, -1(t0)
  lw   a5, -4(t0)
  li   t0, -4
  traps_at 30, 5, t0, lw a5, 0(t0)

  // Cause 0: the jump traps; the link register keeps its value. A branch not taken does not trap.
  la   t0, scratch
  addi t1, t0, 2
  li   ra, 77
  traps_at 31, 0, t1, jalr ra, 2(t0)
  li   a0, 77
  bne  ra, a0, failed
  la   t0, 8f
  addi t1, t0, 6
  traps_at 32, 0, t1, .word 0x00000363        // beq x0, x0, .+6
  .word 0x00001363                            // bne x0, x0, .+6

  // Cause 1: mepc and mtval are the target.
  li   gp, 33
  li   s10, 1
  li   s11, 0x100
  li   s9, 0x100
  la   s8, 9f
  jr   s11
9:

  // What only one role has.
  beqz s0, supervisor
  traps 40, 2, 0x0000700b, .word 0x0000700b   // custom-0, funct3 7: no instruction
  traps 41, 2, 0x0200000b, .word 0x0200000b   // custom-0, funct7 1: no instruction
  traps 42, 2, 0x0000608b, .word 0x0000608b   // x.run 1 in a worker
  traps 43, 2, 0x0400000b, .word 0x0400000b   // x.sync in a worker
  traps 44, 2, 0x7c002573, .word 0x7c002573   // csrr a0, xwstack
  traps 45, 2, 0x00005053, .word 0x00005053  // fadd.s with reserved rounding field 5
  csrwi frm, 5
  traps 46, 2, 0x00007053, .word 0x00007053   // fadd.s dyn with reserved frm
  csrwi frm, 0
  // FS = 0: no f registers, no fcsr.
  li   t0, 0x6000
  csrc mstatus, t0
  traps 47, 2, 0x00007053, .word 0x00007053
  traps 48, 2, 0x00102573, .word 0x00102573   // csrr a0, fflags
  la   t1, scratch
  traps 49, 2, 0x00032007, .word 0x00032007   // flw ft0, 0(t1)
  li   gp, 50
  csrr a0, mstatus
  li   a1, 0x1880                             // mstatus without FS and SD
  li   a2, 0x80
  or   a0, a0, a2
  bne  a0, a1, failed
  csrs mstatus, t0
  expect_csr 51, 0xcc0, 0                     // xworker of worker 1
  expect_csr 52, misa, 0x40801120
  j    common
supervisor:
  traps 60, 2, 0x00007053, .word 0x00007053   // fadd.s
  traps 61, 2, 0x0005100b, .word 0x0005100b  // x.exit a0
  traps 62, 2, 0x00102573, .word 0x00102573   // csrr a0, fflags
  traps 63, 2, 0xcc002573, .word 0xcc002573   // csrr a0, xworker
  la   t1, scratch
  traps 64, 2, 0x00032007, .word 0x00032007   // flw
  expect_csr 65, misa, 0x40801100
  expect_csr 66, 0xfc4, 0                     // xwstat: nobody runs
  // Table 0 does nothing; a table before any release traps.
  .word 0x0600000b                            // x.exchange x0
  .word 0x0c00000b                            // x.packet x0
  la   a4, scratch
  traps 67, 25, 0, .word 0x0607000b           // x.exchange a4
  traps 68, 25, 0, .word 0x0c07000b           // x.packet a4
  li   t0, 0x6000
  csrs mstatus, t0                            // FS stays 0
  li   gp, 69
  csrr a0, mstatus
  and  a0, a0, t0
  bnez a0, failed

common:
  expect_csr 70, mhartid, 0
  expect_csr 71, mvendorid, 0
  expect_csr 72, mie, 0
  expect_csr 73, 0x7a0, 0
  // mtvec and mepc keep no low bits; mscratch keeps all.
  li   gp, 74
  la   t0, handler
  ori  t1, t0, 3
  csrw mtvec, t1
  csrr a0, mtvec
  bne  a0, t0, failed
  li   gp, 75
  li   t0, -1
  csrw mepc, t0
  csrrw a0, mscratch, t0
  csrr a0, mepc
  li   a1, -4
  bne  a0, a1, failed
  csrr a0, mscratch
  bne  a0, t0, failed
  // Set and clear bits; no write when the source is x0.
  li   gp, 76
  li   t0, 0x0f0
  csrrc a0, mscratch, t0
  csrrs a0, mscratch, x0
  li   a1, 0xffffff0f
  bne  a0, a1, failed
  csrrsi a0, mscratch, 16
  csrrci a0, mscratch, 1
  csrr a0, mscratch
  li   a1, 0xffffff1e
  bne  a0, a1, failed
  // mret: MIE takes MPIE, MPIE becomes 1.
  li   gp, 77
  la   t0, 1f
  csrw mepc, t0
  li   t0, 0x88
  csrc mstatus, t0
  li   t0, 0x80
  csrs mstatus, t0
  mret
  j    failed
1:
  csrr a0, mstatus
  andi a0, a0, 0x88
  li   a1, 0x88
  bne  a0, a1, failed
  // A trap moves MIE to MPIE: the handler keeps what it saw in s7.
  traps 78, 11, 0, ecall
  andi a0, s7, 0x88
  li   a1, 0x80
  bne  a0, a1, failed

  // Counters: an instruction is six cycles, a division thirty-six; instret counts what lies between.
  li   gp, 80
  csrr a0, mcycle
  nop
  nop
  csrr a1, mcycle
  sub  a0, a1, a0
  li   a1, 18
  bne  a0, a1, failed
  csrr a0, mcycle
  div  a2, a0, a1
  csrr a1, mcycle
  sub  a0, a1, a0
  li   a1, 42
  bne  a0, a1, failed
  li   gp, 81
  csrr a0, minstret
  nop
  csrr a1, instret
  sub  a0, a1, a0
  li   a1, 2
  bne  a0, a1, failed
  csrwi minstret, 10
  csrr a0, minstret
  li   a1, 10
  bne  a0, a1, failed
  li   gp, 82
  li   t0, 1000
  csrw mcycle, t0
  csrr a0, cycle
  li   a1, 1006
  bne  a0, a1, failed
  csrwi mcycleh, 3
  csrr a0, cycleh
  li   a1, 3
  bne  a0, a1, failed

  // Code written while it runs: the very next instruction, and one that stood decoded before.
  li   gp, 90
  la   t0, 1f
  lw   t1, replacement
  sw   t1, 0(t0)
1:
  li   a0, 1                                  // becomes li a0, 2
  li   a1, 2
  bne  a0, a1, failed
  li   gp, 91
  li   a2, 0
  la   t0, 2f
  li   a3, 3
1:
  addi a2, a2, 1
2:
  li   a0, 1
  add  a2, a2, a0
  sw   t1, 0(t0)                              // from the second round on: 2
  addi a3, a3, -1
  bnez a3, 1b
  li   a1, 8
  bne  a2, a1, failed
  li   gp, 92
  la   t0, 1f                                 // one byte of an instruction
  li   t1, 0x02
  sb   t1, 1(t0)
1:
  lui  t2, 0                                  // 0x000003b7 becomes 0x000002b7: lui t0, 0
  bnez t0, failed
  beqz s0, done
  // A pair is fetched once: MAIN stores over its own AUX, which still acts as it was.
  li   gp, 93
  fmv.w.x fa0, x0
  li   t0, 0x3f800000
  fmv.w.x fa1, t0
  la   t0, 1f + 4
  lw   t1, other_float
  .balign 8
1:
  sw   t1, 0(t0)
  fadd.s fa0, fa0, fa1                        // becomes fsub.s
  fmv.x.w a0, fa0
  li   a1, 0x3f800000
  bne  a0, a1, failed
done:
  sw   gp, 0(s1)
  j    pass
failed:
  j    fail

  trap_handler

replacement:
  li   a0, 2
other_float:
  fsub.s fa0, fa0, fa1

  .data
  .balign 8
scratch:
  .zero 16
  .globl begin_signature
  .globl end_signature
begin_signature:
  .zero 8
end_signature:
