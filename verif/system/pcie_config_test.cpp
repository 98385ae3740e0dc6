// Configuration space bit by bit: sizing in every order, capability lists, what software may write, power states,
// bridges' windows. What is expected stands here once more, from the standard, not from the model.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "verif/system/pcie_bench.h"

namespace tessera {
namespace {

using namespace testing;
using namespace pcie;

/// The four kinds of functions of a machine with one card.
struct Tree : ReadyBus {
  Tree() : ReadyBus(small_platform(2, 2)) {
    endpoint = functions.at(0).at;
    const auto secondary = static_cast<std::uint8_t>(config(root, kSecondaryBus, 1));
    upstream = {secondary, 0, 0};
    downstream = {static_cast<std::uint8_t>(config(upstream, kSecondaryBus, 1)), 0, 0};
  }
  PciAddress root{0, 0, 0}, upstream, downstream, endpoint;
};

TEST(Config, SizingInEveryOrderGivesMasksAndKeepsAddresses) {
  Bus b(small_platform(3));
  const auto f = driver::enumerate(b.transport).at(0);
  const std::uint64_t size[3] = {reg::chip::kSize, 0x40000, kMsixBarSize};
  const std::uint32_t kind[3] = {kBar64, kBar64 | kBarPrefetchable, kBar64};
  std::uint32_t address[6];
  for (unsigned i = 0; i < 6; ++i) address[i] = b.config(f.at, kBar0 + 4 * i, 4);
  std::array<unsigned, 6> order{};
  std::iota(order.begin(), order.end(), 0);
  unsigned orders = 0;
  do {
    // Memory space on in every second order: sizing does not depend on it.
    b.config(f.at, kCommand, 2, orders % 2 == 0 ? 0 : kCommandMemory);
    for (unsigned i : order) b.config(f.at, kBar0 + 4 * i, 4, 0xffffffff);
    for (unsigned i : order) {
      const std::uint64_t mask = ~(size[i / 2] - 1);
      ASSERT_EQ(b.config(f.at, kBar0 + 4 * i, 4),
                i % 2 == 0 ? static_cast<std::uint32_t>(mask) | kind[i / 2] : static_cast<std::uint32_t>(mask >> 32));
    }
    for (unsigned i : order) b.config(f.at, kBar0 + 4 * i, 4, address[i]);
    b.config(f.at, kCommand, 2, kCommandMemory);
    ASSERT_EQ(b.word(f.bars[kBarRegisters].address), 0x54455353u);
    ASSERT_EQ(b.word(f.bars[kBarMsix].address + kMsixVectorControl), 1u);
    ASSERT_EQ(b.word(f.bars[kBarTiles].address), 0u);
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(orders, 720u);
  // Written as words and bytes in any order, too.
  for (unsigned i : {3u, 0u, 2u, 1u}) b.config(f.at, kBar0 + i, 1, address[0] >> (8 * i) & 0xff);
  for (unsigned i : {2u, 0u}) b.config(f.at, kBar0 + 4 + i, 2, address[1] >> (8 * i) & 0xffff);
  EXPECT_EQ(b.word(f.bars[kBarRegisters].address), 0x54455353u);
}

TEST(Config, CapabilityListsEndAndHoldWhatTheyShould) {
  Tree b;
  unsigned members = 0;
  for (const PciAddress at : {b.root, b.upstream, b.downstream, b.endpoint}) {
    const bool end = at.bus == b.endpoint.bus;
    EXPECT_NE(b.config(at, kStatus, 2) & kStatusCapabilities, 0u);
    std::set<unsigned> seen;
    std::set<unsigned> ids;
    for (unsigned offset = b.config(at, kCapabilities, 1); offset != 0; offset = b.config(at, offset + 1, 1)) {
      ASSERT_GE(offset, 0x40u);
      ASSERT_EQ(offset % 4, 0u);
      ASSERT_TRUE(seen.insert(offset).second) << "the list has a loop";
      EXPECT_TRUE(ids.insert(b.config(at, offset, 1)).second);
      ++members;
    }
    EXPECT_EQ(ids, end ? (std::set<unsigned>{kCapPower, kCapExpress, kCapMsix})
                       : (std::set<unsigned>{kCapPower, kCapExpress}));
    std::set<unsigned> extended;
    seen.clear();
    for (unsigned offset = kExtendedStart; offset != 0; offset = b.config(at, offset, 4) >> 20) {
      ASSERT_GE(offset, kExtendedStart);
      ASSERT_EQ(offset % 4, 0u);
      ASSERT_TRUE(seen.insert(offset).second) << "the list has a loop";
      extended.insert(b.config(at, offset, 4) & 0xffff);
      ++members;
    }
    const bool counts = at.bus == 0 || at.bus == b.upstream.bus;  // root port, upstream port
    EXPECT_EQ(extended, counts ? (std::set<unsigned>{kExtCapAer, kExtCapVendor}) : (std::set<unsigned>{kExtCapAer}));
    const unsigned express = driver::find_capability(b.transport, at, kCapExpress);
    const unsigned type = b.config(at, express + kExpressCaps, 2) >> 4 & 0xf;
    EXPECT_EQ(type, at.bus == 0                  ? kPortRoot
                    : at.bus == b.upstream.bus   ? kPortUpstream
                    : at.bus == b.downstream.bus ? kPortDownstream
                                                 : kPortEndpoint);
    EXPECT_EQ((b.config(at, express + kDeviceCaps, 4) & kDeviceCapsFlr) != 0, end);
  }
  EXPECT_EQ(members, 3u * 2 + 3 + 2 * 2 + 2);
}

/// Bits that software may write, by dword; all others must not change. Bits that a one clears are found zero.
using Writable = std::map<unsigned, std::uint32_t>;

/// Writes ones and zeros to every dword of the space; returns how many bits were looked at.
unsigned prove(Bus& b, PciAddress at, const Writable& writable, const std::set<unsigned>& leave) {
  unsigned bits = 0;
  for (unsigned offset = 0; offset < 4096; offset += 4) {
    if (leave.count(offset) != 0) continue;
    const auto found = writable.find(offset);
    const std::uint32_t mask = found == writable.end() ? 0 : found->second;
    const std::uint32_t before = b.config(at, offset, 4);
    const std::uint32_t flr = 0;
    b.config(at, offset, 4, 0xffffffff);
    EXPECT_EQ(b.config(at, offset, 4), (before & ~mask) | mask) << std::hex << offset << " ones";
    b.config(at, offset, 4, flr);
    EXPECT_EQ(b.config(at, offset, 4), before & ~mask) << std::hex << offset << " zeros";
    b.config(at, offset, 4, before);
    bits += 32;
  }
  return bits;
}

Writable common(Bus& b, PciAddress at, bool bridge) {
  const unsigned power = driver::find_capability(b.transport, at, kCapPower);
  const unsigned express = driver::find_capability(b.transport, at, kCapExpress);
  const unsigned aer = b.extended(at, kExtCapAer);
  const std::uint32_t errors = kAerPoisoned | kAerCompletionTimeout | kAerCompleterAbort | kAerUnsupportedRequest;
  Writable w;
  w[kCommand] = 0x0546;  // memory, bus master, parity, SERR, INTx off
  w[kCacheLine] = 0xff;
  w[kInterruptLine] = bridge ? 0x0043'00ff : 0xff;
  w[power + kPowerControl] = 0x3;
  w[express + kDeviceControl] = 0x78ff;
  w[express + kLinkControl] = 0x00c3;
  w[aer + kAerUncorrectableMask] = errors;
  w[aer + kAerSeverity] = errors;
  w[aer + kAerCorrectableMask] = 0x31c1;
  return w;
}

TEST(Config, EndpointsBitsAreWhatTheyShouldBe) {
  Bus b(small_platform(3));
  const auto f = driver::enumerate(b.transport).at(0);
  Writable w = common(b, f.at, false);
  w[kBar0] = static_cast<std::uint32_t>(~(reg::chip::kSize - 1));
  w[kBar0 + 8] = 0xfffc0000;
  w[kBar0 + 16] = ~(kMsixBarSize - 1);
  for (unsigned high : {4u, 12u, 20u}) w[kBar0 + high] = 0xffffffff;
  w[driver::find_capability(b.transport, f.at, kCapMsix)] = 0xc000'0000;
  // Ones to device control start a function-level reset: a test of its own.
  const unsigned control = driver::find_capability(b.transport, f.at, kCapExpress) + kDeviceControl;
  EXPECT_EQ(prove(b, f.at, w, {control}), (1024u - 1) * 32);
  b.config(f.at, control, 2, 0x7fff);
  EXPECT_EQ(b.config(f.at, control, 2), 0x78ffu);
  b.config(f.at, control, 2, 0);
  EXPECT_EQ(b.config(f.at, control, 2), 0u);
}

TEST(Config, BridgesBitsAreWhatTheyShouldBe) {
  Tree b;
  unsigned bits = 0;
  for (const PciAddress at : {b.downstream, b.upstream, b.root}) {
    Writable w = common(b, at, true);
    const unsigned aer = b.extended(at, kExtCapAer);
    const unsigned express = driver::find_capability(b.transport, at, kCapExpress);
    w[kPrimaryBus] = 0x00ffffff;
    w[kMemoryBase] = 0xfff0fff0;
    w[kPrefetchBase] = 0xfff0fff0;
    w[kPrefetchBaseHigh] = w[kPrefetchLimitHigh] = 0xffffffff;
    if (at.bus != b.upstream.bus) {  // ports with a link below know of its loss
      w[aer + kAerUncorrectableMask] |= kAerSurpriseDown;
      w[aer + kAerSeverity] |= kAerSurpriseDown;
    }
    if (at.bus == 0) {
      w[aer + kAerRootCommand] = 0x7;
      w[express + kRootControl] = 0x7;
    }
    b.config(at, kSecondaryStatus, 2, 0xffff);  // looking for functions that are not there has left its mark
    std::set<unsigned> counters;
    if (at.bus == b.upstream.bus)
      for (unsigned c = kVendorUpBytes; c < kVendorBytes; c += 4) counters.insert(b.extended(at, kExtCapVendor) + c);
    bits += prove(b, at, w, counters);
  }
  EXPECT_EQ(bits, (3u * 1024 - 8) * 32);
}

TEST(Config, ErrorBitsAreClearedByOnesOnly) {
  ReadyBus b(small_platform(2));
  const PciAddress at = b.functions[0].at;
  const unsigned express = driver::find_capability(b.transport, at, kCapExpress), aer = b.extended(at, kExtCapAer);
  std::uint8_t byte = 0;
  EXPECT_EQ(b.transport.memory_read(b.reg(0, 0), &byte, 1), PciStatus::completer_abort);
  struct Bit {
    unsigned offset, size;
    std::uint32_t bit;
  };
  for (const Bit& bit :
       {Bit{kStatus, 2, kStatusTargetAbortSent}, Bit{express + kDeviceStatus, 2, kDeviceStatusNonFatal},
        Bit{aer + kAerUncorrectable, 4, kAerCompleterAbort}}) {
    EXPECT_EQ(b.config(at, bit.offset, bit.size) & bit.bit, bit.bit);
    b.config(at, bit.offset, bit.size, 0);
    EXPECT_EQ(b.config(at, bit.offset, bit.size) & bit.bit, bit.bit);
    b.config(at, bit.offset, bit.size, ~bit.bit & (bit.size == 2 ? 0xffffu : ~0u));
    EXPECT_EQ(b.config(at, bit.offset, bit.size) & bit.bit, bit.bit);
    b.config(at, bit.offset, bit.size, bit.bit);
    EXPECT_EQ(b.config(at, bit.offset, bit.size) & bit.bit, 0u);
  }
}

TEST(Config, AccessesOfOddSizesReadOnesAndWriteNothing) {
  ReadyBus b(small_platform(2));
  const PciAddress at = b.functions[0].at;
  const std::uint32_t before = b.config(at, kBar0, 4);
  EXPECT_EQ(b.config(at, kBar0 + 1, 2), 0xffffu);
  EXPECT_EQ(b.config(at, kBar0 + 2, 4), 0xffffffffu);
  b.config(at, kBar0 + 1, 2, 0xffff);
  b.config(at, kBar0 + 2, 4, 0xffffffff);
  EXPECT_EQ(b.config(at, kBar0, 4), before);
}

TEST(Config, D3HotAnswersConfigurationOnlyAndKeepsItsState) {
  ReadyBus b(small_platform(2));
  const auto& f = b.functions[0];
  const unsigned power = driver::find_capability(b.transport, f.at, kCapPower);
  EXPECT_NE(b.config(f.at, power + kPowerControl, 2) & kPowerNoSoftReset, 0u);
  b.word(b.reg(0, reg::chip::kBootPc), 0x40100);
  b.poke(0, 64, {1, 2, 3, 4});
  b.start_dma(0, true, PlainMemory::kBase, 0, 120'000);
  b.config(f.at, power + kPowerControl, 2, 3);
  EXPECT_EQ(b.config(f.at, kVendorId, 2), kVendor);
  EXPECT_EQ(b.word(b.reg(0, 0), PciStatus::unsupported_request), 0xffffffffu);
  EXPECT_EQ(b.word(b.functions[0].bars[kBarMsix].address, PciStatus::unsupported_request), 0xffffffffu);
  // No bus mastering either: the transfer has failed, which is told after D0.
  EXPECT_FALSE(b.transport.wait_interrupt(100'000));
  b.config(f.at, power + kPowerControl, 2, 0);
  EXPECT_FALSE(b.dma_ended(0));
  EXPECT_EQ(b.dma_error(0), 5u);
  EXPECT_FALSE(b.transport.wait_interrupt(100'000));
  EXPECT_EQ(b.word(b.reg(0, reg::chip::kBootPc)), 0x40100u);
  EXPECT_EQ(b.word(b.tile(0, 64)), 0x04030201u);
}

TEST(Config, CommandBitsAndWindowsOfBridgesGate) {
  Tree b;
  for (const PciAddress at : {b.root, b.upstream, b.downstream}) {
    const std::uint32_t command = b.config(at, kCommand, 2);
    b.config(at, kCommand, 2, command & ~std::uint32_t{kCommandMemory});
    EXPECT_EQ(b.word(b.reg(0, 0), PciStatus::unsupported_request), 0xffffffffu);
    EXPECT_EQ(b.config(b.endpoint, kVendorId, 2), kVendor);  // configuration passes
    b.config(at, kCommand, 2, command & ~std::uint32_t{kCommandBusMaster});
    b.start_dma(0, true, PlainMemory::kBase, 0, 64);
    EXPECT_FALSE(b.transport.wait_interrupt(100'000));  // neither data nor the message come through
    EXPECT_EQ(b.dma_error(0), 1u);
    b.config(at, kCommand, 2, command);
    b.word(b.reg(0, reg::chip::kInterruptStatus), ~0u);
    b.start_dma(0, true, PlainMemory::kBase, 0, 64);
    EXPECT_TRUE(b.dma_ended(0));
    // The window one grain further up.
    const std::uint32_t window = b.config(at, kMemoryBase, 4);
    b.config(at, kMemoryBase, 2, (window & 0xfff0) + 0x10);
    EXPECT_EQ(b.word(b.reg(0, 0), PciStatus::unsupported_request), 0xffffffffu);
    b.config(at, kMemoryBase, 4, window);
    EXPECT_EQ(b.word(b.reg(0, 0)), 0x54455353u);
    // Buses beyond the range are nobody's.
    const std::uint32_t buses = b.config(at, kSecondaryBus, 1);
    b.config(at, kSubordinateBus, 1, buses - 1);
    EXPECT_EQ(b.config(b.endpoint, kVendorId, 4), 0xffffffffu);
    b.config(at, kSubordinateBus, 1, 0xff);
    EXPECT_EQ(b.config(b.endpoint, kVendorId, 2), kVendor);
    EXPECT_EQ(b.config({0xee, 0, 0}, kVendorId, 4), 0xffffffffu);
  }
  for (unsigned device = 1; device < 32; ++device)
    EXPECT_EQ(b.config({b.endpoint.bus, static_cast<std::uint8_t>(device), 0}, kVendorId, 4), 0xffffffffu);
  for (unsigned function = 1; function < 8; ++function)
    EXPECT_EQ(b.config({b.endpoint.bus, 0, static_cast<std::uint8_t>(function)}, kVendorId, 4), 0xffffffffu);
}

}  // namespace
}  // namespace tessera
