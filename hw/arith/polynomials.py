"""Polynomial coefficients of segments of a function, in exact decimal arithmetic of 60 digits: the same on every host.

A segment of width h from x0 is approximated by a cubic in d = (x - x0) / h, 0 <= d < 1. The cubic meets the function at d = 0, so
that exact values at segment starts stay exact, and at three more points that keep the error even over the segment.
"""

from decimal import Decimal, getcontext

getcontext().prec = 60

LN2 = Decimal(2).ln()

# Chebyshev's points of degree 4, stretched so that the first one is 0: (cos(k pi / 8) + cos(pi / 8)) / (1 + cos(pi / 8)).
NODES = [Decimal(0), Decimal("0.281305"), Decimal("0.679131"), Decimal("0.960434")]


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


def columns(segments, fraction_bits):
    """segments: (function, x0, h) each; four columns of integers at 2^-fraction_bits."""
    rows = [[rounded(c, fraction_bits) for c in cubic(*segment)] for segment in segments]
    return [tuple(row[k] for row in rows) for k in range(4)]


def horner_range(table, used):
    """Least and greatest value that any row can give by Horner's rule: step k multiplies by `used[k]` bits of d, rounding down."""
    bounds = []
    for row in zip(*table):
        low = high = row[3]
        for c, bits in zip(row[2::-1], used):
            top = (1 << bits) - 1
            low, high = c + min(0, low * top >> bits), c + max(0, high * top >> bits)
        bounds.append((low, high))
    return min(b[0] for b in bounds), max(b[1] for b in bounds)
