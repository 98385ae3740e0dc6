// Integer ALU, multiplier, bit operations and branch condition of the tile. Combinational.
module tile_alu (
  input  logic [3:0]  op_i,       // tile_pkg::alu_op_e
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  input  logic        mul_i,      // result is a product; f3_i picks mul, mulh, mulhsu, mulhu
  input  logic [2:0]  f3_i,
  input  logic [31:0] rs1_i,      // operands of branches and products
  input  logic [31:0] rs2_i,
  output logic [31:0] sum_o,      // a + b: addresses
  output logic [31:0] result_o,
  output logic        taken_o     // branch condition of f3_i
);
  logic        less_s, less_u, equal;
  logic [63:0] product;
  logic [31:0] high;

  assign less_u = (rs1_i < rs2_i);
  assign less_s = (rs1_i[31] != rs2_i[31]) ? rs1_i[31] : less_u;
  assign equal  = (rs1_i == rs2_i);

`ifdef TESSERA_FAULTS
  logic faulty;  // planted fault, chosen at run time: the carry from bit 15 into bit 16 is lost
  initial faulty = ($test$plusargs("fault_adder") != 0);
`elsif TESSERA_FAULT_ADDER
  localparam logic faulty = 1'b1;
`else
  localparam logic faulty = 1'b0;
`endif
  assign sum_o = faulty ? {a_i[31:16] + b_i[31:16], a_i[15:0] + b_i[15:0]} : (a_i + b_i);

  always_comb begin
    case (f3_i)
      3'd0: taken_o = equal;
      3'd1: taken_o = !equal;
      3'd4: taken_o = less_s;
      3'd5: taken_o = !less_s;
      3'd6: taken_o = less_u;
      default: taken_o = !less_u;
    endcase
  end

  function automatic logic [31:0] reversed(input logic [31:0] a);
    integer i;
    for (i = 0; i < 32; i = i + 1) reversed[i] = a[31-i];
  endfunction

  function automatic logic [31:0] leading_zeros(input logic [31:0] a);
    integer i;
    leading_zeros = 32'd32;
    for (i = 0; i < 32; i = i + 1) if (a[i]) leading_zeros = 32'd31 - i;
  endfunction

  function automatic logic [31:0] ones(input logic [31:0] a);
    integer i;
    ones = 32'd0;
    for (i = 0; i < 32; i = i + 1) ones = ones + {31'd0, a[i]};
  endfunction

  // Byte i of the result is byte b[8i+1:8i] of a, or 0 if b[8i+7] is set.
  function automatic logic [31:0] shuffled(input logic [31:0] a, input logic [31:0] b);
    integer i;
    for (i = 0; i < 4; i = i + 1) shuffled[8*i +: 8] = b[8*i+7] ? 8'd0 : a[8*b[8*i +: 2] +: 8];
  endfunction

  always_comb begin
    product = 64'd0;
    high    = 32'd0;
    if (mul_i) begin
      // Unsigned product; the signed forms correct its high half.
      product = {32'd0, rs1_i} * {32'd0, rs2_i};
      high    = product[63:32];
      if ((f3_i == 3'd1 || f3_i == 3'd2) && rs1_i[31]) high = high - rs2_i;
      if (f3_i == 3'd1 && rs2_i[31]) high = high - rs1_i;
      result_o = (f3_i == 3'd0) ? product[31:0] : high;
    end else begin
      case (op_i)
        tile_pkg::AluAdd: result_o = sum_o;
        tile_pkg::AluSub: result_o = a_i - b_i;
        tile_pkg::AluSll: result_o = a_i << b_i[4:0];
        tile_pkg::AluSlt: result_o = {31'd0, (a_i[31] != b_i[31]) ? a_i[31] : (a_i < b_i)};
        tile_pkg::AluSltu: result_o = {31'd0, a_i < b_i};
        tile_pkg::AluXor: result_o = a_i ^ b_i;
        tile_pkg::AluSrl: result_o = a_i >> b_i[4:0];
        tile_pkg::AluSra: result_o = $unsigned($signed(a_i) >>> b_i[4:0]);
        tile_pkg::AluOr: result_o = a_i | b_i;
        tile_pkg::AluClz: result_o = leading_zeros(a_i);
        tile_pkg::AluCtz: result_o = leading_zeros(reversed(a_i));
        tile_pkg::AluCpop: result_o = ones(a_i);
        tile_pkg::AluBrev: result_o = reversed(a_i);
        tile_pkg::AluShuf: result_o = shuffled(a_i, b_i);
        default: result_o = a_i & b_i;
      endcase
    end
  end
endmodule
