// One engine of the AMP: its weights, the sums A[e] and B[e] of six workers, and the arithmetic of a step: four f16
// products added to A, or one f32 product (docs/machine/tile.md). What a step is and when it swaps: xtile_amp.sv.
//
// Operands stand in X (from registers). Sums are read and written in N, except that the f32 form reads A in X; a worker's
// steps are at least six cycles apart. Each worker has two sets of sums; which one is A comes with the step.
module xtile_amp_engine (
  input  logic             clk_i,
  input  logic             rst_ni,
  // X: the step.
  input  logic             x_half_i,     // f16 form
  input  logic             x_single_i,   // f32 form
  input  logic [2:0]       x_phase_i,
  input  logic [2:0]       x_ctx_i,
  input  logic             x_set_i,      // set 1 is A
  input  xtile_pkg::half_t x_a0_i,
  input  xtile_pkg::half_t x_a1_i,
  input  xtile_pkg::half_t x_a2_i,
  input  xtile_pkg::half_t x_a3_i,
  input  logic [31:0]      x_a_i,        // f32 activation
  input  logic             x_valid_i,    // any step
  input  logic             x_in_i,       // it reads and writes this B
  // The step in M and N.
  input  logic             m_valid_i,
  input  logic             n_valid_i,
  input  logic             n_half_i,
  input  logic             n_single_i,
  input  logic             n_commit_i,   // it takes effect
  input  logic [2:0]       n_ctx_i,
  input  logic             n_set_i,
  input  logic [31:0]      n_b_i,        // what goes into B
  output logic [31:0]      n_b_o,        // B before; 0 if the step does not read it
  // Other writes.
  input  logic [5:0]       clear_i,      // these workers' sums become +0
  // W: both sums after a step of the last phase.
  input  logic             w_last_i,     // 0: outputs are 0
  input  logic [2:0]       w_ctx_i,
  input  logic             w_set_i,
  output logic [31:0]      w_a_o,
  output logic [31:0]      w_b_o,
  // Weights: a row is four words; not while a step is in X.
  input  logic             load_i,
  input  logic             load_row_i,
  input  logic [127:0]     load_data_i,
  input  logic             row_show_i,   // 0: row_o is 0
  input  logic             row_i,
  output logic [127:0]     row_o,
  // Debug port: a word of the weights, or of one set of sums.
  input  logic             debug_i,      // 0: the output is 0
  input  logic             debug_sums_i,
  input  logic [2:0]       debug_ctx_i,
  input  logic             debug_set_i,
  input  logic [2:0]       debug_word_i,
  output logic [31:0]      debug_o
);
  /* verilator no_inline_module */

  // ---- weights: f16 weight j in half j & 1 of word j / 2, f32 weight j in word j ----------------------------------------
  logic [63:0] low_q [0:1];   // words 0, 1 of each row
  logic [63:0] high_q [0:1];  // words 2, 3
  integer      i;

  initial begin
    for (i = 0; i < 2; i = i + 1) begin
      low_q[i] = 64'd0;
      high_q[i] = 64'd0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (load_i) begin
      low_q[load_row_i] <= load_data_i[63:0];
      high_q[load_row_i] <= load_data_i[127:64];
    end
  end
  always_comb begin
    row_o = 128'd0;
    if (row_show_i) row_o = {high_q[row_i], low_q[row_i]};
  end

  // ---- sums: a word not written since the worker's start is +0, whatever stands there -----------------------------------
  logic [5:0]  live0_q, live1_q;
  logic [31:0] set0_q [0:5];
  logic [31:0] set1_q [0:5];

  // ---- X to N: arithmetic -------------------------------------------------------------------------------------------------
  logic [63:0] x_weight;
  logic [31:0] x_single_weight, x_sum, n_products, n_sum, n_half_sum, n_single_sum;

  always_comb begin
    x_weight = 64'd0;
    x_single_weight = 32'd0;
    x_sum = 32'd0;
    if (x_half_i) x_weight = x_phase_i[0] ? high_q[x_phase_i[1]] : low_q[x_phase_i[1]];
    if (x_single_i) begin
      x_weight = x_phase_i[1] ? high_q[x_phase_i[2]] : low_q[x_phase_i[2]];
      x_single_weight = x_phase_i[0] ? x_weight[63:32] : x_weight[31:0];
      if (x_set_i ? live1_q[x_ctx_i] : live0_q[x_ctx_i]) x_sum = x_set_i ? set1_q[x_ctx_i] : set0_q[x_ctx_i];
    end
  end
`ifdef TESSERA_FAULTS
  logic faulty;  // planted fault, chosen at run time: the four products are added in another order
  initial faulty = ($test$plusargs("fault_amp_order") != 0);
`elsif TESSERA_FAULT_AMP_ORDER
  localparam logic faulty = 1'b1;
`else
  localparam logic faulty = 1'b0;
`endif
  xtile_dot4 u_dot (
    .clk_i, .rst_ni, .valid_i(x_half_i),
    .a0_i(x_a0_i), .a1_i(faulty ? x_a2_i : x_a1_i), .a2_i(faulty ? x_a1_i : x_a2_i), .a3_i(x_a3_i),
    .b_i(faulty ? {x_weight[63:48], x_weight[31:16], x_weight[47:32], x_weight[15:0]} : x_weight), .sum_o(n_products)
  );
  xtile_lane u_fused (
    .clk_i, .rst_ni, .valid_i(x_single_i), .op_i(xtile_pkg::LaneMac), .a_i(x_a_i), .b_i(x_single_weight), .c_i(x_sum),
    .result_o(n_single_sum)
  );

  // ---- N: sums ------------------------------------------------------------------------------------------------------------
  logic        m_in_q, n_in_q, write_a, write_b;
  logic [31:0] n_a;

  always_ff @(posedge clk_i) begin
    if (x_valid_i) m_in_q <= x_in_i;
    if (m_valid_i) n_in_q <= m_in_q;
  end
  always_comb begin
    n_sum = 32'd0;
    n_b_o = 32'd0;
    if (n_half_i) begin
      if (n_set_i ? live1_q[n_ctx_i] : live0_q[n_ctx_i]) n_sum = n_set_i ? set1_q[n_ctx_i] : set0_q[n_ctx_i];
    end
    if (n_valid_i && n_in_q) begin
      if (n_set_i ? live0_q[n_ctx_i] : live1_q[n_ctx_i]) n_b_o = n_set_i ? set0_q[n_ctx_i] : set1_q[n_ctx_i];
    end
  end
  xtile_add u_accumulate (.valid_i(n_half_i), .a_i(n_sum), .b_i(n_products), .sum_o(n_half_sum));
  assign n_a     = n_single_i ? n_single_sum : n_half_sum;
  assign write_a = n_commit_i && (n_half_i || n_single_i);
  assign write_b = n_commit_i && n_in_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      live0_q <= 6'd0;
      live1_q <= 6'd0;
    end else begin
      live0_q <= (live0_q | ((n_set_i ? write_b : write_a) ? 6'd1 << n_ctx_i : 6'd0)) & ~clear_i;
      live1_q <= (live1_q | ((n_set_i ? write_a : write_b) ? 6'd1 << n_ctx_i : 6'd0)) & ~clear_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (n_set_i ? write_b : write_a) set0_q[n_ctx_i] <= n_set_i ? n_b_i : n_a;
    if (n_set_i ? write_a : write_b) set1_q[n_ctx_i] <= n_set_i ? n_a : n_b_i;
  end

  // ---- W and debug port: sums ---------------------------------------------------------------------------------------------
  logic [31:0] w_0, w_1;
  logic [63:0] debug_pair;

  always_comb begin
    w_0 = 32'd0;
    w_1 = 32'd0;
    w_a_o = 32'd0;
    w_b_o = 32'd0;
    if (w_last_i) begin
      if (live0_q[w_ctx_i]) w_0 = set0_q[w_ctx_i];
      if (live1_q[w_ctx_i]) w_1 = set1_q[w_ctx_i];
      w_a_o = w_set_i ? w_1 : w_0;
      w_b_o = w_set_i ? w_0 : w_1;
    end
  end
  always_comb begin
    debug_o = 32'd0;
    debug_pair = 64'd0;
    if (debug_i) begin
      if (!debug_sums_i) begin
        debug_pair = debug_word_i[1] ? high_q[debug_word_i[2]] : low_q[debug_word_i[2]];
        debug_o = debug_word_i[0] ? debug_pair[63:32] : debug_pair[31:0];
      end else if (debug_set_i) begin
        if (live1_q[debug_ctx_i]) debug_o = set1_q[debug_ctx_i];
      end else begin
        if (live0_q[debug_ctx_i]) debug_o = set0_q[debug_ctx_i];
      end
    end
  end
endmodule
