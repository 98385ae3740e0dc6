"""Self-checking programs of Xtile, for generate.py: vector arithmetic, conversions, random numbers, memory, streams, loops.

Expected results come from xtile_arithmetic.py. Rows of a table: operand words, then the expected words. Operands of f
registers stand from f4 (rs1), f8 (rs2), f12 (rs3) on, results from f16 on.
"""

import random
import sys
from decimal import Decimal, getcontext
from fractions import Fraction
from pathlib import Path

from program import Program
from xtile_arithmetic import (BINARY, Amp, F16, F32, FORMATS, INF, M32, NAN, UNARY, convert, dot4, draw, from_integer,
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


# ---- integer bits, memory, streams, loops ----


def bits_program(program):
    values = [0, 1, 2, 3, 0x80, 0x8000, 0x10000, 0x80000000, 0x7FFFFFFF, M32, 0x55555555, 0x12345678, 0xFEDCBA98]
    brev = lambda v: int(f"{v:032b}"[::-1], 2)
    unary = {"x_clz": lambda v: 32 - v.bit_length(), "x_ctz": lambda v: (v & -v).bit_length() - 1 if v else 32,
             "x_cpop": lambda v: bin(v).count("1"), "x_brev": brev}
    for name, f in unary.items():
        program.loop(["  lw a0, 0(s0)", f"  {name} a4, a0"], [(v, f(v)) for v in values], 1, check(1, ["a4"]))
        program.loop(["  lw a4, 0(s0)", f"  {name} a4, a4", f"  {name} x0, a4"], [(v, f(v)) for v in values], 1, check(1, ["a4"]))

    def shuffle(v, s):
        out = 0
        for k in range(4):
            control = s >> 8 * k & 255
            out |= 0 if control & 0x80 else (v >> 8 * (control & 3) & 255) << 8 * k
        return out
    controls = [0x03020100, 0x00010203, 0x80808080, 0x00000000, 0x03030303, 0x81028300, 0x7F7E7D7C, 0xFF000280]
    program.loop(["  lw a0, 0(s0)", "  lw a1, 4(s0)", "  x_shuf8 a4, a0, a1"],
                 [(v, s, shuffle(v, s)) for v in values for s in controls], 1, check(2, ["a4"]))


PATTERN = [(0x9E3779B9 * (k + 1) ^ k << 13) & M32 for k in range(64)]


def pattern_data(program):
    program.data += ["  .balign 8", "pattern:"] + [f"  .word 0x{w:08x}" for w in PATTERN] + ["scratch:", "  .zero 256"]


def memory_program(program):
    pattern_data(program)
    offsets = [0, 8, 16, 48]
    for count, mnemonic in ((2, "x_ld64"), (4, "x_ld128")):
        results = [f"f{16 + k}" for k in range(count)] + ["a5"]
        for step in (0, 8, -8, 1, 2047, -2048):
            rows = [[o] + PATTERN[o // 4:o // 4 + count] + [step] for o in offsets]
            start = ["  la a0, pattern", "  lw a1, 0(s0)", "  add a0, a0, a1", "  mv a5, a0"]
            program.loop(start + [f"  {mnemonic} f16, {step}(a0)", "  sub a5, a0, a5"], rows, len(results), check(1, results))
        rows = [[o, s] + PATTERN[o // 4:o // 4 + count] + [s] for o in offsets for s in (0, 8, -24, 5, 0x40000000, -0x80000000)]
        start = ["  la a0, pattern", "  lw a1, 0(s0)", "  lw a4, 4(s0)", "  add a0, a0, a1", "  mv a5, a0"]
        program.loop(start + [f"  {mnemonic}_r f16, a0, a4", "  sub a5, a0, a5"], rows, len(results), check(2, results))
        # The step register is the pointer itself.
        rows = [[0] + PATTERN[:count] + [0]]
        start = ["  la a0, pattern", "  add a5, a0, a0"]
        program.loop(start + [f"  {mnemonic}_r f16, a0, a0", "  sub a5, a0, a5"], rows, len(results), check(1, results))
    store = ["  la a0, scratch", "  lw a1, 0(s0)", "  add a0, a0, a1", "  mv a5, a0", "  mv a6, a0", "  flw f4, 4(s0)",
             "  flw f5, 8(s0)"]
    read = ["  sub a5, a0, a5", "  lw a4, 0(a6)", "  lw a6, 4(a6)"]
    for step in (0, 8, -16, 3, 2047, -2048):
        rows = [[o, a, b, a, b, step] for o in offsets for a, b in ((1, M32), (0x7F800001, 0x12345678))]
        program.loop(store + [f"  x_st64 f4, {step}(a0)"] + read, rows, 3, check(3, ["a4", "a6", "a5"]))
    rows = [[o, a, b, s, a, b, s] for o in offsets for s in (8, -8, 0x1001) for a, b in ((3, 0xFFC12345),)]
    program.loop(store + ["  lw a4, 12(s0)", "  x_st64_r f4, a0, a4"] + read, rows, 3, check(4, ["a4", "a6", "a5"]))


STEP_NAMES = ["X_STEP_8", "X_STEP_A", "X_STEP_B", "X_STEP_0"]


def streams_program(program):
    """Every step of every pointer; two instructions in a row, so that the second sees where the first left the pointers."""
    pattern_data(program)
    rng = random.Random(7)
    strides = [(1, 2), (-1, 3), (2, -2), (0, 1)]
    clear = ["  la a0, scratch"] + [f"  sw zero, {4 * k}(a0)" for k in range(0, 24)]

    def setup(used):
        lines = []
        for at, k in enumerate(used):
            lines += [f"  la a0, {'scratch' if k == 2 else 'pattern'}", f"  lw a1, {8 * at}(s0)", "  add a0, a0, a1",
                      f"  lw a1, {8 * at + 4}(s0)", f"  x_sset {k}, a0, a1"]
        return lines

    def pointers(used, registers):
        lines = []
        for k, register in zip(used, registers):
            lines += [f"  csrr {register}, 0x{0x808 + k:x}", f"  la a0, {'scratch' if k == 2 else 'pattern'}", f"  sub {register}, {register}, a0"]
        return lines

    def advance(step, stride):
        return (8, 8 * stride[0], 8 * stride[1], 0)[step]

    word = lambda a, b: a & 0xFFFF | (b & 0xFFFF) << 16
    for loads, stores, mnemonic in (((0, 1), (), "x_ld2"), ((0,), (2,), "x_ldst"), ((0, 1), (2,), "x_ld2st")):
        used = loads + stores
        for combination in range(4 ** len(used)):
            steps = [combination >> 2 * k & 3 for k in range(len(used))]
            rows = []
            for stride in strides[:2] if len(used) == 3 else strides:
                start = {k: 8 * rng.randrange(2, 6) for k in used}
                own = {k: (stride if k != 1 else stride[::-1]) for k in used}
                row = [v for k in used for v in (start[k], word(*own[k]))]
                data = [rng.getrandbits(32) for _ in range(2)] if stores else []
                row += data
                loaded, memory = [], {}
                at, value = dict(start), list(data)
                for turn in range(2):
                    loaded = [PATTERN[at[k] // 4 + j] for k in loads for j in range(2)]
                    for k in stores:
                        memory[at[k]] = list(value)
                    for k, step in zip(used, steps):
                        at[k] += advance(step, own[k])
                    value = value[::-1]
                row += loaded + [at[k] for k in used]
                if stores:
                    row += memory[start[2]] + [len(memory)]
                rows.append(row)
            names = {"x_ld2": "f16, f20", "x_ldst": "f16, f24", "x_ld2st": "f16, f20, f24"}[mnemonic]
            text = f"  {mnemonic} {names}, {', '.join(STEP_NAMES[s] for s in steps)}"
            given = 2 * len(used)
            body = (clear if stores else []) + setup(used)
            results = ["f16", "f17"] + (["f20", "f21"] if len(loads) == 2 else []) + ["a4", "a5", "a6"][:len(used)]
            if stores:
                body += [f"  flw f24, {4 * given}(s0)", f"  flw f25, {4 * given + 4}(s0)"]
                given += 2
            body += [text]
            if stores:  # the second store has the words exchanged
                body += ["  fmv.s f26, f24", "  fmv.s f24, f25", "  fmv.s f25, f26"]
            body += [text] + pointers(used, ["a4", "a5", "a6"])
            if stores:
                # What stands where the first store went, and how many doublewords were written.
                body += ["  la a0, scratch", f"  lw a1, {8 * len(loads)}(s0)", "  add a1, a0, a1", "  lw a7, 0(a1)", "  lw t0, 4(a1)", "  li t1, 0", "  li t2, 0",
                         "3: lw t3, 0(a0)", "  snez t3, t3", "  add t1, t1, t3", "  addi a0, a0, 8", "  addi t2, t2, 1", "  li t3, 12",
                         "  bne t2, t3, 3b"]
                results += ["a7", "t0", "t1"]
            program.loop(body, rows, len(results), check(given, results))
    # One instruction that loads and stores the same doubleword: the load sees what stood there before.
    rows = [[a, b, c, d, a, b, c, d] for a, b, c, d in ((1, 2, 3, 4), (M32, 0, 0x12345678, 0x9ABCDEF0))]
    same = ["  la a0, scratch", "  lw a1, 0(s0)", "  sw a1, 0(a0)", "  lw a1, 4(s0)", "  sw a1, 4(a0)", "  flw f24, 8(s0)", "  flw f25, 12(s0)",
            "  x_sset 0, a0, zero", "  x_sset 1, a0, zero", "  x_sset 2, a0, zero"]
    for text in ("x_ldst f16, f24, X_STEP_8, X_STEP_8", "x_ld2st f16, f20, f24, X_STEP_8, X_STEP_8, X_STEP_8"):
        program.loop(same + [f"  {text}", "  lw a4, 0(a0)", "  lw a5, 4(a0)"], rows, 4, check(4, ["f16", "f17", "a4", "a5"]))
    # The store's data is also a destination: it is read before the load writes.
    program.loop(same + ["  x_ldst f24, f24, X_STEP_8, X_STEP_8", "  lw a4, 0(a0)", "  lw a5, 4(a0)"], rows, 4,
                 check(4, ["f24", "f25", "a4", "a5"]))


def loops_program(program):
    """Rounds, cycles, retired instructions and the AUX beside x.rpt; x.rpt alone at pc = 4 mod 8 and as MAIN of a pair."""
    def body_of(n):
        return ["  addi a4, a4, 1", "  fadd.s f16, f16, f17"] + ["  addi a5, a5, 1", "  fadd.s f18, f18, f17"] * (n - 1)

    def one(rounds, n, paired, constant):
        count = f"x_rpti {rounds}, {n}" if constant else f"x_rpt a1, {n}"
        lead = [f"  li a1, {rounds}", "  li a4, 0", "  li a5, 0", "  fmv.w.x f16, x0", "  fmv.w.x f18, x0", "  fmv.w.x f20, x0",
                "  li a0, 0x3f800000", "  fmv.w.x f17, a0", "  .balign 8", "  nop", "  csrr a7, minstret", "  csrr a6, mcycle"]
        lead += ["  nop", f"  {count}", "  fadd.s f20, f20, f17"] if paired else [f"  {count}"]
        tail = ["  csrr t0, mcycle", "  csrr t1, minstret", "  sub a6, t0, a6", "  sub a7, t1, a7", "  fcvt.w.s t2, f20", "  csrr t3, xrpt_number"]
        cycles = 6 * n * rounds + (18 if paired else 12)  # the first csrr, nop and x.rpt with its AUX, or x.rpt
        retired = 2 * n * rounds + (6 if paired else 4)  # these and three reads of counters less the last
        row = [rounds, (n - 1) * rounds, F32.pack(Fraction(rounds)), F32.pack(Fraction((n - 1) * rounds)), int(paired), cycles, retired, 0]
        program.loop(lead + body_of(n) + tail, [row], 8, check(0, ["a4", "a5", "f16", "f18", "t2", "a6", "a7", "t3"]))

    program.out("  .set xrpt_number, 0xcc1")
    for rounds in (0, 1, 2, 3, 33, 700):
        for n in (1, 2, 3, 64) if rounds < 100 else (1, 2):
            for paired in (False, True):
                one(rounds, n, paired, False)
                if rounds <= 1023:
                    one(rounds, n, paired, True)
    # The remaining count, read inside the body: the current round counts.
    program.loop(["  li a1, 5", "  li a4, 0", "  .balign 8", "  nop", "  x_rpt a1, 2", "  csrr a5, xrpt_number", "  add a4, a4, a5",
                  "  slli a4, a4, 4", "  nop", "  csrr a5, xrpt_number"], [[0x54321 << 4 & M32, 0]], 2, check(0, ["a4", "a5"]))
    # Division and fence may stand in a body.
    program.loop(["  li a1, 3", "  li a4, 81", "  li a5, 3", "  .balign 8", "  nop", "  x_rpt a1, 2", "  div a4, a4, a5", "  nop", "  fence", "  nop"],
                 [[3]], 1, check(0, ["a4"]))


# ---- the matrix product: a supervisor loads weights and starts worker 1 for each part ----


def weights_of(rng, kind):
    """256 bytes as 64 words: small numbers, any bits, or corners."""
    if kind == "small":
        halves = [F16.pack(Fraction(rng.randrange(-64, 65), rng.choice((1, 3, 16)))) for _ in range(128)]
    elif kind == "any":
        halves = [rng.randrange(65536) & (0xFFFF if k % 5 else 0xBFFF) for k in range(128)]
    else:
        halves = [rng.choice(HALVES) for _ in range(128)]
    return [halves[2 * k] | halves[2 * k + 1] << 16 for k in range(64)]


def single_weights(rng):
    return [F32.pack(Fraction(rng.randrange(-10 ** 6, 10 ** 6), rng.choice((1, 7, 4096)))) for _ in range(60)] + \
        [0x80000000, 1, 0x7F7FFFFF, 0x3F800000]


def matrix_of(data):
    """Rows of eight engines: 16 f16, and the same bytes as 8 f32."""
    halves = [h for w in data for h in (w & 0xFFFF, w >> 16)]
    return [halves[16 * e:16 * e + 16] for e in range(8)], [data[8 * e:8 * e + 8] for e in range(8)]


def amp_part(program, rng, amp, steps, rows, activation, partial):
    """A loop whose body is a sequence of steps (kind, phase); each takes fresh operands from the row."""
    body, given, results = [], 0, []
    for k, (kind, phase) in enumerate(steps):
        out = 16 + 2 * k
        takes = {"f16": [(4, 2), (8, 2)], "g": [(4, 2), (6, 2), (8, 2)], "io": [(8, 2)], "f32": [(4, 1), (8, 1)]}[kind]
        for first, count in takes:
            for j in range(count):
                body.append(f"  flw f{first + j}, {4 * given}(s0)")
                given += 1
        operands = {"f16": "f4, f8", "g": "f4, f6, f8", "io": "f8", "f32": "f4, f8"}[kind]
        body.append(f"  x_amp_{kind} f{out}, {operands}, {phase}")
        results.append((out, 1 if kind == "f32" else 2))
    table = []
    for _ in range(rows):
        row, outs = [], []
        for kind, phase in steps:
            p = [partial(rng) for _ in range(1 if kind == "f32" else 2)]
            if kind == "f32":
                a = rng.choice(SINGLES) if rng.randrange(8) == 0 else F32.pack(Fraction(rng.randrange(-5000, 5000), 64))
                row += [a] + p
                outs.append(amp.f32(phase, a, p[0]))
                continue
            a = [activation(rng) for _ in range(4)]
            b = [activation(rng) for _ in range(4)]
            row += (words(F16, a) if kind != "io" else []) + (words(F16, b) if kind == "g" else []) + p
            outs += amp.io(phase, p) if kind == "io" else amp.f16(phase, a, p, b if kind == "g" else None)
        table.append(row + outs)
    registers = [f"f{out + j}" for out, count in results for j in range(count)]
    program.loop(body, table, len(registers), check(given, registers))


def amp_program(program):
    rng = random.Random(8)
    half = lambda r: r.choice(HALVES) if r.randrange(6) == 0 else F16.pack(Fraction(r.randrange(-512, 513), r.choice((1, 5, 64))))
    small = lambda r: F16.pack(Fraction(r.randrange(-512, 513), r.choice((1, 5, 64))))
    part = lambda r: r.choice(SINGLES) if r.randrange(6) == 0 else F32.pack(Fraction(r.randrange(-10 ** 6, 10 ** 6), 321))
    f16 = [("f16", p) for p in range(4)]
    grouped = [("g", p) for p in range(4)]
    io = [("io", p) for p in range(4)]
    f32 = [("f32", p) for p in range(8)]
    # Each part: weights, then loops over rows. Any order of phases is legal.
    parts = [
        (weights_of(rng, "small"), [(io, 1), (f16, 30), (io, 2)], small),
        (weights_of(rng, "any"), [(f16, 20), (grouped, 20)], half),
        (weights_of(rng, "corner"), [(f16, 12), (grouped, 12), (io, 2)], half),
        (single_weights(rng), [(f32, 30), (io, 2), (f32, 6)], half),
        (weights_of(rng, "small"), [([("f16", 2), ("io", 3), ("g", 0), ("f16", 3)], 10), ([("f32", 7), ("f16", 1), ("f32", 3), ("io", 0)], 10)], small),
    ]
    program.out("  la a0, worker_stack", "  csrw 0x7c0, a0", "  li a0, 64", "  csrw 0x7c1, a0")
    for k in range(len(parts)):
        program.out(f"  la a0, weights{k}", "  x_amp_ldw a1, a0", "  addi a0, a0, 256", "  bne a0, a1, supervisor_failed",
                    f"  la a0, part{k}", "  x_run 1, a0, x0, x0")
    program.out("  x_sync x0, x0, 0", "1: j 1b", "supervisor_failed:", "  li gp, 1000", "  j failed")
    program.data += ["  .balign 16"]
    for k, (data, loops, activation) in enumerate(parts):
        program.data += [f"weights{k}:"] + [f"  .word 0x{w:08x}" for w in data]
    program.data += ["  .zero 512", "worker_stack:"]
    for k, (data, loops, activation) in enumerate(parts):
        program.out(f"part{k}:")
        if k == 0:
            program.out("  la s2, begin_signature")
        amp = Amp(*matrix_of(data))  # x.run clears the sums
        for steps, rows in loops:
            amp_part(program, rng, amp, steps, rows, activation, part)
        if k + 1 < len(parts):
            program.out("  x_exit x0")


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
    "xtile_bits": bits_program,
    "xtile_memory": memory_program,
    "xtile_streams": streams_program,
    "xtile_loops": loops_program,
    "xtile_f16v2": lambda p: arithmetic(p, "f16v2"),
    "xtile_f16v4": lambda p: arithmetic(p, "f16v4"),
    "xtile_f32v2": lambda p: arithmetic(p, "f32v2"),
    "xtile_fused": fused,
    "xtile_lanes": lanes_program,
    "xtile_conversions": conversions,
    "xtile_random": random_numbers,
    "xtile_transcendental": transcendental,
    "xtile_amp": amp_program,
}
