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

}  // namespace
}  // namespace tessera::test
