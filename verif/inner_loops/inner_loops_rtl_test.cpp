// The inner loops take the same slots on the RTL as on the TLM, and their results are right there too.
#include <gtest/gtest.h>

#include "verif/support/run_command.h"

namespace tessera::test {
namespace {

TEST(InnerLoopsRtl, TakeTheSlotsOfTheTlm) {
  const std::string directory = scratch_directory();
  std::string signatures[2];
  unsigned k = 0;
  for (const char* model : {"tlm", "rtl"}) {
    const std::string signature = directory + "/" + model + ".sig";
    const Outcome run = tessera(
        {"elf", MEASURE_ELF, "--model", model, "--signature", signature, "--max-cycles", "100000000", "--quiet"});
    ASSERT_EQ(run.exit_code, 0) << model << ", test N is case N of measure.c: " << run.err;
    signatures[k++] = read_file(signature);
  }
  EXPECT_EQ(signatures[0], signatures[1]);
  EXPECT_EQ(signatures[0].size(), 260u * 9u);  // words of the signature
}

}  // namespace
}  // namespace tessera::test
