// SRAM of a tile: fetch port, two load ports, a store port with byte enables and a port for words of arriving packets.
// Reads are synchronous and see the contents before the writes of their cycle. Size in doublewords is a parameter.
module tile_sram #(
  parameter int Doublewords = 32768,          // 256 KiB
  parameter int IndexBits = 15
) (
  input  logic        clk_i,
  input  logic        fetch_req_i,
  input  logic [31:0] fetch_addr_i,           // byte addresses as the tile sees them, inside the SRAM
  output logic [63:0] fetch_data_o,
  input  logic        load_a_req_i,
  input  logic [31:0] load_a_addr_i,
  output logic [63:0] load_a_data_o,
  input  logic        load_b_req_i,
  input  logic [31:0] load_b_addr_i,
  output logic [63:0] load_b_data_o,
  input  logic        store_req_i,
  input  logic [31:0] store_addr_i,
  input  logic [63:0] store_data_i,
  input  logic [7:0]  store_mask_i,
  input  logic        packet_store_req_i,
  input  logic [31:0] packet_store_addr_i,
  input  logic [31:0] packet_store_data_i
);
  logic [63:0] data_q [0:Doublewords-1];

  // Doubleword number of an address; what is outside never gets here.
  function automatic logic [IndexBits-1:0] index(input logic [31:0] addr);
    logic [31:0] offset;
    offset = addr - tessera_pkg::SRAM_BASE;
    index  = offset[IndexBits+2:3];
  endfunction

  always_ff @(posedge clk_i) begin
    if (fetch_req_i) fetch_data_o <= data_q[index(fetch_addr_i)];
    if (load_a_req_i) load_a_data_o <= data_q[index(load_a_addr_i)];
    if (load_b_req_i) load_b_data_o <= data_q[index(load_b_addr_i)];
  end

  integer b;
  always_ff @(posedge clk_i) begin
    if (store_req_i) begin
      for (b = 0; b < 8; b = b + 1)
        if (store_mask_i[b]) data_q[index(store_addr_i)][8*b +: 8] <= store_data_i[8*b +: 8];
    end
    if (packet_store_req_i) begin
      if (packet_store_addr_i[2]) data_q[index(packet_store_addr_i)][63:32] <= packet_store_data_i;
      else data_q[index(packet_store_addr_i)][31:0] <= packet_store_data_i;
    end
  end
endmodule
