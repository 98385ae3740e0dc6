// `tessera demo` as users meet it: every demonstration on small machines, in TLM, RTL and lockstep, on any number of
// host threads: same figures, and values verified.
#include "verif/demo/demo_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::test {
namespace {

using testing::HasSubstr;

TEST(DemoCommand, AllToAllTakesItsCyclesInEveryModeAndOnAnyNumberOfThreads) {
  const std::string directory = scratch_directory();
  const Json tlm = run_demo(directory, "tlm", {"alltoall", "--platform", "pocket", "--check"});
  EXPECT_EQ(tlm.at("verified").at(0).at("values"), 16 * 15 * (1 + 2 + 8));
  EXPECT_EQ(tlm.at("exchange").at("phases_compared"), 3);
  EXPECT_EQ(tlm.at("exchange").at("words_received"), 16 * 15 * (1 + 2 + 8));
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"--rtl", "0,5"}, {"--lockstep", "3,15", "--rtl", "7"}, {"--rtl", "all"}, {"--threads", "4"}}) {
    std::vector<std::string> arguments = {"alltoall", "--platform", "pocket"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(figures(run_demo(directory, "other", arguments)), figures(tlm)) << more.front();
  }
}

TEST(DemoCommand, AllToAllOnOddMachines) {
  const std::string directory = scratch_directory();
  const std::string three = platform_file(directory, "three", {{"tiles", 3}, {"ipus_per_card", 2}});
  const Json one = run_demo(directory, "one", {"alltoall", "--platform", three, "--words", "5"});
  EXPECT_EQ(one.at("verified").at(0).at("values"), 3 * 2 * 5);
  const Json both = run_demo(directory, "both", {"alltoall", "--platform", three, "--ipus", "2", "--words", "5"});
  EXPECT_EQ(both.at("verified").at(0).at("values"), 2 * 3 * 2 * 5);
  EXPECT_EQ(both.at("exchange").at("phases_compared"), 2);
  const std::string lonely = platform_file(directory, "lonely", {{"tiles", 1}});
  const Outcome outcome = tessera({"demo", "alltoall", "--platform", lonely});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("nobody to exchange with"));
  const std::string small = platform_file(directory, "small", {{"tiles", 600}, {"sram_bytes", 65536}});
  const Outcome full = tessera({"demo", "alltoall", "--platform", small, "--words", "16"});
  EXPECT_EQ(full.exit_code, 4);
  EXPECT_THAT(full.err, HasSubstr("bytes"));
}

/// Every worker's twelve words are compared, and all pass.
void expect_workers(const Json& result, unsigned workers) {
  ASSERT_EQ(result.at("verified").size(), 2U);
  EXPECT_EQ(result.at("verified").at(0).at("values"), 12 * workers);
  EXPECT_EQ(result.at("verified").at(1).at("values"), workers);
  for (const Json& v : result.at("verified")) EXPECT_EQ(v.at("failure"), "");
}

TEST(DemoCommand, WorkersOfOneIpuHavePartnersByExchange) {
  const std::string directory = scratch_directory();
  const Json tlm = run_demo(directory, "tlm", {"workers", "--platform", "pocket", "--check"});
  expect_workers(tlm, 6 * 16);
  EXPECT_EQ(tlm.at("exchange").at("words_received"), 2 * 2 * 6 * 16);
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"--rtl", "all"}, {"--lockstep", "all"}, {"--threads", "4", "--rtl", "1", "--lockstep", "2-4"}}) {
    std::vector<std::string> arguments = {"workers", "--platform", "pocket"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(figures(run_demo(directory, "other", arguments)), figures(tlm)) << more.front();
  }
  const std::string three = platform_file(directory, "three", {{"tiles", 3}});
  expect_workers(run_demo(directory, "three_run", {"workers", "--platform", three, "--seed", "5"}), 6 * 3);
}

TEST(DemoCommand, WorkersFindAWrongBitOfAnother) {
  const std::string directory = scratch_directory();
  const Outcome outcome =
      tessera({"demo", "workers", "--platform", "pocket", "--flip", "0:5:3", "--json", directory + "/flip.json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("worker 3 of tile 5 of IPU 0 (code "));
  EXPECT_THAT(outcome.err, HasSubstr("worker 4 of tile 10 of IPU 0 refused the answer of worker 3 of tile 5 of IPU 0"));
  const Json result = Json::parse(read_file(directory + "/flip.json"));
  EXPECT_EQ(result.at("verified").at(1).at("values"), 6 * 16 - 1);
  const Outcome nobody = tessera({"demo", "workers", "--platform", "pocket", "--flip", "0:5:7"});
  EXPECT_EQ(nobody.exit_code, 2);
}

TEST(DemoCommand, TheExecutableRunsAlone) {
  const std::string directory = scratch_directory();
  const std::string file = directory + "/alltoall.tsx";
  const Json demo = run_demo(directory, "demo", {"alltoall", "--platform", "pocket", "-o", file});
  const Outcome outcome = tessera({"exec", file, "--json", directory + "/exec.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json exec = Json::parse(read_file(directory + "/exec.json"));
  EXPECT_EQ(exec.at("cycles"), demo.at("cycles"));
  EXPECT_EQ(exec.at("exchange").at("words_received"), demo.at("exchange").at("words_received"));
}

TEST(DemoCommand, ReportAndWave) {
  const std::string directory = scratch_directory();
  const Json demo = run_demo(directory, "demo",
                             {"alltoall", "--platform", "pocket", "--words", "1", "--rtl", "2", "--report",
                              directory + "/report", "--wave", directory + "/a.vcd", "--wave-scope", "tile2.*"});
  EXPECT_GT(demo.at("wave").at("changes"), 100);
  const Json report = Json::parse(read_file(directory + "/report/report.json"));
  EXPECT_EQ(report.at("phases"), demo.at("phases"));
  EXPECT_THAT(read_file(directory + "/report/report.txt"), HasSubstr("pieces of 1 word"));
}

TEST(DemoCommand, WrongUseIsSaid) {
  const Outcome unknown = tessera({"demo", "nothing", "--platform", "pocket"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("valid names: "));
  const Outcome number = tessera({"demo", "alltoall", "--platform", "pocket", "--words", "65"});
  EXPECT_EQ(number.exit_code, 2);
  EXPECT_THAT(number.err, HasSubstr("from 1 to 64"));
}

}  // namespace
}  // namespace tessera::test
