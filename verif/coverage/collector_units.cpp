// Points of traps, CSRs, loops, streams, random numbers and the matrix unit, and the shadow of a context's state.
#include <fmt/format.h>

#include "hw/generated/machine.h"
#include "verif/coverage/collector.h"

namespace tessera::coverage {

using isa::Class;
using isa::File;
using isa::Op;

namespace {

constexpr std::array<const char*, 2> kRoles = {"supervisor", "worker"};

bool touches_f(const isa::Info& info) {
  return info.rd.file == File::f || info.rs1.file == File::f || info.rs2.file == File::f || info.rs3.file == File::f;
}
bool is_stream(Op op) { return op == Op::x_ld2 || op == Op::x_ldst || op == Op::x_ld2st; }
bool is_post(Op op) { return (isa::info(op).match & 0x7f) == 0x2b && !is_stream(op); }
bool uses_stream(Op op, unsigned k) {
  return is_stream(op) && (k == 0 || (k == 1 && op != Op::x_ldst) || (k == 2 && op != Op::x_ld2));
}

}  // namespace

void Collector::trap(Context& c, const RetireRecord& record, Op op) {
  const unsigned role = record.context == 0 ? 0 : 1;
  const auto known = [this](const std::string& name) {
    if (totals_->plan().has(name)) hit(name);
  };
  known(fmt::format("trap/{}/{}/{}", record.cause, kRoles[role], c.handler ? "handler" : "none"));
  if (record.paired) known(fmt::format("trap/{}/{}-of-pair", record.cause, record.pc % 8 == 0 ? "main" : "aux"));
  if (c.looping) known(fmt::format("trap/{}/in-loop", record.cause));
  if (record.cause == trap::illegal_instruction) illegal(c, record, op);
  if (record.cause == trap::repeat_control) known(fmt::format("trap/control-in-loop/{}", isa::info(op).name));
  if (record.cause == trap::sync_misuse && op == Op::x_exchange)
    hit(release_ ? "exchange/issue/second" : "exchange/issue/before-any");
  if (record.cause == trap::exchange_bad && op == Op::x_exchange && record.tval == c.x[isa::rs1(record.word)])
    hit(record.tval % 8 != 0 ? "exchange/table/misaligned" : "exchange/table/outside");
  if (op == Op::x_amp_ldw && record.cause == trap::load_misaligned) hit("amp/x.amp.ldw/misaligned");
  if (op == Op::x_amp_ldw && record.cause == trap::load_access) hit("amp/x.amp.ldw/outside");

  // Accesses that fault: which pointer, and where it points.
  const bool misaligned = record.cause == trap::load_misaligned || record.cause == trap::store_misaligned;
  const bool outside = record.cause == trap::load_access || record.cause == trap::store_access;
  if (misaligned || outside) {
    const char* where = misaligned ? "misaligned" : record.tval < kSramBase ? "below" : "above";
    if (is_post(op)) hit(fmt::format("stream/{}/{}", isa::info(op).name, where));
    unsigned bad = 0;
    for (unsigned k = 0; k < 3; ++k) {
      if (!uses_stream(op, k)) continue;
      const bool wrong = c.s[k] % 8 != 0 || c.s[k] < kSramBase || c.s[k] >= kSramBase + config_.sram_bytes;
      if (wrong && bad == 0) hit(fmt::format("stream/{}/s{}/{}", isa::info(op).name, k, where));
      bad += wrong ? 1 : 0;
    }
    if (bad > 1) hit(fmt::format("stream/{}/two-faults", isa::info(op).name));
  }
  if (c.looping) {
    hit("loop/ends/trap");
    c.loop_broken = true;
  }
  c.looping = false;
}

void Collector::illegal(Context& c, const RetireRecord& record, Op op) {
  const isa::Info& info = isa::info(op);
  const bool supervisor = record.context == 0;
  if (op == Op::illegal) return hit("trap/illegal/encoding");
  if (info.role == (supervisor ? isa::Role::worker : isa::Role::supervisor))
    return hit(supervisor && touches_f(info) ? "trap/illegal/f-in-supervisor" : "trap/illegal/role");
  if (supervisor && touches_f(info)) return hit("trap/illegal/f-in-supervisor");
  if (info.imm == isa::Imm::csr) {
    const unsigned number = isa::csr_number(record.word);
    const CsrAccess access = csr_access(number, supervisor);
    const bool floating = number >= csr::fflags && number <= csr::fcsr;
    if (access == CsrAccess::absent) {
      const std::string name = csr_family(number);
      if (!name.empty()) hit(fmt::format("csr/{}/{}/absent", name, kRoles[supervisor ? 0 : 1]));
      return hit("trap/illegal/csr-absent");
    }
    if (floating && !c.fs) return hit("trap/illegal/fs-off");
    hit(fmt::format("csr/{}/{}/write", csr_family(number), kRoles[supervisor ? 0 : 1]));
    return hit("trap/illegal/csr-read-only");
  }
  if ((op == Op::x_rpt || op == Op::x_rpti) && record.pc % 8 == 0 && !record.paired)
    return hit("trap/illegal/repeat-position");
  if (touches_f(info) && !c.fs) return hit("trap/illegal/fs-off");
  if (rounds(op)) hit("trap/illegal/reserved-frm");
}

void Collector::csr(Context& c, const RetireRecord& record, Op op) {
  const unsigned number = isa::csr_number(record.word);
  const std::string name = csr_family(number);
  const std::string prefix = fmt::format("csr/{}/{}", name, kRoles[record.context == 0 ? 0 : 1]);
  if (name.empty() || csr_access(number, record.context == 0) == CsrAccess::absent) return;
  const bool replaces = op == Op::csrrw || op == Op::csrrwi;
  if (!replaces || isa::rd(record.word) != 0) hit(prefix + "/read");
  const bool writes = replaces || isa::rs1(record.word) != 0;
  if (writes) hit(prefix + "/write");
  if (number == csr::xrpt && isa::rd(record.word) != 0) {
    hit(c.looping       ? "loop/reads-xrpt/inside"
        : c.loop_broken ? "loop/reads-xrpt/after-trap"
                        : "loop/reads-xrpt/outside");
  }
  if (writes && number >= csr::xrng0 && number < csr::xrng0 + 4) c.rng_written |= 1u << (number - csr::xrng0);
}

void Collector::loop(Context& c, const RetireRecord& record, Op op) {
  const isa::Info& info = isa::info(op);
  if (op == Op::x_rpt || op == Op::x_rpti) {
    const std::uint32_t rounds = op == Op::x_rpti ? isa::rpt_count(record.word) : c.x[isa::rs1(record.word)];
    const std::uint32_t length = record.word >> 20;
    hit(fmt::format("loop/{}/place/{}", info.name, record.paired ? "pair" : "alone"));
    hit(fmt::format("loop/{}/count/{}", info.name,
                    rounds == 0   ? "0"
                    : rounds == 1 ? "1"
                    : rounds == 2 ? "2"
                    : rounds < 32 ? "3-to-31"
                                  : "above"));
    if (rounds == 0 && record.paired) hit("loop/ends/count-0-with-aux");
    if (rounds == 0) {
      c.looping = c.loop_broken = false;
      return;
    }
    hit(fmt::format("loop/body/{}", length == 1   ? "1"
                                    : length == 2 ? "2"
                                    : length <= 8 ? "3-to-8"
                                    : length < 64 ? "9-to-63"
                                                  : "64"));
    c.looping = true;
    c.loop_broken = false;
    c.rounds = rounds;
    c.loop_end = (record.pc & ~7u) + 8 + 8 * length;
    return;
  }
  if (!c.looping) return;
  const unsigned opcode = info.match & 0x7f;
  if (info.imm == isa::Imm::csr) hit("loop/holds/csr");
  if (op == Op::div || op == Op::divu || op == Op::rem || op == Op::remu) hit("loop/holds/divide");
  if (is_stream(op)) hit("loop/holds/stream");
  if (opcode == 0x23) hit("loop/holds/store");
  if (record.pc + 4 != c.loop_end) return;
  hit(record.paired    ? info.slots > 1 ? "loop/last/multi-slot-pair" : "loop/last/pair"
      : info.slots > 1 ? "loop/last/multi-slot"
                       : "loop/last/single");
  if (--c.rounds == 0) {
    hit("loop/ends/count");
    c.looping = false;
  }
}

void Collector::accesses(const RetireRecord& record, Op op) {
  // Pointers of the streams, or the one of a post-increment access, as they were.
  std::array<std::pair<bool, Address>, 3> at{};
  if (is_post(op)) {
    at[0] = {true, record.mem_write ? record.write_addr : record.read_addr[0]};
  } else {
    unsigned reads = 0;
    for (unsigned k = 0; k < 2; ++k) {
      if (uses_stream(op, k)) at[k] = {true, record.read_addr[reads++]};
    }
    if (uses_stream(op, 2)) at[2] = {true, record.write_addr};
  }
  for (unsigned k = 0; k < 3; ++k) {
    if (!at[k].first) continue;
    const std::string prefix = is_post(op) ? fmt::format("stream/{}", isa::info(op).name)
                                           : fmt::format("stream/{}/s{}", isa::info(op).name, k);
    const Address last = kSramBase + config_.sram_bytes - (op == Op::x_ld128 || op == Op::x_ld128_r ? 16 : 8);
    if (at[k].second == kSramBase) hit(prefix + "/first");
    if (at[k].second == last) hit(prefix + "/last");
  }
  if (is_stream(op) && at[2].first && (at[2].second == at[0].second || (at[1].first && at[1].second == at[2].second)))
    hit(fmt::format("stream/{}/load-and-store-meet", isa::info(op).name));
}

void Collector::stream(Context& c, const RetireRecord& record, Op op) {
  if (is_stream(op)) {
    constexpr std::array<const char*, 4> kSteps = {"step-8", "step-a", "step-b", "step-0"};
    for (unsigned k = 0; k < 3; ++k) {
      if (!uses_stream(op, k)) continue;
      const unsigned step = isa::stream_step(record.word, k);
      hit(fmt::format("stream/{}/s{}/{}", isa::info(op).name, k, kSteps[step]));
      if (step != 1 && step != 2) continue;
      const auto stride = static_cast<std::int16_t>(c.strides[k] >> (step == 2 ? 16 : 0));
      hit(fmt::format("stream/stride-{}{}/{}", step == 1 ? 'a' : 'b', k,
                      stride < 0    ? "negative"
                      : stride == 0 ? "zero"
                                    : "positive"));
    }
    accesses(record, op);
  }
  if (is_post(op)) {
    const isa::Info& info = isa::info(op);
    const std::uint32_t step =
        info.imm == isa::Imm::none ? c.x[isa::rs2(record.word)] : isa::immediate(info.imm, record.word);
    hit(fmt::format("stream/{}/{}", info.name,
                    step == 0         ? "step-zero"
                    : step >> 31 != 0 ? "step-negative"
                                      : "step-positive"));
    if (info.imm == isa::Imm::none && isa::rs1(record.word) == isa::rs2(record.word))
      hit(fmt::format("stream/{}/rs1=rs2", info.name));
    accesses(record, op);
  }
}

void Collector::matrix(Context& c, const RetireRecord& record, Op op) {
  if (record.drew) {
    hit(fmt::format("random/draw/{}", isa::info(op).name));
    hit(fmt::format("random/worker/{}", record.context));
    for (unsigned k = 0; k < 4; ++k) {
      if ((c.rng_written >> k & 1) != 0) hit(fmt::format("random/after-write/xrng{}", k));
    }
    c.rng_written = 0;
  }
  if (op == Op::x_amp_ldw) {
    hit(isa::rd(record.word) == isa::rs1(record.word) ? "amp/x.amp.ldw/rd=rs1"
        : isa::rd(record.word) == 0                   ? "amp/x.amp.ldw/rd=x0"
                                                      : "amp/x.amp.ldw/twice");
    if (++weight_loads_ > 1) hit("amp/x.amp.ldw/twice");
    for (unsigned k = 0; k < record.amp; ++k) {
      const std::uint32_t w = record.amp_words[k];
      hit(fmt::format("amp/weight-f32/{}", kFloatClasses[class_of_single(w)]));
      hit(fmt::format("amp/weight-f16/{}", kFloatClasses[class_of_half(w & 0xffff)]));
      hit(fmt::format("amp/weight-f16/{}", kFloatClasses[class_of_half(w >> 16)]));
    }
    return;
  }
  if (op != Op::x_amp_f16 && op != Op::x_amp_f32 && op != Op::x_amp_g && op != Op::x_amp_io) return;
  const auto phase = static_cast<int>(isa::amp_phase(record.word));
  const int last = op == Op::x_amp_f32 ? 7 : 3;
  hit(fmt::format("amp/{}/phase-{}", isa::info(op).name, phase));
  hit(fmt::format("amp/worker/{}", record.context));
  if (c.phase >= 0) {
    hit(phase == c.phase                               ? "amp/order/repeated"
        : phase == (c.phase == last ? 0 : c.phase + 1) ? "amp/order/in-order"
        : phase > c.phase                              ? "amp/order/skipped"
                                                       : "amp/order/back");
  }
  c.phase = phase;
  c.amp_used = true;
  for (unsigned k = 8; k < 16 && record.amp == 16; ++k) {  // after the swap B holds what was accumulated
    const unsigned kind = class_of_single(record.amp_words[k]);
    if (kind < 5) hit(fmt::format("amp/accumulator/{}", kFloatClasses[kind]));
  }
}

void Collector::apply(Context& c, const RetireRecord& record, Op op) {
  if (op == Op::x_exit && !record.trap)
    hit(c.x[isa::rs1(record.word)] == 0 ? "wait/exit-code/zero" : "wait/exit-code/other");
  if (record.xrd != 0) c.x[record.xrd] = record.xval;
  for (const RetireRecord::FWrite& w : record.fwrite) {
    for (unsigned n = 0; n < w.valid; ++n) c.f[(w.reg + n) & 31] = static_cast<std::uint32_t>(w.bits >> (32 * n));
  }
  switch (record.csr) {
    case csr::mtvec:
      c.handler = record.csr_value != 0;
      break;
    case csr::mstatus:
      c.fs = record.context != 0 && (record.csr_value & 0x6000) != 0;
      break;
    case csr::frm:
      c.frm = record.csr_value & 7;
      break;
    case csr::fcsr:
      c.frm = record.csr_value >> 5 & 7;
      break;
    default:
      if (record.csr >= csr::xs0 && record.csr < csr::xs0 + 3) c.s[record.csr - csr::xs0] = record.csr_value;
      if (record.csr >= csr::xst0 && record.csr < csr::xst0 + 3) c.strides[record.csr - csr::xst0] = record.csr_value;
  }
  for (unsigned k = 0; k < 3; ++k) {
    if ((record.streams >> k & 1) != 0) c.s[k] = record.stream_addr[k];
  }
  if (op == Op::x_sset && !record.trap) {
    const unsigned k = record.word >> 25 & 3;
    if (k < 3) c.strides[k] = c.x[isa::rs2(record.word)];
  }
  if (op == Op::x_run && !record.trap) {
    for (unsigned w = 1; w < 7; ++w) {
      if (record.run[0] != w && record.run[0] != 7) continue;
      Context& worker = contexts_[w];
      worker.x[1] = record.run[6];
      worker.x[2] = record.run[4] + w * record.run[5];
      worker.x[4] = w - 1;
      worker.x[10] = record.run[2];
      worker.x[11] = record.run[3];
      worker.frm = 0;
      worker.looping = false;
      worker.phase = -1;
      worker.amp_used = false;
      worker.last_op = Op::illegal;
    }
  }
  c.last = record;
  c.last_op = record.trap ? Op::illegal : op;
}

}  // namespace tessera::coverage
