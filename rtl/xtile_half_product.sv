// Product of two f16 as an f32: exact, as 22 bits and exponents from -48 to 31 have room. Combinational. Canonical NaN.
// One of them comes taken apart (xtile_half_unpack), as it is shared; the other is taken apart here.
module xtile_half_product (
  input  logic             valid_i,    // 0: the output is 0 and simulators skip the logic
  input  xtile_pkg::half_t a_i,
  input  logic [15:0]      b_i,
  output logic [31:0]      product_o
);
  logic [31:0] base, sig, quarter;
  logic [10:0] b_sig;

  always_comb begin
    product_o = 32'd0;
    base = 32'd0;
    sig = 32'd0;
    quarter = 32'd0;
    b_sig = 11'd0;
    if (valid_i) begin
      // Sign and sum of the exponents, as if the product were below 2.
      base = {a_i.sign ^ b_i[15], a_i.exp, 23'd0} + {4'd0, b_i[14:10], 23'd0};
      b_sig = {1'b1, b_i[9:0]};
      if (b_i[14:10] == 5'd0) begin
        // Subnormal; zero has no leading one.
        base = base + 32'h00800000;
        b_sig = {1'b0, b_i[9:0]};
        if (b_sig[10:3] == 8'd0) begin base = base - 32'h04000000; b_sig = b_sig << 8; end
        if (b_sig[10:7] == 4'd0) begin base = base - 32'h02000000; b_sig = b_sig << 4; end
        if (b_sig[10:9] == 2'd0) begin base = base - 32'h01000000; b_sig = b_sig << 2; end
        if (!b_sig[10])          begin base = base - 32'h00800000; b_sig = b_sig << 1; end
      end
      sig = {21'd0, a_i.sig} * {21'd0, b_sig};
      // The leading one, at bit 21 or 20, goes to bit 23 and so adds one to the exponent.
      quarter = sig << 2;
      product_o = base + quarter + (sig[21] ? 32'h00800000 : quarter);
      if (sig == 32'd0) product_o = {base[31], 31'd0};
      if (a_i.special || b_i[14:10] == 5'd31) begin
        product_o = {a_i.sign ^ b_i[15], 31'h7f800000};
        if (a_i.nan || b_i[14:0] > 15'h7c00 || sig == 32'd0) product_o = fpu_pkg::CanonicalNan;
      end
    end
  end
endmodule
