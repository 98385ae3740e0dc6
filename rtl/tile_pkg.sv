// What the modules of the tile share: types of decoded instructions, retire records and supervisor states; the range of
// the SRAM.
package tile_pkg;

  // ALU operation: {funct7[5], funct3} of the R format.
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
    AluSra  = 4'b1101
  } alu_op_e;

  // Everything but F arithmetic: integer, loads and stores (flw, fsw too), control, custom-0.
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
    logic        fmem;     // flw or fsw
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
  } int_dec_t;

  // F arithmetic: what goes to the FPU or a divider lane.
  typedef struct packed {
    logic       legal;
    logic       aux;       // class AUX: f registers only, may be word 1 of a pair
    logic [4:0] op;        // fpu_pkg::fp_op_e
    logic       lane;      // fdiv or fsqrt
    logic       sqrt;
    logic       rounds;    // has an rm field
    logic       x_rd;      // result goes to x[rd]
    logic       x_rs1;     // operand a is x[rs1]
    logic       reads1;    // f[rs1], f[rs2], f[rs3] are operands
    logic       reads2;
    logic       reads3;
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

  // What a retire record says beside its addresses and values (core.md section 9).
  typedef struct packed {
    logic       trap;
    logic       paired;
    logic       pending;   // a divider lane delivers value and flags later
    logic       excepted;  // the trap left the context excepted
    logic       xwe;       // x[rd] written
    logic       fwe;       // f[rd] written
    logic       load;
    logic       store;
    logic       csr;       // CSR written
    logic       run;       // x.run
    logic [1:0] size;      // of the memory access
    logic [4:0] cause;
    logic [2:0] ctx;
  } retire_flags_t;

  function automatic logic in_sram(input logic [31:0] addr, input logic [31:0] sram_end);
    in_sram = (addr >= tessera_pkg::SRAM_BASE) && (addr < sram_end);
  endfunction

endpackage
