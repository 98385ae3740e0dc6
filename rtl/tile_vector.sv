// Xtile arithmetic on f registers: the SIMD, transcendental and AMP units, the random numbers of the workers, and the load
// of the AMP's weights. Each unit has a clock of its own that rises only while it works.
//
// Operands leave the f registers at the end of stage R and are registered in the unit that takes them; what it does with
// them counts only if the instruction takes effect in X. Results stand in W; those of longer transcendental operations wait
// in lanes, as the dividers' do (tile_lanes). x.amp.ldw reads sixteen bytes a cycle over both load ports, in the sixteen
// cycles after its X: nobody else uses the ports then, since all workers are idle and the supervisor issues 18 cycles later.
module tile_vector (
  input  logic               clk_i,
  input  logic               rst_ni,
  // Time and pins, registered.
  input  logic [2:0]         slot_i,
  input  logic [2:0]         r_slot_i,
  input  logic [31:0]        hart_base_i,
  input  logic               start_valid_i,
  input  logic [2:0]         start_ctx_i,
  // Pins of tile_core.
  input  logic               simd_clk_i,
  input  logic               trans_clk_i,
  input  logic               amp_clk_i,
  input  logic [63:0]        load_a_data_i,
  input  logic [63:0]        load_b_data_i,
  // Decoded instruction and operands in R, and what of it X knows (tile_read).
  input  logic               r_valid_i,
  input  logic [2:0]         r_ctx_i,
  input  logic               r_has_fp_i,
  input  tile_pkg::fp_dec_t  r_fpd_i,
  input  logic [2:0]         r_phase_i,
  input  logic [127:0]       r_f1_i,
  input  logic [63:0]        r_f2_i,
  input  logic [63:0]        r_f3_i,
  input  logic [2:0]         x_ctx_i,
  input  tile_pkg::fp_dec_t  x_fpd_i,
  // Stage X (tile_execute).
  input  logic               e_aux_i,            // arithmetic on f registers takes effect
  input  logic [5:0]         e_run_i,
  input  logic               e_ldw_i,            // x.amp.ldw takes effect
  input  logic [31:0]        e_rs1_i,            // its address
  // CSRs xrng0..3 in X (tile_csr), read or written by x_ctx_i.
  input  logic               rng_read_i,
  input  logic               rng_write_i,
  input  logic [1:0]         rng_index_i,
  input  logic [31:0]        rng_value_i,
  output logic [31:0]        rng_value_o,
  // Stage W (tile_write): the AUX that retires.
  input  logic [2:0]         w_ctx_i,
  input  logic               w_drew_i,
  output logic [127:0]       w_rng_o,            // state of its PRNG if it drew, else 0
  output logic [127:0]       w_simd_o,
  output logic [31:0]        w_trans_o,          // of the lane of this slot
  output logic [63:0]        w_amp_o,
  output logic               w_amp_last_o,       // it was a step of the last phase: the worker's sums, else 0
  output logic [511:0]       w_amp_state_o,
  // Clocks wanted; load of weights: SRAM ports, record.
  output logic               simd_on_o,
  output logic               trans_on_o,
  output logic               amp_on_o,
  output logic               ldw_read_o,
  output logic [31:0]        ldw_addr_o,         // of 16 bytes
  output logic               ldw_busy_o,
  output logic               ldw_valid_o,
  output logic [3:0]         ldw_row_o,
  output logic [127:0]       ldw_data_o,
  // Debug port: one word of the sums of a worker (0..7 A, 8..15 B) or, of the supervisor, of the weights; or one word of
  // the PRNG of a worker, which may be written too.
  input  logic               dbg_en_i,
  input  logic               dbg_rng_we_i,
  input  logic [2:0]         dbg_ctx_i,
  input  logic [5:0]         dbg_sel_i,
  input  logic [31:0]        dbg_wdata_i,
  output logic [31:0]        dbg_amp_o,
  output logic [31:0]        dbg_rng_o
);
  logic         r_simd, r_trans, r_amp, simd_busy, trans_busy, amp_busy, load_q, stored_q, row_q, active_q;
  logic         dbg_any;
  logic [127:0] state;
  logic [63:0]  draw;
  logic [5:0]   clear;
  logic [27:0]  ldw_base_q;
  logic [3:0]   count_q, load_row_q, stored_row_q, row_number_q;
  logic [2:0]   r_worker, x_worker;

  assign r_simd  = r_valid_i && r_has_fp_i && (r_fpd_i.unit == tile_pkg::UnitSimd);
  assign r_trans = r_valid_i && r_has_fp_i && (r_fpd_i.unit == tile_pkg::UnitTrans);
  assign r_amp   = r_valid_i && r_has_fp_i && (r_fpd_i.unit == tile_pkg::UnitAmp);

  assign r_worker = r_ctx_i - 3'd1;
  assign x_worker = x_ctx_i - 3'd1;

  xtile_rng u_rng (
    .clk_i, .rst_ni, .hart_base_i,
    .draw_i         (r_simd && r_fpd_i.draws),
    .draw_worker_i  (r_worker),
    .draw_o         (draw),
    .worker_i       (x_worker),
    .step_i         (e_aux_i && x_fpd_i.draws),
    .read_i         (rng_read_i),
    .write_i        (rng_write_i),
    .index_i        (rng_index_i),
    .value_i        (rng_value_i),
    .value_o        (rng_value_o),
    .state_i        (w_drew_i || dbg_any),
    .state_worker_i ((dbg_any ? dbg_ctx_i : w_ctx_i) - 3'd1),
    .state_o        (state),
    .debug_write_i  (dbg_rng_we_i),
    .debug_index_i  (dbg_sel_i[1:0]),
    .debug_value_i  (dbg_wdata_i)
  );
  // Debug reads stand between the cycles, where nobody looks at the record.
  assign dbg_any   = dbg_en_i || dbg_rng_we_i;
  assign w_rng_o   = state;
  assign dbg_rng_o = dbg_en_i ? state[32*dbg_sel_i[1:0] +: 32] : 32'd0;

  xtile_simd u_simd (
    .clk_i    (simd_clk_i),
    .rst_ni,
    .valid_i  (r_simd),
    .op_i     (r_fpd_i.xop),
    .a_i      (r_f1_i),
    .b_i      (r_f2_i),
    .c_i      (r_f3_i),
    .draw_i   (draw),
    .result_o (w_simd_o),
    .busy_o   (simd_busy)
  );
  assign simd_on_o = r_simd || simd_busy;

  xtile_transcendental u_transcendental (
    .clk_i        (trans_clk_i),
    .rst_ni,
    .valid_i      (r_trans),
    .op_i         (r_fpd_i.xop),
    .start_lane_i (r_slot_i),
    .a_i          (r_f1_i[31:0]),
    .lane_i       (slot_i),
    .result_o     (w_trans_o),
    .busy_o       (trans_busy)
  );
  assign trans_on_o = r_trans || trans_busy;

  // A worker that is started has no step in flight.
  assign clear = e_run_i | ((start_valid_i && (start_ctx_i != 3'd0)) ? (6'd1 << (start_ctx_i - 3'd1)) : 6'd0);

  xtile_amp u_amp (
    .clk_i         (amp_clk_i),
    .rst_ni,
    .valid_i       (r_amp),
    .op_i          (r_fpd_i.xop),
    .phase_i       (r_phase_i),
    .ctx_i         (r_worker),
    .a_i           (r_f1_i[63:0]),
    .b_i           (r_f2_i),
    .c_i           (r_f3_i),
    .commit_i      (e_aux_i && (x_fpd_i.unit == tile_pkg::UnitAmp)),
    .clear_i       (clear),
    .load_i        (load_q),
    .load_row_i    (load_row_q),
    .load_data_i   ({load_b_data_i, load_a_data_i}),
    .out_o         (w_amp_o),
    .state_valid_o (w_amp_last_o),
    .state_o       (w_amp_state_o),
    .row_valid_o   (ldw_valid_o),
    .row_o         (ldw_data_o),
    .busy_o        (amp_busy),
    .debug_i       (dbg_en_i),
    .debug_sums_i  (dbg_ctx_i != 3'd0),
    .debug_ctx_i   (dbg_ctx_i - 3'd1),
    .debug_word_i  (dbg_sel_i),
    .debug_value_o (dbg_amp_o)
  );
  assign amp_on_o = r_amp || amp_busy || (clear != 6'd0) || load_q;

  // x.amp.ldw: request, data a cycle later, row in the record two cycles after that.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      load_q   <= 1'b0;
      stored_q <= 1'b0;
      row_q    <= 1'b0;
    end else begin
      active_q <= e_ldw_i || (active_q && (count_q != 4'd15));
      load_q   <= active_q;
      stored_q <= load_q;
      row_q    <= stored_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (e_ldw_i) begin
      ldw_base_q <= e_rs1_i[31:4];
      count_q    <= 4'd0;
    end else if (active_q) begin
      count_q <= count_q + 4'd1;
    end
    if (active_q) load_row_q <= count_q;
    if (load_q) stored_row_q <= load_row_q;
    if (stored_q) row_number_q <= stored_row_q;
  end
  assign ldw_read_o = active_q;
  assign ldw_addr_o = {ldw_base_q + {24'd0, count_q}, 4'd0};
  assign ldw_busy_o = active_q || load_q || stored_q || row_q;
  assign ldw_row_o  = row_number_q;
endmodule
