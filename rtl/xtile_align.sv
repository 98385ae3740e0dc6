// Sum of a product and an addend before rounding: aligned, added, normalised. Combinational.
//
// Values are sig * 2^exp with the leading one of sig as unit; sig 0 is zero and has an exponent below all others. The
// product is at bits FR-2 down of the frame, so is the addend; what leaves on the right becomes a sticky bit 0. That is
// enough: bits get lost only when the exponents are far apart, and then at most one leading bit cancels.
module xtile_align #(
  parameter int S = 24,                        // bits of a significand
  parameter int FR = 64                        // frame: at least 2 * S + 2
) (
  input  logic               valid_i,          // 0: outputs are 0 and simulators skip the logic
  input  logic               product_sign_i,
  input  logic signed [10:0] product_exp_i,
  input  logic [2*S-1:0]     product_i,        // leading one at the top
  input  logic               addend_sign_i,
  input  logic signed [10:0] addend_exp_i,
  input  logic [S-1:0]       addend_i,         // leading one at the top
  output logic               sign_o,
  output logic signed [10:0] exp_o,
  output logic [FR-1:0]      sig_o             // leading one at the top; 0: the sum is zero
);
  localparam logic [10:0] Furthest = (FR == 64) ? 11'd63 : 11'd31;

  logic [FR-1:0]      product, addend, upper, lower, moved;
  logic signed [10:0] upper_exp;
  logic [10:0]        difference, distance;
  logic [5:0]         shift;
  logic [63:0]        wide;
  logic [5:0]         zeros;
  logic               product_above, opposite;

  always_comb begin
    sign_o = 1'b0;
    exp_o = 11'sd0;
    sig_o = '0;
    product = '0;
    addend = '0;
    upper = '0;
    lower = '0;
    moved = '0;
    upper_exp = 11'sd0;
    difference = 11'd0;
    distance = 11'd0;
    shift = 6'd0;
    wide = 64'd0;
    zeros = 6'd0;
    product_above = 1'b0;
    opposite = 1'b0;
    if (valid_i) begin
      product[FR-2 -: 2*S] = product_i;
      addend[FR-2 -: S] = addend_i;
      difference = product_exp_i - addend_exp_i;
      product_above = !difference[10] && (difference != 11'd0 || product >= addend);
      // By exclusive or, which simulators do without branches.
      lower = (product ^ addend) & {FR{product_above}};
      upper = lower ^ addend;
      lower = lower ^ product;
      upper_exp = addend_exp_i + $signed(difference & {11{product_above}});
      distance = (difference ^ {11{difference[10]}}) + {10'd0, difference[10]};
      opposite = product_sign_i ^ addend_sign_i;
      shift = distance > Furthest ? Furthest[5:0] : distance[5:0];
      moved = lower >> shift;
      moved[0] = moved[0] || ((lower & ~({FR{1'b1}} << shift)) != '0);
      sign_o = addend_sign_i ^ (opposite && product_above);
      sig_o = upper + (moved ^ {FR{opposite}}) + {{(FR - 1){1'b0}}, opposite};
      if (opposite && distance[10:1] == 10'd0) begin
        wide[63 -: FR] = sig_o;
        if (wide[63:32] == 32'd0) begin zeros[5] = 1'b1; wide = wide << 32; end
        if (wide[63:48] == 16'd0) begin zeros[4] = 1'b1; wide = wide << 16; end
        if (wide[63:56] == 8'd0) begin zeros[3] = 1'b1; wide = wide << 8; end
        if (wide[63:60] == 4'd0) begin zeros[2] = 1'b1; wide = wide << 4; end
        if (wide[63:62] == 2'd0) begin zeros[1] = 1'b1; wide = wide << 2; end
        if (wide[63] == 1'd0) begin zeros[0] = 1'b1; wide = wide << 1; end
        if (sig_o == '0) sign_o = 1'b0;
        sig_o = wide[63 -: FR];
      end else begin
        zeros = {4'd0, !sig_o[FR-1] && !sig_o[FR-2], !sig_o[FR-1] && sig_o[FR-2]};
        sig_o = sig_o << zeros[1:0];
      end
      exp_o = upper_exp + 11'sd1 - $signed({5'd0, zeros});
    end
  end
endmodule
