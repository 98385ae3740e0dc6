// x registers of all contexts, row = {context, register}. x0 is never written and so reads 0.
//
// The registers that x.run gives a worker (ra, sp, tp, a0, a1) stand a second time, because x.run all
// writes 30 of them at once and the array has one write port. A bit of each says which copy holds: x.run sets it, a
// write to the register clears it. The copies of x.run have a clock that rises only then.
module tile_xregs (
  input  logic        clk_i,
  input  logic        run_clk_i, // gated: rises with clk_i if run_i is not 0, may else stay low
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
  logic [31:0] a0_q [0:7];
  logic [31:0] a1_q [0:7];
  // Bit of worker w: x.run's copy of ra, sp, tp, a0, a1 holds.
  logic [7:0]  ra_run_q, sp_run_q, tp_run_q, a0_run_q, a1_run_q;

  integer i, w;
  initial begin  // power-on: all registers 0
    for (i = 0; i < 256; i = i + 1) file_q[i] = 32'd0;
    for (i = 0; i < 8; i = i + 1) begin
      ra_q[i] = 32'd0;
      sp_q[i] = 32'd0;
      a0_q[i] = 32'd0;
      a1_q[i] = 32'd0;
    end
    ra_run_q = 8'd0;
    sp_run_q = 8'd0;
    tp_run_q = 8'd0;
    a0_run_q = 8'd0;
    a1_run_q = 8'd0;
  end

  always_comb begin
    rd1_o = file_q[{ctx_i, rs1_i}];
    case (rs1_i)
      5'd1: if (ra_run_q[ctx_i]) rd1_o = ra_q[ctx_i];
      5'd2: if (sp_run_q[ctx_i]) rd1_o = sp_q[ctx_i];
      5'd4: if (tp_run_q[ctx_i]) rd1_o = {29'd0, ctx_i - 3'd1};
      5'd10: if (a0_run_q[ctx_i]) rd1_o = a0_q[ctx_i];
      5'd11: if (a1_run_q[ctx_i]) rd1_o = a1_q[ctx_i];
      default: ;
    endcase
  end
  always_comb begin
    rd2_o = file_q[{ctx_i, rs2_i}];
    case (rs2_i)
      5'd1: if (ra_run_q[ctx_i]) rd2_o = ra_q[ctx_i];
      5'd2: if (sp_run_q[ctx_i]) rd2_o = sp_q[ctx_i];
      5'd4: if (tp_run_q[ctx_i]) rd2_o = {29'd0, ctx_i - 3'd1};
      5'd10: if (a0_run_q[ctx_i]) rd2_o = a0_q[ctx_i];
      5'd11: if (a1_run_q[ctx_i]) rd2_o = a1_q[ctx_i];
      default: ;
    endcase
  end
  // Only the supervisor has x.run, and nobody gives it registers.
  assign rd3_o = file_q[{3'd0, rs3_i}];

  logic [2:0] dbg_ctx;
  assign dbg_ctx = dbg_row_i[7:5];
  always_comb begin
    dbg_data_o = 32'd0;
    if (dbg_row_i != 8'd0) begin  // row 0 is x0
      dbg_data_o = file_q[dbg_row_i];
      case (dbg_row_i[4:0])
        5'd1: if (ra_run_q[dbg_ctx]) dbg_data_o = ra_q[dbg_ctx];
        5'd2: if (sp_run_q[dbg_ctx]) dbg_data_o = sp_q[dbg_ctx];
        5'd4: if (tp_run_q[dbg_ctx]) dbg_data_o = {29'd0, dbg_ctx - 3'd1};
        5'd10: if (a0_run_q[dbg_ctx]) dbg_data_o = a0_q[dbg_ctx];
        5'd11: if (a1_run_q[dbg_ctx]) dbg_data_o = a1_q[dbg_ctx];
        default: ;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (we_i) file_q[{wctx_i, wreg_i}] <= wdata_i;
    if (dbg_we_i && (dbg_row_i[4:0] != 5'd0)) file_q[dbg_row_i] <= dbg_wdata_i;
  end

  // A worker that is started has no write in flight: its last one was over before x.run took effect.
  logic [7:0] started;
  assign started = {1'b0, run_i, 1'b0};
  always_ff @(posedge clk_i) begin
    if (we_i) begin
      case (wreg_i)
        5'd1: ra_run_q[wctx_i] <= 1'b0;
        5'd2: sp_run_q[wctx_i] <= 1'b0;
        5'd4: tp_run_q[wctx_i] <= 1'b0;
        5'd10: a0_run_q[wctx_i] <= 1'b0;
        5'd11: a1_run_q[wctx_i] <= 1'b0;
        default: ;
      endcase
    end
    if (dbg_we_i) begin
      case (dbg_row_i[4:0])
        5'd1: ra_run_q[dbg_ctx] <= 1'b0;
        5'd2: sp_run_q[dbg_ctx] <= 1'b0;
        5'd4: tp_run_q[dbg_ctx] <= 1'b0;
        5'd10: a0_run_q[dbg_ctx] <= 1'b0;
        5'd11: a1_run_q[dbg_ctx] <= 1'b0;
        default: ;
      endcase
    end
    if (run_i != 6'd0) begin
      for (w = 1; w <= 6; w = w + 1) begin
        if (started[w]) begin
          ra_run_q[w] <= 1'b1;
          sp_run_q[w] <= 1'b1;
          tp_run_q[w] <= 1'b1;
          a0_run_q[w] <= 1'b1;
          a1_run_q[w] <= 1'b1;
        end
      end
    end
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

  always_ff @(posedge run_clk_i) begin
    for (i = 1; i <= 6; i = i + 1) begin
      if (started[i]) begin
        ra_q[i] <= run_ra_i;
        sp_q[i] <= stack[i];
        a0_q[i] <= run_a0_i;
        a1_q[i] <= run_a1_i;
      end
    end
  end
endmodule
