// The processor of a tile: seven contexts in a barrel of six slots, exchange and packet engines; the SRAM is outside.
// Here the stages are put together; time and the pins are registered, the debug port reads.
//
// An instruction issued in cycle c passes F (c: address to the fetch port) and D (word arrives) in tile_fetch, R
// (decode, register read) in tile_read, X (c+3: execute, memory access, traps) in tile_execute, M (load data arrives)
// and N (alignment) in tile_memory, W (c+6: register write, retire) in tile_write. F arithmetic and division go from X
// to W through tile_lanes; what the supervisor waits for is in tile_supervisor and tile_engines.
//
// A context reads registers again in c+8 at the earliest, so there are no hazards and no forwarding. All memory accesses
// are made in X, so they follow the order of issue cycles. Times that anybody sees are issue cycles.
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

  // Gated clock of registers that few instructions write: CSRs, streams, loops, what x.run gives. By the same rule; it
  // rises with dbg_we_i too. All clocks rise in reset.
  input  logic        state_clk_i,
  output logic        state_on_o,

  // Gated clocks of SIMD and random numbers, of the transcendental unit and of the AMP, each by the same rule.
  input  logic        simd_clk_i,
  output logic        simd_on_o,
  input  logic        trans_clk_i,
  output logic        trans_on_o,
  input  logic        amp_clk_i,
  output logic        amp_on_o,

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
  output logic [31:0] ret_value_o,        // x value
  output logic        ret_fwe_o,
  output logic [4:0]  ret_frd_o,
  output logic [4:0]  ret_fflags_o,
  output logic        ret_fpair_o,        // with ret_fwe_o: a pair from ret_frd_o on, else one register
  output logic [63:0] ret_fbits_o,        // its value, first register in the low half, 0 above a single one
  output logic        ret_fwe2_o,         // a second f write, always a pair: upper half of a quad, or S1 of x.ld2
  output logic [4:0]  ret_frd2_o,
  output logic [63:0] ret_fbits2_o,
  output logic        ret_load_o,
  output logic        ret_load2_o,        // a second doubleword is read: x.ld128, x.ld2, x.ld2st
  output logic        ret_store_o,
  output logic [31:0] ret_addr_o,         // of the load; without one, of the store
  output logic [31:0] ret_addr2_o,        // of the second doubleword read; 0 if there is none
  output logic [31:0] ret_store_addr_o,   // of the store; 0 if there is none
  output logic [7:0]  ret_mask_o,         // bytes from ret_store_addr_o up
  output logic [63:0] ret_wdata_o,
  output logic [2:0]  ret_streams_o,      // stream pointers used or set; their values afterwards (0 if not)
  output logic [31:0] ret_stream0_o,
  output logic [31:0] ret_stream1_o,
  output logic [31:0] ret_stream2_o,
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
  output logic [4:0]  aux_fflags_o,
  output logic [2:0]  aux_count_o,        // f registers written from aux_frd_o on: 1, 2, 4; 0 if a trap
  output logic [127:0] aux_bits_o,        // their values, first register lowest; 0 above the count and if pending
  output logic        aux_drew_o,         // the PRNG made a step: its state afterwards, {s1, s0}
  output logic [127:0] aux_rng_o,
  output logic        aux_amp_o,          // AMP step of the last phase: {B[7], .. B[0], A[7], .. A[0]} after the swap
  output logic [511:0] aux_amp_state_o,
  // x.amp.ldw takes row 0, 1, .. 15 of 16 bytes. Its record is pending; row 15 completes it.
  output logic        ldw_valid_o,
  output logic [3:0]  ldw_row_o,
  output logic [127:0] ldw_data_o,        // lowest address lowest
  // A divider or transcendental lane delivers the result of the pending record of its slot.
  output logic        done_valid_o,
  output logic [2:0]  done_slot_o,
  output logic [31:0] done_value_o,
  output logic [4:0]  done_fflags_o,

  // Debug port (docs/machine/debug.md). Commands for contexts (bit 0 the supervisor), given in the cycle before the one
  // in which they act; of two for one context the resume acts first.
  input  logic [6:0]  dbg_halt_i,
  input  logic [6:0]  dbg_resume_i,
  output logic [6:0]  halted_o,           // from the cycle after the one in which the context would have issued
  // Access to a halted, idle or excepted context: read combinational, write at the end of the cycle. kind 0 x register,
  // 1 f register, 2 CSR, 3 pc (sel 0) or state of the supervisor and workers not idle (sel 1, read only), 4 AMP state
  // (read only; sel 0..7 A, 8..15 B; supervisor: 0..63 the weights).
  input  logic        dbg_en_i,
  input  logic        dbg_we_i,
  input  logic [2:0]  dbg_kind_i,
  input  logic [2:0]  dbg_ctx_i,
  input  logic [11:0] dbg_sel_i,
  input  logic [31:0] dbg_wdata_i,
  output logic [31:0] dbg_data_o
);
  // Time and pins.
  logic [63:0] cycle_q, e_cycle;
  logic [2:0]  slot_q, x_slot, r_slot, start_ctx_q;
  logic        release_q, release_vote_q, local_q, start_valid_q;
  logic [11:0] tile_q;
  logic [7:0]  ipu_q, dbg_row;
  logic [12:0] ntiles_q;
  logic [31:0] hart_base_q, sram_end_q, start_pc_q;
  logic [1:0]  groups_q;
  // F, D: tile_fetch.
  logic                 dbg_pc_we, dbg_dcsr_we, dbg_csr_we, dbg_x_we, dbg_f_we, dbg_is_stream, dbg_is_rng;
  logic [6:0]           ebreakm;
  logic [31:0]          dbg_dcsr;
  logic                 sync_local, issue_quiet, stray_taken, r_valid, x_valid, x_inject, x_vacant, w_comp,
                        inject_stray, in_flight;
  logic [5:0]           f_busy, x_busy, x_exc;
  tile_pkg::sup_state_e sup_state;
  logic [2:0]           r_ctx, x_ctx;
  logic [31:0]          r_pc, x_pc, inject_tval, dbg_pc;
  logic [63:0]          r_ir;
  logic [4:0]           inject_cause;
  // R: tile_read.
  tile_pkg::fp_dec_t  r_fpd, x_fpd;
  logic               r_has_fp, x_pair, x_solo_fp, x_rm_bad;
  logic [2:0]         r_rm, r_phase, x_rm;
  logic [127:0]       r_f1;
  logic [63:0]        r_f2, r_f3, x_sdata;
  logic [31:0]        x_word, x_aux_word, x_rs1, x_rs2, x_rs3, x_a, x_b, x_fa, x_fb, x_fc, dbg_x, dbg_f;
  tile_pkg::int_dec_t x_dec;
  // Held and late: tile_supervisor.
  logic [63:0]        z, late_cycle;
  logic               exch_open, late, late_vote, w_late_we, x_waits, hold_go;
  logic [31:0]        xfaultcyc, e_rs1, e_rs2, e_rs3, late_pc, late_word, e_pc, e_word;
  logic [5:0]         hold_mask;
  tile_pkg::int_dec_t e_dec;
  // X: tile_execute.
  logic [2:0]  r_frm, e_ctx, e_slots, e_zone;
  logic        e_break, e_valid, e_except, e_quit, e_sync, e_exch, e_pkt, e_ldw, x_fetch_bad, trap, aux_trap, e_aux,
               lone_aux, csr_written, x_ok, e_int_ok, x_load, x_load2, x_store, x_stream, x_sset, stream_csr_we,
               codes_pending, exec_state_on;
  logic [31:0] e_next_pc, e_delay, dbg_csr, xwstack, xwstksz, xwra, xbase1, xbase2, xbase3, xsource, addr, addr2,
               store_addr, tval, csr_after, e_val;
  logic [5:0]  e_run;
  logic [4:0]  cause;
  logic [1:0]  size;
  // Streams: tile_streams.
  logic [31:0] s0, s1, s2, w_s0, w_s1, w_s2, stream_csr, dbg_stream;
  // Vector units: tile_vector.
  logic         rng_csr_read, rng_csr_we, ldw_read, ldw_busy, mem_read_a, mem_read_b;
  logic [31:0]  rng_csr, ldw_addr, mem_addr_a, mem_addr_b, dbg_amp, dbg_rng, w_trans;
  logic [63:0]  w_amp;
  logic [127:0] w_simd;
  // M, N: tile_memory.
  logic [31:0] w_val;
  logic [63:0] w_wide, w_wide2;
  // FPU and dividers: tile_lanes.
  logic [31:0] fpu_result, lane_value;
  logic [4:0]  fpu_flags, lane_flags, lane_rd;
  logic        w_fp, lane_fp, div_lanes_busy;
  logic [2:0]  lane_ctx;
  // Engines: tile_engines.
  logic        exch_resume, exch_fault, pkt_wakes, pkt_resume, stray, pkt_window, engine_fault, late_exch, ex_write,
               eng_read_a, eng_read_b, eng_busy;
  logic [31:0] xpktcnt, ex_write_addr, ex_write_data, fault_tval, eng_addr_a, eng_addr_b;
  logic [63:0] exch_fault_cycle;
  logic [4:0]  fault_cause;
  // W: tile_write.
  logic         w_xwe, w_fmain_we, w_fmain_pair, w_fsecond_we, flags_we, records_busy;
  logic [2:0]   w_ctx, w_faux_count;
  logic [4:0]   w_xrd, w_fmain_rd, w_fsecond_rd, w_faux_rd, flags;
  logic [31:0]  w_xval;
  logic [63:0]  w_fmain_val, w_fsecond_val;
  logic [127:0] w_faux_val;

  // Pins that much logic hangs on are registered, which a chip wants as much as a simulator.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      cycle_q        <= 64'd0;
      slot_q         <= 3'd0;
      release_q      <= 1'b0;
      release_vote_q <= 1'b0;
      local_q        <= 1'b0;
      start_valid_q  <= 1'b0;
    end else begin
      cycle_q        <= cycle_i;
      slot_q         <= slot_i;
      release_q      <= release_valid_i;
      release_vote_q <= release_vote_i;
      local_q        <= sync_local;
      start_valid_q  <= start_valid_i;
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

  assign x_slot  = (slot_q < 3'd3) ? (slot_q + 3'd3) : (slot_q - 3'd3);
  assign r_slot  = (slot_q < 3'd2) ? (slot_q + 3'd4) : (slot_q - 3'd2);
  assign e_cycle = cycle_q - 64'd3;

  tile_fetch u_fetch (
    .clk_i, .rst_ni, .fetch_data_i, .slot_i(slot_q), .x_slot_i(x_slot), .release_i(release_q), .sram_end_i(sram_end_q),
    .start_pc_i(start_pc_q), .start_valid_i(start_valid_q), .start_ctx_i(start_ctx_q), .exch_resume_i(exch_resume),
    .pkt_resume_i(pkt_resume), .stray_i(stray), .engine_fault_i(engine_fault), .e_valid_i(e_valid),
    .e_except_i(e_except), .e_ctx_i(e_ctx), .e_slots_i(e_slots), .e_next_pc_i(e_next_pc), .e_delay_i(e_delay),
    .e_rs1_i(e_rs1), .e_run_i(e_run), .e_quit_i(e_quit), .e_sync_i(e_sync), .e_exch_i(e_exch), .e_pkt_i(e_pkt),
    .e_zone_i(e_zone), .e_break_i(e_break), .dbg_halt_i, .dbg_resume_i, .dbg_pc_we_i(dbg_pc_we),
    .dbg_dcsr_we_i(dbg_dcsr_we), .dbg_wdata_i, .dbg_ctx_i, .hold_mask_i(hold_mask), .late_pc_i(late_pc),
    .x_waits_i(x_waits), .fault_cause_i(fault_cause), .fault_tval_i(fault_tval), .raise_o, .fetch_req_o, .fetch_addr_o,
    .excepted_o, .sync_local_o(sync_local), .issue_quiet_o(issue_quiet), .f_busy_o(f_busy), .sup_state_o(sup_state),
    .stray_taken_o(stray_taken), .r_valid_o(r_valid), .x_valid_o(x_valid), .x_inject_o(x_inject), .x_vacant_o(x_vacant),
    .w_comp_o(w_comp), .r_ctx_o(r_ctx), .x_ctx_o(x_ctx), .r_pc_o(r_pc), .x_pc_o(x_pc), .x_busy_o(x_busy),
    .x_exc_o(x_exc), .r_ir_o(r_ir), .inject_cause_o(inject_cause), .inject_tval_o(inject_tval),
    .inject_stray_o(inject_stray), .dbg_pc_o(dbg_pc), .dbg_dcsr_o(dbg_dcsr), .ebreakm_o(ebreakm), .halted_o,
    .in_flight_o(in_flight)
  );

  tile_read u_read (
    .clk_i, .state_clk_i, .start_valid_i(start_valid_q), .start_ctx_i(start_ctx_q), .r_valid_i(r_valid),
    .r_ctx_i(r_ctx), .r_pc_i(r_pc), .r_ir_i(r_ir), .r_frm_i(r_frm), .e_rs2_i(e_rs2), .e_rs3_i(e_rs3), .e_run_i(e_run),
    .dbg_x_we_i(dbg_x_we), .dbg_f_we_i(dbg_f_we), .dbg_wdata_i, .dbg_row_i(dbg_row), .w_xwe_i(w_xwe),
    .w_fmain_we_i(w_fmain_we), .w_fmain_pair_i(w_fmain_pair), .w_fsecond_we_i(w_fsecond_we),
    .w_faux_count_i(w_faux_count), .w_ctx_i(w_ctx), .w_fsecond_rd_i(w_fsecond_rd), .w_fsecond_val_i(w_fsecond_val),
    .w_xrd_i(w_xrd), .w_fmain_rd_i(w_fmain_rd), .w_faux_rd_i(w_faux_rd), .w_xval_i(w_xval), .w_fmain_val_i(w_fmain_val),
    .w_faux_val_i(w_faux_val), .xwstack_i(xwstack), .xwstksz_i(xwstksz), .xwra_i(xwra), .r_fpd_o(r_fpd),
    .r_has_fp_o(r_has_fp), .r_rm_o(r_rm), .r_phase_o(r_phase), .r_f1_o(r_f1), .r_f2_o(r_f2), .r_f3_o(r_f3),
    .x_word_o(x_word), .x_aux_word_o(x_aux_word), .x_rs1_o(x_rs1), .x_rs2_o(x_rs2), .x_rs3_o(x_rs3), .x_a_o(x_a),
    .x_b_o(x_b), .x_fa_o(x_fa), .x_fb_o(x_fb), .x_fc_o(x_fc), .x_sdata_o(x_sdata), .x_dec_o(x_dec), .x_fpd_o(x_fpd),
    .x_pair_o(x_pair), .x_solo_fp_o(x_solo_fp), .x_rm_bad_o(x_rm_bad), .x_rm_o(x_rm), .dbg_x_o(dbg_x), .dbg_f_o(dbg_f)
  );

  tile_supervisor u_supervisor (
    .clk_i, .rst_ni, .cycle_i(cycle_q), .release_i(release_q), .release_vote_i(release_vote_q), .local_i(local_q),
    .exch_resume_i(exch_resume), .exch_fault_i(exch_fault), .exch_fault_cycle_i(exch_fault_cycle),
    .late_exch_i(late_exch), .x_valid_i(x_valid), .x_inject_i(x_inject), .x_vacant_i(x_vacant), .x_pc_i(x_pc),
    .x_busy_i(x_busy), .x_word_i(x_word), .x_rs1_i(x_rs1), .x_rs2_i(x_rs2), .x_rs3_i(x_rs3), .x_dec_i(x_dec),
    .e_valid_i(e_valid), .e_sync_i(e_sync), .e_exch_i(e_exch), .e_pkt_i(e_pkt), .e_cycle_i(e_cycle),
    .x_fetch_bad_i(x_fetch_bad), .trap_i(trap), .cause_i(cause), .raise_zone_o, .raise_vote_o, .raise_code_o, .z_o(z),
    .exch_open_o(exch_open), .xfaultcyc_o(xfaultcyc), .late_o(late), .late_vote_o(late_vote), .e_rs1_o(e_rs1),
    .e_rs2_o(e_rs2), .e_rs3_o(e_rs3), .hold_mask_o(hold_mask), .late_pc_o(late_pc), .late_word_o(late_word),
    .late_cycle_o(late_cycle), .w_late_we_o(w_late_we), .x_waits_o(x_waits), .hold_go_o(hold_go), .e_dec_o(e_dec),
    .e_pc_o(e_pc), .e_word_o(e_word)
  );

  tile_execute u_execute (
    .clk_i, .state_clk_i, .rst_ni, .state_on_o(exec_state_on), .dbg_en_i, .dbg_ctx_i, .dbg_sel_i,
    .dbg_pc_we_i(dbg_pc_we), .dbg_csr_we_i(dbg_csr_we), .dbg_wdata_i, .dbg_dcsr_i(dbg_dcsr),
    .dbg_wstat_i({excepted_o[6:1], 2'b00, f_busy}), .ebreakm_i(ebreakm), .e_break_o(e_break), .z_i(z), .slot_i(slot_q),
    .x_slot_i(x_slot), .exch_open_i(exch_open), .xfaultcyc_i(xfaultcyc), .tile_i(tile_q), .ipu_i(ipu_q),
    .ntiles_i(ntiles_q), .hart_base_i(hart_base_q), .sram_end_i(sram_end_q), .groups_i(groups_q),
    .pkt_window_i(pkt_window), .xpktcnt_i(xpktcnt), .late_i(late), .x_valid_i(x_valid), .x_inject_i(x_inject),
    .r_ctx_i(r_ctx), .x_ctx_i(x_ctx), .x_pc_i(x_pc), .x_busy_i(x_busy), .x_exc_i(x_exc), .inject_cause_i(inject_cause),
    .inject_tval_i(inject_tval), .x_word_i(x_word), .x_aux_word_i(x_aux_word), .x_rs1_i(x_rs1), .x_rs2_i(x_rs2),
    .x_a_i(x_a), .x_b_i(x_b), .x_dec_i(x_dec), .x_fpd_i(x_fpd), .x_pair_i(x_pair), .x_solo_fp_i(x_solo_fp),
    .x_rm_bad_i(x_rm_bad), .e_rs1_i(e_rs1), .w_ctx_i(w_ctx), .x_waits_i(x_waits), .hold_go_i(hold_go), .e_dec_i(e_dec),
    .e_pc_i(e_pc), .e_word_i(e_word), .e_cycle_i(e_cycle), .flags_we_i(flags_we), .flags_i(flags), .r_frm_o(r_frm),
    .e_valid_o(e_valid), .e_except_o(e_except), .e_ctx_o(e_ctx), .e_slots_o(e_slots), .e_next_pc_o(e_next_pc),
    .e_delay_o(e_delay), .e_run_o(e_run), .e_quit_o(e_quit), .e_sync_o(e_sync), .e_exch_o(e_exch), .e_pkt_o(e_pkt),
    .e_zone_o(e_zone), .dbg_csr_o(dbg_csr), .xwstack_o(xwstack), .xwstksz_o(xwstksz), .xwra_o(xwra), .xbase1_o(xbase1),
    .xbase2_o(xbase2), .xbase3_o(xbase3), .xsource_o(xsource), .x_fetch_bad_o(x_fetch_bad), .s0_i(s0), .s1_i(s1),
    .s2_i(s2), .stream_csr_i(stream_csr), .rng_csr_i(rng_csr), .rng_csr_read_o(rng_csr_read), .rng_csr_we_o(rng_csr_we),
    .e_ldw_o(e_ldw), .addr_o(addr), .addr2_o(addr2), .store_addr_o(store_addr), .x_load2_o(x_load2),
    .x_stream_o(x_stream), .x_sset_o(x_sset), .stream_csr_we_o(stream_csr_we), .trap_o(trap), .aux_trap_o(aux_trap),
    .e_aux_o(e_aux), .lone_aux_o(lone_aux), .cause_o(cause), .tval_o(tval), .csr_after_o(csr_after),
    .csr_written_o(csr_written), .size_o(size), .x_ok_o(x_ok), .e_int_ok_o(e_int_ok), .x_load_o(x_load),
    .x_store_o(x_store), .codes_pending_o(codes_pending), .e_val_o(e_val)
  );

  tile_memory u_memory (
    .clk_i, .rst_ni, .load_a_data_i, .load_b_data_i, .x_word_i(x_word), .x_sdata_i(x_sdata),
    .x_wide_i(x_dec.wide), .addr_i(addr), .addr2_i(addr2), .store_addr_i(store_addr), .size_i(size),
    .x_load2_i(x_load2), .w_wide_o(w_wide), .w_wide2_o(w_wide2),
    .ex_write_i(ex_write), .ex_write_addr_i(ex_write_addr), .ex_write_data_i(ex_write_data), .x_load_i(x_load),
    .x_store_i(x_store), .e_val_i(e_val), .eng_read_a_i(mem_read_a), .eng_read_b_i(mem_read_b),
    .eng_addr_a_i(mem_addr_a), .eng_addr_b_i(mem_addr_b), .load_a_req_o, .load_a_addr_o, .load_b_req_o,
    .load_b_addr_o, .store_req_o, .store_addr_o, .store_data_o, .store_mask_o, .w_val_o(w_val)
  );

  tile_streams u_streams (
    .clk_i(state_clk_i), .ctx_i(x_ctx), .stream_i(x_dec.stream), .uses_i(x_dec.uses), .steps_i(x_word[30:25]),
    .move_i(x_stream), .set_i(x_sset), .set_k_i(x_word[26:25]), .set_addr_i(x_rs1), .set_strides_i(x_rs2),
    .csr_i(x_dec.csr), .csr_we_i(stream_csr_we), .csr_number_i(x_word[22:20]), .csr_value_i(csr_after),
    .csr_read_o(stream_csr), .s0_o(s0), .s1_o(s1), .s2_o(s2), .w_ctx_i(ret_ctx_o), .w_mask_i(ret_streams_o),
    .w_s0_o(w_s0), .w_s1_o(w_s1), .w_s2_o(w_s2), .dbg_we_i(dbg_csr_we && dbg_is_stream), .dbg_wdata_i, .dbg_en_i,
    .dbg_ctx_i, .dbg_sel_i(dbg_sel_i[2:0]), .dbg_data_o(dbg_stream)
  );

  // The load of weights waits for whoever else may use the ports.
  assign mem_read_a = eng_read_a || ldw_read;
  assign mem_read_b = eng_read_b || ldw_read;
  assign mem_addr_a = ldw_read ? ldw_addr : eng_addr_a;
  assign mem_addr_b = ldw_read ? {ldw_addr[31:4], 4'd8} : eng_addr_b;

  tile_vector u_vector (
    .clk_i, .rst_ni, .slot_i(slot_q), .r_slot_i(r_slot), .hart_base_i(hart_base_q), .start_valid_i(start_valid_q),
    .start_ctx_i(start_ctx_q), .simd_clk_i, .trans_clk_i, .amp_clk_i, .load_a_data_i, .load_b_data_i,
    .r_valid_i(r_valid), .r_ctx_i(r_ctx), .r_has_fp_i(r_has_fp), .r_fpd_i(r_fpd), .r_phase_i(r_phase), .r_f1_i(r_f1),
    .r_f2_i(r_f2), .r_f3_i(r_f3), .x_ctx_i(x_ctx), .x_fpd_i(x_fpd), .e_aux_i(e_aux), .e_run_i(e_run), .e_ldw_i(e_ldw),
    .e_rs1_i(e_rs1), .rng_read_i(rng_csr_read), .rng_write_i(rng_csr_we), .rng_index_i(x_word[21:20]),
    .rng_value_i(csr_after), .rng_value_o(rng_csr), .w_ctx_i(aux_ctx_o), .w_drew_i(aux_drew_o), .w_rng_o(aux_rng_o),
    .w_simd_o(w_simd), .w_trans_o(w_trans), .w_amp_o(w_amp), .w_amp_last_o(aux_amp_o), .w_amp_state_o(aux_amp_state_o),
    .simd_on_o, .trans_on_o, .amp_on_o, .ldw_read_o(ldw_read), .ldw_addr_o(ldw_addr), .ldw_busy_o(ldw_busy),
    .ldw_valid_o, .ldw_row_o, .ldw_data_o, .dbg_en_i, .dbg_rng_we_i(dbg_csr_we && dbg_is_rng), .dbg_ctx_i,
    .dbg_sel_i(dbg_sel_i[5:0]), .dbg_wdata_i, .dbg_amp_o(dbg_amp), .dbg_rng_o(dbg_rng)
  );

  tile_lanes u_lanes (
    .clk_i, .rst_ni, .unit_clk_i, .slot_i(slot_q), .x_slot_i(x_slot), .r_slot_i(r_slot), .r_valid_i(r_valid),
    .x_ctx_i(x_ctx), .r_fpd_i(r_fpd), .r_has_fp_i(r_has_fp), .r_rm_i(r_rm), .r_f1_i(r_f1), .r_f2_i(r_f2),
    .x_word_i(x_word), .x_aux_word_i(x_aux_word), .x_rs1_i(x_rs1), .x_rs2_i(x_rs2), .x_fa_i(x_fa), .x_fb_i(x_fb),
    .x_fc_i(x_fc), .x_fpd_i(x_fpd), .x_pair_i(x_pair), .x_rm_i(x_rm), .e_slots_i(e_slots), .e_dec_i(e_dec),
    .e_aux_i(e_aux), .e_int_ok_i(e_int_ok), .w_trans_i(w_trans), .fpu_result_o(fpu_result), .fpu_flags_o(fpu_flags),
    .w_fp_o(w_fp), .lane_fp_o(lane_fp), .lane_value_o(lane_value), .lane_flags_o(lane_flags), .lane_rd_o(lane_rd),
    .lane_ctx_o(lane_ctx), .div_lanes_busy_o(div_lanes_busy)
  );

  tile_engines u_engines (
    .rst_ni, .unit_clk_i, .load_a_data_i, .load_b_data_i, .rx_valid_i, .rx_word_i, .packet_tx_ready_i,
    .packet_rx_valid_i, .packet_rx_word_i, .packet_rx_last_i, .cycle_i(cycle_q), .z_i(z), .release_i(release_q),
    .tile_i(tile_q), .ipu_i(ipu_q), .ntiles_i(ntiles_q), .sram_end_i(sram_end_q), .stray_taken_i(stray_taken),
    .e_rs1_i(e_rs1), .e_exch_i(e_exch), .e_pkt_i(e_pkt), .late_word_i(late_word), .xbase1_i(xbase1),
    .xbase2_i(xbase2), .xbase3_i(xbase3), .xsource_i(xsource), .e_cycle_i(e_cycle), .packet_store_req_o,
    .packet_store_addr_o, .packet_store_data_o, .tx_valid_o, .tx_word_o, .tx_addr_o, .rx_listen_o, .rx_source_o,
    .rx_write_o, .rx_write_addr_o, .rx_write_word_o, .packet_tx_valid_o, .packet_tx_word_o, .packet_tx_first_o,
    .packet_tx_last_o, .exch_resume_o(exch_resume), .exch_fault_o(exch_fault), .pkt_wakes_o(pkt_wakes),
    .pkt_resume_o(pkt_resume), .stray_o(stray), .pkt_window_o(pkt_window), .xpktcnt_o(xpktcnt),
    .exch_fault_cycle_o(exch_fault_cycle), .engine_fault_o(engine_fault), .late_exch_o(late_exch),
    .ex_write_o(ex_write), .ex_write_addr_o(ex_write_addr), .ex_write_data_o(ex_write_data),
    .fault_cause_o(fault_cause), .fault_tval_o(fault_tval), .eng_read_a_o(eng_read_a), .eng_read_b_o(eng_read_b),
    .eng_addr_a_o(eng_addr_a), .eng_addr_b_o(eng_addr_b), .eng_busy_o(eng_busy)
  );

  tile_write u_write (
    .clk_i, .rst_ni, .cycle_i(cycle_q), .slot_i(slot_q), .x_slot_i(x_slot), .late_i(late), .late_vote_i(late_vote),
    .x_valid_i(x_valid), .x_inject_i(x_inject), .w_comp_i(w_comp), .x_pc_i(x_pc), .inject_stray_i(inject_stray),
    .x_word_i(x_word), .x_aux_word_i(x_aux_word), .x_sdata_i(x_sdata), .x_dec_i(x_dec), .x_fpd_i(x_fpd),
    .x_pair_i(x_pair), .x_solo_fp_i(x_solo_fp), .e_valid_i(e_valid), .e_except_i(e_except), .e_ctx_i(e_ctx),
    .e_next_pc_i(e_next_pc), .e_rs1_i(e_rs1), .e_rs2_i(e_rs2), .e_rs3_i(e_rs3), .e_run_i(e_run), .e_sync_i(e_sync),
    .e_exch_i(e_exch), .e_pkt_i(e_pkt), .e_break_i(e_break), .late_pc_i(late_pc), .late_word_i(late_word),
    .late_cycle_i(late_cycle), .e_ldw_i(e_ldw), .w_simd_i(w_simd), .w_trans_i(w_trans), .w_amp_i(w_amp), .aux_count_o,
    .aux_bits_o, .aux_drew_o, .w_late_we_i(w_late_we), .xwstack_i(xwstack), .xwstksz_i(xwstksz), .xwra_i(xwra),
    .hold_go_i(hold_go), .e_pc_i(e_pc), .e_word_i(e_word), .x_fetch_bad_i(x_fetch_bad), .addr_i(addr), .addr2_i(addr2),
    .store_addr_i(store_addr), .x_load2_i(x_load2), .w_wide_i(w_wide), .w_wide2_i(w_wide2), .w_s0_i(w_s0),
    .w_s1_i(w_s1), .w_s2_i(w_s2), .trap_i(trap), .aux_trap_i(aux_trap), .e_aux_i(e_aux), .lone_aux_i(lone_aux),
    .cause_i(cause), .tval_i(tval), .csr_after_i(csr_after), .csr_written_i(csr_written), .size_i(size), .x_ok_i(x_ok),
    .x_load_i(x_load), .x_store_i(x_store), .fpu_result_i(fpu_result), .fpu_flags_i(fpu_flags), .w_val_i(w_val),
    .w_fp_i(w_fp), .lane_fp_i(lane_fp), .lane_value_i(lane_value), .lane_flags_i(lane_flags), .lane_rd_i(lane_rd),
    .lane_ctx_i(lane_ctx), .ret_valid_o, .ret_trap_o, .ret_paired_o, .ret_pending_o, .ret_excepted_o, .ret_cycle_o,
    .ret_ctx_o, .ret_pc_o, .ret_word_o, .ret_next_pc_o, .ret_cause_o, .ret_tval_o, .ret_xrd_o, .ret_value_o, .ret_fwe_o,
    .ret_frd_o, .ret_fflags_o, .ret_load_o, .ret_store_o, .ret_addr_o, .ret_mask_o, .ret_wdata_o, .ret_csr_o,
    .ret_csr_value_o, .ret_run_o, .ret_run_pc_o, .ret_run_a0_o, .ret_run_a1_o, .ret_run_stack_o, .ret_run_stride_o,
    .ret_run_ra_o, .aux_valid_o, .aux_trap_o, .aux_paired_o, .aux_pending_o, .aux_excepted_o, .aux_cycle_o, .aux_ctx_o,
    .aux_pc_o, .aux_word_o, .aux_next_pc_o, .aux_cause_o, .aux_tval_o, .aux_frd_o, .aux_fflags_o, .done_valid_o,
    .done_slot_o, .done_value_o, .done_fflags_o, .w_xwe_o(w_xwe), .w_fmain_we_o(w_fmain_we),
    .w_fmain_pair_o(w_fmain_pair), .w_fsecond_we_o(w_fsecond_we), .w_faux_count_o(w_faux_count),
    .w_fsecond_rd_o(w_fsecond_rd), .w_fsecond_val_o(w_fsecond_val), .ret_fpair_o, .ret_fbits_o, .ret_fwe2_o,
    .ret_frd2_o, .ret_fbits2_o, .ret_load2_o, .ret_addr2_o, .ret_store_addr_o, .ret_streams_o, .ret_stream0_o,
    .ret_stream1_o, .ret_stream2_o, .w_ctx_o(w_ctx), .w_xrd_o(w_xrd), .w_fmain_rd_o(w_fmain_rd),
    .w_faux_rd_o(w_faux_rd), .w_xval_o(w_xval), .w_fmain_val_o(w_fmain_val), .w_faux_val_o(w_faux_val),
    .flags_we_o(flags_we), .flags_o(flags), .records_busy_o(records_busy)
  );

  assign state_on_o  = exec_state_on || start_valid_q;

  // Whatever has work or gets some now. Arrivals on the packet lane count too.
  assign unit_on_o   = eng_busy || pkt_wakes || div_lanes_busy || e_exch || e_pkt || release_q || stray_taken ||
                       packet_rx_valid_i;
  assign quiescent_o = issue_quiet && !codes_pending && !eng_busy && !release_q && !local_q && !start_valid_q &&
                       !ldw_busy && !in_flight && !records_busy;

  assign dbg_row     = (dbg_en_i || dbg_we_i) ? {dbg_ctx_i, dbg_sel_i[4:0]} : 8'd0;
  assign dbg_x_we    = dbg_we_i && (dbg_kind_i == 3'd0);
  assign dbg_f_we    = dbg_we_i && (dbg_kind_i == 3'd1) && (dbg_ctx_i != 3'd0);
  assign dbg_csr_we  = dbg_we_i && (dbg_kind_i == 3'd2);
  assign dbg_dcsr_we = dbg_csr_we && (dbg_sel_i == tessera_pkg::CSR_XDCSR);
  assign dbg_is_stream = (dbg_ctx_i != 3'd0) && (dbg_sel_i >= tessera_pkg::CSR_XS0) &&
                         (dbg_sel_i <= tessera_pkg::CSR_XST2);
  assign dbg_is_rng    = (dbg_ctx_i != 3'd0) && (dbg_sel_i >= tessera_pkg::CSR_XRNG0) &&
                         (dbg_sel_i <= tessera_pkg::CSR_XRNG3);
  assign dbg_pc_we   = dbg_we_i && (dbg_kind_i == 3'd3);
  always_comb begin
    dbg_data_o = 32'd0;
    if (dbg_en_i) begin
      case (dbg_kind_i)
        3'd0: dbg_data_o = dbg_x;
        3'd1: dbg_data_o = (dbg_ctx_i == 3'd0) ? 32'd0 : dbg_f;
        3'd2: dbg_data_o = dbg_is_stream ? dbg_stream : dbg_is_rng ? dbg_rng : dbg_csr;
        3'd4: dbg_data_o = dbg_amp;
        // A supervisor that waits shows the instruction that does.
        default: dbg_data_o = dbg_sel_i[0] ? {22'd0, f_busy, 1'b0, sup_state} :
                              ((dbg_ctx_i == 3'd0) && (sup_state >= tile_pkg::SupSync) &&
                               (sup_state <= tile_pkg::SupPacket)) ? late_pc : dbg_pc;
      endcase
    end
  end
endmodule
