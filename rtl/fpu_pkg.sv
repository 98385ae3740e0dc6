// Operations of the f32 unit (fpu.sv) and helpers of both floating-point modules. No state, no timing.
//
// Flags are fflags of RISC-V F, bit 4 down to 0: NV, DZ, OF, UF, NX. Rounding modes are frm: RNE 0, RTZ 1, RDN 2, RUP 3,
// RMM 4; reserved modes never reach the unit (they trap before).
package fpu_pkg;

  typedef enum logic [4:0] {
    FpAdd    = 5'd0,   // a + b
    FpSub    = 5'd1,   // a - b
    FpMul    = 5'd2,   // a * b
    FpMadd   = 5'd3,   // a * b + c
    FpMsub   = 5'd4,   // a * b - c
    FpNmsub  = 5'd5,   // -(a * b) + c
    FpNmadd  = 5'd6,   // -(a * b) - c
    FpSgnj   = 5'd7,
    FpSgnjn  = 5'd8,
    FpSgnjx  = 5'd9,
    FpMin    = 5'd10,
    FpMax    = 5'd11,
    FpEq     = 5'd12,  // result is an integer 0 or 1
    FpLt     = 5'd13,
    FpLe     = 5'd14,
    FpClass  = 5'd15,  // result is the 10-bit class mask
    FpCvtWS  = 5'd16,  // f32 -> signed integer
    FpCvtWuS = 5'd17,  // f32 -> unsigned integer
    FpCvtSW  = 5'd18,  // signed integer in a -> f32
    FpCvtSWu = 5'd19,  // unsigned integer in a -> f32
    FpMove   = 5'd20   // a unchanged: fmv.x.w and fmv.w.x
  } fp_op_e;

  typedef enum logic [2:0] {
    RmRne = 3'd0,
    RmRtz = 3'd1,
    RmRdn = 3'd2,
    RmRup = 3'd3,
    RmRmm = 3'd4
  } fp_rm_e;

  localparam logic [31:0] CanonicalNan = 32'h7fc00000;

endpackage
