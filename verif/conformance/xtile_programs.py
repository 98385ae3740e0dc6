"""Self-checking programs of Xtile, for generate.py: vector arithmetic, conversions, random numbers, functions.

Expected results come from xtile_arithmetic.py. Rows of a table: operand words, then the expected words. Operands of f
registers stand from f4 (rs1), f8 (rs2), f12 (rs3) on, results from f16 on.
"""

import random
import sys
from decimal import Decimal, getcontext
from fractions import Fraction
from pathlib import Path

from program import Program
from xtile_arithmetic import (BINARY, F16, F32, FORMATS, INF, M32, NAN, UNARY, convert, dot4, draw, from_integer,
                              stochastic, to_integer)

HALVES = [0, 0x8000, 1, 0x8001, 0x0200, 0x03FF, 0x0400, 0x8400, 0x2E66, 0x3BFF, 0x3C00, 0x3C01, 0xBC00, 0x4248, 0x6400,
          0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0xFE12]
SINGLES = [0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x80800001, 0x33800000, 0x3F7FFFFF, 0x3F800000,
           0x3F800001, 0xBF800000, 0x40490FDB, 0x4B7FFFFF, 0xCB800001, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000,
           0x7FC00000, 0x7F800001, 0xFFC12345]
CORNERS = {"f16": HALVES, "f32": SINGLES}
FIRST = {"rs1": 4, "rs2": 8, "rs3": 12, "rd": 16}


def words(format, lanes):
    """Lanes to register words, lane 0 in the low half."""
    if format is F32:
        return list(lanes)
    lanes = list(lanes) + [0] * (len(lanes) % 2)
    return [lanes[k] | lanes[k + 1] << 16 for k in range(0, len(lanes), 2)]


def check(operands, results):
    """Stores each result register to the signature and compares it with the row's word."""
    lines = []
    for k, register in enumerate(results):
        move = "fmv.x.w" if register[0] == "f" else "mv"
        lines += [f"  {move} a3, {register}", f"  lw a2, {4 * (operands + k)}(s0)", f"  sw a3, {4 * k}(s2)", "  bne a3, a2, failed"]
    return lines


def vector(program, mnemonic, shape, rows):
    """One f-register instruction. shape: [(field, registers)] in order of the syntax; rows: operand words + result words.

    frm is set to round up and fflags to a pattern: Xtile must ignore the first and keep the second."""
    sources = [(f, n) for f, n in shape if f != "rd"]
    results = dict(shape)["rd"]
    program.cases.append((mnemonic, sources, results, rows))
    body, at = ["  li a4, 0x75", "  csrw fcsr, a4"], 0
    for field, count in sources:
        for k in range(count):
            body.append(f"  flw f{FIRST[field] + k}, {4 * at}(s0)")
            at += 1
    body.append(f"  {mnemonic} {', '.join(f'f{FIRST[f]}' for f, _ in shape)}")
    body += ["  csrr a5, fcsr", "  bne a4, a5, failed"]
    program.loop(body, rows, results, check(at, [f"f{16 + k}" for k in range(results)]))


def groups(items, size, fill):
    items = list(items)
    items += [fill] * (-len(items) % size)
    return [items[k:k + size] for k in range(0, len(items), size)]


def lanes_of(kind):
    """Element format, lanes and registers of f16v2, f16v4, f32v2."""
    name, lanes = kind.split("v")
    return FORMATS[name], int(lanes), 1 if kind == "f16v2" else 2


def arithmetic(program, kind):
    format, lanes, registers = lanes_of(kind)
    corners = CORNERS[kind.split("v")[0]]
    pairs = [(a, b) for a in corners for b in corners]
    if kind == "f32v2":
        pairs = pairs[::2] + pairs[1::4]
    for name, f in BINARY.items():
        rows = []
        for group in groups(pairs, lanes, pairs[0]):
            a, b = zip(*group)
            rows.append(words(format, a) + words(format, b) + words(format, [f(format, x, y) for x, y in group]))
        vector(program, f"x_{name}_{kind}", [("rd", registers), ("rs1", registers), ("rs2", registers)], rows)
    for name, f in UNARY.items():
        rows = [words(format, g) + words(format, [f(format, x) for x in g]) for g in groups(corners, lanes, 0)]
        vector(program, f"x_{name}_{kind}", [("rd", registers), ("rs1", registers)], rows)


def triples(corners, seed, count):
    rng = random.Random(seed)
    chosen = [(a, b, corners[(i * 5 + j * 3) % len(corners)]) for i, a in enumerate(corners) for j, b in enumerate(corners)]
    return chosen[::3] + [tuple(rng.choice(corners) for _ in range(3)) for _ in range(count)]


def near_ties(rng, count):
    """f16 products whose sum with a tiny third operand lies just beside a tie: two roundings would get them wrong."""
    out = []
    while len(out) < count:
        a, b = rng.randrange(0x2C00, 0x4C00), rng.randrange(0x2C00, 0x4C00)
        exact = F16.signed(a) * F16.signed(b)
        if (exact.numerator * 2048 // exact.denominator) % 2 == 0:
            out.append((a, b, rng.choice([1, 0x8001, 0x0003, 0x8200])))
    return out


def fused(program):
    for kind in ("f16v2", "f16v4", "f32v2"):
        format, lanes, registers = lanes_of(kind)
        corners = CORNERS[kind.split("v")[0]]
        chosen = triples(corners, 1, 200) + (near_ties(random.Random(2), 200) if format is F16 else [])
        shape = [("rd", registers), ("rs1", registers), ("rs2", registers), ("rs3", registers)]
        rows = []
        for group in groups(chosen, lanes, chosen[0]):
            a, b, c = zip(*group)
            rows.append(words(format, a) + words(format, b) + words(format, c) + words(format, [format.fma(*t) for t in group]))
        vector(program, f"x_mac_{kind}", shape, rows)
        rows = []
        for group in groups(chosen, lanes, chosen[0]):
            scale = group[0][0]
            upper = 0x12340000 if format is F16 else 0  # the scalar is lane 0 alone
            _, b, c = zip(*group)
            rows.append([scale | upper] + words(format, b) + words(format, c) +
                        words(format, [format.fma(scale, y, z) for _, y, z in group]))
        vector(program, f"x_sadd_{kind}", [("rd", registers), ("rs1", 1)] + shape[2:], rows)
        rows = []
        for group in groups(chosen, lanes, chosen[0]):
            a, b, c = zip(*group)
            rows.append(words(format, a) + words(format, b) + words(format, c) +
                        words(format, [y if x & format.sign_bit else z for x, y, z in group]))
        vector(program, f"x_sel_{kind}", shape, rows)
    rng = random.Random(3)
    rows = []
    for k in range(400):
        pick = (lambda: rng.choice(HALVES)) if k % 2 else (lambda: rng.randrange(65536) & 0xBFFF)
        a, b = [pick() for _ in range(4)], [pick() for _ in range(4)]
        c = rng.choice(SINGLES) if k % 3 == 0 else F32.pack(Fraction(rng.randrange(-10 ** 6, 10 ** 6), 997))
        rows.append(words(F16, a) + words(F16, b) + [c, dot4(a, b, c)])
    vector(program, "x_dot_f16v4", [("rd", 1), ("rs1", 2), ("rs2", 2), ("rs3", 1)], rows)


def lanes_program(program):
    rng = random.Random(4)
    halves = [rng.choice(HALVES) for _ in range(160)] + [rng.randrange(65536) for _ in range(80)]
    singles = [rng.choice(SINGLES) for _ in range(120)]
    add, add32 = F16.add, F32.add
    shape = [("rd", 1), ("rs1", 1)]
    rows2 = groups(halves, 2, 0)
    vector(program, "x_sum_f16v2", shape, [words(F16, g) + [add(*g)] for g in rows2])
    vector(program, "x_dup_f16", shape, [words(F16, g) + words(F16, [g[0], g[0]]) for g in rows2])
    vector(program, "x_swap_f16v2", shape, [words(F16, g) + words(F16, g[::-1]) for g in rows2])
    vector(program, "x_high_f16", shape, [words(F16, g) + [g[1]] for g in rows2])
    vector(program, "x_pack_f16", [("rd", 1), ("rs1", 1), ("rs2", 1)],
           [words(F16, g) + words(F16, [g[0], g[2]]) for g in groups(halves, 4, 0)])
    vector(program, "x_sum_f16v4", [("rd", 1), ("rs1", 2)],
           [words(F16, g) + [add(add(g[0], g[1]), add(g[2], g[3]))] for g in groups(halves, 4, 0)])
    vector(program, "x_sum_f32v2", [("rd", 1), ("rs1", 2)], [g + [add32(*g)] for g in groups(singles, 2, 0)])
    vector(program, "x_mv64", [("rd", 2), ("rs1", 2)], [g + g for g in groups(singles, 2, 0)])


WIDE = SINGLES + [0x477FE000, 0x477FEFFF, 0x477FF000, 0x477FF001, 0xC77FF000, 0x33000000, 0x33000001, 0x337FFFFF, 0x38800000,
                  0x387FE000, 0x387FF000, 0x38FFF000, 0x3F801000, 0x3F803000, 0x3F801001, 0xB3800001, 0x4EFFFFFF, 0x4F000000,
                  0xCF000000, 0xCF000001, 0x4F7FFFFF, 0x4F800000, 0x3F000000, 0xBF000000, 0x3FC00000, 0xBFC00000, 0x40200000]
INTEGERS = [0, 1, 2, M32, 0x7FFFFFFF, 0x80000000, 0x80000001, 0x01000001, 0x01000003, 0xFFFFFF80, 0x12345678, 0xFFFF0000]


def conversions(program):
    one = [("rd", 1), ("rs1", 1)]
    up = lambda h: convert(F16, F32, h)
    down = lambda s: convert(F32, F16, s)
    vector(program, "x_cvt_f32_f16", one, [[h | 0xABCD0000, up(h)] for h in HALVES])
    vector(program, "x_cvt_f32v2_f16v2", [("rd", 2), ("rs1", 1)], [words(F16, g) + [up(h) for h in g] for g in groups(HALVES, 2, 0)])
    vector(program, "x_cvt_f32v4_f16v4", [("rd", 4), ("rs1", 2)], [words(F16, g) + [up(h) for h in g] for g in groups(HALVES, 4, 0)])
    vector(program, "x_cvt_f16_f32", one, [[s, down(s)] for s in WIDE])
    vector(program, "x_cvt_f16v2_f32v2", [("rd", 1), ("rs1", 2)], [g + words(F16, [down(s) for s in g]) for g in groups(WIDE, 2, 0)])
    vector(program, "x_cvt_f16v4_f32v4", [("rd", 2), ("rs1", 4)], [g + words(F16, [down(s) for s in g]) for g in groups(WIDE, 4, 0)])
    for sign, signed in (("i", True), ("u", False)):
        vector(program, f"x_cvt_{sign}32_f32", one, [[s, to_integer(s, signed)] for s in WIDE])
        vector(program, f"x_cvt_f32_{sign}32", one, [[n, from_integer(n, signed)] for n in INTEGERS])
    two = [("rd", 2), ("rs1", 2)]
    vector(program, "x_cvt_i32v2_f32v2", two, [g + [to_integer(s, True) for s in g] for g in groups(WIDE, 2, 0)])
    vector(program, "x_cvt_f32v2_i32v2", two, [g + [from_integer(n, True) for n in g] for g in groups(INTEGERS, 2, 0)])


def random_numbers(program):
    """Seeds by CSR; the drawn value or the stochastic result; the state afterwards."""
    rng = random.Random(5)
    seeds = [(0, 1), (1 << 32, 1), (2 ** 64 - 1, 2 ** 64 - 1), (0, 0)] + [(rng.getrandbits(64), rng.getrandbits(64)) for _ in range(16)]
    seed = []
    for k in range(4):
        seed += [f"  lw a4, {4 * k}(s0)", f"  csrw 0x{0x800 + k:x}, a4"]
    after = [f"  csrr a{4 + k}, 0x{0x800 + k:x}" for k in range(4)]
    split = lambda s0, s1: [s0 & M32, s0 >> 32, s1 & M32, s1 >> 32]
    for name, count in (("x_urand32", 1), ("x_urand64", 2)):
        rows = []
        for s in seeds:
            out, *next_state = draw(*s)
            rows.append(split(*s) + [out & M32, out >> 32][:count] + split(*next_state))
        results = [f"f{16 + k}" for k in range(count)] + ["a4", "a5", "a6", "a7"]
        program.loop(seed + [f"  {name} f16"] + after, rows, len(results), check(4, results))
    for name, count in (("x_cvt_sr_f16_f32", 1), ("x_cvt_sr_f16v2_f32v2", 2), ("x_cvt_sr_f16v4_f32v4", 4)):
        rows = []
        for k in range(240):
            s = seeds[k % len(seeds)] if k < len(seeds) else (rng.getrandbits(64), rng.getrandbits(64))
            out, *next_state = draw(*s)
            lanes = [rng.choice(WIDE) if (k + j) % 2 else rng.getrandbits(32) & 0x8FFFFFFF | 0x30000000 for j in range(count)]
            halves = [stochastic(x, out >> 16 * j & 0xFFFF) for j, x in enumerate(lanes)]
            rows.append(split(*s) + lanes + words(F16, halves) + split(*next_state))
        load = [f"  flw f{4 + j}, {16 + 4 * j}(s0)" for j in range(count)]
        results = [f"f{16 + k}" for k in range((count + 1) // 2)] + ["a4", "a5", "a6", "a7"]
        program.loop(seed + load + [f"  {name} f16, f4"] + after, rows, len(results), check(4 + count, results))


# ---- transcendental functions: f16 correctly rounded, f32 within two units ----

getcontext().prec = 60


def decimal_of(value):
    return Decimal(value.numerator) / Decimal(value.denominator)


def exact_function(name, value):
    """A finite argument's value, to 50 digits, as a Fraction."""
    x = decimal_of(value)
    if name == "exp":
        y = x.exp()
    elif name == "log":
        y = x.ln()
    elif name == "sigmoid":
        y = 1 / (1 + (-x).exp())
    elif name == "tanh":
        # By the series for small arguments, where the quotient would cancel.
        e = (2 * x).exp()
        y = x - x ** 3 / 3 + 2 * x ** 5 / 15 - 17 * x ** 7 / 315 if abs(x) < Decimal("1e-8") else (e - 1) / (e + 1)
    else:
        y = 1 / x.sqrt()
    return Fraction(y)


def function_bits(format, name, bits):
    sign, v = format.unpack(bits)
    one = format.pack(Fraction(1))
    negative_one = one | format.sign_bit
    if v is NAN:
        return format.nan
    if v is INF:
        return {"exp": 0 if sign else format.infinity, "log": format.nan if sign else format.infinity,
                "sigmoid": 0 if sign else one, "tanh": negative_one if sign else one, "rsqrt": format.nan if sign else 0}[name]
    if v == 0:
        return {"exp": one, "log": format.infinity | format.sign_bit, "sigmoid": format.pack(Fraction(1, 2)), "tanh": bits,
                "rsqrt": format.infinity | (bits & format.sign_bit)}[name]
    if sign and name in ("log", "rsqrt"):
        return format.nan
    value = -v if sign else v
    if name in ("exp", "sigmoid") and value < -200:
        return 0
    if name == "exp" and value > 200:
        return format.infinity
    if name in ("sigmoid", "tanh") and v > 200:
        return negative_one if sign and name == "tanh" else one
    result = exact_function(name, value)
    return format.pack(result) if result else 0


def transcendental(program):
    rng = random.Random(6)
    halves = HALVES + list(range(0x2000, 0x5000, 37)) + list(range(0xA000, 0xD000, 53)) + list(range(0x0001, 0x0400, 29))
    for name in ("exp", "log", "tanh", "sigmoid"):
        vector(program, f"x_{name}_f16v2", [("rd", 1), ("rs1", 1)],
               [words(F16, g) + words(F16, [function_bits(F16, name, h) for h in g]) for g in groups(halves, 2, 0)])
    singles = SINGLES + [0x42B17217, 0x42B17218, 0xC2CFF1B4, 0xC2CFF1B5, 0xC2AEAC50, 0x41102CB4, 0x39800000, 0x3F200000] + \
        [F32.pack(Fraction(rng.randrange(-10 ** 7, 10 ** 7), 10 ** rng.randrange(5, 9))) for _ in range(150)]
    for name in ("exp", "log", "tanh", "sigmoid", "rsqrt"):
        rows = [[s, function_bits(F32, name, s)] for s in singles]
        # Within two units: patterns of the same sign differ by at most 2; special values are exact.
        body = ["  csrwi fcsr, 0", "  flw f4, 0(s0)", f"  x_{name}_f32 f16, f4", "  fmv.x.w a3, f16", "  lw a2, 4(s0)",
                "  csrr a5, fcsr", "  bnez a5, failed", "  sw a3, 0(s2)", "  sub a4, a3, a2", "  addi a4, a4, 2", "  li a5, 4",
                "  bgtu a4, a5, failed", "  li a5, 0x7f800000", "  slli a4, a2, 1", "  srli a4, a4, 1", "  bltu a4, a5, 3f",
                "  bne a3, a2, failed", "3:"]
        program.loop(body, rows, 1, [])


# ---- the same instructions through the intrinsics of tessera/xtile.h ----


def intrinsics(directory):
    """c_intrinsics.c: a few rows of every value instruction, called from C with arguments of the declared types."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "hw/generate"))
    import c_xtile
    from model import Model
    table = {i.identifier: i for i in Model().instructions}
    program = Program("")
    for fill in (lambda p: arithmetic(p, "f16v2"), lambda p: arithmetic(p, "f16v4"), lambda p: arithmetic(p, "f32v2"), fused, lanes_program,
                 conversions, transcendental):
        fill(program)
    lines = ["// Generated by verif/conformance/generate.py; do not edit.", '#include "conformance.h"', '#include "tessera/xtile.h"',
             "#define B(bits) x_from_bits(bits)", "extern uint32_t begin_signature[8];",
             '__asm__(".bss\\n.balign 8\\n.globl begin_signature\\n.globl end_signature\\nbegin_signature: .zero 32\\nend_signature:\\n.text");',
             "static int test;",
             "static void same(float got, uint32_t expected) {", "  if (x_bits(got) != expected) fail_with(test);",
             "  begin_signature[test & 7] = begin_signature[test & 7] * 31 + x_bits(got);", "}"]
    number = 0
    for mnemonic, sources, results, rows in program.cases:
        types = c_xtile.types_of(table[mnemonic])
        value = lambda t, bits: bits[0] if t == "float" else f"({t}){{{', '.join(bits)}}}"
        for row in rows[::max(1, len(rows) // 5)]:
            number += 1
            arguments, at = [], 0
            for field, count in sources:
                arguments.append(value(types[field], [f"B(0x{w:08x}u)" for w in row[at:at + count]]))
                at += count
            lines.append(f"static void case{number}(void) {{\n  test = {number};\n  const {types['rd']} r = {mnemonic}({', '.join(arguments)});")
            for k in range(results):
                lines.append(f"    same(r{'' if types['rd'] == 'float' else f'.r{k}'}, 0x{row[at + k]:08x}u);")
            lines.append("}")
    lines += ["void test_main(void);", "void test_main(void) {"] + [f"  case{k}();" for k in range(1, number + 1)] + ["  pass();", "}", ""]
    Path(directory, "c_intrinsics.c").write_text("\n".join(lines))


PROGRAMS = {
    "xtile_f16v2": lambda p: arithmetic(p, "f16v2"),
    "xtile_f16v4": lambda p: arithmetic(p, "f16v4"),
    "xtile_f32v2": lambda p: arithmetic(p, "f32v2"),
    "xtile_fused": fused,
    "xtile_lanes": lanes_program,
    "xtile_conversions": conversions,
    "xtile_random": random_numbers,
    "xtile_transcendental": transcendental,
}
