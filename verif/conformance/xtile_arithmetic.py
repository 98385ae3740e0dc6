"""Exact arithmetic of Xtile for the conformance programs: Python integers and fractions, nothing of the models.

docs/machine/tile.md: nearest even, subnormals, canonical NaN, no flags; there too the matrix product. A value is a
pattern of bits; lanes are lists of patterns, lane 0 first.
"""

from fractions import Fraction

NAN, INF = "nan", "inf"
M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def rounded_even(value):
    whole = value.numerator // value.denominator
    rest = value - whole
    return whole + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1 == 1))


class Format:
    def __init__(self, width, fraction):
        self.width, self.fraction = width, fraction
        self.exponent = width - fraction - 1
        self.bias = (1 << (self.exponent - 1)) - 1
        self.sign_bit = 1 << (width - 1)
        self.infinity = ((1 << self.exponent) - 1) << fraction
        self.nan = self.infinity | 1 << (fraction - 1)
        self.ones = (1 << width) - 1

    def unpack(self, bits):
        """(sign, magnitude): a Fraction, INF or NAN."""
        sign, e, f = bits >> (self.width - 1), bits >> self.fraction & ((1 << self.exponent) - 1), bits & ((1 << self.fraction) - 1)
        if e == (1 << self.exponent) - 1:
            return sign, NAN if f else INF
        scale = Fraction(2) ** (max(e, 1) - self.bias - self.fraction)
        return sign, (f + (1 << self.fraction if e else 0)) * scale

    def is_nan(self, bits):
        return self.unpack(bits)[1] is NAN

    def pack(self, value, zero_sign=0):
        """The exact value rounded once to nearest even."""
        if value == 0:
            return zero_sign << (self.width - 1)
        sign, value = int(value < 0), abs(value)
        e = value.numerator.bit_length() - value.denominator.bit_length()
        e = e if Fraction(2) ** e <= value else e - 1
        e = max(e, 1 - self.bias)
        n = rounded_even(value / Fraction(2) ** (e - self.fraction))
        bits = n if n < 1 << self.fraction else ((e + self.bias) << self.fraction) + n - (1 << self.fraction)
        return sign << (self.width - 1) | min(bits, self.infinity)

    def signed(self, bits):
        sign, v = self.unpack(bits)
        return -v if sign else v

    def add(self, a, b):
        (sa, va), (sb, vb) = self.unpack(a), self.unpack(b)
        if NAN in (va, vb) or (va == vb == INF and sa != sb):
            return self.nan
        if va is INF or vb is INF:
            return a if va is INF else b
        return self.pack(self.signed(a) + self.signed(b), int(sa and sb))

    def sub(self, a, b):
        return self.add(a, b ^ self.sign_bit)

    def fma(self, a, b, c):
        (sa, va), (sb, vb), (sc, vc) = self.unpack(a), self.unpack(b), self.unpack(c)
        sign = sa ^ sb
        if NAN in (va, vb, vc) or (INF in (va, vb) and 0 in (va, vb)):
            return self.nan
        if INF in (va, vb):
            return self.nan if vc is INF and sc != sign else sign << (self.width - 1) | self.infinity
        if vc is INF:
            return c
        product = -va * vb if sign else va * vb
        return self.pack(product + self.signed(c), int(sign and sc))

    def mul(self, a, b):
        (sa, va), (sb, vb) = self.unpack(a), self.unpack(b)
        if NAN not in (va, vb) and INF not in (va, vb) and va * vb == 0:
            return (sa ^ sb) << (self.width - 1)
        return self.fma(a, b, (sa ^ sb) << (self.width - 1))

    def order(self, bits):
        """Numbers as integers in their order; -0 below +0."""
        return -(bits & ~self.sign_bit) - 1 if bits & self.sign_bit else bits

    def pick(self, a, b, larger):
        if self.is_nan(a) or self.is_nan(b):
            return self.nan if self.is_nan(a) and self.is_nan(b) else b if self.is_nan(a) else a
        return a if (self.order(a) > self.order(b)) == larger else b

    def compare(self, a, b, relation):
        if self.is_nan(a) or self.is_nan(b):
            return 0
        big = Fraction(2) ** 1000
        va, vb = ((-1 if s else 1) * (big if v is INF else v) for s, v in (self.unpack(a), self.unpack(b)))
        return self.ones if {"eq": va == vb, "lt": va < vb, "le": va <= vb}[relation] else 0


F16, F32 = Format(16, 10), Format(32, 23)
FORMATS = {"f16": F16, "f32": F32}

BINARY = {
    "add": lambda f, a, b: f.add(a, b), "sub": lambda f, a, b: f.sub(a, b), "mul": lambda f, a, b: f.mul(a, b),
    "max": lambda f, a, b: f.pick(a, b, True), "min": lambda f, a, b: f.pick(a, b, False),
    "cmpeq": lambda f, a, b: f.compare(a, b, "eq"), "cmplt": lambda f, a, b: f.compare(a, b, "lt"),
    "cmple": lambda f, a, b: f.compare(a, b, "le"),
}
UNARY = {"abs": lambda f, a: a & ~f.sign_bit, "neg": lambda f, a: a ^ f.sign_bit}


def convert(source, target, bits):
    """Between float formats, nearest even; NaN canonical."""
    sign, v = source.unpack(bits)
    if v is NAN:
        return target.nan
    return sign << (target.width - 1) | (target.infinity if v is INF else target.pack(v))


def stochastic(bits, r):
    """f32 to f16 with the 16 random bits r: the part below the result's last place, cut to 16 bits, added to r, carries."""
    sign, v = F32.unpack(bits)
    if v is NAN:
        return F16.nan
    if v is INF or v == 0:
        return sign << 15 | (F16.infinity if v is INF else 0)
    e = v.numerator.bit_length() - v.denominator.bit_length()
    e = e if Fraction(2) ** e <= v else e - 1
    scaled = v / Fraction(2) ** (max(e, -14) - 10)
    whole = scaled.numerator // scaled.denominator
    f = int((scaled - whole) * 65536)
    n = whole + (f + r >= 65536)
    result = n if n < 1024 else ((max(e, -14) + 15) << 10) + n - 1024
    return sign << 15 | min(result, F16.infinity)


def to_integer(bits, signed):
    low, high = (-(1 << 31), (1 << 31) - 1) if signed else (0, M32)
    sign, v = F32.unpack(bits)
    if v is NAN:
        return high
    n = 1 << 40 if v is INF else rounded_even(v)
    return max(low, min(high, -n if sign else n)) & M32


def from_integer(bits, signed):
    return F32.pack(Fraction(bits - (1 << 32) if signed and bits >> 31 else bits))


def rotl(v, n):
    return (v << n | v >> (64 - n)) & M64


def draw(s0, s1):
    """One step of the generator: (output, s0, s1)."""
    sx, sa = s0 ^ s1, s0 & s1
    out = sx ^ (rotl(sa, 1) | rotl(sa, 2))
    return out, rotl(s0, 55) ^ sx ^ (sx << 14 & M64), rotl(sx, 36)


def product16(a, b):
    """Exact product of two f16: (sign, Fraction | INF | NAN)."""
    (sa, va), (sb, vb) = F16.unpack(a), F16.unpack(b)
    if NAN in (va, vb) or (INF in (va, vb) and 0 in (va, vb)):
        return 0, NAN
    return sa ^ sb, INF if INF in (va, vb) else va * vb


def sum_products(p, q):
    """f32 bits of the sum of two exact products, one rounding."""
    (sp, vp), (sq, vq) = p, q
    if NAN in (vp, vq) or (vp == vq == INF and sp != sq):
        return F32.nan
    if INF in (vp, vq):
        return (sp if vp is INF else sq) << 31 | F32.infinity
    return F32.pack((-vp if sp else vp) + (-vq if sq else vq), int(sp and sq))


def dot4(a, b, c):
    """c + ((a0*b0 + a1*b1) + (a2*b2 + a3*b3)) with four roundings to f32."""
    p = [product16(x, y) for x, y in zip(a, b)]
    return F32.add(c, F32.add(sum_products(p[0], p[1]), sum_products(p[2], p[3])))


class Amp:
    """Matrix state of one worker over the tile's weights: rows e of 16 f16 or 8 f32."""

    def __init__(self, halves, singles):
        self.halves, self.singles = halves, singles
        self.a, self.b = [0] * 8, [0] * 8

    def exchange(self, p, pair):
        out = self.b[2 * p:2 * p + 2]
        self.b[2 * p:2 * p + 2] = pair
        return out

    def swap(self, last):
        if last:
            self.a, self.b = self.b, self.a

    def f16(self, p, activations, pair, other=None):
        out = self.exchange(p, pair)
        for e in range(8):
            own = activations if other is None or e < 4 else other
            self.a[e] = dot4(own, self.halves[e][4 * p:4 * p + 4], self.a[e])
        self.swap(p == 3)
        return out

    def f32(self, p, activation, partial):
        out, self.b[p] = self.b[p], partial
        for e in range(8):
            self.a[e] = F32.fma(activation, self.singles[e][p], self.a[e])
        self.swap(p == 7)
        return out

    def io(self, p, pair):
        out = self.exchange(p, pair)
        self.swap(p == 3)
        return out
