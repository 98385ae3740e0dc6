// Xtile arithmetic on f registers, all of custom-2 and custom-3 but transcendentals and AMP: lanes of f16 and f32, dot,
// lane sums and moves, conversions, random numbers. Fully pipelined, no state; the arithmetic of docs/machine/tile.md.
//
// Operands at the end of stage R with valid_i; result_o stands in W, four edges of clk_i later: three stages of logic
// X, M, N behind the entry registers. clk_i must rise in every cycle with valid_i or busy_o and may else stay low. Bits
// that an operand does not have may be anything; those that a result does not have are 0. A start that is void later
// does no harm.
module xtile_simd (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         valid_i,     // R: an operation of this unit
  input  logic [8:0]   op_i,        // tessera_pkg::OP_X_*
  input  logic [127:0] a_i,         // rs1: up to four registers, the first in bits 31:0
  input  logic [63:0]  b_i,         // rs2: up to two
  input  logic [63:0]  c_i,         // rs3: up to two
  input  logic [63:0]  draw_i,      // output of the PRNG step, for those that draw
  output logic [127:0] result_o,    // W: up to four registers
  output logic         busy_o       // an operation is in X, M or N
);
  // ---- entry ------------------------------------------------------------------------------------------------------
  logic         x_valid_q, m_valid_q, n_valid_q;
  logic [8:0]   x_op_q;
  logic [127:0] x_a_q;
  logic [63:0]  x_b_q, x_c_q, x_draw_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      x_valid_q <= 1'b0;
      m_valid_q <= 1'b0;
      n_valid_q <= 1'b0;
    end else begin
      x_valid_q <= valid_i;
      m_valid_q <= x_valid_q;
      n_valid_q <= m_valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      x_op_q <= op_i;
      x_a_q <= a_i;
      x_b_q <= b_i;
      x_c_q <= c_i;
      x_draw_q <= draw_i;
    end
  end
  assign busy_o = x_valid_q || m_valid_q || n_valid_q;

  // ---- X: decode ----------------------------------------------------------------------------------------------------
  // Which sub-unit works on which lanes; what is left is the moves' matter.
  xtile_pkg::lane_op_e lane_op;
  logic [3:0]          half_lanes;    // f16 lanes
  logic [1:0]          single_lanes;  // f32 lanes
  logic [3:0]          narrow_lanes, widen_lanes;
  logic [1:0]          to_lanes, from_lanes;
  logic                scalar, sum_half, sum_quad, sum_single, dot, stochastic, unsigned_int;

  always_comb begin
    lane_op = xtile_pkg::LaneAdd;
    half_lanes = 4'd0;
    single_lanes = 2'd0;
    narrow_lanes = 4'd0;
    widen_lanes = 4'd0;
    to_lanes = 2'd0;
    from_lanes = 2'd0;
    scalar = 1'b0;
    sum_half = 1'b0;
    sum_quad = 1'b0;
    sum_single = 1'b0;
    dot = 1'b0;
    stochastic = 1'b0;
    unsigned_int = 1'b0;
    if (x_valid_q) begin
      case (x_op_q)
        tessera_pkg::OP_X_ADD_F16V2, tessera_pkg::OP_X_ADD_F16V4, tessera_pkg::OP_X_ADD_F32V2:
          lane_op = xtile_pkg::LaneAdd;
        tessera_pkg::OP_X_SUB_F16V2, tessera_pkg::OP_X_SUB_F16V4, tessera_pkg::OP_X_SUB_F32V2:
          lane_op = xtile_pkg::LaneSub;
        tessera_pkg::OP_X_MUL_F16V2, tessera_pkg::OP_X_MUL_F16V4, tessera_pkg::OP_X_MUL_F32V2:
          lane_op = xtile_pkg::LaneMul;
        tessera_pkg::OP_X_MAX_F16V2, tessera_pkg::OP_X_MAX_F16V4, tessera_pkg::OP_X_MAX_F32V2:
          lane_op = xtile_pkg::LaneMax;
        tessera_pkg::OP_X_MIN_F16V2, tessera_pkg::OP_X_MIN_F16V4, tessera_pkg::OP_X_MIN_F32V2:
          lane_op = xtile_pkg::LaneMin;
        tessera_pkg::OP_X_CMPEQ_F16V2, tessera_pkg::OP_X_CMPEQ_F16V4, tessera_pkg::OP_X_CMPEQ_F32V2:
          lane_op = xtile_pkg::LaneEq;
        tessera_pkg::OP_X_CMPLT_F16V2, tessera_pkg::OP_X_CMPLT_F16V4, tessera_pkg::OP_X_CMPLT_F32V2:
          lane_op = xtile_pkg::LaneLt;
        tessera_pkg::OP_X_CMPLE_F16V2, tessera_pkg::OP_X_CMPLE_F16V4, tessera_pkg::OP_X_CMPLE_F32V2:
          lane_op = xtile_pkg::LaneLe;
        tessera_pkg::OP_X_ABS_F16V2, tessera_pkg::OP_X_ABS_F16V4, tessera_pkg::OP_X_ABS_F32V2:
          lane_op = xtile_pkg::LaneAbs;
        tessera_pkg::OP_X_NEG_F16V2, tessera_pkg::OP_X_NEG_F16V4, tessera_pkg::OP_X_NEG_F32V2:
          lane_op = xtile_pkg::LaneNeg;
        tessera_pkg::OP_X_SEL_F16V2, tessera_pkg::OP_X_SEL_F16V4, tessera_pkg::OP_X_SEL_F32V2:
          lane_op = xtile_pkg::LaneSel;
        tessera_pkg::OP_X_MAC_F16V2, tessera_pkg::OP_X_MAC_F16V4, tessera_pkg::OP_X_MAC_F32V2:
          lane_op = xtile_pkg::LaneMac;
        tessera_pkg::OP_X_SADD_F16V2, tessera_pkg::OP_X_SADD_F16V4, tessera_pkg::OP_X_SADD_F32V2: begin
          lane_op = xtile_pkg::LaneMac;
          scalar = 1'b1;
        end
        default: lane_op = xtile_pkg::LaneAdd;
      endcase
      case (x_op_q)
        tessera_pkg::OP_X_ADD_F16V2, tessera_pkg::OP_X_SUB_F16V2, tessera_pkg::OP_X_MUL_F16V2,
        tessera_pkg::OP_X_MAX_F16V2, tessera_pkg::OP_X_MIN_F16V2, tessera_pkg::OP_X_CMPEQ_F16V2,
        tessera_pkg::OP_X_CMPLT_F16V2, tessera_pkg::OP_X_CMPLE_F16V2, tessera_pkg::OP_X_ABS_F16V2,
        tessera_pkg::OP_X_NEG_F16V2, tessera_pkg::OP_X_SEL_F16V2, tessera_pkg::OP_X_MAC_F16V2,
        tessera_pkg::OP_X_SADD_F16V2:
          half_lanes = 4'b0011;
        tessera_pkg::OP_X_ADD_F16V4, tessera_pkg::OP_X_SUB_F16V4, tessera_pkg::OP_X_MUL_F16V4,
        tessera_pkg::OP_X_MAX_F16V4, tessera_pkg::OP_X_MIN_F16V4, tessera_pkg::OP_X_CMPEQ_F16V4,
        tessera_pkg::OP_X_CMPLT_F16V4, tessera_pkg::OP_X_CMPLE_F16V4, tessera_pkg::OP_X_ABS_F16V4,
        tessera_pkg::OP_X_NEG_F16V4, tessera_pkg::OP_X_SEL_F16V4, tessera_pkg::OP_X_MAC_F16V4,
        tessera_pkg::OP_X_SADD_F16V4:
          half_lanes = 4'b1111;
        tessera_pkg::OP_X_ADD_F32V2, tessera_pkg::OP_X_SUB_F32V2, tessera_pkg::OP_X_MUL_F32V2,
        tessera_pkg::OP_X_MAX_F32V2, tessera_pkg::OP_X_MIN_F32V2, tessera_pkg::OP_X_CMPEQ_F32V2,
        tessera_pkg::OP_X_CMPLT_F32V2, tessera_pkg::OP_X_CMPLE_F32V2, tessera_pkg::OP_X_ABS_F32V2,
        tessera_pkg::OP_X_NEG_F32V2, tessera_pkg::OP_X_SEL_F32V2, tessera_pkg::OP_X_MAC_F32V2,
        tessera_pkg::OP_X_SADD_F32V2:
          single_lanes = 2'b11;
        tessera_pkg::OP_X_SUM_F32V2: begin
          sum_single = 1'b1;
          single_lanes = 2'b01;
        end
        tessera_pkg::OP_X_SUM_F16V2: sum_half = 1'b1;
        tessera_pkg::OP_X_SUM_F16V4: begin
          sum_half = 1'b1;
          sum_quad = 1'b1;
        end
        tessera_pkg::OP_X_DOT_F16V4: dot = 1'b1;
        tessera_pkg::OP_X_CVT_F32_F16: widen_lanes = 4'b0001;
        tessera_pkg::OP_X_CVT_F32V2_F16V2: widen_lanes = 4'b0011;
        tessera_pkg::OP_X_CVT_F32V4_F16V4: widen_lanes = 4'b1111;
        tessera_pkg::OP_X_CVT_F16_F32: narrow_lanes = 4'b0001;
        tessera_pkg::OP_X_CVT_F16V2_F32V2: narrow_lanes = 4'b0011;
        tessera_pkg::OP_X_CVT_F16V4_F32V4: narrow_lanes = 4'b1111;
        tessera_pkg::OP_X_CVT_SR_F16_F32: begin
          narrow_lanes = 4'b0001;
          stochastic = 1'b1;
        end
        tessera_pkg::OP_X_CVT_SR_F16V2_F32V2: begin
          narrow_lanes = 4'b0011;
          stochastic = 1'b1;
        end
        tessera_pkg::OP_X_CVT_SR_F16V4_F32V4: begin
          narrow_lanes = 4'b1111;
          stochastic = 1'b1;
        end
        tessera_pkg::OP_X_CVT_I32_F32: to_lanes = 2'b01;
        tessera_pkg::OP_X_CVT_U32_F32: begin
          to_lanes = 2'b01;
          unsigned_int = 1'b1;
        end
        tessera_pkg::OP_X_CVT_I32V2_F32V2: to_lanes = 2'b11;
        tessera_pkg::OP_X_CVT_F32_I32: from_lanes = 2'b01;
        tessera_pkg::OP_X_CVT_F32_U32: begin
          from_lanes = 2'b01;
          unsigned_int = 1'b1;
        end
        tessera_pkg::OP_X_CVT_F32V2_I32V2: from_lanes = 2'b11;
        default: half_lanes = 4'd0;
      endcase
    end
  end

  // ---- lanes: X, M, N -------------------------------------------------------------------------------------------------
  logic [63:0] half_result;    // N
  logic [63:0] single_result;  // N
  genvar k;

  generate
    for (k = 0; k < 4; k = k + 1) begin : gen_half
      xtile_lane #(.EW(5), .FW(10), .FR(32)) u_lane (
        .clk_i, .rst_ni, .valid_i(half_lanes[k]), .op_i(lane_op),
        .a_i(scalar ? x_a_q[15:0] : x_a_q[16*k +: 16]), .b_i(x_b_q[16*k +: 16]), .c_i(x_c_q[16*k +: 16]),
        .result_o(half_result[16*k +: 16])
      );
    end
    for (k = 0; k < 2; k = k + 1) begin : gen_single
      xtile_lane u_lane (
        .clk_i, .rst_ni, .valid_i(single_lanes[k]), .op_i(lane_op),
        .a_i(scalar ? x_a_q[31:0] : x_a_q[32*k +: 32]),
        .b_i(sum_single ? x_a_q[63:32] : x_b_q[32*k +: 32]), .c_i(x_c_q[32*k +: 32]),
        .result_o(single_result[32*k +: 32])
      );
    end
  endgenerate

  // ---- dot: products and their sums in X and M, c in N ----------------------------------------------------------------
  xtile_pkg::half_t a0, a1, a2, a3;
  logic             m_dot_q, n_dot_q;
  logic [31:0]      m_c_q, n_c_q, products, dot_result;

  xtile_half_unpack u_unpack0 (.valid_i(dot), .value_i(x_a_q[15:0]), .half_o(a0));
  xtile_half_unpack u_unpack1 (.valid_i(dot), .value_i(x_a_q[31:16]), .half_o(a1));
  xtile_half_unpack u_unpack2 (.valid_i(dot), .value_i(x_a_q[47:32]), .half_o(a2));
  xtile_half_unpack u_unpack3 (.valid_i(dot), .value_i(x_a_q[63:48]), .half_o(a3));
  xtile_dot4 u_dot (
    .clk_i, .rst_ni, .valid_i(dot), .a0_i(a0), .a1_i(a1), .a2_i(a2), .a3_i(a3), .b_i(x_b_q), .sum_o(products)
  );
  xtile_add u_accumulate (.valid_i(n_dot_q), .a_i(n_c_q), .b_i(products), .sum_o(dot_result));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      m_dot_q <= 1'b0;
      n_dot_q <= 1'b0;
    end else begin
      m_dot_q <= dot;
      n_dot_q <= m_dot_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (dot) m_c_q <= x_c_q[31:0];
    if (m_dot_q) n_c_q <= m_c_q;
  end

  // ---- sums of f16 lanes: (l0 + l1) and (l2 + l3) in X, their sum in M --------------------------------------------------
  logic [15:0] low_sum, high_sum, m_high_q, quad_sum;
  logic        m_quad_q;

  xtile_add #(.EW(5), .FW(10), .G(15), .PW(32)) u_low_sum (
    .valid_i(sum_half), .a_i(x_a_q[15:0]), .b_i(x_a_q[31:16]), .sum_o(low_sum)
  );
  xtile_add #(.EW(5), .FW(10), .G(15), .PW(32)) u_high_sum (
    .valid_i(sum_quad), .a_i(x_a_q[47:32]), .b_i(x_a_q[63:48]), .sum_o(high_sum)
  );
  xtile_add #(.EW(5), .FW(10), .G(15), .PW(32)) u_quad_sum (
    .valid_i(m_quad_q), .a_i(m_value_q[15:0]), .b_i(m_high_q), .sum_o(quad_sum)
  );

  // ---- X: conversions ---------------------------------------------------------------------------------------------------
  logic [63:0]  narrowed;
  logic [127:0] widened;
  logic [63:0]  converted;

  generate
    for (k = 0; k < 4; k = k + 1) begin : gen_convert
      xtile_narrow u_narrow (
        .valid_i(narrow_lanes[k]), .stochastic_i(stochastic), .random_i(x_draw_q[16*k +: 16]),
        .value_i(x_a_q[32*k +: 32]), .result_o(narrowed[16*k +: 16])
      );
      xtile_widen u_widen (
        .valid_i(widen_lanes[k]), .value_i(x_a_q[16*k +: 16]), .result_o(widened[32*k +: 32])
      );
    end
    for (k = 0; k < 2; k = k + 1) begin : gen_integer
      xtile_integer u_integer (
        .to_i(to_lanes[k]), .from_i(from_lanes[k]), .unsigned_i(unsigned_int), .value_i(x_a_q[32*k +: 32]),
        .result_o(converted[32*k +: 32])
      );
    end
  endgenerate

  // ---- X: what stands without the lanes -----------------------------------------------------------------------------------
  logic [127:0] value, m_value_q, n_value_q;

  always_comb begin
    value = 128'd0;
    if (x_valid_q) begin
      case (x_op_q)
        tessera_pkg::OP_X_URAND32:   value[31:0] = x_draw_q[31:0];
        tessera_pkg::OP_X_URAND64:   value[63:0] = x_draw_q;
        tessera_pkg::OP_X_DUP_F16:   value[31:0] = {x_a_q[15:0], x_a_q[15:0]};
        tessera_pkg::OP_X_SWAP_F16V2: value[31:0] = {x_a_q[15:0], x_a_q[31:16]};
        tessera_pkg::OP_X_HIGH_F16:  value[15:0] = x_a_q[31:16];
        tessera_pkg::OP_X_PACK_F16:  value[31:0] = {x_b_q[15:0], x_a_q[15:0]};
        tessera_pkg::OP_X_MV64:      value[63:0] = x_a_q[63:0];
        default: begin
          // Those that do not work give 0.
          value = widened;
          value[63:0] = widened[63:0] | narrowed | converted;
          value[15:0] = value[15:0] | low_sum;
        end
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) m_quad_q <= 1'b0;
    else m_quad_q <= sum_quad;
  end
  always_ff @(posedge clk_i) begin
    if (x_valid_q) m_value_q <= value;
    if (sum_quad) m_high_q <= high_sum;
    if (m_valid_q) n_value_q <= m_quad_q ? {112'd0, quad_sum} : m_value_q;
  end

  // ---- N: one of them is not 0 --------------------------------------------------------------------------------------------
  logic [127:0] result_q;

  always_ff @(posedge clk_i) begin
    if (n_valid_q) begin
      result_q <= {n_value_q[127:64],
                   n_value_q[63:0] | half_result | single_result | {32'd0, dot_result}};
    end
  end
  assign result_o = result_q;
endmodule
