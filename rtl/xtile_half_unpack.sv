// Takes an f16 apart for exact products. Combinational.
module xtile_half_unpack (
  input  logic             valid_i,  // 0: the output means nothing and simulators skip the logic
  input  logic [15:0]      value_i,
  output xtile_pkg::half_t half_o
);
  logic               sign, inf, nan;
  /* verilator lint_off UNUSEDSIGNAL */
  logic signed [10:0] exponent;      // of a number: -24..15
  /* verilator lint_on UNUSEDSIGNAL */
  logic        [10:0] sig;

  xtile_unpack #(.EW(5), .FW(10)) u_unpack (
    .valid_i, .value_i, .sign_o(sign), .exp_o(exponent), .sig_o(sig), .inf_o(inf), .nan_o(nan)
  );
  assign half_o = {nan, inf, sign, exponent[6:0], sig};
endmodule
