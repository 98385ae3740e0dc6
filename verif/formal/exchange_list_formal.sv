// A descriptor list of the exchange engine against docs/machine/exchange.md: up to three plain descriptors of 1 to 3 words with
// any addresses and starts. A word is on the port in exactly the cycles and with exactly the addresses of the table; a
// start rule that is broken ends the list there as an overrun; the list is done when, and only when, nothing is left.
module exchange_list_formal #(
  parameter bit Send = 1'b1
) (
  input logic clk_i
);
  localparam logic [63:0] Port = Send ? 64'd1 : 64'd0;
  localparam logic [63:0] Begin = 64'd103;   // X = 100; stage X, header in two cycles, then the lists

  (* anyconst *) logic [63:0] table0;
  (* anyconst *) logic [63:0] table1;
  (* anyconst *) logic [63:0] table2;
  (* anyconst *) logic [1:0]  count;
  (* anyconst *) logic        odd;           // which cycles belong to this list at port B

  logic [63:0] cycle = 64'd99;
  logic        rst_n = 1'b0;
  always_ff @(posedge clk_i) begin
    cycle <= cycle + 64'd1;
    rst_n <= 1'b1;
  end

  logic        begin_lists, want, grant, active, good, done, fault;
  logic [31:0] fetch_addr, addr, fault_addr;
  logic [63:0] last, fault_cycle;
  logic [4:0]  fault_cause;
  logic [11:0] source;
  logic        grant_q = 1'b0;
  logic [31:0] fetch_q = 32'd0;
  assign begin_lists = (cycle == Begin + 64'd2);
  assign grant       = want && (cycle > Begin + 64'd2) && (cycle[0] == odd);
  always_ff @(posedge clk_i) begin
    grant_q <= grant;
    fetch_q <= fetch_addr;
  end
  logic [63:0] word;
  assign word = (fetch_q == 32'h40008) ? table0 : (fetch_q == 32'h40010) ? table1 : table2;

  exchange_list #(.Send(Send)) dut (
    .clk_i, .rst_ni(rst_n), .cycle_i(cycle),
    .begin_i(begin_lists), .base_i(32'h40008), .words_i({14'd0, count}), .first_i(64'd112), .release_i(64'd100),
    .want_o(want), .fetch_addr_o(fetch_addr), .grant_i(grant), .data_valid_i(grant_q), .data_i(word),
    .xbase1_i(32'h40100), .xbase2_i(32'h40200), .xbase3_i(32'h40300), .xsource_i(32'd5), .ntiles_i(13'd16),
    .sram_end_i(32'h80000), .underrun_i(1'b0),
    .active_o(active), .good_o(good), .addr_o(addr), .source_o(source),
    .done_o(done), .last_o(last), .fault_o(fault), .fault_cause_o(fault_cause), .fault_cycle_o(fault_cycle),
    .fault_addr_o(fault_addr)
  );

  function automatic logic [31:0] address(input logic [63:0] w);
    case (w[3:2])
      2'd1: address = 32'h40100 + {12'd0, w[51:34], 2'b00};
      2'd2: address = 32'h40200 + {12'd0, w[51:34], 2'b00};
      2'd3: address = 32'h40300 + {12'd0, w[51:34], 2'b00};
      default: address = 32'h40000 + {12'd0, w[51:34], 2'b00};
    endcase
  endfunction

  // The schedule that the table asks for.
  logic [63:0] start0, start1, start2, end0, end1, end2, port, stop;
  logic        ok0, ok1, ok2, due, broken;
  logic [31:0] want_addr;
  assign start0 = 64'd100 + {59'd0, table0[8:4]};
  assign start1 = 64'd100 + {59'd0, table1[8:4]};
  assign start2 = 64'd100 + {59'd0, table2[8:4]};
  assign end0   = start0 + {62'd0, table0[23:22]};
  assign end1   = start1 + {62'd0, table1[23:22]};
  assign end2   = start2 + {62'd0, table2[23:22]};
  assign ok0    = (count > 2'd0) && (start0 >= 64'd112);
  assign ok1    = ok0 && (count > 2'd1) && (start1 >= end0) && (start1 >= start0 + 64'd2);
  assign ok2    = ok1 && (count > 2'd2) && (start2 >= end1) && (start2 >= start1 + 64'd2);
  assign broken = ((count > 2'd0) && !ok0) || (ok0 && (count > 2'd1) && !ok1) || (ok1 && (count > 2'd2) && !ok2);
  assign stop   = ok2 ? end2 : ok1 ? end1 : ok0 ? end0 : 64'd0;   // behind the last word
  assign port   = cycle + Port;
  always_comb begin
    due       = 1'b0;
    want_addr = 32'd0;
    if (ok0 && (port >= start0) && (port < end0)) begin
      due       = 1'b1;
      want_addr = address(table0) + {port[29:0] - start0[29:0], 2'b00};
    end
    if (ok1 && (port >= start1) && (port < end1)) begin
      due       = 1'b1;
      want_addr = address(table1) + {port[29:0] - start1[29:0], 2'b00};
    end
    if (ok2 && (port >= start2) && (port < end2)) begin
      due       = 1'b1;
      want_addr = address(table2) + {port[29:0] - start2[29:0], 2'b00};
    end
  end

  always_comb begin
    // Plain descriptors, 1 to 3 words, starts in the first 31 cycles after Z, source 5.
    assume ((table0[1:0] == 2'd0) && (table1[1:0] == 2'd0) && (table2[1:0] == 2'd0));
    assume ((table0[21:9] == 13'd0) && (table1[21:9] == 13'd0) && (table2[21:9] == 13'd0));
    assume ((table0[33:24] == 10'd0) && (table1[33:24] == 10'd0) && (table2[33:24] == 10'd0));
    assume ((table0[23:22] != 2'd0) && (table1[23:22] != 2'd0) && (table2[23:22] != 2'd0));
    assume ((table0[63:52] == 12'd5) && (table1[63:52] == 12'd5) && (table2[63:52] == 12'd5));
    assume ((table0[51:48] == 4'd0) && (table1[51:48] == 4'd0) && (table2[51:48] == 4'd0));
    if (cycle > Begin + 64'd2) begin
      assert (active == due);
      if (due) assert (good && (addr == want_addr) && (source == 12'd5));
      if (done) assert (port >= stop);
      if (!broken && (port >= stop) && (cycle >= 64'd112)) assert (done);
      if (fault) assert (broken && (fault_cause == 5'd28));
      if (done && broken) assert (fault);
      if (fault) assert (fault_cycle == (!ok0 ? start0 : !ok1 ? start1 : start2));
      if (done && !broken && (count != 2'd0)) assert (last == stop - 64'd1);
    end
  end
endmodule
