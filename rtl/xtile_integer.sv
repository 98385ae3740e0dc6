// f32 to a 32-bit integer, saturating, NaN like a large positive value; and back. Nearest even. Combinational.
module xtile_integer (
  input  logic        to_i,        // f32 to integer
  input  logic        from_i,      // integer to f32; neither: the output is 0 and simulators skip the logic
  input  logic        unsigned_i,
  input  logic [31:0] value_i,
  output logic [31:0] result_o
);
  logic [7:0]  exponent, below;
  logic [63:0] fixed;
  logic [32:0] magnitude;
  logic [31:0] whole;
  logic [4:0]  zeros;
  logic        sign, nan, over, up;

  always_comb begin
    result_o = 32'd0;
    exponent = 8'd0;
    below = 8'd0;
    fixed = 64'd0;
    magnitude = 33'd0;
    whole = 32'd0;
    zeros = 5'd0;
    sign = 1'b0;
    nan = 1'b0;
    over = 1'b0;
    up = 1'b0;
    if (to_i) begin
      exponent = value_i[30:23];
      nan = value_i[30:0] > 31'h7f800000;
      sign = value_i[31] && !nan;
      if (exponent > 8'd158) begin
        over = 1'b1;  // from 2^32 up
      end else begin
        // Integer in bits 63:32, fraction below.
        below = 8'd158 - exponent;
        fixed = {exponent != 8'd0, value_i[22:0], 40'd0} >> (below > 8'd63 ? 6'd63 : below[5:0]);
        up = fixed[31] && (fixed[32] || fixed[30:0] != 31'd0);
        magnitude = {1'b0, fixed[63:32]} + {32'd0, up};
        if (unsigned_i) over = magnitude[32];
        else over = magnitude > (sign ? 33'h080000000 : 33'h07fffffff);
      end
      if (unsigned_i) result_o = sign ? 32'd0 : over ? 32'hffffffff : magnitude[31:0];
      else if (over) result_o = sign ? 32'h80000000 : 32'h7fffffff;
      else result_o = sign ? -magnitude[31:0] : magnitude[31:0];
    end else if (from_i) begin
      sign = value_i[31] && !unsigned_i;
      whole = sign ? -value_i : value_i;
      if (whole != 32'd0) begin
        if (whole[31:16] == 16'd0) begin zeros[4] = 1'b1; whole = whole << 16; end
        if (whole[31:24] == 8'd0) begin zeros[3] = 1'b1; whole = whole << 8; end
        if (whole[31:28] == 4'd0) begin zeros[2] = 1'b1; whole = whole << 4; end
        if (whole[31:30] == 2'd0) begin zeros[1] = 1'b1; whole = whole << 2; end
        if (whole[31] == 1'd0) begin zeros[0] = 1'b1; whole = whole << 1; end
        up = whole[7] && (whole[8] || whole[6:0] != 7'd0);
        result_o = {sign, {8'd158 - {3'd0, zeros}, whole[30:8]} + {30'd0, up}};
      end
    end
  end
endmodule
