// The figures of the design at full size: 1216 tiles, lengths against the bound, every word proved.
#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>

#include "host/exchange/checker.h"
#include "host/exchange/schedule.h"
#include "host/exchange/traffic.h"
#include "hw/platform.h"

namespace tessera::exchange {
namespace {

void expect_within(const char* name, const Messages& m, double factor) {
  const Delays d = delays_of(load_platform("c2"));
  const std::clock_t begin = std::clock();
  const Schedule s = schedule(m, d);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  const CheckReport report = traffic::prove(m, d, s, 18);
  ASSERT_TRUE(report.ok()) << name << ": " << (report.problems.empty() ? "nothing compared" : report.problems.front());
  std::printf("%-16s %8zu messages %9llu words %8llu cycles, bound %8llu (%.3f), %6.2f CPU s, %llu KiB of tables\n",
              name, m.list().size(), static_cast<unsigned long long>(report.words),
              static_cast<unsigned long long>(s.cycles()), static_cast<unsigned long long>(s.bound()),
              static_cast<double>(s.cycles()) / static_cast<double>(s.bound()), seconds,
              static_cast<unsigned long long>(s.table_bytes() / 1024));
  EXPECT_LE(static_cast<double>(s.cycles()), factor * static_cast<double>(s.bound())) << name;
}

TEST(FullSize, Shifts) {
  expect_within("shift 1", traffic::shift(1216, 1, 1000), 1.05);
  expect_within("shift 76", traffic::shift(1216, 76, 64), 1.05);
}
TEST(FullSize, Random) {
  expect_within("random", traffic::random(1216, 40 * 1216, 64, 1), 1.05);
  expect_within("random long", traffic::random(1216, 16 * 1216, 500, 2), 1.05);
}
TEST(FullSize, HotReceiver) { expect_within("hot receiver", traffic::hot_receiver(1216, 16, 3), 1.05); }
TEST(FullSize, AllToAll) { expect_within("all to all", traffic::all_to_all(1216, 1), 1.05); }
TEST(FullSize, AllGather) { expect_within("all gather", traffic::all_gather(1216, 1), 1.05); }
TEST(FullSize, Halo) { expect_within("halo", traffic::halo(1216, 38, 30), 1.05); }
TEST(FullSize, Multicast) {
  expect_within("multicast 4", traffic::multicast(1216, 8, 4, 100, 4), 1.05);
  expect_within("multicast 16", traffic::multicast(1216, 8, 16, 20, 5), 1.05);
}
TEST(FullSize, Transposes) {
  expect_within("transpose", traffic::transpose(1216, 1216, 1216), 1.10);
  expect_within("transpose 2:3", traffic::transpose(1216, 2432, 1824), 1.10);
}

}  // namespace
}  // namespace tessera::exchange
