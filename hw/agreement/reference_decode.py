"""Independent reading of the instruction tables: reference_decode.py OUTPUT.bin

Shares no code with hw/generate. Reads the records' encoding, syntax and checks as plain text and writes test vectors for
the C++ and SystemVerilog decoders: words that cover every opcode x funct3 x funct7 with random registers, random legal
words of every instruction, and random words; each with the expected operation, and whether it pairs with the word that
follows it. Record: u32 word, u16 operation, u8 class, u8 slots, u32 f reads, u32 f writes, u8 pairs, 3 x 0.
"""

import random
import re
import struct
import sys
import tomllib
from pathlib import Path

ISA = Path(__file__).resolve().parent.parent / "isa"
ORDER = "rv32i rv32m system rv32f xtile_control xtile_memory xtile_simd xtile_amp".split()
PLACE = {"rd": 7, "rs1": 15, "rs2": 20, "rs3": 27}


def load():
    """{opcode: [(number, record, pattern of 32 characters 0, 1 or .)]}; the field letters go to record['bits']."""
    table, number = {}, 0
    for name in ORDER:
        for record in tomllib.loads((ISA / f"{name}.toml").read_text())["instruction"]:
            number += 1
            widths = {"imm_i": 12, "csr": 12, "rptn": 12, "imm_u": 20, "imm_j": 20, "imm_s_hi": 7, "imm_b_hi": 7, "rm": 3,
                      "fm": 4, "pred": 4, "succ": 4, "stream": 2, "step0": 2, "step1": 2, "step2": 2, "phase2": 2, "phase1": 1}
            pattern, where = "", {}
            for part in record["encoding"].split(" "):
                if set(part) <= {"0", "1"}:
                    pattern += part
                else:
                    width = widths.get(part, 5)
                    where[part] = (32 - len(pattern) - width, width)
                    pattern += "." * width
            assert len(pattern) == 32, record
            record["where"], record["pattern"], record["number"] = where, pattern, number
            record["care"] = int(pattern.replace("0", "1").replace(".", "0"), 2)
            record["bits"] = int(pattern.replace(".", "0"), 2)
            table.setdefault(pattern[25:], []).append(record)
    return table


def field(record, name, word):
    lsb, width = record["where"][name]
    return word >> lsb & (2 ** width - 1)


def legal(record, word):
    if (word & record["care"]) != record["bits"]:
        return False
    for name, count in re.findall(r"f(r[ds][123]?)\.([24])", record["syntax"]):
        if field(record, name, word) % int(count) != 0:
            return False
    for check in record.get("checks", []):
        words = check.split()
        if words[0] == "rm" and field(record, "rm", word) in (5, 6):
            return False
        if words[0] == "range" and not int(words[2]) <= field(record, words[1], word) <= int(words[3]):
            return False
        if words[0] == "differ" and field(record, words[1], word) == field(record, words[2], word):
            return False
    return True


def decode(table, word):
    """The record of a word, or None; only what is implemented."""
    found = [r for r in table.get(f"{word & 127:07b}", []) if legal(r, word)]
    assert len(found) <= 1, found
    return found[0] if found and found[0].get("status", "now") != "reserved" else None


def f_sets(record, word):
    """f registers read and written, as bit masks."""
    reads = writes = 0
    for is_f, name, count in re.findall(r"\b(f?)(rd|rs[123])\b(?:\.([24]))?", record["syntax"]):
        if not is_f:
            continue
        bits = (2 ** int(count or 1) - 1) << (word >> PLACE[name] & 31)
        if name in record.get("writes", ["rd"]):
            writes |= bits
        if name in record.get("reads", ["rs1", "rs2", "rs3"]):
            reads |= bits
    return reads, writes


def vectors():
    random.seed(2016)
    words = []
    for high in range(1024):  # funct7 and funct3 for every opcode, registers at random
        for opcode in range(3, 128, 4):
            word = opcode | (high & 7) << 12 | (high >> 3) << 25
            for _ in range(2):
                words.append(word | random.getrandbits(5) << 7 | random.getrandbits(10) << 15)
            if high < 64:  # compressed and reserved space
                words.append((word & ~3) | random.getrandbits(2))
            words.append(word | random.getrandbits(5) << 7 | random.getrandbits(5) << 15)
    table = load()
    legal_words = []
    for records in table.values():
        for record in records:
            made = tries = 0
            while made < 60 and tries < 200000:
                tries += 1
                word = record["bits"] | random.getrandbits(32) & ~record["care"]
                if made % 2:  # few registers, so that pairs collide
                    word &= ~(28 << 7 | 28 << 15 | 28 << 20) | record["care"]
                for check in (c.split() for c in record.get("checks", []) if c.startswith("range") and made % 4 < 3):
                    lsb, width = record["where"][check[1]]  # most are in range, with both ends
                    low, high = int(check[2]), int(check[3])
                    value = random.choice((low, high, random.randint(low, high)))
                    word = word & ~(2 ** width - 1 << lsb) | value << lsb
                made += 1
                legal_words.append(word)
    words += legal_words
    mains = [w for w in legal_words if (r := decode(table, w)) and r["class"] == "MAIN"]
    auxes = [w for w in legal_words if (r := decode(table, w)) and r["class"] == "AUX"]
    f_mains = [w for w in mains if f_sets(decode(table, w), w)[1]]
    for _ in range(30000):
        words += [random.choice(random.choice((mains, f_mains))), random.choice(auxes)]
    words += [random.getrandbits(32) for _ in range(60000)]
    return table, words


def main():
    table, words = vectors()
    records = [decode(table, word) for word in words]
    out = bytearray()
    for n, (word, record) in enumerate(zip(words, records)):
        follower = records[(n + 1) % len(words)]
        next_word = words[(n + 1) % len(words)]
        reads, writes = f_sets(record, word) if record else (0, 0)
        pairs = False
        if record and follower and record["class"] == "MAIN" and record["role"] != "supervisor" and follower["class"] == "AUX":
            next_reads, next_writes = f_sets(follower, next_word)
            pairs = not writes & (next_reads | next_writes)
        out += struct.pack("<IHBBIIBxxx", word, record["number"] if record else 0,
                           "MAIN AUX SOLO".split().index(record["class"]) if record else 2, record["slots"] if record else 1,
                           reads, writes, pairs)
    Path(sys.argv[1]).write_bytes(out)


main()
