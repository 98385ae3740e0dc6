// Every command of README and user guide, run as it stands there, in order, from a copy of nothing but the build: what
// the documents say works. Lines of fenced blocks that begin with build/bin/tessera or sed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "verif/support/run_command.h"

namespace tessera::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> commands_of(const std::string& document) {
  std::istringstream lines(read_file(source_path(document)));
  std::vector<std::string> commands;
  bool fenced = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("```", 0) == 0) fenced = !fenced;
    if (fenced && (line.rfind("build/bin/tessera", 0) == 0 || line.rfind("sed ", 0) == 0)) commands.push_back(line);
  }
  return commands;
}

/// A directory that looks like the repository's root to the commands, whose files under build/ are this test's own.
std::string stage() {
  const std::string root = scratch_directory();
  fs::create_directory_symlink(source_path("host"), root + "/host");
  fs::create_directories(root + "/build/verif");
  fs::create_directory_symlink(built_path("bin"), root + "/build/bin");
  fs::create_directory_symlink(built_path("verif/conformance"), root + "/build/verif/conformance");
  return root;
}

class Documents : public testing::TestWithParam<const char*> {};

TEST_P(Documents, EveryCommandWorks) {
  const std::vector<std::string> commands = commands_of(GetParam());
  ASSERT_GE(commands.size(), 7U);
  CommandOptions options;
  options.directory = stage();
  for (const std::string& command : commands) {
    const Outcome outcome = run_command({"bash", "-c", command}, options);
    EXPECT_EQ(outcome.exit_code, 0) << command << "\n" << outcome.err;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Documents, testing::Values("README.md", "docs/user-guide.md"),
                         [](const auto& info) { return std::string(info.index == 0 ? "Readme" : "UserGuide"); });

/// Lines of the README's block that shows the main job's output, but the one of speed, which depends on the host.
std::vector<std::string> without_speed(const std::string& text) {
  std::istringstream lines(text);
  std::vector<std::string> kept;
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("speed", 0) != 0) kept.push_back(line);
  return kept;
}

TEST(Readme, ShowsWhatTheMainJobPrints) {
  const std::string readme = read_file(source_path("README.md")), script = read_file(source_path("scripts/run.sh"));
  const std::size_t begin = readme.find("```\nmodel ");
  ASSERT_NE(begin, std::string::npos);
  const std::string shown = readme.substr(begin + 4, readme.find("```", begin + 4) - begin - 4);
  const std::size_t command = script.find("build/bin/tessera run");
  ASSERT_NE(command, std::string::npos);
  CommandOptions options;
  options.directory = stage();
  fs::create_directories(options.directory + "/build/digits");
  const Outcome outcome = run_command({"bash", "-c", script.substr(command)}, options);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(without_speed(outcome.out), without_speed(shown));
}

}  // namespace
}  // namespace tessera::test
