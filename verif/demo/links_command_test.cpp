// All-reduce and stencil by `tessera demo`, on small machines of several IPUs: the same figures in TLM, RTL and
// lockstep and for any number of threads; the same bits when links err, lose their line and come back; a report when
// one stays down.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verif/demo/demo_command.h"

namespace tessera::test {
namespace {

using testing::HasSubstr;

/// `cards` cards of two IPUs of 16 tiles with the links of the server.
std::string cards(const std::string& directory, unsigned count, const std::vector<std::string>& faults = {}) {
  Json changes = {{"cards", count}, {"ipus_per_card", 2}, {"faults", faults}};
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

TEST(LinksCommand, TopologiesByFile) {
  const std::string directory = scratch_directory();
  const auto joined = [&](const std::string& name, unsigned ipus, const Json& links) {
    return platform_file(directory, name,
                         {{"cards", ipus}, {"topology", {{"links", links}, {"routes", Json::array()}}}});
  };
  const Json line = Json::array({Json::array({0, 1, 1}), Json::array({1, 2, 2})});
  const Json three = run_demo(
      directory, "line", {"allreduce", "--bytes", "12KB", "--way", "ring", "--platform", joined("three", 3, line)});
  EXPECT_EQ(three.at("verified").at(0).at("values"), 3 * 3000);
  EXPECT_THAT(three.at("about").dump(), HasSubstr("not all of its IPUs are neighbours"));
  const Outcome apart =
      tessera({"demo", "allreduce", "--platform", joined("apart", 3, Json::array({Json::array({0, 1, 1})}))});
  EXPECT_EQ(apart.exit_code, 2);
  EXPECT_THAT(apart.err, HasSubstr("no links lead from IPU 0 to IPU 2"));
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
