// The exchange engine as a whole. For all tables, words, times and registers: it reads and writes only words that lie
// wholly inside the SRAM, and writes all and only what was there while it listened. With Times, for one phase of short
// lists: it writes between its start and its end only, and lets the supervisor go on once, when both lists are done, not
// before max(X+12, L+4) (docs/machine/exchange.md).
module exchange_engine_formal #(
  parameter bit Times = 1'b0
) (
  input logic        clk_i,
  input logic        start_i,
  input logic [31:0] table_i,
  input logic [63:0] data_a_i, data_b_i,
  input logic        rx_valid_i,
  input logic [31:0] rx_word_i
);
  (* anyconst *) logic [31:0] xbase1;
  (* anyconst *) logic [31:0] xbase2;
  (* anyconst *) logic [31:0] xbase3;
  (* anyconst *) logic [31:0] xsource;
  (* anyconst *) logic [12:0] ntiles;
  (* anyconst *) logic [31:0] sram_end;

  logic [63:0] cycle = 64'd16;
  logic        rst_n = 1'b0;
  always_ff @(posedge clk_i) begin
    cycle <= cycle + 64'd1;
    rst_n <= 1'b1;
  end

  logic        read_a, read_b, write, tx_valid, rx_listen, busy, resume, fault;
  logic [31:0] addr_a, addr_b, write_addr, write_data, tx_word, tx_addr, fault_addr;
  logic [11:0] rx_source;
  logic [4:0]  fault_cause;
  logic [63:0] fault_cycle;

  tile_exchange dut (
    .clk_i, .rst_ni(rst_n), .cycle_i(cycle), .start_i(start_i), .table_i, .issue_i(cycle - 64'd3),
    .release_i(64'd2), .xbase1_i(xbase1), .xbase2_i(xbase2), .xbase3_i(xbase3), .xsource_i(xsource), .ntiles_i(ntiles),
    .sram_end_i(sram_end), .read_a_o(read_a), .addr_a_o(addr_a), .data_a_i, .read_b_o(read_b), .addr_b_o(addr_b),
    .data_b_i, .write_o(write), .write_addr_o(write_addr), .write_data_o(write_data), .tx_valid_o(tx_valid),
    .tx_word_o(tx_word), .tx_addr_o(tx_addr), .rx_listen_o(rx_listen), .rx_source_o(rx_source), .rx_valid_i,
    .rx_word_i, .busy_o(busy), .resume_o(resume), .fault_o(fault), .fault_cause_o(fault_cause),
    .fault_addr_o(fault_addr), .fault_cycle_o(fault_cycle)
  );

  // What the ports say happened: the phase under way, X, the last cycle in which a word stood on a port.
  logic        phase = 1'b0, listened = 1'b0, taken = 1'b0;
  logic [63:0] issued = 64'd0, last = 64'd0, told = 64'd0;
  logic [31:0] word = 32'd0;
  always_ff @(posedge clk_i) begin
    if (!rst_n) phase <= 1'b0;
    else if (start_i) phase <= 1'b1;
    else if (resume) phase <= 1'b0;
    if (start_i) begin
      issued <= cycle - 64'd3;
      last   <= 64'd0;
    end else if (tx_valid || rx_listen) begin
      last <= cycle;
    end
    listened <= rx_listen && rst_n;
    taken    <= rx_listen && rx_valid_i && rst_n;
    word     <= rx_word_i;
  end

  always_comb begin
    assume (sram_end[2:0] == 3'd0);
    assume ((sram_end > 32'h40000) && (sram_end <= 32'h1040000));
    // The issue stage starts it only for an aligned table inside the SRAM, and not while it runs.
    if (start_i) assume ((table_i[2:0] == 3'd0) && (table_i >= 32'h40000) && (table_i < sram_end));
    if (phase || busy || !rst_n) assume (!start_i);
    if (rst_n) begin
      if (write) assert ((write_addr >= 32'h40000) && (write_addr < sram_end) && (write_addr[1:0] == 2'd0));
      if (write) assert (taken && (write_data == word));
      if (taken) assert (write);
      if (read_a) assert ((addr_a >= 32'h40000) && (addr_a < sram_end) && (addr_a[1:0] == 2'd0));
    end
    if (Times) begin
      // One phase from a fixed cycle on, up to two plain descriptors a list, of 1 to 3 words in the first 31 cycles.
      assume (start_i == (cycle == 64'd18));
      if (cycle == 64'd19) assume ((data_b_i[15:2] == 14'd0) && (data_b_i[31:18] == 14'd0));
      else assume ((data_b_i[1:0] == 2'd0) && (data_b_i[21:9] == 13'd0) && (data_b_i[33:24] == 10'd0) && (data_b_i[23:22] != 2'd0));
    end
    if (Times && rst_n) begin
      if (write) assert (phase && busy && !resume);
      if (resume) assert (phase && (cycle >= issued + 64'd12));
      if (resume) assert (!tx_valid && !rx_listen && !read_a && !write);
      if (resume && (last != 64'd0)) assert (cycle >= last + 64'd4);
      if (phase && (cycle > issued + 64'd6)) assert (busy);
      if (!phase) assert (!tx_valid && !rx_listen && !write && !resume);
    end
  end
endmodule
