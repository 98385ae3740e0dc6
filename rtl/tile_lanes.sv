// Arithmetic that takes longer than stage X: the FPU, whose result stands in W, and the divider lanes, whose results
// the completion of a slot's last round fetches in W, as it does those of the transcendental lanes (tile_vector).
module tile_lanes (
  input  logic               clk_i,
  input  logic               rst_ni,
  // Time and pins, registered.
  input  logic [2:0]         slot_i,
  input  logic [2:0]         x_slot_i,           // slot of the instruction in X
  input  logic [2:0]         r_slot_i,
  // Pins of tile_core.
  input  logic               unit_clk_i,
  // Snapshots of the issue cycle and what issues now (tile_fetch).
  input  logic               r_valid_i,
  input  logic [2:0]         x_ctx_i,
  // Decoded instruction and operands (tile_read).
  input  tile_pkg::fp_dec_t  r_fpd_i,
  input  logic               r_has_fp_i,
  input  logic [2:0]         r_rm_i,
  input  logic [127:0]       r_f1_i,
  input  logic [63:0]        r_f2_i,
  input  logic [31:0]        x_word_i,
  input  logic [31:0]        x_aux_word_i,
  input  logic [31:0]        x_rs1_i,
  input  logic [31:0]        x_rs2_i,
  input  logic [31:0]        x_fa_i,
  input  logic [31:0]        x_fb_i,
  input  logic [31:0]        x_fc_i,
  input  tile_pkg::fp_dec_t  x_fpd_i,
  input  logic               x_pair_i,
  input  logic [2:0]         x_rm_i,
  // What executes in X, what is held or late (tile_supervisor).
  input  tile_pkg::int_dec_t e_dec_i,
  // Stage X (tile_execute).
  input  logic [2:0]         e_slots_i,          // slots it takes: 1 to 6
  input  logic               e_aux_i,            // F arithmetic takes effect
  input  logic               e_int_ok_i,         // what is not F arithmetic takes effect
  // Transcendental lanes (tile_vector).
  input  logic [31:0]        w_trans_i,
  // Results in W.
  output logic [31:0]        fpu_result_o,
  output logic [4:0]         fpu_flags_o,
  output logic               w_fp_o,             // a value of the FPU is there
  output logic               lane_fp_o,          // a lane's result goes to an f register
  output logic [31:0]        lane_value_o,
  output logic [4:0]         lane_flags_o,
  output logic [4:0]         lane_rd_o,
  output logic [2:0]         lane_ctx_o,
  output logic               div_lanes_busy_o    // a lane works or starts
);
  logic        e_fpu, w_fp_q, fdiv_busy, div_busy, m_fp_q, n_fp_q;
  logic [31:0] div_result, fdiv_result;
  logic [4:0]  fdiv_flags;
  logic [5:0]  lane_fp_q, lane_trans_q;
  logic [4:0]  lane_rd_q [0:5];
  logic [2:0]  lane_ctx_q [0:5];

  assign e_fpu = e_aux_i && (x_fpd_i.unit == tile_pkg::UnitFpu) && !x_fpd_i.lane;

  fpu u_fpu (
    .clk_i, .rst_ni,
    .valid_i  (e_fpu),
    .op_i     (x_fpd_i.op),
    .rm_i     (x_rm_i),
    .a_i      (x_fa_i),
    .b_i      (x_fb_i),
    .c_i      (x_fc_i),
    .result_o (fpu_result_o),
    .fflags_o (fpu_flags_o)
  );

  // Six lanes of each kind, indexed by slot. Float lanes start in R, integer lanes in X, so that both results stand
  // when the completion of the last slot is in W. A start that a trap voids does no harm: nobody fetches the result.
  tile_div u_div (
    .clk_i        (unit_clk_i),
    .rst_ni,
    .start_i      (e_int_ok_i && e_dec_i.div),
    .start_lane_i (x_slot_i),
    .rem_i        (x_word_i[13]),
    .signed_i     (!x_word_i[12]),
    .a_i          (x_rs1_i),
    .b_i          (x_rs2_i),
    .lane_i       (slot_i),
    .busy_o       (div_busy),
    .result_o     (div_result)
  );
  fpu_divsqrt u_fdiv (
    .clk_i        (unit_clk_i),
    .rst_ni,
    .start_i      (r_valid_i && r_has_fp_i && r_fpd_i.lane),
    .start_lane_i (r_slot_i),
    .sqrt_i       (r_fpd_i.sqrt),
    .rm_i         (r_rm_i),
    .a_i          (r_f1_i[31:0]),
    .b_i          (r_f2_i[31:0]),
    .lane_i       (slot_i),
    .busy_o       (fdiv_busy),
    .result_o     (fdiv_result),
    .fflags_o     (fdiv_flags)
  );

  // Whose operation a slot's lane works on.
  integer i;
  initial begin
    for (i = 0; i < 6; i = i + 1) begin
      lane_rd_q[i]  = 5'd0;
      lane_ctx_q[i] = 3'd0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      lane_fp_q    <= 6'd0;
      lane_trans_q <= 6'd0;
    end else if (e_slots_i != 3'd1) begin
      lane_fp_q[x_slot_i]    <= e_aux_i;
      lane_trans_q[x_slot_i] <= e_aux_i && !x_fpd_i.lane;
    end
  end
  always_ff @(posedge clk_i) begin
    if (e_slots_i != 3'd1) begin
      lane_rd_q[x_slot_i]  <= (x_pair_i ? x_aux_word_i[11:7] : x_word_i[11:7]);
      lane_ctx_q[x_slot_i] <= x_ctx_i;
    end
  end

  // A value of the FPU arrives in W.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      m_fp_q <= 1'b0;
      n_fp_q <= 1'b0;
      w_fp_q <= 1'b0;
    end else begin
      m_fp_q <= e_fpu;
      n_fp_q <= m_fp_q;
      w_fp_q <= n_fp_q;
    end
  end

  // W. Its slot is that of the current cycle, as six cycles have gone by.
  assign lane_fp_o    = lane_fp_q[slot_i];
  assign lane_value_o = lane_trans_q[slot_i] ? w_trans_i : lane_fp_o ? fdiv_result : div_result;
  assign lane_flags_o = (lane_fp_o && !lane_trans_q[slot_i]) ? fdiv_flags : 5'd0;
  assign lane_rd_o    = lane_rd_q[slot_i];
  assign lane_ctx_o   = lane_ctx_q[slot_i];

  assign div_lanes_busy_o = div_busy || fdiv_busy || (e_slots_i != 3'd1) || (r_valid_i && r_has_fp_i && r_fpd_i.lane);

  assign w_fp_o = w_fp_q;
endmodule
