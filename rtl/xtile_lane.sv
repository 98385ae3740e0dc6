// One lane of f16 or f32: everything that SIMD does lane by lane, sums, products and fused sums with one rounding.
//
// Fully pipelined: operands stand in X with valid_i (from registers), the result comes in N, two edges of clk_i later,
// combinational; 0 if there was no operation. X takes the operands apart, decides what needs no rounding and
// multiplies; M aligns and adds; N rounds.
module xtile_lane #(
  parameter int EW = 8,                         // bits of exponent and fraction: 5, 10 or 8, 23
  parameter int FW = 23,
  parameter int FR = 64                         // frame: 32 for f16, 64 for f32
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                valid_i,
  input  xtile_pkg::lane_op_e op_i,
  input  logic [EW+FW:0]      a_i,
  input  logic [EW+FW:0]      b_i,
  input  logic [EW+FW:0]      c_i,
  output logic [EW+FW:0]      result_o
);
  localparam int W = EW + FW + 1;
  localparam int S = FW + 1;
  localparam logic [W-1:0] One = {2'b00, {(EW - 1){1'b1}}, {FW{1'b0}}};
  localparam logic [W-1:0] Nan = {1'b0, {EW{1'b1}}, 1'b1, {(FW - 1){1'b0}}};
  localparam logic [W-2:0] Infinity = {{EW{1'b1}}, {FW{1'b0}}};

  // ---- X: operands ------------------------------------------------------------------------------------------------
  logic               arithmetic;
  logic [W-1:0]       y, z;  // a * y + z
  logic signed [10:0] a_exp, y_exp, z_exp;
  logic [S-1:0]       a_sig, y_sig, z_sig;
  logic               a_sign, y_sign, z_sign, a_inf, y_inf, z_inf, a_nan, y_nan, z_nan;

  always_comb begin
    arithmetic = 1'b0;
    y = b_i;
    z = b_i;
    if (valid_i) begin
      case (op_i)
        xtile_pkg::LaneAdd: begin
          arithmetic = 1'b1;
          y = One;
        end
        xtile_pkg::LaneSub: begin
          arithmetic = 1'b1;
          y = One;
          z[W-1] = !b_i[W-1];
        end
        xtile_pkg::LaneMul: begin
          arithmetic = 1'b1;
          z = {a_i[W-1] ^ b_i[W-1], {(W - 1){1'b0}}};
        end
        xtile_pkg::LaneMac: begin
          arithmetic = 1'b1;
          z = c_i;
        end
        default: arithmetic = 1'b0;
      endcase
    end
  end

  xtile_unpack #(.EW(EW), .FW(FW)) u_unpack_a (
    .valid_i(arithmetic), .value_i(a_i), .sign_o(a_sign), .exp_o(a_exp), .sig_o(a_sig), .inf_o(a_inf), .nan_o(a_nan)
  );
  xtile_unpack #(.EW(EW), .FW(FW)) u_unpack_y (
    .valid_i(arithmetic), .value_i(y), .sign_o(y_sign), .exp_o(y_exp), .sig_o(y_sig), .inf_o(y_inf), .nan_o(y_nan)
  );
  xtile_unpack #(.EW(EW), .FW(FW)) u_unpack_z (
    .valid_i(arithmetic), .value_i(z), .sign_o(z_sign), .exp_o(z_exp), .sig_o(z_sig), .inf_o(z_inf), .nan_o(z_nan)
  );

  // ---- X: product, and what needs no rounding -----------------------------------------------------------------------
  logic               done, less, equal, unordered;
  logic [W-1:0]       value;
  logic [2*S-1:0]     product;
  logic signed [10:0] product_exp;
  logic               product_sign;

  always_comb begin
    done = 1'b1;
    value = '0;
    less = 1'b0;
    equal = 1'b0;
    unordered = 1'b0;
    product = '0;
    product_exp = 11'sd0;
    product_sign = 1'b0;
    if (arithmetic) begin
      product_sign = a_sign ^ y_sign;
      if (a_inf || a_nan || y_inf || y_nan || z_inf || z_nan) begin
        if (a_nan || y_nan || z_nan || (a_inf && y_sig == '0) || (a_sig == '0 && y_inf) ||
            ((a_inf || y_inf) && z_inf && z_sign != product_sign)) begin
          value = Nan;
        end else if (z_inf) begin
          value = z;
        end else begin
          value = {product_sign, Infinity};
        end
      end else begin
        done = 1'b0;
        product = {{S{1'b0}}, a_sig} * {{S{1'b0}}, y_sig};
        product_exp = a_exp + y_exp + $signed({10'd0, product[2*S-1]});
        if (!product[2*S-1]) product = product << 1;
        if (product == '0) product_exp = -11'sd600;
      end
    end else if (valid_i) begin
      unordered = a_i[W-2:0] > Infinity || b_i[W-2:0] > Infinity;
      equal = a_i == b_i || (a_i[W-2:0] == '0 && b_i[W-2:0] == '0);
      less = (a_i[W-1] != b_i[W-1]) ? a_i[W-1] : ((a_i[W-2:0] < b_i[W-2:0]) != a_i[W-1]);
      case (op_i)
        xtile_pkg::LaneMax, xtile_pkg::LaneMin: begin
          // By bits, -0 is below +0.
          value = (less == (op_i == xtile_pkg::LaneMin)) ? a_i : b_i;
          if (b_i[W-2:0] > Infinity) value = a_i;
          if (a_i[W-2:0] > Infinity) value = (b_i[W-2:0] > Infinity) ? Nan : b_i;
        end
        xtile_pkg::LaneEq:  value = {W{equal && !unordered}};
        xtile_pkg::LaneLt:  value = {W{less && !equal && !unordered}};
        xtile_pkg::LaneLe:  value = {W{(less || equal) && !unordered}};
        xtile_pkg::LaneAbs: value = {1'b0, a_i[W-2:0]};
        xtile_pkg::LaneNeg: value = {!a_i[W-1], a_i[W-2:0]};
        default:            value = a_i[W-1] ? b_i : c_i;
      endcase
    end
  end

  logic               m_valid_q, m_done_q, m_psign_q, m_zsign_q;
  logic [W-1:0]       m_value_q;
  logic [2*S-1:0]     m_product_q;
  logic signed [10:0] m_pexp_q, m_zexp_q;
  logic [S-1:0]       m_zsig_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) m_valid_q <= 1'b0;
    else m_valid_q <= valid_i;
  end
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      m_done_q <= done;
      m_value_q <= value;
      m_psign_q <= product_sign;
      m_pexp_q <= product_exp;
      m_product_q <= product;
      m_zsign_q <= z_sign;
      m_zexp_q <= z_exp;
      m_zsig_q <= z_sig;
    end
  end

  // ---- M: align and add ---------------------------------------------------------------------------------------------
  logic               sum_sign;
  logic signed [10:0] sum_exp;
  logic [FR-1:0]      sum;

  xtile_align #(.S(S), .FR(FR)) u_align (
    .valid_i(m_valid_q && !m_done_q), .product_sign_i(m_psign_q), .product_exp_i(m_pexp_q), .product_i(m_product_q),
    .addend_sign_i(m_zsign_q), .addend_exp_i(m_zexp_q), .addend_i(m_zsig_q), .sign_o(sum_sign), .exp_o(sum_exp),
    .sig_o(sum)
  );

  logic               n_valid_q, n_done_q, n_sign_q;
  logic [W-1:0]       n_value_q;
  logic signed [10:0] n_exp_q;
  logic [FR-1:0]      n_sig_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) n_valid_q <= 1'b0;
    else n_valid_q <= m_valid_q;
  end
  always_ff @(posedge clk_i) begin
    if (m_valid_q) begin
      n_done_q <= m_done_q;
      n_value_q <= m_value_q;
      n_sign_q <= sum_sign;
      n_exp_q <= sum_exp;
      n_sig_q <= sum;
    end
  end

  // ---- N: round -----------------------------------------------------------------------------------------------------
  logic [W-1:0] rounded;

  xtile_round #(.EW(EW), .FW(FW), .FR(FR)) u_round (
    .valid_i(n_valid_q && !n_done_q), .sign_i(n_sign_q), .exp_i(n_exp_q), .sig_i(n_sig_q), .result_o(rounded)
  );
  always_comb begin
    result_o = '0;
    if (n_valid_q) result_o = n_done_q ? n_value_q : rounded;
  end
endmodule
