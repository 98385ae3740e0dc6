"""What the test of tessera/xtile.h compiles: every macro, intrinsic and block text, and the disassembly each must give.

The expected text is made from the table's syntax; the test takes the words that the assembler made of the header and
disassembles them with hw/disassembler.
"""

from c_xtile import F, HEAD, KIND, X, block_text, is_xtile, kind_of, operands, pins, text_name, types_of

NUMBERS = {  # values of each variant, and how the disassembler writes them
    "zone": [0, 2, 4], "worker": [1, 6, 7], "stream": [0, 1, 2], "step0": [0, 1, 3], "step1": [1, 2, 0], "step2": [2, 3, 1],
    "phase2": [0, 3, 2], "phase3": [3, 6, 5], "rptn": [1, 33, 64], "rptcount": [0, 33, 1023], "imm": [0, 2047, -2048]}
WRITTEN = {"zone": ["local", "internal", "group1", "group2", "host"], "stream": ["s0", "s1", "s2"], "worker": {7: "all"},
           "step0": ["+8", "a", "b", "0"], "step1": ["+8", "a", "b", "0"], "step2": ["+8", "a", "b", "0"]}


def written(name, value):
    names = WRITTEN.get(name, {})
    return str(value if isinstance(names, dict) and value not in names else names[value])


def chosen(i, field, variant):
    """A register number that suits the operand: different for each field and variant."""
    n = ({"rd": 3, "rs1": 10, "rs2": 17, "rs3": 24}[field] * (1, 3, 2)[variant] + 7 * variant) % 32
    n -= n % i.registers[field].count
    return n if i.registers[field].file == "f" or n else 5


def expect(i, register, number, memory):
    """The disassembly; callbacks give the text of each operand, `*` where the compiler chooses the register."""
    parts = [register(name) if kind == "register" else memory if kind == "memory" else number(name) for kind, name in operands(i)]
    return f"{i.name} {','.join(parts)}".rstrip()


def macros(model):
    lines, expected = [HEAD, '#include "tessera/xtile.h"'], []
    for i in (i for i in model.instructions if is_xtile(i)):
        for v in range(3):
            name = lambda f: (F if i.registers[f].file == "f" else X)[chosen(i, f, v)]
            memory = f"{NUMBERS['imm'][v]}({X[chosen(i, 'rs1', v)]})" if "(" in i.syntax else ""
            given = [name(n) if kind == "register" else memory if kind == "memory" else str(NUMBERS[n][v]) for kind, n in operands(i)]
            lines.append(f"  {i.identifier} {', '.join(given)}")
            expected.append(expect(i, name, lambda n: written(n, NUMBERS[n][v]), memory))
    return "\n".join(lines) + "\n", expected


def value_case(i, variant):
    types, where = types_of(i), pins(i)
    sources = [n for kind, n in operands(i) if kind == "register" and n != "rd"]
    numbers = [n for kind, n in operands(i) if kind == "number"]
    call = f"{i.identifier}({', '.join(sources + [str(NUMBERS[n][variant]) for n in numbers])})"
    # Without pinned registers arguments stay where the calling convention has them.
    free = {"rd": "fa0"} | {f: f"fa{k}" for k, f in enumerate(sources)}
    register = lambda f: F[where[f]] if f in where else free[f] if not where else "*"
    return (f"{types['rd']} case{{}}({', '.join(f'{types[f]} {f}' for f in sources) or 'void'}) {{{{ return {call}; }}}}",
            expect(i, register, lambda n: written(n, NUMBERS[n][variant]), ""))


def memory_case(i, variant):
    files = {n: r for n, r in i.registers.items()}
    numbers = [n for kind, n in operands(i) if kind == "number"]
    count = max(r.count for r in files.values())
    if "rs1" in files and files["rs1"].file == "x":
        data = "f32x4" if count == 4 else "f16x4"
        load = files["rd"].write if "rd" in files and files["rd"].file == "f" else False
        by_register = "(" not in i.syntax
        step = "bytes" if by_register else str(NUMBERS["imm"][variant])
        call = f"v = {i.identifier}(*p, {step})" if load else f"{i.identifier}(v, *p, {step})"
        data_register = F[12 if count == 4 else 14 if "rs2" in files and files["rs2"].file == "f" else 10]
        pattern = expect(i, lambda f: data_register if files[f].file == "f" else "*", None,
                         f"{NUMBERS['imm'][variant]}(*)")
        return f"{data} case{{}}({data} **p, unsigned bytes, {data} v) {{{{ (void)bytes; {call}; return v; }}}}", pattern
    where = {"rd": 10, "rs1": 12, "rs2": 14}
    arguments = ", ".join([{"rd": "p[0]", "rs1": "q[0]", "rs2": "q[1]"}[n] for kind, n in operands(i) if kind == "register"] +
                          [str(NUMBERS[n][variant]) for n in numbers])
    return (f"void case{{}}(f32x2 *p, f16x4 *q) {{{{ (void)p; (void)q; {i.identifier}({arguments}); }}}}",
            expect(i, lambda f: F[where[f]], lambda n: written(n, NUMBERS[n][variant]), ""))


def other_case(i, variant):
    sources = [n for kind, n in operands(i) if kind == "register" and n != "rd"]
    arguments = ", ".join([n if kind == "register" else str(NUMBERS[n][variant]) for kind, n in operands(i) if n != "rd"])
    result = "rd" in i.registers
    return (f"{'unsigned' if result else 'void'} case{{}}({', '.join(f'unsigned {n}' for n in sources)}) "
            f"{{{{ {'return ' if result else ''}{i.identifier}({arguments}); }}}}",
            expect(i, lambda f: "a0" if f == "rd" else f"a{sources.index(f)}", lambda n: written(n, NUMBERS[n][variant]), ""))


def text_argument(i, kind, name, v):
    if kind == "memory":
        return f"{NUMBERS['imm'][v]}, a5"
    if kind == "number":
        return str(NUMBERS.get(name, [3, 5, 7])[v])
    r = i.registers[name]
    return {"F": "f", "P": "p", "Q": "q"}[KIND[r.file, r.count]] + str(chosen(i, name, v)) if r.file == "f" else \
        {"rd": "t0", "rs1": "t1", "rs2": "a7"}[name]


def block_cases(model):
    """One block with every text; only the Xtile instructions among them are compared."""
    lines, expected = [], []
    for i in (i for i in model.instructions if block_text(i)):
        for v in range(3):
            given = [text_argument(i, kind, n, v) for kind, n in operands(i) if n != "rm"]
            lines.append(f"    {text_name(i)}({', '.join(given)})")
            if is_xtile(i):
                register = lambda f: F[chosen(i, f, v)] if i.registers[f].file == "f" else {"rd": "t0", "rs1": "t1", "rs2": "a7"}[f]
                expected.append(expect(i, register, lambda n: written(n, NUMBERS[n][v]), f"{NUMBERS['imm'][v]}(a5)"))
    return lines, expected


LOOP = """void loops(unsigned n, float s);
void loops(unsigned n, float s) {
  x_rpt(n, X_NONE, (X_INF(in0, s)), X_USES(p4, p6, p14),
        X_PAIR(X_LD2(p4, p6, X_STEP_8, X_STEP_A), X_MUL_F32V2(p14, p12, p12)),
        X_PAIR(X_ADDI(t0, t0, 1), X_SADD_F32V2(p14, in0, p4, p6)));
  x_rpti(1000, X_NONE, X_NONE, X_USES(p4), X_PAIR(X_NOP, X_MV64(p4, p6)));
}
"""
LOOP_EXPECTED = ["x.rpt a0,2", "x.ld2 ft4,ft6,+8,a", "x.mul.f32v2 fa4,fa2,fa2", "x.sadd.f32v2 fa4,fa0,ft4,ft6",
                 "x.rpti 1000,1", "x.mv64 ft4,ft6"]


def intrinsics(model):
    lines, expected = [HEAD, '#include "tessera/xtile.h"'], []
    for i in (i for i in model.instructions if is_xtile(i)):
        kind = kind_of(i)
        if kind == "loop":
            continue
        numbers = any(k != "register" for k, _ in operands(i))
        for v in range(3 if numbers else 1):
            text, pattern = {"value": value_case, "memory": memory_case}.get(kind, other_case)(i, v)
            text = text.format(f"_{i.identifier}_{v}")
            lines += [text.split(" {")[0] + ";", text]
            expected.append(pattern)
    block, more = block_cases(model)
    lines += ["void block(void);", "void block(void) {", "  x_block(X_NONE, X_NONE, X_USES(t0),"] + block + ["  );", "}", LOOP]
    return "\n".join(lines) + "\n", expected + more + LOOP_EXPECTED


def files(model):
    s, s_expected = macros(model)
    c, c_expected = intrinsics(model)
    rows = lambda name, texts: [f"constexpr const char* {name}[] = {{"] + [f'    "{t}",' for t in texts] + ["};"]
    inc = [HEAD] + rows("kMacroTexts", s_expected) + rows("kIntrinsicTexts", c_expected)
    return {"xtile_macros.S": s, "xtile_intrinsics.c": c, "xtile_expected.inc": "\n".join(inc) + "\n"}
