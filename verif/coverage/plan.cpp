// The points. What cannot happen by the rules of docs/machine is left out here, with the reason beside it.
#include "verif/coverage/plan.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "hw/generated/isa.h"
#include "hw/generated/machine.h"
#include "verif/coverage/operands.h"

namespace tessera::coverage {

using isa::Class;
using isa::File;
using isa::Info;
using isa::Op;
using isa::Role;

namespace {

constexpr std::array<const char*, 2> kRoles = {"supervisor", "worker"};

/// Calls `f` with each instruction that is implemented.
template <typename F>
void each_op(const F& f) {
  for (unsigned n = 1; n < isa::kOpCount; ++n) {
    if (isa::kTable[n].implemented) f(static_cast<Op>(n), isa::kTable[n]);
  }
}

bool has_role(const Info& info, unsigned role) {
  const bool f = info.rd.file == File::f || info.rs1.file == File::f || info.rs2.file == File::f;
  if (role == 0) return info.role != Role::worker && !f;
  return info.role != Role::supervisor;
}

}  // namespace

void Plan::group(const char* name, const char* text) { groups_.push_back({name, text, points_.size(), 0}); }

void Plan::point(const std::string& name) {
  if (!index_.emplace(name, points_.size()).second) throw std::logic_error("coverage point named twice: " + name);
  points_.push_back(name);
  ++groups_.back().count;
}

std::size_t Plan::at(const std::string& name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) throw std::logic_error("no such coverage point: " + name);
  return found->second;
}

Plan::Plan() {
  instructions();
  operands();
  pairs();
  slots();
  waits();
  traps();
  loops();
  streams();
  random_and_matrix();
  csrs();
  exchange();
  packets();
  debug();
}

void Plan::instructions() {
  group("op", "Each instruction retires in each role that has it (ecall and ebreak only trap).");
  each_op([&](Op op, const Info& info) {
    if (op == Op::ecall || op == Op::ebreak) return;
    for (unsigned role = 0; role < 2; ++role) {
      if (has_role(info, role)) point(fmt::format("op/{}/{}", info.name, kRoles[role]));
    }
  });
}

void Plan::operands() {
  group("value",
        "Each source operand that an instruction computes with holds each class of value: f16 in any lane, f32, x "
        "registers. No value: accesses (their addresses are in other groups), moves that keep bits.");
  each_op([&](Op op, const Info& info) {
    const auto types = operand_types(op);
    const unsigned opcode = info.match & 0x7f;
    const bool computes = opcode == 0x33 || opcode == 0x13 || opcode == 0x63 || opcode == 0x53 || opcode == 0x43 ||
                          opcode == 0x47 || opcode == 0x4b || opcode == 0x4f || opcode == 0x5b || opcode == 0x7b ||
                          (opcode == 0x0b && info.klass == Class::main_ && info.imm == isa::Imm::none &&
                           op != Op::x_sset && op != Op::x_rpt && op != Op::x_rpti);
    if (!computes) return;
    for (unsigned k = 0; k < 3; ++k) {
      const std::string prefix = fmt::format("value/{}/rs{}", info.name, k + 1);
      if (types[k] == Type::integer) points(prefix, kIntegerClasses);
      if (types[k] == Type::half || types[k] == Type::single) points(prefix, kFloatClasses);
    }
  });
  group("immediate", "Each class of immediate of each instruction that has one; shift amounts 0, between, 31.");
  each_op([&](Op, const Info& info) {
    const unsigned opcode = info.match & 0x7f;
    const bool plain = opcode == 0x13 || opcode == 0x03 || opcode == 0x07 || opcode == 0x23 || opcode == 0x27;
    if (info.imm == isa::Imm::shamt) points(fmt::format("immediate/{}", info.name), std::array{"0", "between", "31"});
    if (plain && (info.imm == isa::Imm::i || info.imm == isa::Imm::s))
      points(fmt::format("immediate/{}", info.name), kImmediateClasses);
  });
  group("register",
        "Registers that fall together: destination x0, destination = first, second, third source, first = second "
        "source.");
  each_op([&](Op op, const Info& info) {
    const unsigned opcode = info.match & 0x7f;
    if (opcode == 0x2b || opcode == 0x73 || opcode == 0x6f || opcode == 0x67 || op == Op::x_amp_ldw || !info.rd.write)
      return;
    if (opcode == 0x0b && info.klass == Class::solo) return;
    if (info.rd.file == File::x) point(fmt::format("register/{}/rd=x0", info.name));
    const std::array<isa::Reg, 3> sources{info.rs1, info.rs2, info.rs3};
    for (unsigned k = 0; k < 3; ++k) {
      if (sources[k].read && sources[k].file == info.rd.file)
        point(fmt::format("register/{}/rd=rs{}", info.name, k + 1));
    }
    if (info.rs1.read && info.rs2.read && info.rs1.file == info.rs2.file)
      point(fmt::format("register/{}/rs1=rs2", info.name));
  });
  group("rounding", "Each F instruction that rounds, in each mode, static and by frm.");
  each_op([&](Op op, const Info& info) {
    if (!rounds(op)) return;
    for (const char* how : {"static", "frm"})
      points(fmt::format("rounding/{}/{}", info.name, how), std::array{"rne", "rtz", "rdn", "rup", "rmm"});
  });
  group("flags", "Each fflag that an F instruction can raise.");
  each_op([&](Op op, const Info& info) {
    constexpr std::array<const char*, 5> kFlags = {"NX", "UF", "OF", "DZ", "NV"};
    for (unsigned k = 0; k < 5; ++k) {
      if ((possible_flags(op) >> k & 1) != 0) point(fmt::format("flags/{}/{}", info.name, kFlags[k]));
    }
  });
  group("result", "Sums, products and fused operations whose result is of each class; a NaN is always quiet.");
  each_op([&](Op op, const Info& info) {
    if (info.klass != Class::aux || (aux_kind(op) > 2 && aux_kind(op) != 4 && aux_kind(op) != 5 && aux_kind(op) != 6))
      return;
    const std::string_view name = info.name;
    for (const char* stem :
         {"fadd", "fsub", "fmul", "fm", "fnm", "fdiv", "x.add", "x.sub", "x.mul", "x.mac", "x.sadd"}) {
      if (name.substr(0, std::string_view(stem).size()) == stem && name != "fmin.s" && name != "fmax.s" &&
          !has(fmt::format("result/{}/zero", name)))
        points(fmt::format("result/{}", name), std::array{"zero", "subnormal", "normal", "infinity", "quiet-nan"});
    }
  });
}

void Plan::pairs() {
  group("pair",
        "Each MAIN and each AUX instruction in a pair; each kind of MAIN beside each kind of AUX; pairs that the "
        "register rule refuses; pairs of each number of slots.");
  each_op([&](Op, const Info& info) {
    if (info.klass == Class::main_ && info.role != Role::supervisor) point(fmt::format("pair/main/{}", info.name));
    if (info.klass == Class::aux) point(fmt::format("pair/aux/{}", info.name));
  });
  std::array<bool, kMainKinds.size()> mains{};
  std::array<bool, kAuxKinds.size()> auxes{};
  each_op([&](Op op, const Info& info) {
    if (info.klass == Class::main_ && info.role != Role::supervisor) mains[main_kind(op)] = true;
    if (info.klass == Class::aux) auxes[aux_kind(op)] = true;
  });
  for (std::size_t m = 0; m < mains.size(); ++m) {
    for (std::size_t a = 0; a < auxes.size(); ++a) {
      if (mains[m] && auxes[a]) point(fmt::format("pair/kinds/{}+{}", kMainKinds[m], kAuxKinds[a]));
    }
  }
  points("pair/refused", std::array{"aux-reads-it", "aux-writes-it"});
  std::array<bool, 8> slots{};
  each_op([&](Op, const Info& info) {
    if (info.klass == Class::aux && !slots[info.slots]) {
      slots[info.slots] = true;
      point(fmt::format("pair/slots/{}", info.slots));
    }
  });
}

void Plan::slots() {
  group(
      "slot",
      "The set of running workers (bits 6..1) when the supervisor issues, all but the full one; each slot of the "
      "supervisor; the distance of its issues behind a one-slot instruction; each instruction of control in each slot; "
      "multi-slot instructions of several contexts at once.");
  for (unsigned mask = 0; mask < 63; ++mask) point(fmt::format("slot/running/{:06b}", mask));
  for (unsigned s = 0; s < 6; ++s) point(fmt::format("slot/supervisor/{}", s));
  for (unsigned d = 6; d < 12; ++d) point(fmt::format("slot/distance/{}", d));
  each_op([&](Op op, const Info& info) {
    const bool control = info.klass == Class::solo && (info.match & 0x7f) == 0x0b;
    if (!control) return;
    for (unsigned s = 0; s < 6; ++s) {
      if (op != Op::x_sync) point(fmt::format("slot/{}/{}", info.name, s));
    }
    if (op == Op::x_sync) {
      for (const char* zone : {"local", "internal", "group1", "host"}) {
        for (unsigned s = 0; s < 6; ++s) point(fmt::format("slot/x.sync.{}/{}", zone, s));
      }
    }
  });
  for (unsigned n = 2; n < 7; ++n) point(fmt::format("slot/multi-slot-at-once/{}", n));
}

void Plan::waits() {
  group("wait",
        "Instructions that wait for workers: with none running, or some; x.run of each worker and of all; x.delay of "
        "each "
        "kind; syncs of each zone with each vote and answer.");
  for (const char* name : {"x.run", "x.run-all", "x.exchange", "x.packet", "x.sync.local", "x.sync.internal"}) {
    points(fmt::format("wait/{}", name), std::array{"none", "some"});
  }
  if (isa::info(Op::x_amp_ldw).implemented) points("wait/x.amp.ldw", std::array{"none", "some"});
  for (unsigned w = 1; w < 7; ++w) point(fmt::format("wait/run-of/{}", w));
  point("wait/run-of/all");
  points("wait/delay", std::array{"below-6", "6", "7-to-11", "above"});
  for (const char* zone : {"internal", "group1", "host"})
    points(fmt::format("wait/sync/{}", zone), std::array{"vote-0", "vote-1"});
  points("wait/exit-code", std::array{"zero", "other"});
}

void Plan::traps() {
  group("trap",
        "Each cause in each role that can have it, with a handler and without; as MAIN of a pair, as AUX, in an active "
        "loop; each reason of cause 2; each instruction that traps in a loop.");
  struct Cause {
    unsigned number;
    bool supervisor, worker, main, aux;
  };
  // Supervisor only: 25 and the exchange and packet faults. Worker only: 26. A pair has no jump, ecall or ebreak.
  constexpr Cause kCauses[] = {
      {0, true, true, false, false},   {1, true, true, false, false},   {2, true, true, true, true},
      {3, true, true, false, false},   {4, true, true, true, false},    {5, true, true, true, false},
      {6, true, true, true, false},    {7, true, true, true, false},    {11, true, true, false, false},
      {25, true, false, false, false}, {26, false, true, true, false},  {27, true, false, false, false},
      {28, true, false, false, false}, {29, true, false, false, false}, {30, true, false, false, false}};
  const bool loops = isa::info(Op::x_rpt).implemented;
  for (const Cause& c : kCauses) {
    if (c.number == 26 && !loops) continue;
    for (unsigned role = 0; role < 2; ++role) {
      if (role == 0 ? c.supervisor : c.worker)
        points(fmt::format("trap/{}/{}", c.number, kRoles[role]), std::array{"handler", "none"});
    }
    if (c.main) point(fmt::format("trap/{}/main-of-pair", c.number));
    if (c.aux) point(fmt::format("trap/{}/aux-of-pair", c.number));
    // Cause 0 needs a jump and 3, 11 are transfers: in a loop they are 26. A fetch leaves the loop first.
    if (loops && c.worker && c.number != 0 && c.number != 1 && c.number != 3 && c.number != 11)
      point(fmt::format("trap/{}/in-loop", c.number));
  }
  points("trap/illegal",
         std::array{"encoding", "csr-absent", "csr-read-only", "fs-off", "reserved-frm", "role", "f-in-supervisor"});
  if (!loops) return;
  point("trap/illegal/repeat-position");
  for (const char* name : {"beq", "bne", "jal", "jalr", "x.rpt", "x.rpti", "x.exit", "mret", "ecall", "ebreak"})
    point(fmt::format("trap/control-in-loop/{}", name));
}

void Plan::loops() {
  if (!isa::info(Op::x_rpt).implemented) return;
  group(
      "loop",
      "x.rpt and x.rpti: place, count, length of the body in doublewords, what stands last in the body, what stands in "
      "it, how it ends, remaining rounds read in it.");
  for (const char* name : {"x.rpt", "x.rpti"}) {
    points(fmt::format("loop/{}/place", name), std::array{"alone", "pair"});
    points(fmt::format("loop/{}/count", name), std::array{"0", "1", "2", "3-to-31", "above"});
  }
  points("loop/body", std::array{"1", "2", "3-to-8", "9-to-63", "64"});
  points("loop/last", std::array{"pair", "single", "multi-slot", "multi-slot-pair"});
  points("loop/holds", std::array{"csr", "divide", "stream", "store"});
  points("loop/ends", std::array{"count", "trap", "count-0-with-aux"});
  points("loop/reads-xrpt", std::array{"inside", "after-trap", "outside"});
}

void Plan::streams() {
  if (!isa::info(Op::x_ld2).implemented) return;
  group("stream",
        "Streams and post-increment accesses: each pointer with each step; misaligned, outside below and above, the "
        "first "
        "and last doubleword of the SRAM, for each pointer; both strides negative and positive; two faults at once.");
  struct Kind {
    Op op;
    std::vector<unsigned> pointers;
  };
  const Kind kKinds[] = {{Op::x_ld2, {0, 1}}, {Op::x_ldst, {0, 2}}, {Op::x_ld2st, {0, 1, 2}}};
  for (const Kind& kind : kKinds) {
    for (const unsigned k : kind.pointers) {
      const std::string prefix = fmt::format("stream/{}/s{}", isa::info(kind.op).name, k);
      points(prefix,
             std::array{"step-8", "step-a", "step-b", "step-0", "misaligned", "below", "above", "first", "last"});
    }
    point(fmt::format("stream/{}/two-faults", isa::info(kind.op).name));
  }
  for (const char* name : {"x.ldst", "x.ld2st"}) point(fmt::format("stream/{}/load-and-store-meet", name));
  for (unsigned k = 0; k < 3; ++k) {
    for (const char* stride : {"a", "b"})
      points(fmt::format("stream/stride-{}{}", stride, k), std::array{"negative", "zero", "positive"});
  }
  for (const Op op : {Op::x_ld64, Op::x_ld128, Op::x_st64, Op::x_ld64_r, Op::x_ld128_r, Op::x_st64_r}) {
    const std::string prefix = fmt::format("stream/{}", isa::info(op).name);
    points(prefix,
           std::array{"step-negative", "step-zero", "step-positive", "misaligned", "below", "above", "first", "last"});
  }
  for (const Op op : {Op::x_ld64_r, Op::x_ld128_r, Op::x_st64_r})
    point(fmt::format("stream/{}/rs1=rs2", isa::info(op).name));
}

void Plan::random_and_matrix() {
  if (isa::info(Op::x_urand32).implemented) {
    group("random", "Draws of each instruction; of each worker; after a write of each part of the state.");
    for (const Op op :
         {Op::x_urand32, Op::x_urand64, Op::x_cvt_sr_f16_f32, Op::x_cvt_sr_f16v2_f32v2, Op::x_cvt_sr_f16v4_f32v4})
      point(fmt::format("random/draw/{}", isa::info(op).name));
    for (unsigned w = 1; w < 7; ++w) point(fmt::format("random/worker/{}", w));
    for (unsigned k = 0; k < 4; ++k) point(fmt::format("random/after-write/xrng{}", k));
  }
  if (!isa::info(Op::x_amp_f16).implemented) return;
  group(
      "amp",
      "Each step of the matrix unit in each phase, of each worker; accumulators of each class after a last phase; the "
      "same phase twice, phases out of order; a set that x.run clears; weights of each class, loaded with the pointer "
      "kept and moved.");
  for (const Op op : {Op::x_amp_f16, Op::x_amp_f32, Op::x_amp_g, Op::x_amp_io}) {
    for (unsigned p = 0; p < (op == Op::x_amp_f32 ? 8u : 4u); ++p)
      point(fmt::format("amp/{}/phase-{}", isa::info(op).name, p));
  }
  for (unsigned w = 1; w < 7; ++w) point(fmt::format("amp/worker/{}", w));
  points("amp/accumulator", std::array{"zero", "subnormal", "normal", "infinity", "quiet-nan"});
  points("amp/order", std::array{"in-order", "repeated", "skipped", "back"});
  points("amp/run", std::array{"clears"});
  points("amp/weight-f16", kFloatClasses);
  points("amp/weight-f32", kFloatClasses);
  points("amp/x.amp.ldw", std::array{"rd=rs1", "rd=x0", "misaligned", "outside", "twice"});
}

void Plan::csrs() {
  group("csr",
        "Each CSR read and written in each role that has it, and tried in the role that has not; counters that always "
        "read 0 count as one for each name.");
  for (unsigned n = 0; n < 4096; ++n) {
    const std::string name = csr_family(n);
    if (name.empty()) continue;
    for (unsigned role = 0; role < 2; ++role) {
      const CsrAccess access = csr_access(n, role == 0);
      const std::string prefix = fmt::format("csr/{}/{}", name, kRoles[role]);
      if (access == CsrAccess::absent) {
        if (!has(prefix + "/absent")) point(prefix + "/absent");
      } else if (!has(prefix + "/read")) {
        points(prefix, std::array{"read", "write"});
      }
    }
  }
}

void Plan::exchange() {
  group("exchange",
        "Descriptors of each kind, base and length; starts at the earliest legal cycles; x.exchange at and behind its "
        "release; each fault with its place; words to itself, to several, to nobody; receivers told by xsource.");
  for (const char* list : {"send", "receive"}) {
    const bool receive = list[0] == 'r';
    points(fmt::format("exchange/{}/kind", list), receive ? std::vector<const char*>{"linear", "block", "sweep"}
                                                          : std::vector<const char*>{"linear", "block"});
    for (unsigned b = 0; b < 4; ++b) point(fmt::format("exchange/{}/base/{}", list, b));
    points(fmt::format("exchange/{}/words", list), std::array{"1", "2", "3-to-15", "above"});
    points(fmt::format("exchange/{}/first-start", list), std::array{"at-x+12", "later"});
    points(fmt::format("exchange/{}/next-start", list), std::array{"at-end", "at-2", "at-4-two-words", "later"});
    points(fmt::format("exchange/{}/block", list),
           std::array{"count-0", "negative-stride1", "negative-stride2", "count2-above-1"});
    points(fmt::format("exchange/{}/overrun", list), std::array{"first", "spacing", "spacing-two-words", "before-end"});
    points(fmt::format("exchange/{}/bad", list),
           receive ? std::vector<const char*>{"kind", "address", "address-in-run", "cut-in-two", "source"}
                   : std::vector<const char*>{"kind", "address", "address-in-run", "cut-in-two"});
  }
  points("exchange/sweep", std::array{"count-0", "negative-step", "wrap", "no-wrap", "negative-stride"});
  points("exchange/table", std::array{"empty", "zero", "misaligned", "outside", "send-only", "receive-only", "both"});
  points("exchange/fault", std::array{"27-underrun", "both-lists", "receive-first", "send-first"});
  points("exchange/issue", std::array{"at-release", "within-30", "later", "second", "before-any"});
  points("exchange/who", std::array{"itself", "several", "nobody", "xsource"});
  for (unsigned s = 0; s < 6; ++s) point(fmt::format("exchange/release-slot/{}", s));
  points("exchange/ends", std::array{"x+12", "l+4"});
}

void Plan::packets() {
  group(
      "packet",
      "Packet windows: writes and reads, local and remote bases, sizes, places of the remote side, how a window ends.");
  points("packet/kind", std::array{"write", "read"});
  for (unsigned b = 0; b < 4; ++b) point(fmt::format("packet/local-base/{}", b));
  for (unsigned b = 0; b < 4; ++b) point(fmt::format("packet/remote-base/{}", b));
  points("packet/words", std::array{"1", "2-to-256", "above-256"});
  points("packet/remote", std::array{"host", "tile"});
  points("packet/crosses", std::array{"1-KiB"});
  points("packet/expects", std::array{"none", "some"});
  points("packet/window", std::array{"empty", "table-0", "complete", "fault"});
}

void Plan::debug() {
  group("debug",
        "Debug port: halts and resumes at each offset to the slot of a worker and at each slot of the supervisor; what "
        "is "
        "stepped; what a halt meets.");
  for (const char* what : {"halt", "resume"}) {
    for (unsigned s = 0; s < 6; ++s) {
      point(fmt::format("debug/{}/supervisor/{}", what, s));
      point(fmt::format("debug/{}/worker/{}", what, s));
    }
  }
  points("debug/halt-meets", std::array{"idle", "running", "excepted", "halted", "sync-wait"});
  points("debug/step", std::array{"supervisor", "single", "pair", "trap", "multi-slot"});
  points("debug/breakpoint", std::array{"supervisor", "worker"});
  points("debug/write", std::array{"x", "f", "csr", "pc"});
}

}  // namespace tessera::coverage
