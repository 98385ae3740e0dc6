// Host streams: tiles read and write host buffers with packets, between host syncs, at exact times; and what is
// refused.
#include <gtest/gtest.h>

#include <cstring>

#include "hw/error.h"
#include "verif/system/bench.h"

namespace tessera {
namespace {

using namespace testing;
using driver::Driver;
using driver::Event;
using driver::ExceptionInfo;
using driver::LoadRecord;

constexpr Address kReadTable = kSramBase + 0x1000, kWriteTable = kSramBase + 0x1100, kData = kSramBase + 0x2000;
constexpr unsigned kIn = 4, kOut = 9;

std::vector<std::uint32_t> packet_table(unsigned kind, unsigned words, Address local, unsigned buffer,
                                        std::uint64_t offset) {
  const std::uint64_t all[] = {PacketHeader{1, 0}.pack(),
                               PacketDescriptor{kind, 0, 0, words, (local - kSramBase) / 4}.pack(),
                               PacketRemote{offset, 0, buffer, kRemoteHost}.pack()};
  std::vector<std::uint32_t> out;
  for (std::uint64_t w : all) out.push_back(static_cast<std::uint32_t>(w)), out.push_back(w >> 32);
  return out;
}

/// sync host(1), read, sync host(2), write, sync host(3), again from the start.
std::vector<std::uint32_t> stream_program() {
  std::vector<std::uint32_t> code;
  load_constant(code, 10, kReadTable);
  load_constant(code, 11, kWriteTable);
  sync_step(code, Zone::host, 1);
  code.push_back(r(Op::x_packet, 0, 10));
  sync_step(code, Zone::host, 2);
  code.push_back(r(Op::x_packet, 0, 11));
  sync_step(code, Zone::host, 3);
  code.push_back(i(Op::jal, 0, 0, -static_cast<std::int32_t>(4 * (code.size() - 4))));
  return code;
}

std::vector<LoadRecord> stream_image(unsigned tiles, unsigned words) {
  std::vector<LoadRecord> image{all_tiles(kCode, stream_program())};
  for (unsigned t = 0; t < tiles; ++t) {
    image.push_back(
        one_tile(t, kReadTable, packet_table(kPacketRead, words, kData, kIn, std::uint64_t{4} * words * t)));
    image.push_back(
        one_tile(t, kWriteTable, packet_table(kPacketWrite, words, kData, kOut, std::uint64_t{4} * words * t)));
  }
  return image;
}

class Log : public EventObserver {
 public:
  void event(const MachineEvent& e) override {
    if (e.kind == MachineEvent::Kind::packet_done) done.push_back(e.cycle);
  }
  std::vector<Cycle> done;
};

void run_streams(unsigned tiles, unsigned words) {
  SystemConfig config = tlm_system(small_platform(tiles));
  Log log;
  config.events = &log;
  Machine m(config);
  Driver d(m.transport);
  d.reset(0);
  d.load(0, stream_image(tiles, words));
  const std::size_t bytes = std::size_t{4} * words * tiles;
  std::uint8_t* in = d.attach_buffer(0, kIn, bytes, true, false);
  const std::uint8_t* out = d.attach_buffer(0, kOut, bytes, false, true);
  d.start(0, kCode);
  for (unsigned round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < bytes; ++i) in[i] = static_cast<std::uint8_t>(i * 7 + round);
    for (unsigned code = 1; code <= 3; ++code) {
      const Event event = d.wait();
      ASSERT_EQ(event.kind, Event::Kind::host_sync);
      ASSERT_EQ(event.code, code);
      // The write of this window is in host memory before its interrupt.
      if (code == 3) {
        ASSERT_EQ(std::memcmp(in, out, bytes), 0) << "round " << round;
      }
      d.acknowledge(0);
    }
  }
  EXPECT_EQ(log.done.size(), std::size_t{6} * tiles);
  const unsigned pieces = (words + 255) / 256;
  EXPECT_GE(d.counters(0).packets, 6u * pieces * tiles);
}

TEST(Streams, OneTileReadsAndWritesBack) { run_streams(1, 5); }
TEST(Streams, ManyTilesAndManyPackets) { run_streams(8, 1500); }

TEST(Streams, ReadTakesTheTimeOfLanesLinkAndLatency) {
  const Platform p = small_platform(1);
  SystemConfig config = tlm_system(p);
  struct Times : EventObserver {
    void event(const MachineEvent& e) override {
      if (e.kind == MachineEvent::Kind::packet_done) done = e.cycle;
      if (e.kind == MachineEvent::Kind::sync_release) release = e.cycle;
    }
    Cycle done = 0, release = 0;
  } times;
  config.events = &times;
  Machine m(config);
  Driver d(m.transport);
  d.load(0, stream_image(1, 16));
  d.attach_buffer(0, kIn, 64, true, false);
  d.attach_buffer(0, kOut, 64, false, true);
  d.start(0, kCode);
  ASSERT_EQ(d.wait().code, 1u);
  d.acknowledge(0);
  ASSERT_EQ(d.wait().code, 2u);
  // P = Z; offered at P + 12, 4 words, through the lane (4 + 20), request of 24 bytes at 20 B a cycle, latency, answer
  // of 24 + 64 bytes, latency, lane (20), 20 words to the last.
  const Cycle up = times.release + 12 + 4 + 4 + p.packet.lane_latency;
  const double link = (24.0 + 88.0) / p.pcie.card_bytes_per_cycle;
  const Cycle back = up + 2 * p.cycles_of_ns(p.pcie.latency_ns) + static_cast<Cycle>(link);
  const Cycle expected = back + p.packet.lane_latency + 19;
  EXPECT_GE(times.done, expected);
  EXPECT_LE(times.done, expected + 2);  // the link works in picoseconds
}

Event refused(unsigned words, std::size_t bytes, bool read_allowed, bool bus_master = true) {
  Machine m(tlm_system(small_platform(2)));
  Driver d(m.transport);
  d.load(0, stream_image(2, words));
  d.attach_buffer(0, kIn, bytes, read_allowed, false);
  d.start(0, kCode);
  EXPECT_EQ(d.wait().code, 1u);
  if (!bus_master) {
    const std::uint32_t command = m.transport.config_read(d.info(0).function, pcie::kCommand, 2);
    m.transport.config_write(d.info(0).function, pcie::kCommand, 2, command & ~std::uint32_t{pcie::kCommandBusMaster});
  }
  d.acknowledge(0);
  const Event event = d.wait(20'000'000);
  if (bus_master) {
    EXPECT_EQ(event.kind, Event::Kind::exception);
    EXPECT_EQ(event.exception.kind, ExceptionInfo::Kind::host_access);
    return event;
  }
  // The interrupt is held too; the registers tell, and it comes when bus mastering is back.
  EXPECT_EQ(event.kind, Event::Kind::timeout);
  EXPECT_TRUE(d.exception(0));
  m.transport.config_write(d.info(0).function, pcie::kCommand, 2, pcie::kCommandMemory | pcie::kCommandBusMaster);
  const Event late = d.wait(20'000'000);
  EXPECT_EQ(late.kind, Event::Kind::exception);
  return late;
}

TEST(Streams, ReadBeyondTheBufferIsRefusedAndNamesTheTile) { EXPECT_EQ(refused(8, 40, true).exception.tile, 1u); }
TEST(Streams, ReadOfABufferForWritingIsRefused) { EXPECT_EQ(refused(8, 64, false).exception.tile, 0u); }
TEST(Streams, WithoutBusMasteringNothingMoves) { refused(8, 64, true, false); }

TEST(Streams, ExpectedWordsThatNeverComeAreADeadlock) {
  Machine m(tlm_system(small_platform(2)));
  Driver d(m.transport);
  std::vector<LoadRecord> image = stream_image(2, 4);
  std::vector<std::uint32_t> waits;
  const std::uint64_t header = PacketHeader{0, 5}.pack();
  image.push_back(
      one_tile(1, kReadTable, {static_cast<std::uint32_t>(header), static_cast<std::uint32_t>(header >> 32)}));
  d.load(0, image);
  d.attach_buffer(0, kIn, 64, true, false);
  d.start(0, kCode);
  ASSERT_EQ(d.wait().code, 1u);
  d.acknowledge(0);
  try {
    d.wait();
    FAIL() << "no deadlock was reported";
  } catch (const Error& e) {
    EXPECT_EQ(e.category(), Category::no_progress);
    EXPECT_NE(std::string(e.what()).find("tile 1: in x.packet"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace tessera
