// Memory of the tile: the SRAM ports in stage X, which loads and stores share with the engines and the load of the AMP's
// weights, and stages M and N, which bring the values of an instruction, loaded or computed, to W.
module tile_memory (
  input  logic        clk_i,
  input  logic        rst_ni,
  // Pins of tile_core.
  input  logic [63:0] load_a_data_i,
  input  logic [63:0] load_b_data_i,
  // Decoded instruction and operands (tile_read).
  input  logic [31:0] x_word_i,
  input  logic [63:0] x_sdata_i,
  input  logic        x_wide_i,                  // by doublewords
  // Stage X (tile_execute).
  input  logic [31:0] addr_i,                    // of the load
  input  logic [31:0] addr2_i,                   // of the second doubleword
  input  logic [31:0] store_addr_i,
  input  logic [1:0]  size_i,
  input  logic        x_load_i,
  input  logic        x_load2_i,
  input  logic        x_store_i,
  input  logic [31:0] e_val_i,                   // value for x[rd] but loads, FPU, lanes
  // Engines (tile_engines).
  input  logic        ex_write_i,
  input  logic [31:0] ex_write_addr_i,
  input  logic [31:0] ex_write_data_i,
  input  logic        eng_read_a_i,
  input  logic        eng_read_b_i,
  input  logic [31:0] eng_addr_a_i,
  input  logic [31:0] eng_addr_b_i,
  // SRAM ports; value in W.
  output logic        load_a_req_o,
  output logic [31:0] load_a_addr_o,
  output logic        load_b_req_o,
  output logic [31:0] load_b_addr_o,
  output logic        store_req_o,
  output logic [31:0] store_addr_o,
  output logic [63:0] store_data_o,
  output logic [7:0]  store_mask_o,
  output logic [31:0] w_val_o,                   // computed, or loaded unless by doublewords
  output logic [63:0] w_wide_o,                  // doubleword loaded
  output logic [63:0] w_wide2_o                  // second one
);
  logic [31:0] w_val_q, store_word, m_val_q, n_val_q, loaded, n_shifted;
  logic [63:0] n_load2_q, w_wide_q, w_wide2_q;
  logic        m_wide_q, n_wide_q, m_load2_q, n_load2_valid_q;
  logic [3:0]  store_bytes;
  logic [63:0] n_load_q, n_word;
  logic [2:0]  m_f3_q, n_f3_q, m_at_q, n_at_q;
  logic        m_is_load_q, n_is_load_q;

  assign load_a_req_o  = x_load_i || eng_read_a_i;
  assign load_a_addr_o = eng_read_a_i ? {eng_addr_a_i[31:3], 3'd0} : {addr_i[31:3], 3'd0};
  assign load_b_req_o  = x_load2_i || eng_read_b_i;
  assign load_b_addr_o = eng_read_b_i ? eng_addr_b_i : {addr2_i[31:3], 3'd0};

  always_comb begin
    case (size_i)
      2'd0: begin
        store_word  = {4{x_sdata_i[7:0]}};
        store_bytes = 4'b0001 << store_addr_i[1:0];
      end
      2'd1: begin
        store_word  = {2{x_sdata_i[15:0]}};
        store_bytes = 4'b0011 << store_addr_i[1:0];
      end
      default: begin
        store_word  = x_sdata_i[31:0];
        store_bytes = 4'b1111;
      end
    endcase
  end
  assign store_req_o  = x_store_i || ex_write_i;
  assign store_addr_o = ex_write_i ? {ex_write_addr_i[31:3], 3'd0} : {store_addr_i[31:3], 3'd0};
  assign store_data_o = ex_write_i ? {2{ex_write_data_i}} : x_wide_i ? x_sdata_i : {2{store_word}};
  assign store_mask_o = ex_write_i ? (ex_write_addr_i[2] ? 8'hF0 : 8'h0F) :
                        x_wide_i ? 8'hFF : (store_addr_i[2] ? {store_bytes, 4'd0} : {4'd0, store_bytes});

  // M, N: the word of a load is lined up and extended.
  assign n_word    = n_load_q >> {n_at_q, 3'b000};
  assign n_shifted = n_word[31:0];
  always_comb begin
    case (n_f3_q)
      3'd0: loaded = {{24{n_shifted[7]}}, n_shifted[7:0]};
      3'd1: loaded = {{16{n_shifted[15]}}, n_shifted[15:0]};
      3'd4: loaded = {24'd0, n_shifted[7:0]};
      3'd5: loaded = {16'd0, n_shifted[15:0]};
      default: loaded = n_shifted;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      m_is_load_q     <= 1'b0;
      m_wide_q        <= 1'b0;
      m_load2_q       <= 1'b0;
      n_is_load_q     <= 1'b0;
      n_wide_q        <= 1'b0;
      n_load2_valid_q <= 1'b0;
    end else begin
      m_is_load_q     <= x_load_i;
      m_wide_q        <= x_load_i && x_wide_i;
      m_load2_q       <= x_load2_i;
      n_is_load_q     <= m_is_load_q && !m_wide_q;
      n_wide_q        <= m_wide_q;
      n_load2_valid_q <= m_load2_q;
    end
  end

  always_ff @(posedge clk_i) begin
    m_val_q <= e_val_i;
    m_f3_q  <= x_word_i[14:12];
    m_at_q  <= addr_i[2:0];
    n_val_q <= m_val_q;
    n_f3_q  <= m_f3_q;
    n_at_q  <= m_at_q;
    if (m_is_load_q) n_load_q <= load_a_data_i;
    if (m_load2_q) n_load2_q <= load_b_data_i;
    w_val_q <= n_is_load_q ? loaded : n_val_q;
    if (n_wide_q) w_wide_q <= n_load_q;
    if (n_load2_valid_q) w_wide2_q <= n_load2_q;
  end

  assign w_val_o   = w_val_q;
  assign w_wide_o  = w_wide_q;
  assign w_wide2_o = w_wide2_q;
endmodule
