// The processor of a tile: seven contexts in a barrel of six slots, exchange and packet engines; the SRAM is outside.
//
// An instruction issued in cycle c passes F (c: address to the fetch port), D (word arrives), R (decode, register read),
// X (c+3: execute, memory access, traps), M (load data arrives), N (alignment), W (c+6: register write, retire). Its
// context reads registers again in c+8 at the earliest, so there are no hazards and no forwarding. All memory accesses
// are made in X, so they follow the order of issue cycles. Times that anybody sees are issue cycles (core.md section 1).
module tile_core (
  input  logic        clk_i,
  input  logic        rst_ni,

  // Time: number and slot (cycle mod 6) of the NEXT cycle; registered here. May jump while quiescent_o is up.
  input  logic [63:0] cycle_i,
  input  logic [2:0]  slot_i,
  output logic        quiescent_o,        // nothing happens until a pin changes

  // Gated clock of the engines and divider lanes: rises with clk_i in cycles with unit_on_o, may else stay low.
  input  logic        unit_clk_i,
  output logic        unit_on_o,

  // Identity. Sampled all the time, so may change only while nothing runs.
  input  logic [11:0] tile_i,
  input  logic [7:0]  ipu_i,
  input  logic [12:0] ntiles_i,
  input  logic [31:0] hart_base_i,
  input  logic [31:0] sram_end_i,         // first byte address after the SRAM, a multiple of 8
  input  logic [1:0]  groups_i,           // membership in sync groups 1, 2

  // Start of a context (0 supervisor, else worker with the registers of x.run with zero arguments), given two cycles
  // before its first possible issue.
  input  logic        start_valid_i,
  input  logic [2:0]  start_ctx_i,
  input  logic [31:0] start_pc_i,

  // Sync: raise_o stands for one cycle, r; release_valid_i is given in cycle Z - 1.
  output logic        raise_o,
  output logic [2:0]  raise_zone_o,
  output logic        raise_vote_o,
  output logic [23:0] raise_code_o,
  input  logic        release_valid_i,
  input  logic        release_vote_i,

  // SRAM, read data one cycle after the request; addresses are byte addresses as the tile sees them.
  output logic        fetch_req_o,
  output logic [31:0] fetch_addr_o,       // multiple of 8
  input  logic [63:0] fetch_data_i,
  output logic        load_a_req_o,
  output logic [31:0] load_a_addr_o,      // multiple of 8
  input  logic [63:0] load_a_data_i,
  output logic        load_b_req_o,
  output logic [31:0] load_b_addr_o,      // multiple of 8
  input  logic [63:0] load_b_data_i,
  output logic        store_req_o,
  output logic [31:0] store_addr_o,       // multiple of 8
  output logic [63:0] store_data_o,
  output logic [7:0]  store_mask_o,
  output logic        packet_store_req_o, // words of arriving packets
  output logic [31:0] packet_store_addr_o,// multiple of 4
  output logic [31:0] packet_store_data_o,

  // Exchange ports.
  output logic        tx_valid_o,
  output logic [31:0] tx_word_o,
  output logic [31:0] tx_addr_o,          // for records: where the word was read
  output logic        rx_listen_o,
  output logic [11:0] rx_source_o,
  input  logic        rx_valid_i,
  input  logic [31:0] rx_word_i,
  output logic        rx_write_o,         // for records: the word taken in the cycle before is written
  output logic [31:0] rx_write_addr_o,
  output logic [31:0] rx_write_word_o,

  // Packet lane.
  output logic        packet_tx_valid_o,
  output logic [31:0] packet_tx_word_o,
  output logic        packet_tx_first_o,
  output logic        packet_tx_last_o,
  input  logic        packet_tx_ready_i,
  input  logic        packet_rx_valid_i,
  input  logic [31:0] packet_rx_word_i,
  input  logic        packet_rx_last_i,

  // Exceptions: contexts that are excepted.
  output logic [6:0]  excepted_o,

  // Retire port, MAIN or SOLO: fields of tlm/tile/retire.h. `pending`: x value, f value and flags come with done_*.
  output logic        ret_valid_o,
  output logic        ret_trap_o,
  output logic        ret_paired_o,
  output logic        ret_pending_o,
  output logic        ret_excepted_o,
  output logic [63:0] ret_cycle_o,
  output logic [2:0]  ret_ctx_o,
  output logic [31:0] ret_pc_o,
  output logic [31:0] ret_word_o,
  output logic [31:0] ret_next_pc_o,
  output logic [4:0]  ret_cause_o,
  output logic [31:0] ret_tval_o,
  output logic [4:0]  ret_xrd_o,
  output logic [31:0] ret_value_o,        // x or f value
  output logic        ret_fwe_o,
  output logic [4:0]  ret_frd_o,
  output logic [4:0]  ret_fflags_o,
  output logic        ret_load_o,
  output logic        ret_store_o,
  output logic [31:0] ret_addr_o,
  output logic [7:0]  ret_mask_o,
  output logic [31:0] ret_wdata_o,
  output logic [11:0] ret_csr_o,
  output logic [31:0] ret_csr_value_o,
  output logic [2:0]  ret_run_o,
  output logic [31:0] ret_run_pc_o,
  output logic [31:0] ret_run_a0_o,
  output logic [31:0] ret_run_a1_o,
  output logic [31:0] ret_run_stack_o,
  output logic [31:0] ret_run_stride_o,
  output logic [31:0] ret_run_ra_o,
  // The AUX beside it (same cycle and context if both are valid).
  output logic        aux_valid_o,
  output logic        aux_trap_o,
  output logic        aux_paired_o,
  output logic        aux_pending_o,
  output logic        aux_excepted_o,
  output logic [63:0] aux_cycle_o,
  output logic [2:0]  aux_ctx_o,
  output logic [31:0] aux_pc_o,
  output logic [31:0] aux_word_o,
  output logic [31:0] aux_next_pc_o,
  output logic [4:0]  aux_cause_o,
  output logic [31:0] aux_tval_o,
  output logic [4:0]  aux_frd_o,
  output logic [31:0] aux_value_o,
  output logic [4:0]  aux_fflags_o,
  // A divider lane delivers the result of the pending record of its slot.
  output logic        done_valid_o,
  output logic [2:0]  done_slot_o,
  output logic [31:0] done_value_o,
  output logic [4:0]  done_fflags_o,

  // Debug read, combinational: kind 0 x register, 1 f register, 2 CSR, 3 pc (sel 0) or supervisor state (sel 1).
  input  logic        dbg_en_i,
  input  logic [1:0]  dbg_kind_i,
  input  logic [2:0]  dbg_ctx_i,
  input  logic [11:0] dbg_sel_i,
  output logic [31:0] dbg_data_o
);
  // ---- time and pins --------------------------------------------------------------------------------------------------
  logic [63:0] cycle_q, z_q;
  logic [2:0]  slot_q, x_slot, r_slot;
  logic        release_q, release_vote_q, local_q, exch_open_q;
  logic [31:0] xfaultcyc_q;

  // Pins that much logic hangs on are registered, which a chip wants as much as a simulator.
  logic [11:0] tile_q;
  logic [7:0]  ipu_q;
  logic [12:0] ntiles_q;
  logic [31:0] hart_base_q, sram_end_q, start_pc_q;
  logic [1:0]  groups_q;
  logic        start_valid_q;
  logic [2:0]  start_ctx_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      start_valid_q <= 1'b0;
    end else begin
      start_valid_q <= start_valid_i;
    end
  end
  always_ff @(posedge clk_i) begin
    tile_q      <= tile_i;
    ipu_q       <= ipu_i;
    ntiles_q    <= ntiles_i;
    hart_base_q <= hart_base_i;
    sram_end_q  <= sram_end_i;
    groups_q    <= groups_i;
    start_ctx_q <= start_ctx_i;
    start_pc_q  <= start_pc_i;
  end

  assign x_slot = (slot_q < 3'd3) ? (slot_q + 3'd3) : (slot_q - 3'd3);
  assign r_slot = (slot_q < 3'd2) ? (slot_q + 3'd4) : (slot_q - 3'd2);

  // ---- F: issue -------------------------------------------------------------------------------------------------------
  logic        f_valid, f_inject, f_comp, f_vacant, sync_local, raise, issue_quiet;
  logic [2:0]  f_ctx;
  logic [31:0] f_pc;
  logic [5:0]  f_busy;
  logic [6:0]  f_except;
  tile_pkg::sup_state_e sup_state;

  logic        exch_busy, exch_resume, exch_fault, pkt_busy, pkt_wakes, pkt_resume, pkt_fault, stray, stray_taken, pkt_window;
  logic [4:0]  exch_cause, pkt_cause;
  logic [31:0] exch_fault_addr, pkt_fault_addr, stray_addr, xpktcnt;
  logic [63:0] exch_fault_cycle;
  logic        engine_fault, late, late_exch, late_vote;

  // ---- D, R: snapshots of the issue cycle travel along ------------------------------------------------------------------
  logic        d_valid_q, d_inject_q, d_comp_q, d_vacant_q;
  logic        r_valid_q, r_inject_q, r_comp_q, r_vacant_q;
  logic        x_valid_q, x_inject_q, x_comp_q, x_vacant_q;
  logic        m_comp_q, n_comp_q, w_comp_q;
  logic [2:0]  d_ctx_q, r_ctx_q, x_ctx_q;
  logic [31:0] d_pc_q, r_pc_q, x_pc_q;
  logic [5:0]  d_busy_q, r_busy_q, x_busy_q, d_exc_q, r_exc_q, x_exc_q;
  logic [63:0] r_ir_q;
  logic [4:0]  inject_cause_q;
  logic [31:0] inject_tval_q;
  logic        inject_stray_q;  // not an engine's fault but a packet outside the window

  // ---- R ----------------------------------------------------------------------------------------------------------------
  logic [31:0]          r_word, r_word1, r_fp_word;
  tile_pkg::int_dec_t   r_dec;
  tile_pkg::fp_dec_t    r_fpd;
  logic                 r_worker, r_candidate, r_clash, r_pair, r_solo_fp, r_has_fp, r_rm_bad;
  logic [2:0]           r_frm, r_rm;
  logic [31:0]          r_rs1, r_rs2, r_rs3, r_f1, r_f2, r_f3, r_fstore;

  // ---- X ----------------------------------------------------------------------------------------------------------------
  logic [31:0]          x_word_q, x_aux_word_q, x_rs1_q, x_rs2_q, x_rs3_q, x_a_q, x_b_q, x_fa_q, x_fb_q, x_fc_q, x_sdata_q;
  tile_pkg::int_dec_t   x_dec_q;
  tile_pkg::fp_dec_t    x_fpd_q;
  logic                 x_pair_q, x_solo_fp_q, x_rm_bad_q;
  logic [2:0]           x_rm_q;

  // ---- F ----------------------------------------------------------------------------------------------------------------
  assign engine_fault = (exch_resume && exch_fault) || (pkt_resume && pkt_fault);
  assign stray_taken  = f_inject && !engine_fault;

  logic        e_valid, e_except, e_hold;
  logic [2:0]  e_ctx, e_slots;
  logic [31:0] e_next_pc, e_delay, e_rs1, e_rs2, e_rs3;
  logic [5:0]  e_run;
  logic        e_quit, e_sync, e_exch, e_pkt;
  logic [2:0]  e_zone;
  logic [31:0] dbg_x, dbg_f, dbg_csr, dbg_pc;
  logic [7:0]  dbg_row;
  assign dbg_row = dbg_en_i ? {dbg_ctx_i, dbg_sel_i[4:0]} : 8'd0;

  logic [5:0]  hold_mask_q;

  tile_issue u_issue (
    .clk_i, .rst_ni,
    .slot_i        (slot_q),
    .start_valid_i (start_valid_q),
    .start_ctx_i   (start_ctx_q),
    .start_pc_i    (start_pc_q),
    .x_valid_i     (e_valid),
    .x_ctx_i       (e_ctx),
    .x_slot_i      (x_slot),
    .x_next_pc_i   (e_next_pc),
    .x_except_i    (e_except),
    .x_quit_i      (e_quit),
    .x_run_i       (e_run),
    .x_run_pc_i    (e_rs1),
    .x_slots_i     (e_slots),
    .x_delay_i     (e_delay),
    .x_sync_i      (e_sync),
    .x_zone_i      (e_zone),
    .x_exch_i      (e_exch),
    .x_pkt_i       (e_pkt),
    .x_hold_i      (e_hold),
    .hold_mask_i   (hold_mask_q),
    .release_i     (release_q),
    .exch_resume_i (exch_resume),
    .pkt_resume_i  (pkt_resume),
    .fault_i       (engine_fault || stray),
    .f_valid_o     (f_valid),
    .f_inject_o    (f_inject),
    .f_comp_o      (f_comp),
    .f_ctx_o       (f_ctx),
    .f_pc_o        (f_pc),
    .f_vacant_o    (f_vacant),
    .busy_o        (f_busy),
    .except_o      (f_except),
    .sync_local_o  (sync_local),
    .raise_o       (raise),
    .state_o       (sup_state),
    .quiet_o       (issue_quiet),
    .dbg_ctx_i     (dbg_row[7:5]),
    .dbg_pc_o      (dbg_pc)
  );

  function automatic logic in_sram(input logic [31:0] addr, input logic [31:0] sram_end);
    in_sram = (addr >= tessera_pkg::SRAM_BASE) && (addr < sram_end);
  endfunction

  assign fetch_req_o  = f_valid && !f_inject && in_sram(f_pc, sram_end_q);
  assign fetch_addr_o = {f_pc[31:3], 3'b000};
  assign excepted_o   = f_except;
  assign raise_o      = raise;

  logic [31:0] late_pc_q, late_word_q, late_rs1_q;
  logic [63:0] late_cycle_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cycle_q        <= 64'd0;
      slot_q         <= 3'd0;
      release_q      <= 1'b0;
      release_vote_q <= 1'b0;
      local_q        <= 1'b0;
      d_valid_q      <= 1'b0;
      d_inject_q     <= 1'b0;
      d_comp_q       <= 1'b0;
      d_vacant_q     <= 1'b1;
      d_busy_q       <= 6'd0;
      d_exc_q        <= 6'd0;
      d_ctx_q        <= 3'd0;
      d_pc_q         <= 32'd0;
      r_valid_q      <= 1'b0;
      r_inject_q     <= 1'b0;
      r_comp_q       <= 1'b0;
      r_vacant_q     <= 1'b1;
      r_busy_q       <= 6'd0;
      r_exc_q        <= 6'd0;
      r_ctx_q        <= 3'd0;
      r_pc_q         <= 32'd0;
      x_valid_q      <= 1'b0;
      x_inject_q     <= 1'b0;
      x_comp_q       <= 1'b0;
      x_vacant_q     <= 1'b1;
      x_busy_q       <= 6'd0;
      x_exc_q        <= 6'd0;
      x_ctx_q        <= 3'd0;
      x_pc_q         <= 32'd0;
      m_comp_q       <= 1'b0;
      n_comp_q       <= 1'b0;
      w_comp_q       <= 1'b0;
      inject_cause_q <= 5'd0;
      inject_tval_q  <= 32'd0;
      inject_stray_q <= 1'b0;
    end else begin
      cycle_q        <= cycle_i;
      slot_q         <= slot_i;
      release_q      <= release_valid_i;
      release_vote_q <= release_vote_i;
      local_q        <= sync_local;
      d_valid_q      <= f_valid;
      d_inject_q     <= f_inject;
      d_comp_q       <= f_comp;
      d_vacant_q     <= f_vacant;
      d_busy_q       <= f_busy;
      d_exc_q        <= f_except[6:1];
      d_ctx_q        <= f_ctx;
      d_pc_q         <= engine_fault ? late_pc_q : f_pc;
      if (f_inject) begin
        inject_stray_q <= stray_taken;
        inject_cause_q <= (exch_resume && exch_fault) ? exch_cause : (pkt_resume && pkt_fault) ? pkt_cause :
                          tessera_pkg::TRAP_PACKET_FAULT;
        inject_tval_q  <= (exch_resume && exch_fault) ? exch_fault_addr : (pkt_resume && pkt_fault) ? pkt_fault_addr :
                          stray_addr;
      end
      r_valid_q  <= d_valid_q;
      r_inject_q <= d_inject_q;
      r_comp_q   <= d_comp_q;
      r_vacant_q <= d_vacant_q;
      r_busy_q   <= d_busy_q;
      r_exc_q    <= d_exc_q;
      r_ctx_q    <= d_ctx_q;
      r_pc_q     <= d_pc_q;
      x_valid_q  <= r_valid_q;
      x_inject_q <= r_inject_q;
      x_comp_q   <= r_comp_q;
      x_vacant_q <= r_vacant_q;
      x_busy_q   <= r_busy_q;
      x_exc_q    <= r_exc_q;
      x_ctx_q    <= r_ctx_q;
      x_pc_q     <= r_pc_q;
      m_comp_q   <= x_comp_q;
      n_comp_q   <= m_comp_q;
      w_comp_q   <= n_comp_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (d_valid_q) r_ir_q <= fetch_data_i;
  end

  // ---- R: decode, pair rule, register read ----------------------------------------------------------------------------
  assign r_word  = r_pc_q[2] ? r_ir_q[63:32] : r_ir_q[31:0];
  assign r_word1 = r_ir_q[63:32];

  tile_decode u_decode (.word_i(r_word), .worker_i(r_worker), .dec_o(r_dec));
  tile_decode_fp u_decode_fp (.word_i(r_fp_word), .dec_o(r_fpd));

  // An aligned MAIN and the AUX after it pair if the MAIN writes no f register that the AUX reads or writes.
  assign r_worker    = (r_ctx_q != 3'd0);
  assign r_candidate = r_worker && r_dec.legal && r_dec.main && !r_pc_q[2];
  assign r_fp_word   = r_candidate ? r_word1 : r_word;
  assign r_clash     = r_dec.fmem && r_dec.load &&
                       ((r_word[11:7] == r_word1[11:7]) || (r_fpd.reads1 && (r_word[11:7] == r_word1[19:15])) ||
                        (r_fpd.reads2 && (r_word[11:7] == r_word1[24:20])) ||
                        (r_fpd.reads3 && (r_word[11:7] == r_word1[31:27])));
  assign r_pair      = r_candidate && r_fpd.legal && r_fpd.aux && !r_clash;
  assign r_solo_fp   = r_worker && !r_dec.legal && r_fpd.legal;
  assign r_has_fp    = r_pair || r_solo_fp;
  assign r_rm        = (r_fp_word[14:12] == 3'd7) ? r_frm : r_fp_word[14:12];
  assign r_rm_bad    = r_fpd.rounds && (r_rm > 3'd4);

  logic        w_xwe, w_late_we, w_fmain_we, w_faux_we;
  logic [2:0]  w_ctx;
  logic [4:0]  w_xrd, w_fmain_rd, w_faux_rd;
  logic [31:0] w_xval, w_fmain_val, w_faux_val;
  logic [31:0] xwstack, xwstksz, xwra, xbase1, xbase2, xbase3, xsource;

  tile_xregs u_xregs (
    .clk_i,
    .ctx_i        (r_ctx_q),
    .rs1_i        (r_word[19:15]),
    .rs2_i        (r_word[24:20]),
    .rs3_i        (r_word[31:27]),
    .rd1_o        (r_rs1),
    .rd2_o        (r_rs2),
    .rd3_o        (r_rs3),
    .we_i         (w_xwe),
    .wctx_i       (w_ctx),
    .wreg_i       (w_xrd),
    .wdata_i      (w_xval),
    .run_i        (e_run | ((start_valid_q && (start_ctx_q != 3'd0)) ? (6'd1 << (start_ctx_q - 3'd1)) : 6'd0)),
    .run_a0_i     (start_valid_q ? 32'd0 : e_rs2),
    .run_a1_i     (start_valid_q ? 32'd0 : e_rs3),
    .run_ra_i     (xwra),
    .run_stack_i  (xwstack),
    .run_stride_i (xwstksz),
    .dbg_row_i    (dbg_row),
    .dbg_data_o   (dbg_x)
  );

  tile_fregs u_fregs (
    .clk_i,
    .ctx_i        (r_ctx_q),
    .rs1_i        (r_fp_word[19:15]),
    .rs2_i        (r_fp_word[24:20]),
    .rs3_i        (r_fp_word[31:27]),
    .store_i      (r_word[24:20]),
    .rd1_o        (r_f1),
    .rd2_o        (r_f2),
    .rd3_o        (r_f3),
    .store_o      (r_fstore),
    .we_main_i    (w_fmain_we),
    .wreg_main_i  (w_fmain_rd),
    .wdata_main_i (w_fmain_val),
    .we_aux_i     (w_faux_we),
    .wreg_aux_i   (w_faux_rd),
    .wdata_aux_i  (w_faux_val),
    .wctx_i       (w_ctx),
    .dbg_row_i    (dbg_row),
    .dbg_data_o   (dbg_f)
  );

  always_ff @(posedge clk_i) begin
    if (r_valid_q) begin
      x_word_q     <= r_word;
      x_aux_word_q <= r_word1;
      x_dec_q      <= r_dec;
      x_fpd_q      <= r_fpd;
      x_pair_q     <= r_pair;
      x_solo_fp_q  <= r_solo_fp;
      x_rm_bad_q   <= r_rm_bad;
      x_rm_q       <= r_rm;
      x_rs1_q      <= r_rs1;
      x_rs2_q      <= r_rs2;
      x_rs3_q      <= r_rs3;
      x_a_q        <= r_dec.a_pc ? r_pc_q : r_dec.a_zero ? 32'd0 : r_rs1;
      x_b_q        <= r_dec.b_imm ? r_dec.imm : r_rs2;
      x_sdata_q    <= r_dec.fmem ? r_fstore : r_rs2;
      if (r_has_fp) begin
        x_fa_q <= r_fpd.x_rs1 ? r_rs1 : r_f1;
        x_fb_q <= r_f2;
        x_fc_q <= r_f3;
      end
    end
  end

  // ---- X: execute -------------------------------------------------------------------------------------------------------
  // An instruction that waits for workers is held here and executes as if issued in the first vacant cycle in which
  // those are idle; the snapshots of that cycle arrive in X three cycles later, just as an instruction would.
  logic               hold_q, x_waits, hold_go;
  logic [5:0]         x_mask;
  logic [31:0]        hold_rs2_q, hold_rs3_q;
  tile_pkg::int_dec_t hold_dec_q, e_dec;
  logic [31:0]        e_pc, e_word;
  logic [63:0]        e_cycle;

  assign e_cycle = cycle_q - 64'd3;
  assign x_mask  = (x_dec_q.run && (x_word_q[11:7] != 5'd7)) ? (6'd1 << (x_word_q[9:7] - 3'd1)) : 6'h3F;
  assign x_waits = x_valid_q && !x_inject_q && !x_fetch_bad && x_dec_q.legal && ((x_busy_q & x_mask) != 6'd0) &&
                   (x_dec_q.run || ((x_dec_q.exch || x_dec_q.pkt) && (x_rs1_q != 32'd0)));
  assign hold_go = hold_q && x_vacant_q && ((x_busy_q & hold_mask_q) == 6'd0);

  assign e_hold  = x_waits;
  assign e_valid = (x_valid_q && !x_waits) || hold_go;
  assign e_ctx   = hold_go ? 3'd0 : x_ctx_q;
  assign e_pc    = hold_go ? late_pc_q : x_pc_q;
  assign e_word  = hold_go ? late_word_q : x_word_q;
  assign e_rs1   = hold_go ? late_rs1_q : x_rs1_q;
  assign e_rs2   = hold_go ? hold_rs2_q : x_rs2_q;
  assign e_rs3   = hold_go ? hold_rs3_q : x_rs3_q;
  assign e_dec   = hold_go ? hold_dec_q : x_dec_q;

  logic        x_fetch_bad;
  logic [31:0] sum, alu_result, target;
  logic        taken, jumps;

  assign x_fetch_bad = (x_pc_q[1:0] != 2'd0) || !in_sram(x_pc_q, sram_end_q);

  tile_alu u_alu (
    .op_i     (x_dec_q.alu),
    .a_i      (x_a_q),
    .b_i      (x_b_q),
    .mul_i    (x_dec_q.mul),
    .f3_i     (x_word_q[14:12]),
    .rs1_i    (x_rs1_q),
    .rs2_i    (x_rs2_q),
    .sum_o    (sum),
    .result_o (alu_result),
    .taken_o  (taken)
  );

  assign jumps  = x_dec_q.jal || x_dec_q.jalr || (x_dec_q.branch && taken);
  assign target = x_dec_q.jalr ? ((x_rs1_q + x_dec_q.imm) & 32'hFFFF_FFFE) : (x_pc_q + x_dec_q.imm);

  // Traps, in the order of core.md section 10: pc, fetch, encoding and role, FS and frm, then the instruction's own.
  logic        trap, aux_trap, mem_misaligned, csr_illegal, fs_on, e_aux, lone_aux;
  logic [4:0]  cause;
  logic [31:0] tval, mtvec, mepc, epc, csr_read, csr_after;
  logic        csr_written, group_missing;
  logic [1:0]  size;

  assign size           = x_word_q[13:12];
  assign mem_misaligned = ((size == 2'd1) && sum[0]) || ((size == 2'd2) && (sum[1:0] != 2'd0));
  assign e_zone         = e_word[22:20];
  assign group_missing  = ((e_zone == 3'd2) && !groups_q[0]) || ((e_zone == 3'd3) && !groups_q[1]);
  assign lone_aux       = x_solo_fp_q && x_fpd_q.aux;

  always_comb begin
    trap  = 1'b0;
    cause = 5'd0;
    tval  = 32'd0;
    if (hold_go || (x_valid_q && !x_inject_q && !x_fetch_bad && x_dec_q.legal && (x_dec_q.exch || x_dec_q.pkt))) begin
      if ((e_dec.exch || e_dec.pkt) && (e_rs1 != 32'd0)) begin
        if ((e_dec.exch && !exch_open_q) || (e_dec.pkt && !pkt_window)) begin
          trap  = 1'b1;
          cause = tessera_pkg::TRAP_SYNC_MISUSE;
        end else if ((e_rs1[2:0] != 3'd0) || !in_sram(e_rs1, sram_end_q)) begin
          trap  = 1'b1;
          cause = tessera_pkg::TRAP_EXCHANGE_BAD;
          tval  = e_rs1;
        end
      end
    end else if (x_valid_q) begin
      if (x_inject_q) begin
        trap  = 1'b1;
        cause = inject_cause_q;
        tval  = inject_tval_q;
      end else if (x_pc_q[1:0] != 2'd0) begin
        trap  = 1'b1;
        cause = tessera_pkg::TRAP_INSTRUCTION_MISALIGNED;
        tval  = x_pc_q;
      end else if (x_fetch_bad) begin
        trap  = 1'b1;
        cause = tessera_pkg::TRAP_INSTRUCTION_ACCESS;
        tval  = x_pc_q;
      end else if ((!x_dec_q.legal && !x_solo_fp_q) || (x_dec_q.legal && x_dec_q.fmem && !fs_on) ||
                   (x_solo_fp_q && (!fs_on || x_rm_bad_q)) || csr_illegal) begin
        trap  = 1'b1;
        cause = tessera_pkg::TRAP_ILLEGAL_INSTRUCTION;
        tval  = x_word_q;
      end else if (x_solo_fp_q) begin
        trap = 1'b0;
      end else if (jumps && (target[1:0] != 2'd0)) begin
        trap  = 1'b1;
        cause = tessera_pkg::TRAP_INSTRUCTION_MISALIGNED;
        tval  = target;
      end else if (x_dec_q.ecall) begin
        trap  = 1'b1;
        cause = tessera_pkg::TRAP_ENVIRONMENT_CALL;
      end else if (x_dec_q.ebreak) begin
        trap  = 1'b1;
        cause = tessera_pkg::TRAP_BREAKPOINT;
        tval  = x_pc_q;
      end else if ((x_dec_q.load || x_dec_q.store) && (mem_misaligned || !in_sram(sum, sram_end_q))) begin
        trap  = 1'b1;
        cause = mem_misaligned ? (x_dec_q.load ? tessera_pkg::TRAP_LOAD_MISALIGNED : tessera_pkg::TRAP_STORE_MISALIGNED)
                               : (x_dec_q.load ? tessera_pkg::TRAP_LOAD_ACCESS : tessera_pkg::TRAP_STORE_ACCESS);
        tval  = sum;
      end else if (x_dec_q.sync && group_missing) begin
        trap  = 1'b1;
        cause = tessera_pkg::TRAP_SYNC_MISUSE;
      end
    end
  end

  // The AUX of a pair: its MAIN has retired, mepc is the AUX (section 2).
  assign aux_trap = x_valid_q && x_pair_q && !trap && !x_inject_q && !x_fetch_bad && (!fs_on || x_rm_bad_q);
  assign epc      = aux_trap ? (e_pc + 32'd4) : e_pc;

  logic e_ok, e_any_trap, x_ok;
  assign e_any_trap = trap || aux_trap;
  assign e_ok       = e_valid && !trap;               // MAIN or SOLO takes effect
  assign x_ok       = x_valid_q && !x_waits && !trap; // the same, not for a held one
  assign e_aux      = x_ok && (x_pair_q || x_solo_fp_q) && !aux_trap;  // F arithmetic takes effect
  assign e_except   = e_any_trap && (mtvec == 32'd0);
  assign e_next_pc  = e_any_trap ? ((mtvec == 32'd0) ? epc : mtvec) :
                      hold_go ? (e_pc + 32'd4) :
                      x_solo_fp_q ? (x_pc_q + 32'd4) :
                      jumps ? target : x_dec_q.mret ? mepc : (x_pc_q + (x_pair_q ? 32'd8 : 32'd4));

  // What the issue stage needs to know.
  logic [5:0] run_mask;
  assign run_mask = (e_word[11:7] == 5'd7) ? 6'h3F : (6'd1 << (e_word[9:7] - 3'd1));
  logic e_int_ok;  // not F arithmetic: the integer decode counts
  assign e_int_ok = e_ok && (hold_go || !x_solo_fp_q);
  assign e_run    = (e_int_ok && e_dec.run) ? run_mask : 6'd0;
  assign e_quit   = e_int_ok && e_dec.quit;
  assign e_sync   = e_int_ok && e_dec.sync;
  assign e_exch   = e_int_ok && e_dec.exch && (e_rs1 != 32'd0);
  assign e_pkt    = e_int_ok && e_dec.pkt && (e_rs1 != 32'd0);
  assign e_delay  = (e_int_ok && e_dec.delay) ? e_rs1 : 32'd0;
  assign e_slots  = (e_aux && x_fpd_q.lane) ? 3'd5 : (e_int_ok && e_dec.div) ? 3'd6 : 3'd1;

  // Held or late: pc, word and operands of the supervisor's instruction that ends later than it issued.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      hold_q       <= 1'b0;
      hold_mask_q  <= 6'd0;
      hold_dec_q   <= '0;
      hold_rs2_q   <= 32'd0;
      hold_rs3_q   <= 32'd0;
      late_pc_q    <= 32'd0;
      late_word_q  <= 32'd0;
      late_rs1_q   <= 32'd0;
      late_cycle_q <= 64'd0;
      exch_open_q  <= 1'b0;
      z_q          <= 64'd0;
      xfaultcyc_q  <= 32'd0;
    end else begin
      if (x_waits) begin
        hold_q      <= 1'b1;
        hold_mask_q <= x_mask;
        hold_dec_q  <= x_dec_q;
        hold_rs2_q  <= x_rs2_q;
        hold_rs3_q  <= x_rs3_q;
      end else if (hold_go) begin
        hold_q <= 1'b0;
      end
      if (x_waits || e_sync || e_exch || e_pkt) begin
        late_pc_q    <= e_pc;
        late_word_q  <= e_word;
        late_rs1_q   <= e_rs1;
        late_cycle_q <= e_cycle;
      end
      if (release_q) begin
        z_q         <= cycle_q;
        exch_open_q <= 1'b1;
      end else if (e_exch) begin
        exch_open_q <= 1'b0;
      end
      if (exch_resume && exch_fault) xfaultcyc_q <= exch_fault_cycle[31:0];
      else if (e_valid && trap && (cause == tessera_pkg::TRAP_EXCHANGE_BAD) && e_dec.exch && !x_inject_q) xfaultcyc_q <= e_cycle[31:0];
    end
  end

  assign raise_zone_o = late_word_q[22:20];
  assign raise_vote_o = late_rs1_q[0];
  assign raise_code_o = late_rs1_q[31:8];

  // An instruction that ended now, long after its issue: sync, exchange, packets. Nothing else is in W then: no worker
  // runs (a local sync is reported a cycle after its end, when the last x.exit has gone). Sync gives rd the vote.
  assign late_exch = (exch_resume && !exch_fault) || (pkt_resume && !pkt_fault);
  assign w_late_we = release_q || local_q;
  assign late      = late_exch || w_late_we;
  assign late_vote = local_q ? late_rs1_q[0] : release_vote_q;

  // ---- memory: X ---------------------------------------------------------------------------------------------------------
  logic        ex_read_a, ex_read_b, ex_write, pk_read_a, pk_read_b;
  logic [31:0] ex_addr_a, ex_addr_b, ex_write_addr, ex_write_data, pk_addr_a, pk_addr_b;
  logic        x_load, x_store;
  logic [31:0] store_word;
  logic [3:0]  store_bytes;

  assign x_load        = x_ok && !x_solo_fp_q && x_dec_q.load;
  assign x_store       = x_ok && !x_solo_fp_q && x_dec_q.store;
  assign load_a_req_o  = x_load || ex_read_a || pk_read_a;
  assign load_a_addr_o = ex_read_a ? {ex_addr_a[31:3], 3'd0} : pk_read_a ? {pk_addr_a[31:3], 3'd0} : {sum[31:3], 3'd0};
  assign load_b_req_o  = ex_read_b || pk_read_b;
  assign load_b_addr_o = ex_read_b ? ex_addr_b : pk_addr_b;

  always_comb begin
    case (size)
      2'd0: begin
        store_word  = {4{x_sdata_q[7:0]}};
        store_bytes = 4'b0001 << sum[1:0];
      end
      2'd1: begin
        store_word  = {2{x_sdata_q[15:0]}};
        store_bytes = 4'b0011 << sum[1:0];
      end
      default: begin
        store_word  = x_sdata_q;
        store_bytes = 4'b1111;
      end
    endcase
  end
  assign store_req_o  = x_store || ex_write;
  assign store_addr_o = ex_write ? {ex_write_addr[31:3], 3'd0} : {sum[31:3], 3'd0};
  assign store_data_o = ex_write ? {2{ex_write_data}} : {2{store_word}};
  assign store_mask_o = ex_write ? (ex_write_addr[2] ? 8'hF0 : 8'h0F) : (sum[2] ? {store_bytes, 4'd0} : {4'd0, store_bytes});

  assign rx_write_o      = ex_write;
  assign rx_write_addr_o = ex_write_addr;
  assign rx_write_word_o = ex_write_data;

  // ---- CSRs ----------------------------------------------------------------------------------------------------------------
  logic       codes_pending;
  logic       flags_we;
  logic [4:0] flags;
  logic [1:0] retire_count;

  assign retire_count = e_sync || e_exch || e_pkt || !e_ok ? 2'd0 :
                        (x_pair_q && x_ok && !aux_trap) ? 2'd2 : 2'd1;

  tile_csr u_csr (
    .clk_i, .rst_ni,
    .cycle_i       (e_cycle),
    .slot_i        (slot_q),
    .tile_i        (tile_q),
    .ipu_i         (ipu_q),
    .ntiles_i      (ntiles_q),
    .sram_end_i    (sram_end_q),
    .hart_base_i   (hart_base_q),
    .access_i      (x_valid_q && x_dec_q.legal && x_dec_q.csr && !x_inject_q && !x_fetch_bad),
    .commit_i      (x_valid_q),
    .ctx_i         (e_ctx),
    .word_i        (x_word_q),
    .rs1_i         (x_rs1_q),
    .illegal_o     (csr_illegal),
    .read_o        (csr_read),
    .written_o     (csr_written),
    .after_o       (csr_after),
    .trap_i        (e_valid && e_any_trap),
    .trap_cause_i  (aux_trap ? tessera_pkg::TRAP_ILLEGAL_INSTRUCTION : cause),
    .trap_epc_i    (epc),
    .trap_tval_i   (aux_trap ? x_aux_word_q : tval),
    .mret_i        (x_ok && !x_solo_fp_q && x_dec_q.mret),
    .mtvec_o       (mtvec),
    .mepc_o        (mepc),
    .retire_i      (retire_count),
    .late_retire_i (late),
    .r_ctx_i       (r_ctx_q),
    .r_frm_o       (r_frm),
    .x_fs_o        (fs_on),
    .flags_we_i    (flags_we),
    .flags_ctx_i   (w_ctx),
    .flags_i       (flags),
    .run_i         (e_run),
    .quit_i        (e_quit),
    .quit_slot_i   (x_slot),
    .codes_pending_o (codes_pending),
    .xwstack_o     (xwstack),
    .xwstksz_o     (xwstksz),
    .xwra_o        (xwra),
    .xbase1_o      (xbase1),
    .xbase2_o      (xbase2),
    .xbase3_o      (xbase3),
    .xsource_o     (xsource),
    .xwstat_i      ({x_exc_q, 2'b00, x_busy_q}),
    .xsyncz_i      (z_q),
    .xpktcnt_i     (xpktcnt),
    .xfaultcyc_i   (xfaultcyc_q),
    .dbg_en_i,
    .dbg_ctx_i,
    .dbg_sel_i,
    .dbg_data_o    (dbg_csr)
  );

  // ---- FPU and divider lanes ---------------------------------------------------------------------------------------------
  logic [31:0] fpu_result;
  logic [4:0]  fpu_flags;

  fpu u_fpu (
    .clk_i, .rst_ni,
    .valid_i  (e_aux && !x_fpd_q.lane),
    .op_i     (x_fpd_q.op),
    .rm_i     (x_rm_q),
    .a_i      (x_fa_q),
    .b_i      (x_fb_q),
    .c_i      (x_fc_q),
    .result_o (fpu_result),
    .fflags_o (fpu_flags)
  );

  // Six lanes of each kind, indexed by slot. Float lanes start in R, integer lanes in X, so that both results stand when
  // the completion of the last slot is in W. A start that a trap voids does no harm: nobody fetches the result.
  logic [31:0] div_result, fdiv_result;
  logic [4:0]  fdiv_flags;
  logic        fdiv_busy, div_busy;

  tile_div u_div (
    .clk_i        (unit_clk_i),
    .rst_ni,
    .start_i      (e_int_ok && e_dec.div),
    .start_lane_i (x_slot),
    .rem_i        (x_word_q[13]),
    .signed_i     (!x_word_q[12]),
    .a_i          (x_rs1_q),
    .b_i          (x_rs2_q),
    .lane_i       (slot_q),
    .busy_o       (div_busy),
    .result_o     (div_result)
  );
  fpu_divsqrt u_fdiv (
    .clk_i        (unit_clk_i),
    .rst_ni,
    .start_i      (r_valid_q && r_has_fp && r_fpd.lane),
    .start_lane_i (r_slot),
    .sqrt_i       (r_fpd.sqrt),
    .rm_i         (r_rm),
    .a_i          (r_f1),
    .b_i          (r_f2),
    .lane_i       (slot_q),
    .busy_o       (fdiv_busy),
    .result_o     (fdiv_result),
    .fflags_o     (fdiv_flags)
  );

  // Whose operation a slot's lane works on.
  logic [5:0] lane_fp_q;
  logic [4:0] lane_rd_q [0:5];
  logic [2:0] lane_ctx_q [0:5];
  integer i;
  initial begin
    for (i = 0; i < 6; i = i + 1) begin
      lane_rd_q[i]  = 5'd0;
      lane_ctx_q[i] = 3'd0;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) lane_fp_q <= 6'd0;
    else if (e_slots != 3'd1) lane_fp_q[x_slot] <= (e_slots == 3'd5);
  end
  always_ff @(posedge clk_i) begin
    if (e_slots != 3'd1) begin
      lane_rd_q[x_slot]  <= (x_pair_q ? x_aux_word_q[11:7] : x_word_q[11:7]);
      lane_ctx_q[x_slot] <= x_ctx_q;
    end
  end

  // Whatever has work or gets some now. Arrivals on the packet lane count too.
  assign unit_on_o = exch_busy || pkt_busy || pkt_wakes || div_busy || fdiv_busy || e_exch || e_pkt || release_q ||
                     stray_taken || (e_slots != 3'd1) || (r_valid_q && r_has_fp && r_fpd.lane) || packet_rx_valid_i;

  // ---- engines -----------------------------------------------------------------------------------------------------------
  tile_exchange u_exchange (
    .clk_i         (unit_clk_i),
    .rst_ni,
    .cycle_i       (cycle_q),
    .start_i       (e_exch),
    .table_i       (e_rs1),
    .issue_i       (e_cycle),
    .release_i     (z_q),
    .xbase1_i      (xbase1),
    .xbase2_i      (xbase2),
    .xbase3_i      (xbase3),
    .xsource_i     (xsource),
    .ntiles_i      (ntiles_q),
    .sram_end_i    (sram_end_q),
    .read_a_o      (ex_read_a),
    .addr_a_o      (ex_addr_a),
    .data_a_i      (load_a_data_i),
    .read_b_o      (ex_read_b),
    .addr_b_o      (ex_addr_b),
    .data_b_i      (load_b_data_i),
    .write_o       (ex_write),
    .write_addr_o  (ex_write_addr),
    .write_data_o  (ex_write_data),
    .tx_valid_o, .tx_word_o, .tx_addr_o, .rx_listen_o, .rx_source_o, .rx_valid_i, .rx_word_i,
    .busy_o        (exch_busy),
    .resume_o      (exch_resume),
    .fault_o       (exch_fault),
    .fault_cause_o (exch_cause),
    .fault_addr_o  (exch_fault_addr),
    .fault_cycle_o (exch_fault_cycle)
  );

  tile_packet u_packet (
    .clk_i         (unit_clk_i),
    .rst_ni,
    .cycle_i       (cycle_q),
    .tile_i        (tile_q),
    .ipu_i         (ipu_q),
    .sram_end_i    (sram_end_q),
    .open_i        (release_q && (late_word_q[22:20] >= 3'd2)),
    .start_i       (e_pkt),
    .table_i       (e_rs1),
    .issue_i       (e_cycle),
    .xbase1_i      (xbase1),
    .xbase2_i      (xbase2),
    .xbase3_i      (xbase3),
    .window_o      (pkt_window),
    .read_a_o      (pk_read_a),
    .addr_a_o      (pk_addr_a),
    .data_a_i      (load_a_data_i),
    .read_b_o      (pk_read_b),
    .addr_b_o      (pk_addr_b),
    .data_b_i      (load_b_data_i),
    .write_o       (packet_store_req_o),
    .write_addr_o  (packet_store_addr_o),
    .write_data_o  (packet_store_data_o),
    .tx_valid_o    (packet_tx_valid_o),
    .tx_word_o     (packet_tx_word_o),
    .tx_first_o    (packet_tx_first_o),
    .tx_last_o     (packet_tx_last_o),
    .tx_ready_i    (packet_tx_ready_i),
    .rx_valid_i    (packet_rx_valid_i),
    .rx_word_i     (packet_rx_word_i),
    .rx_last_i     (packet_rx_last_i),
    .xpktcnt_o     (xpktcnt),
    .busy_o        (pkt_busy),
    .wakes_o       (pkt_wakes),
    .resume_o      (pkt_resume),
    .fault_o       (pkt_fault),
    .fault_cause_o (pkt_cause),
    .fault_addr_o  (pkt_fault_addr),
    .stray_o       (stray),
    .stray_addr_o  (stray_addr),
    .stray_taken_i (stray_taken)
  );

  // ---- M, N, W: load data, alignment, write, retire --------------------------------------------------------------------
  tile_pkg::retire_flags_t e_main, e_aux_main, w_main, w_aux;
  logic        e_main_valid, e_aux_valid, w_main_valid, w_aux_valid, records_busy;
  logic [31:0] e_record_value, e_record_second, e_word_shown;
  logic [31:0] w_pc, w_word, w_next_pc, w_record_value, w_second, w_third, w_aux_pc, w_aux_word, w_aux_next_pc;
  logic [31:0] e_val, m_val_q, n_val_q, w_val_q, loaded, n_shifted;
  logic [63:0] n_load_q;
  logic [2:0]  m_f3_q, n_f3_q, m_at_q, n_at_q;  // kind of load, and where in the doubleword
  logic        m_is_load_q, n_is_load_q;
  logic        m_fp_q, n_fp_q, w_fp_q;          // a value of the FPU arrives in W

  assign e_val = (x_dec_q.jal || x_dec_q.jalr) ? (x_pc_q + 32'd4) : x_dec_q.csr ? csr_read :
                 x_dec_q.quit ? x_rs1_q : alu_result;

  always_comb begin
    e_main_valid    = e_valid && !(e_sync || e_exch || e_pkt) && !(x_ok && lone_aux);
    e_main          = '0;
    e_record_value  = sum;
    e_record_second = x_sdata_q;
    e_word_shown    = hold_go ? e_word : x_inject_q ? (inject_stray_q ? 32'd0 : late_word_q) : x_fetch_bad ? 32'd0 : e_word;
    if (e_main_valid) begin
      e_main.ctx    = e_ctx;
      e_main.paired = x_valid_q && x_pair_q && !x_inject_q && !x_fetch_bad;
      if (trap) begin
        e_main.trap     = 1'b1;
        e_main.excepted = e_except;
        e_main.cause    = cause;
        e_record_value  = tval;
      end else begin
        e_main.run     = (e_run != 6'd0);
        if (e_main.run) begin
          e_record_value  = e_rs1;
          e_record_second = e_rs2;
        end
        if (x_ok) begin
          e_main.size    = size;
          e_main.pending = !x_solo_fp_q && x_dec_q.div;
          // A value for x[rd] stands in W or comes from a lane; x.sync writes when it ends.
          e_main.xwe     = (x_solo_fp_q ? x_fpd_q.x_rd : x_dec_q.rd_x) && (x_word_q[11:7] != 5'd0);
          e_main.fwe     = x_solo_fp_q ? !x_fpd_q.x_rd : (x_dec_q.load && x_dec_q.fmem);
          e_main.load    = x_load;
          e_main.store   = x_store;
          e_main.csr     = csr_written;
          if (csr_written) e_record_value = csr_after;
        end
      end
    end

    e_aux_valid = aux_trap || (e_aux && x_fpd_q.aux);
    e_aux_main  = '0;
    if (e_aux_valid) begin
      e_aux_main.trap     = aux_trap;
      e_aux_main.excepted = aux_trap && e_except;
      e_aux_main.paired   = x_pair_q;
      e_aux_main.pending  = x_fpd_q.lane && !aux_trap;
      e_aux_main.ctx      = e_ctx;
    end
  end

  tile_retire u_retire (
    .clk_i, .rst_ni,
    .x_slot_i      (x_slot),
    .w_slot_i      (slot_q),
    .main_valid_i  (e_main_valid),
    .main_i        (e_main),
    .pc_i          (e_pc),
    .word_i        (e_word_shown),
    .next_pc_i     ((x_pair_q && x_ok) ? (x_pc_q + 32'd4) : e_next_pc),
    .value_i       (e_record_value),
    .second_i      (e_record_second),
    .third_i       (e_rs3),
    .aux_valid_i   (e_aux_valid),
    .aux_i         (e_aux_main),
    .aux_pc_i      (x_pair_q ? (x_pc_q + 32'd4) : x_pc_q),
    .aux_word_i    (x_pair_q ? x_aux_word_q : x_word_q),
    .aux_next_pc_i (e_next_pc),
    .busy_o        (records_busy),
    .main_valid_o  (w_main_valid),
    .main_o        (w_main),
    .pc_o          (w_pc),
    .word_o        (w_word),
    .next_pc_o     (w_next_pc),
    .value_o       (w_record_value),
    .second_o      (w_second),
    .third_o       (w_third),
    .aux_valid_o   (w_aux_valid),
    .aux_o         (w_aux),
    .aux_pc_o      (w_aux_pc),
    .aux_word_o    (w_aux_word),
    .aux_next_pc_o (w_aux_next_pc)
  );

  logic [63:0] n_word;
  assign n_word    = n_load_q >> {n_at_q, 3'b000};
  assign n_shifted = n_word[31:0];
  always_comb begin
    case (n_f3_q)
      3'd0: loaded = {{24{n_shifted[7]}}, n_shifted[7:0]};
      3'd1: loaded = {{16{n_shifted[15]}}, n_shifted[15:0]};
      3'd4: loaded = {24'd0, n_shifted[7:0]};
      3'd5: loaded = {16'd0, n_shifted[15:0]};
      default: loaded = n_shifted;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      m_fp_q      <= 1'b0;
      n_fp_q      <= 1'b0;
      w_fp_q      <= 1'b0;
      m_is_load_q <= 1'b0;
      n_is_load_q <= 1'b0;
    end else begin
      m_fp_q      <= e_aux && !x_fpd_q.lane;
      n_fp_q      <= m_fp_q;
      w_fp_q      <= n_fp_q;
      m_is_load_q <= x_load;
      n_is_load_q <= m_is_load_q;
    end
  end

  always_ff @(posedge clk_i) begin
    m_val_q <= e_val;
    m_f3_q  <= x_word_q[14:12];
    m_at_q  <= sum[2:0];
    n_val_q <= m_val_q;
    n_f3_q  <= m_f3_q;
    n_at_q  <= m_at_q;
    if (m_is_load_q) n_load_q <= load_a_data_i;
    w_val_q <= n_is_load_q ? loaded : n_val_q;
  end

  // W. Its slot is that of the current cycle, as six cycles have gone by.
  logic        w_solo_fp, lane_fp;
  logic [31:0] lane_value, w_value;
  logic [4:0]  lane_flags;
  assign lane_fp    = lane_fp_q[slot_q];
  assign lane_value = lane_fp ? fdiv_result : div_result;
  assign lane_flags = lane_fp ? fdiv_flags : 5'd0;
  assign w_solo_fp  = w_fp_q && w_main_valid && !w_aux_valid;
  assign w_value    = w_solo_fp ? fpu_result : w_val_q;
  assign w_ctx      = w_comp_q ? lane_ctx_q[slot_q] : w_late_we ? 3'd0 : w_main_valid ? w_main.ctx : w_aux.ctx;

  assign w_xrd  = w_comp_q ? lane_rd_q[slot_q] : w_late_we ? late_word_q[11:7] : w_word[11:7];
  assign w_xwe  = (w_xrd != 5'd0) && (w_comp_q ? !lane_fp : (w_late_we || (w_main.xwe && !w_main.pending)));
  assign w_xval = w_comp_q ? lane_value : w_late_we ? {31'd0, late_vote} : w_value;

  assign w_fmain_we  = w_main.load && w_main.fwe;
  assign w_fmain_rd  = w_word[11:7];
  assign w_fmain_val = w_val_q;
  assign w_faux_we   = w_comp_q ? lane_fp
                                : ((w_aux_valid && !w_aux.trap && !w_aux.pending) || (w_solo_fp && w_main.fwe));
  assign w_faux_rd   = w_comp_q ? lane_rd_q[slot_q] : w_aux_valid ? w_aux_word[11:7] : w_word[11:7];
  assign w_faux_val  = w_comp_q ? lane_value : fpu_result;
  assign flags_we    = w_comp_q ? lane_fp : w_fp_q;
  assign flags       = w_comp_q ? lane_flags : fpu_flags;

  // ---- retire ports ------------------------------------------------------------------------------------------------------
  // w_* are 0 where nothing retires, and nothing does when a late instruction is reported.
  assign ret_valid_o    = w_main_valid || late;
  assign ret_trap_o     = w_main.trap;
  assign ret_paired_o   = w_main.paired;
  assign ret_pending_o  = w_main.pending;
  assign ret_excepted_o = w_main.excepted;
  assign ret_cycle_o    = late ? late_cycle_q : (cycle_q - 64'd6);
  assign ret_ctx_o      = w_main.ctx;
  assign ret_pc_o       = late ? late_pc_q : w_pc;
  assign ret_word_o     = late ? late_word_q : w_word;
  assign ret_next_pc_o  = late ? (late_pc_q + 32'd4) : w_next_pc;
  assign ret_cause_o    = w_main.cause;
  assign ret_tval_o     = w_record_value;
  assign ret_xrd_o      = (w_late_we || w_main.xwe) ? ret_word_o[11:7] : 5'd0;
  assign ret_value_o    = late ? {31'd0, w_late_we && late_vote} : w_value;
  assign ret_fwe_o      = w_main.fwe;
  assign ret_frd_o      = w_word[11:7];
  assign ret_fflags_o   = w_solo_fp ? fpu_flags : 5'd0;
  assign ret_load_o     = w_main.load;
  assign ret_store_o    = w_main.store;
  assign ret_addr_o     = w_record_value;
  assign ret_mask_o     = (w_main.size == 2'd0) ? 8'h01 : (w_main.size == 2'd1) ? 8'h03 : 8'h0F;
  assign ret_wdata_o    = (w_main.size == 2'd0) ? {24'd0, w_second[7:0]} :
                          (w_main.size == 2'd1) ? {16'd0, w_second[15:0]} : w_second;
  assign ret_csr_o        = w_main.csr ? w_word[31:20] : 12'd0;
  assign ret_csr_value_o  = w_record_value;
  assign ret_run_o        = w_main.run ? w_word[9:7] : 3'd0;
  assign ret_run_pc_o     = w_record_value;
  assign ret_run_a0_o     = w_second;
  assign ret_run_a1_o     = w_third;
  assign ret_run_stack_o  = xwstack;
  assign ret_run_stride_o = xwstksz;
  assign ret_run_ra_o     = xwra;
  assign aux_valid_o    = w_aux_valid;
  assign aux_trap_o     = w_aux.trap;
  assign aux_paired_o   = w_aux.paired;
  assign aux_pending_o  = w_aux.pending;
  assign aux_excepted_o = w_aux.excepted;
  assign aux_cycle_o    = cycle_q - 64'd6;
  assign aux_ctx_o      = w_aux.ctx;
  assign aux_pc_o       = w_aux_pc;
  assign aux_word_o     = w_aux_word;
  assign aux_next_pc_o  = w_aux_next_pc;
  assign aux_cause_o    = tessera_pkg::TRAP_ILLEGAL_INSTRUCTION;
  assign aux_tval_o     = w_aux_word;
  assign aux_frd_o      = w_aux_word[11:7];
  assign aux_value_o    = fpu_result;
  assign aux_fflags_o   = fpu_flags;
  assign done_valid_o   = w_comp_q;
  assign done_slot_o    = slot_q;
  assign done_value_o   = lane_value;
  assign done_fflags_o  = lane_flags;

  assign quiescent_o = issue_quiet && !codes_pending && !exch_busy && !pkt_busy && !release_q && !local_q && !start_valid_q &&
                       !(f_valid || d_valid_q || r_valid_q || x_valid_q || records_busy || f_comp || d_comp_q ||
                         r_comp_q || x_comp_q || m_comp_q || n_comp_q || w_comp_q);

  always_comb begin
    dbg_data_o = 32'd0;
    if (dbg_en_i) begin
      case (dbg_kind_i)
        2'd0: dbg_data_o = dbg_x;
        2'd1: dbg_data_o = dbg_f;
        2'd2: dbg_data_o = dbg_csr;
        // A supervisor that waits shows the instruction that does.
        default: dbg_data_o = dbg_sel_i[0] ? {22'd0, f_busy, 1'b0, sup_state} :
                              ((dbg_ctx_i == 3'd0) && (sup_state >= tile_pkg::SupSync) &&
                               (sup_state <= tile_pkg::SupPacket)) ? late_pc_q : dbg_pc;
      endcase
    end
  end
endmodule
