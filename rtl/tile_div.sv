// The integer divider: six lanes, one for each slot, since at most six multi-slot operations are in flight. Restoring,
// one quotient bit a cycle; at most one operation starts in a cycle.
//
// Operands with start_i in cycle t; the lane's result holds from cycle t+33 until its next start. div and rem take 6
// slots.
module tile_div (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,
  input  logic [2:0]  start_lane_i,
  input  logic        rem_i,     // remainder instead of quotient
  input  logic        signed_i,
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  input  logic [2:0]  lane_i,    // whose result is shown
  output logic        busy_o,    // some lane works
  output logic [31:0] result_o
);
  // A lane is active for 32 cycles, until the common counter comes to its end.
  logic [5:0]  active_q, ends;
  logic [5:0]  tick_q;
  logic [5:0]  end_q [0:5];
  logic [5:0]  rem_q, negate_q;
  logic [31:0] quotient_q [0:5];
  logic [31:0] rest_q [0:5];
  logic [31:0] divisor_q [0:5];
  logic [31:0] magnitude;

  assign busy_o    = (active_q != 6'd0);
  assign magnitude = rem_q[lane_i] ? rest_q[lane_i] : quotient_q[lane_i];
  assign result_o  = negate_q[lane_i] ? (32'd0 - magnitude) : magnitude;

  // One bit: the new remainder and the quotient digit.
  function automatic logic [32:0] step(input logic [31:0] rest, input logic bit_i, input logic [31:0] divisor);
    logic [32:0] shifted, difference;
    shifted    = {rest, bit_i};
    difference = shifted - {1'b0, divisor};
    step       = {difference[32] ? shifted[31:0] : difference[31:0], !difference[32]};
  endfunction

  assign ends = (active_q == 6'd0) ? 6'd0 :
                {end_q[5] == tick_q, end_q[4] == tick_q, end_q[3] == tick_q,
                 end_q[2] == tick_q, end_q[1] == tick_q, end_q[0] == tick_q};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= 6'd0;
      tick_q   <= 6'd0;
    end else begin
      tick_q   <= tick_q + 6'd1;
      active_q <= (active_q & ~ends) | (start_i ? (6'd1 << start_lane_i) : 6'd0);
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) end_q[start_lane_i] <= tick_q + 6'd32;
  end

  integer n;
  always_ff @(posedge clk_i) begin
    if (active_q != 6'd0) begin
      for (n = 0; n < 6; n = n + 1) begin
        if (active_q[n]) begin
          {rest_q[n], quotient_q[n][0]} <= step(rest_q[n], quotient_q[n][31], divisor_q[n]);
          quotient_q[n][31:1] <= quotient_q[n][30:0];
        end
      end
    end
    if (start_i) begin
      rem_q[start_lane_i]      <= rem_i;
      // By zero: quotient all ones whatever the signs, remainder a. The most negative by -1 falls out by itself.
      negate_q[start_lane_i]   <= signed_i && (rem_i ? a_i[31] : ((a_i[31] != b_i[31]) && (b_i != 32'd0)));
      quotient_q[start_lane_i] <= (signed_i && a_i[31]) ? (32'd0 - a_i) : a_i;
      rest_q[start_lane_i]     <= 32'd0;
      divisor_q[start_lane_i]  <= (signed_i && b_i[31]) ? (32'd0 - b_i) : b_i;
    end
  end
endmodule
