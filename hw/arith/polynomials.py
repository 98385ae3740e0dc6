"""Polynomial coefficients of segments of a function, in exact decimal arithmetic of 60 digits: the same on every host.

A segment of width h from x0 is approximated by a cubic in d = (x - x0) / h, 0 <= d < 1. The cubic meets the function at both
ends, so that exact values stay exact and neighbouring segments meet, and at two points between that level the error.
"""

from decimal import Decimal, getcontext

getcontext().prec = 60

LN2 = Decimal(2).ln()

# 1 - sqrt(1/2) and sqrt(1/2): d (1 - d) (d - a) (d - b) then has its three extremes equal.
NODES = [Decimal(0), Decimal("0.292893"), Decimal("0.707107"), Decimal(1)]


def exp2(x):
    return (x * LN2).exp()


def tanh(x):
    e = (-2 * x).exp()
    return (1 - e) / (1 + e)


def tanh_over_x(x):
    return tanh(x) / x if x else Decimal(1)


def log_over_x(m):
    """log(m) / (m - 1), which is smooth and 1 at m = 1."""
    return m.ln() / (m - 1) if m != 1 else Decimal(1)


def rsqrt(m):
    return 1 / m.sqrt()


def cubic(function, x0, h):
    """Coefficients c0..c3 in d of the cubic through the function's values at NODES (Newton's divided differences)."""
    differences = [function(x0 + h * d) for d in NODES]
    for level in range(1, 4):
        for k in range(3, level - 1, -1):
            differences[k] = (differences[k] - differences[k - 1]) / (NODES[k] - NODES[k - level])
    coefficients = [differences[3]]
    for k in range(2, -1, -1):
        shifted = [Decimal(0)] + coefficients
        for j, c in enumerate(coefficients):
            shifted[j] -= NODES[k] * c
        shifted[0] += differences[k]
        coefficients = shifted
    return coefficients


def rounded(value, fraction_bits):
    """value * 2^fraction_bits to the nearest integer."""
    return int((value * (1 << fraction_bits)).to_integral_value())


def rows(segments, fraction_bits):
    """segments: (function, x0, h) each; its coefficients as integers at 2^-fraction_bits."""
    return [[rounded(c, fraction_bits) for c in cubic(*segment)] for segment in segments]


def columns(table):
    """The rows as four columns, as Program.table wants them."""
    return [tuple(row[k] for row in table) for k in range(4)]


def horner(row, d, bits, used):
    """What the data path makes of a row and d of so many bits: step k multiplies by the first used[k] of them."""
    value = row[3]
    for c, n in zip(row[2::-1], used):
        value = c + (value * (d >> (bits - n)) >> n)
    return value


def rows_in_order(segments, fraction_bits, bits, used):
    """Rows of a rising function whose segments run downwards (h < 0), each one above the one before.

    If all coefficients but the first are negative, every step of Horner's rule falls with d, rounding included, so results
    of one segment are in order. The second coefficient is then raised until a segment's lowest value is no lower than
    the highest of the segment below.
    """
    table = rows(segments, fraction_bits)
    for below, row in zip(table, table[1:]):
        if max(row[1:]) > 0:
            raise ValueError(f"a segment does not fall throughout: {row}")
        while horner(row, (1 << bits) - 1, bits, used) < below[0]:
            row[1] += 1
    return table


def horner_range(table, used):
    """Least and greatest value that any row can give, whatever d."""
    bounds = []
    for row in table:
        low = high = row[3]
        for c, bits in zip(row[2::-1], used):
            top = (1 << bits) - 1
            low, high = c + min(0, low * top >> bits), c + max(0, high * top >> bits)
        bounds.append((low, high))
    return min(b[0] for b in bounds), max(b[1] for b in bounds)
