// Exchange and packet engine: what they share of the SRAM ports, and how they end or fail. A clock of their own.
module tile_engines (
  input  logic        rst_ni,
  // Time and pins, registered.
  input  logic [63:0] cycle_i,
  input  logic        release_i,                 // now is cycle Z
  input  logic [11:0] tile_i,
  input  logic [7:0]  ipu_i,
  input  logic [12:0] ntiles_i,
  input  logic [31:0] sram_end_i,
  input  logic [63:0] e_cycle_i,                 // issue cycle of what executes in X
  // Pins of tile_core.
  input  logic        unit_clk_i,
  input  logic [63:0] load_a_data_i,
  input  logic [63:0] load_b_data_i,
  input  logic        rx_valid_i,
  input  logic [31:0] rx_word_i,
  input  logic        packet_tx_ready_i,
  input  logic        packet_rx_valid_i,
  input  logic [31:0] packet_rx_word_i,
  input  logic        packet_rx_last_i,
  // Snapshots of the issue cycle and what issues now (tile_fetch).
  input  logic        stray_taken_i,             // it gets the trap that issues now
  // What executes in X, what is held or late (tile_supervisor).
  input  logic [63:0] z_i,                       // cycle of the last release
  input  logic [31:0] e_rs1_i,
  input  logic [31:0] late_word_i,
  // Stage X (tile_execute).
  input  logic        e_exch_i,
  input  logic        e_pkt_i,
  input  logic [31:0] xbase1_i,
  input  logic [31:0] xbase2_i,
  input  logic [31:0] xbase3_i,
  input  logic [31:0] xsource_i,
  // Exchange and packet ports; SRAM; ends and faults.
  output logic        packet_store_req_o,
  output logic [31:0] packet_store_addr_o,
  output logic [31:0] packet_store_data_o,
  output logic        tx_valid_o,
  output logic [31:0] tx_word_o,
  output logic [31:0] tx_addr_o,
  output logic        rx_listen_o,
  output logic [11:0] rx_source_o,
  output logic        rx_write_o,
  output logic [31:0] rx_write_addr_o,
  output logic [31:0] rx_write_word_o,
  output logic        packet_tx_valid_o,
  output logic [31:0] packet_tx_word_o,
  output logic        packet_tx_first_o,
  output logic        packet_tx_last_o,
  output logic        exch_resume_o,
  output logic        exch_fault_o,
  output logic        pkt_wakes_o,               // the packet engine wants its clock
  output logic        pkt_resume_o,
  output logic        stray_o,                   // packet outside the window waits for its trap
  output logic        pkt_window_o,              // x.packet may start
  output logic [31:0] xpktcnt_o,
  output logic [63:0] exch_fault_cycle_o,
  output logic        engine_fault_o,            // an engine ends with a trap
  output logic        late_exch_o,               // exchange or packets end without a trap
  output logic        ex_write_o,
  output logic [31:0] ex_write_addr_o,
  output logic [31:0] ex_write_data_o,
  output logic [4:0]  fault_cause_o,
  output logic [31:0] fault_tval_o,
  output logic        eng_read_a_o,
  output logic        eng_read_b_o,
  output logic [31:0] eng_addr_a_o,
  output logic [31:0] eng_addr_b_o,
  output logic        eng_busy_o                 // an engine works
);
  logic        exch_busy, pkt_busy, pkt_fault, ex_read_a, ex_read_b, pk_read_a, pk_read_b;
  logic [4:0]  exch_cause, pkt_cause;
  logic [31:0] exch_fault_addr, pkt_fault_addr, stray_addr, ex_addr_a, ex_addr_b, pk_addr_a, pk_addr_b;

  tile_exchange u_exchange (
    .clk_i         (unit_clk_i),
    .rst_ni,
    .cycle_i,
    .start_i       (e_exch_i),
    .table_i       (e_rs1_i),
    .issue_i       (e_cycle_i),
    .release_i     (z_i),
    .xbase1_i,
    .xbase2_i,
    .xbase3_i,
    .xsource_i,
    .ntiles_i,
    .sram_end_i,
    .read_a_o      (ex_read_a),
    .addr_a_o      (ex_addr_a),
    .data_a_i      (load_a_data_i),
    .read_b_o      (ex_read_b),
    .addr_b_o      (ex_addr_b),
    .data_b_i      (load_b_data_i),
    .write_o       (ex_write_o),
    .write_addr_o  (ex_write_addr_o),
    .write_data_o  (ex_write_data_o),
    .tx_valid_o, .tx_word_o, .tx_addr_o, .rx_listen_o, .rx_source_o, .rx_valid_i, .rx_word_i,
    .busy_o        (exch_busy),
    .resume_o      (exch_resume_o),
    .fault_o       (exch_fault_o),
    .fault_cause_o (exch_cause),
    .fault_addr_o  (exch_fault_addr),
    .fault_cycle_o (exch_fault_cycle_o)
  );

  tile_packet u_packet (
    .clk_i         (unit_clk_i),
    .rst_ni,
    .cycle_i,
    .tile_i,
    .ipu_i,
    .sram_end_i,
    .open_i        (release_i && (late_word_i[22:20] >= 3'd2)),
    .start_i       (e_pkt_i),
    .table_i       (e_rs1_i),
    .issue_i       (e_cycle_i),
    .xbase1_i,
    .xbase2_i,
    .xbase3_i,
    .window_o      (pkt_window_o),
    .read_a_o      (pk_read_a),
    .addr_a_o      (pk_addr_a),
    .data_a_i      (load_a_data_i),
    .read_b_o      (pk_read_b),
    .addr_b_o      (pk_addr_b),
    .data_b_i      (load_b_data_i),
    .write_o       (packet_store_req_o),
    .write_addr_o  (packet_store_addr_o),
    .write_data_o  (packet_store_data_o),
    .tx_valid_o    (packet_tx_valid_o),
    .tx_word_o     (packet_tx_word_o),
    .tx_first_o    (packet_tx_first_o),
    .tx_last_o     (packet_tx_last_o),
    .tx_ready_i    (packet_tx_ready_i),
    .rx_valid_i    (packet_rx_valid_i),
    .rx_word_i     (packet_rx_word_i),
    .rx_last_i     (packet_rx_last_i),
    .xpktcnt_o     (xpktcnt_o),
    .busy_o        (pkt_busy),
    .wakes_o       (pkt_wakes_o),
    .resume_o      (pkt_resume_o),
    .fault_o       (pkt_fault),
    .fault_cause_o (pkt_cause),
    .fault_addr_o  (pkt_fault_addr),
    .stray_o       (stray_o),
    .stray_addr_o  (stray_addr),
    .stray_taken_i
  );

  // Ends and faults. The supervisor waits for one of the two at most, so at most one resumes.
  assign engine_fault_o = (exch_resume_o && exch_fault_o) || (pkt_resume_o && pkt_fault);
  assign late_exch_o    = (exch_resume_o && !exch_fault_o) || (pkt_resume_o && !pkt_fault);
  assign fault_cause_o  = (exch_resume_o && exch_fault_o) ? exch_cause :
                        (pkt_resume_o && pkt_fault) ? pkt_cause : tessera_pkg::TRAP_PACKET_FAULT;
  assign fault_tval_o   = (exch_resume_o && exch_fault_o) ? exch_fault_addr :
                        (pkt_resume_o && pkt_fault) ? pkt_fault_addr : stray_addr;

  assign eng_read_a_o = ex_read_a || pk_read_a;
  assign eng_read_b_o = ex_read_b || pk_read_b;
  assign eng_addr_a_o = ex_read_a ? ex_addr_a : pk_addr_a;
  assign eng_addr_b_o = ex_read_b ? ex_addr_b : pk_addr_b;
  assign eng_busy_o   = exch_busy || pkt_busy;

  assign rx_write_o      = ex_write_o;
  assign rx_write_addr_o = ex_write_addr_o;
  assign rx_write_word_o = ex_write_data_o;
endmodule
