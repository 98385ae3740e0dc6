// The driver against a machine that does what no sound one does: registers that read all ones, resets that are not
// taken, loads that never end, functions that lose their configuration. No simulator behind it.
#include "host/driver/driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "hw/error.h"
#include "hw/generated/registers.h"
#include "hw/pcie.h"

namespace tessera::driver {
namespace {

namespace chip = reg::chip;

constexpr unsigned kTiles = 2, kMsixAt = 0x40;
constexpr std::uint32_t kSram = 65536;

/// IPUs right below the root: configuration space, registers, tile memory as plain bytes.
class FakeMachine : public Transport {
 public:
  struct Ipu {
    std::array<std::uint32_t, 64> config{};  // words
    std::map<std::uint32_t, std::uint32_t> registers;
    std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(kTiles * kSram);
    bool answers_config = true, answers = true, takes_reset = true, loads = true;
  };

  explicit FakeMachine(unsigned count) : ipus(count) {
    for (Ipu& ipu : ipus) {
      ipu.config[0] = std::uint32_t{pcie::kDeviceIpu} << 16 | pcie::kVendor;
      ipu.config[1] = std::uint32_t{pcie::kStatusCapabilities} << 16;
      ipu.config[pcie::kCapabilities / 4] = kMsixAt;
      ipu.config[kMsixAt / 4] = pcie::kCapMsix;
      ipu.config[kMsixAt / 4 + 1] = pcie::kBarMsix;  // table in that BAR, offset 0
      ipu.registers[chip::kId] = 0x54455353;
      ipu.registers[chip::kTiles] = kTiles;
      ipu.registers[chip::kMailboxStatus] = static_cast<std::uint32_t>(reg::card::State::ready);
      ipu.registers[chip::kSramBytes] = kSram;
    }
  }

  std::uint32_t config_read(PciAddress f, unsigned offset, unsigned size) override {
    if (f.bus != 0 || f.device >= ipus.size() || !ipus[f.device].answers_config) return ~0u >> (32 - 8 * size);
    if (offset >= pcie::kExtendedStart) return 0;
    const std::uint32_t word = ipus[f.device].config.at(offset / 4) >> (8 * (offset % 4));
    return size == 4 ? word : word & ((1u << (8 * size)) - 1);
  }
  void config_write(PciAddress f, unsigned offset, unsigned size, std::uint32_t value) override {
    if (f.bus != 0 || f.device >= ipus.size() || !ipus[f.device].answers_config) return;
    std::uint32_t& word = ipus[f.device].config.at(offset / 4);
    const std::uint32_t mask = (size == 4 ? ~0u : (1u << (8 * size)) - 1) << (8 * (offset % 4));
    word = (word & ~mask) | (value << (8 * (offset % 4)) & mask);
    if (offset < pcie::kBar0 || offset >= pcie::kBar0 + 24) return;
    static constexpr std::array<std::uint32_t, 6> kMasks = {0xffff0004, ~0u, 0xfffe000c, ~0u, 0xfffff004, ~0u};
    const unsigned bar = (offset - pcie::kBar0) / 4;
    word = (word & kMasks[bar]) | (bar % 2 == 0 ? kMasks[bar] & 0xf : 0);
  }

  PciStatus memory_read(std::uint64_t address, std::uint8_t* bytes, std::size_t count) override {
    const auto [ipu, bar, offset] = decode(address);
    std::fill_n(bytes, count, std::uint8_t{0xff});
    if (ipu == nullptr) return PciStatus::unsupported_request;
    if (!ipu->answers) return PciStatus::ok;  // as a dead link does
    if (bar == pcie::kBarTiles) std::memcpy(bytes, ipu->memory.data() + offset, count);
    if (bar == pcie::kBarRegisters) {
      if (offset == chip::kOwnerTicket) ++ipu->registers[chip::kOwnerTicket];
      std::memcpy(bytes, &ipu->registers[static_cast<std::uint32_t>(offset)], 4);
    }
    ++reads;
    now += 500;
    return PciStatus::ok;
  }
  PciStatus memory_write(std::uint64_t address, const std::uint8_t* bytes, std::size_t count) override {
    const auto [ipu, bar, offset] = decode(address);
    if (ipu == nullptr || !ipu->answers) return PciStatus::ok;  // posted: nobody hears of it
    if (bar == pcie::kBarTiles) std::memcpy(ipu->memory.data() + offset, bytes, count);
    if (bar != pcie::kBarRegisters) return PciStatus::ok;
    std::uint32_t value = 0;
    std::memcpy(&value, bytes, 4);
    const auto number = static_cast<unsigned>(ipu - ipus.data());
    switch (offset) {
      case chip::kControl:
        if (ipu->takes_reset) ipu->registers[chip::kStatus] = 0;
        return PciStatus::ok;
      case chip::kLoaderGo:
        if (ipu->loads) interrupts.push_back({pcie::kMessageBase + 0x1000 * std::uint64_t{number}, 2});
        return PciStatus::ok;
      case chip::kMailboxDoorbell:  // any command is a ping
        ipu->registers[chip::kMailboxStatus] |= static_cast<std::uint32_t>(chip::kMailboxStatusDone.mask());
        ipu->registers[chip::kMailboxResponse] = ipu->registers[chip::kMailboxCommand];
        ipu->registers[chip::kMailboxResult] = ipu->registers[chip::kMailboxArgument];
        return PciStatus::ok;
      case chip::kBoot:
        ipu->registers[chip::kStatus] = 1;
        return PciStatus::ok;
      case chip::kOwner:
        if (value != 0 && ipu->registers[chip::kOwner] != 0) return PciStatus::ok;
        [[fallthrough]];
      default:
        ipu->registers[static_cast<std::uint32_t>(offset)] = value;
    }
    return PciStatus::ok;
  }

  void attach(HostMemory&) override {}
  std::optional<Interrupt> wait_interrupt(std::uint64_t limit_ns) override {
    if (interrupts.empty()) {
      if (limit_ns == ~std::uint64_t{0}) throw Error(Category::no_progress, "nothing can happen");
      now += limit_ns;
      return std::nullopt;
    }
    const Interrupt first = interrupts.front();
    interrupts.pop_front();
    return first;
  }
  void hand_back(const Interrupt& interrupt) override { interrupts.push_front(interrupt); }
  void elapse(std::uint64_t ns) override { now += ns; }
  std::uint64_t now_ns() const override { return now; }

  std::vector<Ipu> ipus;
  std::deque<Interrupt> interrupts;
  std::uint64_t now = 0, reads = 0;

 private:
  struct Place {
    Ipu* ipu;
    unsigned bar;
    std::uint64_t offset;
  };
  Place decode(std::uint64_t address) {
    for (Ipu& ipu : ipus) {
      if ((ipu.config[1] & pcie::kCommandMemory) == 0) continue;
      for (unsigned bar : {pcie::kBarRegisters, pcie::kBarTiles, pcie::kBarMsix}) {
        const std::uint64_t base = (ipu.config[4 + bar] & ~0xfu) | std::uint64_t{ipu.config[5 + bar]} << 32;
        const std::uint64_t size = bar == pcie::kBarRegisters ? 0x10000 : bar == pcie::kBarTiles ? 0x20000 : 0x1000;
        if (base != 0 && address >= base && address < base + size) return {&ipu, bar, address - base};
      }
    }
    return {nullptr, 0, 0};
  }
};

void expect_error(const std::function<void()>& step, Category category, const std::string& what) {
  try {
    step();
    ADD_FAILURE() << "not refused: " << what;
  } catch (const Error& e) {
    EXPECT_EQ(e.category(), category) << e.what();
    EXPECT_NE(std::string(e.what()).find(what), std::string::npos) << e.what();
  }
}

TEST(Driver, FindsAnyNumberOfIpusAndNumbersThem) {
  for (unsigned count = 1; count <= 16; ++count) {
    FakeMachine m(count);
    Driver d(m);
    ASSERT_EQ(d.ipus(), count);
    for (unsigned i = 0; i < count; ++i) {
      EXPECT_EQ(m.ipus[i].registers[chip::kIpu], i);
      EXPECT_EQ(d.info(i).tiles, kTiles);
    }
    expect_error([&] { (void)d.info(count); }, Category::usage, "there is no IPU");
  }
  FakeMachine none(0);
  expect_error([&] { Driver d(none); }, Category::device_exception, "no IPU found");
}

TEST(Driver, LostDeviceIsRecognisedByEveryCallInBoundedTime) {
  using Step = std::function<void(Driver&)>;
  std::uint32_t word = 0;
  const std::vector<std::pair<const char*, Step>> steps = {
      {"register", [](Driver& d) { (void)d.read_register(0, chip::kStatus); }},
      {"counters", [](Driver& d) { (void)d.counters(0); }},
      {"exception", [](Driver& d) { (void)d.exception(0); }},
      {"reset", [](Driver& d) { d.reset(0); }},
      {"claim", [](Driver& d) { d.claim(0); }},
      {"start", [](Driver& d) { d.start(0, 0x40000); }},
      {"tile", [&](Driver& d) { d.read_tile(0, 1, 0x40000, &word, 1); }},
      {"load",
       [](Driver& d) {
         d.load(0, {{0, 0, 0x40000, {1, 2, 3}}});
       }},
      {"wait", [](Driver& d) { (void)d.wait(1000); }},
  };
  for (const auto& [name, step] : steps)
    for (const bool claimed : {false, true}) {
      if (claimed && std::string(name) == "claim") continue;
      if (!claimed && std::string(name) == "wait") continue;  // waits for none of its own
      FakeMachine m(2);
      Driver d(m);
      if (claimed) d.claim(0);
      m.ipus[0].answers = false;
      const std::uint64_t begin = m.now, reads = m.reads;
      expect_error([&, &step = step] { step(d); }, Category::device_exception, "is lost");
      EXPECT_LT(m.now - begin, 200'000'000u) << name;
      EXPECT_LT(m.reads - reads, 100u) << name;
      (void)d.counters(1);  // the other is well
    }
}

TEST(Driver, AllOnesInMemoryOfALivingDeviceAreData) {
  FakeMachine m(1);
  Driver d(m);
  std::vector<std::uint32_t> words(3000, 0xffffffff), read(3000);
  d.write_tile(0, 1, 0x40000, words.data(), words.size());
  d.read_tile(0, 1, 0x40000, read.data(), read.size());
  EXPECT_EQ(read, words);
}

TEST(Driver, LoadThatNeverEndsAndResetThatIsNotTakenAreTimeOuts) {
  FakeMachine m(1);
  Driver d(m);
  m.ipus[0].loads = false;
  const std::uint64_t begin = m.now;
  expect_error([&] { d.load(0, {{0, 0, 0x40000, {1}}}); }, Category::no_progress, "loader did not end in time");
  EXPECT_LT(m.now - begin, 200'000'000u);
  m.ipus[0].loads = true;
  d.load(0, {{0, 0, 0x40000, {1}}});
  d.start(0, 0x40000);
  m.ipus[0].takes_reset = false;
  const std::uint64_t start = m.now;
  expect_error([&] { d.reset(0); }, Category::no_progress, "does not take its reset");
  EXPECT_LT(m.now - start, 200'000'000u);
  expect_error([&] { d.recover(0); }, Category::device_exception, "could not be recovered: the IPU does not take");
  m.ipus[0].takes_reset = true;
  d.recover(0);
  d.load(0, {{0, 0, 0x40000, {1}}});
}

TEST(Driver, RecoverBringsTheConfigurationBackOrSaysWhyItCannot) {
  FakeMachine m(2);
  Driver d(m);
  d.claim(1);
  for (unsigned word = 4; word < 10; ++word) m.ipus[1].config[word] = 0;  // a reset of the function: BARs are gone
  m.ipus[1].config[1] &= 0xffff0000;
  m.ipus[1].config[kMsixAt / 4] &= 0xffff;
  expect_error([&] { (void)d.counters(1); }, Category::device_exception, "IPU 1");
  d.recover(1);
  (void)d.counters(1);
  EXPECT_TRUE(d.holder(1)->mine);
  EXPECT_NE(m.ipus[1].config[kMsixAt / 4] >> 16 & pcie::kMsixEnable, 0u);

  m.ipus[1].answers = false;
  expect_error([&] { d.recover(1); }, Category::device_exception, "could not be recovered: the device is lost");
  m.ipus[1].answers_config = false;
  expect_error([&] { d.recover(1); }, Category::device_exception, "its link is down");
  m.ipus[1].answers_config = m.ipus[1].answers = true;
  d.recover(1);
  m.ipus[1].config[0] = 0x12345678;
  expect_error([&] { d.recover(1); }, Category::device_exception, "another device answers");
}

TEST(Driver, ClaimsAreKeptByTheDeviceAndToldByName) {
  FakeMachine m(2);
  Driver first(m, "first"), second(m, "a name that is longer than it may be");
  first.claim(0);
  expect_error([&] { second.claim(0); }, Category::usage, "claimed already, by 'first' (driver 1)");
  expect_error([&] { second.reset(0); }, Category::usage, "IPU 0");
  second.claim(1);
  EXPECT_EQ(first.holder(1)->client, "a name that is l");
  first.release(0);
  EXPECT_FALSE(second.holder(0));
  second.claim(0);
  expect_error([&] { first.release(0); }, Category::usage, "not claimed by this driver");
  // Looking is free.
  (void)first.counters(0);
  std::uint32_t word = 0;
  first.read_tile(0, 0, 0x40000, &word, 1);
}

TEST(Driver, LinksAreReadFromTheirPortsAndAFailedOneIsDescribed) {
  FakeMachine m(2);
  const auto set = [&](std::uint32_t offset, std::uint32_t value) {
    m.ipus[1].registers[offset + 3 * chip::kLinkStatusStride] = value;
  };
  set(chip::kLinkStatus, 4 | 2 << 8);
  set(chip::kLinkPeer, 0 | 5 << 8 | 2 << 16);
  set(chip::kLinkOutstanding, 6);
  set(chip::kLinkPacketsSent, 77);
  set(chip::kLinkWordsSentLow, 0x10);
  set(chip::kLinkWordsSentHigh, 2);
  set(chip::kLinkReplays, 9);
  set(chip::kLinkTrainings, 2 | 3 << 16);
  Driver d(m);
  EXPECT_TRUE(d.links(0).empty());
  const std::vector<LinkInfo> links = d.links(1);
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0].port, 3u);
  EXPECT_EQ(links[0].state, LinkInfo::State::failed);
  EXPECT_EQ(links[0].words_sent, 0x2'0000'0010u);
  EXPECT_EQ(d.counters(1).link_packets, 77u);
  EXPECT_EQ(d.counters(1).link_words, 0x2'0000'0010u);
  const std::string text =
      "link 1.3 to 0.5 (rail): failed, 2 lanes; sent 77 packets, 8589934608 words; received 0, 0; 6 packets wait or "
      "are "
      "not acknowledged; 9 frames sent again; 3 time-outs; trained 2 times";
  EXPECT_EQ(link_text(1, links[0]), text);

  m.ipus[1].registers[chip::kExceptionCause] = 3 | 1u << 12 | 1u << 31;
  m.ipus[1].registers[chip::kExceptionValue] = 1 << 8 | 3;
  m.ipus[1].registers[chip::kExceptionCycleLow] = 1234;
  const auto failed = d.exception(1);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->kind, ExceptionInfo::Kind::link_failed);
  EXPECT_EQ(failed->detail, text);
  EXPECT_EQ(failed->cycle, 1234u);
  m.ipus[1].registers[chip::kExceptionCause] = 9 | 1u << 12 | 1u << 31;
  expect_error([&] { (void)d.exception(1); }, Category::device_exception, "no known number");
}

TEST(Driver, InterruptsOfOthersAreHandedBackInOrder) {
  FakeMachine m(2);
  Driver first(m, "first"), second(m, "second");
  first.claim(0);
  second.claim(1);
  m.interrupts = {{pcie::kMessageBase + 0x1000, 0}, {pcie::kMessageBase + 0x1000, 3}, {pcie::kMessageBase, 3}};
  EXPECT_EQ(first.wait(1000).kind, Event::Kind::stopped);
  ASSERT_EQ(m.interrupts.size(), 2u);
  EXPECT_EQ(m.interrupts[0].data, 0u);
  EXPECT_EQ(m.interrupts[1].data, 3u);
  EXPECT_EQ(first.wait(1000).kind, Event::Kind::timeout);
  EXPECT_EQ(second.wait(1000).kind, Event::Kind::stopped);  // no host sync waits: its interrupt is of old
  m.interrupts = {{0x1234, 0}};
  expect_error([&] { (void)first.wait(1000); }, Category::device_exception, "nobody asked for");
}

}  // namespace
}  // namespace tessera::driver
