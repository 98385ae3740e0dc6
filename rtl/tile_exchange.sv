// Exchange engine: header, the two descriptor lists, ports, completion and the choice of the fault that traps
// (docs/machine/exchange.md).
//
// Load port A reads words to send, port B table words (send list and receive list in turn), the store port writes what
// was received. It runs only while no worker runs, so the ports are free.
module tile_exchange (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [63:0] cycle_i,
  // From stage X in cycle X + 3: table good and not 0. Port B reads the header in this very cycle.
  input  logic        start_i,
  input  logic [31:0] table_i,
  input  logic [63:0] issue_i,       // X
  input  logic [63:0] release_i,     // Z
  input  logic [31:0] xbase1_i,
  input  logic [31:0] xbase2_i,
  input  logic [31:0] xbase3_i,
  input  logic [31:0] xsource_i,
  input  logic [12:0] ntiles_i,
  input  logic [31:0] sram_end_i,
  // Memory.
  output logic        read_a_o,
  output logic [31:0] addr_a_o,
  input  logic [63:0] data_a_i,      // one cycle after the read
  output logic        read_b_o,
  output logic [31:0] addr_b_o,
  input  logic [63:0] data_b_i,
  output logic        write_o,
  output logic [31:0] write_addr_o,
  output logic [31:0] write_data_o,
  // Exchange ports of the tile.
  output logic        tx_valid_o,
  output logic [31:0] tx_word_o,
  output logic [31:0] tx_addr_o,     // where the word was read, for the lockstep record
  output logic        rx_listen_o,
  output logic [11:0] rx_source_o,
  input  logic        rx_valid_i,
  input  logic [31:0] rx_word_i,
  // To the issue stage.
  output logic        busy_o,
  output logic        resume_o,      // the supervisor goes on in this cycle
  output logic        fault_o,       // with a trap
  output logic [4:0]  fault_cause_o,
  output logic [31:0] fault_addr_o,
  output logic [63:0] fault_cycle_o
);
  logic        head1_q, head2_q, run_q, turn_q;
  logic [31:0] table_q;
  logic [63:0] issue_q, header_q;
  logic        header_bad, header_bad_q, begin_lists;
  logic [31:0] table_end;
  logic [16:0] words;

  logic        s_want, r_want, s_grant, r_grant, s_data_q, r_data_q;
  logic [31:0] s_fetch, r_fetch;
  logic        s_active, s_good, r_active, r_good, s_done, r_done, s_fault, r_fault;
  logic [31:0] s_addr, r_addr, s_fault_addr, r_fault_addr;
  logic [63:0] s_last, r_last, s_fault_cycle, r_fault_cycle;
  logic [4:0]  s_cause, r_cause;
  logic [11:0] s_source;

  logic        tx_valid_q, rx_valid_q, listened_q, underrun;
  logic [31:0] tx_addr_q, rx_word_q, rx_addr_q;
  logic [63:0] resume_at;

  assign words       = {1'b0, header_q[15:0]} + {1'b0, header_q[31:16]};
  assign table_end   = table_q + 32'd8 + {12'd0, words, 3'd0};
  assign header_bad  = (table_end > sram_end_i);
  assign begin_lists = head2_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      head1_q      <= 1'b0;
      head2_q      <= 1'b0;
      run_q        <= 1'b0;
      turn_q       <= 1'b0;
      header_bad_q <= 1'b0;
      table_q      <= 32'd0;
      issue_q      <= 64'd0;
      header_q     <= 64'd0;
      s_data_q     <= 1'b0;
      r_data_q     <= 1'b0;
      tx_valid_q   <= 1'b0;
      tx_addr_q    <= 32'd0;
      rx_valid_q   <= 1'b0;
      listened_q   <= 1'b0;
      rx_word_q    <= 32'd0;
      rx_addr_q    <= 32'd0;
    end else begin
      head1_q <= start_i;
      head2_q <= head1_q;
      if (start_i) begin
        table_q <= table_i;
        issue_q <= issue_i;
      end
      if (head1_q) header_q <= data_b_i;
      if (head2_q) begin
        run_q        <= 1'b1;
        header_bad_q <= header_bad;
        turn_q       <= 1'b0;
      end else if (run_q) begin
        turn_q <= !turn_q;
        if (resume_o) run_q <= 1'b0;
      end
      s_data_q   <= s_grant;
      r_data_q   <= r_grant;
      tx_valid_q <= read_a_o;
      if (read_a_o) tx_addr_q <= s_addr;
      listened_q <= rx_listen_o;
      if (rx_listen_o) begin
        rx_valid_q <= rx_valid_i;
        rx_word_q  <= rx_word_i;
        rx_addr_q  <= r_addr;
      end
    end
  end

  assign s_grant = run_q && !turn_q && s_want;
  assign r_grant = run_q && turn_q && r_want;

  exchange_list #(.Send(1'b1)) u_send (
    .clk_i, .rst_ni, .cycle_i,
    .begin_i       (begin_lists),
    .base_i        (table_q + 32'd8),
    .words_i       (header_bad ? 16'd0 : header_q[15:0]),
    .first_i       (issue_q + 64'd12),
    .release_i,
    .want_o        (s_want),
    .fetch_addr_o  (s_fetch),
    .grant_i       (s_grant),
    .data_valid_i  (s_data_q),
    .data_i        (data_b_i),
    .xbase1_i, .xbase2_i, .xbase3_i, .xsource_i, .ntiles_i, .sram_end_i,
    .underrun_i    (1'b0),
    .active_o      (s_active),
    .good_o        (s_good),
    .addr_o        (s_addr),
    .source_o      (s_source),
    .done_o        (s_done),
    .last_o        (s_last),
    .fault_o       (s_fault),
    .fault_cause_o (s_cause),
    .fault_cycle_o (s_fault_cycle),
    .fault_addr_o  (s_fault_addr)
  );

  exchange_list #(.Send(1'b0)) u_receive (
    .clk_i, .rst_ni, .cycle_i,
    .begin_i       (begin_lists),
    .base_i        (table_q + 32'd8 + {13'd0, header_q[15:0], 3'd0}),
    .words_i       (header_bad ? 16'd0 : header_q[31:16]),
    .first_i       (issue_q + 64'd12),
    .release_i,
    .want_o        (r_want),
    .fetch_addr_o  (r_fetch),
    .grant_i       (r_grant),
    .data_valid_i  (r_data_q),
    .data_i        (data_b_i),
    .xbase1_i, .xbase2_i, .xbase3_i, .xsource_i, .ntiles_i, .sram_end_i,
    .underrun_i    (underrun),
    .active_o      (r_active),
    .good_o        (r_good),
    .addr_o        (r_addr),
    .source_o      (rx_source_o),
    .done_o        (r_done),
    .last_o        (r_last),
    .fault_o       (r_fault),
    .fault_cause_o (r_cause),
    .fault_cycle_o (r_fault_cycle),
    .fault_addr_o  (r_fault_addr)
  );

  // Sending: the word read in this cycle is on the port in the next.
  assign read_a_o   = s_active && s_good;
  assign addr_a_o   = s_addr;
  assign tx_valid_o = tx_valid_q;
  assign tx_addr_o  = tx_addr_q;
  assign tx_word_o  = !tx_valid_q ? 32'd0 : tx_addr_q[2] ? data_a_i[63:32] : data_a_i[31:0];

  // Receiving: the word is taken from the port into a register and written from there.
  assign rx_listen_o  = r_active && r_good;
  assign underrun     = listened_q && !rx_valid_q;
  assign write_o      = listened_q && rx_valid_q;
  assign write_addr_o = rx_addr_q;
  assign write_data_o = rx_word_q;

  assign read_b_o = start_i || s_grant || r_grant;
  assign addr_b_o = start_i ? table_i : turn_q ? r_fetch : s_fetch;

  // Next issue at max(X + 12, L + 4), with or without a fault.
  always_comb begin
    resume_at = issue_q + 64'd12;
    if (s_last + 64'd4 > resume_at) resume_at = s_last + 64'd4;
    if (r_last + 64'd4 > resume_at) resume_at = r_last + 64'd4;
    if (header_bad_q) resume_at = issue_q + 64'd16;
  end
  assign busy_o   = head1_q || head2_q || run_q;
  assign resume_o = run_q && s_done && r_done && (cycle_i >= resume_at);

  // The earlier fault, receive before send.
  always_comb begin
    fault_o       = s_fault || r_fault || header_bad_q;
    fault_cause_o = s_cause;
    fault_addr_o  = s_fault_addr;
    fault_cycle_o = s_fault_cycle;
    if (header_bad_q) begin
      fault_cause_o = tessera_pkg::TRAP_EXCHANGE_BAD;
      fault_addr_o  = table_q;
      fault_cycle_o = issue_q + 64'd12;
    end else if (r_fault && (!s_fault || (r_fault_cycle <= s_fault_cycle))) begin
      fault_cause_o = r_cause;
      fault_addr_o  = r_fault_addr;
      fault_cycle_o = r_fault_cycle;
    end
  end

  // The send list has no source.
  logic unused;
  assign unused = ^{s_source, header_q[63:32]};
endmodule
