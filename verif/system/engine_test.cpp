// The engine with several IPUs: they run as one program, tell the host once, and every run is like the one before it,
// whatever ended that. Hand-made executables on small machines.
#include "host/engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "hw/error.h"
#include "verif/system/bench.h"

namespace tessera {
namespace {

using namespace testing;
using executable::Executable;

constexpr Address kMain = kSramBase + start_region::kBytes, kData = kSramBase + 0x8000;
constexpr unsigned kTiles = 2;

/// Counts its runs, keeps who it is, meets the other IPUs, asks the host for a step, ends; runs again as the selector
/// says: 0 the same, 1 an illegal instruction on the IPU `faulty` while the others wait for it, 2 that IPU spins.
std::vector<std::uint32_t> program(unsigned faulty) {
  std::vector<std::uint32_t> code{i(Op::lui, 18, 0, kSramBase), i(Op::lw, 19, 18, start_region::ipu),
                                  i(Op::lw, 20, 18, start_region::replica), i(Op::lui, 21, 0, kData)};
  const std::size_t main = code.size();
  code.push_back(i(Op::lw, 22, 21, 0));
  code.push_back(i(Op::addi, 22, 22, 1));
  code.push_back(s(Op::sw, 21, 22, 0));
  code.push_back(s(Op::sw, 21, 19, 4));
  code.push_back(s(Op::sw, 21, 20, 8));
  sync_step(code, Zone::group1);
  sync_step(code, Zone::host, 1);
  sync_step(code, Zone::host, executable::kFinishedCode);
  code.push_back(i(Op::lw, 24, 18, executable::kEntrySelector - kSramBase));
  code.push_back(s(Op::beq, 24, 0, 4 * static_cast<std::int32_t>(main - code.size())));
  code.push_back(i(Op::addi, 25, 0, static_cast<std::int32_t>(faulty)));
  std::vector<std::uint32_t> wait;
  sync_step(wait, Zone::group1);
  code.push_back(s(Op::beq, 19, 25, 4 * static_cast<std::int32_t>(wait.size() + 1)));
  code.insert(code.end(), wait.begin(), wait.end());
  code.push_back(i(Op::addi, 26, 0, 2));
  code.push_back(s(Op::beq, 24, 26, 8));
  code.push_back(0);  // no instruction
  spin(code);
  return code;
}

Executable executable_for(unsigned ipus, unsigned faulty) {
  Executable e;
  e.name = "several";
  e.sram_bytes = 65536;
  executable::Program p;
  p.tiles = kTiles;
  p.regions = {{"start", kSramBase, kMain}};
  p.contents = {program(faulty)};
  p.shared = {{"control", kMain, 0, 1, {{0, kTiles - 1}}}};
  p.entries = {{"main", kMain}, {"fault", kMain}, {"spin", kMain}};
  p.tile_class = {0, 0};
  for (unsigned tile = 0; tile < kTiles; ++tile)
    p.tensors.push_back({"tile" + std::to_string(tile), "", graph::Type::u32, {3}, {{tile, kData, 4, 0, 3}}});
  e.programs.push_back(p);
  for (unsigned ipu = 0; ipu < ipus; ++ipu) e.instances.push_back({ipu, 0, 10 + ipu});
  e.host_steps.push_back({1, "main/step", {}, {}});
  return e;
}

std::vector<std::uint32_t> words(engine::Engine& engine, const std::string& tensor, std::size_t instance) {
  const std::vector<std::uint8_t> bytes = engine.read_tensor(tensor, instance);
  std::vector<std::uint32_t> result(bytes.size() / 4);
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

/// Starts, arrivals and releases, by tile; cycles from the first start.
class Times : public EventObserver {
 public:
  void event(const MachineEvent& e) override { events.push_back(e); }
  /// (IPU, tile, kind, cycle since the first start) up to the first host sync: what the host's time cannot change.
  [[nodiscard]] std::vector<std::tuple<unsigned, unsigned, MachineEvent::Kind, Cycle>> device_only() const {
    std::vector<std::tuple<unsigned, unsigned, MachineEvent::Kind, Cycle>> list;
    Cycle first = kNever;
    for (const MachineEvent& e : events) first = std::min(first, e.cycle);
    std::map<unsigned, bool> host;
    for (const MachineEvent& e : events) {
      const unsigned tile = e.ipu * kTiles + e.tile;
      if (!host[tile]) list.emplace_back(e.ipu, e.tile, e.kind, e.cycle - first);
      if (e.kind == MachineEvent::Kind::sync_arrive && e.a0 == static_cast<std::uint32_t>(Zone::host))
        host[tile] = true;
    }
    std::sort(list.begin(), list.end());  // IPUs emit theirs one after the other, in any order
    return list;
  }
  std::vector<MachineEvent> events;
};

class SeveralIpus : public ::testing::Test {
 protected:
  SeveralIpus() : executable_(executable_for(4, 2)) {}
  void build(std::function<void(SystemConfig&)> change = {}) {
    SystemConfig config = tlm_system(small_platform(kTiles, 2, 2));
    config.events = &times_;
    if (change) change(config);
    machine_ = std::make_unique<Machine>(config);
    driver_ = std::make_unique<driver::Driver>(machine_->transport);
  }
  Executable executable_;
  Times times_;
  std::unique_ptr<Machine> machine_;
  std::unique_ptr<driver::Driver> driver_;
};

TEST_F(SeveralIpus, RunAsOneProgramAndMeetTheHostOnce) {
  build();
  engine::Engine engine(executable_, *driver_);
  engine.load();
  const engine::RunResult first = engine.run();
  EXPECT_EQ(first.host_steps, 1u);
  ASSERT_EQ(first.instances.size(), 4u);
  EXPECT_EQ(first.instances[0].host_syncs, 1u);  // the finish is not released yet
  EXPECT_EQ(first.instances[3].host_syncs, 0u);  // only the root tells the host
  for (const auto& counters : first.instances) EXPECT_EQ(counters.instructions * 4, first.counters.instructions);
  (void)engine.run();
  for (unsigned ipu = 0; ipu < 4; ++ipu)
    for (const char* tile : {"tile0", "tile1"})
      EXPECT_EQ(words(engine, tile, ipu), (std::vector<std::uint32_t>{2, ipu, 10 + ipu})) << ipu;
  EXPECT_THROW((void)engine.read_tensor("tile0", 4), Error);

  std::vector<Cycle> starts, releases;
  for (const MachineEvent& e : times_.events) {
    if (e.kind == MachineEvent::Kind::start) starts.push_back(e.cycle);
    if (e.kind == MachineEvent::Kind::sync_release) releases.push_back(e.cycle);
  }
  ASSERT_EQ(starts.size(), 8u);
  EXPECT_EQ(*std::min_element(starts.begin(), starts.end()), *std::max_element(starts.begin(), starts.end()));
  std::map<Cycle, unsigned> together;
  for (const Cycle cycle : releases) ++together[cycle];
  ASSERT_EQ(together.size(), 5u);  // group, step, finish of the first run, group, step of the second
  for (const auto& [cycle, tiles] : together) EXPECT_EQ(tiles, 8u) << cycle;
}

TEST_F(SeveralIpus, AnExceptionAnywhereEndsTheRunAndLoadingStartsAfresh) {
  build();
  engine::Engine engine(executable_, *driver_);
  engine.load();
  const engine::RunResult first = engine.run();
  const auto times = times_.device_only();
  EXPECT_EQ(times.size(), 8u * 4);  // start, arrival and release of the group, arrival at the host
  try {
    (void)engine.run("fault");
    FAIL() << "no exception";
  } catch (const Error& e) {
    EXPECT_EQ(e.category(), Category::device_exception);
    EXPECT_NE(std::string(e.what()).find("illegal instruction"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("on IPU 2 tile 0 supervisor"), std::string::npos) << e.what();
  }
  EXPECT_THROW((void)engine.run(), Error);  // as it stands it cannot go on
  times_.events.clear();
  engine.load();
  const engine::RunResult again = engine.run();
  EXPECT_EQ(again.counters.instructions, first.counters.instructions);
  EXPECT_EQ(words(engine, "tile0", 3), (std::vector<std::uint32_t>{1, 3, 13}));
  EXPECT_EQ(times_.device_only(), times);
}

TEST_F(SeveralIpus, ATimeOutAndADeadlockLeaveNothingBehind) {
  build();
  engine::Options options;
  options.limit_ns = 2'000'000;
  engine::Engine engine(executable_, *driver_, options);
  engine.load();
  (void)engine.run();
  const auto times = times_.device_only();
  for (int round = 0; round < 2; ++round) {
    try {
      (void)engine.run("spin");
      FAIL() << "no time-out";
    } catch (const Error& e) {
      EXPECT_EQ(e.category(), Category::no_progress) << e.what();
    }
    times_.events.clear();
    engine.load();
    (void)engine.run();
    EXPECT_EQ(times_.device_only(), times);
  }
  // An IPU that does not run: the others wait for it for ever, which the machine finds out.
  engine.load();
  driver_->set_groups(1, true, false);
  std::vector<driver::Driver::Boot> boots{{0, kMain}, {2, kMain}};
  driver_->start(boots);
  try {
    (void)driver_->wait();
    FAIL() << "no deadlock";
  } catch (const Error& e) {
    EXPECT_EQ(e.category(), Category::no_progress) << e.what();
  }
  times_.events.clear();
  engine.load();
  (void)engine.run();
  EXPECT_EQ(times_.device_only(), times);
  for (unsigned ipu = 0; ipu < 4; ++ipu) EXPECT_EQ(words(engine, "tile1", ipu)[0], 1u);
}

TEST_F(SeveralIpus, HostTimeChangesNothingThatTheDeviceDoes) {
  build();
  std::mt19937_64 random(7);
  std::vector<std::tuple<unsigned, unsigned, MachineEvent::Kind, Cycle>> times;
  std::vector<std::uint64_t> instructions;
  for (int round = 0; round < 5; ++round) {
    engine::Options options;
    options.service_ns = random() % 5'000'000;
    options.prefetched_ns = random() % 1000;
    engine::Engine engine(executable_, *driver_, options);
    machine_->transport.elapse(random() % 3'000'000);
    times_.events.clear();
    engine.load();
    machine_->transport.elapse(random() % 3'000'000);
    const engine::RunResult result = engine.run();
    instructions.push_back(result.counters.instructions);
    if (round == 0) times = times_.device_only();
    EXPECT_EQ(times_.device_only(), times);
    EXPECT_EQ(words(engine, "tile1", 2), (std::vector<std::uint32_t>{1, 2, 12}));
  }
  EXPECT_EQ(std::count(instructions.begin(), instructions.end(), instructions.front()), 5);
}

TEST_F(SeveralIpus, TwoDriversShareAMachineByClaims) {
  build();
  driver::Driver other(machine_->transport, "another program");
  EXPECT_EQ(other.ipus(), 4u);
  for (unsigned ipu = 0; ipu < 4; ++ipu) {
    EXPECT_FALSE(other.holder(ipu));
    EXPECT_EQ(other.info(ipu).registers, driver_->info(ipu).registers);  // found as the first has set it up
  }
  other.claim(3);
  EXPECT_TRUE(other.claimed(3));
  const auto holder = driver_->holder(3);
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->client, "another program");
  EXPECT_FALSE(holder->mine);
  const auto refused = [](const std::function<void()>& step, const std::string& what) {
    try {
      step();
      ADD_FAILURE() << "not refused: " << what;
    } catch (const Error& e) {
      EXPECT_EQ(e.category(), Category::usage);
      EXPECT_NE(std::string(e.what()).find(what), std::string::npos) << e.what();
    }
  };
  engine::Engine engine(executable_, *driver_);
  refused([&] { engine.load(); }, "claimed already, by 'another program'");
  refused([&] { driver_->claim(3); }, "claimed already, by 'another program'");
  refused([&] { driver_->start(3, kMain); }, "claimed already, by 'another program'");
  refused([&] { other.claim(3); }, "claimed already, by this driver");
  refused([&] { driver_->release(3); }, "not claimed by this driver");

  // Both run at the same time, each on its own IPUs; interrupts find their driver.
  Executable mine = executable_for(3, 9), theirs = executable_for(1, 9);
  theirs.instances[0].ipu = 3;
  engine::Engine first(mine, *driver_), second(theirs, other);
  first.load();
  second.load();
  other.start(3, kMain);
  (void)first.run();
  const driver::Event event = other.wait();  // in no group: its sync is a trap
  ASSERT_EQ(event.kind, driver::Event::Kind::exception);
  EXPECT_EQ(event.exception.ipu, 3u);
  EXPECT_EQ(event.exception.cause, 25u);
  EXPECT_EQ(words(first, "tile0", 2), (std::vector<std::uint32_t>{1, 2, 12}));

  // Given back it is free and empty; a driver that dies keeps its claims, and recovering takes them over.
  other.release(3);
  EXPECT_FALSE(driver_->holder(3));
  std::uint32_t word = 1;
  driver_->read_tile(3, 0, kData, &word, 1);
  EXPECT_EQ(word, 0u);
  {
    driver::Driver dead(machine_->transport, "dead");
    dead.claim(3);
  }
  EXPECT_EQ(driver_->holder(3)->client, "dead");
  driver_->recover(3);
  EXPECT_TRUE(driver_->holder(3)->mine);
  engine.load();
  (void)engine.run();
  EXPECT_EQ(words(engine, "tile1", 3), (std::vector<std::uint32_t>{1, 3, 13}));
}

/// What `act` throws.
std::string device_error(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::device_exception) << error.what();
    return error.what();
  }
  return {};
}

void with_card_fault(SystemConfig& config, const std::string& fault) {
  config.platform.link = load_platform("c2").link;
  config.injections.push_back(parse_injection(fault, "test"));
}

TEST_F(SeveralIpus, AControllerThatDiesEndsTheRunAndItsCardIsRecovered) {
  build([](SystemConfig& config) { with_card_fault(config, "card=1:crash,at_us=6000"); });
  engine::Engine engine(executable_, *driver_);
  engine.load();
  times_.events.clear();
  const engine::RunResult fresh = engine.run();
  const auto fresh_times = times_.device_only();
  ASSERT_LT(machine_->transport.now_ns(), 6'000'000u) << "the fault comes while the program spins";
  const std::string text = device_error([&] { engine.run("spin"); });
  EXPECT_NE(text.find("the controller of IPU 2's card has died"), std::string::npos) << text;
  EXPECT_NE(text.find("crashed: trap 2 at pc 0x0004"), std::string::npos) << text;
  const Cycle died = driver_->exception(2)->cycle;
  EXPECT_GE(died, 6000u * 1600);
  EXPECT_LT(died, 6020u * 1600) << "the trap handler takes its time";
  EXPECT_EQ(driver_->exception(3)->kind, driver::ExceptionInfo::Kind::card);
  EXPECT_FALSE(driver_->exception(0)) << "its card is well";

  driver_->recover(2);
  EXPECT_EQ(driver_->card(1).info().reset_cause, 2u);
  EXPECT_TRUE(driver_->card(1).ping(5));
  EXPECT_TRUE(driver_->holder(2)->mine);
  EXPECT_TRUE(driver_->holder(3)->mine) << "it has kept its owner";
  EXPECT_EQ(driver_->read_register(3, reg::chip::kIpu), 3u);
  unsigned ends = 0;
  for (unsigned ipu = 0; ipu < 4; ++ipu)
    for (const driver::LinkInfo& link : driver_->links(ipu)) {
      ++ends;
      EXPECT_EQ(link.state, driver::LinkInfo::State::up) << driver::link_text(ipu, link);
      const bool concerned = ipu >= 2 || link.peer_ipu >= 2;
      if (ipu < 2) {
        EXPECT_EQ(link.trainings, concerned ? 2u : 1u) << driver::link_text(ipu, link);
      }
    }
  EXPECT_EQ(ends, 4 * 6u + 2 * 2 * 2u);

  engine.load();
  times_.events.clear();
  const engine::RunResult again = engine.run();
  EXPECT_EQ(times_.device_only(), fresh_times);
  EXPECT_EQ(again.counters.instructions, fresh.counters.instructions);
  EXPECT_EQ(words(engine, "tile1", 3), (std::vector<std::uint32_t>{1, 3, 13}));
}

TEST_F(SeveralIpus, ACardThatDoesNotComeBackIsTold) {
  build([](SystemConfig& config) { with_card_fault(config, "card=1:hang,at_us=6000,times=1000"); });
  engine::Engine engine(executable_, *driver_);
  engine.load();
  (void)engine.run();
  const std::string died = device_error([&] { engine.run("spin"); });
  EXPECT_NE(died.find("the firmware hung again"), std::string::npos) << died;
  const std::string text = device_error([&] { driver_->recover(3); });
  EXPECT_NE(text.find("the IPU could not be recovered: "), std::string::npos) << text;
  EXPECT_NE(text.find("; then: "), std::string::npos) << text;
  driver_->recover(0);  // the other card is not concerned
}

TEST_F(SeveralIpus, ManyWordsOfATileGoByDmaWhichIsFaster) {
  build();
  driver::Driver looker(machine_->transport, "looker");  // claims nothing, so that it may not use the DMA engine
  std::mt19937 random(5);
  std::vector<std::uint32_t> words(16000), read(words.size()), seen(words.size());
  for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random());
  const auto took = [&](const std::function<void()>& act) {
    const std::uint64_t begin = machine_->transport.now_ns();
    act();
    return machine_->transport.now_ns() - begin;
  };
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{1024}, std::size_t{4095}, std::size_t{4096}, words.size()}) {
    driver_->write_tile(1, 1, kData - 32768 + 4, words.data(), count);
    const std::uint64_t mine = took([&] { driver_->read_tile(1, 1, kData - 32768 + 4, read.data(), count); });
    const std::uint64_t theirs = took([&] { looker.read_tile(1, 1, kData - 32768 + 4, seen.data(), count); });
    EXPECT_TRUE(std::equal(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count), read.begin())) << count;
    EXPECT_TRUE(std::equal(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count), seen.begin())) << count;
    RecordProperty("ns_" + std::to_string(count), std::to_string(mine) + " " + std::to_string(theirs));
    if (count < 4096) {
      EXPECT_NEAR(static_cast<double>(mine), static_cast<double>(theirs), 2) << count;
    } else {
      EXPECT_LT(mine, theirs) << count;
    }
  }
  std::uint32_t before = 1;
  driver_->read_tile(1, 1, kData - 32768, &before, 1);
  EXPECT_EQ(before, 0u) << "nothing beside is touched";
  machine_->transport.elapse(1000);
  EXPECT_EQ(driver_->wait(1000).kind, driver::Event::Kind::timeout) << "the engine's interrupts are used up";
}

TEST_F(SeveralIpus, WrongExecutablesAreRefusedBeforeTheDeviceIsTouched) {
  build();
  Executable twice = executable_;
  twice.instances[3].ipu = 1;
  EXPECT_THROW(engine::Engine(twice, *driver_), Error);
  Executable large = executable_;
  large.instances[3].ipu = 4;
  EXPECT_THROW(engine::Engine(large, *driver_), Error);
  EXPECT_TRUE(times_.events.empty());
}

}  // namespace
}  // namespace tessera
