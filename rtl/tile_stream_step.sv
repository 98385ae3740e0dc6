// Address arithmetic of a stream pointer (docs/machine/tile.md): where it stands after an access. Combinational, no
// checks: addresses wrap and may rest outside the SRAM.
module tile_stream_step (
  input  logic [31:0] address_i,
  input  logic [31:0] strides_i,  // A in 15:0, B in 31:16, signed, in doublewords
  input  logic [1:0]  step_i,     // 0: next doubleword, 1: A, 2: B, 3: none
  output logic [31:0] next_o
);
  logic [31:0] stride_a, stride_b;

`ifdef TESSERA_FAULTS
  logic faulty;  // planted fault, chosen at run time: stride B without its sign
  initial faulty = ($test$plusargs("fault_stream_stride") != 0);
`elsif TESSERA_FAULT_STREAM_STRIDE
  localparam logic faulty = 1'b1;
`else
  localparam logic faulty = 1'b0;
`endif
  assign stride_a = {{13{strides_i[15]}}, strides_i[15:0], 3'd0};
  assign stride_b = {{13{strides_i[31] && !faulty}}, strides_i[31:16], 3'd0};

  always_comb begin
    case (step_i)
      2'd0: next_o = address_i + 32'd8;
      2'd1: next_o = address_i + stride_a;
      2'd2: next_o = address_i + stride_b;
      default: next_o = address_i;
    endcase
  end
endmodule
