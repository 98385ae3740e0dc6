// Takes an f16 apart for exact products. Combinational.
module xtile_half_unpack (
  input  logic             valid_i,  // 0: the output means nothing and simulators skip the logic
  input  logic [15:0]      value_i,
  output xtile_pkg::half_t half_o
);
  logic [10:0] sig;
  logic [7:0]  exponent;
  logic        special, nan;

  always_comb begin
    sig = 11'd0;
    exponent = 8'd0;
    special = 1'b0;
    nan = 1'b0;
    if (valid_i) begin
      exponent = {3'd0, value_i[14:10]} + 8'd96;
      sig = {1'b1, value_i[9:0]};
      if (value_i[14:10] == 5'd0) begin
        // Subnormal; zero has no leading one.
        exponent = 8'd97;
        sig = {1'b0, value_i[9:0]};
        if (sig[10:3] == 8'd0) begin exponent = exponent - 8'd8; sig = sig << 8; end
        if (sig[10:7] == 4'd0) begin exponent = exponent - 8'd4; sig = sig << 4; end
        if (sig[10:9] == 2'd0) begin exponent = exponent - 8'd2; sig = sig << 2; end
        if (!sig[10])          begin exponent = exponent - 8'd1; sig = sig << 1; end
      end
      special = value_i[14:10] == 5'd31;
      nan = value_i[14:0] > 15'h7c00;
    end
  end
  assign half_o = {value_i[15], exponent, special, nan, 10'd0, sig};
endmodule
