// The debug port of the RTL tile by the rules of docs/machine/debug.md: exact cycles of halt, resume and step at every
// offset. Expectations come from a run without a debugger and the rules, not from a model.
#include <algorithm>

#include "verif/cosim/debug_bench.h"

namespace tessera {
namespace {

using namespace debug_bench;  // NOLINT

/// The records of a context that runs alone, without a debugger. `next`: the cycle of the issue after the last.
std::vector<RetireRecord> alone(ContextId context, const Code& code, Cycle at) {
  Bench bench;
  bench.load(kWorkerCode, code);
  bench.tile->start_context(context, kWorkerCode, at);
  EXPECT_EQ(bench.run().kind, Kind::idle);
  return bench.seen.records;
}

struct Hold {
  Cycle from = 0, to = 0;  // request up in cycles from..to-1
};

/// What the rules make of the records of a context that runs alone when it is held: the next issue is the first cycle
/// in its slot in which no request is up; distances are otherwise as before. minstret and all values are the same.
std::vector<RetireRecord> held(std::vector<RetireRecord> records, ContextId context, const std::vector<Hold>& holds) {
  Cycle shift = 0, before = kNever;
  for (RetireRecord& record : records) {
    if (record.cycle != before) {  // not the AUX of a pair
      before = record.cycle;
      Cycle at = record.cycle + shift;
      for (const Hold& hold : holds)
        if (hold.from <= at && at < hold.to) at = context == 0 ? hold.to : in_slot(hold.to, context - 1u);
      shift = at - record.cycle;
    }
    record.cycle += shift;
  }
  return records;
}

void expect_same(const std::vector<RetireRecord>& a, const std::vector<RetireRecord>& b) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_GT(a.size(), 0u);
  for (std::size_t k = 0; k < a.size(); ++k) {
    ASSERT_EQ(a[k].cycle, b[k].cycle) << "record " << k << " pc 0x" << std::hex << a[k].pc << " / 0x" << b[k].pc;
    ASSERT_TRUE(a[k] == b[k]) << "record " << k << " in cycle " << a[k].cycle;
  }
}

TEST(Debug, HaltAtEveryCycleAndResumeAtEveryOffset) {
  std::size_t compared = 0;
  for (const ContextId context : {ContextId{1}, ContextId{4}}) {
    const Code code = worker_program();
    const auto base = alone(context, code, 0);
    const Cycle end = base.back().cycle + 12;
    for (Cycle from = 0; from < end; ++from)
      for (const Cycle length : {Cycle{1}, 5 + from % 3, Cycle{40}}) {
        Bench bench;
        bench.load(kWorkerCode, code);
        bench.tile->start_context(context, kWorkerCode, 0);
        bench.tile->debug_halt(1u << context, from);
        bench.tile->debug_resume(1u << context, from + length);
        ASSERT_EQ(bench.run().kind, Kind::idle) << from << " " << length;
        expect_same(held(base, context, {{from, from + length}}), bench.seen.records);
        if (HasFatalFailure()) FAIL() << "halt " << from << " for " << length;
        compared += base.size();
      }
  }
  EXPECT_GT(compared, 20'000u);
}

TEST(Debug, HeldThousandsOfTimes) {
  const Code code = worker_program();
  std::uint32_t random = 12345;
  const auto draw = [&](std::uint32_t n) { return (random = random * 1664525 + 1013904223) >> 8 & 0xffff % n; };
  std::size_t holds_made = 0;
  for (unsigned round = 0; round < 60; ++round) {
    const auto context = static_cast<ContextId>(round % 6 + 1);
    const auto base = alone(context, code, round);
    Bench bench;
    bench.load(kWorkerCode, code);
    bench.tile->start_context(context, kWorkerCode, round);
    std::vector<Hold> holds;
    Cycle c = draw(20);
    for (unsigned n = 0; n < 60; ++n, ++holds_made) {
      const Hold hold{c, c + 1 + draw(30)};
      holds.push_back(hold);
      bench.tile->debug_halt(1u << context, hold.from);
      bench.tile->debug_resume(1u << context, hold.to);
      c = hold.to + draw(25);
    }
    ASSERT_EQ(bench.run().kind, Kind::idle);
    expect_same(held(base, context, holds), bench.seen.records);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
  EXPECT_EQ(holds_made, 3600u);
}

TEST(Debug, StepsOfAWholeProgramShowTheSameRecordsAndSlots) {
  for (ContextId context = 1; context <= 6; ++context) {
    const Code code = worker_program();
    const auto base = alone(context, code, 0);
    Bench bench;
    bench.load(kWorkerCode, code);
    bench.step_mode(context, true);
    bench.tile->start_context(context, kWorkerCode, 0);
    std::size_t issues = 0;
    Cycle at = 0;
    for (;;) {
      const std::size_t before = bench.seen.records.size();
      const TileStop stop = bench.run();
      ++issues;
      const std::size_t made = bench.seen.records.size() - before;
      ASSERT_GE(made, 1u);
      ASSERT_LE(made, 2u);
      ASSERT_EQ(made == 2, bench.seen.records.back().paired);
      if (stop.kind == Kind::idle) break;
      ASSERT_EQ(stop.kind, Kind::halted);
      const RetireRecord& last = bench.seen.records.back();
      EXPECT_EQ(bench.tile->context(context).run, Run::halted);
      EXPECT_EQ(bench.tile->context(context).pc, last.next_pc);
      EXPECT_EQ(cause(bench.tile->debug_read(context, Space::csr, kXdcsr)), 4u);
      at = last.cycle + 40 + issues % 7;
      bench.tile->debug_resume(1u << context, at);
    }
    ASSERT_EQ(bench.seen.records.size(), base.size());
    EXPECT_LT(issues, base.size());  // pairs are one
    for (std::size_t k = 0; k < base.size(); ++k) {
      RetireRecord record = bench.seen.records[k];
      ASSERT_EQ(record.cycle % 6, base[k].cycle % 6);
      record.cycle = base[k].cycle;
      ASSERT_TRUE(record == base[k]) << k;
    }
  }
}

/// Six workers of different lengths; the supervisor starts them, waits for one, starts it again, syncs, delays,
/// divides.
Code supervisor_program() {
  Code code;
  load_constant(code, 5, kWorkerCode);
  for (const std::uint32_t word :
       {i(Op::addi, 6, 0, 100), r(Op::x_run, 7, 5, 6), i(Op::addi, 7, 7, 1), r(Op::x_run, 3, 5, 6), nop(),
        r(Op::x_delay, 0, 6), r(Op::div, 8, 6, 5), tessera::testing::sync(0, 0, 0), r(Op::mul, 9, 6, 6),
        tessera::testing::sync(10, 6, 1), i(Op::addi, 11, 10, 1)})
    code.push_back(word);
  load_constant(code, 12, kHandler + 0x100);
  code.push_back(r(Op::x_exchange, 0, 12));
  code.push_back(nop());
  code.push_back(tessera::testing::sync(0, 0, 4));
  return code;
}

/// Runs it to the host sync at its end; the internal sync is released 40 cycles later.
TileStop run_tile(Bench& bench) {
  for (;;) {
    const TileStop stop = bench.run();
    if (stop.kind != Kind::sync || stop.zone == Zone::host) return stop;
    bench.tile->release(stop.cycle + 40, true);
  }
}

Bench whole_tile() {
  Bench bench;
  bench.load(kSramBase, supervisor_program());
  bench.load(kWorkerCode, worker_program());
  bench.tile->start(kSramBase, 3);
  return bench;
}

/// Values of records but their cycles, which a halt moves; nothing of the program reads them.
void expect_same_but_cycles(const std::vector<RetireRecord>& a, const std::vector<RetireRecord>& b) {
  for (ContextId context = 0; context < 7; ++context) {
    std::vector<RetireRecord> x, y;
    for (const auto& record : a)
      if (record.context == context) x.push_back(record);
    for (const auto& record : b)
      if (record.context == context) y.push_back(record);
    ASSERT_EQ(x.size(), y.size()) << "context " << int{context};
    for (std::size_t k = 0; k < x.size(); ++k) {
      y[k].cycle = x[k].cycle;
      ASSERT_TRUE(x[k] == y[k]) << "context " << int{context} << " record " << k << " pc 0x" << std::hex << x[k].pc
                                << " / 0x" << y[k].pc;
    }
  }
}

TEST(Debug, AllContextsHeldAtRandomChangeNothingButCycles) {
  Bench base = whole_tile();
  ASSERT_EQ(run_tile(base).kind, Kind::sync);
  ASSERT_GT(base.seen.records.size(), 200u);
  std::uint32_t random = 99;
  const auto draw = [&](std::uint32_t n) { return ((random = random * 1664525 + 1013904223) >> 8 & 0xffff) % n; };
  std::size_t holds = 0;
  for (unsigned round = 0; round < 50; ++round) {
    Bench bench = whole_tile();
    Cycle c = draw(12);
    for (unsigned n = 0; n < 100; ++n, ++holds) {
      const auto mask = static_cast<std::uint8_t>(round % 3 == 0 ? 0x7f : draw(127) + 1);
      const Cycle to = c + 1 + draw(round % 2 == 0 ? 12 : 40);
      bench.tile->debug_halt(mask, c);
      bench.tile->debug_resume(mask, to);
      c = to + draw(20);
    }
    ASSERT_EQ(run_tile(bench).kind, Kind::sync) << "round " << round;
    expect_same_but_cycles(base.seen.records, bench.seen.records);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
  EXPECT_EQ(holds, 5000u);
}

TEST(Debug, TheSupervisorIsHeldAndSteppedAtItsCycles) {
  // div takes six slots, the delay 20 cycles; nothing else runs, so every slot is vacant.
  const Code code{nop(), r(Op::div, 1, 2, 3), i(Op::addi, 4, 0, 20), r(Op::x_delay, 0, 4), nop(), r(Op::ecall, 0)};
  const std::vector<Cycle> base{5, 11, 47, 53, 73, 79};
  for (Cycle from = 0; from <= base.back(); ++from)
    for (const Cycle length : {Cycle{1}, Cycle{4}, Cycle{50}}) {
      Bench bench;
      bench.load(kSramBase, code);
      bench.tile->start(kSramBase, 5);
      bench.tile->debug_halt(1, from);
      bench.tile->debug_resume(1, from + length);
      ASSERT_EQ(bench.run(90 + length).kind, Kind::exception);
      Cycle shift = 0;
      std::vector<Cycle> expected;
      for (const Cycle at : base) {
        if (at + shift >= from && at + shift < from + length) shift = from + length - at;
        expected.push_back(at + shift);
      }
      ASSERT_EQ(bench.cycles(0), expected) << from << " " << length;
    }
  Bench bench;
  bench.load(kSramBase, code);
  bench.step_mode(0, true);
  bench.tile->start(kSramBase, 5);
  Cycle at = 5;
  for (std::size_t k = 0; k < base.size(); ++k) {
    const TileStop stop = bench.run();
    ASSERT_EQ(stop.kind, k + 1 < base.size() ? Kind::halted : Kind::exception);
    ASSERT_EQ(bench.cycles(0).back(), at);
    at += k + 1 < base.size() ? base[k + 1] - base[k] : 0;
    at += 7;  // resumed seven cycles after it could have gone on
    if (k + 1 < base.size()) bench.tile->debug_resume(1, at);
  }
}

TEST(Debug, AReleaseInTheCycleOfAHaltEndsTheWaitWithoutAnIssue) {
  for (int offset = -8; offset <= 8; ++offset) {
    Bench bench;
    bench.load(kSramBase, {sync(6, 0, 1), nop(), nop(), kEbreak});
    bench.tile->start(kSramBase, 0);
    TileStop stop = bench.run();
    ASSERT_EQ(stop.kind, Kind::sync);
    const Cycle z = stop.cycle + 50, halt = z + offset, resume = z + 100;
    bench.tile->release(z, true);
    bench.tile->debug_halt(1, halt);
    bench.tile->debug_resume(1, resume);
    bench.run();
    // Released in z; issues there if the halt comes later.
    const std::vector<Cycle> expected = offset <= 0   ? std::vector<Cycle>{0, resume, resume + 6, resume + 12}
                                        : offset <= 6 ? std::vector<Cycle>{0, z, resume, resume + 6}
                                                      : std::vector<Cycle>{0, z, z + 6, resume};
    ASSERT_EQ(bench.cycles(0), expected) << offset;
    EXPECT_EQ(bench.x(0, 6), 1u);
    EXPECT_EQ(bench.tile->debug_read(0, Space::csr, csr::xsyncz), static_cast<std::uint32_t>(z));
  }
}

TEST(Debug, AHaltedWorkerIsNotIdleAndKeepsItsSlot) {
  // The supervisor reads xwstat until worker 2 has gone, and runs worker 1 again only then.
  Code supervisor;
  load_constant(supervisor, 5, kWorkerCode);
  supervisor.insert(supervisor.end(), {r(Op::x_run, 2, 5), i(Op::csrrs, 6, 0, csr::xwstat)});
  for (int k = 0; k < 30; ++k) supervisor.push_back(nop());
  supervisor.insert(supervisor.end(),
                    {i(Op::csrrs, 7, 0, csr::xwstat), sync(0, 0, 0), i(Op::csrrs, 8, 0, csr::xwstat), sync(0, 0, 4)});
  Bench bench;
  bench.load(kSramBase, supervisor);
  bench.load(kWorkerCode, {nop(), kExit});
  bench.tile->debug_halt(1u << 2, 0);  // it stands when the worker is started
  bench.tile->start(kSramBase, 2);     // slots 2, 8, ..: its neighbour's
  ASSERT_EQ(bench.run().kind, Kind::halted);
  EXPECT_EQ(bench.cycles(2).size(), 0u);
  EXPECT_EQ(bench.tile->context(2).run, Run::halted);
  EXPECT_EQ(bench.tile->context(2).pc, kWorkerCode);
  EXPECT_EQ(cause(bench.tile->debug_read(2, Space::csr, kXdcsr)), 3u);
  EXPECT_EQ(bench.tile->debug_read(0, Space::csr, csr::xwstat), 2u);
  const auto before = bench.cycles(0);
  for (const Cycle c : before) EXPECT_NE(c % 6, 1u);
  EXPECT_EQ(bench.x(0, 6), 2u);
  EXPECT_EQ(bench.x(0, 7), 2u);
  const Cycle resume = before.back() + 300;
  bench.tile->debug_resume(1u << 2, resume);
  ASSERT_EQ(bench.run().kind, Kind::sync);
  const Cycle first = in_slot(resume, 1);
  EXPECT_EQ(bench.cycles(2), (std::vector<Cycle>{first, first + 6}));
  EXPECT_EQ(bench.seen.records.back().cycle, first + 12);  // x.sync local: six after the x.exit
  EXPECT_EQ(bench.x(0, 8), 0u);
}

TEST(Debug, AStepOverTheExitHaltsAtTheNextStart) {
  Code supervisor;
  load_constant(supervisor, 5, kWorkerCode);
  supervisor.insert(supervisor.end(), {r(Op::x_run, 1, 5), r(Op::x_run, 1, 5), sync(0, 0, 4)});
  Bench bench;
  bench.load(kSramBase, supervisor);
  bench.load(kWorkerCode, {nop(), kExit});
  bench.tile->debug_write(1, Space::csr, kXdcsr, kStep);
  bench.tile->start(kSramBase, 0);
  ASSERT_EQ(bench.run().kind, Kind::halted);
  EXPECT_EQ(bench.cycles(1).size(), 1u);
  bench.tile->debug_resume(2, 100);
  ASSERT_EQ(bench.run().kind, Kind::halted);  // gone and started again
  EXPECT_EQ(bench.cycles(1), (std::vector<Cycle>{bench.cycles(1)[0], 102}));
  EXPECT_EQ(bench.tile->context(1).pc, kWorkerCode);
  bench.tile->debug_write(1, Space::csr, kXdcsr, 0);
  bench.tile->debug_resume(2, 300);
  ASSERT_EQ(bench.run().kind, Kind::sync);
  EXPECT_EQ(bench.cycles(1).size(), 4u);
}

TEST(Debug, AnEnginesTrapIsTakenWhileTheSupervisorIsHalted) {
  // An exchange that listens to a silent tile from cycle Z + 40 on: cause 27 in place of the next issue.
  for (const bool handled : {true, false}) {
    Bench bench;
    Code code;
    load_constant(code, 5, kData);
    load_constant(code, 6, kHandler);
    code.insert(code.end(),
                {i(Op::csrrw, 0, handled ? 6 : 0, csr::mtvec), sync(0, 0, 1), r(Op::x_exchange, 0, 5), nop()});
    bench.load(kSramBase, code);
    const std::uint64_t receive = Cycle{40} << 4 | std::uint64_t{4} << 22 | std::uint64_t{0x3000} << 34;
    const std::uint64_t table[] = {1u << 16, receive};
    bench.tile->write_memory(kData, reinterpret_cast<const std::uint8_t*>(table), sizeof table);
    bench.tile->start(kSramBase, 0);
    const TileStop stop = bench.run();
    ASSERT_EQ(stop.kind, Kind::sync);
    const Cycle z = stop.cycle + 20;
    bench.tile->release(z, true);
    bench.tile->debug_halt(1, z + 20);
    ASSERT_EQ(bench.run().kind, handled ? Kind::halted : Kind::exception);
    const RetireRecord& last = bench.seen.records.back();
    EXPECT_TRUE(last.trap);
    EXPECT_EQ(last.cause, 27u);
    EXPECT_EQ(last.cycle, z + 44);
    if (!handled) continue;
    EXPECT_EQ(bench.tile->context(0).pc, kHandler);
    const std::size_t before = bench.seen.records.size();
    bench.tile->debug_resume(1, z + 500);
    bench.run(z + 503);
    bench.run(z + 512);
    EXPECT_EQ(bench.seen.records.at(before).cycle, z + 500);
  }
}

}  // namespace
}  // namespace tessera
