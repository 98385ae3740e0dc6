// Exchange tables as intervals: each descriptor kind, bases, start rules and faults of docs/machine/exchange.md.
#include "tlm/tile/exchange_engine.h"

#include <gtest/gtest.h>

#include <cstring>

#include "hw/generated/machine.h"

namespace tessera {
namespace {

constexpr std::uint32_t kBytes = 65536;
constexpr Address kTable = kSramBase + 0x1000;
constexpr Cycle kZ = 1000, kX = 1006;  // first legal start: t = 18

std::uint64_t first_word(unsigned kind, unsigned base, std::uint64_t t, std::uint64_t n, std::uint64_t address,
                         std::uint64_t peer) {
  return kind | base << 2 | t << 4 | n << 22 | (address / 4) << 34 | peer << 52;
}
std::uint64_t block_word(std::int64_t stride1, std::uint64_t count1, std::int64_t stride2, std::uint64_t count2) {
  const auto field = [](std::int64_t v) { return static_cast<std::uint64_t>(v) & 0x7ffff; };
  return field(stride1) | count1 << 19 | field(stride2) << 31 | count2 << 50;
}
std::uint64_t sweep_word(std::uint64_t count, std::int64_t step, std::uint64_t wrap, std::int64_t stride) {
  return count | (static_cast<std::uint64_t>(step) & 0xfff) << 12 | wrap << 24 |
         (static_cast<std::uint64_t>(stride) & 0x7ffff) << 36;
}

struct Tile {
  std::vector<std::uint8_t> sram = std::vector<std::uint8_t>(kBytes);
  ExchangeInputs in;

  ExchangePhase read(const std::vector<std::uint64_t>& sends, const std::vector<std::uint64_t>& receives) {
    std::vector<std::uint64_t> table = {sends.size() | receives.size() << 16 | std::uint64_t{77} << 32};
    table.insert(table.end(), sends.begin(), sends.end());
    table.insert(table.end(), receives.begin(), receives.end());
    std::memcpy(sram.data() + (kTable - kSramBase), table.data(), 8 * table.size());
    in.sram = sram.data();
    in.sram_bytes = kBytes;
    in.table = kTable;
    in.issue = kX;
    in.release = kZ;
    in.tiles = 16;
    return read_exchange_table(in);
  }
};

TEST(ExchangeEngine, LinearSendsAndReceives) {
  Tile tile;
  tile.in.xbase = {kSramBase + 0x2000, 0, 0};
  tile.in.xsource = 5;
  const auto phase = tile.read({first_word(0, 0, 18, 3, 0x100, 1)},
                               {first_word(0, 1, 30, 0, 0x40, 7), first_word(0, 0, 30 + 4096, 1, 0x200, 0xfff)});
  EXPECT_EQ(phase.length, 77u);
  ASSERT_EQ(phase.sends.size(), 1u);
  EXPECT_EQ(phase.sends[0].start, kZ + 18);
  EXPECT_EQ(phase.sends[0].words, 3u);
  EXPECT_EQ(phase.sends[0].address, kSramBase + 0x100);
  EXPECT_EQ(phase.sends[0].descriptor, kTable + 8);
  EXPECT_TRUE(phase.sends[0].may_be_unheard);
  ASSERT_EQ(phase.receives.size(), 2u);
  EXPECT_EQ(phase.receives[0].words, 4096u) << "n = 0";
  EXPECT_EQ(phase.receives[0].address, kSramBase + 0x2040) << "base 1";
  EXPECT_EQ(phase.receives[0].source, 7u);
  EXPECT_EQ(phase.receives[1].source, 5u) << "peer 0xFFF is xsource";
  EXPECT_FALSE(phase.send_fault || phase.receive_fault);
}

TEST(ExchangeEngine, BlockIsOneWordACycleWithoutAGap) {
  Tile tile;
  const auto phase = tile.read({first_word(1, 0, 20, 2, 0x400, 0), block_word(4, 3, -16, 2)}, {});
  ASSERT_EQ(phase.sends.size(), 6u);
  const Address expected[] = {0x400, 0x410, 0x420, 0x3c0, 0x3d0, 0x3e0};
  for (unsigned k = 0; k < 6; ++k) {
    EXPECT_EQ(phase.sends[k].start, kZ + 20 + 2 * k);
    EXPECT_EQ(phase.sends[k].words, 2u);
    EXPECT_EQ(phase.sends[k].address, kSramBase + expected[k]);
  }
  // Pieces that touch are one run.
  EXPECT_EQ(tile.read({first_word(1, 0, 20, 2, 0x400, 0), block_word(2, 8, 16, 4)}, {}).sends.size(), 1u);
}

TEST(ExchangeEngine, SweepChangesItsSourceByStepModuloWrap) {
  Tile tile;
  const auto phase = tile.read({}, {first_word(2, 0, 20, 1, 0x400, 14), sweep_word(4, 3, 16, 2)});
  ASSERT_EQ(phase.receives.size(), 4u);
  const unsigned sources[] = {14, 1, 4, 7};
  for (unsigned k = 0; k < 4; ++k) {
    EXPECT_EQ(phase.receives[k].source, sources[k]);
    EXPECT_EQ(phase.receives[k].start, kZ + 20 + k);
    EXPECT_EQ(phase.receives[k].address, kSramBase + 0x400 + 8 * k);
  }
  const auto down = tile.read({}, {first_word(2, 0, 20, 1, 0x400, 1), sweep_word(3, -2, 10, 1)});
  ASSERT_EQ(down.receives.size(), 3u);
  EXPECT_EQ(down.receives[1].source, 9u);
}

TEST(ExchangeEngine, CountZeroMovesNothing) {
  Tile tile;
  const auto phase = tile.read({first_word(1, 0, 20, 2, 0x400, 0), block_word(4, 0, 4, 5)},
                               {first_word(2, 0, 20, 2, 0x400, 0), sweep_word(0, 1, 0, 1)});
  EXPECT_TRUE(phase.sends.empty() && phase.receives.empty());
  EXPECT_FALSE(phase.send_fault || phase.receive_fault);
}

void expect_fault(const std::optional<ExchangeResult::Fault>& fault, std::uint32_t cause, Cycle cycle,
                  Address descriptor) {
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->cause, cause);
  EXPECT_EQ(fault->cycle, cycle);
  EXPECT_EQ(fault->descriptor, descriptor);
}

TEST(ExchangeEngine, OverrunRules) {
  Tile tile;
  expect_fault(tile.read({first_word(0, 0, 17, 1, 0, 0)}, {}).send_fault, 28, kZ + 17, kTable + 8);
  EXPECT_FALSE(tile.read({first_word(0, 0, 18, 1, 0, 0)}, {}).send_fault);
  // The next start: two cycles, four before a two-word descriptor, and not before the end of the one before.
  const auto close = tile.read({first_word(0, 0, 18, 1, 0, 0), first_word(0, 0, 19, 1, 0, 0)}, {});
  expect_fault(close.send_fault, 28, kZ + 19, kTable + 16);
  EXPECT_EQ(close.sends.size(), 1u) << "the descriptor before is completed";
  EXPECT_FALSE(tile.read({first_word(0, 0, 18, 1, 0, 0), first_word(0, 0, 20, 1, 0, 0)}, {}).send_fault);
  const std::uint64_t second = block_word(1, 1, 1, 1);
  expect_fault(tile.read({first_word(0, 0, 18, 1, 0, 0), first_word(1, 0, 21, 1, 0, 0), second}, {}).send_fault, 28,
               kZ + 21, kTable + 16);
  EXPECT_FALSE(tile.read({first_word(0, 0, 18, 1, 0, 0), first_word(1, 0, 22, 1, 0, 0), second}, {}).send_fault);
  expect_fault(tile.read({first_word(0, 0, 18, 9, 0, 0), first_word(0, 0, 26, 1, 0, 0)}, {}).send_fault, 28, kZ + 26,
               kTable + 16);
  EXPECT_FALSE(tile.read({first_word(0, 0, 18, 9, 0, 0), first_word(0, 0, 27, 1, 0, 0)}, {}).send_fault);
}

TEST(ExchangeEngine, BadDescriptors) {
  Tile tile;
  expect_fault(tile.read({first_word(3, 0, 20, 1, 0, 0)}, {}).send_fault, 29, kZ + 20, kTable + 8);
  expect_fault(tile.read({first_word(2, 0, 20, 1, 0, 0), 0}, {}).send_fault, 29, kZ + 20, kTable + 8);
  expect_fault(tile.read({first_word(1, 0, 20, 1, 0, 0)}, {}).send_fault, 29, kZ + 20, kTable + 8);
  expect_fault(tile.read({}, {first_word(0, 0, 20, 4, 0, 16)}).receive_fault, 29, kZ + 20, kTable + 8);
  // An address outside is found at its word; the words before it move.
  const auto outside = tile.read({first_word(0, 0, 20, 4, kBytes - 8, 0)}, {});
  expect_fault(outside.send_fault, 29, kZ + 22, kTable + 8);
  ASSERT_EQ(outside.sends.size(), 1u);
  EXPECT_EQ(outside.sends[0].words, 2u);
  // So is a source that is no tile.
  const auto source = tile.read({}, {first_word(2, 0, 20, 2, 0x400, 14), sweep_word(4, 1, 0, 2)});
  expect_fault(source.receive_fault, 29, kZ + 24, kTable + 8);
  EXPECT_EQ(source.receives.size(), 2u);
  tile.in.xbase = {kSramBase + 2, 0, 0};
  expect_fault(tile.read({first_word(0, 1, 20, 1, 0, 0)}, {}).send_fault, 29, kZ + 20, kTable + 8);
}

TEST(ExchangeEngine, ListsBeyondTheSramMoveNothing) {
  Tile tile;
  tile.in.table = kSramBase + kBytes - 16;
  tile.in.sram = tile.sram.data();
  tile.in.sram_bytes = kBytes;
  tile.in.issue = kX;
  tile.in.release = kZ;
  tile.sram[kBytes - 16] = 2;  // two sends, one of which would lie outside
  const auto phase = read_exchange_table(tile.in);
  EXPECT_TRUE(phase.sends.empty());
  expect_fault(phase.receive_fault, 29, kX + 12, kSramBase + kBytes - 16);
}

TEST(ExchangeEngine, TheEarlierFaultCountsReceiveBeforeSend) {
  const ExchangeResult::Fault send{28, 50, 1}, receive{27, 50, 2}, late{27, 51, 3};
  EXPECT_EQ(first_fault(send, receive)->descriptor, 2u);
  EXPECT_EQ(first_fault(send, late)->descriptor, 1u);
  EXPECT_EQ(first_fault(std::nullopt, late)->descriptor, 3u);
  EXPECT_FALSE(first_fault(std::nullopt, std::nullopt).has_value());
}

}  // namespace
}  // namespace tessera
