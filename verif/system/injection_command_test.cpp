// Faults asked for with --inject, through the command: every kind of card, PCI Express and link. What can be recovered
// changes no output, what cannot ends the run with exit code 5 and a text that names the place; nothing hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "verif/support/run_command.h"

namespace tessera::test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

const std::string kDigits = source_path("host/examples/digits");

struct Case {
  std::string fault;
  int exit_code = 0;
  std::vector<std::string> texts;  ///< in standard error
};

CommandOptions limited() {
  CommandOptions options;
  options.limit = std::chrono::seconds(60);
  return options;
}

void expect(const Outcome& outcome, const Case& c) {
  EXPECT_FALSE(outcome.timed_out) << c.fault;
  EXPECT_EQ(outcome.exit_code, c.exit_code) << c.fault << ": " << outcome.err;
  for (const std::string& text : c.texts) EXPECT_THAT(outcome.err, HasSubstr(text)) << c.fault;
}

/// The digits on pocket.
class RunWithFaults : public ::testing::Test {
 protected:
  RunWithFaults() : directory_(scratch_directory()) {
    const Outcome sound = run("sound", {});
    EXPECT_EQ(sound.exit_code, 0) << sound.err;
    const Json json = Json::parse(read_file(directory_ + "/sound.json"));
    output_ = read_file(directory_ + "/sound/output_0.pb");
    cycles_ = json.at("cycles");
    middle_ = std::to_string(json.at("start_cycle").get<std::uint64_t>() + cycles_ / 2);
  }
  Outcome run(const std::string& name, const std::vector<std::string>& faults, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {
        "run",   kDigits + "/digits.onnx", "--inputs",   kDigits, "--json", directory_ + "/" + name + ".json",
        "--out", directory_ + "/" + name,  "--platform", "pocket"};
    for (const std::string& fault : faults) arguments.insert(arguments.end(), {"--inject", fault});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return tessera(arguments, limited());
  }
  void expect_all(const std::vector<Case>& cases) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const std::string name = "case" + std::to_string(i);
      expect(run(name, {cases[i].fault}), cases[i]);
      if (cases[i].exit_code != 0) continue;
      EXPECT_EQ(read_file(directory_ + "/" + name + "/output_0.pb"), output_) << cases[i].fault;
    }
  }
  std::string directory_, output_, middle_;
  std::uint64_t cycles_ = 0;
};

TEST_F(RunWithFaults, OfTheCardsController) {
  const std::string at = "at=" + middle_;
  expect_all({
      {"card=0:hang", 5, {"card 0 (03:00.0)", "not ready within"}},  // before it has turned on the watchdog
      {"card=0:hang,at_us=500", 0, {}},
      {"card=0:hang," + at, 0, {}},
      {"card=0:crash", 5, {"card 0 ("}},
      {"card=0:crash," + at, 5, {"the controller of IPU 0's card has died", "crashed: trap 2", "card 0 ("}},
      {"card=0:no_ready", 5, {"card 0 (", "not ready within"}},
      {"card=0:slow,us=5000", 5, {"card 0 ("}},
      {"card=0:bad_response", 0, {}},
      {"card=0:bad_response,times=2", 5, {"answer with the argument", "with tag", "card 0 ("}},
      {"card=0:over_temperature,mc=120000," + at, 0, {}},
      {"card=0:pll_no_lock,times=2", 0, {}},
      {"card=0:pll_no_lock", 5, {"card 0 (", "a PLL did not lock"}},
  });
  const Case twice = {"two hangs", 5, {"card 0 (03:00.0)", "the firmware hung again"}};
  expect(run("twice", {"card=0:hang,at_us=500", "card=0:hang,at_us=2700"}), twice);
  // The second time while the host serves a step for long.
  const Case late = {"hangs in the run", 5, {"the controller of IPU 0's card has died", "the firmware hung again"}};
  expect(run("late", {"card=0:hang,times=2," + at}, {"--host-delay", "20000000"}), late);
}

TEST_F(RunWithFaults, OfPciExpress) {
  const std::string at = ",at=" + middle_;
  expect_all({
      {"pcie=0:lose_completion" + at, 5, {"IPU 0", "no completion came in time", "completion time-out at 03:00.0"}},
      {"pcie=0:lose_answer" + at, 5, {"IPU 0", "does not answer", "completion time-out at 00:00.0"}},
      {"pcie=0:poison_read" + at, 5, {"IPU 0", "marked as bad", "poisoned data at 03:00.0"}},
      {"pcie=0:poison_answer" + at, 5, {"IPU 0", "poisoned data at 00:00.0"}},
      {"pcie=0:poison_write" + at, 5, {"IPU 0", "marked as bad and were dropped", "poisoned data at 00:00.0"}},
      {"pcie=0:refuse" + at, 5, {"IPU 0", "was refused"}},
      {"pcie=0:abort" + at, 5, {"IPU 0", "completer abort"}},
      {"pcie=0:link_down" + at, 5, {"IPU 0", "the device is lost", "link lost at 02:00.0"}},
      {"pcie=0:link_down,for=1000" + at, 5, {"IPU 0", "the device is lost", "link lost at 02:00.0"}},
      {"pcie=0:link_down", 5, {"no IPU found on PCI Express"}},
      {"pcie=0:poison_read", 5, {"loader stopped", "poisoned data at 03:00.0", "recover the IPU"}},  // while loading
      {"pcie=0:abort,count=0", 5, {"loader stopped", "completer abort at 00:00.0"}},
      {"pcie=0:lose_completion", 5, {"loader", "completion time-out at 03:00.0"}},
      {"pcie=0:refuse", 5, {"loader stopped", "unsupported request, answered to 03:00.0", "recover the IPU"}},
  });
}

TEST(DemoWithFaults, OfLinks) {
  const std::string directory = scratch_directory();
  Json platform = Json::parse(tessera({"platforms", "pocket"}).out);
  platform["name"] = "linked";
  platform["ipus_per_card"] = 2;
  platform["link"] = Json::parse(tessera({"platforms", "c2"}).out).at("link");
  const std::string file = directory + "/linked.json";
  write_file(file, platform.dump(2));
  const auto run = [&](const std::string& name, const std::vector<std::string>& faults) {
    std::vector<std::string> arguments = {"demo", "allreduce",  "--bytes", "100KB",  "--way",
                                          "ring", "--platform", file,      "--json", directory + "/" + name + ".json"};
    for (const std::string& fault : faults) arguments.insert(arguments.end(), {"--inject", fault});
    return tessera(arguments, limited());
  };
  const Outcome sound = run("sound", {});
  ASSERT_EQ(sound.exit_code, 0) << sound.err;
  const Json json = Json::parse(read_file(directory + "/sound.json"));
  const std::uint64_t cycles = json.at("cycles");
  const std::string at = ",at=" + std::to_string(json.at("start_cycle").get<std::uint64_t>() + cycles / 2);
  const std::string failed = "IPU-Link 0.0 has failed: link 0.0 to 1.";
  const std::vector<std::pair<Case, bool>> cases = {
      // and whether it takes longer
      {{"link=*:bit_errors,rate_e12=20000000", 0, {}}, true},
      {{"link=0.0:bit_errors,count=2" + at, 0, {}}, true},
      {{"link=0.0:lose,count=2" + at, 0, {}}, true},
      {{"link=0.0:double,count=2" + at, 0, {}}, true},
      {{"link=0.0:lose_ack,count=2" + at, 0, {}}, false},
      {{"link=0.0:stall_credits,for=20000" + at, 0, {}}, true},
      {{"link=0.0:lanes,count=4" + at, 0, {}}, true},
      {{"link=0.0:down,for=500" + at, 0, {}}, true},
      {{"link=0.0:down" + at, 5, {failed, "packets wait or are not acknowledged"}}, false},
      {{"link=0.0:bit_errors,rate_e12=1000000000000" + at, 5, {failed, "frames sent again"}}, false},
      {{"link=0.0:clear", 0, {}}, false},
  };
  for (const auto& [c, longer] : cases) {
    expect(run("case", {c.fault}), c);
    if (c.exit_code != 0) continue;
    const Json other = Json::parse(read_file(directory + "/case.json"));
    EXPECT_EQ(other.at("verified").at(0).at("failure"), "") << c.fault;
    EXPECT_GE(other.at("cycles").get<std::uint64_t>(), cycles + (longer ? 1 : 0)) << c.fault;
  }
  // Cleared before it acts, a fault does nothing.
  ASSERT_EQ(run("cleared", {"link=0.0:down,at=1000000000", "link=0.0:clear"}).exit_code, 0);
  EXPECT_EQ(Json::parse(read_file(directory + "/cleared.json")).at("cycles"), cycles);
}

TEST(DevicesWithFaults, AnIpuThatDoesNotAnswerIsAnError) {
  // Its number would be another's: nothing may run on what is left.
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"devices"}, {"demo", "allreduce", "--bytes", "4KB"}}) {
    std::vector<std::string> arguments = command;
    for (const char* more : {"--platform", "c2", "--inject", "pcie=1:link_down"}) arguments.emplace_back(more);
    const Outcome outcome = tessera(arguments);
    EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("1 of 2 IPUs do not answer on PCI Express"));
  }
}

TEST(DevicesWithFaults, TimesBeyondTheEndAreRefused) {
  const Outcome outcome = tessera({"devices", "--platform", "c2", "--inject", "link=0.0:down,at=29514790517935283"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("beyond the end of simulated time"));
}

TEST(Devices, TheFirstIpusOfATopologyByFileKeepTheirLinks) {
  const std::string directory = scratch_directory();
  auto platform = nlohmann::json::parse(tessera({"platforms", "pocket"}).out);
  platform["cards"] = 3;
  platform["topology"] = {{"links", {{0, 1, 1}, {1, 2, 1}}}, {"routes", nlohmann::json::array()}};
  const std::string file = directory + "/line.json";
  write_file(file, platform.dump(2));
  for (const char* ipus : {"1", "2", "3"}) {
    const Outcome outcome = tessera({"devices", "--platform", file, "--ipus", ipus});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
}

TEST(DevicesWithFaults, ShowWhatTheControllerSays) {
  const Outcome hot = tessera({"devices", "--platform", "pocket", "--inject", "card=0:over_temperature,mc=120000"});
  EXPECT_EQ(hot.exit_code, 0) << hot.err;
  EXPECT_THAT(hot.out, HasSubstr("120.0 C"));
  EXPECT_THAT(hot.out, HasSubstr("ALARM"));
  const Outcome hung = tessera({"devices", "--platform", "pocket", "--inject", "card=0:hang,at_us=500"});
  EXPECT_EQ(hung.exit_code, 0) << hung.err;
  EXPECT_THAT(hung.out, HasSubstr("reset 1 times by its watchdog"));
}

}  // namespace
}  // namespace tessera::test
