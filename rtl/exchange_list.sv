// One descriptor list of the exchange engine (docs/machine/exchange.md): prefetch, start rule, addresses, faults.
//
// Table words come from load port B, one every second cycle, into a queue of four; so a descriptor is never late, be it
// of one word or two. A word is "on the port" one cycle after it is current here if the list sends (its SRAM read lies
// between), in the same cycle if it receives.
module exchange_list #(
  parameter bit Send = 1'b1
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [63:0] cycle_i,       // the current cycle
  // Begin: in the cycle after, reading may start.
  input  logic        begin_i,
  input  logic [31:0] base_i,        // first table word
  input  logic [15:0] words_i,       // table words of the list
  input  logic [63:0] first_i,       // X + 12
  input  logic [63:0] release_i,     // Z
  // Load port B.
  output logic        want_o,        // would read table word fetch_addr_o
  output logic [31:0] fetch_addr_o,
  input  logic        grant_i,
  input  logic        data_valid_i,  // a word asked for by this list arrives
  input  logic [63:0] data_i,
  // Registers and pins of the tile.
  input  logic [31:0] xbase1_i,
  input  logic [31:0] xbase2_i,
  input  logic [31:0] xbase3_i,
  input  logic [31:0] xsource_i,
  input  logic [12:0] ntiles_i,
  input  logic [31:0] sram_end_i,
  input  logic        underrun_i,    // receive: the word current in the cycle before was not there
  // The current word.
  output logic        active_o,
  output logic        good_o,        // address and source are good
  output logic [31:0] addr_o,
  output logic [11:0] source_o,
  // Outcome.
  output logic        done_o,        // nothing more will come, faulted or not
  output logic [63:0] last_o,        // last cycle with a word, an empty descriptor or a fault; 0 if none
  output logic        fault_o,
  output logic [4:0]  fault_cause_o,
  output logic [63:0] fault_cycle_o,
  output logic [31:0] fault_addr_o   // the descriptor
);
  localparam logic [63:0] Ahead = Send ? 64'd2 : 64'd1;  // from taking a descriptor to its first word on the port
  localparam logic [63:0] Port = Send ? 64'd1 : 64'd0;   // from being current to being on the port

  // Queue of table words.
  logic [63:0] queue_q [0:3];
  logic [1:0]  head_q, tail_q;
  logic [2:0]  fill_q;
  logic [2:0]  asked_q;              // fill plus what is on its way
  logic [31:0] fetch_addr_q, head_addr_q;
  logic [15:0] unread_q;             // table words not yet asked for
  logic [15:0] left_q;               // table words not yet taken

  // Descriptor at the head.
  logic [63:0] first_word, second_word, start, earliest, end_now;
  logic [1:0]  kind;
  logic        two, complete, cut, empty, can_take, take, bad, late;
  logic [31:0] base, address, source32;
  logic [13:0] source;

  // The descriptor that runs.
  logic        ended_q, begun_q, active_q, sweep_q, source_bad_q;
  logic [63:0] first_q, previous_q, end_q;
  logic [31:0] addr_q, inner_q, outer_q;         // this word, start of this piece, start of this row of pieces
  logic [31:0] stride1_q, stride2_q;             // bytes
  logic [12:0] words_q, words_left_q;
  logic [11:0] count1_q, count1_left_q, count2_left_q;
  logic signed [13:0] source_q, step_q, wrap_q;
  logic signed [13:0] next_source;
  logic [31:0] desc_q, desc_before_q;
  logic        piece_end, last, word_good;

`ifdef TESSERA_FAULTS
  logic faulty;  // planted fault, chosen at run time: sending begins a cycle late
  initial faulty = ($test$plusargs("fault_exchange_time") != 0);
`elsif TESSERA_FAULT_EXCHANGE_TIME
  localparam logic faulty = 1'b1;
`else
  localparam logic faulty = 1'b0;
`endif
  assign first_word  = queue_q[head_q];
  assign second_word = queue_q[head_q + 2'd1];
  assign kind        = first_word[1:0];
  assign two         = (kind == 2'd1) || (kind == 2'd2);
  assign cut         = two && (left_q == 16'd1);
  assign complete    = (fill_q != 3'd0) && (!two || cut || (fill_q != 3'd1));

  assign piece_end = (words_left_q == 13'd1);
  assign last      = piece_end && (count1_left_q <= 12'd1) && (count2_left_q <= 12'd1);
  assign can_take  = begun_q && !ended_q && (!active_q || last);
  assign word_good = (addr_q[1:0] == 2'd0) && (addr_q >= tessera_pkg::SRAM_BASE) && (addr_q < sram_end_i) && !source_bad_q;

  always_comb begin
    start    = 64'd0;
    earliest = 64'd0;
    end_now  = end_q;
    empty    = 1'b0;
    bad      = 1'b0;
    late     = 1'b0;
    take     = 1'b0;
    base     = tessera_pkg::SRAM_BASE;
    if (can_take && complete) begin
      start = release_i + {46'd0, first_word[21:4]};
      if (active_q) end_now = cycle_i + Ahead;
      earliest = previous_q + (two ? 64'd4 : 64'd2);
      if (end_now > earliest) earliest = end_now;
      if (previous_q == 64'd0) earliest = first_q;
      late = (start < earliest);
      bad  = (kind == 2'd3) || (Send && (kind == 2'd2)) || cut;
      if (kind == 2'd1) empty = (second_word[30:19] == 12'd0) || (second_word[61:50] == 12'd0);
      if (kind == 2'd2) empty = (second_word[11:0] == 12'd0);
      take = !late && !bad && (cycle_i + Ahead >= (start + ((Send && faulty) ? 64'd1 : 64'd0)));
      case (first_word[3:2])
        2'd1: base = xbase1_i;
        2'd2: base = xbase2_i;
        2'd3: base = xbase3_i;
        default: base = tessera_pkg::SRAM_BASE;
      endcase
    end
  end
  assign address  = base + {12'd0, first_word[51:34], 2'b00};
  assign source32 = (first_word[63:52] == 12'hFFF) ? xsource_i : {20'd0, first_word[63:52]};
  assign source   = {2'b00, source32[11:0]};

  // Next source of a sweep: one correction by wrap.
  always_comb begin
    next_source = source_q + step_q;
    if (wrap_q != 14'sd0) begin
      if (next_source >= wrap_q) next_source = next_source - wrap_q;
      else if (next_source < 14'sd0) next_source = next_source + wrap_q;
    end
  end

  assign want_o       = begun_q && !ended_q && (unread_q != 16'd0) && (asked_q < 3'd4);
  assign fetch_addr_o = fetch_addr_q;
  assign active_o     = active_q && !ended_q && !underrun_i;
  assign good_o       = word_good;
  assign addr_o       = addr_q;
  assign source_o     = source_q[11:0];
  assign done_o       = begun_q && (ended_q || (!active_q && (left_q == 16'd0)));

  logic [1:0] taken_words;
  assign taken_words = !take ? 2'd0 : two ? 2'd2 : 2'd1;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      head_q       <= 2'd0;
      tail_q       <= 2'd0;
      fill_q       <= 3'd0;
      asked_q      <= 3'd0;
      fetch_addr_q <= 32'd0;
      head_addr_q  <= 32'd0;
      unread_q     <= 16'd0;
      left_q       <= 16'd0;
    end else if (begin_i) begin
      head_q       <= 2'd0;
      tail_q       <= 2'd0;
      fill_q       <= 3'd0;
      asked_q      <= 3'd0;
      fetch_addr_q <= base_i;
      head_addr_q  <= base_i;
      unread_q     <= words_i;
      left_q       <= words_i;
    end else if (begun_q) begin
      if (grant_i) begin
        fetch_addr_q <= fetch_addr_q + 32'd8;
        unread_q     <= unread_q - 16'd1;
      end
      if (data_valid_i) tail_q <= tail_q + 2'd1;
      if (take) begin
        head_q      <= head_q + taken_words;
        head_addr_q <= head_addr_q + (two ? 32'd16 : 32'd8);
        left_q      <= left_q - {14'd0, taken_words};
      end
      fill_q  <= fill_q + {2'd0, data_valid_i} - {1'b0, taken_words};
      asked_q <= asked_q + {2'd0, grant_i} - {1'b0, taken_words};
    end
  end

  always_ff @(posedge clk_i) begin
    if (data_valid_i) queue_q[tail_q] <= data_i;
  end

  // The running descriptor.
  always_ff @(posedge clk_i) begin
    if (take) begin
      sweep_q       <= (kind == 2'd2);
      source_bad_q  <= !Send && ((source32[31:12] != 20'd0) || (source32[12:0] >= ntiles_i));
      addr_q        <= address;
      inner_q       <= address;
      outer_q       <= address;
      words_q       <= (first_word[33:22] == 12'd0) ? 13'd4096 : {1'b0, first_word[33:22]};
      words_left_q  <= (first_word[33:22] == 12'd0) ? 13'd4096 : {1'b0, first_word[33:22]};
      source_q      <= source;
      desc_q        <= head_addr_q;
      case (kind)
        2'd1: begin
          stride1_q     <= {{11{second_word[18]}}, second_word[18:0], 2'b00};
          count1_q      <= second_word[30:19];
          count1_left_q <= second_word[30:19];
          stride2_q     <= {{11{second_word[49]}}, second_word[49:31], 2'b00};
          count2_left_q <= second_word[61:50];
          step_q        <= 14'sd0;
          wrap_q        <= 14'sd0;
        end
        2'd2: begin
          stride1_q     <= {{11{second_word[54]}}, second_word[54:36], 2'b00};
          count1_q      <= second_word[11:0];
          count1_left_q <= second_word[11:0];
          stride2_q     <= 32'd0;
          count2_left_q <= 12'd1;
          step_q        <= {{2{second_word[23]}}, second_word[23:12]};
          wrap_q        <= {2'b00, second_word[35:24]};
        end
        default: begin
          stride1_q     <= 32'd0;
          count1_q      <= 12'd1;
          count1_left_q <= 12'd1;
          stride2_q     <= 32'd0;
          count2_left_q <= 12'd1;
          step_q        <= 14'sd0;
          wrap_q        <= 14'sd0;
        end
      endcase
    end else if (active_q) begin
      if (!piece_end) begin
        addr_q       <= addr_q + 32'd4;
        words_left_q <= words_left_q - 13'd1;
      end else begin
        words_left_q <= words_q;
        if (count1_left_q > 12'd1) begin
          count1_left_q <= count1_left_q - 12'd1;
          addr_q        <= inner_q + stride1_q;
          inner_q       <= inner_q + stride1_q;
        end else begin
          count1_left_q <= count1_q;
          count2_left_q <= count2_left_q - 12'd1;
          addr_q        <= outer_q + stride2_q;
          inner_q       <= outer_q + stride2_q;
          outer_q       <= outer_q + stride2_q;
        end
        if (sweep_q) begin
          source_q     <= next_source;
          source_bad_q <= (next_source < 14'sd0) || (next_source >= $signed({1'b0, ntiles_i}));
        end
      end
    end
    desc_before_q <= desc_q;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      begun_q       <= 1'b0;
      ended_q       <= 1'b0;
      active_q      <= 1'b0;
      first_q       <= 64'd0;
      previous_q    <= 64'd0;
      end_q         <= 64'd0;
      last_o        <= 64'd0;
      fault_o       <= 1'b0;
      fault_cause_o <= 5'd0;
      fault_cycle_o <= 64'd0;
      fault_addr_o  <= 32'd0;
    end else if (begin_i) begin
      begun_q    <= 1'b1;
      ended_q    <= 1'b0;
      active_q   <= 1'b0;
      first_q    <= first_i;
      previous_q <= 64'd0;
      end_q      <= 64'd0;
      last_o     <= 64'd0;
      fault_o    <= 1'b0;
    end else if (begun_q && (!ended_q || underrun_i)) begin
      // A missing last word is found when the descriptor after it may have ended the list already: it came first.
      if (active_q && last) begin
        active_q <= 1'b0;
        end_q    <= cycle_i + Ahead;
      end
      if (active_q) last_o <= cycle_i + Port;
      if (take) begin
        active_q   <= !empty;
        previous_q <= start;
        end_q      <= start;
        if (empty) last_o <= start;
      end
      // The first fault ends the list: a missing word (found a cycle later) before what is current now.
      if (underrun_i) begin
        fault_cause_o <= tessera_pkg::TRAP_EXCHANGE_UNDERRUN;
        fault_cycle_o <= cycle_i - 64'd1;
        fault_addr_o  <= desc_before_q;
        last_o        <= cycle_i - 64'd1;
      end else if (active_q && !word_good) begin
        fault_cause_o <= tessera_pkg::TRAP_EXCHANGE_BAD;
        fault_cycle_o <= cycle_i + Port;
        fault_addr_o  <= desc_q;
        last_o        <= cycle_i + Port;
      end else if (late || bad) begin
        fault_cause_o <= late ? tessera_pkg::TRAP_EXCHANGE_OVERRUN : tessera_pkg::TRAP_EXCHANGE_BAD;
        fault_cycle_o <= start;
        fault_addr_o  <= head_addr_q;
        if (start > (active_q ? cycle_i + Port : last_o)) last_o <= start;
      end
      if (underrun_i || (active_q && !word_good) || late || bad) begin
        fault_o  <= 1'b1;
        ended_q  <= 1'b1;
        active_q <= 1'b0;
      end
    end
  end
endmodule
