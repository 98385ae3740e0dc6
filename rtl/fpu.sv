// f32 unit of the tile: everything of RISC-V F but division and square root (fpu_divsqrt.sv). Fully pipelined.
//
// Operands in cycle t with valid_i; result_o and fflags_o stand in cycle t+3 (registered), 0 if there was no operation.
// Stage 1 takes the operands apart and decides everything that needs no rounding; stage 2 multiplies, aligns and adds
// in a 64-bit frame (sums are products with 1, products are sums with 0); stage 3 rounds. The frame is enough for a
// fused operation: terms have at most 48 bits with the leading one at bit 62 or 61, so bits get lost only when the
// exponents differ by more than 14, and then at most one leading bit cancels and a sticky bit decides.
module fpu (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            valid_i,
  input  fpu_pkg::fp_op_e op_i,
  input  logic [2:0]      rm_i,      // resolved rounding mode, 0..4; ignored where the operation does not round
  input  logic [31:0]     a_i,
  input  logic [31:0]     b_i,
  input  logic [31:0]     c_i,
  output logic [31:0]     result_o,
  output logic [4:0]      fflags_o
);
  localparam logic [1:0] KindDone = 2'd0;     // the result is known
  localparam logic [1:0] KindSum = 2'd1;      // product plus addend
  localparam logic [1:0] KindToInt = 2'd2;
  localparam logic [1:0] KindFromInt = 2'd3;

  // ---- stage 1: operands ------------------------------------------------------------------------------------------
  logic        fused, x_negate, z_negate;
  logic [31:0] x, y, z;  // x * y + z
  logic signed [10:0] x_exp, y_exp, z_exp;
  logic [23:0] x_sig, y_sig, z_sig;
  logic        x_zero, y_zero, z_zero, x_inf, y_inf, z_inf, x_nan, y_nan, z_nan, x_snan, y_snan, z_snan;

  always_comb begin
    fused = 1'b0;
    x_negate = 1'b0;
    z_negate = 1'b0;
    x = a_i;
    y = b_i;
    z = b_i;
    if (valid_i) begin
      case (op_i)
        fpu_pkg::FpAdd, fpu_pkg::FpSub: begin
          fused = 1'b1;
          y = 32'h3f800000;
          z = {b_i[31] ^ (op_i == fpu_pkg::FpSub), b_i[30:0]};
        end
        fpu_pkg::FpMul: begin
          fused = 1'b1;
          z = {a_i[31] ^ b_i[31], 31'd0};
        end
        fpu_pkg::FpMadd, fpu_pkg::FpMsub, fpu_pkg::FpNmsub, fpu_pkg::FpNmadd: begin
          fused = 1'b1;
          x_negate = op_i == fpu_pkg::FpNmsub || op_i == fpu_pkg::FpNmadd;
          z_negate = op_i == fpu_pkg::FpMsub || op_i == fpu_pkg::FpNmadd;
          x = {a_i[31] ^ x_negate, a_i[30:0]};
          z = {c_i[31] ^ z_negate, c_i[30:0]};
        end
        default: fused = 1'b0;
      endcase
    end
  end

  fpu_unpack u_unpack_x (
    .valid_i(valid_i), .value_i(x), .exp_o(x_exp), .sig_o(x_sig), .zero_o(x_zero), .inf_o(x_inf), .nan_o(x_nan),
    .snan_o(x_snan)
  );
  fpu_unpack u_unpack_y (
    .valid_i(valid_i), .value_i(y), .exp_o(y_exp), .sig_o(y_sig), .zero_o(y_zero), .inf_o(y_inf), .nan_o(y_nan),
    .snan_o(y_snan)
  );
  fpu_unpack u_unpack_z (
    .valid_i(valid_i && fused), .value_i(z), .exp_o(z_exp), .sig_o(z_sig), .zero_o(z_zero), .inf_o(z_inf),
    .nan_o(z_nan), .snan_o(z_snan)
  );

  // ---- stage 1: what needs no rounding ----------------------------------------------------------------------------
  logic [1:0]  kind;
  logic [31:0] done;
  logic [4:0]  done_flags;
  logic        product_sign, product_invalid, less, equal, unsigned_int;
  logic [31:0] magnitude;

  always_comb begin
    kind = KindDone;
    done = 32'd0;
    done_flags = 5'd0;
    product_sign = 1'b0;
    product_invalid = 1'b0;
    less = 1'b0;
    equal = 1'b0;
    unsigned_int = 1'b0;
    magnitude = 32'd0;
    if (valid_i) begin
      if (fused) begin
        product_sign = x[31] ^ y[31];
        product_invalid = (x_inf && y_zero) || (x_zero && y_inf);
        if (x_nan || y_nan || z_nan || product_invalid) begin
          done = fpu_pkg::CanonicalNan;
          done_flags[4] = x_snan || y_snan || z_snan || product_invalid;
        end else if (x_inf || y_inf) begin
          done = {product_sign, 31'h7f800000};
          if (z_inf && z[31] != product_sign) begin
            done = fpu_pkg::CanonicalNan;
            done_flags[4] = 1'b1;
          end
        end else if (z_inf) begin
          done = z;
        end else if (x_zero || y_zero) begin
          // A zero product leaves the addend; two zeros of unlike sign make -0 only when rounding down.
          done = z;
          if (z_zero && z[31] != product_sign) done = {rm_i == fpu_pkg::RmRdn, 31'd0};
        end else begin
          kind = KindSum;
        end
      end else begin
        equal = !x_nan && !y_nan && (a_i == b_i || (x_zero && y_zero));
        less = !x_nan && !y_nan && !equal &&
               (a_i[31] != b_i[31] ? a_i[31] : ((a_i[30:0] < b_i[30:0]) != a_i[31]));
        case (op_i)
          fpu_pkg::FpSgnj: done = {b_i[31], a_i[30:0]};
          fpu_pkg::FpSgnjn: done = {!b_i[31], a_i[30:0]};
          fpu_pkg::FpSgnjx: done = {a_i[31] ^ b_i[31], a_i[30:0]};
          fpu_pkg::FpMin, fpu_pkg::FpMax: begin
            done_flags[4] = x_snan || y_snan;
            if (x_nan && y_nan) done = fpu_pkg::CanonicalNan;
            else if (y_nan) done = a_i;
            else if (x_nan) done = b_i;
            else if (equal) done = (a_i[31] == (op_i == fpu_pkg::FpMin)) ? a_i : b_i;
            else done = (less == (op_i == fpu_pkg::FpMin)) ? a_i : b_i;
          end
          fpu_pkg::FpEq: begin
            done = {31'd0, equal};
            done_flags[4] = x_snan || y_snan;
          end
          fpu_pkg::FpLt: begin
            done = {31'd0, less};
            done_flags[4] = x_nan || y_nan;
          end
          fpu_pkg::FpLe: begin
            done = {31'd0, less || equal};
            done_flags[4] = x_nan || y_nan;
          end
          fpu_pkg::FpClass: begin
            done[0] = x_inf && a_i[31];
            done[1] = a_i[31] && a_i[30:23] != 8'd0 && a_i[30:23] != 8'hff;
            done[2] = a_i[31] && a_i[30:23] == 8'd0 && !x_zero;
            done[3] = a_i[31] && x_zero;
            done[4] = !a_i[31] && x_zero;
            done[5] = !a_i[31] && a_i[30:23] == 8'd0 && !x_zero;
            done[6] = !a_i[31] && a_i[30:23] != 8'd0 && a_i[30:23] != 8'hff;
            done[7] = x_inf && !a_i[31];
            done[8] = x_snan;
            done[9] = x_nan && !x_snan;
          end
          fpu_pkg::FpCvtWS, fpu_pkg::FpCvtWuS: begin
            unsigned_int = op_i == fpu_pkg::FpCvtWuS;
            if (x_nan || x_inf || (!x_zero && x_exp > 11'sd31)) begin
              // Far outside: NaN counts as large positive.
              done_flags[4] = 1'b1;
              if (a_i[31] && !x_nan) done = unsigned_int ? 32'd0 : 32'h80000000;
              else done = unsigned_int ? 32'hffffffff : 32'h7fffffff;
            end else if (!x_zero) begin
              kind = KindToInt;
            end
          end
          fpu_pkg::FpCvtSW, fpu_pkg::FpCvtSWu: begin
            unsigned_int = op_i == fpu_pkg::FpCvtSWu;
            magnitude = (a_i[31] && !unsigned_int) ? -a_i : a_i;
            product_sign = a_i[31] && !unsigned_int;
            if (a_i != 32'd0) kind = KindFromInt;
          end
          default: done = a_i;
        endcase
      end
    end
  end

  logic               s1_valid_q, s1_unsigned_q, s1_psign_q, s1_zsign_q;
  logic        [1:0]  s1_kind_q;
  logic        [2:0]  s1_rm_q;
  logic        [31:0] s1_done_q;
  logic        [4:0]  s1_flags_q;
  logic signed [10:0] s1_pexp_q, s1_zexp_q;
  logic        [23:0] s1_xsig_q, s1_ysig_q, s1_zsig_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      s1_valid_q <= 1'b0;
    end else begin
      s1_valid_q <= valid_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      s1_kind_q <= kind;
      s1_rm_q <= rm_i;
      s1_done_q <= kind == KindFromInt ? magnitude : done;
      s1_flags_q <= done_flags;
      s1_unsigned_q <= unsigned_int;
      s1_psign_q <= kind == KindToInt ? a_i[31] : product_sign;
      s1_zsign_q <= z[31];
      // Unit of the product at bit 61 of the frame, of the addend at bit 62: hence the one more.
      s1_pexp_q <= kind == KindSum ? x_exp + y_exp + 11'sd1 : x_exp;
      s1_zexp_q <= z_zero ? -11'sd600 : z_exp;
      s1_xsig_q <= x_sig;
      s1_ysig_q <= y_sig;
      s1_zsig_q <= z_zero ? 24'd0 : z_sig;
    end
  end

  // ---- stage 2: multiply, align, add ------------------------------------------------------------------------------
  logic        [63:0] product, addend, upper, lower, aligned, sum;
  logic signed [10:0] distance, sum_exp;
  logic               product_above, sum_sign;

  always_comb begin
    product = 64'd0;
    addend = 64'd0;
    upper = 64'd0;
    lower = 64'd0;
    aligned = 64'd0;
    sum = 64'd0;
    distance = 11'sd0;
    sum_exp = 11'sd0;
    product_above = 1'b0;
    sum_sign = s1_psign_q;
    if (s1_valid_q) begin
      case (s1_kind_q)
        KindSum: begin
          product = {1'b0, {24'd0, s1_xsig_q} * {24'd0, s1_ysig_q}, 15'd0};
          addend = {1'b0, s1_zsig_q, 39'd0};
          product_above = s1_pexp_q > s1_zexp_q || (s1_pexp_q == s1_zexp_q && product >= addend);
          upper = product_above ? product : addend;
          lower = product_above ? addend : product;
          distance = product_above ? s1_pexp_q - s1_zexp_q : s1_zexp_q - s1_pexp_q;
          sum_exp = (product_above ? s1_pexp_q : s1_zexp_q) + 11'sd1;
          if (distance > 11'sd63) begin
            aligned = {63'd0, lower != 64'd0};
          end else begin
            aligned = lower >> distance[5:0];
            if (distance != 11'sd0) begin
              aligned[0] = aligned[0] || ((lower << (7'd64 - {1'b0, distance[5:0]})) != 64'd0);
            end
          end
          sum_sign = product_above ? s1_psign_q : s1_zsign_q;
          if (s1_psign_q == s1_zsign_q) begin
            sum = upper + aligned;
          end else if (upper >= aligned) begin
            sum = upper - aligned;
          end else begin
            // The term of smaller exponent can be the larger: a product's leading one may stand one bit lower.
            sum = aligned - upper;
            sum_sign = !sum_sign;
          end
        end
        KindToInt: begin
          // Integer part from bit 24 up, half at bit 23.
          if (s1_pexp_q < -11'sd1) sum = 64'd1;
          else sum = {40'd0, s1_xsig_q} << (s1_pexp_q[5:0] + 6'd1);
        end
        KindFromInt: begin
          sum = {s1_done_q, 32'd0};
          sum_exp = 11'sd31;
        end
        default: sum = 64'd0;
      endcase
    end
  end

  logic               s2_valid_q, s2_unsigned_q, s2_sign_q;
  logic        [1:0]  s2_kind_q;
  logic        [2:0]  s2_rm_q;
  logic        [31:0] s2_done_q;
  logic        [4:0]  s2_flags_q;
  logic signed [10:0] s2_exp_q;
  logic        [63:0] s2_sig_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      s2_valid_q <= 1'b0;
    end else begin
      s2_valid_q <= s1_valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (s1_valid_q) begin
      s2_kind_q <= s1_kind_q;
      s2_rm_q <= s1_rm_q;
      s2_done_q <= s1_done_q;
      s2_flags_q <= s1_flags_q;
      s2_unsigned_q <= s1_unsigned_q;
      s2_sign_q <= sum_sign;
      s2_exp_q <= sum_exp;
      s2_sig_q <= sum;
    end
  end

  // ---- stage 3: round ---------------------------------------------------------------------------------------------
  logic [31:0] rounded;
  logic [4:0]  rounded_flags;

  fpu_round u_round (
    .valid_i(s2_valid_q && (s2_kind_q == KindSum || s2_kind_q == KindFromInt)), .sign_i(s2_sign_q), .exp_i(s2_exp_q),
    .sig_i(s2_sig_q), .rm_i(s2_rm_q), .result_o(rounded), .fflags_o(rounded_flags)
  );

  logic        half, sticky, int_up, int_overflow;
  logic [32:0] int_magnitude;
  logic [31:0] int_result;

  always_comb begin
    half = 1'b0;
    sticky = 1'b0;
    int_up = 1'b0;
    int_overflow = 1'b0;
    int_magnitude = 33'd0;
    int_result = 32'd0;
    if (s2_valid_q && s2_kind_q == KindToInt) begin
      half = s2_sig_q[23];
      sticky = s2_sig_q[22:0] != 23'd0;
      case (s2_rm_q)
        fpu_pkg::RmRne: int_up = half && (sticky || s2_sig_q[24]);
        fpu_pkg::RmRdn: int_up = s2_sign_q && (half || sticky);
        fpu_pkg::RmRup: int_up = !s2_sign_q && (half || sticky);
        fpu_pkg::RmRmm: int_up = half;
        default:        int_up = 1'b0;
      endcase
      int_magnitude = s2_sig_q[56:24] + {32'd0, int_up};
      if (s2_unsigned_q) begin
        int_overflow = s2_sign_q ? int_magnitude != 33'd0 : int_magnitude[32];
        int_result = s2_sign_q ? 32'd0 : int_overflow ? 32'hffffffff : int_magnitude[31:0];
      end else begin
        int_overflow = int_magnitude > (s2_sign_q ? 33'h080000000 : 33'h07fffffff);
        if (int_overflow) int_result = s2_sign_q ? 32'h80000000 : 32'h7fffffff;
        else int_result = s2_sign_q ? -int_magnitude[31:0] : int_magnitude[31:0];
      end
    end
  end

  logic [31:0] result_q;
  logic [4:0]  fflags_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      result_q <= 32'd0;
      fflags_q <= 5'd0;
    end else if (!s2_valid_q) begin
      result_q <= 32'd0;
      fflags_q <= 5'd0;
    end else begin
      case (s2_kind_q)
        KindSum, KindFromInt: begin
          result_q <= rounded;
          fflags_q <= rounded_flags;
        end
        KindToInt: begin
          result_q <= int_result;
          fflags_q <= int_overflow ? 5'b10000 : {4'd0, half || sticky};
        end
        default: begin
          result_q <= s2_done_q;
          fflags_q <= s2_flags_q;
        end
      endcase
    end
  end
  assign result_o = result_q;
  assign fflags_o = fflags_q;
endmodule
