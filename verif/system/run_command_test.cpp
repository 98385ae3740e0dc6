// The main job as a user runs it: the digits network on the pocket platform in TLM, RTL and lockstep, by run and by
// compile + exec; same outputs and cycles byte for byte in every mode and on any number of threads.

#include "verif/support/run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

namespace tessera::test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

const std::string kDigits = source_path("host/examples/digits");

/// Runs the digits with further arguments; JSON in directory/NAME.json, outputs in directory/NAME.
Outcome run_digits(const std::string& directory, const std::string& name, std::vector<std::string> more) {
  std::vector<std::string> arguments = {"run",    kDigits + "/digits.onnx",         "--inputs", kDigits,
                                        "--json", directory + "/" + name + ".json", "--out",    directory + "/" + name};
  const bool platform = std::find(more.begin(), more.end(), "--platform") != more.end();
  if (!platform) more.insert(more.begin(), {"--platform", "pocket"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return tessera(arguments);
}

Json result(const std::string& directory, const std::string& name) {
  return Json::parse(read_file(directory + "/" + name + ".json"));
}

TEST(RunCommand, DigitsAreTheSameInEveryModeAndOnAnyNumberOfThreads) {
  const std::string directory = scratch_directory();
  // With --check the compiler adds syncs where a result would be overwritten before it is read: another program.
  const std::vector<std::pair<std::string, std::vector<std::string>>> runs = {
      {"tlm", {"--check"}},
      {"rtl", {"--check", "--rtl", "all"}},
      {"lockstep", {"--check", "--lockstep", "all"}},
      {"mixed", {"--check", "--rtl", "1-5", "--lockstep", "0,8"}},
      {"threads", {"--check", "--rtl", "0,15", "--threads", "2"}},
      {"unchecked", {}},
      {"unchecked_threads", {"--rtl", "0,15", "--lockstep", "3", "--threads", "2"}},
  };
  for (const auto& [name, more] : runs) {
    const Outcome outcome = run_digits(directory, name, more);
    ASSERT_EQ(outcome.exit_code, 0) << name << ": " << outcome.err;
  }
  const Json tlm = result(directory, "tlm");
  EXPECT_EQ(tlm.at("check").at("values"), 5990);
  EXPECT_EQ(tlm.at("exchange").at("phases_different"), 0);
  EXPECT_GT(tlm.at("exchange").at("phases_compared"), 0);
  EXPECT_GT(tlm.at("host_steps"), 2) << "the batch loops on the device";
  const Json unchecked = result(directory, "unchecked");
  EXPECT_LE(unchecked.at("cycles"), tlm.at("cycles"));
  const std::string outputs = read_file(directory + "/tlm/output_0.pb");
  EXPECT_GT(outputs.size(), 599U * 10 * 4);
  for (const auto& [name, more] : runs) {
    const Json other = result(directory, name);
    const Json& same = name.find("unchecked") == 0 ? unchecked : tlm;
    EXPECT_EQ(read_file(directory + "/" + name + "/output_0.pb"), outputs) << name;
    EXPECT_EQ(other.at("cycles"), same.at("cycles")) << name;
    EXPECT_EQ(other.at("instructions"), same.at("instructions")) << name;
    EXPECT_EQ(other.at("exchange"), tlm.at("exchange")) << name;
  }
  const Json lockstep = result(directory, "lockstep").at("lockstep");
  EXPECT_EQ(lockstep.at("instructions"), tlm.at("instructions")) << "every retired instruction was compared";
  EXPECT_EQ(lockstep.at("mismatches"), 0);
}

TEST(RunCommand, DigitsAreClassified) {
  const std::string directory = scratch_directory();
  const Outcome outcome = run_digits(directory, "labels", {"--labels", kDigits + "/labels.pb", "--check"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json accuracy = result(directory, "labels").at("accuracy");
  EXPECT_EQ(accuracy.at("rows"), 599);
  EXPECT_GE(accuracy.at("share"), 0.96);
  EXPECT_THAT(outcome.out, HasSubstr("599 right"));
}

/// Every node is compared, from what the device itself had: the digits network has three.
TEST(RunCommand, EveryNodeIsCompared) {
  const std::string directory = scratch_directory();
  const Outcome outcome = run_digits(directory, "nodes", {"--check"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json nodes = result(directory, "nodes").at("nodes");
  EXPECT_EQ(nodes.at("passes"), true);
  EXPECT_EQ(nodes.at("wrong"), 0);
  EXPECT_EQ(nodes.at("compared"), nodes.at("nodes"));
  EXPECT_EQ(nodes.at("unread"), 0);
  ASSERT_EQ(nodes.at("rows").size(), 3U);
  EXPECT_EQ(nodes.at("rows").at(0).size(), nodes.at("columns").size());
  EXPECT_EQ(nodes.at("values"), 599 * (32 + 32 + 10));  // every round of the batch
  EXPECT_THAT(outcome.out, HasSubstr("in 3 of 3 nodes"));
  const Outcome outputs = run_digits(directory, "outputs", {"--check-outputs"});
  ASSERT_EQ(outputs.exit_code, 0) << outputs.err;
  EXPECT_FALSE(result(directory, "outputs").contains("nodes"));
  EXPECT_EQ(result(directory, "outputs").at("check").at("values"), 5990);
}

TEST(RunCommand, TheWholeChipRunsIt) {
  const std::string directory = scratch_directory();
  const Outcome outcome = run_digits(directory, "c2", {"--platform", "c2", "--ipus", "1", "--check"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json found = result(directory, "c2");
  EXPECT_EQ(found.at("tiles").at("tlm"), 1216);
  EXPECT_EQ(found.at("race_check"), (Json{{"tiles", 64}, {"of", 1216}}));
  EXPECT_TRUE(found.at("races").empty());
  EXPECT_THAT(outcome.out,
              HasSubstr("races       looked for in 64 of the 1216 tiles of an IPU; --race-tiles 0 does in all"));
}

TEST(RunCommand, RacesAreLookedForInAllTilesOfSmallMachinesAndOnDemand) {
  const std::string directory = scratch_directory();
  const Json all = {{"tiles", 16}, {"of", 16}};
  for (const auto& [name, option] :
       {std::pair{"check", "--check"}, {"outputs", "--check-outputs"}, {"races", "--race-check"}}) {
    const Outcome outcome = run_digits(directory, name, {option});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(result(directory, name).at("race_check"), all) << option;
    EXPECT_THAT(outcome.out, testing::Not(HasSubstr("races "))) << "nothing was left out";
  }
  ASSERT_EQ(run_digits(directory, "without", {"--check", "--no-race-check"}).exit_code, 0);
  EXPECT_FALSE(result(directory, "without").contains("race_check"));
  ASSERT_EQ(run_digits(directory, "plain", {}).exit_code, 0);
  EXPECT_FALSE(result(directory, "plain").contains("race_check"));
  EXPECT_EQ(run_digits(directory, "both", {"--race-check", "--no-race-check"}).exit_code, 2);
  EXPECT_EQ(run_digits(directory, "some", {"--race-tiles", "5"}).exit_code, 0);
  EXPECT_EQ(result(directory, "some").at("race_check"), (Json{{"tiles", 5}, {"of", 16}}));
  EXPECT_EQ(run_digits(directory, "none", {"--race-tiles", "5", "--no-race-check"}).exit_code, 2);
  EXPECT_EQ(run_digits(directory, "twice", {"--race-tiles", "5", "--race-check"}).exit_code, 2);
  const Outcome large = run_digits(directory, "large", {"--platform", "c2", "--ipus", "1", "--race-check"});
  ASSERT_EQ(large.exit_code, 0) << large.err;
  EXPECT_EQ(result(directory, "large").at("race_check"), (Json{{"tiles", 1216}, {"of", 1216}}));
}

TEST(RunScript, TakesOtherPlatformsAndUsesAllTheirIpus) {
  const std::string directory = scratch_directory();
  Json platform = Json::parse(tessera({"platforms", "pocket"}).out);
  platform["name"] = "three";
  platform["cards"] = 3;
  const std::string file = directory + "/three.json";
  write_file(file, platform.dump(2));
  // A copy of the script beside what it needs, so that it runs this build and leaves its files here.
  namespace fs = std::filesystem;
  fs::create_directories(directory + "/scripts");
  fs::create_directories(directory + "/build");
  fs::copy_file(source_path("scripts/run.sh"), directory + "/scripts/run.sh");
  fs::create_directory_symlink(source_path("host"), directory + "/host");
  fs::create_directory_symlink(built_path("bin"), directory + "/build/bin");
  CommandOptions options;
  options.environment = {"TESSERA_BUILT=1"};
  const std::string script = directory + "/scripts/run.sh";
  const Outcome outcome = run_command({script, "--platform", file}, options);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("599 right"));
  const Json result = Json::parse(read_file(directory + "/build/digits/result.json"));
  EXPECT_EQ(result.at("platform"), "three");
  EXPECT_EQ(result.at("check").at("values"), 5990);
  EXPECT_EQ(result.at("ipus").size(), 3U);
  EXPECT_EQ(result.at("lockstep").at("mismatches"), 0);
  EXPECT_GT(result.at("lockstep").at("instructions"), 1000);
  EXPECT_GT(result.at("wave").at("changes"), 0);
  const Outcome unknown = run_command({script, "--platform", "c3"}, options);
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("c3"));
}

TEST(RunCommand, ReportAddsUp) {
  const std::string directory = scratch_directory();
  const Outcome outcome = run_digits(directory, "report", {"--report", directory + "/report"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json report = Json::parse(read_file(directory + "/report/report.json"));
  const Json& profile = report.at("cycle_profile");
  ASSERT_EQ(profile.at("tiles").size(), 16U);
  for (const Json& tile : profile.at("tiles")) {
    EXPECT_EQ(tile.at("compute").get<std::uint64_t>() + tile.at("exchange").get<std::uint64_t>() +
                  tile.at("sync").get<std::uint64_t>() + tile.at("idle").get<std::uint64_t>(),
              report.at("cycles").get<std::uint64_t>());
  }
  EXPECT_THAT(read_file(directory + "/report/report.txt"), HasSubstr("fc1"));
}

TEST(RunCommand, WaveformHasItsViewAndBothKindsOfTile) {
  const std::string directory = scratch_directory(), wave = directory + "/digits.vcd";
  const Outcome scoped = run_digits(directory, "scoped",
                                    {"--lockstep", "2", "--wave", wave, "--wave-to", "superstep=5", "--wave-scope",
                                     "tile2", "--wave-scope", "tile3"});
  ASSERT_EQ(scoped.exit_code, 0) << scoped.err;
  const std::string dump = read_file(wave);
  EXPECT_THAT(dump, HasSubstr("$enddefinitions"));
  EXPECT_THAT(dump, HasSubstr("tile2"));
  EXPECT_THAT(dump, HasSubstr("tile3"));
  EXPECT_THAT(dump, testing::Not(HasSubstr("tile4")));
  EXPECT_THAT(read_file(directory + "/digits.gtkw"), HasSubstr("digits.vcd"));
}

TEST(RunCommand, WaveWindowOfASuperstep) {
  const std::string directory = scratch_directory(), wave = directory + "/step.vcd";
  const Outcome outcome = run_digits(directory, "step",
                                     {"--rtl", "1", "--wave", wave, "--wave-scope", "tile0", "--wave-scope", "tile1",
                                      "--wave-from", "superstep=3", "--wave-to", "superstep=4", "--report", directory});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json summary = result(directory, "step").at("wave");
  EXPECT_GT(summary.at("changes"), 1000);
  // Supersteps 3 and 4 of the program's first round lie between the first release and the end.
  const std::uint64_t first = summary.at("first"), last = summary.at("last");
  EXPECT_GT(first, 1000U);
  EXPECT_LT(last - first, result(directory, "step").at("cycles").get<std::uint64_t>() / 4);
}

TEST(CompileCommand, TwoCompilesGiveTheSameBytesAndExecRunsThem) {
  const std::string directory = scratch_directory();
  for (const char* name : {"a.tsx", "b.tsx"}) {
    const Outcome outcome = tessera({"compile", kDigits + "/digits.onnx", "--shape", "images=599,64", "--platform",
                                     "pocket", "-o", directory + "/" + name});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  EXPECT_EQ(read_file(directory + "/a.tsx"), read_file(directory + "/b.tsx"));
  ASSERT_EQ(run_digits(directory, "run", {}).exit_code, 0);
  const Outcome exec = tessera({"exec", directory + "/a.tsx", "--inputs", kDigits, "--expected", directory + "/run",
                                "--rtol", "0", "--atol", "0", "--json", directory + "/exec.json"});
  ASSERT_EQ(exec.exit_code, 0) << exec.err;
  const Json json = Json::parse(read_file(directory + "/exec.json"));
  EXPECT_EQ(json.at("expected").at("values"), 5990);
  EXPECT_EQ(json.at("cycles"), result(directory, "run").at("cycles"));
  const Outcome explained = tessera({"compile", "--explain", directory + "/a.tsx"});
  EXPECT_EQ(explained.exit_code, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr("fc1"));
}

TEST(RunCommand, OptionsThatRepeatTakeOneValueEach) {
  const Outcome outcome = tessera({"run", "--platform", "pocket", "--input", "images=" + kDigits + "/input_0.pb",
                                   kDigits + "/digits.onnx", "--check"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST(RunCommand, AnOutputDirectoryThatCannotBeMadeIsAUsageError) {
  const Outcome outcome =
      tessera({"run", kDigits + "/digits.onnx", "--inputs", kDigits, "--platform", "pocket", "--out", "/proc/none"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("cannot write the directory of --out"));
  EXPECT_EQ(outcome.out, "") << "it is told before the work";
}

TEST(RunCommand, UserErrorsSayWhatIsWrong) {
  const std::string directory = scratch_directory();
  const struct {
    std::vector<std::string> more;
    std::string says;
  } cases[] = {
      {{"--rtl", "16"}, "0 to 15"},
      {{"--rtl", "3", "--lockstep", "3"}, "both --rtl and --lockstep"},
      {{"--ipus", "2"}, "has 1"},
      {{"--wave", directory + "/x.wlf"}, ".fst"},
      {{"--wave", directory + "/x.fst", "--wave-from", "soon"}, "no point of time"},
      {{"--wave", directory + "/x.fst", "--wave-from", "90", "--wave-to", "3"}, "behind --wave-to"},
      {{"--wave-from", "90"}, "without --wave"},
      {{"--chunk", "-1"}, "chunk"},
      {{"--wave", directory + "/x.fst", "--wave-scope", "tile99.**"}, "near to it: ipu0.tile9"},
      {{"--wave", directory + "/x.fst", "--wave-scope", "tile3.tlm.wrker2.pc"}, "near to it: ipu0.tile3.tlm.worker2.pc"},
      {{"--wave", directory + "/x.fst", "--wave-scope", "tile3", "--wave-scope", "tile2.tlm.sync.lin"},
       "select: tile2.tlm.sync.lin"},
      {{"--rtl", "3", "--wave", directory + "/x.fst", "--wave-scope", "tile3.rtl.tile_core.rett_*"}, "near to it: ipu0.tile3.rtl"},
      {{"--labels", kDigits + "/input_0.pb"}, "labels"},
      {{"--shape", "image=1,64"}, "images"},
      {{"--shape", "images=1;64"}, "images=1,3"},
      {{"--input", "images"}, "NAME=VALUE"},
      {{"--expected", directory + "/none"}, "none"},
      {{"--platform", "pockett"}, "pocket"},
  };
  for (const auto& c : cases) {
    const Outcome outcome = run_digits(directory, "bad", c.more);
    EXPECT_EQ(outcome.exit_code, 2) << c.says << ": " << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(c.says));
    EXPECT_EQ(Json::parse(read_file(directory + "/bad.json")).at("exit_code"), 2);
  }
}

}  // namespace
}  // namespace tessera::test
