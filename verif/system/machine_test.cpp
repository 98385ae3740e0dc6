// Programs on the whole machine: driver, PCI Express, chip, TLM tiles, exchange; and every way in which they fail.
#include <gtest/gtest.h>

#include "hw/error.h"
#include "verif/system/bench.h"

namespace tessera {
namespace {

using namespace testing;
using driver::Driver;
using driver::Event;
using driver::ExceptionInfo;
using driver::LoadRecord;

constexpr Address kFrom = kSramBase + 0x2000, kTo = kSramBase + 0x3000;

/// sync internal, exchange, sync host(7), spin.
std::vector<std::uint32_t> exchange_program() {
  std::vector<std::uint32_t> code;
  sync_step(code, Zone::internal);
  table_step(code, Op::x_exchange);
  sync_step(code, Zone::host, 7);
  spin(code);
  return code;
}

void append(std::vector<LoadRecord>& to, std::vector<LoadRecord> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

TEST(Machine, TwoTilesExchangeAndMeetTheHost) {
  const Platform p = small_platform(2);
  Machine m(tlm_system(p));
  Driver d(m.transport);
  ASSERT_EQ(d.ipus(), 1u);
  EXPECT_EQ(d.info(0).tiles, 2u);
  EXPECT_EQ(d.info(0).sram_bytes, 65536u);
  const Cycle delay = p.exchange_delay(0, 1);
  std::vector<LoadRecord> image{all_tiles(kCode, exchange_program()), one_tile(0, kFrom, {11, 22, 33})};
  append(image, table(0, {linear(40, 3, kFrom, 0)}, {}));
  append(image, table(1, {}, {linear(40 + delay, 3, kTo, 0)}));
  d.reset(0);
  d.load(0, image);
  d.start(0, kCode);
  const Event event = d.wait();
  ASSERT_EQ(event.kind, Event::Kind::host_sync);
  EXPECT_EQ(event.code, 7u);
  EXPECT_TRUE(event.vote);
  std::uint32_t words[3] = {};
  d.read_tile(0, 1, kTo, words, 3);
  EXPECT_EQ(words[0], 11u);
  EXPECT_EQ(words[2], 33u);
  const driver::Counters c = d.counters(0);
  EXPECT_EQ(c.words_sent, 3u);
  EXPECT_EQ(c.words_received, 3u);
  EXPECT_EQ(c.words_unheard, 0u);
  EXPECT_EQ(c.refused_accesses, 0u);
  EXPECT_GT(c.instructions, 10u);
}

class Log : public EventObserver {
 public:
  void event(const MachineEvent& e) override { events.push_back(e); }
  std::optional<Cycle> find(unsigned tile, MachineEvent::Kind kind, unsigned nth = 0) const {
    for (const MachineEvent& e : events)
      if (e.tile == tile && e.kind == kind && nth-- == 0) return e.cycle;
    return std::nullopt;
  }
  std::vector<MachineEvent> events;
};

TEST(Machine, SyncExchangeAndHostTimesAreExact) {
  const Platform p = small_platform(2);
  SystemConfig config = tlm_system(p);
  Log log;
  config.events = &log;
  Machine m(config);
  Driver d(m.transport);
  const Cycle delay = p.exchange_delay(1, 0);
  std::vector<LoadRecord> image{all_tiles(kCode, exchange_program())};
  append(image, table(1, {linear(50, 10, kFrom, 0)}, {}));
  append(image, table(0, {}, {linear(50 + delay, 10, kTo, 1)}));
  d.load(0, image);
  d.start(0, kCode);
  ASSERT_EQ(d.wait().kind, Event::Kind::host_sync);
  using Kind = MachineEvent::Kind;
  const Cycle r = *log.find(0, Kind::sync_arrive), z = *log.find(0, Kind::sync_release);
  EXPECT_EQ(*log.find(1, Kind::sync_arrive), r);  // both run the same code
  EXPECT_EQ(z, r + p.sync.internal);
  EXPECT_EQ(*log.find(1, Kind::sync_release), z);
  EXPECT_EQ(*log.find(1, Kind::exchange_begin), z + 50);
  EXPECT_EQ(*log.find(1, Kind::exchange_end), z + 59);
  EXPECT_EQ(*log.find(0, Kind::exchange_begin), z + 50 + delay);
  EXPECT_EQ(*log.find(0, Kind::exchange_end), z + 59 + delay);
  // Resumes at L + 4; lui, addi, then x.sync issues 12 later and raises its line 6 after that.
  EXPECT_EQ(*log.find(0, Kind::sync_arrive, 1), z + 59 + delay + 4 + 12 + 6);
  EXPECT_FALSE(log.find(0, Kind::sync_release, 1));
  // The interrupt takes one packet of 4 bytes and the latency to the root.
  const Cycle arrive = *log.find(0, Kind::sync_arrive, 1);
  const Cycle now = m.system.now();
  EXPECT_GE(now, arrive + p.cycles_of_ns(p.pcie.latency_ns));
  d.acknowledge(0, true, 3000);
  const Cycle acknowledged = m.system.now();
  EXPECT_EQ(d.wait(1000).kind, Event::Kind::timeout);
  const Cycle release = *log.find(0, Kind::sync_release, 1);
  EXPECT_LE(release, acknowledged + p.sync.host + 1);
  EXPECT_GE(release, acknowledged + p.sync.host - p.cycles_of_ns(p.pcie.latency_ns));
}

TEST(Machine, DescriptorOneCycleLateIsAnUnderrun) {
  const Platform p = small_platform(2);
  Machine m(tlm_system(p));
  Driver d(m.transport);
  std::vector<LoadRecord> image{all_tiles(kCode, exchange_program())};
  append(image, table(0, {linear(40, 3, kFrom, 0)}, {}));
  append(image, table(1, {}, {linear(40 + p.exchange_delay(0, 1) + 1, 3, kTo, 0)}));
  d.load(0, image);
  d.start(0, kCode);
  const Event event = d.wait();
  ASSERT_EQ(event.kind, Event::Kind::exception);
  EXPECT_EQ(event.exception.kind, ExceptionInfo::Kind::trap);
  EXPECT_EQ(event.exception.tile, 1u);
  EXPECT_EQ(event.exception.cause, 27u);
  EXPECT_EQ(event.exception.value, kTable + 8);
  EXPECT_NE(event.exception.detail.find("underrun"), std::string::npos);
  std::uint32_t word = 0;
  d.read_tile(0, 1, kTo, &word, 1);  // excepted: may be read
}

TEST(Machine, ListeningToASilentTileIsAnUnderrun) {
  Machine m(tlm_system(small_platform(2)));
  Driver d(m.transport);
  std::vector<LoadRecord> image{all_tiles(kCode, exchange_program())};
  append(image, table(1, {}, {linear(90, 1, kTo, 0)}));
  d.load(0, image);
  d.start(0, kCode);
  const Event event = d.wait();
  ASSERT_EQ(event.kind, Event::Kind::exception);
  EXPECT_EQ(event.exception.tile, 1u);
  EXPECT_EQ(event.exception.cause, 27u);
}

/// Tile 1 branches to another program.
std::vector<std::uint32_t> split_program(const std::vector<std::uint32_t>& others,
                                         const std::vector<std::uint32_t>& one) {
  std::vector<std::uint32_t> code{i(Op::csrrs, 8, 0, csr::xtile)};
  code.push_back(i(Op::addi, 9, 0, 1));
  code.push_back(s(Op::beq, 8, 9, static_cast<std::int32_t>(4 * (others.size() + 1))));
  code.insert(code.end(), others.begin(), others.end());
  code.insert(code.end(), one.begin(), one.end());
  return code;
}

TEST(Machine, TilesInDifferentZonesAreAFaultThatNamesBothSets) {
  Machine m(tlm_system(small_platform(4)));
  Driver d(m.transport);
  std::vector<std::uint32_t> internal, host;
  sync_step(internal, Zone::internal);
  spin(internal);
  sync_step(host, Zone::host, 3);
  spin(host);
  d.load(0, {all_tiles(kCode, split_program(internal, host))});
  d.start(0, kCode);
  const Event event = d.wait();
  ASSERT_EQ(event.kind, Event::Kind::exception);
  EXPECT_EQ(event.exception.kind, ExceptionInfo::Kind::zones_differ);
  EXPECT_NE(event.exception.detail.find("tiles 0, 2-3: in x.sync internal"), std::string::npos)
      << event.exception.detail;
  EXPECT_NE(event.exception.detail.find("tile 1: in x.sync host"), std::string::npos) << event.exception.detail;
}

TEST(Machine, TileThatSpinsEndsAtTheCycleLimitAndIsNamed) {
  SystemConfig config = tlm_system(small_platform(3));
  config.max_cycles = 3'000'000;
  config.symbolizer = [](TileRef ref, Address) { return ref.tile == 1 ? std::string("lost_loop") : std::string(); };
  Machine m(config);
  Driver d(m.transport);
  std::vector<std::uint32_t> fine, lost;
  sync_step(fine, Zone::internal);
  spin(fine);
  spin(lost);
  d.load(0, {all_tiles(kCode, split_program(fine, lost))});
  d.start(0, kCode);
  try {
    d.wait();
    FAIL() << "the limit was not reported";
  } catch (const Error& e) {
    EXPECT_EQ(e.category(), Category::no_progress);
    EXPECT_GE(e.cycle().value_or(0), 3'000'000u);
    const std::string what = e.what();
    EXPECT_NE(what.find("tiles 0, 2: waits in x.sync internal"), std::string::npos) << what;
    EXPECT_NE(what.find("tile 1: running"), std::string::npos) << what;
    EXPECT_NE(what.find("lost_loop"), std::string::npos) << what;
  }
}

TEST(Machine, TileThatWaitsForAWorkerThatNeverExitsIsRunningNotLost) {
  // x.run of a worker that spins, then x.sync: the tile never raises its line.
  SystemConfig config = tlm_system(small_platform(2));
  config.max_cycles = 100'000;
  Machine m(config);
  Driver d(m.transport);
  std::vector<std::uint32_t> fine, lost;
  sync_step(fine, Zone::internal);
  spin(fine);
  load_constant(lost, 11, kSramBase + 0x4000);
  lost.push_back(r(Op::x_run, 1, 11, 0, 0));
  sync_step(lost, Zone::internal);
  std::vector<std::uint32_t> worker;
  spin(worker);
  d.load(0, {all_tiles(kCode, split_program(fine, lost)), all_tiles(kSramBase + 0x4000, worker)});
  d.start(0, kCode);
  try {
    d.wait();
    FAIL() << "the limit was not reported";
  } catch (const Error& e) {
    EXPECT_EQ(e.category(), Category::no_progress);
    EXPECT_NE(std::string(e.what()).find("tile 1: running"), std::string::npos) << e.what();
  }
}

TEST(Machine, HostAccessToARunningTileIsRefusedAndCounted) {
  Machine m(tlm_system(small_platform(2)));
  Driver d(m.transport);
  std::vector<std::uint32_t> code;
  spin(code);
  d.load(0, {all_tiles(kCode, code)});
  const std::uint32_t word = 0x12345678;
  d.write_tile(0, 0, kTo, &word, 1);  // held: allowed
  d.start(0, kCode);
  EXPECT_EQ(d.wait(10'000).kind, Event::Kind::timeout);
  const std::uint32_t other = 0;
  try {
    d.write_tile(0, 0, kTo, &other, 1);
    FAIL() << "the write was not refused";
  } catch (const Error& e) {
    EXPECT_EQ(e.category(), Category::device_exception);
    EXPECT_NE(std::string(e.what()).find("running tile"), std::string::npos);
  }
  std::uint32_t read = 0;
  EXPECT_THROW(d.read_tile(0, 1, kTo, &read, 1), Error);
  EXPECT_EQ(d.counters(0).refused_accesses, 2u);
  // On the bus: a completer abort, and a read that carries all ones.
  const std::uint64_t bus = d.info(0).tile_memory + (kTo - kSramBase);
  std::uint8_t bytes[4] = {1, 2, 3, 4};
  EXPECT_EQ(m.transport.memory_write(bus, bytes, 4), PciStatus::completer_abort);
  EXPECT_EQ(m.transport.memory_read(bus, bytes, 4), PciStatus::completer_abort);
  EXPECT_EQ(bytes[0] & bytes[1] & bytes[2] & bytes[3], 0xff);
  EXPECT_EQ(d.counters(0).refused_accesses, 4u);
  // The simulator's debug access sees it all the same, without time.
  const std::uint64_t before = m.transport.now_ns();
  EXPECT_EQ(
      m.transport.debug(d.info(0).tile_memory + (kTo - kSramBase), false, reinterpret_cast<std::uint8_t*>(&read), 4),
      4u);
  EXPECT_EQ(read, word);
  EXPECT_EQ(m.transport.now_ns(), before);
  d.reset(0);
  d.read_tile(0, 0, kTo, &read, 1);
  EXPECT_EQ(read, 0u);  // reset clears the SRAM
}

TEST(Machine, LoaderBroadcastsByClassToActiveTiles) {
  Machine m(tlm_system(small_platform(5)));
  Driver d(m.transport);
  d.set_active(0, {true, true, false, true, true});
  d.set_classes(0, {0, 3, 3, 3, 1});
  LoadRecord record = all_tiles(kTo, {0xabcd});
  record.class_mask = 1 << 3;
  d.load(0, {record, one_tile(4, kTo + 4, {0x77})});
  for (unsigned t = 0; t < 5; ++t) {
    std::uint32_t words[2] = {};
    d.read_tile(0, t, kTo, words, 2);
    EXPECT_EQ(words[0], t == 1 || t == 3 ? 0xabcdu : 0u) << t;
    EXPECT_EQ(words[1], t == 4 ? 0x77u : 0u) << t;
  }
}

TEST(Machine, TwoIpusMeetInAGroupAtOneCycle) {
  const Platform p = small_platform(2, 2);
  SystemConfig config = tlm_system(p);
  Log log;
  config.events = &log;
  Machine m(config);
  Driver d(m.transport);
  ASSERT_EQ(d.ipus(), 2u);
  std::vector<std::uint32_t> code;
  sync_step(code, Zone::group1);
  sync_step(code, Zone::host, 9);
  spin(code);
  for (unsigned ipu = 0; ipu < 2; ++ipu) {
    d.set_groups(ipu, true, false);
    d.load(ipu, {all_tiles(kCode, code)});
  }
  d.start(0, kCode);
  d.start(1, kCode);
  const Event event = d.wait();
  ASSERT_EQ(event.kind, Event::Kind::host_sync);
  EXPECT_EQ(event.ipu, 0u);
  EXPECT_EQ(event.code, 9u);
  Cycle last = 0, z = 0;
  unsigned releases = 0;
  for (const MachineEvent& e : log.events) {
    if (e.a0 != static_cast<std::uint32_t>(Zone::group1)) continue;
    if (e.kind == MachineEvent::Kind::sync_arrive) last = std::max(last, e.cycle);
    if (e.kind != MachineEvent::Kind::sync_release) continue;
    if (releases++ != 0) {
      EXPECT_EQ(e.cycle, z);
    }
    z = e.cycle;
  }
  EXPECT_EQ(releases, 4u);
  EXPECT_EQ(z, last + p.sync.group_base + 2 * p.sync.group_hop);
}

/// Starts one program on each of two IPUs of group 1 and returns the error that ends them.
std::string error_of_two(const SystemConfig& config, const std::vector<std::uint32_t>& first,
                         const std::vector<std::uint32_t>& second) {
  Machine m(config);
  Driver d(m.transport);
  for (unsigned ipu = 0; ipu < 2; ++ipu) {
    d.set_groups(ipu, true, false);
    d.load(ipu, {all_tiles(kCode, ipu == 0 ? first : second)});
  }
  d.start(0, kCode);
  d.start(1, kCode);
  try {
    d.wait();
  } catch (const Error& e) {
    EXPECT_EQ(e.category(), Category::no_progress);
    return e.what();
  }
  ADD_FAILURE() << "no error ended the run";
  return {};
}

TEST(Machine, AnIpuThatSpinsIsNamedWithThoseThatWaitForIt) {
  SystemConfig config = tlm_system(small_platform(2, 2));
  config.max_cycles = 3'000'000;
  std::vector<std::uint32_t> waits, spins;
  sync_step(waits, Zone::group1);
  spin(waits);
  spin(spins);
  const std::string what = error_of_two(config, waits, spins);
  EXPECT_NE(what.find("IPU 1 tiles 0-1: running, not arrived anywhere"), std::string::npos) << what;
  EXPECT_NE(what.find("IPU 0 tiles 0-1: waits in x.sync group 1"), std::string::npos) << what;
  EXPECT_NE(what.find("x.sync group 1: IPUs 0 have arrived"), std::string::npos) << what;
  EXPECT_NE(what.find("IPUs 1 have not"), std::string::npos) << what;
}

TEST(Machine, IpusThatWaitInDifferentZonesAreADeadlockThatNamesBoth) {
  std::vector<std::uint32_t> group, host;
  sync_step(group, Zone::group1);
  spin(group);
  sync_step(host, Zone::host, 9);
  spin(host);
  const std::string what = error_of_two(tlm_system(small_platform(2, 2)), group, host);
  EXPECT_NE(what.find("x.sync group 1: IPUs 0 have arrived"), std::string::npos) << what;
  EXPECT_NE(what.find("x.sync host: IPUs 1 have arrived"), std::string::npos) << what;
  EXPECT_NE(what.find("IPU 0 tiles 0-1: waits in x.sync group 1"), std::string::npos) << what;
  EXPECT_NE(what.find("IPU 1 tiles 0-1: waits in x.sync host"), std::string::npos) << what;
}

TEST(Machine, StopFromOutsideEndsTheRunInOrder) {
  SystemConfig config = tlm_system(small_platform(2));
  unsigned asked = 0;
  config.stop = [&] { return ++asked > 3; };
  Machine m(config);
  Driver d(m.transport);
  std::vector<std::uint32_t> code;
  spin(code);
  d.load(0, {all_tiles(kCode, code)});
  d.start(0, kCode);
  EXPECT_THROW(d.wait(), RunStopped);
  std::uint32_t word = 0;
  d.read_tile(0, 0, kCode, &word, 1);  // stopped, and readable
  EXPECT_EQ(word, code[0]);
}

TEST(Machine, TrapEndsTheRunWithItsPlace) {
  Machine m(tlm_system(small_platform(3)));
  Driver d(m.transport);
  std::vector<std::uint32_t> fine, bad;
  sync_step(fine, Zone::internal);
  spin(fine);
  bad.push_back(0);  // illegal
  d.load(0, {all_tiles(kCode, split_program(fine, bad))});
  d.start(0, kCode);
  const Event event = d.wait();
  ASSERT_EQ(event.kind, Event::Kind::exception);
  EXPECT_EQ(event.exception.tile, 1u);
  EXPECT_EQ(event.exception.context, 0u);
  EXPECT_EQ(event.exception.cause, 2u);
  EXPECT_EQ(event.exception.pc, kCode + 4 * (3 + static_cast<Address>(fine.size())));
}

}  // namespace
}  // namespace tessera
