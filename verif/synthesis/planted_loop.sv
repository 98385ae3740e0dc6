// A combinational loop through a submodule, which scripts/synth.sh must refuse.
module planted_loop_half (
  input  logic a_i,
  input  logic b_i,
  output logic y_o
);
  assign y_o = a_i && b_i;
endmodule

module planted_loop (
  input  logic a_i,
  input  logic b_i,
  output logic y_o
);
  logic back;
  planted_loop_half u_there (.a_i(a_i), .b_i(back), .y_o(y_o));
  planted_loop_half u_back (.a_i(b_i), .b_i(y_o), .y_o(back));
endmodule
