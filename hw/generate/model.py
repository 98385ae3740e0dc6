"""Reads hw/isa, hw/machine and hw/registers and checks them. Knows no output language.

Errors in the tables stop the build with file, record and reason. Everything is in file order, so output is
deterministic.
"""

import re
import tomllib
from pathlib import Path

HW = Path(__file__).resolve().parent.parent
ISA_FILES = ["rv32i", "rv32m", "system", "rv32f", "xtile_control", "xtile_memory", "xtile_simd", "xtile_amp"]
REGISTER_FILES = sorted(p.stem for p in (HW / "registers").glob("*.toml"))

# Encoding fields and their widths; a field named here may stand in an encoding string.
WIDTHS = {
    "rd": 5, "rs1": 5, "rs2": 5, "rs3": 5, "rm": 3, "shamt": 5, "csr": 12, "zimm": 5, "fm": 4, "pred": 4, "succ": 4,
    "imm_i": 12, "imm_s_hi": 7, "imm_s_lo": 5, "imm_b_hi": 7, "imm_b_lo": 5, "imm_u": 20, "imm_j": 20,
    "zone": 5, "worker": 5, "rptn": 12, "rpthi": 5, "rptlo": 5, "stream": 2,
    "step0": 2, "step1": 2, "step2": 2, "phase1": 1, "phase2": 2,
}
REGISTER_LSB = {"rd": 7, "rs1": 15, "rs2": 20, "rs3": 27}
IMMEDIATES = {"imm_i": "i", "imm_s_hi": "s", "imm_b_hi": "b", "imm_u": "u", "imm_j": "j", "shamt": "shamt",
              "csr": "csr", "rptn": "i"}
IMM_KINDS = ["none", "i", "s", "b", "u", "j", "shamt", "csr"]
CLASSES = ["MAIN", "AUX", "SOLO"]
ROLES = ["all", "supervisor", "worker"]
# Operations of the floating-point unit, numbered as rtl/fpu_pkg.sv does; the last is no operation.
FP_OPS = {name: n for n, name in enumerate(
    ["add", "sub", "mul", "madd", "msub", "nmsub", "nmadd", "sgnj", "sgnjn", "sgnjx", "min", "max", "eq", "lt", "le",
     "classify", "cvt_w_s", "cvt_wu_s", "cvt_s_w", "cvt_s_wu", "move", "div", "sqrt"])} | {"none": 31}
# `model`: the C++ models have it, the RTL does not yet.
STATUSES = ["now", "model", "reserved"]
REGISTER_ACCESS = ["rw", "ro", "wo", "w1c"]


class TableError(Exception):
    pass


def need(condition, where, why):
    if not condition:
        raise TableError(f"{where}: {why}")


def keys(record, allowed, required, where):
    for key in record:
        need(key in allowed, where, f"unknown key '{key}'")
    for key in required:
        need(key in record, where, f"key '{key}' is missing")


class Register:
    """One register operand: file 'x' or 'f', count of registers (1, 2 even, 4 multiple of four), read, written."""

    def __init__(self, file, count, read, write):
        self.file, self.count, self.read, self.write = file, count, read, write


class Instruction:
    def __init__(self, record, where):
        keys(record, {"name", "encoding", "syntax", "class", "role", "slots", "semantics", "status", "checks", "fp",
                      "reads", "writes", "types"}, {"name", "encoding", "syntax", "class", "role", "slots", "semantics"}, where)
        self.name = record["name"]
        where = self.where = f"{where}, {self.name}"
        self.encoding, self.syntax = record["encoding"], record["syntax"]
        self.klass, self.role, self.slots = record["class"], record["role"], record["slots"]
        self.semantics, self.status = record["semantics"], record.get("status", "now")
        self.fp = record.get("fp", "none")
        self.types = record.get("types", "").split()
        need(self.fp in FP_OPS, where, f"fp must be one of {list(FP_OPS)}")
        need(self.klass in CLASSES, where, f"class must be one of {CLASSES}")
        need(self.role in ROLES, where, f"role must be one of {ROLES}")
        need(self.status in STATUSES, where, f"status must be one of {STATUSES}")
        need(1 <= self.slots <= 6, where, "slots must be 1..6")
        self.identifier = re.sub(r"[^a-z0-9]", "_", self.name)
        if self.identifier in ("and", "or", "xor"):
            self.identifier += "_"  # words of C++
        self.parse_encoding()
        self.parse_syntax(record)
        self.parse_checks(record.get("checks", []))

    def parse_encoding(self):
        """Sets match, mask and fields {name: (lsb, width)} from the encoding string, most significant bit first."""
        self.match = self.mask = 0
        self.fields = {}
        position = 32
        for token in self.encoding.split():
            if re.fullmatch(r"[01]+", token):
                position -= len(token)
                self.match |= int(token, 2) << position
                self.mask |= ((1 << len(token)) - 1) << position
                continue
            need(token in WIDTHS, self.where, f"unknown encoding field '{token}'")
            need(token not in self.fields, self.where, f"field '{token}' stands twice")
            position -= WIDTHS[token]
            self.fields[token] = (position, WIDTHS[token])
        need(position == 0, self.where, f"encoding has {32 - position} bits")
        need(self.mask & 0x7F == 0x7F and self.match & 3 == 3, self.where, "opcode must be literal, bits 1:0 = 11")
        for name, lsb in REGISTER_LSB.items():
            need(name not in self.fields or self.fields[name][0] == lsb, self.where, f"{name} stands at a wrong place")
        kinds = [IMMEDIATES[f] for f in self.fields if f in IMMEDIATES]
        need(len(kinds) <= 1, self.where, "more than one immediate")
        self.imm = kinds[0] if kinds else "none"

    def parse_syntax(self, record):
        """Sets registers {field: Register} from the syntax string (frd.2: f register pair in field rd)."""
        self.registers = {}
        operands = re.findall(r"\b(f?)(rd|rs1|rs2|rs3)\b(?:\.([24]))?", self.syntax)
        named = [field for _, field, _ in operands]
        reads = record.get("reads", [f for f in named if f != "rd"])
        writes = record.get("writes", [f for f in named if f == "rd"])
        for f, field, count in operands:
            need(field in self.fields, self.where, f"{field} is in the syntax but not in the encoding")
            need(f or not count, self.where, "only f registers come in pairs")
            self.registers[field] = Register("f" if f else "x", int(count or 1), field in reads, field in writes)
        for field in self.fields:
            need(field not in REGISTER_LSB or field in named or self.name in ("fence", "fence.i"), self.where,
                 f"{field} is in the encoding but not in the syntax")
        if self.klass == "AUX":
            need(all(r.file == "f" for r in self.registers.values()), self.where, "AUX never touches x registers")

    def parse_checks(self, checks):
        """Sets checks: ('rm',) | ('range', lsb, width, low, high) | ('differ', lsb, lsb) | ('multiple', lsb, n)."""
        self.checks = []
        for field, register in self.registers.items():
            if register.count > 1:
                self.checks.append(("multiple", REGISTER_LSB[field], register.count))
        for text in checks:
            part = text.split()
            if part == ["rm"]:
                self.checks.append(("rm",))
            elif part[0] == "range" and len(part) == 4 and part[1] in self.fields:
                lsb, width = self.fields[part[1]]
                self.checks.append(("range", lsb, width, int(part[2]), int(part[3])))
            elif part[0] == "differ" and len(part) == 3:
                self.checks.append(("differ", REGISTER_LSB[part[1]], REGISTER_LSB[part[2]]))
            else:
                raise TableError(f"{self.where}: unknown check '{text}'")
        need(("rm" in self.fields) == (("rm",) in self.checks), self.where, "the rm field and the rm check go together")

    def matches(self, word):
        """True if `word` is a legal encoding of this instruction, whatever its status."""
        if word & self.mask != self.match:
            return False
        for check in self.checks:
            if check[0] == "rm" and (word >> 12) & 7 in (5, 6):
                return False
            if check[0] == "range" and not check[3] <= (word >> check[1]) & ((1 << check[2]) - 1) <= check[4]:
                return False
            if check[0] == "differ" and (word >> check[1]) & 31 == (word >> check[2]) & 31:
                return False
            if check[0] == "multiple" and ((word >> check[1]) & 31) % check[2]:
                return False
        return True


class Csr:
    """One CSR number."""

    def __init__(self, record, index, where):
        count = record.get("count", 1)
        self.name = record["name"] + (str(record.get("index", 0) + index) if count > 1 else "")
        if count > 1 and record["name"].endswith("h"):
            self.name = record["name"][:-1] + str(record["index"] + index) + "h"
        self.number = record["number"] + index
        self.who, self.access, self.text = record["who"], record["access"], record["text"]
        self.status = record.get("status", "now")
        reset = record.get("reset", 0)
        self.reset_supervisor = record.get("reset_supervisor", reset)
        self.reset_worker = record.get("reset_worker", reset)
        self.group, self.index, self.count = record["name"], index, count
        need(self.who in ("all", "supervisor", "worker", "debug"), where, "unknown 'who'")
        need(self.access in ("rw", "ro", "zero"), where, "unknown 'access'")
        need(self.status in STATUSES, where, "unknown 'status'")
        need((self.number >> 10 == 3) or self.access != "ro", where, "read-only by number only")
        need((self.number >> 10 != 3) or self.access != "rw", where, "numbers with bits 11:10 = 3 are read-only")


class Model:
    """All tables."""

    def __init__(self):
        self.instructions = self.load_instructions()
        self.csrs = self.load_csrs()
        self.traps = self.load("isa/traps.toml")["trap"]
        self.constants = self.load("machine/constants.toml")["constant"]
        layouts = self.load("machine/layouts.toml")
        self.packed, self.structs = layouts["packed"], layouts["struct"]
        for packed in self.packed:
            self.check_bits(packed["fields"], 64, f"layouts.toml, {packed['name']}")
        for struct in self.structs:
            end = 0
            for field in struct["fields"]:
                need(field["offset"] >= end and field["offset"] % field["bytes"] == 0, struct["name"], "fields overlap")
                end = field["offset"] + field["bytes"]
            need(end <= struct["size"], struct["name"], "fields beyond the size")
        self.blocks = [self.load_block(name) for name in REGISTER_FILES]

    @staticmethod
    def load(path):
        try:
            with open(HW / path, "rb") as file:
                return tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise TableError(f"{path}: {error}") from error

    def load_instructions(self):
        result = []
        for name in ISA_FILES:
            for record in self.load(f"isa/{name}.toml")["instruction"]:
                result.append(Instruction(record, f"isa/{name}.toml"))
                result[-1].file = name
        seen = set()
        for i, a in enumerate(result):
            need(a.identifier not in seen, a.where, "name stands twice")
            seen.add(a.identifier)
            for b in result[:i]:
                need((a.match ^ b.match) & a.mask & b.mask, a.where, f"encoding overlaps {b.name}")
        return result

    def load_csrs(self):
        result = []
        allowed = {"name", "number", "count", "index", "who", "access", "reset", "reset_supervisor", "reset_worker",
                   "text", "status"}
        for record in self.load("isa/csrs.toml")["csr"]:
            where = f"isa/csrs.toml, {record.get('name')}"
            keys(record, allowed, {"name", "number", "who", "access", "text"}, where)
            result += [Csr(record, i, where) for i in range(record.get("count", 1))]
        need(len({c.number for c in result}) == len(result), "isa/csrs.toml", "a number stands twice")
        return result

    @staticmethod
    def check_bits(fields, width, where):
        used = 0
        for field in fields:
            mask = ((1 << field["width"]) - 1) << field["lsb"]
            need(mask < 1 << width, where, f"field {field['name']} beyond bit {width - 1}")
            need(not used & mask, where, f"field {field['name']} overlaps another")
            used |= mask

    @staticmethod
    def load_enums(enums, path):
        for enum in enums:
            where = f"{path}, enum {enum.get('name')}"
            keys(enum, {"name", "text", "values"}, {"name", "text", "values"}, where)
            for value in enum["values"]:
                keys(value, {"name", "value", "text"}, {"name", "value", "text"}, where)
            for key in ("name", "value"):
                need(len({v[key] for v in enum["values"]}) == len(enum["values"]), where, f"a {key} stands twice")
        return enums

    def load_block(self, name):
        path = f"registers/{name}.toml"
        table = self.load(path)
        block = table["block"]
        keys(block, {"name", "size", "text", "base"}, {"name", "size", "text"}, path)
        block["enums"] = self.load_enums(table.get("enum", []), path)
        block["registers"] = table["register"]
        ends = []
        for register in block["registers"]:
            where = f"{path}, {register.get('name')}"
            keys(register, {"name", "offset", "width", "access", "reset", "count", "stride", "text", "fields"},
                 {"name", "offset", "access", "text"}, where)
            width = register.setdefault("width", 32)
            need(width in (8, 16, 32, 64), where, "width must be 8, 16, 32 or 64")
            register.setdefault("reset", 0)
            register.setdefault("count", 1)
            stride = register.setdefault("stride", width // 8)
            need(register["access"] in REGISTER_ACCESS, where, f"access must be one of {REGISTER_ACCESS}")
            need(register["offset"] % (width // 8) == 0 and stride % (width // 8) == 0, where, "misaligned")
            need(0 <= register["reset"] < 1 << width, where, "reset does not fit the width")
            for field in register.setdefault("fields", []):
                keys(field, {"name", "lsb", "width", "access", "text"}, {"name", "lsb", "width", "text"}, where)
                field.setdefault("access", register["access"])
                need(field["access"] in REGISTER_ACCESS, where, f"access must be one of {REGISTER_ACCESS}")
            self.check_bits(register["fields"], width, where)
            for i in range(register["count"]):
                start = register["offset"] + i * stride
                ends.append((start, start + width // 8, register["name"]))
        ends.sort()
        for a, b in zip(ends, ends[1:]):
            need(a[1] <= b[0], path, f"{a[2]} and {b[2]} overlap")
        need(ends[-1][1] <= block["size"], path, f"{ends[-1][2]} lies beyond the block")
        return block


def access_masks(register):
    """(writable, write-one-to-clear, readable) bits of a register."""
    full = (1 << register["width"]) - 1
    fields = register["fields"] or [{"lsb": 0, "width": register["width"], "access": register["access"]}]
    masks = {"rw": 0, "ro": 0, "wo": 0, "w1c": 0}
    for field in fields:
        masks[field["access"]] |= ((1 << field["width"]) - 1) << field["lsb"]
    return (masks["rw"] | masks["wo"]) & full, masks["w1c"], (masks["rw"] | masks["ro"] | masks["w1c"]) & full


def camel(name):
    return "".join(part.capitalize() for part in re.split(r"[^a-z0-9]+", name))
