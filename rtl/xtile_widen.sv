// f16 to f32: exact. Combinational. Canonical NaN.
module xtile_widen (
  input  logic        valid_i,  // 0: the output is 0 and simulators skip the logic
  input  logic [15:0] value_i,
  output logic [31:0] result_o
);
  logic               sign, inf, nan;
  logic signed [10:0] exponent;
  logic        [10:0] sig;
  logic signed [10:0] biased;

  xtile_unpack #(.EW(5), .FW(10)) u_unpack (
    .valid_i, .value_i, .sign_o(sign), .exp_o(exponent), .sig_o(sig), .inf_o(inf), .nan_o(nan)
  );
  always_comb begin
    result_o = 32'd0;
    biased = 11'sd0;
    if (valid_i) begin
      biased = exponent + 11'sd127;
      result_o[31] = sign;
      if (inf) result_o[30:0] = 31'h7f800000;
      else if (sig != 11'd0) result_o[30:0] = {biased[7:0], sig[9:0], 13'd0};
      if (nan) result_o = fpu_pkg::CanonicalNan;
    end
  end
endmodule
