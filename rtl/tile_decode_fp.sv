// Decoder of arithmetic on f registers, for workers; the supervisor has none and does not ask. RV32F (without flw and fsw)
// by hand, custom-2 and custom-3 through the generated table.
// A reserved static rounding mode makes the word illegal, and an illegal word is never AUX (docs/machine/timing.md).
module tile_decode_fp (
  input  logic [31:0]       word_i,
  output tile_pkg::fp_dec_t dec_o
);
  logic [6:0] f7;
  logic [2:0] f3;
  logic [4:0] rs2;
  logic       rm_ok, reads1, reads2, reads3;
  tessera_pkg::decoded_t full;

  assign f7    = word_i[31:25];
  assign f3    = word_i[14:12];
  assign rs2   = word_i[24:20];
  assign rm_ok = (f3 != 3'd5) && (f3 != 3'd6);

  always_comb begin
    full = '0;
    if ((word_i[6:0] == 7'b1011011) || (word_i[6:0] == 7'b1111011)) full = tessera_pkg::decode_full(word_i);
  end

  always_comb begin
    dec_o    = '0;
    dec_o.op = fpu_pkg::FpAdd;
    reads1   = 1'b1;
    reads2   = 1'b0;
    reads3   = 1'b0;
    case (word_i[6:0])
      7'b1000011, 7'b1000111, 7'b1001011, 7'b1001111: begin  // fmadd, fmsub, fnmsub, fnmadd
        dec_o.legal  = rm_ok && (f7[1:0] == 2'b00);
        dec_o.aux    = 1'b1;
        dec_o.rounds = 1'b1;
        reads2       = 1'b1;
        reads3       = 1'b1;
        case (word_i[3:2])
          2'b00: dec_o.op = fpu_pkg::FpMadd;
          2'b01: dec_o.op = fpu_pkg::FpMsub;
          2'b10: dec_o.op = fpu_pkg::FpNmsub;
          default: dec_o.op = fpu_pkg::FpNmadd;
        endcase
      end
      7'b1010011: begin
        case (f7)
          7'h00, 7'h04, 7'h08, 7'h0C: begin  // fadd, fsub, fmul, fdiv
            dec_o.legal  = rm_ok;
            dec_o.aux    = 1'b1;
            dec_o.rounds = 1'b1;
            reads2       = 1'b1;
            dec_o.lane   = (f7 == 7'h0C);
            dec_o.op     = (f7 == 7'h00) ? fpu_pkg::FpAdd : (f7 == 7'h04) ? fpu_pkg::FpSub : fpu_pkg::FpMul;
          end
          7'h2C: begin  // fsqrt
            dec_o.legal  = rm_ok && (rs2 == 5'd0);
            dec_o.aux    = 1'b1;
            dec_o.rounds = 1'b1;
            dec_o.lane   = 1'b1;
            dec_o.sqrt   = 1'b1;
          end
          7'h10: begin  // fsgnj, fsgnjn, fsgnjx
            dec_o.legal  = (f3 <= 3'd2);
            dec_o.aux    = 1'b1;
            reads2       = 1'b1;
            dec_o.op     = (f3 == 3'd0) ? fpu_pkg::FpSgnj : (f3 == 3'd1) ? fpu_pkg::FpSgnjn : fpu_pkg::FpSgnjx;
          end
          7'h14: begin  // fmin, fmax
            dec_o.legal  = (f3 <= 3'd1);
            dec_o.aux    = 1'b1;
            reads2       = 1'b1;
            dec_o.op     = f3[0] ? fpu_pkg::FpMax : fpu_pkg::FpMin;
          end
          7'h50: begin  // fle, flt, feq: SOLO, as all that follow
            dec_o.legal  = (f3 <= 3'd2);
            reads2       = 1'b1;
            dec_o.x_rd   = 1'b1;
            dec_o.op     = (f3 == 3'd2) ? fpu_pkg::FpEq : (f3 == 3'd1) ? fpu_pkg::FpLt : fpu_pkg::FpLe;
          end
          7'h60: begin  // fcvt.w.s, fcvt.wu.s
            dec_o.legal  = rm_ok && (rs2 <= 5'd1);
            dec_o.rounds = 1'b1;
            dec_o.x_rd   = 1'b1;
            dec_o.op     = rs2[0] ? fpu_pkg::FpCvtWuS : fpu_pkg::FpCvtWS;
          end
          7'h68: begin  // fcvt.s.w, fcvt.s.wu
            dec_o.legal  = rm_ok && (rs2 <= 5'd1);
            dec_o.rounds = 1'b1;
            dec_o.x_rs1  = 1'b1;
            reads1       = 1'b0;
            dec_o.op     = rs2[0] ? fpu_pkg::FpCvtSWu : fpu_pkg::FpCvtSW;
          end
          7'h70: begin  // fmv.x.w, fclass
            dec_o.legal = (rs2 == 5'd0) && (f3 <= 3'd1);
            dec_o.x_rd  = 1'b1;
            dec_o.op    = f3[0] ? fpu_pkg::FpClass : fpu_pkg::FpMove;
          end
          7'h78: begin  // fmv.w.x
            dec_o.legal  = (rs2 == 5'd0) && (f3 == 3'd0);
            dec_o.x_rs1  = 1'b1;
            reads1       = 1'b0;
            dec_o.op     = fpu_pkg::FpMove;
          end
          default: dec_o.legal = 1'b0;
        endcase
      end
      default: dec_o.legal = 1'b0;
    endcase

    if (full.op != tessera_pkg::OP_ILLEGAL) begin
      dec_o.legal    = 1'b1;
      dec_o.aux      = (full.cls == tessera_pkg::CLASS_AUX);
      dec_o.xop      = full.op;
      dec_o.slots    = full.slots;
      dec_o.count_rd = full.rd_count;
      dec_o.count1   = full.rs1_read ? full.rs1_count : 3'd0;
      dec_o.count2   = full.rs2_read ? full.rs2_count : 3'd0;
      dec_o.count3   = full.rs3_read ? full.rs3_count : 3'd0;
      case (full.op)
        tessera_pkg::OP_X_AMP_F16, tessera_pkg::OP_X_AMP_F32, tessera_pkg::OP_X_AMP_G, tessera_pkg::OP_X_AMP_IO:
          dec_o.unit = tile_pkg::UnitAmp;
        tessera_pkg::OP_X_EXP_F16V2, tessera_pkg::OP_X_LOG_F16V2, tessera_pkg::OP_X_TANH_F16V2,
        tessera_pkg::OP_X_SIGMOID_F16V2, tessera_pkg::OP_X_EXP_F32, tessera_pkg::OP_X_LOG_F32,
        tessera_pkg::OP_X_TANH_F32, tessera_pkg::OP_X_SIGMOID_F32, tessera_pkg::OP_X_RSQRT_F32:
          dec_o.unit = tile_pkg::UnitTrans;
        default: dec_o.unit = tile_pkg::UnitSimd;
      endcase
      dec_o.draws = (full.op == tessera_pkg::OP_X_URAND32) || (full.op == tessera_pkg::OP_X_URAND64) ||
                    (full.op == tessera_pkg::OP_X_CVT_SR_F16_F32) || (full.op == tessera_pkg::OP_X_CVT_SR_F16V2_F32V2) ||
                    (full.op == tessera_pkg::OP_X_CVT_SR_F16V4_F32V4);
    end else begin
      dec_o.unit     = tile_pkg::UnitFpu;
      dec_o.slots    = dec_o.lane ? 3'd5 : 3'd1;
      dec_o.count_rd = {2'd0, !dec_o.x_rd};
      dec_o.count1   = {2'd0, reads1};
      dec_o.count2   = {2'd0, reads2};
      dec_o.count3   = {2'd0, reads3};
    end
  end
endmodule
