// Product of two f16 as an f32: exact, as 22 bits and exponents from -48 to 31 have room. Combinational. Canonical NaN.
module xtile_half_product (
  input  logic             valid_i,    // 0: the output is 0 and simulators skip the logic
  input  xtile_pkg::half_t a_i,
  input  xtile_pkg::half_t b_i,
  output logic [31:0]      product_o
);
  logic [21:0] sig;
  logic [7:0]  exponent;

  always_comb begin
    product_o = 32'd0;
    sig = 22'd0;
    exponent = 8'd0;
    if (valid_i) begin
      product_o[31] = a_i.sign ^ b_i.sign;
      if (a_i.nan || a_i.inf || b_i.nan || b_i.inf) begin
        product_o[30:0] = 31'h7f800000;
        if (a_i.nan || b_i.nan || a_i.sig == 11'd0 || b_i.sig == 11'd0) product_o = fpu_pkg::CanonicalNan;
      end else begin
        sig = {11'd0, a_i.sig} * {11'd0, b_i.sig};
        exponent = {a_i.exp[6], a_i.exp} + {b_i.exp[6], b_i.exp} + 8'd127 + {7'd0, sig[21]};
        if (sig != 22'd0) product_o[30:0] = {exponent, sig[21] ? {sig[20:0], 2'd0} : {sig[19:0], 3'd0}};
      end
    end
  end
endmodule
