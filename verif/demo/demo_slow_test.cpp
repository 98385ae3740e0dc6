// `tessera demo` at its largest: the all-reduce that must come within 10 % of what the links can carry.
#include <gtest/gtest.h>

#include "verif/demo/demo_command.h"

namespace tessera::test {
namespace {

TEST(DemoSlow, AllReduceOf51MBWithinTenPercentOfTheLinks) {
  const Json result = run_demo(scratch_directory(), "large", {"allreduce", "--platform", "dss8440", "--bytes", "51MB"});
  EXPECT_EQ(result.at("verified").at(0).at("values"), 16ULL * 51'000'000 / 4);
  EXPECT_EQ(result.at("verified").at(0).at("failure"), "");
  const Json& total = result.at("totals").at(0);
  // Each of the rails' two links carries 15/16 of the vector twice, half of it each way.
  EXPECT_GE(total.at("bound"), 2.0 * 51e6 * 15 / 16 / 2 / (2 * 9.1269));
  EXPECT_GE(total.at("ratio"), 1.0);
  EXPECT_LE(total.at("ratio"), 1.10);
}

}  // namespace
}  // namespace tessera::test
