// Decoder of everything but F arithmetic (core.md sections 2 and 5): RV32IM, flw and fsw, Zicsr, custom-0 control.
// Streams, SIMD, AMP and x.rpt get their place here later; now they are illegal. By encoding and role alone.
module tile_decode (
  input  logic [31:0]        word_i,
  input  logic               worker_i,  // role: worker (has F), else supervisor (has x.run and its kin)
  output tile_pkg::int_dec_t dec_o
);
  logic [6:0] f7;
  logic [2:0] f3;
  logic [4:0] rd, rs2;

  assign f7  = word_i[31:25];
  assign f3  = word_i[14:12];
  assign rd  = word_i[11:7];
  assign rs2 = word_i[24:20];

  always_comb begin
    dec_o     = '0;
    dec_o.imm = {{20{word_i[31]}}, word_i[31:20]};
    dec_o.alu = tile_pkg::AluAdd;
    case (word_i[6:0])
      7'b0110111: begin  // lui
        dec_o.legal  = 1'b1;
        dec_o.main   = 1'b1;
        dec_o.a_zero = 1'b1;
        dec_o.b_imm  = 1'b1;
        dec_o.rd_x   = 1'b1;
        dec_o.imm    = {word_i[31:12], 12'd0};
      end
      7'b0010111: begin  // auipc
        dec_o.legal = 1'b1;
        dec_o.main  = 1'b1;
        dec_o.a_pc  = 1'b1;
        dec_o.b_imm = 1'b1;
        dec_o.rd_x  = 1'b1;
        dec_o.imm   = {word_i[31:12], 12'd0};
      end
      7'b1101111: begin  // jal
        dec_o.legal = 1'b1;
        dec_o.jal   = 1'b1;
        dec_o.rd_x  = 1'b1;
        dec_o.imm   = {{12{word_i[31]}}, word_i[19:12], word_i[20], word_i[30:21], 1'b0};
      end
      7'b1100111: begin  // jalr
        dec_o.legal = (f3 == 3'd0);
        dec_o.jalr  = 1'b1;
        dec_o.rd_x  = 1'b1;
      end
      7'b1100011: begin  // branches
        dec_o.legal  = (f3[2:1] != 2'b01);
        dec_o.branch = 1'b1;
        dec_o.imm    = {{20{word_i[31]}}, word_i[7], word_i[30:25], word_i[11:8], 1'b0};
      end
      7'b0000011: begin  // integer loads
        dec_o.legal = (f3 <= 3'd2) || (f3 == 3'd4) || (f3 == 3'd5);
        dec_o.main  = 1'b1;
        dec_o.b_imm = 1'b1;
        dec_o.load  = 1'b1;
        dec_o.rd_x  = 1'b1;
      end
      7'b0100011: begin  // integer stores
        dec_o.legal = (f3 <= 3'd2);
        dec_o.main  = 1'b1;
        dec_o.b_imm = 1'b1;
        dec_o.store = 1'b1;
        dec_o.imm   = {{20{word_i[31]}}, word_i[31:25], word_i[11:7]};
      end
      7'b0000111: begin  // flw
        dec_o.legal = worker_i && (f3 == 3'd2);
        dec_o.main  = 1'b1;
        dec_o.b_imm = 1'b1;
        dec_o.load  = 1'b1;
        dec_o.fmem  = 1'b1;
      end
      7'b0100111: begin  // fsw
        dec_o.legal = worker_i && (f3 == 3'd2);
        dec_o.main  = 1'b1;
        dec_o.b_imm = 1'b1;
        dec_o.store = 1'b1;
        dec_o.fmem  = 1'b1;
        dec_o.imm   = {{20{word_i[31]}}, word_i[31:25], word_i[11:7]};
      end
      7'b0010011: begin  // register-immediate; the shifts have a funct7
        dec_o.legal = (f3[1:0] != 2'b01) || (f7 == 7'd0) || ((f7 == 7'h20) && f3[2]);
        dec_o.main  = 1'b1;
        dec_o.b_imm = 1'b1;
        dec_o.rd_x  = 1'b1;
        dec_o.alu   = {f7[5] && (f3 == 3'd5), f3};
      end
      7'b0110011: begin  // register-register, mul, div
        dec_o.rd_x = 1'b1;
        if (f7 == 7'd1) begin
          dec_o.legal = 1'b1;
          dec_o.mul   = !f3[2];
          dec_o.div   = f3[2];
          dec_o.main  = !f3[2];  // div and rem are SOLO: they take six slots
        end else begin
          dec_o.legal = (f7 == 7'd0) || ((f7 == 7'h20) && ((f3 == 3'd0) || (f3 == 3'd5)));
          dec_o.main  = 1'b1;
          dec_o.alu   = {f7[5], f3};
        end
      end
      7'b0001111: dec_o.legal = (f3[2:1] == 2'b00);  // fence, fence.i: one slot, nothing
      7'b1110011: begin  // system
        if (f3 == 3'd0) begin
          dec_o.ecall  = (word_i[31:7] == 25'd0);
          dec_o.ebreak = (word_i[31:7] == {12'h001, 13'd0});
          dec_o.mret   = (word_i[31:7] == {12'h302, 13'd0});
          dec_o.legal  = dec_o.ecall || dec_o.ebreak || dec_o.mret || (word_i[31:7] == {12'h105, 13'd0});
        end else begin
          dec_o.legal = (f3 != 3'd4);
          dec_o.csr   = 1'b1;
          dec_o.rd_x  = 1'b1;
        end
      end
      7'b0001011: begin  // custom-0: Xtile control; unused fields must be 0
        case (f3)
          3'd0: begin
            dec_o.sync  = (f7 == 7'd2) && (rs2 <= 5'd4);
            dec_o.exch  = (f7 == 7'd3) && (rs2 == 5'd0) && (rd == 5'd0);
            dec_o.delay = (f7 == 7'd4) && (rs2 == 5'd0) && (rd == 5'd0);
            dec_o.pkt   = (f7 == 7'd6) && (rs2 == 5'd0) && (rd == 5'd0);
            dec_o.rd_x  = 1'b0;  // x.sync writes rd at its release
            dec_o.legal = !worker_i && (dec_o.sync || dec_o.exch || dec_o.delay || dec_o.pkt);
          end
          3'd1: begin
            dec_o.quit  = (f7 == 7'd0) && (rs2 == 5'd0) && (rd == 5'd0);
            dec_o.legal = worker_i && dec_o.quit;
          end
          3'd6: begin
            dec_o.run   = (f7[1:0] == 2'd0) && (rd != 5'd0) && (rd <= 5'd7);
            dec_o.legal = !worker_i && dec_o.run;
          end
          default: dec_o.legal = 1'b0;
        endcase
      end
      default: dec_o.legal = 1'b0;
    endcase
  end
endmodule
