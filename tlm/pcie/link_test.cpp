// Who may send when on a link: exact times, order, sharing, and no dependence on the order of calls.
#include "tlm/pcie/link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tessera::pcie {
namespace {

LinkTiming timing() {
  LinkTiming t;
  t.bytes_per_cycle = 20;
  t.clock_hz = 1'600'000'000;
  return t;
}

TEST(LinkDirection, TimeIsExactAndRoundedOnce) {
  LinkTiming t = timing();
  EXPECT_EQ(t.picoseconds(24), 750u);  // 31.25 ps a byte
  EXPECT_EQ(t.picoseconds(280), 8750u);
  EXPECT_EQ(t.picoseconds(1), 32u);  // up
  EXPECT_EQ(t.picoseconds(1'000'000), 31'250'000u);
  LinkDirection d(t, 1);
  std::uint64_t end = 0;
  for (unsigned i = 0; i < 1000; ++i) end = d.send(0, 0, 0, 4096, 16);
  EXPECT_EQ(end, 1000u * 140'000);
  EXPECT_EQ(d.bytes(), 1000u * 4480);
  EXPECT_EQ(d.packets(), 16'000u);
}

TEST(LinkDirection, FreeTimeBeforeWhatIsTakenIsUsed) {
  LinkDirection d(timing(), 2);
  EXPECT_EQ(d.send(0, 100'000, 0, 256, 1), 108'750u);
  EXPECT_EQ(d.send(0, 0, 1, 0, 1), 750u);
  EXPECT_EQ(d.send(0, 99'500, 1, 0, 1), 109'500u);  // does not fit before
  // Of one sender what is ready later is sent later, though it would fit.
  EXPECT_EQ(d.send(0, 50'000, 0, 0, 1), 50'750u);
  EXPECT_EQ(d.send(0, 100'000, 0, 0, 1), 110'250u);
}

TEST(LinkDirection, LongBurstsGoAroundOthersPacketByPacket) {
  LinkDirection d(timing(), 2);
  EXPECT_EQ(d.send(0, 10'000, 0, 0, 1), 10'750u);
  // Two packets of 256: one before, one behind.
  EXPECT_EQ(d.send(0, 0, 1, 512, 2), 19'500u);
  EXPECT_EQ(d.bytes(), 24u + 560);
}

TEST(LinkDirection, NeverTwoAtATime) {
  std::mt19937 random(1);
  for (unsigned round = 0; round < 50; ++round) {
    LinkDirection d(timing(), 3);
    std::uint64_t now = 0, total = 0, last = 0;
    std::vector<std::uint64_t> end(3), ready(3);
    for (unsigned i = 0; i < 200; ++i) {
      now += random() % 3000;
      const unsigned s = random() % 3;
      const std::uint64_t at = now + random() % 20'000, bytes = random() % 1024;
      const std::uint64_t packets = std::max<std::uint64_t>(1, (bytes + 255) / 256);
      const std::uint64_t done = d.send(now, at, s, bytes, packets);
      total += timing().picoseconds(bytes + 24 * packets);
      ASSERT_GE(done, at + timing().picoseconds(bytes + 24 * packets));
      if (at >= ready[s]) {
        ASSERT_GT(done, end[s]);
        ready[s] = at, end[s] = done;
      }
      last = std::max(last, done);
    }
    ASSERT_LE(total, last);  // one at a time: all of it fits into what has passed
  }
}

struct Traffic : sc_core::sc_module {
  SC_HAS_PROCESS(Traffic);
  Traffic(const sc_core::sc_module_name& name, Gate& gate, unsigned order, std::vector<unsigned>& log)
      : sc_module(name), gate(gate), order(order), log(log) {
    SC_THREAD(run);
  }
  void run() {
    for (unsigned i = 0; i < 3; ++i) {
      wait(10, sc_core::SC_NS);
      for (unsigned delta = 0; delta < order % 3; ++delta) wait(sc_core::SC_ZERO_TIME);
      const Gate::Pass pass(gate, order);
      EXPECT_EQ(picoseconds_of(sc_core::sc_time_stamp() - pass.came()), 1u);
      log.push_back(order);
    }
  }
  Gate& gate;
  unsigned order;
  std::vector<unsigned>& log;
};

TEST(Gate, OrderDoesNotDependOnWhoIsCalledFirst) {
  Gate gate;
  std::vector<unsigned> log;
  std::vector<std::unique_ptr<Traffic>> senders;
  for (unsigned order : {4u, 1u, 5u, 0u, 2u, 3u})
    senders.push_back(std::make_unique<Traffic>(("s" + std::to_string(order)).c_str(), gate, order, log));
  sc_core::sc_start();
  std::vector<unsigned> want;
  for (unsigned i = 0; i < 3; ++i)
    for (unsigned order = 0; order < 6; ++order) want.push_back(order);
  EXPECT_EQ(log, want);
}

}  // namespace
}  // namespace tessera::pcie
