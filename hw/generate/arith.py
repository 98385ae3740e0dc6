"""Writes the integer programs of hw/arith as C++ (one function each) and as SystemVerilog (one pipelined module each).

Every value of a program is a signed word wide enough for all it can be, so both languages compute the same integers: C++ in
std::int64_t, SystemVerilog one operation a line, since an expression's width depends on what stands around it.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "arith"))

import transcendental  # noqa: E402

SYMBOL = {"add": "+", "sub": "-", "mul": "*", "or": "|", "and": "&", "eq": "==", "lt": "<"}


def names(program):
    """A name for each node in use, by index; constants are written out where they stand."""
    return {i: f"v{i}" + (f"_{program.nodes[i].name}" if program.nodes[i].name else "") for i in program.used()}


def cpp_table(name, rows):
    width = column_width(rows)
    kind = next(b for b in (8, 16, 32, 64) if width <= b)
    lines = ["  " + ", ".join(map(str, rows[k:k + 12])) for k in range(0, len(rows), 12)]
    return [f"inline constexpr std::int{kind}_t {name}[{len(rows)}] = {{", ",\n".join(lines) + "};", ""]


def column_width(rows):
    return max(max(v.bit_length() if v >= 0 else (-v - 1).bit_length() for v in rows) + 1, 2)


def cpp_operation(program, node, operand):
    a = operand(node.args[0])
    if node.kind == "select":
        return f"{a} != 0 ? {operand(node.args[1])} : {operand(node.args[2])}"
    if node.kind == "narrow":
        return a
    if node.kind == "low":
        return f"{a} & INT64_C({(1 << node.param) - 1})"
    if node.kind == "lzc":
        return f"leading_zeros({a}, {node.param})"
    if node.kind == "table":
        return f"{node.param}[{a}]"
    b = operand(node.args[1])
    if node.kind == "shr":
        return f"{a} >> {b}"
    if node.kind == "shl" and program.nodes[node.args[1]].kind == "const":
        return f"{a} * (INT64_C(1) << {b})"
    if node.kind in ("shl", "justify"):
        return f"{a} << {b}"
    text = f"{a} {SYMBOL[node.kind]} {b}"
    return f"static_cast<std::int64_t>({text})" if node.kind in ("eq", "lt") else text


def cpp_function(program):
    name = names(program)

    def operand(index):
        node = program.nodes[index]
        if node.kind != "const":
            return name[index]
        return str(node.param) if abs(node.param) < 1 << 31 else f"INT64_C({node.param})"

    bits = program.inputs["a"]
    result, _ = program.outputs["result"]
    out = [f"inline std::uint{bits}_t {program.name}(std::uint{bits}_t a) {{"]
    for index in program.used():
        node = program.nodes[index]
        if node.kind == "input":
            out.append(f"  const std::int64_t {name[index]} = {node.param};")
        elif node.kind != "const":
            out.append(f"  const std::int64_t {name[index]} = {cpp_operation(program, node, operand)};")
    return out + [f"  return static_cast<std::uint{bits}_t>({operand(result)});", "}", ""]


def cpp():
    """The functions of all formats as text to be included in a namespace; <cstdint> is the includer's."""
    programs = [transcendental.build(form, f) for form in transcendental.FORMATS for f in form.functions]
    tables = {}
    for program in programs:
        tables.update(program.tables)
    out = ["// Generated from hw/arith by hw/generate; do not edit.", "",
           "// Zeros before the highest bit set in a word of `width` bits.",
           "inline std::int64_t leading_zeros(std::int64_t value, int width) {",
           "  return value == 0 ? width : __builtin_clzll(static_cast<unsigned long long>(value)) - (64 - width);", "}", ""]
    for table in sorted(tables):
        out += cpp_table(table, tables[table])
    for program in programs:
        out += cpp_function(program)
    return "\n".join(out)
