// Clock gate: clk_o follows clk_i in a cycle if enable_i stood at the falling edge before; in a chip, a cell of the library.
module tile_clock_gate (
  input  logic clk_i,
  input  logic enable_i,
  output logic clk_o
);
  logic enable_q;
  always_ff @(negedge clk_i) enable_q <= enable_i;
  assign clk_o = clk_i && enable_q;
endmodule
