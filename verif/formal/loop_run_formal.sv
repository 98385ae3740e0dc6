// A whole hardware loop: one worker runs x.rpt and then only instructions in order (4 bytes, or 8 as a pair). The body is
// entered exactly `count` times, no instruction behind it issues before, and afterwards the loop is off.
module loop_run_formal (
  input logic clk_i,
  input logic pair_i
);
  (* anyconst *) logic [1:0] count;
  (* anyconst *) logic       two;      // body of two doublewords, else one
  localparam logic [31:0] Start = 32'h40100;

  logic        rst_n = 1'b0, began = 1'b0, active;
  logic [31:0] pc = Start, next, sequential, remaining, unused;
  logic [2:0]  entered = 3'd0;
  logic [31:0] behind;
  logic        pairs;
  assign pairs      = pair_i && (pc[2:0] == 3'd0);
  assign sequential = began ? (pc + (pairs ? 32'd8 : 32'd4)) : Start;
  assign behind     = Start + (two ? 32'd16 : 32'd8);

  tile_loop dut (
    .clk_i, .rst_ni(rst_n), .ctx_i(3'd2), .valid_i(rst_n), .set_i(rst_n && !began), .count_i({30'd0, count}),
    .body_i(two ? 7'd2 : 7'd1), .sequential_i(sequential), .set_trap_i(1'b0), .trap_i(1'b0), .run_i(6'd0),
    .dbg_end_i(1'b0), .dbg_ctx_i(3'd2), .active_o(active), .next_o(next), .remaining_o(remaining),
    .dbg_remaining_o(unused)
  );
  always_ff @(posedge clk_i) begin
    rst_n <= 1'b1;
    if (rst_n) begin
      began <= 1'b1;
      pc    <= next;
      if (next == Start) entered <= entered + 3'd1;
    end
  end
  always_comb begin
    if (began) begin
      assert (entered <= {1'b0, count});
      if (pc >= behind) assert ((entered == {1'b0, count}) && !active);
      if (pc < behind) assert ((pc >= Start) && active && (remaining == {30'd0, count} - {29'd0, entered} + 32'd1));
    end
  end
endmodule
