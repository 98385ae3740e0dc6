// A project outside the tree (verif/outside/project): with a built library it is built and run; with the library as a
// part of itself it is configured, and its program is built from the library's sources.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verif/support/run_command.h"

namespace tessera::test {
namespace {

std::string configured(const std::string& option) {
  const std::string build = scratch_directory() + "/build";
  const Outcome outcome =
      run_command({"cmake", "-G", "Ninja", "-S", source_path("verif/outside/project"), "-B", build, option});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  return build;
}

TEST(Outside, AProgramLinksABuiltLibraryAndRuns) {
  const std::string build = configured("-Dtessera_DIR=" + built_path(""));
  const Outcome built = run_command({"cmake", "--build", build});
  ASSERT_EQ(built.exit_code, 0) << built.out;
  const Outcome run = run_command({build + "/doubled"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "2 4 6 8 \n");
}

TEST(Outside, TheLibraryIsPartOfAnotherProject) {
  const std::string build = configured("-DTESSERA_SOURCE=" + source_path(""));
  const Outcome rules = run_command({"ninja", "-C", build, "-t", "commands", "doubled"});
  EXPECT_EQ(rules.exit_code, 0) << rules.err;
  for (const char* step : {"generate.py", "codelets.o", "libtessera_session.a", "doubled.cpp.o", "-o doubled"})
    EXPECT_THAT(rules.out, testing::HasSubstr(step));
  const Outcome tests = run_command({"ctest", "--test-dir", build, "-N"});
  EXPECT_THAT(tests.out, testing::HasSubstr("Total Tests: 0")) << "the library's tests are not those of the project";
}

}  // namespace
}  // namespace tessera::test
