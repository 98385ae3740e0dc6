// The scheduler: every schedule is proved by the checker; lengths against the bound; and the checker finds what is
// wrong.
#include "host/exchange/schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "host/exchange/checker.h"
#include "host/exchange/traffic.h"
#include "hw/generated/machine.h"
#include "hw/platform.h"

namespace tessera::exchange {
namespace {

using traffic::place;
using traffic::prove;

Delays pocket() { return delays_of(load_platform("pocket")); }

Delays delays_for(unsigned tiles) {
  Delays d;
  d.base = 20;
  for (unsigned t = 0; t < tiles; ++t) {
    d.send.push_back(t % 5 * 2);
    d.receive.push_back(t % 3 * 2);
  }
  return d;
}

std::uint64_t words_of(const Messages& m) {
  std::uint64_t sum = 0;
  for (const auto& x : m.list()) sum += std::uint64_t{x.words} * x.destinations;
  return sum;
}

/// Schedules, proves, and gives cycles / bound.
double stretch(const Messages& m, const Delays& delays) {
  const Schedule s = schedule(m, delays);
  const CheckReport report = prove(m, delays, s, 18);
  EXPECT_TRUE(report.ok()) << (report.problems.empty() ? "nothing compared" : report.problems.front());
  EXPECT_EQ(report.words, words_of(m));
  EXPECT_EQ(report.cycles, s.cycles());
  EXPECT_GE(s.cycles(), s.bound());
  return static_cast<double>(s.cycles()) / static_cast<double>(s.bound());
}

TEST(Schedule, OneWordTakesTheDelay) {
  Messages m;
  m.add(place(0, 5), place(9, 7), 1);
  const Delays d = pocket();
  const Schedule s = schedule(m, d, {12, 262144, 1030});
  ASSERT_EQ(s.phases.size(), 1u);
  EXPECT_EQ(s.phases[0].cycles, 12 + d.base + d.send[0] + d.receive[9] + 1);
  EXPECT_EQ(s.phases[0].cycles, s.phases[0].bound);
  const ExchangeHeader sender = ExchangeHeader::unpack(s.phases[0].tables[0][0]);
  EXPECT_EQ(sender.sends, 1u);
  EXPECT_EQ(sender.receives, 0u);
  const ExchangeDescriptor send = ExchangeDescriptor::unpack(s.phases[0].tables[0][1]);
  EXPECT_EQ(send.start, 12u);
  EXPECT_EQ(send.address, 5u);
  const ExchangeDescriptor receive = ExchangeDescriptor::unpack(s.phases[0].tables[9][1]);
  EXPECT_EQ(receive.start, 12u + d.base + d.send[0] + d.receive[9]);
  EXPECT_EQ(receive.peer, 0u);
  EXPECT_TRUE(s.phases[0].tables[1].empty());
  EXPECT_TRUE(prove(m, d, s, 12).ok());
}

TEST(Schedule, NothingIsNoPhase) {
  Messages m;
  m.add(place(0, 0), place(1, 0), 0);
  EXPECT_TRUE(schedule(m, pocket()).phases.empty());
}

TEST(Schedule, MulticastIsSentOnce) {
  Messages m;
  std::vector<Place> all;
  for (unsigned t = 1; t < 16; ++t) all.push_back(place(t, 100));
  m.add(place(0, 0), all, 500);
  const Schedule s = schedule(m, pocket());
  EXPECT_EQ(s.phases[0].tables[0].size(), 2u);
  EXPECT_LT(s.cycles(), 600u);
  EXPECT_EQ(s.phases[0].words, 7500u);
  EXPECT_LE(stretch(m, pocket()), 1.0);
}

TEST(Schedule, ContiguousPiecesAreOneDescriptor) {
  Messages m;
  for (unsigned i = 0; i < 50; ++i) m.add(place(0, i * 3), place(1, 1000 + i * 3), 3);
  const Schedule s = schedule(m, pocket());
  EXPECT_EQ(s.phases[0].tables[0].size(), 2u);
  EXPECT_EQ(s.phases[0].tables[1].size(), 2u);
}

TEST(Schedule, StridedPiecesAreABlock) {
  Messages m;  // a 6 x 5 block of runs of 2 words, transposed in its runs
  for (unsigned i = 0; i < 6; ++i)
    for (unsigned j = 0; j < 5; ++j) m.add(place(2, i * 100 + j * 10), place(3, 5000 + i * 2 + j * 40), 2);
  const Schedule s = schedule(m, pocket());
  EXPECT_EQ(s.phases[0].tables[2].size(), 3u);
  EXPECT_EQ(s.phases[0].tables[3].size(), 3u);
  EXPECT_EQ(stretch(m, pocket()), 1.0);
}

TEST(Schedule, SelfSend) {
  Messages m;
  m.add(place(4, 0), place(4, 100), 10);
  m.add(place(4, 50), {place(4, 200), place(5, 200)}, 3);
  stretch(m, pocket());
}

TEST(Schedule, GatherOfWordsIsASweep) {
  Messages m;
  for (unsigned s = 0; s < 16; ++s) m.add(place(s, 3), place(7, 2000 + s), 1);
  const Schedule s = schedule(m, pocket());
  EXPECT_EQ(s.phases[0].tables[7].size(), 1u + 1 + 2);  // header, own send, sweep
  EXPECT_LE(s.cycles(), 18u + 20 + 4 + 2 + 16 + 2);
  stretch(m, pocket());
}

TEST(Schedule, AllGatherOfWordsIsOneDescriptorEach) {
  const Messages m = traffic::all_gather(16, 1);
  const Schedule s = schedule(m, pocket());
  for (unsigned t = 0; t < 16; ++t) EXPECT_EQ(s.phases[0].tables[t].size(), 1u + 1 + 2);
  stretch(m, pocket());
}

TEST(Schedule, BasesAndSelectedSource) {
  Messages m;
  Place source{1, 1, 10}, destination{2, 2, 20};
  m.add(source, destination, 8);
  m.add_selected({place(3, 0), place(4, 16), place(5, 32)}, {place(6, 900), place(7, 900)}, 12);
  const Delays d = pocket();
  const Schedule s = schedule(m, d);
  CheckOptions options;
  options.earliest = 18;
  options.setup.resize(16);
  options.setup[1].xbase[0] = 0x41000;
  options.setup[2].xbase[1] = 0x42000;
  for (const std::uint16_t selected : {3, 4, 5}) {
    options.setup[6].xsource = selected;
    options.setup[7].xsource = 5;
    const CheckReport report = check(m, d, {&s.phases[0].tables}, options);
    EXPECT_TRUE(report.ok()) << report.problems.front();
    EXPECT_EQ(report.words, 8u + 24);
  }
  options.setup[6].xsource = 9;
  EXPECT_FALSE(check(m, d, {&s.phases[0].tables}, options).ok());
}

TEST(Schedule, LongPhasesAreCut) {
  Messages m;
  for (unsigned s = 1; s < 16; ++s) m.add(place(s, 0), place(0, 16000 + s * 3000), 2900);
  const Delays d = pocket();
  const Schedule s = schedule(m, d, {18, 10000, 1030});
  EXPECT_GE(s.phases.size(), 5u);
  for (const Phase& p : s.phases) EXPECT_LT(p.cycles, 10000u);
  const CheckReport report = prove(m, d, s, 18);
  EXPECT_TRUE(report.ok()) << report.problems.front();
  EXPECT_EQ(report.words, words_of(m));
}

TEST(Schedule, SameInputSameBytes) {
  const Messages m = traffic::random(16, 300, 40, 5);
  const Schedule a = schedule(m, pocket()), b = schedule(m, pocket());
  ASSERT_EQ(a.phases.size(), b.phases.size());
  for (std::size_t i = 0; i < a.phases.size(); ++i) EXPECT_EQ(a.phases[i].tables, b.phases[i].tables);
}

TEST(Schedule, WithinFivePercent) {
  const unsigned tiles = 76;
  const Delays d = delays_for(tiles);
  EXPECT_LE(stretch(traffic::shift(tiles, 1, 100), d), 1.05);
  EXPECT_LE(stretch(traffic::shift(tiles, 33, 1), d), 1.05);
  EXPECT_LE(stretch(traffic::random(tiles, 40 * tiles, 50, 1), d), 1.05);
  EXPECT_LE(stretch(traffic::hot_receiver(tiles, 20, 2), d), 1.05);
  EXPECT_LE(stretch(traffic::halo(tiles, 19, 30), d), 1.05);
  EXPECT_LE(stretch(traffic::multicast(tiles, 6, 12, 40, 3), d), 1.05);
  EXPECT_LE(stretch(traffic::all_to_all(tiles, 1), d), 1.05);
  EXPECT_LE(stretch(traffic::all_to_all(tiles, 7), d), 1.05);
  EXPECT_LE(stretch(traffic::transpose(tiles, 2 * tiles, 3 * tiles), d), 1.10);
}

TEST(Schedule, WhatIsCutElsewhereThanItWasComesWithinFivePercent) {
  for (const unsigned rows : {4u, 8u})
    for (const unsigned a : {5u, 7u, 10u})
      for (const unsigned b : {3u, 4u, 6u, 11u})
        for (const unsigned parts : {4u, 8u}) {
          unsigned tiles = 0;
          const Messages m = traffic::recut(rows, a, parts, b, 8, &tiles);
          EXPECT_LE(stretch(m, delays_for(tiles)), 1.05) << rows << " " << a << " " << b << " " << parts;
        }
}

TEST(Schedule, MulticastsAmongPairsAreDividedWhereTheSenderHasTime) {
  const unsigned tiles = 64;
  unsigned used = 0;
  Messages m = traffic::recut(8, 7, 4, 4, 8, &used);
  ASSERT_EQ(used, tiles);
  for (unsigned s = 0; s < tiles; s += 2)
    m.add(place(s, 8000),
          {place((s + 5) % tiles, 60000), place((s + 11) % tiles, 61000), place((s + 30) % tiles, 62000)}, 48);
  EXPECT_LE(stretch(m, delays_for(tiles)), 1.05);
}

/// Many receivers that each hear all senders, a word of each: sweeps over the same tiles have to go round.
TEST(Schedule, SweepsOverTheSameSendersGoRound) {
  const unsigned senders = 128, receivers = 24, tiles = senders + receivers;
  Messages m;
  for (unsigned d = 0; d < receivers; ++d)
    for (unsigned s = 0; s < senders; ++s) m.add(place(s, d), place(senders + d, traffic::kIn + s), 1);
  const Schedule s = schedule(m, delays_for(tiles));
  EXPECT_LT(s.cycles(), 18u + 20 + 2 * senders);  // single words would take two cycles each
  EXPECT_LE(stretch(m, delays_for(tiles)), 1.10);
}

/// Any messages whose destinations do not overlap, with multicast, strides and self-sends.
Messages arbitrary_messages(unsigned tiles) {
  Messages m;
  std::vector<std::uint32_t> next(tiles, traffic::kIn);
  const unsigned count = *rc::gen::inRange(1u, 40u);
  for (unsigned i = 0; i < count; ++i) {
    const unsigned s = *rc::gen::inRange(0u, tiles);
    const std::uint32_t words =
        *rc::gen::weightedOneOf<std::uint32_t>({{3, rc::gen::inRange<std::uint32_t>(1, 4)},
                                                {2, rc::gen::inRange<std::uint32_t>(1, 200)},
                                                {1, rc::gen::inRange<std::uint32_t>(4000, 9000)}});
    const unsigned pieces = *rc::gen::weightedElement<unsigned>({{5, 1u}, {2, 5u}, {1, 12u}});
    const std::uint32_t step = words + *rc::gen::inRange<std::uint32_t>(0, 5);
    const std::uint32_t in_step = words + *rc::gen::inRange<std::uint32_t>(0, 5);
    const auto chosen =
        *rc::gen::container<std::vector<bool>>(tiles, rc::gen::weightedElement<bool>({{3, false}, {1, true}}));
    if (pieces * step > traffic::kIn) continue;
    const std::uint32_t address = *rc::gen::inRange<std::uint32_t>(0, traffic::kIn - pieces * step + 1);
    std::vector<unsigned> to;
    for (unsigned t = 0; t < tiles; ++t)
      if (chosen[t] && next[t] + pieces * in_step < 65536) to.push_back(t);
    for (unsigned p = 0; p < pieces; ++p) {
      std::vector<Place> destinations;
      for (const unsigned t : to) destinations.push_back(place(t, next[t] + p * in_step));
      m.add(place(s, address + p * step), destinations, words);
    }
    for (const unsigned t : to) next[t] += pieces * in_step;
  }
  return m;
}

TEST(ScheduleProperty, EveryScheduleIsProved) {
  EXPECT_TRUE(rc::check("every schedule is proved", [] {
    const unsigned tiles = *rc::gen::inRange(1u, 12u);
    Delays d = delays_for(tiles);
    d.base = *rc::gen::inRange(1u, 60u);
    const unsigned earliest = *rc::gen::inRange(12u, 60u);
    const Messages m = arbitrary_messages(tiles);
    const Schedule s = schedule(m, d, {earliest, *rc::gen::element(262144u, 20000u), 1030});
    const CheckReport report = prove(m, d, s, earliest);
    if (!report.problems.empty()) RC_FAIL(report.problems.front());
    RC_ASSERT(report.words == words_of(m));
    RC_ASSERT(report.cycles == s.cycles());
  }));
}

/// Breaks one field of one descriptor of a proved schedule.
TEST(ScheduleProperty, CheckerFindsEveryPlantedFault) {
  EXPECT_TRUE(rc::check("a changed table is refused", [] {
    const Delays d = delays_for(8);
    const Messages m = traffic::random(8, 30, 20, *rc::gen::arbitrary<unsigned>());
    Schedule s = schedule(m, d);
    RC_ASSERT(prove(m, d, s, 18).ok());
    auto& tables = s.phases[0].tables;
    const unsigned tile = *rc::gen::inRange(0u, 8u);
    RC_PRE(tables[tile].size() > 1);
    // Any bit of a first word from the start time up; bits above 0 of a send's peer count too.
    const std::size_t word = *rc::gen::inRange<std::size_t>(1, tables[tile].size());
    const unsigned bit = *rc::gen::inRange(4u, 64u);
    const ExchangeHeader header = ExchangeHeader::unpack(tables[tile][0]);
    RC_PRE(!(word <= header.sends && bit == 52));  // may be unheard: no fault
    tables[tile][word] ^= std::uint64_t{1} << bit;
    RC_ASSERT(!prove(m, d, s, 18).ok());
  }));
}

TEST(Checker, SendOfAReceivedWordIsRefused) {
  Messages m;
  m.add(place(0, 0), place(1, 0), 4);
  m.add(place(1, 2), place(2, 0), 4);
  const Schedule s = schedule(m, pocket());
  EXPECT_FALSE(prove(m, pocket(), s, 18).ok());
}

TEST(Checker, DoubleWriteIsRefused) {
  Messages m;
  m.add(place(0, 0), place(1, 0), 4);
  m.add(place(2, 0), place(1, 3), 4);
  EXPECT_FALSE(prove(m, pocket(), schedule(m, pocket()), 18).ok());
}

TEST(Checker, NothingComparedIsNoProof) { EXPECT_FALSE(check(Messages(), pocket(), {}, {}).ok()); }

TEST(Schedule, ImpossibleInputIsRefused) {
  Messages tile;
  tile.add(place(16, 0), place(1, 0), 4);
  EXPECT_THROW((void)schedule(tile, pocket()), std::logic_error);
  Messages address;
  address.add(place(0, 262143), place(1, 0), 4);
  EXPECT_THROW((void)schedule(address, pocket()), std::logic_error);
}

}  // namespace
}  // namespace tessera::exchange
