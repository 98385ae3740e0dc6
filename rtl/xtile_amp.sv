// The accumulating matrix product of the tile: eight engines, their weights, the partial sums of six workers
// (docs/machine/tile.md). Fully pipelined: a step can start in every cycle.
//
// Operands at the end of stage R with valid_i; commit_i one cycle later, in X: without it nothing changes. out_o stands
// in W, four edges of clk_i later, and so does, after a step of the last phase that was committed, state_o. The sums of
// a worker are read and written in N, so that steps of one worker may follow each other every sixth cycle. clk_i must
// rise in every cycle with valid_i, clear_i, load_i or busy_o and may else stay low.
module xtile_amp (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         valid_i,         // R: an AMP step
  input  logic [8:0]   op_i,            // tessera_pkg::OP_X_AMP_F16, _F32, _G, _IO
  input  logic [2:0]   phase_i,         // 0..3; f32: 0..7
  input  logic [2:0]   ctx_i,           // worker 0..5
  input  logic [63:0]  a_i,             // rs1: activations; the first register in bits 31:0
  input  logic [63:0]  b_i,             // rs2: activations of engines 4..7 (x.amp.g)
  input  logic [63:0]  c_i,             // rs3: partial sums in
  input  logic         commit_i,        // X: the step takes effect
  input  logic [5:0]   clear_i,         // x.run: these workers' sums become +0
  input  logic         load_i,          // x.amp.ldw: sixteen bytes of weights; no step may be in R, X, M or N
  input  logic [3:0]   load_row_i,      // bytes 16 * row ..
  input  logic [127:0] load_data_i,
  output logic [63:0]  out_o,           // W: partial sums out (f32: low half)
  output logic         state_valid_o,   // W: the step was of the last phase
  output logic [511:0] state_o,         // W: {B[7..0], A[7..0]} after the swap; 0 without state_valid_o
  output logic         row_valid_o,     // two cycles after load_i
  output logic [127:0] row_o,           // the row as it is stored now; 0 without row_valid_o
  output logic         busy_o,          // a step is in X, M or N, a state stands at state_o, a row is on its way
  // Debug port: one word of the sums or weights, combinational.
  input  logic         debug_i,         // debug_value_o is wanted
  input  logic         debug_sums_i,    // 1: sums of debug_ctx_i, 0..7 A, 8..15 B; 0: weights, 0..63
  input  logic [2:0]   debug_ctx_i,
  input  logic [5:0]   debug_word_i,
  output logic [31:0]  debug_value_o    // 0 without debug_i
);
  genvar e;

  // ---- X: operands ------------------------------------------------------------------------------------------------
  logic        x_valid_q, x_single_q, x_half_q;
  logic [2:0]  x_phase_q, x_ctx_q;
  logic [63:0] x_a_q, x_b_q, x_c_q;  // b: activations of engines 4..7

  always_ff @(posedge clk_i) begin
    if (!rst_ni) x_valid_q <= 1'b0;
    else x_valid_q <= valid_i;
  end
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      x_single_q <= op_i == tessera_pkg::OP_X_AMP_F32;
      x_half_q <= op_i == tessera_pkg::OP_X_AMP_F16 || op_i == tessera_pkg::OP_X_AMP_G;
      x_phase_q <= phase_i;
      x_ctx_q <= ctx_i;
      x_a_q <= a_i;
      x_b_q <= (op_i == tessera_pkg::OP_X_AMP_G) ? b_i : a_i;
      x_c_q <= c_i;
    end
  end

  xtile_pkg::half_t x_h0, x_h1, x_h2, x_h3, x_h4, x_h5, x_h6, x_h7;
  logic             x_half, x_single;
  assign x_half   = x_valid_q && x_half_q;
  assign x_single = x_valid_q && x_single_q;
  xtile_half_unpack u_unpack0 (.valid_i(x_half), .value_i(x_a_q[15:0]), .half_o(x_h0));
  xtile_half_unpack u_unpack1 (.valid_i(x_half), .value_i(x_a_q[31:16]), .half_o(x_h1));
  xtile_half_unpack u_unpack2 (.valid_i(x_half), .value_i(x_a_q[47:32]), .half_o(x_h2));
  xtile_half_unpack u_unpack3 (.valid_i(x_half), .value_i(x_a_q[63:48]), .half_o(x_h3));
  xtile_half_unpack u_unpack4 (.valid_i(x_half), .value_i(x_b_q[15:0]), .half_o(x_h4));
  xtile_half_unpack u_unpack5 (.valid_i(x_half), .value_i(x_b_q[31:16]), .half_o(x_h5));
  xtile_half_unpack u_unpack6 (.valid_i(x_half), .value_i(x_b_q[47:32]), .half_o(x_h6));
  xtile_half_unpack u_unpack7 (.valid_i(x_half), .value_i(x_b_q[63:48]), .half_o(x_h7));

  // ---- X to N -----------------------------------------------------------------------------------------------------
  // What a step does to the sums: reads and writes B of the engines in `in`; A of all engines if it computes.
  logic        m_valid_q, m_commit_q, m_single_q, m_half_q, m_last_q;
  logic        n_valid_q, n_commit_q, n_single_q, n_half_q, n_last_q, n_half, n_single;
  logic [2:0]  m_ctx_q, n_ctx_q;
  logic [7:0]  x_in, m_in_q, n_in_q;
  logic [63:0] m_c_q, n_c_q;

  always_comb begin
    x_in = 8'd0;
    if (x_valid_q) x_in = x_single_q ? 8'd1 << x_phase_q : 8'd3 << {x_phase_q[1:0], 1'b0};
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      m_valid_q <= 1'b0;
      m_commit_q <= 1'b0;
      n_valid_q <= 1'b0;
      n_commit_q <= 1'b0;
    end else begin
      m_valid_q <= x_valid_q;
      m_commit_q <= x_valid_q && commit_i;
      n_valid_q <= m_valid_q;
      n_commit_q <= m_commit_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (x_valid_q) begin
      m_single_q <= x_single_q;
      m_half_q <= x_half_q;
      m_last_q <= x_phase_q == (x_single_q ? 3'd7 : 3'd3);
      m_ctx_q <= x_ctx_q;
      m_in_q <= x_in;
      m_c_q <= x_single_q ? {x_c_q[31:0], x_c_q[31:0]} : x_c_q;
    end
    if (m_valid_q) begin
      n_single_q <= m_single_q;
      n_half_q <= m_half_q;
      n_last_q <= m_last_q;
      n_ctx_q <= m_ctx_q;
      n_in_q <= m_in_q;
      n_c_q <= m_c_q;
    end
  end

  assign n_half   = n_valid_q && n_half_q;
  assign n_single = n_valid_q && n_single_q;

  // ---- weights: row r of 16 bytes is row r % 2 of engine r / 2 ----------------------------------------------------------
  // Rows are written from a register and shown a cycle later.
  logic          l_valid_q, row_valid_q;
  logic [3:0]    l_row_q, row_q;
  logic [127:0]  l_data_q, row;
  logic [1023:0] rows;        // of each engine

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      l_valid_q <= 1'b0;
      row_valid_q <= 1'b0;
    end else begin
      l_valid_q <= load_i;
      row_valid_q <= l_valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (load_i) begin
      l_row_q <= load_row_i;
      l_data_q <= load_data_i;
    end
    if (l_valid_q) row_q <= l_row_q;
  end
  always_comb begin
    row = 128'd0;
    if (row_valid_q) begin
      case (row_q[3:1])
        3'd0:    row = rows[127:0];
        3'd1:    row = rows[255:128];
        3'd2:    row = rows[383:256];
        3'd3:    row = rows[511:384];
        3'd4:    row = rows[639:512];
        3'd5:    row = rows[767:640];
        3'd6:    row = rows[895:768];
        default: row = rows[1023:896];
      endcase
    end
  end
  assign row_valid_o = row_valid_q;
  assign row_o       = row;

  // ---- sums -----------------------------------------------------------------------------------------------------------
  // Two sets a worker; sel_q says which is A, so that a swap moves nothing.
  logic [5:0]   sel_q;
  logic         x_set, n_set, w_set_q, w_last_q;
  logic [2:0]   w_ctx_q;
  logic [255:0] n_b, w_a, w_b, debug_words;

  assign x_set = sel_q[x_ctx_q];
  assign n_set = sel_q[n_ctx_q];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) sel_q <= 6'd0;
    else if (n_commit_q && n_last_q) sel_q[n_ctx_q] <= !n_set;
  end

  // ---- engines --------------------------------------------------------------------------------------------------------
  generate
    for (e = 0; e < 8; e = e + 1) begin : gen_engine
      xtile_amp_engine u_engine (
        .clk_i, .rst_ni,
        .x_half_i   (x_half),
        .x_single_i (x_single),
        .x_phase_i  (x_phase_q),
        .x_ctx_i    (x_ctx_q),
        .x_set_i    (x_set),
        .x_a0_i     (e < 4 ? x_h0 : x_h4),
        .x_a1_i     (e < 4 ? x_h1 : x_h5),
        .x_a2_i     (e < 4 ? x_h2 : x_h6),
        .x_a3_i     (e < 4 ? x_h3 : x_h7),
        .x_a_i      (x_a_q[31:0]),
        .x_valid_i  (x_valid_q),
        .x_in_i     (x_in[e]),
        .m_valid_i  (m_valid_q),
        .n_valid_i  (n_valid_q),
        .n_half_i   (n_half),
        .n_single_i (n_single),
        .n_commit_i (n_commit_q),
        .n_ctx_i    (n_ctx_q),
        .n_set_i    (n_set),
        .n_b_i      (e % 2 == 0 ? n_c_q[31:0] : n_c_q[63:32]),
        .n_b_o      (n_b[32*e +: 32]),
        .clear_i,
        .w_last_i   (w_last_q),
        .w_ctx_i    (w_ctx_q),
        .w_set_i    (w_set_q),
        .w_a_o      (w_a[32*e +: 32]),
        .w_b_o      (w_b[32*e +: 32]),
        .load_i     (l_valid_q && l_row_q[3:1] == 3'(e)),
        .load_row_i (l_row_q[0]),
        .load_data_i(l_data_q),
        .row_show_i (row_valid_q),
        .row_i      (row_q[0]),
        .row_o      (rows[128*e +: 128]),
        .debug_i,
        .debug_sums_i,
        .debug_ctx_i,
        .debug_set_i(sel_q[debug_ctx_i] != debug_word_i[3]),
        .debug_word_i(debug_word_i[2:0]),
        .debug_o    (debug_words[32*e +: 32])
      );
    end
  endgenerate

  // ---- W ------------------------------------------------------------------------------------------------------------
  logic [63:0] out_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) w_last_q <= 1'b0;
    else w_last_q <= n_commit_q && n_last_q;
  end
  always_ff @(posedge clk_i) begin
    if (n_valid_q) begin
      w_ctx_q <= n_ctx_q;
      w_set_q <= !n_set;
      out_q[31:0] <= n_b[31:0] | n_b[95:64] | n_b[159:128] | n_b[223:192] |
                     (n_single_q ? n_b[63:32] | n_b[127:96] | n_b[191:160] | n_b[255:224] : 32'd0);
      out_q[63:32] <= n_single_q ? 32'd0 : n_b[63:32] | n_b[127:96] | n_b[191:160] | n_b[255:224];
    end
  end
  assign out_o         = out_q;
  assign state_valid_o = w_last_q;
  assign state_o       = w_last_q ? {w_b, w_a} : 512'd0;
  assign busy_o        = x_valid_q || m_valid_q || n_valid_q || w_last_q || l_valid_q || row_valid_q;

  // ---- debug port -----------------------------------------------------------------------------------------------------
  always_comb begin
    debug_value_o = 32'd0;
    if (debug_i) debug_value_o = debug_words[{debug_sums_i ? debug_word_i[2:0] : debug_word_i[5:3], 5'd0} +: 32];
  end
endmodule
