// `tessera demo` at full size: every word on every IPU compared, cycles against the bounds of the machine, the same
// cycles for any number of host threads. What takes long is in demo_slow_test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verif/demo/demo_command.h"

namespace tessera::test {
namespace {

/// Runs with two numbers of host threads; the figures are the same, and `values` are verified.
Json run_twice(std::vector<std::string> demo, std::uint64_t values) {
  const std::string directory = scratch_directory();
  const auto run = [&](const std::string& threads) {
    std::vector<std::string> arguments = demo;
    arguments.insert(arguments.end(), {"--threads", threads});
    return run_demo(directory, "threads" + threads, arguments);
  };
  const Json one = run("1");
  EXPECT_EQ(one.at("verified").at(0).at("values"), values);
  EXPECT_EQ(one.at("verified").at(0).at("failure"), "");
  const Json three = run("3");
  EXPECT_EQ(figures(three), figures(one));
  EXPECT_EQ(three.at("totals"), one.at("totals"));
  EXPECT_EQ(three.value("links", Json()), one.value("links", Json()));
  return one;
}

TEST(DemoFull, AllReduceOf1KBOnTheServer) {
  const Json result = run_twice({"allreduce", "--platform", "dss8440", "--bytes", "1KB"}, 16 * 250);
  const Json& links = result.at("links");
  EXPECT_GT(links.at("packets"), 2 * 16 * 15);
  EXPECT_EQ(links.at("crc_errors"), 0);
  EXPECT_EQ(links.at("replays"), 0);
}

TEST(DemoFull, WaveOfOneTileOfTheServer) {
  const std::string directory = scratch_directory(), wave = directory + "/one.vcd";
  const std::vector<std::string> demo = {"allreduce", "--platform", "dss8440", "--bytes", "1KB"};
  std::vector<std::string> arguments = demo;
  arguments.insert(arguments.end(), {"--wave", wave, "--wave-scope", "ipu3.tile0.*"});
  EXPECT_EQ(figures(run_demo(directory, "waved", arguments)), figures(run_demo(directory, "plain", demo)));
  const std::string text = read_file(wave);
  EXPECT_NE(text.find("$scope module ipu3 $end"), std::string::npos);
  EXPECT_EQ(text.find("$scope module ipu2 $end"), std::string::npos);
  EXPECT_EQ(text.find("$scope module tile1 $end"), std::string::npos);
}

TEST(DemoFull, AllReduceOf1MBOnTheServer) {
  const Json result = run_twice({"allreduce", "--platform", "dss8440", "--bytes", "1MB"}, 16 * 250000);
  EXPECT_GE(result.at("totals").at(0).at("ratio"), 1.0);
  EXPECT_LE(result.at("totals").at(0).at("ratio"), 1.65);
}

TEST(DemoFull, AllToAllOfAnIpuWithTilesOfEveryKind) {
  const std::string directory = scratch_directory();
  const Json plain = run_demo(directory, "tlm", {"alltoall", "--platform", "c2"});
  EXPECT_EQ(plain.at("verified").at(0).at("values"), 1216U * 1215 * (1 + 2 + 8));
  unsigned pieces = 0;
  for (const Json& phase : plain.at("phases")) {
    if (!phase.contains("ratio") || phase.at("ratio").is_null()) continue;
    EXPECT_LE(phase.at("ratio"), 1.02) << phase.dump();
    ++pieces;
  }
  EXPECT_EQ(pieces, 3U);
  const Json mixed =
      run_demo(directory, "mixed", {"alltoall", "--platform", "c2", "--rtl", "0,700", "--lockstep", "5"});
  EXPECT_EQ(figures(mixed), figures(plain));
  EXPECT_GT(mixed.at("lockstep").at("instructions"), 1000);
  EXPECT_EQ(mixed.at("tiles").at("rtl"), 2);
}

TEST(DemoFull, WorkersOfACardWithTilesOfEveryKind) {
  const std::string directory = scratch_directory();
  const Json plain = run_demo(directory, "tlm", {"workers", "--platform", "c2"});
  EXPECT_EQ(plain.at("verified").at(0).at("values"), 2U * 1216 * 6 * 12);
  const Json mixed =
      run_demo(directory, "mixed", {"workers", "--platform", "c2", "--rtl", "0:3,1:7", "--lockstep", "1:9"});
  EXPECT_EQ(figures(mixed), figures(plain));
  EXPECT_GT(mixed.at("lockstep").at("instructions"), 1000);
}

TEST(DemoFull, StencilOnOneIpu) {
  const Json result =
      run_twice({"stencil", "--platform", "c2", "--ipus", "1", "--size", "2048x2432", "--steps", "2"}, 2048 * 2432);
  EXPECT_EQ(result.at("exchange").at("phases_compared"), 2);
}

TEST(DemoFull, StencilOnSixteenIpus) {
  const Json result =
      run_twice({"stencil", "--platform", "dss8440", "--size", "2048x2432", "--steps", "2"}, 2048 * 2432);
  EXPECT_EQ(result.at("exchange").at("phases_compared"), 2 * 16);
  EXPECT_GT(result.at("links").at("packets"), 2 * 30);
}

}  // namespace
}  // namespace tessera::test
