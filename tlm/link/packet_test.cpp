// Windows and lanes: exact cycles of the tile's side, of arbitration and of answers.
#include <gtest/gtest.h>

#include <cstring>

#include "tlm/link/crossbar.h"
#include "tlm/link/packet_window.h"

namespace tessera {
namespace {

/// A host block with one buffer of words that answers reads `delay` cycles later and notes what is written.
struct FakeHost : PacketHost {
  std::optional<Cycle> read(Cycle at, const Packet& request, std::vector<Word>& words) override {
    arrivals.push_back(at);
    const auto from = static_cast<unsigned>(PacketRemote::unpack(request.remote).offset / 4);
    if (from + request.words > buffer.size()) return std::nullopt;
    words.assign(buffer.begin() + from, buffer.begin() + from + request.words);
    return at + delay;
  }
  bool write(Cycle at, const Packet& packet) override {
    arrivals.push_back(at);
    const auto to = static_cast<unsigned>(PacketRemote::unpack(packet.remote).offset / 4);
    std::copy(packet.payload.begin(), packet.payload.end(), buffer.begin() + to);
    return true;
  }
  Cycle delay = 1000;
  std::vector<Word> buffer = std::vector<Word>(1024);
  std::vector<Cycle> arrivals;
};

struct Tile {
  explicit Tile(const std::vector<std::uint64_t>& table_words) : sram(65536) {
    std::memcpy(sram.data() + 0x100, table_words.data(), 8 * table_words.size());
  }
  PacketWindow open(Cycle issue) {
    PacketInputs in;
    in.sram = sram.data();
    in.sram_bytes = static_cast<std::uint32_t>(sram.size());
    in.table = kSramBase + 0x100;
    in.issue = issue;
    in.xbase = {kSramBase + 0x2000, 64, 0};
    return PacketWindow(in);
  }
  Word word(std::uint32_t offset) const {
    Word w = 0;
    std::memcpy(&w, sram.data() + offset, 4);
    return w;
  }
  std::vector<std::uint8_t> sram;
};

std::uint64_t descriptor(unsigned kind, unsigned words, unsigned local_words, unsigned local_base = 0,
                         unsigned remote_base = 0) {
  return PacketDescriptor{kind, local_base, remote_base, words, local_words}.pack();
}
std::uint64_t host(unsigned buffer, std::uint64_t offset) {
  return PacketRemote{offset, 0, buffer, kRemoteHost}.pack();
}

void taken(PacketWindow& w, Cycle first) { w.taken(first, w.next_packet()); }

TEST(PacketWindow, CutsAtOneKibAndOffersInExactCycles) {
  // 300 words from remote offset 1000: pieces of 6, 256, 38 words.
  Tile tile({PacketHeader{1, 0}.pack(), descriptor(kPacketWrite, 300, 0x400), host(3, 1000)});
  PacketWindow w = tile.open(50);
  EXPECT_EQ(w.next_offer(), std::optional<Cycle>(62));
  EXPECT_EQ(w.next_packet().words, 6u);
  taken(w, 62);  // 10 words: 62..71
  EXPECT_EQ(w.next_offer(), std::optional<Cycle>(71 + 8));
  EXPECT_EQ(w.next_packet().words, 256u);
  EXPECT_EQ(PacketRemote::unpack(w.next_packet().remote).offset, 1024u);
  EXPECT_EQ(w.next_packet().local, 0x1000u + 24);
  taken(w, 100);
  EXPECT_EQ(w.next_packet().words, 38u);
  taken(w, *w.next_offer());
  EXPECT_TRUE(w.finished(kNever));
  EXPECT_EQ(w.completion(), 100u + 259 + 8 + 41);
  EXPECT_EQ(w.traffic().sent.size(), 300u + 12);
  EXPECT_TRUE(w.traffic().sent[0].first);
  EXPECT_TRUE(w.traffic().sent[9].last);
}

TEST(PacketWindow, EmptyTableIsCompleteAfterTwelveCycles) {
  Tile tile({PacketHeader{0, 0}.pack()});
  PacketWindow w = tile.open(50);
  EXPECT_TRUE(w.finished(kNever));
  EXPECT_EQ(w.completion(), 62u);
}

TEST(PacketWindow, BadDescriptorEndsItInTheCycleOfItsOffer) {
  Tile tile({PacketHeader{2, 0}.pack(), descriptor(kPacketWrite, 1, 0), host(0, 0), descriptor(0, 1, 0), host(0, 0)});
  PacketWindow w = tile.open(0);
  taken(w, 12);
  ASSERT_TRUE(w.fault());
  EXPECT_EQ(w.fault()->cause, 29u);
  EXPECT_EQ(w.fault()->tval, kSramBase + 0x100 + 8 + 16);
  EXPECT_EQ(w.completion(), 12u + 4 + 8);
}

TEST(PacketWindow, WriteBeyondExpectedWordsFaults) {
  Tile tile({PacketHeader{0, 1}.pack()});
  PacketWindow w = tile.open(0);
  EXPECT_FALSE(w.finished(kNever));
  Packet p;
  p.words = 2;
  p.remote = 0x800;
  p.payload = {7, 8};
  EXPECT_FALSE(w.deliver(100, p));
  EXPECT_EQ(tile.word(0x800), 7u);
  EXPECT_EQ(tile.word(0x804), 0u);
  // All was there with the first word: the second comes to a closed window.
  ASSERT_TRUE(w.finished(106));
  EXPECT_FALSE(w.fault());
  EXPECT_EQ(w.completion(), 104u);
  ASSERT_TRUE(w.stray());
  EXPECT_EQ(w.stray()->address, kSramBase + 0x804);
}

LaneTiming timing(unsigned tiles, unsigned column) { return {tiles, column, 2, 1, 20, 4}; }

/// Lanes and what lies beyond them, without links, moved on in steps of a lane's latency.
struct Chip {
  Chip(const LaneTiming& t, PacketHost* host) : lanes(t), crossbar(0, lanes, nullptr) {
    crossbar.host = host;
    crossbar.refuse = [this](const PacketRefusal& r) { refused = r; };
  }
  void advance(Cycle limit) {
    for (Cycle c = 0; c < limit; c += lanes.lookahead()) {
      lanes.advance(c + lanes.lookahead());
      crossbar.collect();
      crossbar.run(c + lanes.lookahead() - 1);
    }
  }
  PacketLanes lanes;
  Crossbar crossbar;
  std::optional<PacketRefusal> refused;
};
constexpr Cycle kLong = 4000;

TEST(PacketLanes, ReadGoesUpAndComesBackInExactCycles) {
  FakeHost block;
  for (unsigned i = 0; i < 1024; ++i) block.buffer[i] = 5000 + i;
  Chip chip(timing(4, 4), &block);
  Tile tile({PacketHeader{1, 0}.pack(), descriptor(kPacketRead, 8, 0x10, 1), host(0, 40)});
  PacketWindow w = tile.open(0);
  chip.lanes.take(0, 12, w.next_packet());  // words 12..15, waiting from 16
  taken(w, 12);
  EXPECT_EQ(chip.lanes.next_event(), 16u);
  chip.advance(kLong);
  ASSERT_EQ(block.arrivals.size(), 1u);
  EXPECT_EQ(block.arrivals[0], 16u + 4 + 20);
  const auto delivery = chip.lanes.take_delivery(0);
  ASSERT_TRUE(delivery);
  EXPECT_EQ(delivery->first, 40u + 1000 + 20);
  EXPECT_TRUE(w.deliver(delivery->first, delivery->packet));
  EXPECT_TRUE(w.finished(kNever));
  EXPECT_EQ(w.completion(), 1060u + 11);
  for (unsigned k = 0; k < 8; ++k) EXPECT_EQ(tile.word(0x2000 + 0x40 + 4 * k), 5010u + k);
}

TEST(PacketLanes, RoundRobinFromTheLastGrant) {
  FakeHost block;
  Chip chip(timing(8, 8), &block);  // tiles 0..3 on lane 0
  Packet p;
  p.words = 6;
  p.payload.assign(6, 1);
  const auto send = [&](unsigned tile, Cycle first) {
    p.tile = tile;
    p.remote = host(0, 4 * tile);
    chip.lanes.take(tile, first, p);
  };
  // Tile 2 first; then 3, 0 and 1 wait together: 3 is next, then 0, then 1.
  send(2, 10);
  send(0, 12);
  send(1, 12);
  send(3, 12);
  chip.advance(kLong);
  EXPECT_EQ(block.arrivals, (std::vector<Cycle>{20 + 10 + 20, 30 + 10 + 20, 40 + 10 + 20, 50 + 10 + 20}));
  EXPECT_EQ(chip.crossbar.last_served(), 80u);
  EXPECT_EQ(chip.lanes.packets(), 4u);
}

TEST(PacketLanes, FullBufferRefusesUntilAPacketHasLeftTheLane) {
  FakeHost block;
  Chip chip(timing(2, 2), &block);
  PacketPort& port = chip.lanes.port(0);
  Cycle c = 0;
  for (unsigned packet = 0; packet < 4; ++packet)
    for (unsigned k = 0; k < 5; ++k, ++c)
      ASSERT_TRUE(port.send(c, k == 0 ? 1u | 1u << 2 : k == 2 ? 2u << 28 : 0, k == 0, k == 4));
  EXPECT_FALSE(port.send(c, 1u | 1u << 2, true, false));  // four wait, none is through
  chip.advance(c);
  // The first began at 5 and is at the end of the lane at 5 + 5 + 20.
  for (; c < 30; ++c) EXPECT_FALSE(port.send(c, 1u | 1u << 2, true, false)) << c;
  EXPECT_TRUE(port.send(30, 1u | 1u << 2, true, false));
}

TEST(PacketLanes, PinsGetTheSameWordsAsBlocks) {
  FakeHost block;
  block.buffer[0] = 77;
  Chip chip(timing(2, 2), &block);
  PacketPort& port = chip.lanes.port(1);
  Packet request;
  request.kind = Packet::Kind::read_request;
  request.words = 1;
  request.tile = 1;
  request.remote = host(0, 0);
  request.local = 0x123c;
  for (unsigned k = 0; k < 4; ++k) ASSERT_TRUE(port.send(12 + k, request.lane_word(k), k == 0, k == 3));
  chip.advance(2000);
  const Cycle first = 16 + 4 + 20 + 1000 + 20;
  EXPECT_FALSE(port.receive(first - 1));
  EXPECT_EQ(port.receive(first)->first & 3, 3u);
  port.receive(first + 1);
  port.receive(first + 2);
  EXPECT_EQ(port.receive(first + 3)->first, 0x123cu);
  const auto last = port.receive(first + 4);
  EXPECT_EQ(last->first, 77u);
  EXPECT_TRUE(last->second);
  EXPECT_FALSE(port.receive(first + 5));
}

TEST(PacketLanes, RefusedAccessIsRemembered) {
  FakeHost block;
  block.buffer.resize(4);
  Chip chip(timing(1, 1), &block);
  Packet request;
  request.kind = Packet::Kind::read_request;
  request.words = 8;
  request.remote = host(0, 0);
  chip.lanes.take(0, 10, request);
  chip.advance(kLong);
  ASSERT_TRUE(chip.refused);
  EXPECT_EQ(chip.refused->cycle, 14u + 4 + 20);
}

}  // namespace
}  // namespace tessera
