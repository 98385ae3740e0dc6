"""SystemVerilog package, in the subset that Verilator 5.006 and Yosys 0.23 both read.

Yosys 0.23 does not see enum names inside package functions and Verilator wants casts to enums, so operations are
localparams and functions use literals.
"""

from cpp import groups
from model import CLASSES, FP_OPS, IMM_KINDS, REGISTER_LSB, ROLES

FILES = ["none", "x", "f"]


def literal(width, value):
    return f"{width}'d{value}"


def bits(value, width=32):
    return f"{width}'h{value:0{(width + 3) // 4}x}"


def condition(i):
    terms = []
    fixed = i.mask & ~0x7F
    if fixed:
        terms.append(f"(word & {bits(i.mask)}) == {bits(i.match)}")
    for check in i.checks:
        if check[0] == "rm":
            terms.append("word[14:12] != 3'd5 && word[14:12] != 3'd6")
        elif check[0] == "range":
            _, lsb, width, low, high = check
            field = f"word[{lsb + width - 1}:{lsb}]"
            if low:
                terms.append(f"{field} >= {literal(width, low)}")
            terms.append(f"{field} <= {literal(width, high)}")
        elif check[0] == "differ":
            terms.append(f"word[{check[1] + 4}:{check[1]}] != word[{check[2] + 4}:{check[2]}]")
        elif check[2] == 2:
            terms.append(f"!word[{check[1]}]")
        else:
            terms.append(f"word[{check[1] + 1}:{check[1]}] == 2'd0")
    return " && ".join(terms) or "1'b1"


# Fields of the full decode, least significant last: (name, width, value of an instruction).
def info_fields(model):
    numbers = {i.identifier: n for n, i in enumerate(model.instructions, 1)}
    fields = [
        ("op", 9, lambda i: numbers[i.identifier]),
        ("fp_op", 5, lambda i: FP_OPS[i.fp]),
        ("cls", 2, lambda i: CLASSES.index(i.klass)),
        ("role", 2, lambda i: ROLES.index(i.role)),
        ("slots", 3, lambda i: i.slots),
        ("imm", 3, lambda i: IMM_KINDS.index(i.imm)),
    ]
    for field in REGISTER_LSB:
        fields.append((f"{field}_file", 2, lambda i, f=field: FILES.index(i.registers[f].file) if f in i.registers else 0))
        fields.append((f"{field}_read", 1, lambda i, f=field: int(f in i.registers and i.registers[f].read)))
        fields.append((f"{field}_write", 1, lambda i, f=field: int(f in i.registers and i.registers[f].write)))
        fields.append((f"{field}_count", 3, lambda i, f=field: i.registers[f].count if f in i.registers else 0))
    return fields


def decode_function(name, width, default, value, instructions, text):
    out = [f"  // {text}", f"  function automatic logic [{width - 1}:0] {name}(input logic [31:0] word);",
           f"    {name} = {default};", "    case (word[6:0])"]
    for opcode, by_funct3 in groups(instructions):
        out.append(f"      {bits(opcode, 7)}: begin")
        same = all(c == by_funct3[0][1] for _, c in by_funct3)
        if not same:
            out.append("        case (word[14:12])")
        for funct3, candidates in by_funct3[:1] if same else by_funct3:
            if not candidates:
                continue
            if not same:
                out.append(f"          3'd{funct3}: begin")
            for n, i in enumerate(candidates):
                out.append(f"            {'else ' if n else ''}if ({condition(i)}) {name} = {value(i)};")
            if not same:
                out.append("          end")
        if not same:
            out.append("          default: ;\n        endcase")
        out.append("      end")
    out.append("      default: ;\n    endcase\n  endfunction\n")
    return out


def by_op(name, width, default, value, model):
    """Function of an operation number: case items grouped by value."""
    out = [f"  function automatic logic [{width - 1}:0] {name}(input logic [8:0] op);", "    case (op)"]
    groups_of = {}
    for n, i in enumerate(model.instructions, 1):
        if value(i) != default:
            groups_of.setdefault(value(i), []).append(n)
    for v in sorted(groups_of):
        items = [f"9'd{n}" for n in groups_of[v]]
        rows = [", ".join(items[k:k + 16]) for k in range(0, len(items), 16)]
        out.append("      " + ",\n      ".join(rows) + f": {name} = {literal(width, v)};")
    out.append(f"      default: {name} = {literal(width, default)};\n    endcase\n  endfunction\n")
    return out


def package(model):
    now = [i for i in model.instructions if i.status == "now"]
    out = ["// Generated from hw/ by hw/generate; do not edit.",
           "// Operations, decoder, CSR numbers, trap causes and layouts of the machine.",
           "/* verilator lint_off UNUSEDPARAM */", "/* verilator lint_off UNUSEDSIGNAL */", "package tessera_pkg;", "",
           "  // Operations; 0 is illegal. Reserved ones have numbers but decode to 0.", "  typedef logic [8:0] op_t;",
           "  localparam logic [8:0] OP_ILLEGAL = 9'd0;"]
    out += [f"  localparam logic [8:0] OP_{i.identifier.rstrip('_').upper()} = 9'd{n};" for n, i in enumerate(model.instructions, 1)]
    for prefix, width, names in (("CLASS", 2, CLASSES), ("ROLE", 2, ROLES), ("IMM", 3, IMM_KINDS), ("FILE", 2, FILES)):
        out.append("")
        out += [f"  localparam logic [{width - 1}:0] {prefix}_{n.upper()} = {literal(width, v)};" for v, n in enumerate(names)]
    out.append("")
    out += [f"  localparam logic [4:0] FP_{n.upper()} = 5'd{v};" for n, v in FP_OPS.items()]
    out.append("")
    out += [f"  localparam logic [11:0] CSR_{c.name.upper()} = {bits(c.number, 12)};" for c in model.csrs if c.access != "zero"]
    out.append("")
    out += [f"  localparam logic [4:0] TRAP_{t['name'].upper()} = 5'd{t['cause']};" for t in model.traps]
    out.append("")
    out += [f"  localparam logic [31:0] {c['name'].upper()} = {bits(c['value'])};  // {c['unit']}: {c['text']}" for c in model.constants]
    out.append("")
    for p in model.packed:
        for f in p["fields"]:
            name = f"{p['name']}_{f['name']}".upper()
            out.append(f"  localparam int {name}_LSB = {f['lsb']};\n  localparam int {name}_WIDTH = {f['width']};")
    for s in model.structs:
        out += [f"  localparam int {s['name'].upper()}_{f['name'].upper()} = {f['offset']};" for f in s["fields"]]
    fields = info_fields(model)
    out += ["", "  // All that the table says of a word; assign decode_full() to a variable of this type. Illegal: op 0, SOLO, 1 slot, FP_NONE.",
            "  typedef struct packed {"]
    out += [f"    logic [{w - 1}:0] {n};" if w > 1 else f"    logic {n};" for n, w, _ in fields]
    total = sum(w for _, w, _ in fields)
    out += ["  } decoded_t;", f"  localparam int DECODED_BITS = {total};", ""]

    def full(i):
        value = 0
        for _, width, of in fields:
            value = value << width | of(i)
        return bits(value, total)

    illegal = 0
    for name, width, _ in fields:
        illegal = illegal << width | {"slots": 1, "cls": CLASSES.index("SOLO"), "fp_op": FP_OPS["none"]}.get(name, 0)
    numbers = {i.identifier: n for n, i in enumerate(model.instructions, 1)}
    out += decode_function("decode", 9, "9'd0", lambda i: literal(9, numbers[i.identifier]), now,
                           "The operation of a word by encoding alone; 0 if illegal or not implemented.")
    out += decode_function("decode_full", total, bits(illegal, total), full, now, "The same with all fields of decoded_t.")
    for name, width, of in fields[1:]:
        default = {"slots": 1, "cls": CLASSES.index("SOLO"), "fp_op": FP_OPS["none"]}.get(name, 0)
        out += by_op(f"op_{name}" if name not in ("fp_op",) else "op_fp", width, default, of, model)
    out += csr_access(model)
    out += csr_reset(model)
    out.append(HELPERS)
    out.append("endpackage\n/* verilator lint_on UNUSEDSIGNAL */\n/* verilator lint_on UNUSEDPARAM */\n")
    return "\n".join(out)


def csr_access(model):
    out = ["  // How a CSR answers: 0 absent (trap 2), 1 reads 0, 2 read/write, 3 read-only (bits 11:10 of the number are 3).",
           "  localparam logic [1:0] CSR_ABSENT = 2'd0;", "  localparam logic [1:0] CSR_ZERO = 2'd1;",
           "  localparam logic [1:0] CSR_RW = 2'd2;", "  localparam logic [1:0] CSR_RO = 2'd3;",
           "  function automatic logic [1:0] csr_access(input logic [11:0] number, input logic supervisor);",
           "    case (number)"]
    for value, access in ((1, "zero"), (2, "rw"), (3, "ro")):
        for who, text in (("all", f"2'd{value}"), ("supervisor", f"supervisor ? 2'd{value} : 2'd0"), ("worker", f"supervisor ? 2'd0 : 2'd{value}")):
            numbers = [bits(c.number, 12) for c in model.csrs if c.access == access and c.who == who and c.status == "now"]
            if numbers:
                rows = [", ".join(numbers[k:k + 12]) for k in range(0, len(numbers), 12)]
                out.append("      " + ",\n      ".join(rows) + f": csr_access = {text};")
    out.append("      default: csr_access = 2'd0;\n    endcase\n  endfunction\n")
    return out


def csr_reset(model):
    out = ["  // Value of a CSR after reset; 0 for what a pin or a counter gives.",
           "  function automatic logic [31:0] csr_reset(input logic [11:0] number, input logic supervisor);", "    case (number)"]
    for c in model.csrs:
        if c.reset_supervisor or c.reset_worker:
            value = bits(c.reset_supervisor) if c.reset_supervisor == c.reset_worker else \
                f"supervisor ? {bits(c.reset_supervisor)} : {bits(c.reset_worker)}"
            out.append(f"      {bits(c.number, 12)}: csr_reset = {value};")
    out.append("      default: csr_reset = 32'd0;\n    endcase\n  endfunction\n")
    return out


HELPERS = """\
  // The immediate of a word, by format; U already shifted, B and J byte offsets.
  function automatic logic [31:0] immediate(input logic [2:0] imm, input logic [31:0] word);
    case (imm)
      3'd1: immediate = {{21{word[31]}}, word[30:20]};
      3'd2: immediate = {{21{word[31]}}, word[30:25], word[11:7]};
      3'd3: immediate = {{20{word[31]}}, word[7], word[30:25], word[11:8], 1'b0};
      3'd4: immediate = {word[31:12], 12'd0};
      3'd5: immediate = {{12{word[31]}}, word[19:12], word[20], word[30:21], 1'b0};
      3'd6: immediate = {27'd0, word[24:20]};
      3'd7: immediate = {20'd0, word[31:20]};
      default: immediate = 32'd0;
    endcase
  endfunction

  // count registers from number, one bit each; 0 unless the file is f and `use_it`.
  function automatic logic [31:0] f_mask(input logic [1:0] file, input logic use_it, input logic [2:0] count,
                                         input logic [4:0] number);
    f_mask = 32'd0;
    if (file == 2'd2 && use_it) begin
      case (count)
        3'd1: f_mask = 32'h1 << number;
        3'd2: f_mask = 32'h3 << number;
        default: f_mask = 32'hf << number;
      endcase
    end
  endfunction

  // f registers that a word reads, and that it writes; op = decode(word).
  function automatic logic [31:0] f_reads(input logic [8:0] op, input logic [31:0] word);
    f_reads = f_mask(op_rd_file(op), op_rd_read(op), op_rd_count(op), word[11:7]) |
              f_mask(op_rs1_file(op), op_rs1_read(op), op_rs1_count(op), word[19:15]) |
              f_mask(op_rs2_file(op), op_rs2_read(op), op_rs2_count(op), word[24:20]) |
              f_mask(op_rs3_file(op), op_rs3_read(op), op_rs3_count(op), word[31:27]);
  endfunction

  function automatic logic [31:0] f_writes(input logic [8:0] op, input logic [31:0] word);
    f_writes = f_mask(op_rd_file(op), op_rd_write(op), op_rd_count(op), word[11:7]) |
               f_mask(op_rs1_file(op), op_rs1_write(op), op_rs1_count(op), word[19:15]);
  endfunction

  // The pair rule for a worker: words 0 and 1 of an aligned doubleword, decoded.
  function automatic logic pairs(input logic [8:0] op0, input logic [31:0] word0, input logic [8:0] op1,
                                 input logic [31:0] word1);
    pairs = op0 != 9'd0 && op1 != 9'd0 && op_cls(op0) == 2'd0 && op_role(op0) != 2'd1 && op_cls(op1) == 2'd1 &&
            (f_writes(op0, word0) & (f_reads(op1, word1) | f_writes(op1, word1))) == 32'd0;
  endfunction
"""
