// The command's frame: help, version, unknown options and commands, the JSON result, full disks.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "verif/support/run_command.h"

namespace tessera::test {
namespace {

TEST(Command, HelpGoesToStandardOutputAndEndsWithSuccess) {
  const Outcome outcome = tessera({"--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.out.find("tessera"), std::string::npos);
  EXPECT_EQ(outcome.err, "");
}

TEST(Command, NoCommandIsAUsageError) {
  const Outcome outcome = tessera({});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
}

TEST(Command, UnknownCommandNamesTheNearest) {
  const Outcome outcome = tessera({"platform"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("there is no command 'platform'"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("did you mean: tessera platforms"), std::string::npos) << outcome.err;
}

TEST(Command, UnknownOptionNamesTheNearest) {
  const Outcome outcome = tessera({"platforms", "--thread", "2"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("--threads"), std::string::npos) << outcome.err;
}

TEST(Command, JsonResultIsWrittenWhole) {
  const std::string file = scratch_directory() + "/result.json";
  const Outcome outcome = tessera({"platforms", "--json", file, "--seed", "0"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json result = nlohmann::json::parse(read_file(file));
  EXPECT_EQ(result.at("command"), "platforms");
  EXPECT_EQ(result.at("exit_code"), 0);
  EXPECT_EQ(result.at("seed"), 0);
}

TEST(Command, JsonIntoAMissingDirectoryIsAUsageError) {
  const Outcome outcome = tessera({"platforms", "--json", scratch_directory() + "/none/result.json"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("cannot write the file of --json"), std::string::npos) << outcome.err;
}

TEST(Command, FullDiskUnderStandardOutputIsAnError) {
  CommandOptions options;
  options.stdout_path = "/dev/full";
  const Outcome outcome = tessera({"platforms"}, options);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("standard output"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace tessera::test
