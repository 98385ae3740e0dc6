#!/usr/bin/python3
"""Writes self-checking RV32IMF programs, one assembly file a group: generate.py OUTPUT_DIRECTORY.

Every instruction meets corner operands; the expected results come from this file alone (integers of Python, exact
fractions for floating point), so they are independent of both tile models. A program checks each result, stores it to
the signature (floating point: also the flags) and ends at `pass` or `fail` with the test's number in gp; env_tile.S
and env_linux.c say what that means. Registers: s0 table, s1 count, s2 signature, gp test number.
"""

import sys
from fractions import Fraction

import machine_programs
import xtile_programs
import xtile_state_programs
from program import Program

M32 = 0xFFFFFFFF
CORNERS = [0, 1, 2, M32, 0x7FFFFFFF, 0x80000000, 0x80000001, 0x55555555, 0xAAAAAAAA, 0x0000FFFF, 0xFFFF0000, 0x12345678, 31, 32]


def signed(a):
    return a - (1 << 32) if a >> 31 else a


def quotient(a, b):
    q = abs(a) // abs(b)
    return -q if (a < 0) != (b < 0) else q


def divide(a, b):
    return M32 if b == 0 else quotient(signed(a), signed(b)) & M32


def remainder(a, b):
    return a if b == 0 else (signed(a) - signed(b) * quotient(signed(a), signed(b))) & M32


ALU = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "sll": lambda a, b: a << (b & 31),
    "slt": lambda a, b: signed(a) < signed(b),
    "sltu": lambda a, b: a < b,
    "xor": lambda a, b: a ^ b,
    "srl": lambda a, b: a >> (b & 31),
    "sra": lambda a, b: signed(a) >> (b & 31),
    "or": lambda a, b: a | b,
    "and": lambda a, b: a & b,
}
MUL = {
    "mul": lambda a, b: a * b,
    "mulh": lambda a, b: signed(a) * signed(b) >> 32,
    "mulhsu": lambda a, b: signed(a) * b >> 32,
    "mulhu": lambda a, b: a * b >> 32,
    "div": divide,
    "divu": lambda a, b: M32 if b == 0 else a // b,
    "rem": remainder,
    "remu": lambda a, b: a if b == 0 else a % b,
}
IMMEDIATE = {"addi": "add", "slti": "slt", "sltiu": "sltu", "xori": "xor", "ori": "or", "andi": "and"}
SHIFT = {"slli": "sll", "srli": "srl", "srai": "sra"}
BRANCH = {
    "beq": lambda a, b: a == b,
    "bne": lambda a, b: a != b,
    "blt": lambda a, b: signed(a) < signed(b),
    "bge": lambda a, b: signed(a) >= signed(b),
    "bltu": lambda a, b: a < b,
    "bgeu": lambda a, b: a >= b,
}


CHECK = ["  sw a3, 0(s2)", "  bne a3, a2, failed"]


def register_forms(program, table):
    for name, f in table.items():
        rows = [(a, b, int(f(a, b))) for a in CORNERS for b in CORNERS]
        program.loop(["  lw a0, 0(s0)", "  lw a1, 4(s0)", "  lw a2, 8(s0)", f"  {name} a3, a0, a1"], rows, 1, CHECK)
        # Destination equal to each source and to both; x0 as source and as destination.
        rows = [(a, int(f(a, b)), b) for a, b in ((0x80000000, 3), (5, M32), (0x12345678, 0x9ABCDEF0))]
        program.loop(["  lw a3, 0(s0)", "  lw a2, 4(s0)", "  lw a1, 8(s0)", f"  {name} a3, a3, a1"], rows, 1, CHECK)
        program.loop(["  lw a1, 0(s0)", "  lw a2, 4(s0)", "  lw a3, 8(s0)", f"  {name} a3, a1, a3"], rows, 1, CHECK)
        rows = [(a, int(f(a, a)), int(f(a, 0)), int(f(0, a))) for a in CORNERS]
        program.loop(["  lw a3, 0(s0)", "  lw a2, 4(s0)", f"  {name} a3, a3, a3"], rows, 1, CHECK)
        program.loop(["  lw a0, 0(s0)", "  lw a2, 8(s0)", f"  {name} a3, a0, x0"], rows, 1, CHECK)
        program.loop(["  lw a0, 0(s0)", "  lw a2, 12(s0)", f"  {name} a3, x0, a0"], rows, 1, CHECK)
        program.loop(["  lw a0, 0(s0)", "  li a2, 0", f"  {name} x0, a0, a0", "  mv a3, x0"], rows, 1, CHECK)


def immediate_forms(program):
    for name, op in IMMEDIATE.items():
        for imm in (0, 1, -1, 2047, -2048, 0x555, -0x556):
            rows = [(a, int(ALU[op](a, imm & M32))) for a in CORNERS]
            program.loop(["  lw a0, 0(s0)", "  lw a2, 4(s0)", f"  {name} a3, a0, {imm}"], rows, 1, CHECK)
    for name, op in SHIFT.items():
        for imm in (0, 1, 4, 15, 16, 30, 31):
            rows = [(a, int(ALU[op](a, imm))) for a in CORNERS]
            program.loop(["  lw a0, 0(s0)", "  lw a2, 4(s0)", f"  {name} a3, a0, {imm}"], rows, 1, CHECK)
    for upper in (0, 1, 0x7FFFF, 0x80000, 0xFFFFF):
        program.loop([f"  lui a3, 0x{upper:x}", "  lw a2, 0(s0)"], [(upper << 12,)], 1, CHECK)
        # auipc: the difference to a pc known otherwise (jal's link).
        program.loop(["  jal a0, 3f", f"3: auipc a3, 0x{upper:x}", "  sub a3, a3, a0", "  lw a2, 0(s0)"],
                     [(upper << 12,)], 1, CHECK)


def registers(program):
    """Every register as destination and source, with neighbours left alone."""
    used = {"x0", "x3", "x8", "x9", "x18"}
    names = [f"x{n}" for n in range(32) if f"x{n}" not in used]
    for k, name in enumerate(names):
        other = names[(k + 1) % len(names)]
        check = [f"  sw {name}, 0(s2)", f"  xor {name}, {name}, {other}", f"  bnez {name}, failed"]
        program.loop([f"  lw {name}, 0(s0)", f"  addi {name}, {name}, {k}", f"  lw {other}, 4(s0)"],
                     [(v, v + k) for v in (0, M32, 0x1357_9BDF)], 1, check)


def branches(program):
    for name, f in BRANCH.items():
        rows = [(a, b, int(f(a, b))) for a in CORNERS for b in CORNERS]
        load = ["  lw a0, 0(s0)", "  lw a1, 4(s0)", "  lw a2, 8(s0)"]
        program.loop(load + ["  li a3, 1", f"  {name} a0, a1, 3f", "  li a3, 0", "3:"], rows, 1, CHECK)
        # Backward, and over more than a page.
        rows = rows[::17]
        program.loop(load + ["  li a3, 0", "  j 4f", "3: li a3, 1", "  j 5f", f"4: {name} a0, a1, 3b", "5:"], rows, 1,
                     CHECK)
    program.loop(["  li a3, 0", "  jal a0, 3f", "  nop", "3: auipc a1, 0", "  sub a3, a1, a0", "  lw a2, 0(s0)"],
                 [(4,)], 1, CHECK)
    program.loop(["  la a1, 3f", "  addi a1, a1, 1", "  jalr a0, 0(a1)", "  nop", "3: auipc a1, 0", "  sub a3, a1, a0",
                  "  lw a2, 0(s0)"], [(4,)], 1, CHECK)  # bit 0 of the target is dropped
    program.loop(["  la a0, 3f", "  jalr a0, 0(a0)", "  nop", "3: auipc a1, 0", "  sub a3, a1, a0", "  lw a2, 0(s0)"],
                 [(4,)], 1, CHECK)  # link register is the source
    program.loop(["  j 4f", "3: li a3, 7", "  j 5f", "  .zero 5000", "4: j 3b", "5: lw a2, 0(s0)"], [(7,)], 1, CHECK)


def memory(program):
    values = [0, M32, 0x80, 0x7F, 0x8000, 0x7FFF, 0x8081_8283, 0x7F7E_7D7C]
    for size, loads in ((1, ("lb", "lbu")), (2, ("lh", "lhu")), (4, ("lw",))):
        for load in loads:
            for offset in range(-8, 9, size):
                rows = []
                for v in values:
                    cut = v & ((1 << 8 * size) - 1)
                    negative = not load.endswith("u") and cut >> (8 * size - 1)
                    rows.append((v, (cut - (1 << 8 * size)) & M32 if negative else cut))
                store = {1: "sb", 2: "sh", 4: "sw"}[size]
                program.loop(["  lw a0, 0(s0)", "  lw a2, 4(s0)", "  la a4, scratch", f"  {store} a0, {offset}(a4)",
                              f"  {load} a3, {offset}(a4)"], rows, 1, CHECK)
    # Stores leave their neighbours alone.
    for store, size in (("sb", 1), ("sh", 2), ("sw", 4)):
        for offset in range(0, 8, size):
            before = 0xA1A2A3A4_B1B2B3B4
            mask = ((1 << 8 * size) - 1) << 8 * offset
            after = (before & ~mask) | ((0xC5C6C7C8 << 8 * offset) & mask)
            program.loop(["  la a4, scratch", "  lw a0, 0(s0)", "  sw a0, 0(a4)", "  lw a0, 4(s0)", "  sw a0, 4(a4)",
                          "  li a0, 0xc5c6c7c8", f"  {store} a0, {offset}(a4)", "  lw a3, 0(a4)", "  lw a2, 8(s0)"],
                         [(before & M32, before >> 32, after & M32)], 1, CHECK)
            program.loop(["  lw a2, 0(s0)", "  la a4, scratch", "  lw a3, 4(a4)"], [(after >> 32,)], 1, CHECK)
    program.data += ["  .zero 16", "scratch:", "  .zero 16"]


# Floating point: exact values as fractions, rounded once.
INF, NAN = "inf", "nan"
NX, UF, OF, DZ, NV = 1, 2, 4, 8, 16
QNAN = 0x7FC00000
RNE, RTZ, RDN, RUP, RMM = range(5)
MODES = ["rne", "rtz", "rdn", "rup", "rmm"]


def unpack(bits):
    """(sign, value): a fraction, INF or NAN."""
    sign, exponent, fraction = bits >> 31, bits >> 23 & 255, bits & 0x7FFFFF
    if exponent == 255:
        return sign, NAN if fraction else INF
    if exponent == 0:
        return sign, Fraction(fraction, 1 << 149)
    return sign, Fraction(fraction | 1 << 23) * Fraction(2) ** (exponent - 150)


def quiet(bits):
    return bits >> 22 & 1


def is_nan(bits):
    return unpack(bits)[1] is NAN


def snan(bits):
    return is_nan(bits) and not quiet(bits)


def round_up(sign, rest, half, odd, rm):
    """Whether the magnitude goes up, for a discarded rest compared with half a unit."""
    if rest == 0:
        return False
    if rm == RNE:
        return rest > half or (rest == half and odd)
    if rm == RMM:
        return rest >= half
    return rm == (RDN if sign else RUP)


def exponent_of(value):
    e = value.numerator.bit_length() - value.denominator.bit_length()
    return e if Fraction(2) ** e <= value else e - 1


def rounded(value, unit, sign, rm):
    n = value / unit
    whole = n.numerator // n.denominator
    rest = n - whole
    return whole + round_up(sign, rest, Fraction(1, 2), whole & 1, rm), rest != 0


def pack(value, zero_sign, rm):
    """Bits and flags of the exact value rounded once; zero_sign is the sign of a zero result."""
    if value == 0:
        return zero_sign << 31, 0
    sign, value = int(value < 0), abs(value)
    e = max(exponent_of(value), -126)
    n, inexact = rounded(value, Fraction(2) ** (e - 23), sign, rm)
    flags = NX if inexact else 0
    if inexact and exponent_of(value) < -126:
        # Tiny after rounding: with an unbounded exponent the result would still be below the smallest normal number.
        free, _ = rounded(value, Fraction(2) ** (exponent_of(value) - 23), sign, rm)
        if free * Fraction(2) ** (exponent_of(value) - 23) < Fraction(2) ** -126:
            flags |= UF
    if n * Fraction(2) ** (e - 23) >= Fraction(2) ** 128:
        to_max = rm == RTZ or rm == (RUP if sign else RDN)
        return sign << 31 | (0x7F7FFFFF if to_max else 0x7F800000), OF | NX
    return sign << 31 | (n if n < 1 << 23 else (e + 127 << 23) + n - (1 << 23)), flags


def negative(bits):
    return bits ^ 0x80000000


def add(a, b, rm):
    (sa, va), (sb, vb) = unpack(a), unpack(b)
    if va is NAN or vb is NAN:
        return QNAN, NV if snan(a) or snan(b) else 0
    if va is INF or vb is INF:
        if va is INF and vb is INF and sa != sb:
            return QNAN, NV
        return (a if va is INF else b), 0
    exact = (-va if sa else va) + (-vb if sb else vb)
    return pack(exact, sa if sa == sb and va == 0 and vb == 0 else int(rm == RDN), rm)


def sub(a, b, rm):
    return add(a, b if is_nan(b) else negative(b), rm)


def mul(a, b, rm):
    (sa, va), (sb, vb) = unpack(a), unpack(b)
    sign = sa ^ sb
    if va is NAN or vb is NAN:
        return QNAN, NV if snan(a) or snan(b) else 0
    if va is INF or vb is INF:
        return (QNAN, NV) if va == 0 or vb == 0 else (sign << 31 | 0x7F800000, 0)
    return pack(-va * vb if sign else va * vb, sign, rm)


def fdiv(a, b, rm):
    (sa, va), (sb, vb) = unpack(a), unpack(b)
    sign = sa ^ sb
    if va is NAN or vb is NAN:
        return QNAN, NV if snan(a) or snan(b) else 0
    if va is INF:
        return (QNAN, NV) if vb is INF else (sign << 31 | 0x7F800000, 0)
    if vb is INF:
        return sign << 31, 0
    if vb == 0:
        return (QNAN, NV) if va == 0 else (sign << 31 | 0x7F800000, DZ)
    return pack(-va / vb if sign else va / vb, sign, rm)


def fma(a, b, c, rm):
    (sa, va), (sb, vb), (sc, vc) = unpack(a), unpack(b), unpack(c)
    invalid = (va is INF and vb == 0) or (vb is INF and va == 0)
    if va is NAN or vb is NAN or vc is NAN:
        return QNAN, NV if snan(a) or snan(b) or snan(c) or invalid else 0
    sign = sa ^ sb
    if invalid or ((va is INF or vb is INF) and vc is INF and sign != sc):
        return QNAN, NV
    if va is INF or vb is INF:
        return sign << 31 | 0x7F800000, 0
    if vc is INF:
        return c, 0
    exact = (-va * vb if sign else va * vb) + (-vc if sc else vc)
    both_zero = va * vb == 0 and vc == 0
    return pack(exact, sign if both_zero and sign == sc else int(rm == RDN), rm)


def square_root(a, rm):
    sign, v = unpack(a)
    if v is NAN:
        return QNAN, 0 if quiet(a) else NV
    if v is not INF and v == 0:
        return a, 0
    if sign:
        return QNAN, NV
    if v is INF:
        return a, 0
    # 30 bits of the root and a sticky one decide every rounding of 24.
    e = exponent_of(v) // 2 - 30
    scaled = v / Fraction(2) ** (2 * e)
    n = scaled.numerator // scaled.denominator
    low, high = 0, 1 << 64
    while low + 1 < high:
        mid = (low + high) // 2
        low, high = (mid, high) if mid * mid <= n else (low, mid)
    exact = Fraction(low) if Fraction(low) ** 2 == scaled else Fraction(2 * low + 1, 2)
    return pack(exact * Fraction(2) ** e, 0, rm)


def to_int(a, rm, is_signed):
    sign, v = unpack(a)
    low, high = (-(1 << 31), (1 << 31) - 1) if is_signed else (0, M32)
    if v is NAN:
        return high & M32, NV
    if v is INF:
        return (low if sign else high) & M32, NV
    n, inexact = rounded(v, Fraction(1), sign, rm)
    n = -n if sign else n
    if not low <= n <= high:
        return (low if sign else high) & M32, NV
    return n & M32, NX if inexact else 0


def less(a, b):
    (sa, va), (sb, vb) = unpack(a), unpack(b)
    big = Fraction(2) ** 200
    va, vb = (big if v is INF else v for v in (va, vb))
    return (-va if sa else va) < (-vb if sb else vb)


def minmax(a, b, want_max):
    flags = NV if snan(a) or snan(b) else 0
    if is_nan(a) or is_nan(b):
        return (QNAN if is_nan(a) and is_nan(b) else b if is_nan(a) else a), flags
    if unpack(a)[1] == 0 and unpack(b)[1] == 0:
        a_first = bool(a >> 31) != want_max
        return (a if a_first else b), flags
    return (a if less(b, a) == want_max else b), flags


def compare(a, b, kind):
    nan = is_nan(a) or is_nan(b)
    if kind == "feq":
        return int(not nan and not less(a, b) and not less(b, a)), NV if snan(a) or snan(b) else 0
    if nan:
        return 0, NV
    return int(less(a, b) if kind == "flt" else not less(b, a)), 0


def classify(a):
    sign, v = unpack(a)
    if v is NAN:
        return 512 if quiet(a) else 256
    kind = 0 if v is INF else 3 if v == 0 else 2 if v < Fraction(2) ** -126 else 1
    return 1 << (kind if sign else 7 - kind)


FLOATS = [0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x80800001, 0x33800000, 0x3F7FFFFF, 0x3F800000,
          0x3F800001, 0xBF800000, 0x40490FDB, 0x4B7FFFFF, 0xCB800001, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000,
          0x7FC00000, 0x7F800001, 0xFFC12345]
LIMITS = [0x4EFFFFFF, 0x4F000000, 0xCF000000, 0xCF000001, 0x4F7FFFFF, 0x4F800000, 0x3F000000, 0xBF000000, 0x3FC00000,
          0xBFC00000, 0x40200000, 0xBF7FFFFF, 0x5F000000]
FLOAT_CHECK = ["  csrr a4, fflags", "  sw a3, 0(s2)", "  sw a4, 4(s2)", "  bne a3, a2, failed", "  bne a4, a5, failed"]


def float_loop(program, instruction, rows, to_x=False, from_x=False):
    """rows: operands (padded to three), result, flags."""
    body = ["  csrwi fflags, 0", "  lw a2, 12(s0)", "  lw a5, 16(s0)"]
    body += ["  lw a0, 0(s0)"] if from_x else ["  flw fa0, 0(s0)", "  flw fa1, 4(s0)", "  flw fa2, 8(s0)"]
    body += [f"  {instruction}"] + ([] if to_x else ["  fmv.x.w a3, fa3"])
    program.loop(body, rows, 2, FLOAT_CHECK)


def padded(operands, result):
    return (list(operands) + [0, 0, 0])[:3] + list(result)


def float_arithmetic(program):
    for name, f in (("fadd.s", add), ("fsub.s", sub), ("fmul.s", mul), ("fdiv.s", fdiv)):
        for rm, mode in enumerate(MODES):
            rows = [padded((a, b), f(a, b, rm)) for a in FLOATS for b in FLOATS]
            float_loop(program, f"{name} fa3, fa0, fa1, {mode}", rows)
    for rm, mode in enumerate(MODES):
        rows = [padded((a,), square_root(a, rm)) for a in FLOATS + LIMITS]
        float_loop(program, f"fsqrt.s fa3, fa0, {mode}", rows)
    # The dynamic mode is that of frm.
    for rm in range(5):
        program.out(f"  csrwi frm, {rm}")
        float_loop(program, "fadd.s fa3, fa0, fa1, dyn", [padded((a, b), add(a, b, rm)) for a in FLOATS for b in FLOATS[::3]])
    program.out("  csrwi frm, 0")


def float_fused(program):
    picks = FLOATS[::2] + [0x3F800001, 0x34000000]
    forms = {
        "fmadd.s": lambda a, b, c, rm: fma(a, b, c, rm),
        "fmsub.s": lambda a, b, c, rm: fma(a, b, c if is_nan(c) else negative(c), rm),
        "fnmsub.s": lambda a, b, c, rm: fma(a if is_nan(a) else negative(a), b, c, rm),
        "fnmadd.s": lambda a, b, c, rm: fma(a if is_nan(a) else negative(a), b, c if is_nan(c) else negative(c), rm),
    }
    for name, f in forms.items():
        for rm, mode in enumerate(MODES):
            chosen = picks if rm == 0 else picks[1::3]
            rows = [padded((a, b, c), f(a, b, c, rm)) for a in chosen for b in chosen[::-1] for c in chosen]
            float_loop(program, f"{name} fa3, fa0, fa1, fa2, {mode}", rows)


def float_moves(program):
    pairs = [(a, b) for a in FLOATS for b in FLOATS]
    sign = 0x80000000
    for name, f in (("fsgnj.s", lambda a, b: a & ~sign | b & sign), ("fsgnjn.s", lambda a, b: a & ~sign | ~b & sign),
                    ("fsgnjx.s", lambda a, b: a ^ b & sign)):
        float_loop(program, f"{name} fa3, fa0, fa1", [padded((a, b), (f(a, b), 0)) for a, b in pairs])
    for name, want in (("fmin.s", False), ("fmax.s", True)):
        float_loop(program, f"{name} fa3, fa0, fa1", [padded((a, b), minmax(a, b, want)) for a, b in pairs])
    for name in ("feq", "flt", "fle"):
        float_loop(program, f"{name}.s a3, fa0, fa1", [padded((a, b), compare(a, b, name)) for a, b in pairs], to_x=True)
    float_loop(program, "fclass.s a3, fa0", [padded((a,), (classify(a), 0)) for a in FLOATS], to_x=True)
    float_loop(program, "fmv.x.w a3, fa0", [padded((a,), (a, 0)) for a in FLOATS], to_x=True)
    float_loop(program, "fmv.w.x fa3, a0", [padded((a,), (a, 0)) for a in FLOATS], from_x=True)


def float_conversions(program):
    for rm, mode in enumerate(MODES):
        for name, is_signed in (("fcvt.w.s", True), ("fcvt.wu.s", False)):
            rows = [padded((a,), to_int(a, rm, is_signed)) for a in FLOATS + LIMITS]
            float_loop(program, f"{name} a3, fa0, {mode}", rows, to_x=True)
        for name, f in (("fcvt.s.w", signed), ("fcvt.s.wu", int)):
            rows = [padded((a,), pack(Fraction(f(a)), 0, rm)) for a in CORNERS + [0x01000001, 0x01000003, 0xFFFFFF80]]
            float_loop(program, f"{name} fa3, a0, {mode}", rows, from_x=True)


PROGRAMS = {
    "rv32i_alu": lambda p: (register_forms(p, ALU), immediate_forms(p), registers(p)),
    "rv32i_branch": branches,
    "rv32i_memory": memory,
    "rv32m": lambda p: register_forms(p, MUL),
    "rv32f_arithmetic": float_arithmetic,
    "rv32f_fused": float_fused,
    "rv32f_moves": float_moves,
    "rv32f_conversions": float_conversions,
}


def main():
    for name, fill in (PROGRAMS | xtile_programs.PROGRAMS | xtile_state_programs.PROGRAMS | machine_programs.PROGRAMS).items():
        program = Program(name)
        fill(program)
        program.write(sys.argv[1])
    xtile_programs.intrinsics(sys.argv[1])


if __name__ == "__main__":
    main()
