// One lane of the integer divider: restoring, one quotient bit a cycle. The tile has six, indexed by slot, since at most
// six multi-slot operations are in flight (core.md section 1).
//
// Operands with start_i in cycle t; result_o holds from cycle t+33 until the next start. div and rem take 6 slots.
module tile_div (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,
  input  logic        rem_i,     // remainder instead of quotient
  input  logic        signed_i,
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  output logic [31:0] result_o
);
  logic [5:0]  left_q;  // steps to go
  logic        rem_q, negate_q;
  logic [31:0] quotient_q, rest_q, divisor_q;
  logic [32:0] shifted, difference;
  logic [31:0] magnitude;

  assign shifted    = {rest_q, quotient_q[31]};
  assign difference = shifted - {1'b0, divisor_q};
  assign magnitude  = rem_q ? rest_q : quotient_q;
  assign result_o   = negate_q ? (32'd0 - magnitude) : magnitude;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q     <= 6'd0;
      rem_q      <= 1'b0;
      negate_q   <= 1'b0;
      quotient_q <= 32'd0;
      rest_q     <= 32'd0;
      divisor_q  <= 32'd0;
    end else if (start_i) begin
      left_q     <= 6'd32;
      rem_q      <= rem_i;
      // By zero: quotient all ones whatever the signs, remainder a. The most negative by -1 falls out by itself.
      negate_q   <= signed_i && (rem_i ? a_i[31] : ((a_i[31] != b_i[31]) && (b_i != 32'd0)));
      quotient_q <= (signed_i && a_i[31]) ? (32'd0 - a_i) : a_i;
      rest_q     <= 32'd0;
      divisor_q  <= (signed_i && b_i[31]) ? (32'd0 - b_i) : b_i;
    end else if (left_q != 6'd0) begin
      left_q     <= left_q - 6'd1;
      rest_q     <= difference[32] ? shifted[31:0] : difference[31:0];
      quotient_q <= {quotient_q[30:0], !difference[32]};
    end
  end
endmodule
