"""C++ headers: isa.h, machine.h, registers.h."""

from model import CLASSES, FP_OPS, IMM_KINDS, REGISTER_LSB, ROLES, access_masks, camel

HEAD = "// Generated from hw/ by hw/generate; do not edit.\n"


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def condition(i, word="w"):
    """C++ expression: `word` is a legal encoding of instruction i."""
    terms = [f"({word} & 0x{i.mask:08X}u) == 0x{i.match:08X}u"]
    for check in i.checks:
        if check[0] == "rm":
            terms.append(f"(({word} >> 12) & 7) != 5 && (({word} >> 12) & 7) != 6")
        elif check[0] == "range":
            field = f"(({word} >> {check[1]}) & 0x{(1 << check[2]) - 1:X}u)"
            terms.append((f"{field} >= {check[3]} && " if check[3] else "") + f"{field} <= {check[4]}")
        elif check[0] == "differ":
            terms.append(f"(({word} >> {check[1]}) & 31) != (({word} >> {check[2]}) & 31)")
        else:
            terms.append(f"(({word} >> {check[1]}) & {check[2] - 1}) == 0")
    return " && ".join(terms)


def groups(instructions):
    """Yields (opcode, [(funct3, instructions that may match)])."""
    for opcode in sorted({i.match & 0x7F for i in instructions}):
        of_opcode = [i for i in instructions if i.match & 0x7F == opcode]
        yield opcode, [(f, [i for i in of_opcode if not (i.match ^ f << 12) & i.mask & 0x7000]) for f in range(8)]


def register_literal(r):
    if r is None:
        return "{}"
    return f"{{File::{r.file}, {r.count}, {str(r.read).lower()}, {str(r.write).lower()}}}"


def isa(model):
    out = [HEAD, "// The instruction table: names, encodings, classes, slots and operands, and the decoder.",
           "#pragma once", "", "#include <array>", "#include <cstdint>", "", "namespace tessera::isa {", ""]
    out.append("/// Every instruction of the table; illegal is 0. Reserved ones have numbers, but decode() calls them illegal.")
    out.append("enum class Op : std::uint16_t {\n  illegal = 0,")
    out += [f"  {i.identifier} = {n}," for n, i in enumerate(model.instructions, 1)]
    out.append("};")
    out.append(f"inline constexpr unsigned kOpCount = {len(model.instructions) + 1};  ///< illegal counted\n")
    out.append("/// What an instruction may pair with (docs/machine/timing.md).")
    out.append("enum class Class : std::uint8_t { " + ", ".join(f"{c.lower()}_ = {n}" if c == "MAIN" else
                                                             f"{c.lower()} = {n}" for n, c in enumerate(CLASSES)) + " };")
    out.append("/// Who may execute it; elsewhere it is trap 2.")
    out.append("enum class Role : std::uint8_t { " + ", ".join(ROLES) + " };")
    out.append("/// Format of the immediate; csr is the CSR number.")
    out.append("enum class Imm : std::uint8_t { " + ", ".join(IMM_KINDS) + " };")
    out.append("/// Operation of the floating-point unit, numbered as fpu_pkg.sv does.")
    out.append("enum class FpOp : std::uint8_t { " + ", ".join(f"{name} = {n}" for name, n in FP_OPS.items()) + " };")
    out.append("""enum class File : std::uint8_t { none, x, f };

/// A register operand: `count` registers from the number in the field (1, 2 or 4; then a multiple of it).
struct Reg {
  File file = File::none;
  std::uint8_t count = 0;
  bool read = false;
  bool write = false;
};

struct Info {
  const char* name;      ///< as assemblers write it
  std::uint32_t match;   ///< fixed bits
  std::uint32_t mask;    ///< which bits are fixed; decode() checks fields with reserved values as well
  Class klass;
  Role role;
  std::uint8_t slots;    ///< slots it occupies
  Imm imm;
  FpOp fp;
  bool implemented;      ///< false: reserved, decode() answers illegal
  bool in_rtl;           ///< false: reserved or not yet in the RTL core
  Reg rd, rs1, rs2, rs3;
  const char* syntax;    ///< operands as in the table
  const char* encoding;
  const char* semantics;
};
""")
    out.append(f"inline constexpr std::array<Info, kOpCount> kTable = {{{{")
    out.append('    {"illegal", 0, 0, Class::solo, Role::all, 1, Imm::none, FpOp::none, false, false, {}, {}, {}, {}, "", "", "trap 2"},')
    for i in model.instructions:
        regs = ", ".join(register_literal(i.registers.get(f)) for f in REGISTER_LSB)
        klass = "main_" if i.klass == "MAIN" else i.klass.lower()
        out.append(f"    {{{quoted(i.name)}, 0x{i.match:08X}u, 0x{i.mask:08X}u, Class::{klass}, Role::{i.role}, {i.slots}, "
                   f"Imm::{i.imm}, FpOp::{i.fp}, {'false' if i.status == 'reserved' else 'true'}, {'true' if i.status == 'now' else 'false'},\n     {regs}, "
                   f"{quoted(i.syntax)},\n     {quoted(i.encoding)},\n     {quoted(i.semantics)}}},")
    out.append("}};\n")
    out.append("[[nodiscard]] constexpr const Info& info(Op op) { return kTable[static_cast<unsigned>(op)]; }\n")
    out.append("/// Decodes by encoding alone; `reserved`: also instructions that are not implemented yet.")
    out.append("[[nodiscard]] constexpr Op decode_word(std::uint32_t w, [[maybe_unused]] bool reserved) {")
    out.append("  switch (w & 0x7F) {")
    for opcode, by_funct3 in groups(model.instructions):
        out.append(f"    case 0x{opcode:02X}:")
        if all(len(c) == len(by_funct3[0][1]) and c == by_funct3[0][1] for _, c in by_funct3):
            for i in by_funct3[0][1]:
                out.append(f"      if ({'reserved && ' if i.status == 'reserved' else ''}{condition(i)}) return Op::{i.identifier};")
            out.append("      return Op::illegal;")
            continue
        out.append("      switch ((w >> 12) & 7) {")
        for funct3, candidates in by_funct3:
            if candidates:
                out.append(f"        case {funct3}:")
                for i in candidates:
                    out.append(f"          if ({'reserved && ' if i.status == 'reserved' else ''}{condition(i)}) return Op::{i.identifier};")
                out.append("          return Op::illegal;")
        out.append("        default:\n          return Op::illegal;\n      }")
    out.append("    default:\n      return Op::illegal;\n  }\n}\n")
    out.append("""/// The instruction, or Op::illegal: unknown or not implemented, reserved field, odd register in a pair. Role, FS and
/// dynamic rounding are not encoding: see docs/machine/timing.md.
[[nodiscard]] constexpr Op decode(std::uint32_t w) { return decode_word(w, false); }

[[nodiscard]] constexpr unsigned rd(std::uint32_t w) { return (w >> 7) & 31; }
[[nodiscard]] constexpr unsigned rs1(std::uint32_t w) { return (w >> 15) & 31; }
[[nodiscard]] constexpr unsigned rs2(std::uint32_t w) { return (w >> 20) & 31; }
[[nodiscard]] constexpr unsigned rs3(std::uint32_t w) { return w >> 27; }
[[nodiscard]] constexpr unsigned rm(std::uint32_t w) { return (w >> 12) & 7; }
/// Repeats of x.rpti.
[[nodiscard]] constexpr unsigned rpt_count(std::uint32_t w) { return 32 * rd(w) + rs1(w); }
/// Step selector of stream k (0..2): 0 is +8 bytes, 1 stride A, 2 stride B, 3 none.
[[nodiscard]] constexpr unsigned stream_step(std::uint32_t w, unsigned k) { return (w >> (25 + 2 * k)) & 3; }
/// Phase of x.amp.f16, x.amp.g and x.amp.io (0..3); of x.amp.f32 (0..7).
[[nodiscard]] constexpr unsigned amp_phase(std::uint32_t w) {
  const unsigned two = (w >> 25) & 3, funct3 = (w >> 12) & 7;
  return funct3 == 5 ? 4 + two : two;
}
[[nodiscard]] constexpr unsigned csr_number(std::uint32_t w) { return w >> 20; }

/// The immediate, sign extended where the format says so; 0 if there is none. U: already shifted. B, J: byte offset.
[[nodiscard]] constexpr std::uint32_t immediate(Imm imm, std::uint32_t w) {
  const std::uint32_t sign = w >> 31 ? ~0u : 0u;
  switch (imm) {
    case Imm::i: return sign << 11 | ((w >> 20) & 0x7FF);
    case Imm::s: return sign << 11 | ((w >> 25) & 0x3F) << 5 | ((w >> 7) & 31);
    case Imm::b: return sign << 12 | ((w >> 7) & 1) << 11 | ((w >> 25) & 0x3F) << 5 | ((w >> 8) & 15) << 1;
    case Imm::u: return w & 0xFFFFF000u;
    case Imm::j: return sign << 20 | (w & 0xFF000u) | ((w >> 20) & 1) << 11 | ((w >> 21) & 0x3FF) << 1;
    case Imm::shamt: return (w >> 20) & 31;
    case Imm::csr: return w >> 20;
    default: return 0;
  }
}

namespace detail {
[[nodiscard]] constexpr std::uint32_t f_mask(Reg reg, bool want, unsigned number) {
  return reg.file == File::f && want ? ((1u << reg.count) - 1) << number : 0u;
}
}  // namespace detail

/// f registers that `w` reads or writes, one bit each; `w` must be a legal encoding of `op`.
[[nodiscard]] constexpr std::uint32_t f_reads(Op op, std::uint32_t w) {
  const Info& i = info(op);
  return detail::f_mask(i.rd, i.rd.read, rd(w)) | detail::f_mask(i.rs1, i.rs1.read, rs1(w)) |
         detail::f_mask(i.rs2, i.rs2.read, rs2(w)) | detail::f_mask(i.rs3, i.rs3.read, rs3(w));
}
[[nodiscard]] constexpr std::uint32_t f_writes(Op op, std::uint32_t w) {
  const Info& i = info(op);
  return detail::f_mask(i.rd, i.rd.write, rd(w)) | detail::f_mask(i.rs1, i.rs1.write, rs1(w));
}

/// The pair rule for a worker, for words 0 and 1 of an aligned doubleword with their decoded instructions.
[[nodiscard]] constexpr bool pairs(Op op0, std::uint32_t w0, Op op1, std::uint32_t w1) {
  return op0 != Op::illegal && op1 != Op::illegal && info(op0).klass == Class::main_ && info(op0).role != Role::supervisor &&
         info(op1).klass == Class::aux && (f_writes(op0, w0) & (f_reads(op1, w1) | f_writes(op1, w1))) == 0;
}

}  // namespace tessera::isa
""")
    return "\n".join(out)


def unsigned_literal(value):
    return f"0x{value:X}u" if value > 4096 else f"{value}u"


def packed(p):
    """A struct with one member a field, pack, unpack and fits."""
    name = camel(p["name"])
    out = [f"/// {p['text']}", f"struct {name} {{"]
    for f in p["fields"]:
        kind = "std::int64_t" if f.get("signed") else "std::uint64_t"
        out.append(f"  {kind} {f['name']} = 0;  ///< bits {f['lsb'] + f['width'] - 1}:{f['lsb']}: {f['text']}")
    out.append("\n  /// True if every field fits its bits.\n  [[nodiscard]] constexpr bool fits() const {")
    terms = []
    for f in p["fields"]:
        w = f["width"]
        terms.append(f"{f['name']} >= -(std::int64_t{{1}} << {w - 1}) && {f['name']} < (std::int64_t{{1}} << {w - 1})"
                     if f.get("signed") else f"{f['name']} < (std::uint64_t{{1}} << {w})")
    out.append("    return " + " &&\n           ".join(terms) + ";\n  }")
    out.append("  /// Bits that do not fit are cut: ask fits() first.\n  [[nodiscard]] constexpr std::uint64_t pack() const {")
    out.append("    return " + " |\n           ".join(
        f"(static_cast<std::uint64_t>({f['name']}) & 0x{(1 << f['width']) - 1:X}u) << {f['lsb']}" for f in p["fields"]) + ";\n  }")
    out.append(f"  [[nodiscard]] static constexpr {name} unpack(std::uint64_t bits) {{\n    {name} r;")
    for f in p["fields"]:
        value = f"(bits >> {f['lsb']}) & 0x{(1 << f['width']) - 1:X}u"
        if f.get("signed"):
            half = 1 << (f["width"] - 1)
            value = f"static_cast<std::int64_t>(({value}) ^ 0x{half:X}u) - 0x{half:X}"
        out.append(f"    r.{f['name']} = {value};")
    out.append("    return r;\n  }\n};\n")
    return out


def machine(model):
    out = [HEAD, "// CSR numbers, trap causes, fixed constants and memory layouts of the machine.", "#pragma once", "",
           "#include <cstdint>", "", "namespace tessera {", "", "/// CSR numbers.", "namespace csr {"]
    for c in model.csrs:
        if c.access != "zero":
            out.append(f"inline constexpr unsigned {c.name} = 0x{c.number:03X};  ///< {c.text if c.index == 0 else ''}".rstrip(" /<"))
    out.append("}  // namespace csr\n")
    out.append("/// How a CSR number answers an instruction of the supervisor or of a worker.\n"
               "enum class CsrAccess : std::uint8_t {\n  absent,  ///< trap 2\n  zero,    ///< reads 0, writes ignored (trap 2 if "
               "bits 11:10 are 3)\n  rw,\n  ro,      ///< a write is trap 2\n};\n")
    out.append("[[nodiscard]] constexpr CsrAccess csr_access(unsigned number, bool supervisor) {\n  switch (number) {")
    for access in ("zero", "rw", "ro"):
        for who, test in (("all", ""), ("supervisor", "supervisor"), ("worker", "!supervisor")):
            numbers = [c for c in model.csrs if c.access == access and c.who == who and c.status != "reserved"]
            if numbers:
                out += [f"    case 0x{c.number:03X}:" for c in numbers]
                out.append(f"      return {test + ' ? ' if test else ''}CsrAccess::{access}{' : CsrAccess::absent' if test else ''};")
    out.append("    default:\n      return CsrAccess::absent;\n  }\n}\n")
    out.append("/// False for a CSR that the models have and the RTL does not yet.")
    out.append("[[nodiscard]] constexpr bool csr_in_rtl(unsigned number) {")
    models = [f"number == 0x{c.number:03X}" for c in model.csrs if c.status == "model"]
    out.append(f"  return !({' || '.join(models)});\n}}\n" if models else "  (void)number;\n  return true;\n}\n")
    out.append("/// Value after reset; 0 for what a pin or a counter gives.")
    out.append("[[nodiscard]] constexpr std::uint32_t csr_reset(unsigned number, bool supervisor) {\n  switch (number) {")
    for c in model.csrs:
        if c.reset_supervisor or c.reset_worker:
            out.append(f"    case 0x{c.number:03X}:\n      return supervisor ? 0x{c.reset_supervisor:08X}u : 0x{c.reset_worker:08X}u;")
    out.append("    default:\n      return 0;\n  }\n}\n")
    out.append("/// Name of a CSR; nullptr if the number is none.")
    out.append("[[nodiscard]] constexpr const char* csr_name(unsigned number) {\n  switch (number) {")
    out += [f"    case 0x{c.number:03X}: return {quoted(c.name)};" for c in model.csrs]
    out.append("    default: return nullptr;\n  }\n}\n\n/// Trap causes (mcause).\nnamespace trap {")
    out += [f"inline constexpr std::uint32_t {t['name']} = {t['cause']};  ///< {t['text']}; mtval: {t['tval']}" for t in model.traps]
    out.append("}  // namespace trap\n\n/// What a trap cause means; nullptr if there is no such cause.")
    out.append("[[nodiscard]] constexpr const char* trap_text(std::uint32_t cause) {\n  switch (cause) {")
    out += [f"    case {t['cause']}: return {quoted(t['text'])};" for t in model.traps]
    out.append("    default: return nullptr;\n  }\n}\n")
    out += [f"inline constexpr std::uint32_t k{camel(c['name'])} = {unsigned_literal(c['value'])};  ///< {c['unit']}: {c['text']}"
            for c in model.constants]
    out.append("")
    for p in model.packed:
        out += packed(p)
    for s in model.structs:
        out.append(f"/// {s['text']}. Byte offsets.\nnamespace {s['name']} {{")
        out += [f"inline constexpr std::uint32_t {f['name']} = {f['offset']};  ///< {f['bytes']} bytes: {f['text']}" for f in s["fields"]]
        out.append(f"inline constexpr std::uint32_t kBytes = {s['size']};\n}}  // namespace {s['name']}\n")
    out.append("}  // namespace tessera\n")
    return "\n".join(out)


def registers(model):
    out = [HEAD, "// Register blocks: offsets, fields and what writes do.", "#pragma once", "", "#include <array>",
           "#include <cstdint>", "", "namespace tessera::reg {", """
/// Bits of a register.
struct Field {
  const char* name;
  std::uint8_t lsb;
  std::uint8_t width;
  const char* text;
  [[nodiscard]] constexpr std::uint64_t mask() const { return ((width == 64 ? 0 : std::uint64_t{1} << width) - 1) << lsb; }
  [[nodiscard]] constexpr std::uint64_t get(std::uint64_t word) const { return (word & mask()) >> lsb; }
  /// `word` with this field replaced; bits of `value` that do not fit are cut.
  [[nodiscard]] constexpr std::uint64_t set(std::uint64_t word, std::uint64_t value) const {
    return (word & ~mask()) | (value << lsb & mask());
  }
};

/// A register or a window of `count` registers, `stride` bytes apart.
struct Register {
  const char* name;
  std::uint32_t offset;
  std::uint16_t width;  ///< bits
  std::uint32_t count;
  std::uint32_t stride;
  std::uint64_t reset;
  std::uint64_t writable;  ///< bits that a write replaces
  std::uint64_t clearable; ///< bits that a written 1 clears
  std::uint64_t readable;  ///< bits that can read other than 0
  const Field* fields;
  unsigned field_count;
  const char* access;
  const char* text;
};
"""]
    for block in model.blocks:
        out.append(f"/// {block['text']}\nnamespace {block['name']} {{\n\ninline constexpr std::uint32_t kSize = 0x{block['size']:X};  ///< bytes")
        if "base" in block:
            out.append(f"inline constexpr std::uint32_t kBase = 0x{block['base']:08X};  ///< address for whoever has the block in its memory")
        for enum in block["enums"]:
            name = camel(enum["name"])
            out.append(f"/// {enum['text']}\nenum class {name} : std::uint32_t {{")
            out += [f"  {v['name']} = {v['value']},  ///< {v['text']}" for v in enum["values"]]
            out.append("};")
            out.append(f"/// What a value means; \"?\" if it is none.\n[[nodiscard]] constexpr const char* text({name} value) {{\n  switch (value) {{")
            out += [f"    case {name}::{v['name']}: return {quoted(v['text'])};" for v in enum["values"]]
            out.append("  }\n  return \"?\";\n}")
        for r in block["registers"]:
            name = camel(r["name"])
            out.append(f"inline constexpr std::uint32_t k{name} = 0x{r['offset']:03X};  ///< {r['access']}: {r['text']}")
            if r["count"] > 1:
                out.append(f"inline constexpr std::uint32_t k{name}Count = {r['count']};\ninline constexpr std::uint32_t k{name}Stride = {r['stride']};")
            for f in r["fields"]:
                out.append(f"inline constexpr Field k{name}{camel(f['name'])}{{{quoted(f['name'])}, {f['lsb']}, {f['width']}, {quoted(f['text'])}}};")
            if r["fields"]:
                out.append(f"inline constexpr Field k{name}Fields[] = {{{', '.join(f'k{name}' + camel(f['name']) for f in r['fields'])}}};")
        out.append(f"\ninline constexpr std::array<Register, {len(block['registers'])}> kRegisters = {{{{")
        for r in block["registers"]:
            w, c, readable = access_masks(r)
            fields = f"k{camel(r['name'])}Fields, {len(r['fields'])}" if r["fields"] else "nullptr, 0"
            out.append(f"    {{{quoted(r['name'])}, 0x{r['offset']:X}, {r['width']}, {r['count']}, {r['stride']}, 0x{r['reset']:X}u, 0x{w:X}u, "
                       f"0x{c:X}u, 0x{readable:X}u, {fields}, {quoted(r['access'])}, {quoted(r['text'])}}},")
        out.append(f"}}}};\n\n}}  // namespace {block['name']}\n")
    out.append("struct Block {\n  const char* name;\n  const char* text;\n  std::uint32_t size;\n  const Register* registers;\n  unsigned count;\n};\n")
    out.append(f"inline constexpr std::array<Block, {len(model.blocks)}> kBlocks = {{{{")
    out += [f"    {{{quoted(b['name'])}, {quoted(b['text'])}, 0x{b['size']:X}, {b['name']}::kRegisters.data(), {len(b['registers'])}}}," for b in model.blocks]
    out.append("}};\n\n}  // namespace tessera::reg\n")
    return "\n".join(out)
