// The open shop: all work done, no port in two places, deadlines met whenever counting says that they can be.
#include "host/exchange/open_shop.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

namespace tessera::exchange {
namespace {

struct Shop {
  std::vector<Job> jobs;
  std::vector<ShopPort> ports;
  std::vector<std::uint32_t> load;
};

Shop arbitrary_shop() {
  const unsigned side = *rc::gen::inRange(1u, 14u);
  const unsigned count = *rc::gen::inRange(1u, side * side + 1);
  std::map<std::pair<unsigned, unsigned>, std::uint32_t> work;
  for (unsigned k = 0; k < count; ++k)
    work[{*rc::gen::inRange(0u, side), side + *rc::gen::inRange(0u, side)}] = *rc::gen::inRange(0u, 30u);
  Shop shop;
  shop.ports.resize(2 * side);
  shop.load.resize(2 * side);
  for (const auto& [ends, slots] : work) {
    shop.jobs.push_back({ends.first, ends.second, slots});
    shop.load[ends.first] += slots;
    shop.load[ends.second] += slots;
  }
  return shop;
}

/// Last slot used, from 1; proves that jobs are done once and ports work one job at a time, never while blocked.
std::uint32_t prove(const Shop& shop, const std::vector<Run>& runs) {
  std::map<std::pair<unsigned, std::uint32_t>, unsigned> busy;
  std::vector<std::uint32_t> done(shop.jobs.size());
  std::uint32_t end = 0, slot = 0;
  for (const Run& run : runs) {
    RC_ASSERT(run.slot >= slot);
    slot = run.slot;
    done[run.job] += run.slots;
    end = std::max(end, run.slot + run.slots);
    for (std::uint32_t k = run.slot; k < run.slot + run.slots; ++k)
      for (const unsigned port : {shop.jobs[run.job].sender, shop.jobs[run.job].receiver}) {
        RC_ASSERT((++busy[{port, k}] == 1));
        for (const auto& [first, last] : shop.ports[port].blocked) RC_ASSERT(k < first || k >= last);
      }
  }
  for (std::size_t j = 0; j < done.size(); ++j) RC_ASSERT(done[j] == shop.jobs[j].slots);
  return end;
}

TEST(OpenShop, TheBusiestPortNeverPauses) {
  EXPECT_TRUE(rc::check("as long as the busiest port", [] {
    Shop shop = arbitrary_shop();
    const std::uint32_t most = *std::max_element(shop.load.begin(), shop.load.end());
    const std::uint32_t slack = *rc::gen::inRange(0u, 5u);
    for (ShopPort& p : shop.ports) p.deadline = most + slack;
    RC_ASSERT(prove(shop, open_shop(shop.jobs, shop.ports)) <= most + slack);
  }));
}

TEST(OpenShop, BlockedAndLatePortsStillDoAllWork) {
  EXPECT_TRUE(rc::check("all work is done", [] {
    Shop shop = arbitrary_shop();
    for (ShopPort& p : shop.ports) {
      p.deadline = *rc::gen::inRange(0u, 60u);
      std::uint32_t at = 0;
      for (unsigned k = *rc::gen::inRange(0u, 4u); k > 0; --k) {
        const std::uint32_t first = at + *rc::gen::inRange(0u, 10u);
        at = first + *rc::gen::inRange(1u, 10u);
        p.blocked.emplace_back(first, at);
      }
    }
    prove(shop, open_shop(shop.jobs, shop.ports));
  }));
}

/// Three ports that want one another in a ring would leave one of them alone at the end if none were cut.
TEST(OpenShop, AJobIsCutRatherThanAPortLeftIdle) {
  const std::vector<Job> jobs{{0, 3, 2}, {0, 4, 1}, {1, 4, 2}, {1, 5, 1}, {2, 5, 2}, {2, 3, 1}};
  std::vector<ShopPort> ports(6);
  for (ShopPort& p : ports) p.deadline = 3;
  Shop shop{jobs, ports, {}};
  EXPECT_TRUE(rc::check("three slots", [&] { RC_ASSERT(prove(shop, open_shop(jobs, ports)) == 3u); }));
}

TEST(OpenShop, NothingToDoIsNoRun) { EXPECT_TRUE(open_shop({{0, 1, 0}}, std::vector<ShopPort>(2)).empty()); }

}  // namespace
}  // namespace tessera::exchange
