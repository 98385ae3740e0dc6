// Exact times of link ports: one packet, saturation, credits, back-pressure; then what errors, retries and training do.
#include "tlm/link/link_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hw/error.h"
#include "hw/generated/registers.h"
#include "tlm/link/link_registers.h"
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
  EXPECT_EQ(bench.a.open_transactions(), 1u);
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
  EXPECT_EQ(bench.a.open_transactions(), 0u);
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

/// Sends packets of 256 words as soon as there is room and takes all that arrive in their cycle; gives the arrivals.
std::vector<Cycle> stream(LinkBench& bench, unsigned count, Cycle limit) {
  std::vector<Cycle> arrivals;
  unsigned sent = 0;
  while (arrivals.size() < count && bench.now() < limit) {
    while (sent < count && bench.a.room()) bench.a.send(test_packet(256, sent++));
    bench.settle();
    while (bench.b.front() != nullptr && bench.b.front()->cycle <= bench.now()) {
      EXPECT_TRUE(same_packet(bench.b.pop(), test_packet(256, static_cast<unsigned>(arrivals.size()))));
      arrivals.push_back(bench.now());
    }
    bench.run_to(bench.now() + 1);
  }
  EXPECT_EQ(arrivals.size(), count);
  return arrivals;
}

TEST(LinkPort, OneCreditIsOneRoundTripAPacket) {
  Platform p = load_platform("c2");
  p.link.credits = 1;
  LinkBench bench(p);
  bench.train();
  const Cycle start = bench.now();
  const std::vector<Cycle> arrivals = stream(bench, 20, kNever);
  // The credit is back a latency after the packet was taken, in the cycle of its arrival.
  for (unsigned k = 0; k < 20; ++k) EXPECT_EQ(arrivals[k], start + k * (115 + 24 + 24) + 115 + 24) << k;
  EXPECT_EQ(bench.a.counters().stalled_cycles, 19 * (163 - 114u));
}

TEST(LinkPort, ASenderNeverUsesMoreThanIsGranted) {
  const Platform p = load_platform("c2");
  LinkBench bench(p);
  bench.train();
  unsigned sent = 0;
  for (unsigned i = 0; i < 100; ++i) {
    while (bench.a.room()) bench.a.send(test_packet(256, sent++));
    bench.run_to(bench.now() + 100);
  }
  EXPECT_EQ(sent, p.link.credits + p.packet.buffer_packets);
  EXPECT_EQ(bench.a.counters().packets_sent, p.link.credits);
  EXPECT_EQ(bench.a.outstanding(), p.packet.buffer_packets);
  EXPECT_EQ(bench.a.counters().timeouts, 0u) << "waiting for a credit is not waiting for an answer";
  // One place free: one more packet, a round trip later.
  const Cycle taken = bench.now();
  bench.b.pop();
  bench.run_to(taken + 24 - 1);
  EXPECT_EQ(bench.a.counters().packets_sent, p.link.credits);
  EXPECT_FALSE(bench.a.room());
  bench.run_to(taken + 24);
  EXPECT_EQ(bench.a.counters().packets_sent, p.link.credits + 1);
  EXPECT_TRUE(bench.a.room());
  bench.run_to(taken + 24 + 115 + 24 - 1);
  EXPECT_EQ(bench.b.counters().packets_received, p.link.credits);
  bench.run_to(taken + 24 + 115 + 24);
  EXPECT_EQ(bench.b.counters().packets_received, p.link.credits + 1);
  for (unsigned k = 1; k <= p.link.credits; ++k) EXPECT_TRUE(same_packet(bench.b.pop(), test_packet(256, k)));
}

TEST(LinkPort, EarliestArrivalHolds) {
  LinkBench bench(load_platform("c2"));
  bench.train();
  const Cycle start = bench.now();
  EXPECT_EQ(bench.b.earliest_arrival(), start + 4 + 24) << "28 bytes take 3.07 cycles";
  bench.a.send(test_packet(256, 0));
  bench.a.send(test_packet(1, 1));
  EXPECT_EQ(bench.b.earliest_arrival(), start + 4 + 24);
  bench.settle();
  EXPECT_EQ(bench.b.earliest_arrival(), start + 118 + 24) << "114.83 + 3.07 cycles";
  bench.run_to(start + 200);
  EXPECT_EQ(bench.b.pop().words, 256u);
  EXPECT_EQ(bench.b.front()->cycle, start + 118 + 24);
}

TEST(LinkPort, ADamagedFrameIsSentAgain) {
  LinkBench bench(load_platform("c2"));
  bench.train();
  LinkBench::inject(bench.a, "bit_errors,bits=3");
  const Cycle start = bench.now();
  const std::vector<Cycle> arrivals = stream(bench, 6, kNever);
  // The refusal of the first is here at 115 + 24 + 24; the transmitter is in its second frame until 229.66. From there
  // on all six in a row.
  const Platform p = load_platform("c2");
  for (unsigned k = 0; k < 6; ++k) EXPECT_EQ(arrivals[k], start + line_cycles(p, (k + 3) * 1048) + 24) << k;
  bench.run_to(bench.now() + 100);
  EXPECT_EQ(bench.b.counters().crc_errors, 1u);
  EXPECT_EQ(bench.b.counters().sequence_errors, 1u) << "the second came before the first";
  EXPECT_EQ(bench.a.counters().replays, 2u);
  EXPECT_EQ(bench.a.counters().packets_sent, 6u);
  EXPECT_EQ(bench.a.counters().timeouts, 0u);
  EXPECT_EQ(bench.a.outstanding(), 0u);
}

TEST(LinkPort, ALostFrameIsMissedByTheNextOrByTheTimer) {
  const Platform p = load_platform("c2");
  LinkBench bench(p);
  bench.train();
  LinkBench::inject(bench.a, "lose");
  Cycle start = bench.now();
  std::vector<Cycle> arrivals = stream(bench, 3, kNever);
  // The second frame is whole at 230 + 24 and refused; the refusal comes at 278, in the third frame, which ends at
  // 344.5.
  for (unsigned k = 0; k < 3; ++k) EXPECT_EQ(arrivals[k], start + line_cycles(p, (k + 4) * 1048) + 24) << k;
  EXPECT_EQ(bench.b.counters().sequence_errors, 2u);
  EXPECT_EQ(bench.a.counters().replays, 3u);
  bench.run_to(bench.now() + 1000);
  // Nothing follows: the timer.
  LinkBench::inject(bench.a, "lose");
  start = bench.now();
  bench.a.send(test_packet(256, 99));
  bench.run_to(start + 115 + p.link.replay_timeout + 115 + 24 - 1);
  EXPECT_EQ(bench.b.counters().packets_received, 3u);
  EXPECT_EQ(bench.a.counters().timeouts, 1u);
  bench.run_to(bench.now() + 1);
  EXPECT_EQ(bench.b.counters().packets_received, 4u);
  EXPECT_EQ(bench.b.front()->cycle, bench.now());
}

TEST(LinkPort, ADoubledFrameArrivesOnce) {
  LinkBench bench(load_platform("c2"));
  bench.train();
  LinkBench::inject(bench.a, "double,count=2");
  const Cycle start = bench.now();
  const std::vector<Cycle> arrivals = stream(bench, 3, kNever);
  const Platform p = load_platform("c2");
  for (unsigned k = 0; k < 3; ++k)  // the second copy takes its time on the line
    EXPECT_EQ(arrivals[k], start + line_cycles(p, (2 * k + 1) * 1048) + 24) << k;
  bench.run_to(bench.now() + 1000);
  EXPECT_EQ(bench.b.counters().sequence_errors, 2u);
  EXPECT_EQ(bench.b.counters().packets_received, 3u);
  EXPECT_EQ(bench.a.counters().replays, 0u);
  EXPECT_EQ(bench.a.outstanding(), 0u);
}

TEST(LinkPort, ALostAcknowledgementIsMadeGoodByTheNextOrByTheTimer) {
  const Platform p = load_platform("c2");
  LinkBench bench(p);
  bench.train();
  LinkBench::inject(bench.a, "lose_ack");
  stream(bench, 2, kNever);
  bench.run_to(bench.now() + 100);
  EXPECT_EQ(bench.a.outstanding(), 0u);
  EXPECT_EQ(bench.a.counters().replays, 0u);
  LinkBench::inject(bench.a, "lose_ack");
  const Cycle start = bench.now();
  bench.a.send(test_packet(256, 2));
  bench.run_to(start + 115 + p.link.replay_timeout + 115 + 24 + 24 - 1);
  EXPECT_EQ(bench.a.outstanding(), 1u);
  EXPECT_EQ(bench.a.counters().timeouts, 1u);
  bench.run_to(bench.now() + 1);
  EXPECT_EQ(bench.a.outstanding(), 0u);
  EXPECT_EQ(bench.b.counters().sequence_errors, 1u);
  EXPECT_EQ(bench.b.counters().packets_received, 3u);
  EXPECT_TRUE(same_packet(bench.b.pop(), test_packet(256, 2)));
  EXPECT_EQ(bench.b.front(), nullptr);
}

TEST(LinkPort, StalledCreditsWait) {
  Platform p = load_platform("c2");
  p.link.credits = 1;
  LinkBench bench(p);
  bench.train();
  const Cycle start = bench.now();
  LinkBench::inject(bench.a, "stall_credits,at=" + std::to_string(start + 163) + ",for=1000");
  const std::vector<Cycle> arrivals = stream(bench, 3, kNever);
  EXPECT_EQ(arrivals[0], start + 139);
  EXPECT_EQ(arrivals[1], start + 163 + 1000 + 139) << "its credit would be here in the first cycle of the stall";
  EXPECT_EQ(arrivals[2], start + 2 * 163 + 1000 + 139);
}

TEST(LinkPort, ALinkThatGoesDownComesBack) {
  const Platform p = load_platform("c2");
  LinkBench bench(p);
  bench.train();
  const Cycle start = bench.now(), down = start + 300;
  LinkBench::inject(bench.a, "down,at=" + std::to_string(down) + ",for=500");
  const std::vector<Cycle> arrivals = stream(bench, 5, start + 100000);
  // The third frame, under way until 344.5, still arrives; the first attempt to train meets the broken medium.
  const Cycle up = down + 2 * p.link.training;
  for (unsigned k = 0; k < 3; ++k) EXPECT_EQ(arrivals[k], start + line_cycles(p, (k + 1) * 1048) + 24) << k;
  // Answers until 300 came: of the first at 163 and the second at 278. The third goes again and is dropped.
  for (unsigned k = 3; k < 5; ++k) EXPECT_EQ(arrivals[k], up + line_cycles(p, (k - 1) * 1048) + 24) << k;
  EXPECT_EQ(bench.a.counters().replays, 1u);
  EXPECT_EQ(bench.b.counters().sequence_errors, 1u);
  EXPECT_EQ(bench.a.counters().trainings, 2u);
  EXPECT_TRUE(bench.failures.empty());
}

TEST(LinkPort, ATrainingShorterThanAFrameWaitsForItsEnd) {
  Platform p = load_platform("c2");
  p.link.training = 50;
  LinkBench bench(p);
  bench.train();
  const Cycle start = bench.now();
  LinkBench::inject(bench.a, "down,for=1,at=" + std::to_string(start + 10));
  const std::vector<Cycle> arrivals = stream(bench, 2, start + 100000);
  // Up again at 110 with the second attempt; the first frame ends at 114.83, is sent again from 115 on and dropped.
  EXPECT_EQ(arrivals[0], start + 115 + 24);
  EXPECT_EQ(arrivals[1], start + 115 + line_cycles(p, 2 * 1048) + 24);
  EXPECT_EQ(bench.a.counters().trainings, 2u);
}

TEST(LinkPort, ALinkThatStaysDownIsGivenUp) {
  const Platform p = load_platform("c2");
  LinkBench bench(p);
  bench.train();
  const Cycle down = bench.now() + 50;
  for (unsigned k = 0; k < 4; ++k) bench.a.send(test_packet(256, k));
  LinkBench::inject(bench.b, "down,at=" + std::to_string(down));
  bench.run_to(down - 1);
  EXPECT_EQ(bench.a.state(), LinkState::up);
  bench.run_to(down);
  EXPECT_EQ(bench.a.state(), LinkState::training);
  EXPECT_EQ(bench.b.state(), LinkState::training);
  EXPECT_EQ(bench.a.lanes_up(), 0u);
  bench.run_to(down + 3 * p.link.training - 1);
  EXPECT_TRUE(bench.failures.empty());
  bench.run_to(down + 3 * p.link.training);
  EXPECT_EQ(bench.a.state(), LinkState::failed);
  EXPECT_EQ(bench.b.state(), LinkState::failed);
  ASSERT_EQ(bench.failures.size(), 1u) << "nothing waits at the other end";
  EXPECT_EQ(bench.failures[0],
            "0: IPU-Link 0.3 to 1.3 was given up: 3 attempts to train it had no success; 4 packets wait for it");
  bench.b.send(test_packet(1, 0));
  ASSERT_EQ(bench.failures.size(), 2u);
  EXPECT_THAT(bench.failures[1], HasSubstr("1: IPU-Link 1.3 to 0.3"));
  bench.b.send(test_packet(1, 0));
  EXPECT_EQ(bench.failures.size(), 2u) << "told once";
  // Repaired and trained again from outside, it brings over what waits.
  LinkBench::inject(bench.b, "clear");
  bench.train();
  bench.run_to(bench.now() + 2000);
  EXPECT_EQ(bench.a.outstanding(), 0u);
  EXPECT_EQ(bench.b.counters().packets_received, 4u);
  EXPECT_EQ(bench.a.counters().packets_received, 2u);
}

TEST(LinkPort, FewerLanesMakeItSlower) {
  const Platform p = load_platform("c2");
  LinkBench bench(p);
  bench.train();
  LinkBench::inject(bench.a, "lanes,count=3");
  LinkBench::inject(bench.b, "lanes,count=2,for=1");
  bench.settle();
  EXPECT_EQ(bench.a.state(), LinkState::training);
  bench.train();
  EXPECT_EQ(bench.a.lanes_up(), 3u) << "lanes that fail within the training are not taken";
  const Cycle start = bench.now();
  const std::vector<Cycle> arrivals = stream(bench, 3, kNever);
  for (unsigned k = 0; k < 3; ++k)
    EXPECT_EQ(arrivals[k], start + (line_cycles(p, 8 * (k + 1) * 1048 * 1000) + 2999) / 3000 + 24) << k;
  // The next training finds those that work again.
  bench.a.disable();
  EXPECT_EQ(bench.b.state(), LinkState::down);
  bench.train();
  EXPECT_EQ(bench.b.lanes_up(), 5u);
  LinkBench::inject(bench.a, "lanes,count=64");
  bench.settle();
  bench.train();
  EXPECT_EQ(bench.b.state(), LinkState::failed);
}

TEST(LinkPort, AFrameThatNeverComesAcrossEndsTheLink) {
  const Platform p = load_platform("c2");
  LinkBench bench(p);
  bench.train();
  LinkBench::inject(bench.a, "lose,rate_e12=1000000000000");
  const Cycle start = bench.now();
  bench.a.send(test_packet(256, 0));
  // Each round: the frame and the timer. 1 + max_replays rounds, then a training; max_trainings of them, then the end.
  const Cycle rounds = (1 + p.link.max_replays) * (115 + p.link.replay_timeout);
  const Cycle end = start + (p.link.max_trainings + 1) * rounds + p.link.max_trainings * p.link.training;
  bench.run_to(start + rounds - 1);
  EXPECT_EQ(bench.a.state(), LinkState::up);
  bench.run_to(start + rounds);
  EXPECT_EQ(bench.a.state(), LinkState::training);
  bench.run_to(end - 1);
  EXPECT_TRUE(bench.failures.empty());
  bench.run_to(end);
  ASSERT_EQ(bench.failures.size(), 1u);
  EXPECT_EQ(bench.failures[0],
            "0: IPU-Link 0.3 to 1.3 was given up: 3 trainings did not bring a packet across; 1 packet waits for it");
  EXPECT_EQ(bench.a.counters().timeouts, 4 * 5u);
  EXPECT_EQ(bench.a.counters().trainings, 4u);
}

TEST(LinkPort, DisableKeepsAndTrainGoesOn) {
  LinkBench bench(load_platform("c2"));
  bench.train();
  for (unsigned k = 0; k < 4; ++k) bench.a.send(test_packet(256, k));
  bench.run_to(bench.now() + 200);
  bench.b.disable();
  EXPECT_EQ(bench.a.state(), LinkState::down);
  bench.run_to(bench.now() + 100000);
  EXPECT_EQ(bench.a.state(), LinkState::down);
  EXPECT_EQ(bench.a.outstanding(), 3u);
  EXPECT_EQ(bench.b.counters().packets_received, 2u) << "what was under way came";
  bench.train();
  bench.run_to(bench.now() + 2000);
  EXPECT_EQ(bench.a.outstanding(), 0u);
  for (unsigned k = 0; k < 4; ++k) EXPECT_TRUE(same_packet(bench.b.pop(), test_packet(256, k)));
  EXPECT_TRUE(bench.failures.empty());
}

TEST(LinkPort, ResetOfOneEnd) {
  const Platform p = load_platform("c2");
  LinkBench bench(p);
  bench.train();
  for (unsigned k = 0; k < 4; ++k) bench.a.send(test_packet(256, k));
  bench.b.send(test_packet(9, 40));
  bench.b.send(test_packet(9, 41));
  bench.run_to(bench.now() + 150);
  bench.b.reset();
  EXPECT_EQ(bench.a.state(), LinkState::down);
  EXPECT_EQ(bench.b.front(), nullptr);
  EXPECT_EQ(bench.b.counters().packets_sent, 0u);
  ASSERT_EQ(bench.failures.size(), 1u);
  EXPECT_THAT(bench.failures[0], HasSubstr("0: IPU-Link 0.3 to 1.3: the other end was reset while 4 packets waited"));
  EXPECT_TRUE(same_packet(bench.a.pop(), test_packet(9, 40)));
  bench.train();
  // Sequence numbers and credits fit again: many more packets than credits get across, in both directions.
  unsigned sent = 0, received = 0;
  for (unsigned i = 0; received < 40 && i < 10000; ++i) {
    if (sent < 40 && bench.a.room() && bench.b.room()) {
      bench.a.send(test_packet(1, sent));
      bench.b.send(test_packet(1, sent++));
    }
    bench.run_to(bench.now() + 10);
    if (bench.b.front() == nullptr || bench.b.front()->cycle > bench.now()) continue;
    if (received == 0) {
      EXPECT_TRUE(same_packet(bench.a.pop(), test_packet(9, 41))) << "taken before the reset";
    }
    EXPECT_TRUE(same_packet(bench.b.pop(), test_packet(1, received)));
    EXPECT_TRUE(same_packet(bench.a.pop(), test_packet(1, received++)));
  }
  EXPECT_EQ(received, 40u);
  EXPECT_EQ(bench.a.counters().sequence_errors + bench.b.counters().sequence_errors, 0u);
  EXPECT_EQ(bench.failures.size(), 1u);
}

TEST(LinkPort, Registers) {
  using namespace reg::chip;
  const Platform p = load_platform("c2");
  LinkBench bench(p);
  LinkRegisters a("ra"), b("rb");
  a.add(bench.a, {1, 3, Topology::Port::Use::direct});
  b.add(bench.b, {0, 3, Topology::Port::Use::rail});
  std::uint32_t high = 77;
  EXPECT_TRUE(LinkRegisters::covers(kLinkStatus));
  EXPECT_TRUE(LinkRegisters::covers(0x33FC));
  EXPECT_FALSE(LinkRegisters::covers(0x3400));
  EXPECT_FALSE(LinkRegisters::covers(0x2FFC));
  EXPECT_EQ(a.read(kLinkStatus, high), 1u);
  EXPECT_EQ(a.read(kLinkStatus + 64, high), 0u) << "absent";
  EXPECT_EQ(a.read(kLinkPeer, high), 1u | 3u << 8);
  EXPECT_EQ(b.read(kLinkPeer, high), 0u | 3u << 8 | 2u << 16);
  // Writes act at their time, in order of time.
  const sc_core::sc_time cycles = sc_core::sc_time(625, sc_core::SC_PS);
  a.write(kLinkControl, 1, 100 * cycles);
  b.write(kLinkControl, 1, 200 * cycles);
  b.write(kLinkControl, 2, 50 * cycles);
  a.write(kLinkControl + 64, 1, 0 * cycles);
  a.write(kLinkPacketsSent, 5, 0 * cycles);
  bench.run_to(100);
  EXPECT_EQ(a.read(kLinkStatus, high), 2u);
  EXPECT_EQ(b.read(kLinkStatus, high), 1u);
  bench.run_to(200 + p.link.training - 1);
  EXPECT_EQ(b.read(kLinkStatus, high), 2u);
  bench.run_to(200 + p.link.training);
  EXPECT_EQ(b.read(kLinkStatus, high), 3u | 8u << 8);
  LinkBench::inject(bench.a, "bit_errors");
  stream(bench, 12, kNever);
  bench.a.send(test_packet(5, 0));
  EXPECT_EQ(a.read(kLinkOutstanding, high), 2u) << "the last is not acknowledged yet";
  bench.run_to(bench.now() + 1000);
  EXPECT_EQ(a.read(kLinkOutstanding, high), 0u);
  EXPECT_EQ(a.read(kLinkPacketsSent, high), 13u);
  EXPECT_EQ(b.read(kLinkPacketsReceived, high), 13u);
  EXPECT_EQ(a.read(kLinkWordsSentLow, high), 12 * 260u + 9);
  EXPECT_EQ(high, 0u);
  EXPECT_EQ(b.read(kLinkWordsReceivedLow, high), 12 * 260u + 9);
  EXPECT_EQ(b.read(kLinkCrcErrors, high), 1u);
  EXPECT_EQ(b.read(kLinkSequenceErrors, high), 1u);
  EXPECT_EQ(a.read(kLinkReplays, high), 2u);
  EXPECT_EQ(a.read(kLinkTrainings, high), 1u);
  EXPECT_EQ(a.read(kLinkBusyCycles, high), line_cycles(p, 14 * 1048 + 8 + 36) - 1);
  EXPECT_EQ(a.read(kLinkStalledCycles, high), 0u);
  a.write(kLinkControl, 2, sc_core::SC_ZERO_TIME);
  bench.settle();
  EXPECT_EQ(b.read(kLinkStatus, high), 1u);
}

TEST(LinkPort, RefusesWhatItDoesNotKnow) {
  Platform p = load_platform("c2");
  LinkBench bench(p);
  for (const char* text : {"melt", "down,count=1", "stall_credits", "stall_credits,at=1", "bit_errors,rate_e12=0",
                           "bit_errors,rate_e12=1000000000001", "bit_errors,count=0", "bit_errors,rate_e12=1,count=1",
                           "lose,bits=1", "down,for=0", "lanes,count=0", "clear,at=1"})
    EXPECT_THROW(LinkBench::inject(bench.a, text), Error) << text;
  EXPECT_THROW(bench.a.send(Packet{}), std::logic_error);
  EXPECT_THROW(bench.a.pop(), std::logic_error);
  p.link.replay_timeout = 2 * 24 + 918;
  EXPECT_THROW(LinkPort("short", p, 0, 0), Error);
}

}  // namespace
}  // namespace tessera
