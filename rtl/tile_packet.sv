// Packet engine: sends the packets of a table, takes what arrives, knows when the window is complete
// (docs/machine/packets.md). Load port A reads payload, port B the table; arriving words have a write port of their own,
// since packets may arrive while workers run.
module tile_packet (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [63:0] cycle_i,
  input  logic [11:0] tile_i,
  input  logic [7:0]  ipu_i,
  input  logic [31:0] sram_end_i,
  input  logic        open_i,         // release of a group or host zone: a window opens
  // From stage X in cycle P + 3: table good and not 0. Port B reads the header in this very cycle.
  input  logic        start_i,
  input  logic [31:0] table_i,
  input  logic [63:0] issue_i,        // P
  input  logic [31:0] xbase1_i,
  input  logic [31:0] xbase2_i,
  input  logic [31:0] xbase3_i,
  output logic        window_o,       // a window is open and its x.packet not yet issued
  // Memory.
  output logic        read_a_o,
  output logic [31:0] addr_a_o,
  input  logic [63:0] data_a_i,
  output logic        read_b_o,
  output logic [31:0] addr_b_o,
  input  logic [63:0] data_b_i,
  output logic        write_o,
  output logic [31:0] write_addr_o,
  output logic [31:0] write_data_o,
  // Lane.
  output logic        tx_valid_o,
  output logic [31:0] tx_word_o,
  output logic        tx_first_o,
  output logic        tx_last_o,
  input  logic        tx_ready_i,
  input  logic        rx_valid_i,
  input  logic [31:0] rx_word_i,
  input  logic        rx_last_i,
  // To the issue stage.
  output logic [31:0] xpktcnt_o,
  output logic        busy_o,
  output logic        wakes_o,        // an arrived word is not yet handled
  output logic        resume_o,
  output logic        fault_o,
  output logic [4:0]  fault_cause_o,
  output logic [31:0] fault_addr_o,
  // A write outside a window: waits for the supervisor's next release.
  output logic        stray_o,
  output logic [31:0] stray_addr_o,
  input  logic        stray_taken_i
);
  localparam logic [3:0] Idle = 4'd0;
  localparam logic [3:0] Header1 = 4'd1;   // header on the pins
  localparam logic [3:0] Header2 = 4'd2;   // header known
  localparam logic [3:0] Fetch0 = 4'd3;    // first word of the descriptor is read
  localparam logic [3:0] Fetch1 = 4'd4;    // second word is read, first on the pins
  localparam logic [3:0] Fetch2 = 4'd5;    // second on the pins
  localparam logic [3:0] Begin = 4'd6;     // descriptor known
  localparam logic [3:0] Cut = 4'd7;       // length of the next packet
  localparam logic [3:0] Wait = 4'd8;      // until the first word is due
  localparam logic [3:0] Offer = 4'd9;
  localparam logic [3:0] Drain = 4'd10;    // all sent: until everything has arrived
  localparam logic [3:0] Finish = 4'd11;   // until the supervisor goes on

  logic [3:0]  state_q;
  logic [31:0] table_q, descriptor_q;
  logic [63:0] issue_q, word0_q, word1_q, offer_q, complete_q;
  logic [15:0] left_q;                  // descriptors to come, the current one counted
  logic [19:0] expected_q;
  logic        read_q, bad_q;
  logic [17:0] words_q;                 // of the descriptor, not yet in a packet
  logic [31:0] local_q;
  logic [63:0] remote_q;
  logic [8:0]  chunk_q, index_q;        // words of this packet; word on offer, header counted
  logic        fault_q;
  logic [4:0]  cause_q;
  logic [31:0] fault_addr_q;
  logic [63:0] fault_cycle_q;

  // Prefetch of payload.
  logic [31:0] queue_q [0:3];
  logic [1:0]  head_q, tail_q;
  logic [2:0]  fill_q, asked_q;
  logic [8:0]  unread_q;
  logic [31:0] fetch_q;
  logic        data_q, data_odd_q;

  // Arrival.
  logic        rx_valid_q, rx_last_q;
  logic [31:0] rx_word_q;
  logic [2:0]  rx_index_q;              // header words seen, 4 in the payload
  logic [1:0]  rx_kind_q;
  logic [31:0] rx_addr_q, last_addr_q;
  logic        rx_drop_q, window_q, issued_q;
  logic [31:0] count_q, awaited_q;      // words of writes; read words not yet answered
  logic [63:0] last_q;                  // last event: word taken or arrived
  logic        stray_q, faulted_q, early_q;  // faulted: a fault has ended the window; early: a bad word before x.packet
  logic [31:0] stray_addr_q, early_addr_q;

  logic [31:0] local_base, remote_base;
  logic [32:0] table_end, local_end;
  logic        table_bad, descriptor_bad, taken, last_word, complete, over, beyond, outside, in_payload, tail, payload, open_now, ends;
  logic [8:0]  to_boundary;
  logic [31:0] header_word;

  assign table_end  = {1'b0, table_q} + 33'd8 + {13'd0, word0_q[15:0], 4'd0};
  assign table_bad  = (table_end > {1'b0, sram_end_i});

  always_comb begin
    case (word0_q[3:2])
      2'd1: local_base = xbase1_i;
      2'd2: local_base = xbase2_i;
      2'd3: local_base = xbase3_i;
      default: local_base = tessera_pkg::SRAM_BASE;
    endcase
    case (word0_q[5:4])
      2'd1: remote_base = xbase1_i;
      2'd2: remote_base = xbase2_i;
      2'd3: remote_base = xbase3_i;
      default: remote_base = 32'd0;
    endcase
  end

  assign local_end      = {1'b0, local_q} + {13'd0, words_q, 2'b00};
  assign descriptor_bad = (word0_q[1:0] == 2'd0) || (word0_q[1:0] == 2'd3) || (words_q == 18'd0) ||
                          (remote_q[63:60] > 4'd2) || (read_q && (remote_q[63:60] != 4'd2)) || (remote_q[1:0] != 2'd0) ||
                          (local_q[1:0] != 2'd0) || (local_q < tessera_pkg::SRAM_BASE) || (local_end > {1'b0, sram_end_i});
  assign to_boundary    = 9'd256 - {1'b0, remote_q[9:2]};

  // ---- sending ----
  assign tx_valid_o = (state_q == Offer);
  assign tx_first_o = (index_q == 9'd0);
  assign last_word  = read_q ? (index_q == 9'd3) : (index_q == chunk_q + 9'd3);
  assign tx_last_o  = last_word;
  assign taken      = tx_valid_o && tx_ready_i;
  always_comb begin
    case (index_q[1:0])
      2'd0: header_word = {1'b0, ipu_i, tile_i, chunk_q, word0_q[1:0]};
      2'd1: header_word = remote_q[31:0];
      2'd2: header_word = remote_q[63:32];
      default: header_word = local_q - tessera_pkg::SRAM_BASE;
    endcase
  end
  assign tx_word_o = !tx_valid_o ? 32'd0 : (index_q < 9'd4) ? header_word : queue_q[head_q];

  assign read_a_o = (unread_q != 9'd0) && (asked_q < 3'd4);
  assign addr_a_o = fetch_q;
  assign read_b_o = start_i || (state_q == Fetch0) || (state_q == Fetch1);
  assign addr_b_o = start_i ? table_i : (state_q == Fetch0) ? descriptor_q : (descriptor_q + 32'd8);

  // ---- completion ----
  assign over     = (count_q > {12'd0, expected_q}) && (cycle_i > issue_q + 64'd12) && issued_q && window_q;
  assign complete = (state_q == Drain) && (awaited_q == 32'd0) && (count_q == {12'd0, expected_q}) &&
                    (cycle_i > issue_q + 64'd12);
  assign busy_o   = (state_q != Idle);
  assign wakes_o  = rx_valid_q;
  assign resume_o = (state_q == Finish) && (cycle_i >= complete_q + 64'd6);
  assign fault_o  = fault_q;
  assign fault_cause_o = cause_q;
  assign fault_addr_o  = fault_addr_q;
  assign window_o      = window_q && !issued_q;
  assign xpktcnt_o     = count_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q       <= Idle;
      table_q       <= 32'd0;
      descriptor_q  <= 32'd0;
      issue_q       <= 64'd0;
      word0_q       <= 64'd0;
      word1_q       <= 64'd0;
      offer_q       <= 64'd0;
      complete_q    <= 64'd0;
      left_q        <= 16'd0;
      expected_q    <= 20'd0;
      read_q        <= 1'b0;
      bad_q         <= 1'b0;
      words_q       <= 18'd0;
      local_q       <= 32'd0;
      remote_q      <= 64'd0;
      chunk_q       <= 9'd0;
      index_q       <= 9'd0;
      fault_q       <= 1'b0;
      cause_q       <= 5'd0;
      fault_addr_q  <= 32'd0;
      fault_cycle_q <= 64'd0;
      head_q        <= 2'd0;
      tail_q        <= 2'd0;
      fill_q        <= 3'd0;
      asked_q       <= 3'd0;
      unread_q      <= 9'd0;
      fetch_q       <= 32'd0;
      data_q        <= 1'b0;
      data_odd_q    <= 1'b0;
    end else begin
      data_q     <= read_a_o;
      data_odd_q <= fetch_q[2];
      if (state_q != Idle) begin
        if (read_a_o) begin
          fetch_q  <= fetch_q + 32'd4;
          unread_q <= unread_q - 9'd1;
        end
        if (data_q) tail_q <= tail_q + 2'd1;
        if (taken && (index_q >= 9'd4)) head_q <= head_q + 2'd1;
        fill_q  <= fill_q + {2'd0, data_q} - {2'd0, taken && (index_q >= 9'd4)};
        asked_q <= asked_q + {2'd0, read_a_o} - {2'd0, taken && (index_q >= 9'd4)};
      end
      case (state_q)
        Idle: begin
          if (start_i) begin
            state_q      <= Header1;
            table_q      <= table_i;
            descriptor_q <= table_i + 32'd8;
            issue_q      <= issue_i;
            offer_q      <= issue_i + 64'd12;
            fault_q      <= 1'b0;
          end
        end
        Header1: begin
          word0_q <= data_b_i;
          state_q <= Header2;
        end
        Header2: begin
          left_q     <= word0_q[15:0];
          expected_q <= word0_q[35:16];
          if (table_bad) begin
            fault_q       <= 1'b1;
            cause_q       <= tessera_pkg::TRAP_EXCHANGE_BAD;
            fault_addr_q  <= table_q;
            fault_cycle_q <= issue_q + 64'd12;
            complete_q    <= issue_q + 64'd12;
            state_q       <= Finish;
          end else begin
            state_q <= (word0_q[15:0] == 16'd0) ? Drain : Fetch0;
          end
        end
        Fetch0: state_q <= Fetch1;
        Fetch1: begin
          word0_q <= data_b_i;
          state_q <= Fetch2;
        end
        Fetch2: begin
          word1_q <= data_b_i;
          words_q <= word0_q[23:6];
          read_q  <= (word0_q[1:0] == 2'd2);
          local_q <= local_base + {12'd0, word0_q[41:24], 2'b00};
          state_q <= Begin;
        end
        Begin: begin
          remote_q <= word1_q + {32'd0, remote_base};
          state_q  <= Cut;
        end
        Cut: begin
          bad_q   <= descriptor_bad;
          chunk_q <= (words_q < {9'd0, to_boundary}) ? words_q[8:0] : to_boundary;
          index_q <= 9'd0;
          head_q  <= 2'd0;
          tail_q  <= 2'd0;
          fill_q  <= 3'd0;
          asked_q <= 3'd0;
          fetch_q <= local_q;
          if (!read_q && !descriptor_bad) unread_q <= (words_q < {9'd0, to_boundary}) ? words_q[8:0] : to_boundary;
          state_q <= Wait;
        end
        Wait: begin
          if (bad_q) begin
            if (cycle_i == offer_q) begin
              fault_q       <= 1'b1;
              cause_q       <= tessera_pkg::TRAP_EXCHANGE_BAD;
              fault_addr_q  <= descriptor_q;
              fault_cycle_q <= cycle_i;
              complete_q    <= cycle_i;
              state_q       <= Finish;
            end
          end else if (cycle_i + 64'd1 == offer_q) begin
            state_q <= Offer;
          end
        end
        Offer: begin
          if (taken) begin
            index_q <= index_q + 9'd1;
            if (last_word) begin
              offer_q  <= cycle_i + 64'd8;
              words_q  <= words_q - {9'd0, chunk_q};
              local_q  <= local_q + {21'd0, chunk_q, 2'b00};
              remote_q <= remote_q + {53'd0, chunk_q, 2'b00};
              if (words_q != {9'd0, chunk_q}) begin
                state_q <= Cut;
              end else begin
                left_q       <= left_q - 16'd1;
                descriptor_q <= descriptor_q + 32'd16;
                state_q      <= (left_q == 16'd1) ? Drain : Fetch0;
              end
            end
          end
        end
        Drain: begin
          if (complete) begin
            complete_q <= (last_q > issue_q + 64'd12) ? last_q : (issue_q + 64'd12);
            state_q    <= Finish;
          end
        end
        default: if (resume_o) state_q <= Idle;  // Finish
      endcase
      // A fault of what arrives is found later than it happened, so it may still go before one of the table.
      if ((over || beyond || outside || early_q) && issued_q && (state_q != Idle) &&
          (!fault_q || ((cause_q == tessera_pkg::TRAP_EXCHANGE_BAD) && (arrived_at <= fault_cycle_q)))) begin
        fault_q       <= 1'b1;
        cause_q       <= tessera_pkg::TRAP_PACKET_FAULT;
        fault_addr_q  <= early_q ? early_addr_q : over ? last_addr_q : rx_addr_q;
        fault_cycle_q <= arrived_at;
        complete_q    <= arrived_at;
        state_q       <= Finish;
        unread_q      <= 9'd0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (data_q) queue_q[tail_q] <= data_odd_q ? data_a_i[63:32] : data_a_i[31:0];
  end

  // ---- arrival: pins into registers, handled in the cycle after ----
  logic [63:0] arrived_at, floor;
  assign floor      = issue_q + 64'd12;
  assign arrived_at = (over ? last_q : cycle_i - 64'd1) > floor ? (over ? last_q : cycle_i - 64'd1) : floor;
  assign in_payload = rx_valid_q && (rx_index_q == 3'd4) && !rx_drop_q;
  // A packet may go on when the window has just become complete: the rest of it is outside. When a fault ends the window,
  // what has begun is taken whole.
  assign ends       = issued_q && fault_q;
  assign tail       = in_payload && (rx_kind_q == 2'd1) && !open_now && !ends && !faulted_q && !early_q;
  assign payload    = in_payload && !tail;
  assign open_now   = window_q && !complete && !ends && !early_q;
  // Words before P + 12 are taken uncompared; from then on none beyond the expected is.
  assign beyond     = payload && (rx_kind_q == 2'd1) && issued_q && (cycle_i > floor) && (count_q >= {12'd0, expected_q});
  assign outside    = payload && ((rx_addr_q < tessera_pkg::SRAM_BASE) || (rx_addr_q >= sram_end_i) || (rx_addr_q[1:0] != 2'd0));
  assign write_o      = payload && !outside && !beyond;
  assign write_addr_o = rx_addr_q;
  assign write_data_o = rx_word_q;
  assign stray_o      = stray_q;
  assign stray_addr_o = stray_addr_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rx_valid_q   <= 1'b0;
      rx_last_q    <= 1'b0;
      rx_word_q    <= 32'd0;
      rx_index_q   <= 3'd0;
      rx_kind_q    <= 2'd0;
      rx_addr_q    <= 32'd0;
      last_addr_q  <= 32'd0;
      rx_drop_q    <= 1'b0;
      window_q     <= 1'b0;
      issued_q     <= 1'b0;
      count_q      <= 32'd0;
      awaited_q    <= 32'd0;
      last_q       <= 64'd0;
      stray_q      <= 1'b0;
      stray_addr_q <= 32'd0;
      faulted_q    <= 1'b0;
      early_q      <= 1'b0;
      early_addr_q <= 32'd0;
    end else begin
      rx_valid_q <= rx_valid_i;
      if (rx_valid_i) begin
        rx_word_q <= rx_word_i;
        rx_last_q <= rx_last_i;
      end
      if (stray_taken_i) stray_q <= 1'b0;
      if (rx_valid_q) begin
        case (rx_index_q)
          3'd0: begin
            rx_kind_q <= rx_word_q[1:0];
            rx_drop_q <= 1'b0;
          end
          3'd1: begin
            if (rx_kind_q == 2'd1) begin  // a write: the offset is the address
              rx_addr_q <= tessera_pkg::SRAM_BASE + rx_word_q;
              rx_drop_q <= !open_now;
              if (!open_now && !stray_q) begin
                stray_q      <= 1'b1;
                stray_addr_q <= tessera_pkg::SRAM_BASE + rx_word_q;
              end
            end
          end
          3'd3: begin
            if (rx_kind_q == 2'd3) begin  // a response
              rx_addr_q <= tessera_pkg::SRAM_BASE + rx_word_q;
              rx_drop_q <= (awaited_q == 32'd0) || ends;
            end else if (rx_kind_q != 2'd1) begin
              rx_drop_q <= 1'b1;
            end
          end
          default: ;
        endcase
        if (rx_index_q != 3'd4) rx_index_q <= rx_index_q + 3'd1;
        else rx_addr_q <= rx_addr_q + 32'd4;
        if (rx_last_q) rx_index_q <= 3'd0;
      end
      if (tail && !stray_q) begin
        stray_q      <= 1'b1;
        stray_addr_q <= rx_addr_q;
      end
      if (write_o) begin
        last_addr_q <= rx_addr_q;
        if (rx_kind_q == 2'd1) count_q <= count_q + 32'd1;
      end
      if ((outside || beyond) && !rx_last_q) rx_drop_q <= 1'b1;  // the rest of it goes the same way
      if (outside && !issued_q && window_q && !early_q) begin
        early_q      <= 1'b1;
        early_addr_q <= rx_addr_q;
      end
      // Read words: asked for when their request has left, answered one by one.
      awaited_q <= awaited_q + ((taken && last_word && read_q) ? {23'd0, chunk_q} : 32'd0) -
                   {31'd0, write_o && (rx_kind_q == 2'd3) && (awaited_q != 32'd0)};
      if (taken) last_q <= cycle_i;
      else if (write_o) last_q <= cycle_i - 64'd1;
      if (start_i) issued_q <= 1'b1;
      if (complete || ends) begin
        window_q  <= 1'b0;
        issued_q  <= 1'b0;
        early_q   <= 1'b0;
        faulted_q <= ends;
        awaited_q <= 32'd0;  // answers that come behind a fault are dropped
      end
      if (open_i) begin
        window_q  <= 1'b1;
        issued_q  <= 1'b0;
        count_q   <= 32'd0;
        awaited_q <= 32'd0;
        faulted_q <= 1'b0;
        early_q   <= 1'b0;
      end
    end
  end
endmodule
