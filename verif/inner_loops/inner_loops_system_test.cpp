// The inner loops on the TLM: every result is right (the program checks), and docs/machine/inner-loops.md shows the
// slots that they take.
#include <gtest/gtest.h>

#include "verif/support/run_command.h"

namespace tessera::test {
namespace {

TEST(InnerLoops, TheTableShowsWhatATileMeasures) {
  const std::string directory = scratch_directory(), signature = directory + "/measure.sig",
                    page = directory + "/page.md";
  const Outcome run = tessera({"elf", MEASURE_ELF, "--signature", signature, "--max-cycles", "100000000", "--quiet"});
  ASSERT_EQ(run.exit_code, 0) << "test N is case N of measure.c: " << run.err;
  const std::string source = MEASURE_SOURCE;
  const Outcome table = run_command({PYTHON, source + "/table.py", signature, source + "/measure.c", page});
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_GT(read_file(page).size(), 3000u);
  EXPECT_EQ(read_file(page), read_file(source_path("docs/machine/inner-loops.md")))
      << "the page is out of date: cmake --build build --target docs_inner_loops";
}

TEST(InnerLoops, ATableOfOtherCasesIsRefused) {
  const std::string directory = scratch_directory(), signature = directory + "/short.sig";
  std::string words;
  for (unsigned k = 0; k < 260; ++k) words += "00000001\n";
  write_file(signature, words);
  const std::string source = MEASURE_SOURCE;
  EXPECT_NE(
      run_command({PYTHON, source + "/table.py", signature, source + "/measure.c", directory + "/page.md"}).exit_code,
      0);
}

}  // namespace
}  // namespace tessera::test
