// Both decoders of the tile with the fields of their structs as ports, so that a test can read them by name.
module decode_probe (
  input  logic [31:0] word_i,
  output logic        legal_supervisor_o,
  output logic        legal_worker_o,
  output logic        main_o,
  output logic [3:0]  alu_o,
  output logic        a_pc_o,
  output logic        a_zero_o,
  output logic        b_imm_o,
  output logic [31:0] imm_o,
  output logic        rd_x_o,
  output logic [28:0] unit_o,      // fmem, load, store, branch, jal, ... data_rd; bit 0 is fmem
  output logic [2:0]  count_rd_o,  // f registers that a load writes from rd on
  output logic        role_bound_o,// beside `legal`, a field depends on the role; must be 0
  output logic        fp_legal_o,
  output logic        fp_aux_o,
  output logic [4:0]  fp_op_o,
  output logic [1:0]  fp_unit_o,   // tile_pkg::f_unit_e
  output logic [8:0]  fp_xop_o,
  output logic [2:0]  fp_slots_o,
  output logic        fp_draws_o,
  output logic        fp_lane_o,
  output logic        fp_sqrt_o,
  output logic        fp_rounds_o,
  output logic        fp_x_rd_o,
  output logic        fp_x_rs1_o,
  output logic [11:0] fp_counts_o  // f registers read from rs1, rs2, rs3 on, written from rd on; rs1 lowest
);
  tile_pkg::int_dec_t supervisor, worker, same;
  tile_pkg::fp_dec_t  fp;

  tile_decode u_supervisor (.word_i, .worker_i(1'b0), .dec_o(supervisor));
  tile_decode u_worker (.word_i, .worker_i(1'b1), .dec_o(worker));
  tile_decode_fp u_fp (.word_i, .dec_o(fp));

  always_comb begin
    same       = supervisor;
    same.legal = worker.legal;
  end
  assign role_bound_o = (same != worker);

  assign legal_supervisor_o = supervisor.legal;
  assign legal_worker_o     = worker.legal;
  assign main_o             = worker.main;
  assign count_rd_o         = worker.count_rd;
  assign alu_o              = worker.alu;
  assign a_pc_o             = worker.a_pc;
  assign a_zero_o           = worker.a_zero;
  assign b_imm_o            = worker.b_imm;
  assign imm_o              = worker.imm;
  assign rd_x_o             = worker.rd_x;
  assign unit_o             = {worker.data_rd, worker.ldw, worker.rpt, worker.sset, worker.uses[2], worker.uses[1],
                               worker.uses[0], worker.stream, worker.post, worker.quad, worker.wide, worker.quit, worker.delay, worker.pkt, worker.exch, worker.sync, worker.run, worker.mret,
                               worker.ebreak, worker.ecall, worker.csr, worker.div, worker.mul, worker.jalr, worker.jal,
                               worker.branch, worker.store, worker.load, worker.fmem};

  assign fp_legal_o  = fp.legal;
  assign fp_aux_o    = fp.aux;
  assign fp_op_o     = fp.op;
  assign fp_unit_o   = fp.unit;
  assign fp_xop_o    = fp.xop;
  assign fp_slots_o  = fp.slots;
  assign fp_draws_o  = fp.draws;
  assign fp_lane_o   = fp.lane;
  assign fp_sqrt_o   = fp.sqrt;
  assign fp_rounds_o = fp.rounds;
  assign fp_x_rd_o   = fp.x_rd;
  assign fp_x_rs1_o  = fp.x_rs1;
  assign fp_counts_o = {fp.count_rd, fp.count3, fp.count2, fp.count1};
endmodule
