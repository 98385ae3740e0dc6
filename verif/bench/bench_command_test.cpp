// `tessera bench` as a user runs it: figures with units, positive, all rounds; wrong names. No speed is judged.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "verif/support/run_command.h"

namespace tessera::test {
namespace {

using Json = nlohmann::json;

Json bench(std::vector<std::string> arguments, const CommandOptions& options = {}) {
  const std::string file = scratch_directory() + "/figures.json";
  arguments.insert(arguments.begin(), "bench");
  arguments.insert(arguments.end(), {"--quick", "--json", file});
  const Outcome outcome = tessera(arguments, options);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("benchmark"), std::string::npos);
  return Json::parse(read_file(file));
}

/// Checks every figure of a benchmark; returns how many there are.
std::size_t check_figures(const Json& benchmark, std::size_t rounds) {
  std::set<std::string> names;
  for (const Json& figure : benchmark.at("figures")) {
    const auto name = figure.at("name").get<std::string>();
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_FALSE(figure.at("unit").get<std::string>().empty()) << name;
    EXPECT_FALSE(figure.at("meaning").get<std::string>().empty()) << name;
    const std::set<std::string> no_time = {"ratio", "MiB", "KiB", "cycles", "%", "samples/s"};  // no clock of this host
    EXPECT_EQ(figure.contains("wall"), no_time.count(figure.at("unit")) == 0) << name;
    for (const char* clock : {"cpu", "wall"}) {
      if (!figure.contains(clock)) continue;
      const Json& values = figure.at(clock);
      EXPECT_EQ(values.at("rounds").size(), rounds) << name;
      for (const Json& value : values.at("rounds")) EXPECT_GT(value.get<double>(), 0) << name;
      EXPECT_LE(values.at("min").get<double>(), values.at("median").get<double>()) << name;
      EXPECT_LE(values.at("median").get<double>(), values.at("max").get<double>()) << name;
    }
  }
  return names.size();
}

TEST(Bench, IssAndRtlGivePositiveFiguresWithUnits) {
  const Json result = bench({"rtl", "iss", "--rounds", "2"});
  ASSERT_EQ(result.at("benchmarks").size(), 2u);
  EXPECT_EQ(result["benchmarks"][0]["name"], "iss");
  EXPECT_EQ(check_figures(result["benchmarks"][0], 2), 10u);
  EXPECT_EQ(result["benchmarks"][1]["name"], "rtl");
  EXPECT_EQ(check_figures(result["benchmarks"][1], 2), 7u);
  EXPECT_FALSE(result.at("host").at("cpu").get<std::string>().empty());
  EXPECT_FALSE(result.at("host").at("compiler").get<std::string>().empty());
}

TEST(Bench, AllBenchmarksRun) {
  const Json result = bench({"--rounds", "1"});
  ASSERT_EQ(result.at("benchmarks").size(), 10u);
  std::size_t figures = 0;
  for (const Json& benchmark : result["benchmarks"]) figures += check_figures(benchmark, 1);
  EXPECT_GE(figures, 53u);
}

TEST(Bench, NetworksTellMachineAndHost) {
  const Json result = bench({"networks", "--rounds", "3"});
  const Json& networks = result.at("benchmarks").at(0);
  EXPECT_GE(check_figures(networks, 1), 25u) << networks.at("notes");
  std::set<std::string> names;
  for (const Json& figure : networks.at("figures")) names.insert(figure.at("name").get<std::string>());
  for (const char* name : {"digits cycles", "resnet50 AMP 1x1 convolution", "resnet50 utilisation", "bert run",
                           "lstm1536 cycles a step", "resnet50 fullest tile", "resnet50 peak memory"})
    EXPECT_EQ(names.count(name), 1U) << name;
}

TEST(Bench, ANetworkIsChosenByName) {
  const Json result = bench({"lstm1536"});
  ASSERT_EQ(result.at("benchmarks").size(), 1u);
  EXPECT_EQ(result["benchmarks"][0].at("name"), "lstm1536");
  EXPECT_GE(check_figures(result["benchmarks"][0], 1), 6u);
}

TEST(Bench, WithoutQemuTheRestIsMeasuredAndSaidSo) {
  CommandOptions options;
  options.environment = {"PATH=/nowhere"};
  const Json result = bench({"iss", "--rounds", "1"}, options);
  const Json& iss = result.at("benchmarks").at(0);
  EXPECT_EQ(check_figures(iss, 1), 6u);
  EXPECT_NE(iss.at("notes").at(0).get<std::string>().find("qemu-riscv32 is not installed"), std::string::npos);
}

TEST(Bench, UnknownNameListsTheValidOnes) {
  const Outcome outcome = tessera({"bench", "iss", "speed"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("'speed'"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("iss, amp, rtl, lockstep, exchange, link, scale, demo, digits"), std::string::npos)
      << outcome.err;
}

TEST(Bench, NoRoundsAreAUsageError) { EXPECT_EQ(tessera({"bench", "--rounds", "0"}).exit_code, 2); }

}  // namespace
}  // namespace tessera::test
