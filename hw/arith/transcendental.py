"""exp, log, tanh, sigmoid (f16, f32) and 1/sqrt (f32) as one integer data path: docs/machine/transcendental.md explains it.

Every function is brought to   result = (A + U * V) * 2^x   with one rounding at the end:
  exp      U = 2^f, f the fraction of a * log2(e)      x from its integer part
  log      U = m - 1, V = log(m) / (m - 1), A = k ln 2 with a = m * 2^k, m near 1
  tanh     |a| < 1: U = |a|, V = tanh|a| / |a|; else V = tanh|a|
  sigmoid  y = |a| / 2 < 1: A = 1/2, U = -+y, V = tanh(y) / y; else V = (1 + tanh y) / 2, times U = e^-|a| if a < 0
  rsqrt    V = 1 / sqrt(m), a = m * 4^k, 1 <= m < 4
2^f and V are piecewise cubics. build() records the data path for a format, with a constant function or with the function
as an input.
"""

from decimal import Decimal

from polynomials import (LN2, columns, exp2, horner_range, log_over_x, rounded, rows, rows_in_order, rsqrt, tanh,
                         tanh_over_x)
from program import Program

FUNCTIONS = ["exp", "log", "tanh", "sigmoid", "rsqrt"]
EXP, LOG, TANH, SIGMOID, RSQRT = range(5)

SEGMENT_BITS = 5  # 32 segments of 2^f, of a binade of tanh, of tanh(x)/x below 1 and of a binade of 1/sqrt


class Format:
    """An IEEE format and the sizes of its data path."""

    def __init__(self, name, bits, precision, fraction_bits, delta_bits, horner_bits, log2e_bits, log_bits, far, same,
                 tiers, functions, cuts):
        self.name, self.bits, self.p = name, bits, precision
        self.g = fraction_bits  # of 2^f and V
        self.w = delta_bits  # of the place in a segment; horner_bits: those that the cubic's first two steps use
        self.log2e_bits = log2e_bits  # fraction bits of log2(e), and of ln 2
        self.log_bits = log_bits  # 2^log_bits segments of log over a binade
        self.far = far  # from 2^far on exp and sigmoid are past all range or constant
        self.same = same  # below 2^same tanh(a) rounds to a
        self.tiers = tiers  # tanh is 1 from 2^tiers on
        self.functions, self.cuts = functions, cuts
        self.exponent_bits = bits - precision
        self.bias = (1 << (self.exponent_bits - 1)) - 1
        self.f = delta_bits + SEGMENT_BITS  # fraction bits of arguments reduced to fixed point
        h = Decimal(1) / (1 << SEGMENT_BITS)
        every = range(1 << SEGMENT_BITS)
        exp_segments = [(exp2, h * k, h) for k in every]
        log_h = Decimal(1) / (1 << log_bits)
        self.log_split = (7 << log_bits) // 16  # from 1.4375 on m is halved
        v_segments = [(log_over_x, 1 + log_h * k, log_h) if k < self.log_split else
                      (log_over_x, (1 + log_h * k) / 2, log_h / 2) for k in range(1 << log_bits)]
        self.rsqrt_base = len(v_segments)
        if RSQRT in functions:
            v_segments += [(rsqrt, m * (1 + h * k), m * h) for m in (1, 2) for k in every]
        self.tanh_base = len(v_segments)
        v_segments += [(tanh_over_x, h * k, h) for k in every]
        # From 1 on d is taken from a segment's end downwards; its complement is what is at hand, hence the last place.
        last = h * ((1 << self.w) - 1) / (1 << self.w)
        tanh_segments = [(tanh, (1 + h * k + last) * (1 << tier), -h * (1 << tier)) for tier in range(tiers) for k in every]
        self.used = horner_bits + (self.w,)
        self.exp_rows = rows(exp_segments, self.g)
        self.v_rows = rows(v_segments, self.g) + rows_in_order(tanh_segments, self.g, self.w, self.used)


# f16: smaller sizes round some input wrongly (24 to 26 fraction bits: one or two); all inputs are tested. f32: far less
# than the 2 ulp allowed, measured over all inputs; a few bits less would save little.
F16 = Format("f16", 16, 11, fraction_bits=27, delta_bits=18, horner_bits=(8, 14), log2e_bits=26, log_bits=4, far=5,
             same=-6, tiers=3, functions=[EXP, LOG, TANH, SIGMOID], cuts=["reduce", "linear"])
F32 = Format("f32", 32, 24, fraction_bits=30, delta_bits=25, horner_bits=(16, 22), log2e_bits=35, log_bits=6, far=7,
             same=-12, tiers=4, functions=[EXP, LOG, TANH, SIGMOID, RSQRT],
             cuts=["unpack", "reduce", "table", "cubic", "square", "linear", "product", "sum", "normalise"])
FORMATS = [F16, F32]


def build(form, function=None):
    """The program of a format: input a (and op if function is None), output result."""
    name = f"{form.name}" if function is None else f"{FUNCTIONS[function]}_{form.name}"
    prog = Program(name, form.cuts)
    p, g, w, fx, bits = form.p, form.g, form.w, form.f, form.bits
    select, minimum, maximum = prog.select, prog.minimum, prog.maximum
    a = prog.input("a", bits)
    op = prog.input("op", 3) if function is None else prog.constant(function)
    is_exp, is_log, is_tanh, is_sigmoid, is_rsqrt = (op.equals(n).named(f"is_{FUNCTIONS[n]}") for n in range(5))
    if RSQRT not in form.functions:
        is_rsqrt = prog.constant(0)

    # unpack: a = +-m * 2^(e - (p-1)). Subnormals are normalised where it matters; elsewhere they are just small.
    all_ones = (1 << form.exponent_bits) - 1
    sign = (a >> (bits - 1)).named("sign")
    biased = a.field(p - 1, form.exponent_bits)
    fraction = a.low(p - 1)
    fraction_zero, special = fraction.equals(0), biased.equals(all_ones)
    nan, inf = special & ~fraction_zero, special & fraction_zero
    subnormal = biased.equals(0)
    zero = subnormal & fraction_zero
    normalise = subnormal & (is_log | is_rsqrt)
    up = prog.leading_zeros(fraction, p - 1) + 1
    shifted = prog.narrowed(fraction << up, 0, (1 << p) - 1)
    m = select(normalise, shifted, fraction + (1 << (p - 1))).named("m")
    e = select(normalise, (1 - form.bias) - up, biased - form.bias).named("e")

    # What is known without computing.
    one, infinity, sign_bit = form.bias << (p - 1), all_ones << (p - 1), 1 << (bits - 1)
    quiet_nan = infinity | 1 << (p - 2)
    far = e >= form.far
    cases = [(is_exp, far, select(sign, 0, infinity)),
             (is_log, zero | sign | inf | a.equals(one),
              select(zero, sign_bit | infinity, select(sign, quiet_nan, select(inf, infinity, 0)))),
             (is_tanh, (e < form.same) | (e >= form.tiers), select(e < 0, a, (sign << (bits - 1)) + one)),
             (is_sigmoid, far, select(sign, 0, one)),
             (is_rsqrt, zero | sign | inf,
              select(zero, (sign << (bits - 1)) + infinity, select(sign, quiet_nan, 0)))]
    known, known_value = prog.constant(0), prog.constant(0)
    for chosen, condition, value in cases:
        known, known_value = select(chosen, condition, known), select(chosen, value, known_value)
    known = (known | nan).named("known")
    known_value = select(nan, quiet_nan, known_value).named("known_value")
    prog.cut("unpack")

    # reduce, exp and sigmoid: +-a * log2(e) = n + f.
    near = minimum(e, form.far - 1)
    scaled = m * rounded(1 / LN2, form.log2e_bits)
    t = scaled >> minimum((p - 1 + form.log2e_bits - fx) - near, 63)
    t = select(is_exp & ~sign, t, -t).named("t")
    n = (t >> fx).named("n")
    f = t.low(fx)
    # log: m or m/2 near 1.
    m_fraction = m.low(p - 1)
    rest = p - 1 - form.log_bits
    log_index = m_fraction >> rest
    halve = ~(log_index < form.log_split)
    log_u = select(halve, m - (1 << p), m_fraction << 1).named("log_u")  # at 2^-p
    k = (e + halve).named("k")
    # rsqrt; tanh by binade, or in fixed point below 1.
    segment, d_binade = m_fraction >> (p - 1 - SEGMENT_BITS), m_fraction.low(p - 1 - SEGMENT_BITS)
    d_binade = d_binade << (w - (p - 1 - SEGMENT_BITS))
    odd = e.low(1)
    y_exponent = e - is_sigmoid
    small = (y_exponent < 0).named("small")
    y = ((m << (fx - (p - 1))) >> minimum(maximum(-y_exponent, 1), 63)).named("y")
    tier = minimum(maximum(y_exponent, 0), form.tiers - 1)
    beyond = ~(y_exponent < form.tiers)
    tanh_index = select(small, y >> w, (tier << SEGMENT_BITS) + segment + (1 << SEGMENT_BITS))
    index = select(is_log, log_index, select(is_rsqrt, (odd << SEGMENT_BITS) + segment + form.rsqrt_base,
                                             tanh_index + form.tanh_base)).named("index")
    d = select(is_log, m_fraction.low(rest) << (w - rest),
               select(is_rsqrt, d_binade, select(small, y.low(w), ((1 << w) - 1) - d_binade))).named("d")
    exp_index, exp_d = (f >> w).named("exp_index"), f.low(w).named("exp_d")
    scale = select(is_exp, n - 2 * g,
                   select(is_log, -(p + g),
                          select(is_tanh, select(small, e - (p - 1), 0) - g,
                                 select(is_sigmoid, select(small, -(fx + g + 1), select(sign, n, 0) - (2 * g + 1)),
                                        -(e >> 1) - g)))).named("scale")
    prog.cut("reduce")

    def coefficients(name, table, index):
        return [prog.table(f"{form.name}_{name}{c}", column, index) for c, column in enumerate(columns(table))]

    exp_c = coefficients("exp", form.exp_rows, exp_index)
    v_c = coefficients("v", form.v_rows, index)
    prog.cut("table")

    def step(c, value, d, used):
        return c + (value * (d >> (w - used)) >> used)

    power, v = exp_c[3], v_c[3]
    for power_of_d, cut in ((2, "cubic"), (1, "square"), (0, "linear")):
        power = step(exp_c[power_of_d], power, exp_d, form.used[2 - power_of_d])
        v = step(v_c[power_of_d], v, d, form.used[2 - power_of_d])
        if power_of_d == 0:
            power = prog.narrowed(power, *horner_range(form.exp_rows, form.used)).named("power")
            v = prog.narrowed(v, *horner_range(form.v_rows, form.used)).named("v")
        prog.cut(cut)

    # product: u * v, one factor constant where a function needs none.
    v = select(is_exp, 1 << g, select(is_sigmoid & ~small, select(beyond, 2 << g, v + (1 << g)), v))
    u = select(is_exp, power,
               select(is_log, log_u,
                      select(is_tanh, select(small, m, 1),
                             select(is_sigmoid, select(small, y, select(sign, power, 1 << g)), 1)))).named("u")
    product = (u * v).named("product")
    prog.cut("product")

    minus = is_sigmoid & small & sign
    ln2 = k * rounded(LN2, form.log2e_bits) << (p + g - form.log2e_bits)
    addend = select(is_log, ln2, select(is_sigmoid & small, 1 << (fx + g), 0))
    total = (addend + select(minus, -product, product)).named("total")
    result_sign = select(is_tanh, sign, total < 0).named("result_sign")
    magnitude = prog.narrowed(select(total < 0, -total, total), 0, max(-total.node.low, total.node.high))
    prog.cut("sum")

    # normalise: p + 1 bits and a sticky one.
    width = magnitude.node.high.bit_length()
    zeros = prog.leading_zeros(magnitude, width)
    normal = prog.justified(magnitude, zeros, width)
    sticky = ~normal.low(width - p - 1).equals(0)
    kept = ((normal >> (width - p - 1)) << 1) | sticky
    exponent = (scale - zeros + (width - 1 + form.bias - 1)).named("exponent")  # biased, less 1
    prog.cut("normalise")

    # round to nearest even once, also where the result is subnormal.
    down = minimum(maximum(-exponent, 0), p + 2)
    placed = kept >> down
    placed = placed | ~(placed << down).equals(kept)
    increment = placed.field(1, 1) & (placed.low(1) | placed.field(2, 1))
    packed = (minimum(maximum(exponent, 0), all_ones) << (p - 1)) + (placed >> 2) + increment
    result = minimum(packed, infinity) + (result_sign << (bits - 1))
    prog.output("result", select(known, known_value, result), bits)
    return prog
