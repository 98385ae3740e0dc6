// Decoder of everything but arithmetic on f registers (docs/machine/isa.md), by encoding and role alone: RV32IM, flw
// and fsw, Zicsr and supervisor control by hand; streams, post-increment accesses, bit operations, x.rpt and x.amp.ldw
// through the generated table.
module tile_decode (
  input  logic [31:0]        word_i,
  input  logic               worker_i,  // role: worker (has F), else supervisor (has x.run and its kin)
  output tile_pkg::int_dec_t dec_o
);
  logic [6:0] f7;
  logic [2:0] f3;
  logic [4:0] rd, rs2;
  logic       in_table;
  tessera_pkg::decoded_t full;

  assign f7  = word_i[31:25];
  assign f3  = word_i[14:12];
  assign rd  = word_i[11:7];
  assign rs2 = word_i[24:20];

  assign in_table = (word_i[6:0] == 7'b0101011) ||
                    ((word_i[6:0] == 7'b0001011) &&
                     ((f3[2:1] == 2'd1) || (f3[2:1] == 2'd2) || ((f3 == 3'd0) && (f7 == 7'd5))));
  always_comb begin
    full = '0;
    if (in_table) full = tessera_pkg::decode_full(word_i);
  end

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
        dec_o.legal    = worker_i && (f3 == 3'd2);
        dec_o.main     = 1'b1;
        dec_o.b_imm    = 1'b1;
        dec_o.load     = 1'b1;
        dec_o.fmem     = 1'b1;
        dec_o.count_rd = 3'd1;
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

    if (in_table && (full.op != tessera_pkg::OP_ILLEGAL)) begin
      dec_o.legal = (full.role == tessera_pkg::ROLE_ALL) || ((full.role == tessera_pkg::ROLE_WORKER) == worker_i);
      dec_o.main  = (full.cls == tessera_pkg::CLASS_MAIN);
      dec_o.imm   = tessera_pkg::immediate(full.imm, word_i);
      dec_o.b_imm = (full.imm == tessera_pkg::IMM_I) || (full.imm == tessera_pkg::IMM_S);
      if (full.rd_write && (full.rd_file == tessera_pkg::FILE_F)) dec_o.count_rd = full.rd_count;
      case (full.op)
        tessera_pkg::OP_X_CLZ: dec_o.alu = tile_pkg::AluClz;
        tessera_pkg::OP_X_CTZ: dec_o.alu = tile_pkg::AluCtz;
        tessera_pkg::OP_X_CPOP: dec_o.alu = tile_pkg::AluCpop;
        tessera_pkg::OP_X_BREV: dec_o.alu = tile_pkg::AluBrev;
        tessera_pkg::OP_X_SHUF8: dec_o.alu = tile_pkg::AluShuf;
        tessera_pkg::OP_X_LD64, tessera_pkg::OP_X_LD64_R: {dec_o.wide, dec_o.post, dec_o.load} = 3'b111;
        tessera_pkg::OP_X_LD128, tessera_pkg::OP_X_LD128_R:
          {dec_o.wide, dec_o.post, dec_o.load, dec_o.quad} = 4'b1111;
        tessera_pkg::OP_X_ST64: {dec_o.wide, dec_o.post, dec_o.store} = 3'b111;
        tessera_pkg::OP_X_ST64_R: {dec_o.wide, dec_o.post, dec_o.store, dec_o.data_rd} = 4'b1111;
        tessera_pkg::OP_X_LD2: {dec_o.wide, dec_o.stream, dec_o.load, dec_o.uses} = {3'b111, 3'b011};
        tessera_pkg::OP_X_LDST: {dec_o.wide, dec_o.stream, dec_o.load, dec_o.store, dec_o.uses} = {4'b1111, 3'b101};
        tessera_pkg::OP_X_LD2ST: {dec_o.wide, dec_o.stream, dec_o.load, dec_o.store, dec_o.uses} = {4'b1111, 3'b111};
        tessera_pkg::OP_X_SSET: dec_o.sset = 1'b1;
        tessera_pkg::OP_X_RPT, tessera_pkg::OP_X_RPTI: dec_o.rpt = 1'b1;
        tessera_pkg::OP_X_AMP_LDW: dec_o.ldw = 1'b1;
        default: dec_o.legal = 1'b0;
      endcase
      dec_o.fmem = dec_o.wide;
      dec_o.rd_x = full.rd_write && (full.rd_file == tessera_pkg::FILE_X);
    end
  end
endmodule
