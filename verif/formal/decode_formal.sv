// The decoders of the core against the generated instruction table (hw/isa), for every one of the 2^32 words: legality by
// role, class, slots, operations of the FPU, registers read and written, immediates.
module decode_formal (
  input logic [31:0] word_i
);
  tile_pkg::int_dec_t supervisor, worker;
  tile_pkg::fp_dec_t  fp;
  tessera_pkg::decoded_t t;

  tile_decode u_supervisor (.word_i, .worker_i(1'b0), .dec_o(supervisor));
  tile_decode u_worker (.word_i, .worker_i(1'b1), .dec_o(worker));
  tile_decode_fp u_fp (.word_i, .dec_o(fp));
  always_comb t = tessera_pkg::decode_full(word_i);

  logic        known, x_rd;
  logic [31:0] imm;
  assign known = (t.op != 9'd0);
  assign x_rd  = (t.rd_file == tessera_pkg::FILE_X) && t.rd_write && (t.op != tessera_pkg::OP_X_SYNC);
  always_comb begin
    case (t.imm)
      tessera_pkg::IMM_I: imm = {{20{word_i[31]}}, word_i[31:20]};
      tessera_pkg::IMM_S: imm = {{20{word_i[31]}}, word_i[31:25], word_i[11:7]};
      tessera_pkg::IMM_B: imm = {{20{word_i[31]}}, word_i[7], word_i[30:25], word_i[11:8], 1'b0};
      tessera_pkg::IMM_U: imm = {word_i[31:12], 12'd0};
      default: imm = {{12{word_i[31]}}, word_i[19:12], word_i[20], word_i[30:21], 1'b0};
    endcase
  end

  function automatic logic [2:0] f_count(input logic [1:0] file, input logic used, input logic [2:0] count);
    f_count = ((file == tessera_pkg::FILE_F) && used) ? count : 3'd0;
  endfunction

  always_comb begin
    assert (supervisor.legal == (known && (t.role != tessera_pkg::ROLE_WORKER)));
    assert ((worker.legal || fp.legal) == (known && (t.role != tessera_pkg::ROLE_SUPERVISOR)));
    assert (!(worker.legal && fp.legal));
    if (worker.legal || supervisor.legal) begin
      assert (worker.main == (t.cls == tessera_pkg::CLASS_MAIN));
      assert (t.cls != tessera_pkg::CLASS_AUX);
      assert ((worker.div ? 3'd6 : worker.ldw ? 3'd3 : 3'd1) == t.slots);
      assert (worker.rd_x == (x_rd && !worker.post));
      if ((t.imm >= tessera_pkg::IMM_I) && (t.imm <= tessera_pkg::IMM_J)) assert (worker.imm == imm);
    end
    if (fp.legal) begin
      assert (fp.aux == (t.cls == tessera_pkg::CLASS_AUX));
      assert (t.cls != tessera_pkg::CLASS_MAIN);
      assert (fp.slots == t.slots);
      assert (fp.x_rd == (t.rd_file == tessera_pkg::FILE_X));
      assert (fp.x_rs1 == (t.rs1_file == tessera_pkg::FILE_X));
      assert (fp.count1 == f_count(t.rs1_file, t.rs1_read, t.rs1_count));
      assert (fp.count2 == f_count(t.rs2_file, t.rs2_read, t.rs2_count));
      assert (fp.count3 == f_count(t.rs3_file, t.rs3_read, t.rs3_count));
      assert (fp.count_rd == f_count(t.rd_file, t.rd_write, t.rd_count));
    end
  end
endmodule
