// One lane of the f32 divider and square root: one quotient or root bit a cycle. The tile has six, one for each slot.
//
// start_i with the operands in cycle t; result_o and fflags_o hold from cycle t+28 until the next result. A start while
// an operation is in flight abandons it (the tile never does that: fdiv and fsqrt take 5 slots = 30 cycles).
// Cycles: t unpacks, t+1 .. t+26 make 26 bits, t+27 rounds. Special operands take the same time.
module fpu_divsqrt (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,   // operands below are taken in this cycle
  input  logic        sqrt_i,    // 1: square root of a_i; 0: a_i / b_i
  input  logic [2:0]  rm_i,      // resolved rounding mode, 0..4
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  output logic        busy_o,    // an operation is in flight (cycles t+1 .. t+27)
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

  logic        [5:0]  count_q;    // iterations left, plus one for rounding; 0 is idle
  logic               sqrt_q, known_q, sign_q;
  logic        [2:0]  rm_q;
  logic signed [10:0] exp_q;
  logic        [27:0] rest_q;     // partial remainder
  logic        [25:0] operand_q;  // division: divisor; root: radicand bits not yet used, leftmost first
  logic        [25:0] bits_q;     // quotient or root so far
  logic        [31:0] result_q;
  logic        [4:0]  fflags_q;

  logic        a_less;
  logic [27:0] trial, brought;
  logic        digit;

  // One bit: does the divisor (or the root's next square step) fit?
  always_comb begin
    trial = 28'd0;
    brought = 28'd0;
    digit = 1'b0;
    if (count_q > 6'd1) begin
      brought = sqrt_q ? {rest_q[25:0], operand_q[25:24]} : rest_q;
      trial = sqrt_q ? {bits_q, 2'b01} : {2'd0, operand_q};
      digit = brought >= trial;
    end
  end

  logic [31:0] rounded;
  logic [4:0]  rounded_flags;

  fpu_round u_round (
    .valid_i(count_q == 6'd1 && !known_q), .sign_i(sign_q), .exp_i(exp_q),
    .sig_i({bits_q, rest_q != 28'd0, 37'd0}), .rm_i(rm_q), .result_o(rounded), .fflags_o(rounded_flags)
  );

  assign a_less = a_sig < b_sig;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= 6'd0;
    end else if (start_i) begin
      count_q <= 6'd27;
    end else if (count_q != 6'd0) begin
      count_q <= count_q - 6'd1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      result_q <= 32'd0;
      fflags_q <= 5'd0;
    end else if (start_i) begin
      // The known result waits where the computed one will stand: the tile looks in cycle t+28 only.
      if (known) begin
        result_q <= known_result;
        fflags_q <= known_flags;
      end
    end else if (count_q == 6'd1 && !known_q) begin
      result_q <= rounded;
      fflags_q <= rounded_flags;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      sqrt_q <= sqrt_i;
      known_q <= known;
      sign_q <= sign;
      rm_q <= rm_i;
      bits_q <= 26'd0;
      if (sqrt_i) begin
        // Even exponent; 26 radicand bits with two before the point, so the root's first bit is its unit.
        exp_q <= {a_exp[10], a_exp[10:1]};
        rest_q <= 28'd0;
        operand_q <= a_exp[0] ? {a_sig, 2'd0} : {1'b0, a_sig, 1'b0};
      end else begin
        // A dividend smaller than the divisor is doubled, so the quotient's first bit is its unit.
        exp_q <= a_exp - b_exp - $signed({10'd0, a_less});
        rest_q <= a_less ? {3'd0, a_sig, 1'b0} : {4'd0, a_sig};
        operand_q <= {2'd0, b_sig};
      end
    end else if (count_q > 6'd1) begin
      bits_q <= {bits_q[24:0], digit};
      if (sqrt_q) begin
        rest_q <= digit ? brought - trial : brought;
        operand_q <= {operand_q[23:0], 2'd0};
      end else begin
        rest_q <= (digit ? brought - trial : brought) << 1;
      end
    end
  end

  assign busy_o = count_q != 6'd0;
  assign result_o = result_q;
  assign fflags_o = fflags_q;
endmodule
