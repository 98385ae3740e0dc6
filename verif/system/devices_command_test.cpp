// Commands on machines of several IPUs: what `tessera devices` finds, the batch shared by replicas, faults and host
// time from the command line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
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

/// A platform file of cards with two small IPUs.
std::string small_platform(const std::string& directory, unsigned cards) {
  Json platform = Json::parse(tessera({"platforms", "pocket"}).out);
  platform["name"] = "small" + std::to_string(cards);
  platform["cards"] = cards;
  platform["ipus_per_card"] = 2;
  platform["link"]["sibling_direct"] = 2;
  platform["link"]["sibling_crossed"] = 1;
  const std::string file = directory + "/small" + std::to_string(cards) + ".json";
  write_file(file, platform.dump(2));
  return file;
}

Json devices(const std::string& directory, const std::vector<std::string>& more, std::string* text = nullptr) {
  std::vector<std::string> arguments = {"devices", "--json", directory + "/devices.json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome outcome = tessera(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  if (text != nullptr) *text = outcome.out;
  return Json::parse(read_file(directory + "/devices.json"));
}

/// Links come in pairs of ends that name each other.
void check_links(const Json& found, std::size_t ends) {
  std::map<std::pair<unsigned, unsigned>, std::pair<unsigned, unsigned>> peers;
  for (const Json& link : found.at("links")) {
    EXPECT_EQ(link.at("state"), "up") << link;
    EXPECT_GT(link.at("lanes"), 0U);
    EXPECT_EQ(link.at("trainings"), 1U);
    peers[{link.at("ipu"), link.at("port")}] = {link.at("peer").at("ipu"), link.at("peer").at("port")};
  }
  EXPECT_EQ(peers.size(), ends);
  for (const auto& [end, peer] : peers) EXPECT_EQ(peers.at(peer), end);
}

TEST(DevicesCommand, FindsEveryCardIpuAndLink) {
  const std::string directory = scratch_directory();
  std::string text;
  const Json pocket = devices(directory, {"--platform", "pocket"}, &text);
  EXPECT_EQ(pocket.at("cards").size(), 1U);
  EXPECT_EQ(pocket.at("ipus").size(), 1U);
  EXPECT_EQ(pocket.at("ipus")[0].at("tiles"), 16);
  check_links(pocket, 0);
  EXPECT_THAT(text, HasSubstr("16 tiles x 256 KiB, 1600 MHz"));

  const Json c2 = devices(directory, {"--platform", "c2", "--all-links"}, &text);
  EXPECT_EQ(c2.at("ipus").size(), 2U);
  EXPECT_EQ(c2.at("ipus")[1].at("tiles"), 1216);
  for (const Json& ipu : c2.at("ipus")) {
    EXPECT_EQ(ipu.at("claimed_by"), Json());
    EXPECT_EQ(ipu.at("state"), "not running");
    EXPECT_EQ(ipu.at("clock_mhz"), 1600);
    EXPECT_EQ(ipu.at("alarm"), false);
    EXPECT_GT(ipu.at("temperature_c"), 0.0);
    EXPECT_GT(ipu.at("power_w"), 0.0);
    ASSERT_EQ(ipu.at("bars").size(), 3U);
    EXPECT_EQ(ipu.at("bars")[1].at("bytes"), 512U << 20);  // 304 MiB, rounded up
  }
  const Json& card = c2.at("cards").at(0);
  EXPECT_FALSE(card.at("firmware").get<std::string>().empty());
  EXPECT_EQ(card.at("state"), "ready");
  EXPECT_EQ(card.at("links_up"), c2.at("links").size());
  check_links(c2, c2.at("links").size());
  EXPECT_GE(c2.at("links").size(), 2U * 6);
  EXPECT_THAT(text, HasSubstr("link 0.0 to 1."));
}

TEST(DevicesCommand, ShowsSixteenIpusAndThePlatformsSizes) {
  const std::string directory = scratch_directory();
  const Json all = devices(directory, {"--platform", small_platform(directory, 8)});
  ASSERT_EQ(all.at("ipus").size(), 16U);
  ASSERT_EQ(all.at("cards").size(), 8U);
  for (unsigned i = 1; i < 8; ++i) EXPECT_NE(all.at("cards")[i].at("serial"), all.at("cards")[i - 1].at("serial"));
  for (unsigned i = 0; i < 16; ++i) {
    EXPECT_EQ(all.at("ipus")[i].at("ipu"), i);
    EXPECT_EQ(all.at("ipus")[i].at("card"), i / 2);
  }
  check_links(all, 16 * 3 + 2 * 2 * 7);  // rungs of three, two rails of one link each way
  const Json part = devices(directory, {"--platform", small_platform(directory, 8), "--ipus", "4"});
  EXPECT_EQ(part.at("ipus").size(), 4U);
}

/// A card whose controller is dead takes nothing away from what is shown of the others.
TEST(DevicesCommand, ADeadCardIsShownBesideTheOthers) {
  const std::string directory = scratch_directory(), json = directory + "/dead.json";
  const std::string platform = small_platform(directory, 2);
  for (const std::string fault : {"card=0:crash,at_us=1500,times=9"}) {  // when it was ready
    const Outcome outcome = tessera({"devices", "--platform", platform, "--inject", fault, "--json", json});
    EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
    const Json found = Json::parse(read_file(json));
    ASSERT_EQ(found.at("ipus").size(), 4U) << outcome.out;
    EXPECT_FALSE(found.at("ipus")[0].contains("temperature_c"));
    EXPECT_TRUE(found.at("ipus")[2].contains("temperature_c"));
    EXPECT_THAT(outcome.out, testing::ContainsRegex("card 0 .*controller"));
    EXPECT_THAT(outcome.out, HasSubstr("card 1   "));
    EXPECT_THAT(outcome.out, HasSubstr("the controller does not answer"));
    EXPECT_THAT(outcome.err, HasSubstr("card 0 (03:00.0)"));
  }
}

TEST(DevicesCommand, FaultsAreCheckedBeforeAnythingIsBuilt) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"nonsense", "SORT=PLACE"},
      {"cable=0:broken", "there is no sort 'cable'"},
      {"link=7.0:down,at=5", "there is no IPU 7"},
      {"link=0.99:down,at=5", "IPU 0 has"},
      {"card=3:hang", "there is no card 3"},
  };
  for (const auto& [fault, what] : wrong)
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"devices"},
          std::vector<std::string>{"run", kDigits + "/digits.onnx", "--inputs", kDigits}}) {
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {"--platform", "pocket", "--inject", fault});
      const Outcome outcome = tessera(arguments);
      EXPECT_EQ(outcome.exit_code, 2) << fault;
      EXPECT_THAT(outcome.err, HasSubstr(what));
      EXPECT_EQ(outcome.out, "");
    }
}

struct Result {
  Json json;
  std::string output;
};

Result run_digits(const std::string& directory, const std::string& name, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"run",    kDigits + "/digits.onnx",         "--inputs", kDigits,
                                        "--json", directory + "/" + name + ".json", "--out",    directory + "/" + name};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome outcome = tessera(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << name << ": " << outcome.err;
  return {Json::parse(read_file(directory + "/" + name + ".json")), read_file(directory + "/" + name + "/output_0.pb")};
}

TEST(Replicas, ShareTheBatchAndGiveTheSameBits) {
  const std::string directory = scratch_directory(), platform = small_platform(directory, 2);
  const std::vector<std::string> common = {"--platform", platform, "--chunk", "50", "--check"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), common.begin(), common.end());
    return more;
  };
  const Result one = run_digits(directory, "one", with({}));
  EXPECT_GT(one.output.size(), 599U * 10 * 4);
  EXPECT_EQ(one.json.at("check").at("values"), 5990);
  for (const auto& [replicas, count] : {std::pair<std::string, unsigned>{"2", 2}, {"3", 3}, {"all", 4}}) {
    const Result several = run_digits(directory, "r" + replicas, with({"--replicas", replicas}));
    EXPECT_EQ(several.output, one.output) << replicas;
    EXPECT_LT(several.json.at("cycles").get<std::uint64_t>(), one.json.at("cycles").get<std::uint64_t>());
    ASSERT_EQ(several.json.at("ipus").size(), count);
    std::uint64_t instructions = 0;
    for (const Json& ipu : several.json.at("ipus")) instructions += ipu.at("instructions").get<std::uint64_t>();
    EXPECT_EQ(several.json.at("instructions"), instructions);
  }
  // As an executable, and with a tile in lockstep on another IPU.
  const std::string file = directory + "/digits.tsx";
  const Outcome compiled = tessera({"compile", kDigits + "/digits.onnx", "--shape", "images=599,64", "--platform",
                                    platform, "--chunk", "50", "--replicas", "all", "-o", file});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  const Outcome executed =
      tessera({"exec", file, "--inputs", kDigits, "--out", directory + "/exec", "--lockstep", "3:1"});
  ASSERT_EQ(executed.exit_code, 0) << executed.err;
  EXPECT_EQ(read_file(directory + "/exec/output_0.pb"), one.output);
  EXPECT_THAT(executed.out, HasSubstr("64 tiles on 4 IPUs"));
}

TEST(Replicas, WrongNumbersAreRefused) {
  for (const char* replicas : {"0", "2", "-1", "many", ""}) {
    const Outcome outcome =
        tessera({"run", kDigits + "/digits.onnx", "--inputs", kDigits, "--platform", "pocket", "--replicas", replicas});
    EXPECT_EQ(outcome.exit_code, 2) << replicas;
    EXPECT_THAT(outcome.err, HasSubstr("replicas"));
  }
}

TEST(HostTime, ChangesWhenTheDeviceGoesOnButNotWhatItDoes) {
  const std::string directory = scratch_directory();
  const Result usual = run_digits(directory, "usual", {"--platform", "pocket"});
  const Result slow = run_digits(directory, "slow", {"--platform", "pocket", "--host-delay", "50000"});
  const Result quick = run_digits(directory, "quick", {"--platform", "pocket", "--host-delay", "0"});
  const Result steps = run_digits(directory, "steps", {"--platform", "pocket", "--quantum", "1000"});
  for (const Result* run : {&slow, &quick, &steps}) {
    EXPECT_EQ(run->output, usual.output);
    EXPECT_EQ(run->json.at("instructions"), usual.json.at("instructions"));
    EXPECT_EQ(run->json.at("exchange"), usual.json.at("exchange"));
  }
  EXPECT_GT(slow.json.at("cycles").get<std::uint64_t>(), usual.json.at("cycles").get<std::uint64_t>());
  EXPECT_LT(quick.json.at("cycles").get<std::uint64_t>(), usual.json.at("cycles").get<std::uint64_t>());
  EXPECT_EQ(steps.json.at("cycles"), usual.json.at("cycles"));
}

}  // namespace
}  // namespace tessera::test
