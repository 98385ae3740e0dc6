// The card controller from the host: boot, mailbox commands and their races, every injected fault, a hot reset; times
// that are the same in every run.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "host/driver/enumerate.h"
#include "hw/error.h"
#include "hw/pcie.h"
#include "verif/system/bench.h"
#include "verif/system/elsewhere.h"

namespace tessera::testing {
namespace {

namespace card = reg::card;
namespace chip = reg::chip;
using driver::CardController;
using driver::Driver;

SystemConfig with_fault(const Platform& platform, const std::string& text) {
  SystemConfig config = tlm_system(platform);
  config.injections.push_back(parse_injection(text, "test"));
  return config;
}

/// Two IPUs with two links between them.
Platform pair() {
  Platform p = small_platform(2, 2);
  p.link.sibling_direct = 2;
  return p;
}

/// What making a driver, or `act` with it, throws; empty if nothing.
std::string error_of(const SystemConfig& config, const std::function<void(Driver&)>& act = {}) {
  Machine m(config);
  try {
    Driver d(m.transport);
    if (act) act(d);
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::device_exception);
    return error.what();
  }
  return {};
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A host that is no driver, at the registers of the first IPU.
struct Registers : Machine {
  explicit Registers(const SystemConfig& config) : Machine(config) {
    for (const driver::PciFunction& f : driver::enumerate(transport)) {
      transport.config_write(f.at, pcie::kCommand, 2, pcie::kCommandMemory | pcie::kCommandBusMaster);
      bars.push_back(f.bars[pcie::kBarRegisters].address);
      memories.push_back(f.bars[pcie::kBarTiles].address);
    }
  }
  PciStatus read(std::uint32_t offset, std::uint32_t& value, unsigned ipu = 0) {
    return transport.memory_read(bars[ipu] + offset, reinterpret_cast<std::uint8_t*>(&value), 4);
  }
  std::uint32_t get(std::uint32_t offset, unsigned ipu = 0) {
    std::uint32_t value = 0;
    EXPECT_EQ(read(offset, value, ipu), PciStatus::ok) << std::hex << offset;
    return value;
  }
  void set(std::uint32_t offset, std::uint32_t value, unsigned ipu = 0) {
    EXPECT_EQ(transport.memory_write(bars[ipu] + offset, reinterpret_cast<const std::uint8_t*>(&value), 4),
              PciStatus::ok);
  }
  std::uint64_t field(const reg::Field& f, unsigned ipu = 0) { return f.get(get(chip::kMailboxStatus, ipu)); }
  bool reach(card::State state) {
    for (unsigned n = 0; n < 1000; ++n) {
      if (field(chip::kMailboxStatusState) == static_cast<std::uint32_t>(state)) return true;
      transport.elapse(20'000);
    }
    return false;
  }
  std::vector<std::uint64_t> bars, memories;
};

TEST(Card, BootsAndAnswersAPing) {
  Machine m(tlm_system(pair()));
  Driver d(m.transport);
  ASSERT_EQ(d.cards(), 1u);
  EXPECT_EQ(d.card(0).state(), card::State::ready);
  EXPECT_TRUE(d.card(0).ping(0x12345678));
  const driver::CardInfo info = d.card(0).info();
  EXPECT_EQ(info.ipus, 2u);
  EXPECT_EQ(info.serial, 0x54430000u);
  EXPECT_EQ(info.reset_cause, 0u);
  EXPECT_EQ(info.links_down, 0u);
  EXPECT_EQ(info.links_up, 4u) << "both ends of two";
  EXPECT_LT(info.ready_us, 5000u);
  EXPECT_GT(info.ready_us, 100u);
}

TEST(Card, HeldIpuAnswersOnlyForItsController) {
  Registers r(tlm_system(small_platform(2)));
  std::uint32_t value = 0;
  EXPECT_EQ(r.get(chip::kId), 0x54455353u);
  EXPECT_EQ(r.get(chip::kStatus), 0u);
  EXPECT_EQ(r.field(chip::kMailboxStatusHeld), 1u);
  EXPECT_EQ(r.read(chip::kTiles, value), PciStatus::completer_abort);
  EXPECT_EQ(value, 0xffffffffu);
  EXPECT_EQ(r.transport.memory_read(r.memories[0], reinterpret_cast<std::uint8_t*>(&value), 4),
            PciStatus::completer_abort);
  ASSERT_TRUE(r.reach(card::State::ready));
  EXPECT_EQ(r.field(chip::kMailboxStatusHeld), 0u);
  EXPECT_EQ(r.get(chip::kTiles), 2u);
  EXPECT_EQ(r.get(chip::kRefusedAccesses), 2u);
}

TEST(Card, SleepingControllerHidesNoDeadlock) {
  Machine m(tlm_system(small_platform(2)));
  Driver d(m.transport);
  EXPECT_THROW(d.wait(), Error);
  EXPECT_TRUE(d.card(0).ping(7)) << "it can still be asked";
}

TEST(Card, CommandsSayWhatTheCardIsAndRefuseWhatIsWrong) {
  const Platform p = pair();
  Machine m(tlm_system(p));
  Driver d(m.transport);
  CardController& c = d.card(0);
  const auto error = [&](card::Command command, std::array<std::uint32_t, 4> arguments) {
    return c.call(command, arguments).error;
  };
  EXPECT_EQ(error(static_cast<card::Command>(99), {}), card::Error::bad_command);
  EXPECT_EQ(error(card::Command::none, {}), card::Error::bad_command);
  for (const card::Command command :
       {card::Command::power, card::Command::clock, card::Command::reset_ipu, card::Command::sensors,
        card::Command::set_alarm, card::Command::link_status, card::Command::link_train, card::Command::link_disable})
    EXPECT_EQ(error(command, {2}), card::Error::bad_argument) << card::text(command);
  EXPECT_EQ(error(card::Command::power, {0, 3}), card::Error::bad_argument);
  EXPECT_EQ(error(card::Command::link_train, {0, 200}), card::Error::bad_argument);
  EXPECT_EQ(error(card::Command::set_alarm, {0, 1000}), card::Error::bad_argument);
  EXPECT_EQ(error(card::Command::clock, {0, 1500}), card::Error::not_supported);
  EXPECT_EQ(c.clock(0), p.clock_hz / 1000000);
  c.set_clock(0, static_cast<std::uint32_t>(p.clock_hz / 1000000));
  EXPECT_EQ(c.self_test(), 0u);

  EXPECT_EQ(c.link(0, 0).state, card::Link::up);
  EXPECT_EQ(c.link(0, 0).trainings, 1u);
  c.set_power(1, false);
  EXPECT_FALSE(c.power(1));
  EXPECT_EQ(c.link(0, 0).state, card::Link::down) << "an IPU without power has no links";
  EXPECT_EQ(error(card::Command::reset_ipu, {1}), card::Error::not_now);
  EXPECT_EQ(error(card::Command::clock, {1, 1600}), card::Error::not_now);
  EXPECT_THROW((void)d.read_register(1, chip::kTiles), Error);
  EXPECT_EQ(c.sensors(1).power_mw == 0, false) << "mean since power-on";
  EXPECT_EQ(c.sensors(1).power_mw, 0u) << "off since the last reading";
  c.set_power(1, true);
  EXPECT_EQ(d.read_register(1, chip::kTiles), 2u);

  EXPECT_EQ(c.link(0, 0).state, card::Link::down);
  EXPECT_EQ(error(card::Command::link_train, {0, 0}), card::Error::timeout) << "the other end was not told";
  c.train_link(1, 0);
  EXPECT_EQ(c.link(0, 0).state, card::Link::up);
  EXPECT_EQ(c.link(0, 0).trainings, 2u);
  EXPECT_EQ(c.link(1, 0).trainings, 1u);
  EXPECT_EQ(c.sensors(0).alarm_mc, p.card.alarm_mc);
  const auto log = c.log();
  ASSERT_GE(log.size(), 3u);
  EXPECT_EQ(log.front().kind, card::Log::power_on);
  EXPECT_TRUE(
      std::is_sorted(log.begin(), log.end(), [](const auto& a, const auto& b) { return a.time_us < b.time_us; }));
}

TEST(Card, ResetOfAnIpuClearsItsMemory) {
  Machine m(tlm_system(small_platform(2)));
  Driver d(m.transport);
  std::uint32_t word = 0x5a5a5a5a;
  d.write_tile(0, 1, kSramBase + 64, &word, 1);
  d.card(0).reset_ipu(0);
  d.read_tile(0, 1, kSramBase + 64, &word, 1);
  EXPECT_EQ(word, 0u);
}

TEST(Card, MailboxKeepsToItsRulesInRaces) {
  Registers r(tlm_system(small_platform(2, 2)));
  r.set(chip::kMailboxCommand, 1);
  r.set(chip::kMailboxDoorbell, 1);
  EXPECT_EQ(r.field(chip::kMailboxStatusRefused), 1u) << "not ready";
  EXPECT_EQ(r.field(chip::kMailboxStatusBusy), 0u);
  ASSERT_TRUE(r.reach(card::State::ready));
  const auto ping = static_cast<std::uint32_t>(card::Command::self_test);
  r.set(chip::kMailboxCommand, ping | 0x4200);
  r.set(chip::kMailboxArgument, 5);
  r.set(chip::kMailboxDoorbell, 1);
  EXPECT_EQ(r.field(chip::kMailboxStatusBusy), 1u);
  EXPECT_EQ(r.field(chip::kMailboxStatusRefused), 0u);
  r.set(chip::kMailboxCommand, 1);  // another command while busy: ignored
  r.set(chip::kMailboxArgument, 6);
  r.set(chip::kMailboxDoorbell, 1);
  EXPECT_EQ(r.field(chip::kMailboxStatusRefused), 1u);
  EXPECT_EQ(r.get(chip::kMailboxCommand), ping | 0x4200u);
  EXPECT_EQ(r.get(chip::kMailboxArgument), 5u);
  // The other IPU's mailbox is its own; a reset of the IPU leaves the command alone.
  r.set(chip::kMailboxCommand, 0x0101, 1);
  r.set(chip::kMailboxArgument, 77, 1);
  r.set(chip::kMailboxDoorbell, 1, 1);
  r.set(chip::kControl, 1);
  for (unsigned n = 0; n < 200 && r.field(chip::kMailboxStatusDone, 1) == 0; ++n) r.transport.elapse(20'000);
  EXPECT_EQ(r.get(chip::kMailboxResponse), ping | 0x4200u);
  EXPECT_EQ(r.get(chip::kMailboxResponse, 1), 0x0101u);
  EXPECT_EQ(r.get(chip::kMailboxResult, 1), 77u);
  EXPECT_EQ(r.field(chip::kMailboxStatusBusy), 0u);
  EXPECT_NE(r.get(chip::kInterruptStatus) & 1u << 4, 0u);
}

TEST(CardFault, HungFirmwareIsReloadedOnceAndTheCommandDone) {
  Machine m(with_fault(small_platform(2), "card=0:hang,at_us=3000,wake=0"));
  Driver d(m.transport);
  m.transport.elapse(4'000'000);
  EXPECT_TRUE(d.card(0).ping(1));
  const driver::CardInfo info = d.card(0).info();
  EXPECT_EQ(info.restarts, 1u);
  EXPECT_EQ(info.reset_cause, 1u);
  EXPECT_EQ(d.read_register(0, chip::kTiles), 2u) << "the IPU has gone on";
}

TEST(CardFault, FirmwareThatHangsAgainIsToldAndAHotResetHelps) {
  Machine m(with_fault(small_platform(2), "card=0:hang,at_us=3000,times=2,wake=0"));
  std::string text;
  {
    Driver d(m.transport);
    m.transport.elapse(4'000'000);
    try {
      d.card(0).ping(1);
      d.card(0).ping(2);
      for (unsigned n = 0; n < 10; ++n) m.transport.elapse(2'000'000), d.card(0).ping(n);
    } catch (const Error& error) {
      text = error.what();
    }
    EXPECT_TRUE(holds(text, "hung again")) << text;
    EXPECT_TRUE(holds(text, "card 0 (")) << text;
    EXPECT_TRUE(holds(text, "last command begun: answer with the argument")) << text;
    EXPECT_TRUE(holds(text, "reset the card")) << text;
  }
  m.system.controller(0).reset_card();
  m.transport.elapse(1000);
  Driver again(m.transport);
  EXPECT_TRUE(again.card(0).ping(3));
  EXPECT_EQ(again.card(0).info().reset_cause, 2u);
}

TEST(CardFault, CrashLeavesARecord) {
  const std::string text = error_of(with_fault(small_platform(2), "card=0:crash,at_us=3000,wake=0"), [](Driver& d) {
    for (unsigned n = 0; n < 20; ++n) d.card(0).self_test();
  });
  EXPECT_TRUE(holds(text, "crashed: trap 2 at pc 0x0004")) << text;
  EXPECT_TRUE(holds(text, "last command begun: memory, image")) << text;
}

TEST(CardFault, ControllerThatIsNeverReadyTimesOut) {
  const std::string text = error_of(with_fault(small_platform(2), "card=0:no_ready"));
  EXPECT_TRUE(holds(text, "not ready within 100000 us")) << text;
  EXPECT_TRUE(holds(text, "card 0 (")) << text;
}

TEST(CardFault, PllThatNeverLocksFailsAndOneThatDoesLaterIsLogged) {
  const std::string text = error_of(with_fault(small_platform(2, 2), "card=0:pll_no_lock,ipu=1"));
  EXPECT_TRUE(holds(text, "a PLL did not lock")) << text;
}

TEST(CardFault, PllThatLocksAtTheThirdTryIsLogged) {
  Machine m(with_fault(small_platform(2), "card=0:pll_no_lock,times=2"));
  Driver d(m.transport);
  unsigned retries = 0;
  for (const driver::CardLogEntry& entry : d.card(0).log()) retries += entry.kind == card::Log::pll_retry;
  EXPECT_EQ(retries, 2u);
}

TEST(CardFault, OneWrongAnswerIsAskedAgainTwoAreAnError) {
  EXPECT_EQ(error_of(with_fault(small_platform(2), "card=0:bad_response"), [](Driver& d) { d.card(0).ping(1); }), "");
}

TEST(CardFault, TwoWrongAnswersAreAnError) {
  const std::string text =
      error_of(with_fault(small_platform(2), "card=0:bad_response,times=2"), [](Driver& d) { d.card(0).ping(1); });
  EXPECT_TRUE(holds(text, "with tag")) << text;
}

TEST(CardFault, SlowControllerTimesOutAndNamesTheCommand) {
  const std::string text = error_of(with_fault(small_platform(2), "card=0:slow,us=5000,at_us=3000"), [](Driver& d) {
    for (unsigned n = 0; n < 1000; ++n) d.card(0).ping(n);
  });
  EXPECT_TRUE(holds(text, "did not answer the command 'answer with the argument and the version' within 20000 us"))
      << text;
}

TEST(CardFault, OverTemperatureIsAnAlarmThatTheHostSees) {
  Machine m(with_fault(small_platform(2, 2), "card=0:over_temperature,ipu=1,mc=101000,at_us=3000"));
  Driver d(m.transport);
  EXPECT_FALSE(d.card(0).sensors(1).alarm);
  m.transport.elapse(5'000'000);
  EXPECT_TRUE(d.card(0).sensors(1).alarm);
  EXPECT_EQ(d.card(0).sensors(1).temperature_mc, 101000u);
  EXPECT_FALSE(d.card(0).sensors(0).alarm);
  EXPECT_NE(chip::kMailboxStatusAlarm.get(d.read_register(0, chip::kMailboxStatus)), 0u);
  bool logged = false;
  for (const driver::CardLogEntry& entry : d.card(0).log())
    logged = logged || (entry.kind == card::Log::alarm && entry.a == 1 && entry.b == 101000);
  EXPECT_TRUE(logged);
}

TEST(CardFault, WrongImagesAndFaultsAreUsageErrors) {
  const auto usage = [](const std::function<void()>& act) {
    try {
      act();
    } catch (const Error& error) {
      return error.category() == Category::usage ? std::string(error.what()) : "category";
    }
    return std::string("nothing");
  };
  const std::vector<std::uint8_t> image = FirmwareImage::embedded();
  const auto parse = [&](std::vector<std::uint8_t> bytes) {
    return usage([&] { (void)FirmwareImage::parse(std::move(bytes), "there", 65536); });
  };
  EXPECT_EQ(parse(image), "nothing");
  EXPECT_TRUE(holds(parse({image.begin(), image.begin() + 20}), "header"));
  EXPECT_TRUE(holds(parse({image.begin(), image.end() - 4}), "cut or padded"));
  std::vector<std::uint8_t> damaged = image;
  damaged[100] ^= 1;
  EXPECT_TRUE(holds(parse(damaged), "checksum"));
  damaged = image;
  damaged[0] ^= 1;
  EXPECT_TRUE(holds(parse(damaged), "TCFW"));
  EXPECT_TRUE(holds(usage([&] { (void)FirmwareImage::parse(image, "there", 1024); }), "card.ram_bytes"));
}

/// When everything of a boot happens: not one picosecond depends on anything but the platform.
std::string boot_times(const std::string& platform, unsigned threads, Cycle quantum) {
  SystemConfig config = tlm_system(load_platform(platform));
  config.threads = threads;
  config.quantum = quantum;
  Machine m(config);
  Driver d(m.transport);
  std::string text = fmt::format("driver {}\n", sc_core::sc_time_stamp().value());
  for (unsigned c = 0; c < d.cards(); ++c) {
    const driver::CardInfo info = d.card(c).info();
    text += fmt::format("card {} ready {} up {} down {} instructions {} accesses {}\n", c, info.ready_us, info.links_up,
                        info.links_down, m.system.controller(c).retired(), m.system.controller(c).accesses());
    for (const driver::CardLogEntry& e : d.card(c).log())
      text += fmt::format("  {} {} {} {}\n", e.time_us, static_cast<unsigned>(e.kind), e.a, e.b);
  }
  return text + fmt::format("end {}\n", sc_core::sc_time_stamp().value());
}

TEST(CardBoot, TimesAreThoseOfThePlatformAlone) {
  for (const std::string platform : {"c2", "dss8440"}) {
    const std::string want = elsewhere([&] { return boot_times(platform, 1, Cycle{1} << 20); });
    EXPECT_TRUE(holds(want, "card 0 ready ")) << want;
    EXPECT_TRUE(holds(want, " down 0 ")) << want;
    EXPECT_EQ(elsewhere([&] { return boot_times(platform, 1, Cycle{1} << 20); }), want);
    EXPECT_EQ(elsewhere([&] { return boot_times(platform, 4, 1000); }), want);
  }
}

}  // namespace
}  // namespace tessera::testing
