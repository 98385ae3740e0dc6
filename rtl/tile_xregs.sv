// x registers of all contexts, row = {context, register}. x0 is never written and so reads 0.
//
// The registers that x.run gives a worker (ra, sp, tp, a0, a1; core.md section 5) are flops of their own, because
// x.run all writes 30 of them at once; everything else is one array with one write port.
module tile_xregs (
  input  logic        clk_i,
  // Read, combinational.
  input  logic [2:0]  ctx_i,
  input  logic [4:0]  rs1_i,
  input  logic [4:0]  rs2_i,
  input  logic [4:0]  rs3_i,     // x.run only
  output logic [31:0] rd1_o,
  output logic [31:0] rd2_o,
  output logic [31:0] rd3_o,
  // Write at the end of the cycle.
  input  logic        we_i,
  input  logic [2:0]  wctx_i,
  input  logic [4:0]  wreg_i,    // not 0
  input  logic [31:0] wdata_i,
  // x.run: bit w-1 starts worker w.
  input  logic [5:0]  run_i,
  input  logic [31:0] run_a0_i,
  input  logic [31:0] run_a1_i,
  input  logic [31:0] run_ra_i,
  input  logic [31:0] run_stack_i,
  input  logic [31:0] run_stride_i,
  // Debug write and read.
  input  logic        dbg_we_i,
  input  logic [31:0] dbg_wdata_i,
  input  logic [7:0]  dbg_row_i,
  output logic [31:0] dbg_data_o
);
  logic [31:0] file_q [0:255];
  logic [31:0] ra_q [0:7];
  logic [31:0] sp_q [0:7];
  logic [31:0] tp_q [0:7];
  logic [31:0] a0_q [0:7];
  logic [31:0] a1_q [0:7];

  integer i;
  initial begin  // power-on: all registers 0
    for (i = 0; i < 256; i = i + 1) file_q[i] = 32'd0;
    for (i = 0; i < 8; i = i + 1) begin
      ra_q[i] = 32'd0;
      sp_q[i] = 32'd0;
      tp_q[i] = 32'd0;
      a0_q[i] = 32'd0;
      a1_q[i] = 32'd0;
    end
  end

  function automatic logic is_run_register(input logic [4:0] number);
    is_run_register = (number == 5'd1) || (number == 5'd2) || (number == 5'd4) || (number[4:1] == 4'd5);
  endfunction

  function automatic logic [31:0] pick(input logic [4:0] number, input logic [31:0] other, input logic [31:0] ra,
                                       input logic [31:0] sp, input logic [31:0] tp, input logic [31:0] a0,
                                       input logic [31:0] a1);
    case (number)
      5'd1: pick = ra;
      5'd2: pick = sp;
      5'd4: pick = tp;
      5'd10: pick = a0;
      5'd11: pick = a1;
      default: pick = other;
    endcase
  endfunction

  assign rd1_o = pick(rs1_i, file_q[{ctx_i, rs1_i}], ra_q[ctx_i], sp_q[ctx_i], tp_q[ctx_i], a0_q[ctx_i], a1_q[ctx_i]);
  assign rd2_o = pick(rs2_i, file_q[{ctx_i, rs2_i}], ra_q[ctx_i], sp_q[ctx_i], tp_q[ctx_i], a0_q[ctx_i], a1_q[ctx_i]);
  // Only the supervisor has x.run.
  assign rd3_o = pick(rs3_i, file_q[{3'd0, rs3_i}], ra_q[0], sp_q[0], tp_q[0], a0_q[0], a1_q[0]);
  assign dbg_data_o = pick(dbg_row_i[4:0], file_q[dbg_row_i], ra_q[dbg_row_i[7:5]], sp_q[dbg_row_i[7:5]],
                           tp_q[dbg_row_i[7:5]], a0_q[dbg_row_i[7:5]], a1_q[dbg_row_i[7:5]]);

  always_ff @(posedge clk_i) begin
    if (we_i && !is_run_register(wreg_i)) file_q[{wctx_i, wreg_i}] <= wdata_i;
    if (dbg_we_i && (dbg_row_i[4:0] != 5'd0)) file_q[dbg_row_i] <= dbg_wdata_i;
  end

  // The stack of worker w is at base + w * stride, w = 1..6; summed up one after another.
  logic [31:0] stack [1:6];
  integer k;
  always_comb begin
    for (k = 1; k <= 6; k = k + 1) stack[k] = 32'd0;
    if (run_i != 6'd0) begin
      stack[1] = run_stack_i + run_stride_i;
      for (k = 2; k <= 6; k = k + 1) stack[k] = stack[k-1] + run_stride_i;
    end
  end

  integer w;
  always_ff @(posedge clk_i) begin
    if (we_i) begin
      case (wreg_i)
        5'd1: ra_q[wctx_i] <= wdata_i;
        5'd2: sp_q[wctx_i] <= wdata_i;
        5'd4: tp_q[wctx_i] <= wdata_i;
        5'd10: a0_q[wctx_i] <= wdata_i;
        5'd11: a1_q[wctx_i] <= wdata_i;
        default: ;
      endcase
    end
    if (dbg_we_i) begin
      case (dbg_row_i[4:0])
        5'd1: ra_q[dbg_row_i[7:5]] <= dbg_wdata_i;
        5'd2: sp_q[dbg_row_i[7:5]] <= dbg_wdata_i;
        5'd4: tp_q[dbg_row_i[7:5]] <= dbg_wdata_i;
        5'd10: a0_q[dbg_row_i[7:5]] <= dbg_wdata_i;
        5'd11: a1_q[dbg_row_i[7:5]] <= dbg_wdata_i;
        default: ;
      endcase
    end
    // A worker that is started has no write in flight: its last one was over before x.run took effect.
    if (run_i != 6'd0) begin
      for (w = 1; w <= 6; w = w + 1) begin
        if (run_i[w-1]) begin
          ra_q[w] <= run_ra_i;
          sp_q[w] <= stack[w];
          tp_q[w] <= w - 1;
          a0_q[w] <= run_a0_i;
          a1_q[w] <= run_a1_i;
        end
      end
    end
  end
endmodule
