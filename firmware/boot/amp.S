/* tessera_amp: the supervisor's loop over the AMP vertices of a compute step (VERTEX_AMP in tessera/vertex.h).
 *
 * Called with a0 = record list, ra = return address. A record is six words, made by host/codelets/amp_record.h:
 *   fn, state; address of the weight sets; address of the offset words less 4 k; number of sets plus k; 12 k
 * where k = - sets mod 16 is how many of the unrolled sets the first pass leaves out. fn 0 ends the list. For every set:
 * offset into a register, x.amp.ldw, x.run of all six workers with fn, state and offset. x.amp.ldw takes effect when the
 * workers of the set before have left, so the load of the offset is free unless all leave together. The last set is not
 * waited for: the next x.run waits worker by worker, everything else for all of them.
 *
 * Keeps s registers, gp and sp. Cycles while no worker runs: a set 30 (lw 6, x.amp.ldw 18, x.run 6), 18 more behind every
 * sixteen sets, 54 before the first set of a record, and 6 at the call. While six workers run the supervisor has no slot.
 */
#include "tessera/machine.h"
#include "tessera/xtile.h"

#define list a0
#define fn a1
#define state a2
#define weights a3
#define offset a4
#define offsets a5
#define sets a6
#define UNROLLED_SETS 16
#define RECORD_BYTES 24

  .section .text.tessera_amp, "ax", @progbits
  .globl tessera_amp
  .type tessera_amp, @function
  .balign 8
tessera_amp:
  lw    fn, 0(list)
record:
  lw    t1, 20(list)
  lui   t0, %hi(loop)
  add   t0, t0, t1
  lw    state, 4(list)
  lw    weights, 8(list)
  lw    offsets, 12(list)
  lw    sets, 16(list)
  addi  list, list, RECORD_BYTES
  jalr  x0, %lo(loop)(t0)

loop:
  .set  set, 0
  .rept UNROLLED_SETS
  lw    offset, 4 * set(offsets)
  x_amp_ldw weights, weights
  x_run 7, fn, state, offset
  .set  set, set + 1
  .endr
  addi  sets, sets, -UNROLLED_SETS
  addi  offsets, offsets, 4 * UNROLLED_SETS
  bnez  sets, loop
  lw    fn, 0(list)
  bnez  fn, record
  ret
  .size tessera_amp, . - tessera_amp
