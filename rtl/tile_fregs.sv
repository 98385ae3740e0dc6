// f registers of the six workers, row = {context, register}: two banks, even and odd registers, so that a pair operand
// is one row of both and a quad two rows (docs/machine/timing.md).
//
// Each bank has four read ports: operands rs1, rs2, rs3 of the AUX, store data of the MAIN; only an operand rs1 has four
// registers, and the instruction that has one reads no rs2. And four write ports, since x.ld2 beside a result of four
// registers writes four rows of each; the pair rule keeps MAIN and AUX off each other's registers.
module tile_fregs (
  input  logic         clk_i,
  input  logic [2:0]   ctx_i,
  input  logic [4:0]   rs1_i,      // operands of the AUX
  input  logic [4:0]   rs2_i,
  input  logic [4:0]   rs3_i,
  input  logic         quad_i,     // four registers from rs1 on
  input  logic [4:0]   store_i,    // data of the MAIN's store
  output logic [127:0] rd1_o,      // lowest register lowest; above a single one its odd neighbour, 64 up valid if quad_i
  output logic [63:0]  rd2_o,
  output logic [63:0]  rd3_o,
  output logic [63:0]  store_o,
  // Loads: one register or a pair; beside it a pair.
  input  logic         we_main_i,
  input  logic         pair_main_i,
  input  logic [4:0]   wreg_main_i,
  input  logic [63:0]  wdata_main_i,
  input  logic         we_second_i,
  input  logic [4:0]   wreg_second_i,
  input  logic [63:0]  wdata_second_i,
  // Result of the AUX: 0, 1, 2 or 4 registers.
  input  logic [2:0]   count_aux_i,
  input  logic [4:0]   wreg_aux_i,
  input  logic [127:0] wdata_aux_i,
  input  logic [2:0]   wctx_i,
  input  logic         dbg_we_i,
  input  logic [31:0]  dbg_wdata_i,
  input  logic [7:0]   dbg_row_i,
  output logic [31:0]  dbg_data_o
);
  logic [31:0] even_q [0:127];
  logic [31:0] odd_q [0:127];
  logic [6:0]  row1, row2, row3, store_row, main_row, second_row, aux_row, aux_high;
  logic        main_even, main_odd, aux_even, aux_odd;

  integer i;
  initial begin
    for (i = 0; i < 128; i = i + 1) begin
      even_q[i] = 32'd0;
      odd_q[i]  = 32'd0;
    end
  end

  assign row1      = {ctx_i, rs1_i[4:1]};
  assign row2      = {ctx_i, quad_i ? {rs1_i[4:2], 1'b1} : rs2_i[4:1]};
  assign row3      = {ctx_i, rs3_i[4:1]};
  assign store_row = {ctx_i, store_i[4:1]};

  assign rd2_o      = {odd_q[row2], rs2_i[0] ? odd_q[row2] : even_q[row2]};
  assign rd1_o      = {odd_q[row2], even_q[row2], odd_q[row1], rs1_i[0] ? odd_q[row1] : even_q[row1]};
  assign rd3_o      = {odd_q[row3], rs3_i[0] ? odd_q[row3] : even_q[row3]};
  assign store_o    = {odd_q[store_row], store_i[0] ? odd_q[store_row] : even_q[store_row]};
  always_comb begin
    dbg_data_o = 32'd0;  // context 0 has no f registers
    if (dbg_row_i[7:5] != 3'd0) dbg_data_o = dbg_row_i[0] ? odd_q[dbg_row_i[7:1]] : even_q[dbg_row_i[7:1]];
  end

  assign main_row   = {wctx_i, wreg_main_i[4:1]};
  assign main_even  = we_main_i && (pair_main_i || !wreg_main_i[0]);
  assign main_odd   = we_main_i && (pair_main_i || wreg_main_i[0]);
  assign second_row = {wctx_i, wreg_second_i[4:1]};
  assign aux_row    = {wctx_i, wreg_aux_i[4:1]};
  assign aux_high   = {wctx_i, wreg_aux_i[4:2], 1'b1};
  assign aux_even   = (count_aux_i[2:1] != 2'd0) || (count_aux_i[0] && !wreg_aux_i[0]);
  assign aux_odd    = (count_aux_i[2:1] != 2'd0) || (count_aux_i[0] && wreg_aux_i[0]);

  always_ff @(posedge clk_i) begin
    if (main_even) even_q[main_row] <= wdata_main_i[31:0];
    if (we_second_i) even_q[second_row] <= wdata_second_i[31:0];
    if (aux_even) even_q[aux_row] <= wdata_aux_i[31:0];
    if (count_aux_i[2]) even_q[aux_high] <= wdata_aux_i[95:64];
    if (dbg_we_i && !dbg_row_i[0]) even_q[dbg_row_i[7:1]] <= dbg_wdata_i;
  end
  always_ff @(posedge clk_i) begin
    if (main_odd) odd_q[main_row] <= pair_main_i ? wdata_main_i[63:32] : wdata_main_i[31:0];
    if (we_second_i) odd_q[second_row] <= wdata_second_i[63:32];
    if (aux_odd) odd_q[aux_row] <= count_aux_i[0] ? wdata_aux_i[31:0] : wdata_aux_i[63:32];
    if (count_aux_i[2]) odd_q[aux_high] <= wdata_aux_i[127:96];
    if (dbg_we_i && dbg_row_i[0]) odd_q[dbg_row_i[7:1]] <= dbg_wdata_i;
  end
endmodule
