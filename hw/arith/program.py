"""Straight-line integer programs: recorded once, then written as C++ and as SystemVerilog by hw/generate.

A Program is recorded by calling ordinary Python functions on Values. Each Value is one integer operation; its exact range
is known from its operands' ranges, so its width is known too and no word exceeds 64 bits with its sign. All arithmetic is
exact: nothing wraps. A right shift rounds down. What depends on constants alone is computed here, so the same description
recorded with a constant selector gives one function, and with an input as selector the shared data path of hardware.

cut() ends a pipeline stage. It means nothing to C++.
"""


class ProgramError(Exception):
    pass


def signed_width(low, high):
    """Bits of the smallest two's complement word, sign included, that holds low..high."""
    return max(high.bit_length(), (-low - 1).bit_length() if low < 0 else 0) + 1


def lzc(value, width):
    return width - value.bit_length()


EVALUATE = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "or": lambda a, b: a | b,
    "and": lambda a, b: a & b,
    "eq": lambda a, b: int(a == b),
    "lt": lambda a, b: int(a < b),
    "shr": lambda a, n: a >> n,
    "shl": lambda a, n: a << n,
}


class Node:
    def __init__(self, kind, args, param, low, high, stage):
        self.kind, self.args, self.param = kind, args, param
        self.low, self.high, self.stage = low, high, stage
        self.width = signed_width(low, high)
        self.name = ""


class Value:
    """One node of a program with Python's operators; ints mix in as constants. Comparisons give 0 or 1."""

    def __init__(self, program, index):
        self.program, self.index = program, index

    @property
    def node(self):
        return self.program.nodes[self.index]

    def named(self, name):
        if self.node.kind != "const" and not self.node.name:
            self.node.name = name
        return self

    def __add__(self, other):
        return self.program.binary("add", self, other)

    def __radd__(self, other):
        return self.program.binary("add", other, self)

    def __sub__(self, other):
        return self.program.binary("sub", self, other)

    def __rsub__(self, other):
        return self.program.binary("sub", other, self)

    def __mul__(self, other):
        return self.program.binary("mul", self, other)

    def __and__(self, other):
        return self.program.binary("and", self, other)

    def __or__(self, other):
        return self.program.binary("or", self, other)

    def __rshift__(self, other):
        return self.program.binary("shr", self, other)

    def __lshift__(self, other):
        return self.program.binary("shl", self, other)

    def __neg__(self):
        return self.program.binary("sub", 0, self)

    def __invert__(self):
        """Negation of a truth value."""
        return self.program.binary("eq", self, 0)

    def __lt__(self, other):
        return self.program.binary("lt", self, other)

    def __gt__(self, other):
        return self.program.binary("lt", other, self)

    def __ge__(self, other):
        return ~(self < other)

    def equals(self, other):
        return self.program.binary("eq", self, other)

    def low(self, bits):
        """The lowest bits of the two's complement word, as a number from 0."""
        return self.program.low(self, bits)

    def field(self, lsb, bits):
        return (self >> lsb).low(bits)


class Program:
    def __init__(self, name, cuts):
        """cuts: names of the cut() calls that end a stage in this program."""
        self.name, self.cuts = name, set(cuts)
        self.nodes, self.known, self.inputs, self.outputs = [], {}, {}, {}
        self.tables = {}
        self.stage = 0

    def make(self, kind, args, param, low, high):
        if signed_width(low, high) > 64:
            raise ProgramError(f"{self.name}: {kind} needs more than 64 bits: {low}..{high}")
        key = (kind, args, param)
        if key not in self.known:
            self.nodes.append(Node(kind, args, param, low, high, self.stage))
            self.known[key] = len(self.nodes) - 1
        return Value(self, self.known[key])

    def constant(self, value):
        return value if isinstance(value, Value) else self.make("const", (), value, value, value)

    def input(self, name, bits):
        self.inputs[name] = bits
        return self.make("input", (), name, 0, (1 << bits) - 1).named(name)

    def output(self, name, value, bits):
        node = self.constant(value).node
        if node.low < 0 or node.high >> bits:
            raise ProgramError(f"{self.name}: output {name} may be {node.low}..{node.high}")
        self.outputs[name] = (self.constant(value).index, bits)

    def cut(self, name):
        if name in self.cuts:
            self.stage += 1

    def binary(self, kind, a, b):
        a, b = self.constant(a), self.constant(b)
        x, y = a.node, b.node
        if x.kind == y.kind == "const":
            return self.constant(EVALUATE[kind](x.param, y.param))
        if kind in ("add", "or") and x.kind == "const" and x.param == 0:
            return b
        if kind in ("add", "sub", "shr", "shl", "or") and y.kind == "const" and y.param == 0:
            return a
        if kind == "eq" and a.index == b.index:
            return self.constant(1)
        if kind == "mul" and x.kind == "const":
            return self.binary(kind, b, a)
        if kind == "mul" and y.kind == "const" and y.param > 0 and y.param & (y.param - 1) == 0:
            return a << (y.param.bit_length() - 1)
        if kind in ("or", "and") and min(x.low, y.low) < 0:
            raise ProgramError(f"{self.name}: {kind} of a negative number")
        if kind in ("shr", "shl") and (y.low < 0 or y.high > 63):
            raise ProgramError(f"{self.name}: {kind} by {y.low}..{y.high}")
        if kind == "shl" and y.kind != "const" and x.low < 0:
            raise ProgramError(f"{self.name}: a negative number shifted left by a variable")
        if kind == "lt" and (x.high < y.low or x.low >= y.high):
            return self.constant(int(x.high < y.low))
        if kind == "eq" and (x.high < y.low or y.high < x.low):
            return self.constant(0)
        if kind == "or":
            low, high = 0, (1 << max(x.high, y.high).bit_length()) - 1
        elif kind == "and":
            low, high = 0, min(x.high, y.high)
            if high == 0:
                return self.constant(0)
        elif kind in ("eq", "lt"):
            low, high = 0, 1
        else:
            corners = [EVALUATE[kind](p, q) for p in (x.low, x.high) for q in (y.low, y.high)]
            low, high = min(corners), max(corners)
        return self.make(kind, (a.index, b.index), None, low, high)

    def low(self, a, bits):
        x = a.node
        if x.kind == "const":
            return self.constant(x.param & ((1 << bits) - 1))
        if x.low >= 0 and x.high >> bits == 0:
            return a
        if x.width < bits:
            raise ProgramError(f"{self.name}: {bits} bits of a word of {x.width}")
        return self.make("low", (a.index,), bits, 0, (1 << bits) - 1)

    def select(self, condition, yes, no):
        condition, yes, no = self.constant(condition), self.constant(yes), self.constant(no)
        if condition.node.kind == "const":
            return yes if condition.node.param else no
        if yes.index == no.index:
            return yes
        x, y = yes.node, no.node
        return self.make("select", (condition.index, yes.index, no.index), None, min(x.low, y.low), max(x.high, y.high))

    def minimum(self, a, b):
        a, b = self.constant(a), self.constant(b)
        if a.node.high <= b.node.low:
            return a
        v = self.select(a < b, a, b)
        return self.narrowed(v, min(a.node.low, b.node.low), min(a.node.high, b.node.high))

    def maximum(self, a, b):
        a, b = self.constant(a), self.constant(b)
        if a.node.low >= b.node.high:
            return a
        v = self.select(a < b, b, a)
        return self.narrowed(v, max(a.node.low, b.node.low), max(a.node.high, b.node.high))

    def narrowed(self, a, low, high):
        """The same number, of which the caller has proved a narrower range than its operands tell."""
        x = a.node
        if x.kind == "const" or (x.low >= low and x.high <= high):
            return a
        return self.make("narrow", (a.index,), (max(low, x.low), min(high, x.high)), max(low, x.low), min(high, x.high))

    def leading_zeros(self, a, width):
        """Zeros before the highest bit set in a word of that width; width for 0."""
        x = a.node
        if x.low < 0 or x.high >> width:
            raise ProgramError(f"{self.name}: leading zeros in {width} bits of {x.low}..{x.high}")
        if x.kind == "const":
            return self.constant(lzc(x.param, width))
        return self.make("lzc", (a.index,), width, lzc(x.high, width), lzc(x.low, width))

    def justified(self, a, zeros, width):
        """a with its `zeros` leading zeros of a word of `width` shifted out."""
        if a.node.kind == zeros.node.kind == "const":
            return self.constant(a.node.param << zeros.node.param)
        return self.make("justify", (a.index, zeros.index), width, 0, (1 << width) - 1)

    def table(self, name, rows, index):
        """rows[index]; the index must be proved to lie inside. Tables of one name are one table."""
        index = self.constant(index)
        x = index.node
        if x.low < 0 or x.high >= len(rows):
            raise ProgramError(f"{self.name}: table {name} of {len(rows)} rows read at {x.low}..{x.high}")
        if self.tables.setdefault(name, rows) != rows:
            raise ProgramError(f"{self.name}: two tables are named {name}")
        if x.kind == "const":
            return self.constant(rows[x.param])
        return self.make("table", (index.index,), name, min(rows[x.low:x.high + 1]), max(rows[x.low:x.high + 1]))

    def used(self):
        """Indices of the nodes that outputs depend on, in order."""
        need = {index for index, _ in self.outputs.values()}
        for index in range(len(self.nodes) - 1, -1, -1):
            if index in need:
                need.update(self.nodes[index].args)
        return sorted(need)

    def evaluate(self, **inputs):
        """Outputs for these inputs, by Python's integers. A value outside its range is an error of who narrowed it."""
        values = {}
        for index in self.used():
            node = self.nodes[index]
            args = [values[i] for i in node.args]
            if node.kind == "const":
                value = node.param
            elif node.kind == "input":
                value = inputs[node.param]
            elif node.kind == "select":
                value = args[1] if args[0] else args[2]
            elif node.kind == "narrow":
                value = args[0]
            elif node.kind == "low":
                value = args[0] & ((1 << node.param) - 1)
            elif node.kind == "lzc":
                value = lzc(args[0], node.param)
            elif node.kind == "justify":
                value = args[0] << args[1]
            elif node.kind == "table":
                value = self.tables[node.param][args[0]]
            else:
                value = EVALUATE[node.kind](*args)
            if not node.low <= value <= node.high:
                raise ProgramError(f"{self.name}: v{index} {node.name} is {value}, not {node.low}..{node.high}")
            values[index] = value
        return {name: values[index] for name, (index, _) in self.outputs.items()}
