// Points of instructions, operands, pairs, slots and waits. Traps, CSRs, loops, streams and the matrix unit are in
// collector_units.cpp; exchange, packets and debug in collector_tile.cpp.
#include "verif/coverage/collector.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "hw/generated/machine.h"

namespace tessera::coverage {

using isa::Class;
using isa::File;
using isa::Op;

namespace {
constexpr std::array<const char*, 2> kRoles = {"supervisor", "worker"};
}

std::shared_ptr<Totals> Totals::from_environment() {
  static std::atomic<unsigned> serial{0};  // several in a process write files of their own
  const char* folder = std::getenv("TESSERA_COVERAGE_DIR");
  if (folder == nullptr || *folder == 0) return nullptr;
  return std::make_shared<Totals>(fmt::format("{}/{}-{}.points", folder, ::getpid(), serial++));
}

Totals::Totals(std::string path) : path_(std::move(path)), counts_(plan_.size()) {
  running_ = plan_.at("slot/running/000000");
  const auto find = [this](const std::string& name) { return plan_.has(name) ? plan_.at(name) : kNone; };
  for (unsigned n = 1; n < isa::kOpCount; ++n) {
    const auto op = static_cast<Op>(n);
    const std::string name = isa::info(op).name;
    OpPoints& points = ops_[n];
    points.types = operand_types(op);
    for (unsigned role = 0; role < 2; ++role) points.role[role] = find(fmt::format("op/{}/{}", name, kRoles[role]));
    for (unsigned k = 0; k < 3; ++k) {
      points.value[k] = find(fmt::format("value/{}/rs{}/zero", name, k + 1));
      points.rd_same[k] = find(fmt::format("register/{}/rd=rs{}", name, k + 1));
    }
    points.immediate = find(fmt::format("immediate/{}/zero", name));
    if (points.immediate == kNone) points.immediate = find(fmt::format("immediate/{}/0", name));
    points.rounding = find(fmt::format("rounding/{}/static/rne", name));
    const std::array<const char*, 5> flags = {"NX", "UF", "OF", "DZ", "NV"};
    for (unsigned k = 0; k < 5; ++k) points.flags[k] = find(fmt::format("flags/{}/{}", name, flags[k]));
    points.result = find(fmt::format("result/{}/zero", name));
    points.rd_zero = find(fmt::format("register/{}/rd=x0", name));
    points.sources_same = find(fmt::format("register/{}/rs1=rs2", name));
    points.main = find(fmt::format("pair/main/{}", name));
    points.aux = find(fmt::format("pair/aux/{}", name));
    points.slot = find(fmt::format("slot/{}/0", name));
  }
}

Totals::~Totals() {
  if (!path_.empty()) write_file(plan_, counts_, path_);
}

void Totals::add(const Counts& counts) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (std::size_t n = 0; n < counts.size(); ++n) counts_[n] += counts[n];
}

void Totals::hit(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++counts_[plan_.at(name)];
}

Counts Totals::counts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counts_;
}

Collector::Collector(const TileConfig& config, std::shared_ptr<Totals> totals)
    : config_(config), totals_(std::move(totals)), counts_(totals_->plan().size()) {
  contexts_[0].fs = false;
}

Collector::~Collector() {
  flush();
  totals_->add(counts_);
}

void Collector::flush() {
  std::stable_sort(waiting_.begin(), waiting_.end(),
                   [](const RetireRecord& a, const RetireRecord& b) { return a.cycle < b.cycle; });
  // Who owned which slot must be known before the first record of the supervisor is looked at, and mtvec for that.
  for (const RetireRecord& record : waiting_) note_ownership(record);
  for (const RetireRecord& record : waiting_) take(record);
  waiting_.clear();
}

void Collector::note_ownership(const RetireRecord& record) {
  const Op op = isa::decode(record.word);
  const auto close = [this, &record](unsigned w) {
    if (!owned_[w].empty() && owned_[w].back().to == kNever) owned_[w].back().to = record.cycle + 6;
  };
  if (record.trap) {
    // Without a handler the context is excepted: it stays where it is.
    if (record.context != 0 && record.next_pc == record.pc) close(record.context);
    return;
  }
  if (op == Op::x_exit) close(record.context);
  if (op != Op::x_run) return;
  for (unsigned w = 1; w < 7; ++w) {
    if (record.run[0] != w && record.run[0] != 7) continue;
    owned_[w].push_back({record.cycle + 6, kNever});
    if (owned_[w].size() > 64) owned_[w].pop_front();
  }
}

unsigned Collector::running(Cycle c) const {
  unsigned mask = 0;
  for (unsigned w = 1; w < 7; ++w) {
    for (const Interval& i : owned_[w]) mask |= i.from <= c && c < i.to ? 1u << (w - 1) : 0;
  }
  return mask;
}

/// A worker of the mask ran in `from` and had ended by `to`.
bool Collector::ran_in(unsigned mask, Cycle from, Cycle to) const {
  for (unsigned w = 1; w < 7; ++w) {
    if ((mask >> (w - 1) & 1) == 0) continue;
    for (const Interval& i : owned_[w]) {
      if (i.from <= from && i.to > from && i.to <= to) return true;
    }
  }
  return false;
}

void Collector::take(const RetireRecord& record) {
  Context& c = contexts_[record.context];
  const Op op = isa::decode(record.word);
  if (record.context == 0 && !record.trap) {
    count(totals_->running(running(record.cycle)));
  }
  if (c.stepping) {
    hit(record.trap               ? "debug/step/trap"
        : record.paired           ? "debug/step/pair"
        : isa::info(op).slots > 1 ? "debug/step/multi-slot"
        : record.context == 0     ? "debug/step/supervisor"
                                  : "debug/step/single");
  }
  if (op == Op::x_packet && memory_ && c.x[isa::rs1(record.word)] != 0) {
    packet(c.x[isa::rs1(record.word)], memory_().data());
    packet_ended(record.trap);
  }
  if (record.trap) {
    trap(c, record, op);
  } else {
    instruction(c, record, op);
  }
  apply(c, record, op);
}

void Collector::instruction(Context& c, const RetireRecord& record, Op op) {
  const isa::Info& info = isa::info(op);
  const Totals::OpPoints& points = totals_->of(op);
  count(points.role[record.context == 0 ? 0 : 1]);
  values(c, record, op);
  result(record, op);
  for (unsigned k = 0; k < 5; ++k) {
    if ((record.fflags >> k & 1) != 0) count(points.flags[k]);
  }
  if (points.rounding != Totals::kNone) {
    const unsigned rm = isa::rm(record.word), mode = rm == 7 ? c.frm : rm;
    if (mode < 5) count(points.rounding + (rm == 7 ? 5 : 0) + mode);
  }
  if (record.context != 0) {
    pairing(c, record, op);
    loop(c, record, op);
    stream(c, record, op);
    matrix(c, record, op);
  } else {
    waits(c, record, op);
  }
  slots(c, record, op);
  if (info.imm == isa::Imm::csr) csr(c, record, op);
}

void Collector::values(Context& c, const RetireRecord& record, Op op) {
  const isa::Info& info = isa::info(op);
  const Totals::OpPoints& points = totals_->of(op);
  const std::array<isa::Reg, 3> regs{info.rs1, info.rs2, info.rs3};
  const std::array<unsigned, 3> numbers{isa::rs1(record.word), isa::rs2(record.word), isa::rs3(record.word)};
  for (unsigned k = 0; k < 3; ++k) {
    if (points.value[k] == Totals::kNone) continue;
    const std::size_t first = points.value[k];
    if (points.types[k] == Type::integer) count(first + class_of_integer(c.x[numbers[k]]));
    for (unsigned n = 0; regs[k].file == File::f && n < regs[k].count; ++n) {
      const std::uint32_t bits = c.f[numbers[k] + n];
      if (points.types[k] == Type::single) count(first + class_of_single(bits));
      if (points.types[k] == Type::half) {
        count(first + class_of_half(bits & 0xffff));
        count(first + class_of_half(bits >> 16));
      }
    }
  }
  if (points.immediate != Totals::kNone) {
    const std::uint32_t value = isa::immediate(info.imm, record.word);
    const unsigned kind = info.imm == isa::Imm::shamt ? (value == 0    ? 0
                                                         : value == 31 ? 2
                                                                       : 1)
                                                      : class_of_immediate(static_cast<std::int32_t>(value), 12);
    count(points.immediate + kind);
  }
  const unsigned rd = isa::rd(record.word);
  if (rd == 0) count(points.rd_zero);
  for (unsigned k = 0; k < 3; ++k) {
    if (rd == numbers[k]) count(points.rd_same[k]);
  }
  if (numbers[0] == numbers[1]) count(points.sources_same);
}

void Collector::result(const RetireRecord& record, Op op) {
  const std::size_t first = totals_->of(op).result;
  if (first == Totals::kNone || record.fwrite[0].valid == 0) return;
  const std::string_view name = isa::info(op).name;
  const bool half = name.find("f16") != std::string_view::npos;
  for (unsigned n = 0; n < record.fwrite[0].valid; ++n) {
    const auto bits = static_cast<std::uint32_t>(record.fwrite[0].bits >> (32 * n));
    const std::array<unsigned, 2> classes = half ? std::array{class_of_half(bits & 0xffff), class_of_half(bits >> 16)}
                                                 : std::array{class_of_single(bits), class_of_single(bits)};
    for (const unsigned k : classes) {
      if (k < 5) count(first + k);
    }
  }
}

void Collector::pairing(Context& c, const RetireRecord& record, Op op) {
  const isa::Info& info = isa::info(op);
  const bool follows = c.last_op != Op::illegal && c.last.pc + 4 == record.pc && record.pc % 8 == 4 && !c.last.trap;
  if (record.paired && follows && c.last.cycle == record.cycle) {
    count(totals_->of(c.last_op).main);
    count(totals_->of(op).aux);
    hit(fmt::format("pair/kinds/{}+{}", kMainKinds[main_kind(c.last_op)], kAuxKinds[aux_kind(op)]));
    hit(fmt::format("pair/slots/{}", info.slots));
  }
  if (!record.paired && follows && info.klass == Class::aux && isa::info(c.last_op).klass == Class::main_) {
    const std::uint32_t written = isa::f_writes(c.last_op, c.last.word);
    if ((written & isa::f_reads(op, record.word)) != 0) hit("pair/refused/aux-reads-it");
    if ((written & isa::f_writes(op, record.word)) != 0) hit("pair/refused/aux-writes-it");
  }
}

void Collector::slots(Context& c, const RetireRecord& record, Op op) {
  const isa::Info& info = isa::info(op);
  const auto slot = static_cast<unsigned>(record.cycle % 6);
  if (op == Op::x_sync) {
    constexpr std::array<const char*, 5> kZones = {"local", "internal", "group1", nullptr, "host"};
    const unsigned zone = isa::rs2(record.word);
    if (zone < 5 && kZones[zone] != nullptr) hit(fmt::format("slot/x.sync.{}/{}", kZones[zone], slot));
  } else if (totals_->of(op).slot != Totals::kNone) {
    count(totals_->of(op).slot + slot);
  }
  if (info.slots > 1) {
    c.busy_until = record.cycle + 6 * info.slots;
    unsigned together = 0;
    for (const Context& other : contexts_) together += other.busy_until > record.cycle ? 1 : 0;
    if (together >= 2) hit(fmt::format("slot/multi-slot-at-once/{}", std::min(together, 6u)));
  }
  if (record.context != 0) return;
  hit(fmt::format("slot/supervisor/{}", slot));
  const bool plain = info.slots == 1 && (info.match & 0x7f) != 0x0b;  // waits for nothing
  if (supervisor_plain_ && plain) {
    const Cycle distance = record.cycle - supervisor_last_;
    if (distance >= 6 && distance < 12) hit(fmt::format("slot/distance/{}", distance));
  }
  supervisor_plain_ = plain || op == Op::x_run;
  supervisor_last_ = record.cycle;
  supervisor_next_ = record.cycle + 6 * info.slots;
  if (op == Op::x_delay) supervisor_next_ = record.cycle + std::max<Cycle>(6, c.x[isa::rs1(record.word)]);
}

void Collector::waits(Context& c, const RetireRecord& record, Op op) {
  const auto waited = [&](const char* name, unsigned mask) {
    const bool some = ran_in(mask, supervisor_next_, record.cycle);
    hit(fmt::format("wait/{}/{}", name, some ? "some" : "none"));
    return some;
  };
  const std::uint32_t operand = c.x[isa::rs1(record.word)];
  switch (op) {
    case Op::x_run: {
      const unsigned w = record.run[0];
      if (w == 7) {
        if (waited("x.run-all", 0x3f)) hit("wait/run-of/all");
      } else if (waited("x.run", 1u << (w - 1))) {
        hit(fmt::format("wait/run-of/{}", w));
      }
      for (unsigned k = 1; k < 7; ++k) {
        if ((w == k || w == 7) && contexts_[k].amp_used) hit("amp/run/clears");
      }
      return;
    }
    case Op::x_amp_ldw:
      waited("x.amp.ldw", 0x3f);
      return matrix(c, record, op);
    case Op::x_exchange:
    case Op::x_packet:
      if (operand != 0) {
        // The engine's part of the time is behind X: the wait ended before it.
        if (op == Op::x_packet) waited("x.packet", 0x3f);
        if (op == Op::x_exchange) waited("x.exchange", 0x3f);
      } else {
        hit(op == Op::x_packet ? "packet/window/table-0" : "exchange/table/zero");
      }
      return;
    case Op::x_delay:
      return hit(fmt::format("wait/delay/{}", operand < 6    ? "below-6"
                                              : operand == 6 ? "6"
                                              : operand < 12 ? "7-to-11"
                                                             : "above"));
    case Op::x_sync: {
      constexpr std::array<const char*, 5> kZones = {"local", "internal", "group1", nullptr, "host"};
      const unsigned zone = isa::rs2(record.word);
      if (zone < 2) hit(fmt::format("wait/x.sync.{}/{}", kZones[zone], running(record.cycle) != 0 ? "some" : "none"));
      if (zone > 0 && zone < 5 && kZones[zone] != nullptr)
        hit(fmt::format("wait/sync/{}/vote-{}", kZones[zone], operand & 1));
      return;
    }
    default:
      return;
  }
}

}  // namespace tessera::coverage
