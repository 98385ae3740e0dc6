// The benchmark's program gives the same checksum on one worker, six workers and qemu-riscv32. No speed is judged here.
#include "verif/bench/iss_bench.h"

#include <gtest/gtest.h>

namespace tessera::bench {
namespace {

void expect_agreement(IssWork work) {
  const IssResult result = run_iss_bench(3, work);  // throws if a checksum differs
  EXPECT_TRUE(result.qemu.has_value());
  EXPECT_GT(result.worker.instructions, 100'000u);
  EXPECT_GT(result.six_workers.instructions, 5 * result.worker.instructions);
}

TEST(IssBench, TileAndQemuAgree) { expect_agreement(IssWork::mixed); }
TEST(IssBench, TileAndQemuAgreeOnFloatingPoint) { expect_agreement(IssWork::floating_point); }

}  // namespace
}  // namespace tessera::bench
