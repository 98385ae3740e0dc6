"""Pages of the manual: isa.md, csrs.md, registers.md."""

NOTE = "<!-- Generated from hw/ by `cmake --build build --target docs_machine`; do not edit. -->\n"
TITLES = {"rv32i": "RV32I", "rv32m": "RV32M", "system": "Zicsr, Zifencei, machine mode", "rv32f": "RV32F (workers)",
          "xtile_control": "Xtile control", "xtile_memory": "Xtile loops, streams, bit operations",
          "xtile_simd": "Xtile SIMD, conversions, random numbers", "xtile_amp": "Xtile three-operand and AMP"}


def cell(text):
    return str(text).replace("|", "\\|")


def isa(model):
    out = [NOTE, "# Instructions\n", "Class says what pairs: a MAIN and the AUX after it issue together. Slots: one slot is six cycles. Rules of both, "
           "and of waits, are in [timing.md](timing.md); what instructions share is in [tile.md](tile.md)."]
    if any(i.status == "reserved" for i in model.instructions):
        out.append("Reserved instructions have an encoding but are illegal in this version.")
    out.append("")
    for name, title in TITLES.items():
        out += [f"## {title}\n", "| instruction | encoding (31..0) | class | role | slots | meaning |", "|---|---|---|---|---|---|"]
        for i in model.instructions:
            if i.file == name:
                reserved = " (reserved)" if i.status == "reserved" else ""
                out.append(f"| `{(i.name + ' ' + i.syntax).strip()}`{reserved} | `{i.encoding}` | {i.klass} | {i.role} | {i.slots} | {cell(i.semantics)} |")
        out.append("")
    out += slots(model)
    out += ["## Traps\n", "| cause | when | mtval |", "|---|---|---|"]
    out += [f"| {t['cause']} {t['name']} | {cell(t['text'])} | {t['tval']} |" for t in model.traps]
    return "\n".join(out) + "\n"


def slots(model):
    """The instructions that take more than one slot, by number and class."""
    out = ["## Instructions of more than one slot\n", "All others take one. A pair takes the slots of its AUX.\n",
           "| slots | class | instructions |", "|---|---|---|"]
    groups = {}
    for i in model.instructions:
        if i.slots > 1:
            groups.setdefault((i.slots, i.klass), []).append(f"`{i.name}`")
    return out + [f"| {n} | {klass} | {', '.join(groups[n, klass])} |" for n, klass in sorted(groups)] + [""]


def csrs(model):
    out = [NOTE, "# Control and status registers\n", "Who: elsewhere an access is trap 2. `zero` reads 0 and ignores writes.\n",
           "| number | name | who | access | reset (supervisor / worker) | meaning |", "|---|---|---|---|---|---|"]
    for c in model.csrs:
        if c.index == 0:
            last = model.csrs[model.csrs.index(c) + c.count - 1]
            number = f"{c.number:03X}" + (f"..{last.number:03X}" if c.count > 1 else "")
            name = c.name + (f" .. {last.name}" if c.count > 1 else "")
            reset = f"{c.reset_supervisor:08X}" + (f" / {c.reset_worker:08X}" if c.reset_worker != c.reset_supervisor else "")
            reserved = " (reserved)" if c.status == "reserved" else ""
            out.append(f"| {number} | {name}{reserved} | {c.who} | {c.access} | {reset} | {cell(c.text)} |")
    return "\n".join(out) + "\n"


def registers(model):
    out = [NOTE, "# Registers, tables and constants\n"]
    for block in model.blocks:
        base = f", at 0x{block['base']:08X}" if "base" in block else ""
        out += [f"## {block['name']}: {block['text']}{base}\n", "| offset | name | access | reset | meaning |", "|---|---|---|---|---|"]
        for r in block["registers"]:
            window = f" + {r['stride']} i, i < {r['count']}" if r["count"] > 1 else ""
            out.append(f"| 0x{r['offset']:03X}{window} | {r['name']} | {r['access']} | 0x{r['reset']:0{r['width'] // 4}X} | {cell(r['text'])} |")
            for f in r["fields"]:
                top = f["lsb"] + f["width"] - 1
                span = f"{top}:{f['lsb']}" if f["width"] > 1 else f"{f['lsb']}"
                out.append(f"| | &nbsp;&nbsp;{f['name']} [{span}] | {f['access']} | | {cell(f['text'])} |")
        out.append("")
        for enum in block["enums"]:
            out += [f"### {block['name']}: {enum['name']}\n", enum["text"] + "\n", "| value | name | meaning |", "|---|---|---|"]
            out += [f"| {v['value']} | {v['name']} | {cell(v['text'])} |" for v in enum["values"]]
            out.append("")
    out.append("## Words of tables\n")
    for p in model.packed:
        out += [f"### {p['name']}\n", p["text"] + ".\n", "| bits | field | meaning |", "|---|---|---|"]
        for f in p["fields"]:
            out.append(f"| {f['lsb'] + f['width'] - 1}:{f['lsb']} | {f['name']}{' (signed)' if f.get('signed') else ''} | {cell(f['text'])} |")
        out.append("")
    out.append("## Memory layouts\n")
    for s in model.structs:
        out += [f"### {s['name']} ({s['size']} bytes)\n", s["text"] + ".\n", "| offset | bytes | field | meaning |", "|---|---|---|---|"]
        out += [f"| {f['offset']} | {f['bytes']} | {f['name']} | {cell(f['text'])} |" for f in s["fields"]]
        out.append("")
    out += ["## Constants\n", "| name | value | unit | meaning |", "|---|---|---|---|"]
    out += [f"| {c['name']} | {c['value'] if c['value'] <= 4096 else hex(c['value'])} | {c['unit']} | {cell(c['text'])} |" for c in model.constants]
    return "\n".join(out) + "\n"


def pages(model):
    return {"isa.md": isa(model), "csrs.md": csrs(model), "registers.md": registers(model)}
