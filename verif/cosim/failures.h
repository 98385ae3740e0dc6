// Runs expectations that must fail on a faulty model, and counts how many do.
#pragma once

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <functional>

namespace tessera::testing {

/// Failures of the expectations in `expectations`, which are not failures of the test around it.
inline int failures(const std::function<void()>& expectations) {
  ::testing::TestPartResultArray results;
  {
    ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    expectations();
  }
  int failed = 0;
  for (int k = 0; k < results.size(); ++k) failed += results.GetTestPartResult(k).failed() ? 1 : 0;
  return failed;
}

}  // namespace tessera::testing
