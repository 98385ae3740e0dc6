// PCI Express as software sees it: enumeration, sizing, gating, MSI-X masks and pending bits, order of writes and
// messages, error answers. Through the transport alone, with a driver only where a running chip is needed.
#include "hw/pcie.h"

#include "hw/error.h"
#include "verif/system/pcie_bench.h"

namespace tessera {
namespace {

using namespace testing;
using namespace pcie;
using driver::Driver;
using driver::Event;

TEST(Pcie, EnumerationFindsEveryEndpointOnce) {
  const Platform p = small_platform(3, 2, 2);
  Bus b(p);
  const auto functions = driver::enumerate(b.transport);
  ASSERT_EQ(functions.size(), 4u);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const auto& f = functions[i];
    EXPECT_EQ(f.device, kDeviceIpu);
    EXPECT_EQ(f.root_port, i / 2);
    EXPECT_EQ(f.bars[kBarRegisters].size, reg::chip::kSize);
    EXPECT_EQ(f.bars[kBarTiles].size, 0x40000u);  // 3 x 64 KiB, rounded up
    EXPECT_TRUE(f.bars[kBarTiles].prefetchable);
    EXPECT_EQ(f.bars[kBarMsix].size, kMsixBarSize);
    for (const auto& bar : f.bars)
      if (bar.size != 0) {
        EXPECT_EQ(bar.address % bar.size, 0u);
      }
    b.config(f.at, kCommand, 2, kCommandMemory);
    EXPECT_EQ(b.word(f.bars[kBarRegisters].address + reg::chip::kTiles), 3u);
    EXPECT_EQ(b.word(f.bars[kBarRegisters].address + reg::chip::kIpu), i);
  }
}

TEST(Pcie, AbsentFunctionsAndHolesReadAllOnes) {
  Bus b(small_platform(2));
  EXPECT_EQ(b.config({0, 5, 0}, kVendorId, 4), 0xffffffffu);
  EXPECT_EQ(b.config({7, 0, 0}, kVendorId, 2), 0xffffu);
  const auto functions = driver::enumerate(b.transport);
  EXPECT_EQ(b.config({functions[0].at.bus, 1, 0}, kVendorId, 4), 0xffffffffu);
  EXPECT_EQ(b.word(0x1234'0000, PciStatus::unsupported_request), 0xffffffffu);
}

TEST(Pcie, SizingReadsTheMaskAndLeavesTheKindBits) {
  Bus b(small_platform(2));
  const auto f = driver::enumerate(b.transport).at(0);
  b.config(f.at, kBar0 + 4 * kBarTiles, 4, 0xffffffff);
  b.config(f.at, kBar0 + 4 * kBarTiles + 4, 4, 0xffffffff);
  EXPECT_EQ(b.config(f.at, kBar0 + 4 * kBarTiles, 4), 0xfffe0000u | kBar64 | kBarPrefetchable);
  EXPECT_EQ(b.config(f.at, kBar0 + 4 * kBarTiles + 4, 4), 0xffffffffu);
  b.config(f.at, kBar0 + 4, 1, 0x12);  // byte access to the high half of BAR0
  EXPECT_EQ(b.config(f.at, kBar0 + 4, 4) & 0xff, 0x12u);
  EXPECT_EQ(b.config(f.at, kVendorId, 2), kVendor);
  b.config(f.at, kVendorId, 2, 0);
  EXPECT_EQ(b.config(f.at, kVendorId, 2), kVendor);  // read only
}

TEST(Pcie, CapabilityListHoldsWhatAnEndpointNeeds) {
  Bus b(small_platform(2));
  const auto f = driver::enumerate(b.transport).at(0);
  for (std::uint8_t id : {kCapPower, kCapExpress, kCapMsix})
    EXPECT_NE(driver::find_capability(b.transport, f.at, id), 0u) << unsigned{id};
  EXPECT_EQ(driver::find_capability(b.transport, f.at, 0x05), 0u);
  EXPECT_EQ(b.config(f.at, kExtendedStart, 4) & 0xffff, kExtCapAer);
  const unsigned express = driver::find_capability(b.transport, f.at, kCapExpress);
  EXPECT_EQ(b.config(f.at, express + kExpressCaps, 2) >> 4 & 0xf, kPortEndpoint);
}

TEST(Pcie, MemorySpaceOffAnswersUnsupportedAndIsLogged) {
  Bus b(small_platform(2));
  const auto f = driver::enumerate(b.transport).at(0);
  EXPECT_EQ(b.word(f.bars[0].address, PciStatus::unsupported_request), 0xffffffffu);
  const unsigned express = driver::find_capability(b.transport, f.at, kCapExpress);
  EXPECT_NE(b.config(f.at, express + kDeviceStatus, 2) & kDeviceStatusUnsupported, 0u);
  EXPECT_NE(b.config(f.at, kExtendedStart + kAerUncorrectable, 4) & kAerUnsupportedRequest, 0u);
  b.config(f.at, kExtendedStart + kAerUncorrectable, 4, kAerUnsupportedRequest);  // write one clears
  EXPECT_EQ(b.config(f.at, kExtendedStart + kAerUncorrectable, 4), 0u);
  b.config(f.at, kCommand, 2, kCommandMemory);
  EXPECT_EQ(b.word(f.bars[0].address), 0x54455353u);
}

/// The loader with an empty list raises vector 2 at once: an interrupt on demand.
struct MsixBus : Bus {
  explicit MsixBus() : Bus(small_platform(2)) {
    function = driver::enumerate(transport).at(0);
    config(function.at, kCommand, 2, kCommandMemory | kCommandBusMaster);
    capability = driver::find_capability(transport, function.at, kCapMsix);
    table = function.bars[kBarMsix].address + kMsixTableOffset + kMsixEntryBytes * 2;
    pending = function.bars[kBarMsix].address + kMsixPendingOffset;
    word(table + kMsixAddressLow, static_cast<std::uint32_t>(kMessageBase + 0x40));
    word(table + kMsixData, 0xbeef);
    word(table + kMsixVectorControl, 0);
    control(kMsixEnable);
  }
  void control(std::uint16_t bits) { config(function.at, capability + kMsixControl, 2, bits); }
  void raise() {
    word(function.bars[0].address + reg::chip::kInterruptStatus, 0xff);
    word(function.bars[0].address + reg::chip::kLoaderGo, 1);
  }
  /// Exactly one message, and no bit left.
  void expect_one() {
    const auto message = transport.wait_interrupt(100'000);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->address, kMessageBase + 0x40);
    EXPECT_EQ(message->data, 0xbeefu);
    EXPECT_FALSE(transport.wait_interrupt(100'000));
    EXPECT_EQ(word(pending), 0u);
  }
  void expect_held() {
    EXPECT_FALSE(transport.wait_interrupt(100'000));
    EXPECT_EQ(word(pending), 1u << 2);
  }
  driver::PciFunction function;
  unsigned capability = 0;
  std::uint64_t table = 0, pending = 0;
};

TEST(Msix, UnmaskedVectorIsSent) {
  MsixBus b;
  b.raise();
  b.expect_one();
}

TEST(Msix, MaskedVectorPendsAndFiresOnceOnUnmask) {
  MsixBus b;
  b.word(b.table + kMsixVectorControl, 1);
  b.raise();
  b.expect_held();
  b.raise();
  b.expect_held();
  b.word(b.table + kMsixVectorControl, 0);
  b.expect_one();
}

TEST(Msix, MaskedFunctionPendsAndFiresOnUnmask) {
  MsixBus b;
  b.control(kMsixEnable | kMsixFunctionMask);
  b.raise();
  b.expect_held();
  b.control(kMsixEnable);
  b.expect_one();
}

TEST(Msix, BothMasksMustGo) {
  MsixBus b;
  b.control(kMsixEnable | kMsixFunctionMask);
  b.word(b.table + kMsixVectorControl, 1);
  b.raise();
  b.word(b.table + kMsixVectorControl, 0);
  b.expect_held();
  b.control(kMsixEnable);
  b.expect_one();
}

TEST(Msix, BusMasterOffHoldsTheMessage) {
  MsixBus b;
  b.config(b.function.at, kCommand, 2, kCommandMemory);
  b.raise();
  b.expect_held();
  b.config(b.function.at, kCommand, 2, kCommandMemory | kCommandBusMaster);
  b.expect_one();
}

TEST(Msix, CauseThatFallsWhileMaskedIsStillTold) {
  MsixBus b;
  b.word(b.table + kMsixVectorControl, 1);
  b.raise();
  b.expect_held();
  b.word(b.function.bars[0].address + reg::chip::kInterruptStatus, 0xff);
  std::uint64_t pending = 0;
  EXPECT_EQ(b.transport.memory_read(b.pending, reinterpret_cast<std::uint8_t*>(&pending), 8), PciStatus::ok);
  EXPECT_EQ(pending, 1u << 2);
  b.word(b.table + kMsixVectorControl, 0);
  b.expect_one();
}

TEST(Msix, MsixOffHoldsTheMessage) {
  MsixBus b;
  b.control(0);
  b.raise();
  b.expect_held();
  b.control(kMsixEnable | kMsixFunctionMask);
  b.expect_held();
  b.control(kMsixEnable);
  b.expect_one();
}

TEST(Msix, TableTakesFourAndEightBytesOnly) {
  MsixBus b;
  const std::uint64_t two = 0x0000'0001'0000'1234ull;  // data and control of vector 2
  auto* bytes = reinterpret_cast<const std::uint8_t*>(&two);
  EXPECT_EQ(b.transport.memory_write(b.table + kMsixData, bytes, 8), PciStatus::ok);
  EXPECT_EQ(b.word(b.table + kMsixData), 0x1234u);
  EXPECT_EQ(b.word(b.table + kMsixVectorControl), 1u);
  EXPECT_EQ(b.transport.memory_write(b.table + kMsixAddressHigh, bytes, 8), PciStatus::completer_abort);  // misaligned
  std::uint8_t sixteen[16] = {};
  EXPECT_EQ(b.transport.memory_read(b.table, sixteen, 16), PciStatus::completer_abort);
  EXPECT_EQ(sixteen[0], 0xff);
  const std::uint64_t beyond = b.function.bars[kBarMsix].address + kMsixTableOffset + kMsixEntryBytes * kVectors;
  EXPECT_EQ(b.word(beyond, PciStatus::completer_abort), 0xffffffffu);
  b.word(b.pending, 0xff);  // read only
  EXPECT_EQ(b.word(b.pending), 0u);
}

TEST(Pcie, LoaderWithAListInAHoleFailsAndSaysSo) {
  MsixBus b;
  b.word(b.function.bars[0].address + reg::chip::kLoaderListLow, 0x2000);  // nobody's memory
  b.word(b.function.bars[0].address + reg::chip::kLoaderCount, 1);
  b.raise();
  ASSERT_TRUE(b.transport.wait_interrupt(1'000'000));
  EXPECT_NE(b.word(b.function.bars[0].address + reg::chip::kStatus) & reg::chip::kStatusLoaderError.mask(), 0u);
}

TEST(Pcie, LoadTakesTheLinksRate) {
  const Platform p = small_platform(4);
  Machine m(tlm_system(p));
  Driver d(m.transport);
  const std::size_t words = 12'000;
  d.claim(0);
  const std::uint64_t begin = m.transport.now_ns();
  d.load(0, {all_tiles(kSramBase, std::vector<std::uint32_t>(words, 3))});
  const double ns = static_cast<double>(m.transport.now_ns() - begin);
  // 48 KB once over the link, though four tiles get it.
  const double rate = 4.0 * words / p.pcie.card_bytes_per_cycle / (static_cast<double>(p.clock_hz) / 1e9);
  EXPECT_GT(ns, rate);
  EXPECT_LT(ns, rate * 1.02 + 20 * p.pcie.latency_ns);
}

TEST(Pcie, DeviceThatIsGoneIsRecognised) {
  /// Passes everything on until it is unplugged; then all ones.
  struct Plug : Transport {
    explicit Plug(Transport& to) : to(to) {}
    std::uint32_t config_read(PciAddress f, unsigned o, unsigned s) override {
      return out ? ~0u : to.config_read(f, o, s);
    }
    void config_write(PciAddress f, unsigned o, unsigned s, std::uint32_t v) override { to.config_write(f, o, s, v); }
    PciStatus memory_read(std::uint64_t a, std::uint8_t* b, std::size_t n) override {
      if (!out) return to.memory_read(a, b, n);
      std::fill_n(b, n, std::uint8_t{0xff});
      return PciStatus::ok;
    }
    PciStatus memory_write(std::uint64_t a, const std::uint8_t* b, std::size_t n) override {
      return out ? PciStatus::ok : to.memory_write(a, b, n);
    }
    void attach(HostMemory& memory) override { to.attach(memory); }
    void detach(HostMemory& memory) override { to.detach(memory); }
    std::optional<Interrupt> wait_interrupt(std::uint64_t limit) override { return to.wait_interrupt(limit); }
    void elapse(std::uint64_t ns) override { to.elapse(ns); }
    std::uint64_t now_ns() const override { return to.now_ns(); }
    Transport& to;
    bool out = false;
  };
  Machine m(tlm_system(small_platform(2)));
  Plug plug(m.transport);
  Driver d(plug);
  EXPECT_EQ(d.counters(0).host_syncs, 0u);
  plug.out = true;
  try {
    (void)d.counters(0);
    FAIL() << "the loss was not seen";
  } catch (const Error& e) {
    EXPECT_EQ(e.category(), Category::device_exception);
    EXPECT_NE(std::string(e.what()).find("lost"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera
