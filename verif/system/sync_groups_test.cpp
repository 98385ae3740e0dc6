// Sync groups over several IPUs: sets of members, roots, exact releases, votes, reports.
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "hw/error.h"
#include "verif/system/packet_bench.h"

namespace tessera {
namespace {

using namespace testing;
using driver::Event;

/// What an IPU does in its supersteps: so many instructions, then a sync of a zone.
struct Step {
  Zone zone = Zone::internal;
  unsigned work = 0, code = 0;
};

/// IPUs of two tiles, each with a program of its own, in groups.
struct GroupRun {
  GroupRun(const Platform& p, const std::vector<Groups>& groups, const std::vector<std::vector<Step>>& steps)
      : machine(PacketRun::with_log(bare(tlm_system(p)), log)), driver(machine.transport) {
    std::vector<driver::Driver::Boot> boots;
    for (unsigned ipu = 0; ipu < groups.size(); ++ipu) {
      const Groups& g = groups[ipu];
      driver.set_groups(ipu, g.group1, g.group2, g.set1, g.set2);
      std::vector<std::uint32_t> code;
      for (const Step& step : steps[ipu]) {
        for (unsigned n = 0; n < step.work; ++n) code.push_back(i(Op::addi, 9, 9, 1));
        sync_step(code, step.zone, step.code);
      }
      spin(code);
      driver.load(ipu, {all_tiles(kCode, code)});
      boots.push_back({ipu, kCode});
    }
    driver.start(boots);
  }
  /// Release number n of an IPU is what the last arrival of `ipus` makes it, `hops` links apart.
  void expect_release(const std::vector<std::pair<unsigned, unsigned>>& ipus, unsigned hops) {
    const Platform& p = machine.system.platform();
    Cycle last = 0;
    for (const auto& [ipu, n] : ipus)
      for (unsigned t = 0; t < p.tiles; ++t) last = std::max(last, log.arrive.at({ipu, t}).at(n));
    for (const auto& [ipu, n] : ipus)
      for (unsigned t = 0; t < p.tiles; ++t)
        EXPECT_EQ(log.release.at({ipu, t}).at(n), last + p.sync.group_base + Cycle{2} * p.sync.group_hop * hops)
            << "IPU " << ipu << " release " << n;
  }
  PacketLog log;
  Machine machine;
  driver::Driver driver;
};

TEST(SyncGroups, APipelineChainsNeighboursThroughBothGroups) {
  // 0-1 in group 1, 1-2 in group 2, 2-3 in group 1 again, as a set of its own.
  const Platform p = linked_platform(2, 2);
  const std::vector<Groups> groups{{true, false, 1}, {true, true, 1, 7}, {true, true, 2, 7}, {true, false, 2}};
  const Zone one = Zone::group1, two = Zone::group2;
  GroupRun run(p, groups,
               {{{one, 10}, {one, 400}, {Zone::host, 0, 5}},
                {{one, 90}, {two, 30}, {one, 5}, {two, 7}, {Zone::host, 0, 6}},
                {{two, 60}, {one, 800}, {two, 1}, {one, 3}, {Zone::host, 0, 7}},
                {{one, 20}, {one, 15}, {Zone::host, 0, 8}}});
  // A set's host sync is its own, at its lowest IPU.
  std::map<unsigned, unsigned> codes;
  for (unsigned n = 0; n < 2; ++n) {
    const Event event = run.driver.wait();
    ASSERT_EQ(event.kind, Event::Kind::host_sync);
    codes[event.ipu] = event.code;
  }
  EXPECT_EQ(codes, (std::map<unsigned, unsigned>{{0, 5}, {2, 7}}));
  const Topology topology(p);
  ASSERT_EQ(topology.sync_hops({0, 1}), 1u);
  const unsigned across = topology.sync_hops({1, 2});  // rung and rail
  EXPECT_EQ(across, 2u);
  run.expect_release({{0, 0}, {1, 0}}, 1);
  run.expect_release({{1, 1}, {2, 0}}, across);
  run.expect_release({{2, 1}, {3, 0}}, 1);
  run.expect_release({{0, 1}, {1, 2}}, 1);
  run.expect_release({{1, 3}, {2, 2}}, across);
  run.expect_release({{2, 3}, {3, 1}}, 1);
  EXPECT_GT((run.log.release[{2, 0}][1]), (run.log.release[{0, 0}][1])) << "nobody waits for those of another set";
  // One is released while the other still waits.
  EXPECT_EQ(run.machine.system.chip(3).in_host_wait(), true);
  const auto before = run.log.release[{3, 0}].size();
  run.driver.acknowledge(0);
  run.driver.wait(2000);
  EXPECT_EQ((run.log.release[{1, 0}].size()), 5u);
  EXPECT_EQ((run.log.release[{3, 0}].size()), before);
  run.driver.acknowledge(2);
  run.driver.wait(2000);
  EXPECT_EQ((run.log.release[{3, 0}].size()), before + 1);
  EXPECT_EQ((run.log.release[{2, 0}].back()), (run.log.release[{3, 0}].back()));
}

TEST(SyncGroups, DisjointSetsRunAsIfAlone) {
  // Four sets of two in either group; what one does changes no time of another.
  const Platform p = small_platform(2, 2, 4);
  const auto releases = [&](unsigned work_of_others) {
    return in_child([&] {
      std::vector<Groups> groups;
      std::vector<std::vector<Step>> steps;
      for (unsigned ipu = 0; ipu < 8; ++ipu) {
        groups.push_back({true, true, ipu / 2, 255 - ipu / 2});
        const unsigned more = ipu / 2 == 1 ? 0 : work_of_others;
        steps.push_back({{Zone::group1, 10 + ipu + more},
                         {Zone::group2, 50 - ipu},
                         {Zone::internal, 3},
                         {Zone::group1, 4 * ipu + more},
                         {Zone::host, 0, 1}});
      }
      GroupRun run(p, groups, steps);
      for (unsigned n = 0; n < 4; ++n) {
        const Event event = run.driver.wait();
        EXPECT_EQ(event.kind, Event::Kind::host_sync);
        EXPECT_EQ(event.ipu % 2, 0u);
      }
      for (unsigned set = 0; set < 4; ++set)
        for (unsigned n : {0, 1, 3}) run.expect_release({{2 * set, n}, {2 * set + 1, n}}, 1);
      Cycle sum = 0;
      const Cycle start = run.log.arrive[{2, 0}][0];
      for (unsigned n = 0; n < 4; ++n) sum = sum * 10007 + (run.log.release[{2, 1}].at(n) - start);
      return static_cast<std::uint64_t>(sum);
    });
  };
  const std::uint64_t alone = releases(0);
  EXPECT_NE(alone, 0u);
  EXPECT_EQ(releases(700), alone);
}

TEST(SyncGroups, VotesAreOfASet) {
  // Set 0 votes 0, set 1 votes 1: each has its own result in x6.
  const Platform p = small_platform(2, 2, 2);
  Machine m(bare(tlm_system(p)));
  driver::Driver d(m.transport);
  std::vector<driver::Driver::Boot> boots;
  for (unsigned ipu = 0; ipu < 4; ++ipu) {
    d.set_groups(ipu, true, false, ipu / 2);
    std::vector<std::uint32_t> code;
    load_constant(code, 5, ipu == 1 ? 0 : 1);
    code.push_back(sync(8, 5, static_cast<unsigned>(Zone::group1)));
    sync_step(code, Zone::host, 3);
    spin(code);
    d.load(ipu, {all_tiles(kCode, code)});
    boots.push_back({ipu, kCode});
  }
  d.start(boots);
  ASSERT_EQ(d.wait().kind, Event::Kind::host_sync);
  ASSERT_EQ(d.wait().kind, Event::Kind::host_sync);
  for (unsigned ipu = 0; ipu < 4; ++ipu)
    EXPECT_EQ(m.system.chip(ipu).ipu().tile(1).context(0).x[8], ipu < 2 ? 0u : 1u) << ipu;
}

TEST(SyncGroups, ADeadlockOfOneSetNamesThatSetOnly) {
  const Platform p = small_platform(2, 2, 2);
  const std::vector<Groups> groups{{true, false, 3}, {true, false, 3}, {true, false, 9}, {true, false, 9}};
  const std::vector<Step> turns(5, {Zone::group1, 20});
  std::vector<Step> more(turns), fewer(turns);
  fewer.pop_back();
  fewer.push_back({Zone::host, 0, 4});
  std::vector<Step> whole(turns);
  whole.push_back({Zone::host, 0, 4});
  GroupRun run(p, groups, {whole, whole, more, fewer});
  try {
    for (unsigned n = 0; n < 2; ++n) EXPECT_EQ(run.driver.wait().ipu, 0u);
    FAIL() << "no deadlock was reported";
  } catch (const Error& e) {
    const std::string what = e.what();
    EXPECT_EQ(e.category(), Category::no_progress);
    EXPECT_NE(what.find("x.sync group 1 (set 9): IPUs 2 have arrived"), std::string::npos) << what;
    EXPECT_NE(what.find("x.sync host (set 9): IPUs 3 have arrived"), std::string::npos) << what;
    EXPECT_NE(what.find("IPU 2 tiles 0-1: waits in x.sync group 1"), std::string::npos) << what;
    EXPECT_EQ(what.find("IPU 0 "), std::string::npos) << what;
    EXPECT_EQ(what.find("IPU 1 "), std::string::npos) << what;
    EXPECT_EQ(what.find("set 3"), std::string::npos) << what;
  }
}

TEST(SyncGroups, ATileThatCannotArriveIsReportedWithItsSetOnly) {
  // IPU 2 waits for IPU 3, which spins; set 0 goes on.
  const Platform p = small_platform(2, 2, 2);
  SystemConfig config = bare(tlm_system(p));
  config.max_idle_cycles = 50'000;
  Machine m(config);
  driver::Driver d(m.transport);
  std::vector<driver::Driver::Boot> boots;
  for (unsigned ipu = 0; ipu < 4; ++ipu) {
    d.set_groups(ipu, true, false, ipu / 2);
    std::vector<std::uint32_t> code;
    if (ipu != 3) sync_step(code, Zone::group1);
    if (ipu < 2) {  // goes on for ever
      code.insert(code.begin(), i(Op::addi, 9, 9, 1));
      const auto back = static_cast<std::int32_t>(code.size()) * -4;
      code.push_back(i(Op::jal, 0, 0, back));
    }
    spin(code);
    d.load(ipu, {all_tiles(kCode, code)});
    boots.push_back({ipu, kCode});
  }
  d.start(boots);
  try {
    d.wait();
    FAIL() << "no deadlock was reported";
  } catch (const Error& e) {
    const std::string what = e.what();
    EXPECT_EQ(e.category(), Category::no_progress);
    EXPECT_NE(what.find("IPU 3 tiles 0-1: running, not arrived anywhere"), std::string::npos) << what;
    EXPECT_NE(what.find("x.sync group 1 (set 1): IPUs 2 have arrived"), std::string::npos) << what;
    EXPECT_EQ(what.find("IPU 0 "), std::string::npos) << what;
    EXPECT_EQ(what.find("IPU 1 "), std::string::npos) << what;
  }
}

TEST(SyncGroups, ASetHasANumberOfEightBits) {
  Machine m(bare(tlm_system(small_platform(2, 2))));
  driver::Driver d(m.transport);
  d.set_groups(0, true, true, 255, 1);
  EXPECT_EQ(d.read_register(0, reg::chip::kGroups), 0x0001ff03u);
  EXPECT_THROW(d.set_groups(0, true, false, 256), Error);
  EXPECT_THROW(d.set_groups(0, true, false, 0, 256), Error);
}

}  // namespace
}  // namespace tessera
