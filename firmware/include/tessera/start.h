/* The start region: the first 64 bytes of SRAM (system.md section 2), written by the loader, read by boot and by code
 * that wants to know where it runs. Plain defines: C, C++ and assembly read this file. Offsets in bytes; every entry is
 * one 32-bit word. */
#ifndef TESSERA_START_H_
#define TESSERA_START_H_

#define TESSERA_START_BASE 0x00040000
#define TESSERA_START_BYTES 64

#define TESSERA_START_JUMP 0          /* `jal x0, tessera_boot`: the supervisor starts here */
#define TESSERA_START_VERSION 4       /* image version, TESSERA_START_VERSION_VALUE */
#define TESSERA_START_TILE 8          /* tile number within the IPU */
#define TESSERA_START_IPU 12          /* IPU index */
#define TESSERA_START_REPLICA 16      /* replica index */
#define TESSERA_START_CONTROL 20      /* entry of the control program, where boot goes */
#define TESSERA_START_STEPS 24        /* step table; boot puts it into gp */
#define TESSERA_START_STACKS 28       /* lowest byte of the six worker stacks, 16-byte aligned */
#define TESSERA_START_STACK_BYTES 32  /* of one worker; a multiple of 16 */
#define TESSERA_START_CODE 36         /* codelets */
#define TESSERA_START_LISTS 40        /* run lists and states */
#define TESSERA_START_EXCHANGE 44     /* exchange and packet tables */
#define TESSERA_START_DATA 48         /* variables */
#define TESSERA_START_END 52          /* first byte behind the last used one */

#define TESSERA_START_VERSION_VALUE 1
#define TESSERA_SUPERVISOR_STACK_BYTES 256 /* follows the worker stacks */

/* Run lists: six u32 record pointers, one for each worker (0: nothing to do). A record is
 *   u32 fn, u32 state, u16 count, u16 stride: fn(state, offset), state += stride, count (1..65535) times;
 * bit 15 of stride set: stride & 0x7fff words of increments follow; between two calls they are added to the first words
 * of the state, and after the last call those words are put back. A record with fn 0 ends the list. */
#define TESSERA_RECORD_FN 0
#define TESSERA_RECORD_STATE 4
#define TESSERA_RECORD_COUNT 8
#define TESSERA_RECORD_STRIDE 10
#define TESSERA_RECORD_BYTES 12
#define TESSERA_RECORD_MOVING 0x8000

#endif /* TESSERA_START_H_ */
