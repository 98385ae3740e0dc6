// Stage R of the tile: decode, pair rule, register read. The operands of stage X are its output registers.
//
// The x and f registers of all contexts stand here, written by stage W.
module tile_read (
  input  logic               clk_i,
  input  logic               state_clk_i,        // gated: rises when x.run gives registers
  // Time and pins, registered.
  input  logic               start_valid_i,
  input  logic [2:0]         start_ctx_i,
  input  logic [7:0]         dbg_row_i,
  input  logic               dbg_x_we_i,
  input  logic               dbg_f_we_i,
  input  logic [31:0]        dbg_wdata_i,
  // Snapshots of the issue cycle and what issues now (tile_fetch).
  input  logic               r_valid_i,
  input  logic [2:0]         r_ctx_i,
  input  logic [31:0]        r_pc_i,
  input  logic [63:0]        r_ir_i,
  // What executes in X, what is held or late (tile_supervisor).
  input  logic [31:0]        e_rs2_i,
  input  logic [31:0]        e_rs3_i,
  // Stage X (tile_execute).
  input  logic [2:0]         r_frm_i,
  input  logic [5:0]         e_run_i,
  input  logic [31:0]        xwstack_i,
  input  logic [31:0]        xwstksz_i,
  input  logic [31:0]        xwra_i,
  // Stage W (tile_write).
  input  logic               w_xwe_i,
  input  logic               w_fmain_we_i,
  input  logic               w_fmain_pair_i,
  input  logic               w_fsecond_we_i,
  input  logic [2:0]         w_faux_count_i,
  input  logic [2:0]         w_ctx_i,
  input  logic [4:0]         w_xrd_i,
  input  logic [4:0]         w_fmain_rd_i,
  input  logic [4:0]         w_fsecond_rd_i,
  input  logic [4:0]         w_faux_rd_i,
  input  logic [31:0]        w_xval_i,
  input  logic [63:0]        w_fmain_val_i,
  input  logic [63:0]        w_fsecond_val_i,
  input  logic [127:0]       w_faux_val_i,
  // For the lanes, in R; registers of stage X; debug.
  output tile_pkg::fp_dec_t  r_fpd_o,
  output logic               r_has_fp_o,
  output logic [2:0]         r_rm_o,
  output logic [2:0]         r_phase_o,          // of an AMP step
  output logic [127:0]       r_f1_o,             // operands rs1, rs2, rs3: first register lowest
  output logic [63:0]        r_f2_o,
  output logic [63:0]        r_f3_o,
  output logic [31:0]        x_word_o,
  output logic [31:0]        x_aux_word_o,
  output logic [31:0]        x_rs1_o,
  output logic [31:0]        x_rs2_o,
  output logic [31:0]        x_rs3_o,
  output logic [31:0]        x_a_o,
  output logic [31:0]        x_b_o,
  output logic [31:0]        x_fa_o,
  output logic [31:0]        x_fb_o,
  output logic [31:0]        x_fc_o,
  output logic [63:0]        x_sdata_o,
  output tile_pkg::int_dec_t x_dec_o,
  output tile_pkg::fp_dec_t  x_fpd_o,
  output logic               x_pair_o,
  output logic               x_solo_fp_o,
  output logic               x_rm_bad_o,
  output logic [2:0]         x_rm_o,
  output logic [31:0]        dbg_x_o,
  output logic [31:0]        dbg_f_o
);
  logic [31:0]        x_word_q, x_aux_word_q, x_rs1_q, x_rs2_q, x_rs3_q, x_a_q, x_b_q, x_fa_q, x_fb_q, x_fc_q,
                      r_word, r_word1, r_fp_word, r_rs1, r_rs2, r_rs3;
  logic [63:0]        r_fstore, x_sdata_q;
  tile_pkg::int_dec_t x_dec_q, r_dec;
  tile_pkg::fp_dec_t  x_fpd_q;
  logic               x_pair_q, x_solo_fp_q, x_rm_bad_q, r_worker, r_candidate, r_clash, r_pair, r_solo_fp, r_rm_bad;
  logic [2:0]         x_rm_q;

  assign r_word  = r_pc_i[2] ? r_ir_i[63:32] : r_ir_i[31:0];
  assign r_word1 = r_ir_i[63:32];

  tile_decode u_decode (.word_i(r_word), .worker_i(r_worker), .dec_o(r_dec));
  tile_decode_fp u_decode_fp (.word_i(r_fp_word), .dec_o(r_fpd_o));

  // An aligned MAIN and the AUX after it pair if the MAIN writes no f register that the AUX reads or writes (an operand that
  // an AUX accumulates into is among those).
  assign r_worker    = (r_ctx_i != 3'd0);
  assign r_candidate = r_worker && r_dec.legal && r_dec.main && !r_pc_i[2];
  assign r_fp_word   = r_candidate ? r_word1 : r_word;
  always_comb begin
    r_clash = 1'b0;
    if (r_dec.fmem && r_dec.load) begin
      r_clash = tile_pkg::overlap(r_word[11:7], r_dec.count_rd, r_word1[11:7], r_fpd_o.count_rd) ||
                tile_pkg::overlap(r_word[11:7], r_dec.count_rd, r_word1[19:15], r_fpd_o.count1) ||
                tile_pkg::overlap(r_word[11:7], r_dec.count_rd, r_word1[24:20], r_fpd_o.count2) ||
                tile_pkg::overlap(r_word[11:7], r_dec.count_rd, r_word1[31:27], r_fpd_o.count3);
      // The second load of a stream instruction writes the pair that its field rs1 names.
      if (r_dec.stream && r_dec.uses[1])
        r_clash = r_clash || tile_pkg::overlap(r_word[19:15], 3'd2, r_word1[11:7], r_fpd_o.count_rd) ||
                  tile_pkg::overlap(r_word[19:15], 3'd2, r_word1[19:15], r_fpd_o.count1) ||
                  tile_pkg::overlap(r_word[19:15], 3'd2, r_word1[24:20], r_fpd_o.count2) ||
                  tile_pkg::overlap(r_word[19:15], 3'd2, r_word1[31:27], r_fpd_o.count3);
    end
  end
  assign r_pair      = r_candidate && r_fpd_o.legal && r_fpd_o.aux && !r_clash;
  assign r_solo_fp   = r_worker && !r_dec.legal && r_fpd_o.legal;
  assign r_has_fp_o  = r_pair || r_solo_fp;
  assign r_rm_o      = (r_fp_word[14:12] == 3'd7) ? r_frm_i : r_fp_word[14:12];
  assign r_phase_o   = {(r_fpd_o.xop == tessera_pkg::OP_X_AMP_F32) && r_fp_word[12], r_fp_word[26:25]};
  assign r_rm_bad    = r_fpd_o.rounds && (r_rm_o > 3'd4);

  tile_xregs u_xregs (
    .clk_i,
    .run_clk_i    (state_clk_i),
    .ctx_i        (r_ctx_i),
    .rs1_i        (r_word[19:15]),
    .rs2_i        (r_word[24:20]),
    .rs3_i        (r_word[31:27]),
    .rd1_o        (r_rs1),
    .rd2_o        (r_rs2),
    .rd3_o        (r_rs3),
    .we_i         (w_xwe_i),
    .wctx_i       (w_ctx_i),
    .wreg_i       (w_xrd_i),
    .wdata_i      (w_xval_i),
    .run_i        (e_run_i | ((start_valid_i && (start_ctx_i != 3'd0)) ? (6'd1 << (start_ctx_i - 3'd1)) : 6'd0)),
    .run_a0_i     (start_valid_i ? 32'd0 : e_rs2_i),
    .run_a1_i     (start_valid_i ? 32'd0 : e_rs3_i),
    .run_ra_i     (xwra_i),
    .run_stack_i  (xwstack_i),
    .run_stride_i (xwstksz_i),
    .dbg_we_i     (dbg_x_we_i),
    .dbg_wdata_i,
    .dbg_row_i,
    .dbg_data_o   (dbg_x_o)
  );

  tile_fregs u_fregs (
    .clk_i,
    .ctx_i        (r_ctx_i),
    .rs1_i        (r_fp_word[19:15]),
    .rs2_i        (r_fp_word[24:20]),
    .rs3_i        (r_fp_word[31:27]),
    .quad_i       (r_fpd_o.count1[2]),
    .store_i      (r_dec.data_rd ? r_word[11:7] : r_word[24:20]),
    .rd1_o        (r_f1_o),
    .rd2_o        (r_f2_o),
    .rd3_o        (r_f3_o),
    .store_o      (r_fstore),
    .we_main_i    (w_fmain_we_i),
    .pair_main_i  (w_fmain_pair_i),
    .wreg_main_i  (w_fmain_rd_i),
    .wdata_main_i (w_fmain_val_i),
    .we_second_i  (w_fsecond_we_i),
    .wreg_second_i  (w_fsecond_rd_i),
    .wdata_second_i (w_fsecond_val_i),
    .count_aux_i  (w_faux_count_i),
    .wreg_aux_i   (w_faux_rd_i),
    .wdata_aux_i  (w_faux_val_i),
    .wctx_i       (w_ctx_i),
    .dbg_we_i     (dbg_f_we_i),
    .dbg_wdata_i,
    .dbg_row_i,
    .dbg_data_o   (dbg_f_o)
  );

  always_ff @(posedge clk_i) begin
    if (r_valid_i) begin
      x_word_q     <= r_word;
      x_aux_word_q <= r_word1;
      x_dec_q      <= r_dec;
      // x.rpt stands at pc = 4 mod 8 or as MAIN of a pair.
      if (r_dec.rpt && !r_pc_i[2] && !r_pair) x_dec_q.legal <= 1'b0;
      x_fpd_q      <= r_fpd_o;
      x_pair_q     <= r_pair;
      x_solo_fp_q  <= r_solo_fp;
      x_rm_bad_q   <= r_rm_bad;
      x_rm_q       <= r_rm_o;
      x_rs1_q      <= r_rs1;
      x_rs2_q      <= r_rs2;
      x_rs3_q      <= r_rs3;
      x_a_q        <= r_dec.a_pc ? r_pc_i : r_dec.a_zero ? 32'd0 : r_rs1;
      x_b_q        <= r_dec.b_imm ? r_dec.imm : r_rs2;
      x_sdata_q    <= r_dec.fmem ? r_fstore : {32'd0, r_rs2};
      if (r_has_fp_o && (r_fpd_o.unit == tile_pkg::UnitFpu)) begin
        x_fa_q <= r_fpd_o.x_rs1 ? r_rs1 : r_f1_o[31:0];
        x_fb_q <= r_f2_o[31:0];
        x_fc_q <= r_f3_o[31:0];
      end
    end
  end

  assign x_word_o     = x_word_q;
  assign x_aux_word_o = x_aux_word_q;
  assign x_rs1_o      = x_rs1_q;
  assign x_rs2_o      = x_rs2_q;
  assign x_rs3_o      = x_rs3_q;
  assign x_a_o        = x_a_q;
  assign x_b_o        = x_b_q;
  assign x_fa_o       = x_fa_q;
  assign x_fb_o       = x_fb_q;
  assign x_fc_o       = x_fc_q;
  assign x_sdata_o    = x_sdata_q;
  assign x_dec_o      = x_dec_q;
  assign x_fpd_o      = x_fpd_q;
  assign x_pair_o     = x_pair_q;
  assign x_solo_fp_o  = x_solo_fp_q;
  assign x_rm_bad_o   = x_rm_bad_q;
  assign x_rm_o       = x_rm_q;
endmodule
