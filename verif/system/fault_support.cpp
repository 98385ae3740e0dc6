// See fault_support.h.
#include "verif/system/fault_support.h"

#include <filesystem>

namespace tessera::test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string wave_text(const std::string& path) {
  if (path.size() > 4 && path.substr(path.size() - 4) == ".vcd") return read_file(path);
  const Outcome converted = run_command({"fst2vcd", "-f", path});
  EXPECT_EQ(converted.exit_code, 0) << path << ": " << converted.err;
  return converted.exit_code == 0 ? converted.out : std::string();
}

std::uint64_t last_time(const std::string& vcd) {
  const std::size_t at = vcd.rfind("\n#");
  return at == std::string::npos ? 0 : std::stoull(vcd.substr(at + 2));
}

namespace {

Json parsed(const std::string& path) { return fs::exists(path) ? Json::parse(read_file(path)) : Json(); }

}  // namespace

FaultRun run_with_files(const std::string& directory, std::vector<std::string> arguments, const CommandOptions& options,
                        const std::string& suffix, bool faulty) {
  const std::string wave = directory + "/run." + suffix, json = directory + "/result.json";
  for (const std::string& argument :
       {std::string("--wave"), wave, std::string("--report"), directory + "/report", std::string("--json"), json})
    arguments.push_back(argument);
  FaultRun run;
  run.outcome = faulty ? tessera_faulty(arguments, options) : tessera(arguments, options);
  run.json = parsed(json);
  run.report = parsed(directory + "/report/report.json");
  if (fs::exists(wave)) run.wave = wave_text(wave);
  return run;
}

void expect_well_reported(const FaultRun& run, int exit_code) {
  const std::string& err = run.outcome.err;
  EXPECT_EQ(run.outcome.exit_code, exit_code) << err;
  EXPECT_FALSE(run.outcome.timed_out);
  ASSERT_TRUE(run.json.is_object()) << err;
  EXPECT_EQ(run.json.at("exit_code"), exit_code);
  const std::string message = run.json.at("error").at("message");
  EXPECT_THAT(err, HasSubstr(message.substr(0, message.find('\n'))));
  ASSERT_TRUE(run.report.is_object()) << err;
  EXPECT_EQ(run.report.at("exit_code"), exit_code);
  EXPECT_EQ(run.report.at("error").at("message"), message);
  EXPECT_TRUE(run.report.contains("compiler"));
  ASSERT_THAT(run.wave, HasSubstr("$enddefinitions"));
  EXPECT_THAT(run.wave, HasSubstr("pc"));
  EXPECT_EQ(run.json.at("wave").at("file"), run.report.at("wave").at("file"));
  if (run.json.at("error").contains("cycle")) {
    // A cycle is 625 ps; the dump reaches the fault.
    EXPECT_GE(last_time(run.wave) / 625 + 12, run.json.at("error").at("cycle").get<std::uint64_t>());
  }
}

void expect_no_leftovers(const std::string& directory) {
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    EXPECT_EQ(name.find(".partial"), std::string::npos) << entry.path();
    EXPECT_EQ(name.find(".parts"), std::string::npos) << entry.path();
    EXPECT_EQ(name.find(".hier"), std::string::npos) << entry.path();
  }
}

}  // namespace tessera::test
