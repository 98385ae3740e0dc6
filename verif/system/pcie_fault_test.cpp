// What goes wrong on PCI Express, and how it shows: refused requests, lost completions, bad data, links that go down,
// error reporting up to the root, resets, bus mastering taken away.
#include <cstring>

#include "hw/error.h"
#include "hw/injection.h"
#include "verif/system/pcie_bench.h"

namespace tessera {
namespace {

using namespace testing;
using namespace pcie;
namespace chip = reg::chip;

SystemConfig with_fault(const Platform& platform, const std::string& text) {
  SystemConfig config = tlm_system(platform);
  config.injections.push_back(parse_injection(text, "test"));
  return config;
}

/// Error reporting on from an endpoint to the root.
struct ReportingBus : ReadyBus {
  explicit ReportingBus(const SystemConfig& config) : ReadyBus(config) { report_errors(); }
  explicit ReportingBus(const Platform& platform) : ReadyBus(platform) { report_errors(); }
  void report_errors() {
    upstream.bus = static_cast<std::uint8_t>(config(root, kSecondaryBus, 1));
    const auto below = static_cast<std::uint8_t>(config(upstream, kSecondaryBus, 1));
    for (std::uint8_t p = 0; p < functions.size(); ++p) downstream.push_back({below, p, 0});
    std::vector<PciAddress> all{root, upstream};
    all.insert(all.end(), downstream.begin(), downstream.end());
    for (const PciAddress at : all) config(at, kBridgeControl, 2, kBridgeSerr);
    for (const auto& f : functions) all.push_back(f.at);
    for (const PciAddress at : all) config(at, express(at) + kDeviceControl, 2, 0xf);
  }
  unsigned express(PciAddress at) { return driver::find_capability(transport, at, kCapExpress); }
  unsigned aer(PciAddress at) { return extended(at, kExtCapAer); }
  std::uint32_t uncorrectable(PciAddress at) { return config(at, aer(at) + kAerUncorrectable, 4); }
  std::uint32_t root_errors(unsigned counter) { return config(root, extended(root, kExtCapVendor) + counter, 4); }
  void clear(PciAddress at) { config(at, aer(at) + kAerUncorrectable, 4, ~0u); }
  std::uint32_t id(PciAddress at) const { return at.bus << 8 | at.device << 3 | at.function; }
  PciAddress root{0, 0, 0}, upstream{};
  std::vector<PciAddress> downstream;
};

TEST(PcieErrors, EveryRefusedRequestHasItsAnswer) {
  ReadyBus b(small_platform(3));
  const auto& f = b.functions[0];
  std::uint8_t bytes[64] = {};
  struct Case {
    std::uint64_t address;
    std::size_t count;
    PciStatus status;
  };
  const std::uint64_t registers = f.bars[kBarRegisters].address, tiles = f.bars[kBarTiles].address,
                      msix = f.bars[kBarMsix].address;
  const Case cases[] = {
      {registers, 1, PciStatus::completer_abort},
      {registers + 2, 2, PciStatus::completer_abort},
      {registers + 2, 4, PciStatus::completer_abort},
      {tiles + 1, 3, PciStatus::completer_abort},
      {tiles + 3 * 65536 - 4, 4, PciStatus::ok},
      {tiles + 3 * 65536 - 4, 8, PciStatus::unsupported_request},  // beyond the last tile, within the BAR
      {tiles + 3 * 65536, 4, PciStatus::unsupported_request},
      {tiles + 0x40000 - 4, 8, PciStatus::unsupported_request},
      {msix + kMsixEntryBytes * kVectors, 4, PciStatus::completer_abort},
      {msix + 2, 2, PciStatus::completer_abort},
      {msix + 4, 8, PciStatus::completer_abort},
      {0x1000, 4, PciStatus::unsupported_request},
      {registers - 0x10'0000, 4, PciStatus::unsupported_request},
      {~std::uint64_t{0} - 3, 4, PciStatus::unsupported_request},
  };
  for (const Case& c : cases) {
    std::memset(bytes, 0, sizeof bytes);
    EXPECT_EQ(b.transport.memory_read(c.address, bytes, c.count), c.status) << std::hex << c.address;
    // What crosses the end of a BAR is two requests, since BARs end at pages: the second one fails.
    for (std::size_t i = c.count > 4 ? c.count - 4 : 0; i < c.count; ++i)
      ASSERT_EQ(bytes[i], c.status == PciStatus::ok ? 0 : 0xff) << std::hex << c.address;
    EXPECT_EQ(bytes[c.count], 0);
    if (c.status != PciStatus::ok) {
      EXPECT_EQ(b.transport.memory_write(c.address, bytes, c.count), c.status) << std::hex << c.address;
    }
  }
  EXPECT_EQ(b.word(registers), 0x54455353u);
}

TEST(PcieErrors, AreLoggedOnceAndReportedToTheRoot) {
  ReportingBus b(small_platform(2));
  const PciAddress at = b.functions[0].at;
  const unsigned aer = b.aer(at);
  const std::uint64_t hole = b.tile(0, 2 * 65536);  // behind the BAR
  std::uint8_t bytes[16];
  EXPECT_EQ(b.transport.memory_read(hole, bytes, 16), PciStatus::unsupported_request);
  EXPECT_EQ(b.uncorrectable(at), kAerUnsupportedRequest);
  EXPECT_EQ(b.config(at, aer + kAerControl, 4) & 0x1f, 20u);      // first error pointer
  EXPECT_EQ(b.config(at, aer + kAerHeaderLog, 4), 0x2000'0004u);  // read, four words, 64-bit address
  EXPECT_EQ(b.config(at, aer + kAerHeaderLog + 4, 4), 0x0000'00ffu);
  EXPECT_EQ(b.config(at, aer + kAerHeaderLog + 8, 4), static_cast<std::uint32_t>(hole >> 32));
  EXPECT_EQ(b.config(at, aer + kAerHeaderLog + 12, 4), static_cast<std::uint32_t>(hole));
  const std::uint32_t status = b.config(at, b.express(at) + kDeviceStatus, 2);
  EXPECT_EQ(status & 0xf, kDeviceStatusUnsupported | kDeviceStatusNonFatal);
  EXPECT_EQ(b.root_errors(kVendorNonFatal), 1u);
  const unsigned root = b.aer(b.root);
  EXPECT_EQ(b.config(b.root, root + kAerRootStatus, 4) & 0x7f, kRootUncorrectable | kRootNonFatal);
  EXPECT_EQ(b.config(b.root, root + kAerErrorSource, 4) >> 16, b.id(at));
  // A second error of another kind: the log stays with the first; the root knows that there were several.
  EXPECT_EQ(b.transport.memory_write(b.reg(0, 2), bytes, 2), PciStatus::completer_abort);
  EXPECT_EQ(b.uncorrectable(at), kAerUnsupportedRequest | kAerCompleterAbort);
  EXPECT_EQ(b.config(at, aer + kAerControl, 4) & 0x1f, 20u);
  EXPECT_EQ(b.config(at, aer + kAerHeaderLog + 12, 4), static_cast<std::uint32_t>(hole));
  EXPECT_EQ(b.root_errors(kVendorNonFatal), 2u);
  EXPECT_NE(b.config(b.root, root + kAerRootStatus, 4) & kRootSeveralUncorrectable, 0u);
  // Cleared, the next one is logged: a posted write with byte enables, 32-bit address.
  b.clear(at);
  EXPECT_EQ(b.transport.memory_write(b.reg(0, 2), bytes, 2), PciStatus::completer_abort);
  EXPECT_EQ(b.config(at, aer + kAerControl, 4) & 0x1f, 15u);
  EXPECT_EQ(b.config(at, aer + kAerHeaderLog, 4), 0x4000'0001u);
  EXPECT_EQ(b.config(at, aer + kAerHeaderLog + 4, 4), 0x0000'000cu);
  EXPECT_EQ(b.config(at, aer + kAerHeaderLog + 8, 4), static_cast<std::uint32_t>(b.reg(0, 0)));
  // As fatal.
  b.clear(at);
  b.config(b.root, root + kAerRootStatus, 4, ~0u);
  b.config(at, aer + kAerSeverity, 4, kAerCompleterAbort);
  EXPECT_EQ(b.transport.memory_write(b.reg(0, 2), bytes, 2), PciStatus::completer_abort);
  EXPECT_EQ(b.root_errors(kVendorFatal), 1u);
  EXPECT_EQ(b.config(b.root, root + kAerRootStatus, 4) & 0x7f, kRootUncorrectable | kRootFatal | kRootFirstFatal);
  EXPECT_NE(b.config(at, b.express(at) + kDeviceStatus, 2) & kDeviceStatusFatal, 0u);
  // Masked: status only.
  b.clear(at);
  b.config(at, aer + kAerUncorrectableMask, 4, kAerCompleterAbort);
  EXPECT_EQ(b.transport.memory_write(b.reg(0, 0), bytes, 1), PciStatus::completer_abort);
  EXPECT_EQ(b.uncorrectable(at), kAerCompleterAbort);
  EXPECT_EQ(b.config(at, aer + kAerHeaderLog + 4, 4), 0x0000'000cu);  // the old one
  EXPECT_EQ(b.root_errors(kVendorFatal), 1u);
  // Not enabled at the function, or held back by a bridge on the way.
  b.clear(at);
  b.config(at, aer + kAerUncorrectableMask, 4, 0);
  b.config(at, b.express(at) + kDeviceControl, 2, 0);
  EXPECT_EQ(b.transport.memory_write(b.reg(0, 0), bytes, 1), PciStatus::completer_abort);
  b.config(at, b.express(at) + kDeviceControl, 2, 0xf);
  for (const PciAddress bridge : {b.root, b.upstream, b.downstream[0]}) {
    b.config(bridge, kBridgeControl, 2, 0);
    EXPECT_EQ(b.transport.memory_write(b.reg(0, 0), bytes, 1), PciStatus::completer_abort);
    b.config(bridge, kBridgeControl, 2, kBridgeSerr);
  }
  EXPECT_EQ(b.root_errors(kVendorFatal), 1u);
  EXPECT_EQ(b.transport.memory_write(b.reg(0, 0), bytes, 1), PciStatus::completer_abort);
  EXPECT_EQ(b.root_errors(kVendorFatal), 2u);
}

TEST(PcieErrors, SwitchLogsWhatItCannotRoute) {
  ReportingBus b(small_platform(2));
  const std::uint32_t window = b.config(b.downstream[0], kMemoryBase, 4);
  b.config(b.downstream[0], kMemoryBase, 2, (window & 0xfff0) + 0x10);
  EXPECT_EQ(b.word(b.reg(0, 0), PciStatus::unsupported_request), 0xffffffffu);
  EXPECT_EQ(b.uncorrectable(b.upstream), kAerUnsupportedRequest);
  EXPECT_NE(b.config(b.root, kSecondaryStatus, 2) & kStatusMasterAbortGot, 0u);
  EXPECT_EQ(b.root_errors(kVendorNonFatal), 1u);
}

TEST(PcieErrors, LostCompletionOfADmaReadTimesOut) {
  Platform p = small_platform(2);
  p.pcie.completion_timeout_us = 100;
  ReportingBus b(with_fault(p, "pcie=0:lose_completion,count=1"));
  const std::vector<std::uint8_t> before(64, 0x33);
  b.poke(0, 0, before);
  const std::uint64_t begin = b.transport.now_ns();
  b.start_dma(0, false, PlainMemory::kBase, 0, 64);
  EXPECT_FALSE(b.transport.wait_interrupt(90'000));
  EXPECT_NE(b.dma_status(0) & chip::kDmaStatusBusy.mask(), 0u);
  EXPECT_NE(b.config(b.functions[0].at, b.express(b.functions[0].at) + kDeviceStatus, 2) & kDeviceStatusPending, 0u);
  EXPECT_FALSE(b.dma_ended(0));
  EXPECT_NEAR(static_cast<double>(b.transport.now_ns() - begin), 100'000 + 2 * 500, 3'500);
  EXPECT_EQ(b.dma_error(0), 3u);
  EXPECT_EQ(b.peek(0, 0, 64), before);
  EXPECT_EQ(b.uncorrectable(b.functions[0].at), kAerCompletionTimeout);
  EXPECT_EQ(b.config(b.functions[0].at, b.express(b.functions[0].at) + kDeviceStatus, 2) & kDeviceStatusPending, 0u);
  EXPECT_EQ(b.root_errors(kVendorNonFatal), 1u);
  b.start_dma(0, false, PlainMemory::kBase, 0, 64);  // the next one comes
  EXPECT_TRUE(b.dma_ended(0));
}

TEST(PcieErrors, LostAnswerToTheHostTimesOut) {
  Platform p = small_platform(2);
  p.pcie.completion_timeout_us = 100;
  ReportingBus b(p);
  b.system.inject_pcie(parse_injection("pcie=0:lose_answer,count=1", "test"));
  const std::uint64_t begin = b.transport.now_ns();
  EXPECT_EQ(b.word(b.reg(0, 0), PciStatus::timeout), 0xffffffffu);
  EXPECT_EQ(b.transport.now_ns() - begin, 100'000u);
  EXPECT_EQ(b.uncorrectable(b.root), kAerCompletionTimeout);
  EXPECT_EQ(b.root_errors(kVendorNonFatal), 1u);
  EXPECT_EQ(b.word(b.reg(0, 0)), 0x54455353u);
}

TEST(PcieErrors, PoisonedDataAreNotUsed) {
  ReportingBus b(small_platform(2));
  const auto inject = [&](const char* text) { b.system.inject_pcie(parse_injection(text, "test")); };
  const PciAddress at = b.functions[0].at;
  inject("pcie=0:poison_answer");
  EXPECT_EQ(b.word(b.reg(0, 0), PciStatus::poisoned), 0xffffffffu);
  EXPECT_EQ(b.uncorrectable(b.root), kAerPoisoned);
  b.clear(b.root);
  inject("pcie=0:poison_read");
  const std::vector<std::uint8_t> before(64, 0x33);
  b.poke(0, 0, before);
  b.start_dma(0, false, PlainMemory::kBase, 0, 64);
  EXPECT_FALSE(b.dma_ended(0));
  EXPECT_EQ(b.dma_error(0), 4u);
  EXPECT_EQ(b.peek(0, 0, 64), before);
  EXPECT_EQ(b.uncorrectable(at), kAerPoisoned);
  inject("pcie=0:poison_write");
  b.start_dma(0, true, PlainMemory::kBase, 0, 64);
  EXPECT_TRUE(b.dma_ended(0));  // a sender of writes does not hear of it
  EXPECT_EQ(b.memory.bytes[0], 0);
  EXPECT_EQ(b.uncorrectable(b.root), kAerPoisoned);
  inject("pcie=0:refuse");
  b.start_dma(0, false, PlainMemory::kBase, 0, 64);
  EXPECT_FALSE(b.dma_ended(0));
  EXPECT_EQ(b.dma_error(0), 1u);
  inject("pcie=0:abort");
  b.start_dma(0, false, PlainMemory::kBase, 0, 64);
  EXPECT_FALSE(b.dma_ended(0));
  EXPECT_EQ(b.dma_error(0), 2u);
  EXPECT_EQ(b.peek(0, 0, 64), before);
  EXPECT_THROW(inject("pcie=0:melt"), Error);
  EXPECT_THROW(inject("pcie=7:refuse"), Error);
  EXPECT_THROW(inject("pcie=0:refuse,for=3"), Error);
}

TEST(PcieErrors, BusMasteringTakenAwayEndsATransfer) {
  for (const bool to_host : {true, false}) {
    static std::unique_ptr<ReadyBus> kept;  // one machine a process
    if (!kept) kept = std::make_unique<ReadyBus>(small_platform(8));
    ReadyBus& b = *kept;
    const PciAddress at = b.functions[0].at;
    std::fill(b.memory.bytes.begin(), b.memory.bytes.end(), to_host ? 0 : 7);
    b.poke(0, 0, std::vector<std::uint8_t>(65536, to_host ? 9 : 0));
    b.start_dma(0, to_host, PlainMemory::kBase, 0, 400'000);
    b.transport.elapse(3'000);
    b.config(at, kCommand, 2, kCommandMemory);
    const auto host = b.memory.bytes;
    const auto tiles = b.peek(0, 0, 65536);
    EXPECT_FALSE(b.transport.wait_interrupt(1'000'000));  // held, as any message
    EXPECT_EQ(b.memory.bytes, host);
    EXPECT_EQ(b.peek(0, 0, 65536), tiles);
    EXPECT_EQ(b.dma_error(0), 5u);
    EXPECT_EQ(b.dma_status(0) & chip::kDmaStatusBusy.mask(), 0u);
    const std::uint32_t moved = b.word(b.reg(0, chip::kDmaMoved));
    EXPECT_GT(moved, 0u);
    EXPECT_LT(moved, 400'000u);
    if (to_host) {
      EXPECT_EQ(static_cast<std::uint32_t>(std::count(host.begin(), host.end(), 9)), std::min(moved, 65536u));
    } else {
      EXPECT_EQ(static_cast<std::uint32_t>(std::count(tiles.begin(), tiles.end(), 7)), std::min(moved, 65536u));
    }
    b.config(at, kCommand, 2, kCommandMemory | kCommandBusMaster);
    EXPECT_FALSE(b.dma_ended(0));
    b.start_dma(0, to_host, PlainMemory::kBase, 0, 1000);
    EXPECT_TRUE(b.dma_ended(0));
  }
}

TEST(PcieErrors, TransferIsStoppedOnDemand) {
  ReadyBus b(small_platform(8));
  b.start_dma(0, true, PlainMemory::kBase, 0, 400'000);
  b.word(b.reg(0, chip::kDmaGo), static_cast<std::uint32_t>(chip::kDmaGoStop.mask()));
  EXPECT_FALSE(b.dma_ended(0));
  EXPECT_EQ(b.dma_error(0), 8u);
  EXPECT_LT(b.word(b.reg(0, chip::kDmaMoved)), 400'000u);
}

/// sync host(1), read a host buffer; what the driver is told.
driver::Event packet_that_fails(Machine& m, driver::Driver& d) {
  const std::uint64_t table[] = {PacketHeader{1, 0}.pack(), PacketDescriptor{kPacketRead, 0, 0, 16, 0x800}.pack(),
                                 PacketRemote{0, 0, 4, kRemoteHost}.pack()};
  std::vector<std::uint32_t> words;
  for (std::uint64_t w : table) words.push_back(static_cast<std::uint32_t>(w)), words.push_back(w >> 32);
  std::vector<std::uint32_t> code;
  load_constant(code, 10, kTable);
  sync_step(code, Zone::host, 1);
  code.push_back(r(Op::x_packet, 0, 10));
  spin(code);
  d.reset(0);
  d.load(0, {all_tiles(kCode, code), all_tiles(kTable, words)});
  d.attach_buffer(0, 4, 64, true, false);
  d.start(0, kCode);
  EXPECT_EQ(d.wait().kind, driver::Event::Kind::host_sync);
  m.system.inject_pcie(parse_injection("pcie=0:lose_completion", "test"));
  d.acknowledge(0);
  return d.wait();
}

TEST(PcieErrors, PacketWithoutCompletionIsAFaultOfTheChip) {
  Platform p = small_platform(1);
  p.pcie.completion_timeout_us = 100;
  Machine m(tlm_system(p));
  driver::Driver d(m.transport);
  const std::uint64_t begin = m.transport.now_ns();
  const driver::Event event = packet_that_fails(m, d);
  ASSERT_EQ(event.kind, driver::Event::Kind::exception);
  EXPECT_EQ(event.exception.kind, driver::ExceptionInfo::Kind::pcie);
  EXPECT_EQ(event.exception.value, 3u);
  EXPECT_EQ(event.exception.tile, 0u);
  EXPECT_GT(m.transport.now_ns() - begin, 100'000u);
  EXPECT_LT(m.transport.now_ns() - begin, 400'000u);
}

TEST(PcieErrors, DriverTellsOfALinkThatIsLost) {
  Machine m(with_fault(small_platform(2), "pcie=0:link_down,at=6400000"));
  driver::Driver d(m.transport);
  std::vector<std::uint32_t> code;
  spin(code);
  d.reset(0);
  d.load(0, {all_tiles(kCode, code)});
  d.start(0, kCode);
  EXPECT_EQ(d.counters(0).host_syncs, 0u);
  ASSERT_LT(m.transport.now_ns(), 4'000'000u);
  try {
    (void)d.wait(5'000'000);
    (void)d.counters(0);
    FAIL() << "the loss was not seen";
  } catch (const Error& e) {
    EXPECT_EQ(e.category(), Category::device_exception);
    EXPECT_NE(std::string(e.what()).find("lost"), std::string::npos);
  }
  EXPECT_LT(m.transport.now_ns(), 12'000'000u);
}

/// Configuration and chip as after power-on; the transfer that was on its way is gone.
void expect_reset(ReadyBus& b, unsigned ipu) {
  const auto& f = b.functions[ipu];
  EXPECT_EQ(b.config(f.at, kCommand, 2), 0u);
  for (unsigned i = 0; i < 6; ++i) EXPECT_EQ(b.config(f.at, kBar0 + 4 * i, 4) & ~0xfu, 0u);
  EXPECT_EQ(b.config(f.at, driver::find_capability(b.transport, f.at, kCapMsix) + kMsixControl, 2), kVectors - 1);
  const auto host = b.memory.bytes;
  EXPECT_FALSE(b.transport.wait_interrupt(1'000'000));
  EXPECT_EQ(b.memory.bytes, host);
  // Addresses as before: then all is as new behind them.
  for (unsigned i = 0; i < 6; i += 2) {
    b.config(f.at, kBar0 + 4 * i, 4, static_cast<std::uint32_t>(f.bars[i].address));
    b.config(f.at, kBar0 + 4 * i + 4, 4, static_cast<std::uint32_t>(f.bars[i].address >> 32));
  }
  b.config(f.at, kCommand, 2, kCommandMemory);
  for (unsigned v = 0; v < kVectors; ++v)
    EXPECT_EQ(b.word(f.bars[kBarMsix].address + kMsixEntryBytes * v + kMsixVectorControl), 1u);
  for (const reg::Register& r : chip::kRegisters) {
    if (r.offset == chip::kCycleLow || r.offset == chip::kOwnerTicket || r.count > 256) continue;
    std::uint32_t want = static_cast<std::uint32_t>(r.reset);
    if (r.offset == chip::kTiles) want = 8;
    if (r.offset == chip::kSramBytes) want = 65536;
    if (r.offset == chip::kIpu) want = ipu;
    if (r.offset == chip::kActive) want = 0xff;
    EXPECT_EQ(b.word(b.reg(ipu, r.offset)), want) << std::hex << r.offset;
  }
  EXPECT_EQ(b.peek(ipu, 0, 65536), std::vector<std::uint8_t>(65536));
}

/// Something everywhere, and a long transfer on its way.
void make_busy(ReadyBus& b, unsigned ipu) {
  b.word(b.reg(ipu, chip::kBootPc), 0x40400);
  b.word(b.reg(ipu, chip::kGroups), 3);
  b.word(b.reg(ipu, chip::kBufferBytes), 64);
  b.poke(ipu, 0, std::vector<std::uint8_t>(65536, 1));
  b.start_dma(ipu, true, PlainMemory::kBase + 0x80000 * ipu, 0, 400'000);
}

TEST(PcieReset, FunctionLevelResetIsAPowerOnOfOneIpu) {
  ReadyBus b(small_platform(8, 2));
  make_busy(b, 0);
  make_busy(b, 1);
  const PciAddress at = b.functions[0].at;
  const unsigned control = driver::find_capability(b.transport, at, kCapExpress) + kDeviceControl;
  b.config(at, control, 2, kDeviceControlFlr);
  EXPECT_EQ(b.config(at, control, 2) & kDeviceControlFlr, 0u);
  EXPECT_TRUE(b.dma_ended(1));  // nothing has happened to the other one
  EXPECT_EQ(b.word(b.reg(1, chip::kBootPc)), 0x40400u);
  EXPECT_EQ(b.memory.bytes[0x80000], 1);
  expect_reset(b, 0);
  b.enable(0);
  b.start_dma(0, true, PlainMemory::kBase, 0, 400'000);
  EXPECT_TRUE(b.dma_ended(0));
}

TEST(PcieReset, HotResetOfAPortResetsWhatIsBelow) {
  ReadyBus b(small_platform(8, 2));
  make_busy(b, 0);
  make_busy(b, 1);
  const auto upstream = static_cast<std::uint8_t>(b.config({0, 0, 0}, kSecondaryBus, 1));
  const auto below = static_cast<std::uint8_t>(b.config({upstream, 0, 0}, kSecondaryBus, 1));
  const PciAddress port{below, 0, 0};
  b.config(port, kBridgeControl, 2, kBridgeReset);
  EXPECT_EQ(b.config(b.functions[0].at, kVendorId, 4), 0xffffffffu);  // held in reset
  b.config(port, kBridgeControl, 2, 0);
  EXPECT_EQ(b.config(b.functions[0].at, kVendorId, 2), kVendor);
  EXPECT_TRUE(b.dma_ended(1));
  expect_reset(b, 0);
  // All of the card: bus numbers and windows of the switch are gone, too.
  b.config({0, 0, 0}, kBridgeControl, 2, kBridgeReset);
  EXPECT_EQ(b.config({upstream, 0, 0}, kVendorId, 4), 0xffffffffu);
  b.config({0, 0, 0}, kBridgeControl, 2, 0);
  EXPECT_EQ(b.config({upstream, 0, 0}, kVendorId, 2), kVendor);
  EXPECT_EQ(b.config({upstream, 0, 0}, kSecondaryBus, 1), 0u);
  EXPECT_EQ(b.config(b.functions[1].at, kVendorId, 4), 0xffffffffu);
  b.set_up();
  EXPECT_EQ(b.functions.size(), 2u);
  EXPECT_EQ(b.word(b.reg(1, chip::kBootPc)), 0x40000u);
}

TEST(PcieReset, ChipThatRunsIsResetAtOnce) {
  SystemConfig config = tlm_system(small_platform(2));
  ReadyBus b(config);
  std::vector<std::uint32_t> code;
  spin(code);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(code.data());
  for (unsigned t = 0; t < 2; ++t) b.poke(0, 65536 * t, {bytes, bytes + 4 * code.size()});
  b.word(b.reg(0, chip::kBoot), 1);
  b.transport.elapse(10'000);
  EXPECT_NE(b.word(b.reg(0, chip::kStatus)) & chip::kStatusRunning.mask(), 0u);
  std::uint8_t word[4];
  EXPECT_EQ(b.transport.memory_read(b.tile(0, 0), word, 4), PciStatus::completer_abort);
  // The engine, too, does not touch tiles that run.
  b.start_dma(0, true, PlainMemory::kBase, 0, 64);
  EXPECT_FALSE(b.dma_ended(0));
  EXPECT_EQ(b.dma_error(0), 7u);
  const PciAddress at = b.functions[0].at;
  const unsigned control = driver::find_capability(b.transport, at, kCapExpress) + kDeviceControl;
  b.config(at, control, 2, kDeviceControlFlr);
  b.set_up();
  EXPECT_EQ(b.word(b.reg(0, chip::kStatus)), 0u);
  EXPECT_EQ(b.word(b.tile(0, 0)), 0u);
}

TEST(PcieReset, LinkThatGoesDownAndComesBack) {
  // 1.6 GHz: down after 1 ms, for 50 us.
  ReportingBus b(with_fault(small_platform(8, 2), "pcie=0:link_down,at=1600000,for=80000"));
  make_busy(b, 0);
  ASSERT_LT(b.transport.now_ns(), 1'000'000u);
  b.transport.elapse(1'001'000 - b.transport.now_ns());
  EXPECT_EQ(b.word(b.reg(0, 0), PciStatus::unsupported_request), 0xffffffffu);
  EXPECT_EQ(b.config(b.functions[0].at, kVendorId, 4), 0xffffffffu);
  EXPECT_EQ(b.word(b.reg(1, 0)), 0x54455353u);
  EXPECT_EQ(b.uncorrectable(b.downstream[0]) & kAerSurpriseDown, kAerSurpriseDown);
  EXPECT_EQ(b.config(b.downstream[0], b.express(b.downstream[0]) + kLinkStatus, 2) & kLinkStatusActive, 0u);
  EXPECT_EQ(b.root_errors(kVendorFatal), 1u);
  b.transport.elapse(50'000);
  EXPECT_NE(b.config(b.downstream[0], b.express(b.downstream[0]) + kLinkStatus, 2) & kLinkStatusActive, 0u);
  EXPECT_EQ(b.config(b.functions[0].at, kVendorId, 2), kVendor);
  while (b.transport.wait_interrupt(0)) {
  }
  expect_reset(b, 0);
}

}  // namespace
}  // namespace tessera
