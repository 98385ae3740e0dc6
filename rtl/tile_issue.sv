// Issue stage: which context issues in a cycle, states of the contexts, program counters (docs/machine/timing.md).
//
// Slot s belongs to worker s+1 while it runs; the supervisor issues in vacant slots, at least six cycles apart. An
// instruction issued in cycle T executes (stage X) in T+3; what changes the state of a context there is delayed to be
// seen from T+6 on. Multi-slot operations leave their slot silent; its last round is a completion, a bubble that carries
// the lane's result to the write stage.
//
// The debug port (docs/machine/debug.md): a context with a flag up does not issue; its slot, and everything that is under
// way, go on as ever.
module tile_issue (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [2:0]   slot_i,          // slot of the current cycle
  // Start of a context from outside: sampled in the cycle before its first possible issue.
  input  logic         start_valid_i,
  input  logic [2:0]   start_ctx_i,
  input  logic [31:0]  start_pc_i,
  // Stage X of the instruction issued three cycles ago.
  input  logic         x_valid_i,       // an instruction ends in X, trapped or not
  input  logic [2:0]   x_ctx_i,
  input  logic [2:0]   x_slot_i,
  input  logic [31:0]  x_next_pc_i,
  input  logic         x_except_i,      // trap without a handler
  input  logic         x_quit_i,        // x.exit
  input  logic [5:0]   x_run_i,         // workers started by x.run
  input  logic [31:0]  x_run_pc_i,
  input  logic [2:0]   x_slots_i,       // slots of the instruction: 1 to 6, of the supervisor 1, 3, 6
  input  logic [31:0]  x_delay_i,       // x.delay: cycles to the next issue, otherwise 0
  input  logic         x_sync_i,
  input  logic [2:0]   x_zone_i,
  input  logic         x_exch_i,        // x.exchange or x.packet handed to its engine
  input  logic         x_pkt_i,
  input  logic         x_break_i,       // ebreak that halts: nothing but a slot is taken
  input  logic         x_hold_i,        // begins an implicit wait
  input  logic [5:0]   hold_mask_i,     // workers waited for, while in SupHold
  // Release of a wider sync, registered: now is cycle Z.
  input  logic         release_i,
  // Engines: the supervisor goes on in this cycle, or traps.
  input  logic         exch_resume_i,
  input  logic         pkt_resume_i,
  input  logic         engine_fault_i,  // with either resume: a trap issues instead
  input  logic         stray_i,         // a packet outside the window waits for its trap
  // To fetch and decode.
  output logic         f_valid_o,       // an instruction or injected trap issues
  output logic         f_inject_o,      // injected trap
  output logic         f_comp_o,        // completion of the slot's lane
  output logic [2:0]   f_ctx_o,
  output logic [31:0]  f_pc_o,
  output logic         f_vacant_o,      // nobody owns the slot
  output logic [5:0]   busy_o,          // worker not idle (running or excepted), as instructions issued now see it
  output logic [6:0]   except_o,        // context excepted, bit 0 the supervisor
  output logic         sync_local_o,    // x.sync local ends in this cycle
  output logic         raise_o,         // line of a wider zone rises in this cycle
  output tile_pkg::sup_state_e state_o,
  output logic         quiet_o,         // no context can issue without an event from outside
  // Debug port. Commands are given in the cycle before the one in which they act, bit 0 the supervisor.
  input  logic [6:0]   dbg_halt_i,
  input  logic [6:0]   dbg_resume_i,
  input  logic         dbg_pc_we_i,     // writes of dbg_ctx_i's pc and xdcsr
  input  logic         dbg_dcsr_we_i,
  input  logic [31:0]  dbg_wdata_i,
  input  logic [2:0]   dbg_ctx_i,
  output logic [31:0]  dbg_pc_o,
  output logic [31:0]  dbg_dcsr_o,      // xdcsr
  output logic [6:0]   ebreakm_o,       // ebreak halts
  output logic [6:0]   halted_o         // would have issued by now
);
  tile_pkg::sup_state_e state_q, state_d;
  logic [31:0] pc_q [0:7];
  logic [31:0] count_q, count_d;   // cycles until the supervisor may issue
  logic [2:0]  rounds_q [0:7];     // rounds left of the multi-slot operation in a slot
  logic [5:0]  owned_q, owned_d;
  logic [6:0]  except_q;
  logic [2:0]  zone_q;

  // From X (T+3) through T+4 to T+5: at its end the context states change, so they are new from T+6 on.
  logic [5:0] m_run_q, n_run_q;
  logic [5:0] m_gone_q, n_gone_q;  // worker's slot becomes vacant
  logic [6:0] m_except_q, n_except_q;

  // What stops a context: a request, a finished step, an ebreak; stop_q is any of them.
  logic [6:0] request_q, stepped_q, stepped_d, broken_q, broken_d, stop_q, halted_q, halted_d, step_q,
              ebreakm_q, m_break_q, n_break_q, gone, here;

  logic       owned, steal, silent, arrived, sup_go, sup_issue, stopped, x_sup;
  logic [7:0] owned_wide;
  logic [6:0] x_mask;

  integer i;
  initial begin
    for (i = 0; i < 8; i = i + 1) begin
      pc_q[i]     = 32'd0;
      rounds_q[i] = 3'd0;
    end
  end

  assign owned_wide   = {2'b00, owned_q};
`ifdef TESSERA_FAULTS
  logic faulty;  // planted fault, chosen at run time: the supervisor takes the slot of a running worker now and then
  initial faulty = ($test$plusargs("fault_slot") != 0);
`elsif TESSERA_FAULT_SLOT
  localparam logic faulty = 1'b1;
`else
  localparam logic faulty = 1'b0;
`endif
  assign steal        = faulty && (state_q == tile_pkg::SupRun) && (count_q == 32'd0) && (pc_q[0][5:2] == 4'hF);
  assign owned        = owned_wide[slot_i] && !steal;
  assign silent       = (rounds_q[slot_i] != 3'd0);
  assign f_vacant_o   = !owned;
  assign f_comp_o     = (rounds_q[slot_i] == 3'd1);
  assign busy_o       = owned_q | except_q[6:1];
  assign except_o     = except_q;
  assign state_o      = state_q;
  assign arrived      = (state_q == tile_pkg::SupSync) && (count_q == 32'd0) && (busy_o == 6'd0);
  assign sync_local_o = arrived && (zone_q == 3'd0);
  assign raise_o      = arrived && (zone_q != 3'd0);
  assign x_sup        = x_valid_i && (x_ctx_i == 3'd0);

  // The supervisor goes on; it issues unless it is stopped. The trap of an engine belongs to what waited for it.
  always_comb begin
    case (state_q)
      tile_pkg::SupRun: sup_go = !owned && (count_q == 32'd0);
      tile_pkg::SupSync: sup_go = sync_local_o;
      tile_pkg::SupRelease: sup_go = release_i;
      tile_pkg::SupExch: sup_go = exch_resume_i;
      tile_pkg::SupPacket: sup_go = pkt_resume_i;
      default: sup_go = 1'b0;
    endcase
  end

  assign stopped    = stop_q[f_ctx_o];
  assign sup_issue  = sup_go && (!stopped || engine_fault_i);
  assign f_valid_o  = sup_issue || (owned && !silent && !stopped);
  // A packet that came outside the window is told at the release that follows, when all that came before it is known.
  assign f_inject_o = sup_issue && (engine_fault_i || (stray_i && (state_q == tile_pkg::SupRelease)));
  assign f_ctx_o    = owned ? (slot_i + 3'd1) : 3'd0;
  assign f_pc_o     = pc_q[f_ctx_o];

  // Supervisor: state and distance to the next issue. Stage X of an instruction comes three cycles after its issue and
  // the state is SupRun in between, so the two never meet.
  always_comb begin
    state_d = state_q;
    count_d = (count_q == 32'd0) ? 32'd0 : (count_q - 32'd1);
    if (raise_o) state_d = tile_pkg::SupRelease;
    if (sup_go) begin
      state_d = tile_pkg::SupRun;
      if (sup_issue) count_d = 32'd5;
    end
    if (x_sup) begin
      // T+6n less the four cycles that are over when this is seen.
      if (x_delay_i > 32'd6) count_d = x_delay_i - 32'd4;
      else if (x_slots_i == 3'd6) count_d = 32'd32;
      else if (x_slots_i == 3'd3) count_d = 32'd14;
      else count_d = 32'd2;
      state_d = x_except_i ? tile_pkg::SupExcept : x_sync_i ? tile_pkg::SupSync : x_exch_i ? tile_pkg::SupExch :
                x_pkt_i ? tile_pkg::SupPacket : tile_pkg::SupRun;
    end else if (x_hold_i) begin
      state_d = tile_pkg::SupHold;
    end
    if (start_valid_i && (start_ctx_i == 3'd0)) begin
      state_d = tile_pkg::SupRun;
      count_d = 32'd0;
    end
  end

  assign x_mask   = 7'd1 << x_ctx_i;
  assign owned_d  = (owned_q | n_run_q | (start_valid_i ? start_mask[6:1] : 6'd0)) & ~n_gone_q;
  assign gone     = except_q | n_except_q;
  logic [6:0] start_mask;
  assign start_mask = 7'd1 << start_ctx_i;

  // Flags of the debug port, as they stand in the next cycle if nothing is resumed then. A resume undoes a step of this
  // cycle and what an ebreak has done by the next one. A context is halted from the first cycle in which it would have
  // issued. The pins act in the flops alone, so that the issue does not hang on them.
  assign here      = 7'd1 << f_ctx_o;
  assign stepped_d = stepped_q | ((f_valid_o && step_q[f_ctx_o] && !(sup_issue && engine_fault_i)) ? here : 7'd0);
  assign broken_d  = broken_q | n_break_q;
  assign halted_d  = halted_q | ((stopped && !sup_issue && (owned ? !silent : sup_go)) ? here : 7'd0);
  assign halted_o  = halted_q;
  assign ebreakm_o = ebreakm_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q    <= tile_pkg::SupIdle;
      count_q    <= 32'd0;
      owned_q    <= 6'd0;
      except_q   <= 7'd0;
      zone_q     <= 3'd0;
      m_run_q    <= 6'd0;
      n_run_q    <= 6'd0;
      m_gone_q   <= 6'd0;
      n_gone_q   <= 6'd0;
      m_except_q <= 7'd0;
      n_except_q <= 7'd0;
      m_break_q  <= 7'd0;
      n_break_q  <= 7'd0;
      request_q  <= 7'd0;
      stepped_q  <= 7'd0;
      broken_q   <= 7'd0;
      stop_q     <= 7'd0;
      halted_q   <= 7'd0;
      step_q     <= 7'd0;
      ebreakm_q  <= 7'd0;
    end else begin
      state_q    <= state_d;
      count_q    <= count_d;
      owned_q    <= owned_d;
      except_q   <= gone;
      if (x_sup && x_sync_i) zone_q <= x_zone_i;
      m_run_q    <= x_run_i;
      n_run_q    <= m_run_q;
      m_gone_q   <= (x_valid_i && (x_quit_i || x_except_i)) ? x_mask[6:1] : 6'd0;
      n_gone_q   <= m_gone_q;
      m_except_q <= (x_valid_i && x_except_i) ? x_mask : 7'd0;
      n_except_q <= m_except_q;
      m_break_q  <= x_break_i ? x_mask : 7'd0;
      n_break_q  <= m_break_q;
      stepped_q  <= stepped_d;
      broken_q   <= broken_d;
      stop_q     <= request_q | stepped_d | broken_d;
      halted_q   <= halted_d;
      if ((dbg_resume_i != 7'd0) || (dbg_halt_i != 7'd0)) begin
        request_q <= (request_q & ~dbg_resume_i) | dbg_halt_i;
        stepped_q <= stepped_d & ~dbg_resume_i;
        broken_q  <= broken_d & ~dbg_resume_i;
        stop_q    <= ((request_q | stepped_d | broken_d) & ~dbg_resume_i) | dbg_halt_i;
        halted_q  <= halted_d & ~dbg_resume_i;
        except_q  <= gone & ~dbg_resume_i;
        owned_q   <= owned_d | (gone[6:1] & dbg_resume_i[6:1]);
        if (dbg_resume_i[0] && gone[0]) begin
          state_q <= tile_pkg::SupRun;
          count_q <= 32'd0;
        end
      end
      if (dbg_dcsr_we_i) begin
        step_q[dbg_ctx_i]    <= dbg_wdata_i[2];
        ebreakm_q[dbg_ctx_i] <= dbg_wdata_i[15];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (x_valid_i) pc_q[x_ctx_i] <= x_next_pc_i;
    if (x_run_i != 6'd0) begin
      for (i = 1; i <= 6; i = i + 1) if (x_run_i[i-1]) pc_q[i] <= x_run_pc_i;
    end
    if (start_valid_i) pc_q[start_ctx_i] <= start_pc_i;
    if (dbg_pc_we_i) pc_q[dbg_ctx_i] <= dbg_wdata_i;
  end

  always_ff @(posedge clk_i) begin
    if (silent) rounds_q[slot_i] <= rounds_q[slot_i] - 3'd1;
    // x.amp.ldw, of the supervisor and three slots, has no lane.
    if (x_valid_i && (x_slots_i != 3'd1) && !((x_ctx_i == 3'd0) && (x_slots_i == 3'd3)))
      rounds_q[x_slot_i] <= x_slots_i - 3'd1;
  end

  // Halted workers wait for the debug port, and whoever waits for one of them does too.
  always_comb begin
    case (state_q)
      tile_pkg::SupIdle, tile_pkg::SupExcept, tile_pkg::SupRelease: quiet_o = 1'b1;
      tile_pkg::SupRun: quiet_o = (halted_q[0] && stop_q[0]) || ((owned_q == 6'h3F) && (count_q == 32'd0));
      tile_pkg::SupSync: quiet_o = (busy_o != 6'd0);
      tile_pkg::SupHold: quiet_o = ((busy_o & hold_mask_i) != 6'd0);
      default: quiet_o = 1'b0;
    endcase
    if (((owned_q & ~(halted_q[6:1] & stop_q[6:1])) != 6'd0) || (m_run_q != 6'd0) || (n_run_q != 6'd0) ||
        (m_except_q != 7'd0) || (n_except_q != 7'd0) || (m_break_q != 7'd0) || (n_break_q != 7'd0)) quiet_o = 1'b0;
  end

  assign dbg_pc_o   = pc_q[dbg_ctx_i];
  assign dbg_dcsr_o = {16'd0, ebreakm_q[dbg_ctx_i], 6'd0,
                       broken_q[dbg_ctx_i] ? 3'd1 : request_q[dbg_ctx_i] ? 3'd3 : stepped_q[dbg_ctx_i] ? 3'd4 : 3'd0,
                       3'd0, step_q[dbg_ctx_i], 2'd0};
endmodule
