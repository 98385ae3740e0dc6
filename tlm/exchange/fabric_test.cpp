// Exact times of the fabric, and the block fabric against a word-by-word one.
#include "tlm/exchange/fabric.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <memory>

#include "tlm/exchange/fake_tile.h"

namespace tessera {
namespace {

using testing::FakeTile;

constexpr Address kBase = 0x40000;

FabricTiming timing(unsigned tiles) {
  FabricTiming t;
  t.base = 20;
  for (unsigned i = 0; i < tiles; ++i) t.send.push_back(2 * (i % 3)), t.receive.push_back(i % 2);
  return t;
}

struct Bench {
  explicit Bench(unsigned tiles) : fabric(timing(tiles)) {
    TileConfig config;
    config.sram_bytes = 4096;
    config.tiles = tiles;
    for (unsigned i = 0; i < tiles; ++i) {
      config.tile = i;
      tile.push_back(std::make_unique<FakeTile>(config));
      for (unsigned w = 0; w < 1024; ++w) {
        const std::uint32_t value = i * 0x10000 + w;
        std::memcpy(tile[i]->sram() + 4 * w, &value, 4);
      }
    }
    fabric.begin_phase();
  }
  Fabric fabric;
  std::vector<std::unique_ptr<FakeTile>> tile;
};

TEST(Fabric, WordStandsAtReceiverAfterItsDelay) {
  Bench b(4);
  const Cycle delay = 20 + 2 * 2 + 1;  // S(2) = 4, R(3) = 1
  b.fabric.publish(2, *b.tile[2], 100, {{{112, 5, kBase + 40, 0, false}}, {}, {}, {}, 0});
  b.fabric.publish(3, *b.tile[3], 90, {{}, {{112 + delay, 5, kBase + 400, 0, 2}}, {}, {}, 0});
  const auto outcomes = b.fabric.resolve();
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_EQ(outcomes[0].result.last_word, 116u);
  EXPECT_EQ(outcomes[1].result.last_word, 116 + delay);
  EXPECT_FALSE(outcomes[1].result.fault);
  for (unsigned k = 0; k < 5; ++k) EXPECT_EQ(b.tile[3]->word(kBase + 400 + 4 * k), 0x20000u + 10 + k);
  EXPECT_EQ(b.tile[3]->bytes_written, 20u);
  EXPECT_TRUE(b.fabric.unheard().empty());
}

TEST(Fabric, DescriptorOneCycleLateIsAnUnderrunAtTheExactCycle) {
  Bench b(2);
  const Cycle delay = b.fabric.timing().delay(0, 1);
  b.fabric.publish(0, *b.tile[0], 0, {{{50, 8, kBase, 0, false}}, {}, {}, {}, 0});
  b.fabric.publish(1, *b.tile[1], 0, {{}, {{50 + delay + 1, 8, kBase + 800, 0x40900, 0}}, {}, {}, 0});
  const auto outcomes = b.fabric.resolve();
  ASSERT_TRUE(outcomes[1].result.fault);
  EXPECT_EQ(outcomes[1].result.fault->cause, 27u);
  EXPECT_EQ(outcomes[1].result.fault->cycle, 50 + delay + 8);
  EXPECT_EQ(outcomes[1].result.fault->descriptor, 0x40900u);
  EXPECT_EQ(outcomes[1].result.last_word, 50 + delay + 8);  // the cycle of the fault counts
  EXPECT_EQ(b.tile[1]->word(kBase + 800), 1u);              // the first word was missed
  EXPECT_EQ(b.tile[1]->word(kBase + 828), 0x100cfu);        // the last was not written
  ASSERT_EQ(b.fabric.unheard().size(), 1u);
  EXPECT_EQ(b.fabric.unheard()[0].words, 1u);
}

TEST(Fabric, ListeningToASilentTileFaultsInTheFirstCycle) {
  Bench b(2);
  b.fabric.publish(1, *b.tile[1], 10, {{}, {{70, 3, kBase, 0x40800, 0}}, {}, {}, 0});
  const auto outcomes = b.fabric.resolve();
  ASSERT_TRUE(outcomes[0].result.fault);
  EXPECT_EQ(outcomes[0].result.fault->cycle, 70u);
  EXPECT_EQ(outcomes[0].result.last_word, 70u);
  EXPECT_EQ(b.tile[1]->bytes_written, 0u);
}

TEST(Fabric, PinLevelAndIntervalTilesHearEachOther) {
  Bench b(3);
  const Cycle from0 = b.fabric.timing().delay(0, 2), to1 = b.fabric.timing().delay(2, 1);
  b.fabric.publish(0, *b.tile[0], 0, {{{20, 4, kBase + 16, 0, false}}, {}, {}, {}, 0});
  ExchangePort& pins = b.fabric.port(2);
  EXPECT_FALSE(pins.receive(20 + from0 - 1, 0));
  for (unsigned k = 0; k < 4; ++k) EXPECT_EQ(pins.receive(20 + from0 + k, 0), std::optional<Word>(4 + k));
  EXPECT_FALSE(pins.receive(20 + from0 + 4, 0));
  for (unsigned k = 0; k < 6; ++k) pins.send(60 + k, 700 + k);
  b.fabric.commit();
  EXPECT_TRUE(b.fabric.unheard().empty());
  b.fabric.publish(1, *b.tile[1], 0, {{}, {{61 + to1, 4, kBase, 0, 2}}, {}, {}, 0});
  EXPECT_EQ(b.fabric.last_listening(), 64 + to1);
  const auto outcomes = b.fabric.resolve();
  EXPECT_FALSE(outcomes[1].result.fault);
  for (unsigned k = 0; k < 4; ++k) EXPECT_EQ(b.tile[1]->word(kBase + 4 * k), 701 + k);
}

/// In [from, to), whatever the size of the case.
template <typename T>
T pick(T from, T to) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(from, to));
}

/// A fabric as the rule reads: each word of each cycle on its own.
struct Naive {
  std::map<std::pair<unsigned, Cycle>, Word> wire;
  void send(unsigned id, FakeTile& tile, const ExchangePhase& phase) {
    for (const SendRun& run : phase.sends)
      for (unsigned k = 0; k < run.words; ++k) wire[{id, run.start + k}] = tile.word(run.address + 4 * k);
  }
  ExchangeResult receive(unsigned id, FakeTile& tile, const ExchangePhase& phase, Cycle issue, const FabricTiming& t) {
    ExchangeResult result;
    result.last_word = issue;
    for (const SendRun& run : phase.sends) result.last_word = run.start + run.words - 1;
    for (const ReceiveRun& run : phase.receives)
      for (unsigned k = 0; k < run.words; ++k) {
        const Cycle c = run.start + k;
        const Cycle delay = t.base + t.send[run.source] + t.receive[id];
        const auto at = wire.find({run.source, c - delay});
        if (at == wire.end()) {
          result.fault = ExchangeResult::Fault{27, c, run.descriptor};
          result.last_word = std::max(result.last_word, c);  // no trap before the fault
          return result;
        }
        std::memcpy(tile.sram() + (run.address - kBase) + 4 * k, &at->second, 4);
        result.last_word = std::max(result.last_word, c);
      }
    return result;
  }
};

/// Random phases in which most receives match: words are sent from the lower half of the SRAM, received in the upper.
std::vector<ExchangePhase> random_phases(unsigned tiles, const FabricTiming& t) {
  std::vector<ExchangePhase> phases(tiles);
  for (unsigned id = 0; id < tiles; ++id) {
    Cycle now = 12;
    for (int i = pick(0, 5); i > 0; --i) {
      now += static_cast<Cycle>(pick(0, 4));
      const auto words = static_cast<std::uint32_t>(pick(1, 20));
      const auto from = static_cast<Address>(pick(0, 480));
      phases[id].sends.push_back({now, words, kBase + 4 * from, 0, false});
      now += words;
    }
  }
  for (unsigned id = 0; id < tiles; ++id) {
    Cycle now = 0;
    Address to = kBase + 2048;
    for (int i = pick(0, 5); i > 0; --i) {
      const auto source = static_cast<unsigned>(pick(0u, tiles));
      const auto& sends = phases[source].sends;
      if (sends.empty()) continue;
      const auto& run = sends[pick<std::size_t>(0, sends.size())];
      const Cycle wanted = run.start + t.delay(source, id) + static_cast<Cycle>(pick(0, 3));
      if (wanted < now) continue;
      const auto words = static_cast<std::uint32_t>(pick<std::uint32_t>(1, run.words + 2));
      phases[id].receives.push_back({wanted, words, to, 0x40100u + static_cast<Address>(8 * i), source});
      to += 4 * words;
      now = wanted + words;
    }
  }
  return phases;
}

TEST(Fabric, BlocksEqualWordByWord) {
  std::uint64_t words = 0, faults = 0;
  const bool ok = rc::check("block fabric equals word-by-word fabric", [&] {
    const auto tiles = static_cast<unsigned>(pick(1, 7));
    Bench blocks(tiles), naive(tiles);
    const auto phases = random_phases(tiles, blocks.fabric.timing());
    Naive wires;
    for (unsigned id = 0; id < tiles; ++id) {
      wires.send(id, *naive.tile[id], phases[id]);
      blocks.fabric.publish(id, *blocks.tile[id], 0, phases[id]);
    }
    const auto outcomes = blocks.fabric.resolve();
    RC_ASSERT(outcomes.size() == tiles);
    for (unsigned id = 0; id < tiles; ++id) {
      const ExchangeResult expected = wires.receive(id, *naive.tile[id], phases[id], 0, blocks.fabric.timing());
      RC_ASSERT(outcomes[id].result.last_word == expected.last_word);
      RC_ASSERT(outcomes[id].result.fault.has_value() == expected.fault.has_value());
      if (expected.fault) {
        ++faults;
        RC_ASSERT(outcomes[id].result.fault->cycle == expected.fault->cycle);
        RC_ASSERT(outcomes[id].result.fault->descriptor == expected.fault->descriptor);
      }
      RC_ASSERT(blocks.tile[id]->memory == naive.tile[id]->memory);
    }
    words += blocks.fabric.counters().words_received;
  });
  EXPECT_TRUE(ok);
  EXPECT_GT(words, 1000u);
  EXPECT_GT(faults, 10u);
}

/// Tables in memory, published as the chip does; the same phase again and again.
struct Replay : Bench {
  Replay() : Bench(3) {}
  void table(unsigned id, const std::vector<std::uint64_t>& sends, const std::vector<std::uint64_t>& receives) {
    std::vector<std::uint64_t> all{sends.size() | receives.size() << 16};
    all.insert(all.end(), sends.begin(), sends.end());
    all.insert(all.end(), receives.begin(), receives.end());
    std::memcpy(tile[id]->sram() + 0x800, all.data(), 8 * all.size());
  }
  std::vector<PhaseOutcome> phase(Cycle release, Cycle issue = 6) {
    fabric.begin_phase();
    for (unsigned id = 0; id < 3; ++id) {
      ExchangeInputs in;
      in.sram = tile[id]->sram();
      in.sram_bytes = 4096;
      in.table = kBase + 0x800;
      in.issue = release + issue;
      in.release = release;
      in.tiles = 3;
      fabric.publish(id, *tile[id], in);
    }
    return fabric.resolve();
  }
  static std::uint64_t linear(Cycle t, unsigned words, unsigned at, unsigned peer) {
    return (t << 4) | (std::uint64_t{words} << 22) | (std::uint64_t{at} << 34) | (std::uint64_t{peer} << 52);
  }
};

TEST(Fabric, PhaseIsReplayedUntilATableChanges) {
  Replay b;
  const Cycle to1 = b.fabric.timing().delay(0, 1), to2 = b.fabric.timing().delay(0, 2);
  b.table(0, {b.linear(30, 4, 100, 0)}, {});
  b.table(1, {b.linear(40, 2, 0, 0)}, {b.linear(30 + to1, 4, 200, 0)});
  b.table(2, {}, {b.linear(30 + to2, 2, 300, 0)});
  for (unsigned round = 0; round < 5; ++round) {
    const std::uint32_t value = 1000 + round;
    std::memcpy(b.tile[0]->sram() + 400, &value, 4);
    const Cycle z = 1000 * (round + 1);
    const auto outcomes = b.phase(z, round == 4 ? 18 : 6);
    ASSERT_EQ(outcomes.size(), 3u);
    EXPECT_EQ(outcomes[0].result.last_word, z + 33);
    EXPECT_EQ(outcomes[1].result.last_word, z + 33 + to1);
    EXPECT_EQ(outcomes[2].first_word, z + 30 + to2);
    EXPECT_EQ(b.tile[1]->word(kBase + 800), value);
    EXPECT_EQ(b.tile[2]->word(kBase + 1200), value);
    EXPECT_EQ(b.fabric.counters().words_sent, 6u * (round + 1));
    EXPECT_EQ(b.fabric.counters().words_received, 6u * (round + 1));
    ASSERT_EQ(b.fabric.unheard().size(), 1u) << round;
    EXPECT_EQ(b.fabric.unheard()[0].tile, 1u);
  }
  // Kept at first sight, then replayed three times; a later x.exchange is matched anew, as it could break a start rule.
  EXPECT_EQ(b.fabric.counters().replayed, 3u);
  b.table(2, {}, {b.linear(31 + to2, 4, 300, 0)});  // one cycle late: its last word never comes
  EXPECT_TRUE(b.phase(9000)[2].result.fault);
  EXPECT_TRUE(b.phase(9500)[2].result.fault);
  EXPECT_EQ(b.fabric.counters().replayed, 3u);
}

}  // namespace
}  // namespace tessera
