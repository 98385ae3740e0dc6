// Streams of the six workers: pointers S0, S1 (loads), S2 (store) and their stride pairs. An access in stage X takes the
// pointers as they stand and moves those it uses if it takes effect; whether it may is for tile_execute to say.
module tile_streams (
  input  logic        clk_i,
  // Stage X. At most one of use, set and CSR write.
  input  logic [2:0]  ctx_i,
  input  logic        stream_i,     // x.ld2, x.ldst, x.ld2st
  input  logic [2:0]  uses_i,       // pointers that it moves
  input  logic [5:0]  steps_i,      // 1:0 step of S0, 3:2 of S1, 5:4 of S2
  input  logic        move_i,       // it takes effect
  input  logic        set_i,        // x.sset takes effect
  input  logic [1:0]  set_k_i,
  input  logic [31:0] set_addr_i,
  input  logic [31:0] set_strides_i,
  input  logic        csr_i,        // CSR access: 0..2 xs0..2, 3..5 xst0..2
  input  logic        csr_we_i,
  input  logic [2:0]  csr_number_i,
  input  logic [31:0] csr_value_i,
  output logic [31:0] csr_read_o,
  output logic [31:0] s0_o,         // addresses of the access, 0 unless stream_i
  output logic [31:0] s1_o,
  output logic [31:0] s2_o,
  // Stage W, for the record: the pointers in the mask as they stand, else 0. The context has not issued again.
  input  logic [2:0]  w_ctx_i,
  input  logic [2:0]  w_mask_i,
  output logic [31:0] w_s0_o,
  output logic [31:0] w_s1_o,
  output logic [31:0] w_s2_o,
  // Debug port: read, combinational, and write of 0..2 pointers, 3..5 stride pairs.
  input  logic        dbg_we_i,
  input  logic [31:0] dbg_wdata_i,
  input  logic        dbg_en_i,
  input  logic [2:0]  dbg_ctx_i,
  input  logic [2:0]  dbg_sel_i,
  output logic [31:0] dbg_data_o
);
  logic [31:0] s0_q [0:7];
  logic [31:0] s1_q [0:7];
  logic [31:0] s2_q [0:7];
  logic [31:0] strides0_q [0:7];
  logic [31:0] strides1_q [0:7];
  logic [31:0] strides2_q [0:7];
  logic [31:0] strides0, strides1, strides2, next0, next1, next2;

  integer i;
  initial begin  // power-on
    for (i = 0; i < 8; i = i + 1) begin
      s0_q[i]       = 32'd0;
      s1_q[i]       = 32'd0;
      s2_q[i]       = 32'd0;
      strides0_q[i] = 32'd0;
      strides1_q[i] = 32'd0;
      strides2_q[i] = 32'd0;
    end
  end

  always_comb begin
    s0_o     = 32'd0;
    s1_o     = 32'd0;
    s2_o     = 32'd0;
    strides0 = 32'd0;
    strides1 = 32'd0;
    strides2 = 32'd0;
    if (stream_i) begin
      s0_o     = s0_q[ctx_i];
      s1_o     = s1_q[ctx_i];
      s2_o     = s2_q[ctx_i];
      strides0 = strides0_q[ctx_i];
      strides1 = strides1_q[ctx_i];
      strides2 = strides2_q[ctx_i];
    end
  end

  tile_stream_step u_step0 (.address_i(s0_o), .strides_i(strides0), .step_i(steps_i[1:0]), .next_o(next0));
  tile_stream_step u_step1 (.address_i(s1_o), .strides_i(strides1), .step_i(steps_i[3:2]), .next_o(next1));
  tile_stream_step u_step2 (.address_i(s2_o), .strides_i(strides2), .step_i(steps_i[5:4]), .next_o(next2));

  always_ff @(posedge clk_i) begin
    if (move_i) begin
      if (uses_i[0]) s0_q[ctx_i] <= next0;
      if (uses_i[1]) s1_q[ctx_i] <= next1;
      if (uses_i[2]) s2_q[ctx_i] <= next2;
    end else if (set_i) begin
      case (set_k_i)
        2'd0: begin
          s0_q[ctx_i]       <= set_addr_i;
          strides0_q[ctx_i] <= set_strides_i;
        end
        2'd1: begin
          s1_q[ctx_i]       <= set_addr_i;
          strides1_q[ctx_i] <= set_strides_i;
        end
        default: begin
          s2_q[ctx_i]       <= set_addr_i;
          strides2_q[ctx_i] <= set_strides_i;
        end
      endcase
    end else if (csr_we_i) begin
      case (csr_number_i)
        3'd0: s0_q[ctx_i] <= csr_value_i;
        3'd1: s1_q[ctx_i] <= csr_value_i;
        3'd2: s2_q[ctx_i] <= csr_value_i;
        3'd3: strides0_q[ctx_i] <= csr_value_i;
        3'd4: strides1_q[ctx_i] <= csr_value_i;
        default: strides2_q[ctx_i] <= csr_value_i;
      endcase
    end
    if (dbg_we_i) begin
      case (dbg_sel_i)
        3'd0: s0_q[dbg_ctx_i] <= dbg_wdata_i;
        3'd1: s1_q[dbg_ctx_i] <= dbg_wdata_i;
        3'd2: s2_q[dbg_ctx_i] <= dbg_wdata_i;
        3'd3: strides0_q[dbg_ctx_i] <= dbg_wdata_i;
        3'd4: strides1_q[dbg_ctx_i] <= dbg_wdata_i;
        default: strides2_q[dbg_ctx_i] <= dbg_wdata_i;
      endcase
    end
  end

  function automatic logic [31:0] pick(input logic [2:0] number, input logic [31:0] s0, input logic [31:0] s1,
                                       input logic [31:0] s2, input logic [31:0] st0, input logic [31:0] st1,
                                       input logic [31:0] st2);
    case (number)
      3'd0: pick = s0;
      3'd1: pick = s1;
      3'd2: pick = s2;
      3'd3: pick = st0;
      3'd4: pick = st1;
      default: pick = st2;
    endcase
  endfunction

  always_comb begin
    csr_read_o = 32'd0;
    if (csr_i)
      csr_read_o = pick(csr_number_i, s0_q[ctx_i], s1_q[ctx_i], s2_q[ctx_i], strides0_q[ctx_i], strides1_q[ctx_i],
                        strides2_q[ctx_i]);
  end

  always_comb begin
    w_s0_o = 32'd0;
    w_s1_o = 32'd0;
    w_s2_o = 32'd0;
    if (w_mask_i != 3'd0) begin
      if (w_mask_i[0]) w_s0_o = s0_q[w_ctx_i];
      if (w_mask_i[1]) w_s1_o = s1_q[w_ctx_i];
      if (w_mask_i[2]) w_s2_o = s2_q[w_ctx_i];
    end
  end

  always_comb begin
    dbg_data_o = 32'd0;
    if (dbg_en_i)
      dbg_data_o = pick(dbg_sel_i, s0_q[dbg_ctx_i], s1_q[dbg_ctx_i], s2_q[dbg_ctx_i], strides0_q[dbg_ctx_i],
                        strides1_q[dbg_ctx_i], strides2_q[dbg_ctx_i]);
  end
endmodule
