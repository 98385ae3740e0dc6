// CSRs of all contexts (docs/machine/csrs.md) and the custom ones of the supervisor. Accesses come from stage X; a value
// written by an instruction is there for every instruction of a later issue cycle.
module tile_csr (
  input  logic        clk_i,
  input  logic        state_clk_i,    // gated: all but minstret; rises in reset and in cycles with state_on_o
  output logic        state_on_o,
  input  logic        rst_ni,
  input  logic [63:0] cycle_i,        // issue cycle of the instruction in X
  input  logic [2:0]  slot_i,         // of the current cycle
  // Identity pins.
  input  logic [11:0] tile_i,
  input  logic [7:0]  ipu_i,
  input  logic [12:0] ntiles_i,
  input  logic [31:0] sram_end_i,
  input  logic [31:0] hart_base_i,
  // Access from X. `access_i`: the instruction is a CSR one; `commit_i`: it does not trap for another reason.
  input  logic        access_i,
  input  logic        commit_i,
  input  logic [2:0]  ctx_i,
  input  logic [31:0] word_i,
  input  logic [31:0] rs1_i,
  output logic        illegal_o,
  output logic [31:0] read_o,
  output logic        written_o,
  output logic [31:0] after_o,        // value the CSR holds after the write
  input  logic [31:0] stream_csr_i,   // xs0..2, xst0..2 stand in tile_streams
  output logic        stream_csr_we_o,
  input  logic [31:0] rng_csr_i,      // xrng0..3 in xtile_rng
  output logic        rng_csr_read_o,
  output logic        rng_csr_we_o,
  // Trap or mret in X.
  input  logic        trap_i,
  input  logic [4:0]  trap_cause_i,
  input  logic [31:0] trap_epc_i,
  input  logic [31:0] trap_tval_i,
  input  logic        mret_i,
  output logic [31:0] mtvec_o,        // of ctx_i
  output logic [31:0] mepc_o,
  // Retired instructions of the instruction in X, and of an engine's instruction that completes now (supervisor).
  input  logic [1:0]  retire_i,
  input  logic        late_retire_i,
  // Floating-point state of the context in stage R, and flags from the write stage.
  input  logic [2:0]  r_ctx_i,
  output logic [2:0]  r_frm_o,
  output logic        x_fs_o,         // FS of ctx_i is not 0
  input  logic        flags_we_i,
  input  logic [2:0]  flags_ctx_i,
  input  logic [4:0]  flags_i,
  // x.run, x.exit.
  input  logic [5:0]  run_i,
  input  logic        quit_i,
  input  logic [2:0]  quit_slot_i,
  output logic        codes_pending_o, // x.exit codes on their way
  output logic [31:0] xwstack_o,
  output logic [31:0] xwstksz_o,
  output logic [31:0] xwra_o,
  output logic [31:0] xbase1_o,
  output logic [31:0] xbase2_o,
  output logic [31:0] xbase3_o,
  output logic [31:0] xsource_o,
  // What the supervisor's read-only CSRs show.
  input  logic [13:0] xwstat_i,       // as of the issue cycle
  input  logic [63:0] xsyncz_i,
  input  logic [31:0] xpktcnt_i,
  input  logic [31:0] xfaultcyc_i,
  input  logic [31:0] xrpt_i,         // of ctx_i
  // Debug port: read and write of CSR dbg_sel_i of context dbg_ctx_i; a write never meets an access of that context.
  input  logic [31:0] dbg_xrpt_i,
  input  logic [31:0] dbg_dcsr_i,     // xdcsr
  input  logic [13:0] dbg_wstat_i,    // xwstat as it stands
  input  logic        dbg_we_i,
  input  logic [31:0] dbg_wdata_i,
  input  logic        dbg_en_i,
  input  logic [2:0]  dbg_ctx_i,
  input  logic [11:0] dbg_sel_i,
  output logic [31:0] dbg_data_o
);
  logic [31:0] mtvec_q [0:7];
  logic [31:0] mscratch_q [0:7];
  logic [31:0] mepc_q [0:7];
  logic [31:0] mcause_q [0:7];
  logic [31:0] mtval_q [0:7];
  logic [63:0] offset_q [0:7];    // mcycle = cycle + offset
  logic [63:0] instret_q [0:7];
  logic [1:0]  mie_q [0:7];       // MPIE, MIE
  logic [7:0]  fs_off_q;          // FS = 0; workers come up with 3, the supervisor has no F
  logic [7:0]  fcsr_q [0:7];
  logic [31:0] xwstack_q, xwstksz_q, xwra_q, xbase1_q, xbase2_q, xbase3_q, xsource_q, xexit_q;

  // x.exit codes on their way: the code of x.exit issued at E is in xexit for instructions of E+6 on.
  logic [31:0] code_q [0:7];
  logic [7:0]  code_valid_q;
  logic [2:0]  code_slot;

  logic [11:0] number;
  logic [2:0]  f3;
  logic [1:0]  how;
  logic [31:0] operand, value, mstatus, hart;
  logic [63:0] mcycle, minstret;
  logic        writes, we;

  integer i;
  initial begin
    for (i = 0; i < 8; i = i + 1) begin
      mtvec_q[i]    = 32'd0;
      mscratch_q[i] = 32'd0;
      mepc_q[i]     = 32'd0;
      mcause_q[i]   = 32'd0;
      mtval_q[i]    = 32'd0;
      offset_q[i]   = 64'd0;
      instret_q[i]  = 64'd0;
      mie_q[i]      = 2'd0;
      fcsr_q[i]     = 8'd0;
      code_q[i]     = 32'd0;
    end
  end

  assign number   = word_i[31:20];
  assign f3       = word_i[14:12];
  assign operand  = f3[2] ? {27'd0, word_i[19:15]} : rs1_i;
  assign hart     = hart_base_i + {29'd0, ctx_i};
  assign mcycle   = cycle_i + offset_q[ctx_i];
  assign minstret = instret_q[ctx_i];
  assign mstatus  = {!fs_off_q[ctx_i] && (ctx_i != 3'd0), 16'd0, {2{!fs_off_q[ctx_i] && (ctx_i != 3'd0)}}, 2'b11, 3'd0,
                     mie_q[ctx_i][1], 3'd0, mie_q[ctx_i][0], 3'd0};
  assign x_fs_o   = !fs_off_q[ctx_i] && (ctx_i != 3'd0);
  assign r_frm_o  = fcsr_q[r_ctx_i][7:5];
  assign mtvec_o  = mtvec_q[ctx_i];
  assign mepc_o   = mepc_q[ctx_i];

  assign xwstack_o = xwstack_q;
  assign xwstksz_o = xwstksz_q;
  assign xwra_o    = xwra_q;
  assign xbase1_o  = xbase1_q;
  assign xbase2_o  = xbase2_q;
  assign xbase3_o  = xbase3_q;
  assign xsource_o = xsource_q;

  // Read and checks. csrrs and csrrc with field rs1 = 0 do not write.
  always_comb begin
    read_o    = 32'd0;
    how       = tessera_pkg::CSR_ABSENT;
    writes    = 1'b0;
    illegal_o = 1'b0;
    if (access_i) begin
      how       = tessera_pkg::csr_access(number, ctx_i == 3'd0);
      writes    = (f3[1:0] == 2'd1) || (word_i[19:15] != 5'd0);
      illegal_o = (how == tessera_pkg::CSR_ABSENT) || (writes && (number[11:10] == 2'd3)) ||
                  ((number[11:2] == 10'd0) && !x_fs_o);
      case (number)
        tessera_pkg::CSR_FFLAGS: read_o = {27'd0, fcsr_q[ctx_i][4:0]};
        tessera_pkg::CSR_FRM: read_o = {29'd0, fcsr_q[ctx_i][7:5]};
        tessera_pkg::CSR_FCSR: read_o = {24'd0, fcsr_q[ctx_i]};
        tessera_pkg::CSR_MSTATUS: read_o = mstatus;
        tessera_pkg::CSR_MISA: read_o = tessera_pkg::csr_reset(number, ctx_i == 3'd0);
        tessera_pkg::CSR_MTVEC: read_o = mtvec_q[ctx_i];
        tessera_pkg::CSR_MSCRATCH: read_o = mscratch_q[ctx_i];
        tessera_pkg::CSR_MEPC: read_o = mepc_q[ctx_i];
        tessera_pkg::CSR_MCAUSE: read_o = mcause_q[ctx_i];
        tessera_pkg::CSR_MTVAL: read_o = mtval_q[ctx_i];
        tessera_pkg::CSR_XWSTACK: read_o = xwstack_q;
        tessera_pkg::CSR_XWSTKSZ: read_o = xwstksz_q;
        tessera_pkg::CSR_XWRA: read_o = xwra_q;
        tessera_pkg::CSR_XBASE1: read_o = xbase1_q;
        tessera_pkg::CSR_XBASE2: read_o = xbase2_q;
        tessera_pkg::CSR_XBASE3: read_o = xbase3_q;
        tessera_pkg::CSR_XSOURCE: read_o = xsource_q;
        tessera_pkg::CSR_XEXIT: read_o = xexit_q;
        tessera_pkg::CSR_XRNG0, tessera_pkg::CSR_XRNG1, tessera_pkg::CSR_XRNG2, tessera_pkg::CSR_XRNG3:
          read_o = rng_csr_i;
        tessera_pkg::CSR_XS0, tessera_pkg::CSR_XS1, tessera_pkg::CSR_XS2, tessera_pkg::CSR_XST0, tessera_pkg::CSR_XST1,
        tessera_pkg::CSR_XST2: read_o = stream_csr_i;
        tessera_pkg::CSR_MCYCLE, tessera_pkg::CSR_CYCLE, tessera_pkg::CSR_TIME: read_o = mcycle[31:0];
        tessera_pkg::CSR_MCYCLEH, tessera_pkg::CSR_CYCLEH, tessera_pkg::CSR_TIMEH: read_o = mcycle[63:32];
        tessera_pkg::CSR_MINSTRET, tessera_pkg::CSR_INSTRET: read_o = minstret[31:0];
        tessera_pkg::CSR_MINSTRETH, tessera_pkg::CSR_INSTRETH: read_o = minstret[63:32];
        tessera_pkg::CSR_XWORKER: read_o = {29'd0, ctx_i - 3'd1};
        tessera_pkg::CSR_XRPT: read_o = xrpt_i;
        tessera_pkg::CSR_MIMPID: read_o = tessera_pkg::csr_reset(number, 1'b0);
        tessera_pkg::CSR_MHARTID: read_o = hart;
        tessera_pkg::CSR_XTILE: read_o = {20'd0, tile_i};
        tessera_pkg::CSR_XIPU: read_o = {24'd0, ipu_i};
        tessera_pkg::CSR_XNTILES: read_o = {19'd0, ntiles_i};
        tessera_pkg::CSR_XSRAMEND: read_o = sram_end_i;
        tessera_pkg::CSR_XWSTAT: read_o = {18'd0, xwstat_i};
        tessera_pkg::CSR_XSYNCZ: read_o = xsyncz_i[31:0];
        tessera_pkg::CSR_XSYNCZH: read_o = xsyncz_i[63:32];
        tessera_pkg::CSR_XPKTCNT: read_o = xpktcnt_i;
        tessera_pkg::CSR_XFAULTCYC: read_o = xfaultcyc_i;
        default: read_o = 32'd0;
      endcase
    end
  end

  // New value, and what of it the CSR keeps.
  assign we        = access_i && commit_i && writes && !illegal_o;
  assign written_o = we;
  assign rng_csr_read_o  = access_i && (number >= tessera_pkg::CSR_XRNG0) && (number <= tessera_pkg::CSR_XRNG3);
  assign rng_csr_we_o    = we && rng_csr_read_o;
  assign stream_csr_we_o = we && (number >= tessera_pkg::CSR_XS0) && (number <= tessera_pkg::CSR_XST2);
  always_comb begin
    value = 32'd0;
    if (access_i) begin
      case (f3[1:0])
        2'd1: value = operand;
        2'd2: value = read_o | operand;
        default: value = read_o & ~operand;
      endcase
    end
    after_o = value;
    if (we) case (number)
      tessera_pkg::CSR_FFLAGS: after_o = {27'd0, value[4:0]};
      tessera_pkg::CSR_FRM: after_o = {29'd0, value[2:0]};
      tessera_pkg::CSR_FCSR: after_o = {24'd0, value[7:0]};
      tessera_pkg::CSR_MSTATUS:
        after_o = {(value[14:13] != 2'd0) && (ctx_i != 3'd0), 16'd0, {2{(value[14:13] != 2'd0) && (ctx_i != 3'd0)}}, 2'b11,
                   3'd0, value[7], 3'd0, value[3], 3'd0};
      tessera_pkg::CSR_MISA: after_o = read_o;
      tessera_pkg::CSR_MTVEC, tessera_pkg::CSR_MEPC: after_o = {value[31:2], 2'b00};
      default: if (how == tessera_pkg::CSR_ZERO) after_o = 32'd0;
    endcase
  end

  assign codes_pending_o = (code_valid_q != 8'd0);
  assign code_slot = (slot_i < 3'd2) ? (slot_i + 3'd4) : (slot_i - 3'd2);

  always_ff @(posedge state_clk_i) begin
    if (!rst_ni) begin
      xwstack_q    <= 32'd0;
      xwstksz_q    <= 32'd0;
      xwra_q       <= 32'd0;
      xbase1_q     <= 32'd0;
      xbase2_q     <= 32'd0;
      xbase3_q     <= 32'd0;
      xsource_q    <= 32'd0;
      xexit_q      <= 32'd0;
      code_valid_q <= 8'd0;
      fs_off_q     <= 8'd0;
    end else begin
      if (we) begin
        case (number)
          tessera_pkg::CSR_XWSTACK: xwstack_q <= value;
          tessera_pkg::CSR_XWSTKSZ: xwstksz_q <= value;
          tessera_pkg::CSR_XWRA: xwra_q <= value;
          tessera_pkg::CSR_XBASE1: xbase1_q <= value;
          tessera_pkg::CSR_XBASE2: xbase2_q <= value;
          tessera_pkg::CSR_XBASE3: xbase3_q <= value;
          tessera_pkg::CSR_XSOURCE: xsource_q <= value;
          tessera_pkg::CSR_MSTATUS: fs_off_q[ctx_i] <= (value[14:13] == 2'd0);
          default: ;
        endcase
      end
      if (dbg_we) begin
        case (dbg_sel_i)
          tessera_pkg::CSR_XWSTACK: xwstack_q <= dbg_wdata_i;
          tessera_pkg::CSR_XWSTKSZ: xwstksz_q <= dbg_wdata_i;
          tessera_pkg::CSR_XWRA: xwra_q <= dbg_wdata_i;
          tessera_pkg::CSR_XBASE1: xbase1_q <= dbg_wdata_i;
          tessera_pkg::CSR_XBASE2: xbase2_q <= dbg_wdata_i;
          tessera_pkg::CSR_XBASE3: xbase3_q <= dbg_wdata_i;
          tessera_pkg::CSR_XSOURCE: xsource_q <= dbg_wdata_i;
          tessera_pkg::CSR_MSTATUS: fs_off_q[dbg_ctx_i] <= (dbg_wdata_i[14:13] == 2'd0);
          default: ;
        endcase
      end
      // x.exit at E executes in E+3; E+8 is the last cycle in which an instruction that may not see it executes.
      if (quit_i) code_valid_q[quit_slot_i] <= 1'b1;
      if (code_valid_q[code_slot]) code_valid_q[code_slot] <= 1'b0;
      if (code_valid_q[code_slot] || (we && (number == tessera_pkg::CSR_XEXIT)))
        xexit_q <= ((we && (number == tessera_pkg::CSR_XEXIT)) ? value : xexit_q) |
                   (code_valid_q[code_slot] ? code_q[code_slot] : 32'd0);
      if (dbg_we && (dbg_sel_i == tessera_pkg::CSR_XEXIT))
        xexit_q <= dbg_wdata_i | (code_valid_q[code_slot] ? code_q[code_slot] : 32'd0);
    end
  end

  always_ff @(posedge state_clk_i) begin
    if (quit_i) code_q[quit_slot_i] <= rs1_i;
  end

  // Few instructions write any of this, and flags are seldom new.
  assign state_on_o = we || trap_i || mret_i || quit_i || (run_i != 6'd0) || codes_pending_o || dbg_we_i ||
                      (flags_we_i && ((flags_i & ~fcsr_q[flags_ctx_i][4:0]) != 5'd0));

  // Per context. Two writers of one register in one cycle belong to different contexts.
  always_ff @(posedge state_clk_i) begin
    if (we) begin
      case (number)
        tessera_pkg::CSR_MTVEC: mtvec_q[ctx_i] <= {value[31:2], 2'b00};
        tessera_pkg::CSR_MSCRATCH: mscratch_q[ctx_i] <= value;
        tessera_pkg::CSR_MCYCLE: offset_q[ctx_i] <= {mcycle[63:32], value} - cycle_i;
        tessera_pkg::CSR_MCYCLEH: offset_q[ctx_i] <= {value, mcycle[31:0]} - cycle_i;
        default: ;
      endcase
    end
    if (dbg_we) begin
      case (dbg_sel_i)
        tessera_pkg::CSR_MTVEC: mtvec_q[dbg_ctx_i] <= {dbg_wdata_i[31:2], 2'b00};
        tessera_pkg::CSR_MSCRATCH: mscratch_q[dbg_ctx_i] <= dbg_wdata_i;
        default: ;
      endcase
    end
  end

  always_ff @(posedge state_clk_i) begin
    if (trap_i) begin
      mcause_q[ctx_i] <= {27'd0, trap_cause_i};
      mepc_q[ctx_i]   <= {trap_epc_i[31:2], 2'b00};
      mtval_q[ctx_i]  <= trap_tval_i;
      mie_q[ctx_i]    <= {mie_q[ctx_i][0], 1'b0};
    end else if (mret_i) begin
      mie_q[ctx_i] <= {1'b1, mie_q[ctx_i][1]};
    end else if (we) begin
      case (number)
        tessera_pkg::CSR_MCAUSE: mcause_q[ctx_i] <= value;
        tessera_pkg::CSR_MEPC: mepc_q[ctx_i] <= {value[31:2], 2'b00};
        tessera_pkg::CSR_MTVAL: mtval_q[ctx_i] <= value;
        tessera_pkg::CSR_MSTATUS: mie_q[ctx_i] <= {value[7], value[3]};
        default: ;
      endcase
    end
    if (dbg_we) begin
      case (dbg_sel_i)
        tessera_pkg::CSR_MCAUSE: mcause_q[dbg_ctx_i] <= dbg_wdata_i;
        tessera_pkg::CSR_MEPC: mepc_q[dbg_ctx_i] <= {dbg_wdata_i[31:2], 2'b00};
        tessera_pkg::CSR_MTVAL: mtval_q[dbg_ctx_i] <= dbg_wdata_i;
        tessera_pkg::CSR_MSTATUS: mie_q[dbg_ctx_i] <= {dbg_wdata_i[7], dbg_wdata_i[3]};
        default: ;
      endcase
    end
  end

  // minstret: a write to either half suppresses the instruction's own increment.
  always_ff @(posedge clk_i) begin
    if (we && (number == tessera_pkg::CSR_MINSTRET)) instret_q[ctx_i] <= {minstret[63:32], value};
    else if (we && (number == tessera_pkg::CSR_MINSTRETH)) instret_q[ctx_i] <= {value, minstret[31:0]};
    else if (retire_i != 2'd0) instret_q[ctx_i] <= minstret + {62'd0, retire_i};
    if (late_retire_i) instret_q[0] <= instret_q[0] + 64'd1;
    if (dbg_we && (dbg_sel_i == tessera_pkg::CSR_MINSTRET)) instret_q[dbg_ctx_i][31:0] <= dbg_wdata_i;
    if (dbg_we && (dbg_sel_i == tessera_pkg::CSR_MINSTRETH)) instret_q[dbg_ctx_i][63:32] <= dbg_wdata_i;
  end

  always_ff @(posedge state_clk_i) begin
    if (we) begin
      case (number)
        tessera_pkg::CSR_FFLAGS: fcsr_q[ctx_i][4:0] <= value[4:0];
        tessera_pkg::CSR_FRM: fcsr_q[ctx_i][7:5] <= value[2:0];
        tessera_pkg::CSR_FCSR: fcsr_q[ctx_i] <= value[7:0];
        default: ;
      endcase
    end
    if (flags_we_i) fcsr_q[flags_ctx_i][4:0] <= fcsr_q[flags_ctx_i][4:0] | flags_i;
    if (run_i != 6'd0) begin
      for (i = 1; i <= 6; i = i + 1) if (run_i[i-1]) fcsr_q[i] <= 8'd0;
    end
    if (dbg_we) begin
      case (dbg_sel_i)
        tessera_pkg::CSR_FFLAGS: fcsr_q[dbg_ctx_i][4:0] <= dbg_wdata_i[4:0];
        tessera_pkg::CSR_FRM: fcsr_q[dbg_ctx_i][7:5] <= dbg_wdata_i[2:0];
        tessera_pkg::CSR_FCSR: fcsr_q[dbg_ctx_i] <= dbg_wdata_i[7:0];
        default: ;
      endcase
    end
  end

  // Debug port: as the CSRs stand, without the rules of issue cycles and of FS. Only what the context has.
  logic [1:0]  dbg_how;
  logic        dbg_we, dbg_fs;
  logic [31:0] dbg_hart;
  logic [63:0] dbg_mcycle;
  always_comb begin
    dbg_how    = tessera_pkg::CSR_ABSENT;
    dbg_hart   = 32'd0;
    dbg_fs     = 1'b0;
    dbg_mcycle = 64'd0;
    if (dbg_en_i || dbg_we_i) begin
      dbg_how    = tessera_pkg::csr_access(dbg_sel_i, dbg_ctx_i == 3'd0);
      dbg_hart   = hart_base_i + {29'd0, dbg_ctx_i};
      dbg_fs     = !fs_off_q[dbg_ctx_i] && (dbg_ctx_i != 3'd0);
      dbg_mcycle = cycle_i + 64'd3 + offset_q[dbg_ctx_i];
    end
  end
  assign dbg_we = dbg_we_i && (dbg_how == tessera_pkg::CSR_RW);
  always_comb begin
    dbg_data_o = 32'd0;
    if (dbg_en_i && (dbg_sel_i == tessera_pkg::CSR_XDCSR)) begin
      dbg_data_o = dbg_dcsr_i;
    end else if (dbg_en_i && (dbg_how != tessera_pkg::CSR_ABSENT)) begin
      case (dbg_sel_i)
        tessera_pkg::CSR_FFLAGS: dbg_data_o = {27'd0, fcsr_q[dbg_ctx_i][4:0]};
        tessera_pkg::CSR_FRM: dbg_data_o = {29'd0, fcsr_q[dbg_ctx_i][7:5]};
        tessera_pkg::CSR_FCSR: dbg_data_o = {24'd0, fcsr_q[dbg_ctx_i]};
        tessera_pkg::CSR_MSTATUS:
          dbg_data_o = {dbg_fs, 16'd0, dbg_fs, dbg_fs, 2'b11, 3'd0, mie_q[dbg_ctx_i][1], 3'd0, mie_q[dbg_ctx_i][0],
                        3'd0};
        tessera_pkg::CSR_MISA, tessera_pkg::CSR_MIMPID:
          dbg_data_o = tessera_pkg::csr_reset(dbg_sel_i, dbg_ctx_i == 3'd0);
        tessera_pkg::CSR_MTVEC: dbg_data_o = mtvec_q[dbg_ctx_i];
        tessera_pkg::CSR_MSCRATCH: dbg_data_o = mscratch_q[dbg_ctx_i];
        tessera_pkg::CSR_MEPC: dbg_data_o = mepc_q[dbg_ctx_i];
        tessera_pkg::CSR_MCAUSE: dbg_data_o = mcause_q[dbg_ctx_i];
        tessera_pkg::CSR_MTVAL: dbg_data_o = mtval_q[dbg_ctx_i];
        tessera_pkg::CSR_MINSTRET, tessera_pkg::CSR_INSTRET: dbg_data_o = instret_q[dbg_ctx_i][31:0];
        tessera_pkg::CSR_MINSTRETH, tessera_pkg::CSR_INSTRETH: dbg_data_o = instret_q[dbg_ctx_i][63:32];
        tessera_pkg::CSR_XWSTACK: dbg_data_o = xwstack_q;
        tessera_pkg::CSR_XWSTKSZ: dbg_data_o = xwstksz_q;
        tessera_pkg::CSR_XWRA: dbg_data_o = xwra_q;
        tessera_pkg::CSR_XBASE1: dbg_data_o = xbase1_q;
        tessera_pkg::CSR_XBASE2: dbg_data_o = xbase2_q;
        tessera_pkg::CSR_XBASE3: dbg_data_o = xbase3_q;
        tessera_pkg::CSR_XSOURCE: dbg_data_o = xsource_q;
        tessera_pkg::CSR_XEXIT: dbg_data_o = xexit_q;
        tessera_pkg::CSR_XWORKER: dbg_data_o = {29'd0, dbg_ctx_i - 3'd1};
        tessera_pkg::CSR_XRPT: dbg_data_o = dbg_xrpt_i;
        tessera_pkg::CSR_MHARTID: dbg_data_o = dbg_hart;
        tessera_pkg::CSR_XTILE: dbg_data_o = {20'd0, tile_i};
        tessera_pkg::CSR_XIPU: dbg_data_o = {24'd0, ipu_i};
        tessera_pkg::CSR_XNTILES: dbg_data_o = {19'd0, ntiles_i};
        tessera_pkg::CSR_XSRAMEND: dbg_data_o = sram_end_i;
        tessera_pkg::CSR_XSYNCZ: dbg_data_o = xsyncz_i[31:0];
        tessera_pkg::CSR_XSYNCZH: dbg_data_o = xsyncz_i[63:32];
        tessera_pkg::CSR_XPKTCNT: dbg_data_o = xpktcnt_i;
        tessera_pkg::CSR_XFAULTCYC: dbg_data_o = xfaultcyc_i;
        tessera_pkg::CSR_XWSTAT: dbg_data_o = {18'd0, dbg_wstat_i};
        tessera_pkg::CSR_MCYCLE, tessera_pkg::CSR_CYCLE, tessera_pkg::CSR_TIME: dbg_data_o = dbg_mcycle[31:0];
        tessera_pkg::CSR_MCYCLEH, tessera_pkg::CSR_CYCLEH, tessera_pkg::CSR_TIMEH: dbg_data_o = dbg_mcycle[63:32];
        default: dbg_data_o = 32'd0;
      endcase
    end
  end
endmodule
