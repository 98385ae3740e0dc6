// What becomes of packets that cannot arrive: inactive tiles, links that are given up before and in a program, chips
// that only forward; and programs that come after one that was cut short with packets on the links.
#include <algorithm>

#include "hw/error.h"
#include "verif/system/packet_bench.h"

namespace tessera {
namespace {

using namespace testing;
using driver::Event;

SystemConfig with_faults(const Platform& p, const std::vector<std::string>& faults) {
  SystemConfig config = tlm_system(p);
  for (const std::string& fault : faults) config.injections.push_back(parse_injection(fault, "test"));
  return config;
}

TEST(PacketFaults, AnInactiveTileTakesNoPackets) {
  PacketProgram program(1, 2, 4);
  program.tables[0][0][2].writes = {{3, kSource, 1, 3, kTarget}};
  program.tables[0][0][1].writes = {{5, kSource, 1, 0, kTarget}};
  program.expect_all();
  const std::vector<bool> all(4, true);
  PacketRun run(program, tlm_system(linked_platform(4)), {}, {all, {true, true, true, false}});
  const Event event = run.driver.wait();
  ASSERT_EQ(event.kind, Event::Kind::exception);
  EXPECT_EQ(event.ipu, 0u);
  EXPECT_EQ(event.exception.kind, driver::ExceptionInfo::Kind::no_destination);
  EXPECT_EQ(event.exception.tile, 2u);
  EXPECT_EQ(event.exception.value, kTarget - kSramBase);
}

/// The error that ends a run.
Error error_of(PacketRun& run) {
  try {
    const Event event = run.driver.wait();
    ADD_FAILURE() << "event " << static_cast<int>(event.kind);
  } catch (const Error& error) {
    return error;
  }
  return Error(Category::usage, "none");
}

TEST(PacketFaults, ALinkThatStaysDownIsToldWithThePacketsThatWait) {
  // Lanes 0 and 1 of four tiles: lane 1, tiles 1 and 3, takes port 1.
  PacketProgram program(1, 2, 4);
  program.tables[0][0][1].writes = {{16, kSource, 1, 2, kTarget}, {300, kSource, 1, 2, kTarget + 0x1000}};
  program.expect_all();
  PacketRun run(program, with_faults(linked_platform(4), {"link=0.1:down"}));
  const Error error = error_of(run);
  const std::string what = error.what();
  EXPECT_EQ(error.category(), Category::device_exception) << what;
  EXPECT_NE(what.find("IPU-Link 0.1 to 1.1 was given up: 3 attempts to train it had no success; 1 packet waits for it"),
            std::string::npos)
      << what;
  EXPECT_NE(what.find("packet of IPU 0 tile 1 to IPU 1 tile 2 (offset 0xa000, 16 words from 0x46000)"),
            std::string::npos)
      << what;
  EXPECT_EQ(what.find("0.1", what.find("0.1") + 1), std::string::npos) << "the link is named once: " << what;
  const auto exception = run.driver.exception(0);
  ASSERT_TRUE(exception.has_value());
  EXPECT_EQ(exception->kind, driver::ExceptionInfo::Kind::link_failed);
  EXPECT_EQ(exception->value, 1u);
  EXPECT_EQ(run.driver.state(0), "excepted");
  EXPECT_EQ(run.driver.state(1), "running");
  EXPECT_FALSE(run.driver.exception(1).has_value());
}

TEST(PacketFaults, ALinkGivenUpBeforeTheProgramFaultsWhenItIsNeeded) {
  // Given up while everything is held: 100 cycles a training.
  PacketProgram program(2, 2, 4);
  program.tables[1][0][1].writes = {{16, kSource, 1, 2, kTarget}};
  program.expect_all();
  PacketRun run(program, with_faults(linked_platform(4), {"link=0.1:down,at=0"}));
  EXPECT_EQ(run.machine.system.chip(0).link(1).state(), LinkState::failed) << "before any packet";
  EXPECT_EQ(error_of(run).category(), Category::device_exception);
  EXPECT_EQ((run.log.release[{0, 1}].size()), 2u) << "the round that does not need it is run";
  EXPECT_EQ(run.driver.exception(0)->kind, driver::ExceptionInfo::Kind::link_failed);
}

TEST(PacketFaults, AForwardersLinkStopsTheSender) {
  // 0 to 3 goes over 1, which runs no program; its link to 3 is given up.
  const Platform p = linked_platform(4, 2);
  const Topology topology(p);
  PacketProgram program(1, 4, 4);
  program.tables[0][0][1].writes = {{100, kSource, 3, 0, kTarget}};
  program.expect_all();
  const unsigned port = topology.group(1, 3).at(1);
  PacketRun run(program, with_faults(p, {"link=" + Topology::name(1, port) + ":down"}), {{true}, {}, {true}, {true}},
                {}, {0, 2, 3});
  const Error error = error_of(run);
  EXPECT_EQ(error.category(), Category::device_exception) << error.what();
  EXPECT_NE(std::string(error.what()).find("IPU-Link " + Topology::name(1, port)), std::string::npos) << error.what();
  EXPECT_EQ(run.driver.exception(0)->kind, driver::ExceptionInfo::Kind::link_failed);
  EXPECT_EQ(run.driver.exception(0)->value, 1u << 8 | port);
  EXPECT_FALSE(run.driver.exception(3).has_value());
}

/// Releases and packets of a run from its first arrival on, and memory.
std::uint64_t trace(PacketRun& run) {
  const Cycle start = run.log.arrive.begin()->second.at(0);
  std::uint64_t h = 0xcbf29ce484222325u;
  const auto add = [&h](std::uint64_t value) { h = (h ^ value) * 0x100000001b3u; };
  for (const auto* times : {&run.log.arrive, &run.log.release, &run.log.done})
    for (const auto& [who, cycles] : *times)
      for (const Cycle c : cycles) add((c - start) * 4096 + who.first * 64 + who.second);
  for (unsigned ipu = 0; ipu < run.program.ipus(); ++ipu)
    for (unsigned t = 0; t < run.program.tiles(); ++t)
      for (const std::uint32_t word : run.memory(ipu, t, kTarget, 0x1400)) add(word);
  return h;
}

/// Everybody sends much in one round; the last tile of the last IPU has a bad descriptor.
PacketProgram cut_program() {
  PacketProgram program(1, 4, 4);
  for (unsigned ipu = 0; ipu < 4; ++ipu)
    for (unsigned t = 0; t < 4; ++t)
      program.tables[0][ipu][t].writes = {{2000, kSource, (ipu + 1) % 4, t, kTarget},
                                          {90, kSource, ipu ^ 3, t, kTarget}};
  program.expect_all();
  program.tables[0][3][3].writes.clear();
  program.tables[0][3][3].descriptors = {0, 0};
  return program;
}

constexpr const char* kForEver = "link=*:down";
struct AfterFault : ::testing::TestWithParam<const char*> {};

TEST_P(AfterFault, TheNextProgramIsLikeTheFirst) {
  Platform p = linked_platform(4, 2);
  p.link.training = std::string(GetParam()) == kForEver ? 100 : 700'000;  // longer than what follows the fault
  const PacketProgram cut = cut_program(), next = random_program(11, 4, 4, 3);
  const std::uint64_t first = in_child([&] {
    PacketRun run(next, tlm_system(p));
    run.finish();
    EXPECT_GT(check_words(run), 100u);
    return trace(run);
  });
  ASSERT_NE(first, 0u);
  const std::uint64_t second = in_child([&] {
    PacketRun run(cut, tlm_system(p));
    run.machine.system.inject_link(parse_injection(GetParam(), "test"));
    try {
      const Event event = run.driver.wait();
      EXPECT_EQ(event.kind, Event::Kind::exception);
      EXPECT_EQ(event.exception.cause, 29u);
      run.driver.wait(100'000);
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::device_exception) << error.what();
    }
    unsigned waiting = 0;
    for (unsigned ipu = 0; ipu < 4; ++ipu)
      for (unsigned port = 0; port < run.machine.system.chip(ipu).links(); ++port)
        waiting += run.machine.system.chip(ipu).link(port).outstanding();
    EXPECT_GT(waiting, 5u);
    for (unsigned ipu = 0; ipu < 4; ++ipu) run.driver.reset(ipu);
    if (std::string(GetParam()) == kForEver) run.machine.system.inject_link(parse_injection("link=*:clear", "test"));
    run.start(next);
    run.finish();
    EXPECT_GT(check_words(run), 100u);
    for (unsigned ipu = 0; ipu < 4; ++ipu) EXPECT_FALSE(run.driver.exception(ipu).has_value()) << ipu;
    return trace(run);
  });
  EXPECT_EQ(second, first);
}
// Credits that come late, a training in the middle of it, links that are given up.
INSTANTIATE_TEST_SUITE_P(Links, AfterFault,
                         ::testing::Values("link=*:stall_credits,for=3000000", "link=*:down,for=1000", kForEver),
                         [](const auto& info) {
                           return std::string(info.index == 0 ? "Stalled" : info.index == 1 ? "Trained" : "GivenUp");
                         });

}  // namespace
}  // namespace tessera
