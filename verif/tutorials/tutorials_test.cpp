// The tutorials as their pages show them: each program exits with 0 (it checks its own results), prints what the block
// ```text of its page says, and holds the lines of every block ```cpp and ```c. Figures on lines that speak of cycles
// may differ: they are those of one build.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "verif/support/run_command.h"

namespace tessera::test {
namespace {

struct Page {
  std::string output;
  std::vector<std::string> code;  ///< lines of the program and of its codelets
};

Page read_page(const std::string& name) {
  std::istringstream lines(read_file(source_path("docs/tutorials/" + name + ".md")));
  Page page;
  std::string block;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("```", 0) == 0) {
      block = block.empty() ? line.substr(3) : "";
      continue;
    }
    if (block == "text") page.output += line + "\n";
    if ((block == "cpp" || block == "c") && !line.empty()) page.code.push_back(line);
  }
  return page;
}

std::string without_indent(const std::string& line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first == std::string::npos ? "" : line.substr(first);
}

/// Numbers become # in what speaks of cycles, and so do the widths of columns.
std::string comparable(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  bool table = false;
  for (std::string line; std::getline(lines, line);) {
    table = table || line.find("cycles  times") != std::string::npos;
    if (line.find("cycles") != std::string::npos || line.find("bytes") != std::string::npos || table)
      line = std::regex_replace(line, std::regex(" *[0-9][0-9.]*%?"), " #");
    result += line + "\n";
  }
  return result;
}

class Tutorials : public ::testing::TestWithParam<std::string> {};

TEST_P(Tutorials, DoWhatTheirPageSays) {
  const Outcome run = run_command({built_path("tutorials/tutorial-" + GetParam())});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const Page page = read_page(GetParam());
  ASSERT_GT(page.output.size(), 20U);
  EXPECT_EQ(comparable(run.out), comparable(page.output)) << run.out;
  const std::string folder = "host/examples/tutorials/";
  std::set<std::string> source;
  for (const std::string& file : {folder + GetParam() + ".cpp", folder + "codelets.c"}) {
    std::istringstream lines(read_file(source_path(file)));
    for (std::string line; std::getline(lines, line);) source.insert(without_indent(line));
  }
  EXPECT_GE(page.code.size(), 4U);
  for (const std::string& line : page.code) EXPECT_EQ(source.count(without_indent(line)), 1U) << line;
}

INSTANTIATE_TEST_SUITE_P(All, Tutorials,
                         ::testing::Values("01-variables", "02-operations", "03-vertices", "04-profiling",
                                           "05-matrix-vector", "06-matrix-vector-optimised"),
                         [](const auto& info) { return "Number" + info.param.substr(0, 2); });

}  // namespace
}  // namespace tessera::test
