"""C header for firmware and codelets: tessera/machine.h, constants; also read by assembly."""

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
        if "base" in block:
            out.append(f"#define TESSERA_{block['name'].upper()}_BASE 0x{block['base']:08X}")
        for enum in block["enums"]:
            out += ["#define " + f"TESSERA_{block['name']}_{enum['name']}_{v['name']}".upper() + f" {v['value']}" for v in enum["values"]]
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

