// The benchmark's program gives the same checksum on one worker, six workers and qemu-riscv32. No speed is judged here.
#include "verif/bench/iss_bench.h"

#include <gtest/gtest.h>

namespace tessera::bench {
namespace {

TEST(IssBench, TileAndQemuAgree) {
  const IssResult result = run_iss_bench(3);  // throws if a checksum differs
  EXPECT_TRUE(result.qemu.has_value());
  EXPECT_GT(result.worker.instructions, 100'000u);
  EXPECT_GT(result.six_workers.instructions, 5 * result.worker.instructions);
}

}  // namespace
}  // namespace tessera::bench
