// A tile as it would be built: the processor and its SRAM. The ports of the simulator (retire, debug) are left open, so
// synthesis removes what only they need.
module tile #(
  parameter int Doublewords = 32768,  // SRAM in units of 8 bytes: 256 KiB
  parameter int IndexBits = 15
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [63:0] cycle_i,
  input  logic [2:0]  slot_i,
  input  logic [11:0] tile_i,
  input  logic [7:0]  ipu_i,
  input  logic [12:0] ntiles_i,
  input  logic [31:0] hart_base_i,
  input  logic [1:0]  groups_i,
  input  logic        start_valid_i,
  input  logic [2:0]  start_ctx_i,
  input  logic [31:0] start_pc_i,
  output logic        raise_o,
  output logic [2:0]  raise_zone_o,
  output logic        raise_vote_o,
  output logic [23:0] raise_code_o,
  input  logic        release_valid_i,
  input  logic        release_vote_i,
  output logic        tx_valid_o,
  output logic [31:0] tx_word_o,
  output logic        rx_listen_o,
  output logic [11:0] rx_source_o,
  input  logic        rx_valid_i,
  input  logic [31:0] rx_word_i,
  output logic        packet_tx_valid_o,
  output logic [31:0] packet_tx_word_o,
  output logic        packet_tx_first_o,
  output logic        packet_tx_last_o,
  input  logic        packet_tx_ready_i,
  input  logic        packet_rx_valid_i,
  input  logic [31:0] packet_rx_word_i,
  input  logic        packet_rx_last_i,
  output logic [6:0]  excepted_o
);
  localparam logic [31:0] SramEnd = tessera_pkg::SRAM_BASE + (Doublewords * 8);

  logic unit_clk, unit_on, state_clk, state_on, simd_clk, simd_on, trans_clk, trans_on, amp_clk, amp_on;

  tile_clock_gate u_unit_clock (
    .clk_i,
    .enable_i(unit_on || !rst_ni),
    .clk_o(unit_clk)
  );

  tile_clock_gate u_state_clock (
    .clk_i,
    .enable_i(state_on || !rst_ni),
    .clk_o(state_clk)
  );
  tile_clock_gate u_simd_clock (
    .clk_i,
    .enable_i(simd_on || !rst_ni),
    .clk_o(simd_clk)
  );
  tile_clock_gate u_trans_clock (
    .clk_i,
    .enable_i(trans_on || !rst_ni),
    .clk_o(trans_clk)
  );
  tile_clock_gate u_amp_clock (
    .clk_i,
    .enable_i(amp_on || !rst_ni),
    .clk_o(amp_clk)
  );

  logic fetch_req;
  logic [31:0] fetch_addr;
  logic [63:0] fetch_data;
  logic load_a_req;
  logic [31:0] load_a_addr;
  logic [63:0] load_a_data;
  logic load_b_req;
  logic [31:0] load_b_addr;
  logic [63:0] load_b_data;
  logic store_req;
  logic [31:0] store_addr;
  logic [63:0] store_data;
  logic [7:0] store_mask;
  logic packet_store_req;
  logic [31:0] packet_store_addr;
  logic [31:0] packet_store_data;

  tile_core u_core (
    .clk_i,
    .rst_ni,
    .cycle_i,
    .slot_i,
    .quiescent_o(),
    .unit_clk_i(unit_clk),
    .unit_on_o(unit_on),
    .state_clk_i(state_clk),
    .state_on_o(state_on),
    .simd_clk_i(simd_clk),
    .simd_on_o(simd_on),
    .trans_clk_i(trans_clk),
    .trans_on_o(trans_on),
    .amp_clk_i(amp_clk),
    .amp_on_o(amp_on),
    .tile_i,
    .ipu_i,
    .ntiles_i,
    .hart_base_i,
    .sram_end_i(SramEnd),
    .groups_i,
    .start_valid_i,
    .start_ctx_i,
    .start_pc_i,
    .raise_o,
    .raise_zone_o,
    .raise_vote_o,
    .raise_code_o,
    .release_valid_i,
    .release_vote_i,
    .fetch_req_o(fetch_req),
    .fetch_addr_o(fetch_addr),
    .fetch_data_i(fetch_data),
    .load_a_req_o(load_a_req),
    .load_a_addr_o(load_a_addr),
    .load_a_data_i(load_a_data),
    .load_b_req_o(load_b_req),
    .load_b_addr_o(load_b_addr),
    .load_b_data_i(load_b_data),
    .store_req_o(store_req),
    .store_addr_o(store_addr),
    .store_data_o(store_data),
    .store_mask_o(store_mask),
    .packet_store_req_o(packet_store_req),
    .packet_store_addr_o(packet_store_addr),
    .packet_store_data_o(packet_store_data),
    .tx_valid_o,
    .tx_word_o,
    .tx_addr_o(),
    .rx_listen_o,
    .rx_source_o,
    .rx_valid_i,
    .rx_word_i,
    .rx_write_o(),
    .rx_write_addr_o(),
    .rx_write_word_o(),
    .packet_tx_valid_o,
    .packet_tx_word_o,
    .packet_tx_first_o,
    .packet_tx_last_o,
    .packet_tx_ready_i,
    .packet_rx_valid_i,
    .packet_rx_word_i,
    .packet_rx_last_i,
    .excepted_o,
    .ret_valid_o(),
    .ret_trap_o(),
    .ret_paired_o(),
    .ret_pending_o(),
    .ret_excepted_o(),
    .ret_cycle_o(),
    .ret_ctx_o(),
    .ret_pc_o(),
    .ret_word_o(),
    .ret_next_pc_o(),
    .ret_cause_o(),
    .ret_tval_o(),
    .ret_xrd_o(),
    .ret_value_o(),
    .ret_fwe_o(),
    .ret_frd_o(),
    .ret_fflags_o(),
    .ret_fpair_o(),
    .ret_fbits_o(),
    .ret_fwe2_o(),
    .ret_frd2_o(),
    .ret_fbits2_o(),
    .ret_load_o(),
    .ret_load2_o(),
    .ret_store_o(),
    .ret_addr_o(),
    .ret_addr2_o(),
    .ret_store_addr_o(),
    .ret_mask_o(),
    .ret_wdata_o(),
    .ret_streams_o(),
    .ret_stream0_o(),
    .ret_stream1_o(),
    .ret_stream2_o(),
    .ret_csr_o(),
    .ret_csr_value_o(),
    .ret_run_o(),
    .ret_run_pc_o(),
    .ret_run_a0_o(),
    .ret_run_a1_o(),
    .ret_run_stack_o(),
    .ret_run_stride_o(),
    .ret_run_ra_o(),
    .aux_valid_o(),
    .aux_trap_o(),
    .aux_paired_o(),
    .aux_pending_o(),
    .aux_excepted_o(),
    .aux_cycle_o(),
    .aux_ctx_o(),
    .aux_pc_o(),
    .aux_word_o(),
    .aux_next_pc_o(),
    .aux_cause_o(),
    .aux_tval_o(),
    .aux_frd_o(),
    .aux_fflags_o(),
    .aux_count_o(),
    .aux_bits_o(),
    .aux_drew_o(),
    .aux_rng_o(),
    .aux_amp_o(),
    .aux_amp_state_o(),
    .ldw_valid_o(),
    .ldw_row_o(),
    .ldw_data_o(),
    .done_valid_o(),
    .done_slot_o(),
    .done_value_o(),
    .done_fflags_o(),
    .dbg_halt_i('0),
    .dbg_resume_i('0),
    .halted_o(),
    .dbg_en_i('0),
    .dbg_we_i('0),
    .dbg_kind_i('0),
    .dbg_ctx_i('0),
    .dbg_sel_i('0),
    .dbg_wdata_i('0),
    .dbg_data_o()
  );

  tile_sram #(.Doublewords(Doublewords), .IndexBits(IndexBits)) u_sram (
    .clk_i,
    .fetch_req_i(fetch_req),
    .fetch_addr_i(fetch_addr),
    .fetch_data_o(fetch_data),
    .load_a_req_i(load_a_req),
    .load_a_addr_i(load_a_addr),
    .load_a_data_o(load_a_data),
    .load_b_req_i(load_b_req),
    .load_b_addr_i(load_b_addr),
    .load_b_data_o(load_b_data),
    .store_req_i(store_req),
    .store_addr_i(store_addr),
    .store_data_i(store_data),
    .store_mask_i(store_mask),
    .packet_store_req_i(packet_store_req),
    .packet_store_addr_i(packet_store_addr),
    .packet_store_data_i(packet_store_data)
  );
endmodule
