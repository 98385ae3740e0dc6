// Records of retired instructions and traps between stage X, where they are made, and W, where they leave the tile
// (docs/lockstep.md). A slot has at most one instruction under way, so the records wait in a store indexed by slot.
//
// One value, `value`, is kept for what excludes each other: mtval of a trap, the CSR written, pc of x.run, the memory
// address; `second` likewise for store data and the first argument of x.run; `wide` is what accesses by doublewords add.
// The rest is in the instruction word.
module tile_retire (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic [2:0]              x_slot_i,
  input  logic [2:0]              w_slot_i,
  // Stage X: MAIN or SOLO, and the AUX.
  input  logic                    main_valid_i,
  input  tile_pkg::retire_flags_t main_i,
  input  logic [31:0]             pc_i,
  input  logic [31:0]             word_i,
  input  logic [31:0]             next_pc_i,
  input  logic [31:0]             value_i,
  input  logic [31:0]             second_i,
  input  logic [31:0]             third_i,    // second argument of x.run
  input  logic [95:0]             wide_i,     // address of the second load, of the store, high half of its data
  input  logic                    aux_valid_i,
  input  tile_pkg::retire_flags_t aux_i,
  input  logic [31:0]             aux_pc_i,
  input  logic [31:0]             aux_word_i,
  input  logic [31:0]             aux_next_pc_i,
  // Stage W, three cycles later; 0 if not valid.
  output logic                    busy_o,     // a record is under way
  output logic                    main_valid_o,
  output tile_pkg::retire_flags_t main_o,
  output logic [31:0]             pc_o,
  output logic [31:0]             word_o,
  output logic [31:0]             next_pc_o,
  output logic [31:0]             value_o,
  output logic [31:0]             second_o,
  output logic [31:0]             third_o,
  output logic [95:0]             wide_o,
  output logic                    aux_valid_o,
  output tile_pkg::retire_flags_t aux_o,
  output logic [31:0]             aux_pc_o,
  output logic [31:0]             aux_word_o,
  output logic [31:0]             aux_next_pc_o
);
  logic [2:0]  main_valid_q, aux_valid_q;  // stages M, N, W
  tile_pkg::retire_flags_t main_q [0:5];
  tile_pkg::retire_flags_t aux_q [0:5];
  logic [31:0] pc_q [0:5];
  logic [31:0] word_q [0:5];
  logic [31:0] next_pc_q [0:5];
  logic [31:0] value_q [0:5];
  logic [31:0] second_q [0:5];
  logic [31:0] third_q [0:5];
  logic [95:0] wide_q [0:5];
  logic [31:0] aux_pc_q [0:5];
  logic [31:0] aux_word_q [0:5];
  logic [31:0] aux_next_pc_q [0:5];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      main_valid_q <= 3'd0;
      aux_valid_q  <= 3'd0;
    end else begin
      main_valid_q <= {main_valid_q[1:0], main_valid_i};
      aux_valid_q  <= {aux_valid_q[1:0], aux_valid_i};
    end
  end

  always_ff @(posedge clk_i) begin
    if (main_valid_i) begin
      main_q[x_slot_i]    <= main_i;
      pc_q[x_slot_i]      <= pc_i;
      word_q[x_slot_i]    <= word_i;
      next_pc_q[x_slot_i] <= next_pc_i;
      value_q[x_slot_i]   <= value_i;
      second_q[x_slot_i]  <= second_i;
      if (main_i.run) third_q[x_slot_i] <= third_i;
      if (main_i.wide) wide_q[x_slot_i] <= wide_i;
    end
    if (aux_valid_i) begin
      aux_q[x_slot_i]         <= aux_i;
      aux_pc_q[x_slot_i]      <= aux_pc_i;
      aux_word_q[x_slot_i]    <= aux_word_i;
      aux_next_pc_q[x_slot_i] <= aux_next_pc_i;
    end
  end

  assign busy_o       = (main_valid_q != 3'd0) || (aux_valid_q != 3'd0);
  assign main_valid_o = main_valid_q[2];
  assign aux_valid_o  = aux_valid_q[2];

  always_comb begin
    main_o        = '0;
    pc_o          = 32'd0;
    word_o        = 32'd0;
    next_pc_o     = 32'd0;
    value_o       = 32'd0;
    second_o      = 32'd0;
    third_o       = 32'd0;
    wide_o        = 96'd0;
    if (main_valid_q[2]) begin
      main_o    = main_q[w_slot_i];
      pc_o      = pc_q[w_slot_i];
      word_o    = word_q[w_slot_i];
      next_pc_o = next_pc_q[w_slot_i];
      value_o   = value_q[w_slot_i];
      second_o  = second_q[w_slot_i];
      third_o   = third_q[w_slot_i];
      if (main_o.wide) wide_o = wide_q[w_slot_i];
    end
  end

  always_comb begin
    aux_o         = '0;
    aux_pc_o      = 32'd0;
    aux_word_o    = 32'd0;
    aux_next_pc_o = 32'd0;
    if (aux_valid_q[2]) begin
      aux_o         = aux_q[w_slot_i];
      aux_pc_o      = aux_pc_q[w_slot_i];
      aux_word_o    = aux_word_q[w_slot_i];
      aux_next_pc_o = aux_next_pc_q[w_slot_i];
    end
  end
endmodule
