// (a0*b0 + a1*b1) + (a2*b2 + a3*b3) of f16 operands: products exact, three f32 roundings, canonical NaN.
// Shared by the engines of the AMP and x.dot.f16v4.
//
// Fully pipelined: operands stand in X with valid_i (from registers), the sum in a register in N, two edges of clk_i
// later; it means something only then.
module xtile_dot4 (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             valid_i,
  input  xtile_pkg::half_t a0_i,
  input  xtile_pkg::half_t a1_i,
  input  xtile_pkg::half_t a2_i,
  input  xtile_pkg::half_t a3_i,
  input  logic [63:0]      b_i,      // four f16, b0 in the low bits
  output logic [31:0]      sum_o
);
  logic [31:0] p0, p1, p2, p3, low, high, sum;

  xtile_half_product u_product0 (.valid_i, .a_i(a0_i), .b_i(b_i[15:0]), .product_o(p0));
  xtile_half_product u_product1 (.valid_i, .a_i(a1_i), .b_i(b_i[31:16]), .product_o(p1));
  xtile_half_product u_product2 (.valid_i, .a_i(a2_i), .b_i(b_i[47:32]), .product_o(p2));
  xtile_half_product u_product3 (.valid_i, .a_i(a3_i), .b_i(b_i[63:48]), .product_o(p3));
  xtile_add u_low (.valid_i, .a_i(p0), .b_i(p1), .sum_o(low));
  xtile_add u_high (.valid_i, .a_i(p2), .b_i(p3), .sum_o(high));

  logic        m_valid_q;
  logic [31:0] m_low_q, m_high_q, n_sum_q;

  xtile_add u_sum (.valid_i(m_valid_q), .a_i(m_low_q), .b_i(m_high_q), .sum_o(sum));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) m_valid_q <= 1'b0;
    else m_valid_q <= valid_i;
  end
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      m_low_q <= low;
      m_high_q <= high;
    end
    if (m_valid_q) n_sum_q <= sum;
  end
  assign sum_o = n_sum_q;
endmodule
