"""C headers for firmware and codelets: tessera/machine.h (constants; also read by assembly) and tessera/xtile.h."""

HEAD = "/* Generated from hw/ by hw/generate; do not edit. */\n"


def machine(model):
    out = [HEAD, "/* Constants of the machine for C and assembly. */", "#ifndef TESSERA_MACHINE_H", "#define TESSERA_MACHINE_H", ""]
    out.append("/* CSR numbers */")
    out += [f"#define TESSERA_CSR_{c.name.upper()} 0x{c.number:03X}" for c in model.csrs if c.access != "zero"]
    out.append("\n/* trap causes */")
    out += [f"#define TESSERA_TRAP_{t['name'].upper()} {t['cause']}" for t in model.traps]
    out.append("\n/* fixed constants */")
    out += [f"#define TESSERA_{c['name'].upper()} {c['value'] if c['value'] <= 4096 else hex(c['value'])}" for c in model.constants]
    out.append("\n/* fields of 64-bit words */")
    for p in model.packed:
        for f in p["fields"]:
            name = f"TESSERA_{p['name']}_{f['name']}".upper()
            out.append(f"#define {name}_LSB {f['lsb']}\n#define {name}_WIDTH {f['width']}")
    out.append("\n/* byte offsets of memory layouts */")
    for s in model.structs:
        out += [f"#define TESSERA_{s['name'].upper()}_{f['name'].upper()} {f['offset']}" for f in s["fields"]]
        out.append(f"#define TESSERA_{s['name'].upper()}_BYTES {s['size']}")
    out.append("\n/* register blocks: byte offsets */")
    for block in model.blocks:
        for r in block["registers"]:
            name = f"TESSERA_{block['name']}_{r['name']}".upper()
            out.append(f"#define {name} 0x{r['offset']:03X}")
            if r["count"] > 1:
                out.append(f"#define {name}_COUNT {r['count']}\n#define {name}_STRIDE {r['stride']}")
            for f in r["fields"]:
                out.append(f"#define {name}_{f['name'].upper()}_LSB {f['lsb']}\n#define {name}_{f['name'].upper()}_WIDTH {f['width']}")
    kinds = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"}
    out.append("\n#ifndef __ASSEMBLER__")
    for s in model.structs:
        out.append(f"\n/* {s['text']} */\nstruct tessera_{s['name']} {{")
        end = 0
        for f in s["fields"]:
            if f["offset"] > end:
                out.append(f"  unsigned char pad{end}[{f['offset'] - end}];")
            out.append(f"  {kinds[f['bytes']]} {f['name']}; /* {f['text']} */")
            end = f["offset"] + f["bytes"]
        if end < s["size"]:
            out.append(f"  unsigned char pad{end}[{s['size'] - end}];")
        out.append("};")
    out.append("\n#endif /* __ASSEMBLER__ */\n#endif /* TESSERA_MACHINE_H */\n")
    return "\n".join(out)


def funct(i, lsb, width):
    return (i.match >> lsb) & ((1 << width) - 1)


def xtile(model):
    """Intrinsics: typed inline functions over numeric .insn, so that an unmodified assembler serves."""
    by_name = {i.name: i for i in model.instructions}
    out = [HEAD, "/* Xtile instructions and CSR access for C. What is not implemented yet has no intrinsic. */",
           "#ifndef TESSERA_XTILE_H", "#define TESSERA_XTILE_H", "", '#include "tessera/machine.h"', ""]
    out.append("/* Assembly: the operands of .insn for each Xtile instruction, e.g. x.exit a0 is X_EXIT(a0). */\n#ifdef __ASSEMBLER__")
    r = lambda n: f"0x{n.match & 0x7F:X}, {funct(n, 12, 3)}, {funct(n, 25, 7)}"
    sync, run = by_name["x.sync"], by_name["x.run"]
    out.append(f".macro x_sync rd, rs1, zone\n  .insn r {r(sync)}, \\rd, \\rs1, x\\zone\n.endm")
    for name in ("x.exchange", "x.delay", "x.packet", "x.exit"):
        out.append(f".macro {name.replace('.', '_')} rs1\n  .insn r {r(by_name[name])}, x0, \\rs1, x0\n.endm")
    out.append(f".macro x_run worker, rs1, rs2, rs3\n  .insn r4 0x{run.match & 0x7F:X}, {funct(run, 12, 3)}, {funct(run, 25, 2)}, x\\worker, \\rs1, \\rs2, \\rs3\n.endm")
    out.append("#else /* C */\n")
    out.append("typedef unsigned int tessera_u32;\n")
    out.append("/* " + sync.semantics + " */\n#define x_sync(vote_and_code, zone)                                     \\\n  __extension__({                                                        \\\n"
               "    tessera_u32 x_sync_result;                                           \\\n"
               f"    __asm__ volatile(\".insn r {r(sync)}, %0, %1, x\" #zone            \\\n"
               "                     : \"=r\"(x_sync_result)                               \\\n"
               "                     : \"r\"((tessera_u32)(vote_and_code))                 \\\n"
               "                     : \"memory\");                                        \\\n"
               "    x_sync_result;                                                       \\\n  })\n")
    for name in ("x.exchange", "x.delay", "x.packet"):
        i = by_name[name]
        out.append(f"/* {i.semantics} */\nstatic inline void {name.replace('.', '_')}(tessera_u32 value) {{\n"
                   f"  __asm__ volatile(\".insn r {r(i)}, x0, %0, x0\" : : \"r\"(value) : \"memory\");\n}}\n")
    i = by_name["x.exit"]
    out.append(f"/* {i.semantics} */\n__attribute__((noreturn)) static inline void x_exit(tessera_u32 code) {{\n"
               f"  __asm__ volatile(\".insn r {r(i)}, x0, %0, x0\" : : \"r\"(code) : \"memory\");\n  __builtin_unreachable();\n}}\n")
    out.append(f"/* {run.semantics} */\n#define x_run(worker, pc, a0, a1)                                         \\\n"
               f"  __asm__ volatile(\".insn r4 0x{run.match & 0x7F:X}, {funct(run, 12, 3)}, {funct(run, 25, 2)}, x\" #worker \", %0, %1, %2\"         \\\n"
               "                   :                                                      \\\n"
               "                   : \"r\"(pc), \"r\"((tessera_u32)(a0)), \"r\"((tessera_u32)(a1))   \\\n"
               "                   : \"memory\")\n")
    out.append("""/* CSR access; `number` is a constant, e.g. csr_read(TESSERA_CSR_XTILE). */
#define csr_read(number)                                                   \\
  __extension__({                                                          \\
    tessera_u32 csr_value;                                                 \\
    __asm__ volatile("csrr %0, %1" : "=r"(csr_value) : "i"(number) : "memory"); \\
    csr_value;                                                             \\
  })
#define csr_write(number, value) \\
  __asm__ volatile("csrw %0, %1" : : "i"(number), "r"((tessera_u32)(value)) : "memory")

#endif /* C */
#endif /* TESSERA_XTILE_H */
""")
    return "\n".join(out)
