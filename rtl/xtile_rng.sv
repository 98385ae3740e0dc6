// Random numbers of the six workers: xoroshiro128aox, one state each (docs/machine/tile.md).
//
// The output of a worker's next step is read in R; the step is made at the end of X, if the instruction takes effect. A
// worker issues every sixth cycle at most, so its next read sees it. clk_i must rise in every cycle with step_i,
// write_i or debug_write_i and may else stay low. Power-on: s0 = 2^32 + hart id, s1 = 1.
module xtile_rng (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [31:0]  hart_base_i,     // constant: worker w (0..5) is hart hart_base_i + w + 1
  input  logic         draw_i,          // R: draw_o is wanted
  input  logic [2:0]   draw_worker_i,   // R: 0..5
  output logic [63:0]  draw_o,          // R: output of the next step; 0 without draw_i
  input  logic [2:0]   worker_i,        // X: 0..5, who steps or whose CSR is read or written
  input  logic         step_i,          // X: the step is made
  input  logic         read_i,          // X: CSR xrng{index_i} is read
  input  logic         write_i,         // X: CSR xrng{index_i}, which is read too, becomes value_i; not together with step_i
  input  logic [1:0]   index_i,         // 0 s0 low, 1 s0 high, 2 s1 low, 3 s1 high
  input  logic [31:0]  value_i,
  output logic [31:0]  value_o,         // X: 0 without read_i
  input  logic         state_i,         // M or later: state_o is wanted
  input  logic [2:0]   state_worker_i,  // 0..5
  output logic [127:0] state_o,         // {s1, s0}; 0 without state_i
  input  logic         debug_write_i,   // debug port: one word, of a worker that is not in X; with state_i, same worker
  input  logic [1:0]   debug_index_i,
  input  logic [31:0]  debug_value_i
);
  // Whether a worker's state has been written; before, it is the power-on state, which hangs on a pin.
  logic [5:0]  own_q;
  logic [63:0] s0_q [0:5];
  logic [63:0] s1_q [0:5];

  function automatic logic [63:0] output_of(input logic [63:0] s0, input logic [63:0] s1);
    logic [63:0] sa;
    sa = s0 & s1;
    output_of = (s0 ^ s1) ^ ({sa[62:0], sa[63]} | {sa[61:0], sa[63:62]});
  endfunction

  // R
  logic [63:0] r_s0, r_s1;
  always_comb begin
    r_s0 = 64'd0;
    r_s1 = 64'd0;
    draw_o = 64'd0;
    if (draw_i) begin
      r_s0 = own_q[draw_worker_i] ? s0_q[draw_worker_i] :
             {32'd1, hart_base_i + {29'd0, draw_worker_i} + 32'd1};
      r_s1 = own_q[draw_worker_i] ? s1_q[draw_worker_i] : 64'd1;
      draw_o = output_of(r_s0, r_s1);
    end
  end

  // X. What is read does not hang on what is written: csrrs and csrrc make the one from the other.
  logic [63:0] x_s0, x_s1, sx, s0_d, s1_d;
  always_comb begin
    x_s0 = 64'd0;
    x_s1 = 64'd0;
    value_o = 32'd0;
    if (step_i || read_i) begin
      x_s0 = own_q[worker_i] ? s0_q[worker_i] : {32'd1, hart_base_i + {29'd0, worker_i} + 32'd1};
      x_s1 = own_q[worker_i] ? s1_q[worker_i] : 64'd1;
    end
    if (read_i) begin
      case (index_i)
        2'd0:    value_o = x_s0[31:0];
        2'd1:    value_o = x_s0[63:32];
        2'd2:    value_o = x_s1[31:0];
        default: value_o = x_s1[63:32];
      endcase
    end
  end
  always_comb begin
    sx = 64'd0;
    s0_d = 64'd0;
    s1_d = 64'd0;
    if (step_i || write_i) begin
      sx = x_s0 ^ x_s1;
      s0_d = {x_s0[8:0], x_s0[63:9]} ^ sx ^ {sx[49:0], 14'd0};
      s1_d = {sx[27:0], sx[63:28]};
      if (!step_i) begin
        s0_d = x_s0;
        s1_d = x_s1;
        case (index_i)
          2'd0:    s0_d[31:0] = value_i;
          2'd1:    s0_d[63:32] = value_i;
          2'd2:    s1_d[31:0] = value_i;
          default: s1_d[63:32] = value_i;
        endcase
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) own_q <= 6'd0;
    else begin
      if (step_i || write_i) own_q[worker_i] <= 1'b1;
      if (debug_write_i) own_q[state_worker_i] <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (step_i || write_i) begin
      s0_q[worker_i] <= s0_d;
      s1_q[worker_i] <= s1_d;
    end
    if (debug_write_i) begin
      s0_q[state_worker_i] <= {(debug_index_i == 2'd1) ? debug_value_i : state_o[63:32],
                               (debug_index_i == 2'd0) ? debug_value_i : state_o[31:0]};
      s1_q[state_worker_i] <= {(debug_index_i == 2'd3) ? debug_value_i : state_o[127:96],
                               (debug_index_i == 2'd2) ? debug_value_i : state_o[95:64]};
    end
  end

  // For the record and the debug port.
  always_comb begin
    state_o = 128'd0;
    if (state_i) begin
      state_o = own_q[state_worker_i] ? {s1_q[state_worker_i], s0_q[state_worker_i]} :
                {64'd1, 32'd1, hart_base_i + {29'd0, state_worker_i} + 32'd1};
    end
  end
endmodule
