"""tessera/xtile.h: every Xtile instruction for assembly (macros), for C as values (intrinsics) and for C as loops (texts).

All of it is made from the instruction table: encodings, operand files and element types. Only the shape of memory
accesses, which C knows by pointers, is written here. An instruction that no rule covers stops the build.
"""

import re
import textwrap

from model import REGISTER_LSB, need

HEAD = "/* Generated from hw/ by hw/generate; do not edit. */\n"
# C type of an element type and count of registers; every one is a struct of floats r0.. that holds register bits.
TYPES = {"f16x1": 1, "f16x2": 1, "i32x1": 1, "u32x1": 1, "f16x4": 2, "f32x2": 2, "i32x2": 2, "u32x2": 2, "f32x4": 4}
TOKENS = {("f16", 1): "f16x1", ("f16v2", 1): "f16x2", ("f16v4", 1): "f16x1", ("f16v4", 2): "f16x4", ("f32", 1): "float",
          ("f32v2", 1): "float", ("f32v2", 2): "f32x2", ("f32v4", 4): "f32x4", ("i32", 1): "i32x1", ("u32", 1): "u32x1",
          ("i32v2", 2): "i32x2"}
F = [f"ft{n}" for n in range(8)] + ["fs0", "fs1"] + [f"fa{n}" for n in range(8)] + [f"fs{n}" for n in range(2, 12)] + \
    [f"ft{n}" for n in range(8, 12)]
X = "zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6".split()
KIND = {("x", 1): "X", ("f", 1): "F", ("f", 2): "P", ("f", 4): "Q"}
# Numbers of the syntax that are more than one field: expressions of the fields.
SPLIT = {"phase3": {"phase1": "({})/4", "phase2": "({})&3"}, "rptcount": {"rpthi": "({})/32", "rptlo": "({})&31"}}


def operands(i):
    """[(kind, name)] in order of the syntax: kind is a register field's name, 'memory' (imm and rs1) or 'number'."""
    out = []
    for token in i.syntax.split(", ") if i.syntax else []:
        memory = re.fullmatch(r"imm_[is]\((rs1)\)", token)
        register = re.fullmatch(r"f?(rd|rs1|rs2|rs3)(\.[24])?", token)
        out.append(("memory", "rs1") if memory else ("register", register[1]) if register else ("number", token))
    return out


def is_xtile(i):
    return i.name.startswith("x.")


def insn(i, register, number, memory):
    """The .insn directive of `i`; the callbacks give the text of a register field, of a number and of an address."""
    bits = lambda lsb, width: (i.match >> lsb) & ((1 << width) - 1)
    numbers = {}
    for kind, name in operands(i):
        if kind == "number":
            numbers |= {f: e.format(number(name)) for f, e in SPLIT.get(name, {name: "{}"}).items()}

    def at(lsb, width):
        """A funct field: its literal bits and the numbers that stand in it."""
        inside = [f"({numbers[f]})*{1 << (l - lsb)}" for f, (l, w) in i.fields.items() if f in numbers and lsb <= l < lsb + width]
        return "+".join(([str(bits(lsb, width))] if bits(lsb, width) or not inside else []) + inside)

    def reg(field):
        if field in i.registers:
            return register(field)
        lsb = REGISTER_LSB[field]
        held = [numbers[f] for f, (l, _) in i.fields.items() if f in numbers and l == lsb]
        return "x" + (held[0] if held else str(bits(lsb, 5)))

    opcode = f"0x{i.match & 0x7F:x}"
    if "rpthi" in i.fields:
        terms = "".join(f"+(({numbers[f]})<<{i.fields[f][0]})" for f in numbers)
        return f".insn 0x{i.match:x}{terms}"
    if any(k == "memory" for k, _ in operands(i)):
        form, data = ("i", "rd") if "imm_i" in i.fields else ("s", "rs2")
        return f".insn {form} {opcode}, {at(12, 3)}, {register(data)}, {memory()}"
    if "rptn" in i.fields:
        return f".insn i {opcode}, {at(12, 3)}, {reg('rd')}, {reg('rs1')}, {numbers['rptn']}"
    if "rs3" in i.fields:
        return f".insn r4 {opcode}, {at(12, 3)}, {at(25, 2)}, {reg('rd')}, {reg('rs1')}, {reg('rs2')}, {reg('rs3')}"
    return f".insn r {opcode}, {at(12, 3)}, {at(25, 7)}, {reg('rd')}, {reg('rs1')}, {reg('rs2')}"


# ---- assembly ----


def assembly(i):
    names = ["address" if kind == "memory" else name for kind, name in operands(i)]
    text = insn(i, lambda f: f"\\{f}", lambda n: f"\\{n}", lambda: "\\address")
    return f"  .macro {i.identifier} {', '.join(names)}\n  {text}\n  .endm"


# ---- texts of blocks ----


def block_text(i):
    """The macro that gives an instruction's assembly as a string; None if C has no use for it (jumps, CSR, system)."""
    if i.name == "jalr" or not i.registers and not is_xtile(i) or i.klass == "SOLO" and is_xtile(i):
        return None  # control of the tile has intrinsics
    names, parts = [], []
    for kind, name in operands(i):
        if kind == "memory":
            names += ["imm", "rs1"]
            parts.append('" X_S(imm) "(" X_X_##rs1 ")')
        elif kind == "register":
            r = i.registers[name]
            names.append(name)
            parts.append(f'" X_{KIND[r.file, r.count]}_##{name} "')
        elif name == "rm":
            continue
        elif is_xtile(i) or name in ("imm_i", "imm_u", "shamt"):
            names.append(name)
            parts.append(f'" X_S({name}) "')
        else:
            return None
    if is_xtile(i):
        register = lambda f: f'" X_{KIND[i.registers[f].file, i.registers[f].count]}_##{f} "'
        text = insn(i, register, lambda n: f'" X_S({n}) "', lambda: '" X_S(imm) "(" X_X_##rs1 ")')
    else:
        text = f"{i.name} {', '.join(parts)}"
    return f'#define {text_name(i)}({", ".join(names)}) "{text}\\n\\t"'


def text_name(i):
    return ("" if is_xtile(i) else "X_") + i.identifier.upper()


# ---- values ----


def types_of(i):
    """{field: C type} of an instruction that touches f registers only."""
    order = [name for kind, name in operands(i) if kind == "register"]
    if i.types:
        need(len(i.types) == len(order), i.where, "types must name each register operand")
        for name, text in zip(order, i.types):
            need(text in TYPES or text == "float", i.where, f"unknown C type '{text}'")
        return dict(zip(order, i.types))
    tokens = [t for t in i.name.split(".") if re.fullmatch(r"[fiu]\d+(v\d)?", t)]
    need(tokens, i.where, "no element type in the name: give types")
    result = {}
    for field in order:
        key = (tokens[0] if field == "rd" else tokens[-1], i.registers[field].count)
        need(key in TOKENS, i.where, f"no C type for {key}: give types")
        result[field] = TOKENS[key]
    return result


def pins(i):
    """{field: first register number} of pairs and quads: rd shares registers with what it most likely replaces."""
    first = {"rd": 10, "rs1": 10, "rs2": 12, "rs3": 14}
    if "rs3" in i.registers:
        first = {"rd": 10, "rs3": 10, "rs1": 12, "rs2": 14}
    return {f: 12 if r.count == 4 else first[f] for f, r in i.registers.items() if r.count > 1}


def asm_statement(text, outputs, inputs, volatile, clobber, indent="  "):
    lists = [f"{', '.join(outputs)}", f"{', '.join(inputs)}", '"memory"' if clobber else ""]
    while lists and not lists[-1]:
        lists.pop()
    return f"{indent}__asm__{' volatile' if volatile else ''}(\"{text}\"" + "".join(f" : {l}" for l in lists) + ");"


def pinned(field, k, start, value=""):
    return f'register float {field}{k} __asm__("{F[start + k]}"){value};'


def value_function(i):
    """AUX: an inline function over values; a macro if it has a number (phase)."""
    types, where = types_of(i), pins(i)
    sources = [n for kind, n in operands(i) if kind == "register" and n != "rd"]
    numbers = [n for kind, n in operands(i) if kind == "number"]
    volatile = "PRNG" in i.semantics or i.name.startswith("x.amp.")  # these have a state
    body, outputs, inputs = [], [], []
    member = lambda t: "" if t == "float" else ".r0"
    for field in sources:
        if field in where:
            body += [pinned(field + "_", k, where[field], f" = {field}.r{k}") for k in range(i.registers[field].count)]
            inputs += [(f"[{field}] " if k == 0 else "") + f'"f"({field}_{k})' for k in range(i.registers[field].count)]
        else:
            inputs.append(f'[{field}] "f"({field}{member(types[field])})')
    if "rd" in where:
        body += [pinned("rd_", k, where["rd"]) for k in range(i.registers["rd"].count)]
        outputs += [("[rd] " if k == 0 else "") + f'"=f"(rd_{k})' for k in range(i.registers["rd"].count)]
        result = f"({types['rd']}){{{', '.join(f'rd_{k}' for k in range(i.registers['rd'].count))}}}"
    else:
        body.append("float rd_;")
        outputs.append('[rd] "=f"(rd_)')
        result = "rd_" if types["rd"] == "float" else f"({types['rd']}){{rd_}}"
    inputs += [f'[{n}] "i"({n})' for n in numbers]
    text = insn(i, lambda f: f"%[{f}]", lambda n: f"%[{n}]", None)
    statement = asm_statement(text, outputs, inputs, volatile, False)
    comment = f"/* {i.semantics} */\n"
    if not numbers:
        head = f"X_INLINE {types['rd']} {i.identifier}({', '.join(f'{types[f]} {f}' for f in sources) or 'void'}) {{"
        return comment + "\n".join([head] + ["  " + b for b in body] + [statement, f"  return {result};", "}"])
    # Arguments are typed by a local before they are used; the number must be a constant.
    local = [f"const {types[f]} {f}_value = ({f}_);" for f in sources]
    fix = lambda b: re.sub(r"= (rs\d)\.", r"= \1_value.", b)
    statement = re.sub(r'"f"\((rs\d)(\.r0)?\)', r'"f"(\1_value\2)', statement)
    rename = lambda text: re.sub(r"\(phase(\d)\)", r"(phase\1_)", text)
    lines = ["__extension__({"] + ["  " + l for l in local + [fix(b) for b in body]] + [rename(statement), f"  {result};", "})"]
    parameters = ", ".join([f"{f}_" for f in sources] + [f"{n}_" for n in numbers])
    return comment + macro(f"{i.identifier}({parameters})", lines)


def macro(head, lines):
    return f"#define {head} \\\n" + " \\\n".join("  " + l for l in lines)


def integer_function(i):
    """Bit operations and x.amp.ldw: x registers to an x register."""
    sources = [n for kind, n in operands(i) if kind == "register" and n != "rd"]
    text = insn(i, lambda f: f"%[{f}]", None, None)
    memory = i.klass == "SOLO"
    statement = asm_statement(text, ['[rd] "=r"(rd)'], [f'[{f}] "r"({f})' for f in sources], memory, memory)
    return (f"/* {i.semantics} */\nX_INLINE tessera_u32 {i.identifier}({', '.join(f'tessera_u32 {f}' for f in sources)}) {{\n"
            f"  tessera_u32 rd;\n{statement}\n  return rd;\n}}")


def control(i):
    """Control of the tile and of the random streams: no f registers, nothing returned but x.sync's vote."""
    parameters, inputs = [], []
    for kind, name in operands(i):
        if name == "rd":
            continue
        parameters.append(name)
        inputs.append(f'[{name}_] "rJ"((tessera_u32)({name}))' if kind == "register" else f'[{name}_] "i"({name})')
    # A constant 0 is register zero.
    text = insn(i, lambda f: "%[rd_]" if f == "rd" else f"%z[{f}_]", lambda n: f"%[{n}_]", None)
    head = f"/* {i.semantics} */\n"
    if "rd" in i.registers:
        return head + macro(f"{i.identifier}({', '.join(parameters)})",
                            ["__extension__({", "  tessera_u32 result_;", asm_statement(text, ['[rd_] "=r"(result_)'], inputs, True, True), "  result_;", "})"])
    # Streams touch memory only when they are used.
    statement = asm_statement(text, [], inputs, True, i.klass == "SOLO", "").rstrip(";")
    if i.name == "x.exit":
        inline = re.sub(r"\(\(tessera_u32\)\((\w+)\)\)", r"(\1)", statement)
        return head + f"__attribute__((noreturn)) X_INLINE void x_exit(tessera_u32 rs1) {{\n  {inline};\n  __builtin_unreachable();\n}}"
    return head + macro(f"{i.identifier}({', '.join(parameters)})", [statement])


def memory_access(i):
    """Post-increment and stream accesses: typed by the pointer or by the variables; any pair (quad) type will do."""
    f = [n for n in ("rd", "rs1", "rs2") if n in i.registers and i.registers[n].file == "f"]
    numbers = [n for kind, n in operands(i) if kind == "number"]
    loads = [n for n in f if i.registers[n].write]
    stores = [n for n in f if i.registers[n].read]
    where = {"rd": 10, "rs1": 12, "rs2": 14}
    count = max(i.registers[n].count for n in f)
    where = {n: 12 if count == 4 else where[n] for n in f}
    lines, outputs, inputs = ["__extension__({"], [], []
    pointer = "rs1" in i.registers and i.registers["rs1"].file == "x"
    parameters = []
    if pointer:
        lines.append(f"  _Static_assert(sizeof(*(pointer)) == {4 * count}, \"pointer to {4 * count} bytes\");")
        # A copy, so that the pointer may be const or of any pair type.
        lines.append("  tessera_u32 address_ = (tessera_u32)(pointer);")
        outputs.append('[address_] "+r"(address_)')
    for n in stores:
        name = "value" if pointer else f"{n}"
        parameters.append(name)
        lines.append(f"  const __typeof__({'*(pointer)' if pointer else n}) {n}_value = ({name});")
        lines += ["  " + pinned(n + "_", k, where[n], f" = {n}_value.r{k}") for k in range(count)]
        inputs += [(f"[{n}_f] " if k == 0 else "") + f'"f"({n}_{k})' for k in range(count)]
    for n in loads:
        lines += ["  " + pinned(n + "_", k, where[n]) for k in range(count)]
        outputs += [(f"[{n}_f] " if k == 0 else "") + f'"=f"({n}_{k})' for k in range(count)]
    members = lambda n: ", ".join(f"{n}_{k}" for k in range(count))
    if pointer:
        parameters.append("pointer")
        parameters.append("bytes")
        by_register = not any(kind == "memory" for kind, _ in operands(i))
        inputs.append('[bytes_] "r"((tessera_u32)(bytes))' if by_register else '[bytes_] "i"(bytes)')
        text = insn(i, lambda r: {"rs1": "%[address_]", "rs2": "%[bytes_]" if by_register else "%[rs2_f]"}.get(r, f"%[{r}_f]"), None,
                    lambda: "%[bytes_](%[address_])")
        lines.append(asm_statement(text, outputs, inputs, True, True))
        lines.append("  (pointer) = (__typeof__(pointer))address_;")
        lines += [f"  (__typeof__(*(pointer))){{{members(n)}}};" for n in loads]
    else:
        parameters = [n for kind, n in operands(i) if kind == "register"] + numbers
        inputs += [f'[{n}_] "i"({n})' for n in numbers]
        text = insn(i, lambda r: f"%[{r}_f]", lambda n: f"%[{n}_]", None)
        lines.append(asm_statement(text, outputs, inputs, True, True))
        lines += [f"  ({n}) = (__typeof__({n})){{{members(n)}}};" for n in loads]
    lines.append("})")
    return f"/* {i.semantics} */\n" + macro(f"{i.identifier}({', '.join(parameters)})", lines)


def kind_of(i):
    if i.name in ("x.rpt", "x.rpti"):
        return "loop"
    files = {r.file for r in i.registers.values()}
    if i.klass == "AUX":
        return "value"
    if "f" in files:
        return "memory"
    if "rd" in i.registers and not any(k == "number" for k, _ in operands(i)):
        return "integer"
    return "control"


RENDER = {"value": value_function, "memory": memory_access, "integer": integer_function, "control": control}


def registers_section():
    out = ["/* Registers by kind: f0..f31, even pairs p0..p30, quads q0..q28; x registers that a call may change; operands. */"]
    out += [f'#define X_F_f{n} "f{n}"' for n in range(32)]
    out += [f'#define X_P_p{n} "f{n}"' for n in range(0, 32, 2)]
    out += [f'#define X_Q_q{n} "f{n}"' for n in range(0, 32, 4)]
    temporaries = ["zero"] + [n for n in X if n[0] in "ta" and n != "tp"]
    out += [f'#define X_X_{n} "{n}"' for n in temporaries]
    for k in range(8):
        out += [f'#define X_{kind}_{name}{k} "%[{name}{k}]"' for name in ("in", "io", "out") for kind in "XF"]
    out.append("/* What a block changes without saying so as an operand: X_USES(p0, q4, f8, t0). */")
    out += [f'#define X_USE_f{n} "f{n}"' for n in range(32)]
    out += [f'#define X_USE_p{n} "f{n}", "f{n + 1}"' for n in range(0, 32, 2)]
    out += [f'#define X_USE_q{n} "f{n}", "f{n + 1}", "f{n + 2}", "f{n + 3}"' for n in range(0, 32, 4)]
    out += [f'#define X_USE_{n} "{n}"' for n in temporaries[1:]]
    return out


def counted_section(limit=64, uses=24):
    """X_REPEAT counts and joins its doublewords."""
    out = ["#define X_JOIN1(a) a"]
    out += [f"#define X_JOIN{n}(a, ...) a X_JOIN{n - 1}(__VA_ARGS__)" for n in range(2, limit + 1)]
    arguments = ", ".join(f"a{n}" for n in range(1, limit + 1))
    out.append(f"#define X_PICK_COUNT({arguments}, n, ...) n")
    out.append(f"#define X_COUNT(...) X_PICK_COUNT(__VA_ARGS__, {', '.join(str(n) for n in range(limit, 0, -1))}, )")
    out += ["#define X_PASTE_(a, b) a##b", "#define X_PASTE(a, b) X_PASTE_(a, b)",
            "#define X_JOIN(...) X_PASTE(X_JOIN, X_COUNT(__VA_ARGS__))(__VA_ARGS__)", "#define X_USES1(a) X_USE_##a"]
    out += [f"#define X_USES{n}(a, ...) X_USE_##a, X_USES{n - 1}(__VA_ARGS__)" for n in range(2, uses + 1)]
    out.append("#define X_USES(...) (X_PASTE(X_USES, X_COUNT(__VA_ARGS__))(__VA_ARGS__),)")
    return ["\n".join(line if len(line) < 118 else " \\\n    ".join(textwrap.wrap(line, 114)) for line in out)]


BLOCK = r'''/* Blocks: a sequence of instructions with registers chosen by name, for streams and hardware loops.
 *
 *   x_block((X_IO(io0, sum)), (X_INF(in0, scale), X_INX(in1, rounds)), X_USES(p0, p2, p4, p6),
 *           X_REPEAT(in1, X_FNOP,
 *                    X_PAIR(X_LD2ST(p0, p2, p12, X_STEP_8, X_STEP_8, X_STEP_8), X_SADD_F32V2(p14, in0, p4, p6)),
 *                    X_PAIR(X_LD2ST(p4, p6, p14, X_STEP_8, X_STEP_8, X_STEP_8), X_SADD_F32V2(p12, in0, p0, p2))))
 *
 * The block starts at an 8-byte-aligned address, reached by a nop (compile with -mno-relax: a linker that shortens code
 * would move it). X_PAIR(main, aux) is one doubleword, X_REPEAT(rounds, aux, doublewords...) a doubleword with x.rpt and
 * its body of 1 to 64 doublewords. Numbers in texts are literals. Outputs and inputs are lists in parentheses, X_NONE if
 * there is none; their names in0..in7, io0..io7, out0..out7 stand for registers that the compiler chooses, never one of
 * X_USES. A register of the wrong kind (p1, or f0 for a pair) does not compile. */
#define X_S_(x) #x
#define X_S(x) X_S_(x)
#define X_UNPACK(...) __VA_ARGS__
#define X_NONE ()
#define X_IOX(name, variable) [name] "+&r"(variable)
#define X_IOF(name, variable) [name] "+&f"(variable)
#define X_OUTX(name, variable) [name] "=&r"(variable)
#define X_OUTF(name, variable) [name] "=&f"(variable)
#define X_INX(name, value) [name] "r"((tessera_u32)(value))
#define X_INF(name, value) [name] "f"(value)
#define x_block(outputs, inputs, uses, text)                                                               \
  __asm__ volatile(".option push\n\t.option norvc\n\t.option norelax\n\t.balignl 8, 0x13\n\t" text ".option pop" \
                   : X_UNPACK outputs                                                                      \
                   : X_UNPACK inputs                                                                       \
                   : X_UNPACK uses "memory")
#define X_PAIR(main, aux) main aux
#define X_NOP "nop\n\t"                 /* MAIN */
#define X_FNOP "fsgnj.s f0, f0, f0\n\t" /* AUX */
#define X_REPEAT(rounds, aux, ...) X_RPT(rounds, X_COUNT(__VA_ARGS__)) aux X_JOIN(__VA_ARGS__)
#define X_REPEAT_CONSTANT(rounds, aux, ...) X_RPTI(rounds, X_COUNT(__VA_ARGS__)) aux X_JOIN(__VA_ARGS__)
/* A loop alone: x_rpt(rounds, outputs, inputs, uses, doublewords...); `rounds` is a value and takes in7. */
#define x_rpt(rounds, outputs, inputs, uses, ...)                                                          \
  __asm__ volatile(".option push\n\t.option norvc\n\t.option norelax\n\t.balignl 8, 0x13\n\t" X_REPEAT(in7, X_FNOP, __VA_ARGS__) \
                   ".option pop"                                                                           \
                   : X_UNPACK outputs                                                                      \
                   : X_INX(in7, rounds) X_COMMA inputs                                                     \
                   : X_UNPACK uses "memory")
/* The same with a constant expression, 0 to 1023. */
#define x_rpti(rounds, outputs, inputs, uses, ...)                                                          \
  __asm__ volatile(".option push\n\t.option norvc\n\t.option norelax\n\t.balignl 8, 0x13\n\t"               \
                   X_RPTI(%[in7], X_COUNT(__VA_ARGS__)) X_FNOP X_JOIN(__VA_ARGS__) ".option pop"            \
                   : X_UNPACK outputs                                                                      \
                   : [in7] "i"(rounds) X_COMMA inputs                                                      \
                   : X_UNPACK uses "memory")
#define X_COMMA(...) __VA_OPT__(, ) __VA_ARGS__
'''

VALUES = '''/* Values of f registers. r0 is the register of the lowest number; f16 lane 0 is its low half. */
{types}
X_INLINE float x_from_bits(tessera_u32 bits) {{
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}}
X_INLINE tessera_u32 x_bits(float value) {{
  tessera_u32 bits;
  __builtin_memcpy(&bits, &value, 4);
  return bits;
}}
/* The bits of one register as another type of the same size, and of a pair. */
#define x_as(type, value) __extension__({{ const __typeof__(value) x_value_ = (value); (type){{x_value_.r0}}; }})
#define x_as_pair(type, value) \\
  __extension__({{ const __typeof__(value) x_value_ = (value); (type){{x_value_.r0, x_value_.r1}}; }})
'''

STEPS = '''/* Steps of stream pointers and the stride word of x.sset: A and B in units of 8 bytes. */
#define X_STEP_8 0
#define X_STEP_A 1
#define X_STEP_B 2
#define X_STEP_0 3
#define X_STRIDES(a, b) ((((a)&0xffff) | ((b)&0xffff) << 16))
'''

CSR = '''/* CSR access; `number` is a constant, e.g. csr_read(TESSERA_CSR_XTILE). */
#define csr_read(number)                                                        \\
  __extension__({                                                               \\
    tessera_u32 csr_value;                                                      \\
    __asm__ volatile("csrr %0, %1" : "=r"(csr_value) : "i"(number) : "memory"); \\
    csr_value;                                                                  \\
  })
#define csr_write(number, value) \\
  __asm__ volatile("csrw %0, %1" : : "i"(number), "r"((tessera_u32)(value)) : "memory")
'''


def header(model):
    xtile = [i for i in model.instructions if is_xtile(i)]
    without_f = [i for i in xtile if kind_of(i) in ("integer", "control")]
    with_f = [i for i in xtile if kind_of(i) in ("value", "memory")]
    out = [HEAD, "/* Every Xtile instruction: macros of its name for assembly (x_add_f16v2 fa0, fa1, fa2), typed intrinsics\n"
           " * for C values, and texts for blocks with hardware loops. */",
           "#ifndef TESSERA_XTILE_H\n#define TESSERA_XTILE_H\n\n#include \"tessera/machine.h\"\n", STEPS, "#ifdef __ASSEMBLER__\n"]
    out += [assembly(i) for i in xtile]
    out.append("\n#else /* C */\n\ntypedef unsigned int tessera_u32;\n#define X_INLINE static inline __attribute__((always_inline, unused))\n")
    members = lambda n: ", ".join(f"r{k}" for k in range(n))
    out.append(VALUES.format(types="\n".join(f"typedef struct {{\n  float {members(n)};\n}}{' __attribute__((aligned(8)))' if n > 1 else ''} {t};"
                                             for t, n in TYPES.items())))
    out.append("#ifdef __riscv\n")
    out += [RENDER[kind_of(i)](i) + "\n" for i in without_f]
    out.append(CSR)
    out.append("#ifdef __riscv_flen\n")
    out += [RENDER[kind_of(i)](i) + "\n" for i in with_f]
    out.append(BLOCK)
    out += registers_section() + counted_section()
    out.append("/* Texts of instructions for blocks. */")
    out += [t for t in (block_text(i) for i in model.instructions) if t]
    out.append("\n#endif /* F registers */\n#endif /* __riscv */\n#endif /* C */\n#endif /* TESSERA_XTILE_H */\n")
    return "\n".join(out)
