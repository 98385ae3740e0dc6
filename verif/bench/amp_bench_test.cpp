// The vector loops of the benchmark give the same bits in threaded code and in exact interleave. No speed is judged
// here.
#include "verif/bench/amp_bench.h"

#include <gtest/gtest.h>

namespace tessera::bench {
namespace {

TEST(AmpBench, ThreadedCodeAndExactInterleaveAgree) {
  std::uint32_t before = 0;
  for (const VectorLoop loop : {VectorLoop::matrix_f16, VectorLoop::matrix_f32, VectorLoop::lanes_f16}) {
    for (const unsigned workers : {1u, 6u}) {
      const VectorResult fast = run_vector_loop(loop, workers, 2, false);
      EXPECT_EQ(fast.checksum, run_vector_loop(loop, workers, 2, true).checksum);
      EXPECT_NE(fast.checksum, before);
      EXPECT_GT(fast.products, 30'000u);
      before = fast.checksum;
    }
  }
}

}  // namespace
}  // namespace tessera::bench
