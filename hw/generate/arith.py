"""Writes the integer programs of hw/arith as C++ (one function each) and as SystemVerilog (one pipelined module each).

Every value of a program is a signed word wide enough for all it can be, so both languages compute the same integers: C++ in
std::int64_t, SystemVerilog one operation a line, since an expression's width depends on what stands around it.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "arith"))

import transcendental  # noqa: E402
from program import signed_width  # noqa: E402

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
    return signed_width(min(rows), max(rows))


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


def sv_constant(value):
    width = signed_width(value, value)
    return f"{width}'sd{value}" if value >= 0 else f"-{width}'sd{-value}"


def sv_table(name, rows):
    index_bits = (len(rows) - 1).bit_length()
    width = column_width(rows)
    out = [f"  function automatic logic signed [{width - 1}:0] {name}(input logic [{index_bits - 1}:0] index);",
           "    case (index)"]
    cells = [f"{index_bits}'d{n}: {name} = {width}'h{value & (1 << width) - 1:x};" for n, value in enumerate(rows)]
    out += ["      " + " ".join(cells[k:k + 3]) for k in range(0, len(cells), 3)]
    return out + [f"      default: {name} = {width}'h0;", "    endcase", "  endfunction", ""]


SV_LEADING_ZEROS = """\
  // Zeros before the highest bit set.
  function automatic logic [6:0] leading_zeros(input logic [63:0] value);
    logic [63:0] left;
    left = value;
    leading_zeros = 7'd0;
    if (left[63:32] == 32'd0) begin leading_zeros[5] = 1'b1; left = {left[31:0], 32'd0}; end
    if (left[63:48] == 16'd0) begin leading_zeros[4] = 1'b1; left = {left[47:0], 16'd0}; end
    if (left[63:56] == 8'd0) begin leading_zeros[3] = 1'b1; left = {left[55:0], 8'd0}; end
    if (left[63:60] == 4'd0) begin leading_zeros[2] = 1'b1; left = {left[59:0], 4'd0}; end
    if (left[63:62] == 2'd0) begin leading_zeros[1] = 1'b1; left = {left[61:0], 2'd0}; end
    if (!left[63]) leading_zeros[0] = 1'b1;
  endfunction
"""


def sv_operation(program, node, operand):
    first = program.nodes[node.args[0]]
    a = operand(node.args[0])
    if node.kind == "select":
        return f"{a}[0] ? {operand(node.args[1])} : {operand(node.args[2])}"
    if node.kind == "narrow":
        return a if node.width >= first.width else f"$signed({a}[{node.width - 1}:0])"
    if node.kind == "low":
        return f"$signed({{1'b0, {a}[{node.param - 1}:0]}})"
    if node.kind == "lzc":
        # Ones behind the word, so that a word of zeros gives its width.
        return f"$signed({{1'b0, leading_zeros({{{a}[{node.param - 1}:0], {{{64 - node.param}{{1'b1}}}}}})}})"
    if node.kind == "table":
        return f"{node.param}({a}[{(len(program.tables[node.param]) - 1).bit_length() - 1}:0])"
    b = operand(node.args[1])
    if node.kind == "shr":
        return f"{a} >>> {b}"
    if node.kind in ("shl", "justify"):
        return f"{a} <<< {b}"
    return f"{a} {SYMBOL[node.kind]} {b}"


def sv_module(program):
    """The data path as a module: stage k takes what stage k-1 left and works in cycles with enable_i[k]."""
    used, name, nodes = program.used(), names(program), program.nodes
    stages = program.stage + 1
    result, bits = program.outputs["result"]
    last = {result: stages}  # last stage that reads a node; the result is read behind the last one
    for index in used:
        for argument in nodes[index].args:
            last[argument] = max(last.get(argument, 0), nodes[index].stage)

    def declare(index, text):
        return f"logic signed [{nodes[index].width - 1}:0] {text};"

    module = f"transcendental_{program.name}"
    out = [f"module {module} (", "  input  logic clk_i,",
           f"  input  logic [{stages - 1}:0] enable_i,  // [k]: stage k has an operation; the inputs are those of stage 0"]
    out += [f"  input  logic [{width - 1}:0] {port}_i," for port, width in program.inputs.items()]
    out += [f"  output logic [{bits - 1}:0] result_o  // a register, set by the last stage", ");"]
    for table in sorted(program.tables):
        out += sv_table(table, program.tables[table])
    out.append(SV_LEADING_ZEROS)
    for stage in range(stages):
        held = [i for i in used if nodes[i].kind != "const" and nodes[i].stage <= stage < last[i] and i != result]
        here = [i for i in used if nodes[i].kind != "const" and nodes[i].stage == stage]

        def operand(index, stage=stage):
            node = nodes[index]
            if node.kind == "const":
                return sv_constant(node.param)
            return name[index] if node.stage == stage else f"{name[index]}_q{stage}"

        out += [f"  {declare(i, f'{name[i]}_q{stage + 1}')}" for i in held]
        out += ["", "  always_ff @(posedge clk_i) begin", f"    if (enable_i[{stage}]) begin : stage_{stage}"]
        out += [f"      {declare(i, name[i])}" for i in here]
        for index in here:
            node = nodes[index]
            value = f"$signed({{1'b0, {node.param}_i}})" if node.kind == "input" else sv_operation(program, node, operand)
            out.append(f"      {name[index]} = {value};")
        out += [f"      {name[i]}_q{stage + 1} <= {operand(i)};" for i in held]
        if stage == stages - 1:
            out.append(f"      result_o <= {operand(result)}[{bits - 1}:0];")
        out += ["    end", "  end", ""]
    return out + ["endmodule", ""]


def sv(form):
    """Text of transcendental_<format>.sv."""
    program = transcendental.build(form)
    out = ["// Generated from hw/arith by hw/generate; do not edit.",
           f"// Transcendental functions of {form.name}, pipelined in {program.stage + 1} stages. op_i: "
           + ", ".join(f"{f} {transcendental.FUNCTIONS[f]}" for f in form.functions) + ".",
           "// Within a stage values are variables of its block, written before they are read; registers end in _q<stage>.",
           "// Its hundreds of inner signals stay out of waveforms; ports show as signals of xtile_transcendental.",
           "/* verilator tracing_off */"]
    out += [f"/* verilator lint_off {w} */" for w in ("WIDTH", "BLKSEQ", "UNUSEDSIGNAL")]
    out += sv_module(program)
    out += [f"/* verilator lint_on {w} */" for w in ("WIDTH", "BLKSEQ", "UNUSEDSIGNAL")] + ["/* verilator tracing_on */"]
    return "\n".join(out) + "\n"
