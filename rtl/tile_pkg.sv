// What the modules of the tile share: types of decoded instructions, retire records and supervisor states; the range of
// the SRAM.
package tile_pkg;

  // ALU operation: {funct7[5], funct3} of the R format; bit operations in the numbers that leaves.
  typedef enum logic [3:0] {
    AluAdd  = 4'b0000,
    AluSll  = 4'b0001,
    AluSlt  = 4'b0010,
    AluSltu = 4'b0011,
    AluXor  = 4'b0100,
    AluSrl  = 4'b0101,
    AluOr   = 4'b0110,
    AluAnd  = 4'b0111,
    AluSub  = 4'b1000,
    AluSra  = 4'b1101,
    AluClz  = 4'b1001,
    AluCtz  = 4'b1010,
    AluCpop = 4'b1011,
    AluBrev = 4'b1100,
    AluShuf = 4'b1110
  } alu_op_e;

  // Everything but arithmetic on f registers: integer, loads and stores (to f registers too), control, custom-0 and 1.
  typedef struct packed {
    logic        legal;    // in the role it was decoded for
    logic        main;     // class MAIN: may be word 0 of a pair
    logic [3:0]  alu;      // alu_op_e
    logic        a_pc;     // operand a is the pc
    logic        a_zero;   // operand a is 0 (lui)
    logic        b_imm;    // operand b is imm
    logic [31:0] imm;
    logic        rd_x;     // writes x[rd]
    logic        load;
    logic        store;
    logic        fmem;     // load or store of f registers
    logic        wide;     // by doublewords: of f pairs
    logic        quad;     // two doublewords one behind the other: x.ld128
    logic        post;     // address x[rs1], which then becomes a + b
    logic        stream;   // addresses are stream pointers: load S0, second load S1, store S2
    logic [2:0]  uses;     // which of them
    logic        data_rd;  // the field rd names the store data
    logic [2:0]  count_rd; // f registers that a load writes from f[rd] on: 1, 2, 4
    logic        sset;     // x.sset
    logic        ldw;      // x.amp.ldw
    logic        branch;
    logic        jal;
    logic        jalr;
    logic        mul;
    logic        div;
    logic        csr;
    logic        ecall;
    logic        ebreak;
    logic        mret;
    logic        run;
    logic        sync;
    logic        exch;
    logic        pkt;
    logic        delay;
    logic        quit;     // x.exit
    logic        rpt;      // x.rpt, x.rpti
  } int_dec_t;

  // Which unit works on f registers.
  typedef enum logic [1:0] {
    UnitFpu   = 2'd0,      // RV32F: FPU, divider lane
    UnitSimd  = 2'd1,
    UnitTrans = 2'd2,      // transcendental
    UnitAmp   = 2'd3
  } f_unit_e;

  // Arithmetic on f registers: RV32F, custom-2, custom-3.
  typedef struct packed {
    logic       legal;
    logic       aux;       // class AUX: f registers only, may be word 1 of a pair
    logic [1:0] unit;      // f_unit_e
    logic [2:0] slots;
    logic [8:0] xop;       // tessera_pkg::OP_* if not for the FPU
    logic       draws;     // makes a PRNG step
    logic [4:0] op;        // fpu_pkg::fp_op_e
    logic       lane;      // fdiv or fsqrt
    logic       sqrt;
    logic       rounds;    // has an rm field
    logic       x_rd;      // result goes to x[rd]
    logic       x_rs1;     // operand a is x[rs1]
    logic [2:0] count_rd;  // f registers written from f[rd] on, read from f[rs1], f[rs2], f[rs3] on: 0, 1, 2, 4
    logic [2:0] count1;
    logic [2:0] count2;
    logic [2:0] count3;
  } fp_dec_t;

  typedef enum logic [2:0] {
    SupIdle    = 3'd0,
    SupRun     = 3'd1,
    SupHold    = 3'd2,  // implicit wait for workers
    SupSync    = 3'd3,  // x.sync, own workers not yet idle
    SupRelease = 3'd4,  // line raised, waits for the release
    SupExch    = 3'd5,  // exchange engine runs
    SupPacket  = 3'd6,  // packet engine runs
    SupExcept  = 3'd7
  } sup_state_e;

  // What a retire record says beside its addresses and values (docs/lockstep.md).
  typedef struct packed {
    logic       trap;
    logic       paired;
    logic       pending;   // a divider lane delivers value and flags later
    logic       excepted;  // the trap left the context excepted
    logic       xwe;       // x[rd] written
    logic       post;      // x[rs1] written instead
    logic [2:0] fcount;    // f registers written from f[rd] on: 0, 1, 2, 4
    logic       load;
    logic       load2;     // second doubleword
    logic       store;
    logic       wide;      // by doublewords
    logic [2:0] streams;   // stream pointers used or set
    logic       ldw;       // x.amp.ldw
    logic [1:0] unit;      // of an AUX: f_unit_e
    logic       drew;      // made a PRNG step
    logic       csr;       // CSR written
    logic       run;       // x.run
    logic [1:0] size;      // of the memory access
    logic [4:0] cause;
    logic [2:0] ctx;
  } retire_flags_t;

  function automatic logic in_sram(input logic [31:0] addr, input logic [31:0] sram_end);
    in_sram = (addr >= tessera_pkg::SRAM_BASE) && (addr < sram_end);
  endfunction

  // Do two operands of f registers, aligned to their counts (0, 1, 2, 4), have one in common?
  function automatic logic overlap(input logic [4:0] a, input logic [2:0] count_a, input logic [4:0] b,
                                   input logic [2:0] count_b);
    logic [2:0] either;
    either  = count_a | count_b;
    overlap = (count_a != 3'd0) && (count_b != 3'd0) && (a[4:2] == b[4:2]) && ((a[1] == b[1]) || either[2]) &&
              ((a[0] == b[0]) || (either[2:1] != 2'd0));
  endfunction

endpackage
