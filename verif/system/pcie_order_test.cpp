// Order and time on PCI Express: what an interrupt tells of is in host memory when it comes, for any quantum; the
// host's own delays change nothing but what they must; a broadcast crosses the card's link once.
#include <cstring>
#include <random>
#include <set>

#include "verif/system/elsewhere.h"
#include "verif/system/pcie_bench.h"

namespace tessera {
namespace {

using namespace testing;
using namespace pcie;
using driver::Driver;
using driver::Event;
using driver::LoadRecord;

constexpr Address kReadTable = kSramBase + 0x1000, kWriteTable = kSramBase + 0x1100, kData = kSramBase + 0x2000;
constexpr unsigned kIn = 4, kOut = 9, kWords = 300, kTiles = 4;

std::vector<std::uint32_t> packet_table(unsigned kind, unsigned buffer, std::uint64_t offset) {
  const std::uint64_t all[] = {PacketHeader{1, 0}.pack(),
                               PacketDescriptor{kind, 0, 0, kWords, (kData - kSramBase) / 4}.pack(),
                               PacketRemote{offset, 0, buffer, kRemoteHost}.pack()};
  std::vector<std::uint32_t> out;
  for (std::uint64_t w : all) out.push_back(static_cast<std::uint32_t>(w)), out.push_back(w >> 32);
  return out;
}

/// sync host(1), read, syncs internal and group 1, write, sync host(2), again.
std::vector<LoadRecord> image(unsigned tiles) {
  std::vector<std::uint32_t> code;
  load_constant(code, 10, kReadTable);
  load_constant(code, 11, kWriteTable);
  const std::size_t start = code.size();
  sync_step(code, Zone::host, 1);
  code.push_back(r(Op::x_packet, 0, 10));
  sync_step(code, Zone::internal);
  sync_step(code, Zone::group1);
  code.push_back(r(Op::x_packet, 0, 11));
  sync_step(code, Zone::host, 2);
  code.push_back(i(Op::jal, 0, 0, -static_cast<std::int32_t>(4 * (code.size() - start))));
  std::vector<LoadRecord> records{all_tiles(kCode, code)};
  for (unsigned t = 0; t < tiles; ++t) {
    records.push_back(one_tile(t, kReadTable, packet_table(kPacketRead, kIn, std::uint64_t{4} * kWords * t)));
    records.push_back(one_tile(t, kWriteTable, packet_table(kPacketWrite, kOut, std::uint64_t{4} * kWords * t)));
  }
  return records;
}

class Log : public EventObserver {
 public:
  void event(const MachineEvent& e) override {
    if (e.kind == MachineEvent::Kind::packet_done) done.insert({e.cycle, e.tile});
  }
  /// Ends of packet phases by cycle and tile: within a cycle observers are told in no particular order.
  void flush() {
    for (const auto& [cycle, tile] : done) text += " p" + std::to_string(tile) + "+" + relative(cycle);
    done.clear();
  }
  void released(Cycle cycle) {
    flush();
    // Releases by the host begin anew: what the host takes is no cycle of the machine.
    if (host) base = cycle, host = false;
    text += "\nrelease+" + relative(cycle);
  }
  std::string relative(Cycle cycle) const { return std::to_string(cycle - base); }
  std::set<std::pair<Cycle, unsigned>> done;
  std::string text;
  Cycle base = 0;
  bool host = true;
};

/// Three rounds; `delays`: seed of random times that the host takes before each of its calls, 0 for none.
std::string run_rounds(Cycle quantum, unsigned threads, unsigned delays, unsigned tiles = kTiles) {
  SystemConfig config = tlm_system(small_platform(tiles));
  if (tiles > kTiles) {
    config.platform.sync.internal = 512;  // longer than the way through so many columns
    config.platform.pcie.outstanding = 4;
  }
  Log log;
  config.events = &log;
  config.quantum = quantum;
  config.threads = threads;
  config.released = [&log](unsigned, Cycle cycle) { log.released(cycle); };
  Machine m(config);
  std::mt19937 random(delays);
  const auto dawdle = [&] {
    if (delays != 0) m.transport.elapse(random() % 5000);
  };
  Driver d(m.transport);
  d.reset(0);
  d.set_groups(0, true, false);
  dawdle();
  d.load(0, image(tiles));
  const std::size_t bytes = std::size_t{4} * kWords * tiles;
  std::uint8_t* in = d.attach_buffer(0, kIn, bytes, true, false);
  const std::uint8_t* out = d.attach_buffer(0, kOut, bytes, false, true);
  dawdle();
  d.start(0, kCode);
  std::size_t compared = 0;
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned code = 1; code <= 2; ++code) {
      const Event event = d.wait();
      EXPECT_EQ(event.kind, Event::Kind::host_sync);
      EXPECT_EQ(event.code, code);
      if (code == 2) {
        // At the interrupt all that the tiles wrote is there.
        EXPECT_EQ(std::memcmp(in, out, bytes), 0) << round;
        compared += bytes;
      } else {
        for (std::size_t i = 0; i < bytes; ++i) in[i] = static_cast<std::uint8_t>(i * 7 + i / 253 + round);
      }
      log.host = true;
      log.text += " | " + std::string(out, out + bytes);
      dawdle();
      d.acknowledge(0);
      dawdle();
    }
  }
  EXPECT_EQ(compared, 3 * bytes);
  log.flush();
  const auto c = d.counters(0);
  return log.text + " | " + std::to_string(c.instructions) + " " + std::to_string(c.packets) + " " +
         std::to_string(c.host_syncs);
}

TEST(PcieOrder, QuantumAndThreadsChangeNothing) {
  const std::string want = elsewhere([] { return run_rounds(Cycle{1} << 20, 1, 0); });
  EXPECT_GT(want.size(), 6u * 4 * kWords * kTiles);
  for (const Cycle quantum : {1, 7, 64, 1000, 20'000})
    EXPECT_EQ(elsewhere([&] { return run_rounds(quantum, 1, 0); }), want) << quantum;
  EXPECT_EQ(elsewhere([] { return run_rounds(1000, 2, 0); }), want);
}

TEST(PcieOrder, InterruptsWaitForPacketsThatWaitForRoom) {
  // Packets of more tiles than the endpoint may have on the way.
  const std::string want = elsewhere([] { return run_rounds(Cycle{1} << 20, 1, 0, 64); });
  EXPECT_GT(want.size(), 6u * 4 * kWords * 64);
  for (const Cycle quantum : {64, 20'000}) EXPECT_EQ(elsewhere([&] { return run_rounds(quantum, 1, 0, 64); }), want);
}

TEST(PcieOrder, DelaysOfTheHostChangeNoCycleAndNoByte) {
  const std::string want = elsewhere([] { return run_rounds(Cycle{1} << 20, 1, 0); });
  for (unsigned seed = 1; seed <= 8; ++seed)
    EXPECT_EQ(elsewhere([&] { return run_rounds(Cycle{1} << 20, 1, seed); }), want) << seed;
}

TEST(PcieOrder, InterruptFindsTheLastByteThere) {
  const auto scenario = [](Cycle quantum) {
    SystemConfig config = tlm_system(small_platform(16));
    config.quantum = quantum;
    ReadyBus b(config);
    std::string ends;
    for (const std::uint32_t size : {1u, 4u, 63u, 256u, 257u, 4096u, 4097u, 65'536u, 262'143u, 1u << 20}) {
      const auto value = static_cast<std::uint8_t>(size % 251 + 1);
      for (unsigned at = 0; at < 1u << 20; at += 65536) b.poke(0, at, std::vector<std::uint8_t>(65536, value));
      b.start_dma(0, true, PlainMemory::kBase + (1u << 20) - size, 0, size);
      EXPECT_TRUE(b.dma_ended(0));
      EXPECT_EQ(b.memory.bytes.back(), value) << size;
      EXPECT_EQ(b.memory.bytes[(1u << 20) - size], value) << size;
      ends += std::to_string(b.transport.now_ns()) + " ";
    }
    return ends;
  };
  const std::string want = elsewhere([&] { return scenario(Cycle{1} << 20); });
  for (const Cycle quantum : {1, 1000}) EXPECT_EQ(elsewhere([&] { return scenario(quantum); }), want);
}

TEST(PcieOrder, ReadsPushWrites) {
  // A status register read while data are on the way: when it shows the end, all are there, without an interrupt.
  ReadyBus b(small_platform(8));
  for (const std::uint32_t size : {5u, 4096u, 100'000u, 500'000u}) {
    const auto value = static_cast<std::uint8_t>(size % 251 + 1);
    for (unsigned at = 0; at < 8 * 65536; at += 65536) b.poke(0, at, std::vector<std::uint8_t>(65536, value));
    b.start_dma(0, true, PlainMemory::kBase, 0, size);
    // What the engine says to have moved is there, in any moment.
    std::uint32_t moved = 0;
    while ((moved = b.word(b.reg(0, reg::chip::kDmaMoved))) < size) {
      if (moved > 0) {
        ASSERT_EQ(b.memory.bytes[moved - 1], value) << moved;
      }
    }
    EXPECT_EQ(b.memory.bytes[size - 1], value);
    EXPECT_TRUE(b.dma_ended(0));
  }
}

TEST(PcieOrder, TilesAnswerTheHostOnlyWhenTheyMay) {
  Machine m(tlm_system(small_platform(2, 2)));
  Driver d(m.transport);
  std::vector<std::uint32_t> code;
  sync_step(code, Zone::group1);
  sync_step(code, Zone::host, 1);
  code.push_back(r(Op::ecall, 0));
  std::uint32_t refused = 0, asked = 0;
  const auto expect = [&](unsigned ipu, bool answered, const char* when) {
    std::uint32_t word = 0;
    auto* bytes = reinterpret_cast<std::uint8_t*>(&word);
    const std::uint64_t address = d.info(ipu).tile_memory + 65536 + 0x8000;
    const PciStatus want = answered ? PciStatus::ok : PciStatus::completer_abort;
    EXPECT_EQ(m.transport.memory_read(address, bytes, 4), want) << when;
    EXPECT_EQ(word, answered ? 0 : 0xffffffffu) << when;
    word = 0;
    EXPECT_EQ(m.transport.memory_write(address, bytes, 4), want) << when;
    if (ipu == 0 && !answered) refused += 2;
    EXPECT_EQ(d.counters(0).refused_accesses, refused) << when;
    // Looking without disturbing is always possible.
    EXPECT_EQ(m.transport.debug(address, false, bytes, 4), 4u) << when;
    ++asked;
  };
  for (unsigned ipu : {0u, 1u}) {
    d.reset(ipu);
    expect(ipu, true, "held");
    d.load(ipu, {all_tiles(kCode, code)});
    d.set_groups(ipu, true, false);
  }
  d.start(0, kCode);
  m.transport.elapse(10'000);
  expect(0, false, "waiting for its group");
  d.start(1, kCode);
  EXPECT_EQ(d.wait().kind, Event::Kind::host_sync);
  for (unsigned ipu : {0u, 1u}) expect(ipu, true, "host sync");
  d.acknowledge(0);
  EXPECT_EQ(d.wait().kind, Event::Kind::exception);
  EXPECT_EQ(d.wait().kind, Event::Kind::exception);
  for (unsigned ipu : {0u, 1u}) expect(ipu, true, "excepted");
  std::vector<std::uint32_t> loop;
  spin(loop);
  d.reset(0);
  d.load(0, {all_tiles(kCode, loop)});
  d.start(0, kCode);
  m.transport.elapse(1'000);
  expect(0, false, "running");
  d.reset(0);
  expect(0, true, "reset");
  EXPECT_EQ(asked, 9u);
}

TEST(PcieOrder, BroadcastCrossesTheLinkOnce) {
  Platform p = load_platform("c2");
  p.ipus_per_card = 1;
  Machine m(tlm_system(p));
  Driver d(m.transport);
  d.reset(0);
  const auto upstream = static_cast<std::uint8_t>(m.transport.config_read({0, 0, 0}, kSecondaryBus, 1));
  const unsigned counters = [&] {
    for (unsigned at = kExtendedStart; at != 0; at = m.transport.config_read({upstream, 0, 0}, at, 4) >> 20)
      if ((m.transport.config_read({upstream, 0, 0}, at, 4) & 0xffff) == kExtCapVendor) return at;
    return 0u;
  }();
  ASSERT_NE(counters, 0u);
  const auto count = [&](unsigned offset) {
    const std::uint64_t low = m.transport.config_read({upstream, 0, 0}, counters + offset, 4);
    return low | std::uint64_t{m.transport.config_read({upstream, 0, 0}, counters + offset + 4, 4)} << 32;
  };
  const std::size_t words = 25'000;
  const std::uint64_t before = count(kVendorDownBytes), packets = count(kVendorDownPackets);
  d.load(0, {all_tiles(kSramBase, std::vector<std::uint32_t>(words, 0x11223344))});
  const auto crossed = static_cast<double>(count(kVendorDownBytes) - before);
  // 24 bytes with every 256, and some register accesses.
  EXPECT_GT(crossed, 4.0 * words * 280 / 256);
  EXPECT_LT(crossed, 4.0 * words * 280 / 256 + 2000);
  EXPECT_GT(count(kVendorDownPackets), packets + 4 * words / 256);
  std::size_t compared = 0;
  for (unsigned t = 0; t < p.tiles; t += 7) {
    std::vector<std::uint32_t> back(words);
    d.read_tile(0, t, kSramBase, back.data(), words);
    EXPECT_EQ(back, std::vector<std::uint32_t>(words, 0x11223344)) << t;
    compared += words;
  }
  EXPECT_EQ(compared, words * ((p.tiles + 6) / 7));
}

}  // namespace
}  // namespace tessera
