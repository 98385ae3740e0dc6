// Takes an f16 or f32 apart: class, unbiased exponent, significand with its leading bit set, subnormals normalised.
// Combinational. Zero: sig_o = 0 and an exponent below all others, so that it loses every comparison of exponents.
module xtile_unpack #(
  parameter int EW = 8,                      // bits of exponent and fraction
  parameter int FW = 23
) (
  input  logic               valid_i,        // 0: outputs mean nothing and simulators skip the logic
  input  logic [EW+FW:0]     value_i,
  output logic               sign_o,
  output logic signed [10:0] exp_o,
  output logic [FW:0]        sig_o,
  output logic               inf_o,
  output logic               nan_o
);
  localparam logic signed [10:0] Bias = (11'sd1 <<< (EW - 1)) - 11'sd1;

  logic [31:0]   aligned;
  logic [4:0]    zeros;
  logic [EW-1:0] field;

  always_comb begin
    sign_o = 1'b0;
    exp_o = 11'sd0;
    sig_o = '0;
    inf_o = 1'b0;
    nan_o = 1'b0;
    aligned = 32'd0;
    zeros = 5'd0;
    field = '0;
    if (valid_i) begin
      sign_o = value_i[EW+FW];
      field = value_i[EW+FW-1:FW];
      exp_o = $signed({{(11 - EW){1'b0}}, field}) - Bias;
      sig_o = {1'b1, value_i[FW-1:0]};
      if (&field) begin
        inf_o = value_i[FW-1:0] == '0;
        nan_o = value_i[FW-1:0] != '0;
      end else if (field == '0) begin
        if (value_i[FW-1:0] == '0) begin
          exp_o = -11'sd600;
          sig_o = '0;
        end else begin
          aligned[31 -: FW] = value_i[FW-1:0];
          if (aligned[31:16] == 16'd0) begin zeros[4] = 1'b1; aligned = aligned << 16; end
          if (aligned[31:24] == 8'd0) begin zeros[3] = 1'b1; aligned = aligned << 8; end
          if (aligned[31:28] == 4'd0) begin zeros[2] = 1'b1; aligned = aligned << 4; end
          if (aligned[31:30] == 2'd0) begin zeros[1] = 1'b1; aligned = aligned << 2; end
          if (aligned[31] == 1'd0) begin zeros[0] = 1'b1; aligned = aligned << 1; end
          exp_o = -Bias - $signed({6'd0, zeros});
          sig_o = aligned[31 -: FW+1];
        end
      end
    end
  end
endmodule
