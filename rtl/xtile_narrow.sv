// f32 to f16, nearest even or stochastic by the rule of docs/machine/tile.md. Combinational. Canonical NaN.
module xtile_narrow (
  input  logic        valid_i,       // 0: the output is 0 and simulators skip the logic
  input  logic        stochastic_i,
  input  logic [15:0] random_i,
  input  logic [31:0] value_i,
  output logic [15:0] result_o
);
  logic [7:0]  exponent, below;
  logic [63:0] sig;
  logic [4:0]  field;
  logic [16:0] chance;
  logic        up;

`ifdef TESSERA_FAULTS
  logic faulty;  // planted fault, chosen at run time: f16 results are cut, not rounded
  initial faulty = ($test$plusargs("fault_simd_round") != 0);
`elsif TESSERA_FAULT_SIMD_ROUND
  localparam logic faulty = 1'b1;
`else
  localparam logic faulty = 1'b0;
`endif

  always_comb begin
    result_o = 16'd0;
    exponent = 8'd0;
    below = 8'd0;
    sig = 64'd0;
    field = 5'd0;
    chance = 17'd0;
    up = 1'b0;
    if (valid_i) begin
      exponent = value_i[30:23];
      if (exponent >= 8'd143) begin
        // From 2^16 up.
        result_o[14:0] = 15'h7c00;
      end else begin
        // Bits 63:53 stay, bits 52:37 are the top 16 of those dropped. Below 2^-14 the last place stays.
        sig = {exponent != 8'd0, value_i[22:0], 40'd0};
        if (exponent >= 8'd113) begin
          field = exponent[4:0] - 5'd16;
        end else begin
          below = 8'd113 - exponent;
          sig = sig >> (below > 8'd40 ? 6'd40 : below[5:0]);
        end
        chance = {1'b0, sig[52:37]} + {1'b0, random_i};
        up = stochastic_i ? chance[16] : sig[52] && (sig[53] || sig[51:0] != 52'd0);
        if (faulty) up = 1'b0;
        result_o[14:0] = {field, sig[62:53]} + {14'd0, up};
      end
      result_o[15] = value_i[31];
      if (value_i[30:0] > 31'h7f800000) result_o = 16'h7e00;
    end
  end
endmodule
