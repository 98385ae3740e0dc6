// f register file: a watched register reads what was last written to it by whichever port; pairs and quads take their
// registers from the right bank and half; nothing else changes.
module fregs_formal #(
  parameter int Ctx = 3,
  parameter int Number = 7
) (
  input logic         clk_i,
  input logic [2:0]   ctx_i, wctx_i, count_i,
  input logic [4:0]   rs1_i, rs2_i, rs3_i, store_i, main_reg_i, second_reg_i, aux_reg_i,
  input logic         quad_i, we_main_i, pair_main_i, we_second_i, dbg_we_i,
  input logic [63:0]  main_i, second_i,
  input logic [127:0] aux_i,
  input logic [31:0]  dbg_wdata_i
);
  localparam logic [2:0] ctx = Ctx;
  localparam logic [4:0] number = Number;
  logic [127:0] rd1;
  logic [63:0]  rd2, rd3, store;
  logic [31:0]  dbg;

  tile_fregs dut (
    .clk_i, .ctx_i, .rs1_i, .rs2_i, .rs3_i, .quad_i, .store_i, .rd1_o(rd1), .rd2_o(rd2), .rd3_o(rd3), .store_o(store),
    .we_main_i, .pair_main_i, .wreg_main_i(main_reg_i), .wdata_main_i(main_i), .we_second_i,
    .wreg_second_i(second_reg_i), .wdata_second_i(second_i), .count_aux_i(count_i), .wreg_aux_i(aux_reg_i),
    .wdata_aux_i(aux_i), .wctx_i, .dbg_we_i, .dbg_wdata_i, .dbg_row_i({ctx, number}), .dbg_data_o(dbg)
  );

  // Registers that a write or read of `count` registers from `first` covers; which of them the watched one is.
  function automatic logic covers(input logic [4:0] first, input logic [2:0] count);
    covers = (count == 3'd1) ? (number == first) : (count == 3'd2) ? (number[4:1] == first[4:1]) :
             (count == 3'd4) ? (number[4:2] == first[4:2]) : 1'b0;
  endfunction
  function automatic logic [31:0] part(input logic [127:0] data, input logic [2:0] count);
    case ((count == 3'd4) ? number[1:0] : (count == 3'd2) ? {1'b0, number[0]} : 2'd0)
      2'd0: part = data[31:0];
      2'd1: part = data[63:32];
      2'd2: part = data[95:64];
      default: part = data[127:96];
    endcase
  endfunction

  logic [31:0] value = 32'd0;
  logic [2:0]  main_count;
  logic        here, by_main, by_second, by_aux;
  assign main_count = pair_main_i ? 3'd2 : 3'd1;
  assign here       = (wctx_i == ctx);
  assign by_main    = here && we_main_i && covers(main_reg_i, main_count);
  assign by_second  = here && we_second_i && covers(second_reg_i, 3'd2);
  assign by_aux     = here && covers(aux_reg_i, count_i);
  always_ff @(posedge clk_i) begin
    if (by_main) value <= part({64'd0, main_i}, main_count);
    if (by_second) value <= part({64'd0, second_i}, 3'd2);
    if (by_aux) value <= part(aux_i, count_i);
    if (dbg_we_i) value <= dbg_wdata_i;
  end

  logic reads;
  assign reads = (ctx_i == ctx);
  always_comb begin
    assume ((count_i <= 3'd2) || (count_i == 3'd4));
    // Legal operands, and the pair rule: nobody writes a register twice; the debug port writes only what nobody else does.
    if (pair_main_i) assume (!main_reg_i[0]);
    if (we_second_i) assume (!second_reg_i[0]);
    if (count_i == 3'd2) assume (!aux_reg_i[0]);
    if (count_i == 3'd4) assume (aux_reg_i[1:0] == 2'd0);
    if (quad_i) assume (rs1_i[1:0] == 2'd0);
    assume (!(by_main && by_second) && !(by_main && by_aux) && !(by_second && by_aux));
    if (dbg_we_i) assume (!by_main && !by_second && !by_aux);
    assert (dbg == value);
    if (reads && (rs1_i == number)) assert (rd1[31:0] == value);
    if (reads && number[0] && (rs1_i == {number[4:1], 1'b0})) assert (rd1[63:32] == value);
    if (reads && quad_i && (number[1:0] == 2'd2) && (rs1_i == {number[4:2], 2'd0})) assert (rd1[95:64] == value);
    if (reads && quad_i && (number[1:0] == 2'd3) && (rs1_i == {number[4:2], 2'd0})) assert (rd1[127:96] == value);
    if (reads && !quad_i && (rs2_i == number)) assert (rd2[31:0] == value);
    if (reads && !quad_i && number[0] && (rs2_i == {number[4:1], 1'b0})) assert (rd2[63:32] == value);
    if (reads && (rs3_i == number)) assert (rd3[31:0] == value);
    if (reads && number[0] && (rs3_i == {number[4:1], 1'b0})) assert (rd3[63:32] == value);
    if (reads && (store_i == number)) assert (store[31:0] == value);
    if (reads && number[0] && (store_i == {number[4:1], 1'b0})) assert (store[63:32] == value);
  end
endmodule
