// Hardware loop of one watched worker against docs/machine/timing.md, for all bodies, counts, instruction lengths and
// for whatever the other workers do. The specification counts what is left in another form: rounds begun and not ended.
module loop_formal #(
  parameter int Ctx = 3
) (
  input logic        clk_i,
  input logic [2:0]  ctx_i, dbg_ctx_i,
  input logic        valid_i, set_i, trap_i, set_trap_i, dbg_end_i,
  input logic [31:0] count_i, sequential_i,
  input logic [6:0]  body_i,
  input logic [5:0]  run_i
);
  localparam logic [2:0] ctx = Ctx;
  logic        rst_n = 1'b0;
  logic        active, dbg_unused;
  logic [31:0] next, remaining, dbg_remaining;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  tile_loop dut (
    .clk_i, .rst_ni(rst_n), .ctx_i, .valid_i, .set_i, .count_i, .body_i, .sequential_i, .set_trap_i, .trap_i, .run_i,
    .dbg_end_i, .dbg_ctx_i(dbg_end_i ? dbg_ctx_i : ctx), .active_o(active), .next_o(next), .remaining_o(remaining),
    .dbg_remaining_o(dbg_remaining)
  );

  logic        in_loop = 1'b0;
  logic [31:0] first = 32'd0, behind = 32'd0, left = 32'd0;
  logic        here, ends, started, stopped;
  logic [7:0]  runs;
  assign here    = (ctx_i == ctx);
  assign runs    = {1'b0, run_i, 1'b0};
  assign started = runs[ctx];
  assign stopped = dbg_end_i && (dbg_ctx_i == ctx);
  assign ends    = here && valid_i && !set_i && in_loop && (sequential_i == behind);  // a round is over
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      if (here && ((valid_i && set_i) || set_trap_i)) begin
        first  <= sequential_i;
        behind <= sequential_i + 32'd8 * {25'd0, body_i};
        left   <= count_i;
      end else if (ends) begin
        left <= left - 32'd1;
      end
      if (here && valid_i && set_i) in_loop <= (count_i != 32'd0);
      else if (here && trap_i) in_loop <= 1'b0;
      else if (ends && (left == 32'd1)) in_loop <= 1'b0;
      if (started || stopped) in_loop <= 1'b0;
    end
  end

  always_comb begin
    assume (ctx_i <= 3'd6);
    // One instruction a cycle: it ends well, or traps; an x.rpt in a loop traps; only the supervisor has x.run.
    assume (!(valid_i && trap_i));
    if (!rst_n) assume (!valid_i && !set_trap_i);
    if (set_trap_i) assume (trap_i);
    if (run_i != 6'd0) assume (ctx_i == 3'd0);
    if (set_i || set_trap_i) assume ((body_i >= 7'd1) && (body_i <= 7'd64) && (ctx_i != 3'd0));
    if (valid_i && set_i) assume (!active);
    if (set_trap_i) assume (!active);
    if (stopped) assume (!(here && (valid_i || trap_i)));
    if (rst_n) begin
      if (here) assert (active == in_loop);
      if (here) assert (remaining == left);
      if (!dbg_end_i) assert (dbg_remaining == left);
      if (in_loop) assert (left != 32'd0);
      if (here && valid_i && set_i) assert (next == ((count_i == 32'd0) ? sequential_i + 32'd8 * {25'd0, body_i} : sequential_i));
      if (here && valid_i && !set_i) assert (next == ((ends && (left != 32'd1)) ? first : sequential_i));
    end
  end
endmodule
