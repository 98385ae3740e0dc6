// The slot arbiter against docs/machine/timing.md, for every program: what an instruction does when it executes (slots, trap,
// x.exit, x.run, x.delay, x.sync) is free. No context issues twice in six cycles, a running worker issues in its slot
// unless its own multi-slot operation fills it, the supervisor issues in the first vacant cycle that the rules give it and
// in no other.
//
// Left to others: implicit waits and engines (exact-time tests), the debug port (verif/cosim/debug_test.cpp).
module slots_formal (
  input logic        clk_i,
  input logic        start_i, except_i, quit_i, sync_i, release_i,
  input logic [2:0]  start_ctx_i, zone_i, slots_i,
  input logic [5:0]  run_i,
  input logic [31:0] delay_i, next_pc_i
);
  logic       rst_n = 1'b0, fresh = 1'b1;
  logic [2:0] slot = 3'd0;
  always_ff @(posedge clk_i) begin
    rst_n <= 1'b1;
    slot  <= (slot == 3'd5) ? 3'd0 : (slot + 3'd1);
    if (rst_n && start_i) fresh <= 1'b0;
  end

  // Three cycles from issue to stage X.
  logic       valid, valid1 = 1'b0, valid2 = 1'b0, valid3 = 1'b0;
  logic [2:0] ctx, ctx1 = 3'd0, ctx2 = 3'd0, ctx3 = 3'd0, slot3;
  always_ff @(posedge clk_i) begin
    valid1 <= valid && rst_n;
    valid2 <= valid1;
    valid3 <= valid2;
    ctx1   <= ctx;
    ctx2   <= ctx1;
    ctx3   <= ctx2;
  end
  assign slot3 = (slot >= 3'd3) ? (slot - 3'd3) : (slot + 3'd3);

  // What the instruction in X turns out to be.
  logic        sup3, except, quit, sync;
  logic [2:0]  slots;
  logic [5:0]  run;
  logic [31:0] delay;
  assign sup3   = valid3 && (ctx3 == 3'd0);
  assign except = valid3 && except_i;
  assign quit   = valid3 && !sup3 && quit_i && !except_i;
  assign sync   = sup3 && sync_i && !except_i;
  assign run    = (sup3 && !sync_i && !except_i) ? (run_i & ~busy) : 6'd0;
  assign delay  = (sup3 && !sync_i && !except_i && (run == 6'd0)) ? {26'd0, delay_i[5:0]} : 32'd0;
  assign slots  = (valid3 && !except && !quit && !sync && (run == 6'd0) && (delay == 32'd0)) ? slots_i : 3'd1;

  logic [5:0]  busy;
  logic        inject, comp, vacant, sync_local, raise, quiet;
  logic [31:0] pc, dbg_pc, dcsr;
  logic [6:0]  excepted, ebreakm, halted;
  tile_pkg::sup_state_e state;
  tile_issue dut (
    .clk_i, .rst_ni(rst_n), .slot_i(slot), .start_valid_i(start_i && fresh && rst_n), .start_ctx_i,
    .start_pc_i(32'h40000), .x_valid_i(valid3), .x_ctx_i(ctx3), .x_slot_i(slot3), .x_next_pc_i(next_pc_i),
    .x_except_i(except), .x_quit_i(quit), .x_run_i(run), .x_run_pc_i(32'h40000), .x_slots_i(slots), .x_delay_i(delay),
    .x_sync_i(sync), .x_zone_i(zone_i), .x_exch_i(1'b0), .x_pkt_i(1'b0), .x_break_i(1'b0), .x_hold_i(1'b0),
    .hold_mask_i(6'd0), .release_i(release_i && (state == tile_pkg::SupRelease)), .exch_resume_i(1'b0),
    .pkt_resume_i(1'b0), .engine_fault_i(1'b0), .stray_i(1'b0), .f_valid_o(valid), .f_inject_o(inject),
    .f_comp_o(comp), .f_ctx_o(ctx), .f_pc_o(pc), .f_vacant_o(vacant), .busy_o(busy), .except_o(excepted),
    .sync_local_o(sync_local), .raise_o(raise), .state_o(state), .quiet_o(quiet), .dbg_halt_i(7'd0),
    .dbg_resume_i(7'd0), .dbg_pc_we_i(1'b0), .dbg_dcsr_we_i(1'b0), .dbg_wdata_i(32'd0), .dbg_ctx_i(3'd0),
    .dbg_pc_o(dbg_pc), .dbg_dcsr_o(dcsr), .ebreakm_o(ebreakm), .halted_o(halted)
  );

  // Who owns which slot by the manual: from T+6 of the x.run that starts the worker to E+6 of its x.exit or exception.
  logic [5:0] owned = 6'd0, gone = 6'd0, give1 = 6'd0, give2 = 6'd0, take1 = 6'd0, take2 = 6'd0, trap1 = 6'd0, trap2 = 6'd0;
  logic [5:0] who3, who_start;
  assign who3      = (valid3 && (ctx3 != 3'd0)) ? (6'd1 << (ctx3 - 3'd1)) : 6'd0;
  assign who_start = (start_i && fresh && rst_n && (start_ctx_i != 3'd0)) ? (6'd1 << (start_ctx_i - 3'd1)) : 6'd0;
  always_ff @(posedge clk_i) begin
    give1 <= run;
    give2 <= give1;
    take1 <= (quit || except) ? who3 : 6'd0;
    take2 <= take1;
    trap1 <= except ? who3 : 6'd0;
    trap2 <= trap1;
    owned <= (owned | give2 | who_start) & ~take2;
    gone  <= gone | trap2;   // excepted: its slot is vacant, but it is not idle
  end

  // Cycles until a context may issue again by its own instruction, and since the last issue; one pair for each context.
  logic [6:0] left [0:6];
  logic [6:0] want;
  logic       own;
  integer c;
  initial for (c = 0; c < 7; c = c + 1) left[c] = 7'd0;
  always_ff @(posedge clk_i) begin
    for (c = 0; c < 7; c = c + 1) begin
      if (left[c] != 7'd0) left[c] <= left[c] - 7'd1;
      if (rst_n && valid && (ctx == c)) left[c] <= 7'd5;
      if (valid3 && (ctx3 == c)) begin
        left[c] <= 7'd2;
        if (slots != 3'd1) left[c] <= 7'd6 * {4'd0, slots} - 7'd4;
        if (delay > 32'd6) left[c] <= {1'b0, delay[5:0]} - 7'd4;
      end
    end
  end

  // The supervisor by the manual: runs, or waits in x.sync for its workers and then for the release.
  logic       runs = 1'b0, in_sync = 1'b0, in_wide = 1'b0;
  logic [2:0] zone = 3'd0;
  logic       arrives, released, sup_now;
  assign arrives  = in_sync && (left[0] == 7'd0) && (owned == 6'd0) && (gone == 6'd0);
  assign released = in_wide && release_i;
  assign own      = (owned[slot]);
  assign sup_now  = (runs && !own && (left[0] == 7'd0)) || (arrives && (zone == 3'd0)) || released;
  always_ff @(posedge clk_i) begin
    if (start_i && fresh && rst_n && (start_ctx_i == 3'd0)) runs <= 1'b1;
    if (sync) begin
      runs    <= 1'b0;
      in_sync <= 1'b1;
      zone    <= zone_i;
    end
    if (arrives) begin
      in_sync <= 1'b0;
      if (zone == 3'd0) runs <= 1'b1;
      else in_wide <= 1'b1;
    end
    if (released) begin
      in_wide <= 1'b0;
      runs    <= 1'b1;
    end
    if (sup3 && except) runs <= 1'b0;
  end

  always_comb begin
    assume (start_ctx_i <= 3'd6);
    assume ((slots_i == 3'd1) || (slots_i == 3'd2) || (slots_i == 3'd3) || (slots_i == 3'd5) || (slots_i == 3'd6));
    if (ctx3 == 3'd0) assume ((slots_i == 3'd1) || (slots_i == 3'd6));   // x.amp.ldw waits first: exact-time tests
    assume (zone_i <= 3'd4);
    if (rst_n) begin
      if (valid && (ctx == 3'd0)) assert (left[0] == 7'd0);
      if (valid && (ctx != 3'd0)) assert (left[ctx] == 7'd0);
      if (own && (left[slot + 3'd1] == 7'd0)) assert (valid && (ctx == slot + 3'd1));
      if (valid && (ctx != 3'd0)) assert (own && (ctx == slot + 3'd1));
      assert ((valid && (ctx == 3'd0)) == sup_now);
      assert (vacant == !own);
    end
  end
endmodule
