// Rounds to f16 or f32, nearest even, subnormals and overflow included. Combinational.
//
// Value: (-1)^sign_i * sig_i * 2^exp_i, the leading one of sig_i at its top as unit, bit 0 sticky; sig_i 0 is zero.
module xtile_round #(
  parameter int EW = 8,                  // bits of exponent and fraction
  parameter int FW = 23,
  parameter int FR = 64                  // bits of the significand: 32 or 64
) (
  input  logic               valid_i,    // 0: the output is 0 and simulators skip the logic
  input  logic               sign_i,
  input  logic signed [10:0] exp_i,
  input  logic [FR-1:0]      sig_i,
  output logic [EW+FW:0]     result_o
);
  localparam int Low = FR - 1 - FW;                                       // last place
  localparam logic signed [10:0] Bias = (11'sd1 <<< (EW - 1)) - 11'sd1;
  localparam logic signed [10:0] Top = (11'sd1 <<< EW) - 11'sd1;           // exponent of infinity
  localparam logic signed [10:0] Furthest = (FR == 64) ? 11'sd63 : 11'sd31;

  logic signed [10:0] biased, below;
  logic [5:0]         shift;
  logic [FR-1:0]      sig;
  logic [EW-1:0]      field;
  logic               up;

`ifdef TESSERA_FAULTS
  logic faulty;  // planted fault, chosen at run time: f16 results are cut, not rounded
  initial faulty = ($test$plusargs("fault_simd_round") != 0);
`elsif TESSERA_FAULT_SIMD_ROUND
  localparam logic faulty = 1'b1;
`else
  localparam logic faulty = 1'b0;
`endif

  always_comb begin
    result_o = '0;
    biased = 11'sd0;
    below = 11'sd0;
    shift = 6'd0;
    sig = '0;
    field = '0;
    up = 1'b0;
    if (valid_i) begin
      biased = exp_i + Bias;
      if (sig_i[FR-1] && biased >= Top) begin
        result_o[EW+FW-1:FW] = {EW{1'b1}};
      end else begin
        sig = sig_i;
        if (biased > 11'sd0) begin
          field = sig_i[FR-1] ? biased[EW-1:0] : {EW{1'b0}};
        end else begin
          // Subnormal: the last place stays.
          below = 11'sd1 - biased;
          shift = below > Furthest ? Furthest[5:0] : below[5:0];
          sig = sig_i >> shift;
          sig[0] = sig[0] || ((sig_i & ~({FR{1'b1}} << shift)) != '0);
        end
        up = sig[Low-1] && (sig[Low] || sig[Low-2:0] != '0);
        if (faulty && (FW == 10)) up = 1'b0;
        // A carry out of the fraction goes into the exponent, and from the largest to infinity.
        result_o[EW+FW-1:0] = {field, sig[FR-2:Low]} + {{(EW + FW - 1){1'b0}}, up};
      end
      result_o[EW+FW] = sign_i;
    end
  end
endmodule
