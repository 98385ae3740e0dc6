// All-reduce and stencil by `tessera demo`, on small machines of several IPUs: the same figures in TLM, RTL and
// lockstep and for any number of threads; the same bits when links err, lose their line and come back; a report when
// one stays down.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verif/demo/demo_command.h"

namespace tessera::test {
namespace {

using testing::HasSubstr;

/// `cards` cards of two IPUs with the links of the server.
std::string cards(const std::string& directory, unsigned count, const std::vector<std::string>& faults = {},
                  unsigned tiles = 16) {
  Json changes = {{"cards", count}, {"ipus_per_card", 2}, {"faults", faults}, {"tiles", tiles}};
  changes["link"] = Json::parse(read_file(source_path("hw/platforms/dss8440.json"))).at("link");
  return platform_file(directory, faults.empty() ? "sound" : "faulty", changes);
}

void expect_same_in_every_mode(const std::vector<std::string>& demo, std::uint64_t values) {
  const std::string directory = scratch_directory();
  const std::string platform = cards(directory, 1);
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), demo.begin(), demo.end());
    more.insert(more.end(), {"--platform", platform});
    return run_demo(directory, "run", more);
  };
  const Json tlm = run({"--check"});
  EXPECT_EQ(tlm.at("verified").at(0).at("values"), values);
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"--rtl", "0:0,1:5"}, {"--lockstep", "0:3,1:15", "--rtl", "1:2"}, {"--threads", "4"}})
    EXPECT_EQ(figures(run(more)), figures(tlm)) << more.front();
}

TEST(LinksCommand, AllReduceRingInEveryMode) {
  expect_same_in_every_mode({"allreduce", "--bytes", "20KB", "--way", "ring"}, 2 * 5000);
}

TEST(LinksCommand, AllReduceDirectInEveryMode) {
  expect_same_in_every_mode({"allreduce", "--bytes", "1KB", "--way", "direct"}, 2 * 250);
}

TEST(LinksCommand, StencilInEveryMode) {
  expect_same_in_every_mode({"stencil", "--size", "37x50", "--steps", "3"}, 37 * 50);
}

/// A program whose values are all right.
Json run_with(const std::vector<std::string>& demo, const std::vector<std::string>& faults) {
  const std::string directory = scratch_directory();
  std::vector<std::string> arguments = demo;
  arguments.insert(arguments.end(), {"--platform", cards(directory, 2, faults)});
  const Json result = run_demo(directory, "run", arguments);
  EXPECT_EQ(result.at("verified").at(0).at("failure"), "");
  return result;
}

TEST(LinksCommand, FaultsOfLinksCostCyclesAndChangeNoBit) {
  const std::vector<std::string> demo = {"allreduce", "--bytes", "200KB", "--way", "ring"};
  const Json result = run_with(demo, {});
  const std::uint64_t sound = result.at("cycles"), start = result.at("start_cycle");
  EXPECT_EQ(run_with(demo, {}).at("cycles"), sound);
  EXPECT_GT(run_with(demo, {"link=*:bit_errors,rate_e12=20000000,seed=5"}).at("cycles"), sound);
  // All lines are broken for a while in the middle of the ring, then trained anew.
  const std::string when = std::to_string(start + sound / 2);
  EXPECT_GT(run_with(demo, {"link=*:down,at=" + when + ",for=500"}).at("cycles"), sound + 10000);
}

TEST(LinksCommand, ALinkThatStaysDownEndsTheRunWithItsName) {
  const std::string directory = scratch_directory();
  const Outcome outcome = tessera({"demo", "allreduce", "--bytes", "200KB", "--way", "ring", "--platform",
                                   cards(directory, 2, {"link=0.0:down,at=1000"})});
  EXPECT_EQ(outcome.exit_code, 5) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("0.0"));
}

TEST(LinksCommand, InjectedBitErrorsAreCountedAndChangeNoBit) {
  const std::string directory = scratch_directory();
  const std::string platform = cards(directory, 2);
  for (const std::vector<std::string>& demo : std::vector<std::vector<std::string>>{
           {"allreduce", "--bytes", "100KB"}, {"stencil", "--size", "300"}, {"workers"}}) {
    std::vector<std::string> arguments = demo;
    arguments.insert(arguments.end(), {"--platform", platform});
    const Json sound = run_demo(directory, "sound_run", arguments);
    EXPECT_EQ(sound.at("links").at("crc_errors"), 0);
    EXPECT_EQ(sound.at("links").at("replays"), 0);
    arguments.insert(arguments.end(), {"--inject", "link=*:bit_errors,rate_e12=50000000,seed=5"});
    const Json result = run_demo(directory, "faulty_run", arguments);
    EXPECT_EQ(result.at("verified"), sound.at("verified")) << demo.front();
    EXPECT_GT(result.at("links").at("crc_errors"), 0) << demo.front();
    EXPECT_GT(result.at("links").at("replays"), 0) << demo.front();
    EXPECT_GT(result.at("cycles"), sound.at("cycles")) << demo.front();
  }
}

TEST(LinksCommand, AnyNumberOfTilesAndWords) {
  const std::string directory = scratch_directory();
  for (const unsigned tiles : {1U, 3U, 17U}) {
    const std::string platform = cards(directory, 2, {}, tiles);
    const auto values = [&](std::vector<std::string> demo) {
      demo.insert(demo.end(), {"--platform", platform});
      return run_demo(directory, "run", demo).at("verified").at(0).at("values").get<unsigned>();
    };
    for (const unsigned words : {1U, 3U, 251U, 17503U})
      for (const char* way : {"ring", "direct"})
        EXPECT_EQ(values({"allreduce", "--bytes", std::to_string(4 * words), "--way", way}), 4 * words);
    EXPECT_EQ(values({"stencil", "--size", "19x23", "--steps", "3"}), 19U * 23U);
    EXPECT_EQ(values({"workers"}), 12 * 4 * tiles * 6);
  }
  const Outcome odd = tessera({"demo", "allreduce", "--platform", cards(directory, 2), "--bytes", "1001"});
  EXPECT_EQ(odd.exit_code, 2);
  EXPECT_THAT(odd.err, HasSubstr("give a multiple of 4"));
}

/// All demonstrations that use links, on IPUs that are joined in some way: what the first says of itself.
std::string expect_all(const std::string& directory, const std::string& platform, unsigned ipus) {
  std::string about;
  for (const char* way : {"direct", "ring"}) {
    const Json result =
        run_demo(directory, way, {"allreduce", "--bytes", "20004", "--way", way, "--platform", platform});
    EXPECT_EQ(result.at("verified").at(0).at("values"), ipus * 5001);
    about = result.at("about").dump();
  }
  const Json field = run_demo(directory, "field", {"stencil", "--size", "33x47", "--platform", platform});
  EXPECT_EQ(field.at("verified").at(0).at("values"), 33 * 47);
  const Json workers = run_demo(directory, "workers", {"workers", "--platform", platform});
  EXPECT_EQ(workers.at("verified").at(1).at("values"), ipus * 16 * 6);
  return about;
}

TEST(LinksCommand, TopologiesByFile) {
  const std::string directory = scratch_directory();
  const auto joined = [&](const std::string& name, unsigned ipus, const Json& links,
                          const Json& routes = Json::array()) {
    return platform_file(directory, name, {{"cards", ipus}, {"topology", {{"links", links}, {"routes", routes}}}});
  };
  const Json line = Json::parse("[[0, 1, 1], [1, 2, 2]]");
  EXPECT_THAT(expect_all(directory, joined("line", 3, line), 3), HasSubstr("not all of its IPUs are neighbours"));
  const Json square = Json::parse("[[0, 1, 2], [1, 2, 2], [2, 3, 2], [0, 3, 2]]");
  EXPECT_THAT(expect_all(directory, joined("square", 4, square), 4), HasSubstr("ring 0 1 2 3: "));
  // Everybody the same way round: links that are full would wait for each other.
  const Json round = Json::parse("[[0, 2, 1], [1, 3, 2], [2, 0, 3], [3, 1, 0]]");
  const Outcome circle = tessera({"demo", "allreduce", "--platform", joined("circle", 4, square, round)});
  EXPECT_EQ(circle.exit_code, 2);
  EXPECT_THAT(circle.err, HasSubstr("in a circle: 0.0 > 1.2 > 2.2 > 3.2 > 0.0"));
  const Outcome apart = tessera({"demo", "allreduce", "--platform", joined("apart", 3, Json::parse("[[0, 1, 1]]"))});
  EXPECT_EQ(apart.exit_code, 2);
  EXPECT_THAT(apart.err, HasSubstr("no links lead from IPU 0 to IPU 2"));
}

TEST(LinksCommand, WaveOfChosenTilesOfAnyIpu) {
  const std::string directory = scratch_directory();
  const std::string platform = cards(directory, 1), wave = directory + "/chosen.vcd";
  const std::vector<std::string> demo = {"allreduce", "--bytes", "20KB", "--platform", platform};
  std::vector<std::string> arguments = demo;
  arguments.insert(arguments.end(), {"--rtl", "0:2,1:5", "--wave", wave, "--wave-scope", "ipu1.tile5.*"});
  const Json result = run_demo(directory, "waved", arguments);
  EXPECT_EQ(figures(result), figures(run_demo(directory, "plain", demo)));
  EXPECT_GT(result.at("wave").at("changes"), 1000);
  const std::string text = read_file(wave);
  EXPECT_THAT(text, HasSubstr("$scope module ipu1 $end"));
  EXPECT_THAT(text, HasSubstr("$scope module tile5 $end"));
  EXPECT_THAT(text, HasSubstr("$scope module tile_core $end"));
  EXPECT_EQ(text.find("$scope module ipu0 $end"), std::string::npos);
  EXPECT_EQ(text.find("$scope module tile2 $end"), std::string::npos);
}

TEST(LinksCommand, WhatCannotBeIsSaid) {
  const Outcome one = tessera({"demo", "allreduce", "--platform", "pocket"});
  EXPECT_EQ(one.exit_code, 2);
  EXPECT_THAT(one.err, HasSubstr("needs two IPUs or more"));
  const Outcome size = tessera({"demo", "allreduce", "--platform", "c2", "--bytes", "12XB"});
  EXPECT_EQ(size.exit_code, 2);
  EXPECT_THAT(size.err, HasSubstr("is no size"));
  const Outcome field = tessera({"demo", "stencil", "--platform", "pocket", "--size", "12x"});
  EXPECT_EQ(field.exit_code, 2);
  const Outcome full = tessera({"demo", "stencil", "--platform", "pocket", "--size", "2048"});
  EXPECT_EQ(full.exit_code, 4);
}

}  // namespace
}  // namespace tessera::test
