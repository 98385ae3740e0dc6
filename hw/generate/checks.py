"""What the agreement test evaluates in each language: the same list of constants, written down with each one's names.

checks.py's output: constants.inc (C++ {"name", value} rows), constants.c (an array in a section of its own) and
constants_probe.sv (index -> value). The lists name constants; values come from the headers and the package alone.
"""

from cpp import camel


def entries(model):
    """(name, C++ expression, C expression or None, SystemVerilog expression or None)."""
    rows = []
    for c in model.csrs:
        if c.access != "zero":
            n = c.name.upper()
            rows.append((f"csr {c.name}", f"tessera::csr::{c.name}", f"TESSERA_CSR_{n}", f"tessera_pkg::CSR_{n}"))
    for t in model.traps:
        n = t["name"].upper()
        rows.append((f"trap {t['name']}", f"tessera::trap::{t['name']}", f"TESSERA_TRAP_{n}", f"tessera_pkg::TRAP_{n}"))
    for c in model.constants:
        n = c["name"].upper()
        rows.append((c["name"], f"tessera::k{camel(c['name'])}", f"TESSERA_{n}", f"tessera_pkg::{n}"))
    for p in model.packed:
        for f in p["fields"]:
            n = f"{p['name']}_{f['name']}".upper()
            # From pack() of one field set to all ones, C++ gives place and width.
            ones = f"[] {{ tessera::{camel(p['name'])} r; r.{f['name']} = {'-1' if f.get('signed') else '~0ull'}; return r.pack(); }}()"
            rows.append((f"{n} lsb", f"__builtin_ctzll({ones})", f"TESSERA_{n}_LSB", f"tessera_pkg::{n}_LSB"))
            rows.append((f"{n} width", f"__builtin_popcountll({ones})", f"TESSERA_{n}_WIDTH", f"tessera_pkg::{n}_WIDTH"))
    for s in model.structs:
        for f in s["fields"]:
            n = f"{s['name']}_{f['name']}".upper()
            rows.append((n, f"tessera::{s['name']}::{f['name']}", f"TESSERA_{n}", f"tessera_pkg::{n}"))
            rows.append((f"{n} offset in C", f"tessera::{s['name']}::{f['name']}",
                         f"__builtin_offsetof(struct tessera_{s['name']}, {f['name']})", None))
        rows.append((f"{s['name']} size", f"tessera::{s['name']}::kBytes", f"sizeof(struct tessera_{s['name']})", None))
    for block in model.blocks:
        if "base" in block:
            rows.append((f"{block['name']} base", f"tessera::reg::{block['name']}::kBase", f"TESSERA_{block['name'].upper()}_BASE", None))
        for enum in block["enums"]:
            for v in enum["values"]:
                rows.append((f"{block['name']} {enum['name']} {v['name']}", f"tessera::reg::{block['name']}::{camel(enum['name'])}::{v['name']}",
                             f"TESSERA_{block['name']}_{enum['name']}_{v['name']}".upper(), None))
        for r in block["registers"]:
            name = f"{block['name']}_{r['name']}".upper()
            rows.append((name, f"tessera::reg::{block['name']}::k{camel(r['name'])}", f"TESSERA_{name}", None))
            if r["count"] > 1:
                for part in ("Count", "Stride"):
                    rows.append((f"{name} {part}", f"tessera::reg::{block['name']}::k{camel(r['name'])}{part}", f"TESSERA_{name}_{part.upper()}", None))
            for f in r["fields"]:
                field = f"tessera::reg::{block['name']}::k{camel(r['name'])}{camel(f['name'])}"
                for part in ("lsb", "width"):
                    rows.append((f"{name} {f['name']} {part}", f"{field}.{part}", f"TESSERA_{name}_{f['name'].upper()}_{part.upper()}", None))
    for i in model.instructions:
        rows.append((f"op {i.name}", f"static_cast<unsigned>(tessera::isa::Op::{i.identifier})", None, f"tessera_pkg::OP_{i.identifier.rstrip('_').upper()}"))
    for prefix, kind, names in (("CLASS", "Class", ["main_", "aux", "solo"]), ("ROLE", "Role", ["all", "supervisor", "worker"]),
                                ("IMM", "Imm", ["none", "i", "s", "b", "u", "j", "shamt", "csr"]), ("FILE", "File", ["none", "x", "f"])):
        rows += [(f"{kind} {n}", f"static_cast<unsigned>(tessera::isa::{kind}::{n})", None, f"tessera_pkg::{prefix}_{n.rstrip('_').upper()}") for n in names]
    for fp in sorted({i.fp for i in model.instructions}):
        rows.append((f"FpOp {fp}", f"static_cast<unsigned>(tessera::isa::FpOp::{fp})", None, f"tessera_pkg::FP_{fp.upper()}"))
    return rows


def constants_inc(model):
    return "".join(f'{{"{name}", static_cast<std::uint32_t>({cpp}), {str(c is not None).lower()}, {str(sv is not None).lower()}}},\n'
                   for name, cpp, c, sv in entries(model))


def constants_c(model):
    rows = "".join(f"    {c}, /* {name} */\n" for name, _, c, _ in entries(model) if c is not None)
    count = sum(1 for row in entries(model) if row[2] is not None)
    return ('#include "tessera/machine.h"\n#ifdef __riscv\n__attribute__((section(".tessera_values"), used))\n#endif\n'
            f"const unsigned int tessera_c_values[] = {{\n{rows}}};\nconst unsigned int tessera_c_value_count = {count};\n")


def constants_probe(model):
    expressions = [sv for _, _, _, sv in entries(model) if sv is not None]
    cases = "".join(f"      {n}: value_o = 32'({sv});\n" for n, sv in enumerate(expressions))
    return f"""// Everything of tessera_pkg that the agreement test looks at.
module tessera_pkg_probe (
    input  logic [31:0] index_i,
    input  logic [31:0] word0_i,
    input  logic [31:0] word1_i,
    input  logic        supervisor_i,
    output logic [31:0] value_o,
    output logic [8:0]  op_o,
    output tessera_pkg::decoded_t decoded_o,
    output logic        agree_o,
    output logic [31:0] immediate_o,
    output logic [31:0] f_reads_o,
    output logic [31:0] f_writes_o,
    output logic        pairs_o,
    output logic [1:0]  csr_access_o,
    output logic [31:0] csr_reset_o
);
  tessera_pkg::decoded_t decoded_d;
  always_comb begin
    op_o = tessera_pkg::decode(word0_i);
    decoded_d = tessera_pkg::decode_full(word0_i);
    decoded_o = decoded_d;
    // The functions of an operation say what the full decode says.
    agree_o = tessera_pkg::op_fp(op_o) == decoded_d.fp_op && tessera_pkg::op_cls(op_o) == decoded_d.cls &&
              tessera_pkg::op_role(op_o) == decoded_d.role && tessera_pkg::op_slots(op_o) == decoded_d.slots &&
              tessera_pkg::op_imm(op_o) == decoded_d.imm && tessera_pkg::op_rd_file(op_o) == decoded_d.rd_file &&
              tessera_pkg::op_rs1_file(op_o) == decoded_d.rs1_file &&
              tessera_pkg::op_rs2_file(op_o) == decoded_d.rs2_file &&
              tessera_pkg::op_rs3_file(op_o) == decoded_d.rs3_file;
    immediate_o = tessera_pkg::immediate(decoded_d.imm, word0_i);
    f_reads_o = tessera_pkg::f_reads(op_o, word0_i);
    f_writes_o = tessera_pkg::f_writes(op_o, word0_i);
    pairs_o = tessera_pkg::pairs(op_o, word0_i, tessera_pkg::decode(word1_i), word1_i);
    csr_access_o = tessera_pkg::csr_access(word0_i[11:0], supervisor_i);
    csr_reset_o = tessera_pkg::csr_reset(word0_i[11:0], supervisor_i);
    case (index_i)
{cases}      default: value_o = 32'd0;
    endcase
  end
endmodule
"""
