// Sum of two f16 or f32, nearest even, canonical NaN. Combinational.
//
// The term of smaller magnitude moves right by the difference of the exponents, by G places at most: from there on it
// lies far below the other's last place, where only its being there counts, so nothing is lost and no sticky bit is
// needed. A sum is never an inexact subnormal. Exponent and significand are packed before rounding, so that carries go
// from one into the other; selections are made by exclusive or, which simulators do without branches.
module xtile_add #(
  parameter int EW = 8,                // bits of exponent and fraction: 5, 10 or 8, 23
  parameter int FW = 23,
  parameter int G = 31,                // guard bits: 15 or 31
  parameter int PW = 64                // bits of the packed sum, at least EW + FW + G + 1: 32 or 64
) (
  input  logic           valid_i,      // 0: the output is 0 and simulators skip the logic
  input  logic [EW+FW:0] a_i,
  input  logic [EW+FW:0] b_i,
  output logic [EW+FW:0] sum_o
);
  localparam int W = EW + FW + 1;
  localparam int Top = FW + 1 + G;                // hidden bit of a normalised sum; of a term, one below
  localparam logic [8:0] Furthest = (G == 31) ? 9'd31 : 9'd15;
  localparam logic [PW-1:0] Half = {{(PW - G){1'b0}}, {G{1'b1}}};

  logic [W-1:0]  major, minor;
  logic [8:0]    major_exp, distance, exponent;
  logic [PW-1:0] upper, lower, sum, wide, packed_sum;
  logic [5:0]    zeros;
  logic          sign, opposite, major_hidden, minor_hidden;

  always_comb begin
    sum_o = '0;
    major = '0;
    minor = '0;
    major_exp = 9'd0;
    distance = 9'd0;
    exponent = 9'd0;
    upper = '0;
    lower = '0;
    sum = '0;
    wide = '0;
    packed_sum = '0;
    zeros = 6'd0;
    sign = 1'b0;
    opposite = 1'b0;
    major_hidden = 1'b0;
    minor_hidden = 1'b0;
    if (valid_i) begin
      minor = (a_i ^ b_i) & {W{a_i[W-2:0] >= b_i[W-2:0]}};
      major = minor ^ b_i;
      minor = minor ^ a_i;
      opposite = a_i[W-1] ^ b_i[W-1];
      sign = major[W-1];
      // Subnormals have the exponent of the smallest normal, without the hidden bit.
      major_hidden = major[W-2:FW] != '0;
      minor_hidden = minor[W-2:FW] != '0;
      major_exp = {{(9 - EW){1'b0}}, major[W-2:FW]} + {8'd0, !major_hidden};
      distance = major_exp - {{(9 - EW){1'b0}}, minor[W-2:FW]} - {8'd0, !minor_hidden};
      upper = {{(PW - Top){1'b0}}, major_hidden, major[FW-1:0], {G{1'b0}}};
      lower = {{(PW - Top){1'b0}}, minor_hidden, minor[FW-1:0], {G{1'b0}}};
      lower = lower >> (distance > Furthest ? Furthest[4:0] : distance[4:0]);
      sum = upper + (lower ^ {PW{opposite}}) + {{(PW - 1){1'b0}}, opposite};
      // More than one leading bit cancels only when the exponents are next to each other.
      if ((opposite && distance[8:1] == 8'd0) || !major_hidden) begin
        wide = sum << (PW - 1 - Top);
        if (PW == 64) begin
          if (wide[PW-1:PW-32] == 32'd0) begin zeros[5] = 1'b1; wide = wide << 32; end
        end
        if (wide[PW-1:PW-16] == 16'd0) begin zeros[4] = 1'b1; wide = wide << 16; end
        if (wide[PW-1:PW-8] == 8'd0)   begin zeros[3] = 1'b1; wide = wide << 8;  end
        if (wide[PW-1:PW-4] == 4'd0)   begin zeros[2] = 1'b1; wide = wide << 4;  end
        if (wide[PW-1:PW-2] == 2'd0)   begin zeros[1] = 1'b1; wide = wide << 2;  end
        if (!wide[PW-1])               zeros[0] = 1'b1;
        // Not below the smallest exponent: the rest stays subnormal.
        if (major_exp < {3'd0, zeros}) zeros = major_exp[5:0];
        if (sum != '0) exponent = major_exp - {3'd0, zeros};
        else if (opposite) sign = 1'b0;
      end else begin
        zeros = {4'd0, !sum[Top] && !sum[Top-1], !sum[Top] && sum[Top-1]};
        exponent = major_exp - {3'd0, zeros};
      end
      // The hidden bit adds one to the exponent.
      packed_sum = ({{(PW - 9){1'b0}}, exponent} << Top) + (sum << zeros);
      packed_sum = packed_sum + Half + {{(PW - 1){1'b0}}, packed_sum[G+1]};
      sum_o = {sign, packed_sum[G+1 +: W-1]};
      if (&major[W-2:FW] || &sum_o[W-2:FW]) begin
        // Infinite, or a NaN, which is larger than all else.
        sum_o = {major[W-1], {EW{1'b1}}, {FW{1'b0}}};
        if (&major[W-2:FW] && (major[FW-1:0] != '0 || (opposite && &minor[W-2:FW]))) begin
          sum_o = {1'b0, {EW{1'b1}}, 1'b1, {(FW - 1){1'b0}}};
        end
      end
    end
  end
endmodule
