// The demonstration `workers` on machines of several IPUs, every word of every worker compared with the host's; the
// whole server in WorkersFull.
#include <gtest/gtest.h>

#include <cstring>

#include "host/demo/demo.h"
#include "hw/error.h"
#include "verif/demo/demo_machine.h"

namespace tessera::demo {
namespace {

Platform machine_of(unsigned cards, unsigned ipus_per_card, unsigned tiles) {
  Platform platform = load_platform("dss8440");
  platform.tiles_per_column = 4;
  platform.cards = cards;
  platform.ipus_per_card = ipus_per_card;
  platform.tiles = tiles;
  return platform;
}

std::vector<Verdict> run(const Platform& platform, const std::string& flip = {}) {
  const Demonstration demo = demonstration("workers").make(platform, Arguments({{"flip", flip}}, 3));
  testing::DemoMachine machine(demo.executable, platform);
  machine.run();
  EXPECT_TRUE(machine.phases().differences().empty());
  Memory memory;
  memory.tensor = [&](const std::string& name, std::size_t instance) {
    return machine.read<std::uint32_t>(name, instance);
  };
  return demo.verify(memory);
}

void expect_all(const std::vector<Verdict>& verdicts, std::uint64_t workers) {
  ASSERT_EQ(verdicts.size(), 2U);
  EXPECT_EQ(verdicts[0].values, 12 * workers);
  EXPECT_EQ(verdicts[0].failure, "");
  EXPECT_EQ(verdicts[1].values, workers);
  EXPECT_EQ(verdicts[1].failure, "");
}

TEST(Workers, OneIpu) { expect_all(run(machine_of(1, 1, 16)), 6 * 16); }
TEST(Workers, OneTile) { expect_all(run(machine_of(1, 1, 1)), 6); }
TEST(Workers, OneCard) { expect_all(run(machine_of(1, 2, 16)), 2 * 6 * 16); }
TEST(Workers, FourIpusWithAnOddNumberOfTiles) { expect_all(run(machine_of(2, 2, 5)), 4 * 6 * 5); }
TEST(Workers, SixteenIpus) { expect_all(run(machine_of(8, 2, 8)), 16 * 6 * 8); }

TEST(Workers, AWrongBitOfOneIsFoundByItsPartner) {
  const std::vector<Verdict> verdicts = run(machine_of(2, 2, 6), "2:4:6");
  EXPECT_NE(verdicts[0].failure.find("worker 6 of tile 4 of IPU 2 (code "), std::string::npos) << verdicts[0].failure;
  EXPECT_NE(verdicts[1].failure.find("refused the answer of worker 6 of tile 4 of IPU 2"), std::string::npos)
      << verdicts[1].failure;
  EXPECT_EQ(verdicts[1].values, 4U * 6 * 6 - 1);
}

TEST(WorkersFull, EveryWorkerOfTheServer) {
  const Platform platform = load_platform("dss8440");
  expect_all(run(platform), 116736);
}

}  // namespace
}  // namespace tessera::demo
