// Instructions of the supervisor that end later than they issue: x.run, x.exchange and x.packet that wait for workers;
// x.sync, x.exchange and x.packet until their end.
//
// Chooses what executes in X (e_*: the instruction there or the one held), keeps what the record of a late end shows,
// and xsyncz, xfaultcyc and whether the exchange is open.
module tile_supervisor (
  input  logic               clk_i,
  input  logic               rst_ni,
  // Time and pins, registered.
  input  logic [63:0]        cycle_i,
  input  logic               release_i,          // now is cycle Z
  input  logic               release_vote_i,
  input  logic               local_i,            // x.sync local ended a cycle ago
  input  logic [63:0]        e_cycle_i,          // issue cycle of what executes in X
  // Snapshots of the issue cycle and what issues now (tile_fetch).
  input  logic               x_valid_i,
  input  logic               x_inject_i,         // injected trap
  input  logic               x_vacant_i,         // nobody owned the slot
  input  logic [31:0]        x_pc_i,
  input  logic [5:0]         x_busy_i,           // workers not idle
  // Decoded instruction and operands (tile_read).
  input  logic [31:0]        x_word_i,
  input  logic [31:0]        x_rs1_i,
  input  logic [31:0]        x_rs2_i,
  input  logic [31:0]        x_rs3_i,
  input  tile_pkg::int_dec_t x_dec_i,
  // Stage X (tile_execute).
  input  logic               e_valid_i,          // an instruction ends in X, trapped or not
  input  logic               e_sync_i,
  input  logic               e_exch_i,
  input  logic               e_pkt_i,
  input  logic               x_fetch_bad_i,      // there is no instruction
  input  logic               trap_i,             // of MAIN or SOLO
  input  logic [4:0]         cause_i,
  // Engines (tile_engines).
  input  logic               exch_resume_i,
  input  logic               exch_fault_i,
  input  logic [63:0]        exch_fault_cycle_i,
  input  logic               late_exch_i,        // exchange or packets end without a trap
  // Line of the sync, state that CSRs show, late record, instruction that executes.
  output logic [2:0]         raise_zone_o,
  output logic               raise_vote_o,
  output logic [23:0]        raise_code_o,
  output logic [63:0]        z_o,                // cycle of the last release
  output logic               exch_open_o,        // x.exchange may start
  output logic [31:0]        xfaultcyc_o,
  output logic               late_o,             // a late instruction ends now
  output logic               late_vote_o,        // what it gives rd
  output logic [31:0]        e_rs1_o,
  output logic [31:0]        e_rs2_o,
  output logic [31:0]        e_rs3_o,
  output logic [5:0]         hold_mask_o,        // workers waited for
  output logic [31:0]        late_pc_o,
  output logic [31:0]        late_word_o,
  output logic [63:0]        late_cycle_o,
  output logic               w_late_we_o,        // x.sync ends
  output logic               x_waits_o,          // what is in X begins to wait
  output logic               hold_go_o,          // what waited executes now
  output tile_pkg::int_dec_t e_dec_o,
  output logic [31:0]        e_pc_o,
  output logic [31:0]        e_word_o
);
  logic [63:0]        z_q, late_cycle_q;
  logic               exch_open_q, hold_q;
  logic [31:0]        xfaultcyc_q, late_pc_q, late_word_q, late_rs1_q, hold_rs2_q, hold_rs3_q;
  logic [5:0]         hold_mask_q, x_mask;
  tile_pkg::int_dec_t hold_dec_q;

  // An instruction that waits for workers is held here and executes as if issued in the first vacant cycle in which
  // those are idle; the snapshots of that cycle arrive in X three cycles later, just as an instruction would.
  assign x_mask    = (x_dec_i.run && (x_word_i[11:7] != 5'd7)) ? (6'd1 << (x_word_i[9:7] - 3'd1)) : 6'h3F;
  assign x_waits_o = x_valid_i && !x_inject_i && !x_fetch_bad_i && x_dec_i.legal && ((x_busy_i & x_mask) != 6'd0) &&
                     (x_dec_i.run || x_dec_i.ldw || ((x_dec_i.exch || x_dec_i.pkt) && (x_rs1_i != 32'd0)));
  assign hold_go_o = hold_q && x_vacant_i && ((x_busy_i & hold_mask_q) == 6'd0);

  assign e_pc_o   = hold_go_o ? late_pc_q : x_pc_i;
  assign e_word_o = hold_go_o ? late_word_q : x_word_i;
  assign e_rs1_o  = hold_go_o ? late_rs1_q : x_rs1_i;
  assign e_rs2_o  = hold_go_o ? hold_rs2_q : x_rs2_i;
  assign e_rs3_o  = hold_go_o ? hold_rs3_q : x_rs3_i;
  assign e_dec_o  = hold_go_o ? hold_dec_q : x_dec_i;

  // Held or late: pc, word and operands of the supervisor's instruction that ends later than it issued.
  always_ff @(posedge clk_i) begin
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
      if (x_waits_o) begin
        hold_q      <= 1'b1;
        hold_mask_q <= x_mask;
        hold_dec_q  <= x_dec_i;
        hold_rs2_q  <= x_rs2_i;
        hold_rs3_q  <= x_rs3_i;
      end else if (hold_go_o) begin
        hold_q <= 1'b0;
      end
      if (x_waits_o || e_sync_i || e_exch_i || e_pkt_i) begin
        late_pc_q    <= e_pc_o;
        late_word_q  <= e_word_o;
        late_rs1_q   <= e_rs1_o;
        late_cycle_q <= e_cycle_i;
      end
      if (release_i) begin
        z_q         <= cycle_i;
        exch_open_q <= 1'b1;
      end else if (e_exch_i) begin
        exch_open_q <= 1'b0;
      end
      if (exch_resume_i && exch_fault_i) begin
        xfaultcyc_q <= exch_fault_cycle_i[31:0];
      end else if (e_valid_i && trap_i && (cause_i == tessera_pkg::TRAP_EXCHANGE_BAD) && e_dec_o.exch &&
                   !x_inject_i) begin
        xfaultcyc_q <= e_cycle_i[31:0];
      end
    end
  end

  assign raise_zone_o = late_word_q[22:20];
  assign raise_vote_o = late_rs1_q[0];
  assign raise_code_o = late_rs1_q[31:8];

  // An instruction that ended now, long after its issue: sync, exchange, packets. Nothing else is in W then: no worker
  // runs (a local sync is reported a cycle after its end, when the last x.exit has gone). Sync gives rd the vote.
  assign w_late_we_o = release_i || local_i;
  assign late_o      = late_exch_i || w_late_we_o;
  assign late_vote_o = local_i ? late_rs1_q[0] : release_vote_i;

  assign z_o          = z_q;
  assign exch_open_o  = exch_open_q;
  assign xfaultcyc_o  = xfaultcyc_q;
  assign hold_mask_o  = hold_mask_q;
  assign late_pc_o    = late_pc_q;
  assign late_word_o  = late_word_q;
  assign late_cycle_o = late_cycle_q;
endmodule
