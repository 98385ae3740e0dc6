// Tile side of the instruction-set benchmark: a worker takes its own part of the memory, runs the kernel of `kind` for
// `rounds` and leaves its checksum in results[tp].
  .section .text.init
  .globl _start
_start:
  la   sp, stacks
  addi t0, tp, 1
  slli t0, t0, 10
  add  sp, sp, t0
  li   t1, 24576
  mul  a0, tp, t1
  la   t2, work
  add  a0, a0, t2
  la   t3, rounds
  lw   a1, 0(t3)
  la   t3, kind
  lw   a2, 0(t3)
  call iss_kernel
  la   t0, results
  slli t1, tp, 2
  add  t0, t0, t1
  sw   a0, 0(t0)
  .word 0x0000100b            // x.exit x0
  .data
  .globl rounds
  .globl kind
  .globl results
rounds:  .word 1
kind:    .word 0
results: .zero 24
  .bss
  .balign 16
stacks: .zero 6144
work:   .zero 6 * 24576
