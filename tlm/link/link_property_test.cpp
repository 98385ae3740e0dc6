// Whatever the traffic, the back-pressure and the faults: what is sent arrives once, in order, bit for bit, or the link
// says that it has failed. The same case gives the same cycles again, also if every frame's CRC is computed.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <memory>

#include "tlm/link/link_test_bench.h"

namespace tessera {
namespace {

/// Chosen by the case, used alike in every run of it.
struct Case {
  unsigned bench = 0;
  std::vector<std::string> faults[2];  // by end; "at" counts from the start
  std::vector<Cycle> at[2];
  unsigned packets[2] = {0, 0};
  std::uint64_t seed = 0;
  unsigned send_gap = 1, take_gap = 1;
};

struct Outcome {
  std::vector<std::pair<Cycle, std::uint32_t>> taken[2];  // cycle from the start, header word 3 / 8
  std::vector<std::string> failures;
  std::string counters;
  bool operator==(const Outcome& o) const {
    return taken[0] == o.taken[0] && taken[1] == o.taken[1] && failures == o.failures && counters == o.counters;
  }
};

std::uint32_t hash(std::uint64_t x) {
  x = (x ^ x >> 31) * 0x7FB5D329728EA185u;
  x = (x ^ x >> 27) * 0x81DADEF4BC2DD44Du;
  return static_cast<std::uint32_t>(x >> 32);
}

std::string text(const LinkCounters& c) {
  std::string all;
  for (const std::uint64_t n : {c.packets_sent, c.words_sent, c.packets_received, c.words_received, c.crc_errors,
                                c.sequence_errors, c.replays, c.timeouts, c.trainings, c.busy_cycles, c.stalled_cycles})
    all += std::to_string(n) + " ";
  return all;
}

Outcome run(LinkBench& bench, const Case& c, bool verify) {
  LinkPort* const ports[2] = {&bench.a, &bench.b};
  bench.run_to(bench.now() + 100000);  // nothing of the last run is under way
  for (LinkPort* port : ports) {
    RC_ASSERT(port->open_transactions() == 0u);
    LinkBench::inject(*port, "clear");
    port->reset();
    port->verify_every_frame(verify);
  }
  bench.failures.clear();  // what the last run left behind
  bench.train();
  const Cycle start = bench.now();
  for (unsigned e = 0; e < 2; ++e)
    for (std::size_t i = 0; i < c.faults[e].size(); ++i)
      LinkBench::inject(*ports[e], c.faults[e][i] + ",at=" + std::to_string(start + c.at[e][i]));
  Outcome outcome;
  unsigned sent[2] = {0, 0};
  const auto size = [&](unsigned e, unsigned k) { return 1 + hash(c.seed + 7 * k + e) % (k % 3 == 0 ? 256 : 20); };
  const auto mark = [&](unsigned e, unsigned k) { return (e << 16 | k) & 0xffffff; };
  for (std::uint64_t step = 0; bench.now() < start + 4000000; ++step) {
    bool done = true;
    for (unsigned e = 0; e < 2; ++e) {
      LinkPort& port = *ports[e];
      if (sent[e] < c.packets[e] && port.room() && hash(c.seed ^ step << 8 ^ e) % c.send_gap == 0) {
        port.send(test_packet(size(e, sent[e]), mark(e, sent[e])));
        ++sent[e];
      }
      while (port.front() != nullptr && port.front()->cycle <= bench.now() &&
             hash(c.seed ^ step << 8 ^ (e + 2)) % c.take_gap == 0) {
        const Packet packet = port.pop();
        const auto k = static_cast<unsigned>(outcome.taken[e].size());
        RC_ASSERT(same_packet(packet, test_packet(size(1 - e, k), mark(1 - e, k))));
        outcome.taken[e].emplace_back(bench.now() - start, packet.local / 8);
      }
      done &= sent[e] == c.packets[e] && outcome.taken[e].size() == c.packets[1 - e];
    }
    if (done || !bench.failures.empty()) break;
    bench.run_to(bench.now() + 1 + hash(c.seed + step) % 60);
  }
  for (const std::string& failure : bench.failures) outcome.failures.push_back(failure);
  outcome.counters = text(bench.a.counters()) + "| " + text(bench.b.counters());
  if (bench.failures.empty()) {
    RC_ASSERT(outcome.taken[0].size() == c.packets[1]);
    RC_ASSERT(outcome.taken[1].size() == c.packets[0]);
  } else {
    RC_ASSERT(bench.a.state() == LinkState::failed);
    RC_ASSERT(outcome.failures[0].find("was given up") != std::string::npos);
  }
  return outcome;
}

std::string random_fault() {
  const auto number = [](std::uint64_t low, std::uint64_t high) {
    return std::to_string(*rc::gen::inRange<std::uint64_t>(low, high));
  };
  switch (*rc::gen::inRange(0, 12)) {
    case 0:
      return "bit_errors,rate_e12=" + number(1000000, 100000000) + ",seed=" + number(0, 1000);
    case 1:
      return "bit_errors,rate_e12=" + number(1, 2000000000) + ",for=" + number(1, 20000);
    case 2:
      return "bit_errors,count=" + number(1, 20) + ",bits=" + number(1, 40) + ",seed=" + number(0, 1000);
    case 3:
      return "lose,rate_e12=" + number(1000000000, 300000000000);
    case 4:
      return "lose,count=" + number(1, 8);
    case 5:
      return "double,rate_e12=" + number(1000000000, 500000000000);
    case 6:
      return "lose_ack,rate_e12=" + number(1000000000, 500000000000);
    case 7:
      return "lose_ack,count=" + number(1, 8);
    case 8:
      return "stall_credits,for=" + number(1, 10000);
    case 9:
      return "down,for=" + number(1, 30000);
    case 10:
      return "lanes,count=" + number(1, 4) + ",for=" + number(1, 100000);
    default:
      return *rc::gen::inRange(0, 3) == 0 ? "down" : "double,count=3";
  }
}

std::vector<std::unique_ptr<LinkBench>> benches() {
  std::vector<std::unique_ptr<LinkBench>> list;
  Platform p = load_platform("c2");
  list.push_back(std::make_unique<LinkBench>(p, "_c2"));
  p.link.credits = p.link.replay_packets = p.packet.buffer_packets = 1;
  p.link.latency = 1;
  p.link.frame_bytes = 0;
  list.push_back(std::make_unique<LinkBench>(p, "_tight"));
  p = load_platform("c2");
  p.clock_hz = 1300000001;  // no whole number of picoseconds
  p.link.bits_per_second = 31999999999;
  p.link.lanes = 4;
  p.link.latency = 101;
  p.link.frame_bytes = 21;
  p.link.credits = 3;
  p.link.replay_packets = 2;
  p.link.training = 500;
  p.link.max_replays = 1;
  p.link.max_trainings = 2;
  p.link.replay_timeout = 12000;
  list.push_back(std::make_unique<LinkBench>(p, "_odd"));
  p = load_platform("c2");
  p.link.bits_per_second = 100000000000000;  // several frames in a cycle
  p.link.credits = 64;
  p.link.replay_packets = 64;
  p.packet.buffer_packets = 16;
  p.link.training = 50;
  list.push_back(std::make_unique<LinkBench>(p, "_fast"));
  return list;
}

TEST(LinkProperty, NothingLostDoubledOrReordered) {
  const auto all = benches();
  unsigned runs = 0, failed = 0;
  std::uint64_t packets = 0, errors = 0, replays = 0;
  const auto one = [&] {
    Case c;
    c.bench = *rc::gen::inRange(0u, static_cast<unsigned>(all.size()));
    for (unsigned e = 0; e < 2; ++e) {
      c.packets[e] = *rc::gen::inRange(0u, 120u);
      for (unsigned i = *rc::gen::inRange(0u, 4u); i > 0; --i) {
        c.faults[e].push_back(random_fault());
        c.at[e].push_back(*rc::gen::inRange<std::uint64_t>(0, 10000));
      }
    }
    c.seed = *rc::gen::inRange<std::uint64_t>(0, 1u << 30);
    c.send_gap = *rc::gen::inRange(1u, 6u);
    c.take_gap = *rc::gen::inRange(1u, 6u);
    for (unsigned e = 0; e < 2; ++e)
      for (std::size_t i = 0; i < c.faults[e].size(); ++i)
        RC_LOG() << e << ": " << c.faults[e][i] << " at " << c.at[e][i] << "\n";
    LinkBench& bench = *all[c.bench];
    const Outcome first = run(bench, c, false);
    const auto sum = [](const LinkBench& b, std::uint64_t LinkCounters::*what) {
      return b.a.counters().*what + b.b.counters().*what;
    };
    errors += sum(bench, &LinkCounters::crc_errors) + sum(bench, &LinkCounters::sequence_errors);
    replays += sum(bench, &LinkCounters::replays);
    packets += first.taken[0].size() + first.taken[1].size();
    failed += !first.failures.empty();
    ++runs;
    const Outcome second = run(bench, c, true);
    RC_ASSERT(first.taken[0] == second.taken[0]);
    RC_ASSERT(first.counters == second.counters);
    RC_ASSERT(first == second);
  };
  setenv("RC_PARAMS", "max_success=500", 0);  // a case takes a millisecond
  EXPECT_TRUE(rc::check(one));
  // The cases were worth something.
  EXPECT_GE(runs, 100u);
  EXPECT_GT(packets, 20 * runs);
  EXPECT_GT(errors, runs);
  EXPECT_GT(replays, runs);
  EXPECT_GT(failed, 0u);
  EXPECT_LT(failed, runs / 2);
  std::printf("%u cases, %llu packets, %llu frames refused, %llu sent again, %u links given up\n", runs,
              static_cast<unsigned long long>(packets), static_cast<unsigned long long>(errors),
              static_cast<unsigned long long>(replays), failed);
}

}  // namespace
}  // namespace tessera
