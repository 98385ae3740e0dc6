// Takes an f32 apart: class, unbiased exponent, 24-bit significand with its leading bit set, subnormals normalised.
// Combinational. Exponent and significand of zeros, infinities and NaNs mean nothing.
module fpu_unpack (
  input  logic               valid_i,    // 0: outputs are 0, so that simulators skip the logic
  /* verilator lint_off UNUSEDSIGNAL */
  input  logic        [31:0] value_i,    // the sign is the user's matter
  /* verilator lint_on UNUSEDSIGNAL */
  output logic signed [10:0] exp_o,
  output logic        [23:0] sig_o,
  output logic               zero_o,
  output logic               inf_o,
  output logic               nan_o,
  output logic               snan_o
);
  function automatic logic [4:0] leading_zeros(input logic [22:0] value);
    logic [31:0] v;
    logic [4:0]  n;
    v = {value, 9'd0};
    n = 5'd0;
    if (v[31:16] == 16'd0) begin n[4] = 1'b1; v = v << 16; end
    if (v[31:24] == 8'd0)  begin n[3] = 1'b1; v = v << 8;  end
    if (v[31:28] == 4'd0)  begin n[2] = 1'b1; v = v << 4;  end
    if (v[31:30] == 2'd0)  begin n[1] = 1'b1; v = v << 2;  end
    if (v[31] == 1'b0)     n[0] = 1'b1;
    leading_zeros = n;
  endfunction

  logic [4:0] zeros;

  always_comb begin
    exp_o = 11'sd0;
    sig_o = 24'd0;
    zero_o = 1'b0;
    inf_o = 1'b0;
    nan_o = 1'b0;
    snan_o = 1'b0;
    zeros = 5'd0;
    if (valid_i) begin
      if (value_i[30:23] != 8'd0) begin
        exp_o = $signed({3'd0, value_i[30:23]}) - 11'sd127;
        sig_o = {1'b1, value_i[22:0]};
        if (value_i[30:23] == 8'hff) begin
          inf_o = value_i[22:0] == 23'd0;
          nan_o = value_i[22:0] != 23'd0;
          snan_o = nan_o && !value_i[22];
        end
      end else if (value_i[22:0] != 23'd0) begin
        zeros = leading_zeros(value_i[22:0]);
        exp_o = -11'sd127 - $signed({6'd0, zeros});
        sig_o = {value_i[22:0], 1'b0} << zeros;
      end else begin
        zero_o = 1'b1;
      end
    end
  end
endmodule
