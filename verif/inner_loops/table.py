#!/usr/bin/python3
"""docs/machine/inner-loops.md from a run of measure.elf: table.py SIGNATURE MEASURE.C OUTPUT.md

The signature holds worker slots, one row of eight sizes for each CASE of measure.c, then what the supervisor pays in
cycles. Stops with a message if a case is unknown here, or if a loop is not linear in the size it says it is.
"""

import re
import sys
from pathlib import Path

SIZES = [1, 2, 3, 4, 7, 16, 33, 64]
CASES_IN_SIGNATURE = 32

# Published counts of one worker: (constant, per vector or position) or None for no such number; what the row is.
# `only_rate`: only the count per vector is published.
UNARY = (17, 33)  # the constant's range over all unary functions
PUBLISHED = {
    "AddVectors_f32": ((29, 3), "y = a + b, vector of 2 f32", False),
    "MulVectors_f32": ((29, 3), "y = a * b, vector of 2 f32", False),
    "AddVectors_f16": ((26, 3), "y = a + b, vector of 4 f16", False),
    "MulVectors_f16": ((26, 3), "y = a * b, vector of 4 f16", False),
    "ScaledAddVectors_f32": ((None, 1), "y += s x, vector of 2 f32", True),
    "ScaledAddVectors_f16": ((None, 1), "y += s x, vector of 4 f16", True),
    "ReluVectors_f32": ((UNARY, 3), "relu, vector of 2 f32", False),
    "ReluVectors_f16": ((UNARY, 3), "relu, vector of 4 f16", False),
    "ExpVectors_f32": ((UNARY, 6), "exp, vector of 2 f32", False),
    "ExpVectors_f16": ((UNARY, 4), "exp, vector of 4 f16", False),
    "LogVectors_f32": ((UNARY, 12), "ln, vector of 2 f32", False),
    "LogVectors_f16": ((UNARY, 4), "ln, vector of 4 f16", False),
    "TanhVectors_f32": ((None, 10), "tanh, vector of 2 f32 (5 a value)", True),
    "TanhVectors_f16": ((None, 2), "tanh, vector of 4 f16 (1 a pair)", True),
    "SigmoidVectors_f32": ((None, 10), "sigmoid, vector of 2 f32 (5 a value)", True),
    "SigmoidVectors_f16": ((None, 4), "sigmoid, vector of 4 f16 (2 a pair)", True),
    "SumVectors_f32": ((None, 1), "sum of vectors of 2 f32", True),
    "SumVectors_f16": ((None, 1), "sum in f32 of vectors of 4 f16", True),
    "MaxOfVectors_f32": ((None, 1), "largest of vectors of 2 f32", True),
    "FillVectors": ((None, 1), "fill, 64 bits", True),
    "RandomBits": ((None, None), "random bits, 64 bits", True),
    "RandomUniform_f32": ((None, None), "random f32, uniform, vector of 2", True),
    "MatMulAmp_f16": ((25, 4), "1x1 convolution or matrix product, f16 to f32, position of 16 by 8 channels", False),
    "MatMulAmp_f32": ((22, 12), "1x1 convolution or matrix product, f32, position of 8 by 8 channels", False),
}

HEAD = """# Inner loops beside published counts

Generated from a run of `verif/inner_loops/measure.c`; do not edit. `ninja -C build docs_inner_loops` writes it anew, and a test
fails if it is not what a tile measures. TLM and RTL give the same numbers, tested too.

Slots of one worker from the first instruction of the codelet to its return, the return counted, for n vectors of 8 bytes or
positions; a slot is six cycles of the tile, and the published counts (`W` times the slowest worker) are in the same unit. The
sources are `firmware/codelets/vector_loops.c` and `matrix_loops.c`; each measured run also compares all its results.

| loop | codelet | n = 4 | n = 16 | n = 64 | even n | odd n more | published | as good |
|---|---|---|---|---|---|---|---|---|
"""


def fail(text):
    sys.exit(f"inner loops: {text}")


def linear(name, slots):
    """(constant, rate) over the even sizes from 4 on, and what odd sizes cost more; all measured sizes must fit."""
    at = dict(zip(SIZES, slots))
    rate, rest = divmod(at[64] - at[16], 48)
    constant = at[16] - 16 * rate
    if rest or at[4] != constant + 4 * rate:
        fail(f"{name} is not linear: {slots}")
    more = {at[n] - constant - n * rate for n in (7, 33)}
    if len(more) != 1:
        fail(f"{name} has no one cost of an odd size: {slots}")
    return constant, rate, more.pop()


def verdict(name, fit, published, only_rate, slots):
    constant, rate, more = fit
    base, each = published
    if each is None:
        return "no count published"
    if only_rate:
        return "yes" if rate <= each else "no"
    low, high = base if isinstance(base, tuple) else (base, base)
    first = 3  # the published counts of convolutions hold from there
    above = lambda limit: [n for n, s in zip(SIZES, slots) if n >= first and s > limit + each * n]
    if above(high):
        return f"no, n = {', '.join(map(str, above(high)))}"
    return "yes" if not above(low) else "yes, within the range"


def text_of(constant, rate):
    return f"{constant} + {rate} n" if rate != 1 else f"{constant} + n"


def main(signature, source, output):
    words = [int(w, 16) for w in Path(signature).read_text().split()]
    names = re.findall(r"/\* CASE (\w+) \*/", Path(source).read_text())
    launch, load, rows, *_ = words[CASES_IN_SIGNATURE * len(SIZES):]
    if sorted(names) != sorted(PUBLISHED) or rows != len(names):
        fail(f"cases differ: {set(names) ^ set(PUBLISHED)}, {rows} rows measured")
    out = HEAD
    for k, name in enumerate(names):
        slots = words[len(SIZES) * k:len(SIZES) * (k + 1)]
        published, what, only_rate = PUBLISHED[name]
        fit = linear(name, slots)
        at = dict(zip(SIZES, slots))
        base, each = published
        shown = "-" if each is None else f"{each} n" if base is None else text_of("17..33" if base == UNARY else base, each)
        out += (f"| {what} | `{name}` | {at[4]} | {at[16]} | {at[64]} | {text_of(*fit[:2])} | {fit[2]} | {shown} | "
                f"{verdict(name, fit, published, only_rate, slots)} |\n")
    out += f"""
Published unary counts give a constant between 17 and 33 without saying which function has which; where only a
count per vector is published, counts per vector are compared. Published convolutions, 37 + 4 (n - 3) and 46 + 4 n + 8 (n - 3), hold from three positions on; one or two of ours go through a slower path.

What a loop is made of: loads run one vector ahead of the arithmetic and stores one behind, so x.ld2st (MAIN) stands beside the
arithmetic (AUX) in every doubleword of a hardware loop. A vector costs what its arithmetic costs.

| what the supervisor pays | cycles | published | |
|---|---|---|---|
| x.run of all six workers with an empty codelet, and x.sync | {launch} | 11 | the six workers' return and x.exit, 12 cycles, are in it; the rest is a slot of six cycles each for x.run and x.sync and the slots' rotation ([timing.md](timing.md)) |
| x.amp.ldw, 256 bytes | {load} | 16 | three slots of six cycles, 16 of them reading |

Published for random numbers is only a normal distribution, 4 per 64 bits: there is no instruction for it here, and no loop yet.
"""
    Path(output).write_text(out)


main(*sys.argv[1:])
