// Xtile arithmetic on f registers, all of custom-2 and custom-3 but transcendentals and AMP: lanes of f16 and f32, dot,
// lane sums and moves, conversions, random numbers. Fully pipelined, no state; the arithmetic of core.md section 6.
//
// Operands at the end of stage R with valid_i; result_o stands in W, four edges of clk_i later: three stages of logic
// X, M, N behind the entry registers. clk_i must rise in every cycle with valid_i or busy_o and may else stay low. What
// operands do not have must be 0; what a result does not have is 0. A start that is void later does no harm.
module xtile_simd (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         valid_i,     // R: an operation of this unit
  input  logic [8:0]   op_i,        // tessera_pkg::OP_X_*
  input  logic [127:0] a_i,         // rs1: up to four registers, the first in bits 31:0
  input  logic [63:0]  b_i,         // rs2: up to two
  input  logic [63:0]  c_i,         // rs3: up to two
  input  logic [63:0]  draw_i,      // output of the PRNG step, for those that draw
  output logic [127:0] result_o,    // W: up to four registers
  output logic         busy_o       // an operation is in X, M or N
);
  assign result_o = '0;
  assign busy_o = '0;
endmodule
