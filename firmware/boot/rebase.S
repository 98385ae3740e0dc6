/* tessera_rebase: turns the run lists of a function to the parameters of another call.
 *
 * Parameters that are given by address stand on a tile in blocks of equal layout, one for each list of arguments, block k
 * `stride` bytes above block k - 1 (Window in host/compiler/ir.h). Every word of the function's lists that points into the
 * block used last gets the distance to the block wanted now. The table (rebase_table in hw/machine/layouts.toml) is made by
 * host/compiler/rebase.cpp.
 *
 * Entered by x.run of all six workers with a0 = table, a1 = k, tp = worker index.
 * Slots: 10 if the block is the one used last, else 14, and 6 a word. */
#include "tessera/machine.h"
#include "tessera/xtile.h"

#define table a0
#define wanted a1
#define distance a2
#define place a3
#define end a4
#define own a5

  .section .text.tessera_rebase, "ax", @progbits
  .globl tessera_rebase
  .type tessera_rebase, @function
  .balign 8
tessera_rebase:
  lw    t0, TESSERA_REBASE_TABLE_STRIDE(table)
  slli  own, tp, 2
  add   own, own, table
  lw    distance, TESSERA_REBASE_TABLE_USED(own)
  mul   wanted, wanted, t0
  sub   distance, wanted, distance
  beqz  distance, done
  sw    wanted, TESSERA_REBASE_TABLE_USED(own)
  lw    end, TESSERA_REBASE_TABLE_END(table)
  addi  place, own, TESSERA_REBASE_TABLE_BYTES
  bgeu  place, end, done
word:
  lw    t0, 0(place)
  addi  place, place, 24
  lw    t1, 0(t0)
  add   t1, t1, distance
  sw    t1, 0(t0)
  bltu  place, end, word
done:
  x_exit x0
  .size tessera_rebase, . - tessera_rebase
