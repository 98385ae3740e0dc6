// Transcendental instructions of Xtile: exp, log, tanh, sigmoid of f16v2 and f32, 1/sqrt of f32. The arithmetic is
// generated from hw/arith (transcendental_f16.sv, transcendental_f32.sv); here are its pipelines and the lanes.
//
// valid_i with operation, lane and operand at the end of stage R, one start a cycle; no two in flight have the same lane,
// but for voided ones, whose result nobody reads. lane_i shows the result of a lane from the W of f16 (four edges after R)
// or from seven cycles after that for f32 (11 edges), until the lane's next result. All f16 operations take 4 edges and
// all f32 operations 11, so that every instruction is done within its slots: at least 4 and 16 edges.
// clk_i must rise in every cycle with valid_i or busy_o and may else stay low.
module xtile_transcendental (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        valid_i,       // R: an operation of this unit
  input  logic [8:0]  op_i,          // R: tessera_pkg::OP_X_{EXP,LOG,TANH,SIGMOID}_{F16V2,F32}, OP_X_RSQRT_F32
  input  logic [2:0]  start_lane_i,  // R: slot of the operation, 0..5
  input  logic [31:0] a_i,           // R: rs1
  input  logic [2:0]  lane_i,        // W: slot whose result is shown
  output logic [31:0] result_o,      // W
  output logic        busy_o         // an operation is in flight, or its result on the way into its lane
);
  localparam int HALF_STAGES = 3;
  localparam int SINGLE_STAGES = 10;

  // Entry registers, those of stage X.
  logic [31:0] a_q;
  logic [2:0]  function_q;

  function automatic logic [3:0] select_function(input logic [8:0] op);  // {f16, function of hw/arith}
    case (op)
      tessera_pkg::OP_X_EXP_F16V2:     select_function = 4'd8;
      tessera_pkg::OP_X_LOG_F16V2:     select_function = 4'd9;
      tessera_pkg::OP_X_TANH_F16V2:    select_function = 4'd10;
      tessera_pkg::OP_X_SIGMOID_F16V2: select_function = 4'd11;
      tessera_pkg::OP_X_EXP_F32:       select_function = 4'd0;
      tessera_pkg::OP_X_LOG_F32:       select_function = 4'd1;
      tessera_pkg::OP_X_TANH_F32:      select_function = 4'd2;
      tessera_pkg::OP_X_SIGMOID_F32:   select_function = 4'd3;
      default:                         select_function = 4'd4;
    endcase
  endfunction

  logic [3:0] chosen;
  assign chosen = select_function(op_i);

  // Stage k has an operation, and for which lane; one position more than stages: the result stands in the pipeline's
  // result register.
  logic [HALF_STAGES:0]             half_valid_q;
  logic [SINGLE_STAGES:0]           single_valid_q;
  logic [3 * HALF_STAGES + 2:0]     half_lane_q;
  logic [3 * SINGLE_STAGES + 2:0]   single_lane_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      half_valid_q <= '0;
      single_valid_q <= '0;
    end else begin
      half_valid_q <= {half_valid_q[HALF_STAGES-1:0], valid_i && chosen[3]};
      single_valid_q <= {single_valid_q[SINGLE_STAGES-1:0], valid_i && !chosen[3]};
    end
  end

  always_ff @(posedge clk_i) begin
    half_lane_q <= {half_lane_q[3*HALF_STAGES-1:0], start_lane_i};
    single_lane_q <= {single_lane_q[3*SINGLE_STAGES-1:0], start_lane_i};
    if (valid_i) begin
      a_q <= a_i;
      function_q <= chosen[2:0];
    end
  end

  logic [31:0] half_result, single_result;

  transcendental_f16 u_low (
    .clk_i(clk_i), .enable_i(half_valid_q[HALF_STAGES-1:0]), .a_i(a_q[15:0]), .op_i(function_q),
    .result_o(half_result[15:0])
  );
  transcendental_f16 u_high (
    .clk_i(clk_i), .enable_i(half_valid_q[HALF_STAGES-1:0]), .a_i(a_q[31:16]), .op_i(function_q),
    .result_o(half_result[31:16])
  );
  transcendental_f32 u_single (
    .clk_i(clk_i), .enable_i(single_valid_q[SINGLE_STAGES-1:0]), .a_i(a_q), .op_i(function_q), .result_o(single_result)
  );

  // Results wait in their lanes. A voided f32 operation may still be in flight when its slot starts a shorter f16 one: the
  // lane takes f32 results only if its latest start was one.
  logic [31:0] lane_q [0:5];
  logic [5:0]  lane_half_q;
  logic [2:0]  half_lane, single_lane;
  logic        half_done, single_done;

  assign half_lane = half_lane_q[3*HALF_STAGES+2:3*HALF_STAGES];
  assign single_lane = single_lane_q[3*SINGLE_STAGES+2:3*SINGLE_STAGES];
  assign half_done = half_valid_q[HALF_STAGES];
  assign single_done = single_valid_q[SINGLE_STAGES] && !lane_half_q[single_lane];

  always_ff @(posedge clk_i) begin
    if (valid_i) lane_half_q[start_lane_i] <= chosen[3];
    if (single_done) lane_q[single_lane] <= single_result;
    if (half_done) lane_q[half_lane] <= half_result;
  end

  always_comb begin
    result_o = lane_q[lane_i];
    if (single_done && single_lane == lane_i) result_o = single_result;
    if (half_done && half_lane == lane_i) result_o = half_result;
  end

  assign busy_o = half_valid_q != '0 || single_valid_q != '0;
endmodule
