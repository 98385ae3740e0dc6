// The accumulating matrix product of the tile: eight engines, their weights, the partial sums of six workers (core.md
// section 7). Fully pipelined: a step can start in every cycle.
//
// Operands at the end of stage R with valid_i; commit_i one cycle later, in X: without it nothing changes. out_o stands
// in W, four edges of clk_i later, and so does, after a step of the last phase that was committed, state_o. The sums of
// a worker are read and written in N, so that steps of one worker may follow each other every sixth cycle. clk_i must
// rise in every cycle with valid_i, clear_i, load_i, debug_write_i or busy_o and may else stay low.
module xtile_amp (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         valid_i,         // R: an AMP step
  input  logic [8:0]   op_i,            // tessera_pkg::OP_X_AMP_F16, _F32, _G, _IO
  input  logic [2:0]   phase_i,         // 0..3; f32: 0..7
  input  logic [2:0]   ctx_i,           // worker 0..5
  input  logic [63:0]  a_i,             // rs1: activations; the first register in bits 31:0
  input  logic [63:0]  b_i,             // rs2: activations of engines 4..7 (x.amp.g)
  input  logic [63:0]  c_i,             // rs3: partial sums in
  input  logic         commit_i,        // X: the step takes effect
  input  logic [5:0]   clear_i,         // x.run: these workers' sums become +0
  input  logic         load_i,          // x.amp.ldw: sixteen bytes of weights; no step may be in R, X, M or N
  input  logic [3:0]   load_row_i,      // bytes 16 * row ..
  input  logic [127:0] load_data_i,
  output logic [63:0]  out_o,           // W: partial sums out (f32: low half)
  output logic         state_valid_o,   // W: the step was of the last phase
  output logic [511:0] state_o,         // W: {B[7..0], A[7..0]} after the swap; 0 without state_valid_o
  output logic         row_valid_o,     // the cycle after load_i
  output logic [127:0] row_o,           // the row as it is stored now; 0 without row_valid_o
  output logic         busy_o,          // a step is in X, M or N, or a row stands at row_o
  // Debug port, while no step is in flight: one word of the sums or weights.
  input  logic         debug_i,         // debug_value_o is wanted
  input  logic         debug_write_i,
  input  logic         debug_sums_i,    // 1: sums of debug_ctx_i, 0..7 A, 8..15 B; 0: weights, 0..63
  input  logic [2:0]   debug_ctx_i,
  input  logic [5:0]   debug_word_i,
  input  logic [31:0]  debug_data_i,
  output logic [31:0]  debug_value_o    // 0 without debug_i
);
  assign out_o = '0;
  assign state_valid_o = '0;
  assign state_o = '0;
  assign row_valid_o = '0;
  assign row_o = '0;
  assign busy_o = '0;
  assign debug_value_o = '0;
endmodule
