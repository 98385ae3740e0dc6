// Sum of two f16 or f32, nearest even, canonical NaN. Combinational.
//
// The term of smaller magnitude moves right by the difference of the exponents, but only until it lies far below the
// other's last place: from there on only its being there counts, so nothing is lost and no sticky bit is needed. A sum
// is never an inexact subnormal.
module xtile_add #(
  parameter int EW = 8,                // bits of exponent and fraction: 5, 10 or 8, 23
  parameter int FW = 23,
  parameter int FR = 64                // frame of the sum: 32 or 64
) (
  input  logic           valid_i,      // 0: the output is 0 and simulators skip the logic
  input  logic [EW+FW:0] a_i,
  input  logic [EW+FW:0] b_i,
  output logic [EW+FW:0] sum_o
);
  localparam int W = EW + FW + 1;
  localparam int Low = FR - 1 - FW;               // last place of a normalised sum
  localparam logic [8:0] Furthest = (FW > 15) ? 9'd31 : 9'd15;
  localparam logic [8:0] Top = (9'd1 << EW) - 9'd1;  // exponent of infinities and NaNs

  logic [W-1:0]  major, minor;
  logic [8:0]    major_exp, minor_exp, distance, exponent;
  logic [FR-1:0] upper, lower, sum;
  logic [63:0]   wide;
  logic [5:0]    zeros;
  logic          opposite, major_subnormal, minor_subnormal, up;

  always_comb begin
    sum_o = '0;
    major = '0;
    minor = '0;
    major_exp = 9'd0;
    minor_exp = 9'd0;
    distance = 9'd0;
    exponent = 9'd0;
    upper = '0;
    lower = '0;
    sum = '0;
    wide = 64'd0;
    zeros = 6'd0;
    opposite = 1'b0;
    major_subnormal = 1'b0;
    minor_subnormal = 1'b0;
    up = 1'b0;
    if (valid_i) begin
      major = (a_i[W-2:0] >= b_i[W-2:0]) ? a_i : b_i;
      minor = (a_i[W-2:0] >= b_i[W-2:0]) ? b_i : a_i;
      opposite = a_i[W-1] ^ b_i[W-1];
      // Subnormals have the exponent of the smallest normal, without the hidden bit.
      major_subnormal = major[W-2:FW] == '0;
      minor_subnormal = minor[W-2:FW] == '0;
      major_exp = {{(9 - EW){1'b0}}, major[W-2:FW]} + {8'd0, major_subnormal};
      minor_exp = {{(9 - EW){1'b0}}, minor[W-2:FW]} + {8'd0, minor_subnormal};
      distance = major_exp - minor_exp;
      upper[FR-2 -: FW+1] = {!major_subnormal, major[FW-1:0]};
      lower[FR-2 -: FW+1] = {!minor_subnormal, minor[FW-1:0]};
      lower = lower >> (distance > Furthest ? Furthest[4:0] : distance[4:0]);
      sum = opposite ? upper - lower : upper + lower;
      // More than one leading bit cancels only when the exponents are next to each other.
      if ((opposite && distance[8:1] == 8'd0) || major_subnormal) begin
        wide[63 -: FR] = sum;
        zeros = xtile_pkg::zeros64(wide);
        // Not below the smallest exponent: the rest stays subnormal.
        if (major_exp < {3'd0, zeros}) zeros = major_exp[5:0];
      end else begin
        zeros = sum[FR-1] ? 6'd0 : sum[FR-2] ? 6'd1 : 6'd2;
      end
      sum = sum << zeros;
      exponent = major_exp + 9'd1 - {3'd0, zeros};
      up = sum[Low-1] && (sum[Low] || sum[Low-2:0] != '0);
      if (exponent == Top) sum = '0;
      sum_o[W-2:0] = {(sum[FR-1] || exponent == Top) ? exponent[EW-1:0] : {EW{1'b0}}, sum[FR-2:Low]} +
                     {{(W - 2){1'b0}}, up && exponent != Top};
      sum_o[W-1] = (opposite && upper == lower) ? 1'b0 : major[W-1];
      if (major[W-2:FW] == {EW{1'b1}}) begin
        // A NaN is larger than all else.
        sum_o = major;
        if (major[FW-1:0] != '0 || (opposite && minor[W-2:FW] == {EW{1'b1}})) begin
          sum_o = {1'b0, {EW{1'b1}}, 1'b1, {(FW - 1){1'b0}}};
        end
      end
    end
  end
endmodule
