// Exact times of link ports: one packet, saturation, credits, back-pressure; then what errors, retries and training do.
#include "tlm/link/link_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hw/error.h"
#include "tlm/link/link_test_bench.h"

namespace tessera {
namespace {

using testing::HasSubstr;

/// Cycles, rounded up, of so many bytes on a whole link: by arithmetic of its own.
Cycle line_cycles(const Platform& p, std::uint64_t bytes) {
  const auto num = static_cast<unsigned __int128>(bytes) * 8000 * p.clock_hz;
  const auto den = static_cast<unsigned __int128>(p.link.bits_per_second) * p.link.efficiency_permille;
  return static_cast<Cycle>((num + den - 1) / den);
}

TEST(LinkPort, OnePacket) {
  const Platform p = load_platform("c2");
  LinkBench bench(p);
  EXPECT_EQ(bench.a.state(), LinkState::down);
  bench.a.train();
  EXPECT_EQ(bench.a.state(), LinkState::training);
  EXPECT_EQ(bench.b.state(), LinkState::down);
  bench.run_to(100);
  bench.b.train();
  bench.run_to(100 + p.link.training - 1);
  EXPECT_EQ(bench.b.state(), LinkState::training);
  bench.run_to(100 + p.link.training);
  EXPECT_EQ(bench.a.state(), LinkState::up);
  EXPECT_EQ(bench.b.state(), LinkState::up);
  EXPECT_EQ(bench.a.lanes_up(), 8u);

  const Cycle start = 30000;
  bench.run_to(start);
  const Packet sent = test_packet(256, 7);
  bench.a.send(sent);
  EXPECT_EQ(bench.a.outstanding(), 1u);
  bench.settle();
  // 8 + 16 + 1024 bytes at 9.1268 bytes a cycle: 114.83 cycles.
  const Cycle arrival = start + line_cycles(p, 1048) + p.link.latency;
  EXPECT_EQ(line_cycles(p, 1048), 115u);
  ASSERT_NE(bench.b.front(), nullptr);
  EXPECT_EQ(bench.b.front()->cycle, arrival);
  EXPECT_EQ(bench.b.counters().packets_received, 0u);
  bench.run_to(arrival);
  EXPECT_EQ(bench.b.counters().packets_received, 1u);
  EXPECT_EQ(bench.b.counters().words_received, 260u);
  EXPECT_TRUE(same_packet(bench.b.pop(), sent));
  EXPECT_EQ(bench.b.front(), nullptr);
  bench.run_to(arrival + p.link.latency - 1);
  EXPECT_EQ(bench.a.outstanding(), 1u);
  bench.run_to(arrival + p.link.latency);
  EXPECT_EQ(bench.a.outstanding(), 0u);
  EXPECT_EQ(bench.a.counters().packets_sent, 1u);
  EXPECT_EQ(bench.a.counters().busy_cycles, 114u);
  EXPECT_THAT(bench.a.describe(),
              HasSubstr("IPU-Link 0.3 to 1.3: up, 8 of 8 lanes, 0 packets wait, 0 not acknowledged"));
}

TEST(LinkPort, SaturatedRateIsTheRationalOne) {
  const Platform p = load_platform("c2");
  LinkBench bench(p);
  bench.train();
  const Cycle start = bench.now();
  unsigned sent = 0, received = 0;
  std::uint64_t bytes = 0;
  Cycle last = 0;
  while (received < 10000) {
    while (sent < 10000 && bench.a.room()) {
      const unsigned words = 1 + sent * 37 % 256;
      bytes += p.link.frame_bytes + 16 + 4 * words;
      bench.a.send(test_packet(words, sent++));
    }
    bench.settle();
    while (bench.b.front() != nullptr && bench.b.front()->cycle <= bench.now()) {
      last = bench.b.front()->cycle;
      ASSERT_TRUE(same_packet(bench.b.pop(), test_packet(1 + received * 37 % 256, received)));
      ++received;
    }
    bench.run_to(bench.now() + 4);
  }
  EXPECT_EQ(last, start + line_cycles(p, bytes) + p.link.latency);
  EXPECT_EQ(bench.a.counters().busy_cycles, line_cycles(p, bytes) - 1);
  EXPECT_EQ(bench.a.counters().stalled_cycles, 0u);
  EXPECT_EQ(bench.a.counters().replays, 0u);
  EXPECT_EQ(bench.b.counters().packets_received, 10000u);
}

}  // namespace
}  // namespace tessera
