#include "host/profile/phases.h"

#include <gtest/gtest.h>

namespace tessera::profile {
namespace {

using Kind = MachineEvent::Kind;

executable::Executable two_tile_executable(std::vector<std::uint32_t> ipus) {
  executable::Executable executable;
  for (const std::uint32_t ipu : ipus) executable.instances.push_back({ipu, 0, 0});
  executable.programs.emplace_back();
  executable::Program& program = executable.programs.front();
  program.phases.resize(2);
  program.phases[0].cycles = 100;
  program.phases[1].cycles = 40;
  program.tables = {{0, 0x50000, 0x50020, 0}, {0, 0x50020, 0x50040, 1}, {1, 0x50000, 0x50020, 0}};
  return executable;
}

MachineEvent at(Cycle cycle, Kind kind, std::uint16_t tile, std::uint32_t table = 0) {
  MachineEvent e;
  e.cycle = cycle;
  e.kind = kind;
  e.tile = tile;
  e.a0 = table;
  return e;
}

TEST(PhaseCheck, ComparesTheLastWordOfAllTilesWithThePrediction) {
  const executable::Executable executable = two_tile_executable({0});
  PhaseCheck check(executable);
  for (const Cycle z : {Cycle{1000}, Cycle{5000}}) {
    check.event(at(z, Kind::sync_release, 0));
    check.event(at(z, Kind::sync_release, 1));
    check.event(at(z + 50, Kind::exchange_end, 0, 0x50000));
    check.event(at(z + 99, Kind::exchange_end, 1, 0x50000));
  }
  check.event(at(7000, Kind::sync_release, 0));
  check.event(at(7040, Kind::exchange_end, 0, 0x50020));  // one cycle late
  check.finish();
  EXPECT_EQ(check.compared(), 3U);
  ASSERT_EQ(check.differences().size(), 1U);
  EXPECT_EQ(check.differences()[0].phase, 1U);
  EXPECT_EQ(check.differences()[0].predicted, 40U);
  EXPECT_EQ(check.differences()[0].measured, 41U);
  EXPECT_EQ(check.differences()[0].release, 7000U);
}

TEST(PhaseCheck, EachIpuHasItsOwnSupersteps) {
  const executable::Executable executable = two_tile_executable({1, 3});
  PhaseCheck check(executable);
  const auto on = [](unsigned ipu, MachineEvent e) {
    e.ipu = static_cast<std::uint16_t>(ipu);
    return e;
  };
  check.event(on(1, at(1000, Kind::sync_release, 0)));
  check.event(on(3, at(1010, Kind::sync_release, 0)));
  check.event(on(2, at(1020, Kind::sync_release, 0)));  // runs no program of the executable
  check.event(on(1, at(1099, Kind::exchange_end, 0, 0x50000)));
  check.event(on(3, at(1110, Kind::exchange_end, 0, 0x50000)));  // one cycle late
  check.finish();
  EXPECT_EQ(check.compared(), 2U);
  ASSERT_EQ(check.differences().size(), 1U);
  EXPECT_EQ(check.differences()[0].ipu, 3U);
  EXPECT_EQ(check.differences()[0].measured, 101U);
}

}  // namespace
}  // namespace tessera::profile
