"""Self-checking programs of what Xtile does with state, for generate.py: bits, memory, streams, loops, the matrix product.

Rows of a table: operand words, then the expected words, as in xtile_programs.py.
"""

import random
from fractions import Fraction

from xtile_arithmetic import Amp, F16, F32, M32
from xtile_programs import HALVES, SINGLES, check, words


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


PROGRAMS = {
    "xtile_bits": bits_program,
    "xtile_memory": memory_program,
    "xtile_streams": streams_program,
    "xtile_loops": loops_program,
    "xtile_amp": amp_program,
}
