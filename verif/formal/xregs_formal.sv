// Register file of the x registers: the register of the parameters reads what was last written to it, by the write port, by
// x.run (docs/machine/tile.md) or by the debug port; x0 reads 0; nothing else changes.
module xregs_formal #(
  parameter int Ctx = 3,
  parameter int Number = 10
) (
  input logic        clk_i,
  input logic [2:0]  ctx_i, wctx_i,
  input logic [4:0]  rs1_i, rs2_i, rs3_i, wreg_i,
  input logic        we_i, dbg_we_i,
  input logic [7:0]  dbg_row_i,
  input logic [31:0] wdata_i, dbg_wdata_i, a0_i, a1_i, ra_i, stack_i, stride_i,
  input logic [5:0]  run_i
);
  logic [31:0] rd1, rd2, rd3, dbg;

  tile_xregs dut (
    .clk_i, .run_clk_i(clk_i), .ctx_i, .rs1_i, .rs2_i, .rs3_i, .rd1_o(rd1), .rd2_o(rd2), .rd3_o(rd3),
    .we_i, .wctx_i, .wreg_i, .wdata_i, .run_i, .run_a0_i(a0_i), .run_a1_i(a1_i), .run_ra_i(ra_i),
    .run_stack_i(stack_i), .run_stride_i(stride_i), .dbg_we_i, .dbg_wdata_i, .dbg_row_i, .dbg_data_o(dbg)
  );

  localparam logic [2:0] ctx = Ctx;
  localparam logic [4:0] number = Number;
  logic [31:0] value = 32'd0;
  logic [7:0]  runs;
  logic        written, debugged;
  assign runs     = {1'b0, run_i, 1'b0};
  assign written  = we_i && (wctx_i == ctx) && (wreg_i == number);
  assign debugged = dbg_we_i && (dbg_row_i == {ctx, number}) && (number != 5'd0);
  // The stack by adding, as 3 bits times 32 would only make the proof slow.
  logic [31:0] twice, four;
  assign twice = stride_i + stride_i;
  assign four  = twice + twice;
  always_ff @(posedge clk_i) begin
    if (written) value <= wdata_i;
    if (runs[ctx]) begin
      case (number)
        5'd1: value <= ra_i;
        5'd2: value <= ((stack_i + (ctx[0] ? stride_i : 32'd0)) + (ctx[1] ? twice : 32'd0)) + (ctx[2] ? four : 32'd0);
        5'd4: value <= {29'd0, ctx} - 32'd1;
        5'd10: value <= a0_i;
        5'd11: value <= a1_i;
        default: ;
      endcase
    end
    if (debugged) value <= dbg_wdata_i;
  end

  always_comb begin
    assume ((ctx_i <= 3'd6) && (wctx_i <= 3'd6) && (dbg_row_i[7:5] <= 3'd6));
    // Contract of the ports: x0 is not written, a started worker has no write in flight, the debug port writes while
    // its context stands.
    if (we_i) assume ((wreg_i != 5'd0) && !runs[wctx_i]);
    if (dbg_we_i) assume ((run_i == 6'd0) && !(we_i && ({wctx_i, wreg_i} == dbg_row_i)));
    if ((ctx_i == ctx) && (rs1_i == number)) assert (rd1 == value);
    if ((ctx_i == ctx) && (rs2_i == number)) assert (rd2 == value);
    if ((ctx == 3'd0) && (rs3_i == number)) assert (rd3 == value);
    if (dbg_row_i == {ctx, number}) assert (dbg == value);
    if (number == 5'd0) assert (value == 32'd0);
  end
endmodule
