// One lane of the f32 divider and square root: one quotient or root bit a cycle. The tile has six, one for each slot.
//
// start_i with the operands in cycle t; result_o and fflags_o hold from cycle t+28 until the next start. A start while
// an operation is in flight abandons it (the tile never does that: fdiv and fsqrt take 5 slots = 30 cycles).
module fpu_divsqrt (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,   // operands below are taken in this cycle
  input  logic        sqrt_i,    // 1: square root of a_i; 0: a_i / b_i
  input  logic [2:0]  rm_i,      // resolved rounding mode, 0..4
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  output logic        busy_o,    // an operation is in flight
  output logic [31:0] result_o,
  output logic [4:0]  fflags_o
);
  assign busy_o = 1'b0;
  assign result_o = 32'd0;
  assign fflags_o = 5'd0;
endmodule
