// Six lanes of the f32 divider and square root, one for each slot of the tile: one quotient or root bit a cycle each.
// At most one operation starts in a cycle, so the lanes share what takes operands apart and what rounds.
//
// start_i with lane and operands in cycle t; the lane's result and flags hold from cycle t+28 until its next result. A
// start while an operation is in flight abandons it (the tile never does that: fdiv and fsqrt take 5 slots = 30 cycles).
// Cycles: t unpacks, t+1 .. t+26 make 26 bits, t+27 rounds. Special operands take the same time.
module fpu_divsqrt (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,       // operands below are taken in this cycle
  input  logic [2:0]  start_lane_i,  // 0..5
  input  logic        sqrt_i,        // 1: square root of a_i; 0: a_i / b_i
  input  logic [2:0]  rm_i,          // resolved rounding mode, 0..4
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  input  logic [2:0]  lane_i,        // 0..5: whose state the outputs show
  output logic        busy_o,        // some operation is in flight (cycles t+1 .. t+27)
  output logic [31:0] result_o,
  output logic [4:0]  fflags_o
);
  logic signed [10:0] a_exp, b_exp;
  logic        [23:0] a_sig, b_sig;
  logic               a_zero, b_zero, a_inf, b_inf, a_nan, b_nan, a_snan, b_snan;

  fpu_unpack u_unpack_a (
    .valid_i(start_i), .value_i(a_i), .exp_o(a_exp), .sig_o(a_sig), .zero_o(a_zero), .inf_o(a_inf), .nan_o(a_nan),
    .snan_o(a_snan)
  );
  fpu_unpack u_unpack_b (
    .valid_i(start_i && !sqrt_i), .value_i(b_i), .exp_o(b_exp), .sig_o(b_sig), .zero_o(b_zero), .inf_o(b_inf),
    .nan_o(b_nan), .snan_o(b_snan)
  );

  // What needs no iteration: `known` with its result and flags.
  logic        known, sign;
  logic [31:0] known_result;
  logic [4:0]  known_flags;

  always_comb begin
    known = 1'b0;
    sign = 1'b0;
    known_result = fpu_pkg::CanonicalNan;
    known_flags = 5'd0;
    if (start_i) begin
      if (sqrt_i) begin
        if (a_nan) begin
          known = 1'b1;
          known_flags[4] = a_snan;
        end else if (a_zero || (a_inf && !a_i[31])) begin
          known = 1'b1;
          known_result = a_i;
        end else if (a_i[31]) begin
          known = 1'b1;
          known_flags[4] = 1'b1;
        end
      end else begin
        sign = a_i[31] ^ b_i[31];
        if (a_nan || b_nan) begin
          known = 1'b1;
          known_flags[4] = a_snan || b_snan;
        end else if ((a_inf && b_inf) || (a_zero && b_zero)) begin
          known = 1'b1;
          known_flags[4] = 1'b1;
        end else if (a_inf || b_zero) begin
          known = 1'b1;
          known_result = {sign, 31'h7f800000};
          known_flags[3] = !a_inf;
        end else if (a_zero || b_inf) begin
          known = 1'b1;
          known_result = {sign, 31'd0};
        end
      end
    end
  end

  // A lane is active for 27 cycles: 26 bits, then rounding when the common counter comes to its end.
  logic        [5:0]  active_q;
  logic        [4:0]  tick_q;
  logic        [4:0]  end_q [0:5];
  logic        [5:0]  sqrt_q, known_q, sign_q;
  logic        [2:0]  rm_q [0:5];
  logic signed [10:0] exp_q [0:5];
  logic        [27:0] rest_q [0:5];     // partial remainder
  logic        [25:0] operand_q [0:5];  // division: divisor; root: radicand bits not yet used, leftmost first
  logic        [25:0] bits_q [0:5];     // quotient or root so far
  logic        [31:0] result_q [0:5];
  logic        [4:0]  fflags_q [0:5];

  // One bit: does the divisor (or the root's next square step) fit? Returns the digit and the new remainder.
  function automatic logic [28:0] step(input logic root, input logic [27:0] rest, input logic [25:0] operand,
                                       input logic [25:0] bits);
    logic [27:0] brought, trial, left;
    logic        digit;
    brought = root ? {rest[25:0], operand[25:24]} : rest;
    trial = root ? {bits, 2'b01} : {2'd0, operand};
    digit = brought >= trial;
    left = digit ? brought - trial : brought;
    step = {digit, root ? left : {left[26:0], 1'b0}};
  endfunction

  // Lanes that started in different cycles round in different cycles: one unit serves all.
  logic        [5:0]  ends;
  logic               rounds, round_sign;
  logic        [2:0]  round_lane, round_rm;
  logic signed [10:0] round_exp;
  logic        [25:0] round_bits;
  logic               round_sticky;
  logic        [31:0] rounded;
  logic        [4:0]  rounded_flags;

  assign ends = (active_q == 6'd0) ? 6'd0 : active_q &
                {end_q[5] == tick_q, end_q[4] == tick_q, end_q[3] == tick_q,
                 end_q[2] == tick_q, end_q[1] == tick_q, end_q[0] == tick_q};
  always_comb begin
    rounds = 1'b0;
    round_lane = 3'd0;
    if ((ends & ~known_q) != 6'd0) begin
      rounds = 1'b1;
      round_lane = ends[0] ? 3'd0 : ends[1] ? 3'd1 : ends[2] ? 3'd2 : ends[3] ? 3'd3 : ends[4] ? 3'd4 : 3'd5;
    end
    round_sign = 1'b0;
    round_rm = 3'd0;
    round_exp = 11'sd0;
    round_bits = 26'd0;
    round_sticky = 1'b0;
    if (rounds) begin
      round_sign = sign_q[round_lane];
      round_rm = rm_q[round_lane];
      round_exp = exp_q[round_lane];
      round_bits = bits_q[round_lane];
      round_sticky = rest_q[round_lane] != 28'd0;
    end
  end

  fpu_round u_round (
    .valid_i(rounds), .sign_i(round_sign), .exp_i(round_exp), .sig_i({round_bits, round_sticky, 37'd0}),
    .rm_i(round_rm), .result_o(rounded), .fflags_o(rounded_flags)
  );

  logic a_less;
  assign a_less = a_sig < b_sig;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= 6'd0;
      tick_q <= 5'd0;
    end else begin
      tick_q <= tick_q + 5'd1;
      active_q <= (active_q & ~ends) | (start_i ? (6'd1 << start_lane_i) : 6'd0);
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) end_q[start_lane_i] <= tick_q + 5'd27;
  end

  // The known result waits where the computed one will stand: the tile looks in cycle t+28 only.
  always_ff @(posedge clk_i) begin
    if (start_i && known) begin
      result_q[start_lane_i] <= known_result;
      fflags_q[start_lane_i] <= known_flags;
    end
    if (rounds) begin
      result_q[round_lane] <= rounded;
      fflags_q[round_lane] <= rounded_flags;
    end
  end

  integer n;
  always_ff @(posedge clk_i) begin
    if (active_q != 6'd0) begin
      for (n = 0; n < 6; n = n + 1) begin
        if (active_q[n] && !ends[n]) begin
          {bits_q[n][0], rest_q[n]} <= step(sqrt_q[n], rest_q[n], operand_q[n], bits_q[n]);
          bits_q[n][25:1] <= bits_q[n][24:0];
          if (sqrt_q[n]) operand_q[n] <= {operand_q[n][23:0], 2'd0};
        end
      end
    end
    if (start_i) begin
      sqrt_q[start_lane_i] <= sqrt_i;
      known_q[start_lane_i] <= known;
      sign_q[start_lane_i] <= sign;
      rm_q[start_lane_i] <= rm_i;
      bits_q[start_lane_i] <= 26'd0;
      if (sqrt_i) begin
        // Even exponent; 26 radicand bits with two before the point, so the root's first bit is its unit.
        exp_q[start_lane_i] <= {a_exp[10], a_exp[10:1]};
        rest_q[start_lane_i] <= 28'd0;
        operand_q[start_lane_i] <= a_exp[0] ? {a_sig, 2'd0} : {1'b0, a_sig, 1'b0};
      end else begin
        // A dividend smaller than the divisor is doubled, so the quotient's first bit is its unit.
        exp_q[start_lane_i] <= a_exp - b_exp - $signed({10'd0, a_less});
        rest_q[start_lane_i] <= a_less ? {3'd0, a_sig, 1'b0} : {4'd0, a_sig};
        operand_q[start_lane_i] <= {2'd0, b_sig};
      end
    end
  end

  assign busy_o = active_q != 6'd0;
  assign result_o = result_q[lane_i];
  assign fflags_o = fflags_q[lane_i];
endmodule
