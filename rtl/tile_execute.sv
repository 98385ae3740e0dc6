// Stage X of the tile: arithmetic, jumps, CSRs, traps. Decides whether an instruction takes effect, and tells issue,
// lanes, engines, memory and records what it does. Instructions that are held come from tile_supervisor.
module tile_execute (
  input  logic               clk_i,
  input  logic               state_clk_i,        // gated, of CSRs, loops, streams
  input  logic               rst_ni,
  // Time and pins, registered.
  input  logic [2:0]         slot_i,
  input  logic [2:0]         x_slot_i,           // slot of the instruction in X
  input  logic [11:0]        tile_i,
  input  logic [7:0]         ipu_i,
  input  logic [12:0]        ntiles_i,
  input  logic [31:0]        hart_base_i,
  input  logic [31:0]        sram_end_i,
  input  logic [1:0]         groups_i,
  input  logic [63:0]        e_cycle_i,          // issue cycle of what executes in X
  // Pins of tile_core.
  input  logic               dbg_en_i,
  input  logic [2:0]         dbg_ctx_i,
  input  logic [11:0]        dbg_sel_i,
  input  logic               dbg_pc_we_i,        // the pc is written: ends the loop
  input  logic               dbg_csr_we_i,
  input  logic [31:0]        dbg_wdata_i,
  input  logic [31:0]        dbg_dcsr_i,         // xdcsr (tile_issue)
  input  logic [13:0]        dbg_wstat_i,
  // Snapshots of the issue cycle and what issues now (tile_fetch).
  input  logic               x_valid_i,
  input  logic               x_inject_i,         // injected trap
  input  logic [2:0]         r_ctx_i,
  input  logic [2:0]         x_ctx_i,
  input  logic [31:0]        x_pc_i,
  input  logic [5:0]         x_busy_i,           // workers not idle
  input  logic [5:0]         x_exc_i,            // workers excepted
  input  logic [6:0]         ebreakm_i,          // contexts whose ebreak halts
  input  logic [4:0]         inject_cause_i,
  input  logic [31:0]        inject_tval_i,
  // Decoded instruction and operands (tile_read).
  input  logic [31:0]        x_word_i,
  input  logic [31:0]        x_aux_word_i,
  input  logic [31:0]        x_rs1_i,
  input  logic [31:0]        x_rs2_i,
  input  logic [31:0]        x_a_i,
  input  logic [31:0]        x_b_i,
  input  tile_pkg::int_dec_t x_dec_i,
  input  tile_pkg::fp_dec_t  x_fpd_i,
  input  logic               x_pair_i,
  input  logic               x_solo_fp_i,
  input  logic               x_rm_bad_i,
  // What executes in X, what is held or late (tile_supervisor).
  input  logic [63:0]        z_i,                // cycle of the last release
  input  logic               exch_open_i,        // x.exchange may start
  input  logic [31:0]        xfaultcyc_i,
  input  logic               late_i,             // a late instruction ends now
  input  logic [31:0]        e_rs1_i,
  input  logic               x_waits_i,          // what is in X begins to wait
  input  logic               hold_go_i,          // what waited executes now
  input  tile_pkg::int_dec_t e_dec_i,
  input  logic [31:0]        e_pc_i,
  input  logic [31:0]        e_word_i,
  // Engines (tile_engines).
  input  logic               pkt_window_i,       // x.packet may start
  input  logic [31:0]        xpktcnt_i,
  // Streams (tile_streams).
  input  logic [31:0]        s0_i,
  input  logic [31:0]        s1_i,
  input  logic [31:0]        s2_i,
  input  logic [31:0]        stream_csr_i,
  // Random numbers (tile_vector).
  input  logic [31:0]        rng_csr_i,
  // Stage W (tile_write).
  input  logic [2:0]         w_ctx_i,
  input  logic               flags_we_i,
  input  logic [4:0]         flags_i,
  // To issue; CSRs that others read; to memory, lanes, records.
  output logic [2:0]         r_frm_o,
  output logic               e_valid_o,          // an instruction ends in X, trapped or not
  output logic               e_except_o,
  output logic [2:0]         e_ctx_o,
  output logic [2:0]         e_slots_o,          // slots it takes: 1 to 6
  output logic [31:0]        e_next_pc_o,
  output logic [31:0]        e_delay_o,
  output logic [5:0]         e_run_o,
  output logic               e_quit_o,
  output logic               e_sync_o,
  output logic               e_exch_o,
  output logic               e_pkt_o,
  output logic               e_break_o,          // ebreak that halts: no record, no trap
  output logic               e_ldw_o,            // x.amp.ldw
  output logic [2:0]         e_zone_o,
  output logic               state_on_o,         // state_clk_i is wanted
  output logic [31:0]        dbg_csr_o,
  output logic [31:0]        xwstack_o,
  output logic [31:0]        xwstksz_o,
  output logic [31:0]        xwra_o,
  output logic [31:0]        xbase1_o,
  output logic [31:0]        xbase2_o,
  output logic [31:0]        xbase3_o,
  output logic [31:0]        xsource_o,
  output logic               x_fetch_bad_o,      // there is no instruction
  output logic [31:0]        addr_o,             // of the load
  output logic [31:0]        addr2_o,            // of the second doubleword
  output logic [31:0]        store_addr_o,
  output logic               trap_o,             // of MAIN or SOLO
  output logic               aux_trap_o,
  output logic               e_aux_o,            // F arithmetic takes effect
  output logic               lone_aux_o,         // AUX without a MAIN
  output logic [4:0]         cause_o,
  output logic [31:0]        tval_o,
  output logic [31:0]        csr_after_o,
  output logic               csr_written_o,
  output logic [1:0]         size_o,
  output logic               x_ok_o,             // what was read in R takes effect
  output logic               e_int_ok_o,         // what is not F arithmetic takes effect
  output logic               x_load_o,
  output logic               x_load2_o,          // a second doubleword
  output logic               x_store_o,
  output logic               x_stream_o,         // stream pointers move
  output logic               x_sset_o,
  output logic               stream_csr_we_o,    // CSR write to streams
  output logic               rng_csr_read_o,     // CSR access to random numbers
  output logic               rng_csr_we_o,
  output logic               codes_pending_o,    // x.exit codes on their way
  output logic [31:0]        e_val_o             // value for x[rd] but loads, FPU, lanes
);
  logic [4:0]  mem_cause;
  logic [31:0] mem_tval, sum, alu_result, target, mtvec, mepc, epc, csr_read, sequential, loop_next, xrpt,
               dbg_xrpt;
  logic        taken, jumps, csr_illegal, mem_trap, fs_on, group_missing, csr_on, e_ok, e_any_trap, in_loop;
  logic [5:0]  run_mask;
  logic [1:0]  retire_count;

  assign e_valid_o = (x_valid_i && !x_waits_i) || hold_go_i;
  assign e_ctx_o   = hold_go_i ? 3'd0 : x_ctx_i;

  assign x_fetch_bad_o = (x_pc_i[1:0] != 2'd0) || !tile_pkg::in_sram(x_pc_i, sram_end_i);

  tile_alu u_alu (
    .op_i     (x_dec_i.alu),
    .a_i      (x_a_i),
    .b_i      (x_b_i),
    .mul_i    (x_dec_i.mul),
    .f3_i     (x_word_i[14:12]),
    .rs1_i    (x_rs1_i),
    .rs2_i    (x_rs2_i),
    .sum_o    (sum),
    .result_o (alu_result),
    .taken_o  (taken)
  );

  assign jumps  = x_dec_i.jal || x_dec_i.jalr || (x_dec_i.branch && taken);
  assign target = x_dec_i.jalr ? ((x_rs1_i + x_dec_i.imm) & 32'hFFFF_FFFE) : (x_pc_i + x_dec_i.imm);

  // Addresses: computed; x[rs1], which moves on; or stream pointers.
  assign size_o       = x_dec_i.wide ? 2'd3 : x_word_i[13:12];
  assign addr_o       = x_dec_i.stream ? s0_i : x_dec_i.post ? x_rs1_i : sum;
  assign addr2_o      = x_dec_i.stream ? s1_i : (addr_o + 32'd8);
  assign store_addr_o = x_dec_i.stream ? s2_i : addr_o;

  // Checks of memory accesses: misaligned, then outside, for S0, S1, S2. Aligned accesses lie inside if
  // their first byte does.
  function automatic logic misaligned(input logic [1:0] size, input logic [2:0] low);
    misaligned = ((size == 2'd1) && low[0]) || ((size == 2'd2) && (low[1:0] != 2'd0)) ||
                 ((size == 2'd3) && (low != 3'd0));
  endfunction

  always_comb begin
    mem_trap  = 1'b0;
    mem_cause = tessera_pkg::TRAP_LOAD_MISALIGNED;
    mem_tval  = addr_o;
    if (x_dec_i.load || x_dec_i.store) begin
      if (x_dec_i.load && misaligned(size_o, addr_o[2:0])) begin
        mem_trap = 1'b1;
      end else if (x_dec_i.load && (!tile_pkg::in_sram(addr_o, sram_end_i) ||
                                    (x_dec_i.quad && !tile_pkg::in_sram(addr2_o, sram_end_i)))) begin
        mem_trap  = 1'b1;
        mem_cause = tessera_pkg::TRAP_LOAD_ACCESS;
      end else if (x_dec_i.uses[1] && misaligned(size_o, addr2_o[2:0])) begin
        mem_trap = 1'b1;
        mem_tval = addr2_o;
      end else if (x_dec_i.uses[1] && !tile_pkg::in_sram(addr2_o, sram_end_i)) begin
        mem_trap  = 1'b1;
        mem_cause = tessera_pkg::TRAP_LOAD_ACCESS;
        mem_tval  = addr2_o;
      end else if (x_dec_i.store && misaligned(size_o, store_addr_o[2:0])) begin
        mem_trap  = 1'b1;
        mem_cause = tessera_pkg::TRAP_STORE_MISALIGNED;
        mem_tval  = store_addr_o;
      end else if (x_dec_i.store && !tile_pkg::in_sram(store_addr_o, sram_end_i)) begin
        mem_trap  = 1'b1;
        mem_cause = tessera_pkg::TRAP_STORE_ACCESS;
        mem_tval  = store_addr_o;
      end
    end
  end

  assign e_zone_o      = e_word_i[22:20];
  assign group_missing = ((e_zone_o == 3'd2) && !groups_i[0]) || ((e_zone_o == 3'd3) && !groups_i[1]);
  assign lone_aux_o     = x_solo_fp_i && x_fpd_i.aux;

  // Traps, in the order of docs/machine/tile.md: pc, fetch, encoding and role, FS and frm, then the instruction's own.
  always_comb begin
    trap_o  = 1'b0;
    cause_o = 5'd0;
    tval_o  = 32'd0;
    if (hold_go_i || (x_valid_i && !x_inject_i && !x_fetch_bad_o && x_dec_i.legal &&
                      (x_dec_i.exch || x_dec_i.pkt || x_dec_i.ldw))) begin
      if ((e_dec_i.exch || e_dec_i.pkt) && (e_rs1_i != 32'd0)) begin
        if ((e_dec_i.exch && !exch_open_i) || (e_dec_i.pkt && !pkt_window_i)) begin
          trap_o  = 1'b1;
          cause_o = tessera_pkg::TRAP_SYNC_MISUSE;
        end else if ((e_rs1_i[2:0] != 3'd0) || !tile_pkg::in_sram(e_rs1_i, sram_end_i)) begin
          trap_o  = 1'b1;
          cause_o = tessera_pkg::TRAP_EXCHANGE_BAD;
          tval_o  = e_rs1_i;
        end
      end else if (e_dec_i.ldw && (e_rs1_i[3:0] != 4'd0)) begin
        trap_o  = 1'b1;
        cause_o = tessera_pkg::TRAP_LOAD_MISALIGNED;
        tval_o  = e_rs1_i;
      end else if (e_dec_i.ldw && (!tile_pkg::in_sram(e_rs1_i, sram_end_i) ||
                                   !tile_pkg::in_sram(e_rs1_i + 32'd255, sram_end_i))) begin
        trap_o  = 1'b1;
        cause_o = tessera_pkg::TRAP_LOAD_ACCESS;
        tval_o  = e_rs1_i;
      end
    end else if (x_valid_i) begin
      if (x_inject_i) begin
        trap_o  = 1'b1;
        cause_o = inject_cause_i;
        tval_o  = inject_tval_i;
      end else if (x_pc_i[1:0] != 2'd0) begin
        trap_o  = 1'b1;
        cause_o = tessera_pkg::TRAP_INSTRUCTION_MISALIGNED;
        tval_o  = x_pc_i;
      end else if (x_fetch_bad_o) begin
        trap_o  = 1'b1;
        cause_o = tessera_pkg::TRAP_INSTRUCTION_ACCESS;
        tval_o  = x_pc_i;
      end else if ((!x_dec_i.legal && !x_solo_fp_i) || (x_dec_i.legal && x_dec_i.fmem && !fs_on) ||
                   (x_solo_fp_i && (!fs_on || x_rm_bad_i)) || csr_illegal) begin
        trap_o  = 1'b1;
        cause_o = tessera_pkg::TRAP_ILLEGAL_INSTRUCTION;
        tval_o  = x_word_i;
      end else if (x_solo_fp_i || e_break_o) begin
        trap_o = 1'b0;
      end else if (in_loop && (x_dec_i.branch || x_dec_i.jal || x_dec_i.jalr || x_dec_i.rpt || x_dec_i.quit ||
                               x_dec_i.mret || x_dec_i.ecall || x_dec_i.ebreak)) begin
        trap_o  = 1'b1;
        cause_o = tessera_pkg::TRAP_REPEAT_CONTROL;
        tval_o  = x_word_i;
      end else if (jumps && (target[1:0] != 2'd0)) begin
        trap_o  = 1'b1;
        cause_o = tessera_pkg::TRAP_INSTRUCTION_MISALIGNED;
        tval_o  = target;
      end else if (x_dec_i.ecall) begin
        trap_o  = 1'b1;
        cause_o = tessera_pkg::TRAP_ENVIRONMENT_CALL;
      end else if (x_dec_i.ebreak) begin
        trap_o  = 1'b1;
        cause_o = tessera_pkg::TRAP_BREAKPOINT;
        tval_o  = x_pc_i;
      end else if (mem_trap) begin
        trap_o  = 1'b1;
        cause_o = mem_cause;
        tval_o  = mem_tval;
      end else if (x_dec_i.sync && group_missing) begin
        trap_o  = 1'b1;
        cause_o = tessera_pkg::TRAP_SYNC_MISUSE;
      end
    end
  end

  // The AUX of a pair: its MAIN has retired, mepc is the AUX (section 2).
  assign aux_trap_o = x_valid_i && x_pair_i && !trap_o && !x_inject_i && !x_fetch_bad_o && (!fs_on || x_rm_bad_i);
  assign epc        = aux_trap_o ? (e_pc_i + 32'd4) : e_pc_i;

  assign e_any_trap  = trap_o || aux_trap_o;
  assign e_ok        = e_valid_o && !trap_o;               // MAIN or SOLO takes effect
  assign x_ok_o      = x_valid_i && !x_waits_i && !trap_o; // the same, not for a held one
  assign e_aux_o     = x_ok_o && (x_pair_i || x_solo_fp_i) && !aux_trap_o;  // F arithmetic takes effect
  assign e_except_o  = e_any_trap && (mtvec == 32'd0);
  assign e_next_pc_o = e_any_trap ? ((mtvec == 32'd0) ? epc : mtvec) :
                     hold_go_i ? (e_pc_i + 32'd4) :
                     x_solo_fp_i ? loop_next :
                     e_break_o ? x_pc_i : jumps ? target : x_dec_i.mret ? mepc : loop_next;

  // A breakpoint of the debug port comes before the rule of loops.
  assign e_break_o = x_valid_i && !x_inject_i && !x_fetch_bad_o && x_dec_i.legal && x_dec_i.ebreak &&
                     ebreakm_i[x_ctx_i];

  assign sequential = x_pc_i + (x_pair_i ? 32'd8 : 32'd4);
  tile_loop u_loop (
    .clk_i           (state_clk_i),
    .rst_ni,
    .ctx_i           (x_ctx_i),
    .valid_i         (x_ok_o && !aux_trap_o && !e_break_o),
    .set_i           (x_dec_i.rpt && x_dec_i.legal),
    .count_i         (x_word_i[12] ? {22'd0, x_word_i[11:7], x_word_i[19:15]} : x_rs1_i),
    .body_i          (x_word_i[26:20]),
    .sequential_i    (sequential),
    .set_trap_i      (x_ok_o && aux_trap_o && x_dec_i.rpt),
    .trap_i          (x_valid_i && e_any_trap),
    .run_i           (e_run_o),
    .dbg_end_i       (dbg_pc_we_i),
    .dbg_ctx_i,
    .active_o        (in_loop),
    .next_o          (loop_next),
    .remaining_o     (xrpt),
    .dbg_remaining_o (dbg_xrpt)
  );

  // What the issue stage needs to know.
  assign run_mask   = (e_word_i[11:7] == 5'd7) ? 6'h3F : (6'd1 << (e_word_i[9:7] - 3'd1));
  assign e_int_ok_o = e_ok && (hold_go_i || !x_solo_fp_i);
  assign e_run_o    = (e_int_ok_o && e_dec_i.run) ? run_mask : 6'd0;
  assign e_quit_o   = e_int_ok_o && e_dec_i.quit;
  assign e_sync_o   = e_int_ok_o && e_dec_i.sync;
  assign e_exch_o   = e_int_ok_o && e_dec_i.exch && (e_rs1_i != 32'd0);
  assign e_pkt_o    = e_int_ok_o && e_dec_i.pkt && (e_rs1_i != 32'd0);
  assign e_ldw_o    = e_int_ok_o && e_dec_i.ldw;
  assign e_delay_o  = (e_int_ok_o && e_dec_i.delay) ? e_rs1_i : 32'd0;
  assign e_slots_o  = e_aux_o ? x_fpd_i.slots : (e_int_ok_o && e_dec_i.div) ? 3'd6 : e_ldw_o ? 3'd3 : 3'd1;

  assign x_load_o   = x_ok_o && !x_solo_fp_i && x_dec_i.load;
  assign x_load2_o  = x_ok_o && !x_solo_fp_i && (x_dec_i.quad || x_dec_i.uses[1]);
  assign x_store_o  = x_ok_o && !x_solo_fp_i && x_dec_i.store;
  assign x_stream_o = x_ok_o && !x_solo_fp_i && x_dec_i.stream;
  assign x_sset_o   = x_ok_o && !x_solo_fp_i && x_dec_i.sset;
  assign e_val_o   = e_dec_i.ldw ? (e_rs1_i + 32'd256) : (x_dec_i.jal || x_dec_i.jalr) ? (x_pc_i + 32'd4) :
                   x_dec_i.csr ? csr_read : x_dec_i.quit ? x_rs1_i : alu_result;

  assign retire_count = e_sync_o || e_exch_o || e_pkt_o || e_break_o || !e_ok ? 2'd0 :
                        (x_pair_i && x_ok_o && !aux_trap_o) ? 2'd2 : 2'd1;

  // Streams and loops change with these; an instruction in a loop may end a round.
  assign state_on_o = csr_on || x_stream_o || x_sset_o || (x_valid_i && (in_loop || x_dec_i.rpt)) || dbg_pc_we_i;

  tile_csr u_csr (
    .clk_i, .state_clk_i, .rst_ni,
    .state_on_o    (csr_on),
    .cycle_i       (e_cycle_i),
    .slot_i,
    .tile_i,
    .ipu_i,
    .ntiles_i,
    .sram_end_i,
    .hart_base_i,
    .access_i      (x_valid_i && x_dec_i.legal && x_dec_i.csr && !x_inject_i && !x_fetch_bad_o),
    .commit_i      (x_valid_i),
    .ctx_i         (e_ctx_o),
    .word_i        (x_word_i),
    .rs1_i         (x_rs1_i),
    .illegal_o     (csr_illegal),
    .read_o        (csr_read),
    .written_o     (csr_written_o),
    .stream_csr_i,
    .stream_csr_we_o,
    .rng_csr_i,
    .rng_csr_read_o,
    .rng_csr_we_o,
    .after_o       (csr_after_o),
    .trap_i        (e_valid_o && e_any_trap),
    .trap_cause_i  (aux_trap_o ? tessera_pkg::TRAP_ILLEGAL_INSTRUCTION : cause_o),
    .trap_epc_i    (epc),
    .trap_tval_i   (aux_trap_o ? x_aux_word_i : tval_o),
    .mret_i        (x_ok_o && !x_solo_fp_i && x_dec_i.mret),
    .mtvec_o       (mtvec),
    .mepc_o        (mepc),
    .retire_i      (retire_count),
    .late_retire_i (late_i),
    .r_ctx_i,
    .r_frm_o       (r_frm_o),
    .x_fs_o        (fs_on),
    .flags_we_i,
    .flags_ctx_i   (w_ctx_i),
    .flags_i,
    .run_i         (e_run_o),
    .quit_i        (e_quit_o),
    .quit_slot_i   (x_slot_i),
    .codes_pending_o (codes_pending_o),
    .xwstack_o     (xwstack_o),
    .xwstksz_o     (xwstksz_o),
    .xwra_o        (xwra_o),
    .xbase1_o      (xbase1_o),
    .xbase2_o      (xbase2_o),
    .xbase3_o      (xbase3_o),
    .xsource_o     (xsource_o),
    .xwstat_i      ({x_exc_i, 2'b00, x_busy_i}),
    .xsyncz_i      (z_i),
    .xpktcnt_i,
    .xfaultcyc_i,
    .xrpt_i        (xrpt),
    .dbg_xrpt_i    (dbg_xrpt),
    .dbg_dcsr_i,
    .dbg_wstat_i,
    .dbg_we_i      (dbg_csr_we_i),
    .dbg_wdata_i,
    .dbg_en_i,
    .dbg_ctx_i,
    .dbg_sel_i,
    .dbg_data_o    (dbg_csr_o)
  );
endmodule
