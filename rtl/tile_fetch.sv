// Stages F and D of the tile: issue, fetch port, and the snapshots of the issue cycle (context, pc, who is busy) that
// travel with an instruction to stage X. The trap of an engine is injected here in place of an instruction.
module tile_fetch (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  // Time and pins, registered.
  input  logic [2:0]           slot_i,
  input  logic [2:0]           x_slot_i,         // slot of the instruction in X
  input  logic                 release_i,        // now is cycle Z
  input  logic [31:0]          sram_end_i,
  input  logic [31:0]          start_pc_i,
  input  logic                 start_valid_i,
  input  logic [2:0]           start_ctx_i,
  // Pins of tile_core.
  input  logic [63:0]          fetch_data_i,
  // What executes in X, what is held or late (tile_supervisor).
  input  logic [31:0]          e_rs1_i,
  input  logic [5:0]           hold_mask_i,      // workers waited for
  input  logic [31:0]          late_pc_i,
  input  logic                 x_waits_i,        // what is in X begins to wait
  // Stage X (tile_execute).
  input  logic                 e_valid_i,        // an instruction ends in X, trapped or not
  input  logic                 e_except_i,
  input  logic [2:0]           e_ctx_i,
  input  logic [2:0]           e_slots_i,        // slots it takes: 1, 5, 6
  input  logic [31:0]          e_next_pc_i,
  input  logic [31:0]          e_delay_i,
  input  logic [5:0]           e_run_i,
  input  logic                 e_quit_i,
  input  logic                 e_sync_i,
  input  logic                 e_exch_i,
  input  logic                 e_pkt_i,
  input  logic                 e_break_i,        // ebreak that halts
  input  logic [2:0]           e_zone_i,
  // Debug port (tile_issue).
  input  logic [6:0]           dbg_halt_i,
  input  logic [6:0]           dbg_resume_i,
  input  logic                 dbg_pc_we_i,
  input  logic                 dbg_dcsr_we_i,
  input  logic [31:0]          dbg_wdata_i,
  input  logic [2:0]           dbg_ctx_i,
  // Engines (tile_engines).
  input  logic                 exch_resume_i,
  input  logic                 pkt_resume_i,
  input  logic                 stray_i,          // packet outside the window waits for its trap
  input  logic                 engine_fault_i,   // an engine ends with a trap
  input  logic [4:0]           fault_cause_i,
  input  logic [31:0]          fault_tval_i,
  // Fetch port; states of the contexts as the issue stage sees them; snapshots in stages R, X, W.
  output logic                 raise_o,
  output logic                 fetch_req_o,
  output logic [31:0]          fetch_addr_o,
  output logic [6:0]           excepted_o,
  output logic                 sync_local_o,
  output logic                 issue_quiet_o,
  output logic [5:0]           f_busy_o,         // workers not idle
  output tile_pkg::sup_state_e sup_state_o,
  output logic                 stray_taken_o,    // it gets the trap that issues now
  output logic                 r_valid_o,
  output logic                 x_valid_o,
  output logic                 x_inject_o,       // injected trap
  output logic                 x_vacant_o,       // nobody owned the slot
  output logic                 w_comp_o,         // a lane's result is due
  output logic [2:0]           r_ctx_o,
  output logic [2:0]           x_ctx_o,
  output logic [31:0]          r_pc_o,
  output logic [31:0]          x_pc_o,
  output logic [5:0]           x_busy_o,         // workers not idle
  output logic [5:0]           x_exc_o,          // workers excepted
  output logic [63:0]          r_ir_o,
  output logic [4:0]           inject_cause_o,
  output logic [31:0]          inject_tval_o,
  output logic                 inject_stray_o,   // not an engine's fault but a packet outside the window
  output logic [31:0]          dbg_pc_o,
  output logic [31:0]          dbg_dcsr_o,
  output logic [6:0]           ebreakm_o,        // ebreak halts
  output logic [6:0]           halted_o,
  output logic                 in_flight_o       // something is in F to W
);
  logic        r_valid_q, x_valid_q, x_inject_q, x_vacant_q, w_comp_q, inject_stray_q, f_valid, f_inject, f_comp,
               f_vacant, raise, d_valid_q, d_inject_q, d_comp_q, d_vacant_q, r_inject_q, r_comp_q, r_vacant_q,
               x_comp_q, m_comp_q, n_comp_q;
  logic [2:0]  r_ctx_q, x_ctx_q, f_ctx, d_ctx_q;
  logic [31:0] r_pc_q, x_pc_q, inject_tval_q, f_pc, d_pc_q;
  logic [5:0]  x_busy_q, x_exc_q, d_busy_q, r_busy_q, d_exc_q, r_exc_q;
  logic [63:0] r_ir_q;
  logic [4:0]  inject_cause_q;
  logic [6:0]  f_except;

  assign stray_taken_o = f_inject && !engine_fault_i;

  tile_issue u_issue (
    .clk_i, .rst_ni,
    .slot_i,
    .start_valid_i,
    .start_ctx_i,
    .start_pc_i,
    .x_valid_i     (e_valid_i),
    .x_ctx_i       (e_ctx_i),
    .x_slot_i,
    .x_next_pc_i   (e_next_pc_i),
    .x_except_i    (e_except_i),
    .x_quit_i      (e_quit_i),
    .x_run_i       (e_run_i),
    .x_run_pc_i    (e_rs1_i),
    .x_slots_i     (e_slots_i),
    .x_delay_i     (e_delay_i),
    .x_sync_i      (e_sync_i),
    .x_zone_i      (e_zone_i),
    .x_exch_i      (e_exch_i),
    .x_pkt_i       (e_pkt_i),
    .x_break_i     (e_break_i),
    .x_hold_i      (x_waits_i),
    .hold_mask_i,
    .release_i,
    .exch_resume_i,
    .pkt_resume_i,
    .engine_fault_i,
    .stray_i,
    .f_valid_o     (f_valid),
    .f_inject_o    (f_inject),
    .f_comp_o      (f_comp),
    .f_ctx_o       (f_ctx),
    .f_pc_o        (f_pc),
    .f_vacant_o    (f_vacant),
    .busy_o        (f_busy_o),
    .except_o      (f_except),
    .sync_local_o  (sync_local_o),
    .raise_o       (raise),
    .state_o       (sup_state_o),
    .quiet_o       (issue_quiet_o),
    .dbg_halt_i, .dbg_resume_i, .dbg_pc_we_i, .dbg_dcsr_we_i, .dbg_wdata_i, .dbg_ctx_i, .dbg_pc_o, .dbg_dcsr_o,
    .ebreakm_o, .halted_o
  );

  assign fetch_req_o  = f_valid && !f_inject && tile_pkg::in_sram(f_pc, sram_end_i);
  assign fetch_addr_o = {f_pc[31:3], 3'b000};
  assign excepted_o   = f_except;
  assign raise_o      = raise;

  // Snapshots. An injected trap has the pc of the instruction that began what failed; a stray packet, that of the next.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
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
      d_valid_q  <= f_valid;
      d_inject_q <= f_inject;
      d_comp_q   <= f_comp;
      d_vacant_q <= f_vacant;
      d_busy_q   <= f_busy_o;
      d_exc_q    <= f_except[6:1];
      d_ctx_q    <= f_ctx;
      d_pc_q     <= engine_fault_i ? late_pc_i : f_pc;
      if (f_inject) begin
        inject_stray_q <= stray_taken_o;
        inject_cause_q <= fault_cause_i;
        inject_tval_q  <= fault_tval_i;
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

  assign in_flight_o = f_valid || d_valid_q || r_valid_q || x_valid_q || f_comp || d_comp_q || r_comp_q || x_comp_q ||
                     m_comp_q || n_comp_q || w_comp_q;

  assign r_valid_o      = r_valid_q;
  assign x_valid_o      = x_valid_q;
  assign x_inject_o     = x_inject_q;
  assign x_vacant_o     = x_vacant_q;
  assign w_comp_o       = w_comp_q;
  assign r_ctx_o        = r_ctx_q;
  assign x_ctx_o        = x_ctx_q;
  assign r_pc_o         = r_pc_q;
  assign x_pc_o         = x_pc_q;
  assign x_busy_o       = x_busy_q;
  assign x_exc_o        = x_exc_q;
  assign r_ir_o         = r_ir_q;
  assign inject_cause_o = inject_cause_q;
  assign inject_tval_o  = inject_tval_q;
  assign inject_stray_o = inject_stray_q;
endmodule
