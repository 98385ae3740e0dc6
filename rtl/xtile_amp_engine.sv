// Arithmetic of one engine of the AMP: four f16 products added to the sum A, or one f32 product (core.md section 7).
// Weights and sums are kept by xtile_amp.sv.
//
// Fully pipelined: operands stand in X (from registers), the new sum comes in N, two edges of clk_i later,
// combinational. The f16 form takes A in N, the f32 form in X; a worker's steps are at least six cycles apart.
module xtile_amp_engine (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             x_half_i,    // X: f16 step
  input  logic             x_single_i,  // X: f32 step
  input  xtile_pkg::half_t x_a0_i,
  input  xtile_pkg::half_t x_a1_i,
  input  xtile_pkg::half_t x_a2_i,
  input  xtile_pkg::half_t x_a3_i,
  input  logic [31:0]      x_a_i,       // f32 activation
  input  logic [63:0]      x_weight_i,  // four f16, or an f32 in the low half
  input  logic [31:0]      x_sum_i,     // A, for the f32 step
  input  logic             n_half_i,    // N: the f16 step is here
  input  logic             n_single_i,  // N: the f32 step is here
  input  logic [31:0]      n_sum_i,     // A, for the f16 step
  output logic [31:0]      n_sum_o      // A afterwards; 0 if neither step is here
);
  /* verilator no_inline_module */
  logic [31:0] products, half_sum, fused_sum;

  xtile_dot4 u_dot (
    .clk_i, .rst_ni, .valid_i(x_half_i),
`ifdef TESSERA_FAULT_AMP_ORDER
    .a0_i(x_a0_i), .a1_i(x_a2_i), .a2_i(x_a1_i), .a3_i(x_a3_i),
    .b_i({x_weight_i[63:48], x_weight_i[31:16], x_weight_i[47:32], x_weight_i[15:0]}), .sum_o(products)
`else
    .a0_i(x_a0_i), .a1_i(x_a1_i), .a2_i(x_a2_i), .a3_i(x_a3_i), .b_i(x_weight_i), .sum_o(products)
`endif
  );
  xtile_add u_accumulate (.valid_i(n_half_i), .a_i(n_sum_i), .b_i(products), .sum_o(half_sum));

  xtile_lane u_fused (
    .clk_i, .rst_ni, .valid_i(x_single_i), .op_i(xtile_pkg::LaneMac), .a_i(x_a_i), .b_i(x_weight_i[31:0]),
    .c_i(x_sum_i), .result_o(fused_sum)
  );
  assign n_sum_o = n_single_i ? fused_sum : half_sum;
endmodule
