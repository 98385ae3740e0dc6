// Hardware loops of the six workers (x.rpt; docs/machine/timing.md): first and last address of the body, rounds that
// remain, and the pc that follows an instruction in order. Used in stage X; a context is here at most once in six cycles.
//
// The body begins where the x.rpt goes on in order. When the pc in order is the end of the body, one round is over: the
// pc is the start of the body again, or the loop ends. What may not stand in a body traps elsewhere (active_o).
module tile_loop (
  input  logic        clk_i,
  input  logic        rst_ni,
  // Stage X.
  input  logic [2:0]  ctx_i,
  input  logic        valid_i,        // the instruction, or both of a pair, end without a trap
  input  logic        set_i,          // with valid_i: it is x.rpt
  input  logic [31:0] count_i,        // its rounds
  input  logic [6:0]  body_i,         // its body in doublewords, 1..64
  input  logic [31:0] sequential_i,   // pc in order
  input  logic        set_trap_i,     // x.rpt took effect and the AUX beside it traps
  input  logic        trap_i,         // a trap of the context: the loop ends, the rounds stay
  input  logic [5:0]  run_i,          // x.run starts workers: likewise
  input  logic        dbg_end_i,      // debug write of the pc of dbg_ctx_i: likewise
  input  logic [2:0]  dbg_ctx_i,
  output logic        active_o,       // ctx_i is in a loop
  output logic [31:0] next_o,         // pc after an instruction that neither jumps nor traps
  output logic [31:0] remaining_o,    // CSR xrpt of ctx_i
  output logic [31:0] dbg_remaining_o
);
  logic [7:0]  active_q;
  logic [31:0] start_q [0:7];
  logic [31:0] end_q [0:7];
  logic [31:0] remaining_q [0:7];

  logic        at_end, last;
  logic [31:0] remaining, body_end;

  integer i;
  initial begin
    for (i = 0; i < 8; i = i + 1) begin
      start_q[i]     = 32'd0;
      end_q[i]       = 32'd0;
      remaining_q[i] = 32'd0;
    end
  end

  assign active_o        = active_q[ctx_i];
  assign remaining       = remaining_q[ctx_i];
  assign remaining_o     = remaining;
  assign dbg_remaining_o = remaining_q[dbg_ctx_i];

`ifdef TESSERA_FAULTS
  logic faulty;  // planted fault, chosen at run time: the body is a doubleword longer
  initial faulty = ($test$plusargs("fault_loop_end") != 0);
`elsif TESSERA_FAULT_LOOP_END
  localparam logic faulty = 1'b1;
`else
  localparam logic faulty = 1'b0;
`endif
  assign at_end   = active_o && (sequential_i == (end_q[ctx_i] + (faulty ? 32'd8 : 32'd0)));
  assign last     = (remaining == 32'd1);
  assign body_end = sequential_i + {22'd0, body_i, 3'b000};
  assign next_o   = set_i ? ((count_i == 32'd0) ? body_end : sequential_i) :
                    (at_end && !last) ? start_q[ctx_i] : sequential_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= 8'd0;
    end else begin
      if (valid_i && set_i) active_q[ctx_i] <= (count_i != 32'd0);
      else if (trap_i || (valid_i && at_end && last)) active_q[ctx_i] <= 1'b0;
      if (run_i != 6'd0) begin
        for (i = 1; i <= 6; i = i + 1) if (run_i[i-1]) active_q[i] <= 1'b0;
      end
      if (dbg_end_i) active_q[dbg_ctx_i] <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if ((valid_i && set_i) || set_trap_i) begin
      start_q[ctx_i]     <= sequential_i;
      end_q[ctx_i]       <= body_end;
      remaining_q[ctx_i] <= count_i;
    end else if (valid_i && at_end) begin
      remaining_q[ctx_i] <= remaining - 32'd1;
    end
  end
endmodule
