// The main of tests that use SystemC: SystemC's library owns main() and calls sc_main, so GoogleTest runs from there
// (linking gtest_main instead would run no test and exit 0). Reports of SystemC above information fail the test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <systemc>

namespace {

// Without SystemC's banner in front of every test's output and in the build's.
[[maybe_unused]] const int banner_off = setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);

class ReportsFailTests : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo&) override {
    using sc_core::sc_report_handler;
    EXPECT_EQ(sc_report_handler::get_count(sc_core::SC_WARNING), 0) << "SystemC warned during this test";
    EXPECT_EQ(sc_report_handler::get_count(sc_core::SC_ERROR), 0) << "SystemC reported an error during this test";
  }
};

}  // namespace

int sc_main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new ReportsFailTests);
  return RUN_ALL_TESTS();
}
