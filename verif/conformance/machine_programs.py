"""Programs for generate.py: every one of the 4096 CSR numbers in the supervisor and in a worker, what a write leaves, pairs.

The lists are those of docs/machine/tile.md, typed from that page: the tables of hw/ are what they check.
"""

M32 = 0xFFFFFFFF
READ_TRAPS, WRITE_TRAPS = 1, 2

ALL_WRITABLE = [0x300, 0x301, 0x304, 0x305, 0x310, 0x320, *range(0x323, 0x340), 0x340, 0x341, 0x342, 0x343, 0x344, *range(0x7A0, 0x7A4),
                0xB00, 0xB02, *range(0xB03, 0xB20), 0xB80, 0xB82, *range(0xB83, 0xBA0)]
ALL_READ_ONLY = [*range(0xC00, 0xC20), *range(0xC80, 0xCA0), *range(0xF11, 0xF16), *range(0xFC0, 0xFC4)]
SUPERVISOR_WRITABLE, SUPERVISOR_READ_ONLY = [*range(0x7C0, 0x7C8)], [*range(0xFC4, 0xFC9)]
WORKER_WRITABLE = [1, 2, 3, *range(0x800, 0x804), *range(0x808, 0x80E)]
WORKER_READ_ONLY = [0xCC0, 0xCC1]


def expected(number, worker):
    writable = ALL_WRITABLE + (WORKER_WRITABLE if worker else SUPERVISOR_WRITABLE)
    read_only = ALL_READ_ONLY + (WORKER_READ_ONLY if worker else SUPERVISOR_READ_ONLY)
    return 0 if number in writable else WRITE_TRAPS if number in read_only else READ_TRAPS | WRITE_TRAPS


HANDLER = ["  .balign 4", "handler:", "  csrr t0, mcause", "  li t1, 2", "  bne t0, t1, failed", "  csrr t0, mepc", "  lw t1, 0(t0)",
           "  csrr t2, mtval", "  bne t1, t2, failed", "  or s11, s11, s10", "  addi t0, t0, 4", "  csrw mepc, t0", "  mret"]


def csr_map(program):
    """Reads each number and writes back what it read; which of the two trapped is the signature."""
    program.out("  la t0, handler", "  csrw mtvec, t0", "  mv s4, s2", "  li a0, 0")
    for number in range(4096):
        program.out("  li s11, 0", "  li s10, 1", f"  csrr a0, 0x{number:x}", "  li s10, 2", f"  csrw 0x{number:x}, a0", "  sb s11, 0(s4)", "  addi s4, s4, 1")
    program.out("  csrr a0, misa", "  andi a0, a0, 0x20", "  la s5, of_supervisor", "  beqz a0, 1f", "  la s5, of_worker", "1:", "  li gp, 1",
                "2:", "  lbu a0, 0(s2)", "  lbu a1, 0(s5)", "  bne a0, a1, failed", "  addi s2, s2, 1", "  addi s5, s5, 1", "  addi gp, gp, 1",
                "  li a0, 4097", "  bne gp, a0, 2b", "  j pass")
    program.out(*HANDLER)
    for name, worker in (("of_supervisor", False), ("of_worker", True)):
        program.data.append(f"{name}:")
        values = [expected(n, worker) for n in range(4096)]
        program.data += ["  .byte " + ", ".join(map(str, values[k:k + 64])) for k in range(0, 4096, 64)]
    program.words = 1024


def csr_values(program):
    """What a write leaves in each CSR, sets and clears, and the counters that instructions can write."""
    plain = [0, M32, 0x12345678, 0x80000001]
    same = lambda v: v
    common = {0x301: None, 0x340: same, 0x341: lambda v: v & ~3, 0x342: same, 0x343: same, 0x304: lambda v: 0, 0x310: lambda v: 0,
              0x320: lambda v: 0, 0x344: lambda v: 0, 0x7A0: lambda v: 0, 0x7A1: lambda v: 0, 0x323: lambda v: 0, 0xB03: lambda v: 0, 0xB9F: lambda v: 0}
    status = lambda worker: lambda v: 0x1800 | v & 0x88 | (0x80006000 if worker and v & 0x6000 else 0)
    supervisor = common | {0x300: status(False)} | {n: same for n in range(0x7C0, 0x7C8)}
    worker = common | {0x300: status(True), 0x001: lambda v: v & 31, 0x002: lambda v: v & 7, 0x003: lambda v: v & 255} | \
        {n: same for n in (*range(0x800, 0x804), *range(0x808, 0x80E))}
    program.out("  csrr s3, misa", "  andi s3, s3, 0x20", "  beqz s3, supervisor_part")
    test = 0

    def expect(register, value):
        nonlocal test
        test += 1
        program.out(f"  li gp, {test}", f"  li a1, 0x{value & M32:x}", f"  bne {register}, a1, failed")

    for role, rules in (("worker", worker), ("supervisor", supervisor)):
        program.out(f"{role}_part:")
        for number, rule in rules.items():
            if number == 0x301:
                rule = lambda v: 0x40801100 | (0x20 if role == "worker" else 0)
            for value in plain + ([0x2000, 0x4000, 0x6000, 0x8, 0x80, 0x88] if number == 0x300 else []):
                program.out(f"  li a0, 0x{value:x}", f"  csrw 0x{number:x}, a0", f"  csrr a0, 0x{number:x}")
                expect("a0", rule(value))
            if rule is same:  # set and clear give the old value and change the bits alone
                program.out(f"  li a0, 0xff00ff", f"  csrw 0x{number:x}, a0", "  li a0, 0x0ff0f000", f"  csrrs a2, 0x{number:x}, a0", f"  csrrc a3, 0x{number:x}, a0",
                            f"  csrrwi a4, 0x{number:x}, 21", f"  csrrsi a5, 0x{number:x}, 10", f"  csrrci a6, 0x{number:x}, 7", f"  csrr a7, 0x{number:x}")
                for register, value in (("a2", 0xFF00FF), ("a3", 0x0FFFF0FF), ("a4", 0xF00FF), ("a5", 21), ("a6", 31), ("a7", 24)):
                    expect(register, value)
            if number == 0x300:
                program.out("  li a0, 0x6000", "  csrw mstatus, a0")
        program.out("  j counters")
    program.out("counters:")
    # minstret: a write suppresses the count of the writing instruction; the low half carries into the high one.
    program.out("  csrwi minstreth, 0", "  li a0, -1", "  csrw minstret, a0", "  csrr a2, minstret", "  csrr a3, minstreth", "  csrr a4, minstret")
    for register, value in (("a2", M32), ("a3", 1), ("a4", 1)):
        expect(register, value)
    program.out("  csrwi minstret, 7", "  csrwi minstreth, 3", "  csrr a2, minstret", "  csrr a3, instreth", "  csrr a4, instret")
    for register, value in (("a2", 7), ("a3", 3), ("a4", 9)):
        expect(register, value)
    program.out("  csrwi minstret, 20", "  csrrsi a2, minstret, 1", "  csrr a3, minstret")
    expect("a2", 20)
    expect("a3", 21)
    # mcycle: v + c' - c; a half keeps the other as of its cycle.
    program.out("  csrwi mcycleh, 5", "  li a0, -8", "  csrw mcycle, a0", "  csrr a2, mcycle", "  csrr a3, mcycleh", "  csrr a4, cycle", "  csrr a5, cycleh",
                "  csrr a6, time", "  csrr a7, timeh")
    for register, value in (("a2", -2), ("a3", 6), ("a4", 10), ("a5", 6), ("a6", 22), ("a7", 6)):
        expect(register, value)
    program.out("  csrwi mcycleh, 1", "  csrr a2, mcycleh", "  li a0, 100", "  csrrw a3, mcycle, a0", "  csrr a4, mcycle", "  sub a3, a3, a6")
    expect("a2", 1)
    expect("a4", 106)
    program.words = 1


def pairs(program):
    """Which two words share an issue, seen by cycles, and that the result is that of the two in order."""
    program.data += ["  .balign 16", "pair_data:", "  .word 0x40000000, 0x40400000, 0x40800000, 0x40a00000, 0, 0, 0, 0"]
    setup = ["  la a0, pair_data", "  li a1, 0x3f800000", "  x_sset 0, a0, zero", "  x_sset 1, a0, zero", "  addi a2, a0, 16", "  x_sset 2, a2, zero",
             "  li a4, 81", "  li a5, 3"] + [f"  fmv.w.x f{n}, a1" for n in range(4, 16)]

    def timed(slots, first, second, results=()):
        """`slots` of both together; results: (register, value) afterwards."""
        program.out(*setup, "  .balign 8", "  nop", "  csrr a6, mcycle", f"  {first}", f"  {second}", "  csrr a7, mcycle", "  sub a6, a7, a6")
        timed.test += 1
        program.out(f"  li gp, {timed.test}", f"  li a1, {6 * (slots + 1)}", "  bne a6, a1, failed")
        for register, value in results:
            program.out(f"  fmv.x.w a6, {register}" if register[0] == "f" else f"  mv a6, {register}", f"  li a1, 0x{value:x}", "  bne a6, a1, failed")

    timed.test = 0
    one, two, three = 0x3F800000, 0x40000000, 0x40400000
    add = "fadd.s f12, f13, f14"
    timed(1, "addi a4, a4, 1", add, [("a4", 82), ("f12", two)])
    for main in ("lui a4, 5", "auipc a4, 0", "mul a4, a4, a5", "mulhu a4, a4, a5", "lw a4, 0(a0)", "sb a4, 20(a0)", "sltu a4, a5, a4",
                 "x_clz a4, a4", "x_shuf8 a4, a4, a5", "x_sset 0, a0, zero", "flw f4, 0(a0)", "fsw f4, 16(a0)", "x_ld64 f4, 8(a0)",
                 "x_ld128 f4, 8(a0)", "x_st64 f4, 0(a2)", "x_ld2 f4, f6, X_STEP_0, X_STEP_0", "x_ld2st f4, f6, f8, X_STEP_0, X_STEP_0, X_STEP_0"):
        timed(1, main, add, [("f12", two)])
    for solo in ("fence", "csrr a4, mscratch", "div a4, a4, a5", "remu a4, a4, a5", "fmv.w.x f4, a1", "fmv.x.w a4, f4", "feq.s a4, f4, f5",
                 "fcvt.s.w f4, a4", "fclass.s a4, f4"):
        slots = 6 if solo[:3] in ("div", "rem") else 1
        timed(slots + 1, solo, add, [("f12", two)])
        timed(slots + 1, "addi a3, zero, 0", solo)
    # AUX first, or two of a kind: one after the other.
    timed(2, add, "addi a4, a4, 1", [("a4", 82)])
    timed(2, add, "fadd.s f11, f12, f13", [("f11", three)])
    timed(2, "addi a4, a4, 1", "addi a4, a4, 1", [("a4", 83)])
    # A register that MAIN writes and AUX reads or writes; pairs and quads count as each of theirs.
    timed(2, "flw f13, 0(a0)", add, [("f12", three)])
    timed(2, "flw f12, 0(a0)", add, [("f12", two)])
    timed(1, "fsw f12, 16(a0)", "fadd.s f12, f12, f14", [("f12", two)])
    timed(2, "x_ld64 f12, 0(a0)", "fadd.s f4, f13, f13", [("f4", 0x40C00000)])
    timed(1, "x_ld64 f12, 0(a0)", "fadd.s f4, f14, f11", [("f4", two), ("f12", two), ("f13", three)])
    timed(2, "x_ld128 f12, 0(a0)", "fadd.s f4, f15, f15", [("f4", 0x41200000)])
    timed(1, "x_ld128 f12, 0(a0)", "fadd.s f4, f11, f10", [("f4", two)])
    timed(2, "x_ld2 f4, f6, X_STEP_0, X_STEP_0", "x_add_f32v2 f8, f6, f10", [("f8", three)])
    timed(2, "x_ld2 f4, f6, X_STEP_0, X_STEP_0", "x_mv64 f4, f10", [("f4", one)])
    timed(2, "flw f9, 0(a0)", "x_cvt_f32v4_f16v4 f8, f4")
    timed(2, "flw f9, 0(a0)", "x_cvt_f16v4_f32v4 f4, f8")
    timed(1, "flw f12, 0(a0)", "x_cvt_f16v4_f32v4 f4, f8")
    timed(2, "flw f9, 0(a0)", "x_amp_io f4, f8, 0", [("f4", 0)])
    timed(1, "x_ldst f4, f6, X_STEP_0, X_STEP_0", "x_mv64 f6, f8", [("f6", one), ("f4", two)])
    timed(2, "flw f6, 0(a0)", "fmadd.s f4, f5, f7, f6", [("f4", three)])
    # What a pair costs is what AUX costs.
    for slots, text in ((5, "fdiv.s f12, f13, f14"), (5, "fsqrt.s f12, f13"), (3, "x_exp_f32 f12, f13"), (6, "x_log_f32 f12, f13"), (5, "x_tanh_f32 f12, f13"),
                        (5, "x_sigmoid_f32 f12, f13"), (3, "x_rsqrt_f32 f12, f13"), (2, "x_exp_f16v2 f12, f13"), (2, "x_log_f16v2 f12, f13"),
                        (1, "x_tanh_f16v2 f12, f13"), (2, "x_sigmoid_f16v2 f12, f13"), (1, "x_mac_f16v4 f12, f4, f6, f8"), (1, "x_urand64 f12")):
        timed(slots, "addi a4, a4, 1", text, [("a4", 82)])
        timed(slots + 1, text, "addi a4, a4, 1", [("a4", 82)])
    # At pc = 4 mod 8 nothing pairs: MAIN there, AUX at the next aligned address, MAIN behind it.
    program.out(*setup, "  .balign 8", "  csrr a6, mcycle", "  addi a4, a4, 1", f"  {add}", "  addi a4, a4, 1", "  csrr a7, mcycle", "  sub a6, a7, a6", "  li gp, 900",
                "  li a1, 24", "  bne a6, a1, failed")
    program.words = 1


PROGRAMS = {"csr_map": csr_map, "csr_values": csr_values, "pairs": pairs}
