// The debug port of the RTL tile: breakpoints, excepted contexts, reading and writing of state (docs/machine/debug.md).
#include "verif/cosim/debug_bench.h"

namespace tessera {
namespace {

using namespace debug_bench;  // NOLINT

TEST(Debug, BreakpointsHaltAtTheEbreakAndRetireNothing) {
  for (unsigned at = 0; at < 3; ++at)  // first word, second word, in place of a pair's AUX
    for (ContextId context : {ContextId{0}, ContextId{3}}) {
      const Code code{i(Op::addi, 10, 10, 1), i(Op::addi, 11, 11, 1), i(Op::addi, 12, 12, 1), kExit};
      Code planted = code;
      planted[at] = kEbreak;
      Bench bench;
      bench.load(kWorkerCode, planted);
      bench.tile->debug_write(context, Space::csr, kXdcsr, kEbreakm);
      bench.tile->start_context(context, kWorkerCode, 0);
      ASSERT_EQ(bench.run().kind, Kind::halted);
      EXPECT_EQ(bench.seen.records.size(), at);
      EXPECT_EQ(bench.tile->context(context).pc, kWorkerCode + 4 * at);
      const std::uint32_t xdcsr = bench.tile->debug_read(context, Space::csr, kXdcsr);
      EXPECT_EQ(cause(xdcsr), 1u);
      EXPECT_TRUE(xdcsr & kEbreakm);
      EXPECT_EQ(bench.tile->debug_read(context, Space::csr, csr::mepc), 0u);
      EXPECT_EQ(bench.tile->debug_read(context, Space::csr, csr::minstret), at);
      // It breaks again, then the word is restored.
      bench.tile->debug_resume(1u << context, 100);
      ASSERT_EQ(bench.run().kind, Kind::halted);
      EXPECT_EQ(bench.seen.records.size(), at);
      bench.load(kWorkerCode, code);
      bench.tile->debug_resume(1u << context, 200);
      bench.run();
      ASSERT_GE(bench.seen.records.size(), 3u);
      EXPECT_EQ(bench.seen.records[at].cycle, context == 0 ? 200u : in_slot(200, 2));
      EXPECT_EQ(bench.x(context, 12), 1u);
      // Without ebreakm it is a trap.
      Bench plain;
      plain.load(kWorkerCode, planted);
      plain.tile->start_context(context, kWorkerCode, 0);
      ASSERT_EQ(plain.run().kind, Kind::exception);
      EXPECT_EQ(plain.tile->exception()->cause, 3u);
    }
}

TEST(Debug, ABreakpointInALoopLeavesTheLoopAndAPcWriteEndsIt) {
  // Three rounds of one doubleword, whose second word is the breakpoint.
  const Code code{nop(), encode(Op::x_rpti, {3, 1}), i(Op::addi, 10, 10, 1), i(Op::addi, 11, 11, 1), kExit};
  Code planted = code;
  planted[3] = kEbreak;
  for (const bool write_pc : {false, true}) {
    Bench bench;
    bench.load(kWorkerCode, planted);
    bench.tile->debug_write(1, Space::csr, kXdcsr, kEbreakm);
    bench.tile->start_context(1, kWorkerCode, 0);
    for (unsigned round = 0; round < 3; ++round) {
      ASSERT_EQ(bench.run().kind, Kind::halted);
      EXPECT_EQ(bench.x(1, 10), round + 1);
      EXPECT_EQ(bench.tile->debug_read(1, Space::csr, csr::xrpt), 3 - round);
      if (write_pc) {
        bench.tile->debug_write(1, Space::pc, 0, kWorkerCode + 12);
        EXPECT_EQ(bench.tile->debug_read(1, Space::csr, csr::xrpt), 3u);
      }
      // Over the breakpoint: the word restored, one step, the breakpoint planted again.
      bench.load(kWorkerCode, code);
      bench.tile->debug_write(1, Space::csr, kXdcsr, kEbreakm | kStep);
      bench.tile->debug_resume(2, 1000 * (round + 1));
      ASSERT_EQ(bench.run().kind, Kind::halted);
      EXPECT_EQ(bench.x(1, 11), round + 1);
      const bool last = write_pc || round == 2;
      ASSERT_EQ(bench.tile->context(1).pc, last ? kWorkerCode + 16 : kWorkerCode + 8);
      bench.load(kWorkerCode, planted);
      bench.tile->debug_write(1, Space::csr, kXdcsr, kEbreakm);
      bench.tile->debug_resume(2, 1000 * (round + 1) + 500);
      if (last) break;
    }
    ASSERT_EQ(bench.run().kind, Kind::idle);
    EXPECT_EQ(bench.tile->debug_read(1, Space::csr, csr::xrpt), write_pc ? 3u : 0u);
  }
}

TEST(Debug, AnExceptedContextIsLetGoOn) {
  for (ContextId context : {ContextId{0}, ContextId{5}}) {
    Bench bench;
    bench.load(kWorkerCode, {nop(), 0, i(Op::addi, 10, 0, 7), context == 0 ? sync(0, 0, 4) : kExit});
    bench.tile->start_context(context, kWorkerCode, 0);
    ASSERT_EQ(bench.run().kind, Kind::exception);
    EXPECT_EQ(bench.tile->context(context).pc, kWorkerCode + 4);
    bench.tile->debug_write(context, Space::pc, 0, kWorkerCode + 8);
    bench.tile->debug_resume(1u << context, 101);
    ASSERT_EQ(bench.run().kind, context == 0 ? Kind::sync : Kind::idle);
    EXPECT_FALSE(bench.tile->exception());
    EXPECT_EQ(bench.x(context, 10), 7u);
    EXPECT_EQ(bench.seen.records[2].cycle, context == 0 ? 101u : in_slot(101, 4));
    // With a halt after the resume it stays where it is.
    Bench held;
    held.load(kWorkerCode, {0, nop()});
    held.tile->start_context(context, kWorkerCode, 0);
    ASSERT_EQ(held.run().kind, Kind::exception);
    held.tile->debug_resume(1u << context, 101);
    held.tile->debug_halt(1u << context, 101);
    ASSERT_EQ(held.run().kind, Kind::halted);
    EXPECT_EQ(held.seen.records.size(), 1u);
    EXPECT_EQ(held.tile->context(context).run, Run::halted);
  }
}

TEST(Debug, StateIsReadAndWritten) {
  for (const bool others : {false, true}) {  // while another worker runs, a write goes with each cycle
    Bench bench;
    Code code{nop(), nop()};
    for (unsigned k = 1; k < 8; ++k) code.push_back(s(Op::fsw, 8, k, 4 * static_cast<int>(k)));
    code.push_back(kExit);
    bench.load(kWorkerCode, code);
    bench.load(kSramBase, {i(Op::jal, 0, 0, 0)});
    bench.tile->debug_halt(4, 0);
    bench.tile->start_context(2, kWorkerCode, 0);
    if (others) bench.tile->start_context(5, kSramBase, 0);
    ASSERT_EQ(bench.run(50).kind, others ? Kind::limit : Kind::halted);
    if (others) {
      EXPECT_THROW(bench.tile->debug_write(5, Space::x, 3, 1), std::logic_error);
      EXPECT_THROW(bench.tile->debug_halt(1, 49), std::logic_error);
    }
    EXPECT_THROW(bench.tile->debug_write(2, Space::amp, 3, 1), std::logic_error);
    EXPECT_THROW((void)bench.tile->debug_read(2, Space::x, 32), std::logic_error);
    struct Item {
      Space space;
      unsigned number;
      std::uint32_t value, after;
    };
    std::vector<Item> items;
    for (unsigned k = 0; k < 32; ++k) items.push_back({Space::x, k, 0x1000 + k, k == 0 ? 0 : 0x1000 + k});
    for (unsigned k = 0; k < 32; ++k) items.push_back({Space::f, k, 0x2000 + k, 0x2000 + k});
    for (unsigned k = 0; k < 6; ++k) items.push_back({Space::stream, k, 0x3000 + k, 0x3000 + k});
    for (const unsigned number : {csr::mscratch, csr::mcause, csr::mtval, csr::minstret, csr::xrng0, csr::xrng3})
      items.push_back({Space::csr, number, 0xffff'0123u + number, 0xffff'0123u + number});
    items.push_back({Space::csr, csr::mtvec, 0x40003, 0x40000});
    items.push_back({Space::csr, csr::mepc, 0x40007, 0x40004});
    items.push_back({Space::csr, csr::mstatus, 0xffff'ffff, 0x8000'7888});
    items.push_back({Space::csr, csr::fcsr, 0xfff, 0xff});
    items.push_back({Space::csr, csr::misa, 0, 0x40801120});
    items.push_back({Space::csr, csr::mhartid, 7, 2});
    items.push_back({Space::csr, csr::xworker, 7, 1});
    items.push_back({Space::csr, csr::xwstack, 7, 0});  // the supervisor's
    items.push_back({Space::csr, 0x7ff, 7, 0});         // nobody's
    items.push_back({Space::x, 8, kData, kData});
    items.push_back({Space::pc, 0, kWorkerCode + 8, kWorkerCode + 8});
    for (const Item& item : items) bench.tile->debug_write(2, item.space, item.number, item.value);
    const Cycle now = 50;
    if (others) {
      EXPECT_THROW(bench.tile->debug_resume(4, now), std::logic_error);
      ASSERT_EQ(bench.run(now + items.size() - 1).kind, Kind::limit);
      EXPECT_EQ(bench.tile->debug_read(2, Space::pc, 0), kWorkerCode);  // the last is still to come
      ASSERT_EQ(bench.run(now + items.size()).kind, Kind::limit);
    }
    for (const Item& item : items) {
      const bool again = item.space == Space::x && item.number == 8;  // written twice
      EXPECT_EQ(bench.tile->debug_read(2, item.space, item.number), again ? kData : item.after)
          << static_cast<unsigned>(item.space) << " " << item.number;
    }
    const Cycle resume = 1000;
    bench.tile->debug_resume(4, resume);
    bench.run(resume + 100);
    EXPECT_EQ(bench.cycles(2).front(), in_slot(resume, 1));
    EXPECT_EQ(bench.cycles(2).size(), 8u);
    for (unsigned k = 1; k < 8; ++k) {
      std::uint32_t word = 0;
      bench.tile->read_memory(kData + 4 * k, reinterpret_cast<std::uint8_t*>(&word), 4);
      EXPECT_EQ(word, 0x2000 + k);
    }
  }
}

}  // namespace
}  // namespace tessera
