// The accumulating matrix product of the tile: eight engines, their weights, the partial sums of six workers (core.md
// section 7). Fully pipelined: a step can start in every cycle.
//
// Operands at the end of stage R with valid_i; commit_i one cycle later, in X: without it nothing changes. out_o stands
// in W, four edges of clk_i later, and so does, after a step of the last phase that was committed, state_o. The sums of
// a worker are read and written in N, so that steps of one worker may follow each other every sixth cycle. clk_i must
// rise in every cycle with valid_i, clear_i, load_i, debug_write_i or busy_o and may else stay low.
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
  // Debug port, while no step is in flight: one word of the sums or weights.
  input  logic         debug_i,         // debug_value_o is wanted
  input  logic         debug_write_i,
  input  logic         debug_sums_i,    // 1: sums of debug_ctx_i, 0..7 A, 8..15 B; 0: weights, 0..63
  input  logic [2:0]   debug_ctx_i,
  input  logic [5:0]   debug_word_i,
  input  logic [31:0]  debug_data_i,
  output logic [31:0]  debug_value_o    // 0 without debug_i
);
  integer i;
  genvar e;

  // ---- X: operands ------------------------------------------------------------------------------------------------
  logic        x_valid_q, x_single_q, x_half_q;
  logic [2:0]  x_phase_q, x_ctx_q;
  logic [63:0] x_a_q, x_b_q, x_c_q;  // b: activations of engines 4..7

  always_ff @(posedge clk_i or negedge rst_ni) begin
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
  logic        n_valid_q, n_commit_q, n_single_q, n_half_q, n_last_q;
  logic [2:0]  m_ctx_q, n_ctx_q;
  logic [7:0]  x_in, m_in_q, n_in_q;
  logic [63:0] m_c_q, n_c_q;

  always_comb begin
    x_in = 8'd0;
    if (x_valid_q) x_in = x_single_q ? 8'd1 << x_phase_q : 8'd3 << {x_phase_q[1:0], 1'b0};
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
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

  // ---- weights ------------------------------------------------------------------------------------------------------
  // Row r of 16 bytes is {odd_q[r], even_q[r]}; engine e has rows 2e and 2e + 1.
  logic [63:0]  even_q [0:15];
  logic [63:0]  odd_q [0:15];
  logic         l_valid_q, row_valid_q;
  logic [3:0]   l_row_q, row_q;
  logic [127:0] l_data_q;
  logic         x_row, x_odd, debug_weight;
  logic [63:0]  debug_even, debug_odd;

  initial begin
    for (i = 0; i < 16; i = i + 1) begin
      even_q[i] = 64'd0;
      odd_q[i] = 64'd0;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      l_valid_q <= 1'b0;
      row_valid_q <= 1'b0;
    end else begin
      l_valid_q <= load_i;
      row_valid_q <= l_valid_q;
    end
  end
  assign debug_weight = debug_write_i && !debug_sums_i;
  always_ff @(posedge clk_i) begin
    if (load_i) begin
      l_row_q <= load_row_i;
      l_data_q <= load_data_i;
    end
    if (l_valid_q) begin
      row_q <= l_row_q;
      even_q[l_row_q] <= l_data_q[63:0];
      odd_q[l_row_q] <= l_data_q[127:64];
    end else if (debug_weight) begin
      if (debug_word_i[1]) begin
        odd_q[debug_word_i[5:2]] <= debug_word_i[0] ? {debug_data_i, debug_odd[31:0]} : {debug_odd[63:32], debug_data_i};
      end else begin
        even_q[debug_word_i[5:2]] <= debug_word_i[0] ? {debug_data_i, debug_even[31:0]} :
                                                       {debug_even[63:32], debug_data_i};
      end
    end
  end
  assign row_valid_o = row_valid_q;
  assign row_o       = row_valid_q ? {odd_q[row_q], even_q[row_q]} : 128'd0;

  // f16: phase p has doubleword p of an engine; f32: word p.
  assign x_row = x_single_q ? x_phase_q[2] : x_phase_q[1];
  assign x_odd = x_single_q ? x_phase_q[1] : x_phase_q[0];

  // ---- sums ---------------------------------------------------------------------------------------------------------
  // Two sets a worker; sel_q says which is A, so that a swap moves nothing. A word that was not written since the
  // worker's start is +0, whatever stands there: bit 8 * worker + e of live0_q, live1_q.
  logic [5:0]  sel_q;
  logic [47:0] live0_q, live1_q, wrote0, wrote1, cleared;
  logic [5:0]  n_place;                // 8 * worker
  logic        x_set, n_set, w_set_q, w_last_q;
  logic [2:0]  w_ctx_q, show_ctx;
  logic [255:0] n_b;                   // B as read, of the engines in n_in_q; else 0
  logic [255:0] show_a, show_b;
  logic        show, show_set, debug_sum;
  logic [5:0]  debug_place;
  logic        debug_set0;             // the debug port writes set 0

  assign x_set       = sel_q[x_ctx_q];
  assign n_set       = sel_q[n_ctx_q];
  assign n_place     = {n_ctx_q, 3'd0};
  assign debug_sum   = debug_write_i && debug_sums_i;
  assign debug_set0  = sel_q[debug_ctx_i] == debug_word_i[3];
  assign debug_place = {debug_ctx_i, debug_word_i[2:0]};

  always_comb begin
    wrote0 = 48'd0;
    wrote1 = 48'd0;
    cleared = 48'd0;
    if (n_commit_q) begin
      wrote0[n_place +: 8] = n_set ? n_in_q : {8{n_half_q || n_single_q}};
      wrote1[n_place +: 8] = n_set ? {8{n_half_q || n_single_q}} : n_in_q;
    end
    if (debug_sum) begin
      wrote0[debug_place] = debug_set0;
      wrote1[debug_place] = !debug_set0;
    end
    if (clear_i != 6'd0) begin
      cleared = {{8{clear_i[5]}}, {8{clear_i[4]}}, {8{clear_i[3]}}, {8{clear_i[2]}}, {8{clear_i[1]}}, {8{clear_i[0]}}};
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sel_q <= 6'd0;
      live0_q <= 48'd0;
      live1_q <= 48'd0;
    end else begin
      if (n_commit_q && n_last_q) sel_q[n_ctx_q] <= !n_set;
      live0_q <= (live0_q | wrote0) & ~cleared;
      live1_q <= (live1_q | wrote1) & ~cleared;
    end
  end

  // W or the debug port sees both sums of a worker.
  assign show     = w_last_q || debug_i;
  assign show_ctx = w_last_q ? w_ctx_q : debug_ctx_i;
  assign show_set = w_last_q ? w_set_q : sel_q[debug_ctx_i];

  generate
    for (e = 0; e < 8; e = e + 1) begin : gen_engine
      logic [31:0] set0_q [0:5];
      logic [31:0] set1_q [0:5];
      logic [31:0] x_sum, n_sum, n_sum_new, n_in;
      logic [63:0] weight;

      always_comb begin
        weight = 64'd0;
        x_sum = 32'd0;
        if (x_valid_q) begin
          weight = x_odd ? odd_q[{3'(e), x_row}] : even_q[{3'(e), x_row}];
          if (x_single_q) begin
            if (x_phase_q[0]) weight[31:0] = weight[63:32];
            if (x_set) x_sum = live1_q[{x_ctx_q, 3'(e)}] ? set1_q[x_ctx_q] : 32'd0;
            else       x_sum = live0_q[{x_ctx_q, 3'(e)}] ? set0_q[x_ctx_q] : 32'd0;
          end
        end
      end
      always_comb begin
        n_sum = 32'd0;
        n_b[32*e +: 32] = 32'd0;
        if (n_valid_q) begin
          if (n_half_q) begin
            if (n_set) n_sum = live1_q[{n_ctx_q, 3'(e)}] ? set1_q[n_ctx_q] : 32'd0;
            else       n_sum = live0_q[{n_ctx_q, 3'(e)}] ? set0_q[n_ctx_q] : 32'd0;
          end
          if (n_in_q[e]) begin
            if (n_set) n_b[32*e +: 32] = live0_q[{n_ctx_q, 3'(e)}] ? set0_q[n_ctx_q] : 32'd0;
            else       n_b[32*e +: 32] = live1_q[{n_ctx_q, 3'(e)}] ? set1_q[n_ctx_q] : 32'd0;
          end
        end
      end

      xtile_amp_engine u_engine (
        .clk_i, .rst_ni, .x_half_i(x_half), .x_single_i(x_single), .x_a0_i(e < 4 ? x_h0 : x_h4),
        .x_a1_i(e < 4 ? x_h1 : x_h5), .x_a2_i(e < 4 ? x_h2 : x_h6), .x_a3_i(e < 4 ? x_h3 : x_h7), .x_a_i(x_a_q[31:0]),
        .x_weight_i(weight), .x_sum_i(x_sum), .n_half_i(n_valid_q && n_half_q), .n_single_i(n_valid_q && n_single_q),
        .n_sum_i(n_sum), .n_sum_o(n_sum_new)
      );

      // A of the step is n_sum_new, B is n_in.
      assign n_in = (e % 2 == 0) ? n_c_q[31:0] : n_c_q[63:32];
      always_ff @(posedge clk_i) begin
        if (n_commit_q) begin
          if (n_set ? n_in_q[e] : (n_half_q || n_single_q)) set0_q[n_ctx_q] <= n_set ? n_in : n_sum_new;
          if (n_set ? (n_half_q || n_single_q) : n_in_q[e]) set1_q[n_ctx_q] <= n_set ? n_sum_new : n_in;
        end else if (debug_sum && debug_word_i[2:0] == 3'(e)) begin
          if (debug_set0) set0_q[debug_ctx_i] <= debug_data_i;
          else            set1_q[debug_ctx_i] <= debug_data_i;
        end
      end
      always_comb begin
        show_a[32*e +: 32] = 32'd0;
        show_b[32*e +: 32] = 32'd0;
        if (show) begin
          if (live0_q[{show_ctx, 3'(e)}]) begin
            if (show_set) show_b[32*e +: 32] = set0_q[show_ctx];
            else          show_a[32*e +: 32] = set0_q[show_ctx];
          end
          if (live1_q[{show_ctx, 3'(e)}]) begin
            if (show_set) show_a[32*e +: 32] = set1_q[show_ctx];
            else          show_b[32*e +: 32] = set1_q[show_ctx];
          end
        end
      end
    end
  endgenerate

  // ---- W ------------------------------------------------------------------------------------------------------------
  logic [63:0] out_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
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
  assign state_o       = w_last_q ? {show_b, show_a} : 512'd0;
  assign busy_o        = x_valid_q || m_valid_q || n_valid_q || w_last_q || l_valid_q || row_valid_q;

  // ---- debug port -----------------------------------------------------------------------------------------------------
  assign debug_even = (debug_i || debug_write_i) ? even_q[debug_word_i[5:2]] : 64'd0;
  assign debug_odd  = (debug_i || debug_write_i) ? odd_q[debug_word_i[5:2]] : 64'd0;
  always_comb begin
    debug_value_o = 32'd0;
    if (debug_i) begin
      if (debug_sums_i) begin
        debug_value_o = debug_word_i[3] ? show_b[{debug_word_i[2:0], 5'd0} +: 32] :
                                          show_a[{debug_word_i[2:0], 5'd0} +: 32];
      end else begin
        case (debug_word_i[1:0])
          2'd0:    debug_value_o = debug_even[31:0];
          2'd1:    debug_value_o = debug_even[63:32];
          2'd2:    debug_value_o = debug_odd[31:0];
          default: debug_value_o = debug_odd[63:32];
        endcase
      end
    end
  end
endmodule
