// Operations of an arithmetic lane (xtile_lane.sv) and helpers of the Xtile units. No state, no timing.
package xtile_pkg;

  typedef enum logic [3:0] {
    LaneAdd = 4'd0,   // a + b
    LaneSub = 4'd1,   // a - b
    LaneMul = 4'd2,   // a * b
    LaneMac = 4'd3,   // a * b + c, one rounding
    LaneMax = 4'd4,
    LaneMin = 4'd5,
    LaneEq  = 4'd6,   // all ones or zeros
    LaneLt  = 4'd7,
    LaneLe  = 4'd8,
    LaneAbs = 4'd9,
    LaneNeg = 4'd10,
    LaneSel = 4'd11   // b if a's top bit is set, else c
  } lane_op_e;

  // An f16 taken apart, as xtile_half_product wants it. Value: (-1)^sign * sig * 2^(exp - 10); sig 0 is zero.
  typedef struct packed {
    logic              nan;
    logic              inf;
    logic              sign;
    logic signed [6:0] exp;
    logic [10:0]       sig;   // leading one at bit 10
  } half_t;

  // Leading zeros of a non-zero value, by halves.
  function automatic logic [5:0] zeros64(input logic [63:0] value);
    logic [63:0] v;
    logic [5:0]  n;
    v = value;
    n = 6'd0;
    if (v[63:32] == 32'd0) begin n[5] = 1'b1; v = v << 32; end
    if (v[63:48] == 16'd0) begin n[4] = 1'b1; v = v << 16; end
    if (v[63:56] == 8'd0)  begin n[3] = 1'b1; v = v << 8;  end
    if (v[63:60] == 4'd0)  begin n[2] = 1'b1; v = v << 4;  end
    if (v[63:62] == 2'd0)  begin n[1] = 1'b1; v = v << 2;  end
    if (v[63] == 1'b0)     n[0] = 1'b1;
    zeros64 = n;
  endfunction

  function automatic logic [4:0] zeros32(input logic [31:0] value);
    logic [31:0] v;
    logic [4:0]  n;
    v = value;
    n = 5'd0;
    if (v[31:16] == 16'd0) begin n[4] = 1'b1; v = v << 16; end
    if (v[31:24] == 8'd0)  begin n[3] = 1'b1; v = v << 8;  end
    if (v[31:28] == 4'd0)  begin n[2] = 1'b1; v = v << 4;  end
    if (v[31:30] == 2'd0)  begin n[1] = 1'b1; v = v << 2;  end
    if (v[31] == 1'b0)     n[0] = 1'b1;
    zeros32 = n;
  endfunction

endpackage
