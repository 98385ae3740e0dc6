// Rounds an exact or sticky result to f32: combinational, shared by fpu.sv and fpu_divsqrt.sv.
//
// Value: (-1)^sign_i * sig_i * 2^(exp_i - 63); sig_i's leading one may stand anywhere, bit 0 is sticky (the or of all
// that is below). sig_i = 0 is an exact zero that a sum of opposite terms left: -0 when rounding down, else +0.
// Tininess is detected after rounding. With valid_i = 0 the outputs are 0, so that simulators skip the logic.
module fpu_round (
  input  logic               valid_i,
  input  logic               sign_i,
  input  logic signed [10:0] exp_i,
  input  logic        [63:0] sig_i,
  input  logic        [2:0]  rm_i,
  output logic        [31:0] result_o,
  output logic        [4:0]  fflags_o
);
  // Leading zeros of a non-zero 64-bit value, by halves.
  function automatic logic [5:0] leading_zeros(input logic [63:0] value);
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
    leading_zeros = n;
  endfunction

`ifdef TESSERA_FAULTS
  logic faulty;  // planted fault, chosen at run time: ties go away from zero, not to the even neighbour
  initial faulty = ($test$plusargs("fault_fpu_round") != 0);
`elsif TESSERA_FAULT_FPU_ROUND
  localparam logic faulty = 1'b1;
`else
  localparam logic faulty = 1'b0;
`endif

  // Whether a magnitude grows by one last place.
  function automatic logic rounds_up(input logic [2:0] rm, input logic sign, input logic last, input logic half,
                                     input logic sticky);
    case (rm)
      fpu_pkg::RmRne: rounds_up = half && (sticky || last || faulty);
      fpu_pkg::RmRdn: rounds_up = sign && (half || sticky);
      fpu_pkg::RmRup: rounds_up = !sign && (half || sticky);
      fpu_pkg::RmRmm: rounds_up = half;
      default:        rounds_up = 1'b0;
    endcase
  endfunction

  logic        [5:0]  zeros;
  logic        [63:0] sig, dropped;
  logic signed [10:0] exponent, exponent_rounded, below;
  /* verilator lint_off UNUSEDSIGNAL */
  logic        [24:0] rounded;  // bit 23 is the hidden one
  /* verilator lint_on UNUSEDSIGNAL */
  logic        [23:0] subnormal;
  logic               inexact, to_infinity, tiny;

  always_comb begin
    result_o = 32'd0;
    fflags_o = 5'd0;
    zeros = 6'd0;
    sig = 64'd0;
    dropped = 64'd0;
    exponent = 11'sd0;
    exponent_rounded = 11'sd0;
    below = 11'sd0;
    rounded = 25'd0;
    subnormal = 24'd0;
    inexact = 1'b0;
    to_infinity = 1'b0;
    tiny = 1'b0;
    if (valid_i) begin
      if (sig_i == 64'd0) begin
        result_o = {rm_i == fpu_pkg::RmRdn, 31'd0};
      end else begin
        zeros = leading_zeros(sig_i);
        sig = sig_i << zeros;
        exponent = exp_i - $signed({5'd0, zeros});
        // 24 bits, as if the exponent had no limits.
        inexact = sig[39:0] != 40'd0;
        rounded = {1'b0, sig[63:40]} +
                  {24'd0, rounds_up(rm_i, sign_i, sig[40], sig[39], sig[38:0] != 39'd0)};
        exponent_rounded = exponent + $signed({10'd0, rounded[24]});
        if (exponent_rounded > 11'sd127) begin
          to_infinity = rm_i == fpu_pkg::RmRne || rm_i == fpu_pkg::RmRmm ||
                        rm_i == (sign_i ? fpu_pkg::RmRdn : fpu_pkg::RmRup);
          result_o = {sign_i, to_infinity ? 31'h7f800000 : 31'h7f7fffff};
          fflags_o = 5'b00101;
        end else if (exponent >= -11'sd126) begin
          // A carry out of the fraction leaves it 0, so bits 22:0 are right either way.
          result_o = {sign_i, exponent_rounded[7:0] + 8'd127, rounded[22:0]};
          fflags_o = {4'd0, inexact};
        end else begin
          // At the fixed last place 2^-149. Tiny unless the rounding above reached 2^-126.
          tiny = exponent_rounded < -11'sd126;
          below = -11'sd126 - exponent;
          if (below > 11'sd24) begin
            dropped = 64'd1;
          end else begin
            // Whatever leaves on the right is kept as the sticky bit.
            dropped = sig >> below[4:0];
            dropped[0] = dropped[0] || ((sig << (7'd64 - {2'd0, below[4:0]})) != 64'd0);
          end
          inexact = dropped[39:0] != 40'd0;
          subnormal = dropped[63:40] +
                      {23'd0, rounds_up(rm_i, sign_i, dropped[40], dropped[39], dropped[38:0] != 39'd0)};
          result_o = {sign_i, 7'd0, subnormal};
          fflags_o = {3'd0, tiny && inexact, inexact};
        end
      end
    end
  end
endmodule
