// Packets between IPUs on TLM tiles: times by hand, forwarding, order, congestion, and every misuse as a named fault.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "hw/error.h"
#include "verif/system/packet_bench.h"

namespace tessera {
namespace {

using namespace testing;
using driver::Event;

double bytes_per_cycle(const Platform& p) {
  return static_cast<double>(p.link.bits_per_second) * p.link.efficiency_permille / 1000 / 8 /
         static_cast<double>(p.clock_hz);
}
/// A packet of `words` words with its header: from the transmit queue of an idle link to the far receiver.
Cycle over_link(const Platform& p, unsigned words) {
  return static_cast<Cycle>(std::ceil((4.0 * words + p.link.frame_bytes) / bytes_per_cycle(p))) + p.link.latency;
}

TEST(Packets, OneWriteAcrossOneLinkTakesItsTime) {
  const Platform p = linked_platform(4);
  PacketProgram program(1, 2, 4);
  program.tables[0][0][3].writes = {{16, kSource, 1, 2, kTarget}};
  program.expect_all();
  PacketRun run(program, tlm_system(p));
  run.finish();
  const Cycle z = run.log.release[{0, 3}][0];
  EXPECT_EQ((run.log.release[{1, 2}][0]), z);
  // P = Z; 20 words offered from P + 12; the lane takes them from P + 32 and has them at its end 20 + 20 later.
  const Cycle out = z + 12 + 20 + 20 + p.packet.lane_latency;
  const Cycle done = out + over_link(p, 20) + p.packet.lane_latency + 19;
  EXPECT_EQ((run.log.done[{0, 3}][0]), z + 12 + 19);
  EXPECT_EQ((run.log.done[{1, 2}][0]), done);
  for (unsigned n = 0; n < 16; ++n) EXPECT_EQ(run.memory(1, 2, kTarget + 4 * n, 1)[0], PacketProgram::content(0, 3, n));
  EXPECT_EQ(run.memory(1, 2, kTarget + 64, 1)[0], 0u);
}

TEST(Packets, RungThenRailIsForwardedStoreAndForward) {
  // Four IPUs: 0 to 3 goes over 1.
  const Platform p = linked_platform(4, 2);
  PacketProgram program(1, 4, 4);
  program.tables[0][0][1].writes = {{100, kSource, 3, 0, kTarget}};
  program.expect_all();
  PacketRun run(program, tlm_system(p));
  run.finish();
  const Cycle z = run.log.release[{0, 1}][0];
  const Cycle out = z + 12 + 104 + 104 + p.packet.lane_latency;
  EXPECT_EQ((run.log.done[{3, 0}][0]), out + 2 * over_link(p, 104) + p.packet.lane_latency + 103);
  EXPECT_EQ(run.machine.system.chip(1).crossbar().counters().forwarded, 1u);
  EXPECT_EQ(run.machine.system.chip(2).crossbar().counters().forwarded, 0u);
  EXPECT_EQ(run.memory(3, 0, kTarget + 4 * 99, 1)[0], PacketProgram::content(0, 1, 99));
}

std::uint64_t random_times(unsigned seed, unsigned threads, Cycle quantum) {
  SystemConfig config = tlm_system(linked_platform(6, 2));
  config.threads = threads;
  config.quantum = quantum;
  const PacketProgram program = random_program(seed, 4, 6, 4);
  PacketRun run(program, config);
  run.finish();
  EXPECT_GT(check_words(run), 500u);
  return hash_times(run.log);
}

TEST(Packets, RandomOnesComeTheSameWithAnyNumberOfThreadsAndAnyQuantum) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const auto times = [&](unsigned threads, Cycle quantum) {
      return in_child([&] { return random_times(seed, threads, quantum); });
    };
    const std::uint64_t plain = times(1, Cycle{1} << 20);
    EXPECT_NE(plain, 0u);
    EXPECT_EQ(times(2, 1000), plain) << seed;
    EXPECT_EQ(times(1, 17), plain) << seed;
    EXPECT_EQ(times(4, 300), plain) << seed;
  }
}

/// All events of an IPU as they are told.
struct OrderLog : EventObserver {
  void event(const MachineEvent& e) override {
    auto& [last, tile, hash, ordered] = by_ipu[e.ipu];
    ordered = ordered && std::tie(last, tile) <= std::make_tuple(e.cycle, unsigned{e.tile});
    last = e.cycle;
    tile = e.tile;
    hash = (hash ^ (e.cycle * 1024 + e.tile * 16 + static_cast<unsigned>(e.kind))) * 0x100000001b3u;
    ++events;
  }
  struct Stream {
    Cycle last = 0;
    unsigned tile = 0;
    std::uint64_t hash = 0;
    bool ordered = true;
  };
  std::map<unsigned, Stream> by_ipu;
  unsigned events = 0;
};

TEST(Packets, EventsOfAnIpuAreToldByCycleAndTileWhateverTheQuantum) {
  const auto hash = [](unsigned threads, Cycle quantum) {
    return in_child([&] {
      OrderLog order;
      SystemConfig config = bare(tlm_system(linked_platform(6, 2)));
      config.threads = threads;
      config.quantum = quantum;
      config.events = &order;
      const PacketProgram program = random_program(21, 4, 6, 4);
      Machine m(config);
      driver::Driver d(m.transport);
      std::vector<driver::Driver::Boot> boots;
      for (unsigned ipu = 0; ipu < 4; ++ipu) {
        d.load(ipu, program.image(ipu));
        d.set_groups(ipu, true, false);
        boots.push_back({ipu, kCode});
      }
      d.start(boots);
      EXPECT_EQ(d.wait().kind, Event::Kind::host_sync);
      EXPECT_GT(order.events, 4 * 6 * 4 * 3u);
      std::uint64_t h = 0;
      for (const auto& [ipu, stream] : order.by_ipu) {
        EXPECT_TRUE(stream.ordered) << ipu;
        h = h * 31 + stream.hash;
      }
      return h;
    });
  };
  const std::uint64_t plain = hash(1, Cycle{1} << 20);
  EXPECT_NE(plain, 0u);
  for (const Cycle quantum : {1, 7, 64, 1000, 30000}) EXPECT_EQ(hash(quantum % 2 + 1, quantum), plain) << quantum;
}

Event fault_of(PacketRun& run) {
  const Event event = run.driver.wait();
  EXPECT_EQ(event.kind, Event::Kind::exception);
  return event;
}
std::uint32_t cause_of(const PacketRun& run, unsigned ipu) {
  return const_cast<PacketRun&>(run).driver.read_register(ipu, reg::chip::kExceptionCause);
}

/// A single bad write of IPU 0 tile 2.
void bad_write(std::uint64_t remote, std::uint32_t cause) {
  PacketProgram program(1, 2, 4);
  program.tables[0][0][2].descriptors = {PacketDescriptor{kPacketWrite, 0, 0, 3, (kSource - kSramBase) / 4}.pack(),
                                         remote};
  PacketRun run(program, tlm_system(linked_platform(4)));
  const Event event = fault_of(run);
  EXPECT_EQ(event.ipu, 0u);
  const std::uint32_t found = cause_of(run, 0);
  EXPECT_EQ(reg::chip::kExceptionCauseChipFault.get(found), 1u);
  EXPECT_EQ(reg::chip::kExceptionCauseCause.get(found), cause);
  EXPECT_EQ(reg::chip::kExceptionCauseTile.get(found), 2u);
  EXPECT_EQ(run.driver.read_register(0, reg::chip::kExceptionValue), static_cast<std::uint32_t>(remote));
}
TEST(PacketFaults, OwnIpu) { bad_write(PacketRemote{0x100, 1, 0, kRemoteTile}.pack(), 4); }
TEST(PacketFaults, NoSuchIpu) { bad_write(PacketRemote{0x100, 1, 9, kRemoteTile}.pack(), 4); }
TEST(PacketFaults, NoSuchTile) { bad_write(PacketRemote{0x100, 77, 1, kRemoteTile}.pack(), 4); }
TEST(PacketFaults, ChipRegisters) { bad_write(PacketRemote{0x100, 0, 1, kRemoteRegisters}.pack(), 4); }
TEST(PacketFaults, NoHostBuffer) { bad_write(PacketRemote{0x100, 0, 3, kRemoteHost}.pack(), 2); }

TEST(PacketFaults, OutsideTheSramTrapsAtTheReceiver) {
  PacketProgram program(1, 2, 4);
  program.tables[0][0][2].writes = {{3, kSource, 1, 1, kSramBase + 65536 - 4}};
  program.expect_all();
  PacketRun run(program, tlm_system(linked_platform(4)));
  const Event event = fault_of(run);
  EXPECT_EQ(event.ipu, 1u);
  EXPECT_EQ(event.exception.tile, 1u);
  EXPECT_EQ(event.exception.cause, 30u);
  EXPECT_EQ(event.exception.value, kSramBase + 65536);
  EXPECT_NE(event.exception.detail.find("from IPU 0 tile 2: 2 words from 0x46004"), std::string::npos)
      << event.exception.detail;
}

TEST(PacketFaults, MoreWordsThanExpectedAreToldAtTheNextRelease) {
  PacketProgram program(2, 2, 4);
  program.tables[0][0][2].writes = {{3, kSource, 1, 1, kTarget}};
  program.expect_all();
  program.tables[0][1][1].expected = 2;
  PacketRun run(program, tlm_system(linked_platform(4)));
  const Event event = fault_of(run);
  EXPECT_EQ(event.ipu, 1u);
  EXPECT_EQ(event.exception.cause, 30u);
  EXPECT_EQ(event.exception.value, kTarget + 8);
  EXPECT_NE(event.exception.detail.find("from IPU 0 tile 2: 3 words"), std::string::npos) << event.exception.detail;
  EXPECT_EQ(run.memory(1, 1, kTarget + 4, 2), (std::vector<std::uint32_t>{PacketProgram::content(0, 2, 1), 0}));
}

TEST(PacketFaults, WordsThatNobodyExpectsEndTheLastHostSync) {
  PacketProgram program(1, 2, 4);
  program.tables[0][0][2].writes = {{1, kSource, 1, 1, kTarget}};
  // The receiver is done long before; others of its IPU wait for words that come later.
  program.tables[0][0][3].writes = {{250, kSource, 1, 0, kTarget}, {250, kSource, 1, 0, kTarget + 1024}};
  program.expect_all();
  program.tables[0][1][1].expected = 0;
  PacketRun run(program, tlm_system(linked_platform(4)));
  const Event event = fault_of(run);
  EXPECT_EQ(event.ipu, 1u);
  EXPECT_EQ(event.exception.tile, 1u);
  EXPECT_EQ(event.exception.cause, 30u);
  EXPECT_EQ(event.exception.value, kTarget);
}

TEST(PacketFaults, FewerWordsThanExpectedAreADeadlockThatSaysHowMany) {
  PacketProgram program(1, 2, 4);
  program.tables[0][0][2].writes = {{3, kSource, 1, 1, kTarget}};
  program.expect_all();
  program.tables[0][1][1].expected = 12;
  PacketRun run(program, tlm_system(linked_platform(4)));
  try {
    run.driver.wait();
    FAIL() << "no deadlock was reported";
  } catch (const Error& e) {
    EXPECT_EQ(e.category(), Category::no_progress);
    EXPECT_NE(std::string(e.what()).find("IPU 1 tile 1: in x.packet, waits for packets: 9 more words of 12 expected"),
              std::string::npos)
        << e.what();
  }
}

TEST(Packets, SyncsOfBothGroupsInOneProgram) {
  // 0 - 1 in group 1, then 1 - 2 in group 2: a chain passes its words on. IPUs 0 and 2 leave out what is not theirs by
  // syncing with themselves alone: sets of one.
  const Platform p = linked_platform(4, 2);
  PacketProgram program(2, 4, 4);
  program.zones = {Zone::group1, Zone::group2};
  program.tables[0][0][1].writes = {{30, kSource, 1, 1, kTarget}};
  program.tables[1][1][1].writes = {{30, kTarget, 2, 1, kTarget}};
  program.expect_all();
  PacketRun run(program, tlm_system(p), {{true, true}, {true, true}, {true, true}, {true, true}});
  run.finish();
  EXPECT_EQ(run.memory(2, 1, kTarget + 4 * 29, 1)[0], PacketProgram::content(0, 1, 29));
  const auto& one = run.log.release[{1, 1}];
  const auto& two = run.log.release[{2, 1}];
  EXPECT_EQ(one[0], two[0]);
  EXPECT_EQ(one[1], two[1]);
}

TEST(Packets, WindowsOfSetsThatAreChained) {
  // Words go 0 - 1 - 2 - 3: 0-1 and 2-3 are sets of group 1, 1-2 one of group 2.
  PacketProgram program(3, 4, 4);
  program.zones = {Zone::group1, Zone::group2, Zone::group1};
  for (unsigned hop = 0; hop < 3; ++hop)
    program.tables[hop][hop][1].writes = {{30, hop == 0 ? kSource : kTarget, hop + 1, 1, kTarget}};
  program.tables[0][2][3].writes = {{300, kSource, 3, 2, kTarget}};  // the other set meanwhile
  program.expect_all();
  PacketRun run(program, tlm_system(linked_platform(4, 2)),
                {{true, true, 4, 7}, {true, true, 4, 6}, {true, true, 5, 6}, {true, true, 5, 8}});
  std::vector<unsigned> roots;
  for (unsigned n = 0; n < 2; ++n) {
    const Event event = run.driver.wait();
    ASSERT_EQ(event.kind, Event::Kind::host_sync);
    roots.push_back(event.ipu);
  }
  EXPECT_EQ(roots, (std::vector<unsigned>{0, 2}));
  unsigned compared = 0;
  for (unsigned n = 0; n < 30; ++n, ++compared)
    EXPECT_EQ(run.memory(3, 1, kTarget + 4 * n, 1)[0], PacketProgram::content(0, 1, n));
  for (unsigned n = 0; n < 300; ++n, ++compared)
    EXPECT_EQ(run.memory(3, 2, kTarget + 4 * n, 1)[0], PacketProgram::content(2, 3, n));
  EXPECT_EQ(compared, 330u);
  EXPECT_EQ((run.log.release[{1, 1}][1]), (run.log.release[{2, 1}][1]));
  EXPECT_LT((run.log.release[{0, 1}][2]), (run.log.release[{2, 1}][2])) << "sets of their own";
}

TEST(Packets, IpusInNoGroupAreAloneWithTheHost) {
  // Each has its own host sync, which opens its own window; 2 writes to 3, and 0 to 1, which are a set.
  PacketProgram program(1, 4, 4);
  program.zones = {Zone::host};
  program.tables[0][0][1].writes = {{30, kSource, 1, 1, kTarget}};
  program.tables[0][2][1].writes = {{30, kSource, 3, 1, kTarget}};
  program.expect_all();
  PacketRun run(program, tlm_system(linked_platform(4, 2)), {{true}, {true}, {}, {}});
  std::vector<unsigned> roots;
  for (unsigned n = 0; n < 3; ++n) roots.push_back(run.driver.wait().ipu);
  std::sort(roots.begin(), roots.end());
  EXPECT_EQ(roots, (std::vector<unsigned>{0, 2, 3}));
  run.driver.acknowledge(3);  // the receiver's window is open first
  EXPECT_EQ(run.driver.wait(1000).kind, Event::Kind::timeout) << "it waits for words";
  run.driver.acknowledge(2);
  for (unsigned n = 0; n < 2; ++n) EXPECT_EQ(run.driver.wait().code, 99u) << "while 0 and 1 still wait";
  EXPECT_TRUE(run.log.release.find({0, 1}) == run.log.release.end());
  run.driver.acknowledge(0);
  EXPECT_EQ(run.driver.wait().ipu, 0u);
  EXPECT_EQ(check_words(run), 60u);
}

/// Bytes a cycle, headers and frames with them, that `senders` tiles on as many lanes bring to another IPU: each sends
/// 64 packets of 1 KiB to a tile of its own there.
double rate(unsigned senders, unsigned to, unsigned cards) {
  const Platform p = linked_platform(32, cards);
  PacketProgram program(1, p.ipus(), 32);
  for (unsigned t = 0; t < senders; ++t)
    for (unsigned n = 0; n < 4; ++n) program.tables[0][0][t].writes.push_back({4096, kSource, to, t, kTarget});
  program.expect_all();
  PacketRun run(program, tlm_system(p));
  run.finish();
  const Cycle z = run.log.release[{0, 0}][0];
  Cycle first = kNever, last = 0;
  for (const auto& [who, cycles] : run.log.done) {
    if (who.first != to || who.second >= senders) continue;
    first = std::min(first, cycles[0]);
    last = std::max(last, cycles[0]);
  }
  // Round robin is fair: nobody is much before the others.
  EXPECT_LT(static_cast<double>(last - first), 0.05 * static_cast<double>(last - z));
  return senders * 64 * (4.0 * 260 + p.link.frame_bytes) / static_cast<double>(last - z);
}

TEST(PacketRates, OneTileIsBoundByItsPort) {
  const double got = rate(1, 1, 1), port = 1048.0 / 268;  // the next packet is offered 8 cycles after the last word
  EXPECT_GT(got, 0.95 * port);
  EXPECT_LE(got, port);
}
TEST(PacketRates, TwelveTilesFillTheFourLinksToTheSibling) {
  const double got = rate(12, 1, 2), links = 4 * bytes_per_cycle(linked_platform(32, 2));
  EXPECT_NEAR(links, 36.5, 0.01);
  EXPECT_GT(got, 0.95 * links);
  EXPECT_LE(got, links);
}
TEST(PacketRates, SixTilesFillARail) {
  const double got = rate(6, 2, 2), links = 2 * bytes_per_cycle(linked_platform(32, 2));
  EXPECT_GT(got, 0.95 * links);
  EXPECT_LE(got, links);
}

TEST(PacketScale, AllTilesOfACardSendToTheirSiblings) {
  const Platform p = load_platform("c2");
  constexpr unsigned kRounds = 4;
  PacketProgram program(kRounds, 2, p.tiles);
  for (unsigned k = 0; k < kRounds; ++k)
    for (unsigned ipu = 0; ipu < 2; ++ipu)
      for (unsigned t = 0; t < p.tiles; ++t)
        program.tables[k][ipu][t].writes = {{32, kSource, 1 - ipu, (t + k) % p.tiles, kTarget + 256 * k}};
  program.expect_all();
  PacketRun run(program, tlm_system(p));
  run.finish();
  EXPECT_EQ(check_words(run), 2 * p.tiles * 32);
  EXPECT_EQ(run.machine.system.chip(0).ipu().packets(), kRounds * p.tiles);
  // The links are what it takes: as much time as their bytes, and what a packet takes from end to end.
  const auto& release = run.log.release[{0, 0}];
  const double bound = p.tiles * (4.0 * 36 + p.link.frame_bytes) / (6 * bytes_per_cycle(p));
  EXPECT_GT(static_cast<double>(release[1] - release[0]), bound);
  EXPECT_LT(static_cast<double>(release[1] - release[0]), 1.2 * bound + 400);
}

}  // namespace
}  // namespace tessera
