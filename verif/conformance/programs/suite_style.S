// What public test suites do around their tests: probing for what a machine may lack with mtvec set to the next line,
// switching privilege as far as it goes, floating point enabled and dirty, a handler that looks for tohost, code that
// rewrites itself behind fence.i, a program of more than 4 MiB, both words of tohost stored in a loop.
  .option norvc
  .section .text.init, "ax"
  .globl rvtest_entry_point
rvtest_entry_point:
  j    reset
  .balign 64
trap_vector:
  csrr t5, mcause
  li   t6, 8
  beq  t5, t6, write_tohost
  li   t6, 9
  beq  t5, t6, write_tohost
  li   t6, 11
  beq  t5, t6, write_tohost
  la   t5, test_handler
  beqz t5, unexpected
  jr   t5
unexpected:
  ori  gp, gp, 1337
write_tohost:
  sw   gp, tohost, t5
  sw   zero, tohost + 4, t5
  j    write_tohost

  // Run `lines` with a trap going to the line after them.
  .macro probe lines:vararg
  la   t0, 1f
  csrw mtvec, t0
  \lines
  .balign 4
1:
  .endm

reset:
  .irp register, x1,x2,x3,x4,x5,x6,x7,x8,x9,x10,x11,x12,x13,x14,x15,x16,x17,x18,x19,x20,x21,x22,x23,x24,x25,x26,x27,x28,x29,x30,x31
  li   \register, 0
  .endr
0:
  csrr a0, mhartid
  bnez a0, 0b
  probe csrwi 0x744, 8              // mnstatus
  probe csrwi satp, 0
  li   a0, -1
  probe csrw pmpaddr0, a0
  probe csrwi pmpcfg0, 31
  csrwi mie, 0
  probe csrwi medeleg, 0
  probe csrwi mideleg, 0
  probe csrwi stvec, 0
  csrwi mstatus, 0
  la   t0, trap_vector
  csrw mtvec, t0
  csrr a0, mtvec
  bne  a0, t0, failed
  li   gp, 0
  lui  a0, 1
  slli a0, a0, 19
  bgez a0, failed                   // XLEN is 32
  // FS is 0 after the write above where there is F; enable it.
  csrr s11, misa
  andi s11, s11, 0x20
  beqz s11, 1f
  li   a0, 0x2000
  csrs mstatus, a0
  csrwi fcsr, 0
1:
  la   t0, 1f
  csrw mepc, t0
  csrr a0, mhartid
  mret                              // to machine mode: there is no other
1:
  j    tests

  .section .text
tests:
  // MPP cannot be cleared, so calls are machine mode's.
  li   gp, 2 << 1 | 1
  li   t0, 0x1800
  csrc mstatus, t0
  csrr t1, mstatus
  and  t1, t1, t0
  bne  t1, t0, failed
  // scall and sbreak: cause, mepc, and mtval of ebreak.
  li   gp, 3 << 1 | 1
  la   t0, call_handler
  csrw mtvec, t0
  la   s8, 1f
1:
  ecall
  j    failed
  li   gp, 4 << 1 | 1
  la   t0, break_handler
  csrw mtvec, t0
  la   s8, 1f
1:
  ebreak
  j    failed
  // Misaligned fetch: jalr with bit 1 set traps without link; with bit 0 it goes through.
  li   gp, 5 << 1 | 1
  la   t0, fetch_handler
  csrw mtvec, t0
  li   t1, 0
  la   t0, 1f
  li   s7, 0
1:
  jalr t1, 2(t0)
  bnez t1, failed
  li   t2, 1
  bne  s7, t2, failed
  la   t0, 1f
  jalr t1, 1(t0)
1:
  bne  t1, t0, failed
  // The same where compressed instructions follow: without C the jump traps, and they are never reached. The file's
  // header then says RVC, though its attributes do not.
  li   gp, 11 << 1 | 1
  la   t0, 1f
  li   t1, 0
1:
  jalr t1, 2(t0)
  j    2f
  .option rvc
  c.nop
  c.nop
  .option norvc
2:
  bnez t1, failed
  // C cannot be switched on or off.
  csrci misa, 4
  csrsi misa, 4
  csrr a0, misa
  andi a0, a0, 4
  bnez a0, failed
  // Illegal words, a write to a read-only CSR, sret, vectored mode.
  li   gp, 6 << 1 | 1
  la   t0, illegal_handler
  csrw mtvec, t0
  li   s7, 0
  .word 0
  .word 0xffffffff
  csrw cycle, zero
  sret
  csrr a0, sstatus
  srli a0, a0, 0
  li   t2, 5
  bne  s7, t2, failed
  csrr t0, mtvec
  ori  t1, t0, 1
  csrw mtvec, t1
  csrr t1, mtvec
  bne  t0, t1, failed               // no vectored mode
  // Triggers: a selector reads 0, data ignores writes, so breakpoints are skipped.
  li   gp, 7 << 1 | 1
  csrw tselect, zero
  csrr a1, tselect
  bnez a1, failed
  li   a0, 0x20000044
  csrw tdata1, a0
  csrr a1, tdata1
  beq  a0, a1, failed
  // Self-modification with fence.i, by halfwords.
  li   gp, 8 << 1 | 1
  li   a3, 111
  la   a0, 3f
  la   a1, 2f
  lh   t0, 0(a0)
  lh   t1, 2(a0)
  sh   t0, 0(a1)
  sh   t1, 2(a1)
  .word 0x0000100f                  // fence.i
2:
  addi a3, a3, 222
  li   a0, 444
  bne  a3, a0, failed
  // Dirty state of F, and its loads and stores at the end of a far section.
  li   gp, 9 << 1 | 1
  beqz s11, 4f
  la   t0, far_data
  flw  fa0, 0(t0)
  fadd.s fa0, fa0, fa0
  fsw  fa0, 4(t0)
  lw   a0, 4(t0)
  li   a1, 0x40000000
  bne  a0, a1, failed
  csrr a0, mstatus
  bgez a0, failed                   // SD
4:
  // A call into the far section and back: pc-relative over 4 MiB.
  li   gp, 10 << 1 | 1
  call far_code
  li   a1, 99
  bne  a0, a1, failed
  la   t0, begin_signature
  sw   a0, 0(t0)
  csrr a1, marchid
  sw   a1, 4(t0)
  li   gp, 1
  la   t0, trap_vector
  csrw mtvec, t0
  ecall                             // passes
3:
  addi a3, a3, 333
failed:
  j    write_tohost

  .balign 64
call_handler:
  csrr t0, mcause
  li   t1, 11
  j    2f
  .balign 64
break_handler:
  csrr t0, mcause
  li   t1, 3
2:
  bne  t0, t1, failed
  csrr t0, mepc
  bne  t0, s8, failed
  addi t0, t0, 8
  csrw mepc, t0
  mret
  .balign 64
fetch_handler:
  csrr t3, mcause
  bnez t3, failed
  csrr t3, mtval
  addi t4, t0, 2
  bne  t3, t4, failed
  csrr t3, mepc
  bne  t3, t0, failed
  addi t3, t3, 4
  csrw mepc, t3
  addi s7, s7, 1
  mret
  .balign 64
illegal_handler:
  csrr t3, mcause
  li   t4, 2
  bne  t3, t4, failed
  csrr t3, mepc
  lw   t4, 0(t3)
  csrr t5, mtval
  bne  t4, t5, failed
  addi t3, t3, 4
  csrw mepc, t3
  addi s7, s7, 1
  mret
  .weak test_handler

  .section .far, "awx"
  .zero 0x480000
far_data:
  .word 0x3f800000, 0
far_code:
  li   a0, 99
  ret

  .section .tohost, "aw", @progbits
  .balign 64
  .globl tohost
tohost:
  .dword 0
  .balign 64
  .globl fromhost
fromhost:
  .dword 0

  .data
  .balign 16
  .globl begin_signature
begin_signature:
  .word 0xdeadbeef, 0xdeadbeef, 0x12345678
  .balign 16
  .globl end_signature
end_signature:
