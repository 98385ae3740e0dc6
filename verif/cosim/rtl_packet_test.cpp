// The packet engine in RTL at its pins: random tables of writes and reads, a lane that is not always ready, answers
// that come late and in pieces, writes from elsewhere. Every word, the cycle in which it is taken, memory and the
// supervisor's next issue must be what docs/machine/packets.md says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "tlm/link/packet_window.h"
#include "tlm/tile/assembler.h"
#include "verif/cosim/rtl_tile.h"
#include "verif/coverage/covered_tile.h"

namespace tessera {
namespace {

using namespace tessera::testing;  // NOLINT: the assembler

constexpr std::uint32_t kBytes = 65536;
constexpr Address kTable = kSramBase + 0x1000, kData = kSramBase + 0x4000;
constexpr unsigned kTile = 77, kIpu = 5;

struct Descriptor {
  unsigned kind = 1, local_base = 0, remote_base = 0, words = 1, local = 0;
  std::uint64_t remote = 0;
  [[nodiscard]] std::uint64_t first() const {
    return kind | local_base << 2 | remote_base << 4 | std::uint64_t{words} << 6 | std::uint64_t{local} << 24;
  }
};
constexpr std::uint64_t host(unsigned buffer, std::uint64_t offset) {
  return std::uint64_t{2} << 60 | std::uint64_t{buffer} << 52 | offset;
}
constexpr std::uint64_t other_tile(unsigned ipu, unsigned tile, std::uint64_t offset) {
  return std::uint64_t{ipu} << 52 | std::uint64_t{tile} << 40 | offset;
}
/// What a host buffer holds at a remote address.
Word content(std::uint64_t remote) { return static_cast<Word>(remote * 0x9e3779b97f4a7c15u >> 32); }

struct Taken {
  Cycle cycle;
  Word word;
  bool first, last;
  friend bool operator==(const Taken& a, const Taken& b) {
    return a.cycle == b.cycle && a.word == b.word && a.first == b.first && a.last == b.last;
  }
};

/// A lane whose readiness depends on the cycle, with answers to reads `latency` cycles after the request.
struct FakeLane : PacketPort {
  unsigned busy_percent = 0, latency = 40, piece = 256, seed = 0;
  bool whole = false;  ///< takes the words of a packet without a gap, as lanes do
  std::vector<Taken> taken;
  std::map<Cycle, std::pair<Word, bool>> arriving;
  std::vector<Word> header;
  Cycle last_arrival = 0;

  [[nodiscard]] bool ready(Cycle c) const {
    const std::uint64_t h = (c + seed) * 0xd1342543de82ef95u;
    return (h >> 40) % 100 >= busy_percent;
  }
  bool send(Cycle c, Word word, bool first, bool last) override {
    if (!ready(c) && (first || !whole)) return false;
    taken.push_back({c, word, first, last});
    if (first) header.clear();
    header.push_back(word);
    if (last && (header[0] & 3) == 2) answer(c + latency);
    return true;
  }
  std::optional<std::pair<Word, bool>> receive(Cycle c) override {
    const auto at = arriving.find(c);
    if (at == arriving.end()) return std::nullopt;
    return at->second;
  }
  /// Puts a packet on the port, one word a cycle, after everything that is there.
  void put(Cycle at, const std::vector<Word>& words) {
    if (!arriving.empty()) at = std::max(at, arriving.rbegin()->first + 1);
    for (std::size_t n = 0; n < words.size(); ++n) arriving[at + n] = {words[n], n + 1 == words.size()};
    last_arrival = at + words.size() - 1;
  }
  void answer(Cycle at) {
    const unsigned words = header[0] >> 2 & 0x1ff;
    for (unsigned done = 0; done < words; done += piece) {
      const unsigned count = std::min(piece, words - done);
      const std::uint64_t remote = (std::uint64_t{header[2]} << 32 | header[1]) + 4 * done;
      std::vector<Word> packet{(header[0] & ~0x7ffu) | count << 2 | 3, static_cast<Word>(remote),
                               static_cast<Word>(remote >> 32), header[3] + 4 * done};
      for (unsigned n = 0; n < count; ++n) packet.push_back(content(remote + 4 * n));
      put(at, packet);
    }
  }
};

struct Recorder : RetireObserver {
  std::vector<RetireRecord> records;
  void retired(const RetireRecord& record) override { records.push_back(record); }
  void exchanged(const ExchangeWord&) override {}
};

struct Bench {
  explicit Bench(const std::vector<Descriptor>& table, unsigned expected, unsigned zone = 4, Address handler = 0,
                 bool again = false) {
    TileConfig config;
    config.sram_bytes = kBytes;
    config.tile = kTile;
    config.ipu = kIpu;
    tile = coverage::covered(config, make_rtl_tile(config), totals);
    tile->observe(&seen);
    std::vector<std::uint32_t> code;
    load_constant(code, 5, kData);
    code.push_back(i(Op::csrrw, 0, 5, csr::xbase1));
    load_constant(code, 5, 0x400);
    code.push_back(i(Op::csrrw, 0, 5, csr::xbase2));
    load_constant(code, 6, kTable);
    if (handler != 0) {
      load_constant(code, 5, handler);
      code.push_back(i(Op::csrrw, 0, 5, csr::mtvec));
      put(handler, i(Op::csrrw, 0, 0, csr::mtvec));
      put(handler + 4, r(Op::ecall, 0));
    }
    code.push_back(sync(7, 0, zone));
    at = kSramBase + 4 * static_cast<Address>(code.size());
    code.push_back(r(Op::x_packet, 0, 6));
    code.push_back(i(Op::csrrs, 8, 0, csr::xpktcnt));
    if (again) code.push_back(sync(7, 0, 1));
    code.push_back(r(Op::ecall, 0));
    tile->write_memory(kSramBase, reinterpret_cast<const std::uint8_t*>(code.data()), 4 * code.size());
    std::vector<std::uint64_t> words{table.size() | std::uint64_t{expected} << 16};
    for (const Descriptor& d : table) {
      words.push_back(d.first());
      words.push_back(d.remote);
    }
    tile->write_memory(kTable, reinterpret_cast<const std::uint8_t*>(words.data()), 8 * words.size());
    for (unsigned n = 0; n < 0x3000; ++n) put(kData + 4 * n, 0x2000'0000 + n);
    memory.resize(kBytes);
    tile->read_memory(kSramBase, memory.data(), kBytes);
    tile->start(kSramBase, 0);
    const TileStop stop = tile->run(kNever, nullptr, &lane);
    EXPECT_EQ(stop.kind, TileStop::Kind::sync);
    p = stop.cycle + 100;
  }
  void put(Address a, Word word) { tile->write_memory(a, reinterpret_cast<const std::uint8_t*>(&word), 4); }
  void go() {
    tile->release(p, true);
    const TileStop stop = tile->run(p + 200000, nullptr, &lane);
    EXPECT_EQ(stop.kind, TileStop::Kind::exception);
  }
  /// The same with a second release, of zone internal.
  void go_again(Cycle later) {
    tile->release(p, true);
    TileStop stop = tile->run(p + 200000, nullptr, &lane);
    if (stop.kind != TileStop::Kind::sync) return;  // a trap
    tile->release(p + later, true);
    stop = tile->run(p + 400000, nullptr, &lane);
    EXPECT_EQ(stop.kind, TileStop::Kind::exception);
  }
  void arrive(Cycle cycle, Address to, const std::vector<Word>& payload) {
    std::vector<Word> packet{1 | static_cast<Word>(payload.size()) << 2, to - kSramBase, 0, 0};
    packet.insert(packet.end(), payload.begin(), payload.end());
    lane.put(cycle, packet);
  }
  [[nodiscard]] Word word(Address a) const {
    Word w = 0;
    tile->read_memory(a, reinterpret_cast<std::uint8_t*>(&w), 4);
    return w;
  }
  void set(Address a, Word w) { std::memcpy(memory.data() + (a - kSramBase), &w, 4); }

  std::shared_ptr<coverage::Totals> totals = coverage::Totals::from_environment();
  std::unique_ptr<TileModel> tile;
  Recorder seen;
  FakeLane lane;
  Address at = 0;
  Cycle p = 0;
  std::vector<std::uint8_t> memory;  ///< as expected afterwards
};

/// What must leave, by the rules; reads go into the expected memory.
std::vector<Taken> expected_words(const std::vector<Descriptor>& table, Bench& b) {
  std::vector<Taken> out;
  Cycle due = b.p + 12;
  for (const Descriptor& d : table) {
    Address local = (d.local_base == 1 ? kData : kSramBase) + 4 * d.local;
    std::uint64_t remote = d.remote + (d.remote_base == 2 ? 0x400 : 0);
    for (unsigned left = d.words; left > 0;) {
      const auto boundary = static_cast<unsigned>((1024 - remote % 1024) / 4);
      const unsigned count = std::min(left, boundary);
      std::vector<Word> words{d.kind | count << 2 | kTile << 11 | kIpu << 23, static_cast<Word>(remote),
                              static_cast<Word>(remote >> 32), local - kSramBase};
      for (unsigned n = 0; n < count; ++n) {
        if (d.kind == 1) {
          words.push_back(b.word(local + 4 * n));
        } else {
          b.set(local + 4 * n, content(remote + 4 * n));
        }
      }
      for (std::size_t n = 0; n < words.size(); ++n) {
        while (!b.lane.ready(due)) ++due;
        out.push_back({due, words[n], n == 0, n + 1 == words.size()});
        ++due;
      }
      due += 7;  // the next packet is due 8 cycles after the last word was taken
      left -= count;
      local += 4 * count;
      remote += std::uint64_t{4} * count;
    }
  }
  return out;
}

void check(Bench& b, const std::vector<Taken>& expected, unsigned arrived) {
  ASSERT_EQ(b.lane.taken.size(), expected.size());
  for (std::size_t n = 0; n < expected.size(); ++n) {
    ASSERT_EQ(b.lane.taken[n].word, expected[n].word) << "word " << n;
    ASSERT_TRUE(b.lane.taken[n] == expected[n])
        << "word " << n << " cycle " << b.lane.taken[n].cycle << " expected " << expected[n].cycle;
  }
  std::vector<std::uint8_t> after(kBytes);
  b.tile->read_memory(kSramBase, after.data(), kBytes);
  EXPECT_EQ(std::memcmp(after.data(), b.memory.data(), kBytes), 0);
  Cycle complete = std::max(b.p + 12, b.lane.last_arrival);
  if (!expected.empty()) complete = std::max(complete, expected.back().cycle);
  ASSERT_GE(b.seen.records.size(), 3u);
  const RetireRecord* packet = &b.seen.records[b.seen.records.size() - 3];
  EXPECT_EQ(packet[0].pc, b.at);
  EXPECT_EQ(packet[0].cycle, b.p);
  EXPECT_EQ(packet[1].cycle, complete + 6);
  EXPECT_EQ(packet[1].xval, arrived);
}

TEST(RtlPacket, RandomTablesOnABusyLane) {
  std::size_t words = 0, reads = 0;
  for (unsigned seed = 0; seed < 150 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto pick = [&random](unsigned n) { return static_cast<unsigned>(random() % n); };
    std::vector<Descriptor> table(pick(6));
    unsigned region = 0;  // every descriptor has memory of its own
    for (Descriptor& d : table) {
      d.kind = 1 + pick(2);
      d.words = pick(3) == 0 ? 1 + pick(600) : 1 + pick(20);
      d.local_base = pick(2);
      d.local = region + (d.local_base == 1 ? 0 : (kData - kSramBase) / 4);
      d.remote_base = pick(3) == 0 ? 2 : 0;
      d.remote =
          d.kind == 2 || pick(2) ? host(pick(4), 4 * pick(2000)) : other_tile(pick(9), pick(1216), 4 * pick(2000));
      region += d.words;
      reads += d.kind == 2;
    }
    const unsigned incoming = pick(3) == 0 ? 1 + pick(40) : 0;
    Bench b(table, incoming);
    b.lane.busy_percent = pick(2) * pick(80);
    b.lane.latency = 5 + pick(200);
    b.lane.piece = pick(2) ? 256 : 64;
    b.lane.seed = seed;
    const auto expected = expected_words(table, b);
    if (incoming != 0) {
      std::vector<Word> payload(incoming);
      for (auto& w : payload) w = static_cast<Word>(random());
      b.arrive(b.p + 1 + pick(30), kData + 0xb000, payload);
      for (unsigned n = 0; n < incoming; ++n) b.set(kData + 0xb000 + 4 * n, payload[n]);
    }
    b.go();
    check(b, expected, incoming);
    words += expected.size();
  }
  EXPECT_GT(words, 5000u);
  EXPECT_GT(reads, 50u);
}

void expect_trap(const Bench& b, Cycle cycle, Address pc, std::uint32_t cause, std::uint32_t tval) {
  const RetireRecord& trap = b.seen.records.back();
  EXPECT_TRUE(trap.trap);
  EXPECT_EQ(trap.cycle, cycle);
  EXPECT_EQ(trap.pc, pc);
  EXPECT_EQ(trap.cause, cause);
  EXPECT_EQ(trap.tval, tval);
}

TEST(RtlPacket, BadDescriptorsAreFoundWhenTheirFirstWordIsDue) {
  Descriptor good;
  good.local = (kData - kSramBase) / 4;
  good.words = 3;
  good.remote = host(0, 0);
  std::vector<Descriptor> bad(7, good);
  bad[0].kind = 3;
  bad[1].words = 0;
  bad[2].remote = std::uint64_t{3} << 60;
  bad[3].kind = 2;
  bad[3].remote = other_tile(1, 1, 0);  // no tile reads a tile
  bad[4].remote = host(0, 2);
  bad[5].local = kBytes / 4 - 2;  // its last word lies outside
  bad[6].kind = 0;
  for (std::size_t n = 0; n < bad.size(); ++n) {
    SCOPED_TRACE(n);
    Bench b({good, bad[n]}, 0);
    b.go();
    // Seven words from P + 12 on, the next packet is due eight cycles after the last.
    EXPECT_EQ(b.lane.taken.size(), 7u);
    expect_trap(b, b.p + 12 + 6 + 8 + 6, b.at, 29, kTable + 8 + 16);
  }
}

TEST(RtlPacket, WordsBeyondTheExpectedOrOutsideTheSramAreFaults) {
  Bench more({}, 2, 4, 0, true);
  more.arrive(more.p + 100, kData, {1, 2, 3});
  more.go_again(300);
  // Header 100..103, words 104, 105, 106: complete with the second, so the third comes to a closed window and is told
  // at the next release.
  expect_trap(more, more.p + 300, more.at + 12, 30, kData + 8);
  EXPECT_EQ(more.word(kData + 4), 2u);
  EXPECT_EQ(more.word(kData + 8), 0x2000'0002u);

  Bench outside({}, 4);
  outside.arrive(outside.p + 20, kSramBase + kBytes - 4, {1, 2});
  outside.go();
  expect_trap(outside, outside.p + 25 + 6, outside.at, 30, kSramBase + kBytes);

  Bench over({}, 1);
  over.arrive(over.p + 2, kData, {1, 2});  // both words are there before P + 12
  over.go();
  expect_trap(over, over.p + 12 + 6, over.at, 30, kData + 4);
}

TEST(RtlPacket, AWriteOutsideAWindowTrapsAtTheNextIssue) {
  Bench b({}, 0);
  b.arrive(b.p - 50, kData, {5});
  b.go();
  // It arrives while the supervisor waits in x.sync: the trap comes in place of the issue at Z.
  expect_trap(b, b.p, b.at, 30, kData);
  EXPECT_EQ(b.word(kData), 0x2000'0000u);
}

TEST(RtlPacket, AHandlerTakesAWriteOutsideAWindow) {
  constexpr Address kHandler = kSramBase + 0x600;
  Bench b({}, 0, 4, kHandler);
  b.arrive(b.p - 50, kData, {5});
  b.go();
  const auto trap = std::find_if(b.seen.records.begin(), b.seen.records.end(), [](const auto& r) { return r.trap; });
  ASSERT_NE(trap, b.seen.records.end());
  EXPECT_EQ(trap->cause, 30u);
  EXPECT_EQ(trap->cycle, b.p);
  EXPECT_EQ(trap->next_pc, kHandler);
}

/// All that went in and came out, told to the window of interval-based tiles in order of time.
PacketWindow model(const Bench& b, std::vector<std::uint8_t>& memory) {
  PacketInputs in;
  in.sram = memory.data();
  in.sram_bytes = kBytes;
  in.table = kTable;
  in.issue = b.p;
  in.xbase = {kData, 0x400, 0};
  in.tile = kTile;
  in.ipu = kIpu;
  PacketWindow window(in);
  std::vector<std::pair<Cycle, Packet>> arrivals;
  std::vector<Word> words;
  Cycle first = 0;
  for (const auto& [cycle, beat] : b.lane.arriving) {
    if (words.empty()) first = cycle;
    words.push_back(beat.first);
    if (!beat.second) continue;
    arrivals.emplace_back(first, Packet::from_words(words));
    words.clear();
  }
  std::size_t next = 0;
  const auto arrive_before = [&](Cycle to) {
    for (; next < arrivals.size() && arrivals[next].first < to; ++next)
      window.deliver(arrivals[next].first, arrivals[next].second);
  };
  for (const Taken& beat : b.lane.taken) {
    if (!beat.first) continue;
    arrive_before(beat.cycle);
    if (window.next_offer()) window.taken(beat.cycle, window.next_packet());
  }
  arrive_before(kNever);
  (void)window.finished(kNever - 1);
  return window;
}

TEST(RtlPacket, RandomWindowsEndAsTheModelOfIntervalBasedTilesSays) {
  unsigned faults = 0, strays = 0, complete = 0, dropped = 0;
  for (unsigned seed = 0; seed < 400 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto pick = [&random](unsigned n) { return static_cast<unsigned>(random() % n); };
    std::vector<Descriptor> table(pick(4));
    unsigned region = 0;
    for (Descriptor& d : table) {
      d.kind = 1 + pick(2);
      d.words = 1 + pick(30);
      d.local_base = 1;
      d.local = region;
      d.remote =
          d.kind == 2 || pick(2) ? host(pick(4), 4 * pick(2000)) : other_tile(pick(9), pick(1216), 4 * pick(2000));
      if (pick(6) == 0) d.kind = 3;
      region += d.words;
    }
    const unsigned incoming = pick(4);
    std::vector<std::pair<Cycle, unsigned>> packets;
    unsigned words = 0;
    for (unsigned n = 0; n < incoming; ++n) {
      packets.emplace_back(pick(2) ? 1 + pick(20) : pick(300), 1 + pick(6));
      words += packets.back().second;
    }
    Bench b(table, words + pick(4) - std::min(words, pick(3)), 4, 0, true);
    b.lane.busy_percent = pick(2) * pick(60);
    b.lane.latency = 5 + pick(200);
    b.lane.whole = true;
    b.lane.seed = seed;
    unsigned place = 0;
    for (const auto& [cycle, count] : packets) {
      const Address to = pick(15) == 0 ? kSramBase + kBytes - 8 : kData + 0xb000 + 4 * place;
      b.arrive(b.p + cycle, to, std::vector<Word>(count, seed + place));
      place += count;
    }
    // A window that waits for ever has no end to compare.
    b.tile->release(b.p, true);
    const Cycle later = 20000;
    const TileStop stop = b.tile->run(b.p + later, nullptr, &b.lane);
    PacketWindow window = model(b, b.memory);
    const bool ends = window.finished(b.p + later);
    if (stop.kind == TileStop::Kind::limit) {
      EXPECT_FALSE(ends);
      continue;
    }
    ASSERT_TRUE(ends);
    const Cycle c = window.completion();
    if (const auto& fault = window.fault()) {
      ++faults;
      SCOPED_TRACE(fmt::format("P {} C {} fault {} at {} tval {:x}", b.p, c, fault->cause, fault->cycle, fault->tval));
      expect_trap(b, c + 6, b.at, fault->cause, fault->tval);
    } else {
      ++complete;
      ASSERT_EQ(stop.kind, TileStop::Kind::sync);
      ASSERT_GE(b.seen.records.size(), 2u);
      EXPECT_EQ(b.seen.records.back().pc, b.at + 4);
      EXPECT_EQ(b.seen.records.back().cycle, c + 6);
      EXPECT_EQ(b.seen.records.back().xval, window.received());
      if (window.stray()) {
        ++strays;
        b.tile->release(b.p + later, true);
        EXPECT_EQ(b.tile->run(b.p + 2 * later, nullptr, &b.lane).kind, TileStop::Kind::exception);
        expect_trap(b, b.p + later, b.at + 12, 30, window.stray()->address);
      }
    }
    dropped += window.fault() && b.lane.last_arrival > c;
    std::vector<std::uint8_t> after(kBytes);
    b.tile->read_memory(kSramBase, after.data(), kBytes);
    const auto differ = std::mismatch(after.begin(), after.end(), b.memory.begin());
    EXPECT_EQ(differ.first, after.end()) << fmt::format("at {:x}, {} P {} C {}",
                                                        kSramBase + (differ.first - after.begin()),
                                                        window.fault() ? "fault" : "complete", b.p, c);
  }
  EXPECT_GT(faults, 50u);
  EXPECT_GT(strays, 10u);
  EXPECT_GT(complete, 50u);
  EXPECT_GT(dropped, 10u);
}

TEST(RtlPacket, NoWindowAfterAnInternalRelease) {
  Bench b({}, 0, 1);
  b.go();
  expect_trap(b, b.p, b.at, 25, 0);
}

}  // namespace
}  // namespace tessera
