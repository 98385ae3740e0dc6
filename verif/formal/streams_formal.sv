// Stream address arithmetic: a watched pointer moves by exactly the step that the instruction names (+8, stride A, stride
// B in units of 8 bytes and signed, none), and only when an access that uses it takes effect; x.sset and CSR writes set it.
module streams_formal #(
  parameter int Ctx = 2,
  parameter int K = 0
) (
  input logic        clk_i,
  input logic [2:0]  ctx_i, uses_i, csr_number_i, w_mask_i,
  input logic        stream_i, move_i, set_i, csr_i, csr_we_i,
  input logic [5:0]  steps_i,
  input logic [1:0]  set_k_i,
  input logic [31:0] set_addr_i, set_strides_i, csr_value_i
);
  localparam logic [2:0] ctx = Ctx;
  localparam logic [1:0] k = K;
  logic [31:0] csr_read, s0, s1, s2, w0, w1, w2, dbg;

  tile_streams dut (
    .clk_i, .ctx_i, .stream_i, .uses_i, .steps_i, .move_i, .set_i, .set_k_i, .set_addr_i, .set_strides_i, .csr_i,
    .csr_we_i, .csr_number_i, .csr_value_i, .csr_read_o(csr_read), .s0_o(s0), .s1_o(s1), .s2_o(s2), .w_ctx_i(ctx),
    .w_mask_i, .w_s0_o(w0), .w_s1_o(w1), .w_s2_o(w2), .dbg_we_i(1'b0), .dbg_wdata_i(32'd0), .dbg_en_i(1'b1),
    .dbg_ctx_i(ctx), .dbg_sel_i({1'b0, k}), .dbg_data_o(dbg)
  );

  logic [31:0] pointer = 32'd0, strides = 32'd0, shown, recorded;
  logic [1:0]  step;
  logic        here;
  logic [31:0] by_a, by_b;
  assign here  = (ctx_i == ctx);
  assign step  = (k == 2'd0) ? steps_i[1:0] : (k == 2'd1) ? steps_i[3:2] : steps_i[5:4];
  assign by_a  = {(strides[15] ? 13'h1FFF : 13'd0), strides[15:0], 3'b000};
  assign by_b  = {(strides[31] ? 13'h1FFF : 13'd0), strides[31:16], 3'b000};
  assign shown = (k == 2'd0) ? s0 : (k == 2'd1) ? s1 : s2;
  assign recorded = (k == 2'd0) ? w0 : (k == 2'd1) ? w1 : w2;
  always_ff @(posedge clk_i) begin
    if (here && move_i && uses_i[k]) begin
      case (step)
        2'd0: pointer <= pointer + 32'd8;
        2'd1: pointer <= pointer + by_a;
        2'd2: pointer <= pointer + by_b;
        default: ;
      endcase
    end
    if (here && set_i && (set_k_i == k)) begin
      pointer <= set_addr_i;
      strides <= set_strides_i;
    end
    if (here && csr_we_i && (csr_number_i == {1'b0, k})) pointer <= csr_value_i;
    if (here && csr_we_i && (csr_number_i == {1'b0, k} + 3'd3)) strides <= csr_value_i;
  end

  always_comb begin
    assume (set_k_i <= 2'd2);
    assume (csr_number_i <= 3'd5);
    assume ((move_i + set_i + csr_we_i) <= 1);
    if (move_i) assume (stream_i);
    assert (dbg == pointer);
    if (stream_i && here) assert (shown == pointer);
    if (w_mask_i[k]) assert (recorded == pointer);
    if (here && csr_i && (csr_number_i == {1'b0, k})) assert (csr_read == pointer);
    if (here && csr_i && (csr_number_i == {1'b0, k} + 3'd3)) assert (csr_read == strides);
  end
endmodule
