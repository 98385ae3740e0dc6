// Every command of README, user guide, timing page and page of demonstrations, run as it stands there, in order, from a
// copy of nothing but the build: what the documents say works. Lines of fenced blocks that begin with build/, sed or
// the RISC-V compiler's name. A block that begins with ```shows FILE must show lines of a file that those commands
// wrote.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "verif/support/run_command.h"

namespace tessera::test {
namespace {

namespace fs = std::filesystem;

/// Shown lines and the file in which they must stand.
struct Excerpt {
  std::string file;
  std::vector<std::string> lines;
};

struct Document {
  std::vector<std::string> commands;
  std::vector<Excerpt> excerpts;
};

bool is_command(const std::string& line) {
  for (const char* start : {"build/bin/tessera ", "build/tests/tessera-faulty ", "sed ", "riscv64-unknown-elf-gcc "})
    if (line.rfind(start, 0) == 0) return true;
  return false;
}

Document read_document(const std::string& path) {
  std::istringstream lines(read_file(source_path(path)));
  Document document;
  bool fenced = false, shows = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("```", 0) == 0) {
      fenced = !fenced;
      shows = fenced && line.rfind("```shows ", 0) == 0;
      if (shows) document.excerpts.push_back({line.substr(9), {}});
    } else if (shows) {
      document.excerpts.back().lines.push_back(line);
    } else if (fenced && is_command(line)) {
      document.commands.push_back(line);
    }
  }
  return document;
}

std::string without_trailing_spaces(const std::string& line) { return line.substr(0, line.find_last_not_of(' ') + 1); }

/// The lines must stand in the text one after the other; a line "..." leaves out any number. Returns the first that
/// does not.
std::string first_missing(const std::vector<std::string>& lines, const std::string& text) {
  std::istringstream stream(text);
  std::string found;
  bool gap = true;
  for (const std::string& line : lines) {
    if (line == "...") {
      gap = true;
      continue;
    }
    const std::string wanted = without_trailing_spaces(line);
    do {
      if (!std::getline(stream, found)) return line;
    } while (gap && without_trailing_spaces(found) != wanted);
    if (without_trailing_spaces(found) != wanted) return line;
    gap = false;
  }
  return {};
}

/// A directory that looks like the repository's root to the commands, whose files under build/ are this test's own.
std::string stage() {
  const std::string root = scratch_directory();
  for (const char* folder : {"host", "docs", "hw", "verif"})
    fs::create_directory_symlink(source_path(folder), root + "/" + folder);
  fs::create_directories(root + "/build/verif");
  for (const char* folder : {"bin", "tests", "generated"})
    fs::create_directory_symlink(built_path(folder), root + "/build/" + folder);
  fs::create_directory_symlink(built_path("verif/conformance"), root + "/build/verif/conformance");
  return root;
}

struct Page {
  const char* name;
  const char* path;
  std::size_t commands, excerpts;  ///< at least
};

class Documents : public testing::TestWithParam<Page> {};

TEST_P(Documents, EveryCommandWorks) {
  const Document document = read_document(GetParam().path);
  ASSERT_GE(document.commands.size(), GetParam().commands);
  ASSERT_GE(document.excerpts.size(), GetParam().excerpts);
  CommandOptions options;
  options.directory = stage();
  for (const std::string& command : document.commands) {
    const Outcome outcome = run_command({"bash", "-c", command}, options);
    const int expected = command.rfind("build/tests/tessera-faulty", 0) == 0 ? 7 : 0;  // a mismatch in lockstep
    EXPECT_EQ(outcome.exit_code, expected) << command << "\n" << outcome.err;
  }
  for (const Excerpt& excerpt : document.excerpts) {
    ASSERT_GE(excerpt.lines.size(), 3U);
    EXPECT_EQ(first_missing(excerpt.lines, read_file(options.directory + "/" + excerpt.file)), "") << excerpt.file;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Documents,
    testing::Values(Page{"Readme", "README.md", 9, 0}, Page{"Platforms", "docs/platforms.md", 10, 0},
                    Page{"UserGuide", "docs/user-guide.md", 15, 2}, Page{"Timing", "docs/machine/timing.md", 2, 1},
                    Page{"GraphLibrary", "docs/graph-library.md", 2, 0}, Page{"Reports", "docs/reports.md", 6, 0},
                    Page{"Demonstrations", "docs/demonstrations.md", 3, 3}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Excerpts, AreComparedLineByLine) {
  const std::string text = "one\ntwo \nthree\nfour\n";
  EXPECT_EQ(first_missing({"two", "three"}, text), "");
  EXPECT_EQ(first_missing({"one", "...", "four"}, text), "");
  EXPECT_EQ(first_missing({"one", "three"}, text), "three");
  EXPECT_EQ(first_missing({"three", "...", "two"}, text), "two");
  EXPECT_EQ(first_missing({"five"}, text), "five");
}

/// Lines of the README's block that shows the main job's output, but the one of speed, which depends on the host.
std::vector<std::string> without_speed(const std::string& text) {
  std::istringstream lines(text);
  std::vector<std::string> kept;
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("speed", 0) != 0) kept.push_back(line);
  return kept;
}

/// Commands of this build, by its own help.
std::vector<std::string> all_commands() {
  std::istringstream lines(tessera({"--help"}).out);
  std::vector<std::string> names;
  bool below = false;
  for (std::string line; std::getline(lines, line);) {
    below = below || line == "Subcommands:";
    if (below && line.size() > 2 && line[0] == ' ' && line[2] != ' ') names.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return names;
}

using Options = std::set<std::pair<std::string, std::string>>;  ///< command, --option

Options options_by_help() {
  Options options;
  const std::regex option("^  (?:-[a-z],)?(--[a-z][a-z-]*)");
  for (const std::string& command : all_commands()) {
    std::istringstream lines(tessera({command, "--help"}).out);
    std::smatch found;
    for (std::string line; std::getline(lines, line);)
      if (std::regex_search(line, found, option)) options.emplace(command, found[1]);
  }
  return options;
}

/// Rows "| `--option VALUE` | commands | ..." of the page; "all" stands for every command.
Options options_by_page() {
  Options options;
  const std::regex row("^\\| `(?:-[a-z], )?(--[a-z][a-z-]*)[^`]*` \\| ([a-z, -]+) \\|");
  std::istringstream lines(read_file(source_path("docs/interfaces.md")));
  std::smatch found;
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_search(line, found, row)) continue;
    const std::string option = found[1];
    std::istringstream commands(found[2]);
    for (std::string command; std::getline(commands >> std::ws, command, ',');)
      for (const std::string& name : command == "all" ? all_commands() : std::vector<std::string>{command})
        EXPECT_TRUE(options.emplace(name, option).second) << name << " " << option << " is listed twice";
  }
  return options;
}

TEST(Interfaces, ThePageListsEveryOptionOfEveryCommandAndNoOther) {
  const Options help = options_by_help(), page = options_by_page();
  EXPECT_GE(help.size(), 150U);
  for (const auto& [command, option] : help)
    EXPECT_EQ(page.count({command, option}), 1U) << "docs/interfaces.md lacks " << command << " " << option;
  for (const auto& [command, option] : page)
    EXPECT_EQ(help.count({command, option}), 1U) << "there is no option " << command << " " << option;
  const std::string text = read_file(source_path("docs/interfaces.md"));
  for (const std::string& command : all_commands()) EXPECT_THAT(text, testing::HasSubstr("`tessera " + command));
}

TEST(Readme, LinksEveryPage) {
  const std::string readme = read_file(source_path("README.md"));
  unsigned pages = 0;
  for (const auto& entry : fs::recursive_directory_iterator(source_path("docs"))) {
    if (entry.path().extension() != ".md") continue;
    const std::string page = "docs/" + fs::relative(entry.path(), source_path("docs")).string();
    EXPECT_THAT(readme, testing::HasSubstr("](" + page + ")"));
    ++pages;
  }
  EXPECT_GE(pages, 20U);
}

/// scripts/run.sh with arguments, on this build instead of one of its own, in a stage.
Outcome main_job(const std::vector<std::string>& arguments) {
  std::string script = read_file(source_path("scripts/run.sh"));
  const std::string line = "cd \"$(dirname \"$0\")/..\"\n";
  const std::size_t at = script.find("\n" + line);
  EXPECT_NE(at, std::string::npos) << line;
  script.erase(at + 1, line.size());
  CommandOptions options;
  options.directory = stage();
  options.environment = {"TESSERA_BUILT=1"};
  std::vector<std::string> command = {"bash", "-c", script, "run.sh"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_command(command, options);
}

TEST(Readme, ShowsWhatTheMainJobPrints) {
  const std::string readme = read_file(source_path("README.md"));
  const std::size_t begin = readme.find("```\nmodel ");
  ASSERT_NE(begin, std::string::npos);
  const std::string shown = readme.substr(begin + 4, readme.find("```", begin + 4) - begin - 4);
  const Outcome outcome = main_job({});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(without_speed(outcome.out), without_speed(shown));
}

TEST(Readme, TheMainJobRunsOnOtherPlatforms) {
  for (const auto& [arguments, tiles] :
       {std::pair<std::vector<std::string>, std::string>{{"--platform", "c2"}, "c2: 2432 tiles on 2 IPUs"},
        {{"--platform=c2", "--replicas", "1"}, "c2: 1216 tiles on 1 of 2 IPUs"}}) {
    const Outcome outcome = main_job(arguments);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, testing::HasSubstr("on platform " + tiles));
    EXPECT_THAT(outcome.out, testing::HasSubstr("582 of 599 right"));
    EXPECT_THAT(outcome.out, testing::HasSubstr("5990 values, largest error"));
  }
}

}  // namespace
}  // namespace tessera::test
