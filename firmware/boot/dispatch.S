/* tessera_dispatch: runs a worker's records of a run list: six record pointers, one a worker, 0 for nothing to do.
 *
 * A record is {u32 fn; u32 state; u16 count; u16 stride}: fn(state, offset), state += stride, count (1..65535) times. With
 * bit 15 of stride set, stride & 0x7fff words of increments follow: between two calls they are added to the first words
 * of the state, and after the last call the words are put back, so that the list can run again. fn 0 ends the list.
 *
 * Entered by x.run of all six workers with a0 = run list, a1 = offset for the vertices, tp = worker index. A worker owes
 * its registers to nobody, so s registers hold state over the calls and nothing is saved.
 *
 * Slots beside the vertices themselves (their return is theirs); the fetch of the next function counts to the record:
 *   entry 7, end of list 1; a worker with pointer 0: 6 in all;
 *   array record 7, and 6 a vertex;
 *   moving record 25, and 6 a vertex, 4 a word between two calls, 5 a word to put the words back; with more than 16 words
 *   12, and 8 a vertex, 7 a word between two calls, 8 a word to put back. */
#include "tessera/machine.h"
#include "tessera/xtile.h"

#define p s0
#define offset s1
#define fn s2
#define state s3
#define count s4
#define stride s5
#define unrolled s6
#define restore s7
#define rounds s8
#define UNROLLED_WORDS 16

  .section .text.tessera_dispatch, "ax", @progbits
  .globl tessera_dispatch
  .type tessera_dispatch, @function
  .balign 8
tessera_dispatch:
  slli  t0, tp, 2
  add   a0, a0, t0
  lw    p, 0(a0)
  mv    offset, a1
  beqz  p, done
next:
  lw    fn, TESSERA_DISPATCH_RECORD_FN(p)
  beqz  fn, done
record:
  lw    state, TESSERA_DISPATCH_RECORD_STATE(p)
  lhu   count, TESSERA_DISPATCH_RECORD_COUNT(p)
  lh    stride, TESSERA_DISPATCH_RECORD_STRIDE(p)
  addi  p, p, TESSERA_DISPATCH_RECORD_BYTES
  bltz  stride, moving
array:
  mv    a0, state
  mv    a1, offset
  jalr  fn
  add   state, state, stride
  addi  count, count, -1
  bnez  count, array
  lw    fn, TESSERA_DISPATCH_RECORD_FN(p)
  bnez  fn, record
done:
  x_exit x0

moving:
  slli  stride, stride, 17 /* low 15 bits: words */
  srli  stride, stride, 17
  addi  rounds, count, -1
  li    t0, UNROLLED_WORDS
  bgtu  stride, t0, moving_long
  /* Entry points into the unrolled sequences: 4 instructions a word to add, 5 to put back. */
  slli  t1, stride, 4
  lui   t2, %hi(move)
  addi  t2, t2, %lo(move)
  sub   unrolled, t2, t1
  slli  t2, stride, 2
  add   t1, t1, t2
  lui   t2, %hi(put_back)
  addi  t2, t2, %lo(put_back)
  sub   restore, t2, t1
  j     move

  .set  word, UNROLLED_WORDS
  .rept UNROLLED_WORDS
  .set  word, word - 1
  lw    t0, 4 * word(p)
  lw    t1, 4 * word(state)
  add   t1, t1, t0
  sw    t1, 4 * word(state)
  .endr
move:
  mv    a0, state
  mv    a1, offset
  jalr  fn
  addi  count, count, -1
  beqz  count, moved
  jr    unrolled
moved:
  jr    restore

  .set  word, UNROLLED_WORDS
  .rept UNROLLED_WORDS
  .set  word, word - 1
  lw    t0, 4 * word(p)
  lw    t1, 4 * word(state)
  mul   t0, t0, rounds
  sub   t1, t1, t0
  sw    t1, 4 * word(state)
  .endr
put_back:
  slli  stride, stride, 2
  add   p, p, stride
  j     next

moving_long:
  slli  restore, stride, 2
  add   restore, p, restore /* end of the increments */
long_vertex:
  mv    a0, state
  mv    a1, offset
  jalr  fn
  addi  count, count, -1
  beqz  count, long_back
  mv    t2, p
  mv    t3, state
long_word:
  lw    t0, 0(t2)
  lw    t1, 0(t3)
  add   t1, t1, t0
  sw    t1, 0(t3)
  addi  t2, t2, 4
  addi  t3, t3, 4
  bne   t2, restore, long_word
  j     long_vertex
long_back:
  lw    t0, 0(p)
  lw    t1, 0(state)
  mul   t0, t0, rounds
  sub   t1, t1, t0
  sw    t1, 0(state)
  addi  p, p, 4
  addi  state, state, 4
  bne   p, restore, long_back
  j     next
  .size tessera_dispatch, . - tessera_dispatch
