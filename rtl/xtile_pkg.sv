// Operations of an arithmetic lane (xtile_lane.sv) and the type of an f16 taken apart. No state, no timing.
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

  // An f16 taken apart, as xtile_half_product wants it: sign and exponent where an f32 has them. 32 bits, which
  // simulators like better than 22.
  typedef struct packed {
    logic        sign;
    logic [7:0]  exp;      // its field plus 96: with the field of the other one less than the product's, if that is below 2
    logic        special;  // infinite or NaN
    logic        nan;
    logic [9:0]  zero;
    logic [10:0] sig;      // leading one at bit 10; zero has none
  } half_t;

endpackage
