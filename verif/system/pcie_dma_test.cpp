// The chip's DMA engine as software sees it: every size and alignment, errors, order, rate, sharing of the link.
#include <algorithm>
#include <cstring>

#include "verif/system/pcie_bench.h"

namespace tessera {
namespace {

using namespace testing;
using namespace pcie;
namespace chip = reg::chip;

std::uint8_t pattern(std::uint64_t i) { return static_cast<std::uint8_t>(i * 7 + i / 251 + 1); }

TEST(Dma, EverySizeAndAlignmentBothWaysLeavesItsNeighboursAlone) {
  ReadyBus b(small_platform(2));
  constexpr unsigned kGuard = 16, kArea = 128;
  constexpr std::uint64_t kTile = 0x2000, kHost = PlainMemory::kBase + 0x4000 - 0x40;  // pages end within
  std::uint64_t compared = 0;
  for (const bool to_host : {false, true})
    for (unsigned size = 1; size <= 67; ++size)
      for (unsigned h = 0; h < 8; ++h)
        for (unsigned t = 0; t < 8; ++t) {
          auto* host = b.memory.bytes.data() + (kHost - PlainMemory::kBase);
          std::vector<std::uint8_t> tile(kArea);
          for (unsigned i = 0; i < kArea; ++i)
            host[i] = pattern(i + size), tile[i] = static_cast<std::uint8_t>(~pattern(i));
          b.poke(0, kTile, tile);
          std::vector<std::uint8_t> want_host(host, host + kArea), want_tile = tile;
          if (to_host)
            std::copy_n(tile.begin() + kGuard + t, size, want_host.begin() + kGuard + h);
          else
            std::copy_n(host + kGuard + h, size, want_tile.begin() + kGuard + t);
          b.start_dma(0, to_host, kHost + kGuard + h, kTile + kGuard + t, size);
          ASSERT_TRUE(b.dma_ended(0));
          ASSERT_EQ(std::vector<std::uint8_t>(host, host + kArea), want_host) << to_host << size << h << t;
          ASSERT_EQ(b.peek(0, kTile, kArea), want_tile) << to_host << size << h << t;
          compared += 2 * kArea;
        }
  EXPECT_EQ(compared, 2u * 67 * 64 * 2 * kArea);
}

TEST(Dma, StatusIsBusyUntilTheLastByteIsThere) {
  ReadyBus b(small_platform(4));
  constexpr std::uint32_t kBytes = 250'000;  // over all tiles, pages and payloads
  for (std::uint32_t i = 0; i < kBytes; ++i) b.memory.bytes[i + 3] = pattern(i);
  b.start_dma(0, false, PlainMemory::kBase + 3, 5, kBytes);
  std::uint32_t status = 0;
  unsigned polls = 0;
  while (chip::kDmaStatusBusy.get(status = b.dma_status(0)) != 0) {
    ++polls;
    // What counts as moved is there.
    const std::uint32_t moved = b.word(b.reg(0, chip::kDmaMoved));
    const auto tile = b.peek(0, 5, 60'000);
    for (std::uint32_t i = 0; i < std::min<std::uint32_t>(moved, 60'000); ++i) ASSERT_EQ(tile[i], pattern(i)) << i;
  }
  EXPECT_GE(polls, 2u);
  EXPECT_EQ(status, chip::kDmaStatusDone.mask());
  EXPECT_EQ(b.word(b.reg(0, chip::kDmaMoved)), kBytes);
  b.start_dma(0, true, PlainMemory::kBase + 300'001, 5, kBytes);
  b.word(b.reg(0, chip::kDmaGo), 1);  // too early: lost, and said so
  while (chip::kDmaStatusBusy.get(status = b.dma_status(0)) != 0) {
  }
  EXPECT_EQ(status, chip::kDmaStatusDone.mask() | chip::kDmaStatusOverrun.mask());
  for (std::uint32_t i = 0; i < kBytes; ++i) ASSERT_EQ(b.memory.bytes[300'001 + i], pattern(i)) << i;
  EXPECT_EQ(b.memory.bytes[300'000], 0);
  EXPECT_EQ(b.memory.bytes[300'001 + kBytes], 0);
  b.word(b.reg(0, chip::kDmaStatus), ~0u);
  EXPECT_EQ(b.dma_status(0), 0u);
}

TEST(Dma, ListOfDescriptorsIsWalked) {
  ReadyBus b(small_platform(4));
  constexpr std::uint32_t kCount = 300;  // the list itself crosses a page
  std::uint8_t* list = b.memory.bytes.data() + 0x80000;
  for (std::uint32_t d = 0; d < kCount; ++d) {
    const std::uint64_t host = PlainMemory::kBase + 0x1000 + 37 * d, tile = 1 + 61 * d;
    const std::uint32_t bytes = d % 38, control = 0;
    std::memcpy(list + 24 * d + dma_descriptor::host_address, &host, 8);
    std::memcpy(list + 24 * d + dma_descriptor::tile_offset, &tile, 8);
    std::memcpy(list + 24 * d + dma_descriptor::length, &bytes, 4);
    std::memcpy(list + 24 * d + dma_descriptor::control, &control, 4);
  }
  for (unsigned i = 0; i < 0x8000; ++i) b.memory.bytes[i] = pattern(i);
  b.start_dma_list(0, PlainMemory::kBase + 0x80000, kCount);
  ASSERT_TRUE(b.dma_ended(0));
  const auto tile = b.peek(0, 0, 61 * kCount + 64);
  std::uint32_t moved = 0;
  for (std::uint32_t d = 0; d < kCount; ++d) {
    for (std::uint32_t i = 0; i < 61; ++i)
      ASSERT_EQ(tile[1 + 61 * d + i], i < d % 38 ? pattern(0x1000 + 37 * d + i) : 0) << d << " " << i;
    moved += d % 38;
  }
  EXPECT_EQ(b.word(b.reg(0, chip::kDmaMoved)), moved);
  // A bad one: nothing of the list is done.
  list[24 * 7 + dma_descriptor::control] = 2;
  b.start_dma_list(0, PlainMemory::kBase + 0x80000, kCount);
  EXPECT_FALSE(b.dma_ended(0));
  EXPECT_EQ(b.dma_error(0), 10u);
  EXPECT_EQ(chip::kDmaStatusDescriptor.get(b.dma_status(0)), 7u);
  EXPECT_EQ(b.word(b.reg(0, chip::kDmaMoved)), 0u);
  b.start_dma_list(0, PlainMemory::kBase + 0x80004, 1);  // not a multiple of 8
  EXPECT_FALSE(b.dma_ended(0));
  EXPECT_EQ(b.dma_error(0), 10u);
}

TEST(Dma, HolesAreErrorsAndNothingIsWritten) {
  ReadyBus b(small_platform(2));
  const std::uint64_t tiles = 2 * 65536;
  const std::vector<std::uint8_t> before(64, 0x5a);
  b.poke(0, 0x100, before);
  // Nobody at the host address.
  b.start_dma(0, false, 0x7000'0000, 0x100, 64);
  EXPECT_FALSE(b.dma_ended(0));
  EXPECT_EQ(b.dma_error(0), 1u);
  EXPECT_EQ(b.peek(0, 0x100, 64), before);
  EXPECT_EQ(b.word(b.reg(0, chip::kDmaMoved)), 0u);
  b.start_dma(0, true, 0x7000'0000, 0x100, 64);
  EXPECT_FALSE(b.dma_ended(0));
  EXPECT_EQ(b.dma_error(0), 1u);
  // Outside tile memory, by one byte.
  const auto memory = b.memory.bytes;
  b.start_dma(0, true, PlainMemory::kBase, tiles - 63, 64);
  EXPECT_FALSE(b.dma_ended(0));
  EXPECT_EQ(b.dma_error(0), 6u);
  b.start_dma(0, true, PlainMemory::kBase, ~std::uint64_t{0}, 1);
  EXPECT_FALSE(b.dma_ended(0));
  EXPECT_EQ(b.dma_error(0), 6u);
  EXPECT_EQ(b.memory.bytes, memory);
  // To the last byte, and no byte at all.
  b.start_dma(0, true, PlainMemory::kBase, tiles - 64, 64);
  EXPECT_TRUE(b.dma_ended(0));
  b.start_dma(0, true, PlainMemory::kBase, tiles, 0);
  EXPECT_TRUE(b.dma_ended(0));
}

TEST(Dma, TakesTheLinksRateEachWay) {
  const Platform p = small_platform(8);
  ReadyBus b(p);
  for (const bool to_host : {false, true}) {
    constexpr std::uint32_t kBytes = 400'000;
    const std::uint64_t begin = b.transport.now_ns();
    b.start_dma(0, to_host, PlainMemory::kBase, 0, kBytes);
    ASSERT_TRUE(b.dma_ended(0));
    const double ns = static_cast<double>(b.transport.now_ns() - begin);
    // 24 bytes with each 256 of data.
    const double rate = kBytes * (280.0 / 256) / p.pcie.card_bytes_per_cycle / (static_cast<double>(p.clock_hz) / 1e9);
    EXPECT_GT(ns, rate);
    EXPECT_LT(ns, rate * 1.01 + 6 * p.pcie.latency_ns);
  }
}

TEST(Dma, RequestsOnTheWayAreBounded) {
  Platform p = small_platform(8);
  p.pcie.outstanding = 3;
  ReadyBus b(p);
  constexpr std::uint32_t kBytes = 100'000;
  for (std::uint32_t i = 0; i < kBytes; ++i) b.memory.bytes[i] = pattern(i);
  // Three requests of 512 bytes, or three packets of 256, in each round; pages are cut into 3 and 6 rounds.
  std::uint64_t begin = b.transport.now_ns();
  b.start_dma(0, false, PlainMemory::kBase, 0, kBytes);
  ASSERT_TRUE(b.dma_ended(0));
  double ns = static_cast<double>(b.transport.now_ns() - begin);
  EXPECT_NEAR(ns, (24 * 3 + 2) * (2 * p.pcie.latency_ns + 54.0), 2'000);
  begin = b.transport.now_ns();
  b.start_dma(0, true, PlainMemory::kBase + 500'000, 0, kBytes);
  ASSERT_TRUE(b.dma_ended(0));
  ns = static_cast<double>(b.transport.now_ns() - begin);
  EXPECT_NEAR(ns, (24 * 6 + 3) * (p.pcie.latency_ns + 26.0), 2'000);
  for (std::uint32_t i = 0; i < kBytes; ++i) ASSERT_EQ(b.memory.bytes[500'000 + i], pattern(i)) << i;
}

TEST(Dma, TwoEndpointsShareTheLinkEvenly) {
  ReadyBus b(small_platform(8, 2));
  constexpr std::uint32_t kBytes = 400'000;
  // Alone.
  std::uint64_t begin = b.transport.now_ns();
  b.start_dma(0, true, PlainMemory::kBase, 0, kBytes);
  ASSERT_TRUE(b.dma_ended(0));
  const double alone = static_cast<double>(b.transport.now_ns() - begin);
  // Both, started 0.5 us apart: both end near twice the time.
  begin = b.transport.now_ns();
  b.start_dma(0, true, PlainMemory::kBase, 0, kBytes);
  b.start_dma(1, true, PlainMemory::kBase + 500'000, 0, kBytes);
  std::vector<double> ends;
  for (unsigned i = 0; i < 2; ++i) {
    ASSERT_TRUE(b.transport.wait_interrupt(1'000'000));
    ends.push_back(static_cast<double>(b.transport.now_ns() - begin));
  }
  EXPECT_GT(ends[0], 1.8 * alone);
  EXPECT_LT(ends[1], 2.1 * alone);
}

}  // namespace
}  // namespace tessera
