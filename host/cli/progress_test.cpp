#include "host/cli/progress.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

TEST(Progress, TellsPhasePercentSpeedAndTimeLeft) {
  EXPECT_EQ(progress_text("running", 25, 100, 2000000, 2.0), "running  25 %  2000000 cycles  1.00 Mcycle/s  6 s left");
  EXPECT_EQ(progress_text("running", 0, 0, 10, 0.0), "running  10 cycles");
  EXPECT_EQ(progress_text("compiling", 0, 0, 0, 1.0), "compiling");
}

}  // namespace
}  // namespace tessera::cli
