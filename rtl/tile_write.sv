// Stage W of the tile: register write and retire ports. Records are made in stage X and wait in tile_retire until then.
module tile_write (
  input  logic               clk_i,
  input  logic               rst_ni,
  // Time and pins, registered.
  input  logic [63:0]        cycle_i,
  input  logic [2:0]         slot_i,
  input  logic [2:0]         x_slot_i,           // slot of the instruction in X
  // Snapshots of the issue cycle and what issues now (tile_fetch).
  input  logic               x_valid_i,
  input  logic               x_inject_i,         // injected trap
  input  logic               w_comp_i,           // a lane's result is due
  input  logic [31:0]        x_pc_i,
  input  logic               inject_stray_i,     // not an engine's fault but a packet outside the window
  // Decoded instruction and operands (tile_read).
  input  logic [31:0]        x_word_i,
  input  logic [31:0]        x_aux_word_i,
  input  logic [63:0]        x_sdata_i,
  input  tile_pkg::int_dec_t x_dec_i,
  input  tile_pkg::fp_dec_t  x_fpd_i,
  input  logic               x_pair_i,
  input  logic               x_solo_fp_i,
  // What executes in X, what is held or late (tile_supervisor).
  input  logic               late_i,             // a late instruction ends now
  input  logic               late_vote_i,        // what it gives rd
  input  logic [31:0]        e_rs1_i,
  input  logic [31:0]        e_rs2_i,
  input  logic [31:0]        e_rs3_i,
  input  logic [31:0]        late_pc_i,
  input  logic [31:0]        late_word_i,
  input  logic [63:0]        late_cycle_i,
  input  logic               w_late_we_i,        // x.sync ends
  input  logic               hold_go_i,          // what waited executes now
  input  logic [31:0]        e_pc_i,
  input  logic [31:0]        e_word_i,
  // Stage X (tile_execute).
  input  logic               e_valid_i,          // an instruction ends in X, trapped or not
  input  logic               e_except_i,
  input  logic [2:0]         e_ctx_i,
  input  logic [31:0]        e_next_pc_i,
  input  logic [5:0]         e_run_i,
  input  logic               e_sync_i,
  input  logic               e_exch_i,
  input  logic               e_pkt_i,
  input  logic               e_break_i,          // ebreak that halts
  input  logic               e_ldw_i,            // x.amp.ldw
  input  logic [31:0]        xwstack_i,
  input  logic [31:0]        xwstksz_i,
  input  logic [31:0]        xwra_i,
  input  logic               x_fetch_bad_i,      // there is no instruction
  input  logic [31:0]        addr_i,             // of the load
  input  logic [31:0]        addr2_i,            // of the second doubleword
  input  logic [31:0]        store_addr_i,
  input  logic               trap_i,             // of MAIN or SOLO
  input  logic               aux_trap_i,
  input  logic               e_aux_i,            // F arithmetic takes effect
  input  logic               lone_aux_i,         // AUX without a MAIN
  input  logic [4:0]         cause_i,
  input  logic [31:0]        tval_i,
  input  logic [31:0]        csr_after_i,
  input  logic               csr_written_i,
  input  logic [1:0]         size_i,
  input  logic               x_ok_i,             // what was read in R takes effect
  input  logic               x_load_i,
  input  logic               x_load2_i,
  input  logic               x_store_i,
  // Values in W (tile_memory), stream pointers in w_streams_o (tile_streams).
  input  logic [31:0]        w_val_i,
  input  logic [63:0]        w_wide_i,
  input  logic [63:0]        w_wide2_i,
  input  logic [31:0]        w_s0_i,
  input  logic [31:0]        w_s1_i,
  input  logic [31:0]        w_s2_i,
  // Vector units (tile_vector).
  input  logic [127:0]       w_simd_i,
  input  logic [31:0]        w_trans_i,
  input  logic [63:0]        w_amp_i,
  // FPU and divider lanes (tile_lanes).
  input  logic [31:0]        fpu_result_i,
  input  logic [4:0]         fpu_flags_i,
  input  logic               w_fp_i,             // a value of the FPU is there
  input  logic               lane_fp_i,          // a lane's result goes to an f register
  input  logic [31:0]        lane_value_i,
  input  logic [4:0]         lane_flags_i,
  input  logic [4:0]         lane_rd_i,
  input  logic [2:0]         lane_ctx_i,
  // Retire ports of tile_core; register write.
  output logic               ret_valid_o,
  output logic               ret_trap_o,
  output logic               ret_paired_o,
  output logic               ret_pending_o,
  output logic               ret_excepted_o,
  output logic [63:0]        ret_cycle_o,
  output logic [2:0]         ret_ctx_o,
  output logic [31:0]        ret_pc_o,
  output logic [31:0]        ret_word_o,
  output logic [31:0]        ret_next_pc_o,
  output logic [4:0]         ret_cause_o,
  output logic [31:0]        ret_tval_o,
  output logic [4:0]         ret_xrd_o,
  output logic [31:0]        ret_value_o,
  output logic               ret_fwe_o,
  output logic [4:0]         ret_frd_o,
  output logic [4:0]         ret_fflags_o,
  output logic               ret_fpair_o,
  output logic [63:0]        ret_fbits_o,
  output logic               ret_fwe2_o,
  output logic [4:0]         ret_frd2_o,
  output logic [63:0]        ret_fbits2_o,
  output logic               ret_load_o,
  output logic               ret_load2_o,
  output logic               ret_store_o,
  output logic [31:0]        ret_addr_o,
  output logic [31:0]        ret_addr2_o,
  output logic [31:0]        ret_store_addr_o,
  output logic [7:0]         ret_mask_o,
  output logic [63:0]        ret_wdata_o,
  output logic [2:0]         ret_streams_o,
  output logic [31:0]        ret_stream0_o,
  output logic [31:0]        ret_stream1_o,
  output logic [31:0]        ret_stream2_o,
  output logic [11:0]        ret_csr_o,
  output logic [31:0]        ret_csr_value_o,
  output logic [2:0]         ret_run_o,
  output logic [31:0]        ret_run_pc_o,
  output logic [31:0]        ret_run_a0_o,
  output logic [31:0]        ret_run_a1_o,
  output logic [31:0]        ret_run_stack_o,
  output logic [31:0]        ret_run_stride_o,
  output logic [31:0]        ret_run_ra_o,
  output logic               aux_valid_o,
  output logic               aux_trap_o,
  output logic               aux_paired_o,
  output logic               aux_pending_o,
  output logic               aux_excepted_o,
  output logic [63:0]        aux_cycle_o,
  output logic [2:0]         aux_ctx_o,
  output logic [31:0]        aux_pc_o,
  output logic [31:0]        aux_word_o,
  output logic [31:0]        aux_next_pc_o,
  output logic [4:0]         aux_cause_o,
  output logic [31:0]        aux_tval_o,
  output logic [4:0]         aux_frd_o,
  output logic [2:0]         aux_count_o,
  output logic [127:0]       aux_bits_o,
  output logic               aux_drew_o,
  output logic [4:0]         aux_fflags_o,
  output logic               done_valid_o,
  output logic [2:0]         done_slot_o,
  output logic [31:0]        done_value_o,
  output logic [4:0]         done_fflags_o,
  output logic               w_xwe_o,
  output logic               w_fmain_we_o,
  output logic               w_fmain_pair_o,
  output logic               w_fsecond_we_o,
  output logic [2:0]         w_faux_count_o,
  output logic [2:0]         w_ctx_o,
  output logic [4:0]         w_xrd_o,
  output logic [4:0]         w_fmain_rd_o,
  output logic [4:0]         w_fsecond_rd_o,
  output logic [4:0]         w_faux_rd_o,
  output logic [31:0]        w_xval_o,
  output logic [63:0]        w_fmain_val_o,
  output logic [63:0]        w_fsecond_val_o,
  output logic [127:0]       w_faux_val_o,
  output logic               flags_we_o,
  output logic [4:0]         flags_o,
  output logic               records_busy_o      // a record is under way
);
  tile_pkg::retire_flags_t e_main, e_aux_main, w_main, w_aux;
  logic                    e_main_valid, e_aux_valid, w_main_valid, w_aux_valid, w_solo_fp;
  logic [31:0]             e_record_value, e_record_second, e_word_shown, w_pc, w_word, w_next_pc, w_record_value,
                           w_second, w_third, w_aux_pc, w_aux_word, w_aux_next_pc, w_value;
  logic [95:0]             w_wide_record;

  always_comb begin
    e_main_valid    = e_valid_i && !(e_sync_i || e_exch_i || e_pkt_i || e_break_i) && !(x_ok_i && lone_aux_i);
    e_main          = '0;
    e_record_value  = x_load_i ? addr_i : store_addr_i;
    e_record_second = x_sdata_i[31:0];
    e_word_shown    = hold_go_i ? e_word_i : x_inject_i ? (inject_stray_i ? 32'd0 : late_word_i) :
                      x_fetch_bad_i ? 32'd0 : e_word_i;
    if (e_main_valid) begin
      e_main.ctx    = e_ctx_i;
      e_main.paired = x_valid_i && x_pair_i && !x_inject_i && !x_fetch_bad_i;
      if (trap_i) begin
        e_main.trap     = 1'b1;
        e_main.excepted = e_except_i;
        e_main.cause    = cause_i;
        e_record_value  = tval_i;
      end else begin
        e_main.run = (e_run_i != 6'd0);
        if (e_main.run) begin
          e_record_value  = e_rs1_i;
          e_record_second = e_rs2_i;
        end
        if (x_ok_i) begin
          e_main.size    = size_i;
          e_main.pending = !x_solo_fp_i && x_dec_i.div;
          // A value for x[rd] stands in W or comes from a lane; x.sync writes when it ends.
          e_main.xwe     = (x_solo_fp_i ? x_fpd_i.x_rd : x_dec_i.rd_x) && (x_word_i[11:7] != 5'd0);
          e_main.fcount  = x_solo_fp_i ? x_fpd_i.count_rd : x_dec_i.count_rd;
          e_main.post    = !x_solo_fp_i && x_dec_i.post && (x_word_i[19:15] != 5'd0);
          e_main.load    = x_load_i;
          e_main.load2   = x_load2_i;
          e_main.store   = x_store_i;
          e_main.wide    = !x_solo_fp_i && x_dec_i.wide;
          e_main.streams = x_solo_fp_i ? 3'd0 : x_dec_i.sset ? (3'd1 << x_word_i[26:25]) : x_dec_i.uses;
          e_main.csr     = csr_written_i;
          if (csr_written_i) e_record_value = csr_after_i;
        end
        if (e_ldw_i) begin
          e_main.xwe     = (e_word_i[11:7] != 5'd0);
          e_main.pending = 1'b1;  // the weights
          e_main.ldw     = 1'b1;
        end
      end
    end

    e_aux_valid = aux_trap_i || (e_aux_i && x_fpd_i.aux);
    e_aux_main  = '0;
    if (e_aux_valid) begin
      e_aux_main.trap     = aux_trap_i;
      e_aux_main.excepted = aux_trap_i && e_except_i;
      e_aux_main.paired   = x_pair_i;
      e_aux_main.pending  = (x_fpd_i.slots != 3'd1) && !aux_trap_i;
      e_aux_main.fcount   = x_fpd_i.count_rd;
      e_aux_main.unit     = x_fpd_i.unit;
      e_aux_main.drew     = x_fpd_i.draws && !aux_trap_i;
      e_aux_main.ctx      = e_ctx_i;
    end
  end

  tile_retire u_retire (
    .clk_i, .rst_ni,
    .x_slot_i,
    .w_slot_i      (slot_i),
    .main_valid_i  (e_main_valid),
    .main_i        (e_main),
    .pc_i          (e_pc_i),
    .word_i        (e_word_shown),
    .next_pc_i     ((x_pair_i && x_ok_i) ? (x_pc_i + 32'd4) : e_next_pc_i),
    .value_i       (e_record_value),
    .second_i      (e_record_second),
    .third_i       (e_rs3_i),
    .wide_i        ({x_load2_i ? addr2_i : 32'd0, x_store_i ? store_addr_i : 32'd0, x_store_i ? x_sdata_i[63:32] : 32'd0}),
    .aux_valid_i   (e_aux_valid),
    .aux_i         (e_aux_main),
    .aux_pc_i      (x_pair_i ? (x_pc_i + 32'd4) : x_pc_i),
    .aux_word_i    (x_pair_i ? x_aux_word_i : x_word_i),
    .aux_next_pc_i (e_next_pc_i),
    .busy_o        (records_busy_o),
    .main_valid_o  (w_main_valid),
    .main_o        (w_main),
    .pc_o          (w_pc),
    .word_o        (w_word),
    .next_pc_o     (w_next_pc),
    .value_o       (w_record_value),
    .second_o      (w_second),
    .third_o       (w_third),
    .wide_o        (w_wide_record),
    .aux_valid_o   (w_aux_valid),
    .aux_o         (w_aux),
    .aux_pc_o      (w_aux_pc),
    .aux_word_o    (w_aux_word),
    .aux_next_pc_o (w_aux_next_pc)
  );

  assign w_solo_fp = w_fp_i && w_main_valid && !w_aux_valid;
  assign w_value   = w_solo_fp ? fpu_result_i : w_val_i;
  assign w_ctx_o   = w_comp_i ? lane_ctx_i : w_late_we_i ? 3'd0 : w_main_valid ? w_main.ctx : w_aux.ctx;

  assign w_xrd_o  = w_comp_i ? lane_rd_i : w_late_we_i ? late_word_i[11:7] :
                    w_main.post ? w_word[19:15] : w_word[11:7];
  assign w_xwe_o  = (w_xrd_o != 5'd0) && (w_comp_i ? !lane_fp_i : (w_late_we_i || ((w_main.xwe || w_main.post) && (!w_main.pending || w_main.ldw))));
  assign w_xval_o = w_comp_i ? lane_value_i : w_late_we_i ? {31'd0, late_vote_i} : w_value;

  // A load writes f[rd] or a pair, and beside it the upper half of a quad or the pair of S1.
  assign w_fmain_we_o    = w_main.load && (w_main.fcount != 3'd0);
  assign w_fmain_pair_o  = w_main.wide;
  assign w_fmain_rd_o    = w_word[11:7];
  assign w_fmain_val_o   = w_main.wide ? w_wide_i : {32'd0, w_val_i};
  assign w_fsecond_we_o  = w_main.load2;
  assign w_fsecond_rd_o  = w_main.fcount[2] ? {w_word[11:9], 2'b10} : w_word[19:15];
  assign w_fsecond_val_o = w_wide2_i;
  assign w_faux_count_o  = w_comp_i ? {2'd0, lane_fp_i} :
                           w_aux_valid ? ((w_aux.trap || w_aux.pending) ? 3'd0 : w_aux.fcount) :
                           w_solo_fp ? w_main.fcount : 3'd0;
  assign w_faux_rd_o     = w_comp_i ? lane_rd_i : w_aux_valid ? w_aux_word[11:7] : w_word[11:7];
  assign w_faux_val_o    = {aux_bits_o[127:32],  // only an AUX writes more than one register
                            w_comp_i ? lane_value_i : w_aux_valid ? aux_bits_o[31:0] : fpu_result_i};
  assign flags_we_o    = w_comp_i ? lane_fp_i : w_fp_i;
  assign flags_o       = w_comp_i ? lane_flags_i : fpu_flags_i;

  // w_* are 0 where nothing retires, and nothing does when a late instruction is reported.
  assign ret_valid_o      = w_main_valid || late_i;
  assign ret_trap_o       = w_main.trap;
  assign ret_paired_o     = w_main.paired;
  assign ret_pending_o    = w_main.pending;
  assign ret_excepted_o   = w_main.excepted;
  assign ret_cycle_o      = late_i ? late_cycle_i : (cycle_i - 64'd6);
  assign ret_ctx_o        = w_main.ctx;
  assign ret_pc_o         = late_i ? late_pc_i : w_pc;
  assign ret_word_o       = late_i ? late_word_i : w_word;
  assign ret_next_pc_o    = late_i ? (late_pc_i + 32'd4) : w_next_pc;
  assign ret_cause_o      = w_main.cause;
  assign ret_tval_o       = w_record_value;
  assign ret_xrd_o        = w_main.post ? w_word[19:15] : (w_late_we_i || w_main.xwe) ? ret_word_o[11:7] : 5'd0;
  assign ret_value_o      = late_i ? {31'd0, w_late_we_i && late_vote_i} : w_value;
  assign ret_fwe_o        = (w_main.fcount != 3'd0);
  assign ret_frd_o        = w_word[11:7];
  assign ret_fflags_o     = w_solo_fp ? fpu_flags_i : 5'd0;
  assign ret_fpair_o      = w_main.wide && w_main.load;
  assign ret_fbits_o      = !ret_fwe_o ? 64'd0 : w_main.wide ? w_wide_i : {32'd0, w_value};
  assign ret_fwe2_o       = w_fsecond_we_o;
  assign ret_frd2_o       = w_fsecond_we_o ? w_fsecond_rd_o : 5'd0;
  assign ret_fbits2_o     = w_fsecond_we_o ? w_wide2_i : 64'd0;
  assign ret_load_o       = w_main.load;
  assign ret_load2_o      = w_main.load2;
  assign ret_store_o      = w_main.store;
  assign ret_addr_o       = w_record_value;
  assign ret_addr2_o      = w_wide_record[95:64];
  assign ret_store_addr_o = w_main.wide ? w_wide_record[63:32] : w_main.store ? w_record_value : 32'd0;
  assign ret_streams_o    = w_main.streams;
  assign ret_stream0_o    = w_s0_i;
  assign ret_stream1_o    = w_s1_i;
  assign ret_stream2_o    = w_s2_i;
  assign ret_mask_o       = w_main.wide ? 8'hFF : (w_main.size == 2'd0) ? 8'h01 : (w_main.size == 2'd1) ? 8'h03 : 8'h0F;
  assign ret_wdata_o      = (w_main.size == 2'd0) ? {56'd0, w_second[7:0]} :
                            (w_main.size == 2'd1) ? {48'd0, w_second[15:0]} : {w_wide_record[31:0], w_second};
  assign ret_csr_o        = w_main.csr ? w_word[31:20] : 12'd0;
  assign ret_csr_value_o  = w_record_value;
  assign ret_run_o        = w_main.run ? w_word[9:7] : 3'd0;
  assign ret_run_pc_o     = w_record_value;
  assign ret_run_a0_o     = w_second;
  assign ret_run_a1_o     = w_third;
  assign ret_run_stack_o  = xwstack_i;
  assign ret_run_stride_o = xwstksz_i;
  assign ret_run_ra_o     = xwra_i;
  assign aux_valid_o      = w_aux_valid;
  assign aux_trap_o       = w_aux.trap;
  assign aux_paired_o     = w_aux.paired;
  assign aux_pending_o    = w_aux.pending;
  assign aux_excepted_o   = w_aux.excepted;
  assign aux_cycle_o      = cycle_i - 64'd6;
  assign aux_ctx_o        = w_aux.ctx;
  assign aux_pc_o         = w_aux_pc;
  assign aux_word_o       = w_aux_word;
  assign aux_next_pc_o    = w_aux_next_pc;
  assign aux_cause_o      = tessera_pkg::TRAP_ILLEGAL_INSTRUCTION;
  assign aux_tval_o       = w_aux_word;
  assign aux_frd_o        = w_aux_word[11:7];
  assign aux_fflags_o     = w_fp_i ? fpu_flags_i : 5'd0;
  assign aux_count_o      = w_aux.trap ? 3'd0 : w_aux.fcount;
  assign aux_drew_o       = w_aux.drew;
  always_comb begin
    aux_bits_o = 128'd0;
    if (w_aux_valid && !w_aux.trap && !w_aux.pending) begin
      case (w_aux.unit)
        tile_pkg::UnitFpu: aux_bits_o = {96'd0, fpu_result_i};
        tile_pkg::UnitSimd: aux_bits_o = w_simd_i;
        tile_pkg::UnitTrans: aux_bits_o = {96'd0, w_trans_i};
        default: aux_bits_o = {64'd0, w_aux.fcount[0] ? 32'd0 : w_amp_i[63:32], w_amp_i[31:0]};
      endcase
    end
  end
  assign done_valid_o     = w_comp_i;
  assign done_slot_o      = slot_i;
  assign done_value_o     = lane_value_i;
  assign done_fflags_o    = lane_flags_i;
endmodule
