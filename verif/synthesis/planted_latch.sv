// A latch that scripts/synth.sh must refuse: q_o keeps its value while enable_i is 0.
module planted_latch (
  input  logic enable_i,
  input  logic d_i,
  output logic q_o
);
  always @* begin
    if (enable_i) q_o = d_i;
  end
endmodule
