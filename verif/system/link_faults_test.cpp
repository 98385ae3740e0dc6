// Whole machines whose links misbehave: packets still arrive bit for bit, counters tell what happened, and what cannot
// be recovered ends the run with its own error.
#include "hw/error.h"
#include "hw/generated/registers.h"
#include "verif/system/packet_bench.h"

namespace tessera {
namespace {

using namespace testing;

/// Each tile sends `words` words to the same tile of every other IPU, in each of `rounds`.
PacketProgram exchange_all(unsigned rounds, unsigned ipus, unsigned tiles, unsigned words) {
  PacketProgram program(rounds, ipus, tiles);
  for (unsigned round = 0; round < rounds; ++round)
    for (unsigned ipu = 0; ipu < ipus; ++ipu)
      for (unsigned t = 0; t < tiles; ++t)
        for (unsigned other = 0; other < ipus; ++other)
          if (other != ipu)
            program.tables[round][ipu][t].writes.push_back(
                {words, kSource, other, t, kTarget + 4 * words * (round * ipus + ipu)});
  program.expect_all();
  return program;
}

unsigned compare_all(PacketRun& run, unsigned rounds, unsigned words) {
  unsigned compared = 0, wrong = 0;
  for (unsigned ipu = 0; ipu < run.program.ipus(); ++ipu)
    for (unsigned t = 0; t < run.program.tiles(); ++t)
      for (unsigned round = 0; round < rounds; ++round)
        for (unsigned from = 0; from < run.program.ipus(); ++from) {
          if (from == ipu) continue;
          const unsigned slot = round * run.program.ipus() + from;
          const auto data = run.memory(ipu, t, kTarget + 4 * words * slot, words);
          for (unsigned n = 0; n < words; ++n, ++compared) wrong += data[n] != PacketProgram::content(from, t, n);
        }
  EXPECT_EQ(wrong, 0u);
  return compared;
}

SystemConfig with_faults(const Platform& p, const std::vector<std::string>& faults) {
  SystemConfig config = tlm_system(p);
  for (const std::string& fault : faults) config.injections.push_back(parse_injection(fault, "test"));
  return config;
}

std::uint32_t link_register(PacketRun& run, unsigned ipu, unsigned port, std::uint32_t offset) {
  std::uint32_t value = 0;
  sc_core::sc_time delay;
  run.machine.system.chip(ipu).bar_read(0, offset + 64 * port, reinterpret_cast<std::uint8_t*>(&value), 4, delay);
  return value;
}

LinkCounters sum(PacketRun& run) {
  LinkCounters all;
  for (unsigned ipu = 0; ipu < run.machine.system.ipus(); ++ipu)
    for (unsigned port = 0; port < run.machine.system.chip(ipu).links(); ++port) {
      const LinkCounters& c = run.machine.system.chip(ipu).link(port).counters();
      all.crc_errors += c.crc_errors;
      all.sequence_errors += c.sequence_errors;
      all.replays += c.replays;
      all.packets_sent += c.packets_sent;
      all.packets_received += c.packets_received;
      all.trainings += c.trainings;
    }
  return all;
}

TEST(LinkFaults, EveryKindAtOnceAndAllArrives) {
  Platform p = linked_platform(4, 2);
  p.faults = {"link=*:bit_errors,rate_e12=20000000", "link=0.0:lose,count=3"};
  const PacketProgram program = exchange_all(4, 4, 4, 64);
  SystemConfig config = with_faults(
      p, {"link=*:lose,rate_e12=20000000000", "link=*:double,rate_e12=20000000000",
          "link=*:lose_ack,rate_e12=50000000000", "link=1.2:stall_credits,at=0,for=3000", "link=2.0:lanes,count=3"});
  config.seed = 5;
  PacketRun run(program, config);
  run.finish();
  EXPECT_EQ(compare_all(run, 4, 64), 4 * 4 * 4 * 3 * 64u);
  const LinkCounters all = sum(run);
  EXPECT_EQ(all.packets_sent, all.packets_received);
  EXPECT_GT(all.packets_sent, 4 * 4 * 4 * 3u) << "some go over two links";
  EXPECT_GT(all.crc_errors, 0u);
  EXPECT_GT(all.sequence_errors, 0u);
  EXPECT_GT(all.replays, 0u);
  using namespace reg::chip;
  EXPECT_EQ(link_register(run, 2, 0, kLinkStatus), 3u | 5u << 8) << "up with five lanes";
  EXPECT_EQ(link_register(run, 0, 0, kLinkPeer), 1u);
  EXPECT_EQ(link_register(run, 0, 15, kLinkStatus), 0u);
  EXPECT_GT(link_register(run, 0, 0, kLinkReplays), 0u);
}

TEST(LinkFaults, ALinkThatComesBackCostsTime) {
  const Platform p = linked_platform(4);
  const PacketProgram program = exchange_all(2, 2, 4, 64);
  // Broken long before and after the first packets: two or more attempts to train.
  PacketRun run(program, with_faults(p, {"link=*:down,at=1000,for=150"}));
  run.finish();
  EXPECT_EQ(compare_all(run, 2, 64), 2 * 4 * 2 * 64u);
  for (unsigned port = 0; port < 6; ++port) EXPECT_EQ(run.machine.system.chip(1).link(port).counters().trainings, 2u);
}

TEST(LinkFaults, ALinkThatStaysDownEndsTheRun) {
  const Platform p = linked_platform(4);
  const PacketProgram program = exchange_all(1, 2, 4, 64);
  PacketRun run(program, with_faults(p, {"link=1.3:down"}));
  try {
    const driver::Event event = run.driver.wait();
    ADD_FAILURE() << "event " << static_cast<int>(event.kind);
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::device_exception) << error.what();
    EXPECT_NE(std::string(error.what()).find("attempts to train it had no success"), std::string::npos) << error.what();
    EXPECT_TRUE(std::string(error.what()).find("IPU-Link 0.3 to 1.3") != std::string::npos ||
                std::string(error.what()).find("IPU-Link 1.3 to 0.3") != std::string::npos)
        << error.what();
  }
}

TEST(LinkFaults, ALinkThatNobodyTrainsIsInTheReport) {
  const Platform p = linked_platform(4);
  const PacketProgram program = exchange_all(1, 2, 4, 64);
  SystemConfig config = tlm_system(p);
  config.train_links = false;
  PacketRun run(program, config);
  try {
    const driver::Event event = run.driver.wait();
    ADD_FAILURE() << "event " << static_cast<int>(event.kind);
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::no_progress) << error.what();
    EXPECT_NE(std::string(error.what()).find("IPU-Link 0.0 to 1.0: down, 0 of 8 lanes"), std::string::npos)
        << error.what();
  }
}

TEST(LinkFaults, WhatIsUnknownIsRefused) {
  System system("system", tlm_system(linked_platform(4)));
  for (const char* fault :
       {"link=2.0:down", "link=0.6:down", "link=0:down", "link=0.0:melt", "link=*:melt", "link=0.0:lose,bits=2"}) {
    try {
      system.inject_link(parse_injection(fault, "test"));
      ADD_FAILURE() << fault;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::usage) << fault;
    }
  }
}

TEST(LinkFaults, RefusedBeforeTheRun) {
  Platform p = linked_platform(4);
  p.faults = {"lonk=0.0:down"};
  try {
    const System system("bad", tlm_system(p));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::usage);
    EXPECT_NE(std::string(error.what()).find("no faults of 'lonk'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tessera
