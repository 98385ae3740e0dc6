// f registers of the six workers, row = {context, register}: two banks, even and odd registers, so that a pair operand
// is one row of both (core.md section 2). Four read ports, two write ports until streams and SIMD come.
module tile_fregs (
  input  logic        clk_i,
  input  logic [2:0]  ctx_i,
  input  logic [4:0]  rs1_i,      // operands of the AUX
  input  logic [4:0]  rs2_i,
  input  logic [4:0]  rs3_i,
  input  logic [4:0]  store_i,    // data of an fsw
  output logic [31:0] rd1_o,
  output logic [31:0] rd2_o,
  output logic [31:0] rd3_o,
  output logic [31:0] store_o,
  input  logic        we_main_i,  // a load
  input  logic [4:0]  wreg_main_i,
  input  logic [31:0] wdata_main_i,
  input  logic        we_aux_i,   // an AUX result; the pair rule keeps it off the load's register
  input  logic [4:0]  wreg_aux_i,
  input  logic [31:0] wdata_aux_i,
  input  logic [2:0]  wctx_i,
  input  logic [7:0]  dbg_row_i,
  output logic [31:0] dbg_data_o
);
  logic [31:0] even_q [0:127];
  logic [31:0] odd_q [0:127];

  integer i;
  initial begin
    for (i = 0; i < 128; i = i + 1) begin
      even_q[i] = 32'd0;
      odd_q[i]  = 32'd0;
    end
  end

  assign rd1_o      = rs1_i[0] ? odd_q[{ctx_i, rs1_i[4:1]}] : even_q[{ctx_i, rs1_i[4:1]}];
  assign rd2_o      = rs2_i[0] ? odd_q[{ctx_i, rs2_i[4:1]}] : even_q[{ctx_i, rs2_i[4:1]}];
  assign rd3_o      = rs3_i[0] ? odd_q[{ctx_i, rs3_i[4:1]}] : even_q[{ctx_i, rs3_i[4:1]}];
  assign store_o    = store_i[0] ? odd_q[{ctx_i, store_i[4:1]}] : even_q[{ctx_i, store_i[4:1]}];
  assign dbg_data_o = dbg_row_i[0] ? odd_q[dbg_row_i[7:1]] : even_q[dbg_row_i[7:1]];

  always_ff @(posedge clk_i) begin
    if (we_main_i && !wreg_main_i[0]) even_q[{wctx_i, wreg_main_i[4:1]}] <= wdata_main_i;
    if (we_aux_i && !wreg_aux_i[0]) even_q[{wctx_i, wreg_aux_i[4:1]}] <= wdata_aux_i;
  end
  always_ff @(posedge clk_i) begin
    if (we_main_i && wreg_main_i[0]) odd_q[{wctx_i, wreg_main_i[4:1]}] <= wdata_main_i;
    if (we_aux_i && wreg_aux_i[0]) odd_q[{wctx_i, wreg_aux_i[4:1]}] <= wdata_aux_i;
  end
endmodule
