// A hardware loop that never turns, for the test of the proof runner.
module tile_loop (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [2:0]  ctx_i,
  input  logic        valid_i, set_i, set_trap_i, trap_i, dbg_end_i,
  input  logic [31:0] count_i, sequential_i,
  input  logic [6:0]  body_i,
  input  logic [5:0]  run_i,
  input  logic [2:0]  dbg_ctx_i,
  output logic        active_o,
  output logic [31:0] next_o, remaining_o, dbg_remaining_o
);
  assign active_o        = 1'b0;
  assign next_o          = sequential_i;
  assign remaining_o     = 32'd7;
  assign dbg_remaining_o = 32'd0;
endmodule
